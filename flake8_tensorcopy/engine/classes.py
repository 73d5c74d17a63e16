"""One class as a whole: what each of its methods does to what the object holds."""

from __future__ import annotations

import ast
from typing import NamedTuple

from flake8_tensorcopy.engine.module import MAX_BASES, Module
from flake8_tensorcopy.engine.notes import Handed
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.summaries import Effect, summary_of
from flake8_tensorcopy.engine.values import Obj


class MethodEffect(NamedTuple):
    """A write of a method to a storage that it reaches from `self`."""

    method: Function
    effect: Effect


def methods_of(module: Module, cls: Class) -> list[Function]:
    """The methods that an object of the class has, its own before those of its bases in this file."""
    found: dict[str, Function] = {}
    pending, seen = [cls], set()
    while pending:
        here = pending.pop(0)
        if here not in seen:
            seen.add(here)
            for name, method in here.methods.items():
                found.setdefault(name, method)
            pending.extend(module.local_bases(here))
    return list(found.values())


def has_many_bases(module: Module, cls: Class) -> bool:
    """Whether a class has more bases in this file than anybody follows."""
    pending, seen = [cls], {cls}
    while pending and len(seen) <= MAX_BASES:
        inner = [one for one in module.local_bases(pending.pop()) if one not in seen]
        seen.update(inner)
        pending += inner
    return len(seen) > MAX_BASES


def effects_on_self(module: Module, cls: Class, features: int = 0) -> list[MethodEffect]:
    """What the methods write in place in what the object holds (`self.buf.add_(x)`, `self.net` trained), in order.

    The slots of each effect's target lead from the object to the storage: `(".buf",)`.  With `features`, only methods
    that have one of them are run.
    """
    found: list[MethodEffect] = []
    for method in methods_of(module, cls):
        asked = not features or method.features & features
        run = module.run_of(method) if asked and not method.static else None
        if run is not None:
            found.extend(MethodEffect(method, one) for one in summary_of(run).effects if one.target.argument == 0)
    return found


def way_from(me: Obj, obj: Obj) -> tuple[str, ...]:
    """The slots that lead from an object to what it holds, as `(".cache", "[key]")`; empty where it does not hold it,
    or a module or another object lies between."""
    slots: list[str] = []
    while obj is not me:
        if obj.parent is None or obj.kind in ("module", "instance") or len(slots) > 4:
            return ()
        slots.insert(0, obj.slot)
        obj = obj.parent
    return tuple(slots)


def holds_tensors(module: Module, cls: Class, slots: tuple[str, ...]) -> int:
    """How surely what an object holds there is a tensor: by what its methods, and calls of its class, put there."""
    if not slots or slots[0][:1] != ".":
        return 0
    module.run_callers(cls.name)
    kinds = set(module.given.get((cls, slots[0][1:]), ()))
    if kinds and kinds <= {"tensor", "array"}:
        return 3
    if len(slots) > 2:
        return 0
    # Only tensors are cloned.
    stored = _stored(module, cls).get(slots[:1] if len(slots) == 1 else (slots[0], "[]"), ())
    if len(slots) == 2 and slots[1][:1] != "[":
        return 0
    return min((3 if one.ref.obj.made == "clone" else run.evidence_of(one.ref, None) for run, one in stored), default=0)


def _stored(module: Module, cls: Class) -> dict[tuple[str, ...], list[tuple[Run, Handed]]]:
    """What the methods put into each attribute, and under `(".attr", "[]")` into what an attribute holds."""
    known = module.stored.get(cls)
    if known is not None:
        return known
    found: dict[tuple[str, ...], list[tuple[Run, Handed]]] = {}
    for method in methods_of(module, cls):
        run = module.run_of(method)
        if run is None or not run.params or method.static:
            continue
        for one in run.handed:
            ways: list[tuple[str, ...]] = []
            if one.into is run.params[0]:
                ways = [(f".{name}",) for name in _attributes_set(one.node)]
            if one.how == "store" and one.into is not None and len(way := way_from(run.params[0], one.into)) == 1:
                ways.append((way[0], "[]"))
            for slots in ways:
                found.setdefault(slots, []).append((run, one))
    if not module.depth:  # all runs are done
        module.stored[cls] = found
    return found


def _attributes_set(node: ast.AST) -> list[str]:
    """The attributes that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [one.attr for one in targets if isinstance(one, ast.Attribute)]
