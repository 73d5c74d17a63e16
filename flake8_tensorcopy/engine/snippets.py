"""The source of a piece of code, as messages quote it."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Sequence

from flake8_tensorcopy.engine.model import Span

_BEFORE = re.compile(r"(?:(\w+)|[)\]}\"'])\s*$")  # what a parenthesis calls, if it is no keyword


def between(lines: Sequence[str], span: Span) -> str:
    """The source of a span."""
    held = lines[span.line - 1 : span.end_line]
    text = "".join(held)
    return text[span.column : len(text) - len(held[-1]) + span.end_column]


def snippet(lines: Sequence[str], span: Span, site: ast.AST) -> str:
    """The source of a node that stands in a span, with the parentheses of its own.

    Where the span holds something else, as the places of Python 3.11 in f-strings do, what the node means is written.
    """
    plain = ast.unparse(site)
    text = between(lines, span)
    if not isinstance(site, ast.expr):
        return text if _means(text, "exec") == plain else plain
    if isinstance(site, ast.Tuple) and any(isinstance(one, ast.Slice) for one in site.elts):
        # Such a tuple stands in square brackets only.
        whole = ast.unparse(ast.Subscript(ast.Name("_", ast.Load()), site, ast.Load()))
        return text if _means(f"_[{text}\n]", "eval") == whole else whole[2:-1]
    # Brackets around it, so that it may go over several lines.
    return between(lines, _grouped(lines, span)) if _means(f"({text}\n)", "eval") == plain else plain


def _means(text: str, mode: str) -> str | None:
    try:
        return ast.unparse(ast.parse(text, mode=mode))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _grouped(lines: Sequence[str], span: Span) -> Span:
    """The span with the parentheses that stand around nothing else."""
    while True:
        line, column = span.line, span.column
        while not (before := lines[line - 1][:column].rstrip()) and line > 1:
            line, column = line - 1, len(lines[line - 2])
        end_line, end_column = span.end_line, span.end_column
        while not (after := lines[end_line - 1][end_column:].lstrip()) and end_line < len(lines):
            end_line, end_column = end_line + 1, 0
        if before[-1:] != "(" or after[:1] != ")":
            return span
        called = _BEFORE.search(before, 0, len(before) - 1)
        if called is not None and not keyword.iskeyword(called[1] or ""):
            return span
        span = Span(line, len(before) - 1, end_line, len(lines[end_line - 1]) - len(after) + 1)
