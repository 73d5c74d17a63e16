"""
## What it does

Reports `x[idx] += v` (also `-=`, and `x[idx] = x[idx] + v`) where the index is a tensor or list that can name a
position twice: `randint`, `multinomial` with replacement, `argmax` or `max` of each row, `topk` of a batch,
`bucketize`, `searchsorted`, `%` and `//`, rounded values, a literal list with a repeated number; where labels are
counted into zeros by `counts[labels] += 1`; and where values go along edges: `out[target] += x[source]`, the two being
parts of one tensor, or arguments with `out` made of zeros.

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

`x.index_put_((idx,), v, accumulate=True)`, where the index is made of tensors and `v` is a tensor or a number. Unsafe:
torch then wants one dtype for both. `x.index_add_(0, idx, v)` is shorter where it can be used.

## Limits

Silent for masks, slices, what is computed from one item (`labels[i] % n`), `unique`, `arange`, `randperm`, `nonzero`,
the positions of a sort, and for every index whose origin is not seen. Whether positions do repeat depends on the data;
where they cannot, nothing is lost.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_add_.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
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
        yield Finding(region.span(fact.site), "TSC208", message, path, fix=_accumulated(fact, region))


def _accumulated(fact: LostUpdate, region: Region) -> Fix | None:
    """The same sum, with every position of the index counted."""
    edit = region.edit
    before, after = "", ""
    if fact.op == "-=":
        simple = isinstance(fact.added, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant))
        before, after = ("-", "") if simple else ("-(", ")")
    if fact.value == "number":
        base = edit.quoted(fact.place.value)
        if base is None or not isinstance(fact.place.value, (ast.Name, ast.Attribute)):
            return None
        before, after = f"{base}.new_tensor({before}", f"{after})"
    if not fact.value or not fact.by_tensors or not isinstance(fact.site, ast.stmt):
        return None
    change = edit.accumulate(fact.site, fact.place, fact.added, (before, after))
    return edit.fix("Add with accumulate=True", change, safe=False)


RULE = Rule(
    code="TSC208",
    name="lost-update-duplicate-index",
    summary="x[idx] += v counts a repeated position once",
    kinds=("LostUpdate",),
    check=check,
    fix="unsafe",
    preview=True,
)
