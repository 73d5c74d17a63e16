"""One file, checked or repaired: from its path to what is reported of it."""

from __future__ import annotations

import ast
import difflib
import io
import os
import tokenize
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal

from flake8_tensorcopy import atomic
from flake8_tensorcopy.config import DEBUG
from flake8_tensorcopy.engine import Finding, Span
from flake8_tensorcopy.fixes import Repaired, Result, Source, Unfixable, repair, repair_program
from flake8_tensorcopy.lint import describe, lint, not_analysed
from flake8_tensorcopy.noqa import Comments
from flake8_tensorcopy.notebooks import SUFFIX, NoNotebook, Notebook
from flake8_tensorcopy.report import FileReport, Written
from flake8_tensorcopy.selection import UNREADABLE, Selection, shown
from flake8_tensorcopy.settings import Settings


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file.

    `fixed` is how many findings were repaired, or with the mode "diff" would be; `notes` are sentences about repairs
    that were not made; `diff` is what the repairs would change.  `data` is the content after the repairs, of standard
    input only.
    """

    report: FileReport
    fixed: int = 0
    notes: tuple[str, ...] = ()
    diff: str = ""
    data: bytes | None = None

    @property
    def unreadable(self) -> bool:
        """The file could not be read or parsed."""
        return any(finding.code in UNREADABLE for finding in self.report.findings)


@dataclass(frozen=True, slots=True)
class Task:
    """What is done to each file; it can be sent to another process."""

    settings: Settings
    mode: Literal["check", "fix", "diff"] = "check"

    def __call__(self, path: str) -> Outcome:
        """Checks or repairs a file.  Nothing is raised, unless the environment variable TENSORCOPY_DEBUG is set."""
        name = shown(path)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            error = _unlisted(path) or error
            return self._alone(name, "E902", f"{type(error).__name__}: {error}")
        outcome = self.of(name, data)
        if self.mode == "fix" and outcome.data is not None and outcome.data != data:
            try:
                atomic.rewrite(path, data, outcome.data)
            except atomic.Unwritable as error:
                unchanged = replace(self, mode="check").of(name, data)
                return replace(unchanged, notes=(*outcome.notes, f"{name}: not repaired: {error}"))
        return replace(outcome, data=None)

    def of(self, name: str, data: bytes) -> Outcome:
        """What becomes of a content under a name; nothing is written."""
        try:
            with warnings.catch_warnings():  # of escapes in strings, which are not ours to report
                warnings.simplefilter("ignore")
                return self._of(name, data)
        except Exception as error:
            if os.environ.get(DEBUG):
                error.add_note(f"while linting {name}")
                raise
            return self.not_analysed(name, describe(error))

    def not_analysed(self, path: str, reason: str) -> Outcome:
        """A file of which only the reason is known why it was not analysed."""
        finding = not_analysed(reason)
        return self._alone(shown(path), finding.code, finding.message)

    def _alone(self, name: str, code: str, message: str) -> Outcome:
        finding = Finding(Span(1, 0, 1, 0), code, message)
        wanted = _selection(self.settings).wants(code, name)
        return Outcome(FileReport(name, (), (finding,) if wanted else ()))

    def look(self, name: str, lines: Sequence[str]) -> FileReport:
        """What the user wants to see of what is found in the lines of a file."""
        comments = self._comments(name, lines)
        if comments.silence_all():
            return FileReport(name, (), ())
        return _report(name, comments, self._choose(name, comments, self._find(comments.lines)))

    def repaired(self, name: str, data: bytes, only: Finding | None = None) -> Repaired:
        """What becomes of a content by the repairs that the user wants, or by that of one finding, safe or not.

        Raises Unfixable.
        """
        alone = [] if only is None else [only]  # once: other findings may take its place

        def choose(findings: Sequence[Finding], tree: ast.Module, lines: Sequence[str]) -> Sequence[Finding]:
            if only is not None:
                return [alone.pop()] if alone else []
            return self._choose(name, self._comments(name, lines), findings)

        return repair(
            data,
            lambda tree, lines: lint(tree, lines, self.settings.options),
            choose,
            unsafe=self.settings.unsafe_fixes or only is not None,
        )

    def look_at(self, name: str, notebook: Notebook) -> FileReport:
        """What the user wants to see of what is found in a notebook."""
        comments = self._comments(name, notebook.lines)
        if comments.silence_all():
            return FileReport(name, (), ())
        found = self._find_in(notebook.tree(), notebook)
        return _report_of(name, notebook, comments, self._choose(name, comments, found))

    def mended(self, name: str, notebook: Notebook) -> Result[Notebook]:
        """What becomes of a notebook by the repairs that the user wants; raises Unfixable."""
        return repair_program(
            notebook,
            self._find_in,
            lambda findings, tree, made: self._choose(name, self._comments(name, made.lines), findings),
            unsafe=self.settings.unsafe_fixes,
        )

    def _of(self, name: str, data: bytes) -> Outcome:
        repair: Callable[[], Repaired | Result[Notebook]]
        if name.endswith(SUFFIX):
            try:
                notebook = Notebook.read(data)
            except NoNotebook as error:
                return replace(self._alone(name, "E902", f"no notebook: {error}"), data=data)
            report, repair = self.look_at(name, notebook), partial(self.mended, name, notebook)
        else:
            report, repair = self.look(name, decoded(data)), partial(self.repaired, name, data)
        outcome = Outcome(report, data=data)
        if self.mode == "check" or not any(self._wanted(finding) for finding in report.findings):
            return outcome
        try:
            repaired = repair()
        except Unfixable as error:
            return replace(outcome, notes=(f"{name}: not repaired: {error}",))
        source = repaired.source
        comments = self._comments(name, source.lines)
        if isinstance(source, Notebook):
            report = _report_of(name, source, comments, repaired.left)
            diff = _diff_of(name, notebook, source) if self.mode == "diff" else ""
        else:
            report = _report(name, comments, repaired.left)
            diff = _diff(name, Source.read(data).text, source.text) if self.mode == "diff" else ""
        return Outcome(report, len(repaired.fixed), _refused(name, repaired), diff, source.data)

    def _find(self, lines: Sequence[str]) -> Sequence[Finding]:
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            return [_unparsed(error)]
        return lint(tree, lines, self.settings.options)

    def _find_in(self, tree: ast.Module, notebook: Notebook) -> Sequence[Finding]:
        unparsed = [_unparsed(error, first) for first, error in notebook.broken]
        return [*unparsed, *lint(tree, notebook.lines, self.settings.options, notebook.cells)]

    def _choose(self, name: str, comments: Comments, findings: Sequence[Finding]) -> Sequence[Finding]:
        """What the user wants to see of the findings."""
        selection = _selection(self.settings)
        return [
            finding for finding in findings if selection.wants(finding.code, name) and not comments.silence(finding)
        ]

    def _wanted(self, finding: Finding) -> bool:
        return finding.fix is not None and (finding.fix.safe or self.settings.unsafe_fixes)

    def _comments(self, name: str, lines: Sequence[str]) -> Comments:
        return Comments(name, lines, disabled=self.settings.disable_noqa)


_selection = cache(Selection)


def _unlisted(path: str) -> OSError | None:
    """Why a folder cannot be listed, where the path is that of one."""
    if os.path.isdir(path):
        try:
            os.scandir(path).close()
        except OSError as error:
            return error
    return None


def decoded(data: bytes) -> list[str]:
    """The lines of a file as flake8 reads them: what cannot be decoded as the file says is taken for Latin-1."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return io.TextIOWrapper(io.BytesIO(data), encoding).readlines()
    except (SyntaxError, UnicodeError, LookupError):  # the last of an encoding that gives no text
        return io.TextIOWrapper(io.BytesIO(data), "latin-1").readlines()


def _unparsed(error: Exception, first: int = 1) -> Finding:
    """Why there is no tree; the lines of the error count from `first`."""
    if not isinstance(error, (SyntaxError, ValueError)):
        return replace(not_analysed(describe(error)), span=Span(first, 0, first, 0))
    # Where the error is: flake8 shows one column more.  A ValueError is of a null byte, before Python 3.11.4.
    line, column = getattr(error, "lineno", None) or 1, max((getattr(error, "offset", None) or 1) - 1, 0)
    reason = " ".join(f"{type(error).__name__}: {error.args[0]}".split())
    return Finding(Span(line + first - 1, column, line + first - 1, column), "E999", reason)


def _report(name: str, comments: Comments, findings: Sequence[Finding]) -> FileReport:
    if not findings:
        return FileReport(name, (), ())
    ordered = sorted(findings, key=lambda finding: (finding.span.line, finding.span.column))
    rows = {finding.span.line: comments.row(finding.span.line) for finding in ordered}
    return FileReport(
        name, tuple(comments.lines), tuple(ordered), {line: row for line, row in rows.items() if row != line}
    )


def _report_of(name: str, notebook: Notebook, comments: Comments, findings: Sequence[Finding]) -> FileReport:
    """The report of a notebook: with the lines as they are written there, and where they stand in the file."""
    report = _report(name, comments, findings)
    if not findings:
        return report
    spans = [span for one in findings for span in (one.span, *(step.span for step in one.path))]
    written = {line: Written(*notebook.in_file(line)) for span in spans for line in (span.line, span.end_line)}
    return replace(report, lines=tuple(notebook.written), cells=notebook.cells, written=written)


def _refused(name: str, repaired: Repaired | Result[Notebook]) -> tuple[str, ...]:
    return tuple(
        f"{name}:{repaired.source.cells.address(finding.span.line)}: {finding.code} is not repaired: {reason}"
        for finding, reason in repaired.refused
    )


def _diff_of(name: str, before: Notebook, after: Notebook) -> str:
    """A diff of each cell that was changed."""
    pairs = zip(before.cells_of_code, after.cells_of_code, strict=True)
    return "".join(_diff(f"{name}:cell {old.number}", old.text, new.text) for old, new in pairs)


def _diff(name: str, before: str, after: str) -> str:
    """A unified diff of two texts whose lines end as they do in the file."""
    lines = difflib.unified_diff(_lines(before), _lines(after), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + parts[-1:] * bool(parts[-1])
