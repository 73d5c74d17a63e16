"""The command reads texts and the comments in them as flake8 does: both are run on the same odd files."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_tensorcopy.files import decoded
from flake8_tensorcopy.noqa import Comments
from tests.conftest import run_flake8, run_tensorcopy

COMMENTS = (
    "# noqa", "#noqa", "#  noqa", "# NOQA", "# NoQA: TSC601", "# noqa : TSC601", "# noqa : E501", "# noqa:TSC6",
    "# noqa: TSC1", "# noqa:TSC601", "# noqa:  TSC601", "# noqa:\tTSC601", "# noqa: tsc601", "# noqa: T", "# noqa: S",
    "# noqa: TSC6011", "# noqa: E501,TSC601", "# noqa: E501 TSC601", "# noqa: E501,,TSC601", "# noqa: E501, TSC601 why",
    "# noqa: TSC601why", "# noqa: E501 # noqa: TSC601", "# noqa: TSC601 # noqa: E501", "# noqa # noqa: E501",
    "# type: ignore # noqa: TSC601", "# noqa-TSC601", "# noqa\uff1aTSC601", "# noqa: \u0422SC601", "# why: noqa",
    "# noqa:", "# \U0001d427oqa", "# nöqa", "# flake8: noqa", "# noqa\\", "#\x0c noqa", "# noqa:\xa0TSC601",
)  # fmt: skip

LAYOUTS = {
    "plain": "return x.clone().detach()  {c}",
    "backslash": "return x.clone() \\\n        .detach()  {c}",
    "before_backslash": "y = 1 + \\\n        2; return x.clone().detach()  {c}",
    "parenthesised_last": "return (\n        x.clone().detach()\n    )  {c}",
    "parenthesised_first": "return (  {c}\n        x.clone().detach()\n    )",
    "parenthesised_own": "return (\n        x.clone().detach()  {c}\n    )",
    "long_call": "return (x.clone()  {c}\n        .detach())",
    "text_after": 'return x.clone().detach(), """a\n    b"""  {c}',
    "text_before": 'return """a\n    b""", x.clone().detach()  {c}',
    "text_around": 'return f"""a\n    {{x.clone().detach()}}\n    b"""  {c}',
    "in_a_text": "return x.clone().detach(), '{c}'",
    "in_a_long_text": 'return x.clone().detach(), """\n    {c}\n    """',
    "line_before": "{c}\n    return x.clone().detach()",
    "line_after": "return x.clone().detach()\n    {c}",
    "two_findings": "return x.clone().detach(), x.clone().detach()  {c}",
}

BODY = "import torch\n\n\ndef f(x: torch.Tensor) -> object:\n    return x.clone().detach()\n"
WIDE = BODY.replace("return ", "return '\U0001d499é', ")
WHOLE = (
    "# flake8: noqa", "#flake8: noqa", "# flake8:noqa", "# FLAKE8: NOQA", "    # flake8: noqa", "# flake8=noqa",
    "# flake8: noqa: TSC601", "# flake8: noqa: E501", "# flake8: noqa because", "x = 1  # flake8: noqa",
    "'''\n# flake8: noqa\n'''", "# flake8 : noqa", "# \x0cflake8: noqa",
)  # fmt: skip
TEXTS: dict[str, bytes] = {
    "bom": b"\xef\xbb\xbf" + WIDE.encode(),
    "two_boms": b"\xef\xbb\xbf" * 2 + BODY.encode(),
    "bom_and_cookie": b"\xef\xbb\xbf# coding: latin-1\n" + BODY.encode(),
    "crlf": WIDE.replace("\n", "\r\n").encode(),
    "cr": WIDE.replace("\n", "\r").encode(),
    "mixed": WIDE.replace("\n", "\r\n", 2).encode(),
    "form_feed": b"\x0c" + BODY.replace("    return", "\x0c    return").encode(),
    "form_feed_lines": BODY.replace("\n\n\n", "\n\x0c\n\x0c\n").encode(),
    "latin": b"# -*- coding: latin-1 -*-\n" + BODY.replace("return ", "return 'é', ").encode("latin-1"),
    "cp1252": b"#!python\n# vim: fileencoding=cp1252 :\n" + BODY.replace("return ", "return '€', ").encode("cp1252"),
    "wrong_cookie": b"# coding: ascii\n" + WIDE.encode(),
    "unknown_cookie": b"# coding: nonsense\n" + WIDE.encode(),
    "invalid_utf8": BODY.replace("return ", "return '\xff', ").encode("latin-1"),
    "utf16": BODY.encode("utf-16"),
    "separators": BODY.replace("return ", "y = '\u2028 \x85 \x1c \x0b'\n    return ").encode(),
    "separators_in_a_comment": BODY.replace("\n\n\n", "\n# \u2029 \x85 \x1d\n\n").encode(),
    "no_newline": BODY.rstrip("\n").encode(),
    "no_newline_noqa": BODY.rstrip("\n").encode() + b"  # noqa",
    "last_backslash": BODY.encode() + b"\\\n",
    "tabs": BODY.replace("    ", "\t").encode(),
    "empty": b"",
    "only_bom": b"\xef\xbb\xbf",
    "null": BODY.encode() + b"\0",
    "syntax": BODY.encode() + b"def (\n",
    "indentation": BODY.encode() + b"      x\n",
    "astral_name": BODY.replace("x", "\U0001d465\U0001d499").encode(),
}  # fmt: skip


def files() -> dict[str, bytes]:
    """Many files, by their names."""
    made = {f"text_{name}.py": data for name, data in TEXTS.items()}
    for name, layout in LAYOUTS.items():
        text = "".join(
            f"def f{place}(x: torch.Tensor) -> object:\n    {layout.format(c=comment)}\n\n\n"
            for place, comment in enumerate(COMMENTS)
        )
        made[f"layout_{name}.py"] = f"import torch\n\n\n{text}".encode()
    for place, comment in enumerate(WHOLE):
        made[f"whole_{place}.py"] = f"{BODY}\n\n{comment}\n".encode()
    return made


def of_the_rules(lines: list[str]) -> list[str]:
    return [line for line in lines if " TSC" in line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("odd")
    for name, data in files().items():
        (made / name).write_bytes(data)
    return made


@pytest.mark.parametrize("more", [(), ("--disable-noqa",)], ids=["noqa", "disabled"])
def test_the_command_reports_what_flake8_reports(folder: Path, more: tuple[str, ...]) -> None:
    names = sorted(files())
    expected = run_flake8("--isolated", "--select=TSC", *more, *names, cwd=folder)
    found = run_tensorcopy("check", "--isolated", "--output-format=concise", *more, *names, cwd=folder)
    assert of_the_rules(found.lines) == of_the_rules(expected.out.splitlines())
    assert len(of_the_rules(found.lines)) > (len(COMMENTS) * len(LAYOUTS) if more else len(COMMENTS) * 4)
    assert (found.exit, found.err) == (1, "")


@pytest.mark.parametrize("name", ["bom", "latin", "no_newline_noqa"])
def test_standard_input_is_read_as_flake8_reads_it(folder: Path, name: str) -> None:
    data = TEXTS[name]
    expected = run_flake8("--isolated", "--select=TSC", "--stdin-display-name=some.py", "-", cwd=folder, stdin=data)
    found = run_tensorcopy(
        "check", "--isolated", "--output-format=concise", "--stdin-filename=some.py", "-", cwd=folder, stdin=data
    )
    assert (found.lines, found.exit) == (expected.out.splitlines(), expected.exit)


def test_what_gives_no_text_is_taken_for_latin_1() -> None:
    assert decoded(b"# coding: hex\nx = '\xe9'\n") == ["# coding: hex\n", "x = 'é'\n"]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("x = 1\ny = 2\n", 1),
        ("x = 1 + \\\n  2 + \\\n  3\ny = 2\n", 3),
        ('x = """\n\n"""\ny = 2\n', 3),
        ("x = (\n1)\n", 1),
        ("x = (\n", 1),
    ],
)
def test_the_row_where_a_comment_belongs(text: str, row: int) -> None:
    assert Comments("some.py", text.splitlines(keepends=True)).row(1) == row
