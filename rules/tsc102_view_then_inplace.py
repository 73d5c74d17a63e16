"""
## What it does

Reports a write to a tensor while a view of it (a slice, `view`, `t`, `unbind`, ...) is kept under a name that says
it holds the old values, and is read later. Also reports swaps of slices, directly or through names, and parts of a
tensor that are computed from one another under names: `x, y = t[0], t[1]; t[0] = x - y; t[1] = x + y`.

## Why it is a bug

Basic indexing and the view operations return a tensor over the same storage. A difference between "before" and
"after" is zero, and in `x[0], x[1] = x[1], x[0]` the first assignment overwrites what the second is to store: one
row is lost and the other is there twice. Torch raises no error.

## Example

```python
import torch

table = torch.zeros(3, 2)
previous = table[0]
table += 1
change = table[0] - previous

board = torch.eye(2)
board[0], board[1] = board[1], board[0]
```

## Write instead

```python
import torch

table = torch.zeros(3, 2)
previous = table[0].clone()
table += 1
change = table[0] - previous

board = torch.eye(2)
board[[0, 1]] = board[[1, 0]]
```

## Fix

`.clone()` where the view is kept (`grid.clone().unbind()` where several are), or, in a swap, of what is stored second:
`x[0], x[1] = x[1], x[0].clone()`. Unsafe: it takes memory. None where no single expression is the view.

## Limits

Silent where

- a view is written and the base is read: that is how tensors are filled;
- the base is a fresh local tensor that is returned;
- the view takes the base's name (`x = x.view(-1)`), or is written directly (`x[:, 0] += 1`);
- the slices do not overlap, or the index is a list, mask or tensor, which copies;
- the kept name does not say that it was meant to keep the old value, and what it names does not go into the very part
  that its own was written from.

Only with preview: a write through a named view whose base is an argument, attribute or container item and is read
afterwards as the old value.

## References

- https://docs.pytorch.org/docs/stable/tensor_view.html
- https://docs.pytorch.org/docs/stable/generated/torch.clone.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import StaleRead

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[StaleRead], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.link != "view" or fact.evidence < 2 or not fact.certain or fact.activation:
            continue
        where = region.span(fact.site)
        line = region.line(fact.read)
        match fact:
            case StaleRead(how="swap"):
                message = (
                    f"this swap loses `{fact.reader}`: both sides are views of `{fact.writer}`, and the first "
                    "assignment overwrites what the second one reads"
                )
                fix = region.edit.fix("Clone what is stored second", region.edit.copied(fact.copies), safe=False)
                yield Finding(where, "TSC102", message, fix=fix)
            case StaleRead(reader_derived=True, writer_derived=False) if (
                fact.kept or fact.compared or (fact.moved and fact.same_part)
            ):
                message = (
                    f"{fact.verb} on `{fact.writer}` also changes `{fact.reader}`: it is a view "
                    f"(`{region.code(fact.source or fact.read)}` on line {region.line(fact.source or fact.read)}), "
                    f"and `{fact.reader}` is read on line {line}"
                )
                fix = region.edit.fix("Keep a clone", region.edit.copied(fact.copies), safe=False)
                yield Finding(where, "TSC102", message, fact.steps(region), fix=fix)
            case StaleRead(writer_derived=True, reader_derived=False) if fact.owner != "fresh" and (
                fact.compared or (fact.together and fact.role in ("operand", "return"))
            ):
                message = (
                    f"{fact.verb} on `{fact.writer}`, a view of `{fact.reader}`{fact.cause(region)}, changes "
                    f"`{fact.reader}` itself, which is read on line {line} as the value before"
                )
                fix = region.edit.fix("Clone the view", region.edit.copied(fact.copies), safe=False)
                yield Finding(where, "TSC102", message, fact.steps(region), preview=True, fix=fix)


RULE = Rule(
    code="TSC102",
    name="view-then-inplace",
    summary="a write to a tensor changes a view that was to keep its old values",
    kinds=("StaleRead",),
    check=check,
    fix="unsafe",
)
