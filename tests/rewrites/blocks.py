"""Statements that do nothing, and blocks that always run, around and between the statements of functions."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def bodies_in_if(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """The body of each function under `if True:`."""
    return _around(tree, lambda body: ast.If(ast.Constant(True), body, [], lineno=0))


def bodies_in_with(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """The body of each function under a `with` that does nothing."""
    start = _first(tree.body)
    tree.body[start:start] = _new("import contextlib")

    def wrap(body: list[ast.stmt]) -> ast.stmt:
        (block,) = _new("with contextlib.nullcontext(): pass")
        assert isinstance(block, ast.With)
        block.body = body
        return block

    return _around(tree, wrap)


def bodies_in_try(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """The body of each function under a `try` with an empty `finally`."""

    def wrap(body: list[ast.stmt]) -> ast.stmt:
        (block,) = _new("try: pass\nfinally: pass")
        assert isinstance(block, ast.Try)
        block.body = body
        return block

    return _around(tree, wrap)


def _around(tree: ast.Module, wrap: Callable[[list[ast.stmt]], ast.stmt]) -> tuple[str, ast.Module]:
    for function in _functions(tree):
        start = _first(function.body)
        if function.body[start:]:
            function.body[start:] = [wrap(function.body[start:])]
    return ast.unparse(tree) + "\n", tree


def some_in_if(seed: int) -> Callable[[str, ast.Module], tuple[str, ast.Module]]:
    """About a third of all statements of functions under an `if True:` each: with the same seed always the same."""

    def rewrite(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
        for function in _functions(tree):
            chance = random.Random(f"{seed} {function.name} {function.lineno}")
            for body in list(_blocks(function)):
                for at in range(_first(body), len(body)):
                    if chance.random() < 0.35:
                        body[at] = ast.If(ast.Constant(True), [body[at]], [], lineno=0)
        return ast.unparse(tree) + "\n", tree

    return rewrite


def padded(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """`pass`, and an assignment to a name that nobody reads, before each statement of each function."""
    for function in _functions(tree):
        for body in list(_blocks(function)):
            start = _first(body)
            body[start:] = [one for old in body[start:] for one in (*_new("pass\nunread = len('unread')"), old)]
    return ast.unparse(tree) + "\n", tree


def swapped(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """The arms of each conditional change places, and its test says the opposite."""
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.If) and node.orelse:
            node.body, node.orelse, node.test = node.orelse, node.body, _negated(node.test)
        elif isinstance(node, ast.IfExp):
            node.body, node.orelse, node.test = node.orelse, node.body, _negated(node.test)
    return ast.unparse(tree) + "\n", tree


def returned_by_name(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """What a function returns gets a name first."""
    for function in _functions(tree):
        for body in list(_blocks(function)):
            last = body[-1]
            if isinstance(last, ast.Return) and last.value and not isinstance(last.value, (ast.Name, ast.Constant)):
                bound = ast.Assign([ast.Name("answer", ast.Store())], last.value, lineno=last.lineno)
                body[-1:] = [bound, ast.Return(ast.Name("answer", ast.Load()), lineno=last.lineno)]
    return ast.unparse(tree) + "\n", tree


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _new(text: str) -> list[ast.stmt]:
    """Statements that the old program has not: they have no line."""
    made = ast.parse(text).body
    for node in made:
        for one in ast.walk(node):
            if isinstance(one, ast.stmt):
                one.lineno = 0
    return made


def _functions(tree: ast.Module) -> list[_Function]:
    return [node for node in ast.walk(tree) if isinstance(node, _Function)]


def _blocks(function: _Function) -> Iterator[list[ast.stmt]]:
    """The body of a function, and the blocks of the statements in it; not those of functions inside."""
    waiting = [function.body]
    while waiting:
        body = waiting.pop()
        yield body
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            waiting += [block for name in ("body", "orelse", "finalbody") if (block := getattr(node, name, None))]


def _first(body: list[ast.stmt]) -> int:
    """Where a body begins behind its docstring, and behind imports from `__future__`."""
    at = 0
    for node in body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        at += 1
    return at
