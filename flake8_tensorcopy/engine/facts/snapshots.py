"""What was taken for a copy of a state, and follows it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Fact

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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
    method: str = ""  # another method of the class, which loads it back

    def steps(self, region: Region) -> tuple[Step, ...]:
        if self.method:
            kept = region.step(self.site, f"`{self.reader}` holds the live tensors of `{self.module}`")
            return (kept, region.step(self.read, f"`{self.method}` loads it back"))
        return (
            region.step(self.site, f"`{self.reader}` holds the live tensors of `{self.module}`"),
            region.step(self.changed, f"`{self.change}` changes them"),
            region.step(self.read, f"`{self.reader}` is read"),
        )
