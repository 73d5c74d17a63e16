"""Expressions of a trace: what each may share, what it reads."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.nodes import children
from flake8_tensorcopy.engine.screens import calls
from flake8_tensorcopy.engine.screens.assignments import bind_iterated, bind_target
from flake8_tensorcopy.engine.screens.groups import (
    YIELDED,
    Group,
    Groups,
    collapse,
    field,
    find,
    join,
    key_of,
    reached,
)
from flake8_tensorcopy.engine.screens.looks import collects
from flake8_tensorcopy.engine.screens.paths import PRODUCTS, path

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.trace import Trace

MAX_PLACES = 8  # of a display whose items are told apart


def value(trace: Trace, node: ast.expr | None) -> Groups:
    """What the value of an expression may be, or hold; nothing if it shares nothing with anything."""
    if node is None:
        return ()
    handler = _VALUES.get(type(node))
    if handler is not None:
        return handler(trace, node)
    for child in children(node):
        if isinstance(child, ast.expr):
            value(trace, child)
    return ()


def _name(trace: Trace, node: ast.Name) -> Groups:
    groups = trace.name_of(node.id)
    if groups:
        trace.load(node.id, groups)
    return groups


def _attribute(trace: Trace, node: ast.Attribute) -> Groups:
    if calls.imported(trace, node):
        return ()
    groups, name = path(trace, node)
    if groups and name:
        trace.load(name, groups)
    return groups


def _subscript(trace: Trace, node: ast.Subscript) -> Groups:
    groups, name = path(trace, node)
    if groups and name:
        trace.load(name, groups)
    return groups


def _inside(trace: Trace, node: ast.Starred | ast.Await) -> Groups:
    return value(trace, node.value)


def _binop(trace: Trace, node: ast.BinOp) -> Groups:
    left, right = value(trace, node.left), value(trace, node.right)
    if isinstance(node.op, PRODUCTS) and (left or right):
        trace.tick += 1
        trace.keep((*left, *right), node)
    # Whether a side that is an operation itself makes a container was seen when it was gone through.
    plain = (one for one in (node.left, node.right) if not isinstance(one, ast.BinOp))
    if any(one.container for one in (*left, *right)) or any(map(collects, plain)):
        made = trace.made(container=True)
        if left or right:
            join((made, *left, *right))
        return (made,)
    if isinstance(node.op, ast.Pow):
        made = trace.made()
        trace.keep((made,), node)
        return (made,)
    return ()


def _ifexp(trace: Trace, node: ast.IfExp) -> Groups:
    value(trace, node.test)
    found: list[Group] = []
    for arm in (node.body, node.orelse):
        groups = value(trace, arm)
        if groups or not isinstance(arm, ast.Constant):
            found += groups or (trace.made(),)
    return tuple(found)


def _unary(trace: Trace, node: ast.UnaryOp) -> Groups:
    groups = value(trace, node.operand)
    return groups if isinstance(node.op, ast.UAdd) else ()  # `+x` is x itself


def _boolop(trace: Trace, node: ast.BoolOp) -> Groups:
    found: list[Group] = []
    for one in node.values:
        found += value(trace, one)
    return tuple(found)


def _named(trace: Trace, node: ast.NamedExpr) -> Groups:
    groups = value(trace, node.value)
    bind_target(trace, node.target, groups, node.value)
    return trace.env.get(node.target.id, ())


def _display(trace: Trace, node: ast.List | ast.Tuple | ast.Set) -> Groups:
    if not any(isinstance(one, ast.expr) and not isinstance(one, ast.Constant) for one in node.elts):
        return ()
    made = trace.made(container=True)
    empty = True
    places = len(node.elts) <= MAX_PLACES and not any(isinstance(one, ast.Starred) for one in node.elts)
    for position, one in enumerate(node.elts):
        groups = value(trace, one)
        for group in groups:
            made.made |= find(group).made
        if groups:
            empty = False
            into = field(made, f"[{position}]") if places else collapse(made)
            join((into, *groups))
    return () if empty else (made,)


def _dict(trace: Trace, node: ast.Dict) -> Groups:
    made = trace.made(container=True)
    for key, one in zip(node.keys, node.values, strict=True):
        groups = value(trace, one)
        if key is not None and not isinstance(key, ast.Constant):
            value(trace, key)
        if groups:
            into = field(made, key_of(key)) if isinstance(key, ast.Constant) else collapse(made)
            join((into, *groups))
            for group in groups:
                find(made).made |= find(group).made
    return (made,)


def _comprehension(trace: Trace, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Groups:
    outer = dict(trace.env)
    loops = trace.loops
    for generator in node.generators:
        over = value(trace, generator.iter)
        trace.loops |= {id(generator)}
        bind_iterated(trace, generator.target, generator.iter, over)
        for test in generator.ifs:
            value(trace, test)
    if isinstance(node, ast.DictComp):
        value(trace, node.key)
        groups = value(trace, node.value)
    else:
        groups = value(trace, node.elt)
    trace.loops = loops
    trace.env = outer
    made = trace.made(container=True)
    if groups:
        join((collapse(made), *groups))
    return (made,)


def _lambda(trace: Trace, node: ast.Lambda) -> Groups:
    trace._inner.append(node)
    return ()


def _yield(trace: Trace, node: ast.Yield | ast.YieldFrom) -> Groups:
    groups = value(trace, node.value)
    trace.flag([one for group in groups for one in reached(group)], YIELDED)
    trace.note_gradient(groups)
    if node.value is not None:
        trace.returned.append((node.value, groups))
    return ()


_VALUES: dict[type[ast.AST], Callable[..., Groups]] = {
    ast.Constant: lambda trace, node: (),
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Starred: _inside,
    ast.Await: _inside,
    ast.Call: calls.call,
    ast.BinOp: _binop,
    ast.IfExp: _ifexp,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolop,
    ast.NamedExpr: _named,
    ast.List: _display,
    ast.Tuple: _display,
    ast.Set: _display,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}
