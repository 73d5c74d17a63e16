"""
## What it does

Reports a tensor that goes to the host with `.cpu().numpy()`, becomes a tensor again, and is moved back to a device,
with nothing but torch in between.

## Why it is a bug

Two copies through the host, and two waits, give what was on the device all along. What is meant is usually
`detach()`.

## Example

```python
import torch


def pseudo_labels(logits: torch.Tensor) -> torch.Tensor:
    array = logits.softmax(dim=1).detach().cpu().numpy()
    return torch.from_numpy(array).to(logits.device)
```

## Write instead

```python
import torch


def pseudo_labels(logits: torch.Tensor) -> torch.Tensor:
    return logits.softmax(dim=1).detach()
```

## Fix

The way to the host and through NumPy goes, `detach()` stays, and so does a move to a device that may be another one.
Unsafe: the result shares the memory of the tensor; where one of them is written afterwards, it is a copy (`clone()`,
`copy=True`).

## Limits

Silent where the array itself is used: handed to a function, written, computed with in NumPy, SciPy or OpenCV; where an
object, a container or an inner function keeps it; and where the tensor is known to lie on the host before.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
- https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import RoundTrip

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[RoundTrip], region: Region) -> Iterator[Finding]:
    for fact in facts:
        message = (
            f"`{fact.source}` goes to the host (line {region.line(fact.fetched)}), through NumPy and back to "
            f"`{fact.device}`, and only torch touches it there: `detach()` saves one copy to the host and one back"
        )
        path = (region.step(fact.fetched, f"copies `{fact.source}` to the host"),)
        yield Finding(region.span(fact.site), "TSC506", message, path, fix=_fix(fact, region))


def _fix(fact: RoundTrip, region: Region) -> Fix | None:
    """Without the calls that fetch, make an array, and make a tensor of it; the move back stays where it may move."""
    edit = region.edit
    there = _device(fact.fetched)
    parts = [edit.drop_call(fact.fetched)]
    for array in fact.arrays:
        match array:
            case ast.Call(func=ast.Attribute(attr="numpy"), args=[], keywords=[]):
                parts.append(edit.drop_call(array))
            case _:
                return None
    for made in fact.made:
        match made:
            case ast.Call(args=[given], keywords=keywords) if all(one.arg in ("device", "dtype") for one in keywords):
                asked = [(one.arg, edit.quoted(one.value)) for one in keywords if ast.unparse(one.value) != there]
                if any(text is None for _, text in asked):
                    return None
                to = ", ".join(f"{name}={text}" for name, text in asked)
                parts.append(edit.unwrap(made, f".to({to})" if to else "", given))
            case _:
                return None
    match fact.site:
        case ast.Call(func=ast.Attribute(attr="to"), args=[device], keywords=[]) if ast.unparse(device) == there:
            parts.append(edit.drop_call(fact.site))
            if fact.written:
                parts.append(edit.method(fact.site, ".clone()"))
        case _ if fact.written:
            parts.append(edit.cloned(fact.site))
    return edit.fix("Stay on the device", *parts, safe=False)


def _device(fetched: ast.AST) -> str:
    """How the device of what is fetched would be written: `x.device` for `x.softmax(1).detach().cpu()`."""
    while isinstance(fetched, ast.Call) and isinstance(fetched.func, ast.Attribute):
        fetched = fetched.func.value
    return f"{ast.unparse(fetched)}.device"


RULE = Rule(
    code="TSC506",
    name="device-round-trip",
    summary="a tensor goes to the host and back to the device, and nothing there needed it",
    kinds=("RoundTrip",),
    check=check,
    fix="unsafe",
)
