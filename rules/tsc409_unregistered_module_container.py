"""
## What it does

Reports layers and Parameters that a module keeps in a plain list, tuple or dict of its own
(`self.heads = [nn.Linear(..) for ..]`, `self.layers = []` with `append`, `self.towers[k] = nn.Linear(..)`), where no
method of the class registers them.

## Why it is a bug

A module finds its children among its attributes, and looks into no list. What is in one is called by `forward` and so
seems to work, but it is not in `parameters()` (so nothing trains it), `model.to(device)` leaves it where it is,
`state_dict()` does not hold it, and `eval()` does not reach it.

## Example

```python
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.heads = [nn.Linear(16, size) for size in sizes]

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [head(x) for head in self.heads]
```

## Write instead

```python
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(16, size) for size in sizes])

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [head(x) for head in self.heads]
```

## Fix

None yet: use `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`.

## Limits

Silent where the items or the list are given to anything that may register them (`nn.Sequential(*self.layers)`,
`add_module`, `setattr`, another function), where they are attributes of their own as well, for layers without
parameters, for a list of one thing, which is the usual way to hide a module on purpose, for attributes whose name says
so (`frozen`, `teacher`, `ref`, `cache`), and in a class that says itself what its parameters are. What a class of
another file holds is not known.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import UnregisteredItems

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[UnregisteredItems], region: Region) -> Iterator[Finding]:
    for fact in facts:
        kind = "Parameter" if fact.parameter else "Module"
        wrapper = f"nn.{kind}{'Dict' if fact.container == 'dict' else 'List'}"
        message = (
            f"`self.{fact.attribute}` is a plain {fact.container}, in which torch finds no `{fact.item}`: it is not in "
            f"`parameters()`, so it is not trained, moved or saved with the module; use `{wrapper}`"
        )
        yield Finding(region.span(fact.site), "TSC409", message)


RULE = Rule(
    code="TSC409",
    name="unregistered-module-container",
    summary="layers or Parameters in a plain list or dict of a module",
    kinds=("UnregisteredItems",),
    check=check,
    fix="unsafe",
)
