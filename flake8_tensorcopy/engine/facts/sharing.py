"""Names that share storage, and what is written through one of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Copy, Fact, cause_of, verb_of, when_of

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class StaleRead(Fact):
    """A binding is read after its storage was written through another binding; `site` is the write."""

    reader: str
    bound: ast.AST | None  # the statement that bound the reader; None for an argument or what an object held on entry
    source: ast.AST | None  # the expression that made the sharing: `a.detach()`, `a`
    binding: ast.AST | None  # the assignment that this expression stands in: `b = a`
    writer: str
    op: str
    how: str  # method augmented subscript out module function call training
    inner: ast.AST | None  # the write in the called function, for how == "call"
    read: ast.AST
    link: str  # alias view detach numpy maybe snapshot
    links: tuple[str, ...]  # the ops between the two bindings
    evidence: int
    together: bool  # both bindings are operands of one statement after the write
    kept: bool  # the reader's name says that the old value was to be kept
    compared: bool  # the reader is compared with, or subtracted from, something
    role: str  # the strongest use of the reader
    reader_origin: str  # name argument loop attribute item store part
    writer_origin: str
    reader_derived: bool  # the reader is a view (or copy, maybe) and the writer is what it was taken from
    writer_derived: bool
    stored_from: str  # for an item of a container: the name it was stored from
    owner: str  # fresh argument attribute item global
    certain: bool  # neither binding has an alternative with another storage
    writer_certain: bool  # the written one has none
    same_part: bool  # reader and write name one and the same part: `tmp = x[i]; x[i] = ...`
    reader_is_source: bool  # the writer is a shorthand for the slot that is read
    parameter: bool  # the storage is a parameter's, or a gradient's
    writer_used: bool  # the writer's name is used again after the write
    activation: bool  # the write is an activation working in place
    maybe_op: str  # of the ops between the two, the one that may or may not copy
    handed: bool = False  # the reader is what a method returned, and the method is where the copy is missing
    copies: tuple[Copy, ...] = ()  # where one would part the two, the best place first
    moved: bool = False  # what a part held goes into another part of the tensor, which it was written from before
    chained: ast.Assign | None = None  # `a = b = x`, which bound both names to one tensor

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, self.inner)

    @property
    def when(self) -> str:
        return when_of(self.maybe_op)

    def cause(self, region: Region) -> str:
        """The code that made the two share, with its line; empty where nothing in the function did."""
        return cause_of(self.binding or self.source, region)

    @property
    def consumed(self) -> bool:
        """The reader is computed with, stored or handed on, not only named, tested or shown."""
        return self.role not in ("bind", "test", "logged")

    @property
    def taken_for_copy(self) -> bool:
        """Both sides live on as if each had memory of its own.

        Filling a tensor through another view of it that is not used again is common, and meant.
        """
        if not self.consumed:
            return False
        if self.together or self.kept or self.compared or self.reader_derived:
            return True
        return self.writer_used and (self.owner != "fresh" or self.role in ("operand", "argument"))

    def steps(self, region: Region) -> tuple[Step, ...]:
        """Where the sharing was made, where it was written, where it is read."""
        path = []
        if self.source is not None:
            path.append(region.step(self.source, f"`{self.reader}` and `{self.writer}` share storage from here"))
        path.append(region.step(self.site, f"{self.verb} changes both"))
        path.append(region.step(self.read, f"`{self.reader}` is read"))
        return tuple(path)


class SharedWrite(Fact):
    """A write reaches memory that the caller or an object owns, through a link that looks like a copy."""

    writer: str
    owner_name: str
    op: str
    how: str
    link: str  # numpy or maybe
    links: tuple[str, ...]
    source: ast.AST | None
    owner: str
    evidence: int
    certain: bool
    array: bool  # what is shared is a NumPy array
    maybe_op: str
    inner: ast.AST | None
    copies: tuple[Copy, ...] = ()  # where one would give the writer memory of its own, the best place first

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, self.inner)

    @property
    def when(self) -> str:
        return when_of(self.maybe_op)

    def cause(self, region: Region) -> str:
        """The conversion that shares, with its line."""
        return cause_of(self.source, region)

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = []
        if self.source is not None:
            path.append(region.step(self.source, f"`{self.owner_name}` is shared from here"))
        return (*path, region.step(self.site, f"{self.verb} changes it"))


class JoinedWrite(Fact):
    """The joined name of a branch is written where one arm is kept state and the other a fresh value."""

    writer: str
    kept: str
    op: str
    bound: ast.AST | None
    evidence: int
    owner: str
    copies: tuple[Copy, ...] = ()  # where one would give the writer a storage of its own

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = [] if self.bound is None else [region.step(self.bound, f"`{self.writer}` is `{self.kept}` here")]
        return (*path, region.step(self.site, f"`{self.op}` changes both"))


class AccumulatedItem(Fact):
    """An item of an argument collection is the accumulator that is written in place and returned."""

    writer: str
    collection: str
    op: str
    bound: ast.AST | None
    evidence: int
    inside: bool = False  # the element is a container, and what it holds is written
    copies: tuple[Copy, ...] = ()  # where one would give the writer a storage of its own

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = [] if self.bound is None else [region.step(self.bound, f"an element of `{self.collection}`")]
        return (*path, region.step(self.site, f"`{self.op}` changes it"))


class ReboundData(Fact):
    """`a.data = b.data`: two tensors share one storage from here on."""

    target: str
    value: str
    parameter: bool  # both are parameters
    looped: bool  # both are variables of a loop
    evidence: int
    copies: tuple[Copy, ...] = ()  # what is assigned


class PointerTest(Fact):
    """`a.data_ptr() != b.data_ptr()` asserted or tested."""

    left: str
    right: str
    asserted: bool
    guards_copy: bool  # the test only avoids a copy or picks a fast path
    addresses: tuple[ast.AST, ...] = ()  # the two calls of `data_ptr`, where nothing but the test reads what they give


class OverlappingWrite(Fact):
    """A write through memory that overlaps itself (expand, broadcast_to, unfold ...)."""

    writer: str
    op: str
    how: str
    expand: str
    expanded: ast.AST
    silent: bool | None  # torch raises no error: some elements change with others; None where the index decides
    maybe: bool  # a later op copies it, or not
    evidence: int
    inner: ast.AST | None = None
    cloned: ast.AST | None = None  # the expression that a `.clone()` can follow: its value is one tensor
    unpacked: ast.Assign | None = None  # or the statement that gives `bound` one of several
    bound: str = ""
    alone: bool = False  # what was expanded is used by nothing else afterwards

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, self.inner)

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.expanded, f"`{self.expand}`: elements share memory from here"),
            region.step(self.site, f"{self.verb} writes to it"),
        )
