"""Screens of what is found by looking at all the methods of a class together."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.features import HANDS_OUT, LOADS_STATE, MODULE_ALIAS, STATE_DICT, WRITE
from flake8_tensorcopy.engine.methods import hands_out, sets_up
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.parts import writes_part
from flake8_tensorcopy.engine.screens.reach import attributes_returned, attributes_written
from flake8_tensorcopy.engine.screens.repeats import repeats
from flake8_tensorcopy.engine.screens.sketch import Sketch, sketch_of
from flake8_tensorcopy.engine.screens.training import trains
from flake8_tensorcopy.engine.source import Class, Function, Survey, called_name


def returned_buffers(survey: Survey, cls: Class) -> bool:
    """A method returns, and a method writes, something that is reached through the same attribute."""
    returned: set[str] = set()
    for method in cls.methods.values():
        if method.features & HANDS_OUT and hands_out(method):
            returned |= attributes_returned(survey, method)
    if not returned:
        return False
    writers = (one for one in _methods(survey, cls) if not sets_up(one.name))
    return any(not returned.isdisjoint(attributes_written(survey, one)) for one in writers)


def repeats_on_self(survey: Survey, cls: Class) -> bool:
    """A method that repeats something sets an attribute that a method writes."""
    stored: set[str] = set()
    methods = _methods(survey, cls)
    for method in methods:
        if repeats(method):
            stored |= {node.attr for node in method.found.get(ast.Attribute, ()) if isinstance(node.ctx, ast.Store)}
    return bool(stored) and any(not stored.isdisjoint(attributes_written(survey, one)) for one in methods)


def aliases_on_self(survey: Survey, cls: Class) -> bool:
    """A method may give one module two attributes, of which one is to be another module; and a method trains, or writes
    parameters, or calls something without gradients."""
    if not any(
        method.features & MODULE_ALIAS and not method.static and _names_twice(survey, method)
        for method in cls.methods.values()
    ):
        return False
    for method in _methods(survey, cls):
        sketch = sketch_of(survey, method)
        if trains(sketch, loads=True) or (method.features & WRITE and writes_part(sketch)):
            return True
        if not _WITHOUT_GRADIENTS.isdisjoint(method.calls):
            return True
    return False


_WITHOUT_GRADIENTS = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


def _names_twice(survey: Survey, method: Function) -> bool:
    """Whether one module may come into two attributes: one of them says that it is frozen, or one of them was moved."""
    sketch = sketch_of(survey, method)
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


def unregistered(survey: Survey, cls: Class) -> bool:
    """A list, tuple or dict of the object is given what a class, or a function of the file, makes."""
    held = {*cls.holders, *cls.inherited}
    methods = _methods(survey, cls)
    makers = survey.functions.keys() | survey.classes.keys() | {method.name for method in methods}
    for method in methods:
        sketch = sketch_of(survey, method)
        names: set[str] = set()  # what they hold is looked at once
        for value in _put(method, held):
            if _may_make(sketch, value, makers, names):
                return True
    return False


def _put(method: Function, attributes: Collection[str], name: str = "") -> Iterator[ast.expr]:
    """What a method binds attributes to, or puts into what they, or what a name, holds."""
    found = method.found

    def within(node: ast.expr) -> bool:
        return any(
            (isinstance(part, ast.Attribute) and part.attr in attributes)
            or (isinstance(part, ast.Name) and part.id == name)
            for part in walk(node)
        )

    for node in (*found.get(ast.Assign, ()), *found.get(ast.AnnAssign, ()), *found.get(ast.AugAssign, ())):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value is not None and not isinstance(target, ast.Name | ast.Tuple) and within(target):
                yield node.value
            elif isinstance(node, ast.AugAssign) and within(target):
                yield node.value
            elif isinstance(target, ast.Tuple) and attributes and within(target) and node.value is not None:
                yield node.value
    for node in found.get(ast.Call, ()):
        if isinstance(node.func, ast.Attribute) and within(node.func.value):
            yield from node.args
            yield from (one.value for one in node.keywords)


def _may_make(sketch: Sketch, value: ast.expr, makers: Collection[str], names: set[str]) -> bool:
    """Whether an expression, an item of it, or what its names hold, may be a layer or Parameter that is made here."""
    pending: list[ast.expr | None] = [value]
    while pending:
        node = pending.pop()
        match node:
            case ast.Call():
                name = called_name(node)
                if name[:1].isupper() or name in makers or name in _COPIES or not name:
                    return True
                pending += [*node.args, *(item.value for item in node.keywords)]
                if isinstance(node.func, ast.Attribute):
                    pending.append(node.func.value)
            case ast.Name(id=name):
                if name not in names:
                    names.add(name)
                    pending += [one for one, _ in sketch.bound.get(name, ())]
                    pending += _put(sketch.function, (), name)
            case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
                pending += [one, other]
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Dict(values=items) | ast.BoolOp(values=items):
                pending += items
            case ast.ListComp(elt=one) | ast.SetComp(elt=one) | ast.GeneratorExp(elt=one) | ast.DictComp(value=one):
                pending += [one, *(item.iter for item in node.generators)]
            case ast.Lambda(body=one):  # `defaultdict(lambda: nn.Linear(2, 2))`
                pending.append(one)
            case ast.Starred(value=one) | ast.Subscript(value=one) | ast.NamedExpr(value=one) | ast.Await(value=one):
                pending.append(one)
    return False


_COPIES = frozenset({"copy", "deepcopy"})


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
