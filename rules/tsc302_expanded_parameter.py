"""
## What it does

Reports `nn.Parameter(x.expand(..))`, also of `expand_as`, `broadcast_to` and `einops.repeat`, through a name or a
further view, and a Parameter for each row of an expanded tensor.

## Why it is a bug

`expand` makes no copies: the rows of the parameter are one row of memory. The first `step()` of SGD, Adam or AdamW
raises RuntimeError, since an in-place write to such a tensor is refused. One Parameter for each row raises nothing:
all of them are the same numbers, and an update of one is an update of all.

## Example

```python
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width).expand(heads, width))
```

## Write instead

```python
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width).expand(heads, width).clone())
```

## Fix

`.clone()` after the expansion, where it is made. Safe. None where a function returns it among other things.

## Limits

Silent after `clone`, `contiguous`, `repeat`, arithmetic and casts, for a parameter with `requires_grad=False`, which no
optimizer writes, and for one single row. What `einops.repeat` makes is reported where the new axis is not part of a
group: `"d -> (h d)"` copies.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ExpandedParameter

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ExpandedParameter], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.rows:
            effect = "each row becomes a parameter over the same memory: an update of one is an update of all"
        else:
            effect = "all its rows are one row of memory, and the first optimizer step raises"
        message = (
            f"`{fact.name}` is expanded: {effect}; `{fact.op}` on line {region.line(fact.expanded)} made no copies, "
            "`.clone()` does"
        )
        edit = region.edit
        fix = edit.fix("Clone what is expanded", edit.method(fact.cloned, ".clone()"), safe=True)
        yield Finding(region.span(fact.site), "TSC302", message, fact.steps(region), fix=fix)


RULE = Rule(
    code="TSC302",
    name="expanded-parameter",
    summary="a Parameter over an expanded tensor",
    kinds=("ExpandedParameter",),
    check=check,
    fix="safe",
)
