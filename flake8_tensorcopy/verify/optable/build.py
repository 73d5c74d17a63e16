"""The text of the table: every name decided in forked processes, which bad arguments may crash."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Final

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.verify.optable import modulerows
from flake8_tensorcopy.verify.optable.decide import Decision, decide
from flake8_tensorcopy.verify.optable.promises import Contradiction
from flake8_tensorcopy.verify.optable.targets import Target, targets

BATCH: Final = 40
"""Targets a child process does: a fork of torch is slow."""


def answers(batch: Sequence[Target]) -> list[Decision | str]:
    """`decide` for each target, in child processes, which bad arguments may crash: then a sentence instead."""
    found: list[Decision | str] = []
    while len(found) < len(batch):
        got, status = _in_child(batch[len(found) :])
        found += got
        if len(found) < len(batch):
            # The one that crashed may have suffered from another; alone it has a second chance.
            again, status = _in_child([batch[len(found)]])
            found += again or [f"the process ended with status {status}"]
    return found


def _in_child(batch: Sequence[Target]) -> tuple[list[Decision | str], int]:
    import os
    import pickle
    import signal
    import traceback

    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        with os.fdopen(writing, "wb") as pipe:
            for target in batch:
                signal.alarm(60)
                try:
                    answer: Decision | str = decide(target)
                except Contradiction as error:
                    answer = f"contradiction: {error}"
                except Exception:
                    answer = traceback.format_exc()
                pickle.dump(answer, pipe)
                pipe.flush()
        os._exit(0)
    os.close(writing)
    found: list[Decision | str] = []
    with os.fdopen(reading, "rb") as pipe:
        while True:
            try:
                found.append(pickle.load(pipe))
            except (EOFError, pickle.UnpicklingError):
                break
    return found, os.waitpid(pid, 0)[1]


def _batch(start: int) -> list[Decision | str]:
    return answers(targets()[start : start + BATCH])


def build(log: Callable[[str], None] = print) -> str:
    """The text of the table."""
    import multiprocessing

    import torch

    rows = []
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        starts = range(0, len(targets()), BATCH)
        with multiprocessing.get_context("fork").Pool(multiprocessing.cpu_count()) as pool:
            found = [answer for batch in pool.imap(_batch, starts) for answer in batch]
    for target, answer in zip(targets(), found, strict=True):
        if isinstance(answer, str) and answer.startswith("Traceback"):
            raise RuntimeError(f"{target.name}: {answer}")
        if isinstance(answer, str):
            failures.append(f"{target.name}: {answer}")
            continue
        for note in answer.notes:
            log(f"{target.name}: {note}")
        rows.append(ops.render(answer.op))
    for failure in failures:
        log(failure)
    if failures:
        raise Contradiction(f"{len(failures)} names could not be decided cleanly")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows.extend(ops.render(op) for op in modulerows.rows())
    rows.sort(key=lambda row: row.partition("\t")[0])
    version = torch.__version__.partition("+")[0]
    head = f"{ops.STAMP}{version}; written by `python -m flake8_tensorcopy.verify.optable`, do not edit"
    return "\n".join([head, "\t".join(ops.COLUMNS), *rows]) + "\n"
