"""
## What it does

Reports a `__getitem__` that writes in place what the object keeps: `box = self.boxes[i]; box[:, 2:] -= box[:, :2]`,
also through `torch.from_numpy`, a slice, or a function of the file that it calls. With preview, also a function that
writes its tensor argument and returns something computed from it, where a caller in the file reads its own tensor
afterwards.

## Why it is a bug

An item of a list, a row of a tensor and `from_numpy` of an array share memory with what they were taken from. The data
set changes each time an item is read: the second epoch trains on other boxes than the first. The same way a function
that scales what it was given changes it for its caller, who takes only the result for changed.

## Example

```python
import torch
from torch.utils.data import Dataset


class Boxes(Dataset):
    def __init__(self, boxes: list[torch.Tensor]) -> None:
        self.boxes = boxes

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, index: int) -> torch.Tensor:
        box = self.boxes[index]
        box[:, 2:] -= box[:, :2]
        return box
```

## Write instead

```python
import torch
from torch.utils.data import Dataset


class Boxes(Dataset):
    def __init__(self, boxes: list[torch.Tensor]) -> None:
        self.boxes = boxes

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, index: int) -> torch.Tensor:
        box = self.boxes[index].clone()
        box[:, 2:] -= box[:, :2]
        return box
```

## Fix

None: write `.clone()` where the item is taken, or compute out of place (`pixels = pixels / 255`).

## Limits

Silent where

- what is written is not part of what is returned (a counter), or is filled anew each time (`self.work.zero_()`);
- `__getitem__` stores into what the object keeps by its own name (`self.seen[index] = True`);
- a conversion that may copy (`.float()`, `.to(..)`) lies between;
- a function's name ends in `_`, or it has a parameter `inplace` or `out`;
- a function returns nothing, or nothing that has to do with the argument;
- the caller binds the result to the same name (`x = normalise(x)`), drops it, or never reads its tensor again.

## References

- https://docs.pytorch.org/docs/stable/data.html#map-style-datasets
- https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
- https://docs.pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import MutatedArgument, MutatedItem

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[MutatedItem | MutatedArgument], region: Region) -> Iterator[Finding]:
    reported: set[tuple[int, int]] = set()
    for fact in facts:
        where = region.span(fact.site)
        # What takes `[:, 0]` is a tensor or an array: both share memory.
        needed = 1 if isinstance(fact, MutatedItem) else 2
        if fact.evidence < needed or (where.line, where.column) in reported:
            continue
        reported.add((where.line, where.column))  # of a chain of writes, the first
        match fact:
            case MutatedItem():
                by = "" if fact.called is None else f" (called on line {region.line(fact.called)})"
                message = (
                    f"{fact.verb} on `{fact.writer}` changes `{fact.owner_name}` itself{by}: the next "
                    "`__getitem__` of that item returns what this one has written"
                )
                yield Finding(where, "TSC107", message, fact.steps(region))
            case MutatedArgument():
                message = (
                    f"{fact.verb} on `{fact.writer}` changes the caller's tensor: `{fact.argument}` is given to "
                    f"`{fact.function}` on line {region.line(fact.call)} and read on line {region.line(fact.read)}"
                )
                yield Finding(where, "TSC107", message, fact.steps(region), preview=True)


RULE = Rule(
    code="TSC107",
    name="argument-mutated",
    summary="a function or `__getitem__` writes what others go on to read",
    kinds=("MutatedItem", "MutatedArgument"),
    check=check,
)
