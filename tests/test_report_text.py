"""The formats for people, letter by letter."""

from __future__ import annotations

import re
import string
from textwrap import dedent

import pytest

from flake8_tensorcopy.engine import Fix, Span
from flake8_tensorcopy.engine.model import Edit
from flake8_tensorcopy.report import FileReport
from flake8_tensorcopy.report.cells import visible, width
from tests.reports import ALIAS, CHAIN, UNANALYSED, UNPARSED, UNREAD, every_fixture, found, linted, placed, shown

HEAD = "a.py:1:1: TSC101 it changes\n"
FOOT = "= explain: tensorcopy explain TSC101\n"


def excerpt(text: str, head: str = HEAD) -> str:
    """What is shown between the head of a finding and its last line, the margin before it not cut off."""
    assert text.startswith(head) and text.endswith(FOOT)
    return text.removeprefix(head).removesuffix(FOOT).rstrip(" ")


def drawn(text: str) -> str:
    return dedent(text).lstrip("\n")


def test_a_chain() -> None:
    assert shown("text", linted(ALIAS)) == drawn("""
        a.py:6:5: TSC101 [* unsafe] in-place `+=` on `images` also changes `original`: `original = images` on line 5 \
is the same tensor, and `original` is read on line 7
          |
        5 |     original = images
          |                ------ `original` and `images` share storage from here
        6 |     images += torch.randn_like(images)
          |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in-place `+=` changes both
        7 |     return images - original
          |                     -------- `original` is read
          |
          = fix (unsafe): Bind a clone
          = explain: tensorcopy explain TSC101
    """)


def test_a_safe_fix() -> None:
    assert shown("text", linted(CHAIN)) == drawn("""
        a.py:5:12: TSC601 [*] `clone()` of `x` records a graph node that `detach()` drops at once, where `x` \
requires grad: `detach().clone()` gives the same tensor without it
          |
        5 |     return x.clone().detach()
          |            ^^^^^^^^^^^^^^^^^^
          |
          = fix (safe): Detach first, then clone
          = explain: tensorcopy explain TSC601
    """)


def test_a_step_after_the_loop_and_lines_left_out() -> None:
    source = """\
        import torch


        def fit(model, optimizer, batches, loss_of):
            best = model.state_dict()
            for batch in batches:

                loss = loss_of(model(batch))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.load_state_dict(best)
    """
    assert shown("text", linted(source)).split("\n", 1)[1] == drawn("""
           |
         5 |     best = model.state_dict()
           |            ^^^^^^^^^^^^^^^^^^ `best` holds the live tensors of `model`
        ...
        11 |         optimizer.step()
           |         ---------------- `optimizer.step()` changes them
        12 |     model.load_state_dict(best)
           |                           ---- `best` is read
           |
           = fix (safe): Copy the state deeply
           = explain: tensorcopy explain TSC112
    """)


def test_findings_and_files_are_apart_by_an_empty_line() -> None:
    file = placed("x\ny\n", found((1, 0, 1, 1)), found((2, 0, 2, 1)))
    text = shown("text", file, FileReport("b.py", file.lines, file.findings[:1]))
    assert text.count("\n\n") == 2
    assert re.findall(r"^\S+\.py:\d+:\d+: ", text, re.MULTILINE) == ["a.py:1:1: ", "a.py:2:1: ", "b.py:1:1: "]


def test_concise_is_what_flake8_prints() -> None:
    assert shown("concise", linted(CHAIN), UNREAD) == (
        "a.py:5:12: TSC601 `clone()` of `x` records a graph node that `detach()` drops at once, where `x` requires "
        "grad: `detach().clone()` gives the same tensor without it\n"
        "gone.py:1:1: E902 FileNotFoundError: no such file\n"
    )


@pytest.mark.parametrize("format", ["text", "concise"])
def test_nothing_found_is_nothing_said(format: str) -> None:
    assert shown(format) == shown(format, FileReport("a.py", ["x\n"], [])) == ""


def test_what_no_rule_has_found() -> None:
    assert shown("text", UNREAD, UNPARSED, UNANALYSED) == drawn("""
        gone.py:1:1: E902 FileNotFoundError: no such file

        b.py:1:7: E999 SyntaxError: invalid syntax
          |
        1 | def f(:
          |       ^
          |

        c.py:1:1: TSC000 not analysed: RecursionError: too deep
    """)


# Where something stands.


def test_steps_on_one_line_stand_below_each_other() -> None:
    steps = (((1, 6, 1, 7), "first"), ((1, 12, 1, 16), "second"), ((1, 14, 1, 15), "third"))
    text = shown("text", placed("x = f(a, b, g(c))\n", found((1, 4, 1, 17), *steps)))
    assert excerpt(text, "a.py:1:5: TSC101 it changes\n") == drawn("""
          |
        1 | x = f(a, b, g(c))
          |     ^^^^^^^^^^^^^
          |       - first
          |             ---- second
          |               - third
          |
    """)


def test_steps_against_the_order_of_the_source_are_numbered() -> None:
    steps = (((3, 4, 3, 10), "changes it"), ((2, 9, 2, 10), "is read in the next pass"))
    text = shown("text", placed("for i in x:\n    keep(y)\n    y += 1\n", found((3, 4, 3, 10), *steps)))
    assert excerpt(text, "a.py:3:5: TSC101 it changes\n") == drawn("""
          |
        2 |     keep(y)
          |          - 2. is read in the next pass
        3 |     y += 1
          |     ^^^^^^ 1. changes it
          |
    """)


def test_equal_steps_are_drawn_once() -> None:
    steps = (((1, 0, 1, 1), "is read"), ((1, 0, 1, 1), "is read"), ((1, 0, 1, 1), "and again"))
    assert excerpt(shown("text", placed("x\n", found((1, 0, 1, 1), *steps)))) == drawn("""
          |
        1 | x
          | ^ is read
          | ^ and again
          |
    """)


def test_a_single_line_between_is_shown_and_more_is_left_out() -> None:
    source = "".join(f"line_{number}\n" for number in range(1, 13))
    steps = (((1, 0, 1, 4), "one"), ((3, 0, 3, 4), "two"), ((12, 0, 12, 4), "three"))
    assert excerpt(shown("text", placed(source, found((1, 0, 1, 4), *steps)))) == drawn("""
           |
         1 | line_1
           | ^^^^ one
         2 | line_2
         3 | line_3
           | ---- two
        ...
        12 | line_12
           | ---- three
           |
    """)


def test_a_span_over_lines() -> None:
    source = "x = foo(\n    a,\n    b,\n)\ny = bar(x,\n        y)\n"
    steps = (((1, 4, 4, 1), "made here"), ((5, 4, 6, 10), "read here"), ((5, 8, 5, 9), "this one"))
    text = shown("text", placed(source, found((1, 4, 4, 1), *steps)))
    assert excerpt(text, "a.py:1:5: TSC101 it changes\n") == drawn("""
          |
        1 |   x = foo(
          |  _____^
        2 | |     a,
        3 | |     b,
        4 | | )
          | |_^ made here
        5 |   y = bar(x,
          |           - this one
          |  _____-
        6 | |         y)
          | |__________- read here
          |
    """)


def test_a_statement_over_many_lines_with_a_span_in_it() -> None:
    source = "with a, b:\n    f(\n" + "        x,\n" * 9 + "    )\n"
    steps = (((1, 0, 12, 5), "the whole"), ((2, 4, 12, 5), "the call"))
    text = shown("text", placed(source, found((2, 4, 12, 5), *steps)))
    assert excerpt(text, "a.py:2:5: TSC101 it changes\n") == drawn("""
           |
         1 | /   with a, b:
         2 | | /     f(
        ...  | |
        12 | | |     )
           | |_|_____- the whole
           |   |_____^ the call
           |
    """)


def test_a_span_over_lines_that_begins_where_another_ends() -> None:
    source = "f(\n    x,\n); g(\n    x,\n)\n"
    steps = (((1, 0, 3, 1), "first"), ((3, 3, 5, 1), "second"))
    assert excerpt(shown("text", placed(source, found((1, 0, 3, 1), *steps)))) == drawn("""
          |
        1 | / f(
        2 | |     x,
        3 | | ); g(
          | |_^ first
          |  ____-
        4 | |     x,
        5 | | )
          | |_- second
          |
    """)


def test_the_longer_of_two_spans_comes_first() -> None:
    steps = (((1, 0, 1, 1), "inner"), ((1, 0, 1, 4), "outer"))
    assert excerpt(shown("text", placed("x(y)\n", found((1, 0, 1, 1), *steps)))) == drawn("""
          |
        1 | x(y)
          | ---- outer
          | ^ inner
          |
    """)


def test_a_span_up_to_the_next_line_or_beyond_the_file_ends_where_its_line_does() -> None:
    expected = drawn("""
          |
        1 | x = 1
          | ^^^^^
          |
    """)
    assert excerpt(shown("text", placed("x = 1\ny\n", found((1, 0, 2, 0))))) == expected
    assert excerpt(shown("text", placed("x = 1\n", found((1, 0, 9, 9))))) == expected
    assert excerpt(shown("text", placed("x = 1", found((1, 0, 1, 99))))) == expected


def test_an_empty_line_and_an_empty_span() -> None:
    text = shown("text", placed("x\n\ny\n", found((2, 0, 2, 0)), found((3, 1, 3, 1))))
    assert text.split("\n\n")[0] + "\n" == "a.py:2:1: TSC101 it changes\n" + drawn("""
          |
        2 |
          | ^
          |
          = explain: tensorcopy explain TSC101
    """)
    assert "3 | y\n  |  ^\n" in text


def test_a_line_that_the_file_has_not() -> None:
    text = shown("text", placed("x\n", found((7, 0, 7, 1))))
    assert text == "a.py:7:1: TSC101 it changes\n = explain: tensorcopy explain TSC101\n"


# Letters that are not one cell wide.


def test_tabs_and_wide_and_combining_letters_are_counted_in_cells() -> None:
    source = "\tx\t= '漢字' + 'e\u0301' + y  # 😀\n"
    steps = (((1, 5, 1, 9), "wide"), ((1, 12, 1, 16), "combined"), ((1, 19, 1, 20), "after"))
    text = shown("text", placed(source, found((1, 1, 1, 2), *steps)))
    assert excerpt(text, "a.py:1:2: TSC101 it changes\n") == drawn("""
          |
        1 |     x   = '漢字' + 'e\u0301' + y  # 😀
          |     ^
          |           ------ wide
          |                    --- combined
          |                          - after
          |
    """)


def test_nothing_steers_the_terminal() -> None:
    evil = "\x1b]0;gone\x07\u202e\x9b31m\r\u2028\U000e0001"
    escaped = r"\x1b]0;gone\x07\u202e\x9b31m\r\u2028\U000e0001"
    fix = Fix(f"Do{evil}", (Edit(Span(1, 0, 1, 0), ""),), True)
    finding = found((1, 1 + len(evil), 1, 2 + len(evil)), ((1, 0, 1, 1), f"step{evil}"), message=f"it{evil}", fix=fix)
    for format in ("text", "concise"):
        text = shown(format, FileReport(f"a{evil}.py", [f"{evil}xy\n"], [finding]))
        assert all(char.isprintable() for char in text.replace("\n", ""))
        assert text.startswith(f"a{escaped}.py:1:{len(evil) + 2}: TSC101 ")
    text = shown("text", FileReport("a.py", [f"{evil}xy\n"], [finding]))
    assert f"1 | {escaped}xy\n" in text and f"---- step{escaped}\n" in text and f"Do{escaped}\n" in text
    assert f"  | {' ' * (len(escaped) + 1)}^\n" in text


def test_letters_with_a_shape_stay() -> None:
    assert visible("x = 'äß漢😀e\u0301\u3000\xa0'") == "x = 'äß漢😀e\u0301\u3000\xa0'"
    assert [width(text) for text in ("ab", "漢字", "e\u0301", "😀", "")] == [2, 4, 1, 2, 0]


# Lines that are too long.

LONG = "x = [" + ", ".join(f"value_{number}" for number in range(60)) + "]\n"


def rows_of_source(text: str) -> list[str]:
    return [row.partition("| ")[2] for row in text.split("\n") if re.match(r" *\d* \| .", row)]


@pytest.mark.parametrize("column", [0, 4, 285, len(LONG) - 20, len(LONG) - 10])
@pytest.mark.parametrize("columns", [40, 80, None])
def test_a_long_line_is_cut_around_the_span(column: int, columns: int | None) -> None:
    finding = found((1, column, 1, column + 8))
    source, marks = rows_of_source(shown("text", placed(LONG, finding), width=columns))
    assert len(f"1 | {source}") <= (columns or 130)
    assert source[marks.index("^") :].startswith(LONG[column : column + 8]) and marks.count("^") == 8
    assert source.startswith("...") == (column > 40) and source.endswith("...") == (column < 560)


def test_a_long_line_with_spots_far_apart() -> None:
    steps = (((1, 5, 1, 12), "first"), ((1, 305, 1, 313), "middle"), ((1, 570, 1, 578), "last"))
    source, *marks = rows_of_source(shown("text", placed(LONG, found((1, 5, 1, 12), *steps)), width=80))
    assert source.count("...") == 2 and len(source) <= 76
    for (_, start, _, end), text in steps:
        (mark,) = [mark for mark in marks if mark.endswith(f" {text}")]
        signs = mark.removesuffix(f" {text}")
        assert source[len(signs) - (end - start) : len(signs)] == LONG[start:end]


def test_spots_that_are_near_share_what_is_shown() -> None:
    steps = (((1, 300, 1, 308), "one"), ((1, 320, 1, 328), "two"))
    source, *_ = rows_of_source(shown("text", placed(LONG, found((1, 300, 1, 308), *steps)), width=60))
    assert source.count("...") == 2 and source.removeprefix("...").removesuffix("...") in LONG


def test_three_cells_are_not_left_out_for_three_dots() -> None:
    line = string.ascii_letters[:40]
    for column in range(40):
        source, _ = rows_of_source(shown("text", placed(line, found((1, column, 1, column + 1))), width=40))
        start = line.index(source.strip("."))
        end = start + len(source.strip("."))
        assert source == ("..." if start else "") + line[start:end] + ("..." if end < 40 else "")
        assert (start == 0 or start > 3) and (end == 40 or end < 37) and (start or end < 40)


def test_a_place_behind_a_long_line() -> None:
    source, marks = rows_of_source(shown("text", placed(LONG, found((1, 9999, 1, 10001))), width=60))
    assert source.startswith("...") and source.endswith("value_59]")
    assert marks == " " * len(source) + "^"


def test_a_long_line_in_a_span_over_lines() -> None:
    text = shown("text", placed(f"y = (\n{LONG})\n", found((1, 4, 3, 1), ((2, 300, 2, 308), "here"))), width=60)
    (row,) = [row for row in text.split("\n") if row.startswith("2 | | ...")]
    assert row.endswith("...") and len(row) == 60


def test_a_span_that_is_longer_than_the_row() -> None:
    source, marks = rows_of_source(shown("text", placed(LONG, found((1, 4, 1, len(LONG) - 1))), width=60))
    assert source.endswith("...") and len(source) <= 56
    assert marks == "    " + "^" * (len(source) - len("    ..."))


def test_wide_letters_are_not_cut_in_half() -> None:
    line = "x = '" + "漢" * 300 + "' + y\n"
    source, marks = rows_of_source(shown("text", placed(line, found((1, 150, 1, 151))), width=60))
    assert set(source) == {".", "漢"} and width(source) in (55, 56)
    assert marks.count("^") == 2 and (marks.index("^") - 3) % 2 == 0


def test_every_width_gives_a_report() -> None:
    for columns in range(1, 60):
        assert "^" in shown("text", placed(LONG, found((1, 100, 1, 108))), width=columns)


# All of it.


def test_colours_are_the_same_text_with_escapes() -> None:
    files = [linted(ALIAS), linted(CHAIN), UNREAD, UNPARSED]
    plain, coloured = shown("text", *files), shown("text", *files, color=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert "\x1b[1;31mTSC101\x1b[0m \x1b[1;36m[* unsafe]\x1b[0m" in coloured
    assert all(row.count("\x1b[0m") * 2 == row.count("\x1b") for row in coloured.split("\n"))


def test_the_fixtures() -> None:
    """Each finding has its excerpt, each step is drawn, and no row ends with white space."""
    files = every_fixture()
    text = shown("text", *files, width=1000)
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    blocks = text.removesuffix("\n").split("\n\n")
    findings = [finding for file in files for finding in file.findings]
    assert len(blocks) == len(findings)
    for block, finding in zip(blocks, findings, strict=True):
        head, *rows = block.split("\n")
        assert f": {finding.code} " in head and head.endswith(finding.message)
        assert any("^" in row for row in rows)
        for step in finding.path:
            assert any(row.startswith(f"{step.span.line:>{row.index(' | ')}} | ") for row in rows if " | " in row)
            assert any(row.endswith(step.text) for row in rows)
        assert rows[-1].endswith(f"explain {finding.code}")
