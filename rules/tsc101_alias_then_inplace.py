"""
## What it does

Reports a write in place (`b += 1`, `b[i] = v`, `b.add_(1)`, `out=b`) to a tensor that has a second name, where the
other name is used after the write as if it still held the old value: both names are operands of one call,
expression, return or container, or the other is called or treated as something kept (`old`, `previous`, `original`,
`best`, `residual`). A dict or list that is copied one layer deep (`dict(batch)`, `{**batch}`, `states.copy()`) is a
second name for each tensor in it.

## Why it is a bug

An assignment binds a name; it copies nothing. The difference of the two is zero, the "best" weights are the last
ones, and the labels' padding reaches the model's input. Torch raises no error.

## Example

```python
import torch


def collate(input_ids: torch.Tensor, pad: int) -> dict[str, torch.Tensor]:
    labels = input_ids
    labels[labels == pad] = -100
    return {"input_ids": input_ids, "labels": labels}
```

## Write instead

```python
import torch


def collate(input_ids: torch.Tensor, pad: int) -> dict[str, torch.Tensor]:
    labels = input_ids.clone()
    labels[labels == pad] = -100
    return {"input_ids": input_ids, "labels": labels}
```

## Fix

`.clone()` where the second name is bound (`b = a.clone() if c else d`; after `a = b = x`, a line `b = a.clone()`), or
`copy.deepcopy` of an element or a container that holds the tensors. Unsafe: it takes memory, and other names that
followed the tensor do so no more. None where the value may be None there, and where several names are bound from one
call.

## Limits

Silent where

- neither name is proven to be a tensor: numbers, lists and objects of other classes are left alone;
- the names meet only on different branches of one `if`;
- the other name is never read after the write, or is bound anew first;
- the value is written back (`weight.copy_(work)`);
- an object's own state is updated through a short name (`w = self.weight; w.mul_(0.9)`), also where the name and all
  of the state are handed on together, or the name is stored in its place again;
- a loop over the rows of a tensor writes them.

Only with preview: a name that is an alias of kept state on one branch and a fresh value on the other, and an
accumulator that begins as an element of an argument (`average = weights[0]`).

## References

- https://docs.pytorch.org/docs/stable/generated/torch.clone.html
- https://docs.python.org/3/reference/simple_stmts.html#assignment-statements
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import AccumulatedItem, JoinedWrite, StaleRead

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[StaleRead | JoinedWrite | AccumulatedItem], region: Region) -> Iterator[Finding]:
    for fact in facts:
        where = region.span(fact.site)
        match fact:
            case StaleRead(link="alias", certain=True, activation=False) if _meant_to_keep(fact):
                same = f"`{fact.reader}` is the same tensor"
                if (cause := fact.binding or fact.source) is not None:
                    verb = "holds" if isinstance(cause, (ast.Call, ast.Dict)) else "is"
                    same = f"`{region.code(cause)}` on line {region.line(cause)} {verb} the same tensor"
                message = (
                    f"{fact.verb} on `{fact.writer}` also changes `{fact.reader}`: {same}, and `{fact.reader}` is read "
                    f"on line {region.line(fact.read)}"
                )
                yield Finding(where, "TSC101", message, fact.steps(region), fix=_clone(fact, region))
            case StaleRead(link="alias", certain=False, together=True, activation=False) if (
                fact.evidence >= 2 and fact.reader_origin in ("name", "argument")
            ):
                message = (
                    f"{fact.verb} on `{fact.writer}` also changes `{fact.reader}` where both are one "
                    f"tensor{fact.cause(region)}, and `{fact.reader}` is read on line {region.line(fact.read)}"
                )
                yield Finding(where, "TSC101", message, fact.steps(region), preview=True, fix=_clone(fact, region))
            case JoinedWrite() if fact.evidence >= 1:
                message = (
                    f"`{fact.op}` on `{fact.writer}` also changes `{fact.kept}` on the branch where both are one "
                    f"tensor (bound on line {region.line(fact.bound or fact.site)})"
                )
                yield Finding(where, "TSC101", message, fact.steps(region), preview=True, fix=_clone(fact, region))
            case AccumulatedItem() if fact.evidence >= 1:
                message = (
                    f"`{fact.op}` accumulates into the caller's own tensor: `{fact.writer}` is an element of "
                    f"`{fact.collection}` since line {region.line(fact.bound or fact.site)}, not a copy"
                )
                yield Finding(where, "TSC101", message, fact.steps(region), preview=True, fix=_clone(fact, region))


def _clone(fact: StaleRead | JoinedWrite | AccumulatedItem, region: Region) -> Fix | None:
    """Where the second name is bound; of the tensors that an element holds, the whole is copied."""
    edit = region.edit
    if isinstance(fact, AccumulatedItem) and fact.inside:
        return edit.fix("Bind a deep copy", edit.deep_copied(fact.copies), safe=False)
    change = edit.copied(fact.copies)
    if change is None and isinstance(fact, StaleRead) and fact.chained is not None:
        change = edit.after(fact.chained, f"{fact.writer} = {fact.reader}.clone()")
    return edit.fix("Bind a clone", change, safe=False)


def _meant_to_keep(fact: StaleRead) -> bool:
    if fact.evidence < (2 if fact.how == "augmented" else 1) or fact.stored_from == fact.writer:
        return False
    if fact.handed:
        return False  # said where the method returns it
    if fact.reader_origin in ("store", "item") and fact.writer_origin == "loop":
        return False  # a loop over the items writes them
    return fact.together or (
        (fact.kept or fact.compared) and not fact.reader_is_source and fact.reader_origin != "store"
    )


RULE = Rule(
    code="TSC101",
    name="alias-then-inplace",
    summary="a write through a second name changes a tensor that was to be kept",
    kinds=("StaleRead", "JoinedWrite", "AccumulatedItem"),
    check=check,
    fix="unsafe",
)
