"""Whether what a statement binds to a name would be read: asked for the repairs of single findings only."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.run import Run

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def read_later(run: Run, name: str, statement: ast.stmt) -> bool:
    """A new value of the name, bound by the statement, would be read: below it, or in the next pass of a loop."""
    inside = set(ast.walk(statement))
    mentions = [node for node in run.mentions(name) if node not in inside]
    if any(isinstance(node.ctx, ast.Load) and _place(node) > _place(statement) for node in mentions):
        return True
    parents = run.parents()
    outer: ast.AST | None = statement
    while outer is not None and outer is not run.function.node:
        outer = parents.get(outer)
        if isinstance(outer, _LOOPS):
            within = set(ast.walk(outer))
            first = next((node for node in mentions if node in within), None)
            if first is not None and isinstance(first.ctx, ast.Load):
                return True
            if first is not None and isinstance(outer, (ast.For, ast.AsyncFor)) and first in ast.walk(outer.target):
                return False
    return False


def _place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset
