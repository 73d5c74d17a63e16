"""One class as a whole: what each of its methods does to what the object holds."""

from __future__ import annotations

import ast
from typing import NamedTuple

from flake8_tensorcopy.engine.module import Module
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
    kinds = set(module.given.get((cls, slots[0][1:]), ()))
    if kinds and kinds <= {"tensor", "array"}:
        return 3
    if len(slots) > 2:
        return 0
    levels: list[int] = []
    for method in methods_of(module, cls):
        run = module.run_of(method)
        if run is None or not run.params or method.static:
            continue
        for one in run.handed:
            into = one.into
            if len(slots) == 2 and one.how == "store" and into is not None:
                direct = slots[1][:1] == "[" and way_from(run.params[0], into) == slots[:1]
            else:
                direct = len(slots) == 1 and into is run.params[0] and _sets(one.node, slots[0][1:])
            if direct:
                # Only tensors are cloned.
                levels.append(3 if one.ref.obj.made == "clone" else run.evidence_of(one.ref, None))
    return min(levels, default=0)


def _sets(node: ast.AST, name: str) -> bool:
    """Whether a statement assigns the attribute."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(one, ast.Attribute) and one.attr == name for one in targets)
