"""Lists, tuples, sets and dicts that are written out, and what is stored in them."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.evaluate import evaluate
from flake8_tensorcopy.engine.graph import sink
from flake8_tensorcopy.engine.iteration import element_of
from flake8_tensorcopy.engine.linked import operand
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import (
    Obj,
    Place,
    Ref,
    Value,
    join_values,
)

# How the dicts of `defaultdict` are told apart.
DEFAULTS = "defaultdict()"


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


def sequence(run: Run, node: ast.Tuple | ast.List | ast.Set) -> Value:
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


def mapping(run: Run, node: ast.Dict) -> Value:
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


def comprehended(run: Run, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    from flake8_tensorcopy.engine.comprehensions import comprehension

    return comprehension(run, node)


def as_old_as(obj: Obj, value: Value) -> None:
    """A container that another one holds from its first use on is as old as that."""
    for ref in value.refs:
        if ref.obj.kind in ("list", "dict") and ref.obj.owner == "fresh":
            ref.obj.loop = obj.loop


def missing_item(run: Run, node: ast.AST, obj: Obj, key: str) -> Value | None:
    """`d[key]` of a `defaultdict(list)` of this function that holds nothing there yet."""
    match obj.node:
        case ast.Call(args=[ast.Name(id="list" | "dict" as kind)]) if obj.made == DEFAULTS and obj.owner == "fresh":
            value = container(run, node, kind, [])
            as_old_as(obj, value)
            run.now.set_field(obj, key, value)
            return value
    return None
