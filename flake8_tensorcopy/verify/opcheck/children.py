"""Rows in processes of their own: a crash or a hang costs one call, not the run.  POSIX only.

`jobs` workers are forked, each with a share of the rows; a worker loads torch's test databases and forks a runner,
which calls.  When a runner dies, its worker forks another one, which goes on with the same row and without that call.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import selectors
import signal
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Final

from flake8_tensorcopy.engine.ops import Op

PATIENCE: Final = 3
"""Calls of one row that may end the process before the row is given up."""

MEMORY: Final = 8 << 30
"""Bytes that a runner may have beyond what it has at its start."""


@dataclass(slots=True)
class Answer:
    """What became of one row; `crashes` are the calls that ended a process, each with how."""

    name: str
    calls: int
    against: list[tuple[str, str, str]]
    unwitnessed: list[str]
    refused: str
    crashes: list[tuple[str, str]]


def answers(rows: Sequence[Op], jobs: int, seed: int, done: Callable[[], None]) -> list[Answer]:
    """The answer for each row, in no particular order; `done` is called after each."""
    shares = [list(rows[k::jobs]) for k in range(jobs)]
    selector = selectors.DefaultSelector()
    workers: list[int] = []
    found: list[Answer] = []
    try:
        for share in shares:
            if share:
                pid, stream = _forked(partial(_work, share, seed))
                workers.append(pid)
                selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                message = _read(key.fileobj)
                if message is None:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
                    continue
                found.append(message)
                done()
    finally:
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        selector.close()
        for pid in workers:
            _end(pid)
    if len(found) < len(rows):
        raise RuntimeError(f"a worker ended early: {len(rows) - len(found)} rows have no answer")
    return found


def _forked(work: Callable[[BinaryIO], None]) -> tuple[int, BinaryIO]:
    """A child process that does the work and ends, and what it writes; it says nothing on its own."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks in a process with threads; the child makes one call at a time on one thread.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(writing)
        return pid, os.fdopen(reading, "rb", buffering=0)
    code = 1
    try:
        os.close(reading)
        # Whoever watches for crashes of the process that asked would show those that are wanted here.
        faulthandler.disable()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            work(pipe)
        code = 0
    finally:
        os._exit(code)


def _end(pid: int) -> None:
    """Ends a worker, and with it its runner, which is of the same group."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def _write(pipe: BinaryIO, message: Any) -> None:
    data = pickle.dumps(message)
    view = memoryview(len(data).to_bytes(4, "little") + data)
    while view:
        view = view[pipe.write(view) :]


def _read(pipe: Any) -> Any:
    """The next message; None at the end, or where the writer died within one."""
    head = _exactly(pipe, 4)
    body = None if head is None else _exactly(pipe, int.from_bytes(head, "little"))
    return None if body is None else pickle.loads(body)


def _exactly(pipe: Any, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        more = pipe.read(size - len(data))
        if not more:
            return None
        data += more
    return data


def _work(rows: Sequence[Op], seed: int, pipe: BinaryIO) -> None:
    """A worker: answers each row in turn, by as many runners as it takes."""
    os.setpgid(0, 0)
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    from torch.testing._internal import common_methods_invocations, common_modules

    assert common_methods_invocations.op_db and common_modules.module_db
    k = 0
    skipped: set[int] = set()
    crashes: list[tuple[str, str]] = []
    while k < len(rows):
        pid, stream = _forked(partial(_run, rows[k:], seed, frozenset(skipped)))
        last: tuple[int, str] = (0, rows[k].name)
        while True:
            message = _read(stream)
            if message is None:
                break
            if isinstance(message, Answer):
                message.crashes = list(crashes)
                if crashes and not message.calls:
                    message.refused = f"{crashes[-1][1]} in {crashes[-1][0]}"
                _write(pipe, message)
                k, last = k + 1, (0, rows[k + 1].name if k + 1 < len(rows) else "")
                skipped.clear()
                crashes.clear()
            else:
                last = message
        stream.close()
        status = os.waitpid(pid, 0)[1]
        if k >= len(rows):
            break
        crashes.append((last[1], _how(status)))
        skipped.add(last[0])
        if len(crashes) >= PATIENCE or last[0] == 0:
            _write(pipe, Answer(rows[k].name, 0, [], [], f"{crashes[-1][1]} in {crashes[-1][0]}", list(crashes)))
            k += 1
            skipped.clear()
            crashes.clear()


def _how(status: int) -> str:
    """How a process ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "hung" if number == signal.SIGALRM else f"crashed with {signal.Signals(number).name}"
    return f"ended the process with {os.waitstatus_to_exitcode(status)}"


def _run(rows: Sequence[Op], seed: int, skipped: frozenset[int], pipe: BinaryIO) -> None:
    """A runner: makes the calls."""
    from flake8_tensorcopy.verify.opcheck import rows as one
    from flake8_tensorcopy.verify.opcheck.guard import Guard

    _limit()
    for k, op in enumerate(rows):
        guard = Guard(op.name, lambda step, text: _write(pipe, (step, text)), skipped if k == 0 else ())
        try:
            row = one.run(op, guard, seed)
        except Exception as error:
            _write(pipe, (-1, "".join(traceback.format_exception(error)[-3:])))
            raise
        against = [] if row.verdict is None else [(a.claim, a.observed, a.call) for a in row.verdict.against]
        unwitnessed = [] if row.verdict is None else row.verdict.unwitnessed
        _write(pipe, Answer(op.name, row.calls, against, unwitnessed, row.refused, []))


def _limit() -> None:
    """Bounds memory, and writes no core files."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm", encoding="ascii") if os.path.exists("/proc/self/statm") else open(os.devnull) as file:
        pages = file.read().split()
    if pages:
        most = int(pages[0]) * resource.getpagesize() + MEMORY
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
