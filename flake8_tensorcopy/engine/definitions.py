"""What the survey of a file gives: its functions, its classes, and what is known of each."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.names import Names

T = TypeVar("T")
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, eq=False)
class Function:
    """A function, a method, or the statements of the module itself (`node` is the Module)."""

    name: str
    node: FunctionNode | ast.Module
    cls: Class | None = None
    features: int = 0
    depth: int = 0
    calls: set[str] = field(default_factory=set)
    inner: list[FunctionNode | ast.Lambda] = field(default_factory=list)
    loops: set[str] = field(default_factory=set)  # targets of for loops
    stores: set[str] = field(default_factory=set)  # names assigned
    picked: dict[str, str] = field(default_factory=dict)  # of these, set again after `x = xs[i]`, `x = i.data`, and i
    of_self: set[str] = field(default_factory=set)  # names assigned to what `self` holds
    gives: set[str] = field(default_factory=set)  # names returned
    moved: set[str] = field(default_factory=set)  # names whose `.to(..)` was bound
    generates: bool = False  # returns a generator
    found: dict[type[ast.AST], list[Any]] = field(default_factory=dict)  # its nodes that tell something, by their type

    @property
    def wrapped(self) -> bool:
        """A decorator may change what a call does."""
        decorators = [] if isinstance(self.node, ast.Module) else self.node.decorator_list
        for item in decorators:
            target = item.func if isinstance(item, ast.Call) else item
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if name not in library.PLAIN_DECORATORS:
                return True
        return False

    @property
    def static(self) -> bool:
        """A static method: called without the object."""
        decorators = () if isinstance(self.node, ast.Module) else self.node.decorator_list
        return bool(decorators) and any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in decorators)


@dataclass(slots=True, eq=False)
class Class:
    """A class of the file: its bases as written, its methods, the attributes that each method assigns on self."""

    name: str
    node: ast.ClassDef
    bases: list[ast.expr]
    methods: dict[str, Function] = field(default_factory=dict)
    assigns: dict[str, set[str]] = field(default_factory=dict)  # attribute -> methods that assign it
    restores: dict[str, list[tuple[str, ast.Call]]] = field(default_factory=dict)  # `m.load_state_dict(self.attr)`
    annotations: dict[str, ast.expr] = field(default_factory=dict)  # of its body: dataclass fields
    # Attributes that a method assigns a list, tuple or dict that it made, or what a call (named here) returned.
    holders: dict[str, str] = field(default_factory=dict)
    inherited: dict[str, str] = field(default_factory=dict)  # those of its bases in the file
    keeps: bool = False  # has such attributes, or a class above or below it has


@dataclass(slots=True, eq=False)
class Survey:
    """The result of the one walk."""

    names: Names
    functions: dict[str, Function]
    classes: dict[str, Class]
    body: Function
    all: list[Function]
    units: list[tuple[int, int]]  # line ranges that can be parsed alone: functions, top-level statements
    deleted: set[str] = field(default_factory=set)  # attributes that some `del x.name` removes
    collates: set[str] = field(default_factory=set)  # functions that a DataLoader is given to make batches
    train_calls: frozenset[str] = frozenset()  # the user's own names of functions that train what they are given
    told: dict[object, Any] = field(default_factory=dict)  # what screens have made out about the whole file

    def once(self, make: Callable[[Survey], T]) -> T:
        """What a function makes out about the file, kept for the next time."""
        if make not in self.told:
            self.told[make] = make(self)
        found: T = self.told[make]
        return found

    def release(self) -> None:
        """Undo what holds itself, once nothing is asked any more: it would wait for the garbage collector, which costs
        more than to let go of it."""
        self.told.clear()
        for cls in self.classes.values():
            cls.methods.clear()
