"""
## What it does

Reports `torch.tensor(x)` and `x.new_tensor(y)` of what is a tensor already, and `torch.tensor`, `torch.as_tensor`,
`torch.FloatTensor` and their like of a list of tensors or of NumPy arrays. What the argument is follows from its
definition, its annotation, or what the calls in the file pass.

## Why it is a bug

`torch.tensor(x)` copies `x` off the graph: no gradient flows through the copy, and torch warns. Of a list of tensors
it takes the elements one by one as Python numbers, each a wait for the device if they lie on one, off the graph; of
tensors of several elements it raises. A list of arrays is read element by element as well, and torch warns.

## Example

```python
import torch


def weighted(loss: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    scale = weight.abs().mean()
    return loss * torch.tensor(scale)
```

## Write instead

```python
import torch


def weighted(loss: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    scale = weight.abs().mean()
    return loss * scale.detach().clone()
```

## Fix

`x.detach().clone()`, or `.to(.., copy=True)` where a dtype or device is asked for (`y.new_tensor(x)` asks for those of
y): safe, the same tensor; where the gradient is wanted, write `x` itself. Of a list of tensors `torch.stack`, off the
graph as before: safe only where they are proven to be 0-d and on the host. Of a list of arrays one array of them first:
safe where the list is surely not empty, or the dtype is asked for. Unsafe where only a call in the file says what the
argument is: another may pass something else.

## Limits

Silent where the argument may be a number or a list of numbers, where it is known by its use alone, and where a test of
its type or shape, or of an item's, stands around the call. `x = torch.tensor(x)` is no evidence that `x` was a tensor
before.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
- https://docs.pytorch.org/docs/stable/generated/torch.stack.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule, Step
from flake8_tensorcopy.engine.facts import TensorOfTensor

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Edits
    from flake8_tensorcopy.engine.region import Region


_WHAT = {
    "tensor": "`{argument}` is a tensor already{where}: `{call}` copies it off the graph and torch warns; write "
    "`{argument}.detach(){copy}`",
    "tensors": "`{call}` reads the tensors of `{argument}`{where} one element at a time, off the graph: "
    "`torch.stack` makes one tensor of them",
    "arrays": "`{call}` reads the arrays of `{argument}`{where} one element at a time, and torch warns: make one array "
    "of them first, `np.stack`",
}


def check(facts: list[TensorOfTensor], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.evidence < 3 or not fact.form:
            continue
        where = ""
        path: tuple[Step, ...] = ()
        if fact.defined is not None:
            said = "passed" if fact.caller else "bound"
            where = f" ({said} on line {region.line(fact.defined)})"
            path = (region.step(fact.defined, f"`{fact.argument}` is {said} here"),)
        copy = ".to(.., copy=True)" if fact.converts else ".clone()"
        message = _WHAT[fact.form].format(argument=fact.argument, where=where, call=fact.constructor, copy=copy)
        yield Finding(region.span(fact.site), "TSC602", message, path, fix=_fix(fact, region))


def _fix(fact: TensorOfTensor, region: Region) -> Fix | None:
    edit = region.edit
    match fact.site:
        case ast.Call(args=[] | [_], keywords=keywords):
            asked = {one.arg or "**": edit.quoted(one.value) for one in keywords if one.value is not fact.given}
        case _:
            return None
    if not asked.keys() <= {"dtype", "device", "requires_grad"} or None in asked.values():
        return None
    leaf = asked.pop("requires_grad", "False")
    marked = {"False": "", "True": ".requires_grad_()"}.get(leaf or "", f".requires_grad_({leaf})")
    where = ", ".join(f"{name}={text}" for name, text in asked.items())
    match fact.form:
        case "tensor":
            return edit.fix("Detach and clone", _copied(fact, region, where, marked), safe=not fact.caller)
        case "tensors" if fact.flat:
            return edit.fix("Stack the tensors", _stacked(fact, region, where, marked), safe=fact.numbers)
        case "arrays":
            change = _joined(fact, region, where, marked)
            # An empty list is float32 to torch, and float64 to NumPy.
            typed = "dtype" in asked or fact.short not in _ANY | {"new_tensor"}
            safe = (fact.filled or typed) and not fact.caller
            return edit.fix("Make one array of them first", change, safe=safe)
    return None


def _copied(fact: TensorOfTensor, region: Region, where: str, marked: str) -> Edits | None:
    """The argument off the graph, in memory of its own."""
    edit = region.edit
    if fact.short == "new_tensor":
        other = edit.receiver(fact.site)
        if where or other is None or (text := edit.quoted(other)) is None:
            return None
        where = text
    source, new = fact.given, fact.new
    drop: Edits | None = ()
    match source:  # a copy of its own is the one that is made
        case ast.Call(func=ast.Attribute(value=cloned, attr="clone"), args=[], keywords=[]):
            source, new, drop = cloned, False, edit.drop_call(source)
        case ast.Call(func=ast.Attribute(attr="clone") | ast.Name("clone")):
            return None
    match source:
        case ast.Call(func=ast.Attribute(attr="detach"), args=[]):
            trailer = ""
        case _:
            trailer = ".detach()"
    if where:
        trailer += f".to({where})" if new else f".to({where}, copy=True)"
    elif not new:
        trailer += ".clone()"
    return edit.join(edit.unwrap(fact.site, trailer + marked, fact.given), drop)


def _stacked(fact: TensorOfTensor, region: Region, where: str, marked: str) -> Edits | None:
    """`torch.stack` of the list, off the graph as before."""
    to = f".to({where})" if where else _TYPED.get(fact.short)
    if to is None or (where and fact.short not in _ANY):
        return None
    trailer = ("" if fact.graph is False else ".detach()") + to + marked
    return _called("torch.stack", fact, region, trailer)


def _joined(fact: TensorOfTensor, region: Region, where: str, marked: str) -> Edits | None:
    """`np.array` of the list, of which nothing else holds the memory."""
    numpy = region.edit.module("numpy", fact.site)
    if numpy is None:
        return None
    name, importing = numpy
    change = region.edit.join(region.edit.call(fact.given, f"{name}.array"), importing)
    if fact.short != "tensor" or where:
        return change
    return region.edit.join(change, _called("torch.from_numpy", fact, region, marked))


def _called(function: str, fact: TensorOfTensor, region: Region, trailer: str) -> Edits | None:
    """Another function of the argument alone."""
    edit = region.edit
    match fact.site:
        case ast.Call(func=func, args=[_], keywords=keywords) if name := edit.imported(function, fact.site):
            alone = edit.drop_argument(fact.site, *(one.value for one in keywords)) if keywords else ()
            return edit.join(edit.replace(func, name), alone, edit.method(fact.site, trailer) if trailer else ())
    return None


_ANY = frozenset({"tensor", "as_tensor", "asarray"})

# What a list of tensors is converted to behind `torch.stack`.
_TYPED = dict.fromkeys(_ANY, "") | {
    "Tensor": ".float()",
    "FloatTensor": ".float()",
    "DoubleTensor": ".double()",
    "HalfTensor": ".half()",
    "LongTensor": ".long()",
    "IntTensor": ".int()",
    "ShortTensor": ".short()",
    "ByteTensor": ".byte()",
}


RULE = Rule(
    code="TSC602",
    name="tensor-of-tensor",
    summary="torch.tensor() of a tensor, or of a list of tensors or arrays",
    kinds=("TensorOfTensor",),
    check=check,
    fix="safe",
)
