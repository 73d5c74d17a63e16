"""What must hold for one input, whatever it is: everything that does not is a complaint, one line each."""

from __future__ import annotations

import ast
import os
import re
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from flake8_tensorcopy import lint as linting
from flake8_tensorcopy.config import DEBUG, Options
from flake8_tensorcopy.engine import Finding, analysis
from flake8_tensorcopy.engine.screens import SCREENS
from flake8_tensorcopy.files import Task, decoded
from flake8_tensorcopy.fixes import Source, Unfixable, repair
from flake8_tensorcopy.settings import Settings

MARK = "\ufeff"
# What a TSC000 may say: how deep is too deep is told in README.md.
BOUND = re.compile(r"not analysed: `\S+` nests .+$")
T = TypeVar("T")
PREVIEW = Options(preview=True)


@dataclass
class Verdict:
    """What became of one input; `kind` is how far it went, `seconds` is CPU time by what was done."""

    kind: str = "unparsed"
    complaints: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    bounded: bool = False
    codes: set[str] = field(default_factory=set)


def judged(data: bytes, *, timed: bool = False, limit: int = 400_000) -> Verdict:
    """All that is checked in this process.  Inputs of more than `limit` bytes are not repaired and not run in full."""
    verdict = Verdict()
    with _debugging(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the input's own escapes
        _judge(data, verdict, timed, len(data) <= limit)
    return verdict


@contextmanager
def _debugging() -> Iterator[None]:
    before = os.environ.get(DEBUG)
    os.environ[DEBUG] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[DEBUG]
        else:
            os.environ[DEBUG] = before


def _judge(data: bytes, verdict: Verdict, timed: bool, whole: bool) -> None:
    task = Task(Settings(PREVIEW, disable_noqa=True))
    lines = decoded(data)
    if lines and lines[0].startswith(MARK):
        lines[0] = lines[0].removeprefix(MARK)
    text = "".join(lines)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        _tried(verdict, "check", lambda: task.of("input.py", data))
        return
    verdict.kind = "parsed"
    before = ast.dump(tree, include_attributes=True) if whole else ""
    found = _tried(verdict, "lint", lambda: linting.lint(tree, lines, PREVIEW, repairs=False))
    if timed and verdict.seconds["lint"] > 1:
        _not_slower(verdict, text)
    if found is None:
        return
    verdict.codes = {finding.code for finding in found}
    for finding in found:
        _looked_at(verdict, finding, lines)
    if not whole:
        return
    again = _tried(verdict, "again", lambda: linting.lint(tree, lines, PREVIEW, repairs=False))
    if again is not None and again != found:
        verdict.complaints.append("another result the second time")
    with every_function():
        everywhere = _tried(verdict, "everywhere", lambda: linting.lint(tree, lines, PREVIEW, repairs=False))
    for finding in everywhere or ():
        _looked_at(verdict, finding, lines)
    if any("torch" in line for line in lines):
        verdict.kind = "linted"
    if ast.dump(tree, include_attributes=True) != before:
        verdict.complaints.append("the tree was changed")
    if found:
        _repaired(data, verdict)


@contextmanager
def every_function() -> Iterator[None]:
    """Every function is run for every kind of fact, whether something speaks for one or not."""
    triggers, judges, screens = analysis._TRIGGERS, analysis.JUDGES, dict(SCREENS)
    analysis._TRIGGERS = {}
    analysis.JUDGES = tuple(judge._replace(needs=(0,), possible=None) for judge in judges)
    SCREENS.clear()
    try:
        yield
    finally:
        analysis._TRIGGERS, analysis.JUDGES = triggers, judges
        SCREENS.update(screens)


def _tried(verdict: Verdict, what: str, act: Callable[[], T]) -> T | None:
    start = time.process_time()
    try:
        return act()
    except Exception as error:
        verdict.complaints.append(f"{what} raised {named(error)}")
        return None
    finally:
        verdict.seconds[what] = time.process_time() - start


def named(error: BaseException) -> str:
    """An exception by its type and where in the package it came up: the same for the same bug."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "tests" not in frame.filename]
    mine = [frame for frame in frames if "flake8_tensorcopy" in frame.filename or "rules" in frame.filename]
    frame = (mine or frames)[-1]
    return f"{type(error).__name__} in {os.path.basename(frame.filename)}, {frame.name}"


def _not_slower(verdict: Verdict, text: str) -> None:
    """At most twenty times what LibCST takes to parse the file, and a second."""
    import libcst

    start = time.process_time()
    try:
        libcst.parse_module(text)
    except (libcst.ParserSyntaxError, RecursionError):
        pass
    bare = time.process_time() - start
    if verdict.seconds["lint"] > 20 * bare + 1:
        verdict.complaints.append("slower than twenty times libcst.parse_module")


def _looked_at(verdict: Verdict, finding: Finding, lines: Sequence[str]) -> None:
    """A finding says where it is, within the file, in one line; a TSC000 only that something is too deep."""
    if finding.code == "TSC000":
        if BOUND.match(finding.message):
            verdict.bounded = True
        else:
            verdict.complaints.append(re.sub(r"[\d:.]+", "#", f"TSC000 {finding.message}")[:80])
        return
    for span in (finding.span, *(step.span for step in finding.path)):
        inside = 1 <= span.line <= span.end_line <= len(lines) and 0 <= span.column <= len(lines[span.line - 1])
        if not inside or (span.line, span.column) > (span.end_line, span.end_column):
            verdict.complaints.append(f"{finding.code} stands outside the file")
    if len(finding.message.splitlines()) != 1 or not finding.message.isprintable():
        verdict.complaints.append(f"{finding.code} has a message that is not one line")


def _repaired(data: bytes, verdict: Verdict) -> None:
    """All repairs together, and each for itself: the result parses, and a second time there is nothing left to do."""
    try:
        Source.read(data).tree()
    except Unfixable:
        return

    def run(data: bytes) -> tuple[bytes, int]:
        made = repair(
            data,
            lambda tree, lines: linting.lint(tree, lines, PREVIEW),
            lambda findings, tree, lines: findings,
            unsafe=True,
        )
        for finding, reason in made.refused:
            if "would not do" in reason:
                verdict.complaints.append(f"{finding.code} has a repair that {reason.split(':')[1].strip()}")
        made.source.tree()
        return made.source.data, len(made.fixed)

    first = _tried(verdict, "repair", lambda: run(data))
    if first is not None and first[1]:
        second = _tried(verdict, "repair again", lambda: run(first[0]))
        if second is not None and (second[1] or second[0] != first[0]):
            verdict.complaints.append("repaired once more the second time")
