"""
## What it does

Reports `before = list(model.parameters())` (also `tuple`, `dict(model.named_parameters())`, a comprehension of `p`,
`p.data`, `p.detach()`, `p.cpu()`, a dict or list that a loop over them fills) where the model is trained and what was
kept is then compared with the parameters of now, or read under a name that says it keeps the old values. Reports also
one parameter, `before = layer.weight`, `.data` or `.detach()` of it, where it is compared with that of now, or where
each pass of a training loop appends it to a list that is read after the loop; and `self.backup[name] = param.data`,
under a name that says that it keeps the old values, where the method then writes the parameter in place.

## Why it is a bug

The list is new, the parameters in it are the model's own, and `p.data` and `p.detach()` share their storage. A distance
to the "old" weights is always zero, a penalty on it trains nothing, and putting the "old" weights back does nothing.
Torch raises no error.

## Example

```python
import torch
from torch import nn


def moved(model: nn.Module, optimizer: torch.optim.Optimizer, batch: torch.Tensor) -> torch.Tensor:
    before = list(model.parameters())
    model(batch).sum().backward()
    optimizer.step()
    return sum((new - old).abs().sum() for new, old in zip(model.parameters(), before))
```

## Write instead

```python
import torch
from torch import nn


def moved(model: nn.Module, optimizer: torch.optim.Optimizer, batch: torch.Tensor) -> torch.Tensor:
    before = [param.detach().clone() for param in model.parameters()]
    model(batch).sum().backward()
    optimizer.step()
    return sum((new - old).abs().sum() for new, old in zip(model.parameters(), before))
```

## Fix

Each parameter becomes a copy: `[param.detach().clone() for param in model.parameters()]`, or `.clone()` after `p.data`
and `p.detach()`; of a list that was copied one layer deep, `copy.deepcopy`. Unsafe: what was kept has no gradients, and
takes memory of its own.

## Limits

A list of parameters is mostly a handle: silent where it is given to an optimizer, clipped, counted or written through,
and where neither its name nor a comparison says that the old values were wanted. Silent after `p.data = other`, which
leaves the old storage alone. One parameter is known by what a layer calls it, `weight` or `bias`, or by the class of
the file that makes it; its `cpu()` is taken for the parameter itself, unless the function speaks of CUDA. Across
methods, a list kept on `self` is reported where another method compares it with the parameters of the same module,
copies it back, or moves it towards them as an average.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.parameters
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import StaleSnapshot

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[StaleSnapshot], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.call not in ("parameters", "parameter") or fact.role == "logged" or not (fact.compared or fact.kept):
            continue
        passed = "".join(f", and `{op}` does not copy them" for op in fact.copies[:1])
        if fact.method:
            happens = f"`{fact.method}` finds no difference on line {region.line(fact.read)}, however it is trained"
        else:
            happens = (
                f"`{fact.change}` on line {region.line(fact.changed)} changes them before line "
                f"{region.line(fact.read)} reads them"
            )
        if fact.call == "parameter":
            passed = "".join(f", and `{op}` does not copy it" for op in fact.copies[:1])
            where = " on the CPU" if "cpu" in fact.copies else ""
            message = (
                f"`{fact.reader}` is no snapshot{where}: it holds the live parameter `{fact.module}`{passed}; "
                f"`{fact.change}` on line {region.line(fact.changed)} changes it before line {region.line(fact.read)} "
                "reads it"
            )
            yield Finding(region.span(fact.site), "TSC114", message, fact.steps(region), fix=_fix(fact, region))
            continue
        message = f"`{fact.reader}` is no snapshot: it holds the live parameters of `{fact.module}`{passed}; {happens}"
        yield Finding(region.span(fact.site), "TSC114", message, fact.steps(region), fix=_fix(fact, region))


def _fix(fact: StaleSnapshot, region: Region) -> Fix | None:
    edit, taken = region.edit, fact.taken
    each = "param.detach().clone()"
    match taken:
        case _ if fact.takes == "value":
            if not {"detach", "data"}.isdisjoint(fact.copies):
                change = edit.cloned(taken)
            elif (receiver := edit.receiver(taken)) is not None:
                change = edit.join(edit.method(receiver, ".detach()"), edit.cloned(taken))
            else:
                change = edit.method(taken, ".detach().clone()")
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters"))]) if fact.takes == "call":
            change = edit.each(taken, each, "param")
        case ast.Call(func=ast.Name(id="dict"), args=[ast.Call(func=ast.Attribute(attr="named_parameters"))]):
            change = edit.each(taken, f"name: {each}", "name, param")
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="named_parameters"))]):
            change = edit.each(taken, f"(name, {each})", "name, param")
        case _:
            deepcopy = edit.function("copy.deepcopy", taken)
            if deepcopy is None or fact.takes != "shallow":
                return None
            change = edit.join(edit.deepened(taken, deepcopy[0], shallow=True), deepcopy[1])
    return edit.fix("Copy each parameter", change, safe=False)


RULE = Rule(
    code="TSC114",
    name="parameters-not-a-snapshot",
    summary="parameters kept as a snapshot follow the model",
    kinds=("StaleSnapshot",),
    check=check,
    fix="unsafe",
)
