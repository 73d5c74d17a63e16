"""Whether what a statement binds to a name would be read: asked for the repairs of single findings only."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from flake8_tensorcopy.engine.run import Run

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def read_later(run: Run, name: str, statement: ast.stmt) -> bool:
    """A new value of the name, bound by the statement, would be read: below it, or in the next pass of a loop."""
    if name in run.closed_over:
        return True
    around = list(_around(run, statement))
    inside = set(ast.walk(statement))
    mentions = [node for node in run.mentions(name) if node not in inside]
    if _reads_first(run, (node for node in mentions if _place(node) > _place(statement)), around):
        return True
    for loop in around:
        if isinstance(loop, _LOOPS):
            within = set(ast.walk(loop))
            if _reads_first(run, (node for node in mentions if node in within), around):
                return True
    return False


def _around(run: Run, statement: ast.stmt) -> Iterator[ast.AST]:
    """What a statement stands in, up to the function."""
    parents = run.parents()
    outer: ast.AST | None = parents.get(statement)
    while outer is not None:
        yield outer
        outer = parents.get(outer)


def _reads_first(run: Run, mentions: Iterable[ast.Name], around: list[ast.AST]) -> bool:
    """The first of these mentions reads the name: none binds it anew before, in the statements around."""
    parents = run.parents()
    for node in mentions:
        holder = parents.get(node)
        if isinstance(node.ctx, ast.Load) or isinstance(holder, ast.AugAssign):
            return True
        while holder is not None and not isinstance(holder, ast.stmt):
            holder = parents.get(holder)
        if holder is None:
            continue
        value = holder.iter if isinstance(holder, (ast.For, ast.AsyncFor)) else getattr(holder, "value", None)
        if value is not None and any(isinstance(one, ast.Name) and one.id == node.id for one in ast.walk(value)):
            return True
        if holder in around or parents.get(holder) in around:
            return False
    return False


def _place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset
