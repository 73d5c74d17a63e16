"""What the screens share about one function, and about the functions of one file; made when it is first asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.order import Order
from flake8_tensorcopy.engine.screens.sharing import (
    IN_PLACE,
    NONE,
    PASSING,
    YIELDED,
    Roots,
    Sharing,
    collection,
    is_number,
    numbers_of,
)
from flake8_tensorcopy.engine.source import INPLACE_MODULE, WRITE, Class, Function, Survey

MAX_DEPTH = 8  # of calls that are looked into; what lies deeper may do anything

_CALLED = ("forward", "__call__")  # what a call of an object runs


@lru_cache(maxsize=1024)
def gives_back(name: str) -> bool:
    """Whether a module of torch.nn by that name may return what it is given, or a view of it: `Identity`, `Dropout`."""
    op = ops.function(f"torch.nn.{name}") if name[:1].isupper() else None
    return op is not None and op.form == "module" and op.result in ("view", "maybe", "same")


# What converts without a row of its own, or between torch and NumPy.
_CONVERTS = frozenset("numpy from_numpy as_tensor asarray Tensor FloatTensor from_dlpack __array__ rearrange".split())


@lru_cache(maxsize=4096)
def _may_copy(name: str) -> bool:
    rows = (ops.method(name), ops.function(f"torch.{name}"), ops.function(f"torch.nn.functional.{name}"))
    return name in _CONVERTS or any(op is not None and op.result in ("maybe", "array") for op in rows)


class Effects(NamedTuple):
    """What a call of a function may do: to its parameters, and to what its object holds (`self.x`)."""

    positions: Mapping[str, int]  # of its parameters in a call
    written: Roots = NONE
    returned: Roots = NONE  # what the result may be, or hold
    linked: tuple[Roots, ...] = ()  # of which one may hold another afterwards
    held: tuple[Roots, ...] = ()  # what something is put into: lists, dicts
    paired: bool = False  # two things that it returns together may be one
    uncertain: bool = False  # something in it shares or copies, as the case may be


class Sketches:
    """The sketches of one file, and what its functions do to what they are given, by the names they are called by."""

    def __init__(self, survey: Survey, inherited: Mapping[Class, int]) -> None:
        self.survey = survey
        self.inherited = inherited
        self._depth = 0
        self._known: dict[Function, Sketch] = {}
        self._called: dict[str, list[Effects]] = {}
        self._on: dict[tuple[Class, str], list[Effects]] = {}

    def of(self, function: Function) -> Sketch:
        """The sketch of a function of the file."""
        known = self._known.get(function)
        if known is None:
            features = function.features
            if function.cls is not None:
                features |= self.inherited.get(function.cls, 0)
            known = self._known[function] = Sketch(self, function, features)
        return known

    @cached_property
    def by_name(self) -> dict[str, list[Function]]:
        """The functions that a call may run: by their own name, or an attribute that holds an object."""
        found: dict[str, list[Function]] = {}
        for function in self.survey.all:
            if function.name[:2] != "__":
                found.setdefault(function.name, []).append(function)
        classes = self.survey.classes
        for name, made in self._made_of.items():
            for one in made:
                found.setdefault(name, []).extend(
                    method for called in _CALLED if (method := classes[one].methods.get(called)) is not None
                )
        return found

    @cached_property
    def _made_of(self) -> dict[str, set[str]]:
        """Of attributes: the classes of this file that are called where they are assigned."""
        found: dict[str, set[str]] = {}
        classes = self.survey.classes
        for function in self.survey.all:
            if function.calls.isdisjoint(classes):
                continue
            for node in function.found.get(ast.Assign, ()):
                if attributes := _attributes(node):
                    made = {
                        one.func.id
                        for one in walk(node.value)
                        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in classes
                    }
                    for name in attributes if made else ():
                        found.setdefault(name, set()).update(made)
        return found

    @cached_property
    def _modules(self) -> tuple[frozenset[str], frozenset[str]]:
        in_place: set[str] = set()
        passing: set[str] = set()
        for function in self.survey.all:
            works = function.features & INPLACE_MODULE
            passes = any(gives_back(name) for name in function.calls)
            for node in function.found.get(ast.Assign, ()) if works or passes else ():
                attributes = _attributes(node)
                marks = _marks(node.value) if attributes else ()
                if IN_PLACE in marks:
                    in_place.update(attributes)
                if PASSING in marks:
                    passing.update(attributes)
        return frozenset(in_place), frozenset(passing)

    @property
    def in_place(self) -> frozenset[str]:
        """The attributes that may hold a module which works in place."""
        return self._modules[0]

    @property
    def passing(self) -> frozenset[str]:
        """The attributes that may hold a module of torch.nn which gives back what it is given."""
        return self._modules[1]

    @cached_property
    def keepers(self) -> dict[str, int]:
        """Attributes that may hold a module of torch.nn which keeps something of a call, and what; no name is any."""
        from flake8_tensorcopy.engine.screens.saved import module_keeps

        found: dict[str, int] = {}
        for function in self.survey.all:
            made = {name: keeps for name in function.calls if (keeps := module_keeps(name))}
            if not made:
                continue
            for keeps in made.values():
                found[""] = found.get("", 0) | keeps
            for node in function.found.get(ast.Assign, ()):
                for attribute in _attributes(node):
                    for one in walk(node.value):
                        if isinstance(one, ast.Call):
                            name = getattr(one.func, "attr", getattr(one.func, "id", ""))
                            found[attribute] = found.get(attribute, 0) | made.get(name, 0)
        return found

    @cached_property
    def has_arrays(self) -> bool:
        """Whether the file may have arrays of NumPy's."""
        return any(name.split(".", 1)[0] == "numpy" for name in self.survey.names.imported.values()) or any(
            "numpy" in function.calls for function in self.survey.all
        )

    def made_in(self, node: ast.expr) -> tuple[set[str], set[str]]:
        """The classes of this file that are called in an expression, or for the attributes in it; the names in it."""
        made = _marks(node)
        names: set[str] = set()
        for one in walk(node):
            if isinstance(one, ast.Attribute):
                made |= self._made_of.get(one.attr, set())
                if one.attr in self.in_place:
                    made.add(IN_PLACE)
                if one.attr in self.passing:
                    made.add(PASSING)
            elif isinstance(one, ast.Name):
                (made if one.id in self.survey.classes else names).add(one.id)
        return made, names

    def called_objects(self, cls: str) -> list[Effects]:
        """The effects of a call of an object of a class of this file."""
        one = self.survey.classes[cls]
        name = next((name for name in _CALLED if self._method(one, name) is not None), "")
        return self.called_on(one, name) if name else []

    def called(self, name: str) -> list[Effects]:
        """The effects of a call by that name."""
        known = self._called.get(name)
        if known is None:
            functions = self.by_name.get(name, ())
            if self._depth >= MAX_DEPTH:
                return [self.of(one).anything for one in functions]
            self._called[name] = []  # until it is known: a call that comes back to this adds nothing
            self._depth += 1
            known = [one for function in functions if (one := self.of(function).effects) is not None]
            self._depth -= 1
            self._called[name] = known
        return known

    def called_on(self, cls: Class, name: str) -> list[Effects]:
        """The effects of `self.name(..)` in a method of a class: of its method, or of what the attribute holds."""
        mark = (cls, name)
        known = self._on.get(mark)
        if known is None:
            method = self._method(cls, name)
            if method is None:
                known = self.called(name) if name in self._made_of else []
            elif self._depth >= MAX_DEPTH:
                return [self.of(method).anything]
            else:
                self._on[mark] = []
                self._depth += 1
                effects = self.of(method).effects
                self._depth -= 1
                known = [] if effects is None else [effects]
            self._on[mark] = known
        return known

    def called_on_bases(self, cls: Class, name: str) -> list[Effects]:
        """The effects of `super().name(..)`."""
        found: list[Effects] = []
        for base in self._bases(cls):
            found += self.called_on(base, name)
        return found

    def _bases(self, cls: Class) -> list[Class]:
        classes = self.survey.classes
        return [classes[base.id] for base in cls.bases if isinstance(base, ast.Name) and base.id in classes]

    def _method(self, cls: Class, name: str) -> Function | None:
        pending, seen = [cls], set()
        while pending:
            here = pending.pop(0)
            if here not in seen:
                seen.add(here)
                if name in here.methods:
                    return here.methods[name]
                pending += self._bases(here)
        return None

    def called_on(self, cls: Class, name: str) -> list[Effects]:
        """The effects of `self.name(..)` in a method of a class: of its method, or of what the attribute holds."""
        mark = (cls, name)
        known = self._on.get(mark)
        if known is None:
            method = self._method(cls, name)
            if method is None:
                known = self.called(name) if name in self._made_of else []
            elif self._depth >= MAX_DEPTH:
                return [self.of(method).anything]
            else:
                self._on[mark] = []
                self._depth += 1
                effects = self.of(method).effects
                self._depth -= 1
                known = [] if effects is None else [effects]
            self._on[mark] = known
        return known

    def called_on_bases(self, cls: Class, name: str) -> list[Effects]:
        """The effects of `super().name(..)`."""
        found: list[Effects] = []
        for base in self._bases(cls):
            found += self.called_on(base, name)
        return found

    def _bases(self, cls: Class) -> list[Class]:
        classes = self.survey.classes
        return [classes[base.id] for base in cls.bases if isinstance(base, ast.Name) and base.id in classes]

    def _method(self, cls: Class, name: str) -> Function | None:
        pending, seen = [cls], set()
        while pending:
            here = pending.pop(0)
            if here not in seen:
                seen.add(here)
                if name in here.methods:
                    return here.methods[name]
                pending += self._bases(here)
        return None

    @cached_property
    def in_place(self) -> frozenset[str]:
        """The attributes that are assigned, somewhere, something made with `inplace=True`, or a bare True."""
        found: set[str] = set()
        for function in self.survey.all:
            for node in function.found.get(ast.Assign, ()) if function.features & INPLACE_MODULE else ():
                attributes = [target.attr for target in node.targets if isinstance(target, ast.Attribute)]
                if attributes and any(isinstance(one, ast.Call) for one in ast.walk(node.value)):
                    found.update(attributes)
        return frozenset(found)

    # ----- attributes, by their names alone

    @cached_property
    def _attributes(self) -> tuple[frozenset[str], frozenset[str]]:
        numbers: set[str] = set()
        collections: set[str] = set()
        other: set[str] = set()
        for function in self.survey.all:
            found = function.found
            for node in found.get(ast.Assign, ()):
                for target in node.targets:
                    for one in target.elts if isinstance(target, ast.Tuple) else (target,):
                        if isinstance(one, ast.Attribute):
                            value = node.value
                            kind = numbers if is_number(value) else collections if collection(value) else other
                            (kind if one is target else other).add(one.attr)
            for kind_of_node in (ast.AnnAssign, ast.AugAssign):
                for node in found.get(kind_of_node, ()):
                    if isinstance(node.target, ast.Attribute) and node.value is not None:
                        value = node.value
                        kind = numbers if is_number(value) else collections if collection(value) else other
                        if kind is other or kind_of_node is ast.AnnAssign:
                            kind.add(node.target.attr)
            for kind_of_node in (ast.For, ast.AsyncFor, ast.withitem):
                for node in found.get(kind_of_node, ()):
                    for one in ast.walk(node.optional_vars or node if kind_of_node is ast.withitem else node.target):
                        if isinstance(one, ast.Attribute):
                            other.add(one.attr)
        return frozenset(numbers - other - collections), frozenset(collections - other - numbers)

    @property
    def numbers(self) -> frozenset[str]:
        """The attributes that this file sets to numbers or texts and nothing else."""
        return self._attributes[0]

    @cached_property
    def collections(self) -> frozenset[str]:
        """The attributes that this file sets to lists, tuples, dicts, sets and nothing else, as `self.x`."""
        return frozenset(f"self.{name}" for name in self._attributes[1])

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
                        (made if node.value is not None and collection(node.value) else other).add(target.id)
        return frozenset(made - other)

    @cached_property
    def leaves(self) -> frozenset[str]:
        """The attributes that are parameters: a layer's, and those that are assigned one somewhere in the file."""
        found = {"weight", "bias"}
        for function in self.survey.all:
            if "Parameter" not in function.calls and "register_parameter" not in function.calls:
                continue
            for node in function.found.get(ast.Assign, ()):
                if any(isinstance(one, ast.Call) for one in ast.walk(node.value)):
                    found.update(target.attr for target in node.targets if isinstance(target, ast.Attribute))
            for node in function.found.get(ast.Call, ()):
                if getattr(node.func, "attr", "") == "register_parameter" and node.args:
                    found.add(str(getattr(node.args[0], "value", "")))
        return frozenset(found)


class Sketch:
    """A function, looked at without running it.

    `function.found` has its nodes by type, those of functions inside it too, in no order.
    """

    def __init__(self, file: Sketches, function: Function, features: int) -> None:
        self.file = file
        self.survey = file.survey
        self.function = function
        self.features = features  # with those that `__init__` adds
        self._busy = False
        self._with_keepers: Order | None = None

    @cached_property
    def numbers(self) -> set[str]:
        """Names that hold numbers or texts only."""
        return numbers_of(self.function)

    @cached_property
    def looks(self) -> Sharing:
        """The writes; which names may share storage is not known yet."""
        return Sharing(self)

    @cached_property
    def sharing(self) -> Sharing:
        """Which names may share storage, and the writes."""
        self._busy = True
        made = self.looks.bind()
        self._busy = False
        return made

    @cached_property
    def order(self) -> Order:
        """The order of statements and reads, with the spans of the writes."""
        return Order(self.function, [write.node for write in self.sharing.writes])

    def order_of(self, keepers: list[ast.AST]) -> Order:
        """The same with the spans of what keeps something, too."""
        if self._with_keepers is None:
            nodes = [*(write.node for write in self.sharing.writes), *keepers]
            self._with_keepers = Order(self.function, nodes)
        return self._with_keepers

    @cached_property
    def given(self) -> dict[str, int]:
        """The parameters, but `self`, and their positions in a call."""
        node = self.function.node
        if isinstance(node, ast.Module):
            return {}
        spec = node.args
        named = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        if self.function.cls is not None and not self.function.static:
            named = named[1:]
        found = dict(zip(named, range(len(named)), strict=True))
        found.update((one.arg, 1000) for one in spec.kwonlyargs)
        return found

    @cached_property
    def annotated(self) -> dict[str, str]:
        """The parameters that have an annotation, and its name if it is a plain one, or in quotes."""
        node = self.function.node
        if isinstance(node, ast.Module):
            return {}
        spec = node.args
        return {
            one.arg: str(getattr(one.annotation, "id", getattr(one.annotation, "value", "")))
            for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
            if one.annotation is not None
        }

    @cached_property
    def iterated(self) -> set[ast.expr]:
        """What loops go over, and what `zip` and its like are given there."""
        found = self.function.found
        over = [node.iter for kind in (ast.For, ast.AsyncFor, ast.comprehension) for node in found.get(kind, ())]
        for one in over:  # the list grows meanwhile
            if isinstance(one, ast.Call):
                over += one.args
        return set(over)

    def makers(self, roots: Roots) -> set[ast.AST]:
        """The statements that bind one of the roots anew: what they read is the source, not an old value."""
        found = self.function.found
        return {
            node
            for kind in (ast.Assign, ast.AnnAssign, ast.For)
            for node in found.get(kind, ())
            for target in (node.targets if kind is ast.Assign else (node.target,))
            if self.sharing.root_of_targets(target) & roots and not isinstance(target, ast.Subscript)
        }

    @property
    def open(self) -> list[str]:
        """`*args` and `**kwargs`, which may be any argument."""
        node = self.function.node
        spread = () if isinstance(node, ast.Module) else (node.args.vararg, node.args.kwarg)
        return [one.arg for one in spread if one is not None]

    @property
    def anything(self) -> Effects:
        """All that a call might do."""
        every = frozenset((*self.given, *self.open, "self"))
        return Effects(self.given, every if self.features & WRITE else NONE, every, (every,), (every,), True, True)

    @cached_property
    def effects(self) -> Effects | None:
        """What a call of the function may do; None if that is nothing."""
        if self._busy:
            return None
        sharing = self.sharing
        outside: dict[str, list[str]] = {}
        for name in (*self.given, *self.open, *sharing.of_self):
            outside.setdefault(sharing.find(name), []).append(name)
        found = self.function.found
        given_back = [
            node.value
            for kind in (ast.Return, ast.Yield, ast.YieldFrom)
            for node in found.get(kind, ())
            if node.value is not None
        ]
        returns = (root for value in given_back for root in sharing.shares(value))
        written = (root for write in sharing.writes for root in write.roots) if self.features & WRITE else ()
        made = Effects(
            self.given,
            self._names(sharing, outside, written),
            self._names(sharing, outside, returns),
            tuple(frozenset(names) for names in outside.values() if len(names) > 1),
            tuple(held for one in sharing.held if (held := self._names(sharing, outside, one))),
            any(_pairs(sharing, value) for value in given_back),
            any(_may_copy(name) or name in self.file.by_name for name in self.function.calls),
        )
        return made if made.written or made.returned or made.linked or made.paired else None

    def _names(self, sharing: Sharing, outside: dict[str, list[str]], roots: Iterable[str]) -> Roots:
        return frozenset(
            name
            for root in roots
            for name in (outside.get(sharing.find(root)) or ([root] if root[:4] == "self" else ()))
        )


def _attributes(node: ast.Assign) -> list[str]:
    """The attributes that an assignment sets, by name; those of `a.x, a.y = ..` too."""
    return [
        one.attr
        for target in node.targets
        for one in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,))
        if isinstance(one, ast.Attribute)
    ]


def _marks(node: ast.expr) -> set[str]:
    """Whether an expression makes a module that works in place, or one that gives back what it is given."""
    if isinstance(node, ast.Call) and node.args and getattr(node.func, "attr", getattr(node.func, "id", "")) == "Sequential":
        first = node.args[0]  # what it is given, only its first module gets
        return {IN_PLACE, PASSING} if isinstance(first, ast.Starred) else _marks(first)
    found: set[str] = set()
    for one in walk(node):
        if isinstance(one, ast.Call):
            name = getattr(one.func, "attr", getattr(one.func, "id", ""))
            if any(keyword.arg == "inplace" for keyword in one.keywords) or any(
                isinstance(given, ast.Constant) and given.value is True for given in one.args
            ):
                found.add(IN_PLACE)
            if gives_back(name):
                found.add(PASSING)
            if name in ("Sequential", "ModuleList") and any(isinstance(given, (ast.Name, ast.Starred)) for given in one.args):
                found |= {IN_PLACE, PASSING}
    return found


def _pairs(sharing: Sharing, value: ast.expr) -> bool:
    """Whether two of several things that are returned may be one."""
    if not isinstance(value, (ast.Tuple, ast.List)):
        return False
    seen: set[str] = set()
    for item in value.elts:
        groups = sharing.groups(sharing.shares(item))
        if not seen.isdisjoint(groups):
            return True
        seen |= groups
    return False


__all__ = ["YIELDED", "Effects", "Sketch", "Sketches"]
