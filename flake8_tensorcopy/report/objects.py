"""The format "json": a list with an object for each finding, in the shape that ruff's has, and the path added."""

from __future__ import annotations

import json
from typing import Any

from flake8_tensorcopy.engine import Fix, Span
from flake8_tensorcopy.report.model import Report, is_preview, name_of


def render(report: Report) -> str:
    """Rows and columns count from 1, columns in code points, ends exclusive."""
    return json.dumps(_objects(report), indent=2) + "\n"


def _objects(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "code": finding.code,
            "name": name_of(finding.code, report.rules),
            "message": finding.message,
            "filename": file.path,
            "url": None,
            **_place(finding.span),
            "noqa_row": file.noqa_rows.get(finding.span.line, finding.span.line),
            "fix": _fix(finding.fix),
            "path": [{"message": step.text, **_place(step.span)} for step in finding.path],
            "preview": is_preview(finding, report.rules),
        }
        for file in report.files
        for finding in file.findings
    ]


def _place(span: Span) -> dict[str, dict[str, int]]:
    return {
        "location": {"row": span.line, "column": span.column + 1},
        "end_location": {"row": span.end_line, "column": span.end_column + 1},
    }


def _fix(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    return {
        "applicability": "safe" if fix.safe else "unsafe",
        "message": fix.title,
        "edits": [{"content": edit.text, **_place(edit.span)} for edit in fix.edits],
    }
