"""
## What it does

Reports `torch.tensor(x)` and `x.new_tensor(y)` of what is a tensor already, and `torch.tensor`, `torch.as_tensor`,
`torch.FloatTensor` and their like of a list of tensors or of NumPy arrays. What the argument is follows from its
definition, its annotation, or what the calls in the file pass.

## Why it is a bug

`torch.tensor(x)` copies `x` off the graph: no gradient flows through the copy, and torch warns. Of a list of tensors
it takes the elements one by one as Python numbers, each a wait for the device if they lie on one, off the graph; of
tensors of several elements it raises. A list of arrays is read element by element as well, and torch warns.

## Example

```python
import torch


def weighted(loss: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    scale = weight.abs().mean()
    return loss * torch.tensor(scale)
```

## Write instead

```python
import torch


def weighted(loss: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    scale = weight.abs().mean()
    return loss * scale.detach().clone()
```

## Fix

None yet: write `x.detach().clone()` (or `x` itself, where the gradient is wanted), `torch.stack(xs)` for a list of
tensors, and `torch.from_numpy(np.stack(xs))` for a list of arrays.

## Limits

Silent where the argument may be a number or a list of numbers, where it is known by its use alone, and where a test of
its type or shape stands around the call. `x = torch.tensor(x)` is no evidence that `x` was a tensor before.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
- https://docs.pytorch.org/docs/stable/generated/torch.stack.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule, Step
from flake8_tensorcopy.engine.facts import TensorOfTensor

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


_WHAT = {
    "tensor": "`{argument}` is a tensor already{where}: `{call}` copies it off the graph and torch warns; write "
    "`{argument}.detach().clone()`",
    "tensors": "`{call}` reads the tensors of `{argument}`{where} one element at a time, off the graph: "
    "`torch.stack` makes one tensor of them",
    "arrays": "`{call}` reads the arrays of `{argument}`{where} one element at a time, and torch warns: make one array "
    "of them first, `np.stack`",
}


def check(facts: list[TensorOfTensor], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.evidence < 3 or not fact.form:
            continue
        where = ""
        path: tuple[Step, ...] = ()
        if fact.defined is not None:
            said = "passed" if fact.caller else "bound"
            where = f" ({said} on line {region.line(fact.defined)})"
            path = (region.step(fact.defined, f"`{fact.argument}` is {said} here"),)
        message = _WHAT[fact.form].format(argument=fact.argument, where=where, call=fact.constructor)
        yield Finding(region.span(fact.site), "TSC602", message, path)


RULE = Rule(
    code="TSC602",
    name="tensor-of-tensor",
    summary="torch.tensor() of a tensor, or of a list of tensors or arrays",
    kinds=("TensorOfTensor",),
    check=check,
    fix="safe",
)
