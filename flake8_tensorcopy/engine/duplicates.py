"""`x[idx] += v` reads, adds and writes back: a position that the index names twice counts once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flake8_tensorcopy.engine.evaluate import evaluate, is_imported
from flake8_tensorcopy.engine.facts import LostUpdate
from flake8_tensorcopy.engine.graph import ancestors
from flake8_tensorcopy.engine.parts import Index
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.unwrapped import inputs_of
from flake8_tensorcopy.engine.values import ALIAS, DETACH, MAYBE, NUMPY, VIEW, Obj, Ref, Value, per_pass

_DRAWN = frozenset({"randint", "randint_like", "bucketize", "searchsorted", "digitize"})
_BEST = frozenset({"argmax", "argmin"})
_PAIRS = frozenset({"max", "min", "mode", "median"})  # along a dimension: values and positions
_FOLDED = frozenset({"%", "//", "remainder", "fmod", "floor_divide"})
_KEEPS = frozenset({"clamp", "index", "clone", "cat", "stack", "gather", "repeat", "repeat_interleave", "abs"})
_ROUNDED = frozenset({"floor", "ceil", "round", "trunc"})
_COMPUTED = _ROUNDED | {
    "*",
    "/",
    "mul",
    "div",
    "rand",
    "sigmoid",
    "uniform_",
    "+",
    "-",
    "sub",
    "add",
    "clamp",
    "normal",
}
_ONCE = frozenset(
    {"unique", "unique_consecutive", "arange", "randperm", "nonzero", "argwhere", "argsort", "where", "sort"}
)
_FLAT = frozenset({"view", "reshape", "flatten", "ravel"})
_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros"})
_MASKS = frozenset(
    "mask masks keep valid invalid selected chosen perm permutation order unique idx_unique done active inactive alive "
    "correct finished inside visible".split()
)
MAX_STEPS = 6


def indexed_update(run: Run, node: ast.stmt, target: ast.Subscript, op: str, added: ast.expr, base: Value) -> None:
    """Judge `target op= added` by what the index is made of."""
    if op not in ("+=", "-=") or not base.refs or any(ref.kind not in ("tensor", "unknown") for ref in base.refs):
        return
    items = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    if len(items) > 3:
        return
    found: list[tuple[str, ast.AST | None]] = []
    folded = 0
    counts = _counts(run, base, added)
    for item in items:
        if isinstance(item, (ast.Slice, ast.Constant, ast.Starred)):
            continue
        value = evaluate(run, item)
        if not value.refs and value.kind in ("number", "none", "slice"):
            return  # one number takes a dimension away, and what is left is another tensor
        made = _literal(run, item, value) or _repeats(run, value)
        if made is None and counts and _labels(run, item, value):
            made = ("labels", None)
        if made is None and not _masks(run, item) and _one_side(run, node, value, base, added):
            made = ("one side of pairs", None)
        if made is None:
            return
        folded += made[0] in _FOLDED
        found.append(made)
    if not found or (folded > 1):
        return
    origin, source = found[0]
    name = run.short(target.value)
    index = run.short(target)[len(name) + 1 : -1]
    run.fact(
        LostUpdate(
            site=node,
            target=name,
            index=index,
            op=op,
            made=origin,
            source=source,
            place=target,
            added=added,
            value=_added(run, base, evaluate(run, added)),
            by_tensors=all(_is_tensor(run, evaluate(run, item)) for item in items),
        )
    )


def _is_tensor(run: Run, value: Value) -> bool:
    obj = value.obj
    return obj is not None and obj.kind != "array" and (obj.kind == "tensor" or run.evidence(obj, run.stmt) >= 2)


def _added(run: Run, base: Value, value: Value) -> str:
    """A tensor that may have the dtype of the base, or a number."""
    if value.kind == "number" and not value.refs:
        return "number"
    known = {one.obj.dtype for one in (base, value) if one.obj is not None and one.obj.dtype}
    return "tensor" if _is_tensor(run, value) and len(known) < 2 else ""


def assigned_update(run: Run, node: ast.Assign) -> None:
    """`x[idx] = x[idx] + v`."""
    match node:
        case ast.Assign(targets=[ast.Subscript() as target], value=ast.BinOp(op=ast.Add() | ast.Sub() as op) as sum_):
            text = run.text(target)
            sign = "+=" if isinstance(op, ast.Add) else "-="
            if run.text(sum_.left) == text:
                indexed_update(run, node, target, sign, sum_.right, evaluate(run, target.value))
            elif sign == "+=" and run.text(sum_.right) == text:
                indexed_update(run, node, target, sign, sum_.left, evaluate(run, target.value))


def _literal(run: Run, node: ast.expr, value: Value) -> tuple[str, ast.AST | None] | None:
    """A list of numbers that names one of them twice, also by name or in `torch.tensor`."""
    obj = value.obj
    if obj is None or (value.refs and any(link.kind not in (ALIAS, MAYBE) for link in value.refs[0].chain)):
        return None
    if obj.made in ("tensor", "as_tensor", "LongTensor") and isinstance(obj.node, ast.Call) and obj.node.args:
        inner = obj.node.args[0]
        if isinstance(inner, ast.List):
            numbers = [item.value for item in inner.elts if isinstance(item, ast.Constant)]
            return _twice(numbers, len(inner.elts), obj.node)
        obj = next((one for one in obj.operands if one.kind == "list"), obj)
    if obj.kind == "list" and obj.owner == "fresh" and obj.data is None:
        fields = run.now.fields(obj)
        consts = [held.const for slot, held in fields.items() if slot != "[*]" and isinstance(held.const, int)]
        return _twice(consts, len(fields), obj.node)
    return None


def _twice(numbers: Sequence[object], count: int, node: ast.AST | None) -> tuple[str, ast.AST | None] | None:
    if len(numbers) != count or not all(isinstance(item, int) and not isinstance(item, bool) for item in numbers):
        return None
    return ("a list that names a position twice", node) if len(set(numbers)) < len(numbers) else None


def _repeats(run: Run, value: Value) -> tuple[str, ast.AST | None] | None:
    """What makes the positions, if it surely can make one of them twice."""
    if len(value.refs) != 1:
        return None
    return _ref_repeats(run, value.refs[0], MAX_STEPS)


def _ref_repeats(run: Run, ref: Ref, steps: int) -> tuple[str, ast.AST | None] | None:
    obj = ref.obj
    links = [link for link in ref.chain if link.kind != ALIAS]
    if any(link.kind not in (VIEW, DETACH, MAYBE, NUMPY) for link in links):
        return None
    if obj.zero_dim and not links and (obj.node is None or _dim(run, obj.node, obj.made) is None):
        return None
    parts = [link.key for link in links if link.key is not None]
    second = obj.made in _PAIRS and len(parts) == 1 and parts[0] == Index(("1",))
    if parts and not second and not all(isinstance(key, Index) and ":" in key.items[0] for key in parts):
        return None
    flat = any(link.op in _FLAT for link in links)
    cast = any(link.op in ("long", "int") or link.dtype.startswith("int") for link in links)
    return _obj_repeats(run, obj, second, flat, cast, steps)


def _is_an_item(ref: Ref) -> bool:
    """`labels[i]`: perhaps one number, and no several positions."""
    parts = [link.key for link in ref.chain if link.key is not None]
    return any(not isinstance(key, Index) or all(":" not in item for item in key.items) for key in parts)


def _obj_repeats(
    run: Run, obj: Obj, second: bool, flat: bool, cast: bool, steps: int
) -> tuple[str, ast.AST | None] | None:
    if steps <= 0:
        return None
    made, node, parent = obj.made, obj.node, obj.parent
    if obj.slot == ".indices" and parent is not None and parent.made in _PAIRS:
        made, node, second = parent.made, parent.node, True
    if not isinstance(node, (ast.Call, ast.expr)) or made in _ONCE or obj.dtype == "bool":
        return None
    if made in _DRAWN and not _single(node):
        return (made, node)
    if made == "multinomial" and _keyword(node, "replacement", True, 2 if _is_function(run, node) else 1):
        return (made, node)
    if made == "choice" and obj.kind == "array" and not any(k.arg == "replace" for k in getattr(node, "keywords", ())):
        return (made, node) if len(getattr(node, "args", ())) == 2 else None
    if (made in _BEST or (made in _PAIRS and second)) and _dim(run, node, made) is not None:
        return (made, node)
    if made == "topk" and (flat or (_dim(run, node, made) or 0) > 0):
        return (made, node)
    if made in _FOLDED and any(run.evidence(one) >= 2 or one.kind == "tensor" for one in obj.operands):
        return None if any(_is_an_item(one) for one in inputs_of(obj)) else (made, node)
    if made in ("long", "int", "to", "type") and len(obj.operands) == 1:
        return _obj_repeats(run, obj.operands[0], second, flat, True, steps - 1)
    tensors = [one for one in obj.operands if one.kind in ("tensor", "unknown")]
    if made in ("+", "-", *_KEEPS):
        for one in tensors[:1] if len(tensors) == 1 or made in _KEEPS else ():
            inner = _obj_repeats(run, one, False, flat, False, steps - 1)
            if inner is not None:
                return inner
    if cast and made in _COMPUTED and "int" not in obj.dtype and obj.owner == "fresh":
        return None if _whole(obj, steps) else ("rounded values", node)
    return None


def _whole(obj: Obj, steps: int) -> bool:
    """Whether a computed value may have been of an integer type all along."""
    if obj.made in _ROUNDED or obj.made in ("/", "div", "rand", "sigmoid", "normal", "uniform_"):
        return False
    if steps <= 0 or obj.dtype.startswith("int") or obj.made in _ONCE:
        return True
    if obj.dtype.startswith("float"):
        return False
    return all(_whole(one, steps - 1) for one in obj.operands)


def _is_function(run: Run, node: ast.AST) -> bool:
    """Whether a call is one of a function (`torch.argmax(x, 1)`) and not of a method."""
    return isinstance(node, ast.Call) and is_imported(run, node.func) is not None


def _dim(run: Run, node: ast.AST, made: str) -> int | None:
    """The dimension that a call names."""
    if not isinstance(node, ast.Call):
        return None
    first = (1 if _is_function(run, node) else 0) + (made == "topk")
    given = next((keyword.value for keyword in node.keywords if keyword.arg in ("dim", "axis")), None)
    if given is None and len(node.args) > first:
        given = node.args[first]
    match given:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def _keyword(node: ast.AST, name: str, wanted: object, position: int) -> bool:
    if not isinstance(node, ast.Call):
        return False
    given = next((keyword.value for keyword in node.keywords if keyword.arg == name), None)
    if given is None and len(node.args) > position:
        given = node.args[position]
    return isinstance(given, ast.Constant) and given.value is wanted


def _single(node: ast.AST) -> bool:
    """Whether one number is drawn."""
    sizes = [item for item in getattr(node, "args", ()) if isinstance(item, (ast.Tuple, ast.List))]
    sizes += [keyword.value for keyword in getattr(node, "keywords", ()) if keyword.arg == "size"]
    for item in sizes:
        numbers = [getattr(one, "value", None) for one in getattr(item, "elts", [item])]
        if all(number == 1 for number in numbers):
            return True
    return False


def _counts(run: Run, base: Value, added: ast.expr) -> bool:
    """Whether a number is added to what began as zeros: something is counted."""
    obj = base.obj
    number = isinstance(added, ast.Constant) and isinstance(added.value, (int, float))
    if isinstance(added, ast.Call):
        number = (is_imported(run, added.func) or "") in ("torch.ones", "torch.ones_like")
    return obj is not None and obj.made in _ZEROS and number


def _still_zeros(run: Run, node: ast.stmt, base: Value) -> bool:
    """Whether a tensor has held zeros until this statement."""
    obj, place = base.obj, base.refs[0].place
    if obj is None or obj.made not in _ZEROS or place is None or place.loop != run.loop:
        return False
    return all(write.node is node for write in run.now.written(obj))


def _one_side(run: Run, node: ast.stmt, value: Value, base: Value, added: ast.expr) -> bool:
    """`out[target] += x[source]`: what many edges have in common is named by each of them.

    The two are parts of one tensor, or two arguments and `out` began as zeros, where a plain assignment would do if no
    position came twice.
    """
    ref = value.refs[0] if len(value.refs) == 1 else None
    if ref is None or ref.kind != "tensor" or ref.obj.dtype == "bool" or per_pass(ref.obj.slot):
        return False
    obj = ref.obj
    part = _part(ref)
    zeros = _still_zeros(run, node, base)
    apart = part is None and zeros and obj.owner == "argument" and not obj.zero_dim
    for index in _indices(added, evaluate(run, added), obj if part is not None else None):
        if index is None:
            return True
        for other in evaluate(run, index).refs:
            theirs = _part(other)
            if part is not None and other.obj is obj and theirs is not None and theirs != part:
                return True
            if apart and other.obj is not obj and other.obj.owner == "argument" and other.kind == "tensor":
                return not other.obj.zero_dim and other.obj.dtype != "bool"
    return False


def _indices(added: ast.expr, value: Value, wanted: Obj | None) -> Iterator[ast.expr | None]:
    """The indices by which what is added was gathered; None for `index_select` by a part of the wanted tensor."""
    places: list[ast.AST] = [added, *(link.node for ref in value.refs for link in ref.chain)]
    for obj in dict.fromkeys(one for ref in value.refs for one in ancestors(ref.obj)):
        if obj.made == "index_select" and wanted is not None and wanted in obj.operands[1:]:
            yield None
        if obj.owner == "fresh" and isinstance(obj.node, ast.expr):
            places.append(obj.node)
    for place in places:
        for node in ast.walk(place):
            if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.Subscript)):
                yield node.slice


def _part(ref: Ref) -> object:
    """The part of a tensor that a reference is a view of."""
    return next((link.key for link in ref.chain if link.key is not None), None)


def _masks(run: Run, node: ast.expr) -> bool:
    """Whether an index is a mask, or names each position once, by its name; a mask also by what is done with it."""
    if not _MASKS.isdisjoint(run.text(node).lower().replace(".", "_").split("_")):
        return True
    if not isinstance(node, ast.Name):
        return False
    known = run.once(_told_masks)
    if node.id not in known:
        parents = run.parents()
        known[node.id] = any(_tells_a_mask(parents.get(one), one) for one in run.mentions(node.id))
    return known[node.id]


def _told_masks(run: Run) -> dict[str, bool]:
    """Which names are those of masks by what is done with them, as far as it was asked."""
    return {}


def _tells_a_mask(outer: ast.AST | None, node: ast.expr) -> bool:
    match outer:
        case ast.UnaryOp(op=ast.Invert()) | ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return True
        case ast.Attribute(attr=name):
            return name in ("any", "all", "bool", "nonzero") or name.startswith("logical_")
    return False


def _labels(run: Run, node: ast.expr, value: Value) -> bool:
    """Whether an index is a tensor of labels: proven a tensor, given from outside, and no mask by its name."""
    obj = value.obj
    if obj is None or len(value.refs) != 1 or obj.zero_dim or obj.dtype == "bool" or obj.made in _ONCE:
        return False
    if obj.parent is not None and obj.parent.made in _ONCE:
        return False  # `torch.where(done)[0]`
    if any(link.op == "bool" for link in value.refs[0].chain):
        return False
    if any(link.key is not None for link in value.refs[0].chain):
        return False
    if _masks(run, node):
        return False
    return obj.owner in ("argument", "item", "unknown") and run.evidence(obj, run.stmt) >= 3
