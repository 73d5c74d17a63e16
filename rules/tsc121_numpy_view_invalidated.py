"""
## What it does

Reports `t.share_memory_()` where an array that shared memory with `t` (`a = t.numpy()`, or the array that
`torch.from_numpy` was given) is still used afterwards.

## Why it is a bug

`share_memory_()` moves the tensor to a new storage, in memory that processes share. An array from `t.numpy()` keeps
pointing into the old memory, which is freed: it reads garbage, or the process crashes. An array that `t` was made from
stays valid, but no longer sees what is written to `t`. Torch raises no error.

## Example

```python
import numpy as np
import torch


def publish(size: int) -> tuple[np.ndarray, torch.Tensor]:
    board = np.zeros(size, dtype=np.float32)
    tensor = torch.from_numpy(board)
    tensor.share_memory_()
    return board, tensor
```

## Write instead

```python
import numpy as np
import torch


def publish(size: int) -> tuple[np.ndarray, torch.Tensor]:
    tensor = torch.zeros(size).share_memory_()
    board = tensor.numpy()
    return board, tensor
```

## Fix

None: call `share_memory_()` first and `numpy()` after it.

## Limits

Silent where the array is not used again in the function, where it was copied, and where the tensor is in shared memory
already. Of an array in an attribute, a use in another method of the class counts.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.share_memory_.html
- https://docs.pytorch.org/docs/stable/notes/multiprocessing.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import UnlinkedArray

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[UnlinkedArray], region: Region) -> Iterator[Finding]:
    for fact in facts:
        left = "points into freed memory" if fact.dangling else "is no longer linked to it"
        message = (
            f"`share_memory_()` moves `{fact.tensor}` to another storage: `{fact.array}`{fact.cause(region)} {left}, "
            f"and is used on line {region.line(fact.used)}"
        )
        yield Finding(region.span(fact.site), "TSC121", message, fact.steps(region))


RULE = Rule(
    code="TSC121",
    name="numpy-view-invalidated",
    summary="an array is used after `share_memory_()` took its memory",
    kinds=("UnlinkedArray",),
    check=check,
    fix="none",
)
