"""The parts of a file where facts were found: a fact's site becomes a span, its code, and for repairs a LibCST node.

Only the function (or top-level statement) that holds a site is parsed, once, and nothing is parsed that no repair asks
for: places and code are those of the ast.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from flake8_tensorcopy.engine.columns import from_utf8
from flake8_tensorcopy.engine.model import Fix, Span, Step
from flake8_tensorcopy.engine.snippets import snippet

if TYPE_CHECKING:
    from collections.abc import Callable

    import libcst as cst

    from flake8_tensorcopy.engine.edits import Editor
    from flake8_tensorcopy.engine.units import Unit

MAX_CODE = 60


class Idle:
    """An Editor that makes no repair, for a caller that has no use for any: nothing is parsed for their sake.

    It knows the changes by their names only, and that none of them can be made.
    """

    def fix(self, *_: object, **__: object) -> Fix | None:
        return None

    def __getattr__(self, change: str) -> Callable[..., None]:
        return _not_made


def _not_made(*_: object, **__: object) -> None:
    return None


class Region:
    """What rules decide on."""

    def __init__(
        self, lines: Sequence[str], units: Sequence[tuple[int, int]], tree: ast.Module, *, repairs: bool = True
    ) -> None:
        self.lines = lines
        self.tree = tree
        self._repairs = repairs
        self._units = sorted(units)
        self._starts = [first for first, _ in self._units]
        self._parsed: dict[tuple[int, int], Unit] = {}

    @cached_property
    def edit(self) -> Editor:
        """What the repairs of rules are made with."""
        if not self._repairs:
            return cast("Editor", Idle())
        # LibCST costs more to import than most files to lint.
        from flake8_tensorcopy.engine.edits import Editor

        return Editor(self)

    @property
    def parsed(self) -> int:
        """How many units have been parsed so far."""
        return len(self._parsed)

    def span(self, node: ast.AST) -> Span:
        """Where a node of the ast stands, in code points."""
        assert isinstance(node, (ast.expr, ast.stmt, ast.arg))
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return Span(
            int(node.lineno),
            from_utf8(self.lines[node.lineno - 1], node.col_offset),
            end_line,
            from_utf8(self.lines[end_line - 1], end_column),
        )

    def line(self, node: ast.AST) -> int:
        """The line of a node of the ast: a number, which in a notebook is shown with its cell (`notebook.Line`)."""
        return getattr(node, "lineno", 1)

    def node(self, site: ast.AST) -> cst.CSTNode | None:
        """The LibCST node of a site, or None where LibCST cuts the code otherwise than ast."""
        span = self.span(site)
        unit = self._unit(span.line)
        return None if unit is None else unit.at(_place(span), expression=isinstance(site, ast.expr))

    def code(self, site: ast.AST) -> str:
        """The code of a site on one line, shortened for a message."""
        text = snippet(self.lines, self.span(site), site)
        text = " ".join(text.split("#", 1)[0].split()) if "\n" in text else text.strip()
        return text if len(text) <= MAX_CODE else text[: MAX_CODE - 3] + "..."

    def place(self, node: cst.CSTNode) -> Span:
        """Where a LibCST node that `node` gave, or a part of one, stands."""
        for unit in self._parsed.values():
            if (place := unit.places.get(node)) is not None:
                return Span(*place)
        raise KeyError(node)

    def is_statement(self, span: Span) -> bool:
        """Whether a statement without a suite stands in just this span."""
        unit = self._unit(span.line)
        return unit is not None and unit.ends_statement(_place(span))

    def step(self, site: ast.AST, text: str) -> Step:
        return Step(self.span(site), text)

    def _unit(self, line: int) -> Unit | None:
        """The innermost unit that holds the line."""
        index = bisect_right(self._starts, line) - 1
        while index >= 0:
            first, last = self._units[index]
            if first <= line <= last:
                break
            index -= 1
        else:
            return None
        key = (first, last)
        unit = self._parsed.get(key)
        if unit is None:
            from flake8_tensorcopy.engine.nesting import nesting
            from flake8_tensorcopy.engine.units import Unit

            unit = self._parsed[key] = Unit(self.lines, first, last, nesting(self.tree, first, last))
        return unit


def _place(span: Span) -> tuple[int, int, int, int]:
    return span.line, span.column, span.end_line, span.end_column
