"""A smaller program with the same kind of disagreement: statements taken out as long as it stays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

TRIES = 600  # programs that one shrinking may try

Keeps = Callable[[str], bool]


def shrink(text: str, keeps: Keeps) -> str:
    """The smallest program that taking out statements, one after the other, leads to; `keeps` says what may not go."""
    left = TRIES
    changed = True
    while changed and left > 0:
        changed = False
        for candidate in _smaller(text):
            left -= 1
            if left <= 0:
                break
            if keeps(candidate):
                text, changed = candidate, True
                break
    return text


def _bodies(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    """Every list of statements, by its owner and field; the last ones first."""
    found = [
        (node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse")
        if isinstance(getattr(node, name, None), list) and not isinstance(node, ast.Try)
    ]
    return found[::-1]


def _smaller(text: str) -> Iterator[str]:
    """The program without one of its statements, with the body of one in its place, or without a parameter."""
    count = len(_bodies(ast.parse(text)))
    for number in range(count):
        owner, name = _bodies(ast.parse(text))[number]
        for position in reversed(range(len(getattr(owner, name)))):
            for way in ("gone", "body", "orelse"):
                candidate = _edited(text, number, position, way)
                if candidate is not None:
                    yield candidate
    yield from _with_less_returned(text)
    yield from _without_parameters(text)


def _with_less_returned(text: str) -> Iterator[str]:
    """One of several returned values alone."""
    count = sum(isinstance(node, ast.Return) for node in ast.walk(ast.parse(text)))
    for number in range(count):
        for position in range(4):
            tree = ast.parse(text)
            node = [one for one in ast.walk(tree) if isinstance(one, ast.Return)][number]
            if isinstance(node.value, ast.Tuple) and position < len(node.value.elts):
                node.value = node.value.elts[position]
                yield ast.unparse(tree) + "\n"


def _edited(text: str, number: int, position: int, way: str) -> str | None:
    tree = ast.parse(text)
    owner, name = _bodies(tree)[number]
    statements = getattr(owner, name)
    item = statements[position]
    if isinstance(item, ast.Import) and ast.unparse(item) == "import torch":
        return None  # what the annotations mean
    if way == "gone":
        put: list[ast.stmt] = []
    elif isinstance(item, ast.FunctionDef | ast.ClassDef) or not getattr(item, way, None):
        return None
    else:
        put = getattr(item, way)
    statements[position : position + 1] = put
    if not statements and name == "body":
        return None
    return ast.unparse(tree) + "\n"


def _without_parameters(text: str) -> Iterator[str]:
    for position in range(8):
        tree = ast.parse(text)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == "program" and position < len(node.args.args):
                del node.args.args[position]
                yield ast.unparse(tree) + "\n"
