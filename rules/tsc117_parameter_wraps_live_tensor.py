"""
## What it does

Reports a parameter that is built over a tensor which lives on: `nn.Parameter(t)`,
`nn.Embedding.from_pretrained(t, freeze=False)` and `vector_to_parameters(t, ..)` where `t` is kept in an attribute
that other methods read, wrapped a second time, written under its own name, or read after a training step; and
`load_state_dict(other.state_dict(), assign=True)`.

## Why it is a bug

None of these copies. Training the parameter changes the tensor, so the distance from the initial value is always zero,
and a second model that was built from the same vectors is trained as well. Torch raises no error.

## Example

```python
import torch
from torch import nn


class Anchored(nn.Module):
    def __init__(self, start: torch.Tensor) -> None:
        super().__init__()
        self.start = start
        self.weight = nn.Parameter(start)

    def drift(self) -> torch.Tensor:
        return (self.weight - self.start).abs().sum()
```

## Write instead

```python
import torch
from torch import nn


class Anchored(nn.Module):
    def __init__(self, start: torch.Tensor) -> None:
        super().__init__()
        self.start = start
        self.weight = nn.Parameter(start.clone())

    def drift(self) -> torch.Tensor:
        return (self.weight - self.start).abs().sum()
```

## Fix

`.clone()` of what is wrapped; `assign=True` goes. Unsafe: it takes memory, and what was to follow the training of the
parameter does so no more.

## Limits

Silent for a tensor that is not used again, for weights that are tied (`nn.Parameter(other.weight)`), for checkpoints,
for frozen tables alone, for a tensor that is only initialised after it was wrapped, for a vector that is given to the
parameters once more after it was written, and for what an object that is no module keeps in a file that trains nothing.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html#torch.nn.Embedding.from_pretrained
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import WrappedTensor

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[WrappedTensor], region: Region) -> Iterator[Finding]:
    for fact in facts:
        line = region.line(fact.other)
        live = {
            "kept": f"`{fact.shown}`, read on line {line}, follows its training",
            "wrapped": f"another one on line {line} has the same",
            "read": f"`{fact.shown}`, read on line {line}, has been trained too",
            "written": f"`{fact.shown}`, written on line {line}, changes it",
            "source": "both modules train the same parameters",
        }[fact.reason]
        message = f"`{fact.op}` makes no copy of `{fact.name}`: {live}"
        edit = region.edit
        if fact.op == "load_state_dict":
            fix = edit.fix("Load copies", edit.drop_argument(fact.site, "assign"), safe=False)
        else:
            fix = edit.fix("Wrap a clone", edit.method(fact.given, ".clone()"), safe=False)
        yield Finding(region.span(fact.site), "TSC117", message, fact.steps(region), fix=fix)


RULE = Rule(
    code="TSC117",
    name="parameter-wraps-live-tensor",
    summary="a parameter shares the storage of a tensor that lives on",
    kinds=("WrappedTensor",),
    check=check,
    preview=True,
    fix="unsafe",
)
