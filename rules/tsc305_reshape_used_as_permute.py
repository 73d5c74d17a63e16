"""
## What it does

Reports `view` or `reshape` of a tensor to the sizes of its own axes in another order:
`n, h, w, c = x.shape`, then `x.view(n, c, h, w)`. Also to sizes among which one of its axes is, behind others than
before: `x.view(n, h * w, c)` of `n, c, h, w = x.shape`, `x.view(b, heads, t, c // heads)` of `b, t, c = x.shape`.

## Why it is a bug

`view` and `reshape` read the elements in the order of memory and lay the new sizes over them; they exchange nothing.
The shape is the one that was wanted, the channels are made of pieces of rows, and no error is raised.

## Example

```python
import torch


def to_channels_first(image: torch.Tensor) -> torch.Tensor:
    n, h, w, c = image.shape
    return image.reshape(n, c, h, w)
```

## Write instead

```python
import torch


def to_channels_first(image: torch.Tensor) -> torch.Tensor:
    n, h, w, c = image.shape
    return image.permute(0, 3, 1, 2)
```

## Fix

None: write `permute` or `transpose`, with `.contiguous()` behind it where memory in that order is needed.

## Limits

Silent where axes are joined or split in their order, where other sizes are among them that the axes do not explain,
where an axis of size 1 moves, or the first one that a layer made of a single row, where nothing moves in a batch of one
(`x.view(c, -1)`, and back), where a part of the result gets the first order back or lacks the first row of what was
padded (rows shifted one by one), and for tensors whose number of axes is not known. Of a tensor whose axes have been
exchanged before, only its own sizes in another order are reported.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html
- https://docs.pytorch.org/docs/stable/generated/torch.permute.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ScrambledAxes

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ScrambledAxes], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.op}` gives `{fact.receiver}` its own sizes in another order and scrambles the elements: "
            f"`permute({fact.order})` exchanges the axes"
            if fact.order
            else f"`{fact.op}` puts an axis as long as axis {fact.moved} of `{fact.receiver}` where that one is not "
            "and scrambles the elements: join or split axes in their order, then `permute`"
        )
        yield Finding(region.span(fact.site), "TSC305", message)


RULE = Rule(
    code="TSC305",
    name="reshape-used-as-permute",
    summary="`view` or `reshape` to the own sizes in another order",
    kinds=("ScrambledAxes",),
    check=check,
    fix="none",
)
