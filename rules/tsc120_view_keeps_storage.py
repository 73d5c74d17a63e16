"""
## What it does

Reports `torch.save` of a small view of a tensor (an item, a row, a slice with an end), also inside a dict, list or
tuple; and `self.kept.append(out[:, 0])` in a loop, where each entry keeps the whole of a tensor that is made there.

## Why it is a bug

A view has all of its base's storage. The file of a single row is as large as the whole tensor, and a list of first
columns keeps every full batch in memory. The values are right; only the size says so.

## Example

```python
import torch


def export(embeddings: torch.Tensor, path: str) -> None:
    torch.save(embeddings[:10], path)
```

## Write instead

```python
import torch


def export(embeddings: torch.Tensor, path: str) -> None:
    torch.save(embeddings[:10].clone(), path)
```

## Fix

`.clone()` behind the view. Safe where it is written in the call; unsafe where it was put into a list or dict before,
which others may read.

## Limits

Silent for whole tensors and copies, for slices that may leave out next to nothing (`x[1:]`, `x[:-1]`), where the whole
or other parts of it are saved in the same call, where the tensor may have been moved from a device, and where nothing
proves that it is a tensor.

## References

- https://docs.pytorch.org/docs/stable/notes/serialization.html#saving-and-loading-tensors-preserves-views
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import KeptStorage

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[KeptStorage], region: Region) -> Iterator[Finding]:
    for fact in facts:
        what = "writes" if fact.into == "save" else f"(in `{fact.into}`) keeps"
        subject = "`torch.save` " if fact.into == "save" else "each entry "
        message = f"{subject}{what} the whole storage of `{fact.base}` for its view `{fact.view}`"
        fix = region.edit.fix("Clone the view", region.edit.copied(fact.copies), safe=fact.here)
        yield Finding(region.span(fact.site), "TSC120", message, fix=fix)


RULE = Rule(
    code="TSC120",
    name="view-keeps-storage",
    summary="a small view is saved or kept with all of its storage",
    kinds=("KeptStorage",),
    check=check,
    preview=True,
    fix="safe",
)
