"""Edits of whole statements: lines before and after one, and a block around some that follow each other.

What stands on lines of its own is moved by white space alone.  A suite on the line of its header (`if x: y.add_(1)`)
is first put on a line of its own; where statements share a line otherwise, there is no edit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.model import Edit, Span

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region

Edits = tuple[Edit, ...]

_STEP = "    "
_END = re.compile(r"\s*;?\s*(#.*)?")


class _Place(NamedTuple):
    """Where a statement stands: in which suite, of what."""

    owner: ast.AST
    suite: list[ast.stmt]
    position: int


class _Start(NamedTuple):
    """Where a statement begins once the edits are made that put it at the beginning of a line."""

    line: int
    column: int
    indent: str
    edits: Edits


class Blocks:
    """Makes the edits of one file."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def before(self, statement: ast.stmt, lines: Sequence[str]) -> Edits | None:
        start = self._start(statement)
        if start is None:
            return None
        if start.edits:
            (opened,) = start.edits
            return (Edit(opened.span, opened.text + "".join(f"{text}\n{start.indent}" for text in lines)),)
        at = Span(start.line, start.column, start.line, start.column)
        return (Edit(at, "".join(f"{text}\n{start.indent}" for text in lines)),)

    def after(self, statement: ast.stmt, lines: Sequence[str]) -> Edits | None:
        start = self._start(statement)
        if start is None or not self._ends_line(statement) or hasattr(statement, "body"):
            return None
        line = statement.end_lineno or statement.lineno
        column = len(self._region.lines[line - 1].rstrip("\n"))
        text = "".join(f"\n{start.indent}{text}" for text in lines)
        return (*start.edits, Edit(Span(line, column, line, column), text))

    def around(self, statement: ast.stmt, first: str, last: str) -> Edits | None:
        before, after = self.before(statement, [first]), self.after(statement, [last])
        return None if before is None or after is None else (*before, after[-1])

    def under(self, statements: Sequence[ast.stmt], header: str) -> Edits | None:
        start = self._start(statements[0])
        if start is None or not self._ends_line(statements[-1]):
            return None
        step = self._step(statements[0])
        if start.edits:
            if self._places[statements[0]].suite != list(statements):
                return None
            (opened,) = start.edits
            return (Edit(opened.span, f"{opened.text}{header}\n{start.indent}{step}"),)
        at = Span(start.line, start.column, start.line, start.column)
        end = statements[-1].end_lineno or statements[-1].lineno
        texts = {line for one in statements for line in _in_texts(one)}
        moved = (line for line in range(start.line + 1, end + 1) if line not in texts)
        return (Edit(at, f"{header}\n{start.indent}{step}"), *(edit for line in moved for edit in self._in(line, step)))

    def together(self, statements: Iterable[ast.stmt]) -> dict[ast.stmt, tuple[ast.stmt, ...]]:
        groups: dict[ast.stmt, tuple[ast.stmt, ...]] = {}
        last: ast.stmt | None = None
        for one in sorted(set(statements), key=lambda node: (node.lineno, node.col_offset)):
            group = (*groups[last], one) if last is not None and self._follows(last, one) else (one,)
            groups.update(dict.fromkeys(group, group))
            last = one
        return groups

    def _follows(self, one: ast.stmt, other: ast.stmt) -> bool:
        """The other is the next statement of the suite, and no blank line is between them."""
        here, there = self._places.get(one), self._places.get(other)
        if here is None or there is None or here.suite is not there.suite or there.position != here.position + 1:
            return False
        return all(self._region.lines[line - 1].strip() for line in range(one.lineno, other.lineno))

    @cached_property
    def _places(self) -> dict[ast.AST, _Place]:
        """The statements of the file, and handlers and cases, by where they stand."""
        places: dict[ast.AST, _Place] = {}
        pending: list[ast.AST] = [self._region.tree]
        while pending:
            owner = pending.pop()
            for name in ("body", "orelse", "finalbody"):
                suite: list[ast.stmt] = getattr(owner, name, [])
                places.update((one, _Place(owner, suite, index)) for index, one in enumerate(suite))
                pending += suite
            parts: list[ast.AST] = [*getattr(owner, "handlers", ()), *getattr(owner, "cases", ())]
            places.update((one, _Place(owner, [], 0)) for one in parts)
            pending += parts
        return places

    def _start(self, statement: ast.stmt) -> _Start | None:
        """Where a statement begins; None where others, or a backslash, come before it."""
        line = first_line(statement)
        text = self._region.lines[line - 1]
        column = len(text) - len(text.lstrip())
        if self._begins_line(statement):
            if line > 1 and self._region.lines[line - 2].endswith("\\\n"):
                return None
            return _Start(line, column, self._indent(line), ())
        place = self._places.get(statement)
        if place is None or place.position or line != statement.lineno:
            return None
        header, column = text[: self._region.span(statement).column], self._region.span(statement).column
        owner = self._line_of(place.owner)
        if not header.rstrip().endswith(":") or owner is None:
            return None
        indent = self._indent(owner) + self._step(statement)
        opened = Edit(Span(line, len(header.rstrip()), line, column), f"\n{indent}")
        return _Start(line, column, indent, (opened,))

    def _begins_line(self, statement: ast.stmt) -> bool:
        """Nothing but white space stands before a statement."""
        line = first_line(statement)
        text = self._region.lines[line - 1]
        if line != statement.lineno:
            return text.lstrip().startswith("@")
        return self._region.span(statement).column == len(text) - len(text.lstrip())

    def _indent(self, line: int) -> str:
        """The white space that a line begins with; a form feed begins it anew."""
        text = self._region.lines[line - 1]
        return text[: len(text) - len(text.lstrip())].rpartition("\f")[2]

    def _in(self, line: int, step: str) -> Edits:
        """A line one level deeper."""
        text = self._region.lines[line - 1]
        if not text.strip():
            return ()
        column = text[: len(text) - len(text.lstrip())].rfind("\f") + 1
        return (Edit(Span(line, column, line, column), step),)

    def _line_of(self, node: ast.AST) -> int | None:
        """The line that a statement, a handler or a case begins on."""
        if isinstance(node, ast.stmt):
            return first_line(node)
        if isinstance(node, ast.match_case):
            line = node.pattern.lineno
            return line if self._region.lines[line - 1].lstrip().startswith("case") else None
        return node.lineno if isinstance(node, ast.ExceptHandler) else None

    def _ends_line(self, statement: ast.stmt) -> bool:
        """Nothing but a comment follows on the line where a statement ends."""
        span = self._region.span(statement)
        return _END.fullmatch(self._region.lines[span.end_line - 1][span.end_column :].rstrip()) is not None

    def _step(self, statement: ast.stmt) -> str:
        """One level of indentation, as the blocks around a statement have it, or the first of the file."""
        place = self._places.get(statement)
        while place is not None and not isinstance(place.owner, ast.Module):
            if step := self._step_of(place):
                return step
            place = self._places.get(place.owner)
        steps = (self._step_of(place) for place in self._places.values() if not isinstance(place.owner, ast.Module))
        return next((step for step in steps if step), _STEP)

    def _step_of(self, place: _Place) -> str:
        owner = self._line_of(place.owner)
        inner = place.owner.cases[0] if isinstance(place.owner, ast.Match) else next(iter(place.suite), None)
        line = self._line_of(inner) if inner is not None else None
        if owner is None or line is None or (isinstance(inner, ast.stmt) and not self._begins_line(inner)):
            return ""
        outer, found = self._indent(owner), self._indent(line)
        return found[len(outer) :] if found.startswith(outer) else ""


def first_line(statement: ast.stmt) -> int:
    """The line where a statement begins, decorators counted."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(node.lineno for node in decorators)])


def _in_texts(statement: ast.stmt) -> Iterator[int]:
    """The lines of a statement that begin inside a literal text."""
    for node in ast.walk(statement):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))):
            yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
