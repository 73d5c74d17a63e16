"""Text as a terminal shows it: how wide it is, and nothing in it that would steer the terminal."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

TAB = 4  # cells from one stop to the next
GAP = "..."  # for what is left out


def visible(text: str) -> str:
    """The text with an escape, as Python writes it, for each character that has no shape of its own.

    Those are controls, line breaks, marks that turn the direction of writing, surrogates and what is not assigned.
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    hidden = category[0] == "C" or category in ("Zl", "Zp")
    return char.encode("unicode_escape").decode("ascii") if hidden else char


def width(text: str) -> int:
    """How many cells of a terminal a visible text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # whose tables take a while to load

    return cell_len(text)


class Line:
    """A line of source as it is shown: tabs as spaces up to the next stop, nothing that is not visible.

    What is not near the columns of interest may be left out, which `...` then shows.
    """

    def __init__(self, text: str) -> None:
        self._shown: list[str] = []
        self._starts = [0]
        for char in text:
            at = self._starts[-1]
            shown = " " * (TAB - at % TAB) if char == "\t" else visible(char)
            self._shown.append(shown)
            self._starts.append(at + width(shown))
        self._kept: Sequence[tuple[int, int]] = [(0, len(self._shown))]

    @property
    def text(self) -> str:
        """What is shown of the line."""
        last = len(self._shown)
        parts = [(GAP if start else "") + "".join(self._shown[start:end]) for start, end in self._kept]
        return "".join(parts) + (GAP if self._kept[-1][1] < last else "")

    def cell(self, column: int) -> int:
        """The cell, from 0, in which the code point at a column begins; that of the nearest `...` if it is left out."""
        column = min(column, len(self._shown))
        at = 0
        for start, end in self._kept:
            if column < start:
                return at
            at += len(GAP) if start else 0
            if column <= end:
                return at + self._starts[column] - self._starts[start]
            at += self._starts[end] - self._starts[start]
        return at

    def cut(self, limit: int, spots: Sequence[tuple[int, int]]) -> None:
        """Leaves out what is far from the spots, stretches of columns, where the line takes more cells than `limit`."""
        total = self._starts[-1]
        if total <= limit:
            return
        room = max(limit - 2 * len(GAP), 20)
        share = room // max(len(spots), 1)
        kept: list[tuple[int, int]] = []  # in cells
        for start, end in sorted(spots) or [(0, 0)]:
            first, last = self._start(start), self._start(end)
            low, high = max(first - share // 4, 0), min(min(last, first + share // 2) + share // 4, total)
            if kept and low <= kept[-1][1] + len(GAP):
                kept[-1] = (kept[-1][0], max(high, kept[-1][1]))
            else:
                kept.append((low, high))
        # What is left of the room shows more on both sides, or on the one that has more.
        low, high = kept[0][0], kept[-1][1]
        spare = max(room - sum(end - start for start, end in kept), 0)
        before = min(low, spare - min(spare // 2, total - high))
        kept[0] = (low - before, kept[0][1])
        kept[-1] = (kept[-1][0], high + spare - before)
        self._kept = [
            (
                0 if start <= len(GAP) else self._column(start),
                len(self._shown) if end >= total - len(GAP) else self._column(end),
            )
            for start, end in kept
        ]

    def _start(self, column: int) -> int:
        return self._starts[min(column, len(self._shown))]

    def _column(self, cell: int) -> int:
        """The column of what is shown in a cell, or begins last before it."""
        return min(bisect_right(self._starts, cell) - 1, len(self._shown))
