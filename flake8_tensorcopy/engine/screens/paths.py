"""Names, attributes and items of a trace: what a dotted expression leads to, and what it is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.screens.groups import (
    GRADIENT,
    ITEM,
    KEYED,
    VIEWED,
    Groups,
    element,
    field,
    find,
    key_of,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.trace import Trace

PRODUCTS = (ast.Mult, ast.MatMult, ast.Div, ast.Pow)


def _of_attribute(trace: Trace, node: ast.Attribute, base: Groups, name: str) -> tuple[Groups, str]:
    op = ops.method(node.attr)
    if op is not None and op.form == "property" and node.attr != "grad":
        if op.result not in ("view", "maybe", "same"):
            return (), ""  # a shape, a device: nothing of the data is read
        trace.flag(base, VIEWED)
        return base, name
    held = trace.attribute(base, node.attr)
    for behind in sorted(trace.file.properties.get(node.attr, ())):
        held += trace.attribute(base, behind)
    if node.attr == "grad":
        trace.flag(held, GRADIENT)
    return held, name if "." in name else f"{name}.{node.attr}"


def path(trace: Trace, node: ast.expr) -> tuple[Groups, str]:
    """What an expression of names, attributes and items leads to, and what it is called; no read of that is noted."""
    if isinstance(node, ast.Name):
        return trace.name_of(node.id), node.id
    if isinstance(node, ast.Attribute):
        return _of_attribute(trace, node, *path(trace, node.value))
    if isinstance(node, ast.Subscript):
        base, name = path(trace, node.value)
        if name and isinstance(node.slice, ast.Constant):
            name = f"{name}{key_of(node.slice)}"
        found = trace.known[node] = item(trace, base, node.slice), name
        return found
    if isinstance(node, (ast.Starred, ast.Await)):
        return path(trace, node.value)
    if isinstance(node, ast.NamedExpr):
        trace.value(node)
        return path(trace, node.target)
    return trace.value(node), ""


def again(trace: Trace, node: ast.expr) -> tuple[Groups, str]:
    """What an expression led to that has been evaluated in this statement, and what it is called.

    Nothing in it is evaluated a second time: of calls in calls that would double with each.
    """
    known = trace.known.get(node)
    if known is not None:
        return known
    if isinstance(node, ast.Attribute):
        return _of_attribute(trace, node, *again(trace, node.value))
    if isinstance(node, (ast.Starred, ast.Await)):
        return again(trace, node.value)
    return path(trace, node) if isinstance(node, (ast.Name, ast.Subscript, ast.Call)) else ((), "")


def item(trace: Trace, base: Groups, index: ast.expr) -> Groups:
    """An item or part of what the groups stand for."""
    if isinstance(index, ast.Constant):
        if isinstance(index.value, str):
            trace.flag(base, KEYED)
            return tuple(field(one, key_of(index), KEYED) for one in base)
        trace.flag(base, VIEWED | ITEM)
        found = []
        for one in base:
            held = find(one).fields.get(key_of(index))
            found.append(element(one) if held is None else find(held))
        return tuple(found)
    chosen_by = trace.value(index)
    if isinstance(index, ast.Name):
        trace.keep(chosen_by, index)
    if isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
        trace.flag(base, ITEM)
    trace.flag(base, VIEWED)
    return tuple(element(one) for one in base)
