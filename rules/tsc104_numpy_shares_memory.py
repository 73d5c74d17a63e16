"""
## What it does

Reports a write in place to either side of `from_numpy`, `from_dlpack`, `as_tensor`, `torch.Tensor(array)` or
`.numpy()`, where the array came in as an argument or the other side is read later as the old value; and a live view
that is appended to a list while the loop goes on to write the tensor or array.

## Why it is a bug

These calls copy nothing (the legacy constructor copies nothing for a float32 array and copies a float64 one).
Scaling the tensor scales the caller's image; a history of `w.numpy()` shows the last weights in every entry.

## Example

```python
import numpy as np
import torch


def scaled(image: np.ndarray) -> torch.Tensor:
    pixels = torch.from_numpy(image)
    pixels /= 255
    return pixels


def descend(weight: torch.Tensor, steps: int) -> list[np.ndarray]:
    history = []
    for _ in range(steps):
        weight -= 0.1
        history.append(weight.numpy())
    return history
```

## Write instead

```python
import numpy as np
import torch


def scaled(image: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(image) / 255


def descend(weight: torch.Tensor, steps: int) -> list[np.ndarray]:
    history = []
    for _ in range(steps):
        weight -= 0.1
        history.append(weight.numpy().copy())
    return history
```

## Fix

`.copy()` behind what gives an array, `.clone()` behind what gives a tensor, where it is bound or stored. Unsafe: it
takes memory. Where a copy is too dear, compute out of place.

## Limits

Silent where both sides are only shown one after the other, as tutorials do; where the array is made in the same
expression; where a copying operation takes the tensor at once (`torch.from_numpy(a).float()` of a float64 array);
where a result is filled through its other side and only the result is used; and where each entry of a list has an
array of its own.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
- https://docs.pytorch.org/docs/stable/generated/torch.as_tensor.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import SharedWrite, StaleRead

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[StaleRead | SharedWrite], region: Region) -> Iterator[Finding]:
    for fact in facts:
        where = region.span(fact.site)
        match fact:
            case StaleRead(link="numpy", certain=True) if fact.taken_for_copy:
                source = fact.source or fact.read
                shares = f"`{region.code(source)}` on line {region.line(source)} shares memory with it"
                if fact.reader_origin == "store" and fact.bound is not None:
                    message = (
                        f"what is stored here changes with `{fact.writer}` ({fact.verb} on line "
                        f"{region.line(fact.site)}): `{region.code(source)}` shares its memory"
                    )
                    fix = region.edit.fix("Store a copy", region.edit.copied(fact.copies), safe=False)
                    yield Finding(region.span(fact.bound), "TSC104", message, fact.steps(region), fix=fix)
                    continue
                message = (
                    f"{fact.verb} on `{fact.writer}` also changes `{fact.reader}`: {shares}, and `{fact.reader}` is "
                    f"read on line {region.line(fact.read)}"
                )
                fix = region.edit.fix("Bind a copy", region.edit.copied(fact.copies), safe=False)
                yield Finding(where, "TSC104", message, fact.steps(region), fix=fix)
            case SharedWrite(link="numpy", owner="argument", certain=True):
                message = (
                    f"{fact.verb} on `{fact.writer}` changes the caller's `{fact.owner_name}`: `{fact.links[-1]}` "
                    f"shares its memory{fact.cause(region)}"
                )
                fix = region.edit.fix("Work on a copy", region.edit.copied(fact.copies), safe=False)
                yield Finding(where, "TSC104", message, fact.steps(region), fix=fix)


RULE = Rule(
    code="TSC104",
    name="numpy-shares-memory",
    summary="a write changes an array or tensor that shares its memory",
    kinds=("StaleRead", "SharedWrite"),
    check=check,
    fix="unsafe",
)
