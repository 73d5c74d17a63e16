"""Whether a name stands for a tensor by every assignment that reaches a place, for repairs that call a method of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.around import path_to
from flake8_tensorcopy.engine.guards import leaves
from flake8_tensorcopy.engine.nodes import children
from flake8_tensorcopy.engine.texts import text_of

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module

MAX_DEPTH = 8
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TRIES = (ast.Try, ast.TryStar)
# Functions and methods that give a number, text, None, or a container.
_NO_TENSORS = frozenset("abs bool dict float getattr int len list max min next pow round set str sum tuple".split())
_NO_TENSOR_METHODS = frozenset("dim get item numel pop size time tolist".split())
_NO_MODULES = ("math.", "np.", "numpy.", "time.", "random.", "os.")
# What a number has, too.
_OF_NUMBERS = frozenset(dir(float)) | frozenset(dir(int))

Found = list[ast.expr | None]  # what a name is bound to; None where no expression tells


def surely_tensor(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression that is on a graph, as far as is known, is a tensor on every path that leads to it.

    Of a name or an attribute that means that nothing which it may have been bound to is a number, None or unknown; one
    assignment alone need not be known.  What the statements before did with it tells, too: `loss.backward()`.
    """
    match node:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            found = _reaching(module, node)
        case _:
            found = [node]
    return all(_given(module, one, len(found) == 1, depth) for one in found)


def _given(module: Module, node: ast.expr | None, alone: bool, depth: int) -> bool:
    """Whether an expression gives a tensor; `alone`: it is what the finding is about, so that it may be unknown."""
    match node:
        case None:
            return alone
        case ast.UnaryOp(operand=operand) if not isinstance(node.op, ast.Not):
            return _given(module, operand, alone, depth)
        case ast.BinOp(left=left, right=right):
            return any(_given(module, side, alone, depth) for side in (left, right))
        case ast.IfExp(body=body, orelse=orelse):
            return _given(module, body, False, depth) and _given(module, orelse, False, depth)
        case ast.NamedExpr(value=value) | ast.Await(value=value):
            return _given(module, value, alone, depth)
        case ast.Call(func=func):
            if isinstance(func, ast.Attribute):
                return func.attr not in _NO_TENSOR_METHODS and not text_of(func).startswith(_NO_MODULES)
            return not (isinstance(func, ast.Name) and func.id in _NO_TENSORS)
        case ast.Name() if depth < MAX_DEPTH:
            found = _reaching(module, node)
            if not found:
                return alone
            return all(_given(module, one, alone and len(found) == 1, depth + 1) for one in found)
        case ast.Attribute() | ast.Subscript():
            return alone
    return False


def _reaching(module: Module, node: ast.expr) -> Found:
    """What a name may have been bound to where it stands; nothing where that is proven to be a tensor, or unknown."""
    text = text_of(node)
    found: Found = []
    inner: ast.AST = node
    for outer in reversed(path_to(module, node)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(outer, name, None)
            if not isinstance(block, list) or inner not in block:
                continue
            ends, settled = _at_the_end(block[: block.index(inner)], text)
            found += ends
            if settled:
                return found
            if isinstance(outer, _TRIES) and name == "orelse":
                ends, settled = _at_the_end(outer.body, text)
                found += ends
                if settled:
                    return found
            elif isinstance(outer, _TRIES) and name == "finalbody":
                found += _anywhere(outer, text)
        if isinstance(outer, (*_LOOPS, ast.Match)) or isinstance(inner, ast.ExceptHandler):
            found += _anywhere(outer, text)  # what the pass before has bound, or the block that failed
        elif isinstance(outer, ast.If):
            found += _anywhere(outer.test, text)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return [*found, *_of_argument(outer, text)]
        inner = outer
    return found


def _at_the_end(block: list[ast.stmt], text: str) -> tuple[Found, bool]:
    """What a name may be bound to by statements once they are done, and whether it is bound by them on every path."""
    found: Found = []
    for statement in reversed(block):
        ends, settled = _of_statement(statement, text)
        found += ends
        if settled:
            return found, True
    return found, False


def _of_statement(statement: ast.stmt, text: str) -> tuple[Found, bool]:
    match statement:
        case ast.Assign(targets=targets, value=value) if any(_is_bound(target, text) for target in targets):
            return [_part(targets, value, text)], True
        case ast.AnnAssign(target=target, value=ast.expr() as value) if text_of(target) == text:
            return [value], True
        case ast.AugAssign(target=target, value=ast.Call() as value) if text_of(target) == text:
            return [value], True
        case _ if _shows(statement, text):
            return [], True
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _at_the_end(body, text)
        case ast.If(body=body, orelse=orelse):
            arms = [_at_the_end(arm, text) for arm in (body, orelse) if not leaves(arm)]
            ends = [one for found, _ in arms for one in found]
            return [*ends, *_anywhere(statement.test, text)], all(settled for _, settled in arms)
        case ast.Try(body=body, orelse=orelse, handlers=handlers, finalbody=last) if all(
            leaves(one.body) for one in handlers
        ):
            return _at_the_end([*body, *orelse, *last], text)
    return _anywhere(statement, text), False


def _anywhere(statement: ast.AST, text: str) -> Found:
    """What a name is bound to in a statement, its own blocks included."""
    found: Found = []
    match statement:
        case ast.Assign(targets=targets, value=value) if any(_is_bound(target, text) for target in targets):
            found.append(_part(targets, value, text))
        case ast.AnnAssign(target=target, value=ast.expr() as value) if text_of(target) == text:
            found.append(value)
        case ast.NamedExpr(target=target, value=value) if target.id == text:
            found.append(value)
        case ast.For(target=target) | ast.AsyncFor(target=target) | ast.withitem(optional_vars=ast.expr() as target):
            if _is_bound(target, text):
                found.append(None)
    if not isinstance(statement, _FUNCTIONS):
        for child in children(statement):
            found += _anywhere(child, text)
    return found


def _is_bound(target: ast.expr, text: str) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_is_bound(one, text) for one in target.elts)
    return text_of(target.value if isinstance(target, ast.Starred) else target) == text


def _part(targets: list[ast.expr], value: ast.expr, text: str) -> ast.expr | None:
    """What an assignment gives to a name: the whole value, an item of a pair that is written out, or unknown."""
    for target in targets:
        if text_of(target) == text:
            return value
        match target, value:
            case ((ast.Tuple(elts=names) | ast.List(elts=names)), (ast.Tuple(elts=items) | ast.List(elts=items))):
                if len(names) == len(items) and not any(isinstance(one, ast.Starred) for one in (*names, *items)):
                    return next((item for one, item in zip(names, items, strict=True) if _is_bound(one, text)), None)
            case ((ast.Tuple() | ast.List()), ast.Call()):
                return value
    return None


def _shows(statement: ast.stmt, text: str) -> bool:
    """Whether a statement would have failed on what is no tensor: `loss.backward()`, `scaler.scale(loss).backward()`,
    `fabric.backward(loss)`, `value = loss.item()`."""
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)):
        return False
    match statement.value:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if text_of(value) == text:
            return name not in _OF_NUMBERS
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr="scale"), args=[given]), attr="backward")
        ):
            return text_of(given) == text
        case ast.Call(func=ast.Attribute(value=ast.BinOp(left=given, op=ast.Div()), attr="backward")):
            return text_of(given) == text
        case ast.Call(func=ast.Attribute(attr="backward" | "manual_backward"), args=[given, *_]):
            return text_of(given) == text
    return False


def _of_argument(function: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> Found:
    """What an argument may be, by its default and annotation; nothing where there is no such argument."""
    spec = function.args
    named = [*spec.posonlyargs, *spec.args]
    defaults: dict[str, ast.expr | None] = {one.arg: None for one in (*named, *spec.kwonlyargs)}
    if text not in defaults:
        return []
    defaults.update(zip([one.arg for one in named[len(named) - len(spec.defaults) :]], spec.defaults, strict=True))
    defaults.update(zip([one.arg for one in spec.kwonlyargs], spec.kw_defaults, strict=True))
    return [defaults[text]]
