"""
## What it does

Reports `nn.Parameter(..)` whose result is moved, cast, cloned, viewed or computed with (`.to(..)`, `.cuda()`,
`.half()`, `.clone()`, `* 0.1`) before a module gets it: in one chain, through a local name, or in a function of the
file whose result is stored on the module.

## Why it is a bug

A Parameter is registered because of its type, and what `.to()` returns where it has to move anything is a plain
tensor, as is the result of every operation. The module keeps it as an ordinary attribute: it is not in
`parameters()`, no optimizer steps it, `model.to()` does not move it and a checkpoint does not hold it. Where `.to()`
has nothing to do the Parameter itself comes back, so the bug shows on the GPU only.

## Example

```python
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, size: int, device: torch.device) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size)).to(device)
```

## Write instead

```python
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, size: int, device: torch.device) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size, device=device))
```

## Fix

None yet: move the conversion inside, `nn.Parameter(torch.ones(size).to(device))`.

## Limits

Silent where the Parameter itself is kept too (registered, put into a list, given to a `ParameterList` or
`ParameterDict`, which make Parameters of tensors again); for `.cpu()`, `.to("cpu")`, `.contiguous()` and a cast to the
dtype that it already has; after `.data` and `.detach()`; and where what it is stored on is not proven to be a module.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import MovedParameter

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[MovedParameter], region: Region) -> Iterator[Finding]:
    for fact in facts:
        when = "" if fact.always else " wherever it has to move or cast anything"
        message = (
            f"`{fact.target}` is no Parameter: `{fact.op}` after `nn.Parameter(..)` makes a plain tensor of it{when}, "
            f"which the module does not register (line {region.line(fact.stored)}); wrap the result instead"
        )
        steps = (
            region.step(fact.site, "the Parameter is made"),
            region.step(fact.stored, f"`{fact.target}` gets a plain tensor"),
        )
        yield Finding(region.span(fact.site), "TSC403", message, steps)


RULE = Rule(
    code="TSC403",
    name="parameter-moved-after-wrap",
    summary="a Parameter is moved, cast or computed with before a module gets it",
    kinds=("MovedParameter",),
    check=check,
    fix="safe",
)
