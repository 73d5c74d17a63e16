"""Operations that read the memory they write."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Fact

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class SelfCopy(Fact):
    """A write whose operand is another view of the very elements that it writes; `site` is the statement."""

    target: str
    source: str
    op: str
    relation: str  # shifted permuted part index indexed
    refused: bool  # torch is sure to see the overlap, and raises
    in_order: bool  # right wherever elements are written one after the other, as they are on the CPU
    operand: ast.AST
    others: tuple[ast.AST, ...] = ()  # further operands in the same memory
    evidence: int

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.operand, f"`{self.source}` is read"),
            region.step(self.site, f"while `{self.target}` is written, in the same memory"),
        )


class AliasedOut(Fact):
    """`out=` is (or shares elements with) a tensor that the operation still reads; `site` is the call."""

    op: str
    out: str
    argument: str
