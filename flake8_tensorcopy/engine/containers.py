"""Lists, dicts and iterators: items are bindings of their own."""

from __future__ import annotations

import ast
from collections.abc import Callable

from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.displays import DEFAULTS, as_old_as, container, store_item
from flake8_tensorcopy.engine.evaluate import CONTAINERS, evaluate
from flake8_tensorcopy.engine.features import REPEAT
from flake8_tensorcopy.engine.generators import one_shot, spend
from flake8_tensorcopy.engine.items import PER_KEY, each_row, exact_items, note_first
from flake8_tensorcopy.engine.iteration import element_of, values_of
from flake8_tensorcopy.engine.parts import Row
from flake8_tensorcopy.engine.repeated import appended
from flake8_tensorcopy.engine.retained import keep_in_container
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.snapshots import edit_snapshot
from flake8_tensorcopy.engine.storages import keep_view
from flake8_tensorcopy.engine.values import (
    ALIAS,
    NONE,
    SNAPSHOT,
    UNKNOWN,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    join_values,
)

# Methods that change which item of a list stands first.
_CHANGES = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})


def container_method(run: Run, node: ast.Call, ref: Ref, name: str, args: Args) -> Value | None:
    obj = ref.obj
    one = Value((ref,))
    if run.shares and (name == "update" or (name in _CHANGES and obj.kind != "dict")):
        run.unshare(obj)
    if name in _CHANGES:
        note_first(run, ref, name, args.values[-1] if args.values else UNKNOWN)
    match name:
        case "append" | "appendleft" | "add" | "put" | "extend" | "insert" if args.values:
            if obj.kind == "unknown":
                if name in ("add", "put"):
                    return None
                obj.refuted = True
            value = args.values[-1]
            if name == "append":
                keep_view(run, node, obj, value)
                if run.within and run.function.features & REPEAT:
                    appended(run, node, ref, value)
            if name == "extend":
                value = element_of(run, args.nodes[-1], value)
            keep_in_container(run, node, ref, name, value)
            # Once for each time that the list is made: here, or in a loop that is over.
            once = obj.loop is not None and obj.loop[: len(run.loop)] == run.loop
            if name == "append" and once and (known := exact_items(run, one)) is not None:
                store_item(run, obj, f"[{len(known)}]", value, args.nodes[-1], weak=False, site=node)
                return NONE
            if name == "insert":
                _shift(run, obj)
            if name == "append" and obj.data == "each":
                store_item(run, obj, "[+]", value, args.nodes[-1], weak=True, site=node)
                return NONE
            store_item(run, obj, "[*]", value, args.nodes[-1], weak=True, site=node)
            return NONE
        case "items" | "values" | "keys":
            if obj.kind == "unknown":
                obj.refuted = True
            if obj in run.edited and name != "keys":
                run.item_read(obj)
            return Value((Ref(Obj("iter", "fresh", node, made=name, data=(name, [(node, one)]))),))
        case "copy" if obj.kind in CONTAINERS or obj.refuted:
            return shallow_copy(run, node, one, ".copy()")
        case "get" | "pop" | "setdefault" if args.nodes:
            key = args.nodes[0]
            args.use(run)
            if name == "setdefault" and obj.kind == "dict" and obj.owner == "fresh" and len(args.nodes) == 2:
                return _default(run, node, ref, args)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                obj.refuted = obj.refuted or obj.kind == "unknown"
                held = run.field(obj, f"[{key.value!r}]")
                if name == "pop":
                    run.now.set_field(obj, f"[{key.value!r}]", UNKNOWN)
                return held
            return UNKNOWN
        case "update":
            args.use(run)
            if args.values and isinstance(node.func, ast.Attribute):
                edit_snapshot(run, node, node.func.value, ref, args.values[0])
            for _, value in args.keywords.values() if obj.owner != "fresh" else ():
                run.hand_out(value, node, "store", obj)
            if obj.data == "state" and args.values and not any(run.now.fields(one.obj) for one in args.values[0].refs):
                run.now.forget(obj)  # any of the live tensors may be another one now
            for _, value in args.all():
                for inner in value.refs:
                    for slot, held in run.now.fields(inner.obj).items():
                        run.now.set_field(obj, slot, held)
            return NONE
        case "sort" | "reverse" if obj.kind == "list" and obj.owner == "fresh":
            args.use(run)
            _shift(run, obj)
            return NONE
        case "popleft" if obj.kind == "list":
            args.use(run)
            first = values_of(run, node, one)
            _shift(run, obj)
            return first
        case "clear" | "sort" | "reverse" | "remove" | "popitem":
            args.use(run)
            run.now.forget(obj)
            return UNKNOWN
    if obj.kind in CONTAINERS:
        args.use(run)
        if name in ("pop", "popleft", "get"):
            return values_of(run, node, one)
        return UNKNOWN
    return None


def item_deleted(run: Run, obj: Obj, index: ast.expr) -> None:
    """`del layers[0]`: those behind it move up."""
    if obj.kind != "list":
        return
    obj.first = UNKNOWN
    run.unshare(obj)
    known = exact_items(run, Value((Ref(obj),)))
    if known and isinstance(index, ast.Constant) and isinstance(index.value, int) and index.value < len(known):
        rest = [*known[: index.value], *known[index.value + 1 :]]
        run.now.set_fields(obj, {f"[{position}]": held for position, held in enumerate(rest)})
    else:
        _shift(run, obj)


def _default(run: Run, node: ast.Call, ref: Ref, args: Args) -> Value:
    """`d.setdefault(key, [])`: what a dict of this function holds, or is to hold from now on."""
    obj = ref.obj
    key, value = args.nodes[0], args.values[1]
    run.use(args.values[0], key, "argument")
    exact = isinstance(key, ast.Constant)
    slot = f"[{run.text(key)}]" if exact else "[*]"
    known = run.now.fields(obj).get(slot)
    if exact and known is not None:
        run.use_deep(value, args.nodes[1], "argument")
        return known
    as_old_as(obj, value)
    store_item(run, obj, slot, value, args.nodes[1], weak=not exact, site=node)
    return run.now.fields(obj).get(slot, UNKNOWN)


def _shift(run: Run, obj: Obj) -> None:
    """The items of a list move: each may stand anywhere now."""
    fields = run.now.fields(obj)
    joined: Value | None = None
    for held in fields.values():
        joined = held if joined is None else join_values(joined, held)
    if joined is not None:
        run.now.set_fields(obj, {"[*]": joined})


def shallow_copy(run: Run, node: ast.AST, value: Value, op: str) -> Value:
    """A new container that holds the same items."""
    made = Obj("dict", "fresh", node, made=op)
    for ref in value.refs:
        made.kind = ref.obj.kind if ref.obj.kind in CONTAINERS else made.kind
        made.data = ref.obj.data if ref.obj.data in ("state", "tensors") else None
        if ref.obj.data in PER_KEY:
            made.data = "varies"
        made.operands = (ref.obj,)
        for slot, held in run.now.fields(ref.obj).items():
            refs = []
            for inner in held.refs:
                place = Place(inner.place.name if inner.place else "", node, origin="item")
                link = Link(ALIAS, op, node)
                refs.append(
                    Ref(inner.obj, (*inner.chain, link), place, run.now.written(inner.obj), inner.arms | run.now.arms)
                )
            run.now.set_field(made, slot, Value(tuple(refs), held.kind))
    if len(value.refs) == 1:
        run.share(node, made, value.refs[0].obj, op)
    return Value((Ref(made),))


Special = Callable[[Run, ast.Call, Args], Value]


def iterator(kind: str) -> Special:
    def make(run: Run, node: ast.Call, args: Args) -> Value:
        parts = list(zip(args.nodes, args.values, strict=True))
        if args.spread or not parts:
            args.use(run)
            return UNKNOWN
        return Value((Ref(Obj("iter", "fresh", node, made=kind, data=(kind, parts))),))

    return make


def listed(run: Run, node: ast.Call, args: Args) -> Value:
    kind = node.func.id if isinstance(node.func, ast.Name) else "list"
    if not args.values:
        items = [(f"[{name!r}]", given, value) for name, (given, value) in args.keywords.items()]
        return container(run, node, "dict" if kind == "dict" else "list", items)
    value = args.values[0]
    obj = value.obj
    if obj is not None and one_shot(obj):
        spend(run, value, args.nodes[0])
    if obj is not None and (obj.kind == "dict" or (kind == "dict" and obj.kind == "unknown" and not args.keywords)):
        return shallow_copy(run, node, value, f"{kind}()")
    if obj is not None and obj.kind == "iter" and isinstance(obj.data, tuple):
        tag, parts = obj.data
        if tag in ("parameters", "named", "buffers", "named buffers") and parts[0][1].obj is not None:
            module = parts[0][1].refs[0]
            of_all = "buffers" if tag.endswith("buffers") else "parameters"
            held = Ref(
                module.obj,
                (*module.chain, Link(SNAPSHOT, of_all, node)),
                Place(f"the {of_all}", node, origin="item"),
                run.now.written(module.obj),
                run.now.arms,
            )
            made = Obj("dict" if kind == "dict" else "list", "fresh", node, made=of_all)
            run.now.set_field(made, "[*]", Value((held,)))
            return Value((Ref(made),))
    if obj is not None and obj.kind in ("list", "tuple"):
        return shallow_copy(run, node, value, f"{kind}()")
    run.use_iterated(value, args.nodes[0])
    item = element_of(run, args.nodes[0], value)
    result = kind if kind in ("dict", "tuple") else "list"
    whole = container(run, node, result, [("[*]", args.nodes[0], item)])
    if kind == "list" and item.refs and all(_is_row_of(ref, args.nodes[0]) for ref in item.refs):
        each_row(run, whole.refs[0].obj)
    else:
        whole.refs[0].obj.data = "varies"
    return whole


def double_ended(run: Run, node: ast.Call, args: Args) -> Value:
    """`deque(items)`: a list, if it has no `maxlen`."""
    if args.spread or args.keywords or len(args.values) > 1:
        args.use(run)
        return Value((Ref(Obj("unknown", "unknown", node, made="call", refuted=True)),))
    made = listed(run, node, args)
    made.refs[0].obj.made = made.refs[0].obj.made or "deque()"
    return made


def defaulting(run: Run, node: ast.Call, args: Args) -> Value:
    """`defaultdict(list)`: a dict that makes what it lacks; of a lambda, for each key its own."""
    if args.spread or args.keywords or len(args.values) > 1:
        args.use(run)
        return Value((Ref(Obj("unknown", "unknown", node, made="call", refuted=True)),))
    made = container(run, node, "dict", [])
    made.refs[0].obj.made = DEFAULTS
    match args.nodes:
        case [ast.Lambda(body=body, args=ast.arguments(args=[]))]:
            value = evaluate(run, body)
            if value.refs and all(ref.kind == "module" for ref in value.refs):
                store_item(run, made.refs[0].obj, "[*]", value, body, weak=True, site=node, role="operand", fresh=True)
                made.refs[0].obj.data = "varies"
    return made


def _is_row_of(ref: Ref, iterated: ast.expr) -> bool:
    """Whether a reference is to a row that iterating over an expression gave."""
    return bool(ref.chain) and isinstance(ref.chain[-1].key, Row) and ref.chain[-1].node is iterated
