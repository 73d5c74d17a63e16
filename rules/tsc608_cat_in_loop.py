"""
## What it does

Reports `acc = torch.cat([acc, x])` (also `hstack`, `vstack` and the like) in a loop that does nothing else with `acc`.

## Why it is a bug

Every pass copies all that was there before: of n pieces the first is copied n times, and at the end the old and the new
tensor are held at once, beside the pieces. A list that is concatenated once after the loop copies each piece once.

## Example

```python
import torch


def collect(chunks: list[torch.Tensor]) -> torch.Tensor:
    rows = torch.empty(0, 16)
    for chunk in chunks:
        rows = torch.cat([rows, chunk])
    return rows
```

## Write instead

```python
import torch


def collect(chunks: list[torch.Tensor]) -> torch.Tensor:
    rows = []
    for chunk in chunks:
        rows.append(chunk)
    return torch.cat(rows)
```

## Fix

None: append to a list and concatenate after the loop, or write into a tensor of the full size.

## Limits

Silent where the loop reads the tensor: generation that feeds on its own output, caches of keys and values, sliding
windows, a test of its length; and where it is joined to itself (`x = torch.cat([x, x])`). A test for None, and the
first binding beside it, are no reads.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.cat.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import GrownInLoop

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[GrownInLoop], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.op}` copies all of `{fact.name}` in every pass of the loop on line {region.line(fact.loop)}: "
            "collect the pieces in a list and concatenate once after it"
        )
        yield Finding(region.span(fact.site), "TSC608", message)


RULE = Rule(
    code="TSC608",
    name="cat-in-loop",
    summary="a tensor grown with torch.cat in a loop is copied in every pass",
    kinds=("GrownInLoop",),
    check=check,
    fix="none",
    preview=True,
)
