"""The formats for machines, but for SARIF: what stands where, and in which unit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy.engine import Edit, Finding, Fix, Span
from flake8_tensorcopy.report import FORMATS, FileReport, fingerprints
from flake8_tensorcopy.report.places import in_repository, root, uri
from tests.reports import ALIAS, CHAIN, UNANALYSED, UNPARSED, UNREAD, every_fixture, found, linted, placed, shown

# The span is `漢y` in code points 8 to 10, which are bytes 12 to 16 of the line; below it stands a second line.
ODD = "s='😀é'; 漢y\n    z\n"
ODD_SPAN = (1, 8, 1, 10)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def loaded(format: str, *files: FileReport) -> Any:
    text = shown(format, *files)
    assert text.isascii() and text.endswith("\n") and not text.endswith("\n\n")
    return json.loads(text)


def fix(*edits: tuple[tuple[int, int, int, int], str], safe: bool = True) -> Fix:
    return Fix("Do it", tuple(Edit(Span(*span), text) for span, text in edits), safe)


def test_the_formats() -> None:
    assert FORMATS == ("text", "concise", "json", "sarif", "github", "gitlab", "rdjson")
    with pytest.raises(KeyError):
        shown("yaml", UNREAD)


@pytest.mark.parametrize("format", FORMATS)
def test_a_report_is_the_same_each_time(format: str) -> None:
    files = [linted(ALIAS), linted(CHAIN, "b.py"), UNREAD, UNPARSED, UNANALYSED]
    assert shown(format, *files) == shown(format, *files) != ""


# JSON.


def test_json() -> None:
    assert loaded("json", linted(ALIAS)) == [
        {
            "code": "TSC101",
            "name": "alias-then-inplace",
            "message": "in-place `+=` on `images` also changes `original`: `original = images` on line 5 is the same "
            "tensor, and `original` is read on line 7",
            "filename": "a.py",
            "cell": None,
            "url": None,
            "location": {"row": 6, "column": 5},
            "end_location": {"row": 6, "column": 39},
            "noqa_row": 6,
            "fix": {
                "applicability": "unsafe",
                "message": "Bind a clone",
                "edits": [
                    {
                        "content": ".clone()",
                        "location": {"row": 5, "column": 22},
                        "end_location": {"row": 5, "column": 22},
                    }
                ],
            },
            "path": [
                {
                    "message": "`original` and `images` share storage from here",
                    "location": {"row": 5, "column": 16},
                    "end_location": {"row": 5, "column": 22},
                },
                {
                    "message": "in-place `+=` changes both",
                    "location": {"row": 6, "column": 5},
                    "end_location": {"row": 6, "column": 39},
                },
                {
                    "message": "`original` is read",
                    "location": {"row": 7, "column": 21},
                    "end_location": {"row": 7, "column": 29},
                },
            ],
            "preview": False,
        }
    ]


def test_json_of_nothing() -> None:
    assert shown("json") == "[]\n"


def test_json_columns_count_code_points() -> None:
    (entry,) = loaded("json", placed(ODD, found(ODD_SPAN)))
    assert (entry["location"]["column"], entry["end_location"]["column"]) == (9, 11)


def test_json_says_where_a_noqa_comment_belongs() -> None:
    file = FileReport("a.py", ["x = '''\n", "'''\n"], [found((1, 0, 2, 3)), found((2, 0, 2, 3))], {1: 2})
    assert [entry["noqa_row"] for entry in loaded("json", file)] == [2, 2]


def test_json_marks_preview() -> None:
    preview = Finding(Span(1, 0, 1, 1), "TSC101", "it changes", preview=True)
    entries = loaded("json", placed("x\n", found((1, 0, 1, 1)), preview, found((1, 0, 1, 1), code="TSC117")))
    assert [entry["preview"] for entry in entries] == [False, True, True]


def test_json_of_what_no_rule_has_found() -> None:
    entries = loaded("json", UNREAD, UNPARSED, UNANALYSED)
    assert [(entry["code"], entry["name"]) for entry in entries] == [
        ("E902", "not-read"),
        ("E999", "syntax-error"),
        ("TSC000", "not-analysed"),
    ]


# GitHub.


def test_github() -> None:
    assert shown("github", linted(ALIAS)) == (
        "::warning file=a.py,line=6,col=5,endLine=6,endColumn=39,title=TSC101 alias-then-inplace::a.py:6:5: TSC101 "
        "in-place `+=` on `images` also changes `original`: `original = images` on line 5 is the same tensor, and "
        "`original` is read on line 7%0Aline 5: `original` and `images` share storage from here%0Aline 6: in-place "
        "`+=` changes both%0Aline 7: `original` is read\n"
    )


def test_github_of_what_no_rule_has_found() -> None:
    assert shown("github", UNREAD, UNPARSED, UNANALYSED) == (
        "::error file=gone.py,line=1,title=E902 not-read::gone.py:1:1: E902 FileNotFoundError: no such file\n"
        "::error file=b.py,line=1,col=7,endLine=1,endColumn=8,title=E999 syntax-error::b.py:1:7: E999 SyntaxError: "
        "invalid syntax\n"
        "::warning file=c.py,line=1,title=TSC000 not-analysed::c.py:1:1: TSC000 not analysed: RecursionError: too deep"
        "\n"
    )


def test_github_gets_columns_on_one_line_only() -> None:
    text = shown("github", placed("f(\n)\n", found((1, 0, 2, 1))))
    assert text.startswith("::warning file=a.py,line=1,endLine=2,title=")


def test_github_of_what_costs_is_a_notice() -> None:
    assert shown("github", linted(CHAIN)).startswith("::notice file=a.py,line=5,")


def test_github_escapes() -> None:
    finding = found((1, 0, 1, 1), message="100%: a, b\r\n::error::no")
    text = shown("github", placed("x\n", finding, path="50%, a:b.py"))
    assert text == (
        "::warning file=50%25%2C a%3Ab.py,line=1,col=1,endLine=1,endColumn=2,title=TSC101 alias-then-inplace::"
        "50%25, a:b.py:1:1: TSC101 100%25: a, b%0D%0A::error::no\n"
    )


# GitLab.


def test_gitlab() -> None:
    (issue,) = loaded("gitlab", linted(CHAIN))
    assert issue == {
        "description": "TSC601 `clone()` of `x` records a graph node that `detach()` drops at once, where `x` requires "
        "grad: `detach().clone()` gives the same tensor without it",
        "check_name": "clone-then-detach",
        "fingerprint": fingerprints(linted(CHAIN))[0],
        "severity": "info",
        "location": {
            "path": "a.py",
            "positions": {"begin": {"line": 5, "column": 12}, "end": {"line": 5, "column": 30}},
        },
    }


def test_gitlab_severities() -> None:
    issues = loaded("gitlab", linted(ALIAS), UNREAD, UNPARSED, UNANALYSED)
    assert [issue["severity"] for issue in issues] == ["minor", "major", "major", "minor"]


def test_gitlab_shows_equal_findings_each() -> None:
    file = placed("x\nx\n  x\n", *(found((line, 0, line, 1)) for line in (1, 2, 3)))
    assert len({issue["fingerprint"] for issue in loaded("gitlab", file)}) == 3
    assert shown("gitlab") == "[]\n"


# Reviewdog.


def test_rdjson() -> None:
    report = loaded("rdjson", linted(ALIAS))
    assert (report["source"], report["severity"]) == ({"name": "flake8-tensorcopy"}, "WARNING")
    (diagnostic,) = report["diagnostics"]
    place = {"start": {"line": 6, "column": 5}, "end": {"line": 6, "column": 39}}
    assert diagnostic["location"] == {"path": "a.py", "range": place}
    assert (diagnostic["severity"], diagnostic["code"]) == ("WARNING", {"value": "TSC101"})
    end = {"line": 5, "column": 22}
    assert diagnostic["suggestions"] == [{"range": {"start": end, "end": end}, "text": ".clone()"}]
    assert [step["location"]["range"]["start"]["line"] for step in diagnostic["related_locations"]] == [5, 6, 7]
    assert diagnostic["related_locations"][2]["message"] == "`original` is read"


def test_rdjson_columns_count_bytes_of_utf8() -> None:
    file = placed(ODD, found(ODD_SPAN, (ODD_SPAN, "here"), fix=fix((ODD_SPAN, "y"))))
    (diagnostic,) = loaded("rdjson", file)["diagnostics"]
    expected = {"start": {"line": 1, "column": 13}, "end": {"line": 1, "column": 17}}
    assert ODD.encode()[12:16].decode() == "漢y"
    assert diagnostic["location"]["range"] == expected
    assert diagnostic["suggestions"][0]["range"] == expected
    assert diagnostic["related_locations"][0]["location"]["range"] == expected


def suggested(source: str, *edits: tuple[tuple[int, int, int, int], str]) -> Any:
    (diagnostic,) = loaded("rdjson", placed(source, found((1, 0, 1, 1), fix=fix(*edits))))["diagnostics"]
    return diagnostic.get("suggestions")


def test_rdjson_edits_that_belong_together_are_one_suggestion() -> None:
    (one,) = suggested("y = a + b\n", ((1, 9, 1, 9), ").clone()"), ((1, 4, 1, 4), "("))
    assert one["text"] == "(a + b).clone()"
    assert one["range"] == {"start": {"line": 1, "column": 5}, "end": {"line": 1, "column": 10}}


def test_rdjson_a_suggestion_over_lines() -> None:
    (one,) = suggested("y = f(\n    é,\n    b)\nz\n", ((1, 4, 1, 5), "g"), ((2, 4, 2, 5), "a"), ((4, 0, 4, 1), "w"))
    assert one["text"] == "g(\n    a,\n    b)\nw"
    assert one["range"] == {"start": {"line": 1, "column": 5}, "end": {"line": 4, "column": 2}}


def test_rdjson_edits_that_are_far_apart_are_none() -> None:
    assert suggested("x\n" * 11, ((1, 0, 1, 0), "import copy\n"), ((10, 0, 10, 1), "y")) is not None
    assert suggested("x\n" * 11, ((1, 0, 1, 0), "import copy\n"), ((11, 0, 11, 1), "y")) is None


def test_rdjson_of_what_no_rule_has_found() -> None:
    diagnostics = loaded("rdjson", UNREAD, UNPARSED, UNANALYSED)["diagnostics"]
    assert [found["severity"] for found in diagnostics] == ["ERROR", "ERROR", "WARNING"]
    assert ["range" in found["location"] for found in diagnostics] == [False, True, False]


# Paths.


def test_paths_begin_at_the_root_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "sub dir" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / ".git").touch()  # a file in a further work tree
    monkeypatch.chdir(inner)
    assert root() == tmp_path.resolve()
    assert in_repository("a.py") == "sub dir/deep/a.py"
    assert in_repository(os.path.join("..", "b.py")) == "sub dir/b.py"
    assert in_repository(str(tmp_path / "c.py")) == "c.py"
    file = linted(ALIAS)
    assert loaded("gitlab", file)[0]["location"]["path"] == "sub dir/deep/a.py"
    assert shown("github", file).startswith("::warning file=sub dir/deep/a.py,")
    assert "::a.py:6:5: TSC101 " in shown("github", file)  # in the log as given
    assert loaded("rdjson", file)["diagnostics"][0]["location"]["path"] == "a.py"  # reviewdog runs in the same folder
    assert loaded("json", file)[0]["filename"] == "a.py"


def test_paths_outside_of_the_repository_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "inside"
    (inside / ".git").mkdir(parents=True)
    monkeypatch.chdir(inside)
    outside = (tmp_path / "a b.py").resolve()
    assert in_repository(str(outside)) == outside.as_posix()
    assert uri(in_repository(str(outside))) == outside.as_uri()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").touch()
    (tmp_path / "link").symlink_to("real")
    assert in_repository("link/a.py") == "real/a.py"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a b.py", "a%20b.py"),
        ("50%.py", "50%25.py"),
        ("a#b?.py", "a%23b%3F.py"),
        ("größe/漢.py", "gr%C3%B6%C3%9Fe/%E6%BC%A2.py"),
        ("c:a.py", "c%3Aa.py"),
        ("[x].py", "%5Bx%5D.py"),
    ],
)
def test_uris(path: str, expected: str) -> None:
    assert uri(path) == expected


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_the_uri_of_a_name_that_is_no_text() -> None:
    assert uri(os.fsdecode(b"a\xff.py")) == "a%FF.py"


# Fingerprints.


def prints(source: str, *spans: tuple[int, int, int, int], path: str = "a.py", code: str = "TSC101") -> list[str]:
    return fingerprints(placed(source, *(found(span, code=code) for span in spans), path=path))


def test_a_fingerprint_outlives_changes_elsewhere() -> None:
    before = prints("x = y\n", (1, 0, 1, 1))
    assert prints("import torch\n\nx = y\nz\n", (3, 0, 3, 1)) == before
    assert prints("if z:\n        x  =\ty  \n", (2, 8, 2, 9)) == before
    assert prints("x = y", (1, 4, 1, 5)) == before


def test_a_fingerprint_is_of_code_path_and_line() -> None:
    others = [
        prints("x = y\n", (1, 0, 1, 1), path="b.py"),
        prints("x = y\n", (1, 0, 1, 1), code="TSC102"),
        prints("x = z\n", (1, 0, 1, 1)),
        prints("x = y\n", (2, 0, 2, 1)),
    ]
    assert len({tuple(one) for one in [prints("x = y\n", (1, 0, 1, 1)), *others]}) == 5


def test_equal_findings_are_told_apart_by_their_order() -> None:
    two = prints("x\ny\nx\n", (1, 0, 1, 1), (3, 0, 3, 1))
    assert len(set(two)) == 2
    assert two[0] == prints("x\n", (1, 0, 1, 1))[0]
    assert prints("x\nx\n", (1, 0, 1, 1), (2, 0, 2, 1)) == two


def test_the_same_fingerprint_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    above = prints("x\n", (1, 0, 1, 1), path=os.path.join("sub", "a.py"))
    monkeypatch.chdir(tmp_path / "sub")
    assert prints("x\n", (1, 0, 1, 1)) == above


def test_the_fingerprints_of_all_fixtures_differ() -> None:
    all_of_them = [one for file in every_fixture() for one in fingerprints(file)]
    assert all_of_them and len(set(all_of_them)) == len(all_of_them)
    assert all(len(one) == 64 for one in all_of_them)
