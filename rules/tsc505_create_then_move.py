"""
## What it does

Reports `torch.zeros(..).to(device)`, `torch.randn(..).cuda()` and their like: a factory whose new tensor is moved to a
device at once, or behind calls and operators that take nothing but numbers (`torch.arange(n).unsqueeze(0).to(device)`).

## Why it is a bug

The tensor is made in host memory, filled there, and copied to the device, and the host waits for the copy. With
`device=` it is made where it belongs: no copy, no wait.

## Example

```python
import torch


def positions(length: int, device: torch.device) -> torch.Tensor:
    return torch.arange(length).to(device)
```

## Write instead

```python
import torch


def positions(length: int, device: torch.device) -> torch.Tensor:
    return torch.arange(length, device=device)
```

## Fix

The factory gets the device (and the dtype, where the move asks for one). Safe, but unsafe where the numbers depend on
where they are computed: `rand` and its like, `linspace`, `logspace`, and whatever other calls make of a factory's
numbers; and where the tensor was no leaf and becomes one.
A cast stays behind a factory that computes, unless to a floating dtype: `torch.arange(0, 1, 0.1, device=d).long()`.

## Limits

Only a move to a device in the same expression: not `.to(dtype)`, not to the CPU. Silent for
`torch.tensor(..)` and `from_numpy`, which copy from the host either way, and where a generator is given: a device
draws other numbers than the CPU with the same seed. So does `torch.rand(.., device=..)` without one.

## References

- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import CreatedThenMoved

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Editor, Edits
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[CreatedThenMoved], region: Region) -> Iterator[Finding]:
    for fact in facts:
        other = " (which draws other random numbers there)" if fact.random else ""
        message = (
            f"`torch.{fact.factory}` makes the tensor on the host and then copies it to `{fact.device}`: "
            f"`device=` saves the copy and the wait for it{other}"
        )
        yield Finding(region.span(fact.site), "TSC505", message, fix=_fix(fact, region))


def _fix(fact: CreatedThenMoved, region: Region) -> Fix | None:
    edit = region.edit
    match fact.site:
        case ast.Call(func=ast.Attribute(value=ast.expr() as value, attr=name), args=args, keywords=given):
            made = value if fact.behind is None else fact.behind
            known = {one.arg for one in made.keywords} if isinstance(made, ast.Call) else set()
            asked = {one.arg: one.value for one in given}
        case _:
            return None
    rest = [one for one in args if not (isinstance(one, ast.Constant) and isinstance(one.value, bool))]
    device, dtype = asked.get("device"), asked.get("dtype")
    if rest and device is None:
        device = rest.pop(0)
    if rest and dtype is None:
        dtype = rest.pop(0)
    cast = dtype is not None and fact.behind is None and "dtype" in known
    if rest or not asked.keys() <= {"device", "dtype", "non_blocking"} or cast:
        return None
    if name == "cuda" and not (device is None or isinstance(device, ast.Constant)):
        return None  # None is the device in use there, and the host here
    text = '"cuda"' if device is None else edit.quoted(device)
    typed = "" if dtype is None else edit.quoted(dtype)
    if text is None or typed is None:
        return None
    floating = typed in _FLOATING and fact.factory not in ("randint", "randperm")
    if dtype is not None and (fact.behind is not None or (fact.factory not in _CONSTANT and not floating)):
        # Asked for the dtype, the factory would compute in it: steps and bounds are cut, or it refuses.
        moved = _cast_alone(fact.site, device, dtype, typed, edit)
        wanted = f"device={text}"
    else:
        moved = edit.drop_call(fact.site)
        wanted = f"device={text}" + (f", dtype={typed}" if typed else "")
    exact = fact.factory in _EXACT or (fact.factory == "arange" and not typed)
    safe = exact and fact.behind is None and not fact.random and "requires_grad" not in known
    return edit.fix("Create it there", moved, edit.add_argument(made, wanted), safe=safe)


def _cast_alone(move: ast.AST, device: ast.expr | None, dtype: ast.expr, typed: str, edit: Editor) -> Edits | None:
    """The cast that a move asks for, without the move."""
    match move:
        case ast.Call(args=[one, two]) if one is device and two is dtype:
            return edit.join(edit.replace(one, typed), edit.drop_argument(move, two))
        case ast.Call() if device is not None:
            return edit.drop_argument(move, device)
    return None


_EXACT = frozenset({"zeros", "ones", "full", "eye", "empty"})
# Zeros and ones are the same in each dtype, cast or made.
_CONSTANT = frozenset({"zeros", "ones", "eye", "empty"})
_FLOATING = frozenset(f"torch.{name}" for name in "half float double bfloat16 float16 float32 float64".split())


RULE = Rule(
    code="TSC505",
    name="create-then-move",
    summary="a new tensor is made on the host only to be moved",
    kinds=("CreatedThenMoved",),
    check=check,
    fix="safe",
    preview=True,
)
