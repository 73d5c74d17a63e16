"""
## What it does

Reports a call of a module that was built with `inplace=True` (or of a `Sequential` that begins with one, also where a
function or a class of the file puts it together), `F.relu(x, inplace=True)`, `F.relu_(x)` or `x.relu_()`, where the
input is kept under another name or in a list and read later.

## Why it is a bug

The activation writes its result over its input. The shortcut of the residual block then holds the activated values,
and a list of features holds what came after the activation. Whether torch notices depends on what backward needs of
the overwritten tensor; without a graph it never does.

## Example

```python
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x
        out = self.conv(self.relu(x))
        return out + identity
```

## Write instead

```python
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x
        out = self.conv(self.relu(x))
        return out + identity
```

## Fix

The function without `inplace=True`, or without its underscore; a module gets `x.clone()`. Where the activated values
are read under the old name, or the call is a statement, a clone is kept instead. Unsafe: it takes memory. What costs
nothing is to build the first module without `inplace=True`: on the fresh output of a layer it may stay.

## Limits

Silent where the input of the in-place activation is the fresh output of a layer or of arithmetic (`F.relu(a + b,
inplace=True)`), where the skip is added in place (`out += x`), and where the input is not read again. Of a list of
layers of which only some work in place, an index that is not known is taken for one of the others.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.relu.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import StaleRead

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[StaleRead], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if not fact.activation or fact.link != "alias" or not fact.writer_certain:
            continue
        if not fact.consumed or fact.reader_origin == "attribute":
            continue
        # What torch.nn or torch.nn.functional is given is a tensor; a method by its name alone is not on one.
        if fact.evidence < (1 if fact.how == "method" else 0):
            continue
        kept = f"`{fact.reader}`{fact.cause(region)}"
        if fact.reader_origin == "store" and fact.bound is not None:
            kept = f"what line {region.line(fact.bound)} stored"
        # `y = act(x)`, and x is read again: no other name is needed for that.
        written = kept if fact.reader == fact.writer else f"`{fact.writer}`, which is also {kept}"
        message = f"{fact.verb} works in place on {written}, and that is read on line {region.line(fact.read)}"
        fix = _out_of_place(fact, region) or region.edit.fix(
            "Keep a clone", region.edit.copied(fact.copies), safe=False
        )
        yield Finding(region.span(fact.site), "TSC106", message, fact.steps(region), fix=fix)


def _out_of_place(fact: StaleRead, region: Region) -> Fix | None:
    """Where the result goes to a name of its own and nobody wants the activated values under the old one."""
    edit = region.edit
    if not edit.is_used(fact.site) or (fact.writer_used and fact.reader != fact.writer):
        return None
    if fact.how == "module":
        given = edit.arguments(fact.site)
        one = given[0].value if len(given) == 1 and not given[0].star else None
        return edit.fix("Give it a clone", edit.method(one, ".clone()"), safe=False)
    if fact.op.endswith("_"):
        return edit.fix("Call it out of place", edit.rename(fact.site, fact.op.removesuffix("_")), safe=False)
    return edit.fix("Call it out of place", edit.drop_argument(fact.site, "inplace"), safe=False)


RULE = Rule(
    code="TSC106",
    name="inplace-module-overwrites-input",
    summary="an in-place activation overwrites an input that is needed again",
    kinds=("StaleRead",),
    check=check,
    fix="unsafe",
)
