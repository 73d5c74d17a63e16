"""
## What it does

Reports a read, on the host, of what `.to("cpu", non_blocking=True)` or `pinned.copy_(x, non_blocking=True)` copies,
before anything waited for the copy.

## Why it is a bug

A non-blocking copy from a device only starts there. Until the host waits, the tensor holds whatever was in that
memory, and nothing raises: the numbers are garbage now and then.

## Example

```python
import torch


def scores(model: torch.nn.Module, images: torch.Tensor) -> list[float]:
    on_host = model(images).to("cpu", non_blocking=True)
    return on_host.tolist()
```

## Write instead

```python
import torch


def scores(model: torch.nn.Module, images: torch.Tensor) -> list[float]:
    on_host = model(images).to("cpu")
    return on_host.tolist()
```

## Fix

`non_blocking=True` goes. Safe, but unsafe in a helper, whose other callers may want it. To keep the overlap, wait
(`torch.cuda.synchronize()`, an event, the stream) before the first read instead.

## Limits

Silent where the copy is only stored, returned or put into a queue, where anything between may wait (a synchronisation
of the device, a stream or an event, `.item()`, a blocking copy, a function whose name says so), and for what already
lies on the host. A copy to a device needs no wait: the kernels that read it run behind it.

## References

- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Fix, Rule
from flake8_tensorcopy.engine.facts import UnwaitedRead

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[UnwaitedRead], region: Region) -> Iterator[Finding]:
    for fact in facts:
        what = f"`{fact.name}`" if fact.name else "the copy"
        handed = "`numpy()` hands out" if fact.how == "numpy" else "the host reads"
        message = (
            f"{handed} {what} before it has arrived: the non-blocking copy of `{fact.source}` to the host "
            f"(line {region.line(fact.copy)}) is only started, and nothing waits for it"
        )
        path = (region.step(fact.copy, f"starts a copy of `{fact.source}` to the host and does not wait"),)
        yield Finding(region.span(fact.site), "TSC502", message, path, fix=_fix(fact, region))


def _fix(fact: UnwaitedRead, region: Region) -> Fix | None:
    edit = region.edit
    match fact.started:
        case ast.Call(args=args, keywords=keywords):
            flags = [one.value for one in keywords if one.arg == "non_blocking"]
            flags += [one for one in args if isinstance(one, ast.Constant) and one.value is True]
        case _:
            return None
    blocking = edit.drop_argument(fact.started, *flags) if flags else None
    return edit.fix("Wait for the copy", blocking, safe=fact.started is fact.copy)


RULE = Rule(
    code="TSC502",
    name="async-read-before-sync",
    summary="a non-blocking copy to the host is read before anything waited for it",
    kinds=("UnwaitedRead",),
    check=check,
    fix="safe",
)
