"""
## What it does

Reports a write in place, in grad mode, to one of the views that `unbind`, `chunk`, `split` or a loop over a tensor
made of a value that requires grad; and `detach_()` on a view.

## Why it is a bug

These operations make several views at once, and autograd cannot record a write to one of them: torch raises "This
view is the output of a function that returns multiple views. Such functions do not allow the output views to be
modified inplace". A view cannot be detached in place either.

## Example

```python
import torch
from torch import nn


def halves(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    both = nn.Linear(4, 4)(x)
    left, right = both.chunk(2, dim=-1)
    left *= 2.0
    return left + right
```

## Write instead

```python
import torch
from torch import nn


def halves(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    both = nn.Linear(4, 4)(x)
    left, right = both.chunk(2, dim=-1)
    left = left * 2.0
    return left + right
```

## Fix

None: write the operation out of place, or index the tensor (`both[:, :2]`) instead of splitting it.

## Limits

Silent where the tensor does not require grad or is not known to, or holds integers or bools, under `no_grad`, for
`tensor_split` and indexing, whose results may be written, after a clone, and where what is taken apart may be several
tensors: what a module of unknown make or `x.max(1)` gives. Whether the argument of a function
requires grad is taken from the calls in the file; where there is none that tells, arithmetic on it is a preview
finding.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.unbind.html
- https://docs.pytorch.org/docs/stable/generated/torch.chunk.html
- https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ForbiddenWrite

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ForbiddenWrite], region: Region) -> Iterator[Finding]:
    for fact in facts:
        line = region.line(fact.made)
        if fact.op == "detach_":
            message = f"`{fact.writer}.detach_()` raises: it is a view (`{fact.maker}` on line {line}); use `detach()`"
        else:
            message = (
                f"{fact.verb} on `{fact.writer}` raises in grad mode: it is one of the views that {fact.maker} on line "
                f"{line} made of a tensor that requires grad"
            )
        yield Finding(region.span(fact.site), "TSC411", message, preview=not fact.proven)


RULE = Rule(
    code="TSC411",
    name="inplace-on-forbidden-view",
    summary="a write to one of several views of a tensor that requires grad",
    kinds=("ForbiddenWrite",),
    check=check,
    fix="none",
)
