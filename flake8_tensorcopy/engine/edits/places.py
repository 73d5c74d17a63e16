"""Where the parts of a file stand that edits are made of, and what their source is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from flake8_tensorcopy.engine.edits.calls import between, has_comment, outer
from flake8_tensorcopy.engine.model import Edit, Span

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region

Edits = tuple[Edit, ...]
Site = ast.AST | cst.CSTNode
Maybe = Site | None  # a part that a fact may lack: then the change cannot be made


class Places:
    """One file, its nodes as LibCST has them."""

    def __init__(self, region: Region) -> None:
        self._region = region

    @staticmethod
    def join(*parts: Edits | None) -> Edits | None:
        """Several changes as one; None if one of them cannot be made."""
        joined: list[Edit] = []
        for part in parts:
            if part is None:
                return None
            joined += part
        return tuple(joined)

    def text(self, site: Site) -> str:
        """The source of a node as it stands, line breaks and comments included, its own parentheses not."""
        return self._between(self._span(site))

    def quoted(self, site: Site) -> str | None:
        """The source of an expression on one line, to be written a second time; None where a comment would be lost."""
        text = self.text(site)
        if has_comment(text):
            return None
        if "\n" not in text:
            return text
        return None if '"""' in text or "'''" in text or "\\\n" in text else " ".join(text.split())

    def _span(self, site: Site) -> Span:
        return self._region.span(site) if isinstance(site, ast.AST) else self._region.place(site)

    def _between(self, span: Span) -> str:
        return between(self._region, span)

    def _node(self, site: ast.AST) -> cst.CSTNode | None:
        return self._region.node(site)

    def _expression(self, site: Maybe) -> cst.BaseExpression | None:
        node = self._node(site) if isinstance(site, ast.AST) else site
        return node if isinstance(node, cst.BaseExpression) else None

    def _outer(self, node: cst.BaseExpression) -> Span:
        """Where an expression stands with the parentheses around it."""
        return outer(self._region, node)


def start_of(span: Span) -> Span:
    return Span(span.line, span.column, span.line, span.column)


def end_of(span: Span) -> Span:
    return Span(span.end_line, span.end_column, span.end_line, span.end_column)


def from_end(one: Span, other: Span) -> Span:
    """From the end of one span to that of a later one."""
    return Span(one.end_line, one.end_column, other.end_line, other.end_column)


def to_start(one: Span, other: Span) -> Span:
    """From the start of one span to that of a later one."""
    return Span(one.line, one.column, other.line, other.column)
