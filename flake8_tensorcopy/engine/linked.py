"""The way back through the graph: what `backward()` of a value would reach, and what `detach()` keeps it from."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from flake8_tensorcopy.engine.parts import Index
from flake8_tensorcopy.engine.values import DETACH, NUMPY, SNAPSHOT, Obj, Ref

MAX_LINKED = 300
MAX_TERMS = 100

# Operations that leave a loss a loss: scaled, averaged, summed with others.
SCALES = frozenset("+ - * / clone mean sum add sub mul div true_divide lerp add_ sub_ mul_ div_ lerp_".split())

# Along a dimension: values and positions.
PAIRS = frozenset({"max", "min", "median", "nanmedian"})

OFF = "off the graph"
_DETACHING = frozenset({DETACH, NUMPY})


def detached(ref: Ref) -> bool:
    """Whether a reference is off the graph of its storage."""
    for link in ref.chain:
        if link.kind in _DETACHING:
            return True
    return positions(ref)


def positions(ref: Ref) -> bool:
    """Whether a reference is to the positions that come beside the values: `x.max(1)[1]`."""
    if ref.obj.made not in PAIRS or len(ref.obj.given) != 1:
        return False  # of two tensors it is the greater of each two elements
    return next((link.key for link in ref.chain if link.key is not None), None) == Index(("1",))


def perhaps_several(obj: Obj) -> bool:
    """Whether a value may be several tensors, which nothing but a loop or an unpacking tells apart: what a module of
    unknown make returned, or the values and positions that are the best along a dimension."""
    if obj.made in PAIRS:
        return len(obj.given) == 1
    return obj.owner == "fresh" and not obj.made and bool(obj.operands) and obj.operands[0].kind == "module"


def cut(obj: Obj) -> Obj:
    """What stands for an operand of which the data are used, and not the graph."""
    return Obj("unknown", "unknown", obj.node, made=OFF, operands=(obj,), graph=False)


def is_cut(obj: Obj) -> bool:
    """Whether an object stands for the data of another one."""
    return obj.made == OFF


def operand(ref: Ref) -> Obj:
    """The object of a reference as the operand of a computation."""
    return cut(ref.obj) if detached(ref) else ref.obj


def off(obj: Obj) -> bool:
    """Whether a value is known to be off the graph, by its kind or by what made it."""
    return obj.graph is False or obj.kind in ("array", "number") or obj.dtype == "bool" or "int" in obj.dtype


def linked(obj: Obj, strict: bool = False) -> Iterator[Obj]:
    """What a value hangs on in the graph, itself first, each once; `strict` ends at calls of which nothing is known."""
    pending = [obj]
    seen: set[Obj] = set()
    while pending and len(seen) < MAX_LINKED:
        one = pending.pop()
        if one in seen or off(one):
            continue
        seen.add(one)
        yield one
        if not (strict and one.made == "call" and one.owner == "unknown" and not one.through):
            pending.extend(one.operands)
        if one.parent is not None and (one.owner == "item" or one.parent.made == "call"):
            if one.parent.kind not in ("module", "instance"):
                pending.append(one.parent)  # an item of a result, or an attribute: `model(x).loss`


def terms(obj: Obj) -> list[Obj]:
    """What a loss was scaled, averaged or summed from, itself first."""
    pending = [obj]
    seen: dict[Obj, None] = {}
    while pending and len(seen) < MAX_TERMS:
        one = pending.pop()
        if one in seen or off(one):
            continue
        seen[one] = None
        if one.made in SCALES or (one.made == "call" and _scaled(one)):
            pending += one.operands
    return list(seen)


def _scaled(obj: Obj) -> bool:
    """`scaler.scale(loss)`."""
    node = obj.node
    return (
        obj.made == "call"
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "scale"
    )


def proven_terms(obj: Obj, recorded: Collection[Obj] = ()) -> Iterator[Obj]:
    """Of the terms of a value that got its gradients, those that are surely on the graph: `recorded` is what modules
    gave that were called with a graph."""
    pending = [obj]
    seen: set[Obj] = set()
    while pending and len(seen) < MAX_LINKED:
        one = pending.pop()
        if one in seen or off(one):
            continue
        seen.add(one)
        yield one
        if one.made in SCALES or _scaled(one):
            operands = one.operands[-1:] if _scaled(one) else one.operands
            values = [item for item in operands if item.kind not in ("module", "instance") and not off(item)]
            certain = len(operands) == 1
            pending.extend(item for item in values if certain or item.graph or _recorded(item, recorded))


def _recorded(obj: Obj, recorded: Collection[Obj]) -> bool:
    """Whether a tensor was computed from what a module gave, and is not that itself."""
    if obj.kind != "tensor" or not recorded:
        return False
    return any(one in recorded for one in linked(obj, strict=True) if one is not obj)


# ----- what the links of a reference tell


def dtype_of(ref: Ref) -> str:
    """The dtype of a reference: what the last conversion asked for, or what its storage was made with.

    A module's own values are float32 unless told otherwise.
    """
    for link in reversed(ref.chain):
        if link.dtype:
            return link.dtype
        if link.kind == SNAPSHOT:
            return "float32"
    return ref.obj.dtype


def on_graph(ref: Ref) -> bool | None:
    """Whether a reference requires grad, as far as known."""
    if ref.obj.slot == ".grad" or positions(ref):
        return False
    for position in range(len(ref.chain) - 1, -1, -1):
        link = ref.chain[position]
        if link.op in ("Parameter", "requires_grad_"):
            off = position < ref.held and ref.place is not None and ref.place.tracked is False
            return False if off else _asked_for(link.node, 1 if link.op == "Parameter" else 0)
        if link.kind in (DETACH, NUMPY):
            return position < ref.held and ref.place is not None and bool(ref.place.tracked)
        if link.kind == SNAPSHOT:
            if link.op != "parameters":  # `state_dict()` detaches what it holds
                return None if _asks_for(link.node, "keep_vars") else False
            return not (ref.obj.graph is False or ref.obj.leaf is False) or None
    dtype = dtype_of(ref)
    if dtype == "bool" or "int" in dtype:
        return False
    return ref.obj.graph


def _asks_for(node: ast.AST, name: str) -> bool:
    """Whether a call has the keyword, or may have it."""
    return isinstance(node, ast.Call) and any(keyword.arg in (name, None) for keyword in node.keywords)


def _asked_for(node: ast.AST, position: int) -> bool | None:
    """Whether a call that marks a leaf says `requires_grad=True`, which is what it does if it says nothing."""
    given = node.args[position:] if isinstance(node, ast.Call) else []
    asked = [k.value for k in node.keywords if k.arg == "requires_grad"] if isinstance(node, ast.Call) else []
    for item in (*given[:1], *asked):
        return bool(item.value) if isinstance(item, ast.Constant) else None
    return True
