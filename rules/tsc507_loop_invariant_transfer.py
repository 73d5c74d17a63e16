"""
## What it does

Reports a move of a tensor to a device inside a loop that changes neither the tensor nor the device.

## Why it is a bug

Each pass copies the same bytes again. Moved once before the loop, the tensor is copied once.

## Example

```python
import torch
import torch.nn.functional as F


def total_loss(
    batches: list[tuple[torch.Tensor, torch.Tensor]], weights: torch.Tensor, device: torch.device
) -> torch.Tensor:
    total = torch.zeros((), device=device)
    for logits, labels in batches:
        total += F.cross_entropy(logits, labels, weight=weights.to(device))
    return total
```

## Write instead

```python
import torch
import torch.nn.functional as F


def total_loss(
    batches: list[tuple[torch.Tensor, torch.Tensor]], weights: torch.Tensor, device: torch.device
) -> torch.Tensor:
    total = torch.zeros((), device=device)
    weights = weights.to(device)
    for logits, labels in batches:
        total += F.cross_entropy(logits, labels, weight=weights)
    return total
```

## Fix

None: move the tensor before the loop.

## Limits

Only for what is known to be a tensor and is a local name, or an attribute that only `__init__` assigns. Silent for
modules, for what the loop assigns, writes or hands to a function, in branches that only some passes take, in the pass
that leaves the loop, and where nobody takes what the move gives (TSC204). Where the tensor already lies on the device
the move costs nothing; that is not always to be seen, so this is a preview rule.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import InvariantTransfer

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[InvariantTransfer], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"the loop on line {region.line(fact.loop)} moves the same `{fact.receiver}` to `{fact.device}` in each "
            "pass: moved before the loop it is copied once"
        )
        yield Finding(region.span(fact.site), "TSC507", message)


RULE = Rule(
    code="TSC507",
    name="loop-invariant-transfer",
    summary="each pass of a loop moves the same tensor to the same device",
    kinds=("InvariantTransfer",),
    check=check,
    preview=True,
)
