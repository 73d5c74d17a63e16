"""
## What it does

Reports `r.expand_as(x)`, `r.expand(x.shape)`, `r.broadcast_to(x.shape)` where `r` is a reduction of `x` over another
dimension than the first and without `keepdim=True`; and sizes written as numbers that do not go together
(`torch.zeros(3, 2).expand(3, 6)`).

## Why it is a bug

`expand` aligns the sizes from the last one on and repeats only axes of size 1. What is left of `x` of shape (N, C)
after `x.norm(dim=1)` has shape (N,), and is aligned with C: RuntimeError, or, where N and C happen to be equal, no
error and the wrong numbers.

## Example

```python
import torch


def normalise(x: torch.Tensor) -> torch.Tensor:
    norm = x.norm(dim=1)
    return x / norm.expand_as(x)
```

## Write instead

```python
import torch


def normalise(x: torch.Tensor) -> torch.Tensor:
    norm = x.norm(dim=1, keepdim=True)
    return x / norm.expand_as(x)
```

## Fix

`keepdim=True`, or `unsqueeze` at the place of the dimension where the reduction has other uses; for sizes of numbers,
`repeat`. Unsafe. None where the reduction is seen through a view, or its dimension is no number.

## Limits

Silent with `keepdim=True`, after `unsqueeze`, `[:, None]` or a `view` that makes an axis of size 1, for new leading
dimensions (`torch.zeros(2).expand(5, 2)`), where the axes are changed in place (`unsqueeze_`, `t_`), and where the
sizes are names that may be equal.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html
- https://docs.pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import ClashingExpand

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ClashingExpand], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.reduced is not None:
            cause = (
                f"the reduction on line {region.line(fact.reduced)} dropped the axis, and what is left is aligned from "
                "the last axis on: raises, or gives wrong numbers where the sizes are equal; `keepdim=True`"
            )
        elif fact.own and fact.wanted:
            cause = f"an axis of size {fact.own} is no axis of size {fact.wanted}: raises; `repeat` makes copies"
        else:
            cause = "the sizes are aligned from the last axis on and do not go together: raises"
        message = f"`{fact.op}` of `{fact.receiver}` repeats only axes of size 1: {cause}"
        yield Finding(region.span(fact.site), "TSC303", message, fact.steps(region), fix=_aligned(fact, region))


def _aligned(fact: ClashingExpand, region: Region) -> Fix | None:
    """The axis is kept where it was dropped, or put back where others use the reduction too."""
    edit, call = region.edit, fact.site
    if not isinstance(call, ast.Call):
        return None
    if fact.keeps:
        return edit.fix("Keep the dimension", edit.add_argument(fact.reduced, "keepdim=True"), safe=False)
    if fact.dropped is not None:
        back = edit.method(fact.given, f".unsqueeze({fact.dropped})")
        return edit.fix("Put the dimension back", back, safe=False)
    if fact.op == "expand" and fact.repeats and len(fact.repeats) == len(call.args):
        times = (edit.replace(argument, str(count)) for argument, count in zip(call.args, fact.repeats, strict=True))
        return edit.fix("Repeat", edit.rename(call, "repeat"), *times, safe=False)
    return None


RULE = Rule(
    code="TSC303",
    name="expand-non-singleton",
    summary="an axis that has not size 1 is expanded",
    kinds=("ClashingExpand",),
    check=check,
    fix="unsafe",
)
