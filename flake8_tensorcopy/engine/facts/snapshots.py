"""What was taken for a copy of a state, and follows it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Fact

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class StaleSnapshot(Fact):
    """A live state_dict (or part of one) is used after its module was changed; `site` takes the snapshot."""

    reader: str
    module: str
    call: str  # state_dict, parameters, named_parameters
    changed: ast.AST
    change: str
    read: ast.AST
    copies: tuple[str, ...]  # what was taken for a copy on the way: `.copy()`, `detach`, `cpu`
    stored: bool
    role: str
    method: str = ""  # another method of the class, which loads it back (or reads it)
    compared: bool = False  # it meets what the module holds now in one statement
    kept: bool = False  # its name says that it keeps values
    made: ast.AST  # the call of `state_dict()`, `parameters()` or `named_parameters()`
    taken: ast.AST  # the expression that makes no copy, and should
    takes: str  # call: of `state_dict()`, `list(parameters())`; shallow: of what copies a dict or list; value: a tensor

    def steps(self, region: Region) -> tuple[Step, ...]:
        if self.method:
            kept = region.step(self.site, f"`{self.reader}` holds the live tensors of `{self.module}`")
            verb = "loads it back" if self.call == "state_dict" else "reads it"
            return (kept, region.step(self.read, f"`{self.method}` {verb}"))
        return (
            region.step(self.site, f"`{self.reader}` holds the live tensors of `{self.module}`"),
            region.step(self.changed, f"`{self.change}` changes them"),
            region.step(self.read, f"`{self.reader}` is read"),
        )


class ModuleAlias(Fact):
    """A second name for one module (or a shallow copy) is taken for a module of its own; `site` makes it."""

    name: str
    module: str  # the other name
    how: str  # assignment, `to`, `copy.copy`
    trained: ast.AST
    training: str  # nothing: it is called with gradients there, to be trained elsewhere
    read: ast.AST | None
    taken: ast.AST | None = None  # the expression that should be a copy: of the module, or the call of `copy.copy`
    keeps: bool = True  # the site binds `name`, and not the name of what is trained

    def steps(self, region: Region) -> tuple[Step, ...]:
        read = () if self.read is None else (region.step(self.read, f"`{self.name}` is used"),)
        return (
            region.step(self.site, f"`{self.name}` and `{self.module}` have the same parameters"),
            region.step(self.trained, f"`{self.training or self.module}` trains them"),
            *read,
        )


class SharedOptimizerState(Fact):
    """An optimizer loads the live state of another one that goes on stepping; `site` is the load."""

    optimizer: str
    other: str
    stepped: ast.AST
    certain: bool = True  # False: nothing shows that the first one is used again
