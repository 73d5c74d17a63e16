"""What reporters are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from flake8_tensorcopy.engine import Cells, Finding, Rule, Span

TOOL = "flake8-tensorcopy"  # the name that reports give to what made them


@dataclass(frozen=True, slots=True)
class Written:
    """Where a line of a notebook's program stands in the file.

    `row` is the line of the file, from 1, where it begins, and `text` that line; `columns` are those there of its
    characters and of its end, which escapes in the file make others than in the program.
    """

    row: int
    columns: Sequence[int]
    text: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """The findings of one file, as the user wants to see them.

    `path` is the one to show, relative to the current folder where the file lies below it; `lines` are those that
    flake8 hands to plugins: decoded, without a byte order mark, newlines as line feeds; `findings` are in the order of
    showing.  `noqa_rows` maps the line of a finding to the one where a noqa comment for it belongs, where that is
    another.  `fingerprints` are those of the findings where others of the file, which count for them, are not shown.
    Of a notebook, the lines are those of its code cells, as `cells` says, and `written` says of those lines where
    something is found, or begins or ends on the way there, where they stand in the file.
    """

    path: str
    lines: Sequence[str]
    findings: Sequence[Finding]
    noqa_rows: Mapping[int, int] = field(default_factory=dict)
    fingerprints: Sequence[str] | None = None
    cells: Cells = field(default_factory=Cells)
    written: Mapping[int, Written] = field(default_factory=dict)

    def text(self, line: int) -> str:
        """A line without its newline; empty where the file has no such line."""
        return self.lines[line - 1].rstrip("\n") if 1 <= line <= len(self.lines) else ""

    def in_file(self, span: Span) -> Span:
        """Where a span stands in the file itself, which is JSON if it is a notebook."""
        if not self.written:
            return span
        start, end = self.written[span.line], self.written[span.end_line]
        return Span(start.row, _item(start.columns, span.column), end.row, _item(end.columns, span.end_column))

    def located(self, finding: Finding) -> Finding:
        """The finding with the places of `in_file`."""
        steps = tuple(step._replace(span=self.in_file(step.span)) for step in finding.path)
        return replace(finding, span=self.in_file(finding.span), path=steps)

    def text_in_file(self, line: int) -> str:
        """The line of the file itself on which a line begins."""
        return self.written[line].text if self.written else self.text(line)

    def cell_of(self, finding: Finding) -> str:
        """What is said behind a message whose reader is shown the file itself: nothing but for a notebook."""
        cell, row = self.cells.place(finding.span.line)
        return "" if cell is None else f" (cell {cell}, line {row})"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a reporter may say: findings by file, the rules by code, and how to get the page of a rule."""

    files: Sequence[FileReport]
    rules: Mapping[str, Rule]
    page: Callable[[Rule], str]


def _item(columns: Sequence[int], column: int) -> int:
    return columns[min(column, len(columns) - 1)]


# What is reported of a file that no rule has looked at, by the names that such findings have where a name is needed.
UNRULED = {
    "TSC000": ("not-analysed", "a file, or a part of it, that could not be analysed"),
    "E902": ("not-read", "a file that could not be read"),
    "E999": ("syntax-error", "a file that Python cannot parse"),
}


def name_of(code: str, rules: Mapping[str, Rule]) -> str:
    """The name of the rule with this code; for a code that no rule has, what stands in for it."""
    rule = rules.get(code)
    return rule.name if rule else UNRULED.get(code, (code.lower(), ""))[0]


def is_preview(finding: Finding, rules: Mapping[str, Rule]) -> bool:
    """The finding is only shown with the preview switch, for itself or with its whole rule."""
    rule = rules.get(finding.code)
    return finding.preview or (rule is not None and rule.preview)


def level(code: str) -> Literal["error", "warning", "note"]:
    """How grave a finding is: an error where a file was not looked at, a note where the program only costs too much."""
    if code in ("E902", "E999"):
        return "error"
    return "note" if code.startswith("TSC6") else "warning"


def whole_file(finding: Finding) -> bool:
    """It has no place of its own in its file."""
    return finding.span == Span(1, 0, 1, 0)
