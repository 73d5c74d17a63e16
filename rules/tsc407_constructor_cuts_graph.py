"""
## What it does

Reports `torch.tensor(losses)`, `torch.FloatTensor([loss_a, loss_b])`, `torch.tensor(weight)` of values on the graph, on
the way to a loss; and `loss.requires_grad_(True)` on a computed loss that has no graph.

## Why it is a bug

A constructor copies numbers: what it makes is a new leaf, and `backward()` ends there. A loss that is declared a leaf
gets its own gradient, which is 1, and the model gets none. Nothing raises, and nothing is learned.

## Example

```python
import torch
from torch import nn


def loss_of(model: nn.Linear, parts: list[torch.Tensor]) -> None:
    losses = [model(part).pow(2).mean() for part in parts]
    loss = torch.tensor(losses, requires_grad=True).sum()
    loss.backward()
```

## Write instead

```python
import torch
from torch import nn


def loss_of(model: nn.Linear, parts: list[torch.Tensor]) -> None:
    losses = [model(part).pow(2).mean() for part in parts]
    loss = torch.stack(losses).sum()
    loss.backward()
```

## Fix

None yet: write `torch.stack(..)` for a list of tensors, the tensor itself for `torch.tensor(t)`, and look for what cut
the graph (`argmax`, `item()`, `detach()`, `no_grad`) instead of `requires_grad_`.

## Limits

Only values that are surely on the graph count, and only where what was made of them is backpropagated, or returned by
`forward` together with values on the graph. Silent for numbers, for what is only logged, under `torch.no_grad()`, and
for names that say target, label or the like.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
- https://docs.pytorch.org/docs/stable/generated/torch.stack.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import GraphCut

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[GraphCut], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.joined is None:
            continue
        line = region.line(fact.joined)
        if fact.forced:
            message = (
                f"`{fact.source}` has no graph, and `{fact.op}` makes it a leaf: `backward()` on line {line} reaches "
                "no weight"
            )
        else:
            message = (
                f"`{fact.op}(..)` of `{fact.source}` makes a new leaf: what line {line} computes from it has no "
                "gradient for what is in it; use `torch.stack` or the tensor itself"
            )
        step = region.step(fact.joined, "the gradient that does not arrive")
        yield Finding(region.span(fact.site), "TSC407", message, (step,))


RULE = Rule(
    code="TSC407",
    name="constructor-cuts-graph",
    summary="a constructor makes a new leaf of values that a loss depends on",
    kinds=("GraphCut",),
    check=check,
    fix="unsafe",
)
