"""Programs made of cells: how their lines are called, and what is shown when a cell has run."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_PERCENT = re.compile(r"# ?%%(?=\W|[A-Z]|$)")  # the line between two cells of a script, as editors have it


class Cells(NamedTuple):
    """Where the cells of a notebook stand in the program that they make together; none for a plain file.

    `numbers` are those of its code cells among all its cells, from 1; `starts` their first lines in the program.
    `shown` are the places, line and column in bytes as of the ast, of the statements whose value is shown;
    `redefined` are the functions and classes that more than one cell defines.
    """

    numbers: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    shown: frozenset[tuple[int, int]] = frozenset()
    redefined: frozenset[str] = frozenset()

    def place(self, line: int) -> tuple[int | None, int]:
        """The number of the cell that holds a line, and the line in it; in a plain file None and the line itself."""
        index = bisect_right(self.starts, line) - 1
        return (None, line) if index < 0 else (self.numbers[index], line - self.starts[index] + 1)

    def name(self, line: int) -> str:
        """What follows "line" where it is told to a reader: `12`, or `3 of cell 2`."""
        cell, row = self.place(line)
        return _named(row, cell)

    def address(self, line: int) -> str:
        """A line as it follows the name of a file: `12`, or `cell 2:3`."""
        cell, row = self.place(line)
        return str(row) if cell is None else f"cell {cell}:{row}"


class Line(int):
    """The number of a line in a notebook's program, as nodes of its tree have it; as text, how a reader finds it.

    So whatever names the line of a node in a message names the cell, too.
    """

    name: str

    def __new__(cls, number: int, row: int, cell: int) -> Line:
        made = super().__new__(cls, number)
        made.name = _named(row, cell)
        return made

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)  # a plain number in another process


def _named(row: int, cell: int | None) -> str:
    return str(row) if cell is None else f"{row} of cell {cell}"


def number_lines(tree: ast.Module, first: int, cell: int) -> None:
    """Gives the nodes of a cell's tree, whose lines count from 1, their lines in the program that begins at `first`."""
    lines: dict[int, Line] = {}
    for node in ast.walk(tree):
        if (row := getattr(node, "lineno", None)) is not None:
            line = lines.get(row)
            if line is None:
                line = lines[row] = Line(row + first - 1, row, cell)
            node.lineno = line  # type: ignore[attr-defined]
            if node.end_lineno is not None:  # type: ignore[attr-defined]
                node.end_lineno += first - 1  # type: ignore[attr-defined]


def displayed(body: Sequence[ast.stmt], lines: Sequence[str]) -> Iterable[tuple[int, int]]:
    """The place of the last statement of a cell if it is an expression that is shown: a semicolon keeps it hidden.

    `lines` are those of the whole program.
    """
    if body and isinstance(last := body[-1], ast.Expr):
        line, column = last.end_lineno or last.lineno, last.end_col_offset or 0
        rest = lines[line - 1].encode(errors="replace")[column:].lstrip(b" \t)")
        if not rest.startswith(b";"):
            yield last.lineno, last.col_offset


def percent_cells(tree: ast.Module, lines: Sequence[str]) -> Cells:
    """What is shown of a script that lines with `# %%` divide into cells; it stays a plain file."""
    # A constant is the text that describes the file.
    if all(not isinstance(one, ast.Expr) or isinstance(one.value, ast.Constant) for one in tree.body):
        return Cells()
    marks = [number for number, line in enumerate(lines, 1) if line.startswith("#") and _PERCENT.match(line)]
    if not marks:
        return Cells()
    bodies: dict[int, list[ast.stmt]] = {}
    for statement in tree.body:
        bodies.setdefault(bisect_right(marks, statement.lineno), []).append(statement)
    return Cells(shown=frozenset(place for body in bodies.values() for place in displayed(body, lines)))
