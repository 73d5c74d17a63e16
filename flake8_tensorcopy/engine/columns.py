"""Columns in the units of others: a place in a line is counted in code points, from 0, everywhere in this package.

flake8 counts code points from 1 when it prints, the ast bytes of UTF-8 from 0, reviewdog bytes of UTF-8 from 1, and the
language server protocol code units of UTF-16 from 0.  What counts from 1 adds it to what these functions give.
"""

from __future__ import annotations


def to_utf8(line: str, column: int) -> int:
    """How many bytes of UTF-8 stand before a code point."""
    return column if line.isascii() else len(line[:column].encode(errors="replace"))


def from_utf8(line: str, offset: int) -> int:
    """The code point that begins at a byte of UTF-8, or that holds it."""
    return offset if line.isascii() else len(line.encode(errors="replace")[:offset].decode(errors="ignore"))


def to_utf16(line: str, column: int) -> int:
    """How many code units of UTF-16 stand before a code point: two for one beyond the basic plane."""
    return column if line.isascii() else column + sum(char > "\uffff" for char in line[:column])


def from_utf16(line: str, offset: int) -> int:
    """The code point that begins at a code unit of UTF-16, or that holds it."""
    if line.isascii():
        return offset
    return len(line.encode("utf-16-le", "replace")[: 2 * offset].decode("utf-16-le", "ignore"))
