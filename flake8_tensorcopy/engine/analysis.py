"""One file: choose the functions worth running, run them, hand out the facts by region."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from flake8_tensorcopy.engine import aliases, generators, snapshots
from flake8_tensorcopy.engine.callers import settle_asked
from flake8_tensorcopy.engine.classes import holds_tensors
from flake8_tensorcopy.engine.defaults import class_tensors
from flake8_tensorcopy.engine.facts import (
    Fact,
    GraphCut,
    HandedOut,
    MutatedArgument,
    SharedOptimizerState,
    TensorOfTensor,
)
from flake8_tensorcopy.engine.handed_out import returned_buffers, written_by_callers
from flake8_tensorcopy.engine.hooks import kept_by_hooks
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.mutated import function_at, mutated_items
from flake8_tensorcopy.engine.notebook import Cells
from flake8_tensorcopy.engine.registration import unregistered
from flake8_tensorcopy.engine.repeated import repeats_on_self
from flake8_tensorcopy.engine.replicas import lost_on_replicas
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import known_by_calls
from flake8_tensorcopy.engine.screens import SCREENS, classes
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import (
    ASYNC,
    ATTR_STORE,
    BACKWARD,
    CALLS_WRITER,
    CAST,
    CHAINED,
    CLONE,
    COUNTED,
    CUDA,
    DATA_PTR,
    DEEPCOPY,
    DEFAULT,
    DETACH,
    DROPPED,
    EXPAND,
    GRAD,
    GROWN,
    HANDS_OUT,
    HOOK,
    HOST,
    INDEX_ADD,
    INFERENCE,
    INPLACE_MODULE,
    KEEPS_PART,
    KEPT,
    KEPT_ITEMS,
    LEAF,
    LEGACY,
    LOADS_STATE,
    LOOP_REBIND,
    LOST,
    MAX_DEPTH,
    MODULE_ALIAS,
    OPTIMIZER,
    PARAMETERS,
    PLACED,
    RATIO,
    REBUILT,
    REPEAT,
    REPEATED,
    REPLACED,
    REQUIRES_GRAD,
    SELF_COPY,
    SHARE,
    STATE_DICT,
    STEPS,
    STORAGE,
    STRIDES,
    SWAP,
    TENSOR_OF,
    TO_ARRAY,
    TO_HOST,
    TURNED,
    UNPACKED,
    UNWRAP,
    VIA_NUMPY,
    WRAP,
    WRITE,
    Class,
    Function,
    Survey,
    survey,
)
from flake8_tensorcopy.engine.trained import untrained_layers, untrained_parts

# What a function must hold, all of it, for a kind of fact to be possible there.
_TRIGGERS: dict[str, tuple[int, ...]] = {
    "StaleRead": (WRITE | SHARE, INPLACE_MODULE | SHARE, WRITE | SWAP),
    "SharedWrite": (WRITE | SHARE,),
    "JoinedWrite": (WRITE | SHARE,),
    "AccumulatedItem": (WRITE | SHARE,),
    "ReboundData": (ATTR_STORE | DETACH,),
    "PointerTest": (DATA_PTR,),
    "StaleSnapshot": (STATE_DICT, KEPT_ITEMS | PARAMETERS),
    "LostWrite": (LOST, STATE_DICT | WRITE),
    "DroppedResult": (DROPPED,),
    "DeadRebinding": (LOOP_REBIND, GRAD),
    "LeafRebound": (REPLACED, GRAD),
    "OverlappingWrite": (WRITE | EXPAND,),
    "HostScalar": (HOST | TO_HOST,),
    "CloneDetach": (CLONE | DETACH,),
    "MutatedItem": (),
    "MutatedArgument": (CALLS_WRITER,),
    "HandedOut": (WRITE | SHARE, HOOK),
    "SharedDefault": (WRITE | DEFAULT,),
    "Exhausted": (KEPT_ITEMS,),
    "LostUpdate": (INDEX_ADD,),
    "ModuleAlias": (MODULE_ALIAS,),
    "StaleGradient": (GRAD | SHARE,),
    "GradientWrite": (GRAD | WRITE,),
    "SharedOptimizerState": (STATE_DICT | LOADS_STATE,),
    "RepeatedReference": (REPEAT,),
    "WrappedTensor": (WRAP,),
    "SelfCopy": (SELF_COPY,),
    "AliasedOut": (SELF_COPY,),
    "KeptStorage": (STORAGE, KEEPS_PART),
    "UnlinkedArray": (STORAGE,),
    "ReadOnlyWrite": (STORAGE | WRITE,),
    "LeafWrite": (WRITE,),
    "SavedWrite": (WRITE,),
    "BypassedWrite": (WRITE | DETACH,),
    "ForbiddenWrite": (WRITE,),
    "MarkedNonLeaf": (REQUIRES_GRAD,),
    "GradToArray": (TO_ARRAY,),
    "InferenceUse": (INFERENCE,),
    "GraphRetained": (BACKWARD, KEPT),
    "RecurrentState": (BACKWARD, KEPT),
    "GraphCut": (REBUILT | BACKWARD, REBUILT | KEPT),
    "GradientNotCleared": (BACKWARD | GRAD,),
    "SteppedBefore": (BACKWARD,),
    "UntrainedPart": (BACKWARD,),
    "SelfRatio": (RATIO,),
    "CopiedGraph": (DEEPCOPY,),
    "MovedParameter": (UNWRAP,),
    "RewrappedParameter": (UNWRAP,),
    "UnregisteredItems": (),
    "ReplicaState": (),
    "ReplacedParameter": (OPTIMIZER | PLACED,),
    "MovedLeaf": (LEAF | GRAD, LEAF | OPTIMIZER),
    "MovedThenDetached": (CHAINED | DETACH | HOST,),
    "TensorOfTensor": (TENSOR_OF,),
    "FreshArrayCopied": (TENSOR_OF,),
    "RedundantClone": (CHAINED | CLONE,),
    "RedundantCast": (CHAINED,),
    "RedundantRepeat": (REPEATED,),
    "MaterialisedExpand": (EXPAND,),
    "GrownInLoop": (GROWN,),
    "ExpandedParameter": (EXPAND,),
    "ClashingExpand": (EXPAND,),
    "TurnedView": (TURNED,),
    "ScrambledAxes": (UNPACKED,),
    "ByteStrides": (STRIDES,),
    "NegativeStrides": (STRIDES,),
    "MixedRepeats": (COUNTED,),
    "ExpandedBytes": (COUNTED | EXPAND,),
    "UnwaitedRead": (ASYNC,),
    "OverwrittenSource": (ASYNC | WRITE,),
    "PinnedMove": (ASYNC,),
    "CreatedThenMoved": (HOST, CUDA),
    "RoundTrip": (HOST | VIA_NUMPY,),
    "InvariantTransfer": (HOST, CUDA),
    "StepSync": (STEPS,),
    "WidenedMove": (HOST | CAST, CUDA | CAST),
    "DatasetMove": (CUDA, ASYNC),
    "LegacyDevice": (LEGACY,),
}


class Judge(NamedTuple):
    """What is found by looking at all the methods of a class together, after the functions have been run."""

    kinds: frozenset[str]
    needs: tuple[int, ...]  # features that the methods must have between them, as in `_TRIGGERS`
    facts: Callable[[Module, Class], Iterable[tuple[Function, Fact]]]
    screen: Callable[[Survey, Class], bool] = lambda survey, cls: True  # False where there is surely nothing to find


_JUDGES: tuple[Judge, ...] = (
    Judge(frozenset({"MutatedItem"}), (WRITE, CALLS_WRITER), mutated_items),
    Judge(
        frozenset({"HandedOut"}),
        (WRITE | HANDS_OUT, CALLS_WRITER | HANDS_OUT),
        returned_buffers,
        classes.returned_buffers,
    ),
    Judge(frozenset({"SharedDefault"}), (WRITE,), class_tensors),
    Judge(frozenset({"ModuleAlias"}), (MODULE_ALIAS,), aliases.aliases_on_self, classes.aliases_on_self),
    Judge(frozenset({"Exhausted"}), (KEPT_ITEMS,), generators.kept_on_self),
    Judge(frozenset({"StaleSnapshot"}), (KEPT_ITEMS | PARAMETERS,), snapshots.parameters_on_self),
    Judge(
        frozenset({"SharedOptimizerState"}),
        (STATE_DICT | LOADS_STATE,),
        snapshots.states_on_self,
        classes.states_on_self,
    ),
    Judge(frozenset({"RepeatedReference"}), (REPEAT | WRITE,), repeats_on_self, classes.repeats_on_self),
    Judge(frozenset({"UntrainedPart"}), (BACKWARD,), untrained_parts),
    Judge(frozenset({"UntrainedPart"}), (0,), untrained_layers),
    Judge(frozenset({"UnregisteredItems"}), (ATTR_STORE,), unregistered, classes.unregistered),
    Judge(frozenset({"ReplicaState"}), (ATTR_STORE, WRITE), lost_on_replicas),
)


class Closing(NamedTuple):
    """What is found by looking at all the runs of a file together."""

    kinds: frozenset[str]
    facts: Callable[[Module], Iterable[tuple[Function, Fact]]]


_CLOSINGS: tuple[Closing, ...] = (
    Closing(frozenset({"HandedOut"}), written_by_callers),
    Closing(frozenset({"HandedOut"}), kept_by_hooks),
)

# Kinds whose site may stand in another function than the one whose run finds them.
_ELSEWHERE = frozenset({"MutatedArgument", "HandedOut", "SharedOptimizerState", "WrappedTensor", "CopiedGraph"})


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


def analyse(
    tree: ast.Module,
    kinds: frozenset[str],
    train_calls: frozenset[str] = frozenset(),
    cells: Cells | None = None,
) -> Analysis:
    """Run every function that may hold a fact of the kinds; functions nested too deeply are named, not run."""
    found = survey(tree)
    found.train_calls = train_calls
    module = Module(found, train_calls, cells.shown if cells else frozenset())
    wanted = [(need, kind) for kind in sorted(kinds) for need in _TRIGGERS.get(kind, (0,))]
    result = Analysis([], sorted(found.units))
    inherited = _inherited(found.classes)
    surveyed = list(found.classes.values())
    for name in cells.redefined if cells else ():  # which of them a call means is not known
        found.functions.pop(name, None)
        found.classes.pop(name, None)
    regions: dict[Function, list[Fact]] = {}
    runs: dict[Function, Run] = {}
    for function in found.all:
        features = function.features | (inherited.get(function.cls, 0) if function.cls is not None else 0)
        possible = {kind for need, kind in wanted if features & need == need}
        if not possible or not _passes(Sketch(found, function, features), possible):
            continue
        if function.depth > MAX_DEPTH:
            result.problem = result.problem or (f"`{function.name}` nests expressions more than {MAX_DEPTH} deep")
            continue
        run = module.run_of(function)
        if run is None:
            continue
        runs[function] = run
    settle_asked(module, found.all, runs, kinds)
    for function, run in runs.items():
        regions[function] = [fact for fact in run.facts.values() if type(fact).__name__ in kinds]
    for judge in _JUDGES:
        if kinds.isdisjoint(judge.kinds):
            continue
        for cls in surveyed:
            every = 0
            for method in cls.methods.values():
                every |= method.features
            if any(every & need == need for need in judge.needs) and judge.screen(found, cls):
                for function, fact in judge.facts(module, cls):
                    if type(fact).__name__ in kinds:
                        regions.setdefault(function, []).append(fact)
    for closing in _CLOSINGS:
        if not kinds.isdisjoint(closing.kinds):
            for function, fact in closing.facts(module):
                regions.setdefault(function, []).append(fact)
    _bring_home(module, regions)
    for function in found.all:
        settled = (known_by_calls(module, function, fact) for fact in regions.get(function, ()))
        facts = _said_once([fact for fact in settled if fact is not None])
        if facts:
            facts.sort(key=lambda fact: (fact.site.lineno, fact.site.col_offset))  # type: ignore[attr-defined]
            result.regions.append(RegionFacts(function.node, facts))
    return result


def _passes(sketch: Sketch, kinds: set[str]) -> bool:
    """Whether a fact of one of the kinds, whose features a function has, is possible in it."""
    if not kinds <= SCREENS.keys():
        return True
    return any(SCREENS[kind](sketch) for kind in kinds)


def _said_once(facts: list[Fact]) -> list[Fact]:
    """Without the cost of a copy that is wrong anyhow, since it ends the graph."""
    cut = {fact.site for fact in facts if isinstance(fact, GraphCut)}
    return [fact for fact in facts if not (isinstance(fact, TensorOfTensor) and fact.site in cut)] if cut else facts


def _bring_home(module: Module, regions: dict[Function, list[Fact]]) -> None:
    """Put each fact to the function in which its site stands, once, however many callers show it."""
    moved: dict[tuple[str, ast.AST], tuple[Function, Fact]] = {}
    for function, facts in regions.items():
        for fact in [fact for fact in facts if type(fact).__name__ in _ELSEWHERE]:
            facts.remove(fact)
            if isinstance(fact, MutatedArgument) and fact.site in module.proven:
                fact = replace(fact, evidence=3)
            elif isinstance(fact, HandedOut) and fact.evidence < 3 and fact.site in module.asked:
                fact = replace(fact, evidence=max(fact.evidence, holds_tensors(module, *module.asked[fact.site])))
            mark = (type(fact).__name__, fact.site)
            known = moved.get(mark)
            if known is None or _says_more(fact, known[1]):
                moved[mark] = (function_at(module, fact.site) or function, fact)
    for function, fact in moved.values():
        regions.setdefault(function, []).append(fact)


_SURE = frozenset({"loop", "read"})


def _says_more(fact: Fact, known: Fact) -> bool:
    """Of two reasons for one report, what a loop or a read shows is the surer one."""
    if isinstance(fact, SharedOptimizerState) and isinstance(known, SharedOptimizerState):
        return fact.certain > known.certain
    if not isinstance(fact, HandedOut) or not isinstance(known, HandedOut):
        return False
    return fact.reason in _SURE and known.reason not in _SURE


def _inherited(classes: dict[str, Class]) -> dict[Class, int]:
    """What `__init__` adds to the methods: an expanded buffer, a leaf, an optimizer, modules that work in place."""
    added: dict[Class, int] = {}
    for cls in classes.values():
        init: Function | None = cls.methods.get("__init__")
        features = 0
        if init is not None:
            features = init.features & (EXPAND | LEAF | OPTIMIZER)
            if init.features & INPLACE_MODULE:
                features |= WRITE | SHARE
        added[cls] = features
    return added
