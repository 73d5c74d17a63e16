"""Screens of the layout of tensors: sizes, strides and counts that a call is given."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.features import TURNED
from flake8_tensorcopy.engine.library import LAYS_IN_ORDER, MAKERS, REDUCTIONS, RESHAPES, STRIDED, TAKES_ARRAYS
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.flows import Flow, root_of
from flake8_tensorcopy.engine.screens.scrambled import NUMBER, Sizes, base_of, sizes_of, whole
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import TURNS, Survey, called_name, of_shape

_VIEWS = frozenset({"view", "reshape"})
_EXPANDS = frozenset({"expand", "expand_as", "broadcast_to"})
_RUN_BY_ANY_NAME = frozenset({"forward", "__call__"})
_SIZED = MAKERS | (RESHAPES - _EXPANDS)
_TURNED = frozenset({"T", "mT", "H", "mH"})
# What these give lies in the order of its axes.
_IN_ORDER = frozenset({"contiguous"})
_LAID = frozenset({"view", "reshape", "flatten", "expand", "broadcast_to", "mm", "bmm", "matmul"}) | LAYS_IN_ORDER
_PARAMETER = frozenset({"Parameter"})
_STRIDED = frozenset(STRIDED)
_TAKES_ARRAYS = frozenset(name.rpartition(".")[2] for name in TAKES_ARRAYS)
_FLIPS = frozenset({"flip", "fliplr", "flipud", "rot90"})
_BYTES = frozenset({"nbytes", "element_size", "itemsize"})


def turned_view(sketch: Sketch) -> bool:
    """`view` of what may have had its axes exchanged."""
    views = sketch.named.get("view", ())
    if not views:
        return False
    turning = sketch.of_file(_turning)
    anything = not turning.isdisjoint(_RUN_BY_ANY_NAME)

    def turns(node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and turning:
            return _turns(node) or called_name(node) in turning or (anything and sketch.may_run_file(node))
        return _turns(node)

    return any(sketch.from_where.reaches(base_of(sketch, call), turns, _IN_ORDER | _LAID) for call in views)


def _turns(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return called_name(node) in TURNS
    return isinstance(node, ast.Attribute) and node.attr in _TURNED


def _turning(survey: Survey) -> frozenset[str]:
    """The functions of the file that return something of which they exchanged the axes, or what such a one returns."""
    found: set[str] = set()
    pending = [one for one in survey.all if ast.Return in one.found]
    while True:
        more = {
            one.name
            for one in pending
            if one.name not in found
            and not (TURNS.isdisjoint(one.calls) and found.isdisjoint(one.calls) and not one.features & TURNED)
            and any(
                _turns(part)
                or (isinstance(part, ast.Call) and called_name(part) in found)
                or (isinstance(part, ast.Name) and one.name not in _RUN_BY_ANY_NAME)
                for node in one.found[ast.Return]
                if node.value is not None
                for part in walk(node.value)
            )
        }
        if not more:
            return frozenset(found)
        found |= more


def clashing_expand(sketch: Sketch) -> bool:
    """What is expanded was reduced, made with sizes that are written out, or has more axes than are asked for."""
    calls = [call for call in sketch.calls_of(_EXPANDS) if _reaches_in(sketch, call)]
    if not calls:
        return False
    named = sketch.survey.names.imported

    def reduces(node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        if called_name(node) not in REDUCTIONS:
            return False
        return not isinstance(node.func, ast.Name) or node.func.id in named

    origins = sketch.from_where
    if not REDUCTIONS.isdisjoint(sketch.function.calls):
        reduced = Flow(sketch, reduces)
        bases = [base_of(sketch, call) for call in calls]
        if any(reduced.reaches(base) and origins.reaches(base, reduces) for base in bases):
            return True
    calls = [call for call in calls if _written_out(sketch, call)]
    if not calls:
        return False
    unpacked = sketch.once(_unpacked)
    sized = list(sketch.calls_of(_SIZED))
    told = Sizes(sketch)
    return any(
        _names_one(base_of(sketch, call), unpacked)
        or ("" in (found := origins.of(base_of(sketch, call))))
        or any(other in found and _contradicts(sketch, told, other, call) for other in sized)
        for call in calls
    )


def _contradicts(sketch: Sketch, told: Sizes, made: ast.Call, call: ast.Call) -> bool:
    """Whether what one call has made may have other sizes, by numbers, or more axes than another one expands it to."""
    if called_name(call) == "expand_as":
        return True
    own, wanted = _given(sketch, made), sizes_of(sketch, call)
    for sizes in (own, wanted):
        if any(isinstance(item, ast.Starred) for item in sizes) or (whole(sizes) and not _one_axis(sizes[0])):
            return True
    if called_name(made) in ("tensor", "eye", "flatten") or not own or not wanted:
        return True
    if len(own) > len(wanted) or _adds_axes(sketch):
        return True
    return all(
        any(NUMBER in told.kinds(item) and getattr(item, "value", 0) != 1 for item in sizes) for sizes in (own, wanted)
    )


def _given(sketch: Sketch, made: ast.Call) -> list[ast.expr]:
    """The sizes that a call is given; of `full`, without what fills it."""
    if called_name(made) != "full" or not made.args:
        return sizes_of(sketch, made)
    first = made.args[0]
    return first.elts if isinstance(first, (ast.Tuple, ast.List)) else [first]


def _one_axis(node: ast.expr) -> bool:
    """`x.shape[0]`, `x.size(0)`: one size, surely not several."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant() | ast.UnaryOp()):
            return True
        case ast.Call(func=ast.Attribute(attr="size"), args=[_]):
            return True
    return isinstance(node, (ast.Constant, ast.UnaryOp, ast.BinOp))


def _adds_axes(sketch: Sketch) -> bool:
    """Whether something here gets one more axis."""
    if "unsqueeze" in sketch.function.calls or "permute" in sketch.function.calls:
        return True
    return any(
        isinstance(part, ast.Constant) and part.value is None
        for node in sketch.function.found.get(ast.Subscript, ())
        for part in (node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,))
    )


def _unpacked(sketch: Sketch) -> set[str]:
    """The names of what has its shape unpacked."""
    return {
        root_of(node.value)
        for node in sketch.function.found.get(ast.Assign, ())
        for target in node.targets
        if isinstance(target, (ast.Tuple, ast.List)) and of_shape(node.value)
    }


def _names_one(node: ast.expr, names: set[str]) -> bool:
    return bool(names) and any(isinstance(part, ast.Name) and part.id in names for part in walk(node))


def _reaches_in(sketch: Sketch, call: ast.Call) -> bool:
    """Whether something of this function has made what is expanded: no argument that it leaves as it is, nothing that
    an object holds; or somebody has unpacked its shape."""
    node = base_of(sketch, call)
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name not in REDUCTIONS:
                if sketch.torch_name(node.func):
                    return True
                node = inner
            case ast.Subscript(value=inner):
                node = inner
            case _:
                break
    match node:
        case ast.Name(id=name):
            return name in sketch.bound or name in sketch.once(_unpacked)
        case ast.Attribute():
            stored = sketch.function.found.get(ast.Attribute, ())
            return any(one.attr == node.attr and isinstance(one.ctx, ast.Store) for one in stored) or root_of(
                node
            ) in sketch.once(_unpacked)
    return True


def _written_out(sketch: Sketch, call: ast.Call) -> bool:
    """Whether sizes are numbers or those of something else, or fewer than the axes of something here may be."""
    given = call.args[1:] if call.args and base_of(sketch, call) is call.args[0] else call.args
    if called_name(call) == "expand_as" or (len(given) == 1 and not isinstance(given[0], (ast.Tuple, ast.List))):
        return True
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
    if any(isinstance(item, ast.Constant) and item.value != 1 for item in given):
        return True
    count = len(given)
    for other in sketch.calls_of(MAKERS | _VIEWS):
        if len(other.args) > count or any(isinstance(item, (ast.Tuple, ast.List, ast.Starred)) for item in other.args):
            return True
    return any(
        isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) > count and of_shape(node.value)
        for node in sketch.function.found.get(ast.Assign, ())
        for target in node.targets
    )


def expanded_parameter(sketch: Sketch) -> bool:
    """A Parameter is made here."""
    return sketch.calls(_PARAMETER)


def byte_strides(sketch: Sketch) -> bool:
    """`strides` of an array is asked for, and given to torch or compared."""
    return any(node.attr == "strides" for node in sketch.function.found.get(ast.Attribute, ()))


def negative_strides(sketch: Sketch) -> bool:
    """torch takes over what may run backwards: by a step, a flip, or as somebody else has left it."""
    outside = sketch.survey.body.stores

    def backwards(node: ast.AST) -> bool:
        match node:
            case ast.Subscript(slice=index):
                items = index.elts if isinstance(index, ast.Tuple) else [index]
                return any(isinstance(item, ast.Slice) and isinstance(item.step, ast.UnaryOp) for item in items)
            case ast.Call():
                return called_name(node) in _FLIPS or called_name(node) in sketch.callees
            case ast.Attribute(value=ast.Name(id=name)):
                return name == "self"
            case ast.Name(id=name):
                return name in outside and name not in sketch.bound
        return False

    calls = (call for call in sketch.calls_of(_TAKES_ARRAYS) if call.args)
    return any(sketch.from_where.reaches(call.args[0], backwards) for call in calls)


def expanded_bytes(sketch: Sketch) -> bool:
    """The bytes of a tensor are counted."""
    return any(node.attr in _BYTES for node in sketch.function.found.get(ast.Attribute, ()))


def mixed_repeats(sketch: Sketch) -> bool:
    """Two calls, one of which repeats the elements and the other the whole."""
    named = sketch.named
    each, whole, both = (len(named.get(name, ())) for name in ("repeat_interleave", "tile", "repeat"))
    return both + each > 0 and (whole + both > 0) and each + whole + both > 1
