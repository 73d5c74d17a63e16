"""flake8 as a user runs it: in a process of its own, in a folder of its own."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy import cli
from flake8_tensorcopy.config import DEBUG
from flake8_tensorcopy.engine import flow

ROOT = Path(__file__).parent.parent
REPORT = re.compile(r"^(?:\./)?(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<code>\S+) (?P<text>.*)$")
# flake8 finds the plugin by its installed metadata; this is flake8 where it is not installed.
WITHOUT_PLUGIN = """\
from flake8.plugins import finder
find = finder._find_importlib_plugins
finder._find_importlib_plugins = lambda: (p for p in find() if p.package != "flake8-tensorcopy")
from flake8.main.cli import main
raise SystemExit(main())
"""


@dataclass(frozen=True)
class Flake8:
    """What one run printed and how it ended."""

    out: str
    err: str
    exit: int

    @property
    def places(self) -> list[tuple[str, int, int, str]]:
        """File, line, column (both from 1, as flake8 prints them) and code of everything reported."""
        found = [REPORT.match(line) for line in self.out.splitlines()]
        assert all(found), f"unexpected output:\n{self.out}{self.err}"
        return [(m["file"], int(m["line"]), int(m["column"]), m["code"]) for m in found if m]

    @property
    def codes(self) -> list[str]:
        return [code for *_, code in self.places]


def run_flake8(
    *args: str, cwd: Path, stdin: bytes | None = None, env: dict[str, str] | None = None, python: str = sys.executable
) -> Flake8:
    """Runs flake8 in `cwd`; of the plugin's own environment variables only those in `env` are set."""
    done = _run([python, "-m", "flake8", *args], cwd, stdin, env)
    return Flake8(done.stdout.decode(), done.stderr.decode(), done.returncode)


@dataclass(frozen=True)
class Ran:
    """What one run of the command `tensorcopy` printed and how it ended."""

    out: bytes
    err: str
    exit: int

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()

    @property
    def places(self) -> list[tuple[str, int, int, str]]:
        """As of flake8, for the format "concise"."""
        return Flake8(self.out.decode(), self.err, self.exit).places

    @property
    def codes(self) -> list[str]:
        return [code for *_, code in self.places]


def run_tensorcopy(*args: str, cwd: Path, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Ran:
    """Runs `tensorcopy` in `cwd`, with no colours unless `env` asks for them."""
    done = _run(
        [sys.executable, "-m", "flake8_tensorcopy.cli", *args], cwd, stdin, {"PYTHONPATH": str(ROOT)} | (env or {})
    )
    return Ran(done.stdout, done.stderr.decode(), done.returncode)


def _run(
    command: list[str], cwd: Path, stdin: bytes | None, env: dict[str, str] | None
) -> subprocess.CompletedProcess[bytes]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TENSORCOPY_") and name not in ("NO_COLOR", "FORCE_COLOR")
    }
    return subprocess.run(
        command,
        cwd=cwd,
        env=kept | {"PYTHONUTF8": "1"} | (env or {}),
        input=b"" if stdin is None else stdin,
        capture_output=True,
        timeout=300,
        check=False,
    )


def copied(folder: Path) -> Path:
    """Copies what is built to a folder, so that no build leaves something in the working tree; returns the folder."""
    for name in ("flake8_tensorcopy", "rules", "fixtures"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def flake8(tmp_path: Path) -> Callable[..., Flake8]:
    """Runs flake8 in the test's own temporary folder."""

    def run(*args: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Flake8:
        return run_flake8(*args, cwd=tmp_path, stdin=stdin, env=env)

    return run


Run = Callable[..., Ran]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a command in this process and the test's own folder; `check` in one line each if none is named."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", DEBUG):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        if not arguments or arguments[0].startswith("-") or not arguments[0].isalpha():
            arguments = ("check", "--output-format=concise", *arguments)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            status = cli.main(arguments)
        except SystemExit as left:
            status = int(str(left.code))
        out, err = capfdbinary.readouterr()
        return Ran(out, err.decode(), status)

    return run


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The functions that the engine has run, by name."""
    names: Counter[str] = Counter()
    run_function = flow.run_function

    def counted(module: Any, function: Any) -> Any:
        names[function.name] += 1
        return run_function(module, function)

    monkeypatch.setattr(flow, "run_function", counted)
    return names
