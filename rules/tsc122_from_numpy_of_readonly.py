"""
## What it does

Reports a write to a tensor over an array that NumPy holds read-only: `np.frombuffer` of `bytes`, `np.broadcast_to`,
`sliding_window_view`, a file mapped with `mmap_mode="r"`; and to `torch.frombuffer` of `bytes`.

## Why it is a bug

`torch.from_numpy` warns once and makes a tensor that can be written all the same. The write changes a `bytes` object,
which Python takes to be immutable; through `broadcast_to` one element is every row; and a write to a page that is
mapped for reading ends the process.

## Example

```python
import numpy as np
import torch


def decode(packet: bytes) -> torch.Tensor:
    samples = torch.from_numpy(np.frombuffer(packet, dtype=np.int16))
    samples -= 128
    return samples
```

## Write instead

```python
import numpy as np
import torch


def decode(packet: bytes) -> torch.Tensor:
    samples = torch.from_numpy(np.frombuffer(packet, dtype=np.int16).copy())
    samples -= 128
    return samples
```

## Fix

`.copy()` behind the array that is made a tensor, `.clone()` behind `torch.frombuffer(..)`. Safe. None where another
function of the file makes it.

## Limits

Silent where the buffer is not proven to be `bytes` (by a literal, an annotation, a call that returns bytes, or a caller
in the file), for `bytearray`, and where the tensor is only read or is copied before the write.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
- https://numpy.org/doc/stable/reference/generated/numpy.frombuffer.html
- https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ReadOnlyWrite

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region

WHY = {
    "frombuffer": "the bytes, which are immutable, change",
    "load": "its pages are mapped for reading, and the process ends",
    "memmap": "its pages are mapped for reading, and the process ends",
}


def check(facts: list[ReadOnlyWrite], region: Region) -> Iterator[Finding]:
    for fact in facts:
        why = WHY.get(fact.made, "elements of it share memory, and change together")
        message = f"{fact.verb} on `{fact.writer}` writes to a read-only array{fact.cause(region)}: {why}"
        fix = region.edit.fix("Copy what is read-only", region.edit.copied(fact.copies), safe=True)
        yield Finding(region.span(fact.site), "TSC122", message, fact.steps(region), fix=fix)


RULE = Rule(
    code="TSC122",
    name="from-numpy-of-readonly",
    summary="a tensor over a read-only array is written",
    kinds=("ReadOnlyWrite",),
    check=check,
    fix="safe",
)
