"""What services of continuous integration read, but for SARIF: GitHub's annotations, GitLab's code quality, rdjson."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flake8_tensorcopy.engine import Edit, Finding, Span
from flake8_tensorcopy.engine.columns import to_utf8
from flake8_tensorcopy.report.fingerprints import fingerprints
from flake8_tensorcopy.report.model import TOOL, FileReport, Report, level, name_of, whole_file
from flake8_tensorcopy.report.places import in_repository, slashes

NEAR = 10  # lines that a suggestion may replace


def github(report: Report) -> str:
    """Commands that a step of GitHub Actions prints to annotate lines of a pull request."""
    lines = []
    for file in report.files:
        path = in_repository(file.path)
        lines += [_annotation(file, path, finding, report) for finding in file.findings]
    return "".join(f"{line}\n" for line in lines)


def _annotation(file: FileReport, path: str, finding: Finding, report: Report) -> str:
    span = finding.span
    place: dict[str, str | int] = {"file": path, "line": span.line}
    if span.line < span.end_line:
        place["endLine"] = span.end_line  # GitHub takes columns on one line only
    elif not whole_file(finding):
        place |= {"col": span.column + 1, "endLine": span.end_line, "endColumn": span.end_column + 1}
    place["title"] = f"{finding.code} {name_of(finding.code, report.rules)}"
    # The log shows nothing but the message.
    lines = [f"{slashes(file.path)}:{span.line}:{span.column + 1}: {finding.code} {finding.message}"]
    lines += [f"line {step.span.line}: {step.text}" for step in finding.path]
    command = {"error": "error", "warning": "warning", "note": "notice"}[level(finding.code)]
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in place.items())
    return f"::{command} {properties}::{_data(chr(10).join(lines))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(report: Report) -> str:
    """A report of code quality as GitLab takes it from a job's artifacts."""
    severities = {"error": "major", "warning": "minor", "note": "info"}
    issues = []
    for file in report.files:
        path = in_repository(file.path)
        for finding, fingerprint in zip(file.findings, fingerprints(file), strict=True):
            span = finding.span
            issues.append(
                {
                    "description": f"{finding.code} {finding.message}",
                    "check_name": name_of(finding.code, report.rules),
                    "fingerprint": fingerprint,
                    "severity": severities[level(finding.code)],
                    "location": {
                        "path": path,
                        "positions": {
                            "begin": {"line": span.line, "column": span.column + 1},
                            "end": {"line": span.end_line, "column": span.end_column + 1},
                        },
                    },
                }
            )
    return json.dumps(issues, indent=2) + "\n"


def rdjson(report: Report) -> str:
    """The diagnostic format of reviewdog; its columns are bytes of UTF-8 from 1."""
    diagnostics = [_diagnostic(file, finding) for file in report.files for finding in file.findings]
    return json.dumps({"source": {"name": TOOL}, "severity": "WARNING", "diagnostics": diagnostics}, indent=2) + "\n"


def _diagnostic(file: FileReport, finding: Finding) -> dict[str, Any]:
    path = slashes(file.path)
    found: dict[str, Any] = {
        "message": finding.message,
        "location": {"path": path},
        "severity": {"error": "ERROR", "warning": "WARNING", "note": "INFO"}[level(finding.code)],
        "code": {"value": finding.code},
    }
    if not whole_file(finding):
        found["location"]["range"] = _range(file, finding.span)
    if finding.fix is not None and (suggestion := _suggestion(file, finding.fix.edits)) is not None:
        found["suggestions"] = [suggestion]
    if finding.path:
        found["related_locations"] = [
            {"message": step.text, "location": {"path": path, "range": _range(file, step.span)}}
            for step in finding.path
        ]
    return found


def _range(file: FileReport, span: Span) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": span.line, "column": to_utf8(file.text(span.line), span.column) + 1},
        "end": {"line": span.end_line, "column": to_utf8(file.text(span.end_line), span.end_column) + 1},
    }


def _suggestion(file: FileReport, edits: Sequence[Edit]) -> dict[str, Any] | None:
    """All the edits as one: reviewdog offers each suggestion by itself.  None where they are far apart."""
    ordered = sorted(edits)
    first, last = ordered[0].span, ordered[-1].span
    if last.end_line - first.line >= NEAR:
        return None
    parts = [ordered[0].text]
    for before, edit in pairwise(ordered):
        parts += [_between(file, before.span, edit.span), edit.text]
    return {
        "range": _range(file, Span(first.line, first.column, last.end_line, last.end_column)),
        "text": "".join(parts),
    }


def _between(file: FileReport, before: Span, after: Span) -> str:
    """The source from the end of one span to the beginning of another."""
    lines = [*file.lines[before.end_line - 1 : after.line - 1], file.text(after.line)[: after.column]]
    return "".join([lines[0][before.end_column :], *lines[1:]])
