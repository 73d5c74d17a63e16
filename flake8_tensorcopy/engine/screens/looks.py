"""What expressions are for certain, to go by their looks: numbers, lists and dicts, indices of arrays."""

from __future__ import annotations

import ast

_COLLECTIONS = frozenset("list dict set OrderedDict defaultdict deque Counter".split())
_NUMBERS = frozenset({"len", "int", "float", "round"})
_NUMBERS_OF_TENSORS = frozenset({"item", "size", "numel", "dim", "perf_counter", "time"})


def collects(node: ast.expr | None) -> bool:
    """Whether an expression makes a list, tuple, dict or set."""
    if isinstance(
        node, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
    ):
        return True
    if isinstance(node, ast.IfExp):
        return all(
            collects(one) or (isinstance(one, ast.Constant) and one.value is None) for one in (node.body, node.orelse)
        )
    while isinstance(node, ast.BinOp):
        if collects(node.right):
            return True
        node = node.left
        if not isinstance(node, ast.BinOp):
            return collects(node)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _COLLECTIONS


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number or text for certain: a constant, a length, a size, or computed of these."""
    while isinstance(node, ast.BinOp):
        if not is_number(node.right):
            return False
        node = node.left
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float, str))
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Attribute):
        return node.attr == "shape"
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute):
            return func.attr in _NUMBERS_OF_TENSORS
        return isinstance(func, ast.Name) and func.id in _NUMBERS
    return isinstance(node, ast.JoinedStr)


def of_arrays(index: ast.expr) -> bool:
    """An index that no list and no dict takes."""
    if isinstance(index, ast.Tuple):
        return any(
            isinstance(one, ast.Slice) or (isinstance(one, ast.Constant) and one.value in (None, ...))
            for one in index.elts
        )
    return isinstance(index, ast.Compare) or (isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert))


def name_called(func: ast.expr) -> str:
    """The last part of what is called."""
    return getattr(func, "attr", getattr(func, "id", ""))
