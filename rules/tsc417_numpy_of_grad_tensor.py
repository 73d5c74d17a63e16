"""
## What it does

Reports `.numpy()`, `np.array(..)` and `np.asarray(..)` of a tensor that requires grad while grad mode is on (the
output of a module, a result of parameters), and of a tensor on a CUDA device.

## Why it is a bug

Torch refuses both. An array could be written without autograd knowing: "Can't call numpy() on Tensor that requires
grad. Use tensor.detach().numpy() instead". And NumPy cannot read the memory of a device.

## Example

```python
import torch
from torch import nn


def curve(points: torch.Tensor):
    model = nn.Linear(2, 1)
    return model(points).cpu().numpy()
```

## Write instead

```python
import torch
from torch import nn


def curve(points: torch.Tensor):
    model = nn.Linear(2, 1)
    return model(points).detach().cpu().numpy()
```

## Fix

`.detach()` before the call, and before a move to the host; `.cpu()` for a tensor on a device. Safe.

## Limits

Silent under `no_grad` and `inference_mode`, after `detach()`, with `force=True`, on the arm of a test of devices where
nothing was moved to one (`if use_cuda: .. else: x.numpy()`), for tensors that are not known to require grad, and for
values that were put together of some that are on a device and some that may be elsewhere.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import GradToArray

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[GradToArray], region: Region) -> Iterator[Finding]:
    for fact in facts:
        made = "" if fact.made is None else f" (line {region.line(fact.made)})"
        if fact.device:
            why, then = f"is on a device{made}", "write `.cpu()` first"
        else:
            why, then = f"requires grad{made}", "write `.detach()` first"
        edit = region.edit
        before, move = _moved(fact.given), ".cpu()" if fact.moves else ""
        if fact.device or before is fact.given:
            change = edit.method(fact.given, move if fact.device else f".detach(){move}")
        else:
            change = edit.join(edit.method(before, ".detach()"), edit.method(fact.given, move) if move else ())
        fix = edit.fix("Move it first" if fact.device else "Detach first", change, safe=True)
        message = f"`{fact.call}` raises: `{fact.value}` {why}; {then}"
        yield Finding(region.span(fact.site), "TSC417", message, fix=fix)


def _moved(node: ast.expr | None) -> ast.expr | None:
    """What a tensor was before it was moved: it is detached there, so that no graph is made of the move."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="cpu" | "to")):
            return _moved(inner)
    return node


RULE = Rule(
    code="TSC417",
    name="numpy-of-grad-tensor",
    summary="a NumPy array of a tensor that requires grad",
    kinds=("GradToArray",),
    check=check,
    fix="safe",
    preview=True,
)
