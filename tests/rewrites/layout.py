"""The same tokens, laid out in another way."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

_OPEN, _CLOSE = "([{", ")]}"
# From Python 3.12 on the parts of an f-string are tokens: nothing is put between them.
_STRINGS = (getattr(tokenize, "FSTRING_START", None), getattr(tokenize, "FSTRING_END", None))


def commented(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """A comment at the end of each line that has none, and comments and blank lines between all lines."""
    out: list[str] = []
    lines = text.splitlines(keepends=True)
    ends = {token.end[0]: token.end[1] for token in _tokens(text) if token.type in (tokenize.NEWLINE, tokenize.NL)}
    held = {token.start[0] for token in _tokens(text) if token.type == tokenize.COMMENT}
    for number, line in enumerate(lines, 1):
        if number not in ends:  # in a string, or before a backslash
            out.append(line)
            continue
        body = line.rstrip("\n")
        if body.strip() and number not in held:
            body += "  # as it was: clone(), detach()"
        indent = body[: len(body) - len(body.lstrip())]
        out.append(f"{body}\n\n{indent}# copy.deepcopy() is not called here\n\n")
    return "".join(out), tree


def spread(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """A line break after each token in brackets, and brackets around what simple statements assign and return."""
    text = _bracketed(text, tree)
    out: list[str] = []
    depth, strings = 0, 0
    line, column = 1, 0
    lines = [*text.splitlines(keepends=True), ""]
    for token in _tokens(text):
        if token.start > (line, column):
            out.append(_between(lines, (line, column), token.start))
        out.append(token.string)
        line, column = token.end
        if token.type == tokenize.OP:
            depth += (token.string in _OPEN) - (token.string in _CLOSE)
        strings += (token.type == _STRINGS[0]) - (token.type == _STRINGS[1])
        if depth and not strings and token.type not in (tokenize.NL, tokenize.COMMENT):
            out.append("\n  ")
    return "".join(out), tree


def joined(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """Simple statements that follow one another, on one line."""
    lines = ast.unparse(tree).split("\n")
    alone = {
        node.lineno
        for node in ast.walk(ast.parse("\n".join(lines)))
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.lineno == node.end_lineno
    }
    alone -= {number for number, line in enumerate(lines, 1) if line.lstrip().startswith(("'", '"', "from __future__"))}
    out: list[str] = []
    for number, line in enumerate(lines, 1):
        if number in alone and number - 1 in alone and _level(lines, number):
            out[-1] += f"; {line.lstrip()}"
        else:
            out.append(line)
    return "\n".join(out) + "\n", tree


def _level(lines: list[str], number: int) -> bool:
    """Whether a line and the one before are indented alike."""
    one, other = lines[number - 1], lines[number - 2]
    return len(one) - len(one.lstrip()) == len(other) - len(other.lstrip())


def _bracketed(text: str, tree: ast.Module) -> str:
    """The text with brackets around the values of assignments, returns and expression statements."""
    lines = [line.encode() for line in text.split("\n")]
    edits: list[tuple[int, int, bytes]] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)) and node.value:
            value = node.value
            if isinstance(value, (ast.Constant, ast.Yield, ast.YieldFrom)) or _in_brackets(lines, value):
                continue
            edits.append((value.lineno, value.col_offset, b"("))
            edits.append((value.end_lineno or 0, value.end_col_offset or 0, b")"))
    for line, column, mark in sorted(edits, reverse=True):
        lines[line - 1] = lines[line - 1][:column] + mark + lines[line - 1][column:]
    return b"\n".join(lines).decode()


def _in_brackets(lines: list[bytes], node: ast.expr) -> bool:
    return lines[node.lineno - 1][: node.col_offset].rstrip().endswith(b"(")


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """What stands between two tokens: spaces, a backslash."""
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    middle = "".join(lines[start[0] : end[0] - 1])
    return lines[start[0] - 1][start[1] :] + middle + lines[end[0] - 1][: end[1]]
