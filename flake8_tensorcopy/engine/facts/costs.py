"""Copies and moves that could be cheaper."""

from __future__ import annotations

from dataclasses import dataclass

from flake8_tensorcopy.engine.facts.base import Fact


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostScalar(Fact):
    """A tensor is moved to the host only to be printed, logged, or turned into a Python number; `site` is the move."""

    receiver: str
    move: str
    scalar: bool  # proven 0-d
    used: str  # logged, item, tolist, float, reduced, indexed, compared
    evidence: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CloneDetach(Fact):
    """`x.clone().detach()`: `site` is the detach call."""

    receiver: str
    graph: bool | None  # the receiver is on the graph: known, known not to be, unknown
    recording: bool | None  # grad mode
