"""
## What it does

Reports a tensor made under `torch.inference_mode()`, in a block or by a decorated function of the file, that an
operation in grad mode keeps for backward: the input of a layer, a factor of something that requires grad.

## Why it is a bug

A tensor made there has no version counter, so that autograd cannot keep it: "Inference tensors cannot be saved for
backward. Please do not use Tensors created in inference mode in computation tracked by autograd".

## Example

```python
import torch
from torch import nn


@torch.inference_mode()
def features(x: torch.Tensor) -> torch.Tensor:
    return x * 2


head = nn.Linear(2, 1)
loss = head(features(torch.ones(1, 2))).sum()
loss.backward()
```

## Write instead

```python
import torch
from torch import nn


@torch.no_grad()
def features(x: torch.Tensor) -> torch.Tensor:
    return x * 2


head = nn.Linear(2, 1)
loss = head(features(torch.ones(1, 2))).sum()
loss.backward()
```

## Fix

None: make the tensor under `torch.no_grad()`, or clone it outside.

## Limits

Silent for a clone made outside, for operations that keep nothing (`add`, `cat`), and where the result does not
require grad.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import InferenceUse

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[InferenceUse], region: Region) -> Iterator[Finding]:
    for fact in facts:
        made = "" if fact.made is None else f" on line {region.line(fact.made)}"
        message = (
            f"`{fact.keeper}` cannot keep `{fact.value}` for backward: it was made under inference_mode{made}; "
            "use `no_grad` there, or clone it"
        )
        yield Finding(region.span(fact.site), "TSC419", message)


RULE = Rule(
    code="TSC419",
    name="inference-tensor-in-autograd",
    summary="a tensor made under inference_mode is kept for backward",
    kinds=("InferenceUse",),
    check=check,
    fix="none",
    preview=True,
)
