"""The format "json": a list with an object for each finding, in the shape that ruff's has, and the path added."""

from __future__ import annotations

import json
from typing import Any

from flake8_tensorcopy.engine import Fix, Span
from flake8_tensorcopy.report.model import FileReport, Report, is_preview, name_of


def render(report: Report) -> str:
    """Rows and columns count from 1, columns in code points, ends exclusive; in a notebook rows count in the cell."""
    return json.dumps(_objects(report), indent=2) + "\n"


def _objects(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "code": finding.code,
            "name": name_of(finding.code, report.rules),
            "message": finding.message,
            "filename": file.path,
            "cell": file.cells.place(finding.span.line)[0],
            "url": None,
            **_place(file, finding.span),
            "noqa_row": file.cells.place(file.noqa_rows.get(finding.span.line, finding.span.line))[1],
            "fix": _fix(file, finding.fix),
            "path": [
                {"message": step.text, **_cell(file, step.span), **_place(file, step.span)} for step in finding.path
            ],
            "preview": is_preview(finding, report.rules),
        }
        for file in report.files
        for finding in file.findings
    ]


def _place(file: FileReport, span: Span) -> dict[str, dict[str, int]]:
    row = file.cells.place(span.line)[1]
    return {
        "location": {"row": row, "column": span.column + 1},
        "end_location": {"row": row + span.end_line - span.line, "column": span.end_column + 1},
    }


def _cell(file: FileReport, span: Span) -> dict[str, int]:
    """The cell of a place that may be in another one than the finding; nothing in a plain file."""
    cell, _ = file.cells.place(span.line)
    return {} if cell is None else {"cell": cell}


def _fix(file: FileReport, fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    return {
        "applicability": "safe" if fix.safe else "unsafe",
        "message": fix.title,
        "edits": [{"content": edit.text, **_cell(file, edit.span), **_place(file, edit.span)} for edit in fix.edits],
    }
