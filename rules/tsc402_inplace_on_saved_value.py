"""
## What it does

Reports a write in place to a value that an earlier operation keeps for its backward: the result of `exp`, `sqrt`,
`sigmoid`, `tanh`, `relu`, `softmax`, `norm` and their modules, or an operand of `mul`, `matmul`, `pow`, `log`, a
convolution or a normalisation, where its gradient is wanted. Indices and masks count too: those of an embedding,
`gather`, `where`, `masked_fill`, `x[mask]` and `x[mask] = ..`.

## Why it is a bug

Autograd compares the version of the tensor with the one it kept and raises in `backward()`: "one of the variables
needed for gradient computation has been modified by an inplace operation", far from the line that did it. A write
to any part of the storage counts, also through a view or `detach()`.

## Example

```python
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.relu(self.conv(x))
        out += x
        return out
```

## Write instead

```python
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.relu(self.conv(x))
        return out + x
```

## Fix

The operation goes out of place (`out = out + x`) where one local name has the value; elsewhere what is kept is a
clone. Unsafe: it takes memory. None where what keeps the value works in place itself, or gives several tensors.

## Limits

Which operations keep what comes from torch's own derivative formulas. Silent after operations that keep nothing
(`add`, `sum`, `cat`, `clone`) or a private copy (`silu_`, `hardtanh_`); where the value does not require grad, or
is not known to (an operand), or is detached; where no backward can come to it, because the result is not returned,
stored or backpropagated after the write; after `backward()`; under `no_grad`; where the name is bound anew. A write
through `.data` is TSC410. Whether the argument of a function requires grad is taken from the calls in the file;
where there is none that tells, a result computed from it is a preview finding.

## References

- https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
- https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import SavedWrite

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[SavedWrite], region: Region) -> Iterator[Finding]:
    edit = region.edit
    for fact in facts:
        if fact.bypassed:
            continue
        role = "its result" if fact.output else "it"
        when = "backward" if fact.backward is None else f"`{region.code(fact.backward)}`"
        message = (
            f"{fact.verb} on `{fact.writer}` makes {when} raise: `{fact.keeper}` on line {region.line(fact.saved)} "
            f"keeps {role} for its gradient"
        )
        preview = not (fact.proven and fact.certain)
        fix = edit.fix("Compute a new value", edit.out_of_place(fact.statement), safe=False)
        if fix is None and fact.kept:
            fix = edit.fix("Keep a clone", *(edit.method(one, ".clone()") for one in fact.kept), safe=False)
        yield Finding(region.span(fact.site), "TSC402", message, fact.steps(region), preview=preview, fix=fix)


RULE = Rule(
    code="TSC402",
    name="inplace-on-saved-value",
    summary="a write to a value that backward still needs",
    kinds=("SavedWrite",),
    check=check,
    fix="unsafe",
)
