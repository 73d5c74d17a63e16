"""
## What it does

Reports `x.cpu().detach()`, `x.to("cpu").detach()` and `torch.detach(x.cpu())`, also with views in between.

## Why it is a bug

The result is the one of `x.detach().cpu()`. But the move of a tensor that is on the graph, and on a device, is
recorded: a node for the copy to the host is made, and `detach()` drops it at once. It is a cost, not an error.

## Example

```python
import numpy as np
import torch


def to_array(scores: torch.Tensor) -> np.ndarray:
    return scores.cpu().detach().numpy()
```

## Write instead

```python
import numpy as np
import torch


def to_array(scores: torch.Tensor) -> np.ndarray:
    return scores.detach().cpu().numpy()
```

## Fix

`detach()` goes before the move. Safe.

## Limits

Silent under `torch.no_grad()` and `torch.inference_mode()`, in a function that the file calls there only, where the
tensor is proven to be off the graph, and where the tensor on the host has a name. On the CPU `cpu()` returns its
argument and records nothing.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import MovedThenDetached

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[MovedThenDetached], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.graph is False or fact.recording is False:
            continue
        where = "" if fact.graph else f", where `{fact.receiver}` requires grad"
        message = (
            f"`{fact.move}` of `{fact.receiver}` records a graph node for the copy to the host that `detach()` drops "
            f"at once{where}: `detach().{fact.move}` gives the same tensor without it"
        )
        yield Finding(region.span(fact.site), "TSC604", message, fix=_fix(fact, region))


def _fix(fact: MovedThenDetached, region: Region) -> Fix | None:
    edit = region.edit
    match fact.site:
        case ast.Call(func=ast.Attribute(value=value)) if value is fact.moved:
            change = edit.swap(fact.site)
        case ast.Call(args=[given]) | ast.Call(keywords=[ast.keyword(value=given)]):  # `torch.detach(x.cpu())`
            alone = edit.unwrap(fact.site, "", given)
            change = edit.join(edit.method(edit.receiver(fact.moved), ".detach()"), alone)
        case _:  # past the views in between
            change = edit.join(edit.method(edit.receiver(fact.moved), ".detach()"), edit.drop_call(fact.site))
    return edit.fix("Detach first, then move", change, safe=True)


RULE = Rule(
    code="TSC604",
    name="cpu-before-detach",
    summary="cpu().detach() records a graph node that detach().cpu() does not",
    kinds=("MovedThenDetached",),
    check=check,
    fix="safe",
)
