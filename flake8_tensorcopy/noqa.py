"""The comments that silence findings, read as flake8 reads them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from flake8.processor import FileProcessor
from flake8.violation import Violation

from flake8_tensorcopy.engine import Finding


class Comments:
    """The `# noqa` and `# flake8: noqa` of one file; with `disabled` they silence nothing.

    `lines` are those that flake8 hands to plugins: without a byte order mark.
    """

    def __init__(self, path: str, lines: Sequence[str], *, disabled: bool = False) -> None:
        self._path = path
        self._disabled = disabled
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
        return bool(found.is_inline_ignored(self._disabled))

    def row(self, line: int) -> int:
        """The line where a comment must stand that is to silence what is found on `line`."""
        text = self._file.noqa_line_for(line)
        while text is not None and self._file.noqa_line_for(line + 1) is text:  # lines that are one share one text
            line += 1
        return line


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
