"""The state of one abstract run: names, object fields, writes; copied at branches, united at joins."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from flake8_tensorcopy.engine.devices import NO_FLIGHTS, Flights, joined
from flake8_tensorcopy.engine.values import MAX_WRITES, Arm, Obj, Place, Value, Write, exclusive, join_values

_fresh = itertools.count(1)

# What a field held before this function touched it: memoised by the run, so that both sides of a join agree.
EntryField = Callable[["State", Obj, str], Value]

NO_WRITES: frozenset[Write] = frozenset()


class State:
    """What holds at one point of a function on the paths that reach it."""

    __slots__ = ("absorbed", "arms", "env", "epoch", "flights", "grad", "heap", "version", "writes")

    def __init__(self) -> None:
        self.env: dict[str, Value] = {}
        self.version: dict[str, int] = {}
        self.heap: dict[Obj, dict[str, Value]] = {}
        self.epoch: dict[Obj, int] = {}
        self.writes: dict[Obj, frozenset[Write]] = {}
        self.arms: frozenset[Arm] = frozenset()
        self.absorbed: dict[Place, frozenset[Write]] = {}  # writes that a `copy_` through the binding made good
        self.grad: bool | None = True
        self.flights: Flights = NO_FLIGHTS  # never changed, only replaced

    def copy(self) -> State:
        new = State.__new__(State)
        new.env = self.env.copy()
        new.version = self.version.copy()
        new.heap = self.heap.copy()
        new.epoch = self.epoch.copy()
        new.writes = self.writes.copy()
        new.arms = self.arms
        new.absorbed = self.absorbed.copy()
        new.grad = self.grad
        new.flights = self.flights
        return new

    def bind(self, name: str, value: Value) -> None:
        self.env[name] = value
        self.version[name] = next(_fresh)

    def touch(self, name: str) -> None:
        """The name may stand for another number from here on."""
        self.version[name] = next(_fresh)

    def fields(self, obj: Obj) -> dict[str, Value]:
        return self.heap.get(obj, {})

    def set_field(self, obj: Obj, key: str, value: Value) -> None:
        fields = dict(self.heap.get(obj, ()))
        fields[key] = value
        self.heap[obj] = fields

    def drop(self, obj: Obj, key: str) -> None:
        """One field of the object is another one from here on."""
        self.heap[obj] = {name: value for name, value in self.fields(obj).items() if name != key}
        self.epoch[obj] = next(_fresh)

    def forget(self, obj: Obj) -> None:
        """The object's fields may all have changed (an unknown call got it)."""
        self.heap.pop(obj, None)
        self.epoch[obj] = next(_fresh)

    def written(self, obj: Obj) -> frozenset[Write]:
        found = self.writes.get(obj, NO_WRITES)
        if obj.any_of is not None and obj.any_of is not obj:
            # What was done to every item was done to this one.
            found |= {write for write in self.writes.get(obj.any_of, NO_WRITES) if _reaches(write.ref.obj, obj)}
        return found

    def add_write(self, obj: Obj, write: Write) -> None:
        known = self.writes.get(obj, NO_WRITES)
        if len(known) < MAX_WRITES:
            self.writes[obj] = known | {write}
        if obj.any_of is not None and obj.any_of is not obj:
            self.add_write(obj.any_of, write)


def join(one: State | None, other: State | None, entry_field: EntryField) -> State | None:
    """The state where either path may have come from; None is a path that does not arrive."""
    if one is None:
        return other
    if other is None or one is other:
        return one
    env = one.env
    # Where the two paths disagree, each alternative is known to come with the arms of its path.
    only_one, only_other = one.arms - other.arms, other.arms - one.arms
    apart = _Apart(dict(one.writes), other.writes)
    if one.absorbed or other.absorbed:
        one.absorbed = _absorbed(one, other)
    for name, value in other.env.items():
        mine = env.get(name)
        if mine is None:
            env[name] = value
        elif mine is not value:
            mine, value = apart.values(mine, value)
            env[name] = join_values(_under(mine, only_one, one.arms), _under(value, only_other, other.arms))
    for name, version in other.version.items():
        if one.version.get(name) != version:
            one.version[name] = next(_fresh)
    heap = one.heap
    for obj, fields in other.heap.items():
        mine_fields = heap.get(obj)
        if mine_fields is fields:
            continue
        if mine_fields is None:
            if obj.owner == "fresh" and obj.loop is not None:
                # Made on the other path: there is none on this one.
                heap[obj] = {key: _under(value, only_other, other.arms) for key, value in fields.items()}
                continue
            mine_fields = {}
        if obj.kind == "list" and obj.loop is not None and obj.data != "each" and mine_fields.keys() != fields.keys():
            mine_fields, fields = _of_any_length(mine_fields, fields), _of_any_length(fields, mine_fields)
        merged = {key: value for key, value in mine_fields.items() if key in fields or not _absent(obj, key)}
        for key in {**mine_fields, **fields}:
            if obj.data == "each" and _met(mine_fields, fields, key):
                merged[key] = mine_fields.get(key) or fields[key]
                continue
            if _absent(obj, key) and (key not in mine_fields or key not in fields):
                merged[key] = (
                    _under(mine_fields[key], only_one, one.arms)
                    if key in mine_fields
                    else _under(fields[key], only_other, other.arms)
                )
                continue
            left = mine_fields.get(key) or entry_field(one, obj, key)
            right = fields.get(key) or entry_field(other, obj, key)
            if left is not right:
                left, right = apart.values(left, right)
                left = join_values(_under(left, only_one, one.arms), _under(right, only_other, other.arms))
            merged[key] = left
        heap[obj] = merged
    for obj, fields in list(heap.items()):
        if obj not in other.heap and obj.owner == "fresh" and obj.loop is not None:
            heap[obj] = {key: _under(value, only_one, one.arms) for key, value in fields.items()}
        elif obj not in other.heap:
            heap[obj] = {
                key: join_values(
                    _under(value, only_one, one.arms), _under(entry_field(other, obj, key), only_other, other.arms)
                )
                for key, value in fields.items()
            }
    for obj, epoch in other.epoch.items():
        if one.epoch.get(obj) != epoch:
            one.epoch[obj] = next(_fresh)
    for obj, writes in other.writes.items():
        one.writes[obj] = one.writes.get(obj, NO_WRITES) | writes
    if one.arms != other.arms:
        one.arms = one.arms & other.arms
    if one.grad != other.grad:
        one.grad = None
    one.flights = joined(one.flights, other.flights)
    return one


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
        return self._seen(mine, theirs, self.one, self.other), self._seen(theirs, mine, self.other, self.one)

    def _seen(
        self, value: Value, across: Value, own: dict[Obj, frozenset[Write]], others: dict[Obj, frozenset[Write]]
    ) -> Value:
        shared = {(ref.obj, ref.place) for ref in across.refs}
        refs = []
        changed = False
        for ref in value.refs:
            if ref.place is not None and (ref.obj, ref.place) not in shared and ref.obj in others:
                missed = others[ref.obj] - own.get(ref.obj, NO_WRITES)
                if missed:
                    ref = ref.having_seen(missed)
                    changed = True
            refs.append(ref)
        return Value(tuple(refs), value.kind, value.const) if changed else value


def _under(value: Value, arms: frozenset[Arm], path: frozenset[Arm]) -> Value:
    """The value as this path leaves it: what the path's own tests contradict is gone."""
    if not value.refs or not (arms or path):
        return value
    live = [ref for ref in value.refs if not exclusive(ref.arms, path)] or value.refs
    return Value(tuple(ref.under(arms) if arms else ref for ref in live), value.kind, value.const)


def join_all(states: Iterable[State | None], entry_field: EntryField) -> State | None:
    result: State | None = None
    for state in states:
        result = join(result, None if state is None else state.copy(), entry_field)
    return result
