"""Several processes give what one gives, whatever happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flake8_tensorcopy import processes
from tests.conftest import ROOT


def task(item: str) -> str:
    """Does what the item says."""
    match item.partition(" "):
        case "die", _, number:
            os.kill(os.getpid(), int(number))
        case "exit", _, status:
            os._exit(int(status))
        case "raise", _, _:
            raise ValueError("no result")
        case "sleep", _, seconds:
            time.sleep(float(seconds))
        case "process", _, _:
            return str(os.getpid())
    return item * 2


def died(item: str, reason: str) -> str:
    return f"{item}: {reason}"


def run(*items: str, jobs: int) -> list[str]:
    return processes.run(task, died, items, jobs)


@pytest.mark.parametrize("jobs", [0, 1, 2, 5, 50])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    items = [f"sleep 0.0{number % 3}" for number in range(9)]
    assert run(*items, jobs=jobs) == [item * 2 for item in items]
    assert run(jobs=jobs) == []


def test_one_item_and_one_job_stay_in_this_process() -> None:
    assert run("process", jobs=3) == run("process", jobs=1) == [str(os.getpid())]
    assert set(run("process", "process", jobs=1)) == {str(os.getpid())}
    assert str(os.getpid()) not in run("process", "process", jobs=2)


@pytest.mark.skipif(sys.platform != "linux", reason="signals by their numbers on Linux")
@pytest.mark.parametrize("jobs", [2, 3])
def test_the_item_on_which_a_process_died_is_known_and_the_others_are_done(jobs: int) -> None:
    items = ["a", "die 9", "b", "exit 3", "die 10", "c", "die 9", "d", "e"]
    reasons = {
        "die 9": "die 9: its process was ended by SIGKILL",
        "die 10": "die 10: its process was ended by SIGUSR1",
        "exit 3": "exit 3: its process ended with status 3",
    }
    assert run(*items, jobs=jobs) == [reasons.get(item, item * 2) for item in items]


def test_a_process_that_fails_is_as_good_as_dead(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("a", "raise", "b", jobs=2) == ["aa", "raise: its process ended with status 1", "bb"]
    assert "ValueError: no result" in capfd.readouterr().err


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_result_is_told(jobs: int) -> None:
    told: list[tuple[int, int]] = []
    items = ["a", "b", "exit 1" if jobs > 1 else "d", "c"]
    processes.run(task, died, items, jobs, lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_small_files_do_not_pay_for_a_process(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    large.write_bytes(b"x" * processes.PAYS)
    assert processes.paying([str(small), "none"]) == 1
    assert processes.paying([str(large)] * 1000) == processes.cores()
    assert processes.paying([str(large)]) == min(2, processes.cores())


SLEEPERS = """\
import os, sys
from flake8_tensorcopy import processes
from tests.test_processes import died, task

def started(done, total):
    print("started", flush=True)

try:
    processes.run(task, died, ["sleep 0", *["sleep 60"] * 5], 3, started)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.skipif(os.name == "nt", reason="interrupts a group of processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(number: signal.Signals) -> None:
    whole_group = number == signal.SIGINT  # as a terminal sends it
    command = [sys.executable, "-c", SLEEPERS if whole_group else SLEEPERS.replace('"sleep 60"', '"sleep 1"')]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True, start_new_session=True)
    assert parent.stdout is not None and parent.stdout.readline() == "started\n"
    (os.killpg if whole_group else os.kill)(parent.pid, number)
    assert parent.wait(timeout=30) == (7 if whole_group else -number)
    deadline = time.monotonic() + 30
    while group_lives(parent.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.stdout.close()


INTERRUPTED_AT_FORK = """\
import os, signal, sys
from flake8_tensorcopy import processes
from tests.test_processes import died, task

def interrupted():
    os.kill(os.getpid(), signal.SIGINT)

os.register_at_fork(after_in_parent=interrupted, after_in_child=interrupted)
try:
    processes.run(task, died, ["a", "b", "c"], 2)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")
def test_an_interrupt_while_a_process_starts_is_not_lost() -> None:
    """Python only prints what is raised in the midst of a fork, and goes on."""
    command, env = [sys.executable, "-c", INTERRUPTED_AT_FORK], os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr) == (7, "")


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
