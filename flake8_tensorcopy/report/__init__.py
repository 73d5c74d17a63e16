"""Findings as text for people and as what editors and the services of continuous integration read.

Nothing here decides what is shown, and nothing is printed: a report is a text, ended by a newline where it is not
empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flake8_tensorcopy.engine import Rule
from flake8_tensorcopy.report import ci, objects, sarif, text
from flake8_tensorcopy.report.fingerprints import fingerprints
from flake8_tensorcopy.report.model import FileReport, Report

__all__ = ["FORMATS", "FileReport", "fingerprints", "render"]

_PLAIN: dict[str, Callable[[Report], str]] = {
    "concise": text.concise,
    "json": objects.render,
    "sarif": sarif.render,
    "github": ci.github,
    "gitlab": ci.gitlab,
    "rdjson": ci.rdjson,
}
FORMATS: tuple[str, ...] = ("text", *_PLAIN)


def render(
    format: str,
    files: Sequence[FileReport],
    rules: Mapping[str, Rule],
    page: Callable[[Rule], str],
    *,
    color: bool = False,
    width: int | None = None,
) -> str:
    """The findings in one of FORMATS.

    `rules` are all that there are, by code; `page` gives the page of one in Markdown.  `color` and `width`, the number
    of columns that a row with source may take, are for the format "text" alone.  Raises KeyError for another format.
    """
    report = Report(files, rules, page)
    if format == "text":
        return text.full(report, color=color, width=width)
    return _PLAIN[format](report)
