"""A Jupyter notebook as one Python program, and edits of the program as edits of the file.

The sources of the code cells stand below one another, each followed by a line of its own that is empty.  Where a cell
is written in the file is told to the character, so that a repair changes nothing but the source that it is about.
"""

from __future__ import annotations

import ast
import codecs
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flake8_tensorcopy.engine import Cells, Edit
from flake8_tensorcopy.engine.notebook import Line, displayed, number_lines
from flake8_tensorcopy.fixes import Unfixable
from flake8_tensorcopy.magics import Plain, plain

SUFFIX = ".ipynb"
_NEWLINE = re.compile(r"\r\n|\r|\n")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]')
# What stands for one character in a JSON string: beyond the basic plane it may be two escapes.
_LETTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.", re.DOTALL)


class NoNotebook(ValueError):
    """The file is none that can be read as a notebook: one clause that says why."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A JSON string of a source: where it stands in the file's text, its quotes included, and what it says."""

    start: int
    end: int
    raw: str  # between the quotes
    text: str

    @classmethod
    def of(cls, text: str, start: int, end: int) -> Piece:
        return cls(start, end, text[start + 1 : end - 1], json.loads(text[start:end]))


@dataclass(frozen=True)
class Cell:
    """A code cell: its number among all cells, from 1, its source as the file has it, and as Python.

    `gap` is what stands between two strings of a source that is a list; it is None for one that is a single string.
    `first` is the cell's first line in the program; `tree` is None where it cannot be parsed, `error` says why.
    """

    number: int
    pieces: tuple[Piece, ...]
    gap: str | None
    first: int
    lines: tuple[str, ...]
    tree: ast.Module | None
    shown: frozenset[tuple[int, int]]
    error: Exception | None = None

    @cached_property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the lines begin in the text."""
        return (0, *(match.end() for match in _NEWLINE.finditer(self.text)))

    @cached_property
    def letters(self) -> list[tuple[int, int]]:
        """Where each letter of the text is written in the file, and in how many letters there."""
        return [
            (piece.start + 1 + match.start(), len(match[0]))
            for piece in self.pieces
            for match in _LETTER.finditer(piece.raw)
        ]

    @property
    def defines(self) -> frozenset[str]:
        """The functions and classes that it defines."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return frozenset(node.name for node in self.tree.body if isinstance(node, kinds)) if self.tree else frozenset()

    @property
    def end(self) -> int:
        """Where the last string ends in the file."""
        return self.pieces[-1].end - 1 if self.pieces else 0

    def at(self, line: int, column: int) -> int:
        """The index in the text of a place in the program; that of the line below the cell is its end."""
        row = line - self.first
        return min(self.starts[row] + column, len(self.text)) if row < len(self.starts) else len(self.text)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The lines as they are in the notebook, with line feeds, and the one below them."""
        return (*_lines(self.text), "\n")


@dataclass(frozen=True)
class Notebook:
    """A notebook.

    `python`: its kernel runs Python; else it has no cells here.  `lines` are those of the program, in which magics are
    replaced and cells that cannot be parsed are empty.
    """

    data: bytes
    text: str = field(repr=False)  # without a byte order mark
    cells_of_code: tuple[Cell, ...]
    python: bool = True

    @classmethod
    def read(cls, data: bytes) -> Notebook:
        """Reads a file; raises NoNotebook."""
        text = _decoded(data)
        content = _loaded(text)
        if not _is_python(content):
            return cls(data, text, (), python=False)
        return cls(data, text, tuple(_cells(content["cells"], text)))

    @cached_property
    def lines(self) -> list[str]:
        return [line for cell in self.cells_of_code for line in cell.lines]

    @cached_property
    def written(self) -> list[str]:
        """The lines of the program as they are in the notebook."""
        return [line for cell in self.cells_of_code if cell.lines for line in cell.written]

    @cached_property
    def cells(self) -> Cells:
        inside = [cell for cell in self.cells_of_code if cell.lines]
        shown = frozenset(place for cell in inside for place in cell.shown)
        defined = Counter(name for cell in inside for name in cell.defines)
        redefined = frozenset(name for name, count in defined.items() if count > 1)
        return Cells(tuple(cell.number for cell in inside), tuple(cell.first for cell in inside), shown, redefined)

    @cached_property
    def broken(self) -> tuple[tuple[int, Exception], ...]:
        """The first lines of the cells that cannot be parsed, and why: the lines of an error count from there."""
        return tuple((cell.first, cell.error) for cell in self.cells_of_code if cell.error is not None)

    def tree(self) -> ast.Module:
        """The program, without the cells that cannot be parsed; these may do anything to the names that they hold."""
        trees = [cell.tree for cell in self.cells_of_code if cell.tree is not None]
        bound = {node.id for tree in trees for node in _bindings(tree)}
        body: list[ast.stmt] = []
        for cell in self.cells_of_code:
            if cell.tree is not None:
                body += cell.tree.body
            else:
                line = Line(max(min(cell.first, len(self.lines)), 1), 1, cell.number)
                names = dict.fromkeys(name for name in re.findall(r"[^\W\d]\w*", cell.text) if name in bound)
                body += [_forgotten(name, line) for name in names]
        return ast.Module(body, [])

    def spliced(self, edits: Iterable[Edit]) -> Notebook:
        """The notebook with edits of the program, which do not overlap, made in its cells.

        Raises Unfixable for one that cannot be made.
        """
        changes: dict[int, list[Change]] = {}
        for edit in sorted(edits):
            index = self._index(edit.span.line)
            cell = self.cells_of_code[index]
            if self._index(edit.span.end_line) != index or cell.tree is None or not cell.pieces:
                raise Unfixable("it would change more than one cell, or one that cannot be parsed")
            changes.setdefault(index, []).append(_change(cell, edit))
        parts: list[str] = []
        texts = [cell.text for cell in self.cells_of_code]
        at = 0
        for index, own in sorted(changes.items()):
            cell = self.cells_of_code[index]
            texts[index] = _changed(cell.text, own)
            strings = _strings(cell, own, escaped=self._escapes)
            parts += [self.text[at : cell.pieces[0].start], (cell.gap or "").join(strings)]
            at = cell.pieces[-1].end
        mark = codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""
        try:
            made = Notebook.read(mark + "".join([*parts, self.text[at:]]).encode())
        except (UnicodeError, NoNotebook) as error:
            raise Unfixable(str(error)) from error
        if [cell.text for cell in made.cells_of_code] != texts:
            raise Unfixable("the cells would not hold what they should")
        if len(made.broken) > len(self.broken):
            raise Unfixable("a cell could not be parsed any more")
        return made

    def in_file(self, line: int) -> tuple[int, tuple[int, ...], str]:
        """Where a line of the program is written in the file.

        The number of the file's line where it begins; the columns there of its characters, and of its end; the text of
        that line.
        """
        cell = self.cells_of_code[self._index(line)]
        start, end = cell.at(line, 0), cell.at(line, len(cell.written[line - cell.first]) - 1)
        letters = cell.letters
        places = [place for place, _ in letters[start:end]]
        places.append(sum(letters[end - 1]) if places else letters[start][0] if start < len(letters) else cell.end)
        row = self.text.count("\n", 0, places[0])
        head = self.text.rfind("\n", 0, places[0]) + 1
        tail = self.text.find("\n", head)
        return row + 1, tuple(place - head for place in places), self.text[head : tail if tail >= 0 else None]

    @cached_property
    def _escapes(self) -> bool:
        """Whether the file writes what is beyond ASCII as escapes."""
        return self.text.isascii() and re.search(r"\\u(?!00[0-7])", self.text) is not None

    def _index(self, line: int) -> int:
        """The index of the code cell that holds a line of the program."""
        return bisect_right(self.cells_of_code, line, key=lambda cell: cell.first) - 1


# Reading.


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NoNotebook(f"it is not UTF-8 ({error.reason} in byte {error.start + 1})") from error


def _loaded(text: str) -> dict[str, Any]:
    """The content, as far as it is needed as it has to be."""
    if not text.strip():
        raise NoNotebook("it is empty")
    try:
        content: Any = json.loads(text)
    except ValueError as error:
        where = f" on line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise NoNotebook(f"it is no JSON ({getattr(error, 'msg', error)}{where})") from error
    except RecursionError as error:
        raise NoNotebook("it is JSON that is nested too deeply") from error
    if isinstance(content, dict) and "worksheets" in content:
        raise NoNotebook("its format is older than 4; `jupyter nbconvert --to notebook` renews it")
    if not isinstance(content, dict) or not isinstance(cells := content.get("cells"), list):
        raise NoNotebook("it is JSON without a list of cells")
    for number, cell in enumerate(cells, 1):
        source = cell.get("source") if isinstance(cell, dict) else None
        parts = source if isinstance(source, list) else [source]
        if not all(isinstance(part, str) for part in parts):
            raise NoNotebook(f"its cell {number} has no source")
    return content


def _is_python(content: dict[str, Any]) -> bool:
    """Whether a notebook's kernel runs Python, as far as it says."""
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        language = _member(_member(content, "metadata"), key)
        if isinstance(said := _member(language, name), str):
            return said.lower().startswith(("python", "ipython"))
    return True


def _member(content: object, key: str) -> object:
    return content.get(key) if isinstance(content, dict) else None


def _cells(cells: Sequence[dict[str, Any]], text: str) -> Iterator[Cell]:
    sources = _sources(text)
    first = 1
    for number, cell in enumerate(cells, 1):
        language = _member(_member(cell.get("metadata"), "vscode"), "languageId")
        if cell.get("cell_type") != "code" or language not in (None, "python"):
            continue
        places = sources.get(number - 1, [])
        pieces = tuple(Piece.of(text, start, end) for start, end in places)
        gap = _gap(text, places) if isinstance(cell["source"], list) else None
        made = _parsed(Cell(number, pieces, gap, first, (), None, frozenset()))
        yield made
        first += len(made.lines)


def _sources(text: str) -> dict[int, list[tuple[int, int]]]:
    """Where the strings of the sources stand, by the index of their cell; `text` is JSON."""
    found: dict[int, list[tuple[int, int]]] = {}
    path: list[str | int | None] = []  # the keys, and the indices, on the way; None for a key that is still to come
    before = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("{", "["):
            path.append(None if token == "{" else 0)
        elif token in ("}", "]"):
            path.pop()
        elif token == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        elif token != ":":
            if path[-1] is None and before in ("{", ","):
                path[-1] = json.loads(token) if len(path) in (1, 3) else ""
                if path == ["cells"]:  # of keys that are there twice, the last one counts
                    found.clear()
                elif len(path) == 3 and path[0] == "cells" and path[2] == "source":
                    found[_number(path[1])] = []
            elif len(path) in (3, 4) and path[0] == "cells" and path[2] == "source" and isinstance(path[1], int):
                if len(path) == 3 or isinstance(path[3], int):
                    found[path[1]].append(match.span())
        before = token
    return found


def _number(index: object) -> int:
    return index if isinstance(index, int) else -1


def _gap(text: str, places: Sequence[tuple[int, int]]) -> str:
    """What stands between two strings of a list, or would."""
    if len(places) > 1:
        return text[places[0][1] : places[1][0]]
    if not places:
        return ","
    head, _, space = text[: places[0][0]].rpartition("[")
    return f",{space}" if space or not head.endswith(" ") else ", "


def _parsed(cell: Cell) -> Cell:
    """The cell with its code as Python; without lines where it is in another language."""
    text = "".join(_lines(cell.text))
    error: Exception | None = None
    for way in plain(text):
        try:
            tree = ast.parse("".join(way.lines))
        except (SyntaxError, ValueError, MemoryError, RecursionError) as failure:
            error = failure  # of the last way, which is the most lenient one
        else:
            return _placed(cell, way, tree)
    # An import goes below comments.  No two lines are the same: flake8 tells by that where a line is continued.
    lines = () if error is None else tuple(f"#{row}\n" for row in range(len(cell.written)))
    return Cell(cell.number, cell.pieces, cell.gap, cell.first, lines, None, frozenset(), error)


def _placed(cell: Cell, way: Plain, tree: ast.Module) -> Cell:
    """The cell with its tree, in which lines are those of the program."""
    every = ast.walk(tree) if way.repeated or way.timed else ()
    loose = [node for node in every if isinstance(node, ast.Expr) and (way.repeated or node.lineno in way.timed)]
    shown = {(node.lineno, node.col_offset) for node in loose} | set(displayed(tree.body, way.lines))
    move = cell.first - 1
    number_lines(tree, cell.first, cell.number)
    places = frozenset((line + move, column) for line, column in shown)
    # A cell without statements is a comment as a whole: an import goes below it.
    lines = (*way.lines, "\n" if tree.body else "#\n")
    return Cell(cell.number, cell.pieces, cell.gap, cell.first, lines, tree, places)


def _lines(text: str) -> list[str]:
    """The lines with line feeds, also at the end of the last one."""
    parts = _NEWLINE.split(text)
    return [f"{part}\n" for part in parts[: len(parts) if parts[-1] else -1]]


def _bindings(tree: ast.Module) -> Iterator[ast.Name]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _forgotten(name: str, line: Line) -> ast.stmt:
    """`name = get_ipython(name)`: it is read, and nothing is known of it afterwards."""
    place = {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}
    given = ast.Name(name, ast.Load(), **place)
    call = ast.Call(ast.Name("get_ipython", ast.Load(), **place), [given], [], **place)
    return ast.Assign([ast.Name(name, ast.Store(), **place)], call, None, **place)


# Writing.


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of a cell's text, and what replaces it."""

    start: int
    end: int
    text: str


def _change(cell: Cell, edit: Edit) -> Change:
    span = edit.span
    start, end = cell.at(span.line, span.column), cell.at(span.end_line, span.end_column)
    newline = found[0] if (found := _NEWLINE.search(cell.text)) else "\n"
    text = edit.text
    if start == len(cell.text) and span.column == 0 and cell.text and cell.text[-1] not in "\r\n":
        text = "\n" + text.removesuffix("\n")  # a new line below the last one, which has no newline
    return Change(start, end, text.replace("\n", newline))


def _changed(text: str, changes: Iterable[Change]) -> str:
    parts, at = [], 0
    for change in changes:
        parts += [text[at : change.start], change.text]
        at = change.end
    return "".join([*parts, text[at:]])


def _strings(cell: Cell, changes: Sequence[Change], *, escaped: bool) -> list[str]:
    """The JSON strings of a cell after changes; each letter that is not changed is written as it was."""
    items = _Items(cell)
    for change in reversed(changes):
        new = [json.dumps(letter, ensure_ascii=escaped)[1:-1] for letter in change.text]
        items.replace(change, new, listed=cell.gap is not None)
    return items.strings()


class _Items:
    """The letters of a cell as the file writes them, with a None where a string ends and another one begins."""

    def __init__(self, cell: Cell) -> None:
        self._items: list[str | None] = []
        self._places: list[int] = []  # of the letters
        for piece in cell.pieces:
            self._items += [None] if piece is not cell.pieces[0] else []
            for match in _LETTER.finditer(piece.raw):
                self._places.append(len(self._items))
                self._items.append(match[0])

    def replace(self, change: Change, new: Sequence[str], *, listed: bool) -> None:
        """Makes a change, behind which nothing was changed before; in a list each line gets a string of its own."""
        items, last = self._items, change.end == len(self._places)
        start = self._places[change.start] if change.start < len(self._places) else len(items)
        end = self._places[change.end - 1] + 1 if change.start < change.end else start
        taken = items[start:end]
        put: list[str | None] = []
        if listed:
            if new and start == len(items) and start and _ends_line(items[-1]):
                put.append(None)
            for letter in new:
                put += [letter, None] if _ends_line(letter) else [letter]
            if put and put[-1] is None and (last or (end < len(items) and items[end] is None)):
                put.pop()
        else:
            put += new
        items[start:end] = put
        at = start + len(put)
        if listed and taken and at < len(items) and items[at] is None:
            # A line was joined to the next one, or has gone as a whole.
            if at == 0 or items[at - 1] is None or (_ends_line(taken[-1]) and not _ends_line(items[at - 1])):
                del items[at]
        elif listed and taken and at == len(items) and items and items[-1] is None:
            items.pop()

    def strings(self) -> list[str]:
        found = [""]
        for item in self._items:
            if item is None:
                found.append("")
            else:
                found[-1] += item
        return [f'"{text}"' for text in found]


def _ends_line(letter: str | None) -> bool:
    return letter is not None and letter[:1] == "\\" and json.loads(f'"{letter}"') == "\n"
