"""Signs that a function writes: most that bind and store do no more than count and fill lists and dicts."""

from __future__ import annotations

import ast
import builtins

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.features import WRITE
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.looks import collects, is_key, is_number, is_text
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import called_name


def may_write(sketch: Sketch) -> bool:
    """Whether anything in a function may change a tensor, to go by the looks of it: no count, no item of a dict."""
    function, file = sketch.function, sketch.file
    if function.inner or any(_says_write(sketch, name) for name in function.calls):
        return True
    found = function.found
    held = _held(sketch)
    for node in found.get(ast.AugAssign, ()):
        target = node.target
        if isinstance(target, ast.Attribute):
            if target.attr not in file.numbers and target.attr not in file.collections:
                return True
        elif not isinstance(target, ast.Name) or not held.get(target.id) or not is_number(node.value):
            return True
    for node in found.get(ast.Subscript, ()):
        if isinstance(node.ctx, ast.Store):
            index, base = node.slice, node.value
            if is_key(index):
                continue
            if not (isinstance(base, ast.Name) and held.get(base.id)) and not (
                isinstance(base, ast.Attribute) and base.attr in file.collections
            ):
                return True
    return any(_tells_to_write(sketch, node) for node in found.get(ast.Call, ()))


def inner_may_write(sketch: Sketch, inner: ast.AST) -> bool:
    """The same of a function that stands in another one, of which nothing is known but its nodes."""
    for node in walk(inner):
        if isinstance(node, ast.AugAssign):
            if not is_text(node.value):
                return True
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Store) and not is_key(node.slice):
                return True
        elif isinstance(node, ast.Call):
            if _says_write(sketch, called_name(node)) or _tells_to_write(sketch, node):
                return True
    return False


def _says_write(sketch: Sketch, name: str) -> bool:
    """Whether a call by a name may write: a method in place, one of NumPy's, a function of the file, an object."""
    if (name[-1:] == "_" and name[:1] != "_") or name in library.NUMPY_WRITES or name == "__setitem__":
        return True
    if name in library.NUMPY_FUNCTION_WRITES or sketch.file.made_of(name):
        return True
    return any(one.features & WRITE for one in sketch.file.by_name.get(name, ()))


def _tells_to_write(sketch: Sketch, node: ast.Call) -> bool:
    """Whether a call is told to work in place, or is of an object, which may do so."""
    if any(one.arg in ("out", "inplace") for one in node.keywords):
        return True
    if any(isinstance(one, ast.Constant) and one.value is True for one in node.args):
        return True
    func = node.func
    if isinstance(func, ast.Attribute):
        return False
    if not isinstance(func, ast.Name):
        return True
    file = sketch.file
    known = func.id in file.by_name or func.id in sketch.survey.classes or func.id in sketch.survey.names.imported
    return not known and not hasattr(builtins, func.id)


def _held(sketch: Sketch) -> dict[str, bool]:
    """The names that assignments bind, and whether they bind nothing but numbers, texts, lists, dicts made there."""
    held: dict[str, bool] = dict.fromkeys((*sketch.given, *sketch.open), False)
    found = sketch.function.found
    for node in found.get(ast.Assign, ()):
        plain = is_number(node.value) or collects(node.value)
        for target in node.targets:
            for one in target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,):
                if isinstance(one, ast.Name):
                    held[one.id] = held.get(one.id, True) and plain and one is target
    for kind in (ast.AnnAssign, ast.NamedExpr):
        for node in found.get(kind, ()):
            if isinstance(node.target, ast.Name) and node.value is not None:
                plain = is_number(node.value) or collects(node.value)
                held[node.target.id] = held.get(node.target.id, True) and plain
    for loop in (ast.For, ast.AsyncFor, ast.comprehension):
        for node in found.get(loop, ()):
            for one in walk(node.target):
                if isinstance(one, ast.Name):
                    held[one.id] = False
    for node in found.get(ast.withitem, ()):
        for one in walk(node.optional_vars) if node.optional_vars is not None else ():
            if isinstance(one, ast.Name):
                held[one.id] = False
    if found.get(ast.MatchAs):
        return {}
    return held
