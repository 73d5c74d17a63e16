"""Reads against writes: at the end of each statement, which of its reads were stale."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.aliases import alias_read
from flake8_tensorcopy.engine.copies import parting
from flake8_tensorcopy.engine.facts import (
    StaleRead,
    StaleSnapshot,
    changed,
)
from flake8_tensorcopy.engine.gradients import note_reads, stale_gradient
from flake8_tensorcopy.engine.handed_out import bound_in_last_pass, stored_read
from flake8_tensorcopy.engine.liveness import only_looked_at
from flake8_tensorcopy.engine.mutated import argument_read, items_read, says_inplace
from flake8_tensorcopy.engine.nodes import start_of, walk
from flake8_tensorcopy.engine.notes import Use
from flake8_tensorcopy.engine.parameters import wrapped_read
from flake8_tensorcopy.engine.parts import all_passes, beside, must_overlap, packed_apart, perhaps_apart
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.snapshots import intended, kept_parameter, surely_given, takes
from flake8_tensorcopy.engine.storages import left_behind_used
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    MAYBE,
    NUMPY,
    ONE_LAYER,
    SNAPSHOT,
    VIEW,
    Link,
    Obj,
    Place,
    Ref,
    Write,
    common_prefix,
    exclusive,
    link_between,
    per_pass,
    same_derivation,
)

# Parts of a name that say: this is the value as it was.
SNAPSHOT_WORDS = frozenset(
    "old prev previous orig original saved best residual before backup initial snapshot identity shortcut skip clean "
    "last tmp temp".split()
)
# Uses by how much they say about the reader; a later one wins.
_ROLES = (
    "receiver",
    "bind",
    "logged",
    "item",
    "test",
    "iterate",
    "store",
    "argument",
    "operand",
    "yield",
    "return",
    "difference",
)
# Steps to the same tensor that somebody took for a copy of it.
_SHARING = frozenset({"=", *ONE_LAYER})
_EMPTY = frozenset({"empty", "empty_like", "new_empty"})
_MOVED = frozenset({"store", "argument", "operand", "difference"})
MAX_STALE = 512  # pairs of a read and a write of one statement that are judged
FEW = 32  # reads in one statement that are looked at for each other one
_RANK = {role: rank for rank, role in enumerate(_ROLES)}


def finish(run: Run) -> None:
    """Compare what the statement read with what had been written through other bindings."""
    uses = run.uses
    if not uses:
        return
    run.uses = []
    if run.touched:
        note_reads(run, uses)
    if run.left_behind or run.wraps:
        for use in uses:
            if use.ref.place in run.left_behind and use.role not in ("receiver", "bind"):
                left_behind_used(run, use.ref.place, use.ref, use.node)
            if run.wraps:
                wrapped_read(run, use)
    state = run.state
    if state is None:
        return
    if run.items_written:
        items_read(run, uses)
    seen: set[tuple[int, int]] = set()
    beside = _Beside(uses)
    for use in uses:
        ref = use.ref
        writes = state.written(ref.obj)
        if not writes or use.role == "receiver" or writes <= ref.seen:
            continue
        place = ref.place
        assert place is not None
        for write in sorted(writes - ref.seen, key=_in_order):
            if write in state.absorbed.get(place, ()):
                continue
            if use.tick < write.tick:
                continue
            if len(ref.chain) > ref.held and any(link.node is write.node for link in ref.chain[ref.held :]):
                continue
            if _other_item(run, write, ref):
                continue
            if write.ref.place is place and not (use.role != "iterate" and _kept_result(write)):
                argument_read(run, use, write)
                continue
            mark = (id(place), id(write))
            if mark in seen:
                continue
            arms = write.arms
            if arms and (exclusive(arms, ref.arms) or exclusive(arms, state.arms)):
                continue
            if ref.arms and exclusive(ref.arms, state.arms):
                continue
            written = all_passes(write.ref.chain, write.loop, run.iterating, ref.chain)
            if not must_overlap(ref.chain, written) or not same_derivation(ref, write.ref):
                continue
            if bound_in_last_pass(run, place, write):
                continue
            seen.add(mark)
            if len(seen) > MAX_STALE:
                return
            _stale(run, use, write, beside)


class _Beside:
    """The reads of one statement, which may be thousands: by their bindings, and by the write that they have seen."""

    __slots__ = ("_by_place", "_knowing", "uses")

    def __init__(self, uses: list[Use]) -> None:
        self.uses = uses
        self._by_place: dict[Place | None, list[str]] | None = None
        self._knowing: dict[tuple[Obj, Write], list[Use]] | None = None

    def roles(self, place: Place) -> list[str]:
        """How a binding is read."""
        if len(self.uses) <= FEW:
            return [other.role for other in self.uses if other.ref.place is place]
        if self._by_place is None:
            self._by_place = {}
            for use in self.uses:
                self._by_place.setdefault(use.ref.place, []).append(use.role)
        return self._by_place.get(place, [])

    def knowing(self, obj: Obj, write: Write) -> list[Use]:
        """The reads of an object through the writer, or what was bound after the write; of very many the first ones."""
        if len(self.uses) <= FEW:
            return self.uses
        if self._knowing is None:
            self._knowing = {}
        known = self._knowing.get((obj, write))
        if known is None:
            writer = write.ref.place
            known = [
                use
                for use in self.uses
                if use.ref.obj is obj and (write in use.ref.seen or use.ref.place is writer) and use.role != "bind"
            ]
            known = self._knowing[(obj, write)] = known[:FEW]
        return known


def _stale(run: Run, use: Use, write: Write, beside: _Beside) -> None:
    ref, uses = use.ref, beside.uses
    place, writer = ref.place, write.ref.place
    assert place is not None
    if write.how == "training" and ref.obj is not write.ref.obj:
        kept_parameter(run, use, write, uses)
        return
    snapshot = next((link for link in ref.chain if link.kind == SNAPSHOT), None)
    if snapshot is not None:
        _stale_snapshot(run, use, write, snapshot, uses)
        return
    if stale_gradient(run, use, write, uses):
        return
    if write.how == "training" and use.role not in ("test", "logged"):
        alias_read(run, ref, write, use.node)
    if write.how in ("training", "part", "gradient") or writer is None or ref.obj.moved or write.node in run.read_only:
        return
    if writer is not place and (writer.name == place.name or _same_slots(writer, place)):
        return
    if ref.obj.made in _EMPTY and not ref.seen and all(one.ref.place is not place for one in run.now.written(ref.obj)):
        return  # there was nothing to keep: whoever gives it a second name waits for what is written
    roles = beside.roles(place)
    role = max(roles, key=lambda name: _RANK.get(name, 0))
    moved = _moves(run, use, write)
    if run.knows_stale(write.node, place, (moved, len(uses) > 1, "difference" in roles, _RANK.get(role, 0))):
        stored_read(run, use, write)
        return
    read_chain, written_chain = ref.chain[: ref.held], write.ref.chain[: write.ref.held]
    start = common_prefix(read_chain, written_chain)
    mine, theirs = read_chain[start:], written_chain[start:]
    # `x.reshape(-1).add_(1)`: perhaps the write is to a copy that nobody holds.
    perhaps = [link for link in write.ref.chain[write.ref.held :] if link.kind == MAYBE]
    between = [link for link in (*mine, *theirs, *perhaps) if link.kind == MAYBE]
    if between and any(packed_apart(one) in between for one in (ref.chain, write.ref.chain)):
        return
    together = any(
        other.ref.obj is ref.obj
        and other.ref.place is not None
        and other.ref.place.name != place.name
        and not (use.role == "iterate" and place.origin == "store")
        # Beside an item: another plain name for it, not what was computed from it.
        and (place.origin != "item" or all(link.kind == ALIAS for link in other.ref.chain[start:]))
        # Beside all of a container: no short name for one of its items.
        and (use.role != "item" or other.role == "item" or place not in other.ref.via)
        and (other.node is not use.node or other.role == "item")
        and other.role != "bind"
        and (write in other.ref.seen or other.ref.place is writer)
        for other in beside.knowing(ref.obj, write)
    )
    # A binding is reported once for each write; the strongest read is kept.
    strength = (moved, together, "difference" in roles, _RANK.get(role, 0))
    if run.knows_stale(write.node, place, strength):
        stored_read(run, use, write)
        return
    source = next((link.node for link in (*mine, *theirs) if link.kind != ALIAS or link.op in _SHARING), None)
    holder = place if any(link.node is source for link in mine) else writer
    derived = (VIEW, DETACH, NUMPY, MAYBE)
    keys = [link.key for link in mine if link.key is not None]
    their_keys = [link.key for link in write.ref.chain[start:] if link.key is not None]
    run.fact(
        StaleRead(
            site=write.node,
            reader=place.name,
            bound=place.node,
            source=source,
            binding=holder.node if isinstance(holder.node, (ast.Assign, ast.AnnAssign)) else None,
            writer=writer.name,
            op=write.op,
            how=write.how,
            inner=write.inner,
            read=use.node,
            link=link_between(mine, (*theirs, *perhaps)),
            links=tuple(link.op for link in (*mine, *theirs) if link.kind != ALIAS),
            evidence=_evidence(run, ref.obj, write),
            together=together,
            kept=says_snapshot(place.name),
            compared="difference" in roles,
            role=role,
            reader_origin=place.origin,
            writer_origin=writer.origin,
            reader_derived=any(link.kind in derived for link in mine),
            writer_derived=any(link.kind in derived for link in theirs),
            stored_from=place.stored_from,
            owner=ref.obj.owner,
            certain=_side_by_side(run, use, write) if use.mixed or write.mixed else _whichever(run, use, write),
            writer_certain=not write.mixed,
            same_part=bool(keys) and keys == their_keys,
            moved=moved,
            reader_is_source=not mine and place.origin != "name" and all(link.op not in ONE_LAYER for link in theirs),
            parameter=ref.obj.param or ref.obj.slot == ".grad",
            writer_used=False,
            activation=_activation(write),
            maybe_op=next((link.op for link in (*theirs, *perhaps, *mine) if link.kind == MAYBE), ""),
            copies=parting(run, use, write, start, says_snapshot(place.name) or "difference" in roles or not theirs),
            chained=_chained(place, writer) if ref.kind != "array" else None,
        ),
        strength=strength,
        between=(place, writer, write.time, ref.obj),
    )
    stored_read(run, use, write)


def _moves(run: Run, use: Use, write: Write) -> bool:
    """What a part held goes into another part of the same tensor, which that part was written from: `x[i] = x[j]` and
    then `x[j] = was`."""
    if write.how != "subscript" or use.role not in _MOVED or not isinstance(write.stmt, ast.Assign):
        return False
    into = [
        one
        for one in run.now.written(use.ref.obj)
        if one.stmt is run.stmt and one.how == "subscript" and not must_overlap(one.ref.chain, write.ref.chain)
    ]
    if not into:
        return False
    source = write.stmt.value
    texts = {run.text(node) for node in walk(source) if isinstance(node, ast.Subscript)}
    held = [run.now.env.get(name) for name in run.names_in(source)]
    parts = [
        ref.chain
        for value in held
        if value is not None
        for ref in value.refs
        if ref.obj is use.ref.obj and not must_overlap(ref.chain, write.ref.chain)
    ]
    return any(
        run.text(one.node) in texts or any(must_overlap(chain, one.ref.chain) for chain in parts) for one in into
    )


def _chained(place: Place, writer: Place) -> ast.Assign | None:
    """The assignment that gave one tensor to two names."""
    match place.node:
        case ast.Assign(targets=[_, _, *_] as targets) as node if node is writer.node and place is not writer:
            return node if all(isinstance(target, ast.Name) for target in targets) else None
    return None


def _whichever(run: Run, use: Use, write: Write) -> bool:
    """Whether the two meet, whichever parts of the storage the written and the read name are on a path."""
    passed = write.arms - write.ref.arms
    reads = [one for one in (use.ref, *beside(use.whole, use.ref)) if not exclusive(one.arms, passed)]
    for written in (write.ref, *write.others):
        for one in reads:
            together = not exclusive(one.arms, written.arms) and same_derivation(one, written)
            chain = all_passes(written.chain, write.loop, run.iterating, one.chain)
            if together and not must_overlap(one.chain, chain):
                return False
    return True


def _side_by_side(run: Run, use: Use, write: Write) -> bool:
    """Whether the written and the read name may be several storages, but on each path both are the same one: what the
    one is was made of what the other one is, after the paths have met."""
    written, read = write.whole, use.whole
    if written is None or not use.mixed:
        return False
    loops = {ref.place.loop if ref.place is not None else None for value in (written, read) for ref in value.refs}
    return len(loops) == 1 and all(
        exclusive(one.arms, other.arms)
        or (
            one.obj is other.obj
            and same_derivation(one, other)
            and must_overlap(one.chain, all_passes(other.chain, write.loop, run.iterating, one.chain))
            and not perhaps_apart(one.chain, other.chain)
        )
        for one in read.refs
        for other in written.refs
    )


def _stale_snapshot(run: Run, use: Use, write: Write, snapshot: Link, uses: list[Use]) -> None:
    ref = use.ref
    place = ref.place
    assert place is not None
    if use.role in ("bind", "test") or write.ref.chain[: len(ref.chain)] == ref.chain:
        return
    if not surely_given(run, snapshot) or any(link.kind == SNAPSHOT for link in write.ref.chain):
        return
    if snapshot.op == "parameters" and write.stmt is run.stmt:
        return
    if write.op == ".data =" and any(link.kind == DETACH for link in ref.chain):
        return  # the parameter has another storage now: what was taken from it stays
    copies = tuple(
        link.op for link in ref.chain if link is not snapshot and link.op not in ("=", "parameter", "iteration")
    )
    if use.role in ("item", "iterate") and only_looked_at(run, use.node):
        return
    compared = kept = False
    if snapshot.op == "parameters":
        compared, kept = intended(run, use, uses, write)
    taken, of = takes(ref.chain, place.node)
    run.fact(
        StaleSnapshot(
            site=place.node or snapshot.node,
            reader=place.root,
            module=ref.obj.key or "the module",
            call=snapshot.op,
            changed=write.node,
            change=write.op,
            read=use.node,
            copies=copies,
            stored=place.origin == "store",
            role=use.role,
            compared=compared,
            kept=kept,
            made=snapshot.node,
            taken=taken,
            takes=of,
        ),
        strength=(compared, kept),
    )


def settle(run: Run) -> None:
    """What only the end shows of a stale read: code that prints both sides of an alias shows the sharing on
    purpose; and whether the writer's own name was used after the write."""
    for mark, (about, statement) in run.about.items():
        fact = run.facts.get(mark)
        level = run.evidence(about, statement)
        if about.refuted:
            run.facts.pop(mark, None)
        elif fact is not None and level > fact.evidence:  # type: ignore[attr-defined]
            run.facts[mark] = changed(fact, evidence=level)
    for mark, fact in list(run.facts.items()) if run.merged else ():
        if isinstance(fact, StaleSnapshot) and fact.made in run.merged:
            run.facts.pop(mark)
    for mark, obj in run.shared_objs.items():
        asked = obj.owner == "argument" and says_inplace(run.function, obj.key)
        if asked or obj in run.written_back or obj in run.guarded:
            run.facts.pop(mark, None)
    for mark, (reader, writer, time, obj) in run.between.items():
        fact = run.facts.get(mark)
        if reader in run.shown and writer in run.shown:
            run.facts.pop(mark, None)
        elif isinstance(fact, StaleRead) and fact.link == MAYBE and obj in run.guarded:
            run.facts.pop(mark, None)
        elif isinstance(fact, StaleRead) and writer.last_use > time:
            run.facts[mark] = changed(fact, writer_used=True)


def says_snapshot(name: str) -> bool:
    """Whether a name says that it keeps a value as it was: `w_old`, `best_state`, `prev`."""
    words = name.lower().replace(".", "_").replace("[", "_").replace('"', "_").split("_")
    return not SNAPSHOT_WORDS.isdisjoint(words)


def _evidence(run: Run, obj: Obj, write: Write) -> int:
    """That of the object; the name of an in-place method of torch says a little by itself."""
    known = run.evidence(obj, write.stmt)
    named = write.how in ("method", "call") and write.op.endswith("_") and obj.kind == "unknown" and not obj.refuted
    return max(known, 1) if named else known


def _same_slots(one: Place, other: Place) -> bool:
    """Two slots of one container that may be one: `buf[i]` and `buf[*]`."""
    return one.root == other.root != "" and "store" in (one.origin, other.origin) and "[*]" in one.name + other.name


def _other_item(run: Run, write: Write, ref: Ref) -> bool:
    """The write is to the item that a loop has met in one pass, and the loop is not over: it may be another one."""
    obj = write.ref.obj
    if obj is ref.obj or not per_pass(obj.slot):
        return False
    return any(obj.slot.startswith(f"[{id(node)}(") for node in run.iterating)


def _in_order(write: Write) -> tuple[int, tuple[int, ...], tuple[int, int]]:
    """The order of the writes; those to a part of a module have no place in that of the reads."""
    return write.tick, write.loop, start_of(write.node)


def _kept_result(write: Write) -> bool:
    """An activation works in place on a binding that is read again, though its result went elsewhere."""
    if write.how not in ("module", "function") or not _activation(write):
        return False
    return not (isinstance(write.stmt, ast.Expr) and write.stmt.value is write.node)


def _activation(write: Write) -> bool:
    """Whether the write is an activation function (or module) told to work in place."""
    if write.how == "module":
        return True
    if write.how not in ("function", "method"):
        return False
    op = ops.function("torch.nn.functional." + write.op.removesuffix("_"))
    return op is not None and op.inplace_flag
