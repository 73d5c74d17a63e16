"""Screens of what stands in every slot: `[layer] * n`, `[t for _ in range(n)]`, `dict.fromkeys(keys, t)`."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.library import COPIES, HOLDERS
from flake8_tensorcopy.engine.screens.parts import writes_part
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import WRITE, Function, Survey, bound_by

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
# What keeps nothing of the list that it is given.
_JOINS = frozenset("cat concat concatenate stack hstack vstack tensor as_tensor len join".split())


def repeated_reference(sketch: Sketch) -> bool:
    """Something is repeated that is made there, goes straight into a module or attribute, or is written slot by
    slot; or a function is called that does so with what it is given."""
    function = sketch.function
    repeated = repeats(function)
    if repeated:
        if sketch.calls(HOLDERS):
            return True
        handed = [one for call in sketch.calls_of(_JOINS) for one in call.args]
        named = [node for node, _ in repeated if not any(node is one for one in handed)]
        if named and sketch.features & WRITE and writes_part(sketch):
            return True
        if any(isinstance(item, ast.Call) for _, item in repeated):
            return True
        stored = [
            (one.lineno, one.end_lineno or one.lineno)
            for one in function.found.get(ast.Assign, ())
            if any(isinstance(target, ast.Attribute) for target in one.targets)
        ]
        if any(first <= node.lineno <= last for node, _ in repeated for first, last in stored):
            return True
    copying = sketch.of_file("copying", _copying)
    return bool(copying) and not copying.isdisjoint(function.calls)


def repeats(function: Function) -> list[tuple[ast.expr, ast.expr]]:
    """What may put one object into every slot, and the object."""
    found: list[tuple[ast.expr, ast.expr]] = []
    nodes = function.found
    for node in nodes.get(ast.BinOp, ()):
        if isinstance(node.op, ast.Mult):
            for side, count in ((node.left, node.right), (node.right, node.left)):
                if isinstance(side, (ast.List, ast.Tuple)) and not _once(count):
                    found += [(node, item) for item in side.elts if not isinstance(item, ast.Constant)]
    for kind in _COMPREHENSIONS:
        for node in nodes.get(kind, ()):
            item = node.value if isinstance(node, ast.DictComp) else node.elt
            if isinstance(item, (ast.Name, ast.Attribute)) and not bound_by(node.generators, item):
                found.append((node, item))
    if "fromkeys" in function.calls:
        for node in nodes.get(ast.Call, ()):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "fromkeys" and len(node.args) == 2:
                found.append((node, node.args[1]))
    return found


def _once(count: ast.expr) -> bool:
    return isinstance(count, ast.Constant) and count.value in (0, 1)


def _copying(survey: Survey) -> frozenset[str]:
    """The functions whose names promise copies and that repeat something, and those that call them."""
    found = {one.name for one in survey.all if COPIES.search(one.name) and repeats(one)}
    found |= {
        inner.name
        for one in survey.all
        for inner in one.inner
        if not isinstance(inner, ast.Lambda) and COPIES.search(inner.name) and repeats(one)
    }
    more = found
    while more:
        more = {one.name for one in survey.all if not found.isdisjoint(one.calls)} - found
        found |= more
    return frozenset(found)
