"""
## What it does

Reports `x.clone().detach()` and `torch.clone(x).detach()`, anywhere in a chain, and `torch.detach(x.clone())`, also
with views and moves in between (`x.clone()[0].detach()`), and `x.clone().detach_()`.

## Why it is a bug

The result is the one of `x.detach().clone()`: the same values in a storage of its own, off the graph. But `clone()`
of a tensor on the graph first records a node for a copy that is detached at once. It is a cost, not an error: one
node made and thrown away for every call.

## Example

```python
import torch


class FeatureBank:
    def __init__(self) -> None:
        self.rows: list[torch.Tensor] = []

    def remember(self, features: torch.Tensor) -> None:
        self.rows.append(features.clone().detach())
```

## Write instead

```python
import torch


class FeatureBank:
    def __init__(self) -> None:
        self.rows: list[torch.Tensor] = []

    def remember(self, features: torch.Tensor) -> None:
        self.rows.append(features.detach().clone())
```

## Fix

The two calls change places; of what the expression has just computed (`(a + b).clone().detach()`) the clone goes. Safe.

## Limits

Silent where `x` is already detached, under `torch.no_grad()` and `torch.inference_mode()`, in a function that the
file calls there only, where `x` is proven to be off the graph, and where the clone has a name that is used, or is kept
for its graph.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.clone.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import CloneDetach

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[CloneDetach], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.graph is False or fact.recording is False:
            continue
        where = "" if fact.graph else f", where `{fact.receiver}` requires grad"
        message = (
            f"`clone()` of `{fact.receiver}` records a graph node that `detach()` drops at once{where}: "
            "`detach().clone()` gives the same tensor without it"
        )
        yield Finding(region.span(fact.site), "TSC601", message, fix=_fix(fact, region))


def _fix(fact: CloneDetach, region: Region) -> Fix | None:
    edit = region.edit
    if fact.second:
        return edit.fix("Drop the clone", edit.drop_copy(fact.clone, fact.argument), safe=True)
    match fact.site:
        case ast.Call(func=ast.Attribute(value=value, attr="detach")) if value is fact.clone:
            change = edit.swap(fact.site)
            alone = edit.drop_call(fact.site)
        case ast.Call(func=ast.Attribute(attr="detach" | "detach_"), args=[]):  # past what stands in between
            alone = edit.drop_call(fact.site)
            change = edit.join(edit.method(edit.receiver(fact.clone), ".detach()"), alone)
        case _:  # `torch.detach(x.clone())`
            alone = edit.unwrap(fact.site, "", fact.clone)
            change = edit.join(edit.method(edit.receiver(fact.clone), ".detach()"), alone)
    if fact.argument is not None:
        change = edit.join(edit.method(fact.argument, ".detach()"), alone)
    return edit.fix("Detach first, then clone", change, safe=True)


RULE = Rule(
    code="TSC601",
    name="clone-then-detach",
    summary="clone().detach() records a graph node that detach().clone() does not",
    kinds=("CloneDetach",),
    check=check,
    fix="safe",
)
