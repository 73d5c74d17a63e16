"""The second half of an analysis: run what was chosen, ask the judges, and put each fact where it stands.

It needs the interpreter, whose import takes longer than the survey of most files: only imported where there is
something to run or to judge.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import NamedTuple

from flake8_tensorcopy.engine import aliases, generators, snapshots
from flake8_tensorcopy.engine.analysis import RegionFacts
from flake8_tensorcopy.engine.callers import settle_asked
from flake8_tensorcopy.engine.classes import holds_tensors
from flake8_tensorcopy.engine.defaults import class_tensors
from flake8_tensorcopy.engine.facts import (
    Fact,
    GraphCut,
    GraphRetained,
    HandedOut,
    MutatedArgument,
    SharedOptimizerState,
    TensorOfTensor,
    changed,
)
from flake8_tensorcopy.engine.handed_out import returned_buffers, written_by_callers
from flake8_tensorcopy.engine.hooks import kept_by_hooks
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.mutated import function_at, mutated_items
from flake8_tensorcopy.engine.registration import unregistered
from flake8_tensorcopy.engine.repeated import repeats_on_self
from flake8_tensorcopy.engine.replicas import lost_on_replicas
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import known_by_calls
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.trained import untrained_layers, untrained_parts

MAX_STEPS = 3  # up the calls, to what gives a function its arguments

# What each judge of `analysis.JUDGES` finds in a class.
FACTS: dict[str, Callable[[Module, Class], Iterable[tuple[Function, Fact]]]] = {
    "items": mutated_items,
    "buffers": returned_buffers,
    "class tensors": class_tensors,
    "aliases": aliases.aliases_on_self,
    "generators": generators.kept_on_self,
    "parameters": snapshots.parameters_on_self,
    "states": snapshots.states_on_self,
    "repeats": repeats_on_self,
    "parts": untrained_parts,
    "layers": untrained_layers,
    "containers": unregistered,
    "replicas": lost_on_replicas,
}


class Closing(NamedTuple):
    """What is found by looking at all the runs of a file together."""

    kinds: frozenset[str]
    facts: Callable[[Module], Iterable[tuple[Function, Fact]]]


_CLOSINGS: tuple[Closing, ...] = (
    Closing(frozenset({"HandedOut"}), written_by_callers),
    Closing(frozenset({"HandedOut"}), kept_by_hooks),
)

# Kinds whose site may stand in another function than the one whose run finds them.
_ELSEWHERE = frozenset(
    {
        "MutatedArgument",
        "HandedOut",
        "SharedOptimizerState",
        "StaleSnapshot",
        "WrappedTensor",
        "CopiedGraph",
        "GraphRetained",
    }
)


def regions(
    module: Module, chosen: list[Function], judged: list[tuple[str, Class]], kinds: frozenset[str]
) -> list[RegionFacts]:
    """The facts of the kinds, by the functions they stand in, in the order of the file."""
    found: dict[Function, list[Fact]] = {}
    runs: dict[Function, Run] = {}
    for function in chosen:
        run = module.run_of(function)
        if run is not None:
            runs[function] = run
    functions = module.survey.all
    settle_asked(module, functions, runs, kinds)
    for function, run in runs.items():
        found[function] = [fact for fact in run.facts.values() if type(fact).__name__ in kinds]
    for judge, cls in judged:
        for function, fact in FACTS[judge](module, cls):
            if type(fact).__name__ in kinds:
                found.setdefault(function, []).append(fact)
    for closing in _CLOSINGS:
        if not kinds.isdisjoint(closing.kinds):
            for function, fact in closing.facts(module):
                found.setdefault(function, []).append(fact)
    _bring_home(module, found)
    result: list[RegionFacts] = []
    for function in functions:
        settled = (known_by_calls(module, function, fact) for fact in found.get(function, ()))
        facts = _said_once([fact for fact in settled if fact is not None])
        if facts:
            facts.sort(key=lambda fact: (fact.site.lineno, fact.site.col_offset))  # type: ignore[attr-defined]
            result.append(RegionFacts(function.node, facts))
    return result


def _said_once(facts: list[Fact]) -> list[Fact]:
    """Without the cost of a copy that is wrong anyhow, since it ends the graph."""
    cut = {fact.site for fact in facts if isinstance(fact, GraphCut)}
    return [fact for fact in facts if not (isinstance(fact, TensorOfTensor) and fact.site in cut)] if cut else facts


def _look_for_proof(module: Module, fact: MutatedArgument) -> None:
    """Run what calls the function that writes, and what calls that: some call may say that it gives a tensor."""
    names = {fact.function}
    for _ in range(MAX_STEPS):
        if fact.site in module.proven:
            return
        for name in sorted(names):
            module.run_callers(name)
        names = {one.name for one in module.survey.all if not names.isdisjoint(one.calls)}


def _bring_home(module: Module, regions: dict[Function, list[Fact]]) -> None:
    """Put each fact to the function in which its site stands, once, however many callers show it."""
    moved: dict[tuple[str, ast.AST], tuple[Function, Fact]] = {}
    for function, facts in regions.items():
        for fact in [fact for fact in facts if type(fact).__name__ in _ELSEWHERE]:
            facts.remove(fact)
            if isinstance(fact, MutatedArgument):
                _look_for_proof(module, fact)
            if isinstance(fact, MutatedArgument) and fact.site in module.proven:
                fact = changed(fact, evidence=3)
            elif isinstance(fact, HandedOut) and fact.evidence < 3 and fact.site in module.asked:
                fact = changed(fact, evidence=max(fact.evidence, holds_tensors(module, *module.asked[fact.site])))
            mark = (type(fact).__name__, fact.site)
            known = moved.get(mark)
            if known is None or _says_more(fact, known[1]):
                moved[mark] = (function_at(module, fact.site) or function, fact)
    for function, fact in moved.values():
        regions.setdefault(function, []).append(fact)


_SURE = frozenset({"loop", "read"})


def _says_more(fact: Fact, known: Fact) -> bool:
    """Of two reasons for one report, what a loop or a read shows is the surer one."""
    for kind in (SharedOptimizerState, GraphRetained):
        if isinstance(fact, kind) and isinstance(known, kind):
            return fact.certain > known.certain
    if not isinstance(fact, HandedOut) or not isinstance(known, HandedOut):
        return False
    return fact.reason in _SURE and known.reason not in _SURE
