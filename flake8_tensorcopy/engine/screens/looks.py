"""What expressions are for certain, to go by their looks: numbers, lists and dicts, indices of arrays."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import ops

_COLLECTIONS = frozenset("list dict set OrderedDict defaultdict deque Counter".split())
_NUMBERS = frozenset({"len", "int", "float", "round", "bool", "isinstance", "hasattr", "callable"})
_NUMBERS_OF_TENSORS = frozenset("item size numel dim perf_counter time is_tensor".split())
_TEXTS = frozenset({"str", "repr"})
_TEXTS_OF_TEXTS = frozenset("format join strip lstrip rstrip lower upper replace removeprefix removesuffix".split())
# What tensors and torch say of a tensor without looking into it: `is_cuda`, `is_floating_point()`.
_TOLD = frozenset({"requires_grad", "ndim"})


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


def is_text(node: ast.expr) -> bool:
    """Whether an expression is a text for certain: written out, made by a method of one, put together with one."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        if isinstance(node.op, ast.Add) and is_text(node.right):
            return True
        node = node.left
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute):
            return func.attr in _TEXTS_OF_TEXTS and is_text(func.value)
        return isinstance(func, ast.Name) and func.id in _TEXTS
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_key(index: ast.expr) -> bool:
    """Whether an index is a key of a dict for certain: a text, or what `id` gives."""
    if isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "id":
        return True
    return is_text(index)


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number or text for certain: a constant, a length, a size, or computed of these."""
    if is_text(node):
        return True
    while isinstance(node, ast.BinOp):
        if not is_number(node.right):
            return False
        node = node.left
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) or is_number(node.operand)
    if isinstance(node, ast.Compare):
        return all(isinstance(one, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for one in node.ops)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Attribute):
        return node.attr == "shape" or node.attr in _TOLD or _says_what_it_is(node.attr)
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute):
            return func.attr in _NUMBERS_OF_TENSORS or _says_what_it_is(func.attr)
        return isinstance(func, ast.Name) and func.id in _NUMBERS
    return False


def _says_what_it_is(name: str) -> bool:
    """`is_cuda`, `is_floating_point`: true or false, of a tensor as of anything else that has it."""
    if name[:3] != "is_":
        return False
    op = ops.method(name)
    return op is not None and op.result == "host"


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
