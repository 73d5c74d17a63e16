"""
## What it does

Reports a state that a loop feeds back into a module, on the graph, where each pass calls `backward()`:
`out, h = rnn(x, h)`. Also an attribute that `forward` computes from its own last value; `retain_graph=True` in a loop
that steps the weights of what was computed before it; and (preview) in the last `backward()` of a pass that has built
the whole graph itself.

## Why it is a bug

The second `backward()` runs through the new step and on into the one before, whose saved tensors are gone:
`RuntimeError: Trying to backward through the graph a second time`. With `retain_graph=True` it does not raise: each
step walks all the steps before it, slower and larger with every pass.

## Example

```python
import torch
from torch import nn


def train(rnn: nn.GRU, batches: list[torch.Tensor], optimizer: torch.optim.Optimizer) -> None:
    hidden = torch.zeros(1, 1, 8)
    for batch in batches:
        out, hidden = rnn(batch, hidden)
        optimizer.zero_grad()
        out.pow(2).mean().backward()
        optimizer.step()
```

## Write instead

```python
import torch
from torch import nn


def train(rnn: nn.GRU, batches: list[torch.Tensor], optimizer: torch.optim.Optimizer) -> None:
    hidden = torch.zeros(1, 1, 8)
    for batch in batches:
        hidden = hidden.detach()
        out, hidden = rnn(batch, hidden)
        optimizer.zero_grad()
        out.pow(2).mean().backward()
        optimizer.step()
```

## Fix

None: whether the state is to be detached in each pass or every so many is the author's choice.

## Limits

Silent where any way round the loop detaches or resets the state, where a function of which nothing is known handles it,
where `backward()` comes after the loop, and for `retain_graph=True` beside `create_graph=True`. An attribute is
reported only where `forward`, or a method that it calls, and `__init__` alone set it, nothing that reads it calls
`detach_()`, the file shows all bases of the class, and `forward` returns what hangs on it or came out of the same call
(`out, self.state = self.lstm(x, self.state)`). Of the items of lists and dicts those count that are part of an
attribute which no other method mentions, and those of a dict that the loop uses under keys that are written out alone.
`retain_graph=True` is no finding where the value is kept for another function that calls `backward()`.
Silent where all that reads the attribute stands behind what sets it, and where `__init__` takes the first state from a
method (`self.state = self.begin()`), by which callers begin each batch, unless the file itself trains the module.

## References

- https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import RecurrentState

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[RecurrentState], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.backward is None:
            message = (
                f"`{fact.state}` goes into the next call with the graph of this one: a second `backward()` walks "
                "through both; keep it by `.detach()`"
            )
            yield Finding(region.span(fact.site), "TSC406", message)
            continue
        if fact.how == "retained":
            message = (
                f"`{fact.state}(retain_graph=True)` is the last `backward()` of its pass: it keeps a graph that "
                "nothing walks again"
            )
            yield Finding(region.span(fact.site), "TSC406", message, preview=True)
            continue
        if fact.how == "outside" and fact.call is not None:
            message = (
                f"`{fact.state}(retain_graph=True)` walks the graph of line {region.line(fact.call)} in each pass, "
                "whose weights a step has moved: compute it in the loop, or detach it"
            )
            yield Finding(region.span(fact.site), "TSC406", message, (region.step(fact.call, "is before the loop"),))
            continue
        does = "walks all the passes before" if fact.retains else "walks into the pass before, whose graph is gone"
        message = (
            f"`{fact.state}` goes into the next pass with the graph of this one: `backward()` on line "
            f"{region.line(fact.backward)} {does}; detach it in each pass"
        )
        steps = [region.step(fact.backward, "walks the graph of two passes")]
        if fact.call is not None:
            steps.insert(0, region.step(fact.call, f"`{fact.state}` of the last pass goes in"))
        yield Finding(region.span(fact.site), "TSC406", message, tuple(steps))


RULE = Rule(
    code="TSC406",
    name="recurrent-state-not-detached",
    summary="a state is fed back over a loop with backward() and never detached",
    kinds=("RecurrentState",),
    check=check,
)
