"""
## What it does

Reports a statement that writes to a copy which nothing else holds: the result of `diag()` of a matrix,
`index_select`, `gather`, `reshape` of a tensor that is not contiguous, `x[0].data = v`; and `state[key] = v` on a
`state_dict()` that is never loaded back.

## Why it is a bug

The write succeeds and is lost. The diagonal keeps its ones, the weight is not loaded, the model never sees the new
entry of its state dict.

## Example

```python
import torch


def without_self_loops(adjacency: torch.Tensor) -> torch.Tensor:
    adjacency.diag().fill_(0.0)
    return adjacency


def load_flat(weight: torch.Tensor, flat: torch.Tensor) -> None:
    weight.t().reshape(-1).copy_(flat)
```

## Write instead

```python
import torch


def without_self_loops(adjacency: torch.Tensor) -> torch.Tensor:
    adjacency.diagonal().fill_(0.0)
    return adjacency


def load_flat(weight: torch.Tensor, flat: torch.Tensor) -> None:
    weight.t().copy_(flat.view(weight.shape[1], weight.shape[0]))
```

## Fix

None: write to a view (`diagonal()`, `view`, `narrow`), or use the operation that writes by index (`index_add_`,
`scatter_`); load an edited state dict back with `load_state_dict`, or write into its tensors
(`state[key].copy_(v)`).

## Limits

Silent for views, for a `reshape` that can be a view, for a copy that is given a name and used, for a state dict
that is loaded, saved, returned or handed on, and for a dict of tensors of one's own.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.diag.html
- https://docs.pytorch.org/docs/stable/generated/torch.diagonal.html
- https://docs.pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import LostWrite

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[LostWrite], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.probing or fact.evidence < 2:
            continue
        match fact.copied_by:
            case "index":
                continue
            case "state_dict":
                message = (
                    f"this puts a tensor into `{fact.base}` and not into the model: a state_dict is a new dict, and "
                    "it is never loaded back"
                )
            case "data":
                message = f"`{fact.base}.data = ..` gives a temporary view another storage; the tensor keeps its values"
            case op:
                message = f"{fact.verb} changes the copy that `{op}` made of `{fact.base}`, and nobody else can see it"
        yield Finding(region.span(fact.site), "TSC202", message)


RULE = Rule(
    code="TSC202",
    name="lost-write-on-copy",
    summary="a write to a copy that nobody else can see",
    kinds=("LostWrite",),
    check=check,
)
