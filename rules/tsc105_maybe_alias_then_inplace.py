"""
## What it does

Reports a write in place to the result of `to`, `cpu`, `float`, `type`, `contiguous`, `reshape`, `flatten`, dropout
or `nn.Identity` where the value that went in is used afterwards as if it had been left alone.

## Why it is a bug

`x.float()` is `x` for a float32 tensor, `x.cpu()` is `x` on the CPU, `x.contiguous()` is `x` when the layout fits,
dropout is `x` in evaluation, and `reshape` is a view where it can be one. The same line copies on one machine,
dtype or mode and overwrites its input on another. The message says when it bites.

## Example

```python
import torch


def report(scores: torch.Tensor) -> torch.Tensor:
    shares = scores.float()
    shares /= shares.sum()
    return torch.stack([scores, shares])
```

## Write instead

```python
import torch


def report(scores: torch.Tensor) -> torch.Tensor:
    shares = scores.to(torch.float32, copy=True)
    shares /= shares.sum()
    return torch.stack([scores, shares])
```

## Fix

`copy=True` for `to`, `clone(memory_format=torch.contiguous_format)` for `contiguous`, `.clone()` behind the others.
Unsafe: it takes memory, also where the conversion copies. Where that is too dear, compute out of place
(`x = x / x.sum()`).

## Limits

Silent where

- what goes in is a fresh tensor, such as the result of a layer or of arithmetic;
- `contiguous()`, `flatten()` or `reshape(-1)` is given columns, which lie apart in memory (`labels[:, 2:6]`);
- `copy=True` is given, or the code tests `y is x` first;
- the result is written back (`x.copy_(work)`, `self.x = work`);
- the function says that it changes its argument: by an `inplace` or `out` parameter, or a name that ends with `_`;
- nothing is written, or the value that went in is not read again.

Only with preview: the value that went in is an argument and nothing in the function reads it again.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.contiguous.html
- https://docs.pytorch.org/docs/stable/generated/torch.reshape.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import SharedWrite, StaleRead

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[StaleRead | SharedWrite], region: Region) -> Iterator[Finding]:
    for fact in facts:
        where = region.span(fact.site)
        match fact:
            case StaleRead(link="maybe", certain=True) if fact.evidence >= 1 and fact.taken_for_copy:
                source = fact.source or fact.read
                message = (
                    f"{fact.verb} on `{fact.writer}` also changes `{fact.reader}` when `{fact.maybe_op}` has nothing "
                    f"to do ({fact.when}): see line {region.line(source)}; `{fact.reader}` is read on line "
                    f"{region.line(fact.read)}"
                )
                yield Finding(where, "TSC105", message, fact.steps(region), fix=_copy(fact, region))
            case SharedWrite(link="maybe", owner="argument", certain=True) if fact.evidence >= 1:
                message = (
                    f"{fact.verb} on `{fact.writer}` changes the caller's `{fact.owner_name}` when `{fact.maybe_op}` "
                    f"has nothing to do ({fact.when}){fact.cause(region)}"
                )
                yield Finding(where, "TSC105", message, fact.steps(region), preview=True, fix=_copy(fact, region))


def _copy(fact: StaleRead | SharedWrite, region: Region) -> Fix | None:
    """`to` copies if it is told so; behind the others, as near to what they convert as can be."""
    edit = region.edit
    conversions = [copy for copy in reversed(fact.copies) if copy.maybe]
    for copy in conversions:
        if copy.op == "to" and not any(edit.has_argument(node, "copy") for node in copy.nodes):
            change = edit.join(*(edit.add_argument(node, "copy=True") for node in copy.nodes))
            return edit.fix("Tell `to` to copy", change, safe=False)
        if copy.op == "contiguous" and (change := edit.contiguous_clone(copy.nodes[0])) is not None:
            return edit.fix("Clone in contiguous format", change, safe=False)
    return edit.fix("Bind a copy", edit.copied([*conversions, *fact.copies]), safe=False)


RULE = Rule(
    code="TSC105",
    name="maybe-alias-then-inplace",
    summary="a write to the result of a conversion that may be the tensor itself",
    kinds=("StaleRead", "SharedWrite"),
    check=check,
    fix="unsafe",
)
