"""
## What it does

Reports `backward()` in a loop that moves a tensor by its own gradient, by hand, and never clears that gradient:
`delta.data += step * delta.grad.sign()`.

## Why it is a bug

`backward()` adds to `.grad`. Without clearing, the second pass moves by the sum of two gradients, the third by three.
`optimizer.zero_grad()` clears what the optimizer was given, and nothing else.

## Example

```python
import torch
from torch import nn


def attack(model: nn.Linear, image: torch.Tensor) -> torch.Tensor:
    delta = torch.zeros(1, 4, requires_grad=True)
    for _ in range(10):
        model(image + delta).sum().backward()
        delta.data += 0.01 * delta.grad.sign()
    return delta.detach()
```

## Write instead

```python
import torch
from torch import nn


def attack(model: nn.Linear, image: torch.Tensor) -> torch.Tensor:
    delta = torch.zeros(1, 4, requires_grad=True)
    for _ in range(10):
        model(image + delta).sum().backward()
        delta.data += 0.01 * delta.grad.sign()
        delta.grad.zero_()
    return delta.detach()
```

## Fix

None: `tensor.grad = None` or `tensor.grad.zero_()` after the update.

## Limits

Silent where anything in the function may clear the gradient: a write to it, `zero_grad()` of an optimizer or module
that may hold the tensor, a call of an unknown function on it whose result is not used; where the loop makes the tensor
anew; and outside loops.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import GradientNotCleared

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[GradientNotCleared], region: Region) -> Iterator[Finding]:
    for fact in facts:
        other = f"`{fact.other}.zero_grad()` does not hold it" if fact.other else "nothing clears it"
        message = (
            f"`{fact.tensor}.grad` grows by each `backward()`: the update on line {region.line(fact.update)} moves "
            f"by the sum of all passes, and {other}"
        )
        step = region.step(fact.update, f"moves `{fact.tensor}` by its gradient")
        yield Finding(region.span(fact.site), "TSC412", message, (step,))


RULE = Rule(
    code="TSC412",
    name="missing-zero-grad",
    summary="a loop moves a tensor by its gradient and never clears it",
    kinds=("GradientNotCleared",),
    check=check,
    preview=True,
)
