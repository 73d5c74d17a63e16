"""
## What it does

Reports `torch.from_numpy`, `as_tensor`, `asarray`, `tensor` and `Tensor` of a NumPy view that runs backwards:
`a[::-1]`, `np.flip`, `np.fliplr`, `np.flipud`, `np.rot90`.

## Why it is a bug

These make no copy: they are views with negative strides, which torch does not have. It raises ValueError, for a random
flip in every second call only.

## Example

```python
import numpy as np
import torch


def to_rgb(image: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(image[:, :, ::-1])
```

## Write instead

```python
import numpy as np
import torch


def to_rgb(image: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(image[:, :, ::-1].copy())
```

## Fix

`.copy()` where the array is turned, or where it is given to torch if another function turned it. Safe. `torch.flip` of
the tensor does the same.

## Limits

Silent after `copy`, `ascontiguousarray`, `astype`, `reshape` and arithmetic, for positive steps, for a view that is
turned round twice, and for lists, which may be given backwards.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
- https://numpy.org/doc/stable/reference/generated/numpy.flip.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import NegativeStrides

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[NegativeStrides], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if not fact.array_proven:
            continue
        message = (
            f"`{fact.op}` takes no negative strides and raises: `{fact.flip}` on line {region.line(fact.flipped)} made "
            "a view that runs backwards; `.copy()` it"
        )
        fix = region.edit.fix("Copy the array", region.edit.method(fact.copied, ".copy()"), safe=True)
        yield Finding(region.span(fact.site), "TSC307", message, fact.steps(region), fix=fix)


RULE = Rule(
    code="TSC307",
    name="negative-strides",
    summary="a NumPy array read backwards is given to torch",
    kinds=("NegativeStrides",),
    check=check,
    fix="safe",
)
