"""
## What it does

Reports a write to the result of `expand`, `expand_as`, `broadcast_to`, `meshgrid`, an overlapping `unfold` or
`as_strided`, also when it is kept in a buffer and written by another method, when a function or method of the file
gives it or a dataclass holds it, and after `copy.deepcopy` or a cast to the same dtype.

## Why it is a bug

Many elements of such a tensor are one element of memory. Torch refuses some writes (`add_`, `mul_`, `copy_`, `+=`,
`e[:] = ..`) with RuntimeError and takes others, at most with a deprecation warning (`e[0] = ..`, `fill_`, `zero_`,
`masked_fill_`, `index_put_`): then every copy of the element changes, and so does the tensor that was expanded. The
message says which of the two it is. `unfold` checks nothing: adding 1 to windows adds it once for every window an
element lies in.

## Example

```python
import torch


def conductivity(base: torch.Tensor, cells: int) -> torch.Tensor:
    sigma = base.expand(cells)
    sigma[cells // 2] = 3.0
    return sigma
```

## Write instead

```python
import torch


def conductivity(base: torch.Tensor, cells: int) -> torch.Tensor:
    sigma = base.expand(cells).clone()
    sigma[cells // 2] = 3.0
    return sigma
```

## Fix

`.clone()` after the expansion, or after a conversion of it. Safe where torch refuses the write, and where nothing
else uses what was expanded afterwards, as of `torch.zeros(1, 3).expand(..)`; unsafe where another name, a caller or an
object may read it. None where a function returns it among other things.

## Limits

Silent after `clone`, `contiguous`, `repeat` and arithmetic, whose results have elements of their own; where the
expanded tensor is only read; where its name is bound anew first; where the sizes asked for are those that there were
(`b, n = x.shape; x.expand(b, n)`); where `is_contiguous()` or a stride of 0 is asked for on the way; after a cast to a
dtype that is named and that the tensor is not known to have (`mask.expand(..).float()`); where `unfold` makes windows
that do not overlap; and where a function gives what is expanded on some of its paths only. Properties are not looked
into.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.unfold.html
- https://docs.pytorch.org/docs/stable/generated/torch.as_strided.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import OverlappingWrite

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[OverlappingWrite], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.evidence < 1:
            continue
        match fact.silent:
            case True:
                effect = "silently changes every element that shares memory"
            case False:
                effect = "raises in torch"
            case None:
                effect = "raises in torch, or silently changes every element that shares memory"
        if fact.maybe:
            effect += ", unless the conversion after it made a copy"
        message = (
            f"{fact.verb} on `{fact.writer}` {effect}: `{fact.expand}` on line {region.line(fact.expanded)} made no "
            "copies of the rows"
        )
        edit = region.edit
        if fact.unpacked is not None:
            clone = edit.after(fact.unpacked, f"{fact.bound} = {fact.bound}.clone()")
        else:
            clone = edit.method(fact.cloned, ".clone()")
        # What torch refuses has changed nothing else; what it takes may be meant to reach the tensor that was expanded.
        safe = fact.silent is False or (fact.alone and fact.unpacked is None)
        fix = edit.fix("Clone what is expanded", clone, safe=safe)
        yield Finding(region.span(fact.site), "TSC301", message, fact.steps(region), fix=fix)


RULE = Rule(
    code="TSC301",
    name="expanded-write",
    summary="a write to an expanded or overlapping view",
    kinds=("OverlappingWrite",),
    check=check,
    fix="safe",
)
