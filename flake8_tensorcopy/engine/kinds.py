"""What is a tensor, and what an array, by its definition: how a value is used says nothing here."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.parts import Index
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import MAYBE, NUMPY, UNSURE, VIEW, Obj, Ref, Value

# Elementwise operators: of tensors they make a tensor, in memory of its own.
OPERATORS = frozenset("+ - * / // % ** & | ^ ~ compare".split())

# Functions of NumPy that give an array whatever they are given, and never a single number.
_ARRAYS = frozenset(
    "array asarray ascontiguousarray asfortranarray zeros ones empty full zeros_like ones_like empty_like full_like "
    "arange linspace logspace geomspace eye identity stack concatenate vstack hstack dstack column_stack tile repeat "
    "copy pad resize expand_dims tril triu outer kron indices fromiter fromfile loadtxt genfromtxt "
    "argsort argpartition argwhere flatnonzero".split()
)
# The same of random numbers, if a size is given: the number of arguments before it.
_RANDOM = {
    "rand": 0, "randn": 0, "random": 0, "random_sample": 0, "standard_normal": 0, "permutation": 0, "choice": 1,
    "uniform": 2, "normal": 2, "randint": 2, "binomial": 2, "integers": 2,
}  # fmt: skip
# Of those, the ones that may give the memory of an argument.
_SHARED = frozenset({"asarray", "ascontiguousarray", "asfortranarray", "expand_dims", "transpose"})
# Methods that give an array of an array, though a number of a number.
_KEEPS = frozenset("astype copy clip round cumsum reshape transpose swapaxes repeat squeeze ravel".split())

MAX_DEPTH = 8


def is_tensor(ref: Ref) -> bool:
    """By annotation, as the result of torch, or of a method of one."""
    if ref.chain and ref.chain[-1].kind == MAYBE and ref.chain[-1].op in ("as_tensor", "asarray"):
        return True
    if ref.kind == "tensor":
        return not _repeats_list(ref.obj)
    return ref.kind == "unknown" and not ref.chain and _of_tensor(ref.obj, 0)


def _repeats_list(obj: Obj) -> bool:
    """`[0] * count`: a list, though the count is a tensor."""
    return obj.made in OPERATORS and any(one.kind in ("list", "tuple") for one in obj.source)


def _of_tensor(obj: Obj, depth: int) -> bool:
    if obj.kind == "tensor":
        return not _repeats_list(obj)
    if obj.kind != "unknown" or obj.refuted or obj.owner != "fresh" or not obj.source or depth > MAX_DEPTH:
        return False
    op = ops.method(obj.made)
    known = (
        obj.made in OPERATORS
        or obj.made in ("@", "index")
        or (op is not None and op.result == "fresh" and (op.many == 1 or obj.zero_dim))
    )
    return known and _of_tensor(obj.source[0], depth + 1)


def is_array(run: Run, ref: Ref, depth: int = 0) -> bool:
    """By annotation, as the result of a function of NumPy that never gives a number, or as `x.numpy()`."""
    for link in reversed(ref.chain):
        if link.kind == NUMPY:
            return link.op == "numpy"
        if link.kind in (UNSURE, MAYBE):
            return False
        if link.kind == VIEW and link.key is not None and not (isinstance(link.key, Index) and link.key.slices_only):
            return False  # an item of an array may be a number
        if link.kind == VIEW and _made_by_numpy(run, link.node, depth + 1):
            return True
    obj = ref.obj
    if ref.kind == "unknown":
        alone = all(link.op == "=" for link in ref.chain)
        return alone and obj.owner != "argument" and _made_by_numpy(run, obj.node, depth + 1)
    if ref.kind != "array":
        return False
    if obj.owner == "argument":
        return True
    return isinstance(obj.node, ast.expr) and makes_array(run, obj.node, depth + 1)


def makes_array(run: Run, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression surely gives an array of NumPy and no number."""
    if depth > MAX_DEPTH:
        return False
    match node:
        case ast.BinOp(left=left, right=right):
            return makes_array(run, left, depth + 1) or makes_array(run, right, depth + 1)
        case ast.Name():
            value = run.now.env.get(node.id, Value())
            return bool(value.refs) and all(ref.kind == "array" and is_array(run, ref, depth + 1) for ref in value.refs)
        case ast.Call(func=ast.Attribute(value=base, attr=name)):
            known = is_imported(run, node.func)
            if known is None:
                return name == "flatten" or (name in _KEEPS and makes_array(run, base, depth + 1))
            return known.startswith("numpy.") and _function_makes_array(run, node, name, depth)
        case ast.Call(func=ast.Name(id=name)):
            known = is_imported(run, node.func) or ""
            return known.startswith("numpy.") and _function_makes_array(run, node, known.rsplit(".", 1)[-1], depth)
    return False


def _made_by_numpy(run: Run, node: ast.AST | None, depth: int) -> bool:
    """Whether a function of NumPy makes an array of what nothing is known of; methods and operators may follow."""
    if depth > MAX_DEPTH:
        return False
    match node:
        case ast.BinOp(left=left, right=right):
            return _made_by_numpy(run, left, depth + 1) or _made_by_numpy(run, right, depth + 1)
        case ast.Call(func=func):
            known = is_imported(run, func)
            if known is not None:
                return known.startswith("numpy.") and _function_makes_array(run, node, known.rsplit(".", 1)[-1], depth)
            if isinstance(func, ast.Attribute) and func.attr in _KEEPS:
                return _made_by_numpy(run, func.value, depth + 1)
    return False


def _function_makes_array(run: Run, node: ast.Call, name: str, depth: int) -> bool:
    if name in _RANDOM:
        return len(node.args) > _RANDOM[name] or any(keyword.arg == "size" for keyword in node.keywords)
    if name == "where":
        return len(node.args) == 3
    if name == "clip":  # of a tensor it gives a tensor
        return bool(node.args) and makes_array(run, node.args[0], depth + 1)
    if name == "load":  # of an archive no tensor could be made
        return not any(keyword.arg in ("mmap_mode", "allow_pickle", None) for keyword in node.keywords)
    if name == "transpose":  # of fewer axes, a table of pandas may be asked to transpose itself
        return len(node.args) == 2 and isinstance(node.args[1], (ast.Tuple, ast.List)) and len(node.args[1].elts) > 2
    return name in _ARRAYS


def makes_new_array(run: Run, node: ast.expr) -> bool:
    """Whether the array of an expression is new memory, which nothing else holds once it has been read."""
    match node:
        case ast.BinOp():
            return makes_array(run, node)
        case ast.Call(func=ast.Attribute(value=base, attr=name)):
            known = is_imported(run, node.func)
            if known is not None:
                return makes_array(run, node) and known.rsplit(".", 1)[-1] not in _SHARED
            if name == "astype" and any(keyword.arg == "copy" for keyword in node.keywords):
                return False
            if name in ("reshape", "transpose", "swapaxes", "squeeze", "ravel"):
                return makes_new_array(run, base)
            return name in ("astype", "copy", "flatten") and makes_array(run, node)
        case ast.Call():
            known = is_imported(run, node.func) or ""
            return makes_array(run, node) and known.rsplit(".", 1)[-1] not in _SHARED
    return False
