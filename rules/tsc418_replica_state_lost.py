"""
## What it does

Reports an attribute that `forward`, or a method that it calls, sets on a module (`self.calls += 1`, `self.cache = x`),
where the file wraps the module in `nn.DataParallel` and reads the attribute elsewhere: in another method, or on the
module itself; a number that goes on from its own last value also where `forward` alone reads it.

## Why it is a bug

`DataParallel` makes a replica of the module for each device in every call, and `forward` runs on the replicas. What it
sets there is gone when the call returns; the module keeps what it had before. On one device there is no replica, so
the bug shows on several GPUs only.

## Example

```python
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x


def count(batches: list[torch.Tensor]) -> int:
    net = Counter()
    parallel = nn.DataParallel(net)
    for batch in batches:
        parallel(batch)
    return net.calls
```

## Write instead

```python
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return x


def count(batches: list[torch.Tensor]) -> int:
    net = Counter()
    parallel = nn.DataParallel(net)
    for batch in batches:
        parallel(batch)
    return int(net.calls)
```

## Fix

None: return the value, write a buffer in place (the replica on the first device shares it), or use
`DistributedDataParallel`, which has no replicas.

## Limits

Silent for tensors and lists that are written in place, for other attributes that nothing but `forward` reads, for
`DistributedDataParallel`, and where the module that is wrapped is not proven to be of the class.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ReplicaState

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ReplicaState], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.attribute}` is set on a replica that `DataParallel` (line {region.line(fact.wrapped)}) throws "
            f"away: line {region.line(fact.read)} reads what the module had before"
        )
        steps = (
            region.step(fact.site, f"`{fact.attribute}` is set on the replica"),
            region.step(fact.wrapped, "the module is replicated in every call"),
            region.step(fact.read, "the module's own is read"),
        )
        yield Finding(region.span(fact.site), "TSC418", message, steps)


RULE = Rule(
    code="TSC418",
    name="replica-state-lost",
    summary="an attribute set in forward is lost under DataParallel",
    kinds=("ReplicaState",),
    check=check,
    preview=True,
)
