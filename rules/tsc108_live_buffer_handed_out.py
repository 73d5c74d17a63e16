"""
## What it does

Reports a tensor that is appended, stored or yielded in a loop which writes that very tensor in place in a later pass,
and a forward hook that keeps the output of a layer which the next layer overwrites. With preview, also
`return self.buf` where the class, or a caller with what it got, writes the buffer in place.

## Why it is a bug

A list, a dict and a caller hold the tensor, not what it held. A history of `history.append(state)` shows the last
state in every entry; all observations of a rollout are the last one; the activation that was kept of a convolution is
what `nn.ReLU(inplace=True)` left of it. Torch raises no error.

## Example

```python
import torch


def rollout(step: torch.Tensor, steps: int) -> list[torch.Tensor]:
    state, history = torch.zeros(3), []
    for _ in range(steps):
        state += step
        history.append(state)
    return history
```

## Write instead

```python
import torch


def rollout(step: torch.Tensor, steps: int) -> list[torch.Tensor]:
    state, history = torch.zeros(3), []
    for _ in range(steps):
        state += step
        history.append(state.clone())
    return history
```

## Fix

`.clone()` where the tensor is stored, yielded or returned. Unsafe: it takes memory, and who wrote to what was handed
out on purpose does so in vain. None where it is not plain which of several values it is, and for an attribute that
the class sets to None.

## Limits

Silent where the loop makes a new tensor in each pass or binds the name anew (`state = state + step`); where the
tensor is copied into another one (`storage[i] = state`); where the container is made anew in each pass; where another
part of the tensor is written; for parameters and what an optimizer moves; and for a hook whose layer, or what follows
it, is not built in the file.

Only with preview: a buffer that is returned, unless the file shows what comes of it (a loop stores what it gets while
the object goes on to write it, or a caller compares what it got with the buffer of later); and a buffer of the object
that each call of a method writes and appends to a list of the object.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.clone.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
- https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import HandedOut

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[HandedOut], region: Region) -> Iterator[Finding]:
    for fact in facts:
        needed = {"read": 1, "loop": 2, "layer": 2}
        if fact.evidence < needed.get(fact.reason, 3):
            continue
        line = region.line(fact.write)
        match fact.reason:
            case "layer":
                message = (
                    f"the hook keeps `{fact.name}` itself: `{fact.op}` (line {line}) works in place on it, and what "
                    "was kept changes"
                )
            case "loop" if fact.how != "return":
                handed = "yielded" if fact.how == "yield" else "stored"
                message = (
                    f"`{fact.name}` is {handed} here itself, not a copy: {fact.verb} on line {line} changes it in the "
                    "next pass of the loop"
                )
            case "method" if fact.how == "store":
                message = (
                    f"`{fact.name}` is stored here itself, not a copy: {fact.verb} on line {line} changes it with the "
                    "next call"
                )
            case "caller":
                message = (
                    f"`{fact.name}` hands out the live buffer: {fact.verb} in `{fact.by}` (line {line}) changes what "
                    "the object holds"
                )
            case _:
                by = f" in `{fact.by}`" if fact.by else ""
                message = (
                    f"`{fact.name}` hands out the live buffer: {fact.verb}{by} (line {line}) changes what callers "
                    "got before"
                )
        preview = fact.reason not in needed
        fix = region.edit.fix("Hand out a clone", region.edit.copied(fact.copies), safe=False)
        yield Finding(region.span(fact.site), "TSC108", message, fact.steps(region), preview=preview, fix=fix)


RULE = Rule(
    code="TSC108",
    name="live-buffer-handed-out",
    summary="a tensor is stored, yielded or returned and then written in place",
    kinds=("HandedOut",),
    check=check,
    fix="unsafe",
)
