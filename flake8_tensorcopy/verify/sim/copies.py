"""Streams, and the copies in flight on them: what the host and other streams may not read or write yet."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from flake8_tensorcopy.verify.sim.memory import storage_of

POISON = -12345  # what memory holds before its copy has arrived
SMALL_POISON = 123  # the same for dtypes that cannot hold it


@dataclass(eq=False)
class Copy:
    """An asynchronous copy, until a synchronisation covers it; `streams` are those that run after it.

    To the host, `value` is what will arrive, and the target is poisoned.  To the device, the target is poisoned, and
    `value` kept, only while the current stream does not run after the copy; `source` and its bytes tell of a host that
    writes the source too early.
    """

    target: Any
    streams: set[int]
    value: Any = None
    source: Any = None
    content: Any = None

    @property
    def to_device(self) -> bool:
        return self.source is not None

    def hide(self) -> None:
        if self.value is None:
            self.value = self.target.clone()
            self.target.copy_(poison(self.value))

    def show(self) -> None:
        if self.value is not None:
            self.target.copy_(self.value)
            self.value = None

    def renew(self) -> None:
        """The device reads the source as it is now."""
        self.content = content(self.source)
        if self.value is None:
            self.target.copy_(self.source)
        else:
            self.value.copy_(self.source)


@dataclass(eq=False)
class Copies:
    """The copies in flight, and the stream that work goes to.

    Tensor operations here run on the bare memory: within `raw`, and on `.data`, whose writes no version counter sees.
    """

    raw: Callable[[], Any]
    race: Callable[[Any], None]
    current: int = 0
    pending: list[Copy] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def to_host(self, target: Any) -> None:
        """The target holds what will arrive; until then it is poisoned."""
        with self.raw():
            copy = Copy(target.data, {self.current})
            copy.hide()
        self.pending.append(copy)

    def to_device(self, target: Any, source: Any) -> None:
        with self.raw():
            copy = Copy(target.data, {self.current}, source=source.data, content=content(source))
        self.pending.append(copy)

    def switch(self, stream: int) -> None:
        self.current = stream
        self._settle()

    def order(self, stream: int, copies: Iterable[Copy]) -> None:
        """From now on, `stream` runs after these copies."""
        for copy in copies:
            copy.streams.add(stream)
        self._settle()

    def before(self, stream: int) -> list[Copy]:
        """The copies in flight that `stream` runs after."""
        return [copy for copy in self.pending if stream in copy.streams]

    def land(self, copies: Iterable[Copy]) -> None:
        """These copies have happened: the host waited for them."""
        landed = [copy for copy in copies if copy in self.pending]
        self.notice()
        with self.raw():
            for copy in landed:
                copy.show()
        self.pending = [copy for copy in self.pending if copy not in landed]

    def notice(self) -> None:
        """Sees the sources that NumPy wrote, which no operation tells."""
        with self.raw():
            for copy in self.pending:
                if copy.to_device and not torch.equal(copy.content, content(copy.source)):
                    self._race(copy)

    def written(self, storages: list[Any]) -> None:
        """The host wrote to these storages."""
        with self.raw():
            for copy in self.pending:
                if copy.to_device and any(storage_of(copy.source) is storage for storage in storages):
                    self._race(copy)

    @contextmanager
    def in_order(self, source: Any) -> Iterator[None]:
        """Within, a host tensor holds what the current stream finds there, after the copies that go before."""
        storage = storage_of(source)
        due = [copy for copy in self.before(self.current) if not copy.to_device and storage_of(copy.target) is storage]
        with self.raw():
            for copy in due:
                copy.show()
        try:
            yield
        finally:
            with self.raw():
                for copy in due:
                    copy.hide()

    def _race(self, copy: Copy) -> None:
        copy.renew()
        self.race(copy.source)

    def _settle(self) -> None:
        with self.raw():
            for copy in self.pending:
                if copy.to_device:
                    copy.show() if self.current in copy.streams else copy.hide()


def content(tensor: Any) -> Any:
    """The bytes of a tensor, which are equal to themselves where a NaN is not."""
    return (
        tensor.detach()
        .resolve_conj()
        .resolve_neg()
        .clone(memory_format=torch.contiguous_format)
        .view(-1)
        .view(torch.uint8)
    )


def poison(value: Any) -> Any:
    """A tensor like `value` that differs from it in every element."""
    if value.dtype == torch.bool:
        return ~value
    fits = value.dtype.is_floating_point or value.dtype.is_complex or torch.iinfo(value.dtype).min <= POISON
    pattern = torch.full_like(value, POISON if fits else SMALL_POISON)
    return torch.where(value == pattern, pattern + 1, pattern)
