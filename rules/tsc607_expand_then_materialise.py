"""
## What it does

Reports `contiguous()`, `clone()` or a merging `reshape` of an expanded tensor whose result is used once, in an
elementwise operation; and `x - m.expand_as(x)`, where the operation expands `m` by itself.

## Why it is a bug

The copy has the bytes of the full shape, and the operation would have broadcast the small tensor without it. An
`expand` alone costs no memory, but a graph node where the tensor is on the graph.

## Example

```python
import torch


def centred(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(dim=(0, 1), keepdim=True)
    return x - mean.expand_as(x).contiguous()
```

## Write instead

```python
import torch


def centred(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(dim=(0, 1), keepdim=True)
    return x - mean
```

## Fix

The copy goes, and the `expand` where the other operand has the full shape. Unsafe. None for a reshape: give the other
operand the dimension that is merged; and none beside a number, where the shape serves a later operation.

## Limits

Silent where the copy is written, viewed, returned or used twice, where it feeds anything but one elementwise operation,
and where a reshape may still be a view.

## References

- https://docs.pytorch.org/docs/stable/notes/broadcasting.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import MaterialisedExpand

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[MaterialisedExpand], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.evidence < 1:
            continue
        if fact.op:
            message = (
                f"`{fact.op}` makes one extra copy of `{fact.receiver}` in the full shape of `{fact.expand}`, for one "
                f"elementwise operation (line {region.line(fact.used)}) that broadcasts by itself"
            )
        elif fact.graph is not False:
            message = (
                f"`{fact.expand}` of `{fact.receiver}` records a graph node for a shape that the operation broadcasts "
                "to by itself: drop it"
            )
        else:
            continue
        yield Finding(region.span(fact.site), "TSC607", message, fix=_fix(fact, region))


def _fix(fact: MaterialisedExpand, region: Region) -> Fix | None:
    edit = region.edit
    match fact.used:
        case (
            ast.Compare(comparators=[ast.Constant()]) | ast.BinOp(right=ast.Constant()) | ast.BinOp(left=ast.Constant())
        ):
            return None  # the expanded shape serves what comes after it
    if fact.op in ("reshape", "flatten"):
        return None
    copied = edit.drop_call(fact.site)
    if fact.op and fact.like:
        return edit.fix("Let the operation broadcast", copied, edit.drop_call(fact.expanded), safe=False)
    return edit.fix("Drop the copy" if fact.op else "Let the operation broadcast", copied, safe=False)


RULE = Rule(
    code="TSC607",
    name="expand-then-materialise",
    summary="an expanded tensor is copied for an operation that broadcasts",
    kinds=("MaterialisedExpand",),
    check=check,
    fix="unsafe",
    preview=True,
)
