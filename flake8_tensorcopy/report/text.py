"""The formats for people: a line for each finding, and the same with the source that it speaks of."""

from __future__ import annotations

from collections.abc import Iterable

from flake8_tensorcopy.engine import Finding
from flake8_tensorcopy.report.cells import visible
from flake8_tensorcopy.report.excerpts import Row, excerpt
from flake8_tensorcopy.report.model import FileReport, Report

WIDTH = 130  # of a row with source, where no terminal tells

# Select graphic rendition, as terminals understand it.
STYLES = {"path": "1", "code": "1;31", "main": "1;31", "step": "36", "fix": "1;36", "frame": "34", "help": "1"}


def concise(report: Report) -> str:
    """What flake8 prints by default: path, line and column from 1, code and message."""
    return _joined(_header(file, finding) for file in report.files for finding in file.findings)


def full(report: Report, *, color: bool, width: int | None) -> str:
    """Each finding with its source, the repair where there is one, and where more is said of the rule."""
    rows: list[Row] = []
    for file in report.files:
        for finding in file.findings:
            rows += [*([[]] if rows else []), *_finding(file, finding, report, width or WIDTH)]
    return _joined(rows, color)


def _finding(file: FileReport, finding: Finding, report: Report, width: int) -> Iterable[Row]:
    yield _header(file, finding, fixable=True)
    rows = excerpt(file, finding, width)
    yield from rows
    margin = rows[0][0][0].index("|") if rows else 1
    notes = []
    if finding.fix is not None:
        notes.append(("fix", f" ({'safe' if finding.fix.safe else 'unsafe'}): {visible(finding.fix.title)}"))
    if finding.code in report.rules:
        notes.append(("explain", f": tensorcopy explain {finding.code}"))
    for name, text in notes:
        yield [(" " * margin, ""), ("= ", "frame"), (name, "help"), (text, "")]


def _header(file: FileReport, finding: Finding, fixable: bool = False) -> Row:
    span = finding.span
    row = [(visible(file.path), "path"), (f":{span.line}:{span.column + 1}: ", ""), (finding.code, "code")]
    if fixable and finding.fix is not None:
        row += [(" ", ""), ("[*]" if finding.fix.safe else "[* unsafe]", "fix")]
    return [*row, (f" {visible(finding.message)}", "")]


def _joined(rows: Iterable[Row], color: bool = False) -> str:
    return "".join("".join(_painted(_stripped(row), color)) + "\n" for row in rows)


def _stripped(row: Row) -> Row:
    """The row without the white space at its end."""
    kept = list(row)
    while kept and not kept[-1][0].rstrip():
        kept.pop()
    return [*kept[:-1], (kept[-1][0].rstrip(), kept[-1][1])] if kept else []


def _painted(row: Row, color: bool) -> Iterable[str]:
    for text, style in row:
        yield f"\x1b[{STYLES[style]}m{text}\x1b[0m" if color and style and text.strip() else text
