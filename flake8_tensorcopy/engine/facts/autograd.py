"""What breaks the autograd graph, or goes past it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Fact, verb_of

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class LeafWrite(Fact):
    """A leaf that requires grad (a Parameter, `requires_grad=True`) is written in grad mode; `site` is the write."""

    writer: str
    op: str
    how: str
    made: ast.AST | None  # what made it a leaf, where this function did
    parameter: bool
    certain: bool  # the written name has no alternative, and the module is known to train
    inner: ast.AST | None = None
    statement: ast.stmt | None = None  # the statement of the write, if nothing in it needs a graph

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, self.inner)


class SavedWrite(Fact):
    """A value that an operation keeps for backward is written before backward reads it; `site` is the write."""

    writer: str
    op: str
    how: str
    saved: ast.AST  # the operation that keeps it
    keeper: str  # how it is called: relu, `*`
    output: bool  # it is the result of that operation; otherwise an operand
    proven: bool  # the result is known to require grad
    supposed: tuple[str, ...]  # if not: the arguments it was computed from
    backward: ast.AST | None  # the call that will fail, where it is in this function
    certain: bool  # no alternative of the written name is another storage
    bypassed: bool  # written through `.data`: no error, a wrong gradient
    leaf: bool
    inner: ast.AST | None = None
    statement: ast.stmt | None = None  # the write, where a value of its own could take its place: one name has this one
    kept: tuple[ast.expr, ...] = ()  # what is kept, where it is made or given: of clones, nothing else would be written

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, self.inner)

    def steps(self, region: Region) -> tuple[Step, ...]:
        """Where the value is kept, where it is written, where it is read."""
        path = [
            region.step(self.saved, f"`{self.keeper}` keeps it for backward"),
            region.step(self.site, f"{self.verb} changes it"),
        ]
        if self.backward is not None:
            path.append(region.step(self.backward, "backward reads it"))
        return tuple(path)


class BypassedWrite(Fact):
    """The data of a computed value that requires grad is written where autograd does not see it."""

    writer: str
    value: str
    op: str
    how: str
    made: ast.AST | None
    inner: ast.AST | None = None
    supposed: tuple[str, ...] = ()  # the arguments, of which one has to require grad

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, self.inner)


class ForbiddenWrite(Fact):
    """One of several views that one operation made is written in grad mode, or a view is detached in place."""

    writer: str
    op: str
    how: str
    maker: str  # unbind, chunk, split; iteration; for `detach_` the view
    made: ast.AST
    proven: bool  # what was split is known to require grad
    supposed: tuple[str, ...]  # if not: the arguments it was computed from
    inner: ast.AST | None = None
    asked: bool = False  # only where a call gives an argument that requires grad

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, self.inner)


class MarkedNonLeaf(Fact):
    """`requires_grad` is set on a value that an operation on the graph computed; `site` sets it."""

    value: str
    attribute: bool  # assigned: torch raises; `requires_grad_()` does nothing
    made: ast.AST | None
    read: ast.AST | None  # where its `.grad` is read
    supposed: tuple[str, ...] = ()  # the arguments, of which one has to require grad
    detached: ast.expr | None = None  # what would have to be detached


class GradToArray(Fact):
    """A NumPy array is asked of a tensor that requires grad, or that is on a device."""

    value: str
    call: str  # `.numpy()`, `np.asarray`
    made: ast.AST | None
    device: bool
    given: ast.expr | None = None  # the tensor, where the call begins to convert it
    moves: bool = False  # it is on a device, whether it requires grad or not


class InferenceUse(Fact):
    """A tensor made under inference_mode is kept for backward; `site` is the operation."""

    value: str
    made: ast.AST | None
    keeper: str
