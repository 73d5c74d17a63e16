"""A copy where a finding says that none is made."""

from __future__ import annotations

import ast
from collections.abc import Collection


def cloned(tree: ast.Module, lines: Collection[int], method: str = "clone") -> int:
    """Copies what the statements on these lines bind, store, hand over or return; returns how many values it copied."""
    count = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or node.lineno not in lines:
            continue
        match node:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Return() if node.value is not None:
                node.value, copies = _each(node.value, method)
            case ast.Expr(value=ast.Yield(value=ast.expr() as value) as given_out):
                given_out.value, copies = _each(value, method)
            case ast.Expr(value=ast.Call() as call):
                parts = [_each(part, method) for part in call.args]
                call.args = [part for part, _ in parts]
                copies = sum(copies for _, copies in parts)
                for given in call.keywords:
                    given.value, more = _each(given.value, method)
                    copies += more
            case _:
                copies = 0
        count += copies
    return count


def _each(value: ast.expr, method: str) -> tuple[ast.expr, int]:
    """A copy of a value, or of each part of a tuple, a list or a comprehension."""
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        value.elt, copies = _each(value.elt, method)
        return value, copies
    if isinstance(value, (ast.Tuple, ast.List)):
        parts = [_each(part, method) for part in value.elts]
        value.elts = [part for part, _ in parts]
        return value, sum(copies for _, copies in parts)
    if isinstance(value, ast.Constant):
        return value, 0
    return ast.Call(ast.Attribute(value, method, ast.Load()), [], []), 1


def bound_at(tree: ast.Module, line: int) -> int:
    """Where the name was bound that the statement on a line writes in place; the line itself if it writes no name."""
    name = ""
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) == line:
            match node:
                case ast.AugAssign(target=ast.Name(id=found)):
                    name = found
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=method))):
                    name = found if method.endswith("_") else name
    bindings = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and node.lineno < line
        for target in node.targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name) and part.id == name
    ]
    return max(bindings, default=line)
