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

What is done to the Parameter moves inside: `nn.Parameter(weight.to(device))`; a new tensor is made on its device. Safe
for conversions, views and arithmetic with numbers; unsafe where other tensors or other statements have a part in it,
and where a device would draw other random numbers. None where one Parameter reaches several attributes, or another
function computes with it.

## Limits

Silent where the Parameter itself is kept too (registered, put into a list, given to a `ParameterList` or
`ParameterDict`, which make Parameters of tensors again); for `.cpu()`, `.to("cpu")`, `.contiguous()`, a cast to the
dtype that it already has and a move to the device of what it was computed from; after `.data` and `.detach()`; and
where what it is stored on is not proven to be a module.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import MovedParameter

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.edits import Editor, Edits
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
        safe = fact.alone and not fact.random
        fix = region.edit.fix("Make the Parameter of the result", _inside(fact, region.edit), safe=safe)
        yield Finding(region.span(fact.site), "TSC403", message, steps, fix=fix)


def _inside(fact: MovedParameter, edit: Editor) -> Edits | None:
    """What is done to the Parameter is done to what it is made of; a new tensor is made where it is wanted."""
    rest = () if fact.whole is not None and fact.whole is fact.direct else edit.hoist(fact.site, fact.whole)
    if fact.direct is None:
        return rest
    given = None if fact.factory is None else edit.add_argument(fact.factory, _device(fact.direct, edit))
    return edit.join(rest, edit.drop_call(fact.direct), () if fact.factory is None else given)


def _device(move: ast.Call, edit: Editor) -> str | None:
    """What a factory has to be told instead of a move."""
    match move:
        case ast.Call(func=ast.Attribute(attr="cuda"), args=[], keywords=[]):
            return 'device="cuda"'
        case (
            ast.Call(func=ast.Attribute(attr="to"), args=[device], keywords=[])
            | ast.Call(func=ast.Attribute(attr="to"), args=[], keywords=[ast.keyword(arg="device", value=device)])
        ):
            text = edit.quoted(device)
            return None if text is None else f"device={text}"
    return None


RULE = Rule(
    code="TSC403",
    name="parameter-moved-after-wrap",
    summary="a Parameter is moved, cast or computed with before a module gets it",
    kinds=("MovedParameter",),
    check=check,
    fix="safe",
)
