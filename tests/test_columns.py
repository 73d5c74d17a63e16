"""A place in a line in the units of others."""

from __future__ import annotations

import ast
from itertools import product

import pytest

from flake8_tensorcopy.engine.columns import from_utf8, from_utf16, to_utf8, to_utf16

# A letter of each size, a combining mark after its letter, a tab: `x` stands at a column of code points from 0.
PLACES = [
    ("a = x", 4, 4, 4),
    ("\ta\t= x", 5, 5, 5),
    ("ä = x", 4, 5, 4),
    ("漢 = x", 4, 6, 4),
    ("s = '😀'; x", 9, 12, 10),
    ("s = 'e\u0301'; x", 10, 11, 10),
    ("s = '👩\u200d👩'; x", 11, 19, 13),
    ("x", 0, 0, 0),
]


@pytest.mark.parametrize(("line", "column", "utf8", "utf16"), PLACES)
def test_places(line: str, column: int, utf8: int, utf16: int) -> None:
    assert line[column] == "x"
    assert (to_utf8(line, column), to_utf16(line, column)) == (utf8, utf16)
    assert (from_utf8(line, utf8), from_utf16(line, utf16)) == (column, column)


@pytest.mark.parametrize(("line", "column", "utf8", "utf16"), PLACES)
def test_the_ast_counts_bytes_of_utf8(line: str, column: int, utf8: int, utf16: int) -> None:
    (node,) = [node for node in ast.walk(ast.parse(line.strip())) if isinstance(node, ast.Name) and node.id == "x"]
    indent = len(line) - len(line.lstrip())
    assert from_utf8(line, node.col_offset + indent) == column


@pytest.mark.parametrize("letters", list(product("aä漢😀\u0301", repeat=3)))
def test_there_and_back(letters: tuple[str, ...]) -> None:
    line = "".join(letters)
    for column in range(len(line) + 1):
        assert from_utf8(line, to_utf8(line, column)) == column
        assert from_utf16(line, to_utf16(line, column)) == column
        assert to_utf8(line, column) == len(line[:column].encode())
        assert to_utf16(line, column) == len(line[:column].encode("utf-16-le")) // 2


def test_within_a_letter() -> None:
    assert [from_utf8("a😀b", offset) for offset in range(7)] == [0, 1, 1, 1, 1, 2, 3]
    assert [from_utf16("a😀b", offset) for offset in range(5)] == [0, 1, 1, 2, 3]
