"""
## What it does

Reports a loss that is backpropagated in each pass of a loop and, still on its graph, kept beyond the pass: added to a
sum or an average, appended to a list, put under the number of the step, given to a meter of this file that keeps it.
Also a buffer that `forward`, or a method that it calls, averages with a value on the graph:
`self.mean = 0.9 * self.mean + 0.1 * x`, `torch.lerp`, or in place by `self.mean.mul_(0.9).add_(0.1 * x)`, `lerp_` or
`+=`.

## Why it is a bug

A tensor holds the graph that it was computed by. A sum of losses for the log holds the graphs of all passes: memory
grows with every step, until the run dies out of memory or spends its time in the allocator.

## Example

```python
import torch
from torch import nn


def epoch(model: nn.Module, loader, optimizer: torch.optim.Optimizer) -> torch.Tensor:
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss
    return total / len(loader)
```

## Write instead

```python
import torch
from torch import nn


def epoch(model: nn.Module, loader, optimizer: torch.optim.Optimizer) -> torch.Tensor:
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total / len(loader)
```

## Fix

`.detach()` behind the value. Safe. None where the value may also be a number or None. Where one will do in any case,
write `.item()`.

## Limits

Only the very value that gets `backward()` in the same pass counts, or what it was scaled or summed from. Silent where
what keeps it gets `backward()` itself, is made or emptied in each pass, forgets (a deque with a `maxlen`, or of self),
or is computed under `torch.no_grad()`, and for what a test says to be no tensor. Of the meters of a file those count
that keep an argument, or each item of a dict or of their keywords, as it is; what they hand on to other meters does
not. A buffer that `forward` averages with a value of its argument alone is a preview finding, and none where it does so
in place: the argument may have no graph. A sum in place that is not scaled as well is no average, and neither is what
`forward` also fills or overwrites. With `retain_graph=True`, silent where another function that calls `backward()` may
reach what keeps the value.

## References

- https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import GraphRetained

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[GraphRetained], region: Region) -> Iterator[Finding]:
    edit = region.edit
    for fact in facts:
        fix = edit.fix("Detach it", *(edit.method(one, ".detach()") for one in fact.given), safe=True)
        if fact.backward is None:
            message = (
                f"`{fact.target}` holds the graph of every call: `{fact.value}` is on the graph and is averaged in "
                "without `detach()`"
            )
            yield Finding(region.span(fact.site), "TSC405", message, preview=not fact.certain, fix=fix)
            continue
        verb = {"list": "keeps", "meter": "keeps"}.get(fact.how, "adds up")
        line = region.line(fact.backward)
        message = (
            f"`{fact.target}` {verb} the graph of every pass: `{fact.value}` is on the graph that `backward()` on line "
            f"{line} went through; append `.detach()` to it"
        )
        step = region.step(fact.backward, f"`{fact.value}` gets its gradients")
        yield Finding(region.span(fact.site), "TSC405", message, (step,), preview=not fact.certain, fix=fix)


RULE = Rule(
    code="TSC405",
    name="graph-retained",
    summary="a loss that is kept for the log keeps the graph of every pass",
    kinds=("GraphRetained",),
    check=check,
    fix="safe",
)
