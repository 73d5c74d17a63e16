"""
## What it does

Reports `x.pin_memory().to(device)`, with or without `non_blocking=True`, and `.to(device, non_blocking=True)` on
batches of a DataLoader that does not pin its memory.

## Why it is a bug

Pinning copies the tensor on the host and locks the pages. Of memory pinned for one blocking copy nothing is gained,
and with `non_blocking=True` the host still waits for its own copy. The other way round, `non_blocking=True` from
pageable memory overlaps with nothing: the host copies the bytes to a staging buffer first.

## Example

```python
import torch
from torch.utils.data import DataLoader, Dataset


def evaluate(dataset: Dataset[torch.Tensor], device: torch.device) -> torch.Tensor:
    total = torch.zeros((), device=device)
    for images in DataLoader(dataset, batch_size=64):
        total += images.to(device, non_blocking=True).sum()
    return total
```

## Write instead

```python
import torch
from torch.utils.data import DataLoader, Dataset


def evaluate(dataset: Dataset[torch.Tensor], device: torch.device) -> torch.Tensor:
    total = torch.zeros((), device=device)
    for images in DataLoader(dataset, batch_size=64, pin_memory=True):
        total += images.to(device, non_blocking=True).sum()
    return total
```

## Fix

The DataLoader gets `pin_memory=True`, whose thread pins the batches ahead; `pin_memory()` before a blocking move goes.
Unsafe: pinned memory is locked. None for `pin_memory()` on the way of a move that does not block: where to pin once is
to be chosen.

## Limits

The DataLoader has to be in view: made in the same function, or kept on `self` by `__init__`. Silent where its
`pin_memory` is an expression or it is given keywords by `**`. A preview rule: it is about time, which is not measured.

## References

- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://docs.pytorch.org/docs/stable/data.html#memory-pinning
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import PinnedMove

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[PinnedMove], region: Region) -> Iterator[Finding]:
    for fact in facts:
        match fact.kind:
            case "loader":
                message = (
                    f"the DataLoader does not pin its batches, so `non_blocking=True` on `{fact.receiver}` "
                    f"(line {region.line(fact.move)}) overlaps with nothing: give it `pin_memory=True`"
                )
            case "blocking":
                message = (
                    f"`pin_memory()` copies `{fact.receiver}` on the host for a move that blocks anyway: one copy on "
                    "the host is saved without it"
                )
            case _:
                message = (
                    f"`pin_memory()` on the way to the device copies `{fact.receiver}` on the host first, and the "
                    "host waits for that: pin once, or in the DataLoader"
                )
        yield Finding(region.span(fact.site), "TSC504", message, fix=_fix(fact, region))


def _fix(fact: PinnedMove, region: Region) -> Fix | None:
    edit = region.edit
    match fact.kind, fact.site:
        case "loader", ast.Call(keywords=keywords):
            given = next((one.value for one in keywords if one.arg == "pin_memory"), None)
            pinned = edit.add_argument(fact.site, "pin_memory=True") if given is None else edit.replace(given, "True")
            return edit.fix("Pin the batches", pinned, safe=False)
        case "blocking", _:
            return edit.fix("Move without pinning", edit.drop_call(edit.receiver(fact.site)), safe=False)
    return None


RULE = Rule(
    code="TSC504",
    name="pin-memory-misuse",
    summary="memory is pinned for nothing, or a non-blocking copy is made from memory that is not",
    kinds=("PinnedMove",),
    check=check,
    fix="unsafe",
    preview=True,
)
