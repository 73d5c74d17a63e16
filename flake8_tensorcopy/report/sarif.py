"""SARIF 2.1.0, with what GitHub's code scanning asks for and shows, within its limits."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from flake8_tensorcopy.engine import Finding, Fix, Rule, Span
from flake8_tensorcopy.report.fingerprints import fingerprints
from flake8_tensorcopy.report.model import TOOL, UNRULED, FileReport, Report, level, name_of
from flake8_tensorcopy.report.places import in_repository, root, uri

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASE = "%SRCROOT%"
RESULTS = 25_000  # of a run; GitHub refuses the whole file beyond
DESCRIPTION = 1024  # code points of a description, likewise
FAMILIES = {
    "TSC1": "aliasing",
    "TSC2": "lost-write",
    "TSC3": "layout",
    "TSC4": "autograd",
    "TSC5": "device-transfer",
    "TSC6": "copy-cost",
}

Object = dict[str, Any]


def render(report: Report) -> str:
    """One run; columns count code points from 1, ends exclusive, and paths begin at the root of the repository."""
    found = [
        (in_repository(file.path), file, finding, fingerprint)
        for file in report.files
        for finding, fingerprint in zip(file.findings, fingerprints(file), strict=True)
    ]
    codes = [*report.rules, *sorted({finding.code for _, _, finding, _ in found} - set(report.rules))]
    index = {code: number for number, code in enumerate(codes)}
    run = {
        "tool": {
            "driver": {
                "name": TOOL,
                "semanticVersion": version(TOOL),
                "rules": [_descriptor(code, report) for code in codes],
            }
        },
        "invocations": [_invocation(len(found))],
        "originalUriBaseIds": {BASE: {"uri": root().as_uri().rstrip("/") + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(*one, index) for one in found[:RESULTS]],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _invocation(count: int) -> Object:
    invocation: Object = {"executionSuccessful": True}
    if count > RESULTS:
        text = f"{count - RESULTS} of {count} findings are left out: a run holds {RESULTS}."
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    return invocation


# Rules.


def _descriptor(code: str, report: Report) -> Object:
    """A rule, or what stands for one where a file was not looked at."""
    rule = report.rules.get(code)
    name = name_of(code, report.rules)
    summary = _sentence(rule.summary if rule else UNRULED.get(code, (name, name))[1])
    page = report.page(rule) if rule else summary
    grade = level(code)
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": _short(summary)},
        "fullDescription": {"text": _short(_described(page) or summary)},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": grade, "enabled": rule is None or not rule.preview},
        "properties": {
            "tags": _tags(code, rule),
            "precision": "medium" if rule and rule.preview else "high",
            "problem.severity": "recommendation" if grade == "note" else grade,
        },
    }


def _tags(code: str, rule: Rule | None) -> list[str]:
    tags = ["pytorch"] if rule else []
    if (family := FAMILIES.get(code[:4])) and rule:
        tags.append(family)
    return [*tags, "preview"] if rule and rule.preview else tags


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _described(page: str) -> str:
    """What the first section of a rule's page says, on one line and without marks for code."""
    section = re.search(r"^## What it does\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return " ".join(section[1].split()).replace("`", "") if section else ""


def _short(text: str) -> str:
    return text if len(text) <= DESCRIPTION else f"{text[: DESCRIPTION - 3].rsplit(' ', 1)[0]}..."


# Findings.


def _result(path: str, file: FileReport, finding: Finding, fingerprint: str, rules: dict[str, int]) -> Object:
    related = [step for step in finding.path if step.span != finding.span]
    result: Object = {
        "ruleId": finding.code,
        "ruleIndex": rules[finding.code],
        "level": level(finding.code),
        "message": {"text": _linked(finding.message, [step.span.line for step in related])},
        "locations": [{"physicalLocation": _tight(file, path, finding.span)}],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint, f"{TOOL}/v1": fingerprint},
    }
    if related:
        result["relatedLocations"] = [
            {"id": number, **_location(path, step.span, step.text)} for number, step in enumerate(related, 1)
        ]
    if finding.path:
        steps = [{"location": _location(path, step.span, step.text)} for step in finding.path]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.fix is not None:
        result["fixes"] = [_fix(path, finding.fix)]
    return result


def _linked(message: str, lines: Sequence[int]) -> str:
    """The message with a link to the related location wherever it names its line; the others follow at its end.

    GitHub shows no related location without one.
    """
    numbers: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        numbers.setdefault(str(line), number)
    text = _literal(message, linked=bool(numbers))
    named: set[str] = set()

    def link(match: re.Match[str]) -> str:
        named.add(match[1])
        return f"[{match[0]}]({numbers[match[1]]})" if match[1] in numbers else match[0]

    text = re.sub(r"\bline (\d+)\b", link, text)
    rest = [f"[line {line}]({number})" for line, number in numbers.items() if line not in named]
    return f"{text}; see {', '.join(rest)}" if rest else text


def _literal(text: str, *, linked: bool = False) -> str:
    """A text of which nothing is taken for a link or a placeholder, whether it is to hold links or not."""
    if linked or "](" in text:
        text = re.sub(r"[\[\]\\]", r"\\\g<0>", text)
    return re.sub(r"\{(\d+)\}", r"{{\1}}", text)


def _tight(file: FileReport, path: str, span: Span) -> Object:
    """The place of a finding, of a span over lines only the first: GitHub annotates if all lines are in the change."""
    if span.end_line == span.line:
        return _physical(path, span)
    first = Span(span.line, span.column, span.line, max(len(file.text(span.line).rstrip()), span.column))
    return _physical(path, first) | {"contextRegion": _region(span)}


def _location(path: str, span: Span, text: str) -> Object:
    return {"physicalLocation": _physical(path, span), "message": {"text": _literal(text)}}


def _physical(path: str, span: Span) -> Object:
    return {"artifactLocation": _artifact(path), "region": _region(span)}


def _artifact(path: str) -> dict[str, str]:
    address = uri(path)
    return {"uri": address} if address.startswith("file:") else {"uri": address, "uriBaseId": BASE}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column + 1,
        "endLine": span.end_line,
        "endColumn": span.end_column + 1,
    }


def _fix(path: str, fix: Fix) -> Object:
    replacements = [{"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits]
    return {
        "description": {"text": f"{fix.title} ({'safe' if fix.safe else 'unsafe'})"},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
    }
