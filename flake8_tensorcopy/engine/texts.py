"""Expressions as text, as `ast.unparse` writes them: the common ones are put together without it."""

from __future__ import annotations

import ast
from math import isfinite

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
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
# How tightly what is put together here binds, in the steps that `ast.unparse` counts.
_OR, _AND, _NOT, _COMPARED = 0, 1, 2, 3
_SUM, _PRODUCT, _SIGN = 8, 9, 10
_HIGHEST = 1 << 30


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
        base, index = _atom(node.value), _index(node.slice)
        return None if base is None or index is None else f"{base}[{index}]"
    if isinstance(node, ast.Constant):
        known = node.value
        plain = known is None or isinstance(known, (bool, int, str)) or (isinstance(known, float) and isfinite(known))
        return repr(known) if plain and node.kind is None else None
    if isinstance(node, ast.Compare):
        parts = [_within(side, _COMPARED + 1) for side in (node.left, *node.comparators)]
        if None in parts:
            return None
        signs = [f"{_SIGNS[type(op)]} {part}" for op, part in zip(node.ops, parts[1:], strict=True)]
        return " ".join([parts[0] or "", *signs])
    if isinstance(node, ast.BinOp):
        sign, level = _ARITHMETIC.get(type(node.op)), _level(node)
        left, right = _within(node.left, level), _within(node.right, level + 1)
        return None if sign is None or left is None or right is None else f"{left} {sign} {right}"
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            negated = _within(node.operand, _NOT)
            return None if negated is None else f"not {negated}"
        negated = _within(node.operand, _SIGN) if isinstance(node.op, ast.USub) else None
        return None if negated is None else f"-{negated}"
    if isinstance(node, ast.BoolOp):
        joint, level = (" and ", _AND) if isinstance(node.op, ast.And) else (" or ", _OR)
        # Each part stands one level higher than the one before it: `a == 1 and b == 1 and (c == 1)`.
        parts = [_within(one, level + count) for count, one in enumerate(node.values, 1)]
        return None if None in parts else joint.join(parts)  # type: ignore[arg-type]
    if isinstance(node, (ast.Tuple, ast.List)):
        parts = [_plain_argument(one) for one in node.elts]
        if None in parts:
            return None
        inside = ", ".join(parts)  # type: ignore[arg-type]
        if isinstance(node, ast.List):
            return f"[{inside}]"
        return f"({inside},)" if len(parts) == 1 else f"({inside})"
    if isinstance(node, ast.Slice):
        return _index(node)
    return None


def _within(node: ast.expr, level: int) -> str | None:
    """What stands beside an operator, in brackets where it binds less tightly than that."""
    known = _plain(node)
    return f"({known})" if known is not None and _level(node) < level else known


def _level(node: ast.expr) -> int:
    if isinstance(node, ast.BoolOp):
        return _AND if isinstance(node.op, ast.And) else _OR
    if isinstance(node, ast.UnaryOp):
        return _NOT if isinstance(node.op, ast.Not) else _SIGN
    if isinstance(node, ast.BinOp):
        return _SUM if isinstance(node.op, (ast.Add, ast.Sub)) else _PRODUCT
    return _COMPARED if isinstance(node, ast.Compare) else _HIGHEST


def _index(node: ast.expr) -> str | None:
    """What stands between the brackets of an item."""
    if isinstance(node, ast.Tuple):
        parts = [_index(one) if not isinstance(one, (ast.Tuple, ast.Starred)) else None for one in node.elts]
        return None if len(parts) < 2 or None in parts else ", ".join(parts)  # type: ignore[arg-type]
    if isinstance(node, ast.Slice):
        if node.step is not None:
            return None
        lower, upper = ("" if one is None else _plain(one) for one in (node.lower, node.upper))
        return None if lower is None or upper is None else f"{lower}:{upper}"
    return _plain(node)


def _atom(node: ast.expr) -> str | None:
    """What may stand before a dot or a bracket as it is."""
    return _plain(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else None


def _plain_argument(node: ast.expr) -> str | None:
    return None if isinstance(node, ast.Starred) else _plain(node)
