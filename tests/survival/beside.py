"""flake8 with the plugin beside flake8 without it, and beside the command: the same results whichever way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import WITHOUT_PLUGIN, run_flake8, run_tensorcopy

FLAKE8 = ("--isolated", "--max-complexity=10", "--tensorcopy-preview", "--select=C,E,F,W,TSC", "--ignore=X")
COMMAND = ("check", "--isolated", "--preview", "--output-format=concise")
UNREADABLE = ("E902", "E999")


def without_plugin(*names: str, cwd: Path) -> tuple[str, list[str]]:
    """What flake8 says on standard error, and its lines, where the plugin is not there."""
    options = [option for option in FLAKE8 if "tensorcopy" not in option]
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", WITHOUT_PLUGIN, "-j1", *options, *names],
        cwd=cwd,
        capture_output=True,
        check=False,
    )
    lines = done.stdout.decode().splitlines()
    return done.stderr.decode() or _failed(lines), lines


def _failed(lines: Sequence[str]) -> str:
    """What flake8 says where one of its checkers ended in an exception: it prints that where its findings go."""
    return next((line for line in lines if '" failed during execution due to ' in line), "")


def accepted(names: Sequence[str], cwd: Path) -> tuple[list[str], list[str]]:
    """Which of the files flake8 itself takes, and what it says of them."""
    err, lines = without_plugin(*names, cwd=cwd)
    if not err:
        return list(names), lines
    if len(names) == 1:
        return [], []
    half = len(names) // 2
    (first, one), (second, two) = accepted(names[:half], cwd), accepted(names[half:], cwd)
    return first + second, one + two


def compared(names: Sequence[str], cwd: Path, sample: Sequence[str]) -> list[str]:
    """What is not the same for the files of a folder; those of the sample are given on standard input too."""
    names, bare = accepted(names, cwd)
    if not names:
        return []
    complaints = []
    mine = run_flake8("-j1", *FLAKE8, *names, cwd=cwd)
    lines = mine.out.splitlines()
    if err := mine.err or _failed(lines):
        complaints.append(f"flake8 fails with the plugin: {err.splitlines()[-1]}")
    if sorted(line for line in lines if ": TSC" not in line) != sorted(bare):
        complaints.append("other checkers say something else with the plugin")
    if run_flake8("-j2", *FLAKE8, *names, cwd=cwd) != mine:
        complaints.append("-j2 gives another result")
    ran = run_tensorcopy(*COMMAND, "-j1", *names, cwd=cwd)
    if ran.err:
        complaints.append(f"tensorcopy fails: {ran.err.splitlines()[-1]}")
    if _ours(ran.lines) != _ours(lines):
        complaints.append("tensorcopy check gives another result")
    for name in set(sample) & set(names):
        data = (cwd / name).read_bytes()
        of_one = [line for line in lines if line.startswith(f"./{name}:") or line.startswith(f"{name}:")]
        read = run_flake8(*FLAKE8, "--stdin-display-name", name, "-", cwd=cwd, stdin=data)
        if "Traceback" in read.err and "flake8_tensorcopy" not in read.err:
            continue  # flake8 decodes standard input with less patience than files
        if sorted(read.out.splitlines()) != sorted(of_one) or read.err:
            complaints.append(f"{name}: flake8 gives another result on standard input")
        read_by_command = run_tensorcopy(*COMMAND, "--stdin-filename", name, "-", cwd=cwd, stdin=data)
        if _ours(read_by_command.lines) != _ours(of_one) or read_by_command.err:
            complaints.append(f"{name}: tensorcopy gives another result on standard input")
    return complaints


def _ours(lines: Sequence[str]) -> list[str]:
    """The findings of the plugin, without what the command adds to their lines."""
    return sorted(line.removeprefix("./").replace(" [*]", "") for line in lines if ": TSC" in line)
