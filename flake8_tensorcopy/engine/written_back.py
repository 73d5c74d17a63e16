"""What a lost write changed, and whether the same can be written by one index: what its repair needs to know."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import Obj, Ref

_PLAIN = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp,
    ast.BoolOp, ast.Compare, ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def repeatable(run: Run, node: ast.AST) -> bool:
    """An expression that gives the same when it is evaluated a second time, and changes nothing."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            if part in run.function_calls:
                op: ops.Op | None = run.function_calls[part][0]
            elif part in run.method_calls:
                op = ops.method(run.method_calls[part][1])
            else:
                return False
            if op is None or op.random or op.writes or any(keyword.arg == "out" for keyword in part.keywords):
                return False
        elif not isinstance(part, _PLAIN):
            return False
    return True


def seen_elsewhere(copied: Ref) -> bool:
    """What was copied is more than a copy that nobody else can see."""
    return copied.place is not None or copied.obj.owner != "fresh"


def selection(node: ast.AST | None, obj: Obj) -> ast.expr | None:
    """The expression of a statement that was written to: the copy itself or an index of it."""
    written: list[ast.expr] = []
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            written = [*args, *(keyword.value for keyword in keywords)]
            if isinstance(func, ast.Attribute):
                written += [func.value, _first_receiver(func.value)]
        case ast.Assign(targets=[target]):
            written = [target]
        case ast.AugAssign(target=target):
            written = [target]
    for one in written:
        if one is obj.node or (isinstance(one, ast.Subscript) and one.value is obj.node):
            return one
    return None


def _first_receiver(node: ast.expr) -> ast.expr:
    """`x` of `x.mul_(2).add_(1)`: each of these methods gives back what it was called on."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)):
                op = ops.method(attr)
                if op is None or op.result != "same" or op.of != 0:
                    return node
                node = inner
            case _:
                return node


def number(run: Run, node: ast.expr) -> bool:
    """An expression is surely a number."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return number(run, operand)
        case ast.BinOp(left=left, right=right):
            return number(run, left) and number(run, right)
        case ast.Call(func=ast.Name(id="float" | "int" | "len")):
            return True
        case ast.Name(id=name):
            held = run.now.env.get(name)
            return held is not None and held.kind == "number" and not held.refs
    return False


def joins(run: Run, node: ast.expr | None, obj: Obj) -> bool:
    """`x[mask][:, 2]` is `x[mask, 2]`: the first index leaves one axis, of which the second one takes all."""
    if not isinstance(node, ast.Subscript) or node.value is not obj.node:
        return False
    match node.slice:
        case ast.Tuple(elts=[ast.Slice(lower=None, upper=None, step=None), *rest]) if rest:
            return _one_axis(run, obj.data) and all(_basic(run, item) for item in rest)
    return False


def _one_axis(run: Run, index: object) -> bool:
    """A mask, or a list of positions."""
    if isinstance(index, ast.List):
        return all(isinstance(item, (ast.Constant, ast.UnaryOp)) for item in index.elts)
    return isinstance(index, ast.expr) and _mask(run, index)


def _mask(run: Run, index: ast.expr) -> bool:
    match index:
        case ast.Compare():
            return True
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return _mask(run, operand)
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), left=left, right=right):
            return _mask(run, left) and _mask(run, right)
        case ast.Name(id=name):
            value = run.now.env.get(name)
            return value is not None and value.obj is not None and value.obj.dtype == "bool"
        case ast.Call() if index in run.function_calls:
            return run.function_calls[index][0].dtype == "bool"
        case ast.Call() if index in run.method_calls:
            op = ops.method(run.method_calls[index][1])
            return op is not None and op.dtype == "bool"
    return False


def _basic(run: Run, index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) or number(run, index)
