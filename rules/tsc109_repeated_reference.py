"""
## What it does

Reports a list, tuple or dict that holds one object in every slot: `[nn.Linear(..)] * n` of a layer with parameters,
`[layer for _ in range(n)]` in a `ModuleList`, `Sequential` or attribute, a layer that each pass of a loop appends to
one, stores in a `ModuleDict` or gives to `add_module`, and `[torch.zeros(..)] * n`, `[t for _ in range(n)]` or
`dict.fromkeys(keys, t)` where a slot is written in place.

## Why it is a bug

Multiplying a list copies references. A stack of `n` layers has the parameters of one layer, which all places train
together; `n` accumulators are one tensor, and adding to one adds to all. Torch raises no error, and the state_dict
lists the same weights under `n` names.

## Example

```python
import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width)] * depth)


def totals(pairs: list[tuple[int, torch.Tensor]], classes: int) -> list[torch.Tensor]:
    sums = [torch.zeros(3)] * classes
    for label, row in pairs:
        sums[label] += row
    return sums
```

## Write instead

```python
import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])


def totals(pairs: list[tuple[int, torch.Tensor]], classes: int) -> list[torch.Tensor]:
    sums = [torch.zeros(3) for _ in range(classes)]
    for label, row in pairs:
        sums[label] += row
    return sums
```

## Fix

A comprehension that makes the object anew in each pass; where the item is no call that makes one, `.clone()` of a
tensor and `copy.deepcopy(..)` of a layer. Safe for `[torch.zeros(..)] * n` and the like; unsafe elsewhere, as every
slot gets values, random ones too, and memory of its own. None where several items of a list are not all calls.

## Limits

Silent for layers without parameters (activations, dropout, pools), for classes that the file does not define, where a
slot is bound anew (`out[i] = row`), where the list is only read, and where a name says that sharing is meant
(`shared`, `tied`, `same`), or the test that leads there. A list that leaves the function, other than through `self`,
is not followed.

## References

- https://docs.python.org/3/faq/programming.html#how-do-i-create-a-multidimensional-list
- https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Edit, Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import RepeatedReference

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[RepeatedReference], region: Region) -> Iterator[Finding]:
    for fact in facts:
        what = f"`{fact.name}`"
        if fact.written is not None:
            message = (
                f"every slot is the same tensor {what}: `{fact.op}` on line {region.line(fact.written)} changes all "
                "of them"
            )
        else:
            message = f"every slot is the same {fact.holds} {what}: all places train one set of weights"
        yield Finding(region.span(fact.site), "TSC109", message, fact.steps(region), fix=_fix(fact, region))


def _fix(fact: RepeatedReference, region: Region) -> Fix | None:
    edit = region.edit
    opening, closing, title = "", "", "Make each slot in a comprehension"
    imported: tuple[Edit, ...] | None = ()
    if not fact.anew and fact.holds == "tensor":
        closing, title = ".clone()", "Clone the tensor for each slot"
    elif not fact.anew:
        function, imported = edit.function("copy.deepcopy", fact.site) or ("", None)
        opening, closing, title = f"{function}(", ")", "Copy the layer for each slot"
    match fact.how:
        case "multiplied":
            change = edit.repeated(fact.site, opening, closing)
        case "fromkeys" if fact.anew or isinstance(fact.item, (ast.Name, ast.Attribute)):
            text = edit.quoted(fact.item)
            change = edit.keyed(fact.site, None if text is None else f"{opening}{text}{closing}")
        case "comprehension" | "appended":
            change = edit.call(fact.item, opening[:-1]) if opening else edit.method(fact.item, closing)
        case _:
            return None
    return edit.fix(title, change, imported, safe=fact.constant)


RULE = Rule(
    code="TSC109",
    name="repeated-reference",
    summary="one layer or tensor in every slot of a list or dict",
    kinds=("RepeatedReference",),
    check=check,
    fix="safe",
)
