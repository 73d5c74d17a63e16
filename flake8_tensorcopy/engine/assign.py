"""Assignments: names, attributes, items, unpacking, augmented; what they bind and what they write."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.around import path_to
from flake8_tensorcopy.engine.copies import last_copy
from flake8_tensorcopy.engine.cuts import made_leaf
from flake8_tensorcopy.engine.displays import container, store_item
from flake8_tensorcopy.engine.duplicates import indexed_update
from flake8_tensorcopy.engine.evaluate import evaluate, held_by
from flake8_tensorcopy.engine.facts import (
    Copy,
    LostWrite,
    ReboundData,
    StaleRead,
)
from flake8_tensorcopy.engine.features import REPEAT
from flake8_tensorcopy.engine.freezing import asked_by, switch
from flake8_tensorcopy.engine.gradients import clear
from flake8_tensorcopy.engine.graph import made_in_inference_mode, root_of, sink, written_from
from flake8_tensorcopy.engine.host import moved_to_host
from flake8_tensorcopy.engine.indexing import array_like, index_kind, index_part, index_text, item_key, subscript_of
from flake8_tensorcopy.engine.items import PER_KEY, each_item, exact_items
from flake8_tensorcopy.engine.iteration import element_of
from flake8_tensorcopy.engine.layouts import unpacked
from flake8_tensorcopy.engine.leaves import marked
from flake8_tensorcopy.engine.loading import unpacked_batch
from flake8_tensorcopy.engine.moved_leaf import begins
from flake8_tensorcopy.engine.nodes import every_time, walk
from flake8_tensorcopy.engine.notes import KeptState
from flake8_tensorcopy.engine.operations import unpacked_part
from flake8_tensorcopy.engine.operators import arithmetic, operator
from flake8_tensorcopy.engine.parts import Index, literal_list
from flake8_tensorcopy.engine.rebinding import item_leaf_rebound, leaf_candidate, leaf_rebound, note_rebinding
from flake8_tensorcopy.engine.recurrent import averaged_in_place, kept
from flake8_tensorcopy.engine.registration import OWN_CONTAINERS, handed, holds
from flake8_tensorcopy.engine.repeated import appended
from flake8_tensorcopy.engine.replaced import rebound, stored
from flake8_tensorcopy.engine.retained import assigned, augmented, put_at_key, put_into
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import keep_chosen, record_in_place
from flake8_tensorcopy.engine.selfcopy import indexed_by_itself
from flake8_tensorcopy.engine.snapshots import edit_snapshot
from flake8_tensorcopy.engine.trained import moved_by
from flake8_tensorcopy.engine.unwrapped import reaches
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    NUMBER,
    SNAPSHOT,
    UNKNOWN,
    UNSURE,
    VIEW,
    Link,
    Obj,
    Place,
    Ref,
    Shape,
    Value,
    join_values,
    per_pass,
)
from flake8_tensorcopy.engine.writes import lost_write, write_to


def joined(values: list[Value]) -> Value:
    """Any one of several values."""
    result = values[0]
    for value in values[1:]:
        result = join_values(result, value)
    return result


def swap(run: Run, node: ast.Assign) -> bool:
    """`x[i], x[j] = x[j], x[i]`: the right side is views, so the second value is gone before it is read."""
    if len(node.targets) != 1:
        return False
    match node.targets[0], node.value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            pass
        case _:
            return False
    if not all(isinstance(item, ast.Subscript) for item in (*targets, *values)):
        return False
    texts = [run.text(item) for item in targets]
    if sorted(texts) != sorted(run.text(item) for item in values) or texts == [run.text(item) for item in values]:
        return False
    first = targets[0]
    assert isinstance(first, ast.Subscript)
    base = evaluate(run, first.value)
    held = [subscript_of(run, item, evaluate(run, item.value)) for item in values if isinstance(item, ast.Subscript)]
    for value in held:
        for ref in value.refs:
            if ref.kind == "tensor" and ref.chain and ref.chain[-1].kind == VIEW:
                run.fact(_swap_fact(run, node, first, ref))
                break
    for item in targets:
        if isinstance(item, ast.Subscript):
            _store_subscript(run, item, UNKNOWN, node.value, base)
    return True


def _swap_fact(run: Run, node: ast.Assign, first: ast.Subscript, ref: Ref) -> StaleRead:
    name = run.short(first.value)
    values = node.value
    assert isinstance(values, ast.Tuple)
    return StaleRead(
        site=node,
        reader=run.short(values.elts[1]),
        bound=node,
        source=values.elts[1],
        binding=node,
        writer=name,
        op="=",
        how="swap",
        inner=None,
        read=values.elts[1],
        link="view",
        links=("index",),
        evidence=run.evidence(ref.obj, node),
        together=True,
        kept=True,
        compared=False,
        role="store",
        reader_origin="part",
        writer_origin="name",
        reader_derived=True,
        writer_derived=False,
        stored_from="",
        owner=ref.obj.owner,
        certain=True,
        writer_certain=True,
        same_part=True,
        reader_is_source=False,
        writer_used=True,
        parameter=ref.obj.param,
        activation=False,
        maybe_op="",
        # The first value is read before anything is written.
        copies=(Copy(tuple(values.elts[1:]), False, "index", False),),
    )


def assign(run: Run, target: ast.expr, value: Value, source: ast.expr) -> None:
    """Bind a target of an assignment."""
    assigned(run, target, value, source)
    match target:
        case ast.Name():
            _assign_name(run, target, value, source)
        case ast.Attribute():
            _store_attribute(run, target, value, source)
        case ast.Subscript():
            run.use(value, source, "store")
            base = evaluate(run, target.value)
            run.operands = (target, [(source, value)])
            _store_subscript(run, target, value, source, base)
        case ast.Tuple() | ast.List():
            _unpack(run, target, value, source)
        case ast.Starred():
            assign(run, target.value, UNKNOWN, source)


def _assign_name(run: Run, target: ast.Name, value: Value, source: ast.expr) -> None:
    before = run.now.env.get(target.id)
    statement = run.stmt
    assert statement is not None
    run.use(value, source, "bind")
    place = Place(target.id, statement, loop=run.loop)
    if not value.refs and value.kind == "unknown":
        value = Value((Ref(Obj("unknown", "unknown", source, key=target.id)),))
    held = run.bound(value, place, source)
    rebound(run, target.id, before, value, source)
    for ref in held.refs:
        if ref.obj.kind in ("dict", "list", "tuple") and not ref.obj.key:
            ref.obj.key = target.id
            for slot, inside in run.now.fields(ref.obj).items():
                for item in inside.refs:
                    if item.place is not None and item.place.origin in ("item", "store"):
                        item.place.root = target.id
                        item.place.name = f"{target.id}{slot}"
        elif not ref.obj.key and ref.obj.owner == "fresh":
            ref.obj.key = target.id
            if ref.obj.kind in ("instance", "module"):
                _name_attributes(run, ref.obj, target.id)
        move = moved_to_host(run, ref)
        if move is not None and move is source:
            run.logged[place] = set()
            run.moves[place] = (move, ref)
    run.now.bind(target.id, held)
    made_in_inference_mode(run, value)
    leaf_candidate(run, place, value, source, target.id, before)
    note_rebinding(run, target.id, before, held, place, source)


def _name_attributes(run: Run, obj: Obj, name: str) -> None:
    """What the constructor put into the attributes is called by the name that the object gets."""
    for slot, held in run.now.fields(obj).items():
        for item in held.refs:
            if item.place is not None and item.place.origin == "attribute" and item.place.root == "":
                item.place.root, item.place.name = name, f"{name}{slot}"


def _store_attribute(run: Run, target: ast.Attribute, value: Value, source: ast.expr) -> None:
    clears = target.attr == "grad" and value.kind == "none" and not value.refs
    base = _cleared(run, target.value) if clears else evaluate(run, target.value)
    if target.attr == "data" and base.refs and base.obj is not None and base.obj.kind in ("tensor", "unknown"):
        _rebind_data(run, target, base, value, source)
        return
    if target.attr == "requires_grad":
        for ref in base.refs if isinstance(source, ast.Constant) and source.value is True else ():
            made_leaf(run, run.stmt or target, ref, run.short(target.value))
        if isinstance(source, ast.Constant) and source.value:
            begins(run, target, base)
        else:
            handed(run, base)  # frozen: nobody wants it trained
        set_requires_grad(run, target, base, source)
        return
    for ref in base.refs:
        obj = ref.obj
        if obj.kind == "tensor" and target.attr != "grad":
            continue
        if clears:
            run.rebinds.append((obj, ".grad"))
            clear(run, obj)
            continue
        key = "." + target.attr
        sink(run, value, target, kept=True)
        run.rebinds.append((obj, key))
        run.stored_back(obj, key, value)
        before = run.field(obj, key)
        run.use(value, source, "store")
        name = f"{obj.key or run.short(target.value)}.{target.attr}"
        place = Place(name, run.stmt, root=obj.key, origin="attribute", loop=run.loop)
        held = run.bound(value, place, source)
        run.hand_out(value, run.stmt or target, "attribute", obj)
        reaches(run, obj, name, value, run.stmt or target, source)
        stored(run, obj, before, value, run.stmt or target, run.short(target) if "[..]" in name else name)
        holds(run, obj, key, value, run.stmt or target, source)
        run.now.set_field(obj, key, held)
        _kept_for_later(run, target, held, name)
        kept(run, target, before, value)
        for item in held.refs:
            if not item.obj.key:
                item.obj.key = name
            for inside in run.now.fields(item.obj).values() if item.obj.made == "parameters" else ():
                for one in inside.refs:
                    if one.place is not None:
                        one.place.root = name
        leaf_rebound(run, target, obj, before, value, source, name)
    if not base.refs:
        run.use(value, source, "store")


def _cleared(run: Run, node: ast.expr) -> Value:
    """What has its gradient set to None: nobody has read it for that."""
    before = run.now.env.get(node.id, UNKNOWN).refs if isinstance(node, ast.Name) else ()
    unread = [ref.place for ref in before if ref.place is not None and not ref.place.read]
    base = evaluate(run, node)
    for place in unread:
        place.read = False
    return base


def set_requires_grad(run: Run, target: ast.Attribute, base: Value, source: ast.expr) -> None:
    """`x.requires_grad = True`: x is a leaf that the graph begins at; False: it is none, and no module's parameter
    of that kind trains."""
    known = source.value if isinstance(source, ast.Constant) else None
    if known:
        marked(run, target, base, run.short(target.value), attribute=True)
        return
    for ref in base.refs:
        switch(run, ref, asked_by(run, source))


def _kept_for_later(run: Run, target: ast.Attribute, value: Value, name: str) -> None:
    """A live state_dict is put on self, in a class that loads back what it has there."""
    cls = run.function.cls
    if cls is None or not isinstance(target.value, ast.Name) or target.value.id != "self":
        return
    for ref in value.refs if target.attr in cls.restores else ():
        for held in run.now.fields(ref.obj).values() if ref.obj.kind == "dict" else ():
            for inner in held.refs:
                if inner.place is not None and inner.place.origin in ("item", "store"):
                    inner.place.root = name
                if any(link.kind == SNAPSHOT for link in inner.chain):
                    fields = run.now.fields(run.params[0]).items() if run.params else ()
                    names = {inner.obj.key, *(f"self{slot}" for slot, one in fields if one.obj is inner.obj)}
                    run.kept_states.append(KeptState(target, ref.obj, inner, frozenset(names), run.now.arms))


def _rebind_data(run: Run, target: ast.Attribute, base: Value, value: Value, source: ast.expr) -> None:
    """`a.data = b.data` shares, `x[..].data = v` is lost, `p.data = new` moves the parameter."""
    temp = base.obj
    run.use(value, source, "store")
    moved_by(run, target, (value,), base.refs)
    if temp is not None and base.refs[0].chain and not any(ref.place is None for ref in base.refs):
        link = base.refs[0].chain[-1]
        if link.node is target.value and link.kind in (VIEW, UNSURE) and isinstance(target.value, ast.Subscript):
            run.fact(
                LostWrite(
                    site=run.stmt or target,
                    base=run.short(target.value),
                    op=".data =",
                    copied_by="data",
                    index=None,
                    evidence=run.evidence(temp, run.stmt),
                    probing=run.quiet > 0,
                )
            )
            return
    shared = [
        ref
        for ref in value.refs
        if ref.place is not None
        and ref.obj.owner != "fresh"
        and root_of(ref.obj).owner != "unknown"
        and all(link.kind in (DETACH, ALIAS, VIEW, SNAPSHOT) for link in ref.chain)
        and any(link.kind == DETACH for link in ref.chain)
    ]
    if (
        shared
        and temp is not None
        and shared[0].obj not in (temp, temp.parent)
        and not _swapped(run, temp, shared[0])
        and not _given_up(run, source)
    ):
        run.fact(
            ReboundData(
                site=run.stmt or target,
                target=run.short(target),
                value=run.short(source),
                parameter=is_parameter(base.refs[0]) and is_parameter(shared[0]),
                looped=all(ref.place is not None and ref.place.origin == "loop" for ref in (base.refs[0], shared[0])),
                evidence=max(run.evidence(temp, run.stmt), run.evidence(shared[0].obj, run.stmt)),
                copies=last_copy(run, shared[0]),
            )
        )
    if temp is not None and not shared:
        temp.moved = True
    if temp is not None:
        _reach_parameter(run, target, base)


def _swapped(run: Run, temp: Obj, given: Ref) -> bool:
    """Whether a parameter gets other data for a while: what it had is kept in a list, or is what it gets back."""
    if not per_pass(temp.slot):
        return False
    if per_pass(given.obj.slot) and temp.parent is given.obj.parent:
        return True
    held = [ref.obj for value in run.now.env.values() for ref in value.refs if ref.obj.kind in ("list", "dict")]
    kept = [ref for obj in held for value in run.now.fields(obj).values() for ref in value.refs]
    mine = [ref for ref in kept if ref.obj in (temp, temp.parent)]
    return any(link.kind == DETACH for ref in mine for link in ref.chain)


def _given_up(run: Run, source: ast.expr) -> bool:
    """Whether what a tensor is taken from is replaced or deleted afterwards: `new.weight.data = net.head.weight.data`,
    then `net.head = new`.  Nobody is left to share with."""
    owners = set()
    for part in walk(source):
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
            owners.add(run.text(part))
    owners = {one for one in owners if "." in one and one.rsplit(".", 1)[1] != "data"}
    inner: ast.AST = run.stmt or source
    for outer in reversed(path_to(run.module, inner)):
        for block in (getattr(outer, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and inner in block:
                for later in every_time(block[block.index(inner) + 1 :]):
                    targets = later.targets if isinstance(later, (ast.Assign, ast.Delete)) else []
                    if any(isinstance(one, ast.Attribute) and run.text(one) in owners for one in targets):
                        return True
        if isinstance(outer, (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        inner = outer
    return False


def is_parameter(ref: Ref) -> bool:
    """Whether a reference is to a module's parameter (or to one of its live values)."""
    return ref.obj.param or any(link.kind == SNAPSHOT for link in ref.chain)


def _reach_parameter(run: Run, target: ast.Attribute, base: Value) -> None:
    for ref in base.refs:
        module = ref.obj.parent
        if module is not None and module.kind in ("module", "unknown") and ref.obj.param:
            write_to(run, target, base, ".data =", "training")
            return


def _store_subscript(run: Run, target: ast.Subscript, value: Value, source: ast.expr, base: Value) -> None:
    kind = index_kind(run, target.slice)
    if array_like(target.slice):
        run.note(base, 1)
    if isinstance(target.value, ast.Attribute) and target.value.attr in OWN_CONTAINERS:
        handed(run, value)
    for ref in base.refs:
        obj = ref.obj
        stored(run, obj, None, value, run.stmt or target, run.text(target))
        if run.within and obj.kind == "module" and run.function.features & REPEAT:
            if not isinstance(target.slice, ast.Constant):
                appended(run, target, source, ref, value)
        if obj.kind in ("dict", "list", "tuple", "instance") or kind == "key":
            run.note_container(obj, target.slice)
            weak = not isinstance(target.slice, ast.Constant)
            if weak and run.shares:
                run.unshare(obj)
            edit_snapshot(run, target, target.value, ref, value)
            run.slot_stores.add(obj)
            if isinstance(target.value, ast.Attribute):
                kept(run, target.value, run.now.fields(obj).get(item_key(run, target, kind), UNKNOWN), value, item=True)
            obj.first = UNKNOWN
            put_at_key(run, target, obj, value, source)
            store_item(run, obj, item_key(run, target, kind), value, source, weak=False, site=run.stmt)
            if weak and "[*]" in run.now.fields(obj):
                store_item(run, obj, "[*]", value, source, weak=True, site=run.stmt)
            item_leaf_rebound(run, target, obj, item_key(run, target, kind), value, source)
            continue
        _, complete = index_text(run, target.slice)
        known = not complete and kind not in ("advanced", "unknown")
        if kind != "basic":
            indexed_by_itself(run, target, base, value, source, "=")
        literal = literal_list(run.text(target.slice))
        chosen = kind == "advanced" and isinstance(target.slice, (ast.List, ast.ListComp)) and not literal
        key = (target, "chosen") if chosen else index_part(run, target.slice) if known or literal else None
        link = Link(VIEW, "[]", target, key=key)
        if obj.kind == "unknown":
            run.stored_back(obj, item_key(run, target, kind), value)
            run.now.forget(obj)
            run.hand_out(value, run.stmt or target, "store", obj)
        one = Value((ref,))
        put_into(run, target, ref, value, source)
        if obj.kind == "module" or (value.refs and all(one.kind == "module" for one in value.refs)):
            continue  # a container has another layer: no tensor is written
        write_to(run, target, one, "[...] =", "subscript", run.short(target.value), whole=base, part=link)
        written_from(run, (ref,), [value])
        if kind == "advanced":
            keep_chosen(run, target, ref)
        if ref.place is None:
            lost_write(run, run.stmt or target, Value((ref,)), "[...] =")


def _unpack(run: Run, target: ast.Tuple | ast.List, value: Value, source: ast.expr) -> None:
    obj = value.obj
    if obj is not None and obj.kind in ("tuple", "list"):
        fields = run.now.fields(obj)
        known = exact_items(run, value)
        starred = [isinstance(item, ast.Starred) for item in target.elts]
        first = starred.index(True) if True in starred else len(starred)
        for position, item in enumerate(target.elts):
            slot = position if position <= first else len(fields) - len(starred) + position
            if position == first:
                assert isinstance(item, ast.Starred)
                if known is None or starred.count(True) > 1 or len(known) < len(starred) - 1:
                    assign(run, item, UNKNOWN, source)
                else:
                    rest = known[first : len(known) - (len(starred) - 1 - first)]
                    held_back = [(f"[{i}]", source, one) for i, one in enumerate(rest)]
                    assign(run, item.value, container(run, source, "list", held_back), source)
                continue
            held = fields.get(f"[{slot}]")
            if held is None and "[*]" in fields:
                held = each_item(run, obj, f"[{slot}]", fields["[*]"])
            assign(run, item, held if held is not None else run.field(obj, f"[{slot}]"), source)
        return
    sizes: list[Value] = []
    if isinstance(value.const, Shape) and not any(isinstance(item, ast.Starred) for item in target.elts):
        sizes = unpacked(run, value.const, len(target.elts))
    # What is a tuple on one of the ways here is no tensor that is cut up on another.
    packed = any(ref.obj.kind in ("tuple", "list") for ref in value.refs)
    for position, item in enumerate(target.elts):
        if isinstance(item, ast.Starred):
            assign(run, item.value, UNKNOWN, source)
            continue
        if value.kind == "number" and not value.refs:
            assign(run, item, sizes[position] if sizes else NUMBER, source)
            continue
        parts: list[Ref] = []
        for ref in value.refs:
            if ref.obj.kind == "iter" and isinstance(ref.obj.data, tuple) and ref.obj.data[0] == "parts":
                for inner in ref.obj.data[1][0][1].refs:
                    key = unpacked_part(run, ref.obj.node or source, ref.obj.made, position, source)
                    parts.append(inner.derive(Link(VIEW, ref.obj.made, source, key=key)))
            elif packed:
                continue
            elif ref.obj.kind in ("tensor", "array") or (ref.obj.kind == "unknown" and run.evidence(ref.obj) >= 2):
                parts.append(ref.derive(Link(VIEW, "unpacking", source, key=Index((str(position),)))))
        if parts:
            assign(run, item, Value(tuple(parts)), source)
        elif value.refs and value.obj is not None and value.obj.kind == "unknown":
            held = run.field(value.obj, f"[{position}]")
            if isinstance(item, ast.Name):
                unpacked_batch(value.obj, held)
            assign(run, item, held, source)
        else:
            assign(run, item, _of_either(run, value, f"[{position}]"), source)


def _of_either(run: Run, value: Value, slot: str) -> Value:
    """An item of what an attribute holds, or of the tuple that it is set to first: `if self.state is None: ..`."""
    if len(value.refs) != 2 or {ref.obj.owner for ref in value.refs} != {"attribute", "fresh"}:
        return UNKNOWN
    found: list[Value] = []
    for ref in value.refs:
        made = ref.obj.kind in ("tuple", "list") and slot in run.now.fields(ref.obj)
        if not made and (ref.obj.kind != "unknown" or ref.obj.owner != "attribute"):
            return UNKNOWN
        found.append(held_by(ref, run.field(ref.obj, slot), value))
    return join_values(found[0], found[1])


def bind_target(run: Run, target: ast.expr, value: Value, source: ast.expr, origin: str = "name") -> None:
    """Bind the target of a loop, a comprehension, a with or a walrus."""
    if isinstance(target, ast.Name):
        place = Place(target.id, run.stmt, origin=origin, loop=run.loop)
        if not value.refs and value.kind == "unknown":
            value = Value((Ref(Obj("unknown", "unknown", source, key=target.id)),))
        run.now.bind(target.id, run.bound(value, place, source))
        return
    if isinstance(target, (ast.Tuple, ast.List)):
        obj = value.obj
        names = frozenset(n.id for n in walk(target) if isinstance(n, ast.Name))
        for position, item in enumerate(target.elts):
            if isinstance(item, ast.Starred):
                bind_target(run, item.value, UNKNOWN, source, origin)
                continue
            held: Value | None = None
            if obj is not None and obj.kind in ("tuple", "list"):
                held = run.now.fields(obj).get(f"[{position}]")
            if obj is None and value.refs and all(ref.obj.kind in ("tuple", "list") for ref in value.refs):
                parts = [run.now.fields(ref.obj).get(f"[{position}]", UNKNOWN) for ref in value.refs]
                held = joined(parts) if all(part.refs for part in parts) else None
            if held is None and obj is not None and obj.kind in ("tensor", "array"):
                held = Value(
                    tuple(
                        ref.derive(Link(VIEW, "unpacking", source, key=Index((str(position),)))) for ref in value.refs
                    )
                )
            if held is None and obj is not None and obj.kind in ("unknown", "list", "tuple"):
                held = run.field(obj, f"[{position}]")
                if isinstance(item, ast.Name):
                    unpacked_batch(obj, held)
            bind_target(run, item, held if held is not None else UNKNOWN, source, origin)
            if isinstance(item, ast.Name):
                run.siblings[item.id] = names - {item.id}
        return
    assign(run, target, value, source)


def augmented_assignment(run: Run, node: ast.AugAssign) -> None:
    value = run.augmented = evaluate(run, node.value)
    augmented(run, node, value)
    moved_by(run, node, (value,))
    role = "difference" if isinstance(node.op, ast.Sub) else "operand"
    run.use(value, node.value, role)
    op = operator(node.op) + "="
    target = node.target
    run.operands = (node, [(node.value, value)])
    if isinstance(target, ast.Name):
        before = run.now.env.get(target.id)
        if before is None:
            run.now.bind(target.id, UNKNOWN)
            return
        run.now.touch(target.id)
        if not before.refs:
            if value.refs and before.kind == "number":
                # A number plus a tensor is a new tensor.
                made = arithmetic(run, node, operator(node.op), before, value)
                run.now.bind(target.id, run.bound(made, Place(target.id, node, loop=run.loop), node))
            return
        current = evaluate(run, _load(target))
        _augmented_write(run, node, current, op, target.id)
        run.use(current, target, "receiver")
        return
    if isinstance(target, ast.Subscript):
        base = evaluate(run, target.value)
        kind = index_kind(run, target.slice)
        if array_like(target.slice):
            run.note(base, 1)
        for ref in base.refs:
            if ref.obj.kind in ("dict", "list", "tuple") or kind == "key":
                run.note_container(ref.obj, target.slice)
                key, items = item_key(run, target, kind), run.now.fields(ref.obj)
                held = items.get(key)
                if held is None and "[*]" in items and ref.obj.data in PER_KEY:
                    held = each_item(run, ref.obj, key, items["[*]"])
                if held is None:
                    held = run.field(ref.obj, key)
                if not held.refs and held.kind == "number" and value.refs:
                    made = arithmetic(run, node, operator(node.op), held, value)
                    store_item(run, ref.obj, item_key(run, target, kind), made, node.value, weak=False, site=node)
                    continue
                _augmented_write(run, node, held, op, run.text(target))
                continue
            if kind != "basic":
                indexed_by_itself(run, target, base, value, node.value, op)
            _, complete = index_text(run, target.slice)
            known = not complete and kind not in ("advanced", "unknown")
            link = Link(VIEW, "[]", target, key=index_part(run, target.slice) if known else None)
            if ref.obj.kind == "unknown" and run.evidence(ref.obj) < 1 and not array_like(target.slice):
                held = run.field(ref.obj, item_key(run, target, kind))
                _augmented_write(run, node, held, op, run.text(target))
            write_to(run, node, Value((ref,)), op, "augmented", run.text(target), whole=base, part=link)
            written_from(run, (ref,), [value])
            if ref.place is None:
                lost_write(run, node, Value((ref,)), op)
        indexed_update(run, node, target, op, node.value, base)
        return
    if isinstance(target, ast.Attribute):
        base = evaluate(run, target.value)
        if target.attr == "data":
            _augmented_write(
                run, node, Value(tuple(r.derive(Link(DETACH, "data", target)) for r in base.refs)), op, run.text(target)
            )
            return
        for ref in base.refs:
            if ref.obj.kind == "tensor" and target.attr != "grad":
                if ops.method(target.attr) is not None:  # `x.T`; others are attributes of its own
                    view = ref.derive(Link(VIEW, target.attr, target))
                    _augmented_write(run, node, Value((view,)), op, run.text(target))
                continue
            held = run.field(ref.obj, "." + target.attr)
            if held.refs:
                for one in held.refs:
                    averaged_in_place(run, target, one, op, node.value, value)
                _augmented_write(run, node, held, op, run.text(target))
            elif held.kind == "number" and value.refs:
                made = arithmetic(run, node, operator(node.op), held, value)
                place = Place(run.text(target), node, root=ref.obj.key, origin="attribute", loop=run.loop)
                run.now.set_field(ref.obj, "." + target.attr, run.bound(made, place, node))


def record_augmented(run: Run, node: ast.AugAssign, refs: tuple[Ref, ...], op: str) -> None:
    """`x *= w`: what x depends on from here on, and what is kept."""
    value = run.augmented
    written_from(run, refs, [value])
    short = {"*=": "mul_", "/=": "div_"}.get(op, op)
    record_in_place(run, node, None, short, refs, [value])


def _load(target: ast.Name) -> ast.Name:
    loaded = ast.Name(target.id, ast.Load())
    return ast.copy_location(loaded, target)


def _augmented_write(run: Run, node: ast.AugAssign, value: Value, op: str, target: str) -> None:
    objs = [ref for ref in value.refs if ref.obj.kind in ("tensor", "array", "unknown")]
    if objs:
        write_to(run, node, Value(tuple(objs)), op, "augmented", target)
        record_augmented(run, node, tuple(objs), op)
    for ref in value.refs:
        if ref.obj.kind == "module":
            handed(run, evaluate(run, node.value))
        if ref.obj.kind == "list":
            added = evaluate(run, node.value)
            store_item(run, ref.obj, "[*]", element_of(run, node.value, added), node.value, weak=True, site=node)
