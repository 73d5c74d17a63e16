"""
## What it does

Reports a write to pinned memory while a non-blocking copy from it to a device may still be under way: later in the
function, or in the next pass of a loop.

## Why it is a bug

The copy reads the pinned memory some time later. What is written into it before the copy has happened goes to the
device in place of what was meant, for some elements or all, and nothing raises.

## Example

```python
import torch


def upload(chunks: list[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    staging = torch.empty(1024, pin_memory=True)
    sent = []
    for chunk in chunks:
        staging.copy_(chunk)
        sent.append(staging.to(device, non_blocking=True))
    return sent
```

## Write instead

```python
import torch


def upload(chunks: list[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    staging = torch.empty(1024, pin_memory=True)
    sent = []
    for chunk in chunks:
        staging.copy_(chunk)
        sent.append(staging.to(device, non_blocking=True))
        torch.cuda.current_stream().synchronize()
    return sent
```

## Fix

None: wait before the memory is written again, or use a pinned buffer for each copy that may be under way.

## Limits

Only for memory that the function is seen to pin (`pin_memory()`, `pin_memory=True`). From pageable memory torch copies
to a staging buffer of its own first. Silent where anything between may wait, for a buffer out of a list that was made
item by item, and for a write that is itself a copy from a device, which comes behind in the same stream.

## References

- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import OverwrittenSource
from flake8_tensorcopy.engine.facts.base import verb_of

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[OverwrittenSource], region: Region) -> Iterator[Finding]:
    for fact in facts:
        when = "in the next pass of the loop " if fact.looped else ""
        message = (
            f"{verb_of(fact.op, fact.how, None)} {when}overwrites the pinned `{fact.source}` while the non-blocking "
            f"copy to the device (line {region.line(fact.copy)}) may still read it: nothing waits for the copy"
        )
        path = (region.step(fact.copy, f"starts a copy of `{fact.source}` to the device and does not wait"),)
        yield Finding(region.span(fact.site), "TSC503", message, path)


RULE = Rule(
    code="TSC503",
    name="async-source-overwritten",
    summary="pinned memory is written while a non-blocking copy may still read it",
    kinds=("OverwrittenSource",),
    check=check,
)
