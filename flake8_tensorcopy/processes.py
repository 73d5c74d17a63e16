"""Runs a task on many items in several processes.

Each process has one item at a time, so that it is known on which one a process died; the others go on without it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from flake8_tensorcopy.terminal import Advance

Result = TypeVar("Result")
PAYS = 400_000  # bytes of source: below that, starting one more process costs more than it saves
PATIENCE = 1.0  # seconds that a process gets to end by itself


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def paying(items: Sequence[str]) -> int:
    """How many processes pay for files of that size."""
    size = 0
    for item in items:
        with suppress(OSError):
            size += os.path.getsize(item)
    return min(cores(), 1 + size // PAYS)


def run(
    task: Callable[[str], Result],
    died: Callable[[str, str], Result],
    items: Sequence[str],
    jobs: int,
    advance: Advance | None = None,
) -> list[Result]:
    """The results in the order of the items, whichever of at most `jobs` processes made them.

    With one process, or for one item, it is this one.  `died` makes the result for an item on which a process died, of
    the item and a reason.  An interrupt ends all processes, after the item that is under way where it can.
    """
    advance = advance or (lambda done, total: None)
    if min(jobs, len(items)) <= 1:
        results = []
        for item in items:
            results.append(task(item))
            advance(len(results), len(items))
        return results
    return _Pool(task, died, items, advance).run(min(jobs, len(items)))


@dataclass(slots=True, eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    item: int = -1  # the index of what it works on


class _Pool(Generic[Result]):
    def __init__(
        self,
        task: Callable[[str], Result],
        died: Callable[[str, str], Result],
        items: Sequence[str],
        advance: Advance,
    ) -> None:
        self._task = task
        self._died = died
        self._items = items
        self._advance = advance
        self._waiting = iter(range(len(items)))
        self._done: dict[int, Result] = {}
        self._workers: list[_Worker] = []
        self._leaving: list[BaseProcess] = []
        # Elsewhere than on Linux, a forked process must not use what the system's libraries have started.
        self._forks = sys.platform == "linux"
        self._context = multiprocessing.get_context("fork") if self._forks else multiprocessing.get_context("spawn")

    def run(self, jobs: int) -> list[Result]:
        try:
            for _ in range(jobs):
                self._hire()
            while self._workers:
                ready = wait([worker.pipe for worker in self._workers])
                for worker in [worker for worker in self._workers if worker.pipe in ready]:
                    self._collect(worker)
        finally:
            self._end()
        return [self._done[index] for index in range(len(self._items))]

    def _hire(self) -> None:
        """One more process, if there is something left to do."""
        index = next(self._waiting, None)
        if index is None:
            return
        with _uninterrupted():
            mine, theirs = self._context.Pipe()
            # A forked process must close our ends of all pipes, or none would see that we are gone.
            inherited = [mine, *(worker.pipe for worker in self._workers)] if self._forks else []
            process = self._context.Process(target=_serve, args=(self._task, theirs, inherited), daemon=True)
            process.start()
            theirs.close()
            worker = _Worker(process, mine)
            self._workers.append(worker)
        self._give(worker, index)

    def _give(self, worker: _Worker, index: int) -> None:
        worker.item = index
        with suppress(OSError):  # it has died: said when its answer is read
            worker.pipe.send(self._items[index])

    def _collect(self, worker: _Worker) -> None:
        try:
            result: Result = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            self._workers.remove(worker)
            worker.pipe.close()
            result = self._died(self._items[worker.item], _reason(worker.process.exitcode))
            self._done[worker.item] = result
            self._hire()
        else:
            self._done[worker.item] = result
            index = next(self._waiting, None)
            if index is None:
                self._workers.remove(worker)
                worker.pipe.close()
                self._leaving.append(worker.process)
            else:
                self._give(worker, index)
        self._advance(len(self._done), len(self._items))

    def _end(self) -> None:
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for process in [*(worker.process for worker in self._workers), *self._leaving]:
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """An interrupt comes when this is over: in the midst of a fork Python would print it and go on.

    A process that is started meanwhile never sees one.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _reason(status: int | None) -> str:
    """How a process ended, for a status as multiprocessing tells it."""
    if status is not None and status < 0:
        try:
            return f"its process was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"its process was ended by signal {-status}"
    return f"its process ended with status {status}"


def _serve(task: Callable[[str], Result], pipe: Connection, inherited: Sequence[Connection]) -> None:
    """What a process does: until its pipe is closed, it answers each item with a result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that started this one
    signal.signal(signal.SIGTERM, _leave)
    for other in inherited:
        other.close()
    with suppress(EOFError, OSError):  # nobody is left to answer to
        while True:
            pipe.send(task(pipe.recv()))


def _leave(number: int, frame: object) -> None:
    """Ends the process in order: a file that is being written is taken away."""
    raise SystemExit(128 + number)
