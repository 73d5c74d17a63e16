"""
## What it does

Reports `nbytes` and `numel() * element_size()` of an expanded tensor.

## Why it is a bug

Both count each element as if it had memory of its own. An expanded tensor has the memory of the tensor that was
expanded: a mask of 1000 by 1000 made of one row takes 4 kB, and is reported with 4 MB.

## Example

```python
import torch


def mask_bytes(row: torch.Tensor, rows: int) -> int:
    mask = row.expand(rows, -1)
    return mask.nbytes
```

## Write instead

```python
import torch


def mask_bytes(row: torch.Tensor, rows: int) -> int:
    mask = row.expand(rows, -1)
    return mask.untyped_storage().nbytes()
```

## Fix

None: ask the storage, `x.untyped_storage().nbytes()`.

## Limits

On with preview only. Silent after `clone`, `contiguous` and casts, and where the storage is asked in the same
statement.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.nbytes.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.untyped_storage.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ExpandedBytes

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ExpandedBytes], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.counted}` counts each element of `{fact.receiver}`, which `{fact.op}` on line "
            f"{region.line(fact.expanded)} made without memory of its own: `untyped_storage().nbytes()`"
        )
        yield Finding(region.span(fact.site), "TSC309", message, fact.steps(region))


RULE = Rule(
    code="TSC309",
    name="nbytes-of-expanded",
    summary="the bytes of an expanded tensor are counted as its memory",
    kinds=("ExpandedBytes",),
    check=check,
    fix="none",
    preview=True,
)
