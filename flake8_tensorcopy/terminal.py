"""What depends on a terminal: whether there are colours, and bars that show how far a run is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

COLORS = ("auto", "always", "never")
Advance = Callable[[int, int], None]  # how many are done, of how many


def colored(wanted: str, stream: TextIO) -> bool:
    """Whether what goes to the stream is coloured, for one of COLORS; NO_COLOR and FORCE_COLOR decide for `auto`."""
    if wanted != "auto":
        return wanted == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(*, threads: bool = True, delay: float = 0.0) -> Iterator[Callable[[str], Advance | None]]:
    """Makes bars on standard error, each with a name; none where standard error is no terminal.

    With a `delay`, in seconds, they appear when something is done after it.  Without `threads` a bar moves
    only when it is told to: a process that forks must not have a second thread.
    """
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    start = time.monotonic()
    with ExitStack() as stack:

        @cache
        def bars() -> Progress:
            from rich.console import Console
            from rich.progress import Progress

            made = Progress(console=Console(stderr=True), transient=True, auto_refresh=threads)
            return stack.enter_context(made)

        def bar(name: str) -> Advance:
            task: TaskID | None = None

            def advance(done: int, total: int) -> None:
                nonlocal task
                if time.monotonic() - start >= delay:
                    task = bars().add_task(name, total=None) if task is None else task
                    bars().update(task, completed=done, total=total, refresh=not threads)

            if not delay:
                task = bars().add_task(name, total=None)
            return advance

        yield bar
