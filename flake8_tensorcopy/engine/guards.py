"""Whether the code around an expression has made sure that it is not None, for repairs that call a method of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.around import path_to
from flake8_tensorcopy.engine.texts import text_of

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
# What evaluates its parts later, or not all of them.
_PERHAPS = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def leaves(body: list[ast.stmt]) -> bool:
    """Whether nothing behind a block is reached through it."""
    return bool(body) and isinstance(body[-1], _LEAVES)


def surely_there(module: Module, node: ast.expr) -> bool:
    """Whether a name or an attribute cannot be None where it stands: it is asked for, or used as something, before."""
    text = text_of(node)
    inner: ast.AST = node
    for outer in reversed(path_to(module, node)):
        match outer:
            case ast.If(test=test, body=body, orelse=orelse):
                if (inner in body and _is_there(test, text)) or (inner in orelse and _is_none(test, text)):
                    return True
            case ast.IfExp(test=test, body=body, orelse=orelse):
                if (inner is body and _is_there(test, text)) or (inner is orelse and _is_none(test, text)):
                    return True
            case ast.ListComp(generators=parts) | ast.SetComp(generators=parts) | ast.GeneratorExp(generators=parts):
                if any(_is_there(test, text) for part in parts for test in part.ifs):
                    return True
            case ast.DictComp(generators=parts) if any(_is_there(test, text) for part in parts for test in part.ifs):
                return True
        for earlier in _before(outer, inner):
            if _makes_sure(earlier, text):
                return True
            match earlier:
                case ast.Assign(targets=[target], value=ast.Name() | ast.Attribute() as value):
                    if text_of(target) == text:
                        text = text_of(value)
                        continue
            if _binds(earlier, text):
                return False
        if _binds_in_turn(outer, text):
            return False
        inner = outer
    return False


def _before(outer: ast.AST, inner: ast.AST) -> Iterator[ast.stmt]:
    """The statements before one in its block, the last one first."""
    for block in (getattr(outer, name, None) for name in ("body", "orelse", "finalbody")):
        if isinstance(block, list) and inner in block:
            yield from reversed(block[: block.index(inner)])


def _is_there(test: ast.expr, text: str) -> bool:
    """Whether a condition holds only for what is not None."""
    match test:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return text in _names(left)
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_is_there(one, text) for one in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_none(operand, text)
    return False


def _is_none(test: ast.expr, text: str) -> bool:
    """Whether a condition holds for all that is None."""
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return text in _names(left)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_is_none(one, text) for one in values)
    return False


def _names(node: ast.expr) -> tuple[str, ...]:
    if isinstance(node, ast.NamedExpr):
        return node.target.id, text_of(node.value)
    return (text_of(node),)


def _makes_sure(statement: ast.stmt, text: str) -> bool:
    """Whether no None gets past a statement: it leaves, fails, or calls or computes something of the value."""
    match statement:
        case ast.If(test=test, body=body):
            return leaves(body) and _is_none(test, text)
        case ast.Assert(test=test):
            return _is_there(test, text)
        case ast.Expr() | ast.Assign() | ast.AugAssign():
            return not _binds(statement, text) and _uses(statement, text)
    return False


def _uses(node: ast.AST, text: str) -> bool:
    """Whether an attribute, an item or a sum of the value is taken, in any case."""
    match node:
        case ast.Attribute(value=value) | ast.Subscript(value=value) if text_of(value) == text:
            return True
        case ast.BinOp(left=left, right=right) if text in (text_of(left), text_of(right)):
            return True
    return not isinstance(node, _PERHAPS) and any(_uses(child, text) for child in ast.iter_child_nodes(node))


def _binds(statement: ast.AST, text: str) -> bool:
    """Whether the value may be another one after a statement: it, or what it is taken from, is bound."""
    return any(
        isinstance(part, (ast.Name, ast.Attribute))
        and isinstance(part.ctx, (ast.Store, ast.Del))
        and f"{text}.".startswith(f"{text_of(part)}.")
        for part in ast.walk(statement)
    )


def _binds_in_turn(outer: ast.AST, text: str) -> bool:
    """Whether a loop or a comprehension binds the value anew in each pass."""
    match outer:
        case ast.For(target=target) | ast.AsyncFor(target=target):
            return _binds(target, text)
        case ast.ListComp(generators=parts) | ast.SetComp(generators=parts) | ast.GeneratorExp(generators=parts):
            return any(_binds(part.target, text) for part in parts)
        case ast.DictComp(generators=parts):
            return any(_binds(part.target, text) for part in parts)
    return False
