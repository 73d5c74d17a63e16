"""What a list holds: known item by item, or one reference that stands for all of them."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.copies import CONTAINERS
from flake8_tensorcopy.engine.module import copy_facts
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.parts import AllRows, Index, Row
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import ALIAS, SNAPSHOT, UNKNOWN, VIEW, Link, Obj, Ref, Value, for_all, per_pass

# What a comprehension made: another item for each key, for certain or perhaps.
PER_KEY = ("each", "varies")
# Of modules and the like it matters more whose they are.
_TOLD_APART = frozenset({"tensor", "array", "unknown", *CONTAINERS})


def exact_items(run: Run, value: Value, most: int | None = None) -> list[Value] | None:
    """The items of a list or tuple that this function made, if each is known by its position, and there are at `most`
    so many."""
    obj = value.obj
    if obj is None or obj.kind not in ("list", "tuple") or obj.owner != "fresh" or obj.data is not None:
        return None
    if any(link.kind != ALIAS for ref in value.refs for link in ref.chain):
        return None
    fields = run.now.fields(obj)
    if not fields and obj.operands:
        return None  # what an operator made of other lists
    if most is not None and len(fields) > most:
        return None
    items = [fields.get(f"[{position}]") for position in range(len(fields))]
    return [item for item in items if item is not None] if None not in items else None


def first_item(run: Run, value: Value) -> Value | None:
    """The first item of a list that this function filled, where it is the same on all paths."""
    obj = value.obj
    if obj is None or obj.kind not in ("list", "tuple") or obj.owner != "fresh":
        return None
    if any(link.kind != ALIAS for ref in value.refs for link in ref.chain):
        return None  # `layers[1:]`
    fields = run.now.fields(obj)
    found = fields.get("[0]") or obj.first
    if found is None and set(fields) == {"[*]"}:
        found = fields["[*]"]  # one append in a loop, a comprehension: all of one make
    if found is None or len({ref.obj.node for ref in found.refs}) != 1:
        return None
    if any(not ref.arms <= run.now.arms for ref in found.refs):
        return None  # only some of the paths put it there
    return Value(found.refs[:1])


def note_first(run: Run, ref: Ref, name: str, value: Value) -> None:
    """A method changes a list: what stands first in one that was made empty is what it is given first, if each path
    that makes the list gives it that."""
    obj = ref.obj
    if obj.kind != "list" or obj.owner != "fresh":
        return
    if name != "append":
        obj.first = UNKNOWN
    elif obj.first is None and not run.now.fields(obj):
        obj.first = value if not obj.operands and run.now.arms <= ref.arms else UNKNOWN


def each_item(run: Run, container: Obj, key: str, joined: Value) -> Value:
    """One item of a list: where a comprehension made an object for each, another one for each key."""
    if container.data not in PER_KEY:
        return joined
    known = run.each.get((container, key))
    if known is None and container.data == "varies":
        inside = set(walk(container.node)) if container.node is not None else set()
        refs = [_one_of(ref, key, inside) for ref in joined.refs]
        known = run.each[(container, key)] = Value(tuple(refs), joined.kind)
    elif known is None:
        lists = {ref.obj.parent for ref in joined.refs if for_all(ref.obj.slot)}
        anyone = {ref.obj for ref in joined.refs}
        refs = [
            _each_of(run, container, key, ref)
            for ref in joined.refs
            if (for_all(ref.obj.slot) or ref.obj.parent is None or ref.obj.parent not in lists)
            and (ref.obj.any_of in (None, ref.obj) or ref.obj.any_of not in anyone)
        ]
        known = run.each[(container, key)] = Value(tuple(refs), joined.kind)
    run.now.set_field(container, key, known)
    return known


def _one_of(ref: Ref, key: str, inside: set[ast.AST]) -> Ref:
    """An item of a list whose items nothing tells apart: perhaps another one for another key."""
    if any(link.kind == SNAPSHOT for link in ref.chain) or ref.obj.kind not in _TOLD_APART:
        return ref
    if ref.obj.slot == ".grad":
        return ref  # of one parameter or another: what moves one moves all of them
    parts = {one: Link(one.kind, one.op, one.node, key=(one.node, key)) for one in ref.chain if one.key is not None}
    chain = tuple(parts.get(link, link) if link.node in inside else link for link in ref.chain)
    obj = ref.obj
    if chain == ref.chain:
        obj = Obj("unknown", "unknown", ref.obj.node)
        copy_facts(ref.obj, obj)
    return Ref(obj, chain, ref.place, ref.seen, ref.arms)


def _each_of(run: Run, container: Obj, key: str, ref: Ref) -> Ref:
    """The reference that the comprehension made for one key."""
    literal = container.exact and key[1:-1].isdigit()
    rows = [link for link in ref.chain if isinstance(link.key, AllRows)]
    if rows:
        part: object = Index((key[1:-1],)) if literal else (rows[0].node, key)
        chain = tuple(Link(VIEW, "iteration", link.node, key=part) if link in rows else link for link in ref.chain)
        return Ref(ref.obj, chain, ref.place, ref.seen, ref.arms)
    over = container.over
    if (
        over is not None
        and literal
        and any(ref.obj is one.obj for one in run.now.fields(over).get("[*]", UNKNOWN).refs)
    ):
        item = each_item(run, over, key, run.now.fields(over)["[*]"]).obj
        return Ref(item or ref.obj, ref.chain, ref.place, ref.seen, ref.arms)
    parent = ref.obj.parent
    if parent is not None and for_all(ref.obj.slot):
        # An item of what was iterated over: the same one.
        item = (run.field(parent, key).obj if literal else None) or Obj("unknown", "unknown", ref.obj.node)
        seen = frozenset(write for write in run.now.written(item) if write.tick <= container.born)
        return Ref(item, ref.chain, ref.place, seen, ref.arms)
    made = Obj("unknown", "fresh", ref.obj.node, any_of=ref.obj)
    copy_facts(ref.obj, made)
    return Ref(made, ref.chain, ref.place, ref.seen, ref.arms)


def differs(run: Run, ref: Ref, inside: set[ast.AST], passes: set[str]) -> bool:
    """Whether each pass of a comprehension has another one: made there, a row, an item of a list."""
    if ref.obj.owner == "fresh" and ref.obj.node in inside:
        return True
    if any(isinstance(link.key, Row) and link.key.loop == run.loop for link in ref.chain):
        return True
    return ref.obj.slot in passes


def each_objects(run: Run, over: Value) -> frozenset[Obj]:
    """What stands for the items of a list that another comprehension made."""
    obj = over.obj
    if obj is None or obj.data != "each":
        return frozenset()
    found = {ref.obj for held in run.now.fields(obj).values() for ref in held.refs}
    anyone = {ref.obj for ref in run.now.fields(obj).get("[*]", UNKNOWN).refs}
    return frozenset(one for one in found if one in anyone or one.any_of in anyone)


def one_row(ref: Ref, node: ast.AST, loop: tuple[int, ...]) -> Ref:
    """What one pass of a loop over such a list meets."""
    if not any(isinstance(link.key, AllRows) for link in ref.chain):
        return ref
    chain = tuple(
        Link(VIEW, "iteration", link.node, key=Row(node, loop)) if isinstance(link.key, AllRows) else link
        for link in ref.chain
    )
    return Ref(ref.obj, chain, ref.place, ref.seen, ref.arms)


def each_row(run: Run, container: Obj) -> None:
    """A list of the rows of a tensor: each item is another part."""
    held = run.now.fields(container)["[*]"]
    container.data, container.exact, container.born = "each", True, run.count()
    run.now.set_field(container, "[*]", Value(tuple(all_rows(run, ref) for ref in held.refs), held.kind))


def all_rows(run: Run, ref: Ref) -> Ref:
    """Any of the items, where each is a row, or an item of a given list: together they are the whole."""
    chain = tuple(
        Link(VIEW, "iteration", link.node, key=AllRows(link.node)) if isinstance(link.key, Row) else link
        for link in ref.chain
    )
    obj = ref.obj
    if obj.parent is not None and per_pass(obj.slot):
        item = run.any_item(obj.parent)
        if item.kind == "unknown":
            copy_facts(obj, item)
        return Ref(item, chain, ref.place, run.now.written(item), ref.arms)
    return Ref(obj, chain, ref.place, ref.seen, ref.arms)
