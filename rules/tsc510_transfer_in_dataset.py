"""
## What it does

Reports CUDA written out where batches are loaded: `.cuda()`, `.to("cuda")` or `device="cuda"` in `__getitem__` of a
Dataset, in `__iter__` of an IterableDataset, in a collate function or in `__call__` of an object that is given for one;
and `DataLoader(.., pin_memory=True)` over a dataset that keeps its tensors on CUDA.

## Why it is a bug

With workers the code runs in another process, which cannot use CUDA after a fork: "Cannot re-initialize CUDA in forked
subprocess". With `pin_memory=True` the loader raises: "only dense CPU tensors can be pinned". Without both, each
sample is a small copy of its own instead of one for the batch.

## Example

```python
import torch
from torch.utils.data import Dataset


class Samples(Dataset[torch.Tensor]):
    def __init__(self, samples: list[torch.Tensor]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.samples[index].cuda()
```

## Write instead

```python
import torch
from torch.utils.data import Dataset


class Samples(Dataset[torch.Tensor]):
    def __init__(self, samples: list[torch.Tensor]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.samples[index]
```

## Fix

None: return host tensors, and move the batch in the training loop; do not pin what is on a device already.

## Limits

Only CUDA that is written out: `.to(self.device)` may be the CPU. Silent under a test that names CUDA or the GPU.

## References

- https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing
- https://docs.pytorch.org/docs/stable/data.html#memory-pinning
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import DatasetMove

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[DatasetMove], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.place == "pinned":
            message = (
                f"`pin_memory=True` over a dataset whose tensors lie on CUDA (`{fact.text}` on line "
                f"{region.line(fact.moved)}) raises: only CPU tensors can be pinned"
            )
        else:
            where = "a collate function" if fact.place == "collate" else f"`{fact.place}` of a dataset"
            message = (
                f"`{fact.text}` puts samples on CUDA in {where}: a worker process cannot use CUDA after a fork, and "
                "`pin_memory=True` raises; move the batch in the loop"
            )
        yield Finding(region.span(fact.site), "TSC510", message)


RULE = Rule(
    code="TSC510",
    name="transfer-in-dataset",
    summary="samples are put on CUDA where a DataLoader loads them",
    kinds=("DatasetMove",),
    check=check,
)
