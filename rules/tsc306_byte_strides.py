"""
## What it does

Reports NumPy's `.strides` given to `torch.as_strided`, `as_strided_` or `empty_strided`, and compared with
`.stride()`.

## Why it is a bug

NumPy counts strides in bytes, torch in elements. `as_strided` with four or eight times the strides raises where it
leaves the storage, and on a larger storage it reads other elements without an error. The comparison is never true for
elements of more than one byte.

## Example

```python
import numpy as np
import torch


def like(storage: torch.Tensor, array: np.ndarray) -> torch.Tensor:
    return torch.as_strided(storage, array.shape, array.strides)
```

## Write instead

```python
import numpy as np
import torch


def like(storage: torch.Tensor, array: np.ndarray) -> torch.Tensor:
    return torch.as_strided(storage, array.shape, [step // array.itemsize for step in array.strides])
```

## Fix

None: divide each stride by `array.itemsize`.

## Limits

Silent where the strides are computed with, for arrays whose elements are seen to have one byte (`uint8`, `int8`,
`bool`), and for objects that are not proven to be arrays.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.as_strided.html
- https://numpy.org/doc/stable/reference/generated/numpy.ndarray.strides.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import ByteStrides

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[ByteStrides], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.op:
            where = f"`{fact.op}` counts elements: it reads others, or leaves the storage"
        else:
            where = "`stride()` counts elements: the two differ"
        message = f"`{fact.array}.strides` counts bytes, {where}; divide by `{fact.array}.itemsize`"
        yield Finding(region.span(fact.site), "TSC306", message)


RULE = Rule(
    code="TSC306",
    name="byte-strides",
    summary="NumPy's strides, in bytes, where torch counts elements",
    kinds=("ByteStrides",),
    check=check,
    fix="none",
)
