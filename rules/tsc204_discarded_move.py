"""
## What it does

Reports `x.to(device)`, `x.cuda()`, `x.cpu()`, `x.half()`, `x.float()`, `x.contiguous()` and their like as a
statement, where `x` is proven to be a tensor.

## Why it is a bug

On a module `to` works in place; on a tensor it returns a new one. As a statement it moves, casts or lays out a copy
and drops it: `x` stays where and what it was, and the transfer was for nothing.

## Example

```python
import torch


def steps(count: int, device: torch.device) -> torch.Tensor:
    drawn = torch.randint(0, 1000, (count,))
    drawn.to(device)
    return drawn
```

## Write instead

```python
import torch


def steps(count: int, device: torch.device) -> torch.Tensor:
    drawn = torch.randint(0, 1000, (count,))
    drawn = drawn.to(device)
    return drawn
```

## Fix

The result is assigned to the name or attribute (`x = x.to(device)`). Safe for a move to a device alone, of a
local name that no other name, closure or container shares the tensor with; unsafe for a change of dtype or layout, and
for an attribute. None for a leaf, an item, and a name that is not read again. Better still: make the tensor there
(`device=`, `dtype=`).

## Limits

Proof is a torch call or operation that made the tensor, the unpacking of a DataLoader's batch (`for images, labels in
loader`, `for (left, right), same in loader`, `images, labels = next(iter(loader))`), or an annotation. Silent for
modules and criteria, tokenizer and processor outputs, `for batch in loader`, `batch["key"]`, batches of a loader that
is seen to have a `collate_fn`, and objects of one's own classes: many of these move in place. Silent, too, where a
tensor is made in the same statement (`torch.zeros(1).cuda()`): that sets the device up.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import DroppedResult

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[DroppedResult], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if not fact.moves or fact.probing or fact.evidence < 2:
            continue
        message = (
            f"`{fact.op}` returns a new tensor and leaves `{fact.receiver}` as it was: the result is thrown away "
            f"(only modules move in place)"
        )
        yield Finding(region.span(fact.site), "TSC204", message, fix=_assigned(fact, region))


def _assigned(fact: DroppedResult, region: Region) -> Fix | None:
    """The result under the name that it was asked of; a name that is not read again needs something else."""
    edit = region.edit
    if fact.leaf or fact.slot not in ("name", "attribute") or (fact.slot == "name" and not fact.read):
        return None
    if fact.target is None or fact.statement is None or (target := edit.quoted(fact.target)) is None:
        return None
    return edit.fix("Assign the result", edit.assign(fact.statement, target), safe=fact.alone)


RULE = Rule(
    code="TSC204",
    name="discarded-move",
    summary="the result of a move or cast of a tensor is dropped",
    kinds=("DroppedResult",),
    check=check,
    fix="safe",
)
