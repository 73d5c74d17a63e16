"""
## What it does

Reports a write whose operand is another view of the very elements that it writes: `x[1:] = x[:-1]`,
`x[i] = x[i].mT`, `x += x.t()`, `x -= x[0]`, `x[k] /= x[k, k]`; and an index that is written while it is used,
`m[m] = values`, or rows that are moved within one tensor, `x[order] = x`.

## Why it is a bug

The operation reads elements that it has already overwritten. Where both views are contiguous torch sees the overlap
and raises; for columns and blocks it does not look, and the result is silently wrong: `x[:, 1:] = x[:, :-1]` copies
the first column over all others, `x -= x[:, :1]` subtracts zero from all but the first.

## Example

```python
import torch


def shift(history: torch.Tensor) -> torch.Tensor:
    history[:, 1:] = history[:, :-1]
    return history


def symmetric(scores: torch.Tensor) -> torch.Tensor:
    scores += scores.t()
    return scores
```

## Write instead

```python
import torch


def shift(history: torch.Tensor) -> torch.Tensor:
    history[:, 1:] = history[:, :-1].clone()
    return history


def symmetric(scores: torch.Tensor) -> torch.Tensor:
    return scores + scores.t()
```

## Fix

`.clone()` behind the operand, or behind an index that is written while it is used. Safe.

## Limits

Silent where the two are the same view (`x *= x`) or surely apart (`x[:n] = x[n:2 * n]`), where the operand is copied
(`clone`, `flip`, `roll`, a list of indices, arithmetic), for NumPy arrays, which copy when they must, and for slices
whose overlap depends on sizes that are not known (`x[k:] = x[:-k]`). With preview rules, also where the CPU happens to
write in an order that works: `x[:, :-1] = x[:, 1:]`, `x /= x[:, -1:]`. A GPU need not.

## References

- https://docs.pytorch.org/docs/stable/notes/broadcasting.html#in-place-semantics
- https://docs.pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import SelfCopy

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[SelfCopy], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.evidence < 2:
            continue
        if fact.refused:
            outcome = "torch raises an error"
        elif fact.in_order:
            outcome = "right only where elements are written one after the other, as on the CPU"
        else:
            outcome = "torch raises no error and computes with elements that it has already changed"
        message = f"`{fact.target}` is written while `{fact.source}`, in the same memory, is read: {outcome}"
        clones = [region.edit.cloned(operand) for operand in (fact.operand, *fact.others)]
        fix = region.edit.fix("Read a clone", *clones, safe=True)
        yield Finding(region.span(fact.site), "TSC118", message, fact.steps(region), preview=fact.in_order, fix=fix)


RULE = Rule(
    code="TSC118",
    name="overlapping-self-copy",
    summary="a write that reads another view of the elements it changes",
    kinds=("SelfCopy",),
    check=check,
    fix="safe",
)
