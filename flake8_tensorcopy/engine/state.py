"""The state of one abstract run: names, object fields, writes; copied at branches, united at joins."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from operator import attrgetter

from flake8_tensorcopy.engine.devices import NO_FLIGHTS, Flights, joined
from flake8_tensorcopy.engine.traces import Trace, changed_since_parting
from flake8_tensorcopy.engine.values import MAX_WRITES, Arm, Obj, Place, Ref, Value, Write, exclusive, join_values, meet

_fresh = itertools.count(1)

# What a field held before this function touched it: memoised by the run, so that both sides of a join agree.
EntryField = Callable[["State", Obj, str], Value]

NO_WRITES: frozenset[Write] = frozenset()


# The tables of a state that a copy shares with it until either is changed.
_NAMES, _HEAP, _EPOCH, _WRITES = 1, 2, 4, 8
_ALL = _NAMES | _HEAP | _EPOCH | _WRITES


class State:
    """What holds at one point of a function on the paths that reach it.

    Its tables are for reading: only its methods change them.
    """

    __slots__ = ("_lent", "absorbed", "arms", "env", "epoch", "flights", "grad", "heap", "trace", "version", "writes")

    def __init__(self) -> None:
        self.env: dict[str, Value] = {}
        self.version: dict[str, int] = {}
        self.heap: dict[Obj, dict[str, Value]] = {}
        self.epoch: dict[Obj, int] = {}
        self.writes: dict[Obj, frozenset[Write]] = {}
        self.arms: frozenset[Arm] = frozenset()
        # Writes that a `copy_` through the binding made good; never changed, only replaced.
        self.absorbed: dict[Place, frozenset[Write]] = {}
        self.grad: bool | None = True
        self.flights: Flights = NO_FLIGHTS  # never changed, only replaced
        self.trace = Trace(None)
        self._lent = 0

    def copy(self) -> State:
        new = State.__new__(State)
        new.env = self.env
        new.version = self.version
        new.heap = self.heap
        new.epoch = self.epoch
        new.writes = self.writes
        new.arms = self.arms
        new.absorbed = self.absorbed
        new.grad = self.grad
        new.flights = self.flights
        new._lent = self._lent = _ALL
        before = self.trace
        new.trace, self.trace = Trace(before), Trace(before)
        return new

    def _own_names(self) -> None:
        self.env = self.env.copy()
        self.version = self.version.copy()
        self._lent &= ~_NAMES

    def _own_heap(self) -> None:
        self.heap = self.heap.copy()
        self._lent &= ~_HEAP

    def _own_epoch(self) -> None:
        self.epoch = self.epoch.copy()
        self._lent &= ~_EPOCH

    def _own_writes(self) -> None:
        self.writes = self.writes.copy()
        self._lent &= ~_WRITES

    def bind(self, name: str, value: Value) -> None:
        self.rebind(name, value, next(_fresh))

    def rebind(self, name: str, value: Value, version: int | None = None) -> None:
        """The name has this value; without a version it still stands for the same thing."""
        if self._lent & _NAMES:
            self._own_names()
        self.env[name] = value
        if version is not None:
            self.version[name] = version
        self.trace.names[name] = None

    def unbind(self, name: str) -> None:
        if name in self.env:
            if self._lent & _NAMES:
                self._own_names()
            del self.env[name]
            self.trace.names[name] = None

    def touch(self, name: str) -> None:
        """The name may stand for another number from here on."""
        if self._lent & _NAMES:
            self._own_names()
        self.version[name] = next(_fresh)
        self.trace.names[name] = None

    def fields(self, obj: Obj) -> dict[str, Value]:
        return self.heap.get(obj, _NO_FIELDS)

    def set_field(self, obj: Obj, key: str, value: Value) -> None:
        if self._lent & _HEAP:
            self._own_heap()
        fields = dict(self.heap.get(obj, ()))
        fields[key] = value
        self.heap[obj] = fields
        self.trace.field(obj, key)

    def fill_field(self, obj: Obj, key: str, value: Value) -> None:
        """The same for an object that no other state knows yet."""
        if self._lent & _HEAP:
            self._own_heap()
        self.heap.setdefault(obj, {})[key] = value
        self.trace.field(obj, key)

    def set_fields(self, obj: Obj, fields: dict[str, Value]) -> None:
        """All that is known of the object."""
        if self._lent & _HEAP:
            self._own_heap()
        self.heap[obj] = fields
        self.trace.fields[obj] = None

    def drop(self, obj: Obj, key: str) -> None:
        """One field of the object is another one from here on."""
        self.set_fields(obj, {name: value for name, value in self.fields(obj).items() if name != key})
        self._renew(obj)

    def forget(self, obj: Obj) -> None:
        """The object's fields may all have changed (an unknown call got it)."""
        if obj in self.heap:
            if self._lent & _HEAP:
                self._own_heap()
            del self.heap[obj]
            self.trace.fields[obj] = None
        self._renew(obj)

    def _renew(self, obj: Obj) -> None:
        if self._lent & _EPOCH:
            self._own_epoch()
        self.epoch[obj] = next(_fresh)
        self.trace.objs[obj] = None

    def written(self, obj: Obj) -> frozenset[Write]:
        found = self.writes.get(obj, NO_WRITES)
        if obj.any_of is not None and obj.any_of is not obj:
            # What was done to every item was done to this one.
            found |= {write for write in self.writes.get(obj.any_of, NO_WRITES) if _reaches(write.ref.obj, obj)}
        return found

    def add_write(self, obj: Obj, write: Write) -> None:
        known = self.writes.get(obj, NO_WRITES)
        if len(known) < MAX_WRITES:
            if self._lent & _WRITES:
                self._own_writes()
            self.writes[obj] = known | {write}
            self.trace.objs[obj] = None
        if obj.any_of is not None and obj.any_of is not obj:
            self.add_write(obj.any_of, write)

    def settle(self, changed: Trace) -> None:
        """Make the tables its own that a join is about to change, and say what it may change."""
        if self._lent:
            if changed.names and self._lent & _NAMES:
                self._own_names()
            if changed.fields and self._lent & _HEAP:
                self._own_heap()
            if changed.objs and self._lent & _EPOCH:
                self._own_epoch()
            if changed.objs and self._lent & _WRITES:
                self._own_writes()
        self.trace = changed


_NO_FIELDS: dict[str, Value] = {}


def join(one: State | None, other: State | None, entry_field: EntryField) -> State | None:
    """The state where either path may have come from; None is a path that does not arrive."""
    if one is None:
        return other
    if other is None or one is other:
        return one
    changed = changed_since_parting(one.trace, other.trace)
    one.settle(changed)
    # Where the two paths disagree, each alternative is known to come with the arms of its path.
    only_one, only_other = one.arms - other.arms, other.arms - one.arms
    apart = _Apart(one.writes, other.writes)
    if one.absorbed is not other.absorbed:
        one.absorbed = _absorbed(one, other)
    env = one.env
    for name in changed.names:
        value, mine = other.env.get(name), env.get(name)
        if value is None or mine is value:
            pass
        elif mine is None:
            env[name] = value
        else:
            mine, value = apart.values(mine, value)
            env[name] = join_values(_under(mine, only_one, one.arms), _under(value, only_other, other.arms))
        version = other.version.get(name)
        if version is not None and one.version.get(name) != version:
            one.version[name] = next(_fresh)
    heap = one.heap
    for obj, keys in changed.fields.items():
        mine_fields, fields = heap.get(obj), other.heap.get(obj)
        if mine_fields is fields:
            continue
        made_here = obj.owner == "fresh" and obj.loop is not None
        if fields is None:
            assert mine_fields is not None
            heap[obj] = {
                key: _under(value, only_one, one.arms)
                if made_here  # there is none on the other path
                else join_values(
                    _under(value, only_one, one.arms), _under(entry_field(other, obj, key), only_other, other.arms)
                )
                for key, value in mine_fields.items()
            }
            continue
        if mine_fields is None:
            if made_here:
                heap[obj] = {key: _under(value, only_other, other.arms) for key, value in fields.items()}
                continue
            mine_fields, keys = {}, None
        if obj.kind == "list" and obj.loop is not None and obj.data != "each" and mine_fields.keys() != fields.keys():
            mine_fields, fields = _of_any_length(mine_fields, fields), _of_any_length(fields, mine_fields)
            keys = None
        merged = {} if keys is None else mine_fields.copy()
        for key in {**mine_fields, **fields} if keys is None else keys:
            here, there = mine_fields.get(key), fields.get(key)
            if here is None and there is None:
                continue
            if obj.data in ("each", "varies") and _met(mine_fields, fields, key):
                merged[key] = here or there  # type: ignore[assignment]
                continue
            if _absent(obj, key) and (here is None or there is None):
                only, since, arms = (here, only_one, one.arms) if here else (there, only_other, other.arms)
                merged[key] = _under(only, since, arms)  # type: ignore[arg-type]
                continue
            left, right = here or entry_field(one, obj, key), there or entry_field(other, obj, key)
            if left is not right:
                left, right = apart.values(left, right)
                left = join_values(_under(left, only_one, one.arms), _under(right, only_other, other.arms))
            merged[key] = left
        heap[obj] = merged
    for obj in changed.objs:
        epoch = other.epoch.get(obj)
        if epoch is not None and one.epoch.get(obj) != epoch:
            one.epoch[obj] = next(_fresh)
        writes = other.writes.get(obj)
        if writes is not None:
            one.writes[obj] = _of_both(one.writes.get(obj, NO_WRITES), writes)
    if one.arms != other.arms:
        one.arms = meet(one.arms, other.arms)
    if one.grad != other.grad:
        one.grad = None
    one.flights = joined(one.flights, other.flights)
    return one


def _of_both(one: frozenset[Write], other: frozenset[Write]) -> frozenset[Write]:
    """The writes of two paths; of too many the first, as on one path."""
    both = one | other
    return frozenset(sorted(both, key=_TICK)[:MAX_WRITES]) if len(both) > MAX_WRITES else both


_TICK = attrgetter("tick")


def _absorbed(one: State, other: State) -> dict[Place, frozenset[Write]]:
    """What is made good on both paths, as far as it was written there."""
    joined: dict[Place, frozenset[Write]] = {}
    for place in {**one.absorbed, **other.absorbed}:
        mine, theirs = one.absorbed.get(place, NO_WRITES), other.absorbed.get(place, NO_WRITES)
        joined[place] = frozenset(
            write
            for write in mine | theirs
            if (write in mine or write not in one.writes.get(write.ref.obj, NO_WRITES))
            and (write in theirs or write not in other.writes.get(write.ref.obj, NO_WRITES))
        )
    return joined


def _met(mine: dict[str, Value], fields: dict[str, Value], key: str) -> bool:
    """Whether an item of a comprehension's list is one that a path has read and the other has not: it is on both."""
    known, anyone = (mine, fields) if key in mine else (fields, mine)
    places = {ref.place for ref in anyone["[*]"].refs} if "[*]" in anyone else frozenset()
    return key not in anyone and all(ref.place in places for ref in known[key].refs)


def _absent(obj: Obj, key: str) -> bool:
    """Whether a slot that a path does not know is one that the container does not have there."""
    return obj.owner == "fresh" and obj.loop is not None and key[0] == "["


def _of_any_length(mine: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
    """The items of a list which is longer on one path: what only one has may stand at any end."""
    result = {key: value for key, value in mine.items() if key in other and key != "[*]"}
    rest = [value for key, value in mine.items() if key not in result]
    joined = None
    for value in rest:
        joined = value if joined is None else join_values(joined, value)
    if joined is not None:
        result["[*]"] = joined
    return result


def _reaches(written: Obj, item: Obj) -> bool:
    """Whether a write to what stands for any item (or to each in its turn) is one to this item."""
    return written is item.any_of or (written.slot[-2:] == ")]" and item.slot[-2:] != ")]")


class _Apart:
    """Bindings that only one of two joining paths made never meet the writes that only the other path made."""

    def __init__(self, one: dict[Obj, frozenset[Write]], other: dict[Obj, frozenset[Write]]) -> None:
        self.one = one
        self.other = other

    def values(self, mine: Value, theirs: Value) -> tuple[Value, Value]:
        if self.one is self.other:
            return mine, theirs
        return self._seen(mine, theirs, self.one, self.other), self._seen(theirs, mine, self.other, self.one)

    def _seen(
        self, value: Value, across: Value, own: dict[Obj, frozenset[Write]], others: dict[Obj, frozenset[Write]]
    ) -> Value:
        refs: list[Ref] = []
        changed = False
        for ref in value.refs:
            if ref.place is not None and ref.obj in others:
                missed = others[ref.obj] - own.get(ref.obj, NO_WRITES)
                if missed and not any(one.obj is ref.obj and one.place is ref.place for one in across.refs):
                    ref = ref.having_seen(missed)
                    changed = True
            refs.append(ref)
        return Value(tuple(refs), value.kind, value.const) if changed else value


def _under(value: Value, arms: frozenset[Arm], path: frozenset[Arm]) -> Value:
    """The value as this path leaves it: what the path's own tests contradict is gone."""
    if not value.refs or not (arms or path):
        return value
    live = [ref for ref in value.refs if not exclusive(ref.arms, path)] if path else value.refs
    if not live:
        live = value.refs
    if arms:
        return Value(tuple([ref.under(arms) for ref in live]), value.kind, value.const)
    return value if len(live) == len(value.refs) else Value(tuple(live), value.kind, value.const)


def join_all(states: Iterable[State | None], entry_field: EntryField) -> State | None:
    """Where any of the paths may have come from; their states are given up."""
    arriving = [state for state in states if state is not None]
    # Of many paths, neighbours first: what few of them have changed is then looked at a few times, not at each path.
    while len(arriving) > FEW:
        arriving = [
            _two(arriving[at], arriving[at + 1], entry_field) if at + 1 < len(arriving) else arriving[at]
            for at in range(0, len(arriving), 2)
        ]
    result: State | None = None
    for state in arriving:
        result = join(result, state, entry_field)
    return result


FEW = 64  # paths that are joined one after the other


def join_arms(
    exits: list[tuple[State | None, frozenset[Arm]]], last: State | None, entry_field: EntryField
) -> State | None:
    """After an `if` with `elif`s: each arm's exit, with the arms passed before its test, and that of the `else`."""
    ends = [*exits, (last, frozenset())]
    while len(ends) > FEW:
        ends = [
            (_arm_and_rest(*ends[at], ends[at + 1][0], entry_field), ends[at][1]) if at + 1 < len(ends) else ends[at]
            for at in range(0, len(ends), 2)
        ]
    state = ends[-1][0]
    for exit_, arms in reversed(ends[:-1]):
        state = _arm_and_rest(exit_, arms, state, entry_field)
    return state


def _arm_and_rest(
    exit_: State | None, arms: frozenset[Arm], rest: State | None, entry_field: EntryField
) -> State | None:
    if exit_ is None or rest is None:
        return exit_ or rest
    state = _two(exit_, rest, entry_field)
    state.arms = arms
    return state


def _two(one: State, other: State, entry_field: EntryField) -> State:
    state = join(one, other, entry_field)
    assert state is not None
    return state


class Reaching:
    """The states in which the body of a `try` may stop: before it and after each of its statements."""

    def __init__(self, before: State) -> None:
        self.states = [before]
        self._apart = 1  # of so many statements, the state after one is kept
        self._skipped = 0
        self._joined: State | None = None

    def add(self, state: State) -> None:
        """One more, of which a copy is kept.  Of a very long body some states stand for all: what only the others hold
        is not known, nor copied."""
        self._skipped += 1
        if self._skipped < self._apart:
            return
        self._skipped = 0
        self.states.append(state.copy())
        if len(self.states) > MAX_REACHING:
            self.states = self.states[::2]
            self._apart *= 2

    def state(self, entry_field: EntryField) -> State:
        """Where a handler begins."""
        if self._joined is None:
            self._joined = self.states[0].copy()
            for state in self.states[1:]:
                self._joined = _two(self._joined, state.copy(), entry_field)
        return self._joined.copy()


MAX_REACHING = 128
