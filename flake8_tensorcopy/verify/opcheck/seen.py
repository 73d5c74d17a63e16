"""What was seen when an op was called: plain facts, without torch, for `claims` to hold against a row of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["tensor", "array", "host", "none", "other"]
Position = int | str
"""An argument: the index of its parameter, or its name where it has none that is known (keyword-only ones)."""


@dataclass(frozen=True, slots=True)
class Graph:
    """What a call did to the graph when every float and complex tensor that went in required grad."""

    attached: bool
    """Some result requires grad."""

    tracked: frozenset[Position]
    """Arguments that hold a tensor that required grad."""

    @property
    def grads(self) -> int:
        """How many arguments hold a tensor that required grad."""
        return len(self.tracked)

    differentiable: bool = False
    """Backward ran from the results to the arguments."""

    keeps_result: bool = False
    """After a write to the differentiable results backward raised."""

    keeps: frozenset[Position] = frozenset()
    """Arguments after a write to which backward raised; not those that came back, or whose storage results have."""

    forbids: bool = False
    """An in-place op on a result raised, since one op made several views."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one call did.  Storages are compared by the ranges of their addresses; those without bytes say nothing."""

    call: str
    """The call as text."""

    layout: str
    """How the arguments were laid out: "" for as they came."""

    usual: bool
    """All tensors that went in are strided and not quantized."""

    minimal: bool
    """Only required arguments were given."""

    plain: bool
    """Besides required arguments only tensors were given, or values that are the defaults."""

    fits: bool
    """The arguments have the types that the signature names: a number for a tensor has not."""

    arguments: int
    """How many were given."""

    kind: Kind

    count: int
    """Tensors and arrays in the result."""

    packed: Literal["", "flat", "nested"]
    """"" for a single result, "flat" for a list or tuple, "nested" for one that holds others."""

    given: frozenset[Position]
    """Arguments that hold tensors or arrays."""

    solid: frozenset[Position]
    """Arguments that hold memory: at least one byte in each tensor."""

    shares: tuple[frozenset[Position] | None, ...]
    """For each tensor or array in the result the arguments whose storage it has; None if it has no bytes."""

    linked: frozenset[tuple[Position, Position]]
    """Pairs of arguments that shared storage before the call."""

    same: frozenset[Position]
    """Arguments that came back as the one result: the very object."""

    bumped: frozenset[Position]
    """Arguments whose version counter moved."""

    changed: frozenset[Position]
    """Arguments in whose storage (the one it had before) some byte changed."""

    overlaps: bool
    """Two elements of one result lie at one address, though those of no argument do."""

    drew: bool
    """The state of the default random generator moved, or of one that was given."""

    size: int
    """Elements in all results."""

    dims: tuple[int, ...]
    """The dimensions of each tensor in the result."""

    most_dims: int
    """The most dimensions of a tensor argument; -1 if there is none."""

    dtypes: tuple[str, ...]
    """The dtypes of the results."""

    given_dtype: str
    """The dtype of the first tensor argument; "" if there is none."""

    dense: frozenset[Position]
    """Arguments that are one contiguous tensor."""

    scattered: frozenset[Position]
    """Arguments that are one strided tensor, not contiguous, without lazy conjugation or negation."""

    moved: frozenset[Position]
    """Contiguous arguments of two dimensions or more all of whose elements the one result has in another order."""

    fewer: frozenset[Position]
    """Arguments of which every result has some elements, but fewer, and fewer bytes."""

    values_matter: bool | None = None
    """Other values at the same addresses gave another Python value; None if that was not tried."""

    default_dtype: bool | None = None
    """The result had the default dtype, and the other one when the default changed; None if that was not tried."""

    graph: Graph | None = None

    out: str | None = None
    """With `out=`: "" if it was written and returned, else what happened instead; None if the call was refused."""

    inplace: str | None = None
    """With `inplace=True`: "wrote" or "kept" if argument 0 came back, else what happened; None if it was refused."""
