"""Which part of a tensor a view names, and whether two parts surely share an element.

"Surely" takes for granted that slices are not empty and that indices exist: the program would be pointless, or fail.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    MAYBE,
    NUMPY,
    UNSURE,
    VIEW,
    Chain,
    Link,
    Ref,
    Value,
    common_prefix,
)

_INTEGER = re.compile(r"-?\d+")
_LIST = re.compile(r"\[-?\d+(, -?\d+)*\]")
_SLICE = re.compile(r"(-?\d+)?:(-?\d+)?:?")
_PIECE = re.compile(r"piece (\d+) of (\d+):")
_FLATTENING = frozenset({"reshape", "flatten", "ravel", "rearrange"})
_WHOLE = ("[:]", "[...]")
_EVERYTHING = (":", "0:")
MAX_AXES = 6  # that are told apart


class Index(NamedTuple):
    """The part that an index names: the text of each item, with the bindings of its names.

    Views that are indices under another name are written as one: `narrow(0, 1, 2)` as `1:3`, `select(1, 0)` as `:, 0`.
    """

    items: tuple[str, ...]

    @property
    def slices_only(self) -> bool:
        """Whether every dimension is kept."""
        return all(":" in item for item in self.items)


class Row(NamedTuple):
    """The row that one pass of a loop (or comprehension) over a tensor meets."""

    node: ast.AST
    loop: tuple[int, ...]


class AllRows(NamedTuple):
    """Every row, one after the other: together they are the whole."""

    node: ast.AST


class Range(NamedTuple):
    """The indices along one dimension: from `start`, to before `stop`; None is the end.  Negative: from the end."""

    start: int | None  # None: not known
    stop: int | None
    open: bool  # `stop` is not known

    @property
    def surely(self) -> tuple[int, ...]:
        """Indices that are in it for certain."""
        first = () if self.start is None else (self.start,)
        if self.open:
            return first
        return (*first, -1 if self.stop is None else self.stop - 1) if self.stop is None or self.stop < 0 else first

    def has(self, index: int) -> bool:
        """Whether an index that exists is in it for certain."""
        if index in self.surely:
            return True
        if self.start is None or self.open or (self.start < 0) != (index < 0) or index < self.start:
            return False
        return self.stop is None or ((self.stop < 0) == (index < 0) and index < self.stop)


class Chosen(NamedTuple):
    """The indices that a list names."""

    surely: tuple[int, ...]

    def has(self, index: int) -> bool:
        return index in self.surely


@lru_cache(maxsize=4096)
def literal(node: ast.expr) -> int | None:
    """An integer that is written out."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def keeps_dimension(item: ast.expr) -> bool:
    """Whether an item of an index drops no dimension."""
    return isinstance(item, ast.Slice) or (isinstance(item, ast.Constant) and item.value in (None, ...))


def _range(item: str) -> Range | Chosen | None:
    """What an item of an index means, if it is written in numbers."""
    if _INTEGER.fullmatch(item):
        index = int(item)
        return Range(index, None if index == -1 else index + 1, False)
    if (found := _SLICE.fullmatch(item)) is not None:
        start, stop = found.groups()
        return Range(int(start or 0), None if stop is None else int(stop), False)
    if (found := _PIECE.fullmatch(item)) is not None:
        piece, count = int(found[1]), int(found[2])
        return Range(0 if piece == 0 else None, None, piece != count - 1)
    if _LIST.fullmatch(item):
        return Chosen(tuple(int(one) for one in item[1:-1].split(",")))
    return None


def literal_list(item: str) -> bool:
    """Whether an index is a list of numbers."""
    return _LIST.fullmatch(item) is not None


Cut = tuple[str, ...]  # one after the other along a dimension: `x[1:][0]` is ("1:", "0")


def _shortened(cut: Cut) -> Cut:
    """The same indices in one step, where the numbers tell."""
    while len(cut) > 1:
        outer, inner = _range(cut[0]), _range(cut[1])
        if isinstance(outer, Range) and isinstance(inner, Chosen) and min(outer.start or -1, *inner.surely) >= 0:
            step = str([outer.start + index for index in inner.surely if outer.start is not None])
            cut = (step, *cut[2:])
            continue
        if (
            not isinstance(outer, Range)
            or not isinstance(inner, Range)
            or ":" not in cut[0]
            or outer.open
            or inner.open
        ):
            break
        if outer.start is None or outer.start < 0 or inner.start is None or inner.start < 0:
            break
        start = outer.start + inner.start
        if ":" not in cut[1]:
            step = str(start)
        elif inner.stop is None and outer.stop is None:
            step = f"{start}:"
        elif inner.stop is not None and inner.stop >= 0 and (outer.stop is None or outer.stop >= 0):
            stop = outer.start + inner.stop
            step = f"{start}:{stop if outer.stop is None else min(stop, outer.stop)}"
        elif inner.stop is None and outer.stop is not None and outer.stop >= 0:
            step = f"{start}:{outer.stop}"
        else:
            break
        cut = (step, *cut[2:])
    return cut


def _meet(one: Cut, other: Cut) -> bool:
    if one == other[: len(one)] or other == one[: len(other)]:
        return True
    if len(one) > 1 or len(other) > 1:
        return False
    mine, theirs = _range(one[0]), _range(other[0])
    if mine is None or theirs is None:
        return False
    return any(theirs.has(index) for index in mine.surely) or any(mine.has(index) for index in theirs.surely)


def _covers(one: Cut, other: Cut) -> bool:
    """Whether all that `other` names is in `one`."""
    if one == other[: len(one)]:
        return True
    mine = _range(one[0])
    return mine is not None and len(one) == 1 and _INTEGER.fullmatch(other[0]) is not None and mine.has(int(other[0]))


@dataclass(slots=True)
class _Box:
    """The elements of a storage that a view has: along each dimension of the base what is cut out of it."""

    cuts: dict[int, Cut] = field(default_factory=dict)
    # Which dimension each of the view's is; -1: new.
    axes: list[int] = field(default_factory=lambda: list(range(MAX_AXES)))
    inside: bool = False  # further elements are left out, unknown which
    shaped: bool = False  # the shape is another one: an index means something else
    origin: bool = True  # the very first element is in it
    others: tuple[object, ...] = ()  # parts that are no index

    def follow(self, link: Link) -> None:
        """Take one more step of the derivation."""
        match link.key:
            case None:
                self._reshape(link)
            case AllRows():
                self._index(
                    ":all",
                )
            case Row():
                self._index(f"row {id(link.key.node)} {link.key.loop}")
            case Index(items=items):
                self._indices(items)
            case _:
                self._other(link.key)

    def _other(self, key: object) -> None:
        self.origin = self.origin and key == ("diagonal", (), ())
        self.others = (*self.others, key)
        self.inside = self.shaped = True

    def _indices(self, items: tuple[str, ...]) -> None:
        self.origin = self.origin and all(
            item == "None" or ((known := _range(item)) is not None and 0 in known.surely) for item in items
        )
        if all(item in _EVERYTHING for item in items):
            return
        if self.shaped or "..." in items or len(items) > len(self.axes):
            self.inside = self.shaped = True
            self.others = (*self.others, items)
            return
        position = 0
        for item in items:
            if item == "None":
                self.axes.insert(position, -1)
                position += 1
            elif ":" in item or literal_list(item):
                self._cut(self.axes[position], item)
                position += 1
            else:
                self._cut(self.axes.pop(position), item)

    def _cut(self, axis: int, item: str) -> None:
        if axis >= 0 and item not in (*_EVERYTHING, ":all"):
            self.cuts[axis] = _shortened((*self.cuts.get(axis, ()), item))

    def _index(self, item: str) -> None:
        """An index of unknown number along the first dimension."""
        self.origin = self.origin and item == ":all"
        if self.shaped:
            self.inside = self.inside or item != ":all"
            return
        self._cut(self.axes.pop(0), item)

    def _reshape(self, link: Link) -> None:
        if self.shaped or _keeps_shape(link):
            return
        if turns(link):
            self.axes[0], self.axes[1] = self.axes[1], self.axes[0]
        elif link.op in ("unsqueeze", "squeeze") and _only_zero(link):
            if link.op == "unsqueeze":
                self.axes.insert(0, -1)
            elif self.axes[0] == -1:
                self.axes.pop(0)
            else:
                self.shaped = True
        elif link.op == "[None]":
            self.axes.insert(0, -1)
        else:
            self.shaped = True


def must_overlap(one: Chain, other: Chain) -> bool:
    """Whether two references to one storage surely share an element (parts with different keys may not)."""
    start = common_prefix(one, other)
    one, other = one[start:], other[start:]
    if any(link.kind == UNSURE for link in (*one, *other)):
        return False
    if all(link.key is None for link in one) or all(link.key is None for link in other):
        return True  # one is the whole, in whatever shape
    if len(one) == len(other) == 1 and (met := _plain_indices(one[0].key, other[0].key)) is not None:
        return met
    mine, theirs = _Box(), _Box()
    for box, chain in ((mine, one), (theirs, other)):
        for link in chain:
            box.follow(link)
    if mine.origin and theirs.origin:
        return True
    if mine.inside and theirs.inside:
        return mine.others == theirs.others and mine.cuts == theirs.cuts
    if mine.inside or theirs.inside:
        outer, inner = (theirs, mine) if mine.inside else (mine, theirs)
        return all(axis in inner.cuts and _covers(cut, inner.cuts[axis]) for axis, cut in outer.cuts.items())
    return all(_meet(cut, theirs.cuts[axis]) for axis, cut in mine.cuts.items() if axis in theirs.cuts)


def _plain_indices(one: object, other: object) -> bool | None:
    """Whether two parts taken by one whole number each are the same; None where either is taken otherwise."""
    if isinstance(one, Index) and isinstance(other, Index) and len(one.items) == len(other.items) == 1:
        if one.items[0].isdecimal() and other.items[0].isdecimal():
            return int(one.items[0]) == int(other.items[0])
    return None


def mixed(value: Value, ref: Ref) -> bool:
    """Whether what is done to a value may leave the memory of one of its references alone: another alternative is a
    storage of its own, another part, or perhaps a copy."""
    if value.mixed_with(ref):
        return True
    for other in value.refs:
        if other.obj is not ref.obj:
            for link in other.chain:
                if link.kind == MAYBE:
                    return True
    for other in beside(value, ref):
        if perhaps_apart(other.chain, ref.chain) or not must_overlap(other.chain, ref.chain):
            return True
    return False


def beside(value: Value, ref: Ref) -> tuple[Ref, ...]:
    """The other alternatives of a value that are of the same storage; what a loop replaces is none."""
    return tuple(
        other
        for other in value.refs
        if other is not ref
        and other.obj is ref.obj
        and (other.place is None or ref.place is None or other.place.loop == ref.place.loop)
    )


def perhaps_apart(one: Chain, other: Chain) -> bool:
    """Whether a copy may lie between the two."""
    start = common_prefix(one, other)
    return any(link.kind == MAYBE for link in (*one[start:], *other[start:]))


def all_passes(chain: Chain, loop: tuple[int, ...], iterating: list[ast.AST], held: Chain) -> Chain:
    """The derivation of a write in `loop`, as it looks from inside these to who holds a part: a loop that is over has
    written every row, but the row of one pass no more in a later one."""
    for link in chain:
        if isinstance(link.key, Row):
            break
    else:
        return chain
    met = {(link.key.node, link.key.loop[:-1]) for link in held if isinstance(link.key, Row)}
    over = [
        isinstance(link.key, Row)
        and link.key.node not in iterating
        and len(link.key.loop) <= len(loop)
        and (link.key.node, link.key.loop[:-1]) not in met
        for link in chain
    ]
    if not any(over):
        return chain
    return tuple(
        Link(link.kind, link.op, link.node, AllRows(link.node)) if done else link
        for link, done in zip(chain, over, strict=True)
    )


def _keeps_shape(link: Link) -> bool:
    """Whether an index means the same before and after this step."""
    if link.kind == MAYBE:
        return link.op not in _FLATTENING
    return link.kind in (ALIAS, DETACH, NUMPY) or link.op in _WHOLE or link.op in ("Parameter", "copy.copy")


def turns(link: Link) -> bool:
    """`t()`, `T`, `transpose(0, 1)`, `permute(1, 0)`."""
    if link.op in ("t", "T"):
        return True
    if link.op not in ("transpose", "swapaxes", "swapdims", "permute") or not isinstance(link.node, ast.Call):
        return False
    args = [item.value for item in link.node.args if isinstance(item, ast.Constant)]
    return sorted(args, key=str) == [0, 1] and (link.op != "permute" or args == [1, 0])


def _only_zero(link: Link) -> bool:
    """The call names the first dimension."""
    args = link.node.args[-1:] if isinstance(link.node, ast.Call) else []
    return len(args) == 1 and isinstance(args[0], ast.Constant) and args[0].value == 0


_PACKS = frozenset({"contiguous", "reshape", "flatten", "ravel"})


def packed_apart(chain: tuple[Link, ...]) -> Link | None:
    """The step that copies since what it is given lies apart in memory: `x[:, 2:6].contiguous()`.

    A single row, which it would not copy, has to be written as one.
    """
    apart = False
    for link in chain:
        node = link.inner or link.node
        if link.kind == MAYBE and link.op in _PACKS:
            if apart and isinstance(node, ast.Call) and _in_one_piece(node, link.op):
                return link
            apart = False
        elif link.kind == VIEW and isinstance(node, ast.Subscript):
            apart = _apart(node.slice, apart)
        elif link.kind == VIEW and link.op in ("iteration", "unpacking", "select", "unbind"):
            apart = False
    return None


def _in_one_piece(node: ast.Call, op: str) -> bool:
    """Whether a call lays all elements one after the other."""
    function = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "torch"
    sizes = [literal(item) for item in node.args[function:]]
    return not node.keywords and (op == "contiguous" or sizes in ([], [-1]))


def _from_first(lower: ast.expr | None) -> bool:
    return lower is None or literal(lower) == 0


def _apart(index: ast.expr, apart: bool) -> bool:
    """Whether the rows of a part lie apart: something behind an axis of several is dropped."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    rows = False
    for place, item in enumerate(items):
        match item:
            case ast.Constant(value=None):
                continue
            case ast.Constant(value=v) if v is ...:
                rows = True
            case ast.Slice(lower=lower, upper=None, step=None) if _from_first(lower):
                rows = True
            case ast.Slice(lower=lower, upper=ast.Constant(), step=None) if rows and _from_first(lower):
                continue  # `x[:, :4]` may be all of it
            case ast.Slice(lower=lower, upper=upper, step=None) if not rows:
                first = literal(lower) if lower is not None else 0
                last = literal(upper) if upper is not None else 0 if first == -1 else None
                rows = first is None or last is None or last - first != 1
                apart = apart and rows
            case _:
                if rows:
                    return True
                apart = apart and place > 0
    return apart
