"""What others hold too: an argument that is written, a buffer that is handed out, a default that all calls share."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Copy, Fact, verb_of

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class MutatedItem(Fact):
    """`__getitem__` writes what the object holds: the next read of that item gets the written one; `site` is the
    write, in the function where it stands."""

    owner_name: str  # what is written, as reached from the object: `self.boxes[..]`
    writer: str
    op: str
    how: str
    called: ast.AST | None  # the call in `__getitem__` that leads to the write
    evidence: int

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, None)

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = [] if self.called is None else [region.step(self.called, f"is given `{self.owner_name}`")]
        return (*path, region.step(self.site, f"{self.verb} changes it"))


class MutatedArgument(Fact):
    """A function writes its argument, returns something computed from it, and a caller reads the argument afterwards;
    `site` is the write."""

    function: str
    argument: str  # as the caller calls it
    writer: str
    op: str
    how: str
    call: ast.AST
    read: ast.AST
    evidence: int

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, None)

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.call, f"`{self.function}` is given `{self.argument}`"),
            region.step(self.site, f"{self.verb} changes it"),
            region.step(self.read, f"`{self.argument}` is read"),
        )


class HandedOut(Fact):
    """A live tensor is stored, yielded or returned, and written in place afterwards; `site` hands it out."""

    name: str
    how: str  # store yield return hook
    op: str
    write: ast.AST
    write_how: str
    by: str  # the method, function or layer that writes
    # loop: in a later pass; method: of the class; caller: with what it got; layer: the next one; read: by a caller who
    # took it for the value as it was
    reason: str
    evidence: int
    copies: tuple[Copy, ...] = ()  # what is handed out

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.write_how, None)

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.site, f"`{self.name}` is handed out, not a copy"),
            region.step(self.write, f"`{self.op}` changes it"),
        )


class SharedDefault(Fact):
    """A tensor that is made once, as a default or in the body of a class, is written in place; `site` makes it."""

    name: str
    shared_by: str  # calls or objects
    owner: str  # the function or class
    op: str
    how: str
    write: ast.AST

    @property
    def verb(self) -> str:
        return verb_of(self.op, self.how, None)

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.site, f"`{self.name}` is made once for all {self.shared_by}"),
            region.step(self.write, f"{self.verb} changes it for all"),
        )
