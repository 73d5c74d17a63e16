"""
## What it does

Reports what makes the host wait for the device in each step of a training loop: `.item()`, `float(x)`, `print` of a
tensor, `if` on a tensor, `x[mask]`, `nonzero()`, `torch.cuda.synchronize()`, `torch.cuda.empty_cache()`. Anywhere: the
builtins `max` and `min` over a tensor, `[v.item() for v in x]`, and `logger.debug(f"..{x.item()}..")`.

## Why it is a bug

The host runs ahead of the device and queues its work. Each of these stops it until the device is done, and then the
device is idle until the host has queued the next kernels.

## Example

```python
import torch


def train(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, batches: list[torch.Tensor], device: torch.device
) -> float:
    total = 0.0
    for batch in batches:
        loss = model(batch.to(device)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
```

## Write instead

```python
import torch


def train(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, batches: list[torch.Tensor], device: torch.device
) -> float:
    total = torch.zeros((), device=device)
    for batch in batches:
        loss = model(batch.to(device)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item()
```

## Fix

None: keep the value on the device (`detach()`) and read it after the loop, or in every hundredth step.

## Limits

Only in the innermost loop that holds both `backward()` and the optimizer's `step()`, only for what is known to be a
tensor, and not under an `if` or an exception handler. Silent for what lies on the host, and for `synchronize()` where
the function reads a clock. On the CPU there is nothing to wait for. A preview rule: one read in a step may be worth it.

## References

- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import StepSync

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region

_WORDS = {
    "item": "`{}` reads a number",
    "number": "`{}` becomes a Python number",
    "print": "`{}` is shown",
    "test": "`{}` is tested in Python",
    "mask": "`{}` picks by a mask, so its size has to be known on the host",
    "nonzero": "`{}` has a size that has to be known on the host",
    "synchronize": "`{}` waits for all work",
    "empty_cache": "`{}` waits for all work and gives back memory that the next step takes again",
}


def check(facts: list[StepSync], region: Region) -> Iterator[Finding]:
    for fact in facts:
        match fact.how:
            case "builtin":
                message = (
                    f"`{fact.text}` compares the tensor's elements one by one in Python, with a host synchronisation "
                    "each: use the tensor's own method"
                )
            case "elements":
                message = (
                    f"`{fact.text}` reads the elements one by one, with a host synchronisation each: use `tolist()`"
                )
            case "debug":
                message = (
                    f"`{fact.text}` is read for a debug message whether it is shown or not: a host synchronisation "
                    "each time"
                )
            case _:
                message = (
                    f"{_WORDS[fact.how].format(fact.text)} in each step of the training loop on line "
                    f"{region.line(fact.loop) if fact.loop is not None else '?'}: a host synchronisation each step"
                )
        yield Finding(region.span(fact.site), "TSC508", message)


RULE = Rule(
    code="TSC508",
    name="sync-in-training-loop",
    summary="each step of a training loop waits for the device",
    kinds=("StepSync",),
    check=check,
    preview=True,
)
