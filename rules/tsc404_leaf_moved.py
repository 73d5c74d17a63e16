"""
## What it does

Reports a tensor made with `requires_grad=True` (or `requires_grad_()`) and then moved, cast, viewed, cloned or computed
with (`torch.randn(3, requires_grad=True).cuda()`, `.. * 0.01`), where the result is used as if it were the leaf: its
`.grad` is read, or an optimizer is given it.

## Why it is a bug

Only a leaf gets a `.grad`, and an optimizer takes only leaves. What comes out of an operation is no leaf: its `.grad`
stays `None` while the gradient goes to a tensor that nobody has a name for any more, and the optimizer raises "can't
optimize a non-leaf Tensor". Where `.to(device)` has nothing to move the leaf itself comes back, so the bug shows on the
GPU only.

## Example

```python
import torch


def fit(target: torch.Tensor, device: torch.device) -> torch.Tensor:
    image = torch.zeros(3, 8, 8, requires_grad=True).to(device)
    optimizer = torch.optim.Adam([image], lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        (image - target).pow(2).sum().backward()
        optimizer.step()
    return image.detach()
```

## Write instead

```python
import torch


def fit(target: torch.Tensor, device: torch.device) -> torch.Tensor:
    image = torch.zeros(3, 8, 8, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([image], lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        (image - target).pow(2).sum().backward()
        optimizer.step()
    return image.detach()
```

## Fix

`requires_grad_()` comes last: `torch.zeros(3, 8, 8).to(device).requires_grad_()`; a clone of the new leaf goes. Safe.
None where the tensor is moved in a loop, or told to require grad by a statement of its own, where something else that
may be on the graph goes into the result (which is no leaf then), and where integers come out.

## Limits

Silent where the result is only an input (no `.grad`, no optimizer), for `torch.autograd.grad`, after `retain_grad()`,
where a name still stands for the leaf of a computed value, for `.cpu()`, `.to("cpu")` and a cast to the dtype that it
already has, and after `detach()`.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import MovedLeaf

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Editor, Edits
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[MovedLeaf], region: Region) -> Iterator[Finding]:
    for fact in facts:
        who = f"`{fact.name}`" if fact.name else "the tensor"
        when = "" if fact.always else " wherever it has to move or cast anything"
        line = region.line(fact.used)
        if fact.use == "optimizer":
            used = f"the optimizer on line {line} refuses it"
        else:
            used = f"`{fact.name}.grad`, read on line {line}, stays None"
        message = (
            f"{who} is no leaf: `{fact.op}` makes another tensor of the one that requires grad{when}, so that "
            f"{used}; call `requires_grad_()` last, or make the tensor with `device=` and `dtype=`"
        )
        steps = (
            region.step(fact.site, "the leaf is made"),
            region.step(fact.used, f"{who} is used as if it were the leaf"),
        )
        fix = region.edit.fix("Require grad last", _last(fact, region.edit), safe=True)
        yield Finding(region.span(fact.site), "TSC404", message, steps, fix=fix)


def _last(fact: MovedLeaf, edit: Editor) -> Edits | None:
    """The result is told to require grad, in place of what it is computed from."""
    if fact.whole is None:
        return None
    if fact.direct is not None:
        return edit.drop_call(fact.direct) if fact.direct is fact.whole else None
    match fact.marked:
        case ast.Call(func=ast.Attribute(attr="requires_grad_")):
            return edit.join(edit.drop_call(fact.marked), edit.method(fact.whole, ".requires_grad_()"))
        case ast.Call(func=ast.Name(id="Variable") | ast.Attribute(attr="Variable")):
            return edit.hoist(fact.marked, fact.whole)
        case ast.Call():
            without = edit.drop_argument(fact.marked, "requires_grad")
            return edit.join(without, edit.method(fact.whole, ".requires_grad_()"))
    return None


RULE = Rule(
    code="TSC404",
    name="leaf-moved",
    summary="a leaf is moved or computed with, and the result used as the leaf",
    kinds=("MovedLeaf",),
    check=check,
    fix="safe",
)
