"""`tensorcopy verify`: chooses what to run, runs it, and reports."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flake8_tensorcopy import registry
from flake8_tensorcopy.atomic import Unwritable, check_writable, write
from flake8_tensorcopy.terminal import progress
from flake8_tensorcopy.verify import evidence, proofs, report, runner
from flake8_tensorcopy.verify.fixtures import Fixture, FixtureError, load, load_all

CONFIRMED, REFUTED, UNUSABLE = 0, 1, 2
INSTALL = "python -m pip install 'flake8-tensorcopy[verify]'"
DEVICES = {"cpu": ("cpu",), "cuda": ("cuda",), "sim": ("sim",), "all": ("cpu", "sim", "cuda")}
WIDTH = 160  # of a table that does not go to a terminal


class Unusable(Exception):
    """Nothing can be verified: one sentence that says why."""


def verify(options: Namespace) -> int:
    """Runs the command; returns its exit status.

    0: everything is confirmed or skipped; 1: something is refuted or could not be measured; 2: nothing could be run.
    """
    try:
        with _ended_in_order():
            return _verify(options)
    except (Unusable, Unwritable, FixtureError) as error:
        print(f"tensorcopy verify: {error}", file=sys.stderr)
        return UNUSABLE


def _verify(options: Namespace) -> int:
    fixtures = choose(options.what)
    _needs("rich")
    if options.output_file is not None:
        check_writable(options.output_file)
    torch = runner.installed()
    if torch.missing:
        raise Unusable(f"torch cannot be imported ({torch.missing}): {INSTALL}")
    if options.ops:
        _needs("expecttest")
        if not hasattr(os, "fork"):
            raise Unusable("--ops calls what may crash Python in forked processes, which this system has not")
    if options.programs:
        _needs("hypothesis")
    devices = DEVICES[options.device]
    parts: dict[str, Any] = {}
    with progress() as bar:
        repairs = proofs.repairs(fixtures)
        results = runner.run([*fixtures, *repairs], devices, torch=torch, seed=options.seed, progress=bar("fixtures"))
        if options.ops:
            from flake8_tensorcopy.verify import opcheck

            parts["ops"] = opcheck.check(seed=options.seed, progress=bar("calls of ops"))
        if options.programs:
            from flake8_tensorcopy.verify import programs

            parts["programs"] = programs.check(options.programs, seed=options.seed, progress=bar("programs"))
    found = report.build(fixtures, repairs, results, registry.rules(), torch, options.seed, devices)
    found |= {name: part.as_json() for name, part in parts.items()}
    if "ops" in found:
        found["ops"] = {"table": evidence.table_digest()} | found["ops"]
    if options.output_format == "json":
        _write(json.dumps(found, indent=1) + "\n", options.output_file)
    else:
        _show(found, {name: part.lines() for name, part in parts.items()}, options.output_file)
    if not parts and all(torch.devices.get(name) for name in devices):
        return UNUSABLE  # there was no device, which the report says
    return REFUTED if report.refuted(found) else CONFIRMED


def choose(what: Sequence[str]) -> list[Fixture]:
    """The fixtures that the arguments name: codes or their beginnings, names of rules, labels such as
    `TSC101/batches`, and paths of files; all that are shipped for no argument.

    Raises Unusable for an argument that names nothing, FixtureError for a file that is no fixture.
    """
    shipped = load_all(registry.shipped("fixtures"), "*")
    if not what:
        return shipped
    names: dict[str, list[Fixture]] = {}
    for fixture in shipped:
        rule = registry.rules().get(fixture.rule)
        for name in (fixture.label, fixture.rule, rule.name if rule else fixture.rule):
            if fixture not in names.setdefault(name, []):
                names[name].append(fixture)
    chosen: dict[Path, Fixture] = {}
    for argument in what:
        found = names.get(argument) or [
            fixture for fixture in shipped if argument.startswith("TSC") and fixture.rule.startswith(argument)
        ]
        if not found and _is_file(argument):
            found = [load(Path(argument))]
        if not found:
            hint = registry.near_match(argument, names)
            raise Unusable(f"{argument!r} is no rule, fixture or file of one{hint}")
        chosen |= {fixture.path.resolve(): fixture for fixture in found}
    return list(chosen.values())


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):  # a name that is too long, or a folder that must not be read
        return False


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """A termination unwinds as an interrupt does, which ends the children too."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # in a thread that is not the main one
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _needs(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise Unusable(f"{module} is not installed: {INSTALL}")


# Output.


def _show(found: dict[str, Any], parts: dict[str, list[str]], file: str | None) -> None:
    from rich.console import Console

    to_terminal = file is None and sys.stdout.isatty()
    text = io.StringIO()
    console = Console(highlight=False) if to_terminal else Console(file=text, width=WIDTH, highlight=False)
    report.show(found, console)
    for lines in parts.values():
        console.print()
        for line in lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if not to_terminal:
        _write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()), file)


def _write(text: str, file: str | None) -> None:
    """To standard output, or to a file in one step."""
    if file is None:
        sys.stdout.write(text)
    else:
        write(text, file)
