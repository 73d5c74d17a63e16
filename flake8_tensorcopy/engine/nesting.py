"""How deep a part of a file nests as LibCST sees it, and a stack for what is deep.

LibCST 1.9 takes up to 7 kB of the C stack for each bracket or block, and the interpreter dies where that stack ends;
the part of it that is Python raises RecursionError, or a KeyError on the way out of one.  It nests where ast does not,
as in `a or b or c`, and with each bracket of a pattern, or of what `del` is given, its time doubles or more.
"""

from __future__ import annotations

import ast
import io
import re
import threading
import tokenize
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from flake8_tensorcopy.engine.nodes import children

T = TypeVar("T")

MAX_NESTING = 300  # of nodes
MAX_BRACKETS = 8  # of a pattern, or of what is deleted: LibCST takes a third of a second for as many
EASY = 30  # levels for which any stack has room
STACK = 16 << 20  # bytes: for MAX_NESTING nodes and as many brackets as Python takes, 200

_BRACKET = re.compile(r"[(\[{]|[)\]}]")
_BLANK = frozenset({tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT})


class TooDeep(Exception):
    """A part of a file is beyond LibCST: a clause whose subject is the part."""


class Nesting(NamedTuple):
    """How deep nodes stand in others, and whether there are patterns or `del` among them."""

    nodes: int
    costly: bool


def nesting(tree: ast.Module, first: int, last: int) -> Nesting:
    """That of the statements that lie within the lines."""
    deepest, costly = 0, False
    pending: list[tuple[ast.AST, int]] = [(statement, 0) for statement in tree.body]
    while pending:
        node, level = pending.pop()
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)) and not level:
            line, end = getattr(node, "lineno", first), getattr(node, "end_lineno", None) or last
            if end < first or line > last:
                continue
            if line < first or end > last or not isinstance(node, ast.stmt):  # a part of it may lie within
                pending += [(item, 0) for item in children(node)]
                continue
        if isinstance(node, (ast.expr, ast.stmt, ast.pattern)):
            level += 1
        match node:
            case ast.BoolOp(values=parts) | ast.ListComp(generators=parts) | ast.SetComp(generators=parts):
                level += len(parts) - 1
            case ast.DictComp(generators=parts) | ast.GeneratorExp(generators=parts):
                level += len(parts) - 1
            case ast.alias(name=name):
                level += name.count(".")
            case ast.Match() | ast.Delete():
                costly = True
        deepest = max(deepest, level)
        pending += [(item, level) for item in children(node)]
    return Nesting(deepest, costly)


def parsed(act: Callable[[str], T], text: str, found: Nesting) -> T:
    """What `act` makes of a text that nests so deep, with a stack of its own if need be; raises TooDeep."""
    if found.nodes > MAX_NESTING:
        raise TooDeep(f"nests more than {MAX_NESTING} deep")
    if found.costly and _brackets_of_patterns(text) > MAX_BRACKETS:
        raise TooDeep(f"nests brackets more than {MAX_BRACKETS} deep in a pattern or a `del`")
    try:
        return act(text) if found.nodes + _brackets(text) <= EASY else _on_deep_stack(lambda: act(text))
    except (RecursionError, KeyError) as error:
        raise TooDeep("nests more than LibCST can take") from error


def _brackets(text: str) -> int:
    """How deep brackets stand in each other, at least: those of strings and comments count too."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    return deepest


def _brackets_of_patterns(text: str) -> int:
    """How deep brackets stand in each other in a `case` or a `del`."""
    deepest = depth = 0
    start, keyword = True, ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NEWLINE:
                start, keyword = True, ""
            if token.type in _BLANK:
                continue
            if start and token.string in ("case", "del"):
                keyword = token.string
            depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
            start = depth == 0 and token.string in (";", ":")
            if start or (depth == 0 and token.string == "if"):
                keyword = ""
            if keyword:
                deepest = max(deepest, depth)
    except (tokenize.TokenError, SyntaxError):
        pass  # as far as it goes
    return deepest


def _on_deep_stack(act: Callable[[], T]) -> T:
    """What `act` returns or raises in a thread of its own, whose stack is large."""
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(act())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="tensorcopy", daemon=True)
    before = threading.stack_size(STACK)
    try:
        thread.start()
    except RuntimeError as error:  # there is no room for one more
        raise TooDeep("nests deeper than the stack that is left") from error
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
