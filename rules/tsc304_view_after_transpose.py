"""
## What it does

Reports `view` on a tensor whose axes were exchanged by `t`, `transpose`, `permute`, `T`, `mT` or `movedim`, also
through `clone()`, `to`, operations on each element and slices, where the sizes prove that axes are joined that are not
next to each other in memory.

## Why it is a bug

Exchanging axes moves no memory, and `view` never copies: it raises RuntimeError. `clone()`, a cast and arithmetic keep
the order of memory, so the copy that they make can be viewed no better.

## Example

```python
import torch


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    batch, heads, steps, width = x.shape
    return x.transpose(1, 2).view(batch, steps, heads * width)
```

## Write instead

```python
import torch


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    batch, heads, steps, width = x.shape
    return x.transpose(1, 2).reshape(batch, steps, heads * width)
```

## Fix

`view` becomes `reshape`, which copies where it has to. Safe. Never `.clone()`, which keeps the order of memory.

## Limits

Silent where the view only splits or keeps axes, after `contiguous`, `reshape` and
`clone(memory_format=torch.contiguous_format)`, where the axes are viewed first and exchanged then, for tensors of
which the order of memory is not known (results of unknown calls, of recurrent layers; what `chunk` and `split` give,
until it is viewed), and where an axis has size 1, which may stand anywhere, or what the tensor was computed from has
one. Arguments are taken to be contiguous.

## References

- https://docs.pytorch.org/docs/stable/tensor_view.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import TurnedView

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[TurnedView], region: Region) -> Iterator[Finding]:
    for fact in facts:
        also = f" and `{fact.copied}()` keeps the order of memory" if fact.copied else ""
        message = (
            f"`view` of `{fact.receiver}` joins axes that `{fact.op}` on line {region.line(fact.turned)} moved apart"
            f"{also}: raises; `reshape` copies where it has to"
        )
        fix = region.edit.fix("Use reshape", region.edit.rename(fact.site, "reshape"), safe=True)
        yield Finding(region.span(fact.site), "TSC304", message, fact.steps(region), fix=fix)


RULE = Rule(
    code="TSC304",
    name="view-after-transpose",
    summary="`view` joins axes that a transpose moved apart",
    kinds=("TurnedView",),
    check=check,
    fix="safe",
)
