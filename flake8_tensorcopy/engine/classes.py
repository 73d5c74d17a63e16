"""One class as a whole: what each of its methods does to what the object holds."""

from __future__ import annotations

from typing import NamedTuple

from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.summaries import Effect, summary_of


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


def effects_on_self(module: Module, cls: Class) -> list[MethodEffect]:
    """What the methods write in place in what the object holds (`self.buf.add_(x)`, `self.net` trained), in order.

    The slots of each effect's target lead from the object to the storage: `(".buf",)`.
    """
    found: list[MethodEffect] = []
    for method in methods_of(module, cls):
        run = module.run_of(method) if not method.static else None
        if run is not None:
            found.extend(MethodEffect(method, one) for one in summary_of(run).effects if one.target.argument == 0)
    return found


def rebinds_on_self(module: Module, cls: Class) -> dict[str, list[Function]]:
    """The attributes that methods bind anew, as `.name`, and which methods do."""
    found: dict[str, list[Function]] = {}
    for method in methods_of(module, cls):
        run = module.run_of(method) if not method.static else None
        if run is not None:
            for target, key in summary_of(run).rebinds:
                if target.argument == 0 and not target.slots:
                    found.setdefault(key, []).append(method)
    return found
