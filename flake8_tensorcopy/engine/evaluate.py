"""Expressions: what each may be, what it reads, what it writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.blocks import denied, entered
from flake8_tensorcopy.engine.facts import PointerTest
from flake8_tensorcopy.engine.features import COUNTED, LAYOUT, STRIDES
from flake8_tensorcopy.engine.graph import graph_of, graph_of_result, sink
from flake8_tensorcopy.engine.items import each_item, exact_items, one_row
from flake8_tensorcopy.engine.linked import operand
from flake8_tensorcopy.engine.parts import Index, Row
from flake8_tensorcopy.engine.ratios import note_difference
from flake8_tensorcopy.engine.repeated import multiplied
from flake8_tensorcopy.engine.run import Outside, Run, per_pass
from flake8_tensorcopy.engine.saved import operator_keeps, record
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    NONE,
    NUMBER,
    SLICE,
    STRING,
    UNKNOWN,
    UNSURE,
    VIEW,
    Arm,
    Link,
    Obj,
    Place,
    Pointer,
    Ref,
    Shape,
    Sizes,
    Value,
    exclusive,
    join_values,
)

CONTAINERS = frozenset({"list", "tuple", "dict", "iter"})


def evaluate(run: Run, node: ast.expr) -> Value:
    """The value of an expression; its reads and writes are recorded on the run."""
    handler = _EVALUATE.get(type(node))
    return handler(run, node) if handler is not None else UNKNOWN


def fresh(run: Run, node: ast.AST, kind: str, made: str, *sources: Value, **facts: Any) -> Value:
    """A new storage made by this expression."""
    source = tuple(ref.obj for value in sources for ref in value.refs)
    made_of = tuple(ref for value in sources for ref in value.refs)
    facts.setdefault("operands", tuple(operand(ref) for ref in made_of))
    return Value((Ref(Obj(kind, "fresh", node, made=made, source=source, inputs=made_of, **facts)),))


def _constant(_run: Run, node: ast.Constant) -> Value:
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


def _name(run: Run, node: ast.Name) -> Value:
    value = run.now.env.get(node.id)
    if value is None:
        imported = run.names.imported.get(node.id)
        if imported is not None:
            return Value(kind="name", const=imported)
        return run.global_value(node.id)
    for ref in value.refs:
        if ref.place is not None:
            ref.place.read = True
    return live_here(run, value)


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
    if isinstance(root, ast.Name) and root.id not in run.now.env:
        return run.names.qualify(node)
    return None


def _attribute(run: Run, node: ast.Attribute) -> Value:
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


# ----- indexing

BASIC, ADVANCED, UNKNOWN_INDEX, KEY = "basic", "advanced", "unknown", "key"


def index_kind(run: Run, node: ast.expr) -> str:
    """Whether an index makes a view (basic), a copy (advanced, proven), names a key, or cannot be told."""
    match node:
        case ast.Slice():
            for part in (node.lower, node.upper, node.step):
                if part is not None:
                    evaluate(run, part)
            return BASIC
        case ast.Tuple():
            kinds = [index_kind(run, item) for item in node.elts]
            if ADVANCED in kinds:
                return ADVANCED
            return UNKNOWN_INDEX if UNKNOWN_INDEX in kinds or KEY in kinds else BASIC
        case ast.Constant():
            if isinstance(node.value, str):
                return KEY
            return ADVANCED if isinstance(node.value, bool) else BASIC
        case ast.List() | ast.ListComp():
            return UNKNOWN_INDEX if _as_tuple(run, evaluate(run, node)) else ADVANCED
        case ast.Starred():
            evaluate(run, node.value)
            return UNKNOWN_INDEX
    value = evaluate(run, node)
    if value.kind in ("number", "slice", "none") and not value.refs:
        return BASIC
    if value.kind == "str" and not value.refs:
        return KEY
    obj = value.obj
    if obj is not None and value.refs:
        if obj.kind == "list":
            return UNKNOWN_INDEX if _as_tuple(run, value) else ADVANCED
        if obj.kind == "tuple":
            return UNKNOWN_INDEX
        chain = value.refs[0].chain
        whole = not any(link.kind == UNSURE or link.key is not None or drops_all(link) for link in chain)
        if obj.made in ("nonzero", "argwhere") and whole:
            return ADVANCED
        made = ops.method(obj.made)
        if made is not None and made.zero_dim and not obj.zero_dim and obj.dtype != "bool":
            return UNKNOWN_INDEX  # reduced over a dimension: of one row it is a single number
        if obj.made in ("compare", "&", "|", "~") and obj.dtype == "bool" and not value.refs[0].chain:
            return ADVANCED  # `x[x > 0]`, whatever x is: with True and False, too, an index copies
        if obj.kind == "array" and obj.owner != "item" and not value.refs[0].chain:
            return ADVANCED
        if run.evidence(obj, run.stmt) >= 3 or (obj.dtype == "bool" and run.evidence(obj, run.stmt) >= 1):
            partial = any(
                link.op == "squeeze" or link.kind == UNSURE or (link.key is not None and not slices_only(link.key))
                for link in chain
            )
            if obj.zero_dim and not partial:
                return BASIC
            return ADVANCED if not partial or obj.dtype == "bool" else UNKNOWN_INDEX
    return UNKNOWN_INDEX


def _as_tuple(run: Run, value: Value) -> bool:
    """Whether a list that is an index holds a slice or None: torch takes it for the tuple of its items."""
    return any(
        held.kind in ("slice", "none") and not held.refs
        for ref in value.refs
        for held in run.now.fields(ref.obj).values()
    )


def slices_only(key: object) -> bool:
    """A part that keeps every dimension."""
    return isinstance(key, Index) and key.slices_only


def drops_all(link: Link) -> bool:
    """`squeeze()` of whatever has size 1: a single index may come out as a number."""
    return link.op == "squeeze" and isinstance(link.node, ast.Call) and not link.node.args


def index_text(run: Run, node: ast.expr) -> tuple[str, bool]:
    """The index as text with the versions of its names, and whether it is the whole tensor (`[:]`, `[None]`)."""
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    whole = all(
        (isinstance(item, ast.Slice) and item.lower is None and item.upper is None and item.step is None)
        or (isinstance(item, ast.Constant) and item.value in (None, ...))
        for item in items
    )
    versions = [f"{name}{run.now.version.get(name, 0)}" for name in run.names_in(node)]
    return f"[{run.text(node)}]{','.join(versions)}", whole


_VERSIONS = re.compile(r"\][^\W\d]\w*(?:,[^\W\d]\w*)*(?=$|[.\[])")


def without_versions(name: str) -> str:
    """What a slot is called, as it is written: `d[i]` of `d[i]i4`."""
    return _VERSIONS.sub("]", name)


def index_part(run: Run, node: ast.expr) -> Index:
    """The index, item by item."""
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    version = run.now.version
    return Index(
        tuple(
            run.text(item) + "".join(f"@{version.get(name, 0)}" for name in run.names_in(item))
            if not _is_dots(item)
            else "..."
            for item in items
        )
    )


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def array_like(node: ast.expr) -> bool:
    """An index only arrays and tensors take."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)):
        return True
    return isinstance(node, ast.Tuple) and any(
        isinstance(item, ast.Slice) or (isinstance(item, ast.Constant) and item.value in (None, ...))
        for item in node.elts
    )


def _subscript(run: Run, node: ast.Subscript) -> Value:
    base = evaluate(run, node.value)
    value = subscript_of(run, node, base)
    if isinstance(node.value, ast.Call):
        run.narrowed_on_host(base, node.value, "indexed")
    run.indexed(node, base, value)
    return value


def subscript_of(run: Run, node: ast.Subscript, base: Value) -> Value:
    """`base[index]` as a value."""
    kind = index_kind(run, node.slice)
    if not base.refs:
        if isinstance(base.const, Sizes) or (isinstance(base.const, Shape) and isinstance(node.slice, ast.Slice)):
            return _sizes(run, node)
        if isinstance(base.const, Shape):
            return _axis_size(run, base.const, node.slice)
        return NUMBER if base.kind == "number" else UNKNOWN
    if array_like(node.slice):
        run.note(base, 1)
    result: Value | None = None
    for ref in base.refs:
        one = held_by(ref, _item_of_ref(run, node, ref, kind, base), base)
        result = one if result is None else join_values(result, one)
    assert result is not None
    return live_here(run, result)


def _bytes(run: Run, node: ast.AST, ref: Ref) -> None:
    from flake8_tensorcopy.engine.expanded import bytes_of

    if isinstance(node, ast.Attribute):
        bytes_of(run, node, (ref,), node.value, "nbytes")


def _axis_size(run: Run, shape: Shape, index: ast.expr) -> Value:
    from flake8_tensorcopy.engine.layouts import axis_size

    return axis_size(run, shape, index)


def _item_of_ref(run: Run, node: ast.Subscript, ref: Ref, kind: str, whole: Value) -> Value:
    obj = ref.obj
    if obj.kind in CONTAINERS or kind == KEY or ref.kind in ("instance", "module", "optimizer"):
        return item_of(run, node, ref, kind)
    if obj.kind == "unknown" and run.evidence(obj) < 1 and not array_like(node.slice):
        if kind == ADVANCED:
            return copy_of(run, node, ref, "index", node.slice, whole)
        if not isinstance(node.slice, ast.Slice):
            return item_of(run, node, ref, kind)
    if kind == ADVANCED:
        return copy_of(run, node, ref, "index", node.slice, whole)
    text, complete = index_text(run, node.slice)
    link = UNSURE if kind == UNKNOWN_INDEX else VIEW
    key = None if complete else index_part(run, node.slice)
    return Value((ref.derive(Link(link, text.split("]")[0] + "]", node, key=key)),))


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


def item_key(run: Run, node: ast.Subscript, kind: str) -> str:
    """The slot of a container that a subscript names; unknown indices are told apart by their text and bindings."""
    index = node.slice
    if isinstance(index, ast.Constant):
        return f"[{run.text(index)}]"
    if isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
        return f"[{run.text(index)}]"
    return index_text(run, index)[0]


def item_of(run: Run, node: ast.Subscript, ref: Ref, kind: str) -> Value:
    """An item of a container."""
    obj = ref.obj
    run.note_container(obj, node.slice)
    run.item_read(obj)
    if any(link.kind == UNSURE for link in ref.chain):
        return Value((Ref(Obj("unknown", "unknown", node)),))
    if obj.kind == "iter" and isinstance(node.slice, ast.Constant):
        part = part_of_several(run, node, obj, node.slice.value)
        if part is not None:
            return part
    snapshot = run.now.fields(obj).get("[*]")
    if isinstance(node.slice, ast.Slice):
        return Value((ref.derive(Link(UNSURE, "[:]", node)),))
    key = item_key(run, node, kind)
    known = run.now.fields(obj).get(key)
    if key == "[-1]" and "[+]" in run.now.fields(obj):
        return run.now.fields(obj)["[+]"]
    if known is None and snapshot is not None and (obj.owner == "fresh" or key == "[-1]" or obj.kind != "list"):
        return each_item(run, obj, key, snapshot)
    if known is None and obj.kind in ("list", "tuple") and kind == BASIC and run.now.fields(obj):
        index = node.slice
        if isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
            count = len(run.now.fields(obj))
            back = index.operand.value
            if isinstance(back, int) and f"[{count - back}]" in run.now.fields(obj):
                return run.now.fields(obj)[f"[{count - back}]"]
    value = known if known is not None else run.field(obj, key)
    for held in value.refs:
        if held.place is not None:
            held.place.read = True
    return value


def part_of_several(run: Run, node: ast.Subscript, several: Obj, position: object) -> Value | None:
    """`x.chunk(2)[0]`: one of the views that `chunk`, `split` or `unbind` makes."""
    from flake8_tensorcopy.engine.operations import unpacked_part

    if not isinstance(several.data, tuple) or several.data[0] != "parts" or type(position) is not int:
        return None
    refs = []
    for ref in several.data[1][0][1].refs:
        key = unpacked_part(run, several.node or node, several.made, position, several.node or node)
        refs.append(ref.derive(Link(VIEW, several.made, several.node or node, key=key)))
    return Value(tuple(refs))


def arithmetic(run: Run, node: ast.AST, made: str, *operands: Value) -> Value:
    """The result of an operator that makes a new tensor (or number)."""
    kinds = {ref.kind for value in operands for ref in value.refs}
    if not kinds:
        if all(value.kind in ("number", "str", "none") for value in operands):
            return NUMBER
        return fresh(run, node, "unknown", made)
    objs = [value.obj for value in operands]
    if "tensor" in kinds:
        kind = "tensor"
    elif "array" in kinds:
        kind = "array"
    elif kinds == {"bytes"}:
        kind = "bytes"
    elif kinds & {"list", "tuple"}:
        result = fresh(run, node, "list" if "list" in kinds else "tuple", made, *operands)
        known = [exact_items(run, value) for value in operands] if made == "+" else []
        for position, item in enumerate(item for items in known for item in items or ()) if None not in known else ():
            run.now.set_field(result.refs[0].obj, f"[{position}]", item)
        return result
    else:
        kind = "unknown"
    result = fresh(run, node, kind, made, *operands)
    obj = result.refs[0].obj
    obj.given = operands
    obj.graph = False if run.now.grad is False else graph_of_result(list(operands))
    record(run, node, made, operator_keeps(made, list(operands)), list(operands), obj)
    obj.zero_dim = all(
        (known.zero_dim and not value.refs[0].chain) if known is not None else value.kind == "number"
        for known, value in zip(objs, operands, strict=True)
    )
    if made in ("&", "|", "^", "~"):
        obj.dtype = next((known.dtype for known in objs if known is not None and known.dtype), "")
    return result


_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.MatMult: "@", ast.Div: "/", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.FloorDiv: "//",
}  # fmt: skip


def operator(node: ast.operator) -> str:
    return _OPERATORS[type(node)]


def _binop(run: Run, node: ast.BinOp) -> Value:
    # `a + b + c + ...` is as deep as it is long: go down the left side without recursion.
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    first = left = evaluate(run, chain[-1].left)
    left_node: ast.expr = chain[-1].left
    for one in reversed(chain):
        right = evaluate(run, one.right)
        role = "difference" if isinstance(one.op, ast.Sub) else "operand"
        if left.kind == "str" and isinstance(one.op, ast.Mod):
            run.use_logged(right, one.right)
            left_node = one
            continue
        run.use(left, left_node, role)
        run.use(right, one.right, role)
        if isinstance(one.op, ast.Mult) and run.function.features & COUNTED:
            _counted_bytes(run, one, left_node, one.right)
        made = arithmetic(run, one, operator(one.op), left, right)
        if isinstance(one.op, ast.Mult):
            multiplied(run, one, left, right, made)
        elif role == "difference":
            note_difference(run, left, right, made)
        if isinstance(left_node, ast.Call) or isinstance(one.right, ast.Call):
            run.expanded(one, [(left_node, left), (one.right, right)])
        left, left_node = made, one
    if left is NUMBER and run.function.features & LAYOUT and isinstance(node.op, (ast.Mult, ast.FloorDiv)):
        return _size(run, node)
    if isinstance(first.const, (Shape, Sizes)) and isinstance(node.op, ast.Add):
        return _sizes(run, node)
    return left


def _counted_bytes(run: Run, node: ast.BinOp, left: ast.expr, right: ast.expr) -> None:
    from flake8_tensorcopy.engine.expanded import product_of_bytes

    product_of_bytes(run, node, left, right)


def _size(run: Run, node: ast.expr) -> Value:
    """A number that is a product of sizes."""
    from flake8_tensorcopy.engine.layouts import size_of

    return Value(kind="number", const=size_of(run, node))


def _sizes(run: Run, node: ast.expr) -> Value:
    """`x.shape[:-1] + (n,)`."""
    from flake8_tensorcopy.engine.layouts import sizes_of

    found = sizes_of(run, node)
    return Value(kind="number", const=Sizes(tuple(found)) if found is not None else None)


def _unary(run: Run, node: ast.UnaryOp) -> Value:
    negates = isinstance(node.op, ast.Not)
    run.negations += negates
    value = evaluate(run, node.operand)
    run.negations -= negates
    match node.op:
        case ast.Not():
            run.use(value, node.operand, "test")
            return NUMBER
        case ast.UAdd():
            return Value(tuple(ref.derive(Link(ALIAS, "+", node)) for ref in value.refs), value.kind)
        case ast.USub() if isinstance(node.operand, ast.Constant) and value.kind == "number":
            return NUMBER
    run.use(value, node.operand, "operand")
    return arithmetic(run, node, "~" if isinstance(node.op, ast.Invert) else "-", value)


def _boolop(run: Run, node: ast.BoolOp) -> Value:
    result: Value | None = None
    for item in node.values:
        value = evaluate(run, item)
        run.use(value, item, "test")
        result = value if result is None else join_values(result, value)
    return result if result is not None and isinstance(node.op, ast.Or) and result.refs else UNKNOWN


def _compare(run: Run, node: ast.Compare) -> Value:
    sides = [node.left, *node.comparators]
    values = [evaluate(run, side) for side in sides]
    if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
        return NUMBER
    for side, value in zip(sides, values, strict=True):
        run.use(value, side, "difference")
    run.compared_on_host(list(zip(sides, values, strict=True)))
    _pointer_test(run, node, values)
    if run.function.features & STRIDES:
        _strides_test(run, node, sides, values)
    if not any(value.refs for value in values):
        return NUMBER
    result = arithmetic(run, node, "compare", *values)
    if result.refs:
        result.refs[0].obj.dtype = "bool"
        result.refs[0].obj.graph = False
    return result


def _strides_test(run: Run, node: ast.Compare, sides: list[ast.expr], values: list[Value]) -> None:
    from flake8_tensorcopy.engine.strides import strides_compared

    if isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        strides_compared(run, node, sides, values)


def _pointer_test(run: Run, node: ast.Compare, values: list[Value]) -> None:
    """`a.data_ptr() != b.data_ptr()`; what the test is used for is seen at the statement."""
    if len(values) != 2 or not all(isinstance(value.const, Pointer) for value in values):
        return
    unequal = isinstance(node.ops[0], ast.NotEq)
    if not unequal and not isinstance(node.ops[0], ast.Eq):
        return
    if unequal == (run.negations % 2 == 0):
        run.pointer_tests.append(pointer_test(run, node, [node.left, *node.comparators], values))


def pointer_test(run: Run, node: ast.expr, sides: list[ast.expr], values: list[Value]) -> PointerTest:
    """The comparison of two addresses."""
    left, right = values[0].const, values[1].const
    assert isinstance(left, Pointer) and isinstance(right, Pointer)
    own = all(_read_once(run, side, made.node) for side, made in zip(sides, (left, right), strict=True))
    return PointerTest(
        site=node,
        left=left.text,
        right=right.text,
        asserted=False,
        guards_copy=False,
        addresses=(left.node, right.node) if own else (),
    )


def _read_once(run: Run, read: ast.expr, made: ast.expr) -> bool:
    """Whether what an expression makes is read in one place only: there, or by a name that this function has for it."""
    if read is made:
        return True
    if not isinstance(read, ast.Name):
        return False
    named = [node for node in ast.walk(run.function.node) if isinstance(node, ast.Name) and node.id == read.id]
    return len(named) == 2 and any(
        isinstance(node, ast.Assign) and node.value is made and len(node.targets) == 1 and node.targets[0] in named
        for node in ast.walk(run.function.node)
    )


def arm_of(run: Run, test: ast.expr) -> tuple[Arm, Arm]:
    """The two arms of a test.  The same text on unchanged names is the same `if`; a call may differ each time round."""
    flipped = False
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, flipped = test.operand, not flipped
    text = run.text(test)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        match test.ops[0]:
            case ast.IsNot():
                text, flipped = text.replace(" is not ", " is "), not flipped
            case ast.NotEq():
                text, flipped = text.replace(" != ", " == "), not flipped
            case ast.NotIn():
                text, flipped = text.replace(" not in ", " in "), not flipped
    version = run.now.version
    names = tuple([(name, version.get(name, 0)) for name in run.names_in(test)])
    key = (text, names, run.loop if "(" in text else ())
    taken, other = run.module.arms(key)
    return (other, taken) if flipped else (taken, other)


def _ifexp(run: Run, node: ast.IfExp) -> Value:
    run.use(evaluate(run, node.test), node.test, "test")
    yes, no = arm_of(run, node.test)
    state = run.now
    arms = state.arms
    values = []
    branches = []
    for arm, branch in ((yes, node.body), (no, node.orelse)):
        if denied(arm, arms):
            continue
        arm.met = arm.other.met = True
        state.arms = entered(arms, arm)
        value = evaluate(run, branch)
        branches.append((branch, value))
        values.append(Value(tuple(ref.under(entered(frozenset(), arm)) for ref in value.refs), value.kind, value.const))
    state.arms = arms
    run.branches[node] = tuple(branches)
    return values[0] if len(values) == 1 else join_values(values[0], values[1])


# ----- displays and comprehensions


def container(run: Run, node: ast.AST, kind: str, items: list[tuple[str, ast.expr, Value]]) -> Value:
    """A new container; each item is a binding of its own."""
    operands = tuple(operand(ref) for _, _, value in items for ref in value.refs)
    obj = Obj(kind, "fresh", node, loop=run.loop, operands=operands)
    for key, item, value in items:
        store_item(run, obj, key, value, item, weak=key == "[*]", role="operand", fresh=True)
    return Value((Ref(obj),))


def store_item(
    run: Run,
    obj: Obj,
    key: str,
    value: Value,
    node: ast.expr,
    weak: bool,
    site: ast.AST | None = None,
    role: str = "store",
    fresh: bool = False,
) -> None:
    """Put a value into a slot; `weak` keeps what was there as an alternative."""
    name = f"{obj.key}{key}" if obj.key else "the item"
    stored_from = next((ref.place.root for ref in value.refs if ref.place is not None), "")
    place = Place(name, site or node, root=obj.key, stored_from=stored_from, origin="store", loop=run.loop)
    place.made_in, place.made_at = run.stmt, run.clock
    held = run.bound(value, place, node)
    run.devices.storing += 1
    run.use(value, node, role)
    run.devices.storing -= 1
    if obj.owner != "fresh" and role == "store":
        run.hand_out(value, site or node, "store", obj)
    if obj.owner not in ("fresh", "unknown"):
        sink(run, value, node, kept=True)
        run.stored_back(obj, key, value)
    if weak:
        before = run.now.fields(obj).get(key)
        if before is not None:
            held = join_values(before, held)
    if fresh:
        run.now.fill_field(obj, key, held)  # made by this expression
    else:
        run.now.set_field(obj, key, held)


def _sequence(run: Run, node: ast.Tuple | ast.List | ast.Set) -> Value:
    items = []
    starred = False
    for position, item in enumerate(node.elts):
        if isinstance(item, ast.Starred):
            starred = True
            items.append(("[*]", item.value, element_of(run, item.value, evaluate(run, item.value))))
        else:
            items.append((f"[{position}]", item, evaluate(run, item)))
    if starred:
        items = [("[*]", item, value) for _, item, value in items]
    return container(run, node, "tuple" if isinstance(node, ast.Tuple) else "list", items)


def _dict(run: Run, node: ast.Dict) -> Value:
    items: list[tuple[str, ast.expr, Value]] = []
    source: Obj | None = None
    for key, item in zip(node.keys, node.values, strict=True):
        value = evaluate(run, item)
        if key is None:
            source = value.obj if item is node.values[0] else None
            for slot, held in _spread(run, value):
                items.append((slot, item, held))
        elif isinstance(key, ast.Constant):
            items.append((f"[{key.value!r}]", item, value))
        else:
            run.use(evaluate(run, key), key, "argument")
            items.append(("[*]", item, value))
    made = container(run, node, "dict", items)
    if source is not None and source.kind in ("dict", "unknown"):
        run.share(node, made.refs[0].obj, source, "{**..}")
    return made


def _spread(run: Run, value: Value) -> list[tuple[str, Value]]:
    for ref in value.refs:
        if ref.obj in run.edited:
            run.item_read(ref.obj)
    return [(slot, held) for ref in value.refs for slot, held in run.now.fields(ref.obj).items()]


def _comprehension(run: Run, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    from flake8_tensorcopy.engine.comprehensions import comprehension

    return comprehension(run, node)


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


def _buffer_of(run: Run, node: ast.AST, ref: Ref) -> Value:
    """One buffer of a module: a tensor that the module owns, and no leaf of the graph."""
    _, parts = ref.obj.data
    module = parts[0][1].obj
    value = run.item_per_pass(module if module is not None else ref.obj, node)
    for held in value.refs:
        held.obj.kind, held.obj.made = "tensor", "buffer"
        held.obj.graph = bool(held.obj.graph)
    return value


def outside_of(run: Run, grad: bool | None) -> Outside:
    """What a function that is defined here finds around it."""
    from flake8_tensorcopy.engine.operations import on_graph

    env = run.now.env
    values = [(name, env[name]) for name in run.closed_over if name in env]
    off = (name for name, value in values if value.refs and all(on_graph(ref) is False for ref in value.refs))
    return Outside(grad, frozenset(off), frozenset(name for name, _ in values))


def _lambda(run: Run, node: ast.Lambda) -> Value:
    run.module.outside.setdefault(run.module.as_function(node), outside_of(run, run.now.grad))
    obj = Obj("function", "fresh", node, data=node)
    return Value((Ref(obj),))


def _namedexpr(run: Run, node: ast.NamedExpr) -> Value:
    from flake8_tensorcopy.engine.assign import bind_target

    value = evaluate(run, node.value)
    run.use(value, node.value, "bind")
    bind_target(run, node.target, value, node.value)
    return run.now.env.get(node.target.id, value)


def _joined_string(run: Run, node: ast.JoinedStr) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            run.use_logged(evaluate(run, part.value), part.value)
            if isinstance(part.format_spec, ast.JoinedStr):
                _joined_string(run, part.format_spec)
    return STRING


def _await(run: Run, node: ast.Await) -> Value:
    return evaluate(run, node.value)


def _yield(run: Run, node: ast.Yield) -> Value:
    run.yields = True
    if node.value is not None:
        value = evaluate(run, node.value)
        run.use_deep(value, node.value, "yield")
        run.hand_out(value, node, "yield")
        sink(run, value, node, kept=True)
    return UNKNOWN


def _yield_from(run: Run, node: ast.YieldFrom) -> Value:
    run.yields = True
    run.use_deep(evaluate(run, node.value), node.value, "yield")
    return UNKNOWN


def _starred(run: Run, node: ast.Starred) -> Value:
    return evaluate(run, node.value)


def _slice(run: Run, node: ast.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            evaluate(run, part)
    return SLICE


def _call(run: Run, node: ast.Call) -> Value:
    from flake8_tensorcopy.engine.calls import call

    return call(run, node)


_EVALUATE: dict[type[ast.AST], Callable[[Run, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binop,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolop,
    ast.Compare: _compare,
    ast.IfExp: _ifexp,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.NamedExpr: _namedexpr,
    ast.JoinedStr: _joined_string,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Starred: _starred,
    ast.Slice: _slice,
    ast.Call: _call,
}
