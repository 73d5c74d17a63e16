"""Where an expression stands, for repairs: what its statement makes of it, step by step."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import ops

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def holds(outer: ast.AST | None, node: ast.AST) -> bool:
    """Whether a node is in another one."""
    return outer is not None and any(part is node for part in ast.walk(outer))


def grown(module: Module, node: ast.AST) -> ast.expr | None:
    """The largest expression that is one operation after another on what an expression gives."""
    outer = node
    for parent in reversed(path_to(module, node)):
        match parent:
            case ast.Attribute() | ast.Subscript() if parent.value is outer:
                pass
            case ast.Call(func=ast.Attribute() as func) if func is outer:
                pass
            case ast.Call(args=args) if outer in args and _of_torch(module, parent):
                pass
            case ast.BinOp() | ast.UnaryOp():
                pass
            case _:
                break
        outer = parent
    return outer if isinstance(outer, ast.expr) else None


def bound_whole(module: Module, node: ast.AST) -> ast.expr | None:
    """The value of the assignment to one name that is computed of an expression."""
    whole = grown(module, node)
    match path_to(module, whole)[-1:] if whole is not None else []:
        case [ast.Assign(targets=[ast.Name()], value=value)] if value is whole:
            return whole
    return None


def computed_alone(outer: ast.expr, node: ast.AST) -> bool:
    """Whether nothing but views, conversions and arithmetic with numbers leads from a node to what `grown` finds."""
    here = outer
    while here is not node:
        match here:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
                pass
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=args) if holds(inner, node):
                row = ops.method(name)
                if row is None or not (row.result in ("view", "maybe", "same") or all(map(_is_number, args))):
                    return False
            case ast.Call(args=[inner]) if holds(inner, node):
                pass
            case ast.BinOp(left=inner, right=other) if holds(inner, node):
                if not _is_number(other):
                    return False
            case ast.BinOp(left=other, right=inner):
                if not _is_number(other):
                    return False
            case _:
                return False
        here = inner
    return True


def method_of(module: Module, node: ast.AST) -> ast.Call | None:
    """The call of a method of what an expression gives, as `x.half()` for x."""
    match path_to(module, node)[-2:]:
        case [ast.Call(func=ast.Attribute(value=value)) as call, ast.Attribute() as func]:
            return call if func is call.func and value is node else None
    return None


def _is_number(node: ast.expr) -> bool:
    return all(
        isinstance(part, (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)) for part in ast.walk(node)
    )


def once(module: Module, first: ast.AST, second: ast.AST) -> bool:
    """Whether the second of two places in one function is met once for each time that the first is: there is no loop
    around it that is not around both."""
    one, other = path_to(module, first), path_to(module, second)
    return one[:1] == other[:1] and all(node in one for node in other if isinstance(node, _LOOPS))


def returned_from(module: Module, node: ast.AST) -> ast.expr | None:
    """What the function returns in which a node stands, if one statement tells, after it."""
    path = path_to(module, node)
    if not path or not isinstance(path[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    match [part for part in ast.walk(path[0]) if isinstance(part, (ast.Return, ast.Yield, ast.YieldFrom))]:
        case [ast.Return(value=value)] if value is not None and once(module, node, value):
            return value
    return None


def in_one_function(module: Module, first: ast.AST, second: ast.AST) -> bool:
    return path_to(module, first)[:1] == path_to(module, second)[:1]


def _of_torch(module: Module, call: ast.Call) -> bool:
    """A function of torch, which makes no module and no optimizer."""
    name = module.names.qualify(call.func) or ""
    return name.startswith("torch.") and name.rpartition(".")[2].islower() and ".optim." not in name


def path_to(module: Module, node: ast.AST) -> list[ast.AST]:
    """What is around a node and has a place of its own, from its function inwards."""
    from flake8_tensorcopy.engine.mutated import function_at

    function = function_at(module, node)
    top = function.node if function is not None else module.survey.body.node
    above = [one for one in module.below(top).around(node) if one is top or hasattr(one, "lineno")]
    return above[::-1]
