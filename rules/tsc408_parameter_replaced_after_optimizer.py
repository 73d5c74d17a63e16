"""
## What it does

Reports a new layer or Parameter that a model gets after an optimizer was built from the model's parameters
(`model.fc = nn.Linear(..)`, `model.weight = nn.Parameter(..)`, `model.layers[0] = ..`, `model.append(..)`,
`add_module`, `setattr`, one layer after the other of `model.modules()`, or a call of a method or function of the file
that does so), a state that it takes over as it is (`model.load_state_dict(state, assign=True)`), and a name for such a
model that is bound to a new one, where that optimizer steps afterwards.

## Why it is a bug

The optimizer was given the parameters that the model had then, and goes on stepping those. The new ones get gradients
and never move, the old ones are kept alive for nothing; torch says nothing about it.

## Example

```python
import torch
from torch import nn


def finetune(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.fc = nn.Linear(512, 10)
    for _ in range(10):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
```

## Write instead

```python
import torch
from torch import nn


def finetune(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    model.fc = nn.Linear(512, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
```

## Fix

None: build the optimizer after the model has its last shape, add the new parameters with `add_param_group`, or
write the new values into the old parameter (`copy_` under `torch.no_grad()`).

## Limits

Silent where the optimizer is built anew or is given the new parameters later, where nothing is trained afterwards, and
for what has no parameters of its own (activations, dropout, numbers, functions) or frozen ones. In a class, an
optimizer that `__init__` keeps on self, or the method that makes the replacement, is taken to be stepped by the methods
that call `step`; layers from other files are unknown.

## References

- https://docs.pytorch.org/docs/stable/optim.html
- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ReplacedParameter

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ReplacedParameter], region: Region) -> Iterator[Finding]:
    for fact in facts:
        where = "" if fact.inner is None else f" (assigned on line {region.line(fact.inner)})"
        built = f"built from the parameters of `{fact.module}` on line {region.line(fact.built)}"
        if fact.target:
            message = (
                f"`{fact.target}` is new{where}, and `{fact.optimizer}`, {built}, does not have it: it is never "
                "trained; build the optimizer afterwards, or use `add_param_group`"
            )
        else:
            message = (
                f"`assign=True` gives `{fact.module}` new parameters, and `{fact.optimizer}`, {built}, does not have "
                "them: they are never trained; build the optimizer afterwards"
            )
        steps = [region.step(fact.built, f"`{fact.optimizer}` takes the parameters that `{fact.module}` has now")]
        if fact.inner is not None:
            steps.append(region.step(fact.inner, "the called function puts new ones there"))
        steps.append(region.step(fact.site, f"`{fact.target or fact.module}` gets new ones"))
        yield Finding(region.span(fact.site), "TSC408", message, tuple(steps))


RULE = Rule(
    code="TSC408",
    name="parameter-replaced-after-optimizer",
    summary="a model gets new parameters after its optimizer was built",
    kinds=("ReplacedParameter",),
    check=check,
)
