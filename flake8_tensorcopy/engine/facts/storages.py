"""What becomes of a storage: kept by a small view, moved away from an array, written though it is read-only."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Copy, Fact, cause_of, verb_of

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class KeptStorage(Fact):
    """A small view goes where it keeps all of its storage; `site` is the call."""

    view: str
    base: str
    into: str  # save, or the list that it is appended to
    evidence: int
    copies: tuple[Copy, ...] = ()  # the view
    here: bool = False  # it stands in the call itself


class UnlinkedArray(Fact):
    """An array is used after `share_memory_()` took the tensor's storage away; `site` is that call."""

    array: str
    tensor: str
    dangling: bool  # the array is a view of the tensor's freed memory
    link: ast.AST | None  # the call that made the two share
    used: ast.AST

    def cause(self, region: Region) -> str:
        return cause_of(self.link, region)

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = [] if self.link is None else [region.step(self.link, f"`{self.array}` shares the memory from here")]
        path.append(region.step(self.site, f"`{self.tensor}` gets another storage"))
        return (*path, region.step(self.used, f"`{self.array}` is used"))


class ReadOnlyWrite(Fact):
    """A tensor over a read-only array is written; `site` is the write."""

    writer: str
    op: str
    how: str
    made: str  # frombuffer broadcast_to sliding_window_view load memmap
    source: ast.AST | None  # the call that made the array
    inner: ast.AST | None
    copies: tuple[Copy, ...] = ()  # where one would make it an array, or tensor, that can be written

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, self.inner)

    def cause(self, region: Region) -> str:
        return cause_of(self.source, region)

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = [] if self.source is None else [region.step(self.source, f"`{self.made}`: read-only from here")]
        return (*path, region.step(self.site, f"{self.verb} writes to it"))
