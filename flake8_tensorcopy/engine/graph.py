"""The autograd graph, as far as the run sees it: what a value was computed from, and what requires grad."""

from __future__ import annotations

from collections.abc import Iterator

from flake8_tensorcopy.engine.values import Obj

MAX_ANCESTORS = 200


def ancestors(obj: Obj) -> Iterator[Obj]:
    """What a value was computed from, itself first, each once; an attribute or item stands for its owner too."""
    pending = [obj]
    seen: set[Obj] = set()
    while pending and len(seen) < MAX_ANCESTORS:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        yield one
        pending.extend(one.operands)
        if one.parent is not None:
            pending.append(one.parent)


def root_of(obj: Obj) -> Obj:
    """The object that an attribute or item belongs to, through all that lies between."""
    while obj.parent is not None:
        obj = obj.parent
    return obj
