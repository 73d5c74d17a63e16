"""Screens of what is found by looking at all the methods of a class together."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.handed_out import hands_out, sets_up
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.repeats import repeats
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.screens.training import trains
from flake8_tensorcopy.engine.screens.writes import NUMPY_WRITES, writes_part, written
from flake8_tensorcopy.engine.source import (
    HANDS_OUT,
    INPLACE_MODULE,
    LOADS_STATE,
    MODULE_ALIAS,
    STATE_DICT,
    WRITE,
    Class,
    Function,
    Survey,
    called_name,
)


def returned_buffers(survey: Survey, cls: Class) -> bool:
    """A method returns, and a method writes, something that is reached through the same attribute."""
    returned: set[str] = set()
    for method in cls.methods.values():
        if method.features & HANDS_OUT and hands_out(method):
            returned |= _returned(survey, method)
    if not returned:
        return False
    writers = (one for one in _methods(survey, cls) if not sets_up(one.name))
    return any(not returned.isdisjoint(_written(survey, one)) for one in writers)


def _returned(survey: Survey, function: Function) -> set[str]:
    """The attributes through which a function may reach what it returns."""
    sketch = Sketch(survey, function, function.features)
    names: set[str] = set()
    values = [node.value for node in function.found.get(ast.Return, ()) if node.value is not None]
    attributes = _reached(sketch, values, names)
    for node in function.found.get(ast.Assign, ()):
        stored = [target.attr for target in node.targets if isinstance(target, ast.Attribute)]
        if stored and any(isinstance(part, ast.Name) and part.id in names for part in (*node.targets, *walk(node.value))):
            attributes.update(stored)
    return attributes


def _reached(sketch: Sketch, values: list[ast.expr], names: set[str]) -> set[str]:
    """The attributes in expressions and in what the names there are bound to; what is called only as a function of the
    file reaches them.  The names are added to those given."""
    attributes: set[str] = set()
    methods = sketch.of_file("by name", _by_name)
    pending = list(values)
    while pending:
        node = pending.pop()
        called = {
            id(part.func): part.func.attr
            for part in walk(node)
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
        }
        for part in walk(node):
            if isinstance(part, ast.Attribute):
                if id(part) not in called:
                    attributes.add(part.attr)
                for one in methods.get(part.attr, ()) if id(part) in called else ():
                    attributes |= _attributes(one)
            elif isinstance(part, ast.Name) and part.id not in names:
                names.add(part.id)
                pending += [value for value, _ in sketch.bound.get(part.id, ())]
    return attributes


def _by_name(survey: Survey) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for one in survey.all:
        found.setdefault(one.name, []).append(one)
    return found


def repeats_on_self(survey: Survey, cls: Class) -> bool:
    """A method that repeats something sets an attribute that a method writes."""
    stored: set[str] = set()
    methods = _methods(survey, cls)
    for method in methods:
        if repeats(method):
            stored |= {node.attr for node in method.found.get(ast.Attribute, ()) if isinstance(node.ctx, ast.Store)}
    return bool(stored) and any(not stored.isdisjoint(_written(survey, one)) for one in methods)


def aliases_on_self(survey: Survey, cls: Class) -> bool:
    """A method may give one module two attributes, of which one is to be another module; and a method trains, or writes
    parameters."""
    if not any(
        method.features & MODULE_ALIAS and not method.static and _names_twice(survey, method)
        for method in cls.methods.values()
    ):
        return False
    for method in _methods(survey, cls):
        sketch = Sketch(survey, method, method.features)
        if trains(sketch, loads=True) or (method.features & WRITE and writes_part(sketch)):
            return True
    return False


def _names_twice(survey: Survey, method: Function) -> bool:
    """Whether one module may come into two attributes: one of them says that it is frozen, or one of them was moved."""
    sketch = Sketch(survey, method, method.features)
    held: dict[str, list[tuple[str, bool]]] = {}
    for node in (*method.found.get(ast.Assign, ()), *method.found.get(ast.AnnAssign, ())):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        pairs = [(target, node.value) for target in targets]
        while pairs:
            target, value = pairs.pop()
            if isinstance(target, (ast.Tuple, ast.List)):
                if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                    pairs += zip(target.elts, value.elts, strict=True)
                continue
            if not isinstance(target, ast.Attribute):
                continue
            if len(targets) > 1:
                return True
            frozen = library.says_frozen(target.attr)
            moved = False
            while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                if value.func.attr not in library.MODULE_SELF:
                    break
                moved = True
                value = value.func.value
            match value:
                case ast.Name(id=name):
                    held.setdefault(name, []).append((target.attr, frozen or moved))
                    if (frozen or moved) and name in sketch.bound:
                        return True
                case ast.Attribute() | ast.IfExp() | ast.BoolOp() | ast.Subscript():
                    if frozen or moved:
                        return True
                case ast.Call(args=[_, *_]):
                    called = called_name(value)
                    known = survey.functions.keys() | {"copy"}
                    if called in known or survey.names.imported.get(called) == "copy.copy":
                        return True
    return any(len({name for name, _ in names}) > 1 and any(apart for _, apart in names) for names in held.values())


def states_on_self(survey: Survey, cls: Class) -> bool:
    """A method loads a state that it, or what it calls, has asked for; and a method makes steps."""
    if not any("step" in method.calls for method in cls.methods.values()):
        return False
    givers = {one.name for one in survey.all if one.features & STATE_DICT}
    return any(
        one.features & LOADS_STATE and (one.features & STATE_DICT or not givers.isdisjoint(one.calls))
        for one in cls.methods.values()
    )


def _methods(survey: Survey, cls: Class) -> list[Function]:
    """The methods of a class and of its bases in this file, those too that are defined anew."""
    found: list[Function] = []
    pending, seen = [cls], set()
    while pending:
        here = pending.pop()
        if here not in seen:
            seen.add(here)
            found += here.methods.values()
            pending += [
                survey.classes[base.id]
                for base in here.bases
                if isinstance(base, ast.Name) and base.id in survey.classes
            ]
    return found


def _attributes(function: Function) -> set[str]:
    return {node.attr for node in function.found.get(ast.Attribute, ())}


def _written(survey: Survey, function: Function) -> set[str]:
    """The attributes through which a function may reach what it, or what it calls, writes."""
    if not function.features & (WRITE | INPLACE_MODULE):
        return set()
    known: dict[Function, set[str]] = survey.told.setdefault("written", {})
    if function not in known:
        known[function] = _attributes_written(Sketch(survey, function, function.features))
    return known[function]


def _attributes_written(sketch: Sketch) -> set[str]:
    targets = list(written(sketch))
    found = sketch.function.found
    writers = sketch.of_file("writers", _writers)
    init = sketch.function.cls.methods.get("__init__") if sketch.function.cls is not None else None
    in_place = bool((sketch.features | (init.features if init is not None else 0)) & INPLACE_MODULE)
    for node in found.get(ast.Attribute, ()):
        if node.attr == "data" and isinstance(node.ctx, ast.Store):
            targets.append(node.value)
    for node in found.get(ast.Call, ()):
        name = called_name(node)
        method = node.func.value if isinstance(node.func, ast.Attribute) else None
        if (name[-1:] == "_" != name[:1]) or name in NUMPY_WRITES:
            targets += [*node.args[:1], *([method] if method is not None else [])]
        elif name in writers or in_place:
            targets += [*node.args, *(item.value for item in node.keywords), *([method] if method is not None else [])]
        else:
            flagged = any(item.arg in ("out", "inplace") for item in node.keywords)
            if flagged or any(isinstance(item, ast.Constant) and item.value is True for item in node.args):
                targets += [*node.args, *(item.value for item in node.keywords)]
    return _reached(sketch, targets, set())


def _writers(survey: Survey) -> frozenset[str]:
    """The functions of the file that may write, by the names by which they are called."""
    found = {one.name for one in survey.all if one.features & WRITE}
    return frozenset(found | {one.cls.name for one in survey.all if one.cls is not None and one.name == "__init__" and one.features & WRITE})
