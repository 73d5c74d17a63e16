"""What reporters are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from flake8_tensorcopy.engine import Finding, Rule, Span

TOOL = "flake8-tensorcopy"  # the name that reports give to what made them


@dataclass(frozen=True, slots=True)
class FileReport:
    """The findings of one file, as the user wants to see them.

    `path` is the one to show, relative to the current folder where the file lies below it; `lines` are those that
    flake8 hands to plugins: decoded, without a byte order mark, newlines as line feeds; `findings` are in the order of
    showing.  `noqa_rows` maps the line of a finding to the one where a noqa comment for it belongs, where that is
    another.
    """

    path: str
    lines: Sequence[str]
    findings: Sequence[Finding]
    noqa_rows: Mapping[int, int] = field(default_factory=dict)

    def text(self, line: int) -> str:
        """A line without its newline; empty where the file has no such line."""
        return self.lines[line - 1].rstrip("\n") if 1 <= line <= len(self.lines) else ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a reporter may say: findings by file, the rules by code, and how to get the page of a rule."""

    files: Sequence[FileReport]
    rules: Mapping[str, Rule]
    page: Callable[[Rule], str]


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
