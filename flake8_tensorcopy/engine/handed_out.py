"""Live tensors that others hold: stored or yielded by a loop that rewrites them, returned by an object that does."""

from __future__ import annotations

import ast
import bisect
import heapq
from collections.abc import Iterator
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from flake8_tensorcopy.engine.classes import MethodEffect, effects_on_self, holds_tensors, way_from
from flake8_tensorcopy.engine.copies import handed_copy, returned_copy
from flake8_tensorcopy.engine.facts import Copy, Fact, HandedOut, StaleRead, changed
from flake8_tensorcopy.engine.features import HANDS_OUT, INPLACE_MODULE, WRITE
from flake8_tensorcopy.engine.graph import root_of
from flake8_tensorcopy.engine.methods import SETS, hands_out, sets_up
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.mutated import mutated_items
from flake8_tensorcopy.engine.nodes import end_of, stands_in, start_of, walk
from flake8_tensorcopy.engine.notes import Handed, Use
from flake8_tensorcopy.engine.parts import all_passes, mixed, must_overlap
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.state import State
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    NUMPY,
    VIEW,
    Arm,
    Chain,
    Obj,
    Place,
    Ref,
    Value,
    Write,
    exclusive,
)

SHARES = frozenset({ALIAS, VIEW, DETACH})
MAX_STATES = 32  # at the ends of a function, for what its containers hold
MAX_LATER = 64  # writes that are compared with what a loop has handed out before
_TICK = attrgetter("tick")


# ----- loops


def stored_read(run: Run, use: Use, write: Write) -> None:
    """What a container holds is read after a later pass of the loop rewrote it."""
    place = use.ref.place
    if place is not None and place.origin == "store":
        # Beside what else the container holds, this one is there for certain.
        here = Value(tuple(ref for ref in use.whole.refs if ref.place is place))
        if not mixed(here, use.ref):
            _rewritten(run, use.ref, place, write)


def live_in_containers(run: Run) -> None:
    """What was put into somebody else's container, or yielded, and rewritten by a later pass."""
    rewritten = {write.ref.obj for write in run.log if write.loop and write.how not in ("training", "part")}
    states = [state for _, state, _ in run.returned] if rewritten else []
    if len(states) > MAX_STATES:
        states = [*states[: MAX_STATES // 2], *states[-MAX_STATES // 2 :]]
    if rewritten and run.state is not None:
        states.append(run.state)
    met: set[tuple[object, ...]] = set()
    for state in states:
        for ref, read in _held(run, state):
            place = ref.place
            if ref.obj not in rewritten or place is None or place.origin != "store":
                continue
            for write in sorted(state.written(ref.obj) - ref.seen, key=_TICK):
                mark = (place, ref.chain, ref.arms, read, write)
                if mark in met:
                    continue  # the same at another end of the function
                met.add(mark)
                if write.time < read and write.ref.place is not place:
                    if must_overlap(ref.chain, all_passes(write.ref.chain, write.loop, [], ref.chain)):
                        _rewritten(run, ref, place, write)
    for one in run.handed:
        if one.how in ("yield", "passed") and not one.mixed and not run.function.wrapped:
            _handed_on(run, one)
        elif one.how == "store" and not one.mixed and run.function.cls is not None:
            _kept_by_the_object(run, one)


def _kept_by_the_object(run: Run, one: Handed) -> None:
    """`self.buf += x; self.history.append(self.buf)`: each call of the method rewrites what the last one stored."""
    me = run.params[0] if run.params else None
    if one.into is None or me is None or run.function.name in SETS or not isinstance(one.node, ast.Call):
        return
    way = way_from(me, one.ref.obj)
    if not way or root_of(one.into) is not me or one.ref.obj.param or run.loop:
        return
    states = [state for _, state, _ in run.returned] + ([run.state] if run.state is not None else [])
    if not any(_still_holds(state, me, way, one.ref.obj, one.arms) for state in states):
        return
    for write in run.log:
        if (
            write.ref.obj is one.ref.obj
            and write.how not in ("training", "part")
            and not write.mixed
            and not write.arms
        ):
            chains = (*one.ref.chain, *write.ref.chain)
            if all(link.kind in SHARES or link.kind == NUMPY for link in chains) and must_overlap(
                one.ref.chain, write.ref.chain
            ):
                _fact(run, one.ref, one.node, "store", write, "method")
                return


def _still_holds(state: State, me: Obj, way: tuple[str, ...], obj: Obj, arms: frozenset[Arm] = frozenset()) -> bool:
    """Whether an object may hold at the end what it has handed out, and not another one in its place."""
    held = state.fields(me).get(way[0]) if len(way) == 1 else None
    return held is None or any(ref.obj is obj and not exclusive(ref.arms, arms) for ref in held.refs)


def _held(run: Run, state: State) -> Iterator[tuple[Ref, int]]:
    """The references that containers hold, and when one of their items was read last: those of arguments, objects and
    globals are read some time later."""
    for obj, when in run.read_at.items():
        if obj.owner == "fresh":
            for held in state.fields(obj).values():
                for ref in held.refs:
                    yield ref, when
    pending = [obj for obj in state.heap if obj.owner != "fresh" and obj.kind not in ("tensor", "array")]
    seen: set[Obj] = set()
    while pending and len(seen) < 200:
        obj = pending.pop()
        if obj in seen:
            continue
        seen.add(obj)
        for slot, held in state.fields(obj).items():
            for ref in held.refs:
                if slot[0] == "[" and len(held.refs) <= 8:
                    yield ref, run.clock + 1
                if ref.obj.kind in ("list", "dict", "tuple"):
                    pending.append(ref.obj)


def _handed_on(run: Run, one: Handed) -> None:
    around = _loops(run, one.node) if one.loop else []
    if not around:
        return  # nothing comes in a later pass
    written = run.once(_written_in_loops).get((one.ref.obj, around[0]), {})
    later = (writes for loop, writes in written.items() if _is_later(loop, one.loop))
    for write in islice(heapq.merge(*later, key=_TICK), MAX_LATER):
        if write.tick > one.tick and not exclusive(write.arms, one.arms):
            if must_overlap(one.ref.chain, all_passes(write.ref.chain, write.loop, [], one.ref.chain)):
                if _live(run, one.ref, one.node, one.loop, write) and not _said(run, one.ref):
                    _fact(run, one.ref, one.site, "yield" if one.how == "yield" else "store", write)
                    return


def _written_in_loops(run: Run) -> dict[tuple[Obj, ast.stmt], dict[tuple[int, ...], list[Write]]]:
    """What was written in a loop, by the storage, the outermost loop and the passes."""
    found: dict[tuple[Obj, ast.stmt], dict[tuple[int, ...], list[Write]]] = {}
    for write in run.log:
        if write.loop and (around := _loops(run, write.node)):
            found.setdefault((write.ref.obj, around[0]), {}).setdefault(write.loop, []).append(write)
    return found


def _is_later(loop: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether the passes of one place come after those of another one, of the first loop in which they differ."""
    return next((mine > theirs for mine, theirs in zip(loop, other, strict=False) if mine != theirs), False)


def _rewritten(run: Run, ref: Ref, place: Place, write: Write) -> None:
    site = place.node
    made = place.made_in
    if isinstance(made, ast.Expr) and isinstance(made.value, ast.Call) and not isinstance(site, ast.stmt):
        site = made.value  # of `history.append((step, x))`, the whole
    if site is None or place in write.ref.via or not _live(run, ref, site, place.loop, write):
        return
    if exclusive(ref.arms, write.ref.arms):
        return  # `self.out.append(self.buf); self.buf = torch.zeros(n)`: renewed where it was stored
    known = run.facts.get((StaleRead, write.node, place.name, place.node))
    if isinstance(known, StaleRead) and known.stored_from != known.writer and _strong(known):
        return  # said of the alias
    _fact(run, ref, site, "store", write)


def _strong(fact: StaleRead) -> bool:
    """Whether the old value was to be kept."""
    return fact.together or fact.kept or fact.compared


def _said(run: Run, ref: Ref) -> bool:
    """Whether it is said already that this name does not keep its value."""
    return ref.place is not None and ref.place.name in run.once(_said_of)


def _said_of(run: Run) -> set[str]:
    facts = (fact for fact in run.facts.values() if isinstance(fact, StaleRead))
    return {fact.reader for fact in facts if _strong(fact)}


def _live(run: Run, ref: Ref, site: ast.AST, loop: tuple[int, ...], write: Write) -> bool:
    """Whether the write comes in a later pass of a loop around both, to the tensor itself."""
    if write.how in ("training", "part") or write.mixed or ref.obj.param or ref.obj.moved:
        return False
    if ref.obj.slot == ".grad":
        return False  # backward writes it, whatever the loop does
    written = write.ref.place
    if written is not None and written.origin == "store" and written.name.endswith("[*]"):
        return False  # one of the items, unknown which
    if any(link.kind not in SHARES for link in (*ref.chain, *write.ref.chain)) or ref.obj.any_of is ref.obj:
        return False
    if any(link.key is not None for link in ref.chain) and any(
        link.op == "[]" and link.key is None for link in write.ref.chain
    ):
        return False  # perhaps another part
    between = _loop_between(run, site, loop, write)
    if between is None or any(_names_a_pass(run, arm) for arm in (*write.arms, *ref.arms)):
        return False
    return not _is_last_pass(run, site, between)


def _loop_between(run: Run, site: ast.AST, loop: tuple[int, ...], write: Write) -> ast.stmt | None:
    """The loop of which the write comes in a later pass than what was done at the site."""
    around, beside = _loops(run, site), _loops(run, write.node)
    for depth, (mine, theirs) in enumerate(zip(around, beside, strict=False)):
        if mine is not theirs or len(loop) <= depth or len(write.loop) <= depth:
            return None
        if loop[depth] != write.loop[depth]:
            return mine if write.loop[depth] > loop[depth] else None
    return None


def bound_in_last_pass(run: Run, place: Place, write: Write) -> bool:
    """Whether the loop, in a later pass of which the write would come, is left where the place was bound."""
    if not place.loop or not write.loop or place.node is None:
        return False
    between = _loop_between(run, place.node, place.loop, write)
    return between is not None and _is_last_pass(run, place.node, between)


def _is_last_pass(run: Run, site: ast.AST, loop: ast.stmt) -> bool:
    """Whether the loop is left for good once a node in it has been passed."""
    known = run.once(_last_passes)
    if (site, loop) not in known:
        known[site, loop] = _leaves_for_good(run, site, loop)
    return known[site, loop]


def _last_passes(run: Run) -> dict[tuple[ast.AST, ast.stmt], bool]:
    """What is known already of that."""
    return {}


def _leaves_for_good(run: Run, site: ast.AST, loop: ast.stmt) -> bool:
    parents, node = run.parents(), site
    breaks = True  # this loop, and not one in it
    while node is not loop and node in parents:
        outer = parents[node]
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            later = _next_exits(run, outer).get(node)
            if later is not None:
                return isinstance(later, (ast.Return, ast.Raise)) or (breaks and isinstance(later, ast.Break))
        breaks = breaks and not isinstance(outer, (ast.For, ast.AsyncFor, ast.While))
        node = outer
    return False


def _next_exits(run: Run, outer: ast.AST) -> dict[ast.AST, ast.stmt]:
    """For the statements of the blocks of a node: the first one from there on that leaves the block."""
    known = run.once(_exits)
    if outer not in known:
        found = known[outer] = {}
        for _, suite in ast.iter_fields(outer):
            later: ast.stmt | None = None
            for statement in reversed(suite) if isinstance(suite, list) else ():
                if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                    later = statement
                if later is not None:
                    found[statement] = later
    return known[outer]


def _exits(run: Run) -> dict[ast.AST, dict[ast.AST, ast.stmt]]:
    """Those that were asked for."""
    return {}


def _names_a_pass(run: Run, arm: Arm) -> bool:
    """`if t == "last":`, with `t` the variable of a loop: what stands there happens once."""
    text = arm.test[0] if isinstance(arm.test, tuple) else ""
    return arm.taken and isinstance(text, str) and text.partition(" == ")[0] in run.function.loops and " == " in text


def _loops(run: Run, site: ast.AST) -> list[ast.stmt]:
    """The loops of the function around a node, the outermost first."""
    starts, nodes, outer = run.once(_loops_in_order)
    where = start_of(site)
    at = bisect.bisect_right(starts, where) - 1
    found: list[ast.stmt] = []
    while at >= 0:  # the last one that begins before, and those around it
        if where <= end_of(nodes[at]):
            found.append(nodes[at])
        at = outer[at]
    return found[::-1]


def _loops_in_order(run: Run) -> tuple[list[tuple[int, int]], list[ast.stmt], list[int]]:
    """Where the loops of the function begin, these loops, and which one each stands in, or -1."""
    kinds = (ast.For, ast.AsyncFor, ast.While)
    nodes = sorted((node for node in walk(run.function.node) if isinstance(node, kinds)), key=start_of)
    outer: list[int] = []
    for place, node in enumerate(nodes):
        at = place - 1
        while at >= 0 and not stands_in(node, nodes[at]):
            at = outer[at]
        outer.append(at)
    return [start_of(node) for node in nodes], [*nodes], outer


def _fact(run: Run, ref: Ref, site: ast.AST, how: str, write: Write, reason: str = "loop") -> None:
    name, copies = _shown(run, ref, site), handed_copy(run, ref, site)
    if (got := _got_from(run, ref)) is not None:
        # The object that hands its buffer out is where the copy is missing.
        site, how, name, copies = got.node, "return", got.name, got.copies
    inner = write.inner or write.node
    cls = run.function.cls
    slots = way_from(run.params[0], ref.obj) if cls is not None and run.params else ()
    if cls is not None and slots:
        run.module.asked[site] = (cls, slots)
    run.fact(
        HandedOut(
            site=site,
            name=name,
            how=how,
            op=write.op,
            write=inner,
            write_how="method" if write.inner is not None else write.how,
            by=run.called[write.node].function.name if write.node in run.called else "",
            reason=reason,
            evidence=run.evidence_of(ref, None),
            copies=copies,
        )
    )


class Got(NamedTuple):
    """Where a caller got what an object holds: a method, its `return`, how that calls it, where to copy it."""

    function: Function
    node: ast.Return
    name: str
    copies: tuple[Copy, ...]


def _got_from(run: Run, ref: Ref) -> Got | None:
    """The method of an object that a name got what the object holds from."""
    for link in ref.chain:
        found = _handed_by(run, link.node, ref.obj) if link.op == "=" else None
        if found is not None:
            return found
    return None


def _handed_by(run: Run, call: ast.AST | None, obj: Obj) -> Got | None:
    """What a call gives of what the object holds, alone or in a tuple or dict."""
    callee = run.called.get(call) if isinstance(call, ast.Call) else None
    if callee is None or callee.function.cls is None or not callee.params:
        return None
    for value, state, node in callee.returned:
        for ref in _held_by_the_object(callee, value, state, obj):
            copies = returned_copy(callee, ref, node)
            parts = [part for copy in copies for part in copy.nodes]
            shown = parts[0] if len(parts) == 1 else node.value or node
            return Got(callee.function, node, callee.short(shown), copies)
    return None


def _held_by_the_object(done: Run, value: Value, state: State, obj: Obj) -> Iterator[Ref]:
    """What a method returns of its object, if that, or a part of it, is what the caller knows as this."""
    me = done.params[0]
    for ref in _returned_refs(done, value, state):
        if root_of(ref.obj) is me and ref.obj is not me:
            if ref in value.refs or _ends_with(obj, way_from(me, ref.obj)):
                yield ref


def kept_results(run: Run) -> None:
    """At the end: a name was to keep what a method returned, and has the live buffer of the object: the method is
    where the copy is missing."""
    for mark, fact in list(run.facts.items()):
        if not isinstance(fact, StaleRead) or not (fact.link == ALIAS and fact.certain and _strong(fact)):
            continue
        if mark not in run.between or fact.reader_origin != "name" or fact.activation:
            continue  # of a function in this one, which has said it
        obj = run.between[mark][3]
        got = _handed_by(run, fact.source, obj)
        if got is None or got.function.cls is run.function.cls or not hands_out(got.function):
            continue
        if fact.evidence < (2 if fact.how == "augmented" else 1) or fact.reader_is_source:
            continue
        run.facts[mark] = changed(fact, handed=True)
        run.fact(
            HandedOut(
                site=got.node,
                name=got.name,
                how="return",
                op=fact.op,
                write=fact.inner or fact.site,
                write_how="method" if fact.inner is not None else fact.how,
                by=run.called[fact.site].function.name if fact.site in run.called else "",
                reason="read",
                evidence=fact.evidence,
                copies=got.copies,
            )
        )


def _shown(run: Run, ref: Ref, site: ast.AST) -> str:
    """How a message calls what is handed out."""
    match site:
        case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
            return run.short(value)
        case ast.Assign(value=value):
            return run.short(value)
        case ast.Call(args=[*_, value]):
            return run.short(value)
    return ref.obj.key or "the tensor"


# ----- objects that hand out what they write

# Methods whose business is to set what the object holds.


def returned_buffers(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """`return self.buf`, where a method of the class, or a caller with what it got, writes the buffer in place."""
    returned = list(_buffers_returned(module, cls))
    if not returned:
        return
    wrong = {fact.site for _, fact in mutated_items(module, cls)}  # the write is what is wrong there
    writers = [
        one
        for one in effects_on_self(module, cls, WRITE | INPLACE_MODULE)
        if one.effect.target.slots
        and not one.effect.training
        and not sets_up(one.method.name)
        and one.effect.node not in wrong
    ]
    by_way: dict[tuple[str, ...], list[MethodEffect]] = {}
    for one in writers:
        by_way.setdefault(_way(one.effect.target.slots), []).append(one)
    for run, node, ref, slots in returned:
        for writer, effect in by_way.get(_way(slots), ()):
            if _same_slots(effect.target.slots, slots) and _at_once(effect.chain, ref.chain):
                evidence = max(run.evidence_of(ref, None), holds_tensors(module, cls, slots))
                fact = _returned(run, node, ref, effect.op, effect.node, writer.name, "method", evidence)
                yield run.function, fact
                break


def _buffers_returned(module: Module, cls: Class) -> Iterator[tuple[Run, ast.Return, Ref, tuple[str, ...]]]:
    """What methods return of what the object holds, and the way there."""
    for method in cls.methods.values():
        run = module.run_of(method) if method.features & HANDS_OUT and hands_out(method) else None
        if run is None or not run.params:
            continue
        for value, state, node in run.returned:
            for ref in _returned_refs(run, value, state):
                slots = way_from(run.params[0], ref.obj) or _bound_here(state, run.params[0], ref.obj)
                if not slots or slots[0][0] != "." or ref.obj.param:
                    continue
                if any(link.kind not in SHARES for link in ref.chain):
                    continue
                if not _still_holds(state, run.params[0], slots, ref.obj):
                    continue
                if not (mixed(value, ref) and ref in value.refs) and not _said(run, ref):
                    yield run, node, ref, slots


def _returned(
    run: Run, node: ast.Return, ref: Ref, op: str, write: ast.AST, by: str, reason: str, evidence: int
) -> HandedOut:
    name = run.short(node.value) if node.value is not None else ref.obj.key
    return HandedOut(
        site=node,
        name=name,
        how="return",
        op=op,
        write=write,
        write_how="method",
        by=by,
        reason=reason,
        evidence=evidence,
        copies=returned_copy(run, ref, node),
    )


def _returned_refs(run: Run, value: Value, state: State) -> Iterator[Ref]:
    for ref in value.refs:
        yield ref
        if ref.obj.kind in ("tuple", "dict") and ref.obj.owner == "fresh":
            for held in state.fields(ref.obj).values():
                yield from held.refs


def _bound_here(state: State, me: Obj, obj: Obj) -> tuple[str, ...]:
    """The attribute that the method has bound to a tensor that it made."""
    if obj.kind != "tensor":
        return ()
    return next(((key,) for key, held in state.fields(me).items() if held.obj is obj), ())


def _way(slots: tuple[str, ...]) -> tuple[str, ...]:
    """What ways that are the same have in common."""
    return slots[:1] + tuple("" if _variable(slot) else slot for slot in slots[1:])


def _same_slots(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two ways lead to the same, or to items under keys that are only known when the program runs."""
    if len(one) != len(other) or one[0] != other[0]:
        return False
    return all(
        mine == theirs or (_variable(mine) and _variable(theirs)) for mine, theirs in zip(one, other, strict=True)
    )


def _variable(slot: str) -> bool:
    return slot[0] == "[" and "]" in slot and slot[-1] != "]"


def _at_once(one: Chain, other: Chain) -> bool:
    """Whether a write surely reaches what is returned; one through `.data` is how a parameter is set."""
    return all(link.kind in SHARES and link.op != "data" for link in one) and must_overlap(one, other)


def written_by_callers(module: Module) -> Iterator[tuple[Function, Fact]]:
    """A function outside the class writes what a method handed to it, and goes on to use it as its own."""
    for run in [run for run in module.runs.values() if run is not None]:
        for write in run.log:
            got = _got_from(run, write.ref) if write.how not in ("training", "part") else None
            place = write.ref.place
            if got is None or place is None or write.mixed or place.last_use <= write.time:
                continue
            method, node = got.function, got.node
            done, cls = module.run_of(method), method.cls
            if done is None or cls is None or run.function.cls is cls or not hands_out(method):
                continue
            if any(link.kind not in SHARES for link in write.ref.chain):
                continue
            value, state, _ = next(one for one in done.returned if one.node is node)
            for ref in _returned_refs(done, value, state):
                slots = way_from(done.params[0], ref.obj)
                if slots and _ends_with(write.ref.obj, slots) and not (mixed(value, ref) and ref in value.refs):
                    evidence = max(
                        done.evidence_of(ref, None),
                        run.evidence_of(write.ref, write.stmt),
                        holds_tensors(module, cls, slots),
                    )
                    inner = write.inner or write.node
                    fact = _returned(done, node, ref, write.op, inner, run.function.name, "caller", evidence)
                    yield method, fact
                    break


def _ends_with(obj: Obj, slots: tuple[str, ...]) -> bool:
    """Whether an object is reached by these steps (items by any)."""
    for slot in reversed(slots):
        if slot[0] != obj.slot[:1] or (slot[0] == "." and slot != obj.slot) or obj.parent is None:
            return False
        obj = obj.parent
    return True
