"""Repairing a file: what is spliced into its bytes, and which repairs stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

import pytest

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine import Edit, Finding, Fix, Span
from flake8_tensorcopy.fixes import Repaired, Source, Unfixable, repair
from flake8_tensorcopy.lint import lint

# Reading and splicing.


def insert(line: int, column: int, text: str) -> Edit:
    return Edit(Span(line, column, line, column), text)


def replace(line: int, start: int, end: int, text: str) -> Edit:
    return Edit(Span(line, start, line, end), text)


TEXTS = {
    "utf-8": "a = 'é'\nb = a\n".encode(),
    "byte order mark": b"\xef\xbb\xbfa = 1\nb = a\n",
    "mark and cookie": b"\xef\xbb\xbf# coding: utf-8\nb = a\n",
    "latin-1": b"# -*- coding: latin-1 -*-\nb = '\xe9\xff'\n",
    "shift_jis": "# coding: shift_jis\nb = 'ソ表'\n".encode("shift_jis"),
    "carriage returns and line feeds": b"a = 1\r\nb = a\r\n",
    "carriage returns": b"a = 1\rb = a\r",
    "mixed": b"a = 1\r\nb = a\nc = b\rd = c",
    "form feeds": b"\x0ca = 1\n\x0c\nb = a\x0c\n",
    "no newline at the end": b"a = 1\nb = a",
    "separators that end no line": "a = '\u2028\x85\x1c\x0b'\nb = a\n".encode(),
    "astral": "a = '\U0001f600'; b = a\nc = b\n".encode(),
    "nothing": b"",
    "one newline": b"\n",
}


@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS)
def test_no_edit_changes_no_byte(data: bytes) -> None:
    assert Source.read(data).spliced([]).data == data


@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS)
def test_an_insertion_leaves_every_other_byte(data: bytes) -> None:
    source = Source.read(data)
    for line, text in enumerate(source.lines, 1):
        if "coding:" in text:
            continue
        for column in range(len(text.rstrip("\n")) + 1):
            made = source.spliced([insert(line, column, "XYZ")])
            assert made.data.replace(b"XYZ", b"", 1) == data
            assert made.lines[line - 1] == text[:column] + "XYZ" + text[column:]
            assert len(made.lines) == len(source.lines)


def test_a_column_counts_characters_and_not_bytes() -> None:
    source = Source.read("a = 'é\U0001f600'; b = a\n".encode())
    assert source.spliced([replace(1, 14, 15, "copy")]).data == "a = 'é\U0001f600'; b = copy\n".encode()


@pytest.mark.parametrize(("newline", "data"), [("\r\n", b"a\r\nb\r\n"), ("\r", b"a\rb\r"), ("\n", b"a\nb\n")])
def test_new_lines_end_as_those_of_the_file_do(newline: str, data: bytes) -> None:
    for line in (1, 2):
        made = Source.read(data).spliced([insert(line, 0, "new\n")])
        assert made.data == newline.join([*"ab"[: line - 1], "new", *"ab"[line - 1 :], ""]).encode()
    assert Source.read(data).spliced([insert(2, 1, "\nc")]).data == newline.join(["a", "b", "c", ""]).encode()


def test_new_lines_end_as_the_line_where_they_are_put() -> None:
    assert Source.read(b"a\r\nb\nc\r").spliced([insert(3, 0, "x\n"), insert(2, 0, "y\n")]).data == b"a\r\ny\nb\nx\rc\r"


def test_edits_over_lines_and_in_any_order() -> None:
    source = Source.read(b"a = f(\r\n    b,  # why\r\n)\r\nc = a\r\n")
    edits = [replace(4, 4, 5, "d"), Edit(Span(1, 5, 3, 1), "()"), insert(1, 0, "x; ")]
    assert source.spliced(edits).data == b"x; a = f()\r\nc = d\r\n"


def test_an_edit_after_the_last_line() -> None:
    assert Source.read(b"a\n").spliced([insert(2, 0, "b\n")]).data == b"a\nb\n"
    assert Source.read(b"").spliced([insert(1, 0, "b\n")]).data == b"b\n"


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(Unfixable, match="overlap"):
        Source.read(b"a = b + c\n").spliced([replace(1, 0, 5, "x"), insert(1, 3, "y")])
    assert Source.read(b"a = b + c\n").spliced([replace(1, 0, 3, "x"), insert(1, 3, "y")]).data == b"xy b + c\n"


def test_a_letter_that_the_encoding_lacks_is_refused() -> None:
    with pytest.raises(Unfixable, match="iso-8859-1 cannot hold"):
        Source.read(b"# coding: latin-1\na = 1\n").spliced([insert(2, 0, "\u2192")])


UNREADABLE = {
    "invalid UTF-8": (b"a = '\xff'\n", "cannot be decoded"),
    "unknown encoding": (b"# coding: klingon\na = 1\n", "cannot be decoded"),
    "a mark against the cookie": (b"\xef\xbb\xbf# coding: latin-1\n", "cannot be decoded"),
    "bytes that are not written so": (b"# coding: utf-7\na = '+AGE-'\n", "not those that Python writes"),
    "no Python": (b"def f(:\n", "cannot be parsed"),
    "a zero byte": (b"a = 1\x00\n", "cannot be parsed"),
    "nested too deeply": (b"(" * 10_000 + b")" * 10_000, "cannot be parsed|nested too deeply"),
}


@pytest.mark.parametrize(("data", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_not_repaired(data: bytes, reason: str) -> None:
    with pytest.raises(Unfixable, match=reason):
        repair(data, lambda tree, lines: [], lambda found, tree, lines: found)


# Which repairs stand, with a linter of one line: `old` is to be `new`.


def lines_with(*pairs: tuple[str, str], safe: bool = True) -> Callable[[ast.Module, Sequence[str]], list[Finding]]:
    """A linter that reports each word and would put the other one in its place; codes are T00, T01 ..."""

    def find(tree: ast.Module, lines: Sequence[str]) -> list[Finding]:
        found = []
        for number, line in enumerate(lines, 1):
            for place, (word, other) in enumerate(pairs):
                for match in re.finditer(rf"\b{word}\b", line.partition("#")[0]):
                    fix = Fix(f"write {other}", (replace(number, match.start(), match.end(), other),), safe)
                    span = Span(number, match.start(), number, match.end())
                    found.append(Finding(span, f"T{place:02}", f"no {word}", fix=fix))
        return sorted(found)

    return find


def everything(found: Sequence[Finding], tree: ast.Module, lines: Sequence[str]) -> Sequence[Finding]:
    return found


def test_each_finding_is_repaired_and_a_second_run_does_nothing() -> None:
    find = lines_with(("old", "new"))
    made = repair(b"old = old\r\nx = old  # old\r\n", find, everything)
    assert made.source.data == b"new = new\r\nx = new  # old\r\n"
    assert [finding.span.line for finding in made.fixed] == [1, 1, 2]
    assert (made.left, made.refused) == ((), ())
    again = repair(made.source.data, find, everything)
    assert (again.source.data, again.fixed) == (made.source.data, ())


def test_unsafe_repairs_are_made_on_request_only() -> None:
    find = lines_with(("old", "new"), safe=False)
    assert repair(b"old\n", find, everything).fixed == ()
    assert [finding.code for finding in repair(b"old\n", find, everything).left] == ["T00"]
    assert repair(b"old\n", find, everything, unsafe=True).source.data == b"new\n"


def test_what_was_not_chosen_stays() -> None:
    find = lines_with(("old", "new"), ("bad", "good"))
    made = repair(b"old\nbad\n", find, lambda found, tree, lines: [one for one in found if one.code == "T01"])
    assert (made.source.data, made.left) == (b"old\ngood\n", ())


def test_repairs_that_touch_are_made_one_after_the_other() -> None:
    def find(tree: ast.Module, lines: Sequence[str]) -> list[Finding]:
        """A zero next to another place: both want to write at the same column."""
        spots = [place for place, letter in enumerate(lines[0]) if letter == "0"]
        fixes = [Fix("one", (replace(1, place, place + 1, "1"),), True) for place in spots]
        return [Finding(fix.edits[0].span, "T00", "zero", fix=fix) for fix in fixes]

    made = repair(b"x = 4000\n", find, everything)
    assert (made.source.data, len(made.fixed)) == (b"x = 4111\n", 3)


def test_equal_edits_are_made_once() -> None:
    def find(tree: ast.Module, lines: Sequence[str]) -> list[Finding]:
        if "import" in lines[0]:
            return []
        fix = Fix("import it", (insert(1, 0, "import copy\n"),), True)
        return [Finding(Span(line, 0, line, 1), "T00", "needs it", fix=fix) for line in (1, 2)]

    made = repair(b"a\nb\n", find, everything)
    assert (made.source.data, len(made.fixed)) == (b"import copy\na\nb\n", 2)


TAKEN_BACK = {
    "no Python": (("old", "(new"), b"old\n", "cannot be parsed"),
    "the finding stays": (("old", "old "), b"old\n", "T00 would be reported again"),
}


@pytest.mark.parametrize(("pair", "data", "reason"), TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_a_repair_that_does_not_hold_is_taken_back(pair: tuple[str, str], data: bytes, reason: str) -> None:
    made = repair(data, lines_with(pair), everything)
    assert (made.source.data, made.fixed) == (data, ())
    assert {why for _, why in made.refused if reason in why}
    assert len(made.left) == data.count(b"old")


def test_a_repair_that_loses_a_comment_is_taken_back() -> None:
    def find(tree: ast.Module, lines: Sequence[str]) -> list[Finding]:
        if "old" not in lines[0]:
            return []
        return [Finding(Span(1, 0, 1, 1), "T00", "old", fix=Fix("less", (Edit(Span(1, 4, 2, 0), ""),), True))]

    assert repair(b"f( old,\n1)\n", find, everything).source.data == b"f( o1)\n"
    made = repair(b"f( old,  # why\n1)\n", find, everything)
    assert [why for _, why in made.refused] == ["a comment would be lost"]
    assert made.source.data == b"f( old,  # why\n1)\n"


def test_a_repair_that_brings_another_finding_is_taken_back() -> None:
    """Whether the user had chosen to see that other one or not; the rest of the repairs is made."""
    find = lines_with(("old", "bad"), ("bad", "good"), ("wrong", "right"))
    made = repair(b"wrong\nold\nwrong\n", find, lambda found, tree, lines: [one for one in found if one.code != "T01"])
    assert made.source.data == b"right\nold\nright\n"
    assert [(finding.code, why) for finding, why in made.refused] == [("T00", "T01 would be reported in its place")]
    assert [finding.code for finding in made.left] == ["T00"]


def test_of_many_repairs_only_the_wrong_ones_are_taken_back() -> None:
    find = lines_with(("old", "new"), ("broken", "(new"))
    made = repair(b"broken\n" + b"old\n" * 40 + b"broken = 1\n", find, everything)
    assert made.source.data == b"broken\n" + b"new\n" * 40 + b"broken = 1\n"
    assert len(made.refused) == 2


# With the rules.


def repaired(text: str, *, unsafe: bool = False, preview: bool = False) -> Repaired:
    options = Options(preview=preview)
    return repair(text.encode(), lambda tree, lines: lint(tree, lines, options), everything, unsafe=unsafe)


def test_formatting_and_comments_survive() -> None:
    text = (
        "\ufeffimport torch\r\n\x0c\r\n\r\n"
        "def kept(x: torch.Tensor):\r\n"
        "\tlogits = torch.exp( x )   # é\r\n"
        "\treturn (\r\n"
        "\t\tlogits\r\n"
        "\t\t# a copy of its own\r\n"
        "\t\t.clone()  # first\r\n"
        "\t\t.detach( )  # then\r\n"
        "\t)"
    )
    made = repaired(text)
    assert [finding.code for finding in made.fixed] == ["TSC601"]
    expected = text.replace(".clone()  # first", ".detach( )  # first").replace(
        ".detach( )  # then", ".clone()  # then"
    )
    assert made.source.data == expected.encode()


def test_a_file_of_another_encoding_is_repaired_in_it() -> None:
    text = "# coding: latin-1\nimport torch\n\ndef f(é: torch.Tensor):\n    return 'ß', é.exp().clone().detach()\n"
    data = text.encode("latin-1")
    made = repair(data, lambda tree, lines: lint(tree, lines, Options()), everything)
    assert made.source.data == data.replace(b".clone().detach()", b".detach().clone()")
    assert len(made.fixed) == 1
