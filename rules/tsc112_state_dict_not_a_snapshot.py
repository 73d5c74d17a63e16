"""
## What it does

Reports `best = model.state_dict()` where the model can still change (a step, `backward()` with an update, a call
that trains it, `load_state_dict`, a write to its parameters) before `best` is read, loaded, compared or returned.
The same through `.copy()`, `dict()`, `copy.copy` and a comprehension whose values are `v`, `v.cpu()`, `v.detach()`,
`v.float()` or `v.numpy()`, and through a function of the file that gives one of these.

## Why it is a bug

The dict is new, its tensors are the model's own. Every later step changes them, so that the "best" state is the
last one, restoring it does nothing, and a difference of before and after is zero. `{k: v.cpu() for ..}` is a
snapshot of a model on a GPU and none of a model on the CPU. Torch raises no error.

## Example

```python
import torch
from torch import nn


def fit(model: nn.Module, optimizer: torch.optim.Optimizer, batches: list[torch.Tensor]) -> None:
    best, best_state = float("inf"), None
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        if loss.item() < best:
            best, best_state = loss.item(), model.state_dict()
    model.load_state_dict(best_state)
```

## Write instead

```python
import copy

import torch
from torch import nn


def fit(model: nn.Module, optimizer: torch.optim.Optimizer, batches: list[torch.Tensor]) -> None:
    best, best_state = float("inf"), None
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        if loss.item() < best:
            best, best_state = loss.item(), copy.deepcopy(model.state_dict())
    model.load_state_dict(best_state)
```

## Fix

`copy.deepcopy(..)` of the state, in place of the shallow copy where there is one. Safe. Of a comprehension, each value
becomes a copy: `v.clone()`, `v.to("cpu", copy=True)`. Unsafe: a state may hold more than tensors; as are deep copies of
what `keep_vars=True` gives, the parameters themselves.

## Limits

Silent where the state is saved, sent, returned or loaded into another model at once; where its name is bound anew
before it is read; where it is taken after the last update; where it is written through; where other values are put
into it before it is loaded back into the same module, a merge; and where `load_state_dict(.., assign=True)` gives the
module other tensors. Across methods, only a state kept on `self` that another method loads back into the same module is
reported, in a class that trains or where the method that keeps it loads another state; and one of a module that a
method is given, where a later call of it loads that back, or another method does and the name, or a comparison with the
best so far, says that the state was to be kept, or where the caller goes on training and reads the attribute. An
optimizer that was passed in is taken to move every module in sight.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict
- https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
- https://docs.python.org/3/library/copy.html
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
        if fact.call != "state_dict" or fact.role == "logged":
            continue
        passed = "".join(f", and `{op}` does not copy the tensors" for op in fact.copies[:1])
        if fact.method:
            message = (
                f"`{fact.reader}` is no snapshot: `state_dict()` holds the live tensors of `{fact.module}`{passed}; "
                f"what `{fact.method}` loads back on line {region.line(fact.read)} has changed with them"
            )
            yield Finding(region.span(fact.site), "TSC112", message, fact.steps(region), fix=_fix(fact, region))
            continue
        message = (
            f"`{fact.reader}` is no snapshot: `state_dict()` holds the live tensors of `{fact.module}`{passed}; "
            f"`{fact.change}` on line {region.line(fact.changed)} changes them before line {region.line(fact.read)} "
            "reads them"
        )
        yield Finding(region.span(fact.site), "TSC112", message, fact.steps(region), fix=_fix(fact, region))


def _fix(fact: StaleSnapshot, region: Region) -> Fix | None:
    edit, taken = region.edit, fact.taken
    if fact.takes == "value":
        return edit.fix("Copy each tensor", edit.cloned(taken), safe=False)
    found = edit.function("copy.deepcopy", taken)
    if found is None:
        return None
    deepcopy, imported = found
    direct = fact.takes == "shallow" or (isinstance(taken, ast.Call) and getattr(taken.func, "attr", "") == fact.call)
    change = edit.deepened(taken, deepcopy, shallow=fact.takes == "shallow")
    return edit.fix("Copy the state deeply", change, imported, safe=direct and not _keeps_variables(fact.made))


def _keeps_variables(call: ast.AST) -> bool:
    """Whether `state_dict()` may give the parameters themselves, `keep_vars=True`: copies would be leaves of their own,
    and what is no leaf has no deep copy."""
    match call:
        case ast.Call(args=args, keywords=keywords):
            named = {one.arg: one.value for one in keywords}
            starred = None in named or any(isinstance(one, ast.Starred) for one in args)
            asked = named.get("keep_vars", args[2] if len(args) > 2 else None)
            return starred or not (asked is None or (isinstance(asked, ast.Constant) and asked.value is False))
    return True


RULE = Rule(
    code="TSC112",
    name="state-dict-not-a-snapshot",
    summary="a state_dict() kept as a snapshot follows the model",
    kinds=("StaleSnapshot",),
    check=check,
    fix="safe",
)
