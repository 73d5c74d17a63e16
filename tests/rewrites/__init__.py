"""Rewrites of a program that leave what it does as it is, and where each of its statements then stands."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Rewrite = Callable[[str, ast.Module], tuple[str, ast.Module]]
"""From a text and its tree to a new text and the tree that it has.

Nodes that the new tree has from the old one keep their old lines; new statements have the line 0.  The old tree may be
changed.
"""


@dataclass(frozen=True)
class Rewritten:
    """A program's new text, its tree, and the line in the old text of each statement: 0 for those that are new."""

    text: str
    tree: ast.Module
    lines: dict[ast.stmt, int]

    def home(self, line: int, column: int) -> int:
        """The line in the old text of the statement around a place of the new one: a column in code points."""
        place = (line, len(self.text.split("\n")[line - 1][:column].encode()))
        around = [one for one in self.lines if (one.lineno, one.col_offset) <= place < _end(one)]
        return self.lines[max(around, key=lambda one: (one.lineno, one.col_offset))] if around else 0


def rewritten(text: str, *rewrites: Rewrite) -> Rewritten:
    """The program after all of these, one after the other; raises ValueError where a text is not that of its tree."""
    tree = ast.parse(text)
    done = Rewritten(text, tree, {node: node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)})
    for rewrite in rewrites:
        done = then(done, rewrite)
    return done


def then(before: Rewritten, rewrite: Rewrite) -> Rewritten:
    """One rewrite more."""
    first = {0: 0}
    for statement, line in before.lines.items():
        first.setdefault(statement.lineno, line)
    text, shape = rewrite(before.text, ast.parse(before.text))
    tree = ast.parse(text)
    lines: dict[ast.stmt, int] = {}
    for old, node in zip(ast.walk(shape), ast.walk(tree), strict=True):
        if type(old) is not type(node) or _said(old) != _said(node):
            raise ValueError(f"line {getattr(node, 'lineno', 0)} is not what was meant: {ast.unparse(node)}")
        if isinstance(node, ast.stmt) and isinstance(old, ast.stmt):
            lines[node] = first[old.lineno]
    return Rewritten(text, tree, lines)


def _said(node: ast.AST) -> list[Any]:
    """The names and constants of a node."""
    return [value for _, value in ast.iter_fields(node) if isinstance(value, (str, int, float, bytes))]


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0
