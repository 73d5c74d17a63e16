"""Texts as an editor changes them: against a reference that counts letter by letter."""

from __future__ import annotations

import os
import random

import pytest
from lsprotocol import types

from flake8_tensorcopy.engine import Edit, Span
from flake8_tensorcopy.lsp import analysis
from flake8_tensorcopy.lsp.actions import Actions, merged
from flake8_tensorcopy.lsp.analysis import analyse, edits
from flake8_tensorcopy.lsp.documents import Document, Text, path_of, units
from flake8_tensorcopy.lsp.messages import Client
from flake8_tensorcopy.lsp.settings import sent
from flake8_tensorcopy.settings import Settings
from tests.editor import index, position

ENCODINGS = ("utf-8", "utf-16", "utf-32")
LETTERS = ["a", "b", " ", "\n", "\r\n", "\r", "\f", "\x1c", "\x85", "\u2028", "ä", "漢", "😀", "e\u0301", "\ufeff"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_changes_give_the_text_of_the_client(encoding: str) -> None:
    chance = random.Random(encoding)
    for _ in range(60):
        there = "".join(chance.choices(LETTERS, k=chance.randrange(30)))
        here = Text(there)
        for _ in range(20):
            start, end = sorted(chance.randrange(len(there) + 1) for _ in range(2))
            if any(there[at - 1 : at + 1] == "\r\n" for at in (start, end)):
                continue  # no place within the end of a line
            new = "".join(chance.choices(LETTERS, k=chance.randrange(4)))
            place = types.Range(position(there, start, encoding), position(there, end, encoding))
            here = here.changed(types.TextDocumentContentChangePartial(place, new), units(encoding))
            there = there[:start] + new + there[end:]
            assert here.text == there


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_spans_stand_where_flake8_sees_them(encoding: str) -> None:
    chance = random.Random(encoding)
    for _ in range(200):
        text = "".join(chance.choices(LETTERS[:-1], k=40)) + chance.choice(["", "\n"])
        for mark in ("", "\ufeff"):
            made = Text(mark + text)
            lines = made.lines()
            assert "".join(lines) == text.replace("\r\n", "\n").replace("\r", "\n")
            number = chance.randrange(len(lines))
            column = chance.randrange(len(lines[number].rstrip("\n")) + 1)
            span = Span(number + 1, column, number + 1, len(lines[number].rstrip("\n")))
            place = made.range(span, units(encoding))
            start, end = (index(mark + text, one, encoding) for one in (place.start, place.end))
            assert (mark + text)[start:end] == lines[number].rstrip("\n")[column:]


def test_places_beyond_the_text_mean_its_ends() -> None:
    text, utf16 = Text("ab\r\ncd"), units("utf-16")
    places = [(0, 1), (0, 2), (0, 9), (1, 0), (1, 2), (1, 9), (2, 0), (99, 99)]
    assert [text.index(types.Position(*place), utf16) for place in places] == [1, 2, 2, 4, 6, 6, 6, 6]
    assert Text("").index(types.Position(0, 0), utf16) == Text("").index(types.Position(3, 3), utf16) == 0
    assert text.range(Span(3, 0, 9, 9), utf16) == types.Range(types.Position(1, 2), types.Position(1, 2))


@pytest.mark.parametrize(
    ("text", "newlines"),
    [
        ("a\nb\r\nc\rd", ["\n", "\r\n", "\r", "\r"]),
        ("a", ["\n"]),
        ("a\r\n", ["\r\n", "\r\n"]),
        ("a\n\r\n", ["\n", "\r\n", "\r\n"]),
    ],
)
def test_the_newline_of_a_line(text: str, newlines: list[str]) -> None:
    assert [Text(text).newline(line + 1) for line in range(len(newlines))] == newlines


def test_edits_of_whole_lines_lead_from_one_text_to_the_other() -> None:
    chance = random.Random(0)
    for _ in range(300):
        before, after = ("".join(chance.choices(LETTERS[:8], k=chance.randrange(20))) for _ in range(2))
        for mark in ("", "\ufeff"):
            text, made = Text(mark + before), mark + before
            for edit in reversed(edits(text, mark + after)):
                place = text.range(edit.span, units("utf-32"))
                start, end = (index(mark + before, one, "utf-32") for one in (place.start, place.end))
                made = made[:start] + edit.text + made[end:]
            assert made == mark + after
    assert edits(Text("a\nb\nc\n"), "a\nx\nc\n") == [Edit(Span(2, 0, 3, 0), "x\n")]


@pytest.mark.skipif(os.name == "nt", reason="paths of another kind")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b.py", "/a/b.py"),
        ("file:///a%20b/%E2%82%AC;x?y%23.py", "/a b/€;x"),
        ("file:///a/../b.py", "/b.py"),
        ("file://localhost/b.py", "/b.py"),
        ("untitled:Untitled-1", None),
        ("vscode-vfs://github/a.py", None),
        ("file:///", None),
        ("file:a.py", None),
        ("file:///a%00.py", None),
        ("file://[a", None),
        ("", None),
    ],
)
def test_the_path_of_an_address(uri: str, path: str | None) -> None:
    assert path_of(uri) == path


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (None, {}),
        ({}, {}),
        ({"extendSelect": ["TSC1"], "unsafe-fixes": True, "disable_noqa": False}, 3),
        ({"tensorcopy": {"preview": True}}, {"preview": True}),
        ({"settings": {"tensorcopy": {"preview": True}}}, {"preview": True}),
        ({"preview": None}, {}),
    ],
)
def test_names_of_an_editors_settings(options: object, found: object) -> None:
    values, notes = sent(options)
    assert notes == []
    if isinstance(found, int):
        assert values == {"extend-select": ["TSC1"], "unsafe-fixes": True, "disable-noqa": False}
    else:
        assert values == found


def test_settings_that_there_are_not() -> None:
    assert sent({"unsafeFix": True, "jobs": 3}) == (
        {},
        [
            "the editor's settings: there is none called 'unsafeFix'; did you mean 'unsafe-fixes'?",
            "the editor's settings: there is none called 'jobs'",
        ],
    )
    assert sent(7) == ({}, ["the editor's settings must be an object, not 7"])


DETACH = "import torch\n\n\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return x.clone().detach()\n"


def actions_of(text: str) -> Actions:
    document = Document("file:///folder/a.py", 1, Text(text), "/folder/a.py")
    return Actions(document, analyse(document.text, document.path, "/folder", Settings()), Client())


def test_a_repair_that_does_not_hold_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    holds, fails = actions_of(DETACH), actions_of(DETACH)
    titles = [action.title for action in holds.quick_fixes(holds.analysis.findings[0])]
    assert titles == ["Detach first, then clone (TSC601)", "Silence with # noqa: TSC601"]
    assert holds.all_fixed() is not None
    monkeypatch.setattr(analysis, "repaired", lambda *given: None)
    assert [action.title for action in fails.quick_fixes(fails.analysis.findings[0])] == titles[1:]
    assert fails.all_fixed() is None


@pytest.mark.parametrize("cookie", ["klingon", "ascii"])
def test_what_cannot_be_a_file_is_not_repaired(cookie: str) -> None:
    odd = actions_of(f"# coding: {cookie}\nname = 'é'\n{DETACH}")
    (finding,) = odd.analysis.findings
    assert [action.title for action in odd.quick_fixes(finding)] == ["Silence with # noqa: TSC601"]
    assert odd.fix_all() is not None and odd.all_fixed() is None


def test_actions_that_do_the_same_are_one() -> None:
    actions = actions_of(DETACH).quick_fixes(actions_of(DETACH).analysis.findings[0])
    (repair, silence) = merged([*reversed(actions), *actions])
    assert (repair.title, silence.title) == tuple(action.title for action in actions)
    assert [len(action.diagnostics or ()) for action in (repair, silence)] == [2, 2]
    assert [len(action.diagnostics or ()) for action in actions] == [1, 1]
