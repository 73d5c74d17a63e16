"""
## What it does

Reports `torch.zeros(..).to(device)`, `torch.randn(..).cuda()` and their like: a factory whose new tensor is moved to a
device at once.

## Why it is a bug

The tensor is made in host memory, filled there, and copied to the device, and the host waits for the copy. With
`device=` it is made where it belongs: no copy, no wait.

## Example

```python
import torch


def positions(length: int, device: torch.device) -> torch.Tensor:
    return torch.arange(length).to(device)
```

## Write instead

```python
import torch


def positions(length: int, device: torch.device) -> torch.Tensor:
    return torch.arange(length, device=device)
```

## Fix

None yet: give the factory the device (and the dtype, where the move asks for one).

## Limits

Only a move to a device that stands directly on the factory: not `.to(dtype)`, not to the CPU. Silent for
`torch.tensor(..)` and `from_numpy`, which copy from the host either way, and where a generator is given: a device
draws other numbers than the CPU with the same seed. So does `torch.rand(.., device=..)` without one.

## References

- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import CreatedThenMoved

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[CreatedThenMoved], region: Region) -> Iterator[Finding]:
    for fact in facts:
        other = " (which draws other random numbers there)" if fact.random else ""
        message = (
            f"`torch.{fact.factory}` makes the tensor on the host and then copies it to `{fact.device}`: "
            f"`device=` saves the copy and the wait for it{other}"
        )
        yield Finding(region.span(fact.site), "TSC505", message)


RULE = Rule(
    code="TSC505",
    name="create-then-move",
    summary="a new tensor is made on the host only to be moved",
    kinds=("CreatedThenMoved",),
    check=check,
    fix="safe",
    preview=True,
)
