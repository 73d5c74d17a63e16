"""
## What it does

Reports a write in place (`p.add_(..)`, `w -= ..`, `w[0] = ..`, `weight.copy_(..)`) to a Parameter or to a tensor
made with `requires_grad=True`, or to a view of one, while grad mode is on.

## Why it is a bug

Torch refuses it: "a leaf Variable that requires grad is being used in an in-place operation". The graph begins at
the leaf, so there is nothing that autograd could record the write on. An update by hand and the loading of weights
are no part of the graph; they belong under `torch.no_grad()`.

## Example

```python
import torch
from torch import nn


class Words(nn.Module):
    def __init__(self, vectors: torch.Tensor) -> None:
        super().__init__()
        self.table = nn.Embedding(*vectors.shape)
        self.table.weight.copy_(vectors)
```

## Write instead

```python
import torch
from torch import nn


class Words(nn.Module):
    def __init__(self, vectors: torch.Tensor) -> None:
        super().__init__()
        self.table = nn.Embedding(*vectors.shape)
        with torch.no_grad():
            self.table.weight.copy_(vectors)
```

## Fix

The statement goes under `with torch.no_grad():`, writes that follow each other under one. Unsafe: what raised runs
from then on. None where the statement does more than write, or shares its line with others.

## Limits

Silent under `no_grad` and `inference_mode`, as a block, a decorator, in an `ExitStack`, or by
`set_grad_enabled(False)`; for functions that this file only calls that way; for `torch.nn.init`, which switches grad
mode off itself; through `.data` and `.detach()`; for buffers; for what is told not to require grad, here or by a
function or method of this file, and for a module of which some parameters may have been told so; for the parameters
of a module of unknown make, unless their gradients are read. That a function of this file makes leaves of what it is
given is not followed to its callers. An update by `.grad` of something of unknown make (`p -= rate * p.grad`) is a
preview finding.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
- https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
- https://docs.pytorch.org/docs/stable/nn.init.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import LeafWrite

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[LeafWrite], region: Region) -> Iterator[Finding]:
    edit = region.edit
    groups = edit.together(fact.statement for fact in facts if fact.statement is not None)
    for fact in facts:
        what = "a Parameter" if fact.parameter else "a leaf that requires grad"
        made = "" if fact.made is None else f", made on line {region.line(fact.made)}"
        message = f"{fact.verb} on `{fact.writer}`, {what}{made}, raises in grad mode: write it under `torch.no_grad()`"
        fix = None
        if fact.statement is not None and (named := edit.named("torch.no_grad", fact.site)) is not None:
            name, needed = named
            block = edit.under(groups[fact.statement], f"with {name}():")
            fix = edit.fix("Write it without a graph", needed, block, safe=False)
        yield Finding(region.span(fact.site), "TSC401", message, preview=not fact.certain, fix=fix)


RULE = Rule(
    code="TSC401",
    name="inplace-on-leaf",
    summary="a write in grad mode to a leaf that requires grad",
    kinds=("LeafWrite",),
    check=check,
    fix="unsafe",
)
