"""Items and parts: what `x[i]` is of a tensor, a list, a dict, a shape."""

from __future__ import annotations

import ast
import re

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.displays import missing_item
from flake8_tensorcopy.engine.evaluate import CONTAINERS, copy_of, evaluate, held_by, live_here
from flake8_tensorcopy.engine.items import each_item
from flake8_tensorcopy.engine.kinds import is_array
from flake8_tensorcopy.engine.operators import sizes_joined
from flake8_tensorcopy.engine.parts import Index
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import keep_index
from flake8_tensorcopy.engine.values import (
    NUMBER,
    UNKNOWN,
    UNSURE,
    VIEW,
    Link,
    Obj,
    Ref,
    Shape,
    Sizes,
    Value,
    join_values,
)

_VERSIONS = re.compile(r"\][^\W\d]\w*(?:,[^\W\d]\w*)*(?=$|[.\[])")

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
        if obj.kind == "unknown" and obj in run.params and _counted_by_default(run, obj.key):
            return BASIC
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
            # A number of NumPy is no array: `x[np.random.randint(5)]` is a view.
            return ADVANCED if obj.owner != "fresh" or is_array(run, value.refs[0]) else UNKNOWN_INDEX
        if run.evidence(obj, run.stmt) >= 3 or (obj.dtype == "bool" and run.evidence(obj, run.stmt) >= 1):
            partial = any(
                link.op == "squeeze" or link.kind == UNSURE or (link.key is not None and not slices_only(link.key))
                for link in chain
            )
            if obj.zero_dim and not partial:
                return BASIC
            return ADVANCED if not partial or obj.dtype == "bool" else UNKNOWN_INDEX
    return UNKNOWN_INDEX


def _counted_by_default(run: Run, name: str) -> bool:
    """Whether the default of a parameter is a whole number: `def clear(self, row=0)`."""
    spec = run.function.node.args if not isinstance(run.function.node, ast.Module) else None
    if spec is None:
        return False
    given = [*spec.posonlyargs, *spec.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [*zip(spec.kwonlyargs, spec.kw_defaults, strict=True)]
    pairs += zip(reversed(given), reversed(spec.defaults), strict=False)
    return any(
        one.arg == name and isinstance(default, ast.Constant) and type(default.value) is int for one, default in pairs
    )


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


def _takes_a_part(index: ast.expr) -> bool:
    """Whether an index leaves elements out; `x[None]`, `x[..., None]` and `x[:, None]` only add an axis."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return not all(
        (isinstance(item, ast.Constant) and item.value in (None, ...))
        or (isinstance(item, ast.Slice) and item.lower is None and item.upper is None and item.step is None)
        for item in items
    )


def subscript(run: Run, node: ast.Subscript) -> Value:
    base = evaluate(run, node.value)
    value = subscript_of(run, node, base)
    if isinstance(node.slice, ast.Name) and node.slice.id in run.now.env:
        keep_index(run, node, value, run.now.env[node.slice.id])
    if run.scrambled:
        _shifted(run, node, base)
    if isinstance(node.value, ast.Call) and _takes_a_part(node.slice):
        run.narrowed_on_host(base, node.value, "indexed")
    run.indexed(node, base, value)
    return value


def subscript_of(run: Run, node: ast.Subscript, base: Value) -> Value:
    """`base[index]` as a value."""
    kind = index_kind(run, node.slice)
    if not base.refs:
        if isinstance(base.const, Sizes) or (isinstance(base.const, Shape) and isinstance(node.slice, ast.Slice)):
            return sizes_joined(run, node)
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


def _shifted(run: Run, node: ast.Subscript, base: Value) -> None:
    from flake8_tensorcopy.engine.reshaping import padded_and_shifted

    padded_and_shifted(run, node, base)


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
    if known is None:
        known = missing_item(run, node, obj, key)
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
