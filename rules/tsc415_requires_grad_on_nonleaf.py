"""
## What it does

Reports `y.requires_grad = True` on a value that was computed on the graph, and `y.requires_grad_()` on such a value
where it was to become a leaf: a clone, or a value whose `.grad` is read.

## Why it is a bug

Only leaves get a gradient. The assignment raises "you can only change requires_grad flags of leaf variables"; the
method says nothing, the value stays what it was, and its `.grad` stays None.

## Example

```python
import torch

x = torch.ones(2, requires_grad=True)
adversarial = x.clone().requires_grad_()
(adversarial**2).sum().backward()
print(adversarial.grad)
```

## Write instead

```python
import torch

x = torch.ones(2, requires_grad=True)
adversarial = x.detach().clone().requires_grad_()
(adversarial**2).sum().backward()
print(adversarial.grad)
```

## Fix

Detach first: `x.detach().clone().requires_grad_()`, or where the name is bound. Unsafe: no gradient goes back to what
the value was computed from. None where the value is one of several that a call gives.

## Limits

Silent after `detach()`, for values made under `no_grad`, for values that are not known to require grad, and for
`requires_grad_()` on a computed value whose gradient `torch.autograd.grad` is asked for.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import MarkedNonLeaf

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[MarkedNonLeaf], region: Region) -> Iterator[Finding]:
    for fact in facts:
        made = "" if fact.made is None else f" on line {region.line(fact.made)}"
        if fact.attribute:
            message = f"`{fact.value}.requires_grad = True` raises: `{fact.value}` was computed{made} and is no leaf"
        else:
            message = (
                f"`{fact.value}.requires_grad_()` makes no leaf: it was computed{made}, and its `.grad` stays None"
            )
        fix = region.edit.fix("Detach first", region.edit.method(fact.detached, ".detach()"), safe=False)
        yield Finding(region.span(fact.site), "TSC415", message, fix=fix)


RULE = Rule(
    code="TSC415",
    name="requires-grad-on-nonleaf",
    summary="requires_grad set on a value that is no leaf",
    kinds=("MarkedNonLeaf",),
    check=check,
    fix="unsafe",
    preview=True,
)
