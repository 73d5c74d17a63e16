"""What a value may come from where it is used: the bindings of names that reach a place, through views and copies.

The order of the statements counts here, which it does not in `Flow`; it costs a look at the blocks around each name.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.nodes import end_of, start_of
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import called_name

_BLOCKS = ("body", "orelse", "finalbody")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
TURNED_ATTRIBUTES = frozenset({"T", "mT", "H", "mH"})
_DATA = frozenset("data grad values indices real imag".split()) | TURNED_ATTRIBUTES
# Operations that give their result the sizes or the strides of what they compute it from.
_COMPUTES_OF_BOTH = frozenset("add sub mul div mm bmm matmul where".split())
_COMPUTES = (
    library.KEEPS_LAYOUT | library.LAYS_IN_ORDER | library.REDUCTIONS | _COMPUTES_OF_BOTH | {"topk", "from_numpy"}
)
_KEEPS_ORDER = _COMPUTES - {"mm", "bmm", "matmul"} | library.RESHAPES | {"unsqueeze", "squeeze", "select", "narrow"}
# Methods of others than tensors whose result is (a part of) what they are called on or given.
_PASSING = library.CONTAINER_METHODS | library.MODULE_SELF
_PUTS = frozenset("append appendleft extend insert update setdefault".split())
MAX_NODES = 400
MAX_DEPTH = 40  # of blocks in blocks


class Binding(NamedTuple):
    """What a statement gives to a name: the value, or what the name gets a part of; None if nobody can tell."""

    at: tuple[int, int]
    value: ast.expr | None


def _place(binding: Binding) -> tuple[int, int]:
    return binding.at


def _within(bound: list[Binding], node: ast.AST) -> list[Binding]:
    """Of the bindings of a name, sorted, those in a statement."""
    first = bisect_left(bound, start_of(node), key=_place)
    return bound[first : bisect_left(bound, end_of(node), first, key=_place)]


def _any_between(positions: list[int], first: int, last: int) -> bool:
    """Whether one of the sorted positions is `first` or behind it, and before `last`."""
    place = bisect_left(positions, first)
    return place < len(positions) and positions[place] < last


class Origins:
    """Where the values of a function come from; `turned` says of what was asked last, whether its axes may have been
    exchanged."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self._bound: dict[str, list[Binding]] = {}
        found = sketch.function.found
        for assign in found.get(ast.Assign, ()):
            for target in assign.targets:
                self._bind(target, assign.value, assign)
        for kind in (ast.AnnAssign, ast.AugAssign, ast.NamedExpr):
            for node in found.get(kind, ()):
                if node.value is not None:
                    self._bind(node.target, node.value, node)
        for loop in (ast.For, ast.AsyncFor):
            for node in found.get(loop, ()):
                self._bind(node.target, node.iter, node)
        for part in found.get(ast.comprehension, ()):
            self._bind(part.target, part.iter, part.target)
        for item in found.get(ast.withitem, ()):
            if item.optional_vars is not None:
                self._bind(item.optional_vars, item.context_expr, item.context_expr)
        self._put: dict[str, list[ast.expr | None]] = {}
        for call in sketch.calls_of(_PUTS):
            if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                given = [*call.args, *(one.value for one in call.keywords)]
                self._put.setdefault(call.func.value.id, []).extend(given)
        for assign in found.get(ast.Assign, ()):
            for target in assign.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    self._put.setdefault(target.value.id, []).append(assign.value)
        self._inner = [(start_of(one), end_of(one)) for one in sketch.function.inner]
        self._body = sketch.function.node.body
        self.turned = False
        self._statements: dict[int, tuple[list[tuple[int, int]], list[int]]] = {}
        for bindings in self._bound.values():
            bindings.sort(key=_place)
        self._reaching: dict[tuple[str, tuple[int, int]], list[ast.expr | None]] = {}

    def _bind(self, target: ast.expr, value: ast.expr, at: ast.AST) -> None:
        match target:
            case ast.Name(id=name):
                self._bound.setdefault(name, []).append(Binding(start_of(at), value))
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(targets)
                for place, one in enumerate(targets):
                    self._bind(one, value.elts[place] if same else value, at)  # type: ignore[attr-defined]
            case ast.Starred(value=inner):
                self._bind(inner, value, at)

    # ----- names

    def reaching(self, name: ast.Name) -> list[ast.expr | None]:
        """What a name may stand for, there; None is what came from outside, or what cannot be told."""
        place = start_of(name)
        mark = (name.id, place)
        known = self._reaching.get(mark)
        if known is None:
            bound = self._bound.get(name.id)
            if bound is None:
                known = [None]
            elif any(first <= place < last for first, last in self._inner):
                known = [*(one.value for one in bound), None]
            else:
                known = []
                if not self._before(self._body, place, bound, known, 0):
                    known.append(None)
            self._reaching[mark] = known
        return known

    def _before(
        self, body: list[Any], place: tuple[int, int], bound: list[Binding], known: list[ast.expr | None], deep: int
    ) -> bool:
        """Collect the bindings that reach a place in a block; whether none from before the block can."""
        if deep > MAX_DEPTH:
            known += [one.value for one in bound]
            return False
        starts, matches = self._of_block(body)
        index = max(bisect_right(starts, place) - 1, 0)
        here = body[index]
        for block in _blocks(here):
            if block and start_of(block[0]) <= place < end_of(block[-1]):
                if self._before(block, place, bound, known, deep + 1):
                    return True
                break
        # What a pass of a loop binds reaches the next one; what an expression binds, the rest of it.
        inside = _within(bound, here)
        if isinstance(here, ast.If):
            known += [one.value for one in inside if one.at < end_of(here.test)]
        elif isinstance(here, _LOOPS):
            known += [one.value for one in inside]
        elif isinstance(here, (ast.Try, ast.Match)):
            known += [None, *(one.value for one in inside if one.at <= place)]
        else:
            known += [one.value for one in inside if one.at <= place and one.at != start_of(here)]
        # Only the statements before it that bind the name are looked at, the last one first.
        left = bisect_left(bound, start_of(here), key=_place)
        while left and bound[left - 1].at >= starts[0]:
            before = bisect_right(starts, bound[left - 1].at, 0, index) - 1
            if _any_between(matches, before, index):
                known.append(None)
            index, node = before, body[before]
            inside = _within(bound, node)
            known += [one.value for one in inside]
            if inside and _binds(node, inside, 0):
                return True
            left = bisect_left(bound, starts[before], key=_place)
        if _any_between(matches, 0, index):
            known.append(None)
        return False

    def _of_block(self, body: list[Any]) -> tuple[list[tuple[int, int]], list[int]]:
        """Where the statements of a block start, and which of them are `match`, whose patterns bind names too."""
        known = self._statements.get(id(body))
        if known is None:
            matches = [position for position, node in enumerate(body) if isinstance(node, ast.Match)]
            known = self._statements[id(body)] = ([start_of(node) for node in body], matches)
        return known

    # ----- values

    def of(self, node: ast.expr) -> set[object]:
        """The calls that may have made what a value is, or is a view, copy or part of; the names of arguments, and the
        attributes, that it may be."""
        found: set[object] = set()
        self.turned = False
        pending: list[ast.expr | None] = [node]
        seen: set[int] = set()
        while pending:
            one = pending.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            if len(seen) > MAX_NODES:
                found.add("")
                return found
            pending += self._on(one, found)
        return found

    def reaches(self, node: ast.expr, makes: Callable[[ast.AST], bool], ends: frozenset[str] = frozenset()) -> bool:
        """Whether a value may be, or come from, one of the expressions of which `makes` says so; what a call of one of
        the names `ends` gives comes from nowhere."""
        pending: list[ast.expr | None] = [node]
        seen: set[int] = set()
        while pending:
            one = pending.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            if makes(one) or len(seen) > MAX_NODES:
                return True
            if not isinstance(one, ast.Call) or called_name(one) not in ends:
                pending += self._on(one, set())
        return False

    def _on(self, node: ast.expr, found: set[object]) -> list[ast.expr | None]:
        """The expressions that one may be, or be made of."""
        match node:
            case ast.Name(id=name):
                values = self.reaching(node)
                if None in values:
                    found.add(name)
                return [*values, *self._put.get(name, ())]
            case ast.Attribute(value=inner, attr=attr):
                if attr in _DATA:
                    self.turned |= attr in TURNED_ATTRIBUTES
                    return [inner]
                if self.sketch.survey.names.qualify(node) is not None:
                    return []
                found.add("." + attr)
                stored = self.sketch.function.found.get(ast.Assign, ())
                values = [one.value for one in stored for target in one.targets if getattr(target, "attr", "") == attr]
                return values if getattr(inner, "id", "") == "self" else [inner, *values]
            case ast.Call():
                found.add(node)
                through = self._through(node)
                if through and called_name(node) not in _KEEPS_ORDER:
                    self.turned = True
                return through
            case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.Await(value=inner):
                return [inner]
            case ast.NamedExpr(value=inner) | ast.UnaryOp(operand=inner) | ast.DictComp(value=inner):
                return [inner]
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
                self.turned |= isinstance(getattr(node, "op", None), ast.MatMult)
                return [one, other]
            case ast.Compare(left=left, comparators=others):
                return [left, *others]
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
                return list(parts)
            case ast.ListComp(elt=inner, generators=parts) | ast.GeneratorExp(elt=inner, generators=parts):
                return [inner, *(one.iter for one in parts)]
        return []

    def _through(self, node: ast.Call) -> list[ast.expr | None]:
        """What a call may give back, or compute its result of element by element."""
        func = node.func
        name = called_name(node)
        given: list[ast.expr | None] = [*node.args, *(one.value for one in node.keywords)]
        whole = self.sketch.survey.names.qualify(func)
        if whole is not None and name not in self.sketch.callees:
            op = ops.function(whole)
            passes = name in _COMPUTES or (op.result != "fresh" if op is not None else whole[:6] != "torch.")
            return given if passes else []
        if isinstance(func, ast.Attribute):
            op = ops.method(name)
            if op is not None and op.form == "method" and name not in self.sketch.callees:
                if name in _COMPUTES_OF_BOTH:
                    return [func.value, *given]
                return [func.value] if op.result != "fresh" or name in _COMPUTES else []
            if name in self.sketch.callees or name in _PASSING:
                return [func.value, *given]
            return given if self.sketch.file.made_of(name) else []
        if not isinstance(func, ast.Name):
            return [*given, func]
        if name in self.sketch.given and name not in self.sketch.annotated and name not in self._bound:
            return []  # an argument: nobody knows what it does
        return given


def _binds(node: ast.AST, bound: list[Binding], deep: int) -> bool:
    """Whether a statement gives a new value to a name on every way through it."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return any(one.at == start_of(node) for one in bound)
    if deep > MAX_DEPTH:
        return False
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return any(_binds(one, bound, deep + 1) for one in node.body)
    if isinstance(node, ast.If) and node.orelse:
        return all(
            isinstance(arm[-1], _LEAVES) or any(_binds(one, bound, deep + 1) for one in arm)
            for arm in (node.body, node.orelse)
        )
    return False


def _blocks(node: ast.AST) -> list[list[Any]]:
    found = [block for name in _BLOCKS if isinstance(block := getattr(node, name, None), list)]
    found += [one.body for one in getattr(node, "handlers", ())]
    return found + [one.body for one in getattr(node, "cases", ())]
