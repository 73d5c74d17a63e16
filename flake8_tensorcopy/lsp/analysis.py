"""What is found in a text, and what becomes of it when it is repaired: no protocol here."""

from __future__ import annotations

import ast
import difflib
import io
import os
import tokenize
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flake8_tensorcopy.config import DEBUG
from flake8_tensorcopy.engine import Edit, Finding, Span
from flake8_tensorcopy.files import Task
from flake8_tensorcopy.fixes import Unfixable
from flake8_tensorcopy.lint import describe, not_analysed
from flake8_tensorcopy.lsp.documents import MARK, Text
from flake8_tensorcopy.noqa import Comments, silencing
from flake8_tensorcopy.selection import Selection, excluded
from flake8_tensorcopy.settings import Settings

LIMIT = 1_000_000  # code points of a text that is looked at while it is typed
UNNAMED = "untitled.py"  # a document that is no file, for settings that go by names


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is found in one version of a text, under the settings of its folder.

    `broken`: it does not parse, as text often does while it is typed, and nothing is known of it.  `excluded`: the
    settings leave the file out.  `problem` is a failure inside, for the log.
    """

    text: Text
    name: str
    settings: Settings
    findings: Sequence[Finding] = ()
    broken: bool = False
    excluded: bool = False
    problem: str | None = None


def analyse(text: Text, path: str | None, folder: str, settings: Settings) -> Analysis:
    """Lints a text; nothing is raised, unless the environment variable TENSORCOPY_DEBUG is set."""
    name = path or os.path.join(folder, UNNAMED)
    empty = Analysis(text, name, settings)
    if path is not None and excluded(path, folder, settings):
        return replace(empty, excluded=True)
    if len(text.text) > LIMIT:
        return _not_analysed(empty, f"a text of more than {LIMIT:,} characters, which `tensorcopy check` would take")
    try:
        with warnings.catch_warnings():  # of escapes in strings, which are not ours to report
            warnings.simplefilter("ignore")
            findings = Task(settings).look(name, text.lines()).findings
            # That a text cannot be parsed may be among what the user does not want to see.
            broken = any(finding.code == "E999" for finding in findings) or not (findings or _parses(text))
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return replace(_not_analysed(empty, describe(error)), problem=describe(error))
    return replace(empty, findings=() if broken else findings, broken=broken)


def _parses(text: Text) -> bool:
    try:
        ast.parse("".join(text.lines()))
    except (SyntaxError, ValueError):
        return False
    except (MemoryError, RecursionError):
        pass
    return True


def _not_analysed(empty: Analysis, reason: str) -> Analysis:
    finding = not_analysed(reason)
    return replace(empty, findings=(finding,) if Selection(empty.settings).wants(finding.code, empty.name) else ())


def repaired(analysis: Analysis, only: Finding | None = None) -> str | None:
    """The text once it is repaired as `tensorcopy fix` does it, or with one finding's repair alone, safe or not.

    None where nothing is changed, since there is nothing to repair or a repair would not hold.
    """
    try:
        data = _encoded(analysis.text.text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = Task(analysis.settings).repaired(analysis.name, data, only)
    except Unfixable:
        return None
    return (MARK if done.source.mark else "") + done.source.text if done.fixed else None


def _encoded(text: str) -> bytes:
    """The text as the bytes of a file; raises Unfixable where the encoding that it names for itself cannot hold it."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text.encode()).readline)
        return text.encode("utf-8" if encoding == "utf-8-sig" else encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise Unfixable("it cannot be encoded as it says") from error


def edits(before: Text, after: str) -> list[Edit]:
    """The changes of whole lines between two texts; the newlines of the edits are those of the second text."""
    old, new = _lines(before.text), _lines(after)
    found = []
    for kind, start, end, first, last in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if kind != "equal":
            found.append(Edit(Span(start + 1, 0, end + 1, 0), "".join(new[first:last])))
    return found


def _lines(text: str) -> list[str]:
    """Lines with their newlines, a byte order mark left out: it stays where it is."""
    return io.StringIO(text.removeprefix(MARK), newline="").readlines()


def silence(analysis: Analysis, finding: Finding) -> Edit | None:
    """The comment that silences a finding; None where no comment would."""
    lines = analysis.text.lines()
    edit = silencing(Comments(analysis.name, lines, disabled=analysis.settings.disable_noqa), finding)
    if edit is None:
        return None
    line, column = edit.span.line, edit.span.column
    lines[line - 1] = lines[line - 1][:column] + edit.text + lines[line - 1][column:]
    return edit if Comments(analysis.name, lines).silence(finding) else None
