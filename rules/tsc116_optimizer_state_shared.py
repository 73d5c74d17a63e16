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

None yet: write `copy.deepcopy(optimizer.state_dict())`.

## Limits

Silent for a checkpoint that was read from a file, for a deep copy, where the first optimizer is not used again, where
it has not stepped yet (its state is empty), and for SGD without momentum. On `self`, the methods of the class are taken
together.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html
- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.state_dict.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import SharedOptimizerState

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[SharedOptimizerState], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.optimizer}.load_state_dict()` takes over the live state of `{fact.other}`: the step on line "
            f"{region.line(fact.stepped)} moves the moments of both; load a `copy.deepcopy` of it"
        )
        path = (region.step(fact.stepped, f"`{fact.other}` goes on stepping"),)
        yield Finding(region.span(fact.site), "TSC116", message, path)


RULE = Rule(
    code="TSC116",
    name="optimizer-state-shared",
    summary="two optimizers share one state after load_state_dict",
    kinds=("SharedOptimizerState",),
    check=check,
    fix="safe",
)
