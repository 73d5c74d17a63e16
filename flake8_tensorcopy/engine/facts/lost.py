"""Writes, results and rebindings that go nowhere."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from flake8_tensorcopy.engine.facts.base import Fact


class LostWrite(Fact):
    """An in-place op changed a copy that nobody else can see; `site` is the statement."""

    base: str
    op: str
    copied_by: str  # "index", or the op that made the copy, or "state_dict"
    index: ast.AST | None
    evidence: int
    probing: bool  # inside a test for an exception
    statement: ast.stmt | None = None
    copy: ast.AST | None = None  # the expression that copied, where what it copied is seen elsewhere
    written: ast.AST | None = None  # that expression, or an index of it, where the statement writes to it directly
    joined: bool = False  # `written` is an index of the copy, and one index of both says the same
    number: bool = False  # its one argument is a number
    repeatable: bool = False  # `copy` gives the same when it is evaluated again

    @property
    def verb(self) -> str:
        return "item assignment" if self.op == "[...] =" else f"in-place `{self.op}`"


class DroppedResult(Fact):
    """The result of an out-of-place op is thrown away; `site` is the call."""

    receiver: str
    op: str
    moves: bool  # a change of device, dtype or layout
    twin: bool  # torch has the in-place form `op_`
    views: bool  # the result is a view
    evidence: int
    receiver_evidence: int  # without what the call itself proves
    probing: bool
    statement: ast.stmt | None = None
    target: ast.expr | None = None  # what it was called on
    method: bool = False  # as a method
    slot: str = ""  # what an assignment to `target` binds: name attribute item; global, part (`.grad`) if it cannot
    read: bool = False  # the name is read afterwards
    alone: bool = False  # a tensor moved to a device, which only that local name of the function leads to
    leaf: bool = False  # a leaf or a Parameter, which a new tensor would not be
    recorded: bool = False  # a leaf, of which autograd would record a write
    asks: str = ""  # the argument that a function without such a form takes instead: inplace=True, out=


@dataclass(frozen=True, slots=True)
class Change:
    """How an assignment to a name, attribute or item could write to the tensor that was bound before."""

    form: str  # augmented: `x -= ..`; method: `x.mul_(..)`; copy: `x.copy_(..)`; empty: none of these, surely
    recorded: bool  # by autograd: not under `no_grad`
    clears: bool  # somewhere around, gradients are set to None or to zero
    argument: bool  # the name is an argument: the tensor is the caller's


class DeadRebinding(Fact):
    """A name bound to somebody's tensor is rebound to a computed one that is never read."""

    name: str
    origin: str  # loop argument parameter grad
    source: str  # what the name was bound to, as text
    uses_itself: bool
    uses_sibling: bool
    update: bool  # reads a gradient
    parameter: bool
    computed: bool  # arithmetic or an op that makes a new tensor
    evidence: int
    op: str
    plain: bool = False  # surely not on the graph, and no leaf
    picked: bool = False  # in the same pass of a loop, from a list, dict or item of it; a tensor is computed
    change: Change | None = None


class LeafRebound(Fact):
    """A leaf is replaced by a computed tensor where a leaf (or a Parameter) is expected afterwards."""

    target: str
    reason: str  # grad_read: `.grad` of the result is read; method: built as a leaf; parameter: a module's parameter;
    # marked: `requires_grad = True` is assigned to it
    expected: ast.AST | None
    evidence: int
    statement: ast.stmt | None = None
    change: Change | None = None
