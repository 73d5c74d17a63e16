"""
## What it does

Reports `repeat` and `tile` over dimensions of size 1 whose result is used once, in an elementwise operation, and
`x.repeat(1, 1, 1)`, which repeats nothing.

## Why it is a bug

`repeat` makes every copy in memory; `expand` gives the operation the same shape without any. A `repeat` by ones is a
copy that does not look like one, and adds dimensions where there are more counts than dimensions.

## Example

```python
import torch


def masked(scores: torch.Tensor, mask: torch.Tensor, heads: int) -> torch.Tensor:
    return scores * mask.unsqueeze(1).repeat(1, heads, 1, 1)
```

## Write instead

```python
import torch


def masked(scores: torch.Tensor, mask: torch.Tensor, heads: int) -> torch.Tensor:
    return scores * mask.unsqueeze(1).expand(-1, heads, -1, -1)
```

## Fix

`expand`, with -1 for the dimensions that stay. Safe where the number of dimensions is known: of a new one in front
`expand` wants the size. None for a `repeat` by ones: write `unsqueeze`, `clone()`, or nothing.

## Limits

Silent where a repeated dimension is not proven to have size 1, where the result is written, concatenated, viewed,
returned or used twice, and where it feeds anything but one elementwise operation.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.repeat.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import RedundantRepeat

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[RedundantRepeat], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.evidence < 1:
            continue
        if fact.ones or fact.used is None:
            message = (
                f"`{fact.call}` repeats nothing and makes one extra copy of `{fact.receiver}`: if a copy is meant, "
                "`clone()` says so; if a dimension, `unsqueeze` makes it without one"
            )
        else:
            message = (
                f"`{fact.call}` copies `{fact.receiver}` for one elementwise operation (line "
                f"{region.line(fact.used)}): `expand` gives it the same shape without a copy"
            )
        yield Finding(region.span(fact.site), "TSC606", message, fix=_fix(fact, region))


def _fix(fact: RedundantRepeat, region: Region) -> Fix | None:
    edit = region.edit
    tiled = (
        isinstance(fact.site, ast.Call) and isinstance(fact.site.func, ast.Attribute) and fact.site.func.attr == "tile"
    )
    if fact.ones or (tiled and fact.dims is None):
        return None
    kept = [edit.replace(count, "-1") for count in fact.kept]
    safe = fact.dims is not None and fact.evidence >= 2
    return edit.fix("Expand without a copy", edit.rename(fact.site, "expand"), *kept, safe=safe)


RULE = Rule(
    code="TSC606",
    name="repeat-instead-of-expand",
    summary="repeat() copies what a following elementwise operation broadcasts",
    kinds=("RedundantRepeat",),
    check=check,
    fix="safe",
    preview=True,
)
