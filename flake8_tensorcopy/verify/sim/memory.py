"""Which storages are device memory, and which are pinned: marks on the storages of ordinary CPU tensors.

A storage is what moves and what is shared: views, `.data`, `detach()`, `set_` and a module's parameters keep or change
their place as they do on a real device, without a word about them here.  torch keeps a storage's Python object alive as
long as its memory, so a mark that is an attribute of that object lives as long too.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch

MARK = "_simulated_block"


@dataclass(slots=True, eq=False)
class Block:
    """What is known of one storage: whose it is, where it lies, and its size in bytes."""

    memory: Memory
    device: bool
    nbytes: int


class Memory:
    """The device memory and the pinned host memory of one simulated accelerator, with bytes in use and their peak."""

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0
        self.cached = 0  # bytes freed that `empty_cache` has not given back
        self.frozen = False  # while nothing is recorded, the peak stays

    def on_device(self, tensor: Any) -> bool:
        block = self._block(storage_of(tensor))
        return block is not None and block.device

    def pinned(self, tensor: Any) -> bool:
        block = self._block(storage_of(tensor))
        return block is not None and not block.device

    def holds(self, storage: Any) -> bool:
        """Is this storage device memory?"""
        block = self._block(storage)
        return block is not None and block.device

    def take(self, storage: Any) -> None:
        """Makes a storage device memory, counted until it is freed."""
        block = Block(self, True, 0)
        setattr(storage, MARK, block)
        weakref.finalize(storage, _free, block).atexit = False
        self.fit(storage)

    def pin(self, storage: Any) -> None:
        setattr(storage, MARK, Block(self, False, 0))

    def fit(self, storage: Any) -> None:
        """Counts a device storage anew, which an operation may have resized."""
        block = self._block(storage)
        if block is not None and block.device:
            self.allocated += storage.nbytes() - block.nbytes
            block.nbytes = storage.nbytes()
            if not self.frozen:
                self.peak = max(self.peak, self.allocated)

    def _block(self, storage: Any) -> Block | None:
        block = getattr(storage, MARK, None)
        return block if isinstance(block, Block) and block.memory is self else None


def _free(block: Block) -> None:
    block.memory.allocated -= block.nbytes
    block.memory.cached += block.nbytes


def storage_of(tensor: Any) -> Any | None:
    """The storage of a tensor; of one that vmap or grad wraps, the storage of the tensor within; None without one."""
    with torch._C.DisableTorchFunction():
        while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            tensor = torch._C._functorch.get_unwrapped(tensor)
        try:
            return tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):  # sparse tensors have none
            return None


def dense(tensor: Any) -> bool:
    """Does a tensor fill its memory without gaps and overlaps, in whatever order of its dimensions?"""
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(tensor.shape, tensor.stride(), strict=True)):
        if size == 0:
            return True
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def host_view(tensor: Any) -> Any:
    """A CPU tensor over the very memory of another, with a storage object of its own that has no mark."""
    if tensor._is_zerotensor():  # zeros that autograd gives without memory
        return tensor.clone()
    storage = tensor.untyped_storage()
    whole = torch.empty(0, dtype=torch.uint8).set_(storage)
    shared = torch.from_numpy(whole.numpy()) if storage.nbytes() else torch.empty(0, dtype=torch.uint8)
    alias = torch.empty(0, dtype=tensor.dtype)
    alias.set_(shared.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
    alias = alias.conj() if tensor.is_conj() else alias
    return torch._neg_view(alias) if tensor.is_neg() else alias
