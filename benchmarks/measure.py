"""CPU seconds and peak memory of commands, children counted: medians of turns that the peers take one after another."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

# What is measured is what is installed: no path of the caller's comes before it.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


class Cost(NamedTuple):
    """What a command took: CPU seconds of it and of its children, and the peak of its resident memory in MiB."""

    seconds: float
    memory: float


def cost_of(command: Sequence[str], cwd: Path) -> Cost:
    """Run a command, its output unseen.  Raises SystemExit if it fails otherwise than by findings (exit 1)."""
    with subprocess.Popen(command, cwd=cwd, env=CLEAN, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} ended with {process.returncode}:\n{said.decode(errors='replace')}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def seconds_of(command: Sequence[str], cwd: Path) -> Cost:
    """Run a program that measures a part of itself and prints the CPU seconds of that part last."""
    done = subprocess.run(command, cwd=cwd, env=CLEAN, capture_output=True, text=True, check=True)
    return Cost(float(done.stdout.split()[-1]), 0.0)


def in_turns(measures: Mapping[str, Callable[[], Cost]], turns: int) -> dict[str, Cost]:
    """The medians of all measures: each is taken once a turn, so that a busy machine is busy for all of them."""
    taken: dict[str, list[Cost]] = {name: [] for name in measures}
    for _ in range(turns):
        for name, measure in measures.items():
            taken[name].append(measure())
    return {
        name: Cost(median(cost.seconds for cost in costs), median(cost.memory for cost in costs))
        for name, costs in taken.items()
    }
