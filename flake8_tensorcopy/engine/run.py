"""The run of one function: its state, and the primitives that statements and expressions are made of."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.facts import (
    DeadRebinding,
    Fact,
    JoinedWrite,
    LeafRebound,
    LostWrite,
    OverlappingWrite,
    PointerTest,
    SharedWrite,
    StaleRead,
    StaleSnapshot,
)
from flake8_tensorcopy.engine.source import Function
from flake8_tensorcopy.engine.state import State
from flake8_tensorcopy.engine.values import (
    ALIAS,
    ARRAY_ONLY,
    DETACH,
    MAYBE,
    NUMPY,
    SNAPSHOT,
    UNKNOWN,
    UNSURE,
    VIEW,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    Write,
    common_prefix,
    exclusive,
    link_between,
    must_overlap,
    same_derivation,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.summaries import Summary

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
_RANK = {role: rank for rank, role in enumerate(_ROLES)}


class Use:
    """One consumption of a reference by the current statement."""

    __slots__ = ("mixed", "node", "ref", "role", "tick")

    def __init__(self, ref: Ref, node: ast.AST, role: str, mixed: bool, tick: int) -> None:
        self.tick = tick
        self.mixed = mixed
        self.ref = ref
        self.node = node
        self.role = role


class LoopFrame:
    """Where `break` and `continue` of the innermost loop leave their states."""

    __slots__ = ("breaks", "continues")

    def __init__(self) -> None:
        self.breaks: list[State] = []
        self.continues: list[State] = []


class Run:
    """One abstract run.  `state` is None where the code cannot be reached."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module = module
        self.names = module.names
        self.function = function
        self.state: State | None = State()
        self.loop: tuple[int, ...] = ()
        self.frames: list[LoopFrame] = []
        self.handlers: list[list[State]] = []
        self.stmt: ast.stmt | None = None
        self.clock = 0  # statements executed
        self.ticks = 0  # reads and writes
        self.uses: list[Use] = []
        self.pending_writes: list[Write] = []
        self.facts: dict[tuple[object, ...], Fact] = {}
        self.returned: list[tuple[Value, State]] = []
        self.log: list[Write] = []
        self.modules: dict[Obj, None] = {}
        self.params: list[Obj] = []
        self.rebinds: list[tuple[Obj, str]] = []
        self.closed_over: frozenset[str] = frozenset()
        self.places: list[tuple[Place, ast.stmt, dict[str, object]]] = []
        self.quiet = 0  # inside a test for an exception
        self.pointer_tests: list[PointerTest] = []
        self.written_here: list[tuple[ast.AST, Value, str]] = []
        self.method_calls: dict[ast.Call, tuple[Value, str]] = {}
        self.function_calls: dict[ast.Call, tuple[ops.Op, str]] = {}
        self.narrowed: set[ast.stmt | None] = set()
        self.negations = 0
        self.item_candidates: dict[tuple[Obj, str], tuple[ast.stmt, str, tuple[int, ...], Obj]] = {}
        self.siblings: dict[str, frozenset[str]] = {}
        self.rebindings: list[tuple[Place, DeadRebinding, Ref]] = []
        self.moves: dict[Place, tuple[ast.Call, Ref]] = {}
        self.edited: dict[Obj, tuple[ast.Subscript, Ref, ast.stmt | None]] = {}
        self.loaded: set[Obj] = set()
        self.escaped: set[str] = set()
        self.summary: Summary | None = None
        self.logged: dict[Place, set[str]] = {}  # how each binding was used, for moves to the host
        self.between: dict[tuple[object, ...], tuple[Place, Place, int, Obj]] = {}
        self.shown: set[Place] = set()
        self.shared_objs: dict[tuple[object, ...], Obj] = {}
        self.written_back: set[Obj] = set()
        self.guarded: set[Obj] = set()  # compared by `is` with what they may share storage with
        self.leaf_candidates: dict[Place, tuple[ast.stmt, str]] = {}
        self.strengths: dict[tuple[object, ...], tuple[object, ...]] = {}
        self._entry: dict[tuple[Obj, str, int], Value] = {}
        self._globals: dict[str, Value] = {}
        self._texts: dict[ast.AST, str] = {}
        self._names: dict[ast.AST, tuple[str, ...]] = {}

    # ----- names, fields, texts

    @property
    def now(self) -> State:
        """The current state; only called where the code can be reached."""
        assert self.state is not None
        return self.state

    def count(self) -> int:
        """The next place in the order of reads and writes."""
        self.ticks += 1
        return self.ticks

    def text(self, node: ast.AST) -> str:
        """The expression as source-like text, shortened."""
        known = self._texts.get(node)
        if known is None:
            if isinstance(node, ast.Name):
                known = node.id
            else:
                known = ast.unparse(node)
            self._texts[node] = known
        return known

    def names_in(self, node: ast.AST) -> tuple[str, ...]:
        """The names that an expression mentions."""
        known = self._names.get(node)
        if known is None:
            known = self._names[node] = tuple(sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)}))
        return known

    def short(self, node: ast.AST) -> str:
        text = self.text(node)
        return text if len(text) <= 60 else text[:57] + "..."

    def global_value(self, name: str) -> Value:
        known = self._globals.get(name)
        if known is None:
            obj = Obj("unknown", "global", key=name)
            known = self._globals[name] = Value((Ref(obj, (), Place(name, None, origin="global")),))
        return known

    def entry_field(self, state: State, obj: Obj, key: str) -> Value:
        """What slot `key` of the object held on entry (or since an unknown call may have changed it)."""
        mark = (obj, key, state.epoch.get(obj, 0))
        known = self._entry.get(mark)
        if known is None:
            known = self._entry[mark] = self.module.entry_field(self, obj, key)
        return known

    def field(self, obj: Obj, key: str) -> Value:
        found = self.now.fields(obj).get(key)
        if found is None:
            found = self.entry_field(self.now, obj, key)
            self.now.set_field(obj, key, found)
        return found

    # ----- evidence

    def note(self, value: Value, level: int) -> None:
        """The current statement uses the value as only a tensor can be used (2), or an array (1).

        Array-like indexing is unmistakable and speaks for its own statement too.
        """
        for ref in value.refs:
            if ref.obj.kind == "unknown":
                ref.obj.uses.append((level, self.stmt if level > 1 else None))

    def refute(self, value: Value) -> None:
        for ref in value.refs:
            if ref.obj.kind == "unknown":
                ref.obj.refuted = True

    # ----- bindings

    def bound(self, value: Value, place: Place, node: ast.AST) -> Value:
        """The value as held by a new binding."""
        if not value.refs:
            return value
        state = self.now
        refs = []
        for ref in value.refs:
            if exclusive(ref.arms, state.arms):
                continue
            chain = ref.chain
            if ref.place is not None and not (chain and chain[-1].node is node):
                chain = ref.derive(Link(ALIAS, "=", node)).chain
            via = ref.via if ref.place is None else (*ref.via[-7:], ref.place)
            refs.append(Ref(ref.obj, chain, place, state.written(ref.obj), ref.arms | state.arms, via=via))
        if not refs:
            return UNKNOWN
        return Value(tuple(refs))

    # ----- uses

    def use(self, value: Value, node: ast.AST, role: str) -> None:
        """The current statement consumes the value."""
        several = len(value.refs) > 1
        for ref in value.refs:
            # What this very statement puts into a slot is used where it is put there.
            if ref.place is not None and (ref.place.made_in is None or ref.place.made_in is not self.stmt):
                if role not in ("receiver", "bind", "test", "logged"):
                    ref.place.last_use = self.clock
                self.uses.append(Use(ref, node, role, several and value.mixed_with(ref), self.count()))
                known = self.logged.get(ref.place)
                if known is not None:
                    known.add(role)
                if ref.obj.data == "state" and role != "iterate":
                    self.loaded.add(ref.obj)

    def use_deep(self, value: Value, node: ast.AST, role: str) -> None:
        """A container is handed on: its items are read too."""
        self.use(value, node, role)
        seen: set[Obj] = set()
        pending = [ref.obj for ref in value.refs]
        while pending and len(seen) < 50:
            obj = pending.pop()
            if obj in seen or obj.kind in ("tensor", "array", "module", "function", "class"):
                continue
            seen.add(obj)
            for slot, held in self.now.fields(obj).items():
                if slot[0] == "[" and not per_pass(slot):
                    self.use(held, node, role if obj.kind == "tuple" else "item")
                    pending.extend(ref.obj for ref in held.refs)

    def use_iterated(self, value: Value, node: ast.AST) -> None:
        """The value is iterated over: a tensor is read, and so are the items of a container."""
        for ref in value.refs:
            obj = ref.obj
            if obj.kind == "iter" and isinstance(obj.data, tuple):
                kind, parts = obj.data
                for part_node, part in parts:
                    if kind in ("items", "values"):
                        self.use_deep(part, node, "iterate")
                    elif kind not in ("keys", "range"):
                        self.use_iterated(part, part_node)
            elif obj.kind == "dict":
                continue
            elif obj.kind in ("list", "tuple", "iter"):
                self.use_deep(Value((ref,)), node, "iterate")
            else:
                self.use(Value((ref,)), node, "iterate")

    def use_logged(self, value: Value, node: ast.AST) -> None:
        """The value is printed, formatted or logged."""
        from flake8_tensorcopy.engine.host import host_scalar, moved_to_host

        self.use(value, node, "logged")
        for ref in value.refs:
            if ref.place is not None:
                self.shown.add(ref.place)
            move = moved_to_host(self, ref)
            if move is not None and move is node:
                host_scalar(self, move, ref, "logged")

    def item_read(self, obj: Obj) -> None:
        """An item of a container is read: an edited state_dict serves as a dict of one's own."""
        edit = self.edited.get(obj)
        if edit is not None and edit[2] is not self.stmt:
            self.loaded.add(obj)

    def narrowed_on_host(self, value: Value, node: ast.AST, used: str) -> None:
        from flake8_tensorcopy.engine.host import narrowed_on_host

        narrowed_on_host(self, value, node, used)

    def gradient_read(self, ref: Ref, node: ast.AST) -> None:
        """`.grad` of a value that an update computed: it is no leaf and has none."""
        self._item_gradient_read(ref, node)
        candidate = self.leaf_candidates.get(ref.place) if ref.place is not None else None
        if (candidate is not None and not ref.obj.leaf and candidate[0] is not self.stmt) or (
            candidate is not None and not ref.obj.leaf and self.loop
        ):
            statement, name = candidate
            evidence = max(2, self.evidence(ref.obj, None))
            self.fact(LeafRebound(site=statement, target=name, reason="grad_read", expected=node, evidence=evidence))

    def _item_gradient_read(self, ref: Ref, node: ast.AST) -> None:
        """The same item, met again by the next pass of the outer loop under another value of its index."""
        obj = ref.obj
        if obj.parent is None or len(self.loop) < 2 or not obj.slot.startswith("["):
            return
        known = self.item_candidates.get((obj.parent, obj.slot.split("]")[0]))
        if known is None:
            return
        statement, name, loop, new = known
        if loop[:-1] != self.loop[:-1] and not new.leaf:
            self.fact(LeafRebound(site=statement, target=name, reason="grad_read", expected=node, evidence=2))

    def is_storage(self, node: ast.expr) -> bool:
        """`x.untyped_storage()`: its address is the right one to compare."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and "storage" in node.func.attr

    def evidence_of(self, ref: Ref, statement: ast.AST | None) -> int:
        """The same for a reference: the live values of a module are tensors."""
        return 3 if ref.kind == "tensor" else self.module.evidence(ref.obj, statement)

    def stored_host(self, value: Value, node: ast.AST) -> None:
        """The value is kept in a list."""

    def copied_into(self, ref: Ref, source: Value) -> None:
        """`x.copy_(y)`: what was taken from x is written back."""
        if ref.place is not None and any(other.obj is ref.obj for other in source.refs):
            ref.place.absorbed |= self.now.written(ref.obj)
            self.written_back.add(ref.obj)

    def reading_arguments(self, function: Function, args: Args) -> None:
        """A function of this file reads what it is given."""
        for node, value in args.all():
            self.use_deep(value, node, "argument")

    def item_per_pass(self, obj: Obj, node: ast.AST) -> Value:
        """An element met while iterating: another object in each pass of the loop."""
        return self.field(obj, f"[{id(node)}{self.loop}]")

    def note_container(self, obj: Obj, index: ast.expr) -> None:
        """Text as an index: no tensor."""
        if obj.kind == "unknown" and isinstance(index, ast.Constant) and isinstance(index.value, str):
            obj.refuted = True

    # ----- writes

    def write(
        self,
        node: ast.AST,
        value: Value,
        op: str,
        how: str,
        target: str = "",
        inner: ast.AST | None = None,
        whole: Value | None = None,
    ) -> None:
        """The current statement changes the value's storage in place.

        `whole` is the written value with all its alternatives, where they are written one by one.
        """
        state = self.now
        whole = whole or value
        several = len({ref.obj for ref in whole.refs}) > 1
        for ref in value.refs:
            if exclusive(ref.arms, state.arms):
                continue
            write = Write(node, self.stmt, op, how, ref, state.arms | ref.arms, self.loop, target, inner)
            write.time = self.clock
            write.tick = self.count()
            write.mixed = several and whole.mixed_with(ref)
            state.add_write(ref.obj, write)
            self.log.append(write)
            self._reach_owners(ref, write)
            self._judge_write(write, whole, several)

    def _reach_owners(self, ref: Ref, write: Write) -> None:
        """A write to a module's tensor is a write to (a part of) the module."""
        part: list[Link] = []
        obj = ref.obj
        while obj.parent is not None and obj.slot != ".grad":
            part.insert(0, Link(VIEW, obj.slot, write.node, key=obj.slot))
            obj = obj.parent
            if obj.kind in ("module", "unknown"):
                through = Ref(obj, tuple(part), ref.place, ref.seen, ref.arms)
                upper = Write(write.node, write.stmt, write.op, "part", through, write.arms, write.loop, write.target)
                self.now.add_write(obj, upper)

    def _judge_write(self, write: Write, value: Value, several: bool) -> None:
        ref = write.ref
        if write.how == "training":
            return
        overlap = ref.overlaps
        # What the callee expanded itself, or holds, is said where it writes it.
        known = write.how == "call" and (
            ref.obj.owner == "attribute" or (overlap is not None and overlap.node is write.node)
        )
        if overlap is not None and ref.obj.kind != "array" and not known:
            after = ref.chain[ref.chain.index(overlap) + 1 :]
            self.fact(
                OverlappingWrite(
                    site=write.node,
                    writer=write.target,
                    op=write.op,
                    how=write.how,
                    expand=overlap.op,
                    expanded=overlap.node,
                    silent=_silent(write, ref, overlap),
                    maybe=any(link.kind == MAYBE for link in after),
                    evidence=self.evidence(ref.obj, write.stmt),
                    inner=write.inner,
                )
            )
        links = [link for link in ref.chain if link.kind in (NUMPY, MAYBE)]
        if all(link.op in ARRAY_ONLY for link in links):
            links = []
        if overlap is not None or any(link.kind == UNSURE for link in ref.chain):
            return
        if links and ref.obj.owner in ("argument", "attribute", "item"):
            kind = MAYBE if any(link.kind == MAYBE for link in links) else NUMPY
            self.fact(
                SharedWrite(
                    site=write.node,
                    writer=write.target,
                    owner_name=ref.obj.key,
                    op=write.op,
                    how=write.how,
                    link=kind,
                    links=tuple(link.op for link in links),
                    source=links[-1].node,
                    owner=ref.obj.owner,
                    evidence=self.evidence(ref.obj, write.stmt),
                    certain=not write.mixed,
                    inner=write.inner,
                    array=ref.obj.kind == "array",
                    maybe_op=next((link.op for link in links if link.kind == MAYBE), ""),
                )
            )
            self.shared_objs[(SharedWrite, write.node)] = ref.obj
        if several and ref.obj.owner in ("attribute", "item") and ref.place is not None:
            unowned = any(
                other.obj is not ref.obj and other.obj.owner == "fresh" and not other.chain for other in value
            )
            if unowned and ref.chain and ref.chain[-1].kind == ALIAS:
                self.fact(
                    JoinedWrite(
                        site=write.node,
                        writer=ref.place.name,
                        kept=ref.obj.key,
                        op=write.op,
                        bound=ref.place.node,
                        evidence=max(self.evidence(other.obj, write.stmt) for other in value.refs),
                        owner=ref.obj.owner,
                    )
                )

    def lost_write(self, node: ast.AST, value: Value, op: str) -> None:
        """The statement's only effect was a write to the value; say so if nobody else can see that storage."""
        obj = value.obj
        if obj is None or any(ref.place is not None for ref in value.refs) or obj.owner != "fresh":
            return
        copied = obj.copied
        if copied is None or obj.made in ("", "call"):
            return
        index = obj.data if obj.made == "index" else None
        evidence = max(self.evidence_of(copied, self.stmt), self.evidence(obj, self.stmt))
        if obj.made == "index":
            evidence = max(evidence, 1)
        self.fact(
            LostWrite(
                site=node,
                base=copied.place.name if copied.place is not None else copied.obj.key or "the tensor",
                op=op,
                copied_by=obj.made,
                index=index,
                evidence=evidence,
                probing=self.quiet > 0,
            )
        )

    # ----- the end of a statement: which of its reads were stale

    def finish(self) -> None:
        """Compare what the statement read with what had been written through other bindings."""
        uses = self.uses
        if not uses:
            return
        self.uses = []
        state = self.state
        if state is None:
            return
        seen: set[tuple[int, int]] = set()
        for use in uses:
            ref = use.ref
            writes = state.written(ref.obj)
            if not writes:
                continue
            place = ref.place
            assert place is not None
            if use.role == "receiver":
                continue
            for write in sorted(writes, key=_tick):
                if write in ref.seen or write in place.absorbed:
                    continue
                if use.tick < write.tick or any(link.node is write.node for link in ref.chain):
                    continue
                if write.ref.place is place and not (use.role != "iterate" and _kept_result(write)):
                    continue
                mark = (id(place), id(write))
                if mark in seen:
                    continue
                if exclusive(write.arms, ref.arms) or exclusive(write.arms, state.arms):
                    continue
                if not must_overlap(ref.chain, write.ref.chain) or not same_derivation(ref, write.ref):
                    continue
                seen.add(mark)
                self._stale(use, write, uses)

    def _stale(self, use: Use, write: Write, uses: list[Use]) -> None:
        ref = use.ref
        place, writer = ref.place, write.ref.place
        assert place is not None
        snapshot = next((link for link in ref.chain if link.kind == SNAPSHOT), None)
        if snapshot is not None:
            self._stale_snapshot(use, write, snapshot)
            return
        if write.how in ("training", "part") or writer is None or ref.obj.moved:
            return
        if writer is not place and (writer.name == place.name or _same_slots(writer, place)):
            return
        read_chain, written_chain = ref.chain[: ref.held], write.ref.chain[: write.ref.held]
        start = common_prefix(read_chain, written_chain)
        mine, theirs = read_chain[start:], written_chain[start:]
        roles = [other.role for other in uses if other.ref.place is place]
        role = max(roles, key=lambda name: _RANK.get(name, 0))
        together = any(
            other.ref.obj is ref.obj
            and other.ref.place is not None
            and other.ref.place.name != place.name
            and not (use.role == "iterate" and place.origin == "store")
            and (other.node is not use.node or other.role == "item")
            and other.role != "bind"
            and (write in other.ref.seen or other.ref.place is writer)
            for other in uses
        )
        source = next((link.node for link in (*mine, *theirs) if link.kind != ALIAS or link.op == "="), None)
        holder = place if any(link.node is source for link in mine) else writer
        derived = (VIEW, DETACH, NUMPY, MAYBE)
        keys = [link.key for link in mine if link.key is not None]
        their_keys = [link.key for link in write.ref.chain[start:] if link.key is not None]
        self.fact(
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
                link=link_between(mine, theirs),
                links=tuple(link.op for link in (*mine, *theirs) if link.kind != ALIAS),
                evidence=self.evidence(ref.obj, write.stmt),
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
                certain=not (use.mixed or write.mixed),
                writer_certain=not write.mixed,
                same_part=bool(keys) and keys == their_keys,
                reader_is_source=not mine and place.origin != "name",
                parameter=ref.obj.param or ref.obj.slot == ".grad",
                writer_used=False,
                activation=_activation(write),
                maybe_op=next((link.op for link in (*theirs, *mine) if link.kind == MAYBE), ""),
            ),
            # A binding is reported once for each write; the strongest read is kept.
            strength=(together, "difference" in roles, _RANK.get(role, 0)),
            between=(place, writer, write.time, ref.obj),
        )

    def _stale_snapshot(self, use: Use, write: Write, snapshot: Link) -> None:
        ref = use.ref
        place = ref.place
        assert place is not None
        if use.role in ("bind", "test") or write.ref.chain[: len(ref.chain)] == ref.chain:
            return
        if any(link.kind == SNAPSHOT for link in write.ref.chain):
            return
        copies = tuple(link.op for link in ref.chain if link is not snapshot and link.op != "=")
        self.fact(
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
            )
        )

    def evidence(self, obj: Obj, statement: ast.AST | None = None, depth: int = 0) -> int:
        """How surely the object is a tensor; `statement` may not speak for itself."""
        return self.module.evidence(obj, statement, depth)

    # ----- facts

    def fact(
        self, fact: Fact, strength: tuple[object, ...] = (), between: tuple[Place, Place, int, Obj] | None = None
    ) -> None:
        """Keep a fact; of several about one binding and write, the one with the strongest read."""
        mark: tuple[object, ...] = (type(fact), fact.site)
        if isinstance(fact, StaleRead):
            mark = (*mark, fact.reader, fact.bound)
        known = self.facts.get(mark)
        if known is None or strength > self.strengths.get(mark, ()):
            self.facts[mark] = fact
            self.strengths[mark] = strength
            if between is not None:
                self.between[mark] = between

    def settle(self) -> None:
        """What only the end shows of a stale read: code that prints both sides of an alias shows the sharing on
        purpose; and whether the writer's own name was used after the write."""
        for mark, obj in self.shared_objs.items():
            if obj in self.written_back or obj in self.guarded:
                self.facts.pop(mark, None)
        for mark, (reader, writer, time, obj) in self.between.items():
            fact = self.facts.get(mark)
            if reader in self.shown and writer in self.shown:
                self.facts.pop(mark, None)
            elif isinstance(fact, StaleRead) and fact.link == MAYBE and obj in self.guarded:
                self.facts.pop(mark, None)
            elif isinstance(fact, StaleRead) and writer.last_use > time:
                self.facts[mark] = replace(fact, writer_used=True)


def per_pass(slot: str) -> bool:
    """Whether a slot is an item met in one pass of one loop."""
    return slot.endswith(")]")


def says_snapshot(name: str) -> bool:
    """Whether a name says that it keeps a value as it was: `w_old`, `best_state`, `prev`."""
    words = name.lower().replace(".", "_").replace("[", "_").replace('"', "_").split("_")
    return not SNAPSHOT_WORDS.isdisjoint(words)


def _same_slots(one: Place, other: Place) -> bool:
    """Two slots of one container that may be one: `buf[i]` and `buf[*]`."""
    return one.root == other.root != "" and "store" in (one.origin, other.origin) and "[*]" in one.name + other.name


def _tick(write: Write) -> int:
    return write.tick


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


def _silent(write: Write, ref: Ref, overlap: Link) -> bool | None:
    """Whether torch lets the write pass: it raises where it sees the overlap, not for a part or a fill."""
    if write.how == "call":
        return None
    if write.how == "subscript" and isinstance(write.node, ast.Subscript):
        index = write.node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        slices = [isinstance(part, ast.Slice) for part in parts]
        if any(
            link.key is not None for link in ref.chain[ref.chain.index(overlap) + 1 :] if link.node is not write.node
        ):
            return None
        # Integers may take the expanded dimension away, slices keep it.
        return True if not any(slices) else None if not slices[0] else False
    if any(link.key is not None for link in ref.chain[ref.chain.index(overlap) + 1 :]):
        return None
    return write.op in ("fill_", "zero_", "masked_fill_", "index_put_", "index_fill_") or overlap.op == "unfold"
