"""
## What it does

Reports a write in place to a tensor while its `detach()` or `.data` is kept under another name and read later; a
write through such a name while the tensor itself is used later; and `p.data = q.data` in a function that copies one
network into another.

## Why it is a bug

`detach()` leaves the graph, not the storage. The weights kept "before" the step are the weights after it, a mask
reaches the image it was meant to leave alone, and `target.data = online.data` makes both networks train as one.

## Example

```python
import torch
from torch import nn


def change(weight: torch.Tensor, update: torch.Tensor) -> torch.Tensor:
    before = weight.detach()
    weight.add_(update)
    return weight - before


def sync(target: nn.Module, online: nn.Module) -> None:
    for slow, fast in zip(target.parameters(), online.parameters()):
        slow.data = fast.data
```

## Write instead

```python
import torch
from torch import nn


def change(weight: torch.Tensor, update: torch.Tensor) -> torch.Tensor:
    before = weight.detach().clone()
    weight.add_(update)
    return weight - before


def sync(target: nn.Module, online: nn.Module) -> None:
    for slow, fast in zip(target.parameters(), online.parameters()):
        slow.data.copy_(fast.data)
```

## Fix

`.clone()` where the detached tensor is bound or assigned: `x.detach().clone()`, `p.data = q.data.clone()`. Unsafe: it
takes memory, and what followed the tensor through that name does so no more.

## Limits

Silent where parameters are written on purpose (initialisation, weight clipping, a moving average under `no_grad`),
where the detached name is only read or nothing is written after it, where the tensor is made new (`x = x + 1`) and not
written, and where the parameters of a module get other data for a while: theirs is kept in a list or dict, or comes out
of one; and where what the data is taken from is replaced or deleted afterwards. The use of `.data` as such is not
reported.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
- https://docs.pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ReboundData, StaleRead

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[StaleRead | ReboundData], region: Region) -> Iterator[Finding]:
    for fact in facts:
        where = region.span(fact.site)
        match fact:
            case StaleRead(link="detach", certain=True) if fact.evidence >= 1 and _shared_by_mistake(fact):
                source = fact.source or fact.read
                message = (
                    f"{fact.verb} on `{fact.writer}` also changes `{fact.reader}`: `{region.code(source)}` on line "
                    f"{region.line(source)} shares storage, and `{fact.reader}` is read on line "
                    f"{region.line(fact.read)}"
                )
                fix = region.edit.fix("Bind a clone", region.edit.copied(fact.copies), safe=False)
                yield Finding(where, "TSC103", message, fact.steps(region), fix=fix)
            case ReboundData() if fact.parameter or (fact.looped and fact.evidence >= 2):
                message = (
                    f"`{fact.target} = {fact.value}` copies nothing: both tensors share one storage from here on, "
                    "and a write to one changes the other"
                )
                fix = region.edit.fix("Assign a clone", region.edit.copied(fact.copies), safe=False)
                yield Finding(where, "TSC103", message, fix=fix)


def _shared_by_mistake(fact: StaleRead) -> bool:
    intended = fact.together or fact.kept or fact.compared
    if not fact.consumed:
        return False
    if not fact.reader_derived and "data" in fact.links:
        intended = fact.together or fact.kept  # a difference to something else says nothing of what was written
    if fact.reader_derived:
        return intended or ("data" not in fact.links and not fact.parameter and fact.reader_origin == "name")
    # Through `.data` of a parameter (initialisation, clipping, averaging) the write is the point.
    return (
        not fact.parameter
        and fact.reader_origin not in ("attribute", "item")
        and (intended or fact.writer_used or "data" not in fact.links)
    )


RULE = Rule(
    code="TSC103",
    name="detach-shares-storage",
    summary="a write reaches what detach() or .data was to keep apart",
    kinds=("StaleRead", "ReboundData"),
    check=check,
    fix="unsafe",
)
