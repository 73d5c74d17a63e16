"""
## What it does

Reports a module that an optimizer holds and that is only ever called under `torch.no_grad()`, while other parts of the
same optimizer are trained; and a ratio `exp(a - b)` where b is a itself, bound to another name without `detach()`.

## Why it is a bug

Without a graph no gradient reaches the module: the optimizer skips it, and it keeps its first weights. In the ratio
the gradients by a and b cancel out: it is 1, and its gradient 0, whatever a is.

## Example

```python
import torch
from torch import nn


def train(images: torch.Tensor) -> None:
    encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    with torch.no_grad():
        features = encoder(images)
    head(features).sum().backward()
    optimizer.step()
```

## Write instead

```python
import torch
from torch import nn


def train(images: torch.Tensor) -> None:
    encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    features = encoder(images)
    head(features).sum().backward()
    optimizer.step()
```

## Fix

None: take the call out of `no_grad`, or the module out of the optimizer; `old = new.detach()` for the ratio.

## Limits

Silent where the module is handed to anything else (or returned together with the optimizer), where `requires_grad` is
mentioned, and where one call of it has a graph. A module of `self` is judged over all methods of its class.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
- https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import SelfRatio, UntrainedPart

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[SelfRatio | UntrainedPart], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if isinstance(fact, SelfRatio):
            message = (
                f"`{fact.name}` is `{fact.source}` itself: the ratio on line {region.line(fact.ratio)} is 1 and its "
                "gradient 0; detach it"
            )
            step = region.step(fact.ratio, "is 1, with gradient 0")
            yield Finding(region.span(fact.site), "TSC420", message, (step,))
            continue
        message = (
            f"`{fact.module}` is trained by an optimizer and only called under `no_grad`: no gradient ever reaches it"
        )
        yield Finding(region.span(fact.site), "TSC420", message)


RULE = Rule(
    code="TSC420",
    name="no-grad-on-trained-part",
    summary="a part that an optimizer holds is only called without a graph",
    kinds=("UntrainedPart", "SelfRatio"),
    check=check,
    preview=True,
)
