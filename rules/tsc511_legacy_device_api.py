"""
## What it does

Reports tensor types that name CUDA (`torch.cuda.FloatTensor(..)`, `.type("torch.cuda.FloatTensor")`) and `torch.load`
without `map_location`.

## Why it is a bug

They raise where there is no CUDA: the type is not available, and a checkpoint saved on a GPU is put back on that GPU.
On a machine with several, everything goes to the current device, or to the one of the checkpoint.

## Example

```python
import torch


def restore(path: str) -> dict[str, torch.Tensor]:
    return torch.load(path, weights_only=True)
```

## Write instead

```python
import torch


def restore(path: str, device: torch.device) -> dict[str, torch.Tensor]:
    return torch.load(path, map_location=device, weights_only=True)
```

## Fix

None: give `map_location`; make tensors with `dtype=` and `device=`, and convert with `.to(..)` or `type_as`.

## Limits

Silent in `isinstance`, under a test that names CUDA or the GPU, for `np.load` and other functions of that name, and for
a buffer in memory that the same function filled. A preview rule: a checkpoint of CPU tensors loads anywhere.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.load.html
- https://docs.pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import LegacyDevice

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[LegacyDevice], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.how == "load":
            message = (
                f"`{fact.api}` without `map_location` puts the tensors back on the device that they were saved from, "
                "and raises where there is none"
            )
        else:
            message = (
                f"`{fact.api}` is bound to CUDA and raises where there is none: say `dtype=` and `device=`, or convert "
                "with `.to(..)`"
            )
        yield Finding(region.span(fact.site), "TSC511", message)


RULE = Rule(
    code="TSC511",
    name="legacy-device-api",
    summary="a tensor type or a checkpoint that is bound to CUDA",
    kinds=("LegacyDevice",),
    check=check,
    preview=True,
)
