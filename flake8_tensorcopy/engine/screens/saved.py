"""Whether a write may reach what an operation keeps for backward: its result, or an operand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.saved import ACTIVATIONS, kept_by
from flake8_tensorcopy.engine.screens.order import Order, Span
from flake8_tensorcopy.engine.screens.sharing import Roots, Sharing, Write
from flake8_tensorcopy.engine.screens.sketch import Sketch

_PRODUCTS = (ast.Mult, ast.MatMult, ast.Div, ast.Pow)
_PRODUCTS_IN_PLACE = frozenset("mul_ multiply_ div_ divide_ true_divide_".split())
_OUTPUT, _INPUT = 1, 2


@lru_cache(maxsize=4096)
def _keeps(name: str) -> int:
    """Whether some operation of that name keeps its result, and whether an operand."""
    found = 0
    for op in (ops.method(name), ops.function(f"torch.{name}"), ops.function(f"torch.nn.functional.{name}")):
        keeps = kept_by(op) if op is not None and op.form != "module" else None
        if keeps is not None:
            found |= (_OUTPUT if keeps.output else 0) | (_INPUT if keeps.inputs else 0)
    return found


@lru_cache(maxsize=1024)
def module_keeps(name: str) -> int:
    """The same of a module of torch.nn."""
    if name in ACTIVATIONS:
        return _keeps(ACTIVATIONS[name])
    if name in ("LSTM", "RNNCell"):
        return _OUTPUT
    return _INPUT if name.startswith(library.KEEPING_LAYERS) else 0


class Keeper(NamedTuple):
    """An operation that keeps something for backward, the roots of what it keeps; whether that is its result."""

    node: ast.AST
    roots: Roots
    result: bool = False


def spoils(sketch: Sketch) -> bool:
    """Whether something is written that an operation before it may have kept."""
    writes = [write for write in sketch.looks.writes if write.roots]
    if not writes:
        return False
    keepers = list(_keepers(sketch))
    return bool(keepers) and any(_spoiled(sketch, write, keepers) for write in writes)


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _keepers(sketch: Sketch) -> Iterator[Keeper]:
    """The operations that keep something, and the roots of what they keep; what is bound to a result that is kept."""
    sharing = sketch.sharing
    found = sketch.function.found
    for node in found.get(ast.BinOp, ()):
        if isinstance(node.op, _PRODUCTS):
            roots = sharing.shares(node.left) | sharing.shares(node.right)
            if roots:
                yield Keeper(node, roots)
    for node in found.get(ast.AugAssign, ()):
        if isinstance(node.op, _PRODUCTS) and (roots := sharing.shares(node.value)):
            yield Keeper(node, roots)
    for node in found.get(ast.Call, ()):
        name = _name(node.func)
        keeps = _keeps(name) | (_object_keeps(sketch, node.func) if sharing.is_object(node.func) else 0)
        if keeps & _INPUT or name in _PRODUCTS_IN_PLACE:
            roots = sharing.given(node)
            if isinstance(node.func, ast.Attribute) and name not in _PRODUCTS_IN_PLACE:
                roots |= sharing.shares(node.func.value)
            if roots:
                yield Keeper(node, roots)
        if name[-1:] == "_" and _keeps(name) & _OUTPUT and isinstance(node.func, ast.Attribute):
            roots = sharing.root(node.func.value) | (sharing.root(node.args[0]) if node.args else frozenset())
            yield Keeper(node, roots, result=True)
    for write in sharing.writes:
        if write.how == "activation":
            yield Keeper(write.node, write.roots, result=True)
    for targets, value in sharing.bindings:
        if _result_kept(sketch, value):
            for target in targets:
                yield Keeper(value, sharing.root_of_targets(target), result=True)


def _object_keeps(sketch: Sketch, func: ast.expr) -> int:
    attributes = {one.attr for one in walk(func) if isinstance(one, ast.Attribute)}
    known = sketch.file.keepers
    if isinstance(func, ast.Attribute):
        return known.get(func.attr, 0)
    found = 0
    for name in attributes & known.keys():
        found |= known[name]
    return found or known.get("", 0)


def _result_kept(sketch: Sketch, value: ast.expr) -> bool:
    """Whether an expression is, or has in it, the result of an operation that keeps its result."""
    for one in walk(value):
        if isinstance(one, ast.Call):
            if _keeps(_name(one.func)) & _OUTPUT:
                return True
            if sketch.sharing.is_object(one.func) and _object_keeps(sketch, one.func) & _OUTPUT:
                return True
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow):
            return True
    return False


def _spoiled(sketch: Sketch, write: Write, keepers: list[Keeper]) -> bool:
    sharing = sketch.sharing
    groups = sharing.groups(write.roots)
    candidates = [
        one for one in keepers if one.node is not write.node and not groups.isdisjoint(sharing.groups(one.roots))
    ]
    if not candidates:
        return False
    order = sketch.order_of([one.node for one in keepers])
    span = order.spans.get(write.node)
    if span is None or span.statement in order.late:
        return True
    renewals = _renewals(sharing, order, write.roots)
    return any(
        one is None
        # The statement that binds a result that is kept binds it anew, and is none of those that end it.
        or _reaches(order, one, keeper.result, span, renewals)
        for keeper in candidates
        for one in (order.spans.get(keeper.node),)
    )


def _renewals(sharing: Sharing, order: Order, roots: Roots) -> list[int]:
    """The statements that give (all of) the roots a value which has nothing to do with the old one."""
    if len(roots) != 1:
        return []
    groups = sharing.groups(roots)
    return [
        order.index[statement]
        for statement in (*sharing.function.found.get(ast.Assign, ()), *sharing.function.found.get(ast.AnnAssign, ()))
        if statement in order.index and statement.value is not None
        for target in (statement.targets if isinstance(statement, ast.Assign) else (statement.target,))
        if isinstance(target, (ast.Name, ast.Attribute))
        and sharing.root(target) == roots
        and (isinstance(target, ast.Name) or isinstance(target.value, ast.Name))
        and groups.isdisjoint(sharing.groups(sharing.shares(statement.value)))
    ]


def _reaches(order: Order, keeper: Span, result: bool, write: Span, renewals: list[int]) -> bool:
    """Whether what one statement kept may still be what another one writes: not if a renewal always lies between."""
    path = set(order.path(write.statement))
    after = keeper.statement + result
    loops = order.loops(keeper.statement) & order.loops(write.statement)
    if keeper.first <= write.first and not any(
        after <= one < write.statement and order.blocks[one] in path for one in renewals
    ):
        return bool(loops) or not order.apart(keeper.statement, write.statement)
    for loop in loops:
        start = order.block_of[loop][0]
        if not any(
            (start < one < write.statement and order.blocks[one] in path)
            or (one >= after and order.blocks[one] == loop)
            for one in renewals
        ):
            return True
    return False
