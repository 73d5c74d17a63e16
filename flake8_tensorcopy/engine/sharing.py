"""Which names surely share memory where a function returns: what the engine holds for certain, to be tried in torch."""

from __future__ import annotations

import ast
import itertools
from typing import NamedTuple

from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.parts import must_overlap
from flake8_tensorcopy.engine.source import survey
from flake8_tensorcopy.engine.state import State
from flake8_tensorcopy.engine.values import MAYBE, SNAPSHOT, UNSURE, Ref, common_prefix, per_pass


class Shared(NamedTuple):
    """Two names of a function share memory at this `return`."""

    function: str
    line: int
    one: str
    other: str


def shared_names(tree: ast.Module) -> list[Shared]:
    """Every pair of names that surely shares memory at a `return` of a function of the file, in source order."""
    found = survey(tree)
    module = Module(found)
    pairs = []
    for function in found.functions.values():
        run = module.run_of(function)
        for returned in run.returned if run is not None else ():
            for one, other in _pairs(returned.state):
                pairs.append(Shared(function.name, returned.node.lineno, one, other))
    return sorted(pairs, key=lambda pair: (pair.line, pair.one, pair.other))


def _pairs(state: State) -> list[tuple[str, str]]:
    refs = {
        name: value.refs[0]
        for name, value in state.env.items()
        if len(value.refs) == 1 and value.refs[0].kind in ("tensor", "array")
    }
    return [(one, other) for one, other in itertools.combinations(sorted(refs), 2) if _share(refs[one], refs[other])]


def _share(one: Ref, other: Ref) -> bool:
    start = common_prefix(one.chain, other.chain)
    links = (*one.chain[start:], *other.chain[start:])
    if per_pass(one.obj.slot) or one.obj.any_of is one.obj:
        return False  # another item in each pass of a loop
    if one.obj is not other.obj or one.obj.moved or any(link.kind in (MAYBE, SNAPSHOT, UNSURE) for link in links):
        return False
    return must_overlap(one.chain, other.chain)
