"""Copies and moves that could be cheaper."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.facts.base import Fact


class HostScalar(Fact):
    """A tensor is moved to the host only to be printed, logged, or turned into a Python number; `site` is the move."""

    receiver: str
    move: str
    scalar: bool  # proven 0-d
    used: str  # logged, item, tolist, float, reduced, indexed, compared
    outer: ast.expr | None  # what reduces or indexes it, if the result is one tensor
    read: bool  # the result of that is read as a number at once
    operand: bool  # or is an operand, perhaps beside something on the host
    binding: ast.Assign | None  # the copy has a name, read once, where what is moved has not changed
    shown: ast.Name | None  # that read
    evidence: int


class CloneDetach(Fact):
    """`x.clone().detach()`: `site` is the detach call."""

    receiver: str
    clone: ast.expr
    argument: ast.expr | None  # of `torch.clone(x)`; None for the method
    second: bool  # what is cloned is new memory that nothing else holds
    graph: bool | None  # the receiver is on the graph: known, known not to be, unknown
    recording: bool | None  # grad mode


class MovedThenDetached(Fact):
    """`x.cpu().detach()`, also with views in between: `site` is the detach call."""

    receiver: str  # what is moved
    move: str
    moved: ast.Call  # the move
    graph: bool | None  # the receiver is on the graph: known, known not to be, unknown
    recording: bool | None  # grad mode


class TensorOfTensor(Fact):
    """`torch.tensor(x)` of a tensor, of a list of tensors, of a list of arrays."""

    constructor: str
    short: str  # tensor, new_tensor, as_tensor, FloatTensor ..
    argument: str
    given: ast.expr  # the argument
    form: str  # tensor, tensors, arrays
    defined: ast.AST | None  # where the argument was made, or the call of this function that passes it
    caller: bool  # `defined` is such a call
    new: bool  # a tensor that the same expression has just made, in memory of its own
    graph: bool | None  # a tensor of the list is on the graph: known, known that none is, unknown
    numbers: bool  # at least one tensor, each proven to be 0-d and to lie on the host
    filled: bool  # a list that surely holds something
    flat: bool  # a list of tensors, and none of them is known to hold its one number in a dimension of size 1
    converts: bool  # the call asks for a dtype or device: `x.new_tensor(y)` for those of x
    evidence: int


class RedundantClone(Fact):
    """One copy too many in one chain; `site` is the call that makes it.

    `form` says how: `fresh` a clone of new memory, `moved` a clone before a move or cast, `contiguous` a clone beside
    `contiguous()`, `indexed` a clone of which an index copies a part.
    """

    receiver: str
    form: str
    op: str  # the other copy
    clone: ast.expr
    argument: ast.expr | None  # of `torch.clone(x)`; None for the method
    contiguous: ast.expr | None  # the call beside which the clone stands
    dtype: str  # that a cast behind the clone makes by its name: `double()`
    detached: bool  # `detach()` follows, in an order with a cost of its own
    host: bool  # before a move: to the CPU, where it may be
    bare: bool  # before a move: an argument, whose name does not say that it holds more than a tensor
    evidence: int


class RedundantCast(Fact):
    """Two casts, one after the other, where the first has no effect on the result; `site` is the second."""

    receiver: str
    first: str
    second: str
    cast: ast.Call  # the first
    exact: bool  # the dtype before is known, and the first cast keeps every value of it
    evidence: int
    bare: bool  # an argument or item of unknown kind: perhaps a module


class RedundantRepeat(Fact):
    """`x.repeat(1, n, 1)` of axes of size 1 for one elementwise operation, or `x.repeat(1, 1, 1)`."""

    receiver: str
    call: str
    ones: bool  # every count is 1: nothing is repeated
    kept: tuple[ast.expr, ...]  # the counts, all 1, of dimensions that are there
    dims: int | None  # of the receiver, if known
    used: ast.AST | None  # the elementwise operation
    evidence: int


class MaterialisedExpand(Fact):
    """An expanded tensor for one elementwise operation, which would broadcast by itself."""

    receiver: str  # what is expanded
    op: str  # what copies the expanded tensor; nothing where it is only expanded
    expand: str
    expanded: ast.Call
    like: bool  # the other operand has the full shape
    used: ast.AST
    graph: bool | None  # whether an `expand` alone records a node
    evidence: int


class GrownInLoop(Fact):
    """`acc = torch.cat([acc, x])` in a loop that does nothing else with `acc`; `site` is the call."""

    name: str
    op: str
    loop: ast.AST


class FreshArrayCopied(Fact):
    """`torch.tensor(np.concatenate(..))`: a copy of an array that nothing else holds."""

    constructor: str
    made: str  # the call that makes the array, as text
    sure: bool  # a function of NumPy, not a method of something unknown
