"""What calls keep for backward: operations by their names, modules by the attributes that hold them."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.keeping import ACTIVATIONS, kept_by
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.looks import name_called

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.trace import Trace

OUTPUT, INPUT = 1, 2


@lru_cache(maxsize=4096)
def keeps(name: str) -> int:
    """Whether some operation of that name, in place or not, keeps its result, and whether an operand."""
    found = 0
    function = f"torch.nn.functional.{name}"
    for op in (ops.method(name), ops.function(f"torch.{name}"), ops.function(function), ops.function(f"{function}_")):
        kept = kept_by(op) if op is not None and op.form != "module" else None
        if kept is not None:
            found |= (OUTPUT if kept.output else 0) | (INPUT if kept.inputs else 0)
    return found


@lru_cache(maxsize=1024)
def module_keeps(name: str) -> int:
    """The same of a module of torch.nn."""
    if name in ACTIVATIONS:
        return keeps(ACTIVATIONS[name])
    if name in ("LSTM", "RNNCell"):
        return OUTPUT
    return INPUT if name.startswith((*library.KEEPING_LAYERS, "Embedding")) else 0


def object_keeps(trace: Trace, func: ast.expr) -> int:
    """What a call of an object may keep."""
    known = trace.file.keepers
    if not known:
        return 0
    if isinstance(func, ast.Attribute):
        return known.get(func.attr, 0)
    if isinstance(func, ast.Name) and func.id not in trace.env:
        return 0
    return known.get("", 0)


def keeps_result(trace: Trace, node: ast.expr) -> bool:
    """Whether an expression is, or has in it, the result of an operation that keeps its result."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Constant)):
        return False
    for one in walk(node):
        if isinstance(one, ast.Call):
            name = name_called(one.func)
            if keeps(name) & OUTPUT or object_keeps(trace, one.func) & OUTPUT:
                return True
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow):
            return True
    return False
