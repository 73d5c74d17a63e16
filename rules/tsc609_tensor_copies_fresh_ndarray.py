"""
## What it does

Reports `torch.tensor(..)` of an array that the same expression makes: `torch.tensor(np.concatenate([a, b]))`,
`torch.tensor(a.astype(np.float32))`.

## Why it is a bug

`torch.tensor` always copies. Nothing else holds the array, so that `torch.from_numpy` may take its memory over: one
copy of the data less.

## Example

```python
import numpy as np
import torch


def batch(a: np.ndarray, b: np.ndarray) -> torch.Tensor:
    return torch.tensor(np.concatenate([a, b]))
```

## Write instead

```python
import numpy as np
import torch


def batch(a: np.ndarray, b: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([a, b]))
```

## Fix

`torch.from_numpy` in its place. Unsafe: an array that something else holds after all would be shared.

## Limits

Silent for an array with a name, which may be written later, for functions that may give a number (`np.mean`) or the
memory of their argument (`np.asarray`), and where a dtype or a device is asked for: then one copy is needed anyway.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
- https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import FreshArrayCopied

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Edits
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[FreshArrayCopied], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.constructor}` makes one extra copy of `{fact.made}`, which nothing else holds: "
            "`torch.from_numpy` takes its memory over"
        )
        yield Finding(region.span(fact.site), "TSC609", message, fix=_fix(fact, region))


def _fix(fact: FreshArrayCopied, region: Region) -> Fix | None:
    edit = region.edit
    match fact.site:
        case ast.Call(func=func, args=[_], keywords=keywords):
            asked = {one.arg: one.value for one in keywords}
            name = edit.imported("torch.from_numpy", fact.site)
        case _:
            return None
    if name is None or not asked.keys() <= {"device", "requires_grad"}:
        return None
    marked: Edits | None = ()
    match asked.get("requires_grad"):
        case None | ast.Constant(value=False):
            pass
        case ast.Constant(value=True):
            marked = edit.method(fact.site, ".requires_grad_()")
        case _:
            return None
    alone = edit.drop_argument(fact.site, *asked.values()) if asked else ()
    return edit.fix("Take the memory over", edit.replace(func, name), alone, marked, safe=False)


RULE = Rule(
    code="TSC609",
    name="tensor-copies-fresh-ndarray",
    summary="torch.tensor() copies an array that nothing else holds",
    kinds=("FreshArrayCopied",),
    check=check,
    fix="unsafe",
    preview=True,
)
