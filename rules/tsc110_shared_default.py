"""
## What it does

Reports a tensor that is made once, as the default of an argument or in the body of a class, and is written in place:
`def smooth(x, state=torch.zeros(3)): state += x`; `class Meter: total = torch.zeros(1)` with `self.total.add_(v)`.
A default that a method keeps on the object (`self.state = state`) is followed to the methods that write it.

## Why it is a bug

A default is evaluated when the function is defined, the body of a class when the class is. All calls, and all
objects, have that one tensor: the second call starts where the first one ended, and the validation meter counts what
the training meter was given. `self.total += v` binds an attribute of the object, and still writes the tensor that
all objects have.

## Example

```python
import torch


class Meter:
    total = torch.zeros(1)

    def update(self, value: float) -> None:
        self.total += value


def smooth(x: torch.Tensor, state: torch.Tensor = torch.zeros(3)) -> torch.Tensor:
    state.mul_(0.9).add_(x)
    return state.clone()
```

## Write instead

```python
import torch


class Meter:
    def __init__(self) -> None:
        self.total = torch.zeros(1)

    def update(self, value: float) -> None:
        self.total += value


def smooth(x: torch.Tensor, state: torch.Tensor | None = None) -> torch.Tensor:
    state = torch.zeros(3) if state is None else state
    state.mul_(0.9).add_(x)
    return state.clone()
```

## Fix

None: make the tensor in `__init__`, or use `None` as the default and make the tensor in the function.

## Limits

Silent where the tensor is only read, or computed with out of place; where `__init__` (or a method that it calls)
binds the attribute of the object first; where the function binds the name anew before it writes; and where the name
says that it is shared (`shared_stats`, `cache`). A write through the class itself (`Meter.total += v`, or in a class
method) is taken to mean all objects. Lists and dicts of tensors are not followed.

## References

- https://docs.python.org/3/tutorial/controlflow.html#default-argument-values
- https://docs.python.org/3/tutorial/classes.html#class-and-instance-variables
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import SharedDefault

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[SharedDefault], region: Region) -> Iterator[Finding]:
    for fact in facts:
        line = region.line(fact.write)
        if fact.shared_by == "calls":
            message = (
                f"all calls of `{fact.owner}` share the default of `{fact.name}`: it is made once, and {fact.verb} on "
                f"line {line} changes it for the next call"
            )
        else:
            message = (
                f"all objects of `{fact.owner}` share `{fact.name}`: it is made once, in the body of the class, and "
                f"{fact.verb} on line {line} changes it for all of them"
            )
        yield Finding(region.span(fact.site), "TSC110", message, fact.steps(region))


RULE = Rule(
    code="TSC110",
    name="shared-default",
    summary="a tensor default, or a tensor of the class, is written in place",
    kinds=("SharedDefault",),
    check=check,
)
