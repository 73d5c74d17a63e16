"""One file: choose the functions worth running, run them, hand out the facts by region."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from flake8_tensorcopy.engine.facts import Fact
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.source import (
    ASYNC,
    ATTR_STORE,
    CLONE,
    CUDA,
    DATA_PTR,
    DETACH,
    DROPPED,
    EXPAND,
    GRAD,
    HOST,
    INPLACE_MODULE,
    LEGACY,
    LOOP_REBIND,
    LOST,
    MAX_DEPTH,
    REPLACED,
    SHARE,
    STATE_DICT,
    STEPS,
    SWAP,
    WRITE,
    Class,
    Function,
    survey,
)

# What a function must hold, all of it, for a kind of fact to be possible there.
_TRIGGERS: dict[str, tuple[int, ...]] = {
    "StaleRead": (WRITE | SHARE, INPLACE_MODULE | SHARE, WRITE | SWAP),
    "SharedWrite": (WRITE | SHARE,),
    "JoinedWrite": (WRITE | SHARE,),
    "AccumulatedItem": (WRITE | SHARE,),
    "ReboundData": (ATTR_STORE | DETACH,),
    "PointerTest": (DATA_PTR,),
    "StaleSnapshot": (STATE_DICT,),
    "LostWrite": (LOST, STATE_DICT | WRITE),
    "DroppedResult": (DROPPED,),
    "DeadRebinding": (LOOP_REBIND, GRAD),
    "LeafRebound": (REPLACED, GRAD),
    "OverlappingWrite": (WRITE | EXPAND,),
    "HostScalar": (HOST,),
    "CloneDetach": (CLONE | DETACH,),
    "UnwaitedRead": (ASYNC,),
    "OverwrittenSource": (ASYNC | WRITE,),
    "PinnedMove": (ASYNC,),
    "CreatedThenMoved": (HOST, CUDA),
    "RoundTrip": (HOST,),
    "InvariantTransfer": (HOST, CUDA),
    "StepSync": (STEPS,),
    "WidenedMove": (HOST, CUDA),
    "DatasetMove": (CUDA, ASYNC),
    "LegacyDevice": (LEGACY,),
}


class Judge(NamedTuple):
    """What is found by looking at all the methods of a class together, after the functions have been run."""

    kinds: frozenset[str]
    needs: tuple[int, ...]  # features that the methods must have between them, as in `_TRIGGERS`
    facts: Callable[[Module, Class], Iterable[tuple[Function, Fact]]]


_JUDGES: tuple[Judge, ...] = ()


@dataclass(slots=True)
class RegionFacts:
    """The facts of one function, or of the module's own statements."""

    node: ast.AST
    facts: list[Fact] = field(default_factory=list)


@dataclass(slots=True)
class Analysis:
    """Everything found in one file."""

    regions: list[RegionFacts]
    units: list[tuple[int, int]]
    problem: str | None = None


def analyse(tree: ast.Module, kinds: frozenset[str], train_calls: frozenset[str] = frozenset()) -> Analysis:
    """Run every function that may hold a fact of the kinds; functions nested too deeply are named, not run."""
    found = survey(tree)
    module = Module(found, train_calls)
    wanted = [need for kind in kinds for need in _TRIGGERS.get(kind, (0,))]
    result = Analysis([], sorted(found.units))
    inherited = _inherited(found.classes)
    regions: dict[Function, list[Fact]] = {}
    for function in found.all:
        features = function.features | (inherited.get(function.cls, 0) if function.cls is not None else 0)
        if not any(features & need == need for need in wanted):
            continue
        if function.depth > MAX_DEPTH:
            result.problem = result.problem or (f"`{function.name}` nests expressions more than {MAX_DEPTH} deep")
            continue
        run = module.run_of(function)
        if run is None:
            continue
        regions[function] = [fact for fact in run.facts.values() if type(fact).__name__ in kinds]
    for judge in _JUDGES:
        if kinds.isdisjoint(judge.kinds):
            continue
        for cls in found.classes.values():
            every = 0
            for method in cls.methods.values():
                every |= method.features
            if any(every & need == need for need in judge.needs):
                for function, fact in judge.facts(module, cls):
                    if type(fact).__name__ in kinds:
                        regions.setdefault(function, []).append(fact)
    for function in found.all:
        facts = regions.get(function)
        if facts:
            facts.sort(key=lambda fact: (fact.site.lineno, fact.site.col_offset))  # type: ignore[attr-defined]
            result.regions.append(RegionFacts(function.node, facts))
    return result


def _inherited(classes: dict[str, Class]) -> dict[Class, int]:
    """What `__init__` adds to the methods: an expanded buffer, modules that work in place."""
    added: dict[Class, int] = {}
    for cls in classes.values():
        init: Function | None = cls.methods.get("__init__")
        features = 0
        if init is not None:
            features = init.features & EXPAND
            if init.features & INPLACE_MODULE:
                features |= WRITE | SHARE
        added[cls] = features
    return added
