"""
## What it does

Reports `w = w - lr * w.grad` for a name, attribute or dict item whose leaf is expected again by the next iteration
or call, and the assignment of an expression to a parameter of a module (`layer.weight = layer.weight * mask`).

## Why it is a bug

The result of arithmetic is no leaf. With grad mode on, its `.grad` stays `None`, so that the next update fails or
is skipped; under `no_grad` it does not require grad at all, and the next `backward()` fails. A module refuses a
plain tensor in a parameter's place with TypeError. Behind a test for `grad is None` the weight trains once and
never again.

## Example

```python
import torch

weight = torch.zeros(2, requires_grad=True)
for _ in range(100):
    loss = (weight - 1).pow(2).sum()
    loss.backward()
    weight = weight - 0.1 * weight.grad
```

## Write instead

```python
import torch

weight = torch.zeros(2, requires_grad=True)
for _ in range(100):
    loss = (weight - 1).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad
    weight.grad = None
```

## Fix

The update is made in place under `torch.no_grad()`, and the gradient is cleared where nothing else does; a tensor that
is made a leaf again each time is detached, and an argument becomes a new leaf. Unsafe. None where the new value may
have another shape.

## Limits

Silent where the result is made a leaf again before it is needed, where there is only one step, where the gradient
comes from `torch.autograd.grad` (functional updates, meta-learning), and where the values are not torch's (NumPy,
JAX).

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
- https://docs.pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import LeafRebound

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Edits
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[LeafRebound], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.evidence < 2:
            continue
        match fact.reason:
            case "parameter":
                why = "torch refuses a plain tensor where a Parameter is registered"
            case "method":
                why = "it was made as a leaf, and the next call finds no gradient on the new one"
            case "marked":
                why = f"it is no leaf: `requires_grad = True` raises on line {region.line(fact.expected or fact.site)}"
            case _:
                why = f"`.grad` of the new one, read on line {region.line(fact.expected or fact.site)}, stays None"
        message = f"`{fact.target} = ..` replaces a leaf by a computed tensor: {why}"
        yield Finding(region.span(fact.site), "TSC206", message, fix=_kept_leaf(fact, region))


def _kept_leaf(fact: LeafRebound, region: Region) -> Fix | None:
    """The leaf stays and is written to; the gradient that a new tensor would not have had is cleared."""
    edit, change, statement = region.edit, fact.change, fact.statement
    if change is None or not isinstance(statement, ast.Assign):
        return None
    if fact.reason == "marked":  # made a leaf again each time: only the graph is to go
        return edit.fix("Detach the update", edit.method(statement.value, ".detach()"), safe=False)
    if change.argument and not change.clears:
        leaf = edit.method(statement.value, ".detach().requires_grad_()")
        return edit.fix("Make the result a leaf", leaf, safe=False)
    block = edit.without_grad(statement) if change.recorded else ()
    cleared = () if change.clears or fact.reason == "parameter" else _cleared(statement, region)
    return edit.fix("Update in place", edit.in_place(statement, change), block, cleared, safe=False)


def _cleared(statement: ast.Assign, region: Region) -> Edits | None:
    target = region.edit.quoted(statement.targets[0])
    return None if target is None else region.edit.after(statement, f"{target}.grad = None")


RULE = Rule(
    code="TSC206",
    name="leaf-rebound-by-update",
    summary="an update rebinds a leaf to a tensor that is none",
    kinds=("LeafRebound",),
    check=check,
    fix="unsafe",
)
