"""Screens of the layout of tensors: sizes, strides and counts that a call is given."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.layouts import MAKERS, REDUCTIONS, RESHAPES
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import Function, Survey
from flake8_tensorcopy.engine.strides import STRIDED, TAKES_ARRAYS

_VIEWS = frozenset({"view", "reshape"})
_EXPANDS = frozenset({"expand", "expand_as", "broadcast_to"})
_PARAMETER = frozenset({"Parameter"})
_STRIDED = frozenset(STRIDED)
_TAKES_ARRAYS = frozenset(name.rpartition(".")[2] for name in TAKES_ARRAYS)
_BYTES = frozenset({"nbytes", "element_size", "itemsize"})


def scrambled_axes(sketch: Sketch) -> bool:
    """Sizes that may be those of the tensor in another order: each is a name, or asked of a shape."""
    return any(_may_permute(sketch, call) for call in sketch.calls_of(_VIEWS))


def _may_permute(sketch: Sketch, call: ast.Call) -> bool:
    given = call.args if isinstance(call.func, ast.Attribute) else call.args[1:]
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "torch":
        given = call.args[1:]
    if not given:
        return bool(call.keywords)
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
    elif len(given) == 1:
        return not isinstance(given[0], (ast.Constant, ast.UnaryOp, ast.BinOp))
    several = 0
    for item in given:
        match item:
            case ast.Constant(value=1):
                continue
            case ast.Constant() | ast.UnaryOp():
                return False
            case ast.BinOp(op=op) if not isinstance(op, (ast.Mult, ast.FloorDiv)):
                return False
        several += 1 + isinstance(item, ast.Starred)
    return several > 1


def expanded_parameter(sketch: Sketch) -> bool:
    """A Parameter is made here."""
    return sketch.calls(_PARAMETER)


def byte_strides(sketch: Sketch) -> bool:
    """`strides` of an array is asked for, and given to torch or compared."""
    return any(node.attr == "strides" for node in sketch.function.found.get(ast.Attribute, ()))


def negative_strides(sketch: Sketch) -> bool:
    """torch takes over an array here."""
    return sketch.calls(_TAKES_ARRAYS)


def expanded_bytes(sketch: Sketch) -> bool:
    """The bytes of a tensor are counted."""
    return any(node.attr in _BYTES for node in sketch.function.found.get(ast.Attribute, ()))


def mixed_repeats(sketch: Sketch) -> bool:
    """Two calls, one of which repeats the elements and the other the whole."""
    named = sketch.named
    each, whole, both = (len(named.get(name, ())) for name in ("repeat_interleave", "tile", "repeat"))
    return both + each > 0 and (whole + both > 0) and each + whole + both > 1
