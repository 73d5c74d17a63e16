"""The lines of source that a finding speaks of, with the steps that lead to it drawn below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flake8_tensorcopy.engine import Finding, Span
from flake8_tensorcopy.report.cells import GAP, Line, visible
from flake8_tensorcopy.report.model import FileReport, whole_file

WHOLE = 6  # lines that a span over lines may have and still be shown in full

# A row of output as pieces of text, each with the name of its style.
Piece = tuple[str, str]
Row = list[Piece]


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of source to be underlined, and what is said of it."""

    span: Span
    text: str
    main: bool  # of the finding itself, not of a step to it

    @property
    def style(self) -> str:
        return "main" if self.main else "step"

    @property
    def sign(self) -> str:
        return "^" if self.main else "-"

    @property
    def long(self) -> bool:
        return self.span.line < self.span.end_line


def excerpt(file: FileReport, finding: Finding, width: int) -> list[Row]:
    """The rows of the excerpt, whose lines of source end before column `width`; none where there is nothing to show."""
    marks = _marks(file, finding)
    return _Drawing(file, marks, width).rows() if marks else []


def _marks(file: FileReport, finding: Finding) -> list[Mark]:
    """The steps and the finding, in the order of the source; numbered where the way does not follow that order."""
    if whole_file(finding) and not finding.path:
        return []
    spans = [step.span for step in finding.path]
    numbered = spans != sorted(spans)
    marks: dict[Mark, None] = {}
    for number, step in enumerate(finding.path, 1):
        span = _within(file, step.span)
        text = f"{number}. {step.text}" if numbered else step.text
        marks[Mark(span, visible(text), step.span == finding.span)] = None
    if finding.span not in spans:
        marks[Mark(_within(file, finding.span), "", True)] = None
    shown = [mark for mark in marks if mark.span.line <= len(file.lines)]
    return sorted(
        shown, key=lambda mark: (mark.span.line, mark.span.column, -mark.span.end_line, -mark.span.end_column)
    )


def _within(file: FileReport, span: Span) -> Span:
    """The span less a newline at its end, and no longer than the file."""
    last = max(len(file.lines), span.line)
    end = span.end_line, span.end_column
    if span.end_column == 0 and span.line < span.end_line:
        end = span.end_line - 1, len(file.text(span.end_line - 1))
    return Span(span.line, span.column, *min(end, (last, len(file.text(last)))))


class _Drawing:
    """What is drawn for the marks of one finding."""

    def __init__(self, file: FileReport, marks: Sequence[Mark], width: int) -> None:
        self._file = file
        self._marks = marks
        self._lanes = _lanes(mark for mark in marks if mark.long)
        self._margin = len(str(max(mark.span.end_line for mark in marks)))
        self._limit = max(width - self._margin - len(" | ") - 2 * self._breadth, 1)
        self._open: set[Mark] = set()  # the spans over lines that have begun

    @property
    def _breadth(self) -> int:
        """How many bars of spans over lines may stand side by side."""
        return max(self._lanes.values(), default=-1) + 1

    def rows(self) -> list[Row]:
        rows: list[Row] = [self._row("")]
        before = 0
        for number in _shown(self._marks):
            if before and number - before == 2:
                rows += self._line(before + 1)
            elif before and number - before > 2:
                rows.append([(GAP.ljust(self._margin + 3), "frame"), *self._bars()])
            rows += self._line(number)
            before = number
        return [*rows, self._row("")]

    def _line(self, number: int) -> Iterator[Row]:
        """A line of source and what is drawn below it."""
        text = self._file.text(number)
        here = [mark for mark in self._marks if number in (mark.span.line, mark.span.end_line)]
        line = Line(text)
        line.cut(self._limit, [_spot(mark, number) for mark in here])
        begun = [mark for mark in here if mark.long and mark.span.line == number]
        flush = [mark for mark in begun if not text[: mark.span.column].strip()]
        signs = dict.fromkeys(flush, "/")
        yield [*self._row(str(number), signs), (line.text, "")]
        self._open.update(flush)
        for mark in here:
            if not mark.long:
                start, end = line.cell(mark.span.column), line.cell(mark.span.end_column)
                yield [*self._row(""), (" " * start, ""), *_labelled(mark, mark.sign * max(end - start, 1))]
        for mark in here:
            if mark.long and mark.span.end_line == number:
                end = max(line.cell(mark.span.end_column) - 1, 0)
                yield [*self._row("", reach=mark), *_labelled(mark, "_" * end + mark.sign)]
                self._open.discard(mark)
        for mark in begun:
            if mark not in flush:
                start = line.cell(mark.span.column)
                yield [*self._row("", {mark: " "}, mark), ("_" * start + mark.sign, mark.style)]
                self._open.add(mark)

    def _row(self, number: str, signs: dict[Mark, str] | None = None, reach: Mark | None = None) -> Row:
        """The beginning of a row: a line's number, and the bars of spans over lines."""
        return [(f"{number:>{self._margin}} | ", "frame"), *self._bars(signs or {}, reach)]

    def _bars(self, signs: dict[Mark, str] | None = None, reach: Mark | None = None) -> Row:
        """The bars of what has begun; `signs` instead of them, and from that of `reach` a line to the right."""
        row: Row = []
        drawn = {self._lanes[mark]: (mark, "|") for mark in self._open}
        drawn |= {self._lanes[mark]: (mark, sign) for mark, sign in (signs or {}).items()}
        for lane in range(self._breadth):
            mark, sign = drawn.get(lane, (None, " "))
            after = " "
            if reach is not None and lane >= self._lanes[reach]:
                after = "_"
                sign = "_" if mark is None else sign
            style = mark.style if mark is not None else reach.style if reach is not None else ""
            row += [(sign, style), (after, reach.style if reach is not None else "")]
        return row


def _labelled(mark: Mark, drawn: str) -> Iterator[Piece]:
    yield drawn, mark.style
    if mark.text:
        yield f" {mark.text}", mark.style


def _spot(mark: Mark, number: int) -> tuple[int, int]:
    """The columns of a line where something of the mark is drawn."""
    span = mark.span
    if not mark.long:
        return span.column, span.end_column
    if number == span.line:
        return span.column, span.column + 1
    return max(span.end_column - 1, 0), span.end_column


def _shown(marks: Iterable[Mark]) -> list[int]:
    """The numbers of the lines that have something to show."""
    numbers: set[int] = set()
    for mark in marks:
        first, last = mark.span.line, mark.span.end_line
        numbers |= set(range(first, last + 1)) if last - first < WHOLE else {first, last}
    return sorted(numbers)


def _lanes(marks: Iterable[Mark]) -> dict[Mark, int]:
    """Where the bar of each span over lines is drawn: those that share more than a line stand side by side."""
    lanes: dict[Mark, int] = {}
    for mark in marks:
        taken = {lanes[other] for other in lanes if other.span.end_line > mark.span.line}
        lanes[mark] = next(lane for lane in range(len(lanes) + 1) if lane not in taken)
    return lanes
