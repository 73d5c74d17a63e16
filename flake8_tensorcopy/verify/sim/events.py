"""What a simulated accelerator records, and where in the user's program it happened; this module needs no torch."""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FrameType


class Kind(StrEnum):
    """What happened. A blocking copy between host and device is two events: the copy, then SYNC."""

    H2D = "H2D"
    """Bytes copied from the host to the device."""
    D2H = "D2H"
    """Bytes copied from the device to the host."""
    D2D = "D2D"
    """Bytes copied within the device, in one dtype: `clone`, `contiguous`, `copy_`, `to(copy=True)`."""
    CAST = "CAST"
    """Bytes written on the device by a change of dtype."""
    SYNC = "SYNC"
    """The host waits for the device."""
    STAGE = "STAGE"
    """A non_blocking copy of pageable host memory: the host copies the bytes to a staging buffer, nothing overlaps."""
    ALLOC = "ALLOC"
    """Device memory that a factory was asked for by `device=` or the default device."""
    PIN = "PIN"
    """Pinned host memory, from `pin_memory` or as the result of `to("cpu", non_blocking=True)`."""
    RACE = "RACE"
    """The host wrote a pinned source whose copy to the device may not have happened yet."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its kind, the operation, the bytes (0 where none move), and the line and file of the user's code."""

    kind: Kind
    op: str
    bytes: int
    line: int
    file: str
    non_blocking: bool = False
    pinned: bool = False


class SimulationError(RuntimeError):
    """What the program asks for cannot be simulated; the message is one sentence that names it."""


def location() -> tuple[int, str]:
    """The line and file of the innermost frame of the user's code: none of torch, the standard library or this package.

    Without one, those of the outermost frame.
    """
    frame: FrameType | None = sys._getframe(1)
    last = frame
    while frame is not None:
        if _is_users(frame.f_code.co_filename):
            return frame.f_lineno, frame.f_code.co_filename
        last, frame = frame, frame.f_back
    return (last.f_lineno, last.f_code.co_filename) if last is not None else (0, "")


@cache
def _is_users(file: str) -> bool:
    if file.startswith("<frozen "):
        return False
    path = Path(file)
    if any(path.is_relative_to(place) for place in _libraries()):
        return False
    standard = Path(sysconfig.get_path("stdlib"))
    if not path.is_relative_to(standard):
        return True
    return bool({"site-packages", "dist-packages"} & set(path.relative_to(standard).parts))


@cache
def _libraries() -> tuple[Path, ...]:
    found = (find_spec(name) for name in ("torch", "numpy"))
    origins = [Path(spec.origin).parent for spec in found if spec is not None and spec.origin is not None]
    return (Path(__file__).parent, *origins)
