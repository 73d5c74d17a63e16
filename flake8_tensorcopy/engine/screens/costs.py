"""Copies that cost too much: which calls stand where one of them would do."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import applied_to, behind_detach, called_name, chained, receiver_of

_CASTS = ("float", "double", "half", "bfloat16", "long", "int", "short", "byte", "char", "bool", "type", "to")
_MOVES = ("cpu", "cuda", *_CASTS)


def redundant_cast(sketch: Sketch) -> bool:
    """A cast to a dtype, and nothing else, of what another such call gives."""
    return any(
        isinstance(node.func, ast.Attribute)
        and isinstance(inner := node.func.value, ast.Call)
        and called_name(inner) in _CASTS
        and asks_dtype(sketch, node)
        and asks_dtype(sketch, inner)
        for node in sketch.calls_of(_CASTS)
    )


def asks_dtype(sketch: Sketch, node: ast.Call) -> bool:
    """`float()`, `to(torch.half)`: a cast that has no other argument."""
    given = len(node.args) + len(node.keywords)
    if called_name(node) not in ("to", "type"):
        return not given
    if given != 1 or (node.keywords and node.keywords[0].arg != "dtype"):
        return False
    return bool(sketch.torch_name(node.args[0] if node.args else node.keywords[0].value))


def clone_detach(sketch: Sketch) -> bool:
    """`x.clone().detach()`, perhaps with views and moves in between."""
    for node in sketch.calls_of(("detach", "detach_")):
        inner = applied_to(node)
        while called_name(inner) != "clone":
            if (behind := receiver_of(inner)) is inner:
                break
            inner = behind
        else:
            return True
    return False


def moved_then_detached(sketch: Sketch) -> bool:
    """`detach()` behind a move to the host in the same chain."""
    for node in sketch.calls_of(("detach",)):
        inner = applied_to(node)
        while not to_host(inner):
            if (behind := receiver_of(inner)) is inner:
                break
            inner = behind
        else:
            return True
    return False


def to_host(node: ast.AST) -> bool:
    """`cpu()`, `to("cpu")`, `to(torch.device(..))`."""
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    if name != "to":
        return name == "cpu"
    given = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "device")]
    return any(isinstance(one, ast.Call) or (isinstance(one, ast.Constant) and one.value == "cpu") for one in given)


def redundant_clone(sketch: Sketch) -> bool:
    """A clone of what is new memory, or a copy, move, cast or index of a clone, in one chain."""
    known = sketch.function.calls
    if "clone" not in known:
        return False
    for node in sketch.calls_of(("clone",)):
        if chained(node, "clone") and _new(sketch, node.args[0] if len(node.args) == 1 else receiver_of(node)):
            return True
    for node in sketch.calls_of(("contiguous", *_MOVES)):
        if isinstance(node.func, ast.Attribute) and called_name(behind_detach(node.func.value)) == "clone":
            return True
    return any(
        called_name(behind_detach(node.value)) == "clone" for node in sketch.function.found.get(ast.Subscript, ())
    )


def _new(sketch: Sketch, node: ast.expr) -> bool:
    """Whether an expression may make new memory: no view by an index, no function but those of torch."""
    if called_name(node) == "detach":
        node = receiver_of(node)
    match node:
        case ast.Subscript(slice=index):
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            return not all(map(_views, items))
        case ast.Call(func=ast.Name() as func):
            return sketch.survey.names.qualify(func) is not None
        case ast.Call(func=ast.Attribute(attr=name) as func):
            return ops.method(name) is not None or bool(sketch.torch_name(func))
    return True


def _views(index: ast.expr) -> bool:
    """A number, a slice, or arithmetic: of a tensor it makes a view."""
    match index:
        case ast.Constant() | ast.Slice() | ast.UnaryOp(op=ast.USub()):
            return True
        case ast.BinOp(op=op):
            return not isinstance(op, (ast.BitAnd, ast.BitOr))
    return False
