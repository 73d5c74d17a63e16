"""
## What it does

Reports `.cpu()` or `.to("cpu")` on a tensor that is proven to hold one number (it had `backward()`, or is a full
reduction) where the host copy is only printed, logged, formatted or written; `x.cpu().item()`, `x.cpu().tolist()`,
`float(x.cpu())`.

## Why it is a bug

Reading the number moves it to the host anyway. The call before it makes one more tensor, with a graph node if the
loss is on the graph, and where it stands outside the `if` that guards the print, it waits for the device in every
step. No fewer bytes move without it: for one number they are the same.

## Example

```python
import torch


def train(weight: torch.Tensor, steps: int) -> None:
    for step in range(steps):
        loss = (weight - 1).pow(2).mean()
        loss.backward()
        loss_cpu = loss.to("cpu")
        if step % 100 == 0:
            print(f"step {step}: {loss_cpu:.4f}")
```

## Write instead

```python
import torch


def train(weight: torch.Tensor, steps: int) -> None:
    for step in range(steps):
        loss = (weight - 1).pow(2).mean()
        loss.backward()
        if step % 100 == 0:
            print(f"step {step}: {loss.item():.4f}")
```

## Fix

The number is read with `.item()` where it is shown, and the move goes: safe. With preview a move goes behind what
reduces or indexes the tensor, or goes where that is read as a number: unsafe.

## Limits

Silent where the host copy has another use, is collected for a metric or goes into a checkpoint, and where the shape
is not known: a tensor of many elements is better moved once than read one by one.

Only with preview: a whole tensor that is moved and then reduced, indexed, or compared with a number or with another
tensor that is moved there for it; reduce it first. What it is compared with may be on the host anyway: silent then, and
where an index takes all (`x.cpu()[:]`).

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import HostScalar

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[HostScalar], region: Region) -> Iterator[Finding]:
    for fact in facts:
        where = region.span(fact.site)
        match fact.used:
            case "item" | "float" | "int" | "tolist" if fact.scalar or fact.used != "tolist":
                message = (
                    f"`{fact.move}` makes a tensor on the host only for `{fact.used}` to read it: "
                    f"`{fact.used}` alone fetches `{fact.receiver}`"
                )
                fix = region.edit.fix("Read it where it lies", region.edit.drop_call(fact.site), safe=True)
                yield Finding(where, "TSC501", message, fix=fix)
            case "logged" if fact.scalar:
                message = (
                    f"`{fact.move}` copies the scalar `{fact.receiver}` only to show it: `.item()` reads it without "
                    "the extra tensor and its graph node"
                )
                yield Finding(where, "TSC501", message, fix=_number(fact, region))
            case "reduced" | "indexed" | "compared":
                message = (
                    f"`{fact.move}` moves all of `{fact.receiver}` and only then it is {fact.used}: do that on the "
                    "device and move the result"
                )
                yield Finding(where, "TSC501", message, preview=True, fix=_narrowed(fact, region))


def _number(fact: HostScalar, region: Region) -> Fix | None:
    """`.item()` in the only place that shows it, or in the place of the move."""
    edit = region.edit
    moved = edit.receiver(fact.site)
    if fact.binding is not None and fact.shown is not None and moved is not None and (text := edit.quoted(moved)):
        gone, read = edit.drop_statement(fact.binding), edit.name(fact.shown)
        if gone is not None and read is not None:
            return edit.fix("Read the number where it is shown", gone, edit.replace(read, f"{text}.item()"), safe=True)
    given = [one.value for one in fact.site.keywords] + fact.site.args if isinstance(fact.site, ast.Call) else []
    alone = edit.drop_argument(fact.site, *given) if given else ()
    return edit.fix("Read the number", edit.rename(fact.site, "item"), alone, safe=True)


def _narrowed(fact: HostScalar, region: Region) -> Fix | None:
    """The move behind what narrows, or none where that is read as a number."""
    edit = region.edit
    if fact.outer is None:
        return None
    without = edit.drop_call(fact.site)
    if fact.read:
        return edit.fix("Read it where it lies", without, safe=False)
    move = edit.trailer(fact.site)
    if fact.operand or move is None:
        return None
    return edit.fix("Move the result", without, edit.method(fact.outer, move), safe=False)


RULE = Rule(
    code="TSC501",
    name="transfer-for-scalar",
    summary="a scalar is moved to the host only to be shown",
    kinds=("HostScalar",),
    check=check,
    fix="safe",
)
