"""What a run notes on its way for rules on training: calls of modules, sums that grow, updates, gradients cleared."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.values import Arm, Obj, Ref, Value, Write

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run


class ModuleCall(NamedTuple):
    """One call of a module, or of an object that may be one."""

    module: Obj
    node: ast.Call
    results: tuple[Obj, ...]
    fed: tuple[Value, ...]  # its arguments, the items of tuples and lists one by one
    grad: bool | None
    tick: int
    loop: tuple[int, ...]
    within: tuple[ast.stmt, ...]
    arms: frozenset[Arm]


class Added(NamedTuple):
    """Something kept beyond the current pass: added to a sum, averaged into one, put into a list."""

    site: ast.AST
    target: ast.expr
    how: str  # sum average list meter buffer
    name: str  # the value, as text
    objs: tuple[Obj, ...]  # what is kept, on the graph as far as known
    keeper: tuple[Obj, ...]  # what keeps it
    loop: tuple[int, ...]
    within: tuple[ast.stmt, ...]
    arms: frozenset[Arm]
    tick: int
    made: ast.AST  # the code that makes the new sum
    given: tuple[ast.expr, ...]  # the expressions that could be detached instead


class Update(NamedTuple):
    """A write of something computed from gradients, and whose gradients these are."""

    owners: tuple[Obj, ...]
    site: ast.AST
    loop: tuple[int, ...]
    within: tuple[ast.stmt, ...]
    targets: tuple[Ref, ...]


class Rebuilt(NamedTuple):
    """A tensor made of values on the graph by a constructor, or made a leaf: the graph ends there."""

    obj: Obj
    site: ast.AST
    source: str
    op: str
    forced: bool  # by `requires_grad_(True)`
    made_of: str = ""  # tensor tensors
    alone: bool = False  # a leaf from the start, whatever it was computed from


class Kept(NamedTuple):
    """An attribute set to what was computed from its own last value, or averaged with something in place."""

    target: ast.Attribute
    site: ast.stmt
    old: tuple[Obj, ...]
    value: Obj  # of an average in place: what goes into it,
    added: ast.expr | None = None  # and its expression
    by: Run | None = None  # of a method that `forward` calls: its run,
    given: tuple[Obj, ...] = ()  # and what of the caller's goes into the value
    item: bool = False  # an item of the attribute is set


class Holds(NamedTuple):
    """What an optimizer was given; `known` where that is all."""

    modules: tuple[Obj, ...]
    tensors: tuple[Obj, ...]
    known: bool


class Trail:
    """The notes of one run."""

    def __init__(self) -> None:
        self.calls: list[ModuleCall] = []
        self.added: list[Added] = []
        self.updates: list[Update] = []
        self.momenta: dict[Obj, tuple[Obj, ...]] = {}  # whose gradients were written into something
        self.zeroed: list[Value] = []  # receivers of `zero_grad()`
        self.optimizers: dict[Obj, Holds] = {}
        self.saving: dict[int, bool] = {}  # whether calls, by their ticks, save weights for backward
        self.moved: dict[Write, frozenset[Obj]] = {}  # by steps of optimizers of unknown make
        self.rebuilt: list[Rebuilt] = []
        self.kept: list[Kept] = []
        self.alike: dict[Obj, tuple[Ref, Ref]] = {}  # differences of a tensor with itself
        self._given: dict[Obj, list[int]] = {}  # the numbers of the calls that gave each
        self._counted = 0

    def giving(self, objs: Iterable[Obj]) -> list[ModuleCall]:
        """The calls, in order, that gave one of these objects."""
        for number in range(self._counted, len(self.calls)):
            for obj in self.calls[number].results:
                self._given.setdefault(obj, []).append(number)
        self._counted = len(self.calls)
        found = {number for obj in objs for number in self._given.get(obj, ())}
        return [self.calls[number] for number in sorted(found)]
