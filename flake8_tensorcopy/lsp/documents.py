"""Open documents: their texts as the client sees them, and positions in its units.

pygls keeps documents, too, but parts lines at form feeds and other characters that are no ends of lines for a client.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from flake8_tensorcopy.engine import Span
from flake8_tensorcopy.engine.columns import from_utf8, from_utf16, to_utf8, to_utf16

MARK = "\ufeff"  # a byte order mark that a client left in the text
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Units:
    """What a client counts in a line: from a column in code points to its own, and back."""

    to: Callable[[str, int], int]
    back: Callable[[str, int], int]


UTF16 = Units(to_utf16, from_utf16)
_UNITS = {
    "utf-8": Units(to_utf8, from_utf8),
    "utf-16": UTF16,
    "utf-32": Units(lambda line, column: column, lambda line, column: column),
}


def units(encoding: str | None) -> Units:
    """The units of a position encoding; those of UTF-16, which every client knows, for one that is not known."""
    return _UNITS.get(encoding or "", UTF16)


class Text:
    """A text that does not change: its lines, newlines kept, as the protocol and flake8 both count them."""

    def __init__(self, text: str) -> None:
        self.text = text
        starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
        self._starts = starts
        self._lines = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
        self._mark = len(MARK) if text.startswith(MARK) else 0

    def lines(self) -> list[str]:
        """The lines as flake8 hands them to plugins: without a byte order mark, newlines as line feeds."""
        return io.StringIO(_NEWLINE.sub("\n", self.text[self._mark :])).readlines()

    def index(self, position: types.Position, units: Units) -> int:
        """The index of a position; one beyond the end of its line or of the text means that end."""
        if position.line >= len(self._lines):
            return len(self.text)
        line = self._bare(position.line)
        return self._starts[position.line] + min(units.back(line, max(position.character, 0)), len(line))

    def range(self, span: Span, units: Units) -> types.Range:
        """Where a span stands for the client."""
        return types.Range(
            self._position(span.line, span.column, units), self._position(span.end_line, span.end_column, units)
        )

    def line_end(self, line: int) -> int:
        """The column, in code points as in a span, where a line from 1 ends."""
        return len(self._bare(line - 1)) - (self._mark if line == 1 else 0)

    def newline(self, line: int) -> str:
        """The newline of a line from 1, or of one before for the last."""
        for text in self._lines[min(line, len(self._lines)) - 1 :: -1]:
            if bare := text[len(text.rstrip("\r\n")) :]:
                return "\r\n" if bare.endswith("\r\n") else bare[-1]
        return "\n"

    def changed(self, change: types.TextDocumentContentChangeEvent, units: Units) -> Text:
        """The text after a change of the client's."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            start, end = (self.index(place, units) for place in (change.range.start, change.range.end))
            return Text(self.text[:start] + change.text + self.text[max(start, end) :])
        return Text(change.text)

    def _position(self, line: int, column: int, units: Units) -> types.Position:
        if line > len(self._lines):
            line, column = len(self._lines), len(self._lines[-1])
        elif line == 1:
            column += self._mark
        return types.Position(line - 1, units.to(self._bare(line - 1), column))

    def _bare(self, line: int) -> str:
        return self._lines[line].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Document:
    """One version of an open document; `path` is None where it is no file."""

    uri: str
    version: int | None
    text: Text
    path: str | None

    @classmethod
    def opened(cls, item: types.TextDocumentItem) -> Document:
        return cls(item.uri, item.version, Text(item.text), path_of(item.uri))

    def changed(
        self, version: int | None, changes: Sequence[types.TextDocumentContentChangeEvent], units: Units
    ) -> Document:
        """The next version."""
        text = self.text
        for change in changes:
            text = text.changed(change, units)
        return Document(self.uri, version, text, self.path)


def is_python(item: types.TextDocumentItem) -> bool:
    """Whether a document is one to look at: Python, and no cell, which means nothing without the cells before it."""
    if item.uri.startswith("vscode-notebook-cell"):
        return False
    return not item.language_id or item.language_id.lower() == "python" or item.uri.endswith((".py", ".pyi"))


def path_of(uri: str) -> str | None:
    """The absolute path of a file; None for anything that is not the address of a file."""
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="surrogateescape")
    except ValueError:
        return None
    if parts.scheme != "file" or not path.startswith("/") or path.endswith("/") or "\0" in path:
        return None
    if os.name == "nt":
        path = f"//{parts.netloc}{path}" if parts.netloc else path.lstrip("/")
    return os.path.normpath(path)
