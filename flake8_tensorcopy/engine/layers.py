"""Whether a module surely holds parameters."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.values import Obj

MAX_NESTED = 6


def has_parameters(run: Run, obj: Obj, depth: int = 0) -> bool:
    """Whether an object is a layer that holds a parameter for certain, or a parameter itself."""
    if depth > MAX_NESTED:
        return False
    if obj.kind == "tensor":
        return obj.param
    if obj.kind in ("list", "dict"):
        held = run.now.fields(obj).values() if run.state is not None else ()
        return any(has_parameters(run, ref.obj, depth + 1) for value in held for ref in value.refs)
    if obj.kind != "module":
        return False
    if isinstance(obj.data, Class):
        return _class_has(run, obj.data, depth)
    if isinstance(obj.data, tuple) and obj.data[0] in ("layers", "some layers"):
        return any(has_parameters(run, ref.obj, depth + 1) for value in obj.data[1] for ref in value.refs)
    return _built_with(obj.cls, obj.node)


def _class_has(run: Run, cls: Class, depth: int) -> bool:
    """Whether `__init__` of a class of this file (or of its bases) gives every object a parameter."""
    for value in run.module.table(cls).values():
        if value.refs and all(has_parameters(run, ref.obj, depth + 1) for ref in value.refs):
            return True
    return any(_built_with(run.names.qualify(base) or "", None) for base in cls.bases)


def _built_with(name: str, node: ast.AST | None) -> bool:
    """Whether a class of torch.nn, as called here, has parameters."""
    short = name.removeprefix("torch.nn.")
    asked = {}
    if isinstance(node, ast.Call):
        asked = {one.arg: one.value.value for one in node.keywords if isinstance(one.value, ast.Constant)}
    if short in library.AFFINE_IF_ASKED:
        return asked.get("affine") is True
    if False in (asked.get("affine"), asked.get("elementwise_affine")):
        return False
    return short in library.WITH_PARAMETERS and name != short
