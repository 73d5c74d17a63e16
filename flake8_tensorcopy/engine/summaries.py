"""What a function of this file does to its arguments and what it returns, for its callers."""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import distributions, moved_leaf, ops, unwrapped
from flake8_tensorcopy.engine.evaluate import held_by
from flake8_tensorcopy.engine.features import STATE_DICT
from flake8_tensorcopy.engine.freezing import Asked, Carried, carried, default_of
from flake8_tensorcopy.engine.generators import one_shot
from flake8_tensorcopy.engine.graph import ancestors
from flake8_tensorcopy.engine.items import each_item
from flake8_tensorcopy.engine.linked import PAIRS, cut, linked, operand
from flake8_tensorcopy.engine.notes import Handed
from flake8_tensorcopy.engine.parts import Index, mixed
from flake8_tensorcopy.engine.settled import Ask, asks_of, way_of, written_for
from flake8_tensorcopy.engine.values import (
    DETACH,
    MAYBE,
    NUMBER,
    NUMPY,
    SNAPSHOT,
    UNKNOWN,
    VIEW,
    Chain,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    join_values,
)
from flake8_tensorcopy.engine.writes import asked_for_order, write_to

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.notes import Hooked
    from flake8_tensorcopy.engine.run import Run

MAX_EFFECTS = 40
REST = -1  # in the place of a position: whatever comes after the parameters


class Target(NamedTuple):
    """A storage as the caller can find it: the argument's index and the slots from there."""

    argument: int
    slots: tuple[str, ...]


class Effect(NamedTuple):
    """A write to what the caller passed in."""

    target: Target
    chain: Chain
    op: str
    training: bool
    node: ast.AST
    conditional: bool = False  # on some path of the function only, whatever it is given
    recorded: bool | None = True  # in grad mode
    in_order: bool = False  # only to what is known to be contiguous
    asks: frozenset[Ask] = frozenset()  # where the function does so


class Result(NamedTuple):
    """One alternative of what is returned: something reached from an argument, or something new."""

    target: Target | None
    chain: Chain
    obj: Obj | None
    parts: tuple[tuple[str, tuple[Result, ...]], ...] = ()
    asks: frozenset[Ask] = frozenset()  # where the function returns it


class Kept(NamedTuple):
    """The live state of a module that the caller passed in, put into an attribute."""

    module: Target
    chain: Chain
    node: ast.AST | None  # the statement
    conditional: bool = False  # on some path only: the attribute may also hold what it held


class Summary:
    """What a call of a function does, as its callers can find it."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.effects: list[Effect] = []
        self.rebinds: list[tuple[Target, str]] = []
        self.states: dict[tuple[Target, str], Kept] = {}  # of these, what is a live state of a module
        self.results: list[Result] = []
        self.plain = ""  # kind of a result without storage: number
        self.hooks: list[tuple[Target, Hooked]] = []
        self.stores: list[tuple[Target, Chain, Handed]] = []  # what stays with an object
        self.switched: list[Carried] = []  # what is told whether to require grad


def summary_of(run: Run) -> Summary:
    """Computed once per finished run."""
    if run.summary is None:
        run.summary = _summarise(run)
    return run.summary


def _summarise(run: Run) -> Summary:
    summary = Summary([obj.key for obj in run.params])
    index = {obj: position for position, obj in enumerate(run.params)}
    seen: set[tuple[object, ...]] = set()
    ticks: list[int] = []  # of the effects
    for write in run.log:
        target = target_of(write.ref.obj, index)
        if target is None:
            continue
        training = write.how == "training"
        one_of_all = write.ref.obj.param or write.ref.obj.made == "buffer"
        if one_of_all and any(slot.endswith(")]") for slot in target.slots):
            # One parameter (or buffer) after the other: for the caller, the module is trained.
            cut = next(i for i, slot in enumerate(target.slots) if slot.endswith(")]"))
            target, training = Target(target.argument, target.slots[:cut]), True
        chain = tuple(link for link in write.ref.chain if link.op != "=")
        asks = asks_of(run, write.arms)
        mark = (target, tuple((link.kind, link.op, id(link.node)) for link in chain), write.op, write.node, asks)
        if mark in seen or len(summary.effects) >= MAX_EFFECTS:
            continue
        seen.add(mark)
        ticks.append(write.tick)
        node = write.inner or write.node
        # Where an argument was asked for, that is what tells its storage from the other ones.
        conditional = len(write.arms) > len(asks) or (write.mixed and not asks)
        in_order = asked_for_order(write)
        summary.effects.append(Effect(target, chain, write.op, training, node, conditional, write.grad, in_order, asks))
    if run.tape.switched:
        summary.switched = _switched(run, index, ticks)
    for obj, key in run.rebinds:
        target = target_of(obj, index)
        if target is not None and (target, key) not in summary.rebinds:
            summary.rebinds.append((target, key))
            if run.function.features & STATE_DICT and (live := _state_kept(run, obj, key, index)) is not None:
                summary.states[(target, key)] = live
    for handed in run.handed:
        target = target_of(handed.ref.obj, index)
        kept = handed.how == "passed" or (handed.how == "store" and handed.into is not None)
        if kept and target is not None and not handed.mixed and not handed.arms and len(summary.stores) < MAX_EFFECTS:
            chain = tuple(link for link in handed.ref.chain if link.op != "=")
            summary.stores.append((target, chain, handed))
    for hooked in run.hooks:
        target = target_of(hooked.module.obj, index)
        if target is not None:
            summary.hooks.append((target, hooked))
    for value, state, _ in run.returned:
        if not value.refs and value.kind == "number":
            summary.plain = "number"
        for ref in value.refs[:6]:
            result = _result(ref, index, state.heap, 0)
            summary.results.append(result._replace(asks=asks_of(run, ref.arms | state.arms)))
    return summary


def _switched(run: Run, index: dict[Obj, int], ticks: list[int]) -> list[Carried]:
    """What the function told whether to require grad, as its callers find it, in order."""
    found: dict[Carried, None] = {}
    for one in run.tape.switched:
        behind_it = ancestors(one.obj)
        stars = [obj for obj in behind_it if obj.owner == "argument" and obj.kind == "list" and obj not in index]
        index = {**index, **dict.fromkeys(stars, REST)}
        after = bisect_right(ticks, one.tick)
        default = default_of(run.function, one.asked.flag) if one.asked.flag else None
        target = target_of(one.obj, index)
        if target is not None:
            cut = next((i for i, slot in enumerate(target.slots) if slot.endswith(")]")), None)
            whole = one.whole or cut is not None
            asked = one.asked if cut is None or one.asked.known is not False else Asked()
            found[Carried(Target(target.argument, target.slots[:cut]), whole, asked, default, after)] = None
            continue
        # What was reached from an argument by way of something else: some of its parameters, perhaps.
        for behind in behind_it if one.whole and one.asked.known is not True else ():
            if behind in index:
                found[Carried(Target(index[behind], ()), True, Asked(), None, after)] = None
    return list(found)


def _state_kept(run: Run, obj: Obj, key: str, index: dict[Obj, int]) -> Kept | None:
    """The live state that an attribute of an argument holds at the end, if it holds no other one."""
    found: dict[ast.AST | None, Kept] = {}
    conditional = False
    for state in [one.state for one in run.returned] + ([run.state] if run.state is not None else []):
        refs = state.fields(obj).get(key, UNKNOWN).refs
        conditional = conditional or not refs
        for ref in refs:
            if ref.obj.parent is obj:  # what was there before
                conditional = True
                continue
            held = state.fields(ref.obj).get("[*]", UNKNOWN).refs if ref.obj.kind == "dict" else ()
            target = target_of(held[0].obj, index) if len(held) == 1 else None
            if target is None or ref.place is None or not any(link.kind == SNAPSHOT for link in held[0].chain):
                return None
            found[ref.place.node] = Kept(target, held[0].chain, ref.place.node)
    if len(found) != 1:
        return None
    kept = next(iter(found.values()))
    return kept._replace(conditional=conditional)


def target_of(obj: Obj, index: dict[Obj, int]) -> Target | None:
    """Where the caller finds an object of the function, by the positions of its parameters."""
    slots: list[str] = []
    while obj not in index:
        if obj.parent is None or len(slots) > 6:
            return None
        slots.insert(0, obj.slot)
        obj = obj.parent
    return Target(index[obj], tuple(slots))


def _result(ref: Ref, index: dict[Obj, int], heap: dict[Obj, dict[str, Value]], depth: int) -> Result:
    chain = tuple(link for link in ref.chain if link.op != "=")
    target = target_of(ref.obj, index)
    parts: tuple[tuple[str, tuple[Result, ...]], ...] = ()
    obj = ref.obj
    if target is None and obj.kind in ("tuple", "list", "dict") and depth < 3:
        parts = tuple(
            (key, tuple(_result(inner, index, heap, depth + 1) for inner in value.refs[:4]))
            for key, value in heap.get(obj, {}).items()
        )
    return Result(target, chain, obj, parts)


def apply_summary(
    run: Run,
    node: ast.Call,
    summary: Summary,
    values: list[Value],
    keywords: dict[str, tuple[ast.expr, Value]],
    spread: bool,
) -> Value:
    """Do to the arguments of this call what the function does, and make its result."""
    given = dict(enumerate(values[: len(summary.names)] if not spread else values[: min(1, len(summary.names))]))
    for position, name in enumerate(summary.names):
        if name in keywords:
            given[position] = keywords[name][1]
    rest = Value(tuple(ref for value in values[len(summary.names) :] for ref in value.refs))
    for position, effect in enumerate(summary.effects):
        if summary.switched:
            switched_by(run, node, summary, {REST: rest, **given}, position)
        value = find(run, node, effect.target, given)
        way = way_of(run, node, summary.names, effect.asks, given, spread)
        if value is None or not way.is_open:
            continue
        if effect.training:
            for ref in value.refs:
                run.modules.setdefault(ref.obj, None)
        through = _with_links(value, effect.chain, node)
        if effect.in_order:
            through = Value(tuple(ref for ref in through.refs if ref.overlaps is None))
        if any(ref.kind == "tensor" for ref in through.refs):
            run.module.proven.add(effect.node)
        here, arms = run.now, run.now.arms
        here.arms = arms | way.arms
        write_to(
            run,
            node,
            through,
            effect.op,
            "training" if effect.training else "call",
            _argument_text(run, node, effect.target, summary),
            inner=effect.node,
            unsure=effect.conditional or not way.surely,
            recorded=effect.recorded,
        )
        here.arms = arms
    if summary.switched:
        switched_by(run, node, summary, {REST: rest, **given}, len(summary.effects))
    for target, key in summary.rebinds:
        value = find(run, node, target, given)
        if value is not None:
            for ref in value.refs:
                held = Obj("unknown", "attribute", node, parent=ref.obj, slot=key, key=f"{ref.obj.key}{key}")
                state = _keep_state(run, node, summary.states.get((target, key)), given, held)
                run.now.set_field(ref.obj, key, state or Value((Ref(held),)))
    for target, chain, handed in summary.stores:
        value = find(run, node, target, given)
        if value is not None:
            for ref in _with_links(value, chain, node).refs:
                arms, several = ref.arms | run.now.arms, mixed(value, ref)
                run.handed.append(Handed(ref, node, "passed", None, run.loop, run.count(), arms, several, handed.site))
    hooks_of(run, node, summary, given)
    if not summary.results:
        return NUMBER if summary.plain else UNKNOWN
    result: Value | None = None
    ways = [(one, way_of(run, node, summary.names, one.asks, given, spread)) for one in summary.results]
    for one, way in [(one, way) for one, way in ways if way.is_open][:4]:
        value = _make(run, node, one, given, summary.names)
        if way.arms:
            value = Value(tuple(ref.under(way.arms) for ref in value.refs), value.kind, value.const)
        result = value if result is None else join_values(result, value)
    return result if result is not None else UNKNOWN


def switched_by(run: Run, node: ast.Call, summary: Summary, given: dict[int, Value], after: int | None = None) -> None:
    """What a function of this file tells to require grad, or not to, after so many of its writes (or at any time)."""
    for one in summary.switched:
        value = find(run, node, one.target, given) if after is None or one.after == after else None
        if value is not None:
            flag = one.asked.flag
            carried(run, one, value, given.get(summary.names.index(flag)) if flag in summary.names else None)


def _keep_state(run: Run, node: ast.Call, kept: Kept | None, given: dict[int, Value], attribute: Obj) -> Value | None:
    """The live state of a module of the caller, as a function has put it into an attribute."""
    module = find(run, node, kept.module, given) if kept is not None else None
    holder = attribute.parent
    if kept is None or module is None or len(module.refs) != 1 or holder is None:
        return None
    ref = module.refs[0]
    made = Obj("dict", "fresh", node, key=attribute.key, made="state_dict", data="state")
    place = Place(attribute.key, kept.node, origin="store", loop=run.loop)
    held = Ref(ref.obj, (*ref.chain, *kept.chain), place, run.now.written(ref.obj), run.now.arms)
    run.now.set_field(made, "[*]", Value((held,)))
    run.modules.setdefault(ref.obj, None)
    state = Value((Ref(made),))
    before = run.now.fields(holder).get(attribute.slot) if kept.conditional else None
    return join_values(before, state) if before is not None else state


def hooks_of(run: Run, node: ast.Call, summary: Summary, given: dict[int, Value]) -> None:
    """The forward hooks that a function of this file registers on what it is given here."""
    for target, hooked in summary.hooks[:MAX_EFFECTS]:
        value = find(run, node, target, given)
        if value is not None:
            if hooked.over in summary.names:
                from flake8_tensorcopy.engine.hooks import numbers_in

                over = given.get(summary.names.index(hooked.over))
                hooked = hooked._replace(over="", positions=numbers_in(run, over) if over is not None else ())
            run.hooks.extend(hooked._replace(module=ref) for ref in value.refs)


def _argument_text(run: Run, node: ast.Call, target: Target, summary: Summary) -> str:
    written = written_for(node, target.argument, summary.names)
    start = summary.names[target.argument] if written is None else run.short(written)
    return start + "".join(target.slots)


def find(run: Run, node: ast.AST, target: Target, given: dict[int, Value]) -> Value | None:
    """What the caller has there."""
    value = given.get(target.argument)
    for slot in target.slots:
        if value is None or not value.refs:
            return None
        if slot.startswith("[") and slot.endswith(")]"):
            # An item of one pass inside the callee: another one for the caller.
            return None
        parts = [held_by(ref, _part(run, node, ref, slot), value) for ref in value.refs]
        value = parts[0]
        for part in parts[1:]:
            value = join_values(value, part)
    return value


def _part(run: Run, node: ast.AST, ref: Ref, slot: str) -> Value:
    """What the caller has in a slot of an argument."""
    obj = ref.obj
    tensor = ref.kind in ("tensor", "array") or (obj.kind == "unknown" and run.evidence(obj) >= 2)
    if slot[0] == "[" and tensor:
        # The callee could not know that it is given a tensor: what it took for an item is a part.
        key = Index((slot[1:-1],)) if slot[1:-1].lstrip("-").isdigit() else (node, slot)
        return Value((ref.derive(Link(VIEW, slot, node, key=key)),))
    fields = run.now.fields(obj)
    if slot not in fields and "[*]" in fields and slot[0] == "[" and obj.owner == "fresh":
        return each_item(run, obj, slot, fields["[*]"])
    return run.field(obj, slot)


def _with_links(value: Value, chain: Chain, node: ast.AST) -> Value:
    if not chain:
        return value
    refs = []
    for ref in value.refs:
        for link in chain:
            op = ops.method(link.op) if link.kind == MAYBE and ref.overlaps is not None else None
            if op is not None and op.layout:  # the callee could not know that it is given what is expanded: a copy
                copied = Obj(ref.kind, "fresh", node, made="call", source=(ref.obj,), operands=(operand(ref),))
                ref = Ref(copied)
                continue
            step = Link(link.kind, link.op, node, link.key, link.overlap, link.permuted)
            step.inner = link.inner or link.node
            ref = ref.derive(step)
        refs.append(ref)
    return Value(tuple(refs))


def _computed_from(was: Obj, given: dict[int, Value]) -> tuple[Obj, ...]:
    """The arguments of this call whose kind decides that of the result."""
    names = {source.key for source in was.source if source.owner == "argument"}
    return tuple(ref.obj for value in given.values() for ref in value.refs) if names else ()


def _operands(was: Obj, given: dict[int, Value], names: list[str]) -> tuple[Obj, ...]:
    """The arguments of this call that the result was computed from."""
    reached = {one.key for one in ancestors(was) if one.owner == "argument"}
    own = set(names[:1] if names[:1] == ["self"] else ())
    perhaps = {one.key for one in linked(was) if one.owner == "argument"} | own
    surely = {one.key for one in linked(was, strict=True) if one.owner == "argument"} | own
    found: list[Obj] = []
    for position, value in given.items():
        name = names[position]
        for ref in value.refs if name in reached else ():
            if name in surely:
                found.append(operand(ref))
            elif name in perhaps:
                # By a call of which nothing is known: of itself, of a wrapped function.
                found.append(Obj("unknown", "unknown", was.node, made="call", operands=(operand(ref),)))
            else:
                found.append(cut(ref.obj))
    return tuple(found)


def _graph_of(run: Run, was: Obj, chain: Chain) -> bool | None:
    """Whether what a function made requires grad, where it is called."""
    if any(link.kind in (DETACH, NUMPY) for link in chain) or (run.now.grad is False and not was.leaf):
        return False
    return was.graph if run.now.grad or was.leaf else None


def _copied(was: Obj, made: Obj, given: dict[int, Value], names: list[str]) -> None:
    """A deep copy of an argument is what the argument is."""
    for source in was.source:
        value = given.get(names.index(source.key)) if source.owner == "argument" and source.key in names else None
        if value is not None and value.obj is not None and value.obj.kind == "module":
            made.kind, made.cls, made.data, made.made = "module", value.obj.cls, value.obj.data, "deepcopy"


def _make(run: Run, node: ast.Call, result: Result, given: dict[int, Value], names: list[str]) -> Value:
    if result.target is not None:
        found = find(run, node, result.target, given)
        return _with_links(found, result.chain, node) if found is not None else UNKNOWN
    was = result.obj
    assert was is not None
    if was.kind == "unknown" and was.owner != "fresh":
        through = any(one.owner in ("argument", "attribute") for one in linked(was, strict=True))
        operands = _operands(was, given, names)
        off = was.graph is False or any(link.kind in (DETACH, NUMPY) for link in result.chain)
        graph = False if off else None
        made = Obj("unknown", "unknown", node, made="call", operands=operands, through=through, graph=graph)
        made.cls, made.data = was.cls, was.data if was.cls else None
        if was.made == distributions.MADE and run.now.grad:
            distributions.returned(was, made)
        return Value((Ref(made),))
    shared = any(link.kind == NUMPY for link in result.chain)
    kind = Ref(was, result.chain).kind if shared else was.kind  # `x.numpy()` is an array, whatever x is
    made = Obj(
        kind,
        "fresh" if was.owner == "fresh" else "unknown",
        node,
        made="call",
        dtype=was.dtype,
        zero_dim=was.zero_dim,
        graph=_graph_of(run, was, result.chain),
        leaf=was.leaf,
        param=was.param,
        operands=_operands(was, given, names),
        cls=was.cls,
        data=was.data if isinstance(was.data, str) or was.kind in ("module", "instance") else None,
    )
    if one_shot(was) or was.made == "optimizer.state_dict":
        made.kind, made.made = was.kind, was.made
    unwrapped.returned(run, was, result.chain, made)
    moved_leaf.returned(run, was, result.chain, made)
    if was in run.module.registered:
        run.module.registered.add(made)
    if was.made in PAIRS and len(was.given) == 1:
        made.graph = None  # of values and positions, only the values
    elif made.graph is None and run.now.grad and any(obj.graph for obj in made.operands):
        made.graph = True
    if was.made == "deepcopy":
        _copied(was, made, given, names)
    if was.kind == "unknown":
        made.uses.append((run.module.evidence(was, None), None))
        made.source = _computed_from(was, given)
    for key, parts in result.parts:
        held: Value | None = None
        for part in parts:
            value = _make(run, node, part, given, names)
            held = value if held is None else join_values(held, value)
        if held is not None:
            place = Place(f"the item {key}", node, origin="item")
            refs = tuple(
                Ref(ref.obj, ref.chain, place, run.now.written(ref.obj), ref.arms | run.now.arms) for ref in held.refs
            )
            run.now.set_field(made, key, Value(refs, held.kind, held.const))
    start = next((i for i, link in enumerate(result.chain) if link.overlap), len(result.chain))
    return Value((Ref(made, result.chain[start:]),))
