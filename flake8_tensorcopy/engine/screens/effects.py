"""What the functions of one file do to what they are given, by the names that they are called by."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.features import INPLACE_MODULE, WRITE
from flake8_tensorcopy.engine.methods import is_property
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.groups import (
    CONVERTED,
    EXPANDED,
    GRADIENT,
    LEAF,
    NOTHING,
    PUT,
    VIEWED,
    Group,
    find,
)
from flake8_tensorcopy.engine.screens.kept import module_keeps
from flake8_tensorcopy.engine.screens.layers import IN_PLACE, PASSING, gives_back, makers, marks_of
from flake8_tensorcopy.engine.screens.looks import collects, is_number, name_called
from flake8_tensorcopy.engine.source import Class, Function, Survey

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.sketch import Sketch

MAX_DEPTH = 8  # of calls that are looked into; what lies deeper may do anything
MAX_MEANT = 16  # functions that a call may be of
MAX_PATHS = 32  # of all effects of a function: callers carry each of them on; one that has more may do anything

# Dicts of every torch.nn.Module, by the names of what it holds.
_OF_MODULES = frozenset(
    "_parameters _buffers _modules _forward_hooks _forward_pre_hooks _backward_hooks _backward_pre_hooks "
    "_state_dict_hooks _load_state_dict_pre_hooks".split()
)
_CALLED = ("forward", "__call__")  # what a call of an object runs
HANDED_ON = CONVERTED | EXPANDED | GRADIENT | VIEWED | PUT

Path = tuple[str, tuple[str, ...]]  # a parameter, and the fields that lead on from it


class Effect(NamedTuple):
    """Parts of what a function is given that may be one storage afterwards, and what is done to it."""

    paths: tuple[Path, ...]
    written: bool
    recorded: bool  # by a write in grad mode, for all that is known
    returned: bool  # the result may be that, or hold it
    flags: int


class Effects(NamedTuple):
    """What a call of a function may do."""

    positions: Mapping[str, int]  # of its parameters in a call
    groups: tuple[Effect, ...]
    fresh: int | None = None  # flags of what it makes and returns, if there are any


def _of_any(several: list[Effects]) -> list[Effects]:
    """The effects of a call that may be of one of several functions; of very many, all that any of them might do."""
    if len(several) <= MAX_MEANT:
        return several
    every = [effect for one in several for effect in one.groups]
    written, recorded = any(effect.written for effect in every), any(effect.recorded for effect in every)
    return [Effects({}, (Effect((("self", ()), ("", ())), written, recorded, True, HANDED_ON),), 0)]


class Sketches:
    """The functions of one file, and what is asked of them by name; each part made when it is first asked for."""

    leaf = LEAF

    def __init__(self, survey: Survey, inherited: Mapping[Class, int]) -> None:
        self.survey = survey
        self.inherited = inherited
        self._depth = 0
        survey.told["sketches"] = self
        self._known: dict[Function, Sketch] = {}
        self._called: dict[str, list[Effects]] = {}
        self._on: dict[tuple[Class, str], list[Effects]] = {}
        self._objects: dict[str, list[Effects]] = {}
        self._callers: dict[frozenset[str], frozenset[str]] = {}
        self._called_by: dict[str, list[str]] | None = None

    def of(self, function: Function) -> Sketch:
        """The sketch of a function of the file."""
        from flake8_tensorcopy.engine.screens.sketch import Sketch

        known = self._known.get(function)
        if known is None:
            features = function.features
            if function.cls is not None:
                features |= self.inherited.get(function.cls, 0)
            known = self._known[function] = Sketch(self, function, features)
        return known

    def release(self) -> None:
        """Undo what holds itself: see `Survey.release`."""
        for sketch in self._known.values():
            vars(sketch).clear()
        self._known.clear()

    # ----- functions by name

    @cached_property
    def by_name(self) -> dict[str, list[Function]]:
        """The functions and methods by their own names."""
        found: dict[str, list[Function]] = {}
        for function in self.survey.all:
            if function.name[:2] != "__" or function.name in _CALLED:
                found.setdefault(function.name, []).append(function)
        return found

    @cached_property
    def properties(self) -> dict[str, frozenset[str]]:
        """The attributes of the object that properties may return."""
        from flake8_tensorcopy.engine.screens.reach import attributes_returned

        found: dict[str, frozenset[str]] = {}
        for function in self.survey.all:
            if function.cls is not None and is_property(function):
                held = attributes_returned(self.survey, function)
                found[function.name] = found.get(function.name, NOTHING) | held
        return found

    def called(self, name: str) -> list[Effects]:
        """The effects of a call by that name: of functions, and of the objects that attributes of that name hold."""
        known = self._called.get(name)
        if known is None:
            self._called[name] = []  # until it is known: a call that comes back to this adds nothing
            known = [one for function in self.by_name.get(name, ()) if (one := self._effects(function)) is not None]
            known = self._called[name] = _of_any([*known, *self._held(name)])
        return known

    def _held(self, attribute: str) -> list[Effects]:
        """The effects of a call of what attributes of that name hold."""
        known = self._objects.get(attribute)
        if known is None:
            self._objects[attribute] = []
            classes = [made for made in sorted(self.made_of(attribute)) if made[0] != "<"]
            known = self._objects[attribute] = _of_any([one for made in classes for one in self.called_objects(made)])
        return known

    def _effects(self, function: Function) -> Effects | None:
        if self._depth >= MAX_DEPTH:
            return self.of(function).anything
        self._depth += 1
        try:
            return self.of(function).effects
        finally:
            self._depth -= 1

    def called_on(self, cls: Class, name: str) -> list[Effects]:
        """The effects of `self.name(..)` in a method of a class: of its method, or of what the attribute holds."""
        mark = (cls, name)
        known = self._on.get(mark)
        if known is None:
            self._on[mark] = []
            method = self.method(cls, name)
            if method is not None:
                effects = self._effects(method)
                known = [] if effects is None else [effects]
            else:
                known = self._held(name)
            self._on[mark] = known
        return known

    def called_on_bases(self, cls: Class, name: str) -> list[Effects]:
        """The effects of `super().name(..)`."""
        return [one for base in self._bases(cls) for one in self.called_on(base, name)]

    def called_objects(self, cls: str) -> list[Effects]:
        """The effects of a call of an object of a class of this file."""
        one = self.survey.classes[cls]
        name = next((name for name in _CALLED if self.method(one, name) is not None), "")
        return self.called_on(one, name) if name else []

    def _bases(self, cls: Class) -> list[Class]:
        classes = self.survey.classes
        return [classes[base.id] for base in cls.bases if isinstance(base, ast.Name) and base.id in classes]

    def method(self, cls: Class, name: str) -> Function | None:
        """The method as Python would find it among the classes of this file."""
        pending, seen = [cls], set()
        while pending:
            here = pending.pop(0)
            if here not in seen:
                seen.add(here)
                if name in here.methods:
                    return here.methods[name]
                pending += self._bases(here)
        return None

    def callers_of(self, names: frozenset[str]) -> frozenset[str]:
        """The functions of the file that call one of these names, or one another that does, by their names."""
        known = self._callers.get(names)
        if known is None:
            if self._called_by is None:
                self._called_by = {}
                for caller, calls in self.survey.once(callees).items():
                    for name in calls:
                        self._called_by.setdefault(name, []).append(caller)
            found: set[str] = set()
            pending = list(names)
            while pending:
                for caller in self._called_by.get(pending.pop(), ()):
                    if caller not in found:
                        found.add(caller)
                        pending.append(caller)
            known = self._callers[names] = frozenset(found)
        return known

    # ----- attributes, by their names alone

    @cached_property
    def _made(self) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        classes, built = self.survey.classes, self.survey.once(makers)
        for function in self.survey.all:
            marked = function.features & INPLACE_MODULE or any(gives_back(name) for name in function.calls)
            if not marked and function.calls.isdisjoint(classes) and function.calls.isdisjoint(built):
                continue
            for node in function.found.get(ast.Assign, ()):
                if attributes := _attributes(node):
                    made = marks_of(node.value)
                    for one in walk(node.value):
                        if isinstance(one, ast.Call):
                            if isinstance(one.func, ast.Name) and one.func.id in classes:
                                made |= {one.func.id}
                            if name_called(one.func) in built:
                                made |= {IN_PLACE, PASSING}
                    for name in attributes if made else ():
                        found[name] = found.get(name, NOTHING) | made
        return found

    def made_of(self, attribute: str) -> frozenset[str]:
        """The classes of this file that are called where an attribute of that name is assigned; marks of modules."""
        return self._made.get(attribute, NOTHING)

    @cached_property
    def _kinds(self) -> tuple[frozenset[str], frozenset[str]]:
        numbers: set[str] = set()
        collections: set[str] = set()
        other: set[str] = set()

        def note(name: str, value: ast.expr) -> None:
            (numbers if is_number(value) else collections if collects(value) else other).add(name)

        for function in self.survey.all:
            found = function.found
            for node in found.get(ast.Assign, ()):
                for target in node.targets:
                    if isinstance(target, ast.Attribute):
                        note(target.attr, node.value)
                    elif isinstance(target, (ast.Tuple, ast.List)):
                        other.update(one.attr for one in target.elts if isinstance(one, ast.Attribute))
            for node in found.get(ast.AnnAssign, ()):
                if isinstance(node.target, ast.Attribute) and node.value is not None:
                    note(node.target.attr, node.value)
            for node in found.get(ast.AugAssign, ()):
                if isinstance(node.target, ast.Attribute) and not is_number(node.value) and not collects(node.value):
                    other.add(node.target.attr)
            for kind in (ast.For, ast.AsyncFor):
                for node in found.get(kind, ()):
                    other.update(one.attr for one in walk(node.target) if isinstance(one, ast.Attribute))
            for node in found.get(ast.withitem, ()):
                if node.optional_vars is not None:
                    other.update(one.attr for one in walk(node.optional_vars) if isinstance(one, ast.Attribute))
        return frozenset(numbers - other - collections), (_OF_MODULES | collections) - other - numbers

    @property
    def numbers(self) -> frozenset[str]:
        """The attributes that this file sets to numbers or texts and nothing else."""
        return self._kinds[0]

    @property
    def collections(self) -> frozenset[str]:
        """The attributes that this file sets to lists, tuples, dicts, sets and nothing else, and those of modules."""
        return self._kinds[1]

    @cached_property
    def globals(self) -> frozenset[str]:
        """The names that the module's own statements give lists, tuples, dicts, sets and nothing else."""
        made: set[str] = set()
        other: set[str] = set()
        found = self.survey.body.found
        for kind in (ast.Assign, ast.AnnAssign):
            for node in found.get(kind, ()):
                for target in node.targets if kind is ast.Assign else (node.target,):
                    if isinstance(target, ast.Name):
                        (made if node.value is not None and collects(node.value) else other).add(target.id)
        return frozenset(made - other)

    @cached_property
    def leaves(self) -> frozenset[str]:
        """The attributes that are parameters: a layer's, and those that are assigned one somewhere in the file."""
        found = {"weight", "bias"}
        for function in self.survey.all:
            if "Parameter" not in function.calls and "register_parameter" not in function.calls:
                continue
            for node in function.found.get(ast.Assign, ()):
                if any(isinstance(one, ast.Call) for one in walk(node.value)):
                    found.update(_attributes(node))
            for node in function.found.get(ast.Call, ()):
                if getattr(node.func, "attr", "") == "register_parameter" and node.args:
                    found.add(str(getattr(node.args[0], "value", "")))
        return frozenset(found)

    @cached_property
    def keepers(self) -> dict[str, int]:
        """Attributes that may hold a module of torch.nn which keeps something of a call, and what; no name is any."""
        found: dict[str, int] = {}
        for function in self.survey.all:
            for name in _annotated(function):
                if keeps := module_keeps(name):
                    found[""] = found.get("", 0) | keeps
            made = {name: keeps for name in function.calls if (keeps := module_keeps(name))}
            if not made:
                continue
            for keeps in made.values():
                found[""] = found.get("", 0) | keeps
            for node in function.found.get(ast.Assign, ()):
                for attribute in _attributes(node):
                    for one in walk(node.value):
                        if isinstance(one, ast.Call):
                            found[attribute] = found.get(attribute, 0) | made.get(name_called(one.func), 0)
        return found

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The attributes that are assigned, somewhere in the file, what NumPy gave."""
        names = self.survey.names
        if not any(name.split(".", 1)[0] == "numpy" for name in names.imported.values()):
            return NOTHING
        return frozenset(
            attribute
            for function in self.survey.all
            for node in function.found.get(ast.Assign, ())
            if (attributes := _attributes(node))
            and any(
                isinstance(one, ast.Call)
                and (name_called(one.func) == "numpy" or (names.qualify(one.func) or "").startswith("numpy."))
                for one in walk(node.value)
            )
            for attribute in attributes
        )


def callees(survey: Survey) -> dict[str, set[str]]:
    """What the functions of a file call, by their names; an object's constructor under that of its class."""
    found: dict[str, set[str]] = {}
    for function in survey.all:
        found.setdefault(function.name, set()).update(function.calls)
        if function.name == "__init__" and function.cls is not None:
            found.setdefault(function.cls.name, set()).update(function.calls)
    return found


def _annotated(function: Function) -> list[str]:
    """The last parts of the names that annotate the parameters of a function."""
    spec = getattr(function.node, "args", None)
    given = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if spec is not None else ()
    return [name_called(one.annotation) for one in given if isinstance(one.annotation, (ast.Name, ast.Attribute))]


def _attributes(node: ast.Assign) -> list[str]:
    """The attributes that an assignment sets, by name; those of `a.x, a.y = ..` too."""
    return [
        one.attr
        for target in node.targets
        for one in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,))
        if isinstance(one, ast.Attribute)
    ]


def effects_of(sketch: Sketch) -> Effects | None:
    """What a call of a function may do; None if that is nothing."""
    trace = sketch.trace
    outside: dict[Group, list[Path]] = {}
    for name in (*sketch.given, *sketch.open, "self"):
        entry = trace.entry.get(name)
        if entry is None:
            continue
        top = find(entry)
        if name != "self":
            outside.setdefault(top, []).append((name, ()))
        for key, held in list(top.fields.items()):
            inner = find(held)
            outside.setdefault(inner, []).append((name, (key,)))
            for deeper, below in list(inner.fields.items()):
                outside.setdefault(find(below), []).append((name, (key, deeper)))
    written = {find(group) for write in trace.writes for group in write.groups} if sketch.features & WRITE else set()
    recorded = {find(group) for write in trace.writes if write.recorded for group in write.groups}
    returned: set[Group] = set()
    fresh: int | None = None
    for _, groups in trace.returned:
        for group in groups:
            pending = [find(group)]
            for one in pending:
                if one in returned:
                    continue
                returned.add(one)
                pending += map(find, one.fields.values()) if one.container or one.fields else ()
                if one not in outside and one.flags & HANDED_ON:
                    fresh = (fresh or 0) | one.flags & HANDED_ON
    if not outside and fresh is None:
        return None
    found = tuple(
        Effect(tuple(paths), group in written, group in recorded, group in returned, group.flags & HANDED_ON)
        for group, paths in outside.items()
        if group in written or group in returned or len(paths) > 1
    )
    if sum(len(effect.paths) for effect in found) > MAX_PATHS:
        return sketch.anything
    if fresh is None and _returns_pairs(trace.returned, outside):
        fresh = 0
    return Effects(sketch.given, found, fresh) if found or fresh is not None else None


def _returns_pairs(returned: Iterable[tuple[ast.expr, tuple[Group, ...]]], outside: Mapping[Group, object]) -> bool:
    """Whether two of several things that are made and returned together may be one."""
    for value, groups in returned:
        if not isinstance(value, (ast.Tuple, ast.List)):
            continue
        seen: set[Group] = set()
        for group in groups:
            for held in find(group).fields.values():
                one = find(held)
                if one in seen and one not in outside:
                    return True
                seen.add(one)
    return False
