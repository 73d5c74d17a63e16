"""What the abstract run finds out, one class a kind of fact; rules ask for kinds by name and decide on the fields.

Sites are nodes of flake8's own ast; `region.Region` turns them into spans, LibCST nodes and text.  `evidence` says how
surely the thing is a tensor: 3 by definition, annotation or a torch result, 2 by a method that only tensors have, 1 by
array-like indexing, 0 unknown.  The statement that the fact is about never counts as evidence.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


def _verb(op: str, how: str, inner: ast.AST | None) -> str:
    """How a message calls a write."""
    match how:
        case "call":
            return f"in-place `{op}` in the called function (line {getattr(inner, 'lineno', '?')})"
        case "subscript":
            return "item assignment"
        case "module":
            return f"`{op}(..)`"
        case "out":
            return f"`{op}(out=..)`"
        case "function" if not op.endswith("_"):
            return f"`{op}(inplace=True)`"
    return f"in-place `{op}`"


def _cause(node: ast.AST | None, region: Region) -> str:
    """A piece of code with its line, as messages append it."""
    return "" if node is None else f" (`{region.code(node)}` on line {region.line(node)})"


def _when(op: str) -> str:
    """Under which condition a conversion returns its argument."""
    if op in ("cpu", "cuda", "to", "type", "type_as"):
        return "same device and dtype"
    if op in ("contiguous", "reshape", "flatten", "ravel", "rearrange"):
        return "contiguous input"
    if op.startswith("Dropout") or op in ("dropout", "AlphaDropout", "FeatureAlphaDropout"):
        return "in eval mode"
    if op == "Identity":
        return "always"
    return "same dtype"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fact:
    """Common to all kinds: the node where the fact is reported, which decides its place in the file."""

    site: ast.AST


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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

    @property
    def verb(self) -> str:
        return _verb(self.op, self.how, self.inner)

    @property
    def when(self) -> str:
        return _when(self.maybe_op)

    def cause(self, region: Region) -> str:
        """The code that made the two share, with its line; empty where nothing in the function did."""
        return _cause(self.binding or self.source, region)

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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

    @property
    def verb(self) -> str:
        return _verb(self.op, self.how, self.inner)

    @property
    def when(self) -> str:
        return _when(self.maybe_op)

    def cause(self, region: Region) -> str:
        """The conversion that shares, with its line."""
        return _cause(self.source, region)

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = []
        if self.source is not None:
            path.append(region.step(self.source, f"`{self.owner_name}` is shared from here"))
        return (*path, region.step(self.site, f"{self.verb} changes it"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedWrite(Fact):
    """The joined name of a branch is written where one arm is kept state and the other a fresh value."""

    writer: str
    kept: str
    op: str
    bound: ast.AST | None
    evidence: int
    owner: str

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = [] if self.bound is None else [region.step(self.bound, f"`{self.writer}` is `{self.kept}` here")]
        return (*path, region.step(self.site, f"`{self.op}` changes both"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AccumulatedItem(Fact):
    """An item of an argument collection is the accumulator that is written in place and returned."""

    writer: str
    collection: str
    op: str
    bound: ast.AST | None
    evidence: int

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = [] if self.bound is None else [region.step(self.bound, f"an element of `{self.collection}`")]
        return (*path, region.step(self.site, f"`{self.op}` changes it"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReboundData(Fact):
    """`a.data = b.data`: two tensors share one storage from here on."""

    target: str
    value: str
    parameter: bool  # both are parameters
    looped: bool  # both are variables of a loop
    evidence: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointerTest(Fact):
    """`a.data_ptr() != b.data_ptr()` asserted or tested."""

    left: str
    right: str
    asserted: bool
    guards_copy: bool  # the test only avoids a copy or picks a fast path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StaleSnapshot(Fact):
    """A live state_dict (or part of one) is used after its module was changed; `site` takes the snapshot."""

    reader: str
    module: str
    call: str  # state_dict, parameters, named_parameters
    changed: ast.AST
    change: str
    read: ast.AST
    copies: tuple[str, ...]  # what was taken for a copy on the way: `.copy()`, `detach`, `cpu`
    stored: bool
    role: str
    method: str = ""  # another method of the class, which loads it back

    def steps(self, region: Region) -> tuple[Step, ...]:
        if self.method:
            kept = region.step(self.site, f"`{self.reader}` holds the live tensors of `{self.module}`")
            return (kept, region.step(self.read, f"`{self.method}` loads it back"))
        return (
            region.step(self.site, f"`{self.reader}` holds the live tensors of `{self.module}`"),
            region.step(self.changed, f"`{self.change}` changes them"),
            region.step(self.read, f"`{self.reader}` is read"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LostWrite(Fact):
    """An in-place op changed a copy that nobody else can see; `site` is the statement."""

    base: str
    op: str
    copied_by: str  # "index", or the op that made the copy, or "state_dict"
    index: ast.AST | None
    evidence: int
    probing: bool  # inside a test for an exception

    @property
    def verb(self) -> str:
        return "item assignment" if self.op == "[...] =" else f"in-place `{self.op}`"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DroppedResult(Fact):
    """The result of an out-of-place op is thrown away; `site` is the call."""

    receiver: str
    op: str
    moves: bool  # a change of device, dtype or layout
    twin: bool  # torch has the in-place form `op_`
    views: bool  # the result is a view
    evidence: int
    receiver_evidence: int  # without what the call itself proves
    probing: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeadRebinding(Fact):
    """A name bound to somebody's tensor is rebound to a computed one that is never read."""

    name: str
    origin: str  # loop argument parameter grad
    source: str  # what the name was bound to, as text
    uses_itself: bool
    uses_sibling: bool
    update: bool  # reads a gradient
    parameter: bool
    computed: bool  # arithmetic or an op that makes a new tensor
    evidence: int
    op: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeafRebound(Fact):
    """A leaf is replaced by a computed tensor where a leaf (or a Parameter) is expected afterwards."""

    target: str
    reason: str  # grad_read: `.grad` of the result is read; method: built as a leaf; parameter: a module's parameter
    expected: ast.AST | None
    evidence: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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

    @property
    def verb(self) -> str:
        return _verb(self.op, self.how, self.inner)

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.expanded, f"`{self.expand}`: elements share memory from here"),
            region.step(self.site, f"{self.verb} writes to it"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostScalar(Fact):
    """A tensor is moved to the host only to be printed, logged, or turned into a Python number; `site` is the move."""

    receiver: str
    move: str
    scalar: bool  # proven 0-d
    used: str  # logged, item, tolist, float, reduced, indexed, compared
    evidence: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CloneDetach(Fact):
    """`x.clone().detach()`: `site` is the detach call."""

    receiver: str
    graph: bool | None  # the receiver is on the graph: known, known not to be, unknown
    recording: bool | None  # grad mode
