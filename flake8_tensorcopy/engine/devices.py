"""What a run notes of devices: moves, copies in flight, and what its loops hold."""

from __future__ import annotations

import ast
from typing import NamedTuple

from flake8_tensorcopy.engine.facts import RoundTrip, WidenedMove
from flake8_tensorcopy.engine.values import Obj, Place, Ref, Value


class Move(NamedTuple):
    """A call that may bring a tensor to another device."""

    to: str  # the type of the device: cpu, cuda, mps ..; nothing where an expression names it
    literal: bool  # the type is written out in the call
    device: str  # the device as text
    dtype: ast.expr | None  # a dtype that is asked for in the same call
    non_blocking: bool | None  # None where it is not written as True or False


class Flight(NamedTuple):
    """A copy that was started and not waited for: to the host (`fetches`), or from pinned memory to a device."""

    fetches: bool
    obj: Obj | None  # the storage on the host, where it is not found by the call that made it
    source: Ref | None  # what is read by a copy to a device
    name: str
    node: ast.AST  # the call that copies


Flights = dict[ast.AST, Flight | None]  # None: it has been waited for

NO_FLIGHTS: Flights = {}


class Sync(NamedTuple):
    """What makes the host wait for the device: where, in which statement, how, of what."""

    site: ast.expr
    stmt: ast.stmt
    how: str
    text: str
    obj: Obj | None


class Looped(NamedTuple):
    """A move in a loop: of what, and where that lay then."""

    node: ast.Call
    stmt: ast.stmt
    ref: Ref
    move: Move
    place: str


class Devices:
    """The notes of one run."""

    def __init__(self) -> None:
        self.moves: dict[ast.AST, Move | None] = {}
        self.storing = 0  # what is used now is put into a list, tuple or dict
        self.waits = False  # the function may wait for the device
        self.looped: dict[ast.Call, Looped] = {}  # moves in loops
        self.operands: set[ast.AST] = set()  # expressions that a tensor operation takes
        self.syncs: dict[tuple[ast.expr, str, Obj | None], Sync] = {}
        self.trains: dict[ast.AST, bool] = {}  # loops: do they hold `backward()` and `step()`?
        self.trains_within: dict[ast.AST, bool] = {}  # does a loop in them?
        self.changed: dict[ast.AST, tuple[set[str], set[str]]] = {}  # by loops
        self.homes: dict[Obj, str] = {}  # where what operations made lies
        self.widened: list[tuple[Place, int, WidenedMove]] = []  # wide copies under a name, moved
        self.round_trips: list[tuple[tuple[Place, ...], int, RoundTrip]] = []
        self.apart: dict[RoundTrip, set[Obj]] = {}  # what would be one tensor without the trip
        self.saved: set[str] = set()  # where `torch.save` has put something, as text
        self.strengths: dict[Obj, int] = {}  # evidence at the end of the function
        self.losses: list[Obj] = []  # what others call `backward()` on
        self.source: Value | None = None  # the first argument of the method call under way


def joined(one: Flights, other: Flights) -> Flights:
    """What is in flight where two paths meet: a copy that both know, if neither has waited for it."""
    if one is other or not other:
        return one
    result = dict(other)
    for node, flight in one.items():
        result[node] = flight if node not in other or other[node] is not None else None
    return result
