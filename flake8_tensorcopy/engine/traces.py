"""What two states of a run may differ in, so that a join looks at that alone."""

from __future__ import annotations

from flake8_tensorcopy.engine.values import Obj


class Trace:
    """What a state has changed since it was copied, or made by a join; `before` is what came before that.

    Two states that meet differ at most in what both have changed since their traces part: a join looks at that alone.
    """

    __slots__ = ("before", "depth", "fields", "names", "objs")

    def __init__(self, before: Trace | None) -> None:
        self.before = before
        self.depth: int = 0 if before is None else before.depth + 1
        self.names: dict[str, None] = {}
        self.fields: dict[Obj, dict[str, None] | None] = {}  # None: any of its fields
        self.objs: dict[Obj, None] = {}  # of which the epoch or the writes changed

    def field(self, obj: Obj, key: str) -> None:
        known = self.fields.get(obj)
        if known is not None:
            known[key] = None
        elif obj not in self.fields:
            self.fields[obj] = {key: None}

    def add(self, other: Trace) -> None:
        self.names.update(other.names)
        self.objs.update(other.objs)
        for obj, keys in other.fields.items():
            mine = self.fields.get(obj, keys)
            self.fields[obj] = None if mine is None or keys is None else {**mine, **keys}


def changed_since_parting(one: Trace, other: Trace) -> Trace:
    """Everything that two states may differ in; it follows on the trace that both have in common."""
    passed = []
    while one is not other:
        if one.depth < other.depth:
            one, other = other, one
        assert one.before is not None, "two states of one run"
        passed.append(one)
        one = one.before
    changed = Trace(one)
    for trace in passed:
        changed.add(trace)
    return changed
