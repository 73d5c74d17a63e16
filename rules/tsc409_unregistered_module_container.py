"""
## What it does

Reports layers and Parameters that a module keeps in a plain list, tuple, dict, `defaultdict` or `deque` of its own
(`self.heads = [nn.Linear(..) for ..]`, `self.layers = []` with `append`, `self.towers[k] = nn.Linear(..)`), where no
method of the class registers them. The list may come from a base class of the file, or from a method or function.

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

The list or dict becomes an `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`. Unsafe: the
parameters are trained, moved and saved with the module from then on. None where something else is in it too, where the
class binds the attribute twice or does to it what these cannot (`sort`, `get`, `+`), and for keys that torch's may
refuse (numbers, dots, `type` and other names of its own).

## Limits

Silent where the items or the list are given to anything that may register them (`nn.Sequential(*self.layers)`,
`add_module`, `setattr`, another function), where the list is given to `torch.autograd.grad`, as what is trained by hand
is, where they are attributes of their own as well, for layers without parameters, for a list of one thing, which is the
usual way to hide a module on purpose, for attributes whose name says so (`frozen`, `teacher`, `ref`, `cache`), and in a
class that says itself what its parameters are. What a class of another file holds is not known.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import UnregisteredItems

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Editor, Edits
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[UnregisteredItems], region: Region) -> Iterator[Finding]:
    for fact in facts:
        kind = "Parameter" if fact.parameter else "Module"
        wrapper = f"nn.{kind}{'Dict' if fact.container == 'dict' else 'List'}"
        message = (
            f"`self.{fact.attribute}` is a plain {fact.container}, in which torch finds no `{fact.item}`: it is not in "
            f"`parameters()`, so it is not trained, moved or saved with the module; use `{wrapper}`"
        )
        yield Finding(region.span(fact.site), "TSC409", message, fix=_registered(fact, wrapper[3:], region.edit))


def _registered(fact: UnregisteredItems, container: str, edit: Editor) -> Fix | None:
    """A container of torch around the list or dict, or in place of an empty one."""
    if fact.built is None or (named := edit.named(f"torch.nn.{container}", fact.built)) is None:
        return None
    name, needed = named
    match fact.built:
        case ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Call(func=ast.Name(id="list" | "dict"), args=[], keywords=[]):
            change: Edits | None = edit.replace(fact.built, f"{name}()")
        case _:
            change = edit.call(fact.built, name)
    return edit.fix(f"Make it a {container}", needed, change, safe=False)


RULE = Rule(
    code="TSC409",
    name="unregistered-module-container",
    summary="layers or Parameters in a plain list or dict of a module",
    kinds=("UnregisteredItems",),
    check=check,
    fix="unsafe",
)
