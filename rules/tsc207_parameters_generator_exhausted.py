"""
## What it does

Reports a name for `model.parameters()`, `filter(..)` or another generator that is gone through a second time: by an
optimizer, a loop, `list`, `sum`, `clip_grad_norm_`, or by the next pass of a loop that the generator was made before.

## Why it is a bug

A generator can be gone through once. The second time it is empty, and nothing says so: gradients are not clipped, a
penalty is zero, an optimizer gets no parameters.

## Example

```python
import torch
from torch import nn


def fit(model: nn.Module, batches: list[torch.Tensor]) -> None:
    params = model.parameters()
    optimizer = torch.optim.SGD(params, lr=0.1)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).sum().backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
```

## Write instead

```python
import torch
from torch import nn


def fit(model: nn.Module, batches: list[torch.Tensor]) -> None:
    params = list(model.parameters())
    optimizer = torch.optim.SGD(params, lr=0.1)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).sum().backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
```

## Fix

`list(..)` around what makes the generator. Safe for what a module hands out, `filter` and a generator expression;
unsafe for `zip`, `map` and functions with `yield`, which then run at once. None where `next(..)` takes from it,
and where `list` is another name there.

## Limits

Silent where the uses lie on exclusive branches, where the name is bound anew between them, where the first loop may
stop before the end, and where an unknown function is given the generator. Of a generator kept on `self`, the uses in
`__init__` and in the methods of a training step are known; of a name that a function inside uses, what is used up
before that function is defined.

## References

- https://docs.python.org/3/glossary.html#term-generator-iterator
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.parameters
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import Exhausted

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[Exhausted], region: Region) -> Iterator[Finding]:
    for fact in facts:
        what = "a generator" if fact.made == "generator" else f"`{fact.made}(..)`"
        if fact.again:
            when = "every use after the first one finds it empty"
        else:
            when = f"line {region.line(fact.first)} has used it up, and nothing is left here"
        bound = "" if fact.bound is None else f" (line {region.line(fact.bound)})"
        message = f"`{fact.name}` is {what}{bound}, which can be gone through once: {when}; keep a `list(..)`"
        # What a list holds is decided where it is made: the same, unless the rest of the program is part of it.
        safe = fact.made in _OF_MODULES or fact.made == "filter" or isinstance(fact.supply, ast.GeneratorExp)
        function = None if fact.supply is None else region.edit.builtin("list", fact.supply)
        kept = None if function is None else region.edit.call(fact.supply, function)
        fix = region.edit.fix("Keep a list", kept, safe=safe)
        yield Finding(region.span(fact.site), "TSC207", message, fact.steps(region), fix=fix)


_OF_MODULES = frozenset(
    "parameters named_parameters buffers named_buffers modules named_modules children named_children".split()
)


RULE = Rule(
    code="TSC207",
    name="parameters-generator-exhausted",
    summary="a generator of parameters is gone through a second time",
    kinds=("Exhausted",),
    check=check,
    fix="safe",
)
