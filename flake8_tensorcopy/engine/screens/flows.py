"""Where a value may come from, through the names of a function."""

from __future__ import annotations

import ast
from collections.abc import Callable

from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.sketch import Sketch


class Flow:
    """Which expressions of a function may have been made, on some way, by one of certain nodes."""

    def __init__(self, sketch: Sketch, makes: Callable[[ast.AST], bool], ends: frozenset[str] = frozenset()) -> None:
        """`makes` says of a node whether it is one of them; what a method of one of the names `ends` gives is not
        what the method was called on."""
        self._makes = makes
        self._ends = ends
        waiting: dict[str, set[str]] = {}
        self._names: set[str] = set()
        for name, values in sketch.bound.items():
            for value, _ in values:
                made, used = self._look(value)
                if made:
                    self._names.add(name)
                else:
                    waiting.setdefault(name, set()).update(used)
        for node in sketch.function.found.get(ast.Assign, ()):
            for target in node.targets:
                if isinstance(target, (ast.Attribute, ast.Subscript)):
                    made, used = self._look(node.value)
                    root = root_of(target)
                    if made:
                        self._names.add(root)
                    else:
                        waiting.setdefault(root, set()).update(used)
        changed = bool(self._names)
        while changed:
            more = {name for name, used in waiting.items() if name not in self._names and used & self._names}
            self._names |= more
            changed = bool(more)

    def reaches(self, node: ast.expr) -> bool:
        """Whether the value of an expression may come from there."""
        made, used = self._look(node)
        return made or not self._names.isdisjoint(used)

    def _look(self, node: ast.expr) -> tuple[bool, set[str]]:
        """Whether an expression holds one of the nodes, and the names in it, as far as they reach its value."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in self._ends:
            if self._makes(node):
                return True, set()
            if node.args or node.keywords:
                break
            node = node.func.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in self._ends:
            return False, set()
        used: set[str] = set()
        for part in walk(node):
            if isinstance(part, ast.Name):
                used.add(part.id)
            elif self._makes(part):
                return True, used
        return False, used


def root_of(node: ast.expr) -> str:
    """The name that an item or attribute is taken of."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
