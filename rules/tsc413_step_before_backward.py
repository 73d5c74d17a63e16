"""
## What it does

Reports `optimizer.step()` between the call of a module that the optimizer moves and `backward()` of a loss that was
computed by that call.

## Why it is a bug

`step()` writes the weights in place. Backward needs the weights as they were in the forward pass, finds another
version, and raises: `one of the variables needed for gradient computation has been modified by an inplace operation`.

## Example

```python
import torch
from torch import nn


def update(states: torch.Tensor) -> None:
    actor = nn.Linear(4, 2)
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    actor_loss = -critic(actor(states)).mean()
    critic_loss = critic(actor(states).detach()).pow(2).mean()
    critic_loss.backward()
    optimizer.step()
    actor_loss.backward()
```

## Write instead

```python
import torch
from torch import nn


def update(states: torch.Tensor) -> None:
    actor = nn.Linear(4, 2)
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    critic_loss = critic(actor(states).detach()).pow(2).mean()
    critic_loss.backward()
    optimizer.step()
    actor_loss = -critic(actor(states)).mean()
    actor_loss.backward()
```

## Fix

None: compute the loss after the step, or call `backward()` of both losses before it.

## Limits

Only optimizers of which this file shows the modules count, and calls of which backward surely needs the weights: of
several layers one after the other, or with an input that has a graph.

## References

- https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
- https://docs.pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import SteppedBefore

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[SteppedBefore], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"the step moves the weights of `{fact.module}`, called on line {region.line(fact.call)}, before "
            f"`backward()` on line {region.line(fact.backward)} needs them as they were"
        )
        steps = (
            region.step(fact.call, "the weights are saved for backward"),
            region.step(fact.backward, "needs them as they were"),
        )
        yield Finding(region.span(fact.site), "TSC413", message, steps)


RULE = Rule(
    code="TSC413",
    name="step-before-backward",
    summary="an optimizer steps before backward() of a loss that needs the old weights",
    kinds=("SteppedBefore",),
    check=check,
    preview=True,
)
