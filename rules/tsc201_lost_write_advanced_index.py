"""
## What it does

Reports a statement that writes to a tensor indexed by a list, a mask or an index tensor: `x[mask].fill_(0)`,
`x[mask][:, 2] = 0`, `nn.init.zeros_(x[ids])`, `out=x[ids]`.

## Why it is a bug

Such an index makes a copy. The write changes the copy, which nobody holds, and `x` stays as it was. Torch raises no
error.

## Example

```python
import torch


def scrub(features: torch.Tensor) -> torch.Tensor:
    features[torch.isnan(features)].fill_(0.0)
    return features
```

## Write instead

```python
import torch


def scrub(features: torch.Tensor) -> torch.Tensor:
    features[torch.isnan(features)] = 0.0
    return features
```

## Fix

One index and an assignment: `x[mask].zero_()` becomes `x[mask] = 0`, `x[mask].add_(v)` `x[mask] += v`,
`x[mask][:, 2] = v` `x[mask, 2] = v`, and any other method `x[mask] = x[mask].clamp_(0)`; what one index cannot say is
written to a named copy, which is then assigned to the index. Unsafe: torch then wants the dtype of `x`. None where the
index would have to be computed twice and may differ.

## Limits

Reported only where the index is proven to copy: a list, a comparison, `~m`, `a & b`, a tensor, a result of
`nonzero()`. Silent for

- ints, slices, tuples of them and 0-d tensors, which give views, and for a bare name that could be an int;
- `x[mask] = v` and `x[mask] += v`, which write `x`;
- `x[:, i][mask] = v`, where the first index is a view;
- a copy that is given a name and wanted as one.

## References

- https://docs.pytorch.org/docs/stable/tensor_view.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_fill_.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import LostWrite

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[LostWrite], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.copied_by != "index" or fact.index is None or fact.evidence < 1 or fact.probing:
            continue
        message = (
            f"{fact.verb} changes a copy that is thrown away: `{fact.base}[{region.code(fact.index)}]` copies, since "
            "its index is a mask, list or tensor"
        )
        yield Finding(region.span(fact.site), "TSC201", message, fix=_index_once(fact, region))


def _index_once(fact: LostWrite, region: Region) -> Fix | None:
    """An assignment to the index, which writes to the tensor itself."""
    edit = region.edit
    if fact.copy is None or fact.written is None or fact.statement is None:
        return None
    if fact.written is not fact.copy and not fact.joined:
        return _through_a_name(fact, region)
    once = () if fact.written is fact.copy else edit.joined(fact.written)
    match fact.statement:
        case ast.Assign() | ast.AugAssign():
            return edit.fix("Index once", once, safe=False)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver, attr=name), args=args, keywords=[])) if (
            receiver is fact.written and (sign := _sign(name, args, fact.number)) is not None
        ):
            text = "0" if name == "zero_" else edit.quoted(args[0])
            change = None if text is None else edit.written(fact.statement, sign, text)
            return edit.fix("Assign to the index", once, change, safe=False)
    again = edit.quoted(fact.copy)
    if fact.written is not fact.copy or not fact.repeatable or again is None:
        return None
    change = edit.assign(fact.statement, again)
    if isinstance(fact.site, ast.Call) and any(keyword.arg == "out" for keyword in fact.site.keywords):
        change = edit.join(change, edit.drop_argument(fact.site, "out"))
    return edit.fix("Write the result back", change, safe=False)


def _through_a_name(fact: LostWrite, region: Region) -> Fix | None:
    """The copy gets a name, is written, and goes back to where it came from."""
    edit = region.edit
    copied = edit.quoted(fact.copy) if fact.copy is not None else None
    if copied is None or fact.copy is None or fact.statement is None or not fact.repeatable:
        return None
    name = edit.unused("selected")
    return edit.fix(
        "Write the copy back",
        edit.around(fact.statement, f"{name} = {copied}", f"{copied} = {name}"),
        edit.replace(fact.copy, name),
        safe=False,
    )


def _sign(name: str, args: list[ast.expr], number: bool) -> str | None:
    """The assignment that does what a method in place does with these arguments."""
    match name, args:
        case "zero_", []:
            return "="
        case "fill_", [_]:
            return "=" if number else None
        case _, [ast.Starred() | ast.GeneratorExp()]:
            return None
        case _, [_]:
            return _SIGNS.get(name)
    return None


_SIGNS = {"copy_": "=", "add_": "+=", "sub_": "-=", "mul_": "*=", "div_": "/=", "pow_": "**="}

RULE = Rule(
    code="TSC201",
    name="lost-write-advanced-index",
    summary="a write to the copy that a mask, list or tensor index makes",
    kinds=("LostWrite",),
    check=check,
    fix="unsafe",
)
