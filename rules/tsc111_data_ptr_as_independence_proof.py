"""
## What it does

Reports `a.data_ptr() != b.data_ptr()` where it is asserted, tested or returned as proof that two tensors do not
share memory.

## Why it is a bug

`data_ptr()` is the address of a tensor's first element, and a view that begins elsewhere has another one. `x` and
`x[1:]` pass the test, and a write to one changes the other.

## Example

```python
import torch


def check_copied(source: torch.Tensor, copied: torch.Tensor) -> None:
    assert source.data_ptr() != copied.data_ptr(), "not a copy"
```

## Write instead

```python
import torch


def check_copied(source: torch.Tensor, copied: torch.Tensor) -> None:
    assert source.untyped_storage().data_ptr() != copied.untyped_storage().data_ptr(), "not a copy"
```

## Fix

Compares `untyped_storage().data_ptr()`. Unsafe: two views of one storage that do not overlap fail the test from then
on; and it takes no notice of a slice that went through NumPy and back, which on the CPU `numpy.shares_memory` sees.
None where an address has a name that is read elsewhere too.

## Limits

Silent where equal addresses are used as a fast path (`if a.data_ptr() == b.data_ptr(): return`), where the branch
only copies or picks an implementation, and where one address is tested for alignment or for zero.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.data_ptr.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.untyped_storage.html
- https://numpy.org/doc/stable/reference/generated/numpy.shares_memory.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import Finding, Rule
from flake8_tensorcopy.engine.facts import PointerTest

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def check(facts: list[PointerTest], region: Region) -> Iterator[Finding]:
    for fact in facts:
        if fact.guards_copy or fact.left == fact.right:
            continue
        message = (
            f"different `data_ptr()` does not prove that `{fact.left}` and `{fact.right}` share nothing: a view at an "
            "offset passes; compare `untyped_storage().data_ptr()`"
        )
        edit = region.edit
        calls = [edit.method(edit.receiver(call), ".untyped_storage()") for call in fact.addresses]
        fix = edit.fix("Compare the storages", *calls, safe=False)
        yield Finding(region.span(fact.site), "TSC111", message, fix=fix)


RULE = Rule(
    code="TSC111",
    name="data-ptr-as-independence-proof",
    summary="different data_ptr() taken as proof that no memory is shared",
    kinds=("PointerTest",),
    check=check,
    fix="unsafe",
)
