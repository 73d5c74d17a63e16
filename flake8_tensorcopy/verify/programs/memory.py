"""Addresses, version counters and bytes of tensors and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch


def region_of(value: Any) -> frozenset[int]:
    """The addresses of the elements of a tensor or array."""
    if isinstance(value, torch.Tensor):
        return _addresses(value.data_ptr(), tuple(value.shape), value.stride(), value.element_size())
    if isinstance(value, np.ndarray):
        steps = tuple(step // value.itemsize for step in value.strides)
        return _addresses(value.ctypes.data, value.shape, steps, value.itemsize)
    return frozenset()


def _addresses(start: int, shape: Sequence[int], strides: Sequence[int], size: int) -> frozenset[int]:
    return frozenset(_ordered(start, shape, strides, size))


def _ordered(start: int, shape: Sequence[int], strides: Sequence[int], size: int) -> list[int]:
    found = [start]
    for side, stride in zip(shape, strides, strict=True):
        step = stride * size
        found = [address + step * i for address in found for i in range(side)]
    return found


def indexed(value: Any, index: Any) -> frozenset[int]:
    """The addresses that an item assignment reaches."""
    mine = region_of(value)
    if isinstance(index, torch.Tensor) and index.dtype == torch.bool:
        return mine  # like `masked_fill_`: the data decides
    part = value[index]
    theirs = region_of(part)
    if theirs and theirs <= mine:
        return theirs
    if isinstance(value, torch.Tensor):
        order = _ordered(value.data_ptr(), tuple(value.shape), value.stride(), value.element_size())
        places = torch.arange(value.numel()).reshape(value.shape)[index].flatten().tolist()
    else:
        steps = tuple(step // value.itemsize for step in value.strides)
        order = _ordered(value.ctypes.data, value.shape, steps, value.itemsize)
        places = np.arange(value.size).reshape(value.shape)[index].flatten().tolist()
    return frozenset(order[place] for place in places)


def is_data(value: Any) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray)


def mark(value: Any) -> Any:
    """What a write changes: the version counter of a tensor, the bytes of an array."""
    if isinstance(value, torch.Tensor):
        return value._version
    return value.tobytes()


def storage_of(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return int(value.untyped_storage().data_ptr())
    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    return int(base.ctypes.data)


def same(one: Any, other: Any) -> bool:
    """Whether two results hold the same."""
    if isinstance(one, torch.Tensor):
        return (
            isinstance(other, torch.Tensor)
            and one.dtype == other.dtype
            and torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return (
        bool(np.array_equal(one, other, equal_nan=True)) if isinstance(one, np.ndarray | np.floating) else one == other
    )
