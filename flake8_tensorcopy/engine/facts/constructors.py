"""Objects that hold a tensor or layer which somebody else holds too."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Fact

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class RepeatedReference(Fact):
    """One object stands in every slot of a list or dict; `site` makes the container."""

    item: ast.AST  # what stands in every slot
    name: str  # the same as text
    holds: str  # layer parameter tensor
    how: str  # multiplied comprehension fromkeys appended
    anew: bool  # evaluated again, the item is another object that shares nothing with the first
    constant: bool  # and a tensor with the same values
    written: ast.AST | None  # the write in place to one slot, of a tensor
    op: str

    def steps(self, region: Region) -> tuple[Step, ...]:
        path = [region.step(self.site, f"every slot is the one `{self.name}`")]
        if self.written is not None:
            path.append(region.step(self.written, f"`{self.op}` writes to one slot, and so to all"))
        return tuple(path)


class WrappedTensor(Fact):
    """A parameter is built over a tensor that lives on; `site` is the constructor."""

    name: str
    op: str  # Parameter from_pretrained load_state_dict vector_to_parameters
    reason: str  # kept wrapped read written
    other: ast.AST
    shown: str  # the name or attribute that it lives on under
    owner: str
    given: ast.expr | None = None  # the tensor, as the constructor is given it

    def steps(self, region: Region) -> tuple[Step, ...]:
        meaning = {
            "kept": f"`{self.shown}` is read as the value it was",
            "wrapped": f"a second parameter over `{self.shown}`",
            "read": f"`{self.shown}` is read after a training step",
            "written": f"`{self.shown}` is written, and the parameter with it",
            "source": f"`{self.shown}` goes on with the same parameters",
        }[self.reason]
        return (
            region.step(self.site, f"`{self.op}` shares the storage of `{self.name}`"),
            region.step(self.other, meaning),
        )
