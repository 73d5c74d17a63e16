"""Calls within limits: a call that crashes or hangs ends its process, and the next one leaves it out."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection
from typing import Any, Final

from flake8_tensorcopy.verify.opcheck.calls import Call, show

SECONDS: Final = 4.0
"""How long a single call may take."""


class LeftOut(Exception):
    """This call ended a process before."""


class Guard:
    """Makes the calls of one row, each announced before it is made, so that whoever reads knows the last one."""

    __slots__ = ("announce", "errors", "name", "skipped", "step")

    def __init__(self, name: str, announce: Callable[[int, str], None], skipped: Collection[int]) -> None:
        self.name = name
        self.announce = announce
        self.skipped = skipped
        self.step = 0
        self.errors: list[str] = []

    def __call__(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], extra: str = "") -> Any:
        """Calls; raises what the call raises, and `LeftOut` for a step that is skipped."""
        self.step += 1
        if self.step in self.skipped:
            raise LeftOut
        given = [*map(show, args), *(f"{key}={show(value)}" for key, value in kwargs.items()), *[extra] * bool(extra)]
        built = "" if call.build is None else call.build.text
        self.announce(self.step, f"{self.name}{built}({', '.join(given)})")
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            return call.make()(*args, **kwargs)
        except Exception as error:
            if len(self.errors) < 40:
                self.errors.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
