"""The state of one simulated accelerator: its events, its memory, its copies in flight."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from flake8_tensorcopy.verify.sim.copies import Copies, Copy
from flake8_tensorcopy.verify.sim.events import Event, Kind, SimulationError, location
from flake8_tensorcopy.verify.sim.memory import Memory, storage_of

DEVICE = torch.device("cuda", 0)
MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


class Call(NamedTuple):
    """The call of a torch function that is running: the device it was asked for, if it was, and its arguments."""

    asked: bool | None
    arguments: Any


@dataclass(eq=False)
class Machine:
    """One simulated accelerator. `bare` counts the reasons to see the CPU tensors as they are."""

    def __post_init__(self) -> None:
        self.events: list[Event] = []
        self.memory = Memory()
        self.copies = Copies(self.raw, self._race)
        self.call: Call | None = None
        self.bare = 0
        self.silent = 0
        self.listening = False  # is the function mode on, or switched off by a function that it called?
        self.process = os.getpid()

    def record(self, kind: Kind, op: str, nbytes: int = 0, non_blocking: bool = False, pinned: bool = False) -> None:
        if not self.silent:
            line, file = location()
            self.events.append(Event(kind, op, nbytes, line, file, non_blocking, pinned))

    def wait(self, op: str, copies: list[Copy] | None = None) -> None:
        """The host waits for these copies, or for those of the current stream."""
        self.record(Kind.SYNC, op)
        self.arrive(self.copies.before(self.copies.current) if copies is None else copies)

    def arrive(self, copies: list[Copy]) -> None:
        """The host knows that these copies have happened."""
        if copies and not self.silent:
            self.copies.land(copies)

    def _race(self, source: Any) -> None:
        self.record(Kind.RACE, "copy_", source.nbytes, True, True)

    @contextmanager
    def raw(self) -> Iterator[None]:
        """Within, torch sees CPU tensors, and no mode sees torch."""
        self.bare += 1
        try:
            with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
                yield
        finally:
            self.bare -= 1

    @contextmanager
    def raw_function(self) -> Iterator[None]:
        """Within, no function of torch is ours; the dispatch modes of others still see its operations."""
        self.bare += 1
        try:
            with torch._C.DisableTorchFunction():
                yield
        finally:
            self.bare -= 1

    @contextmanager
    def calling(self, call: Call) -> Iterator[None]:
        outer, self.call = self.call, call
        try:
            yield
        finally:
            self.call = outer

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.silent += 1
        self.memory.frozen = True
        try:
            yield
        finally:
            self.silent -= 1
            self.memory.frozen = self.silent > 0

    def on_device(self, tensor: Any) -> bool:
        return self.memory.on_device(tensor)

    def any_on_device(self, arguments: Any) -> bool:
        return any(isinstance(leaf, torch.Tensor) and self.on_device(leaf) for leaf in tree_leaves(arguments))

    def wanted(self, device: Any) -> bool | None:
        """Does this ask for the device (True), the CPU (False), or for another that torch shall judge (None)?

        Raises RuntimeError, as torch does, for a device number that does not exist and in a forked process.
        """
        if isinstance(device, int) and not isinstance(device, bool):
            device = torch.device("cuda", device)
        device = torch.device(device)
        if device.type == "cuda":
            if device.index not in (None, 0):
                raise RuntimeError("CUDA error: invalid device ordinal")
            if os.getpid() != self.process:
                raise RuntimeError(
                    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
                    "the 'spawn' start method"
                )
            return True
        return False if device.type == "cpu" else None

    def claim(self, tensor: Any, op: str) -> None:
        """The storage of a new tensor is device memory."""
        storage = storage_of(tensor)
        if storage is None:
            raise SimulationError(f"the simulated accelerator has no {tensor.layout} tensors, as {op} makes")
        if not self.memory.holds(storage):
            self.memory.take(storage)


_active: Machine | None = None


def active() -> Machine | None:
    """The machine that is simulated now."""
    return _active


def activate(machine: Machine | None) -> None:
    global _active
    _active = machine
