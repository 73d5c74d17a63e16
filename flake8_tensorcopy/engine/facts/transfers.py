"""Copies between the host and a device: read or overwritten too early, made for nothing, made in the wrong place."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.facts.base import Fact


class UnwaitedRead(Fact):
    """The host reads what an asynchronous copy may not have brought yet; `site` is the read."""

    source: str
    name: str
    copy: ast.AST
    started: ast.AST  # the copy itself, where `copy` calls a function that starts it
    how: str
    into: bool  # by `copy_` into pinned memory


class OverwrittenSource(Fact):
    """Pinned memory is written while an asynchronous copy may still read it; `site` is the write."""

    source: str
    op: str
    how: str
    copy: ast.AST
    looped: bool  # in the next pass of a loop


class PinnedMove(Fact):
    """Pinned memory that serves nothing, or is missing: `site` is the DataLoader if it is in view, else the move."""

    receiver: str
    kind: str  # blocking, on_the_fly, loader
    move: ast.AST


class CreatedThenMoved(Fact):
    """A new tensor is made on the host only to be moved; `site` is the move."""

    factory: str
    device: str
    random: bool
    behind: ast.Call | None = None  # the factory, where other calls stand between it and the move


class RoundTrip(Fact):
    """A tensor goes to the host, through NumPy, and back to a device unchanged by anything but torch."""

    source: str
    fetched: ast.AST
    arrays: tuple[ast.AST, ...]  # the calls that made arrays on the way
    made: tuple[ast.AST, ...]  # those of torch that made tensors of them
    device: str
    written: bool = False  # the tensor that is kept under a name, or what came back, is written afterwards


class InvariantTransfer(Fact):
    """A loop moves the same tensor in each of its passes; `site` is the move."""

    receiver: str
    device: str
    loop: ast.AST
    evidence: int


class StepSync(Fact):
    """The host waits for the device: in each step of a training loop, for each element, or for a message not shown."""

    text: str
    how: str  # item, number, print, test, mask, nonzero, synchronize, empty_cache; builtin, elements, debug
    loop: ast.AST | None


class WidenedMove(Fact):
    """A tensor of narrow elements on the host is cast to wider ones and then moved; `site` is the move."""

    receiver: str
    cast: ast.AST
    between: str  # nothing, numbers (arithmetic with them), name (of the wide tensor); other where that cannot be told
    narrow: str
    wide: str
    factor: int


class DatasetMove(Fact):
    """CUDA where batches are loaded; `site` is the move, or the DataLoader that pins what lies on the device."""

    place: str  # __getitem__, __iter__, collate, pinned
    text: str
    moved: ast.AST


class LegacyDevice(Fact):
    """A tensor type that names CUDA, or a checkpoint loaded to the device that it was saved from."""

    api: str
    how: str  # constructor, type, load
