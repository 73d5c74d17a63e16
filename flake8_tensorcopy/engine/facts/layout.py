"""Shapes, strides and their order in memory."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Fact

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Step
    from flake8_tensorcopy.engine.region import Region


class ExpandedParameter(Fact):
    """A Parameter over an expanded tensor; `site` is the call that makes it."""

    name: str
    op: str  # what expanded it
    expanded: ast.AST
    rows: bool  # one Parameter for each row: all over the same memory
    cloned: ast.AST | None = None  # the expression that a `.clone()` can follow: its value is one tensor

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.expanded, f"`{self.op}` makes no copies"),
            region.step(self.site, "and the parameter is over that memory"),
        )


class ClashingExpand(Fact):
    """`expand` of an axis that has another size than 1; `site` is the call."""

    receiver: str
    op: str
    reduced: ast.AST | None  # the reduction that dropped an axis before the last one
    own: str  # the sizes that clash, where they are numbers
    wanted: str
    given: ast.expr | None = None  # what is expanded
    keeps: bool = False  # `keepdim=True` of the reduction reaches nothing but the call
    dropped: int | None = None  # the axis that the reduction dropped, where it is one number
    repeats: tuple[int, ...] = ()  # how often each axis would be repeated, where all sizes are numbers

    def steps(self, region: Region) -> tuple[Step, ...]:
        if self.reduced is None:
            return ()
        return (
            region.step(self.reduced, "the axis is dropped here"),
            region.step(self.site, f"`{self.op}` aligns what is left from the last axis on"),
        )


class TurnedView(Fact):
    """`view` joins axes that are apart in memory since they were exchanged; `site` is the call."""

    receiver: str
    op: str  # what exchanged them
    turned: ast.AST
    copied: str  # what was taken for a contiguous copy on the way

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.turned, f"`{self.op}` exchanges axes and moves no memory"),
            region.step(self.site, "`view` would have to join them"),
        )


class ScrambledAxes(Fact):
    """`view` or `reshape` to the sizes of the own axes in another order, or with one of them behind others than
    it was; `site` is the call."""

    receiver: str
    op: str
    order: str  # the `permute` that was meant, if the sizes are those of the axes
    moved: int  # else the axis that is not where it was
    evidence: int


class ByteStrides(Fact):
    """NumPy's strides, in bytes, where torch counts elements; `site` is the call or comparison."""

    array: str
    op: str  # as_strided; empty for a comparison


class NegativeStrides(Fact):
    """A NumPy array that is read backwards is given to torch; `site` is the call."""

    array: str
    op: str
    flip: str  # `[::-1]`, `np.flip`
    flipped: ast.AST
    array_proven: bool  # no list, which may be given backwards
    copied: ast.AST  # what a `.copy()` can follow: what turned it, or what the call was given

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.flipped, f"`{self.flip}` makes a view with negative strides"),
            region.step(self.site, f"`{self.op}` takes none"),
        )


class MixedRepeats(Fact):
    """Of two things that belong together, one is repeated element by element, the other as a whole; `site` tiles."""

    tiled: str
    interleaved: str
    other: ast.AST  # the call that repeats element by element
    tiles: str  # repeat, tile
    interleaves: str  # repeat_interleave, np.repeat

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.other, f"`{self.interleaves}` repeats each element"),
            region.step(self.site, f"`{self.tiles}` repeats the whole"),
        )


class ExpandedBytes(Fact):
    """The bytes of an expanded tensor, counted as if each element had memory of its own; `site` counts them."""

    receiver: str
    counted: str  # `nbytes`, `numel() * element_size()`
    op: str
    expanded: ast.AST

    def steps(self, region: Region) -> tuple[Step, ...]:
        return (
            region.step(self.expanded, f"`{self.op}` makes no copies"),
            region.step(self.site, "each of its elements is counted"),
        )
