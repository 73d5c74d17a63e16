"""
## What it does

Reports `g = p.grad` (also appended, in a list or dict, as an attribute) where a further `backward()`, a zeroing in
place (`grad.zero_()`, `zero_grad(set_to_none=False)`) or a clipping changes it before it is read. And a write in place
through such a name (`g /= g.norm()`) where an optimizer or the caller still needs the gradient, or through one result
of `torch.autograd.grad` while another one is still read.

## Why it is a bug

`p.grad` is one tensor: `backward()` adds to it in place, `zero_()` clears it, clipping scales it, and every name for it
shows the same. Saved gradients of several tasks are all the sum of all. In the other direction, a write through the
name changes what the optimizer will use, and the results of one `autograd.grad` may be one tensor twice. Torch raises
no error.

## Example

```python
import torch


def gradients(weight: torch.Tensor, batches: list[torch.Tensor]) -> list[torch.Tensor]:
    found = []
    for batch in batches:
        if weight.grad is not None:
            weight.grad.zero_()
        (weight * batch).sum().backward()
        found.append(weight.grad)
    return found
```

## Write instead

```python
import torch


def gradients(weight: torch.Tensor, batches: list[torch.Tensor]) -> list[torch.Tensor]:
    found = []
    for batch in batches:
        if weight.grad is not None:
            weight.grad.zero_()
        (weight * batch).sum().backward()
        found.append(weight.grad.clone())
    return found
```

## Fix

`.clone()` where the gradient is kept, of each parameter's `None if p.grad is None else p.grad.clone()`, or where it is
bound to the name that is written; of a result of `autograd.grad` the write makes a new tensor, `g = g / g.norm()`.
Safe; unsafe where it is not certain that two results are one tensor.

## Limits

Silent after `zero_grad()`, which lets go of the gradient by default, and where the gradient is read before it moves.
Clipping is reported where the name says that the old value was wanted, or where both are compared. A write through a
name is taken to be meant where the gradient is not read under that name afterwards, where the function updates the
parameter itself, or where its name says so (`clip_`, `scale_`, `step`). What one call of a method keeps for the next
one is reported where the file zeroes its gradients in place only. Results of `autograd.grad` that are not seen to be
one tensor are preview.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
- https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import GradientWrite, StaleGradient

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[StaleGradient | GradientWrite], region: Region) -> Iterator[Finding]:
    edit = region.edit
    for fact in facts:
        if isinstance(fact, StaleGradient):
            if fact.kind == "clipped" and not (fact.kept or fact.compared):
                continue
            reads = f" before line {region.line(fact.read)} reads it" if fact.read is not fact.changed else ""
            message = (
                f"`{fact.reader}` is no snapshot: it is `{fact.gradient}` itself; `{fact.change}` on line "
                f"{region.line(fact.changed)} changes it{reads}; keep a `clone()`"
            )
            change = edit.cloned_if_any(fact.taken) if fact.perhaps else edit.cloned(fact.taken)
            fix = edit.fix("Keep a clone", change, safe=True)
            yield Finding(region.span(fact.site), "TSC115", message, fact.steps(region), fix=fix)
            continue
        match fact.by:
            case "sibling":
                sure = "is" if fact.certain else "may be"
                why = f"`{fact.gradient}`, read on line {region.line(fact.needed)}, {sure} the same tensor"
            case "step":
                why = f"it is `{fact.gradient}` itself, which the step on line {region.line(fact.needed)} uses"
            case _:
                why = f"it is `{fact.gradient}` itself, which the caller still has"
        message = f"in-place `{fact.op}` on `{fact.writer}` changes more than that name: {why}"
        path = (region.step(fact.site, f"`{fact.op}` writes it"), region.step(fact.needed, "needed as it was"))
        fix = None
        if fact.by != "sibling":
            fix = edit.fix("Bind a clone", edit.cloned(fact.taken) if fact.taken is not None else None, safe=True)
        fix = fix or edit.fix("Bind a new tensor", edit.out_of_place(fact.statement), safe=fact.certain)
        yield Finding(region.span(fact.site), "TSC115", message, path, preview=not fact.certain, fix=fix)


RULE = Rule(
    code="TSC115",
    name="gradient-not-a-snapshot",
    summary="a kept gradient moves, or is written where others need it",
    kinds=("StaleGradient", "GradientWrite"),
    check=check,
    fix="safe",
)
