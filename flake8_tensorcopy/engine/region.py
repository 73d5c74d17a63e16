"""The parts of a file where facts were found, as LibCST: a fact's site becomes a node, a span, its code.

Only the function (or top-level statement) that holds a site is parsed, once, under a wrapper and never dedented, so
that multi-line strings survive; nothing is parsed that no rule asks for.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata.position_provider import PositionProvider
from libcst.metadata.wrapper import MetadataWrapper

from flake8_tensorcopy.engine.columns import from_utf8
from flake8_tensorcopy.engine.model import Span, Step
from flake8_tensorcopy.engine.nesting import Nesting, nesting, parsed

if TYPE_CHECKING:
    from libcst.metadata import CodeRange

    from flake8_tensorcopy.engine.edits import Editor

MAX_CODE = 60


class Unit:
    """A line range parsed alone: its nodes by the place where they stand.  Raises TooDeep where LibCST cannot."""

    def __init__(self, lines: Sequence[str], first: int, last: int, found: Nesting) -> None:
        text = "".join(lines[first - 1 : last])
        # An indented unit stands under a statement of its own; any indentation is right there.
        self.shift = 0
        if text.lstrip("\f")[:1] in (" ", "\t"):
            text = "if True:\n" + text
            self.shift = 1
        self.module, ranges = parsed(_parse, text, found)
        self.nodes: dict[tuple[int, int, int, int], list[cst.CSTNode]] = {}
        self.places: dict[cst.CSTNode, tuple[int, int, int, int]] = {}
        move = first - 1 - self.shift
        for node, range_ in ranges.items():
            start, end = range_.start, range_.end
            place = (start.line + move, start.column, end.line + move, end.column)
            self.places[node] = place
            self.nodes.setdefault(place, []).append(node)


def _parse(text: str) -> tuple[cst.Module, Mapping[cst.CSTNode, CodeRange]]:
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    return wrapper.module, wrapper.resolve(PositionProvider)


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
        from flake8_tensorcopy.engine.edits import Editor, Idle

        return Editor(self) if self._repairs else Idle(self)

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
        if unit is None:
            return None
        found = unit.nodes.get((span.line, span.column, span.end_line, span.end_column), [])
        expected = cst.BaseExpression if isinstance(site, ast.expr) else (cst.BaseSmallStatement, cst.BaseStatement)
        for node in found:
            if isinstance(node, expected):
                return node
        return None

    def code(self, site: ast.AST) -> str:
        """The code of a site on one line, shortened for a message."""
        node = self.node(site)
        unit = self._unit(self.line(site))
        if node is None or unit is None:
            text = ast.unparse(site)
        else:
            text = unit.module.code_for_node(node)
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
        place = (span.line, span.column, span.end_line, span.end_column)
        return unit is not None and any(isinstance(node, cst.BaseSmallStatement) for node in unit.nodes.get(place, ()))

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
            unit = self._parsed[key] = Unit(self.lines, first, last, nesting(self.tree, first, last))
        return unit
