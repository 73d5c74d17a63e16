"""
## What it does

Reports a `clone()` that is the second copy in one chain: of a value that the same expression has just made
(`(a + b).clone()`, `torch.cat(..).clone()`, `x[mask].clone()`, `torch.tensor(..).clone()`); before a move or a cast
(`x.clone().to(device)`); beside `contiguous()`; and `x.clone()[mask]`, where the index copies anyway.

## Why it is a bug

The memory of the first copy is held until the second one is made, and nothing else ever sees it: at that moment one
copy more is held. Before a move, and beside `contiguous()`, this is so wherever the other call copies too, which
depends on the device, the dtype and the layout; the one call with `copy=True`, or `memory_format=`, always makes
exactly one.

## Example

```python
import torch


def pooled(rows: list[torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
    return torch.stack(rows).clone()
```

## Write instead

```python
import torch


def pooled(rows: list[torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
    return torch.stack(rows)
```

## Fix

The clone goes; before a move or cast it becomes `x.to(device, copy=True)`, beside `contiguous()`
`x.clone(memory_format=torch.contiguous_format)`. Safe, but unsafe where it is not proven that `x` is a tensor: other
classes with these methods may know no `copy=True`.

## Limits

Silent for a clone of a name, an argument, an attribute, a view or a slice, and for `x.detach().cpu().clone()`: on the
CPU that clone is the only copy. Silent too for a clone of what backward keeps (`torch.exp(x).clone()`, `a ** b`), of a
leaf (`torch.ones(3, requires_grad=True).clone()`), where a move is proven to change nothing, and where `detach()`
follows, of which TSC601 speaks.

Only with preview: a clone of arithmetic on values, and a clone before a move of an argument, of which nothing else is
known; and a clone before `cpu()`, since for a model on the CPU it is the only copy.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.clone.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import RedundantClone

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Edits
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[RedundantClone], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.detached:
            continue
        preview = False
        match fact.form:
            case "fresh":
                message = (
                    f"one extra copy of `{fact.receiver}`: it is new memory that nothing else holds, and `clone()` "
                    "copies it once more; drop `clone()`"
                )
                preview = fact.evidence < 1
            case "moved" if fact.evidence >= 2 or fact.bare:
                message = (
                    f"one extra copy of `{fact.receiver}` wherever `{fact.op}` copies too: `to(.., copy=True)` copies "
                    f"once, `clone().{fact.op}` twice"
                )
                preview = fact.evidence < 2 or fact.host
            case "contiguous":
                message = (
                    f"one extra copy of `{fact.receiver}` where it is not contiguous: "
                    "`clone(memory_format=torch.contiguous_format)` makes the one copy that is needed"
                )
            case "indexed":
                message = (
                    f"one extra copy of all of `{fact.receiver}`: the index copies what it names from the clone; "
                    "drop `clone()`"
                )
            case _:
                continue
        yield Finding(region.span(fact.site), "TSC603", message, preview=preview, fix=_fix(fact, region))


def _fix(fact: RedundantClone, region: Region) -> Fix | None:
    edit = region.edit
    without = edit.drop_copy(fact.clone, fact.argument)
    match fact.form:
        case "moved":
            return edit.fix("Copy in the same call", without, _copying(fact, region), safe=fact.evidence >= 2)
        case "contiguous":
            kept = edit.imported("torch.contiguous_format", fact.site)
            change = edit.add_argument(fact.clone, f"memory_format={kept}") if kept else None
            return edit.fix("Clone in the contiguous format", edit.drop_call(fact.contiguous), change, safe=True)
    return edit.fix("Drop the clone", without, safe=fact.evidence >= 1)


def _copying(fact: RedundantClone, region: Region) -> Edits | None:
    """The move or cast as `to`, told to copy."""
    edit = region.edit
    match fact.site:
        case ast.Call(func=ast.Attribute(attr="to")):
            return edit.add_argument(fact.site, "copy=True")
        case ast.Call(func=ast.Attribute(attr="type"), args=[ast.Attribute()], keywords=[]):
            more = "copy=True"
        case ast.Call(func=ast.Attribute(attr="cpu" | "cuda" as device), args=[], keywords=[]):
            more = f'"{device}", copy=True'
        case ast.Call(func=ast.Attribute(attr="cuda"), args=[], keywords=[ast.keyword(arg="non_blocking")]):
            more = 'device="cuda", copy=True'
        case ast.Call(args=[], keywords=[]) if fact.dtype and (
            dtype := edit.imported(f"torch.{fact.dtype}", fact.site)
        ):
            more = f"{dtype}, copy=True"
        case _:
            return None
    return edit.join(edit.rename(fact.site, "to"), edit.add_argument(fact.site, more))


RULE = Rule(
    code="TSC603",
    name="redundant-clone",
    summary="clone() beside another copy in one chain: two copies where one is enough",
    kinds=("RedundantClone",),
    check=check,
    fix="safe",
)
