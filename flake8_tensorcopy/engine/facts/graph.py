"""Graphs that live too long, are walked twice, or end before they reach what is trained."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.facts.base import Fact


class GraphRetained(Fact):
    """A value on the graph is kept from one pass to the next; `site` is the statement that keeps it."""

    target: str
    value: str
    how: str  # sum average list meter buffer
    backward: ast.AST | None  # where the value was backpropagated
    certain: bool
    given: tuple[ast.expr, ...] = ()  # what would have to be detached


class RecurrentState(Fact):
    """A state of one pass is fed into the next, whose backward walks both; `site` is where the state is bound."""

    state: str
    how: str  # loop: a name; attribute: of a module; retained: for nothing; outside: what a call before the loop gave
    call: ast.AST | None  # what the state is fed into
    backward: ast.AST | None
    retains: bool


class GraphCut(Fact):
    """A value on the graph is rebuilt as a new leaf on the way to a loss; `site` is the call or statement."""

    source: str
    op: str
    joined: ast.AST | None  # where the loss is backpropagated or returned
    forced: bool  # `requires_grad_(True)` on a value that has no graph
    made_of: str = ""  # tensor; tensors: all that a list holds are

    @property
    def returned(self) -> bool:
        return isinstance(self.joined, ast.Return)


class GradientNotCleared(Fact):
    """A loop moves a tensor by its own gradient and never clears that; `site` is the call of backward."""

    tensor: str
    update: ast.AST
    other: str  # what `zero_grad()` is called on, where that does not hold the tensor


class SteppedBefore(Fact):
    """An optimizer moves weights that a loss still needs for its backward; `site` is the step."""

    module: str
    call: ast.AST
    backward: ast.AST


class UntrainedPart(Fact):
    """A module that an optimizer holds is only called without a graph; `site` is the call."""

    module: str
    optimizer: ast.AST | None


class SelfRatio(Fact):
    """The ratio `exp(a - b)` where b is a itself; `site` is the statement that binds b."""

    name: str
    source: str
    ratio: ast.AST
