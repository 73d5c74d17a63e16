"""What one execution of a program has shown, in words that need no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

ELSEWHERE = -1  # bound by a function that was called: the engine says so, or not

Steps = tuple[str, ...]  # how a value was cut out of its memory: "view", "[0]", "detach"


class Key(NamedTuple):
    """A stale read: the function, the line of the write, the reader, and the line that bound it."""

    function: str
    write: int
    reader: str
    bound: int


class Pass(NamedTuple):
    """An execution passed the binding, then a write through `writer`, then a read of the binding."""

    key: Key
    writer: str
    line: int  # of the read
    written: str  # whose memory was written: an argument's, or none's
    read: str  # whose memory the reader is


@dataclass(slots=True)
class Truth:
    """One execution."""

    stale: dict[Key, set[tuple[Steps, Steps]]] = field(default_factory=dict)  # how reader and written were cut out
    passed: set[Pass] = field(default_factory=set)
    shared: set[Pass] = field(default_factory=set)  # of these, where the memory was shared
    open: set[Key] = field(default_factory=set)  # what the engine may say or not
    lines: set[int] = field(default_factory=set)
    ends: list[tuple[int, dict[str, frozenset[int]]]] = field(default_factory=list)  # at each return: name -> addresses
    error: str = ""
