"""Gradients, generators and repeated positions: updates that reach too much, too little, or something else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Fact

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class StaleGradient(Fact):
    """A gradient kept under a name (or in a container) is read after it has changed; `site` keeps it."""

    reader: str
    gradient: str  # `p.grad`
    changed: ast.AST
    change: str
    kind: str  # backward zeroed clipped
    read: ast.AST
    kept: bool  # the name says that it keeps a value
    compared: bool  # it meets the gradient of now in one statement
    taken: ast.expr | None  # the expression of the gradient that is kept
    perhaps: bool  # for all that is known it may be None

    def steps(self, region: Region) -> tuple[Step, ...]:
        if self.read is self.changed:
            return (region.step(self.changed, f"`{self.change}` changes it"),)
        return (
            region.step(self.site, f"`{self.reader}` is the tensor `{self.gradient}` itself"),
            region.step(self.changed, f"`{self.change}` changes it"),
            region.step(self.read, f"`{self.reader}` is read"),
        )


class GradientWrite(Fact):
    """A gradient that others still need is written in place through a name; `site` is the write."""

    writer: str
    gradient: str  # `p.grad`, or the other result of the same `autograd.grad`
    op: str
    bound: ast.AST | None
    needed: ast.AST  # the step, the return, the read of the other result
    by: str  # step, return, sibling
    certain: bool  # the other result surely has the same storage
    taken: ast.expr | None  # the expression of the gradient, which is none of nothing, that the name is bound to
    statement: ast.stmt | None  # the one that writes


class Exhausted(Fact):
    """An iterator that can be gone through once is gone through again; `site` is the later use."""

    name: str
    made: str  # parameters, filter, a generator expression ...
    bound: ast.AST | None
    first: ast.AST
    again: bool  # the same place, in a further pass of a loop or call of the method
    supply: ast.AST | None = None  # the expression that makes it, where a list in its place would do

    def steps(self, region: Region) -> tuple[Step, ...]:
        bound = () if self.bound is None else (region.step(self.bound, f"`{self.name}` can be gone through once"),)
        used = () if self.again else (region.step(self.first, "this uses it up"),)
        return (*bound, *used)


class LostUpdate(Fact):
    """`x[idx] += v` with positions that may repeat; `site` is the statement."""

    target: str
    index: str
    op: str
    made: str  # what makes the positions: randint, argmax, a list, labels
    source: ast.AST | None
    place: ast.Subscript  # `x[idx]`
    added: ast.expr
    value: str  # what is added, where proven: tensor, number
    by_tensors: bool  # the index is a tensor, or several
