"""The comments that silence findings, read as flake8 reads them."""

from __future__ import annotations

import argparse
import tokenize
from collections.abc import Sequence

from flake8.defaults import NOQA_INLINE_REGEXP
from flake8.processor import FileProcessor
from flake8.violation import Violation

from flake8_tensorcopy.engine import Edit, Finding, Span


class Comments:
    """The `# noqa` and `# flake8: noqa` of one file; with `disabled` they silence nothing.

    `lines` are those that flake8 hands to plugins: without a byte order mark.
    """

    def __init__(self, path: str, lines: Sequence[str], *, disabled: bool = False) -> None:
        self._path = path
        self.disabled = disabled
        self._file = FileProcessor(path, _options(disabled), list(lines))
        self.lines: Sequence[str] = self._file.lines

    def silence_all(self) -> bool:
        """Whether a comment silences the whole file."""
        return bool(self._file.should_ignore_file())

    def silence(self, finding: Finding) -> bool:
        """Whether a comment on the finding's line, continued by backslashes and strings, silences it."""
        line = finding.span.line
        text = self._file.noqa_line_for(line)
        column = finding.span.column + 1
        found = Violation(finding.code, self._path, line, column, finding.message, text)
        return bool(found.is_inline_ignored(self.disabled))

    def in_comment(self, line: int, column: int) -> bool:
        """Whether a place lies in a comment: flake8 also takes what looks like one in a string."""
        return any(
            token.type == tokenize.COMMENT and token.start[0] == line and token.start[1] <= column
            for token in self._file.file_tokens
        )

    def first_row(self, line: int) -> int:
        """The first of the lines that a comment on `row(line)` stands for."""
        text = self._file.noqa_line_for(line)
        while line > 1 and text is not None and self._file.noqa_line_for(line - 1) is text:
            line -= 1
        return line

    def row(self, line: int) -> int:
        """The line where a comment must stand that is to silence what is found on `line`."""
        text = self._file.noqa_line_for(line)
        while text is not None and self._file.noqa_line_for(line + 1) is text:  # lines that are one share one text
            line += 1
        return line


def silencing(comments: Comments, finding: Finding) -> Edit | None:
    """What is to be inserted to silence a finding: a comment, or one more code in the comment that is there.

    None where comments silence nothing or everything already, and where the first that counts is part of a string.
    """
    if comments.disabled:
        return None
    row = comments.row(finding.span.line)
    for line in range(comments.first_row(finding.span.line), row + 1):
        text = comments.lines[line - 1].rstrip("\n")
        if found := NOQA_INLINE_REGEXP.search(text):
            codes = found["codes"]
            if codes is None or not comments.in_comment(line, found.start()):
                return None
            column = found.start("codes") + len(codes.rstrip(", \t"))
            return Edit(Span(line, column, line, column), f", {finding.code}")
    text = comments.lines[row - 1].rstrip("\n")
    column = len(text.rstrip())
    return Edit(Span(row, column, row, column), f"  # noqa: {finding.code}")


def _options(disabled: bool) -> argparse.Namespace:
    """What flake8's FileProcessor asks for; all but `disable_noqa` is for checks of style."""
    return argparse.Namespace(
        disable_noqa=disabled,
        hang_closing=False,
        indent_size=4,
        max_doc_length=None,
        max_line_length=79,
        verbose=0,
    )
