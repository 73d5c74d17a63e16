"""
## What it does

Reports `nn.Parameter(expression)` in `forward`, or in a method that `forward` calls, where the expression is computed
from parameters or is a layer's output: `self.conv.weight = nn.Parameter(self.conv.weight * self.mask)`.

## Why it is a bug

A Parameter is a leaf: the graph ends there. The gradient of the loss goes to the new Parameter, which the next call
throws away, and nothing reaches the parameters that it was computed from; the optimizer does not have the new one
either.

## Example

```python
import torch
from torch import nn


class Bounded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.zeros(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = nn.Parameter(torch.tanh(self.raw))
        return x @ weight
```

## Write instead

```python
import torch
from torch import nn


class Bounded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.zeros(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = torch.tanh(self.raw)
        return x @ weight
```

## Fix

None: use the computed tensor itself, with `torch.nn.functional` or `torch.func.functional_call` where a layer
expects a weight, or `torch.nn.utils.parametrize`.

## Limits

Silent under `torch.no_grad()`, for detached values and `.data`, for `requires_grad=False`, for new values
(`nn.Parameter(torch.zeros(..))`), and outside of what `forward` runs.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
- https://docs.pytorch.org/tutorials/intermediate/parametrizations.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import RewrappedParameter

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[RewrappedParameter], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`nn.Parameter({fact.value})` in `{fact.method}` is a new leaf: no gradient gets back from it to what "
            f"`{fact.value}` was computed from; use the tensor itself"
        )
        yield Finding(region.span(fact.site), "TSC414", message)


RULE = Rule(
    code="TSC414",
    name="parameter-rewrapped-in-forward",
    summary="forward makes a new Parameter of a computed tensor",
    kinds=("RewrappedParameter",),
    check=check,
    preview=True,
)
