"""Statements of a trace: branches, loops, handlers, bindings."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.screens.assignments import ASSIGNMENTS, bind_iterated, bind_target, names_in
from flake8_tensorcopy.engine.screens.groups import Group

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.trace import Env, Trace
    from flake8_tensorcopy.engine.source import FunctionNode


def _if(trace: Trace, node: ast.If) -> bool:
    """An `if` with all its `elif`s: no recursion from one to the next."""
    ends: list[Env] = []
    since = len(trace.log)
    number = 0
    top = node
    while True:
        trace.value(node.test)
        env = trace.env
        if (end := trace.arm(top, number, node.body, env)) is not None:
            ends.append(end)
        trace.env = env
        number += 1
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            trace.statement += 1
            continue
        if not node.orelse:
            ends.append(env)
        elif (end := trace.arm(top, number, node.orelse, env)) is not None:
            ends.append(end)
        break
    trace.merge(ends, since)
    return bool(ends)


def _match(trace: Trace, node: ast.Match) -> bool:
    subject = trace.value(node.subject)
    env = trace.env
    since = len(trace.log)
    ends: list[Env] = [env]
    for number, case in enumerate(node.cases):
        trace.env = dict(env)
        for one in ast.walk(case.pattern):
            name = getattr(one, "name", None) or getattr(one, "rest", None)
            if isinstance(name, str):
                trace.bind(name, subject or (Group(),))
        if case.guard is not None:
            trace.value(case.guard)
        if (end := trace.arm(node, number, case.body, trace.env)) is not None:
            ends.append(end)
    trace.merge(ends, since)
    return True


def _for(trace: Trace, node: ast.For | ast.AsyncFor) -> None:
    binds = names_in(node.target)
    trace.binds = binds
    over = trace.value(node.iter)

    def bind() -> None:
        bind_iterated(trace, node.target, node.iter, over)

    trace.loop(bind, node.body, node.orelse)


def _while(trace: Trace, node: ast.While) -> None:
    def look() -> None:
        trace.value(node.test)

    trace.loop(look, node.body, node.orelse)


def _try(trace: Trace, node: ast.Try) -> bool:
    before = dict(trace.env)
    since = len(trace.log)
    reached_end = trace.block(node.body)
    after = trace.env
    ends: list[Env] = []
    trace.merge([before, after], since)
    broken = trace.env
    for handler in node.handlers:
        trace.env = dict(broken)
        if handler.name:
            trace.bind(handler.name, ())
        if trace.block(handler.body):
            ends.append(trace.env)
    trace.env = after
    if reached_end and trace.block(node.orelse):
        ends.append(trace.env)
    if ends:
        trace.merge(ends, since)
    else:
        trace.env = broken
    return trace.block(node.finalbody) and bool(ends)


def _with(trace: Trace, node: ast.With | ast.AsyncWith) -> bool:
    for item in node.items:
        groups = trace.value(item.context_expr)
        if item.optional_vars is not None:
            bind_target(trace, item.optional_vars, groups, item.context_expr)
    outer = trace.recording
    trace.recording = outer and not any(trace.without_grad(item.context_expr) for item in node.items)
    ended = trace.block(node.body)
    trace.recording = outer
    return ended


def _expr(trace: Trace, node: ast.Expr) -> None:
    trace.whole = node.value
    trace.value(node.value)


def _return(trace: Trace, node: ast.Return) -> bool:
    if node.value is not None:
        groups = trace.value(node.value)
        trace.returned.append((node.value, groups))
    return False


def _raise(trace: Trace, node: ast.Raise) -> bool:
    made = node.exc
    if isinstance(made, ast.Call) and not made.keywords and all(isinstance(one, ast.Constant) for one in made.args):
        return False  # of words alone
    trace.value(made)
    trace.value(node.cause)
    return False


def _assert(trace: Trace, node: ast.Assert) -> None:
    trace.value(node.test)


def _leave(trace: Trace, _node: ast.AST) -> bool:
    return trace.leave()


def _function(trace: Trace, node: FunctionNode) -> None:
    for default in (*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)):
        trace.value(default)
    trace._inner.append(node)
    trace.inner_named.setdefault(node.name, []).append(node)


def _class(trace: Trace, node: ast.ClassDef) -> None:
    trace.block([one for one in node.body if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))])


# False where the end of the statement is not reached.
STATEMENTS: dict[type[ast.AST], Callable[..., bool | None]] = {
    ast.If: _if,
    ast.Match: _match,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Expr: _expr,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Break: _leave,
    ast.Continue: _leave,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    **ASSIGNMENTS,
}
