"""
## What it does

Reports `Tensor.repeat` or `tile` of one tensor where another one that goes with it is repeated as often by
`repeat_interleave`, or by NumPy's `repeat`: both are used in one statement, or kept in one object, perhaps after a
conversion.

## Why it is a bug

`np.repeat([0, 1], 2)` is [0, 0, 1, 1], as `repeat_interleave` is; `torch.tensor([0, 1]).repeat(2)` is [0, 1, 0, 1], as
`np.tile` is. The shapes agree and no error is raised: samples and labels no longer belong together.

## Example

```python
import torch


def augment(samples: torch.Tensor, labels: torch.Tensor, times: int):
    many = samples.repeat_interleave(times, dim=0)
    targets = labels.repeat(times)
    return many, targets
```

## Write instead

```python
import torch


def augment(samples: torch.Tensor, labels: torch.Tensor, times: int):
    many = samples.repeat_interleave(times, dim=0)
    targets = labels.repeat_interleave(times)
    return many, targets
```

## Fix

None: write the same operation for both.

## Limits

On with preview only. Silent where both repeat one and the same tensor, or as often as another one has elements (also
`arange(n)`, repeated n times): that makes every pair; where both count (`torch.arange`): the rows and columns of a
grid; where both are repeated both ways; where the counts or the axes differ; and where the results do not meet.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.repeat.html
- https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import MixedRepeats

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[MixedRepeats], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.tiles}` repeats `{fact.tiled}` as a whole, `{fact.interleaves}` on line {region.line(fact.other)} "
            f"repeats each element of `{fact.interleaved}`: they no longer belong together"
        )
        yield Finding(region.span(fact.site), "TSC308", message, fact.steps(region))


RULE = Rule(
    code="TSC308",
    name="repeat-confusion",
    summary="of a pair one is repeated by elements, the other as a whole",
    kinds=("MixedRepeats",),
    check=check,
    fix="none",
    preview=True,
)
