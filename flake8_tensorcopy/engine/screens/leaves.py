"""Leaves and what is on a graph: marked, made an array of, copied, wrapped anew."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import Survey, called_name, receiver_of


def marked_non_leaf(sketch: Sketch) -> bool:
    """`requires_grad` is set to something else than False, or asked for."""
    for node in sketch.calls_of(("requires_grad_", "Variable")):
        given = [*node.args[-1:], *(one.value for one in node.keywords)]
        if not any(isinstance(one, ast.Constant) and one.value is False for one in given):
            return True
    if any(one.attr == "requires_grad" and isinstance(one.ctx, ast.Store) for one in sketch.attributes):
        for node in sketch.function.found.get(ast.Assign, ()):
            if not (isinstance(node.value, ast.Constant) and not node.value.value):
                if any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in _flat(node.targets)):
                    return True
        return ast.AnnAssign in sketch.function.found
    return False


def _flat(targets: list[ast.expr]) -> list[ast.expr]:
    found: list[ast.expr] = []
    for target in targets:
        found += _flat(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return found


def grad_to_array(sketch: Sketch) -> bool:
    """An array is made of what the same chain does not take off the graph and bring to the host."""
    for node in sketch.calls_of(("numpy", "array", "asarray", "asanyarray", "ascontiguousarray", "__array__")):
        if called_name(node) in ("numpy", "__array__") and isinstance(node.func, ast.Attribute):
            inner = node.func.value
        elif node.args:
            inner = node.args[0]
        else:
            continue
        if not _safe(inner):
            return True
    return False


def _safe(node: ast.expr) -> bool:
    """Whether an expression is no tensor, or one off the graph and on the host."""
    if isinstance(node, (ast.List, ast.Tuple, ast.ListComp, ast.Constant, ast.Dict, ast.GeneratorExp, ast.JoinedStr)):
        return True
    detached = host = False
    while True:
        if isinstance(node, ast.Attribute):
            detached = detached or node.attr == "data"
            inner: ast.expr = node.value
        else:
            name = called_name(node)
            detached = detached or name == "detach"
            host = host or name == "cpu"
            inner = receiver_of(node)
        if inner is node or (detached and host):
            return detached and host
        node = inner


def self_ratio(sketch: Sketch) -> bool:
    """A difference of two names, of which one may stand for the other."""
    sides = [
        (node.left, node.right) for node in sketch.function.found.get(ast.BinOp, ()) if isinstance(node.op, ast.Sub)
    ]
    sides += [
        (
            node.func.value if len(node.args) == 1 and isinstance(node.func, ast.Attribute) else node.args[0],
            node.args[-1],
        )
        for node in sketch.calls_of(("sub", "subtract"))
        if node.args
    ]
    return any(_alias(sketch, left) or _alias(sketch, right) for left, right in sides)


def _alias(sketch: Sketch, node: ast.expr) -> bool:
    """Whether a name or attribute is bound to what has a name already."""
    if isinstance(node, ast.Attribute):
        return True
    if not isinstance(node, ast.Name):
        return False
    return any(not isinstance(one, (ast.BinOp, ast.Constant, ast.UnaryOp)) for one in sketch.flows.get(node.id, ()))


def copied_graph(sketch: Sketch) -> bool:
    """`deepcopy` of something, here, or in a function of the file that is given what it copies."""
    if any(node.args for node in sketch.calls_of(("deepcopy",))):
        return True
    copiers = sketch.of_file(_copiers)
    return not copiers.isdisjoint(sketch.function.calls)


def _copiers(survey: Survey) -> frozenset[str]:
    """The functions that make a deep copy of one of their arguments."""
    found: set[str] = set()
    for function in survey.all:
        if "deepcopy" in function.calls or any(whole.endswith(".deepcopy") for whole in survey.names.imported.values()):
            found.add(function.name)
            if function.cls is not None:
                found.add(function.cls.name)
    return frozenset(found)


def rewrapped_parameter(sketch: Sketch) -> bool:
    """A method that is no constructor makes a Parameter."""
    function = sketch.function
    return function.cls is not None and any(True for _ in sketch.calls_of(("Parameter",)))
