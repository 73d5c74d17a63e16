"""A notebook as one program: which lines it has, where they are written, and what edits change in the file."""

from __future__ import annotations

import ast
import json
import pickle
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flake8_tensorcopy.engine import Cells, Edit, Span
from flake8_tensorcopy.engine.notebook import Line
from flake8_tensorcopy.fixes import Unfixable
from flake8_tensorcopy.notebooks import NoNotebook, Notebook
from tests.samples import dumped, notebook


def read(*sources: str | list[str], **metadata: Any) -> Notebook:
    return Notebook.read(dumped(notebook(*sources, **metadata)))


def insert(line: int, column: int, text: str) -> Edit:
    return Edit(Span(line, column, line, column), text)


# Reading.


def test_the_cells_of_code_make_one_program() -> None:
    made = read("#md a", ["import torch\n", "x = 1"], "", "#md b", "if x:\n    y = x\n", "%%bash\nls\n", "z = y")
    assert made.lines == ["import torch\n", "x = 1\n", "\n", "#\n", "if x:\n", "    y = x\n", "\n", "z = y\n", "\n"]
    assert [made.cells.place(line) for line in (1, 2, 4, 5, 6, 8)] == [(2, 1), (2, 2), (3, 1), (5, 1), (5, 2), (7, 1)]
    assert len(made.written) == len(made.lines)
    names = [node.id for node in ast.walk(made.tree()) if isinstance(node, ast.Name)]
    assert sorted(names) == ["x", "x", "x", "y", "y", "z"]
    spots = [(node.lineno, node.end_lineno, str(node.lineno)) for node in made.tree().body]
    assert spots == [(1, 1, "1 of cell 2"), (2, 2, "2 of cell 2"), (5, 6, "1 of cell 5"), (8, 8, "1 of cell 7")]


def test_lines_have_names() -> None:
    cells = Cells((2, 5), (1, 4))
    assert (cells.name(3), cells.address(4), cells.place(9)) == ("3 of cell 2", "cell 5:1", (5, 6))
    assert (Cells().name(3), Cells().address(3), Cells().place(3)) == ("3", "3", (None, 3))
    line = Line(7, 4, 5)
    assert (f"line {line}", line + 1, line == 7) == ("line 4 of cell 5", 8, True)
    assert pickle.loads(pickle.dumps(line)) == 7


def test_a_cell_that_cannot_be_parsed_is_left_out_and_may_change_what_it_names() -> None:
    made = read("a = 1\nb = 2", "print a, c", "d = a")
    assert [first for first, _ in made.broken] == [4]
    assert isinstance(made.broken[0][1], SyntaxError)
    assert ast.unparse(made.tree()) == "a = 1\nb = 2\na = get_ipython(a)\nd = a"
    assert len(set(made.lines[3:5])) == 2  # equal lines would be taken for one that is continued


def test_another_language_has_no_cells() -> None:
    others: list[dict[str, Any]] = [{"kernelspec": {"language": "R"}}, {"language_info": {"name": "julia"}}]
    for metadata in others:
        assert (made := read("x <- 1", **metadata)).lines == [] and not made.python
    own: list[dict[str, Any]] = [{"kernelspec": {"language": "python"}}, {"language_info": {"name": "ipython"}}]
    for metadata in [*own, {}, {"kernelspec": 1}]:
        assert read("x = 1", **metadata).lines == ["x = 1\n", "\n"]
    content = notebook("x = 1", "echo")
    content["cells"][1]["metadata"] = {"vscode": {"languageId": "shellscript"}}
    assert Notebook.read(dumped(content)).lines == ["x = 1\n", "\n"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"import torch\n", r"it is no JSON \(Expecting value on line 1, column 1\)"),
        (b'{"cells": [', r"it is no JSON \(Expecting value on line 1, column 12\)"),
        (b'{"cells": []}}', "it is no JSON"),
        (b"\xff\xfe{}", "it is not UTF-8"),
        (b"1" * 5000, "it is no JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[]", "without a list of cells"),
        (b"{}", "without a list of cells"),
        (b'{"cells": {}}', "without a list of cells"),
        (b'{"worksheets": [], "nbformat": 3}', "older than 4"),
        (b'{"cells": [{"cell_type": "code", "source": 1}]}', "its cell 1 has no source"),
        (b'{"cells": [{"cell_type": "code", "source": ["a", 1]}]}', "its cell 1 has no source"),
        (b'{"cells": [{"source": ""}, {"cell_type": "code"}]}', "its cell 2 has no source"),
        (b'{"cells": [null]}', "its cell 1 has no source"),
    ],
)
def test_what_is_no_notebook(data: bytes, reason: str) -> None:
    with pytest.raises(NoNotebook, match=reason):
        Notebook.read(data)


def test_of_keys_that_are_there_twice_the_last_one_counts() -> None:
    cell = (
        b'{"cell_type": "code", "source": "a = 1", "x": {"source": "b"}, "source": ["c = 2"], "y": [{"source": "d"}]}'
    )
    data = b'{"cells": [{"cell_type": "code", "source": "e"}], "cells": [' + cell + b'], "source": "f", "nbformat": 4}'
    made = Notebook.read(data)
    assert made.lines == ["c = 2\n", "\n"]
    assert made.spliced([insert(1, 0, "z; ")]).data == data.replace(b"c = 2", b"z; c = 2")


# Editing.


def sources(data: bytes) -> list[Any]:
    return [cell["source"] for cell in json.loads(data)["cells"]]


@pytest.mark.parametrize(
    ("source", "edit", "made"),
    [
        (["a\n", "b"], insert(1, 0, "new\n"), ["new\n", "a\n", "b"]),
        (["a\n", "b"], insert(2, 0, "new\n"), ["a\n", "new\n", "b"]),
        (["a\n", "b"], insert(3, 0, "new\n"), ["a\n", "b\n", "new"]),
        (["a\n", "b\n"], insert(3, 0, "new\n"), ["a\n", "b\n", "new\n"]),
        (["a\n", "b\n", ""], insert(3, 0, "new\n"), ["a\n", "b\n", "new\n"]),
        (["a\n", "b"], insert(1, 1, "\nnew"), ["a\n", "new\n", "b"]),
        (["a\n", "b"], insert(2, 1, "\nnew"), ["a\n", "b\n", "new"]),
        (["a\n", "b"], insert(2, 1, "()"), ["a\n", "b()"]),
        (["a\n", "b\n", "c"], Edit(Span(2, 0, 3, 0), ""), ["a\n", "c"]),
        (["a\n", "b\n", "c"], Edit(Span(1, 0, 2, 0), ""), ["b\n", "c"]),
        (["a\n", "b\n"], Edit(Span(2, 0, 3, 0), ""), ["a\n"]),
        (["a\n", "b\n", "c"], Edit(Span(1, 1, 2, 0), "; "), ["a; b\n", "c"]),
        (["a\n", "b\n", "c"], Edit(Span(1, 0, 3, 1), "x\ny\n"), ["x\n", "y\n"]),
        (["a\nb\n", "c"], insert(2, 0, "new\n"), ["a\nnew\n", "b\n", "c"]),
        (["a", "\nb"], insert(1, 1, "1"), ["a", "1\nb"]),
        (["a"], insert(1, 0, "new\n"), ["new\n", "a"]),
        (["a\r\n", "b"], insert(2, 0, "new\n"), ["a\r\n", "new\r\n", "b"]),
        ("a\nb", insert(2, 0, "new\n"), "a\nnew\nb"),
        ("a\nb", insert(3, 0, "new\n"), "a\nb\nnew"),
        ("a\nb\n", Edit(Span(1, 0, 3, 0), ""), ""),
    ],
)  # fmt: skip
def test_a_list_of_lines_stays_one(source: str | list[str], edit: Edit, made: str | list[str]) -> None:
    content = notebook("#md", source)
    done = read("#md", source).spliced([edit])
    content["cells"][1]["source"] = made
    assert done.data == dumped(content)


def test_escapes_of_what_is_not_changed_stay() -> None:
    data = b'{"cells": [{"source": "\\u0061 = \\u0027\\ud83d\\ude00\\/\\u0027; b = a\\u000ac", "cell_type": "code"}]}'
    made = Notebook.read(data).spliced([insert(1, len("a = '\U0001f600/'; "), "\xe9 = "), insert(2, 0, "d\n")])
    changed = data.replace(b"b = a\\u000a", b"\\u00e9 = b = a\\u000ad\\n")
    assert made.data == changed
    plain = b'\xef\xbb\xbf{"cells": [{"source": "a", "cell_type": "code"}]}\r\n'
    assert Notebook.read(plain).spliced([insert(1, 0, "\xe9; ")]).data == plain.replace(b'"a"', '"\xe9; a"'.encode())


def test_edits_that_cannot_be_made() -> None:
    made = read("a\n", "b", "def f(:")
    for edit in (Edit(Span(1, 0, 3, 0), ""), insert(5, 0, "x\n"), insert(1, 0, "(")):
        with pytest.raises(Unfixable):
            made.spliced([edit])


def test_an_import_goes_below_magics_and_cells_without_statements() -> None:
    made = read("%matplotlib inline\n!pip install torch", "%%bash\nls", "# first\n%load_ext x\ny = 1")
    assert made.lines == ["#\n", "#\n", "#\n", "# first\n", "#\n", "y = 1\n", "\n"]


# Any notebook, against the json module.

LINES = st.sampled_from(
    [
        "x = 1",
        "",
        "  # \xe9\t\U0001f600",
        "y = '\\u00e9\\\\ \"'",
        "%time z = x",
        "!ls \u2028 | wc",
        "w = !pwd",
        "'/'; pass",
    ]
)
TEXTS = st.lists(LINES, max_size=5).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""]), "\r\n".join(lines)])
)
CELLS = st.tuples(st.sampled_from(["code", "code", "markdown", "raw"]), TEXTS, st.booleans(), st.booleans())
FORMATS = st.fixed_dictionaries(
    {"ensure_ascii": st.booleans()},
    optional={"indent": st.sampled_from([0, 1, 2, "\t"]), "separators": st.just((",", ":"))},
)


def content_of(cells: list[tuple[str, str, bool, bool]]) -> dict[str, Any]:
    made = []
    for kind, text, listed, first in cells:
        source: str | list[str] = [line + "\n" for line in text.split("\n")] if listed else text
        if isinstance(source, list):
            source[-1] = source[-1][:-1]
            source = source if source[-1] else source[:-1]
        decoys = {"outputs": [{"text": ['"source": ["x"]\n', "\x1b\\"]}], "metadata": {"source": "x", "cells": [{}]}}
        own = {"cell_type": kind, "source": source}
        made.append(own | decoys if first else decoys | own)
    return {"metadata": {"name": "\xfc", "cells": [{"source": "y"}]}, "cells": made, "nbformat": 4}


@given(st.lists(CELLS, max_size=4), FORMATS, st.sampled_from(["", "\n", "\r\n "]))
@settings(deadline=None)
def test_every_letter_is_found_in_the_file(cells: list[Any], format: dict[str, Any], end: str) -> None:
    text = json.dumps(content_of(cells), **format) + end
    made = Notebook.read(text.encode())
    wanted = [
        (number, row, line)
        for number, (kind, source, *_) in enumerate(cells, 1)
        if kind == "code"
        for row, line in enumerate(source.replace("\r\n", "\n").removesuffix("\n").split("\n") if source else [], 1)
    ]
    rows = text.split("\n")
    found = []
    for line, written in enumerate(made.written, 1):
        cell, row = made.cells.place(line)
        if made.cells.place(line + 1)[0] == cell and line < len(made.written):  # else the line below the cell
            found.append((cell, row, written.rstrip("\n")))
        place, columns, whole = made.in_file(line)
        assert whole == rows[place - 1]
        letters = [json.loads(f'"{whole[start:end]}"') for start, end in pairwise(columns)]
        assert "".join(letters) == written.rstrip("\n")
    assert found == wanted
    assert made.spliced([]).data == text.encode()


@given(st.data(), st.lists(CELLS, min_size=1, max_size=4), FORMATS)
@settings(deadline=None)
def test_edits_change_the_sources_alone(data: st.DataObject, cells: list[Any], format: dict[str, Any]) -> None:
    content = content_of(cells)
    made = Notebook.read(json.dumps(content, **format).encode())
    edits = []
    starts = [*made.cells.starts, len(made.lines) + 1]
    for index, number in enumerate(made.cells.numbers):
        source = cells[number - 1][1]
        newline = "\r\n" if "\r\n" in source else "\n"
        lines = source.split(newline)
        for row in range(starts[index + 1] - starts[index] - 1):
            here = starts[index] + row
            kind = data.draw(st.sampled_from(["keep", "insert", "replace", "delete", "append"]))
            last = row == len(lines) - 1
            if kind == "insert":
                edits.append(insert(here, 0, "\xe4 = '\u20ac'\n"))
                lines[row] = f"\xe4 = '\u20ac'{newline}{lines[row]}"
            elif kind == "replace":
                edits.append(Edit(Span(here, 0, here, len(lines[row])), "a\nb"))
                lines[row] = f"a{newline}b"
            elif kind == "append":
                edits.append(insert(here, len(lines[row]), "\n\xdf"))
                lines[row] += f"{newline}\xdf"
            elif kind == "delete" and not last:
                edits.append(Edit(Span(here, 0, here + 1, 0), ""))
                lines[row] = "<deleted>"
        text = newline.join(lines).replace(f"<deleted>{newline}", "")
        cell = content["cells"][number - 1]
        parts = [part + "\n" for part in text.split("\n")]
        parts[-1] = parts[-1][:-1]
        if text != source:
            lines = parts if parts[-1] else parts[:-1] or [""]
            cell["source"] = lines if isinstance(cell["source"], list) else text
    done = made.spliced(edits)
    assert [cell["source"] for cell in content["cells"]] == sources(done.data)
    assert done.data == json.dumps(content, **format).encode()


KEYS = st.sampled_from(["cells", "source", "metadata", "cell_type", "language_info", "name", "worksheets", "vscode"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, JSON, max_size=4), st.lists(JSON, max_size=3))
@settings(deadline=None)
def test_any_json_is_a_notebook_or_is_refused(content: dict[str, Any], cells: list[Any]) -> None:
    data = json.dumps({"cells": cells} | content).encode()
    try:
        made = Notebook.read(data)
    except NoNotebook:
        return
    assert made.spliced([]).data == data and made.tree() is not None


@given(st.data())
@settings(deadline=None)
def test_a_damaged_notebook_is_read_or_refused(data: st.DataObject) -> None:
    whole = dumped(notebook("#md \xe9", ["%time x = '\\n'\n", "y = x"], "!ls", language_info={"name": "python"}))
    start, end = sorted(data.draw(st.lists(st.integers(0, len(whole)), min_size=2, max_size=2)))
    damaged = whole[:start] + data.draw(st.binary(max_size=3)) + whole[end:]
    try:
        made = Notebook.read(damaged)
    except NoNotebook as error:
        assert "\n" not in str(error)
        return
    assert made.spliced([]).data == damaged
