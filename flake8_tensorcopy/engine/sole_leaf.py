"""What is computed from a leaf and from nothing else on the graph: it could be the leaf itself."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.around import holds
from flake8_tensorcopy.engine.linked import dtype_of, on_graph
from flake8_tensorcopy.engine.mutated import function_at
from flake8_tensorcopy.engine.run import last_state
from flake8_tensorcopy.engine.values import Ref

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run

# Dtypes and types of integers, as torch names them.
_INTEGER = re.compile(r"u?int\d*|long|short|bool|(Long|Int|Short|Char|Byte|Bool)Tensor")


def alone(run: Run, whole: ast.expr, mark: ast.AST, ref: Ref) -> bool:
    """Whether an expression gives a leaf if what it is computed from does not require grad: nothing else on the graph
    goes in, and no integers come out."""
    dtype = dtype_of(ref)
    if dtype == "bool" or "int" in dtype:
        return False
    function = function_at(run.module, mark)
    there = run if function is None or function is run.function else run.module.run_of(function)
    return there is not None and _off_graph(there, whole, mark)


def _off_graph(run: Run, node: ast.expr, mark: ast.AST) -> bool:
    """Whether a value is surely off the graph, and no cast to integers, if the leaf among it does not require grad."""
    if node is mark:
        return True
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=inner):
            return not isinstance(node.op, ast.Not) and _off_graph(run, inner, mark)
        case ast.BinOp(left=left, right=right):
            return _off_graph(run, left, mark) and _off_graph(run, right, mark)
        case ast.Subscript(value=inner):
            return _off_graph(run, inner, mark)
        case ast.Attribute(value=inner, attr=name):
            row = ops.method(name)
            return row is not None and (row.result == "host" or _off_graph(run, inner, mark))
        case ast.Call():
            return _call_off_graph(run, node, mark)
        case ast.Name():
            return _name_off_graph(run, node, mark)
    return False


def _call_off_graph(run: Run, node: ast.Call, mark: ast.AST) -> bool:
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    qualified = run.names.qualify(node.func) or ""
    if qualified.startswith("torch."):
        row, terms = ops.function(qualified), given
        if row is not None and row.factory:
            return not any(keyword.arg in ("requires_grad", None) for keyword in node.keywords)
    elif isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name == "requires_grad_":
            return False
        row, terms = ops.method(name), [node.func.value]
        if row is not None and (row.result == "host" or row.detaches):
            return True
        if row is not None and row.result == "maybe" and any(_names_integer(one) for one in given):
            return False
        if row is None or row.result not in ("view", "maybe"):
            terms += given
    else:
        return False
    if row is None or row.dtype in ("int", "bool") or "int" in row.casts or row.casts == "bool" or row.second_int:
        return False
    return all(_off_graph(run, one, mark) for one in terms)


def _names_integer(node: ast.expr) -> bool:
    """A dtype or type of integers, or one that a name or text stands for."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
            return _INTEGER.fullmatch(name.rpartition(".")[2]) is not None
    return False


def _name_off_graph(run: Run, node: ast.Name, mark: ast.AST) -> bool:
    """A name bound once, to a number or to a tensor known to be off the graph, or the name of the leaf."""
    inner = list(ast.walk(run.function.node))
    bound = [one for one in inner if isinstance(one, ast.Assign) and any(_is_name(to, node.id) for to in one.targets)]
    leaf = [one for one in bound if holds(one.value, mark)]
    if leaf and not holds(leaf[0].value, node):
        return _off_graph(run, leaf[0].value, mark)
    stores = [
        one for one in inner if isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load)
    ]
    given = [one for one in inner if isinstance(one, ast.arg) and one.arg == node.id]
    state = last_state(run) if run.state is not None or run.returned else run.now
    value = state.env.get(node.id) if state is not None else None
    if value is None or len(stores) + len(given) != 1:
        return False
    if not value.refs:
        return value.kind == "number"
    return all(ref.obj.kind == "number" or (ref.obj.kind == "tensor" and on_graph(ref) is False) for ref in value.refs)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
