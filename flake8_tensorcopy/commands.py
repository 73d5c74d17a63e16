"""`tensorcopy check` and `tensorcopy fix`: settles what to do, does it, and reports."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flake8_tensorcopy import atomic, baseline, explain, processes, registry
from flake8_tensorcopy.baseline import Baseline, BaselineError
from flake8_tensorcopy.changes import Changes, GitError
from flake8_tensorcopy.config import DEBUG
from flake8_tensorcopy.configfiles import ConfigError, load
from flake8_tensorcopy.engine import Finding
from flake8_tensorcopy.files import Outcome, Task
from flake8_tensorcopy.report import FileReport, narrowed, render
from flake8_tensorcopy.selection import UNREADABLE, discover
from flake8_tensorcopy.settings import Settings
from flake8_tensorcopy.terminal import colored, progress

CLEAN, FOUND, UNUSABLE = 0, 1, 2
DELAY = 0.5  # seconds of a run that needs no bar
FOR_PEOPLE = ("text", "concise")
SOURCES = (".py", ".pyi", ".ipynb")


def run(options: Namespace, given: Mapping[str, Any]) -> int:
    """Runs `check` or `fix`; returns the exit status.

    `given` are the settings of the command line.  0: nothing is reported; 1: something is, or would be changed; 2:
    nothing could be done.
    """
    try:
        settings, notes = load(given, config=options.config, isolated=options.isolated)
        if options.output_file is not None:
            if options.output_file.endswith(SOURCES):  # as of `--output-file *.py`
                raise ConfigError(f"--output-file: {options.output_file!r} is the name of a source file")
            atomic.check_writable(options.output_file)
        for note in notes:
            _say(f"tensorcopy {options.command}: {note}")
        status = _run(options, settings)
    except (BaselineError, ConfigError, atomic.Unwritable) as error:
        _say(f"tensorcopy {options.command}: {error}")
        return UNUSABLE
    except GitError as error:
        _say(f"tensorcopy {options.command}: --diff-base: {error}")
        return UNUSABLE
    return CLEAN if options.exit_zero and status == FOUND else status


def _run(options: Namespace, settings: Settings) -> int:
    known = _baseline(options, settings)
    changes = None if options.diff_base is None else Changes(options.diff_base)
    task = Task(settings, "diff" if options.diff else options.command)
    name = options.stdin_filename
    paths = discover(options.paths, settings, name)
    if changes is not None:
        paths = [path for path in paths if path == "-" or changes.of(path) is not None]
    if task.mode == "fix":  # what several links lead to is one file
        first: dict[str, str] = {}
        for path in paths:
            first.setdefault(os.path.realpath(path), path)
        paths = list(first.values())
    rewrites_stdin = task.mode == "fix" and "-" in options.paths
    if rewrites_stdin and len(set(options.paths)) > 1:
        raise ConfigError("`-` gives the repaired text on standard output, and goes with no other path")
    stdin = sys.stdin.buffer.read() if "-" in options.paths else b""
    outcomes = _outcomes(task, paths, settings.jobs, name, stdin)
    for note in (note for outcome in outcomes for note in outcome.notes):
        _say(note)
    if rewrites_stdin:
        data = outcomes[0].data if outcomes else None
        sys.stdout.buffer.write(stdin if data is None else data)
        sys.stdout.buffer.flush()
    if task.mode == "diff":
        return _show_diff(outcomes)
    if options.update_baseline:
        known = known.updated(outcome.report for outcome in outcomes)
        known.write(settings.baseline)
        _say(f"{_counted(known.count(), 'known finding')} in {settings.baseline}")
    found = _count(outcomes)
    outcomes = [replace(outcome, report=known.new(outcome.report)) for outcome in outcomes]
    hidden = 0 if options.update_baseline else found - _count(outcomes)
    if changes is not None:
        outcomes = [_changed(outcome, path, changes, stdin) for outcome, path in zip(outcomes, paths, strict=True)]
    _report(outcomes, options, settings, to_stderr=rewrites_stdin)
    if sys.stderr.isatty():
        for line in _summary(outcomes, settings, hidden):
            _say(line)
    return FOUND if _count(outcomes) else CLEAN


def _count(outcomes: Sequence[Outcome]) -> int:
    return sum(len(outcome.report.findings) for outcome in outcomes)


def _baseline(options: Namespace, settings: Settings) -> Baseline:
    """What is known; nothing where there is no baseline.  Raises ConfigError for options that contradict each other."""
    if options.diff_base is not None and options.diff:
        raise ConfigError("--diff shows the repairs of whole files, and goes not with --diff-base")
    if options.update_baseline:
        for name, given in (("--diff", options.diff), ("--diff-base", options.diff_base is not None)):
            if given:
                raise ConfigError(f"--update-baseline needs all findings, and goes not with {name}")
        if not settings.baseline:
            raise ConfigError("--update-baseline needs a file: --baseline FILE, or `baseline` in [tool.tensorcopy]")
        atomic.check_writable(settings.baseline)
    if not settings.baseline:
        return Baseline({})
    try:
        return baseline.read(settings.baseline)
    except FileNotFoundError:
        if options.update_baseline:
            return Baseline({})
        raise ConfigError(
            f"there is no file {settings.baseline!r}: `tensorcopy check --update-baseline` writes it"
        ) from None


def _changed(outcome: Outcome, path: str, changes: Changes, stdin: bytes) -> Outcome:
    """What became of a file, with the findings that its changes concern."""
    change = changes.of_text(outcome.report.path, stdin) if path == "-" else changes.of(path)
    found = outcome.report  # of a notebook, what has changed are lines of its JSON
    report = narrowed(found, lambda finding, _: change is not None and change.concerns(found.located(finding)))
    return replace(outcome, report=report)


def _outcomes(task: Task, paths: Sequence[str], jobs: int, name: str, stdin: bytes) -> list[Outcome]:
    """What became of each path, in their order; standard input stays in this process."""
    files = [path for path in paths if path != "-"]
    if os.environ.get(DEBUG):
        jobs = 1  # a failure is raised here
    with progress(threads=False, delay=DELAY) as bar:
        done = processes.run(task, task.not_analysed, files, jobs or processes.paying(files), bar("files"))
    outcomes = dict(zip(files, done, strict=True))
    if "-" in paths:
        outcomes["-"] = task.of(name, stdin)
    return [outcomes[path] for path in paths]


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _show_diff(outcomes: Sequence[Outcome]) -> int:
    """A diff stands alone on standard output, so that it can be applied; what could not be read is told beside it."""
    for outcome in outcomes:
        sys.stdout.write(outcome.diff)
    for outcome in outcomes:
        if outcome.unreadable:
            _say(_plain([outcome.report]).rstrip("\n"))
    changed = sum(bool(outcome.diff) for outcome in outcomes)
    if changed and sys.stderr.isatty():
        count = sum(outcome.fixed for outcome in outcomes)
        _say(f"{_counted(count, 'finding')} would be repaired in {_counted(changed, 'file')}")
    return FOUND if changed or any(outcome.unreadable for outcome in outcomes) else CLEAN


def _report(outcomes: Sequence[Outcome], options: Namespace, settings: Settings, *, to_stderr: bool) -> None:
    reports = [outcome.report for outcome in outcomes if outcome.report.findings]
    stream = sys.stderr if to_stderr else sys.stdout
    if options.output_file is None:
        color = colored(options.color, stream)
        width = _width(stream.fileno()) if stream.isatty() else None
    else:
        color, width = options.color == "always", None
    format = settings.output_format
    rules = registry.rules() if reports or format not in FOR_PEOPLE else {}  # not loaded to say nothing
    text = render(format, reports, rules, explain.page, color=color, width=width)
    statistics = "".join(f"{line}\n" for line in _statistics(reports)) if settings.statistics else ""
    if format in FOR_PEOPLE:
        text += statistics
    else:
        sys.stderr.write(statistics)
    if options.output_file is None:
        stream.write(text)
    else:
        atomic.write(text, options.output_file)


def _plain(reports: Sequence[FileReport]) -> str:
    return render("concise", reports, registry.rules(), explain.page)


def _width(stream: int) -> int | None:
    try:
        return os.get_terminal_size(stream).columns or None
    except OSError:
        return None


def _statistics(reports: Sequence[FileReport]) -> list[str]:
    """How often each code is reported, most often first, aligned as flake8 does."""
    counts = Counter(finding.code for report in reports for finding in report.findings)
    rules = registry.rules()
    others = {"TSC000": "not analysed", **dict(zip(UNREADABLE, ("cannot be read", "cannot be parsed"), strict=True))}
    return [
        f"{count:<5} {code} {rules[code].summary if code in rules else others.get(code, '')}"
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def _summary(outcomes: Sequence[Outcome], settings: Settings, hidden: int) -> list[str]:
    """What was done and what is left, for a reader at a terminal; `hidden` is how many findings are known."""
    lines = []
    if fixed := sum(outcome.fixed for outcome in outcomes):
        files = sum(bool(outcome.fixed) for outcome in outcomes)
        lines.append(f"{_counted(fixed, 'finding')} repaired in {_counted(files, 'file')}")
    reports = [outcome.report for outcome in outcomes if outcome.report.findings]
    findings = [finding for report in reports for finding in report.findings]
    if findings:
        lines.append(
            f"{_counted(len(findings), 'finding')} in {_counted(len(reports), 'file')}{_fixable(findings, settings)}"
        )
    if hidden:
        lines.append(f"{_counted(hidden, 'known finding')} not shown")
    return lines


def _fixable(findings: Sequence[Finding], settings: Settings) -> str:
    fixes = [finding.fix for finding in findings if finding.fix is not None]
    safe = sum(fix.safe or settings.unsafe_fixes for fix in fixes)
    unsafe = len(fixes) - safe
    if safe:
        more = f" ({unsafe} more with --unsafe-fixes)" if unsafe else ""
        return f"; [*] {safe} fixable with `tensorcopy fix`{more}"
    return f"; {unsafe} fixable with `tensorcopy fix --unsafe-fixes`" if unsafe else ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
