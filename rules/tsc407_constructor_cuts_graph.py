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

`torch.stack(..)` for a list of tensors, the tensor itself for `torch.tensor(t)`. Unsafe: the shape and the dtype are
those of the tensors then. None for `requires_grad_`: look for what cut the graph (`argmax`, `item()`, `detach()`,
`no_grad`).

## Limits

Only values that are surely on the graph count, and only where what was made of them is backpropagated, or returned as a
loss: by `forward` together with values on the graph, by a function whose name or result says so in a sum with other
terms. A new leaf of anything else that was computed (`loss.item()`, the mean of an array, a detached loss) counts where
it is all that is backpropagated in a function that makes a step, and its own gradient is not read. Silent for numbers,
for what is only logged or read through `detach()`, under `torch.no_grad()`, and for names that say target, label or the
like.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
- https://docs.pytorch.org/docs/stable/generated/torch.stack.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import GraphCut

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Editor
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[GraphCut], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.joined is None:
            continue
        line = region.line(fact.joined)
        if fact.forced:
            where = f"of what line {line} returns" if fact.returned else f"on line {line}"
            message = (
                f"`{fact.source}` has no graph, and `{fact.op}` makes it a leaf: `backward()` {where} reaches no weight"
            )
        else:
            message = (
                f"`{fact.op}(..)` of `{fact.source}` makes a new leaf: what line {line} computes from it has no "
                "gradient for what is in it; use `torch.stack` or the tensor itself"
            )
        step = region.step(fact.joined, "the gradient that does not arrive")
        yield Finding(region.span(fact.site), "TSC407", message, (step,), fix=_linked(fact, region.edit))


def _linked(fact: GraphCut, edit: Editor) -> Fix | None:
    """What the values hang together by, in place of the constructor."""
    match fact.site:
        case ast.Call(func=func, args=[_], keywords=keywords) as call:
            pass
        case _:
            return None
    others = [keyword for keyword in keywords if keyword.arg != "requires_grad"]
    if any(keyword.arg not in ("dtype", "device") for keyword in others):
        return None
    asked = [f"{keyword.arg}={edit.text(keyword.value)}" for keyword in others]
    cast = f".to({', '.join(asked)})" if asked else ""
    if fact.made_of == "tensor":
        return edit.fix("Use the tensor itself", edit.unwrap(call, cast), safe=False)
    if fact.made_of != "tensors" or (named := edit.named("torch.stack", call)) is None:
        return None
    without = edit.drop_arguments(call, *(keyword.arg for keyword in keywords if keyword.arg))
    stack, needed = named
    cast_after = edit.method(call, cast) if cast else ()
    return edit.fix("Stack the tensors", needed, edit.replace(func, stack), without, cast_after, safe=False)


RULE = Rule(
    code="TSC407",
    name="constructor-cuts-graph",
    summary="a constructor makes a new leaf of values that a loss depends on",
    kinds=("GraphCut",),
    check=check,
    fix="unsafe",
)
