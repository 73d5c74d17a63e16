"""
## What it does

Reports a tensor that goes to the host with `.cpu().numpy()`, becomes a tensor again, and is moved back to a device,
with nothing but torch in between.

## Why it is a bug

Two copies through the host, and two waits, give what was on the device all along. What is meant is usually
`detach()`.

## Example

```python
import torch


def pseudo_labels(logits: torch.Tensor) -> torch.Tensor:
    array = logits.softmax(dim=1).detach().cpu().numpy()
    return torch.from_numpy(array).to(logits.device)
```

## Write instead

```python
import torch


def pseudo_labels(logits: torch.Tensor) -> torch.Tensor:
    return logits.softmax(dim=1).detach()
```

## Fix

None yet: drop the way there and back, keep `detach()`, and add `clone()` where one side is written afterwards.

## Limits

Silent where the array itself is used: handed to a function, written, computed with in NumPy, SciPy or OpenCV; and where
the tensor is known to lie on the host before.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
- https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import RoundTrip

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[RoundTrip], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.source}` goes to the host (line {region.line(fact.fetched)}), through NumPy and back to "
            f"`{fact.device}`, and only torch touches it there: `detach()` saves one copy to the host and one back"
        )
        path = (region.step(fact.fetched, f"copies `{fact.source}` to the host"),)
        yield Finding(region.span(fact.site), "TSC506", message, path)


RULE = Rule(
    code="TSC506",
    name="device-round-trip",
    summary="a tensor goes to the host and back to the device, and nothing there needed it",
    kinds=("RoundTrip",),
    check=check,
    fix="unsafe",
)
