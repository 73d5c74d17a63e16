"""What is repeated, expanded or joined though the operation that uses it would do without."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.library import BROADCASTING
from flake8_tensorcopy.engine.nodes import stands_in, walk
from flake8_tensorcopy.engine.parts import literal
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.shapes import sizes_of
from flake8_tensorcopy.engine.source import called_name, grows

_EXPANDS = ("expand", "expand_as", "broadcast_to")
_MAKES = ("contiguous", "clone", "reshape", "flatten")


def redundant_repeat(sketch: Sketch) -> bool:
    """A repeat that repeats nothing, or whose result goes into one elementwise operation."""
    wide: set[ast.AST] = set()
    for node in sketch.calls_of(("repeat", "tile")):
        if isinstance(node.func, ast.Attribute) and node.args and not node.keywords:
            if all(literal(count) == 1 for count in sizes_of(node.args)):
                return True
            wide.add(node)
    return bool(wide) and operand(sketch, wide)


def materialised_expand(sketch: Sketch) -> bool:
    """An expanded tensor beside an operator, or copied for one elementwise operation."""
    expanded: set[ast.AST] = set(sketch.calls_of(_EXPANDS))
    for node in sketch.function.found.get(ast.BinOp, ()):
        if node.left in expanded or node.right in expanded:
            return True
    made = {node for node in sketch.calls_of(_MAKES) if isinstance(node.func, ast.Attribute)}
    if not made:
        return False
    for name in sketch.function.calls & sketch.callees.keys():
        expanded.update(sketch.named.get(name, ()))
    if not expanded:
        return False
    copied: set[ast.AST] = set()
    for node in made:
        receiver = node.func.value  # type: ignore[attr-defined]
        if receiver in expanded or sketch.reached_by(expanded, [receiver]):
            copied.add(node)
    return bool(copied) and operand(sketch, copied)


def operand(sketch: Sketch, made: set[ast.AST]) -> bool:
    """Whether an elementwise operation takes one of the values, as it is or by a name."""
    found = sketch.function.found
    apart = set(made)
    named: set[str] = set()
    for node in found.get(ast.Assign, ()):
        if node.value in made:
            apart.discard(node.value)
            named.update(one.id for one in node.targets if isinstance(one, ast.Name))

    def takes(node: ast.AST) -> bool:
        return node in made or (type(node) is ast.Name and node.id in named)

    for node in found.get(ast.BinOp, ()):
        if takes(node.left) or takes(node.right):
            return True
    if any(takes(node.value) for node in found.get(ast.AugAssign, ())):
        return True
    for node in found[ast.Call]:
        func = node.func
        given = [*node.args, *(one.value for one in node.keywords)]
        if type(func) is ast.Attribute:
            apart.discard(func.value)
        if called_name(node).removesuffix("_") in BROADCASTING and any(map(takes, given)):
            return True
        apart.difference_update(given)
    for node in found.get(ast.Return, ()):
        apart.discard(node.value)
    for node in found.get(ast.Subscript, ()):
        apart.discard(node.value)
    if not apart and not named:
        return False
    return any(
        isinstance(node, ast.Compare) and any(takes(one) for one in (node.left, *node.comparators))
        for statement in sketch.function.node.body
        for node in walk(statement)
    )


def grown_in_loop(sketch: Sketch) -> bool:
    """A tensor is joined to itself in a loop."""
    if not sketch.loops:
        return False
    grown = [node for node in sketch.function.found.get(ast.Assign, ()) if _grows(node)]
    return any(stands_in(node, loop) for node in grown for loop in sketch.loops)


def _grows(node: ast.Assign) -> bool:
    return isinstance(node.value, (ast.Call, ast.IfExp)) and grows(node) is not None
