"""Sizes that a call of `view` or `reshape` is given, and whether they may be those of the tensor in another order."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.exact import is_exact, quotient
from flake8_tensorcopy.engine.library import MAKERS, RESHAPES
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import called_name

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.exact import Exact

VIEWS = frozenset({"view", "reshape"})
_SIZED = MAKERS | RESHAPES
MAX_PAIRS = 400  # of calls with sizes: to run a function costs less than to go through more

# What a size may be: of an axis, a product or quotient, a number, or a name for something else.
_AXIS, _PRODUCT, NUMBER, _OTHER = range(4)
Factors = frozenset[tuple[object, int]]

_ONE: Factors = frozenset()


class _Axis(NamedTuple):
    """A factor that is the size of an axis: by what expression, and by what name."""

    whole: ast.expr
    name: str


def scrambled_axes(sketch: Sketch) -> bool:
    """Sizes that may be those of the tensor in another order: each is a size of the tensor by what gave it its shape,
    or by what asked for the shape of it, and something exchanges them."""
    told = Sizes(sketch)
    if any(told.move_axis(call, sizes_of(sketch, call)) for call in sketch.calls_of(VIEWS)):
        return True
    calls = [(call, sizes) for call in sketch.calls_of(VIEWS) if (sizes := _may_permute(sketch, call)) is not None]
    calls = [(call, sizes) for call, sizes in calls if told.known(sizes)]
    if not calls:
        return False
    sized = [(other, sizes_of(sketch, other)) for other in sketch.calls_of(_SIZED)]
    every = [(other, sizes) for other, sizes in sized if sizes and told.known(sizes)]
    if len(calls) * len(every) > MAX_PAIRS:
        return True
    calls = [
        (call, sizes)
        for call, sizes in calls
        if told.explain(sizes, [given for other, given in every if other is not call or sketch.loops])
    ]
    if not calls:
        return False
    origins = sketch.from_where
    for call, sizes in calls:
        found = origins.of(base_of(sketch, call))
        if "" in found:
            return True
        turned = origins.turned
        sources = [given for other, given in every if other in found]
        for one in sources:
            if told.gives(one, sizes, sources) and (turned or told.turned or not told.in_order_of(one, sizes)):
                return True
        owners = told.owners(sizes)
        if owners is not None and all(told.asked_of(owner, found) for owner in owners):
            if turned or told.turned or not told.in_order(sizes):
                return True
    return False


class Sizes:
    """What the names of a function may be, as sizes."""

    def __init__(self, sketch: Sketch) -> None:
        self._sketch = sketch
        self._of_names: dict[tuple[str, int], set[int]] = {}

    @cached_property
    def turned(self) -> bool:
        """Whether something that has its shape asked for may have had its axes exchanged."""
        nodes = [node.value for node in self._sketch.function.found.get(ast.Attribute, ()) if node.attr == "shape"]
        calls = self._sketch.named.get("size", ())
        nodes += [call.func.value for call in calls if isinstance(call.func, ast.Attribute)]
        origins = self._sketch.from_where
        for node in nodes:
            origins.of(node)
            if origins.turned:
                return True
        return False

    def asked_of(self, node: ast.expr, found: set[object]) -> bool:
        """Whether what has its shape asked for may be one of these."""
        owners = self._sketch.from_where.of(node)
        return "" in owners or not owners.isdisjoint(found)

    def owners(self, sizes: list[ast.expr]) -> list[ast.expr] | None:
        """What has its shape asked for, for each size; nothing if one of them is surely no axis."""
        found = []
        for item in sizes:
            given = item.value if isinstance(item, ast.Starred) else item
            if self.shape(given):
                owner = self._owner_of(given)
            else:
                factors = self.factors(given)
                if factors is None:
                    continue
                match list(factors):
                    case [(_Axis(whole=node), 1)]:
                        owner = self._owner_of(node)
                    case _:
                        return None
            if owner is not None:
                found.append(owner)
        return found

    def _owner_of(self, node: ast.expr) -> ast.expr | None:
        """What a shape, or a size, is asked of."""
        match node:
            case ast.Subscript(value=inner):
                return self._owner_of(inner)
            case ast.Attribute(attr="shape", value=inner) | ast.Call(func=ast.Attribute(attr="size", value=inner)):
                return inner
            case ast.Name():
                values = self._sketch.from_where.reaching(node)
                return self._owner_of(values[0]) if len(values) == 1 and values[0] is not None else None
        return None

    def kinds(self, node: ast.expr, deep: int = 0) -> set[int]:
        """What an expression may be."""
        if deep > 4:
            return {_AXIS, _PRODUCT}
        match node:
            case ast.Name(id=name):
                return self._named(name, deep)
            case ast.Constant() | ast.UnaryOp():
                return {NUMBER}
            case ast.BinOp(op=ast.Mult() | ast.FloorDiv()):
                ops = {type(part.op) for part in walk(node) if isinstance(part, ast.BinOp)}
                return {_PRODUCT, _AXIS} if {ast.Mult, ast.FloorDiv} <= ops else {_PRODUCT}
            case ast.IfExp(body=one, orelse=other):
                return self.kinds(one, deep + 1) | self.kinds(other, deep + 1)
            case ast.Subscript(value=inner, slice=ast.Constant() | ast.UnaryOp()) if self.shape(inner):
                return {_AXIS}
            case ast.Call(func=ast.Attribute(attr="size"), args=[_]):
                return {_AXIS}
            case ast.Call() if called_name(node) in self._sketch.callees:
                return {_AXIS, _PRODUCT}
            case ast.Call(func=ast.Name(id="len")):
                return {_AXIS}
            case ast.Call(func=ast.Name(id="int" | "min" | "max"), args=given):
                return set().union(*(self.kinds(one, deep + 1) for one in given)) or {_OTHER}
        return {_OTHER}

    def _named(self, name: str, deep: int) -> set[int]:
        known = self._of_names.get((name, deep))
        if known is None:
            known = self._of_names[name, deep] = self._kinds_of(name, deep)
        return known

    def _kinds_of(self, name: str, deep: int) -> set[int]:
        kinds: set[int] = set()
        for value, part in self._sketch.bound.get(name, ()):
            if not part:
                kinds |= self.kinds(value, deep + 1)
            elif (self.shape(value) and name not in self._beside_star) or (
                isinstance(value, ast.Call) and called_name(value) in self._sketch.callees
            ):
                kinds.add(_AXIS)
        return kinds or {_OTHER}

    def shape(self, node: ast.expr, deep: int = 0) -> bool:
        """Whether an expression may be the whole shape of something."""
        match node:
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size"), args=[]):
                return True
            case ast.Name(id=name):
                bound = self._sketch.bound.get(name, ())
                return deep > 3 or any(self.shape(value, deep + 1) for value, part in bound if not part)
            case ast.IfExp(body=one, orelse=other):
                return self.shape(one, deep) or self.shape(other, deep)
            case ast.Call():
                return called_name(node) in self._sketch.callees
        return False

    def known(self, sizes: list[ast.expr]) -> bool:
        """Whether it may be known what a call is given: a star stands before a shape, and one name for a shape."""
        if any(isinstance(item, ast.Starred) and not self.shape(item.value) for item in sizes):
            return False
        return not whole(sizes) or self.shape(sizes[0])

    @cached_property
    def _beside_star(self) -> set[str]:
        """Names that are bound to parts of something of which a star takes others."""
        return {
            one.id
            for node in self._sketch.function.found.get(ast.Assign, ())
            for target in node.targets
            if isinstance(target, (ast.Tuple, ast.List)) and any(isinstance(one, ast.Starred) for one in target.elts)
            for one in target.elts
            if isinstance(one, ast.Name)
        }

    def explain(self, sizes: list[ast.expr], sources: list[list[ast.expr]]) -> bool:
        """Whether each size may be one that the given calls were given, or of an axis of what they were not."""
        given = [item for one in sources for item in one]
        if (
            whole(sizes)
            or any(isinstance(item, ast.Starred) for item in given)
            or any(self.shape(one[0]) for one in sources)
        ):
            return True
        names = {part.id for item in given for part in walk(item) if isinstance(part, ast.Name)}
        texts = {ast.dump(item) for item in given} if given else set()
        rest = any(isinstance(item, ast.UnaryOp) or _PRODUCT in self.kinds(item) for item in given)
        seen = set()
        for item in sizes:
            if isinstance(item, ast.Starred):
                return True
            text = ast.dump(item)
            if text in seen:
                return False
            seen.add(text)
            kinds = self.kinds(item)
            if not (
                _AXIS in kinds
                or text in texts
                or (rest and _PRODUCT in kinds)
                or (given and NUMBER in kinds)
                or (isinstance(item, ast.Name) and item.id in names)
            ):
                return False
        return True

    def gives(self, source: list[ast.expr], sizes: list[ast.expr], sources: list[list[ast.expr]]) -> bool:
        """Whether what is made with the sizes of one call may have exactly those of another one."""
        if whole(sizes) or any(isinstance(item, ast.Starred) for item in (*source, *sizes)) or self.shape(source[0]):
            return True
        rest = sum(isinstance(item, ast.UnaryOp) for item in source)  # -1 is one size, whichever it is
        given = [self.factors(item) for item in source if not isinstance(item, ast.UnaryOp)]
        given = [one for one in given if one != _ONE]
        if len(given) + rest < len(sizes):
            return False
        wanted = [self.factors(item) for item in sizes]
        known = [one for one in (*given, *wanted) if one is not None]
        if len({factor.whole for one in known for factor, _ in one if isinstance(factor, _Axis)}) > 1:
            given, wanted = [*map(_any_axis, given)], [*map(_any_axis, wanted)]  # of several, two may be the same
        held = set(given)
        if None in held:
            return True
        missing = [one for one in wanted if one is not None and one not in held]
        if len(missing) > rest:
            return False
        if not missing:
            return True
        # What -1 stands for is divided by the others: they are in what was there before, or in the quotient.
        before = [self.factors(item) for one in sources if one is not source for item in one]
        if None in before:
            return True
        names = {factor for one in (*before, *missing) if one is not None for factor in _plain(one)}
        return all(factor in names for one in held if one is not None for factor in _plain(one))

    def factors(self, node: ast.expr, deep: int = 0) -> Factors | None:
        """The factors of a size and their powers, all axes under one name, and numbers; None is any size."""
        if deep > 8:
            return None
        match node:
            case ast.Constant(value=int(value)):
                return frozenset({(value, 1)}) if value != 1 else _ONE
            case ast.Name(id=name):
                values = self._sketch.from_where.reaching(node)
                if len(values) != 1:
                    return None
                bound = values[0]
                kinds = self._named(name, 0) if bound is not None else {_OTHER}
                if bound is None or kinds == {_OTHER}:
                    return frozenset({(name, 1)})
                if kinds == {_AXIS}:
                    return frozenset({(_Axis(bound, name), 1)})
                return self.factors(bound, deep + 1) if kinds == {_PRODUCT} else None
            case ast.BinOp(left=left, right=right, op=ast.Mult() | ast.FloorDiv() as op):
                one, other = self.factors(left, deep + 1), self.factors(right, deep + 1)
                if one is None or other is None:
                    return None
                return _times(one, other, 1 if isinstance(op, ast.Mult) else -1)
            case ast.Attribute():
                return frozenset({(ast.unparse(node), 1)})
        kinds = self.kinds(node)
        if kinds == {_AXIS}:
            return frozenset({(_Axis(node, ""), 1)})
        return frozenset({(node, 1)}) if kinds == {_OTHER} else None

    def in_order_of(self, source: list[ast.expr], sizes: list[ast.expr]) -> bool:
        """Whether the sizes are some of those of another call, from left to right."""
        texts = [ast.dump(item) for item in source]
        places = [texts.index(text) if (text := ast.dump(item)) in texts else -1 for item in sizes]
        return -1 not in places and places == sorted(places)

    def in_order(self, sizes: list[ast.expr]) -> bool:
        """Whether the sizes are those of the axes of one tensor from left to right."""
        if whole(sizes):
            return True  # the shape of something, as it is
        last: tuple[str, int] | None = None
        for item in sizes:
            place = self._places.get(item.id) if isinstance(item, ast.Name) else _place(item)
            if place is None:
                return False
            if last is not None and (last[0] != place[0] or last[1] >= place[1] or (last[1] < 0) != (place[1] < 0)):
                return False
            last = place
        return True

    def move_axis(self, call: ast.Call, sizes: list[ast.expr]) -> bool:
        """Whether the size of an axis may stand behind other sizes than those of the axes before it."""
        if len(sizes) < 2:
            return False
        before: Factors | None = _ONE
        moved = False
        for item in sizes:
            if isinstance(item, ast.Starred):
                return True
            rest = isinstance(item, ast.UnaryOp)
            if not rest and not moved and not isinstance(item, ast.BinOp) and _AXIS in self.kinds(item):
                moved = before is None or before != self._ahead_of(item)
            factors = None if rest else self.factors(item)
            before = _times(before, factors, 1) if before is not None and factors is not None else None
        return moved and (before is None or self._may_be_all(call, before))

    def _may_be_all(self, call: ast.Call, total: Factors) -> bool:
        """Whether the product of all sizes may be that of the axes of something: what it is divided by would have to
        be in the sizes of another call."""
        lacking = {factor for factor, power in total if power < 0 and not _of_axis(factor)}
        given = (sizes_of(self._sketch, other) for other in self._sketch.calls_of(_SIZED) if other is not call)
        texts = {ast.unparse(part) for sizes in given for size in sizes for part in walk(size)} if lacking else set()
        return lacking <= texts

    def _ahead_of(self, item: ast.expr) -> Factors | None:
        """The product of the axes in front of the one whose size has a name."""
        place = self._places.get(item.id) if isinstance(item, ast.Name) else _place(item)
        if place is None or place[1] < 0:
            return None
        names = {other: name for name, other in self._places.items() if other is not None and other[0] == place[0]}
        found: set[tuple[object, int]] = set()
        for position in range(place[1]):
            name = names.get((place[0], position))
            if name is None:
                return None
            found.add((_Axis(self._sketch.bound[name][0][0], name), 1))
        return frozenset(found)

    @cached_property
    def _places(self) -> dict[str, tuple[str, int] | None]:
        """Of names that are bound once, to the size of an axis: of what, and of which."""
        found: dict[str, tuple[str, int] | None] = {}
        for node in self._sketch.function.found.get(ast.Assign, ()):
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Name):
                found[target.id] = _place(value)
            elif isinstance(target, ast.Tuple):
                first = _first(value)
                for place, one in enumerate(target.elts):
                    if not isinstance(one, ast.Name):
                        first = None  # a star: how many are there is not known
                    elif isinstance(value, ast.Tuple):
                        found[one.id] = _place(value.elts[place]) if len(value.elts) == len(target.elts) else None
                    else:
                        found[one.id] = (first[0], first[1] + place) if first is not None else None
        bound = self._sketch.bound
        return {name: place for name, place in found.items() if len(bound.get(name, ())) == 1}


def _plain(factors: Factors) -> set[object]:
    """The factors that are no axes; one for all numbers."""
    return {int if is_exact(factor) else factor for factor, _ in factors if not _of_axis(factor)}


def _of_axis(factor: object) -> bool:
    return factor is _Axis or isinstance(factor, _Axis)


def _any_axis(factors: Factors | None) -> Factors | None:
    """The same, with all axes under one name."""
    if factors is None or not any(isinstance(factor, _Axis) for factor, _ in factors):
        return factors
    powers: dict[object, int] = {}
    for factor, power in factors:
        name = _Axis if isinstance(factor, _Axis) else factor
        powers[name] = powers.get(name, 0) + power
    return frozenset((factor, power) for factor, power in powers.items() if power)


def _times(one: Factors, other: Factors, sign: int) -> Factors | None:
    """The product, or the quotient; numbers are multiplied out."""
    powers = dict(one)
    for factor, power in other:
        powers[factor] = powers.get(factor, 0) + sign * power
    value: Exact = 1
    for factor in filter(is_exact, list(powers)):
        if not factor:
            return None
        power = powers.pop(factor)
        value = value * factor**power if power >= 0 else quotient(value, factor**-power)
    found = {(factor, power) for factor, power in powers.items() if power}
    return frozenset(found | {(value, 1)} if value != 1 else found)


def _owner(node: ast.expr) -> str | None:
    """What `x.shape` or `x.size()` is of."""
    match node:
        case ast.Attribute(attr="shape", value=ast.Name(id=name)):
            return name
        case ast.Call(func=ast.Attribute(attr="size", value=ast.Name(id=name)), args=[]):
            return name
    return None


def _first(node: ast.expr) -> tuple[str, int] | None:
    """`x.shape`, `x.shape[1:]`, `x.shape[-2:]`: the first axis of it."""
    start = 0
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is None:
        lower = _number(node.slice.lower) if node.slice.lower is not None else 0
        if lower is None:
            return None
        start, node = lower, node.value
    owner = _owner(node)
    return (owner, start) if owner is not None else None


def _place(node: ast.expr) -> tuple[str, int] | None:
    """`x.shape[1]`, `x.size(1)`."""
    match node:
        case ast.Subscript(value=inner, slice=index) if (owner := _owner(inner)) is not None:
            place = _number(index)
        case ast.Call(func=ast.Attribute(attr="size", value=ast.Name(id=owner)), args=[index]):
            place = _number(index)
        case _:
            return None
    return (owner, place) if place is not None else None


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def base_of(sketch: Sketch, call: ast.Call) -> ast.expr:
    """The tensor that a call of a method, or of a function of torch, is about."""
    if isinstance(call.func, ast.Attribute) and not (call.args and sketch.torch_name(call.func)):
        return call.func.value
    return call.args[0] if call.args else call


def sizes_of(sketch: Sketch, call: ast.Call) -> list[ast.expr]:
    """The sizes that a call is given, as far as they are written one by one."""
    given = call.args[1:] if base_of(sketch, call) in call.args[:1] and called_name(call) not in MAKERS else call.args
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        return given[0].elts
    if not given:
        given = [one.value for one in call.keywords if one.arg in ("size", "shape")]
        if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
            return given[0].elts
    return given


def whole(sizes: list[ast.expr]) -> bool:
    """Whether what a call is given may be several sizes: `x.view(shape)`."""
    return len(sizes) == 1 and not isinstance(sizes[0], (ast.Constant, ast.UnaryOp, ast.BinOp))


def _may_permute(sketch: Sketch, call: ast.Call) -> list[ast.expr] | None:
    """The sizes that a call is given, but for 1; nothing where one of them is a number that is written out, or -1."""
    given = sizes_of(sketch, call)
    several = whole(given)
    found = []
    for item in given:
        match item:
            case ast.Constant(value=1):
                continue
            case ast.Constant() | ast.UnaryOp():
                return None
            case ast.BinOp(op=op) if not isinstance(op, (ast.Mult, ast.FloorDiv)):
                return None
            case ast.Starred():
                several = True
        found.append(item)
    return found if several or len(found) > 1 else None
