"""Screens of what training makes wrong: a module under two names, a state that was to be kept.

Each of these facts is about a module that moves after it was bound: by a step of an optimizer, by a call whose name
says that it trains, by a state that is loaded, here or in a function of the file that is called.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.features import DETACH, WEIGHTS, WRITE
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.effects import Sketches
from flake8_tensorcopy.engine.screens.looks import is_number
from flake8_tensorcopy.engine.screens.parts import writes_part, written
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import Function, Survey, called_name, rooted
from flake8_tensorcopy.engine.texts import text_of

# What a call of a value runs: such a function is called by any name.
_CALLED = frozenset({"forward", "__call__"})
_COPY = frozenset({"copy"})
_STATES = frozenset({"state_dict", "parameters", "named_parameters", "buffers", "named_buffers"})


def module_alias(sketch: Sketch) -> bool:
    """A module is trained; of a shallow copy, also the parameters may be written."""
    return trains(sketch) or bool(sketch.features & WRITE and sketch.calls(_COPY))


def stale_snapshot(sketch: Sketch) -> bool:
    """What a module is asked for, or a weight, is kept, there or in what is called or by another method; and a module
    is trained or loaded, or something is written that it is asked for its state; or the state is kept on the object.
    Or an object keeps the data of a tensor, and something is written."""
    function = sketch.function
    if sketch.features & WRITE and sketch.features & DETACH and _keeps_data(function):
        return True
    moves = trains(sketch, loads=True) or _restored(function) or (sketch.features & WRITE and _writes_held(sketch))
    return bool(moves) and (bool(sketch.features & WEIGHTS and _keeps_weight(sketch)) or _asks(sketch))


def _keeps_data(function: Function) -> bool:
    """`self.backup[name] = param.data`"""
    for node in function.found.get(ast.Assign, ()):
        if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            value = node.value.func if isinstance(node.value, ast.Call) else node.value
            if isinstance(value, ast.Attribute) and value.attr in ("data", "detach"):
                return True
    return False


def _keeps_weight(sketch: Sketch) -> bool:
    """Whether the weight of a layer is kept: see `Sketch.kept`."""
    parts = library.OF_LAYERS
    return any(type(one) is ast.Attribute for value in sketch.kept for one in sketch.origins(value, parts))


def _asks(sketch: Sketch) -> bool:
    """Whether what a module is asked for is kept: there, in a function that is called, or in a method of the class."""
    if sketch.once(_keeps_state):
        return True
    function = sketch.function
    if function.cls is None and not sketch.of_file(_asking).isdisjoint(_CALLED):
        return True
    return function.cls is not None and sketch.of_file(_kept_by_methods)


def _keeps_state(sketch: Sketch) -> bool:
    """Whether a name, a list, an object or a caller gets what a module is asked for, or a part of it."""
    return _hands_on(sketch, sketch.of_file(_asking))


def _kept_by_methods(survey: Survey) -> bool:
    """Whether a method of any class of the file keeps what a module is asked for."""
    sketches: Sketches = survey.told["sketches"]
    return any(sketches.of(one).once(_keeps_state) for cls in survey.classes.values() for one in cls.methods.values())


def _asking(survey: Survey) -> frozenset[str]:
    """The names by which functions of the file are called that hand on what a module is asked for."""
    sketches: Sketches = survey.told["sketches"]
    found: set[str] = set()
    handing: set[Function] = set()
    pending = [one for one in survey.all if one is not survey.body and not _STATES.isdisjoint(one.calls)]
    callers: dict[str, list[Function]] = {}
    while pending:
        function = pending.pop()
        if function in handing or not _hands_on(sketches.of(function), found):
            continue
        handing.add(function)
        if not callers:
            for one in survey.all:
                for name in one.calls if one is not survey.body else ():
                    callers.setdefault(name, []).append(one)
        for name in _names_of(function) - found:
            found.add(name)
            pending += callers.get(name, ())
    return frozenset(found)


def _hands_on(sketch: Sketch, asking: Collection[str]) -> bool:
    """Whether anything keeps what a module, or one of the functions of these names, is asked for."""
    asked = sketch.function.calls.intersection((*_STATES, *asking))
    made: set[ast.AST] = {node for name in asked for node in sketch.named.get(name, ())}
    return bool(made) and sketch.reached_by(made, sketch.kept)


def shared_state(sketch: Sketch) -> bool:
    """An optimizer steps after its state was loaded into another one, or another one's into it."""
    return "step" in sketch.function.calls or trains(sketch)


def trains(sketch: Sketch, loads: bool = False) -> bool:
    """Whether a function trains a module, itself or in what it calls; with `loads`, or has one take another state."""
    function = sketch.function
    if _trains(function, sketch.survey, loads):
        return True
    trainers = sketch.of_file(_load_or_train if loads else _train)
    return bool(trainers) and not (trainers.isdisjoint(function.calls) and trainers.isdisjoint(_CALLED))


def _trains(function: Function, survey: Survey, loads: bool) -> bool:
    """Whether a function itself trains."""
    calls = function.calls
    if "step" in calls and _may_be_optimizer(function, survey):
        return True
    if loads and ("load_state_dict" in calls or _sets_data(function)):
        return True
    return not calls.isdisjoint(survey.once(_training_names))


def _training_names(survey: Survey) -> frozenset[str]:
    """Of the names that are called in the file, those that say that the call trains."""
    called = set().union(*(function.calls for function in survey.all))
    imported, more = survey.names.imported, survey.train_calls
    return frozenset(
        name
        for name in called
        if library.says_training(name, more)
        or (name == "train" and survey.once(_given_to_train))
        or (name in imported and library.says_training(imported[name].rpartition(".")[2], more))
    )


def _given_to_train(survey: Survey) -> bool:
    """Whether `train` is called with something that is no mode."""
    return any(
        called_name(node) == "train" and not _sets_mode(node)
        for function in survey.all
        if "train" in function.calls
        for node in function.found.get(ast.Call, ())
    )


def _sets_mode(node: ast.Call) -> bool:
    """`model.train()`, `model.train(False)`, `super().train(mode)`, `model.train(was_training)`."""
    given = [*node.args, *(one.value for one in node.keywords)]
    if len(given) == 1 and isinstance(node.func, ast.Attribute):
        name = getattr(given[0], "attr", getattr(given[0], "id", ""))
        return name.endswith(("mode", "training")) or is_number(given[0])
    return all(isinstance(one, ast.Constant) for one in given)


def _train(survey: Survey) -> frozenset[str]:
    return _trainers(survey, loads=False)


def _load_or_train(survey: Survey) -> frozenset[str]:
    return _trainers(survey, loads=True)


def _trainers(survey: Survey, loads: bool) -> frozenset[str]:
    """The names by which functions of the file are called that train, or call others that do."""
    found: set[str] = set()
    rest = []
    for function in survey.all:
        if function is not survey.body:
            if _trains(function, survey, loads):
                found |= _names_of(function)
            else:
                rest.append(function)
    changed = bool(found)
    while changed:
        more = [function for function in rest if not found.isdisjoint(function.calls)]
        rest = [function for function in rest if found.isdisjoint(function.calls)]
        for function in more:
            found |= _names_of(function)
        changed = bool(more)
    return frozenset(found)


def _names_of(function: Function) -> set[str]:
    constructs = function.name == "__init__" and function.cls is not None
    return {function.name, function.cls.name} if constructs and function.cls is not None else {function.name}


def _may_be_optimizer(function: Function, survey: Survey) -> bool:
    """Whether what steps in a function may be an optimizer, and not a scheduler or a simulation."""
    if "zero_grad" in function.calls:
        return True
    if survey.once(_names_optimizers) or _annotated(function):
        return True
    for node in function.found.get(ast.Call, ()):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "step":
            try:
                if library.says_optimizer(text_of(func.value)):
                    return True
            except ValueError:  # an integer too long to print
                return True
    return False


def _names_optimizers(survey: Survey) -> bool:
    """Whether the file names torch.optim."""
    if any(whole.startswith("torch.optim") for whole in survey.names.imported.values()):
        return True
    return any(node.attr == "optim" for one in survey.all for node in one.found.get(ast.Attribute, ()))


def _annotated(function: Function) -> bool:
    """Whether a parameter of the function, or a name in it, is said to be an optimizer."""
    spec = [] if isinstance(function.node, ast.Module) else [function.node.args]
    for node in (*spec, *function.found.get(ast.AnnAssign, ())):
        for part in walk(node):
            match part:
                case ast.Attribute(attr="optim"):
                    return True
                case ast.Constant(value=str(text)) if "optim" in text:
                    return True
    return False


def _sets_data(function: Function) -> bool:
    return any(
        isinstance(target, ast.Attribute) and target.attr == "data"
        for node in function.found.get(ast.Assign, ())
        for target in node.targets
    )


def _restored(function: Function) -> bool:
    """Whether a method sets an attribute that another one of the class loads back."""
    cls = function.cls
    return cls is not None and any(function.name in cls.assigns.get(name, ()) for name in cls.restores)


def _writes_held(sketch: Sketch) -> bool:
    """Whether something is written in place that may be a parameter, or the very thing that is asked for its state."""
    if writes_part(sketch):
        return True
    held = {rooted(call.func.value) for call in sketch.calls_of(_STATES) if isinstance(call.func, ast.Attribute)}
    return any(rooted(node) in held for node in written(sketch))
