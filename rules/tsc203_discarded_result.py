"""
## What it does

Reports an operation on a tensor that stands alone as a statement and writes nothing: `x.clamp(0, 1)`,
`p.grad.clamp(-1, 1)`, `x.detach()`, `x.masked_fill(..)`. Also `g = p.grad; g = g.clamp(..)` where `g` is not used
afterwards.

## Why it is a bug

Without the trailing underscore the operation returns a new tensor. The statement drops it: gradients are not
clipped, the mask is not applied, the graph is not cut. Torch raises no error.

## Example

```python
import torch


def attention(score: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    score.masked_fill(~mask, float("-inf"))
    return score.softmax(dim=-1)
```

## Write instead

```python
import torch


def attention(score: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    score = score.masked_fill(~mask, float("-inf"))
    return score.softmax(dim=-1)
```

## Fix

The result is assigned to what the operation was called on; where that is a gradient, or a name that is not read again,
or a parameter, the operation with the underscore is called (`clamp_`, `masked_fill_`), under `torch.no_grad()` if need
be. Unsafe. None where neither can be: the result of another call.

## Limits

Reported only where the receiver is proven to be a tensor by a definition or an annotation, or by a method that only
tensors have (`contiguous`, `masked_fill`, `clamp`; not by this `detach()` alone, which contexts, files and finalizers
have too). Silent for methods of other classes that share a name (`boxes.clip(..)`, `items.sort()`), for modules, for
`requires_grad_()` and all other names with an underscore, for calls with `out=`, and in a `try` that asks whether torch
raises. Statements that only move or cast are TSC204.

## References

- https://docs.pytorch.org/docs/stable/tensors.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.clamp_.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import DeadRebinding, DroppedResult

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[DroppedResult | DeadRebinding], region: Region) -> Iterator[Finding]:
    edit = region.edit
    for fact in facts:
        where = region.span(fact.site)
        match fact:
            case DroppedResult(moves=False, probing=False) if fact.evidence >= 2 and (
                fact.twin or fact.views or fact.asks
            ):
                way = f"{fact.op}_" if fact.twin else fact.asks
                in_place = f" (`{way}` would)" if way else ""
                message = f"`{fact.op}` does not change `{fact.receiver}`{in_place}, and its result is thrown away"
                yield Finding(where, "TSC203", message, fix=_kept(fact, region))
            case DeadRebinding(origin="grad", computed=True, uses_itself=True) if fact.evidence >= 1:
                message = (
                    f"`{fact.op}` makes a new tensor: `{fact.name}` is rebound and never read again, `{fact.source}` "
                    "stays as it was"
                )
                fix = edit.fix("Write in place", edit.in_place(fact.site, fact.change), safe=False)
                yield Finding(where, "TSC203", message, fix=fix)


def _kept(fact: DroppedResult, region: Region) -> Fix | None:
    """The result under the name that it was asked of; in place where nobody would read that name."""
    edit = region.edit
    if fact.target is None or fact.statement is None:
        return None
    named = fact.slot == "attribute" or (fact.slot == "item" and not fact.views) or (fact.slot == "name" and fact.read)
    if named and not fact.leaf:
        target = edit.quoted(fact.target)
        change = None if target is None else edit.assign(fact.statement, target)
        return edit.fix("Assign the result", change, safe=False)
    if not (fact.twin and fact.method and fact.slot) or (fact.views and (fact.leaf or fact.slot == "item")):
        return None
    block = edit.without_grad(fact.statement) if fact.recorded and fact.slot != "part" else ()
    return edit.fix("Call the operation in place", edit.rename(fact.site, f"{fact.op}_"), block, safe=False)


RULE = Rule(
    code="TSC203",
    name="discarded-result",
    summary="the result of an operation that writes nothing is dropped",
    kinds=("DroppedResult", "DeadRebinding"),
    check=check,
    fix="unsafe",
)
