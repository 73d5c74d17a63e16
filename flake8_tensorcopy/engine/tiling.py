"""Repeating the elements and repeating the whole, of things that belong together."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.axes import ONE, Of, Size, axis_of
from flake8_tensorcopy.engine.facts import MixedRepeats
from flake8_tensorcopy.engine.layouts import layout_of, literals, size_of
from flake8_tensorcopy.engine.nodes import end_of, start_of, walk
from flake8_tensorcopy.engine.parts import literal
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import Obj, Ref

MAX_PAIRS = 400  # of calls in one function

REPEATS = frozenset({"repeat", "tile", "repeat_interleave"})


# An expression that takes several operands: where it stands, and what each of them names.
Uses = tuple[tuple[int, int], list[set[str]]]


class Tiling(NamedTuple):
    """One call: what it repeats, how often, along which axis, and how a message calls it."""

    node: ast.Call
    stmt: ast.stmt | None
    each: bool  # each element, not the whole
    obj: Obj
    array: bool
    shown: str
    name: str
    times: Size
    axis: int | None
    counts: bool  # what is repeated counts: `torch.arange(n)`, `0.5 * np.arange(n)`
    elements: Size | None = None  # along that axis, before they are repeated

    @property
    def what(self) -> tuple[Obj, bool, Size, int | None]:
        """What is repeated, as an array or a tensor, and how often, whichever way."""
        return self.obj, self.array, self.times, self.axis


def note_repeat(run: Run, node: ast.Call, ref: Ref, name: str, args: Args, first: int, array: bool) -> None:
    """A call of `repeat`, `tile` or `repeat_interleave` by a known number along one axis."""
    each = name == "repeat_interleave" or (name == "repeat" and array)
    nodes = args.nodes[first:]
    found = _each(run, nodes, args) if each else _whole(run, nodes, args)
    if found is None:
        return
    count, axis = found
    if any(isinstance(symbol, Of) for symbol, _ in count.symbols) or count == ONE:
        return  # as often as something has elements: each of one with each of the other
    receiver = node.args[0] if first else node.func.value if isinstance(node.func, ast.Attribute) else node
    shown = f"np.{name}" if array and first else name
    counts, elements = _counts(run, receiver), _elements(run, ref, axis)
    run.tilings.append(
        Tiling(node, run.stmt, each, ref.obj, array, run.short(receiver), shown, count, axis, counts, elements)
    )


def _counts(run: Run, node: ast.expr) -> bool:
    """Whether an expression counts up, or scales and shifts what does."""
    called = (part.func for part in walk(node) if isinstance(part, ast.Call))
    return any((run.names.qualify(func) or "").rpartition(".")[2] in _COUNTING for func in called)


_COUNTING = frozenset({"arange", "linspace", "range"})


def _elements(run: Run, ref: Ref, axis: int | None) -> Size | None:
    layout = layout_of(run, ref)
    found = axis_of(layout, axis or 0) if layout is not None else None
    if found is None:
        return None
    one = found[0].axes[found[1]]
    return one.size if one.sure and one.more is None else None


def _each(run: Run, nodes: list[ast.expr], args: Args) -> tuple[Size, int | None] | None:
    keywords = args.keywords
    times = nodes[0] if nodes else keywords["repeats"][0] if "repeats" in keywords else None
    axis = nodes[1] if len(nodes) > 1 else next((keywords[k][0] for k in ("dim", "axis") if k in keywords), None)
    if times is None or isinstance(times, (ast.List, ast.Tuple)) or args.spread:
        return None
    count = size_of(run, times)
    place = literal(axis) if axis is not None else 0
    return (count, place) if count is not None and place is not None else None


def _whole(run: Run, nodes: list[ast.expr], args: Args) -> tuple[Size, int] | None:
    if args.spread or args.keywords:
        return None
    if len(nodes) == 1 and isinstance(nodes[0], (ast.Tuple, ast.List)):
        nodes = nodes[0].elts
    counts = [size_of(run, item) for item in nodes]
    more = [(count, place) for place, count in enumerate(counts) if count is not None and count != ONE]
    if literals(nodes) is not None and any((value or 1) < 1 for value in literals(nodes) or []):
        return None
    return more[0] if len(more) == 1 and None not in counts else None


def mixed_repeats(run: Run) -> None:
    """Calls whose results are used together, of which one repeats the elements and the other the whole."""
    whole = {id(one.node): one for one in run.tilings if not one.each}
    each = {id(one.node): one for one in run.tilings if one.each}
    if len(whole) * len(each) > MAX_PAIRS:
        return
    both_ways = {one.what for one in whole.values()} & {one.what for one in each.values()}
    uses: list[Uses] = []
    for one in whole.values():
        for other in each.values():
            if one.times != other.times or one.axis != other.axis:
                continue
            if one.obj is other.obj and one.array == other.array:
                continue  # each of one with each of the same: every pair
            if one.counts and other.counts:
                continue  # rows and columns of a grid
            if one.times in (one.elements, other.elements):
                continue  # each of one with each of the other, which there are as many of
            if one.what in both_ways and other.what in both_ways:
                continue  # each has its own counterpart
            if _together(run, one, other, uses):
                run.fact(
                    MixedRepeats(
                        site=one.node,
                        tiled=one.shown,
                        interleaved=other.shown,
                        other=other.node,
                        tiles=one.name,
                        interleaves=other.name,
                    )
                )
                break


def _together(run: Run, one: Tiling, other: Tiling, uses: list[Uses]) -> bool:
    """Both stand in one statement, or one statement names both results."""
    if one.stmt is other.stmt:
        return True
    mine, theirs = _bound(run, one), _bound(run, other)
    if (mine is None and theirs is None) or mine == theirs:
        return False
    if mine is not None and theirs is not None and _owner(mine) is not None and _owner(mine) == _owner(theirs):
        return True  # both are kept in one place
    if not uses:
        uses += _uses(run)
    after = max(end_of(call.node) for call, name in ((one, mine), (other, theirs)) if name is not None)
    mine, theirs = mine or _mark(one.node), theirs or _mark(other.node)
    return any(
        mine in left and theirs in right
        for place, named in uses
        if place > after
        for left in named
        for right in named
        if left is not right
    )


def _uses(run: Run) -> Iterator[Uses]:
    """The expressions that take several operands, each with what its operands name."""
    calls: set[ast.AST] = {one.node for one in run.tilings}
    for statement in run.function.node.body:
        for node in walk(statement):
            if not isinstance(node, (ast.Tuple, ast.List, ast.Dict, ast.Call, ast.BinOp, ast.Compare)):
                continue
            if not isinstance(getattr(node, "ctx", None), ast.Store):
                yield start_of(node), [_named_in(run, item, calls) for item in _operands(node)]


def _named_in(run: Run, node: ast.expr, calls: set[ast.AST]) -> set[str]:
    """The names and attributes that an expression is made of, and marks of these calls."""
    inner = list(walk(node))
    named = {run.text(item) for item in inner if isinstance(item, (ast.Name, ast.Attribute, ast.Subscript))}
    return named | {_mark(item) for item in inner if item in calls}


def _mark(node: ast.AST) -> str:
    """What stands for a call that is an operand itself."""
    return f"<{id(node)}>"


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return items
        case ast.Dict(values=items):
            return items
        case ast.Call(args=items, keywords=keywords):
            return [*items, *(keyword.value for keyword in keywords)]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Compare(left=left, comparators=rest):
            return [left, *rest]
    return []


def _bound(run: Run, one: Tiling) -> str | None:
    """What the result is bound to."""
    match one.stmt:
        case ast.Assign(targets=[target], value=value) if _converted(run, value, one.node):
            return run.text(target)
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _converted(run, value, one.node):
            return run.text(target)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            return next((run.text(t) for t, v in zip(targets, values, strict=False) if v is one.node), None)
    return None


def _converted(run: Run, node: ast.expr, inner: ast.Call) -> bool:
    """Whether it is that call, or a conversion of its result: to a tensor, a dtype or a device."""
    while node is not inner:
        match node:
            case ast.Call(func=func, args=[given, *_]) if run.names.qualify(func) in _TO_TENSOR:
                node = given
            case ast.Call(func=ast.Attribute(value=base, attr=name)) if name in _CONVERSIONS:
                node = base
            case _:
                return False
    return True


_TO_TENSOR = frozenset({"torch.from_numpy", "torch.as_tensor", "torch.tensor"})
_CONVERSIONS = frozenset("to cuda cpu float double half long int bool astype clone detach contiguous copy".split())


def _owner(text: str) -> str | None:
    """`self` of `self.x`, `batch` of `batch["x"]`."""
    for mark in (".", "["):
        if mark in text:
            return text.split(mark, 1)[0]
    return None
