"""
## What it does

Reports a write through `.data`, or through the array of `.detach().numpy()`, to a value that was computed on the
graph and is used on, or to a parameter between the operation that kept it and its `backward()`.

## Why it is a bug

Such a write is invisible to autograd: no version is counted and nothing is recorded. Backward then computes with
the changed value as if it had been there all along, or leaves the change out of the gradient: the numbers are wrong
and there is no error.

## Example

```python
import torch


def step(w: torch.nn.Parameter, x: torch.Tensor) -> None:
    loss = (w * w * x).sum()
    w.data.mul_(0.9)
    loss.backward()
```

## Write instead

```python
import torch


def step(w: torch.nn.Parameter, x: torch.Tensor) -> None:
    loss = (w * w * x).sum()
    loss.backward()
    with torch.no_grad():
        w.mul_(0.9)
```

## Fix

None: move the write behind `backward()`, or write the operation so that autograd sees it.

## Limits

Silent for the initialisation, clipping and update of parameters, unless a `backward()` of this function follows
that reads what was changed; for fresh clones that are only used through `.data`; for values that do not require
grad, or are not known to; under `no_grad`; for changes that the gradient has nothing of: noise added to a value, scores
masked out before a softmax. Whether the argument of a function requires grad is taken from the calls in the file; what
a model of unknown make gave does where a `backward()` of it follows.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
- https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import BypassedWrite, SavedWrite

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[BypassedWrite | SavedWrite], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if isinstance(fact, SavedWrite):
            if not fact.bypassed:
                continue
            effect = f"`{fact.keeper}` on line {region.line(fact.saved)} kept the old value for its gradient"
            steps = fact.steps(region)
        else:
            made = "" if fact.made is None else f" on line {region.line(fact.made)}"
            effect = f"`{fact.value}` was computed{made} and its gradient will not know of the change"
            steps = ()
        message = f"{fact.verb} through `{fact.writer}` goes past autograd: {effect}"
        yield Finding(region.span(fact.site), "TSC410", message, steps)


RULE = Rule(
    code="TSC410",
    name="data-bypasses-autograd",
    summary="a write through `.data` inside the graph gives wrong gradients",
    kinds=("BypassedWrite", "SavedWrite"),
    check=check,
    fix="none",
)
