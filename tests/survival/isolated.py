"""Judges inputs in a process of its own, which may crash or hang."""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from tests.survival.judge import Verdict, judged

PATIENCE = 300.0  # seconds for one input


class Judge:
    """One process that judges one input after the other, and another one where it dies or does not answer."""

    def __init__(self) -> None:
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.join()

    def __call__(self, data: bytes, limit: int = 400_000) -> Verdict:
        """As `judged`, with what a process may do besides among the complaints."""
        self._pipe.send((data, limit))
        verdict = Verdict("lost")
        if not self._pipe.poll(PATIENCE):
            verdict.complaints.append(f"no answer within {PATIENCE:.0f} seconds")
        else:
            with suppress(EOFError, OSError):
                answer: Verdict = self._pipe.recv()
                return answer
            self._process.join()
            status = self._process.exitcode or 0
            verdict.complaints.append(f"the process died of {signal.Signals(-status).name if status < 0 else status}")
        self._process.kill()
        self._process.join()
        self._start()
        return verdict

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()


def _serve(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            data, limit = pipe.recv()
            pipe.send(judged(data, timed=True, limit=limit))
