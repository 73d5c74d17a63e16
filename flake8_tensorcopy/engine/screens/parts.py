"""What a function may write in place that it got from something else."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.features import CALLS_WRITER
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import called_name

NUMPY_WRITES = library.NUMPY_WRITES | library.NUMPY_FUNCTION_WRITES
_DISPLAYS = (ast.Constant, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.JoinedStr)
_CONTAINERS = frozenset("list dict set OrderedDict defaultdict state_dict len int float str load".split())


def writes_part(sketch: Sketch) -> bool:
    """Whether a parameter of a module, an item of a list, may be written: by a method, a function, a callee, an
    operator, or through an index, where it is known that what is written was not made here and is no argument."""
    if sketch.features & CALLS_WRITER and any(one.how in ("call", "object") for one in sketch.trace.writes):
        return True
    for node in sketch.function.found.get(ast.Call, ()):
        name = called_name(node)
        if (name[-1:] == "_" != name[:1] and name != "requires_grad_") or name in NUMPY_WRITES:
            return True
        if any(keyword.arg in ("out", "inplace") for keyword in node.keywords):
            return True
        if name[:1].islower() and any(isinstance(item, ast.Constant) and item.value is True for item in node.args):
            return True  # `F.relu(x, True)`
    if any(isinstance(node.target, ast.Subscript) and not _counts(node) for node in _augmented(sketch)):
        return True  # an item of a list
    stores = sketch.function.found.get(ast.Subscript, ())
    if any(isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Subscript) for node in stores):
        return True  # a part of an item
    return any(_may_be_part(sketch, node) for node in written(sketch))


def _augmented(sketch: Sketch) -> list[ast.AugAssign]:
    return sketch.function.found.get(ast.AugAssign, [])


def _counts(node: ast.AugAssign) -> bool:
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, int)


def written(sketch: Sketch) -> list[ast.expr]:
    """What operators write, and what is indexed to be written."""
    found = sketch.function.found
    nodes: list[ast.expr] = [node.target for node in _augmented(sketch)]
    return nodes + [node.value for node in found.get(ast.Subscript, ()) if isinstance(node.ctx, ast.Store)]


def _may_be_part(sketch: Sketch, node: ast.expr) -> bool:
    """Whether a name, or what an index is taken of, was got from something else: no number, list, dict or argument."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr not in sketch.file.collections
    if not isinstance(node, ast.Name):
        return True
    return any(
        part
        or not (isinstance(value, _DISPLAYS) or (isinstance(value, ast.Call) and called_name(value) in _CONTAINERS))
        for value, part in sketch.bound.get(node.id, ())
    )
