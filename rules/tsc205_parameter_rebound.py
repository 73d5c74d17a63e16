"""
## What it does

Reports a name that stands for a tensor of a list, module or dict, or for an argument, and is bound to a new tensor
computed from it, where nothing reads the new binding: `for p in model.parameters(): p = p - lr * p.grad`.

## Why it is a bug

An assignment binds the name and writes nothing. The model, the target network or the list keeps its old tensors;
training runs without an error and nothing is learned.

## Example

```python
import torch
from torch import nn


def sgd_step(model: nn.Module, lr: float) -> None:
    with torch.no_grad():
        for param in model.parameters():
            param = param - lr * param.grad
```

## Write instead

```python
import torch
from torch import nn


def sgd_step(model: nn.Module, lr: float) -> None:
    with torch.no_grad():
        for param in model.parameters():
            param -= lr * param.grad
```

## Fix

The assignment becomes a write in place under `torch.no_grad()`: `param -= ..`, `param.mul_(..)`, `param.copy_(..)`.
Unsafe: it changes what others see. None where the new value may have another shape.

## Limits

Silent where the new tensor is used: appended, yielded, returned, stored, closed over or read in the next pass;
where `p.data` is assigned or the write is in place; where the right-hand side only moves, casts or switches the
mode (`to`, `half`, `eval`); and where the name is not proven to stand for a tensor, which a gradient on the right-hand
side proves. An argument, or a name for a parameter that has nothing to do with the loop's own names (`w = params[0]`),
is reported only where its gradient, or a result of `autograd.grad`, is on the right-hand side.

## References

- https://docs.pytorch.org/docs/stable/notes/autograd.html
- https://docs.python.org/3/reference/simple_stmts.html#assignment-statements
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import DeadRebinding

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[DeadRebinding], region: Region) -> Iterator[Finding]:
    for fact in facts:
        match fact:
            case DeadRebinding(origin="loop", computed=True, update=True, uses_itself=True):
                needed = 0  # nothing but a tensor has a gradient
            case DeadRebinding(origin="loop", computed=True) if fact.uses_itself or fact.uses_sibling:
                needed = 2
            case DeadRebinding(origin="argument" | "parameter", computed=True, update=True, uses_itself=True):
                needed = 0
            case DeadRebinding(origin="parameter", picked=True, uses_itself=True):
                needed = 0
            case _:
                continue
        if fact.evidence < needed:
            continue
        what = "the parameter" if fact.parameter or fact.update else "the tensor"
        message = (
            f"`{fact.name} = ..` rebinds the name and leaves {what} as it was: the new tensor is never read; write in "
            "place under `torch.no_grad()`"
        )
        yield Finding(region.span(fact.site), "TSC205", message, fix=_in_place(fact, region))


def _in_place(fact: DeadRebinding, region: Region) -> Fix | None:
    """The write that was meant; autograd refuses one to a leaf that it records."""
    edit, change = region.edit, fact.change
    if change is None or not isinstance(fact.site, ast.stmt):
        return None
    block = edit.without_grad(fact.site) if change.recorded and not fact.plain else ()
    return edit.fix("Write in place", edit.in_place(fact.site, change), block, safe=False)


RULE = Rule(
    code="TSC205",
    name="parameter-rebound",
    summary="a name is rebound where the tensor was to be updated",
    kinds=("DeadRebinding",),
    check=check,
    fix="unsafe",
)
