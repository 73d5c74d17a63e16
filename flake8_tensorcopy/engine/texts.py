"""Expressions as text, as `ast.unparse` writes them: the common ones are put together without it."""

from __future__ import annotations

import ast

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def text_of(node: ast.AST) -> str:
    """The text of a node; `ast.unparse` takes twenty times as long for a name with a few dots and brackets.

    Raises ValueError for an integer too long to print.
    """
    known = _plain(node)
    return ast.unparse(node) if known is None else known


def _plain(node: ast.AST) -> str | None:
    """The text of names, attributes, items, calls and comparisons of such; None for whatever else there is in it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _atom(node.value)
        return None if base is None else f"{base}.{node.attr}"
    if isinstance(node, ast.Call):
        parts = [_plain_argument(item) for item in node.args]
        for keyword in node.keywords:
            value = None if keyword.arg is None else _plain(keyword.value)
            parts.append(None if value is None else f"{keyword.arg}={value}")
        called = _atom(node.func)
        return None if called is None or None in parts else f"{called}({', '.join(parts)})"  # type: ignore[arg-type]
    if isinstance(node, ast.Subscript):
        base, index = _atom(node.value), _plain(node.slice)
        return None if base is None or index is None else f"{base}[{index}]"
    if isinstance(node, ast.Constant):
        plain = node.value is None or isinstance(node.value, (bool, int, str))
        return repr(node.value) if plain and node.kind is None else None
    if isinstance(node, ast.Compare):
        parts = [_operand(side) for side in (node.left, *node.comparators)]
        if None in parts:
            return None
        signs = [f"{_SIGNS[type(op)]} {part}" for op, part in zip(node.ops, parts[1:], strict=True)]
        return " ".join([parts[0] or "", *signs])
    return None


def _atom(node: ast.expr) -> str | None:
    """What may stand before a dot or a bracket as it is."""
    return _plain(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else None


def _operand(node: ast.expr) -> str | None:
    """What needs no brackets on a side of a comparison."""
    return _plain(node) if isinstance(node, ast.Constant) else _atom(node)


def _plain_argument(node: ast.expr) -> str | None:
    return None if isinstance(node, ast.Starred) else _plain(node)
