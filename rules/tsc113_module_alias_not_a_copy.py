"""
## What it does

Reports a second name for a module that was to keep its weights while the first one is trained: `target = policy`,
`best_model = model`, two attributes set to `.to(device)` of one module, `copy.copy(model)`.

## Why it is a bug

An assignment binds a name, `Module.to()` returns the module itself, and `copy.copy()` of a module has the same
parameters. The target network is the online network, the best model is the last one, and a difference of teacher and
student is zero. Torch raises no error.

## Example

```python
import torch
from torch import nn


class Learner:
    def __init__(self, net: nn.Module, device: str) -> None:
        self.online = net.to(device)
        self.target = net.to(device)
        self.optimizer = torch.optim.SGD(self.online.parameters(), lr=0.1)

    def learn(self, batch: torch.Tensor) -> None:
        with torch.no_grad():
            wanted = self.target(batch)
        nn.functional.mse_loss(self.online(batch), wanted + 1).backward()
        self.optimizer.step()
```

## Write instead

```python
import copy

import torch
from torch import nn


class Learner:
    def __init__(self, net: nn.Module, device: str) -> None:
        self.online = net.to(device)
        self.target = copy.deepcopy(net).to(device)
        self.optimizer = torch.optim.SGD(self.online.parameters(), lr=0.1)

    def learn(self, batch: torch.Tensor) -> None:
        with torch.no_grad():
            wanted = self.target(batch)
        nn.functional.mse_loss(self.online(batch), wanted + 1).backward()
        self.optimizer.step()
```

## Fix

`copy.deepcopy(model)`, also in place of `copy.copy(model)`, and before a move: `copy.deepcopy(model).to(device)`. Safe.
Unsafe where the line binds the name of the module that is trained, as an optimizer of its parameters says; none where
it binds several names to one module.

## Limits

The name has to say that the weights are kept (target, best, old, teacher, frozen, reference, ema, copy ..); of a
shallow copy, that a method averages into it the parameters of a model that it is given; of two moves of one module, it
is enough that the one is only called without gradients and the other with them. Where only other code trains the
object, a Module has to call the kept one without gradients, beside the other one. Silent for an `original` that the
file does nothing with but give back, where nothing trains the module afterwards, where a copy may be bound on another
path, where the first name has come to stand for something else (`model = DDP(model)`), and for tied weights.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
- https://docs.python.org/3/library/copy.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import ModuleAlias

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ModuleAlias], region: Region) -> Iterator[Finding]:
    for fact in facts:
        match fact.how:
            case "assignment":
                why = "the assignment makes no copy"
            case "copy.copy":
                why = "`copy.copy` shares every parameter"
            case _:
                why = f"`{fact.how}` of a module returns the module itself"
        verb = "trains" if fact.training.endswith("()") else "changes"
        happens = f"`{fact.training}` on line {region.line(fact.trained)} {verb} both"
        if not fact.training:
            happens = f"to train what line {region.line(fact.trained)} calls with gradients changes both"
        message = f"`{fact.name}` has the parameters of `{fact.module}`: {why}, and {happens}; use `copy.deepcopy`"
        yield Finding(region.span(fact.site), "TSC113", message, fact.steps(region), fix=_fix(fact, region))


def _fix(fact: ModuleAlias, region: Region) -> Fix | None:
    edit, taken = region.edit, fact.taken
    found = edit.function("copy.deepcopy", taken) if taken is not None else None
    if found is None or taken is None:
        return None
    deepcopy, imported = found
    change = edit.deepened(taken, deepcopy, shallow=fact.how == "copy.copy")
    return edit.fix("Copy the module deeply", change, imported, safe=fact.keeps)


RULE = Rule(
    code="TSC113",
    name="module-alias-not-a-copy",
    summary="a second name for a module is taken for a copy",
    kinds=("ModuleAlias",),
    check=check,
    fix="safe",
)
