"""Abstract values: storages and containers, the references to them, and the writes they have seen.

A storage carries the set of writes that may have reached it.  A reference remembers the writes its storage had when the
reference was bound (autograd's version counter, as a set); what the storage has now beyond those, through another
binding, makes a read of the reference stale.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

# How one reference was derived from another, from the surest to the least sure.
ALIAS = "alias"  # the same object: `b = a`, `d["k"]`, the result of an in-place op
VIEW = "view"  # another tensor over the same storage
DETACH = "detach"  # a view that is off the graph: `detach()`, `.data`
NUMPY = "numpy"  # memory shared with a NumPy array, either way
MAYBE = "maybe"  # shared or copied, by device, dtype, layout or mode: `to`, `contiguous`, eval dropout
SNAPSHOT = "snapshot"  # live tensors of a module: `state_dict()`, `list(parameters())`
UNSURE = "unsure"  # an index of unknown kind: view or copy, never reported

# Copies of a container that hold the very items.
ONE_LAYER = frozenset({".copy()", "dict()", "list()", "tuple()", "copy.copy()", "{**..}"})

# Ops that make a NumPy array over a tensor's memory; the others of the kind make a tensor over an array's.
TO_ARRAY = frozenset({"numpy", "__array__", "asarray", "astype", "ascontiguousarray", "asanyarray", "frombuffer"})

# Of these, the ones that concern arrays alone.
ARRAY_ONLY = TO_ARRAY - {"numpy", "__array__"}

MAX_ALTERNATIVES = 8
MAX_CHAIN = 12
MAX_WRITES = 48

Path = tuple[str, ...]


class Arm:
    """The arm of an `if` that a path passed: the test (as text and bindings) and which way.

    One object for each test of a file and each way (`Module.arms`): sets of arms are what an analysis compares most.
    """

    __slots__ = ("apart", "met", "none_of", "one_of", "other", "parts", "taken", "test", "text")

    other: Arm

    def __init__(self, test: object, taken: bool) -> None:
        self.test = test
        self.taken = taken
        self.text = str(test[0]) if isinstance(test, tuple) else ""
        self.met = False
        self.apart: tuple[Arm, ...] = ()  # of `x == "a"`: that neither `x == "b"` nor another such test met holds
        # See `blocks`: the arm of the block of tests that says "one of these", which this one implies;
        self.one_of: Arm | None = None
        self.none_of: Arm | None = None  # the one that says "none of these", which implies this one;
        self.parts: list[Arm] = []  # of such an arm: what it implies.


def both_arms(test: object) -> tuple[Arm, Arm]:
    """The arm on which a test holds, and the other one."""
    yes, no = Arm(test, True), Arm(test, False)
    yes.other, no.other = no, yes
    return yes, no


def blocks_around(block: Arm | None) -> Iterator[Arm]:
    """The arm of a block and those of the blocks around it, on the same side."""
    while block is not None:
        yield block
        block = block.one_of or block.none_of


def meet(one: frozenset[Arm], other: frozenset[Arm]) -> frozenset[Arm]:
    """What holds on both of two paths."""
    common = one & other
    if len(common) == len(one) or len(common) == len(other):
        return common
    more = [
        arm
        for mine, theirs in ((one, other), (other, one))
        for arm in mine - common
        if arm.none_of is not None and not theirs.isdisjoint(blocks_around(arm.none_of))
    ]
    return common.union(more) if more else common


class Link:
    """One derivation step: the op that made a reference out of another one."""

    __slots__ = ("dtype", "inner", "key", "kind", "node", "op", "overlap", "permuted")

    def __init__(
        self, kind: str, op: str, node: ast.AST, key: object = None, overlap: bool = False, permuted: bool = False
    ) -> None:
        self.inner: ast.AST | None = None  # of a step that a function of this file took: the node there
        self.dtype = ""  # for a conversion: the dtype asked for
        self.kind = kind
        self.op = op
        self.node = node
        self.key = key  # for a view of a part: which part; None is the whole
        self.overlap = overlap  # several elements may share one memory cell: expand
        self.permuted = permuted  # the dimensions are no longer in memory order: t, transpose, permute


Chain = tuple[Link, ...]


@dataclass(slots=True, eq=False)
class Obj:
    """A storage, a container, a module: one run-time object, named by where it came from.

    `kind` is what definition or annotation proves; `uses` collects weaker evidence, as (level, statement).
    """

    kind: str  # tensor array module optimizer dict list tuple iter instance function class number unknown
    owner: str  # fresh argument attribute item global unknown
    node: ast.AST | None = None
    parent: Obj | None = None
    key: str = ""  # how a message calls it
    slot: str = ""  # the key of this object in its parent
    made: str = ""  # the op that made it
    source: tuple[Obj, ...] = ()  # what its kind was computed from
    operands: tuple[Obj, ...] = ()  # what its values were computed from: the way back through the graph
    through: bool = False  # of what an unknown call gave: a model's output, on the graph of its arguments
    inputs: tuple[Ref, ...] = ()  # the references that an operation was given, as they were
    given: tuple[Value, ...] = ()  # the operands of the operator that made it
    copied: Ref | None = None  # the reference that this fresh storage is a copy of
    uses: list[tuple[int, ast.AST | None]] = field(default_factory=list)
    refuted: bool = False  # used as no tensor can be used
    dtype: str = ""
    zero_dim: bool = False
    graph: bool | None = None  # requires grad: known, known not to, or unknown
    leaf: bool | None = None
    pinned: bool = False
    moved: bool = False  # `share_memory_()` gave it another storage
    param: bool = False  # a Parameter, or a tensor that a module or optimizer trains
    cls: str = ""  # qualified name of the class of a module or instance
    exact: bool = False  # a list that a comprehension made of another one, item by item
    any_of: Obj | None = (
        None  # what stands for any item of the list that this is one item of; the object itself, if that
    )
    born: int = 0  # of a list that a comprehension made: its place in the order of reads and writes
    over: Obj | None = None  # the list of such items that it was made of
    first: Value | None = None  # of a list: what stands first, if a loop put it there
    loop: tuple[int, ...] | None = None  # of a list that a display made: the pass of the loop it was made in
    data: Any = None  # structure of iterators, functions, classes

    def __repr__(self) -> str:
        return f"<{self.kind} {self.owner} {self.made or self.key} line {getattr(self.node, 'lineno', '?')}>"


class Place:
    """A binding: a name, or a slot of a container or object, bound once by one statement."""

    __slots__ = (
        "last_use",
        "loop",
        "made_at",
        "made_in",
        "name",
        "node",
        "origin",
        "read",
        "root",
        "stored_from",
        "tracked",
    )

    def __init__(
        self,
        name: str,
        node: ast.AST | None,
        root: str = "",
        stored_from: str = "",
        origin: str = "name",
        loop: tuple[int, ...] = (),
    ) -> None:
        self.name = name
        self.node = node
        self.root = root or name
        self.stored_from = stored_from  # for a slot: the name whose value was put there
        self.origin = origin  # name, argument, loop, attribute, item, store
        self.loop = loop
        self.read = False
        self.last_use = 0
        self.made_in: ast.AST | None = None  # for a slot: the statement that filled it
        self.made_at = 0  # and which execution of it, by the clock of the run
        # Whether it was told to require grad, where that says nothing of the storage: it holds a detached tensor, or a
        # Parameter over a tensor with a name of its own.
        self.tracked: bool | None = None

    def __repr__(self) -> str:
        return f"<{self.name} line {getattr(self.node, 'lineno', '?')}>"


class Ref:
    """A reference to a storage: the derivation, the binding it is held by, the writes seen when bound."""

    __slots__ = ("arms", "chain", "held", "obj", "place", "seen", "via")

    def __init__(
        self,
        obj: Obj,
        chain: Chain = (),
        place: Place | None = None,
        seen: frozenset[Write] = frozenset(),
        arms: frozenset[Arm] = frozenset(),
        held: int | None = None,
        via: tuple[Place, ...] = (),
    ) -> None:
        self.via = via  # the bindings that this one was derived from
        self.obj = obj
        self.chain = chain
        self.held = len(chain) if held is None else held  # links that the binding has; more are the expression's own
        self.place = place
        self.seen = seen
        self.arms = arms

    def derive(self, link: Link) -> Ref:
        if len(self.chain) >= MAX_CHAIN:
            link = Link(UNSURE, link.op, link.node)
            return Ref(
                self.obj, (*self.chain[: MAX_CHAIN - 1], link), self.place, self.seen, self.arms, self.held, self.via
            )
        return Ref(self.obj, (*self.chain, link), self.place, self.seen, self.arms, self.held, self.via)

    def having_seen(self, writes: frozenset[Write]) -> Ref:
        """The same reference, which these writes concern no more."""
        return Ref(self.obj, self.chain, self.place, self.seen | writes, self.arms, self.held, self.via)

    def on(self, arms: frozenset[Arm]) -> Ref:
        """The same reference, holding on these arms."""
        return Ref(self.obj, self.chain, self.place, self.seen, arms, self.held, self.via)

    def under(self, arms: frozenset[Arm]) -> Ref:
        """The same reference, known to hold on these arms only."""
        return self.on(self.arms | arms)

    @property
    def kind(self) -> str:
        """The kind of what is referred to: a module's live values are tensors, a shared array may be seen as one."""
        kind = self.obj.kind
        for link in reversed(self.chain):
            if link.kind == NUMPY:
                return "array" if link.op in TO_ARRAY else "tensor"
            if link.kind == SNAPSHOT and kind in ("module", "unknown"):
                return "tensor"
        return kind

    @property
    def overlaps(self) -> Link | None:
        for link in self.chain:
            if link.overlap:
                return link
        return None

    def __repr__(self) -> str:
        links = "".join(f".{link.kind}:{link.op}" for link in self.chain)
        return f"{self.obj!r}{links}@{self.place!r}"


class Write:
    """One in-place change: where, by which op, through which reference."""

    __slots__ = (
        "arms",
        "grad",
        "how",
        "inner",
        "loop",
        "mixed",
        "node",
        "op",
        "others",
        "ref",
        "stmt",
        "target",
        "tick",
        "time",
        "whole",
    )

    def __init__(
        self,
        node: ast.AST,
        stmt: ast.AST | None,
        op: str,
        how: str,
        ref: Ref,
        arms: frozenset[Arm],
        loop: tuple[int, ...],
        target: str = "",
        inner: ast.AST | None = None,
    ) -> None:
        self.node = node
        self.stmt = stmt
        self.op = op
        self.how = how  # method, augmented, subscript, out, module, function, call, training; part (of a module)
        self.ref = ref
        self.arms = arms
        self.loop = loop
        self.target = target  # the written expression as text
        self.inner = inner  # for a call of a function of this module: the write in its body
        self.time = 0
        self.tick = 0  # its place in the order of reads and writes
        self.mixed = False  # the written name may also hold a storage of its own
        self.others: tuple[Ref, ...] = ()  # what else of the same storage it may hold
        self.whole: Value | None = None  # the written name with all its alternatives, of one that is mixed by them
        self.grad: bool | None = None  # grad mode, where it is known

    def __repr__(self) -> str:
        return f"<{self.op} via {self.ref.place!r} line {getattr(self.node, 'lineno', '?')}>"


class Pointer(NamedTuple):
    """What `x.data_ptr()` gave: the number that is compared to prove that nothing is shared."""

    text: str
    node: ast.expr


class Shape(NamedTuple):
    """What `x.shape` and `x.size()` give: the sizes of the axes of a reference."""

    ref: Ref


class Sizes(NamedTuple):
    """The sizes of several axes: `x.shape[:2]`, `x.shape[:-1] + (n,)`."""

    sizes: tuple[object, ...]  # each an `axes.Size`, or None for -1


class Value:
    """What an expression may be: a small set of references, or a thing without storage."""

    __slots__ = ("const", "kind", "refs")

    def __init__(self, refs: tuple[Ref, ...] = (), kind: str = "unknown", const: object = None) -> None:
        self.refs = refs
        self.kind = kind  # where refs is empty: number str none slice unknown unbound
        self.const = const

    @property
    def obj(self) -> Obj | None:
        """The one object it must be, or None."""
        refs = self.refs
        if len(refs) == 1:
            return refs[0].obj
        if refs and all(ref.obj is refs[0].obj for ref in refs):
            return refs[0].obj
        return None

    def mixed_with(self, ref: Ref) -> bool:
        """Whether, besides this one, it may be a storage that nobody else holds, or anything at all.

        What a loop replaces (the value bound before it) is no such alternative.
        """
        for other in self.refs:
            if other.obj is ref.obj:
                continue
            if other.obj.owner in ("fresh", "unknown") and (
                other.place is None or ref.place is None or other.place.loop == ref.place.loop
            ):
                return True
            # One binding of several things that no test tells apart: an item of a list.
            if other.place is ref.place and not exclusive(other.arms, ref.arms):
                return True
        return False

    def __iter__(self) -> Iterator[Ref]:
        return iter(self.refs)

    def __repr__(self) -> str:
        return f"{self.kind}{list(self.refs)}"


UNKNOWN = Value()
NUMBER = Value(kind="number")
STRING = Value(kind="str")
NONE = Value(kind="none")
NO_LAYERS = ("layers", list[Value]())  # of a Sequential that is empty: it gives back what it is given
SLICE = Value(kind="slice")


def join_values(one: Value, other: Value) -> Value:
    """Either of the two; the same binding on both sides stays one alternative."""
    if one is other:
        return one
    if not one.refs:
        if one.kind == other.kind and one.const != other.const and one.const is not None:
            return other if other.const is None and not other.refs else Value(kind=one.kind)
        return other if other.refs or one.kind == "none" else (one if other.kind in ("none", one.kind) else UNKNOWN)
    if not other.refs:
        return one
    refs = list(one.refs)
    for ref in other.refs:
        for position, mine in enumerate(refs):
            if mine is ref:
                break
            if mine.obj is ref.obj and mine.place is ref.place and mine.chain == ref.chain:
                if mine.arms != ref.arms:
                    refs[position] = mine.on(meet(mine.arms, ref.arms))
                break
        else:
            refs.append(ref)
    return Value(tuple(refs[:MAX_ALTERNATIVES]))


def exclusive(one: frozenset[Arm], other: frozenset[Arm]) -> bool:
    """Whether the two lie on different arms of one `if`, so that no run passes both."""
    if not one or not other:
        return False
    if len(one) > len(other):
        one, other = other, one
    return not other.isdisjoint(map(_OTHER, one))


_OTHER = attrgetter("other")


def common_prefix(one: Chain, other: Chain) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine is not theirs:
            break
        count += 1
    return count


_LINK_ORDER = (SNAPSHOT, MAYBE, NUMPY, DETACH, VIEW, ALIAS)


def same_derivation(one: Ref, other: Ref) -> bool:
    """False for two alternatives of one binding, of which a run has one: where one reference was derived from the
    other's binding, it has to continue that very derivation."""
    mine, theirs = one.chain[: one.held], other.chain[: other.held]
    shared = common_prefix(mine, theirs)
    if one.place in other.via:
        return shared == len(mine)
    if other.place in one.via:
        return shared == len(theirs)
    return True


def link_between(one: Chain, other: Chain) -> str:
    """The kind of sharing that connects two references, of which the common part of the derivation is stripped."""
    kinds = {link.kind for link in (*one, *other)}
    for kind in _LINK_ORDER:
        if kind in kinds:
            return kind
    return ALIAS


# ----- slots


def for_all(slot: str) -> bool:
    """Whether a slot stands for all the items of a list."""
    return slot == "[any]" or per_pass(slot)


def per_pass(slot: str) -> bool:
    """Whether a slot is an item met in one pass of one loop."""
    return slot.endswith(")]")
