"""
## What it does

Reports `one.load_state_dict(other.state_dict())`, both of them optimizers, where `other` goes on stepping.

## Why it is a bug

`state_dict()` of an optimizer holds its live tensors, and `load_state_dict` takes them over as they are: both
optimizers have one `exp_avg`, one `exp_avg_sq` and one `step` from then on. Every step of the one moves the moments of
the other. Torch raises no error.

## Example

```python
import copy

import torch
from torch import nn


def fork(model: nn.Module, optimizer: torch.optim.Adam, batch: torch.Tensor) -> torch.optim.Adam:
    branch = copy.deepcopy(model)
    other = torch.optim.Adam(branch.parameters())
    other.load_state_dict(optimizer.state_dict())
    model(batch).sum().backward()
    optimizer.step()
    return other
```

## Write instead

```python
import copy

import torch
from torch import nn


def fork(model: nn.Module, optimizer: torch.optim.Adam, batch: torch.Tensor) -> torch.optim.Adam:
    branch = copy.deepcopy(model)
    other = torch.optim.Adam(branch.parameters())
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    model(batch).sum().backward()
    optimizer.step()
    return other
```

## Fix

`copy.deepcopy(..)` of what is loaded. Safe.

## Limits

Silent for a checkpoint that was read from a file, for a deep copy, where the first optimizer is not used again, where
it has not stepped yet (its state is empty), and for SGD without momentum. On `self`, the methods of the class are taken
together. Preview: the optimizer of a deep copy steps with the state of one that the caller has, or an object loads the
state of another one of its class, and nothing in the file shows that the first one goes on.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html
- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.state_dict.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import SharedOptimizerState

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[SharedOptimizerState], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.optimizer}.load_state_dict()` takes over the live state of `{fact.other}`: the step on line "
            f"{region.line(fact.stepped)} moves the moments of both; load a `copy.deepcopy` of it"
        )
        path = (region.step(fact.stepped, "a step moves what both hold"),)
        fix = _fix(fact.site, region)
        yield Finding(region.span(fact.site), "TSC116", message, path, preview=not fact.certain, fix=fix)


def _fix(load: ast.AST, region: Region) -> Fix | None:
    match load:
        case ast.Call(args=[state], keywords=[]) | ast.Call(args=[], keywords=[ast.keyword(arg=str(), value=state)]):
            found = region.edit.function("copy.deepcopy", state)
            if found is not None:
                change = region.edit.deepened(state, found[0], shallow=_is_shallow(state))
                return region.edit.fix("Load a deep copy", change, found[1], safe=True)
    return None


def _is_shallow(state: ast.expr) -> bool:
    match state:
        case ast.Call(func=ast.Name(id="dict"), args=[_]) | ast.Call(func=ast.Attribute(attr="copy"), args=[]):
            return True
    return False


RULE = Rule(
    code="TSC116",
    name="optimizer-state-shared",
    summary="two optimizers share one state after load_state_dict",
    kinds=("SharedOptimizerState",),
    check=check,
    fix="safe",
)
