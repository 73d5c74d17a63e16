"""Parts of a file as LibCST has them: a fact's site becomes a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata.position_provider import PositionProvider
from libcst.metadata.wrapper import MetadataWrapper

from flake8_tensorcopy.engine.nesting import Nesting, parsed

if TYPE_CHECKING:
    from libcst.metadata import CodeRange


def _parse(text: str) -> tuple[cst.Module, Mapping[cst.CSTNode, CodeRange]]:
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    return wrapper.module, wrapper.resolve(PositionProvider)


class Unit:
    """A line range parsed alone: its nodes by the place where they stand.

    It is never dedented, so that multi-line strings survive.  Raises TooDeep where LibCST cannot take it.
    """

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

    def at(self, place: tuple[int, int, int, int], *, expression: bool) -> cst.CSTNode | None:
        """The expression, or else the statement, that stands in just this place."""
        expected = cst.BaseExpression if expression else (cst.BaseSmallStatement, cst.BaseStatement)
        return next((node for node in self.nodes.get(place, ()) if isinstance(node, expected)), None)

    def ends_statement(self, place: tuple[int, int, int, int]) -> bool:
        """Whether a statement without a suite stands in just this place."""
        return any(isinstance(node, cst.BaseSmallStatement) for node in self.nodes.get(place, ()))
