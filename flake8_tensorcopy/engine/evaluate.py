"""Names, attributes and constants: what each may be, what it reads; the table of all other forms is `expressions`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.features import COUNTED
from flake8_tensorcopy.engine.graph import graph_of
from flake8_tensorcopy.engine.linked import on_graph, operand
from flake8_tensorcopy.engine.notes import Outside
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import record
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.values import (
    DETACH,
    NONE,
    NUMBER,
    SLICE,
    UNKNOWN,
    VIEW,
    Link,
    Obj,
    Ref,
    Shape,
    Value,
    exclusive,
    join_values,
)

FEW = 32  # names that functions inside use
CONTAINERS = frozenset({"list", "tuple", "dict", "iter"})


# What evaluates each form of expression: filled in by `expressions`.
HANDLERS: dict[type[ast.AST], Callable[[Run, Any], Value]] = {}


def evaluate(run: Run, node: ast.expr) -> Value:
    """The value of an expression; its reads and writes are recorded on the run."""
    handler = HANDLERS.get(type(node))
    return handler(run, node) if handler is not None else UNKNOWN


def fresh(run: Run, node: ast.AST, kind: str, made: str, *sources: Value, **facts: Any) -> Value:
    """A new storage made by this expression."""
    made_of = tuple([ref for value in sources for ref in value.refs])
    source = tuple([ref.obj for ref in made_of])
    if "operands" not in facts:
        facts["operands"] = tuple([operand(ref) for ref in made_of])
    return Value((Ref(Obj(kind, "fresh", node, made=made, source=source, inputs=made_of, **facts)),))


def constant(_run: Run, node: ast.Constant) -> Value:
    value = node.value
    if value is None:
        return NONE
    if isinstance(value, bytes):
        return Value((Ref(Obj("bytes", "fresh", node)),))
    if isinstance(value, str):
        return Value(kind="str", const=value)
    if value is ...:
        return SLICE
    return Value(kind="number", const=value)


def name_read(run: Run, node: ast.Name) -> Value:
    state = run.now
    value = state.env.get(node.id)
    if value is None:
        imported = run.names.imported.get(node.id)
        if imported is not None:
            return Value(kind="name", const=imported)
        return run.global_value(node.id)
    for ref in value.refs:
        if ref.place is not None:
            ref.place.read = True
    return live_here(run, value) if state.arms and len(value.refs) > 1 else value


def live_here(run: Run, value: Value) -> Value:
    """Of the alternatives, those that the tests passed on the way here leave."""
    if len(value.refs) > 1 and run.now.arms:
        live = tuple(ref for ref in value.refs if not exclusive(ref.arms, run.now.arms))
        if live and len(live) < len(value.refs):
            return Value(live)
    return value


def is_imported(run: Run, node: ast.expr) -> str | None:
    """The qualified name of a dotted expression, if its root is an import and not a local of the same name."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in run.names.imported and root.id not in run.now.env:
        return run.names.qualify(node)
    return None


def attribute(run: Run, node: ast.Attribute) -> Value:
    name = is_imported(run, node)
    if name is not None:
        return Value(kind="name", const=name)
    return attribute_of(run, node, evaluate(run, node.value), node.attr)


def attribute_of(run: Run, node: ast.AST, base: Value, attr: str) -> Value:
    """`base.attr`, not called."""
    if not base.refs:
        return UNKNOWN
    result: Value | None = None
    for ref in base.refs:
        one = held_by(ref, _attribute_of_ref(run, node, ref, attr), base)
        result = one if result is None else join_values(result, one)
    assert result is not None
    return live_here(run, result)


# Steps to one of several tensors that were made of one.
_PIECES = frozenset({"chunk", "iteration", "split", "split_with_sizes", "tensor_split", "unbind"})


def held_by(ref: Ref, value: Value, whole: Value) -> Value:
    """What an alternative of an object holds comes with the arms of that alternative."""
    if len(whole.refs) < 2 or not ref.arms:
        return value
    live = [one for one in value.refs if not exclusive(one.arms, ref.arms)] or value.refs
    return Value(tuple(one.under(ref.arms) for one in live), value.kind, value.const)


def _attribute_of_ref(run: Run, node: ast.AST, ref: Ref, attr: str) -> Value:
    obj = ref.obj
    if ref.kind in ("tensor", "array", "unknown"):
        op = ops.method(attr)
        if op is not None and op.form == "property" and attr != "grad":
            if op.result in ("view", "maybe", "same"):
                kind = DETACH if op.detaches else VIEW
                if kind == DETACH and obj.kind == "unknown":
                    run.note(Value((ref,)), 1)
                return Value((ref.derive(Link(kind, attr, node, permuted=op.permutes)),))
            if op.result in ("host", "none", "other"):
                if attr == "shape":
                    return Value(kind="number", const=Shape(ref))
                if attr == "nbytes" and run.function.features & COUNTED:
                    _bytes(run, node, ref)
                if attr in ("ndim", "dtype", "device", "itemsize", "nbytes", "requires_grad", "is_cuda"):
                    return NUMBER
                if obj.kind == "tensor":
                    return NUMBER
        if op is None and obj.kind == "unknown":
            obj.refuted = True  # tensors have no such attribute
        if attr == "grad":
            run.note(Value((ref,)), 2)
            run.gradient_read(ref, node)
            if any(link.kind == VIEW and link.op in _PIECES for link in ref.chain):
                return UNKNOWN  # a piece has a gradient of its own, and that of the next pass is another one
    elif obj.kind in CONTAINERS:
        slot = {"values": "[0]", "indices": "[1]"}.get(attr, "")
        return run.now.fields(obj).get(slot, UNKNOWN)
    if obj.kind in ("module", "unknown") and obj in run.now.writes:
        run.module_used(ref, node, called=False)
    slot = run.module.held_under(obj.data, attr) if isinstance(obj.data, Class) else attr
    value = run.field(obj, "." + slot)
    if attr == "strides" and ref.kind in ("array", "unknown"):
        for held in value.refs:
            run.byte_strides.setdefault(held.obj, ref)
    for held in value.refs:
        if held.place is not None:
            held.place.read = True
    return value


def _bytes(run: Run, node: ast.AST, ref: Ref) -> None:
    from flake8_tensorcopy.engine.expanded import bytes_of

    if isinstance(node, ast.Attribute):
        bytes_of(run, node, (ref,), node.value, "nbytes")


def copy_of(
    run: Run, node: ast.AST, ref: Ref, made: str, index: ast.AST | None = None, whole: Value | None = None
) -> Value:
    """A fresh storage that holds a copy of (part of) the data of a reference, one of the alternatives of `whole`."""
    obj = Obj(
        "tensor" if ref.kind == "tensor" else "array" if "array" in (ref.kind, ref.obj.kind) else "unknown",
        "fresh",
        node,
        made=made,
        source=(ref.obj,),
        operands=(operand(ref),),
        copied=ref,
        dtype=ref.obj.dtype,
        graph=None if run.now.grad is None else (graph_of(Value((ref,))) if run.now.grad else False),
        data=index,
    )
    run.use(Value((ref,)), node, "operand", whole)
    record(run, node, made, None, [Value((ref,))], obj)
    return Value((Ref(obj),))


def outside_of(run: Run, grad: bool | None, node: ast.AST) -> Outside:
    """What a function that is defined here finds around it."""
    env = run.now.env
    # Those that all the functions inside use may be very many.
    names = run.closed_over if len(run.closed_over) <= FEW else run.closed_over.intersection(run.names_in(node))
    values = [(name, env[name]) for name in names if name in env]
    off = (name for name, value in values if value.refs and all(on_graph(ref) is False for ref in value.refs))
    return Outside(grad, frozenset(off), frozenset(name for name, _ in values))
