"""
## What it does

Reports `x[idx] += v` (also `-=`, and `x[idx] = x[idx] + v`) where the index is a tensor or list that can name a
position twice: `randint`, `multinomial` with replacement, `argmax` or `max` of each row, `topk` of a batch,
`bucketize`, `searchsorted`, `%` and `//`, rounded values, a literal list with a repeated number; and where labels are
counted into zeros by `counts[labels] += 1`.

## Why it is a bug

The statement reads `x[idx]`, adds, and writes the result back. A position that occurs twice is read twice as it was and
written twice with the same value: it counts once. Histograms come out too small, gradients of repeated rows get lost.
Torch raises no error.

## Example

```python
import torch


def histogram(values: torch.Tensor, bins: torch.Tensor) -> torch.Tensor:
    counts = torch.zeros(len(bins) + 1)
    index = torch.bucketize(values, bins)
    counts[index] += 1
    return counts
```

## Write instead

```python
import torch


def histogram(values: torch.Tensor, bins: torch.Tensor) -> torch.Tensor:
    counts = torch.zeros(len(bins) + 1)
    index = torch.bucketize(values, bins)
    counts.index_add_(0, index, torch.ones(len(values)))
    return counts
```

## Fix

None yet: write `x.index_add_(0, idx, v)`, or `x.index_put_((idx,), v, accumulate=True)`.

## Limits

Silent for masks, slices, `unique`, `arange`, `randperm`, `nonzero`, the positions of a sort, and for every index whose
origin is not seen. Whether positions do repeat depends on the data; where they cannot, nothing is lost.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_add_.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import LostUpdate

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[LostUpdate], region: Region) -> Iterator[Finding]:
    for fact in facts:
        origin = "" if fact.source is None else f", line {region.line(fact.source)}"
        message = (
            f"`{fact.target}[{fact.index}] {fact.op} ..` counts a repeated position once, and `{fact.index}` "
            f"({fact.made}{origin}) can name one twice; use `index_add_` or `index_put_(.., accumulate=True)`"
        )
        path = () if fact.source is None else (region.step(fact.source, "the positions can repeat"),)
        yield Finding(region.span(fact.site), "TSC208", message, path)


RULE = Rule(
    code="TSC208",
    name="lost-update-duplicate-index",
    summary="x[idx] += v counts a repeated position once",
    kinds=("LostUpdate",),
    check=check,
    fix="unsafe",
    preview=True,
)
