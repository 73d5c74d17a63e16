"""
## What it does

Reports a tensor of bool, uint8, int8 or another narrow dtype that is cast to a wider one on the host and then moved to
a device: `mask.float().to(device)`.

## Why it is a bug

The wide copy travels: as float32, four times the bytes of a uint8 image or of a mask. Cast on the device, the narrow
one travels.

## Example

```python
import numpy as np
import torch


def prepare(image: np.ndarray, device: torch.device) -> torch.Tensor:
    pixels = torch.from_numpy(image.astype(np.uint8))
    return pixels.float().to(device) / 255
```

## Write instead

```python
import numpy as np
import torch


def prepare(image: np.ndarray, device: torch.device) -> torch.Tensor:
    pixels = torch.from_numpy(image.astype(np.uint8))
    return pixels.to(device).float() / 255
```

## Fix

The move goes before the cast. Unsafe: the arithmetic between is done on the device. One blocking
`.to(device, torch.float32)` would not help: it casts on the host.

## Limits

Only where the narrow dtype is known and the tensor is known to lie on the host: made there, also by `__init__` for an
attribute that nothing else sets, from NumPy, or an item of a DataLoader. Silent for buffers of modules,
where the wide tensor has another use on the host, and for a float64 source, which the cast narrows.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import WidenedMove

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[WidenedMove], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.receiver}` is cast from {fact.narrow} to {fact.wide} (line {region.line(fact.cast)}) before it is "
            f"moved: {fact.factor} times the bytes travel; move first, then cast"
        )
        path = (region.step(fact.cast, f"makes {fact.wide} of {fact.narrow} on the host"),)
        yield Finding(region.span(fact.site), "TSC509", message, path, fix=_fix(fact, region))


def _fix(fact: WidenedMove, region: Region) -> Fix | None:
    edit = region.edit
    match fact.between:
        case "nothing":
            change = edit.swap(fact.site)
        case "name":
            change = edit.exchange(fact.cast, fact.site)
        case "numbers" if (move := edit.trailer(fact.site)) is not None:
            change = edit.join(edit.method(edit.receiver(fact.cast), move), edit.drop_call(fact.site))
        case _:
            return None
    return edit.fix("Move first, then cast", change, safe=False)


RULE = Rule(
    code="TSC509",
    name="widen-before-transfer",
    summary="a narrow tensor is cast to a wider dtype before it is moved",
    kinds=("WidenedMove",),
    check=check,
    fix="unsafe",
)
