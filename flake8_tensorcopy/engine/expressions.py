"""What each form of expression is evaluated by."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.calls import call
from flake8_tensorcopy.engine.displays import comprehended, mapping, sequence
from flake8_tensorcopy.engine.evaluate import HANDLERS, attribute, constant, evaluate, name_read, outside_of
from flake8_tensorcopy.engine.graph import sink
from flake8_tensorcopy.engine.indexing import subscript
from flake8_tensorcopy.engine.operators import binary, boolean, compare, conditional, unary
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import (
    SLICE,
    STRING,
    UNKNOWN,
    Obj,
    Ref,
    Value,
)


def _lambda(run: Run, node: ast.Lambda) -> Value:
    run.module.outside.setdefault(run.module.as_function(node), outside_of(run, run.now.grad, node))
    obj = Obj("function", "fresh", node, data=node)
    return Value((Ref(obj),))


def _namedexpr(run: Run, node: ast.NamedExpr) -> Value:
    from flake8_tensorcopy.engine.assign import bind_target

    value = evaluate(run, node.value)
    run.use(value, node.value, "bind")
    bind_target(run, node.target, value, node.value)
    return run.now.env.get(node.target.id, value)


def _joined_string(run: Run, node: ast.JoinedStr) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            run.use_logged(evaluate(run, part.value), part.value)
            if isinstance(part.format_spec, ast.JoinedStr):
                _joined_string(run, part.format_spec)
    return STRING


def _await(run: Run, node: ast.Await) -> Value:
    return evaluate(run, node.value)


def _yield(run: Run, node: ast.Yield) -> Value:
    run.yields = True
    if node.value is not None:
        value = evaluate(run, node.value)
        run.use_deep(value, node.value, "yield")
        run.hand_out(value, node, "yield")
        sink(run, value, node, kept=True)
    return UNKNOWN


def _yield_from(run: Run, node: ast.YieldFrom) -> Value:
    run.yields = True
    run.use_deep(evaluate(run, node.value), node.value, "yield")
    return UNKNOWN


def _starred(run: Run, node: ast.Starred) -> Value:
    return evaluate(run, node.value)


def _slice(run: Run, node: ast.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            evaluate(run, part)
    return SLICE


HANDLERS.update(
    {
        ast.Constant: constant,
        ast.Name: name_read,
        ast.Attribute: attribute,
        ast.Subscript: subscript,
        ast.BinOp: binary,
        ast.UnaryOp: unary,
        ast.BoolOp: boolean,
        ast.Compare: compare,
        ast.IfExp: conditional,
        ast.Tuple: sequence,
        ast.List: sequence,
        ast.Set: sequence,
        ast.Dict: mapping,
        ast.ListComp: comprehended,
        ast.SetComp: comprehended,
        ast.GeneratorExp: comprehended,
        ast.DictComp: comprehended,
        ast.Lambda: _lambda,
        ast.NamedExpr: _namedexpr,
        ast.JoinedStr: _joined_string,
        ast.Await: _await,
        ast.Yield: _yield,
        ast.YieldFrom: _yield_from,
        ast.Starred: _starred,
        ast.Slice: _slice,
        ast.Call: call,
    }
)
