"""What a loop gets of what it goes over."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.items import one_row
from flake8_tensorcopy.engine.parts import Row
from flake8_tensorcopy.engine.run import Run, per_pass
from flake8_tensorcopy.engine.values import (
    NUMBER,
    STRING,
    UNKNOWN,
    UNSURE,
    VIEW,
    Link,
    Obj,
    Ref,
    Value,
    join_values,
)


def element_of(run: Run, node: ast.AST, value: Value) -> Value:
    """What iterating over the value yields; a new object for each pass of the loop."""
    if not value.refs:
        return NUMBER if value.kind == "number" else UNKNOWN
    result: Value | None = None
    for ref in value.refs:
        one = _element_of_ref(run, node, ref)
        result = one if result is None else join_values(result, one)
    assert result is not None
    return result


def _element_of_ref(run: Run, node: ast.AST, ref: Ref) -> Value:
    obj = ref.obj
    data = obj.data
    if ref.kind not in ("tensor", "array") and any(link.kind == UNSURE for link in ref.chain):
        return Value((Ref(Obj("unknown", "unknown", node)),))  # some of the items, unknown which
    if obj.kind == "iter" and isinstance(data, tuple):
        kind, parts = data
        match kind:
            case "zip":
                values = [element_of(run, part_node, part) for part_node, part in parts]
            case "enumerate":
                values = [NUMBER, element_of(run, parts[0][0], parts[0][1])]
            case "items":
                values = [STRING, values_of(run, parts[0][0], parts[0][1])]
            case "values":
                return values_of(run, parts[0][0], parts[0][1])
            case "keys":
                return STRING
            case "range":
                return NUMBER
            case "named":
                values = [STRING, _parameter_of(run, node, ref)]
            case "parameters":
                return _parameter_of(run, node, ref)
            case "named buffers":
                values = [STRING, _buffer_of(run, node, ref)]
            case "buffers":
                return _buffer_of(run, node, ref)
            case _:
                return element_of(run, parts[0][0], parts[0][1])
        pack = Obj("tuple", "fresh", node)
        run.now.set_field(pack, "[0]", values[0])
        for position, item in enumerate(values[1:], 1):
            run.now.set_field(pack, f"[{position}]", item)
        return Value((Ref(pack),))
    if obj.kind in ("tensor", "array") or (obj.kind == "unknown" and run.evidence(obj) >= 2):
        # Each row is another part.
        link = Link(VIEW, "iteration", node, key=Row(node, run.loop))
        return Value((ref.derive(link),))
    if obj.kind == "dict":
        return STRING
    held_in = run.now.fields(obj) if obj.kind in ("list", "tuple", "iter") else {}
    if obj.data == "each" or (obj.kind == "list" and obj.owner != "fresh"):
        # Whatever stands for all the items, not those that were met by their index.
        fields = [held_in[slot] for slot in ("[*]", "[+]") if slot in held_in]
    else:
        fields = [held for slot, held in held_in.items() if not per_pass(slot)]
    if fields:
        # What was put into somebody else's list stands beside what was there.
        joined: Value | None = run.item_per_pass(obj, node) if obj.owner != "fresh" else None
        for held in fields:
            joined = held if joined is None else join_values(joined, held)
        assert joined is not None
        if obj.data == "each":
            joined = Value(tuple(one_row(ref, node, run.loop) for ref in joined.refs), joined.kind)
        return _fresh_part(run, node, joined)
    return run.item_per_pass(obj, node)


def values_of(run: Run, node: ast.AST, value: Value) -> Value:
    """One of the values of a mapping."""
    result: Value | None = None
    for ref in value.refs:
        fields = [one for slot, one in run.now.fields(ref.obj).items() if slot[0] == "[" and not per_pass(slot)]
        held = fields if fields and ref.obj.kind != "unknown" else [run.item_per_pass(ref.obj, node)]
        for one in held:
            result = one if result is None else join_values(result, one)
    return _fresh_part(run, node, result) if result is not None else UNKNOWN


def _fresh_part(run: Run, node: ast.AST, value: Value) -> Value:
    """An element of a list of live parameters (or buffers) is one of them, not all."""
    refs = []
    for ref in value.refs:
        held = [link for link in ref.chain if link.kind == "snapshot" and link.op in ("parameters", "buffers")]
        if held and not any(link.op == "parameter" for link in ref.chain):
            ref = ref.derive(Link(VIEW, "parameter", node, key=("parameter", node, run.loop)))
        refs.append(ref)
    return Value(tuple(refs), value.kind)


def _parameter_of(run: Run, node: ast.AST, ref: Ref) -> Value:
    """One parameter of a module: a tensor that the module owns."""
    _, parts = ref.obj.data
    module = parts[0][1].obj
    value = run.item_per_pass(module if module is not None else ref.obj, node)
    for held in value.refs:
        held.obj.kind = "tensor"
        held.obj.param = True
        held.obj.leaf = True
        held.obj.graph = held.obj.graph is not False
    return value


def first_parameter(run: Run, node: ast.AST, values: list[Value]) -> Value | None:
    """`next(model.parameters())`, also through `iter`."""
    ref = values[0].refs[0] if values and len(values[0].refs) == 1 else None
    while ref is not None and ref.obj.kind == "iter" and ref.obj.made == "iter" and isinstance(ref.obj.data, tuple):
        inner = ref.obj.data[1][0][1]
        ref = inner.refs[0] if len(inner.refs) == 1 else None
    if ref is None or ref.obj.kind != "iter" or not isinstance(ref.obj.data, tuple) or ref.obj.data[0] != "parameters":
        return None
    return _parameter_of(run, node, ref)


def _buffer_of(run: Run, node: ast.AST, ref: Ref) -> Value:
    """One buffer of a module: a tensor that the module owns, and no leaf of the graph."""
    _, parts = ref.obj.data
    module = parts[0][1].obj
    value = run.item_per_pass(module if module is not None else ref.obj, node)
    for held in value.refs:
        held.obj.kind, held.obj.made = "tensor", "buffer"
        held.obj.graph = bool(held.obj.graph)
    return value
