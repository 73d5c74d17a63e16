"""One file: choose the functions worth running and the classes worth judging, hand out the facts by region."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.features import (
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
    GIVEN_STATE,
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
    MODULE_ALIAS,
    OPTIMIZER,
    OVERLAPS,
    PARAMETERS,
    RATIO,
    REBUILT,
    RENAMED,
    REPEAT,
    REPEATED,
    REPLACED,
    REQUIRES_GRAD,
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
    WEIGHTS,
    WRAP,
    WRITE,
)
from flake8_tensorcopy.engine.notebook import Cells
from flake8_tensorcopy.engine.screens import SCREENS, classes
from flake8_tensorcopy.engine.screens.effects import Sketches
from flake8_tensorcopy.engine.screens.layers import makers
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import MAX_DEPTH, Class, Function, Survey, survey

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.facts import Fact

# What a function must hold, all of it, for a kind of fact to be possible there.
_TRIGGERS: dict[str, tuple[int, ...]] = {
    "StaleRead": (WRITE | SHARE, INPLACE_MODULE | SHARE, WRITE | SWAP),
    "SharedWrite": (WRITE | SHARE,),
    "JoinedWrite": (WRITE | SHARE,),
    "AccumulatedItem": (WRITE | SHARE,),
    "ReboundData": (ATTR_STORE | DETACH,),
    "PointerTest": (DATA_PTR,),
    "StaleSnapshot": (STATE_DICT, GIVEN_STATE, KEPT_ITEMS | PARAMETERS, SHARE | WEIGHTS, WRITE | DETACH),
    "LostWrite": (LOST, STATE_DICT | WRITE, STATE_DICT | SHARE),
    "DroppedResult": (DROPPED,),
    "DeadRebinding": (LOOP_REBIND, GRAD),
    "LeafRebound": (REPLACED, GRAD),
    "OverlappingWrite": (WRITE | OVERLAPS,),
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
    "SelfCopy": (WRITE,),
    "AliasedOut": (WRITE,),
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
    "ReplacedParameter": (OPTIMIZER,),
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


def _makes_optimizers(survey: Survey, cls: Class) -> bool:
    return survey.once(_optimizers)


def _optimizers(survey: Survey) -> bool:
    return any(function.features & OPTIMIZER for function in survey.all)


def _holds_items(survey: Survey, cls: Class) -> bool:
    """Whether an attribute is a list, tuple or dict that a method made, or what a function of the file gives."""
    makers = {*cls.holders.values(), *cls.inherited.values()}
    if "" in makers or not makers:
        return bool(makers)
    methods = survey.once(_names_of_methods)
    return any(maker in survey.functions or maker in methods or maker in cls.methods for maker in makers)


def _names_of_methods(survey: Survey) -> set[str]:
    return {name for one in survey.classes.values() for name in one.methods}


def _registers(survey: Survey, cls: Class) -> bool:
    return _holds_items(survey, cls) and classes.unregistered(survey, cls)


class Judge(NamedTuple):
    """What is found by looking at all the methods of a class together, after the functions have been run."""

    name: str  # in `judging.FACTS`
    kind: str
    needs: tuple[int, ...]  # features that the methods must have between them, as in `_TRIGGERS`
    possible: Callable[[Survey, Class], bool] | None = None  # what it needs besides


JUDGES: tuple[Judge, ...] = (
    Judge("items", "MutatedItem", (WRITE, CALLS_WRITER)),
    Judge("buffers", "HandedOut", (WRITE | HANDS_OUT, CALLS_WRITER | HANDS_OUT), classes.returned_buffers),
    Judge("class tensors", "SharedDefault", (WRITE,)),
    Judge("aliases", "ModuleAlias", (MODULE_ALIAS,), classes.aliases_on_self),
    Judge("generators", "Exhausted", (KEPT_ITEMS,)),
    Judge("parameters", "StaleSnapshot", (KEPT_ITEMS | PARAMETERS,)),
    Judge("states", "SharedOptimizerState", (STATE_DICT | LOADS_STATE,), classes.states_on_self),
    Judge("repeats", "RepeatedReference", (REPEAT | WRITE,), classes.repeats_on_self),
    Judge("parts", "UntrainedPart", (BACKWARD,)),
    Judge("layers", "UntrainedPart", (0,), _makes_optimizers),
    Judge("containers", "UnregisteredItems", (0,), _registers),
    Judge("replicas", "ReplicaState", (ATTR_STORE, WRITE)),
)


class RegionFacts(NamedTuple):
    """The facts of one function, or of the module's own statements."""

    node: ast.AST
    facts: list[Fact]


class Analysis:
    """Everything found in one file: facts, the line ranges that can be parsed alone, what was not analysed."""

    def __init__(self, regions: list[RegionFacts], units: list[tuple[int, int]], problem: str | None = None) -> None:
        self.regions = regions
        self.units = units
        self.problem = problem


def analyse(
    tree: ast.Module,
    kinds: frozenset[str],
    train_calls: frozenset[str] = frozenset(),
    cells: Cells | None = None,
) -> Analysis:
    """Run every function that may hold a fact of the kinds; functions nested too deeply are named, not run."""
    found = survey(tree)
    wanted = [(need, kind) for kind in sorted(kinds) for need in _TRIGGERS.get(kind, (0,))]
    result = Analysis([], sorted(found.units))
    inherited = _inherited(found)
    sketches = Sketches(found, inherited)
    surveyed = list(found.classes.values())
    found.train_calls = train_calls
    for name in cells.redefined if cells else ():  # which of them a call means is not known
        found.functions.pop(name, None)
        found.classes.pop(name, None)
    chosen: list[Function] = []
    plans: dict[int, set[str]] = {}  # the kinds that are possible with these features
    for function in found.all:
        features = function.features | (inherited.get(function.cls, 0) if function.cls is not None else 0)
        possible = plans.get(features)
        if possible is None:
            possible = plans[features] = {kind for need, kind in wanted if features & need == need}
        if not possible or not _may_hold(sketches.of(function), possible):
            continue
        if function.depth > MAX_DEPTH:
            result.problem = result.problem or (f"`{function.name}` nests expressions more than {MAX_DEPTH} deep")
            continue
        chosen.append(function)
    judged = [
        (judge.name, cls) for judge in JUDGES if judge.kind in kinds for cls in surveyed if _may(judge, found, cls)
    ]
    if chosen or judged:
        from flake8_tensorcopy.engine.judging import regions
        from flake8_tensorcopy.engine.module import Module

        module = Module(found, train_calls, cells.shown if cells else frozenset())
        result.regions = regions(module, chosen, judged, kinds)
        module.release()
    sketches.release()
    found.release()
    return result


def _may(judge: Judge, survey: Survey, cls: Class) -> bool:
    """Whether a judge can find anything in a class."""
    every = 0
    for method in cls.methods.values():
        every |= method.features
    return any(every & need == need for need in judge.needs) and (judge.possible is None or judge.possible(survey, cls))


def _may_hold(sketch: Sketch, kinds: set[str]) -> bool:
    """Whether a function may hold a fact of one of the kinds, or is nested too deeply for the screens to tell."""
    if sketch.function.depth <= MAX_DEPTH:
        return _passes(sketch, kinds)
    try:
        return _passes(sketch, kinds)
    except RecursionError:
        return True


def _passes(sketch: Sketch, kinds: set[str]) -> bool:
    """Whether a fact of one of the kinds, whose features a function has, is possible in it."""
    if sketch.features & RENAMED or not kinds <= SCREENS.keys():
        return True
    return any(screen(sketch) for kind, screen in SCREENS.items() if kind in kinds)


def _inherited(found: Survey) -> dict[Class, int]:
    """What `__init__` adds to the methods: an expanded buffer, a leaf, an optimizer, modules that work in place, made
    there or by what it calls."""
    added: dict[Class, int] = {}
    classes, built = found.classes, found.once(makers)
    nearest: dict[Class, Class | None] = {}  # the one on the way up that has an `__init__`, as Python would find it
    for cls in classes.values():
        here: Class | None = cls
        passed: dict[Class, None] = {}
        while here is not None and here not in nearest and "__init__" not in here.methods:
            passed[here] = None
            names = (base.id for base in here.bases if isinstance(base, ast.Name))
            here = next((classes[name] for name in names if name in classes), None)
            if here in passed:
                here = None  # a class that is its own base, as far as names tell
        if here is not None:
            here = nearest.get(here, here)
        nearest |= dict.fromkeys(passed, here)
        features = 0
        if here is not None and (init := here.methods.get("__init__")) is not None:
            features = init.features & (EXPAND | OVERLAPS | LEAF | OPTIMIZER)
            if init.features & INPLACE_MODULE or not init.calls.isdisjoint(built):
                features |= WRITE | SHARE
        added[cls] = features
    return added
