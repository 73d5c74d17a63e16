"""
## What it does

Reports a product of matrices whose `out=` is one of its factors, or a view of one: `torch.mm(a, b, out=a)`; the same
for `mv`, `bmm`, `matmul`, `addmm`, `addmv`, `addbmm`, `baddbmm`, `chain_matmul`, `multi_dot` and `matrix_power`.

## Why it is a bug

A product reads every row and column of its factors until the last element of the result. With `out=` on a factor it
reads what it has just written. Torch raises no error; the result is zeros or garbage.

## Example

```python
import torch


def advance(state: torch.Tensor, transition: torch.Tensor) -> torch.Tensor:
    torch.mm(state, transition, out=state)
    return state
```

## Write instead

```python
import torch


def advance(state: torch.Tensor, transition: torch.Tensor) -> torch.Tensor:
    state.copy_(torch.mm(state, transition))
    return state
```

## Fix

None: write the result to a tensor of its own, or `state.copy_(state @ transition)`.

## Limits

Silent for element-by-element operations (`torch.add(x, y, out=x)`), which are right, for the added term of `addmm` and
its like, for decompositions and solvers, and where `out=` may be another tensor on some path.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.mm.html
- https://docs.pytorch.org/docs/stable/generated/torch.addmm.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import AliasedOut

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[AliasedOut], region: Region) -> Iterator[Finding]:
    for fact in facts:
        same = "which is also" if fact.out == fact.argument else f"which shares elements with `{fact.argument}`,"
        message = (
            f"`{fact.op}` writes its result to `{fact.out}`, {same} a factor that it still reads: the result is wrong, "
            "and torch raises no error"
        )
        yield Finding(region.span(fact.site), "TSC119", message)


RULE = Rule(
    code="TSC119",
    name="out-aliases-input",
    summary="`out=` of a product of matrices is one of its factors",
    kinds=("AliasedOut",),
    check=check,
    fix="none",
)
