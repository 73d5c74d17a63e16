"""Findings as text for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from flake8_tensorcopy.engine import Finding, Rule

FORMATS = ("concise",)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What is shown of one file."""

    path: str
    lines: Sequence[str]
    findings: Sequence[Finding]
    noqa_rows: Mapping[int, int] = field(default_factory=dict)


def render(
    format: str,
    files: Sequence[FileReport],
    rules: Mapping[str, Rule],
    page: Callable[[Rule], str],
    *,
    color: bool = False,
    width: int | None = None,
) -> str:
    """A line for each finding, as flake8 writes it."""
    return "".join(
        f"{file.path}:{found.span.line}:{found.span.column + 1}: {found.code} {found.message}\n"
        for file in files
        for found in file.findings
    )
