"""
## What it does

Reports two dtype casts in a row where the first is to a wider floating dtype than the second (`x.float().half()`,
`x.double().float()`), or keeps every value of the dtype before (`(x > 0).float().long()`).

## Why it is a bug

The second cast alone gives the same tensor. The first one makes a tensor that only the second one reads: for
`x.float().half()` of a half or integer tensor it has twice the bytes of the result.

## Example

```python
import torch


def compact(mask: torch.Tensor) -> torch.Tensor:
    return (mask > 0.5).float().half()
```

## Write instead

```python
import torch


def compact(mask: torch.Tensor) -> torch.Tensor:
    return (mask > 0.5).half()
```

## Fix

The first cast goes. Safe where the dtype before is known and the first cast keeps every value of it. Else unsafe: a
tensor that has the last dtype already is returned itself by the cast that is left, and of integers beyond 2 ** 53
`x.double().float()` may differ from `x.float()` in the last bit.

## Limits

Silent where the first cast rounds or cuts off (`x.half().float()`, `x.long().float()`, `x.int().byte()`), where it is
proven to return its argument, where a cast also moves to a device, and for modules.

Only with preview: an argument or an item of which nothing else is known, since it may be a module.

## References

- https://docs.pytorch.org/docs/stable/tensor_attributes.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import RedundantCast

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[RedundantCast], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.evidence < 1 and not fact.bare:
            continue
        message = (
            f"`{fact.first}` makes one extra copy of `{fact.receiver}` that only `{fact.second}` reads: "
            f"`{fact.second}` alone gives the same tensor"
        )
        fix = region.edit.fix("Drop the first cast", region.edit.drop_call(fact.cast), safe=fact.exact)
        yield Finding(region.span(fact.site), "TSC605", message, preview=fact.evidence < 1, fix=fix)


RULE = Rule(
    code="TSC605",
    name="redundant-cast-chain",
    summary="two casts in a row where the first one changes nothing of the result",
    kinds=("RedundantCast",),
    check=check,
    fix="safe",
)
