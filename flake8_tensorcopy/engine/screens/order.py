"""In which order a function reads and writes: its statements, the loops and blocks they stand in, where names are read.

Made by one walk, and only where something that may matter is written.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import NamedTuple

from flake8_tensorcopy.engine.nodes import children
from flake8_tensorcopy.engine.source import Function

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Load(NamedTuple):
    """A read of a root: its place in the order of nodes, and the statement."""

    at: int
    statement: int


class Span(NamedTuple):
    """A node: its place in the order of nodes, the last place inside it, the statement it belongs to."""

    first: int
    last: int
    statement: int


class Order:
    """The order of one function, with the spans of the nodes that are asked for."""

    def __init__(self, function: Function, nodes: Collection[ast.AST]) -> None:
        self.loads: dict[str, list[Load]] = {}
        self.spans: dict[ast.AST, Span] = {}
        self.late: set[int] = set()  # statements inside functions inside, which may run at any time
        self.statements: list[ast.AST] = []
        self.blocks: list[int] = []  # the block that each statement stands in
        self.block_of: list[tuple[int, bool]] = []  # of each block: the statement it belongs to, and whether it repeats
        self._wanted = set(nodes)
        self._count = 0
        self._walk(function.node.body)
        self.index = {node: index for index, node in enumerate(self.statements)}

    def _walk(self, body: list[ast.stmt]) -> None:
        """The statements in source order; deeper blocks wait on a stack, so that nesting costs no recursion."""
        self.block_of.append((-1, False))
        stack: list[tuple[list[ast.AST], int, int, bool]] = [([*body], 0, 0, False)]
        while stack:
            statements, position, block, late = stack.pop()
            if position >= len(statements):
                continue
            stack.append((statements, position + 1, block, late))
            node = statements[position]
            index = len(self.statements)
            self.statements.append(node)
            self.blocks.append(block)
            if late:
                self.late.add(index)
            first = self._count + 1
            parts = children(node)
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                parts.reverse()  # the value comes first
            for child in parts:
                if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                    self._expression(child, index)
            if node in self._wanted:
                self.spans[node] = Span(first, self._count, index)
            groups = _blocks_of(node)
            for number in range(len(groups) - 1, -1, -1):
                self.block_of.append((index, isinstance(node, _LOOPS) and number == 0))
                stack.append((groups[number], 0, len(self.block_of) - 1, late or isinstance(node, _INNER)))

    def _expression(self, node: ast.AST, statement: int) -> None:
        """An expression, depth first, in source order."""
        stack: list[ast.AST | tuple[ast.AST, int]] = [node]
        wanted = self._wanted
        while stack:
            one = stack.pop()
            if isinstance(one, tuple):
                self.spans[one[0]] = Span(one[1], self._count, statement)
                continue
            self._count += 1
            if one in wanted:
                stack.append((one, self._count))
            if isinstance(one, ast.Name):
                if isinstance(one.ctx, ast.Load):
                    self.loads.setdefault(one.id, []).append(Load(self._count, statement))
                continue
            if isinstance(one, ast.Lambda):
                self.late.add(statement)
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "self":
                if isinstance(one.ctx, ast.Load):
                    self.loads.setdefault(f"self.{one.attr}", []).append(Load(self._count, statement))
                continue
            stack.extend(reversed(children(one)))

    # ----- questions

    def path(self, statement: int) -> list[int]:
        """The blocks that a statement stands in, from the innermost out."""
        found = []
        while statement >= 0:
            block = self.blocks[statement]
            found.append(block)
            statement = self.block_of[block][0]
        return found

    def loops(self, statement: int) -> set[int]:
        """The blocks among them that repeat."""
        found = {block for block in self.path(statement) if self.block_of[block][1]}
        node = self.statements[statement]
        if isinstance(node, _LOOPS):  # its head is met again before each pass
            found |= {block for block, (owner, repeats) in enumerate(self.block_of) if owner == statement and repeats}
        return found

    def apart(self, one: int, other: int) -> bool:
        """Whether two statements stand in different arms of one `if`, or cases of one `match`."""
        owners = {self.block_of[block][0]: block for block in self.path(one)}
        for block in self.path(other):
            owner = self.block_of[block][0]
            if owner in owners and owners[owner] != block:
                return owner >= 0 and isinstance(self.statements[owner], (ast.If, ast.Match))
        return False

    def read_after(self, root: str, span: Span, but: Collection[ast.AST] = ()) -> bool:
        """Whether a root may be read after a node was evaluated, not counting what `but` statements read."""
        loops: set[int] | None = None
        for load in self.loads.get(root, ()):
            if span.first <= load.at <= span.last or self.statements[load.statement] in but:
                continue
            if load.statement == span.statement or load.statement in self.late or span.statement in self.late:
                return True
            if load.at > span.last and not self.apart(span.statement, load.statement):
                return True
            if loops is None:
                loops = self.loops(span.statement)
            if loops and not loops.isdisjoint(self.loops(load.statement)):
                return True
        return False


def _blocks_of(node: ast.AST) -> list[list[ast.AST]]:
    """The blocks of a statement, in source order; those of handlers and cases too."""
    found: list[list[ast.AST]] = []
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            found.append(block)
    return found
