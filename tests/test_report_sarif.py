"""SARIF as GitHub's code scanning wants it."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy import explain, registry
from flake8_tensorcopy.engine import Edit, Fix, Rule, Span
from flake8_tensorcopy.report import FileReport, fingerprints, render, sarif
from tests.reports import ALIAS, CHAIN, UNANALYSED, UNPARSED, UNREAD, every_fixture, found, linted, placed, shown


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*files: FileReport) -> Any:
    text = shown("sarif", *files)
    assert text.isascii() and text.endswith("}\n")
    log = json.loads(text)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("/sarif-schema-2.1.0.json")
    (only,) = log["runs"]
    return only


def result(*files: FileReport) -> Any:
    (only,) = run(*files)["results"]
    return only


def region(line: int, column: int, end_line: int, end_column: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def test_a_finding() -> None:
    one = result(linted(ALIAS))
    physical = {
        "artifactLocation": {"uri": "a.py", "uriBaseId": "%SRCROOT%"},
        "region": region(6, 5, 6, 39),
    }
    assert one["ruleId"] == "TSC101" and one["level"] == "warning"
    assert one["locations"] == [{"physicalLocation": physical}]
    assert one["message"]["text"] == (
        "in-place `+=` on `images` also changes `original`: `original = images` on [line 5](1) is the same tensor, "
        "and `original` is read on [line 7](2)"
    )
    assert [(step["id"], step["message"]["text"]) for step in one["relatedLocations"]] == [
        (1, "`original` and `images` share storage from here"),
        (2, "`original` is read"),
    ]
    (thread,) = one["codeFlows"][0]["threadFlows"]
    steps = [step["location"] for step in thread["locations"]]
    assert [step["physicalLocation"]["region"] for step in steps] == [
        region(5, 16, 5, 22),
        region(6, 5, 6, 39),
        region(7, 21, 7, 29),
    ]
    assert steps[1]["message"]["text"] == "in-place `+=` changes both"
    mark = fingerprints(linted(ALIAS))[0]
    assert one["partialFingerprints"] == {"primaryLocationLineHash": mark, "flake8-tensorcopy/v1": mark}
    (change,) = one["fixes"][0]["artifactChanges"]
    assert one["fixes"][0]["description"]["text"] == "Bind a clone (unsafe)"
    assert change["artifactLocation"] == physical["artifactLocation"]
    assert change["replacements"] == [
        {"deletedRegion": region(5, 22, 5, 22), "insertedContent": {"text": ".clone()"}},
    ]


def test_a_finding_without_steps_or_fix_says_nothing_of_them() -> None:
    assert not {"relatedLocations", "codeFlows", "fixes"} & set(result(placed("x\n", found((1, 0, 1, 1)))))


def test_every_rule_is_described_and_found_by_its_index() -> None:
    one = run(*every_fixture())
    rules = one["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(registry.rules())
    assert one["results"] and all(rules[found["ruleIndex"]]["id"] == found["ruleId"] for found in one["results"])
    assert run()["tool"]["driver"]["rules"] == rules
    assert one["tool"]["driver"]["semanticVersion"] == version("flake8-tensorcopy")
    assert one["columnKind"] == "unicodeCodePoints"


def test_a_rule() -> None:
    rules = {rule["id"]: rule for rule in run()["tool"]["driver"]["rules"]}
    alias, chain, preview = rules["TSC101"], rules["TSC601"], rules["TSC117"]
    assert alias["name"] == "alias-then-inplace"
    assert alias["shortDescription"]["text"] == "A write through a second name changes a tensor that was to be kept."
    assert alias["fullDescription"]["text"].startswith("Reports a write in place (b += 1, b[i] = v, b.add_(1), out=b)")
    assert alias["help"]["markdown"] == alias["help"]["text"] == explain.page(registry.rules()["TSC101"])
    assert alias["defaultConfiguration"] == {"level": "warning", "enabled": True}
    assert alias["properties"] == {
        "tags": ["pytorch", "aliasing"],
        "precision": "high",
        "problem.severity": "warning",
    }
    assert chain["defaultConfiguration"]["level"] == "note"
    assert chain["properties"]["problem.severity"] == "recommendation"
    assert preview["defaultConfiguration"]["enabled"] is False
    assert preview["properties"]["precision"] == "medium" and "preview" in preview["properties"]["tags"]


def test_what_no_rule_has_found_has_a_description_too() -> None:
    one = run(UNREAD, UNPARSED, UNANALYSED)
    rules = one["tool"]["driver"]["rules"]
    described = [rules[found["ruleIndex"]] for found in one["results"]]
    assert [(rule["id"], rule["name"]) for rule in described] == [
        ("E902", "not-read"),
        ("E999", "syntax-error"),
        ("TSC000", "not-analysed"),
    ]
    assert described[1]["help"]["text"] == described[1]["fullDescription"]["text"] == "A file that Python cannot parse."
    assert [found["level"] for found in one["results"]] == ["error", "error", "warning"]
    assert one["results"][0]["locations"][0]["physicalLocation"]["region"] == region(1, 1, 1, 1)


def test_a_long_description_is_cut_between_words() -> None:
    rule = Rule("TSC999", "long", "s" * 2000, (), lambda facts, region: [])
    text = render("sarif", [], {"TSC999": rule}, lambda rule: f"# T\n\n## What it does\n\n{'words `in` it ' * 200}\n")
    (described,) = json.loads(text)["runs"][0]["tool"]["driver"]["rules"]
    full = described["fullDescription"]["text"]
    assert full.startswith("words in it words") and full.endswith(("words...", "in...", "it...")) and len(full) <= 1024
    assert len(described["shortDescription"]["text"]) <= 1024
    assert len(described["help"]["text"]) > 2000


# Messages.


def test_a_step_whose_line_the_message_does_not_name_is_linked_at_its_end() -> None:
    steps = (((1, 0, 1, 1), "one"), ((2, 0, 2, 1), "two"), ((3, 0, 3, 1), "three"), ((3, 2, 3, 3), "four"))
    one = result(placed("a\nb\nc d\n", found((1, 0, 1, 1), *steps, message="it changes on line 2, not on line 30")))
    assert one["message"]["text"] == "it changes on [line 2](1), not on line 30; see [line 3](2)"
    assert [step["id"] for step in one["relatedLocations"]] == [1, 2, 3]


def test_what_looks_like_a_link_or_a_placeholder_is_none() -> None:
    def said(message: str, *steps: tuple[tuple[int, int, int, int], str]) -> Any:
        return result(placed("a\nb\n", found((1, 0, 1, 1), *steps, message=message)))

    assert said("`x[0]` is kept")["message"]["text"] == "`x[0]` is kept"
    assert said("`fs[0](1)` is kept")["message"]["text"] == r"`fs\[0\](1)` is kept"
    linked = said("`x[0]` of line 2", ((2, 0, 2, 1), "`fs[0](1)` and `y[0]` and '{0}'"))
    assert linked["message"]["text"] == r"`x\[0\]` of [line 2](1)"
    assert linked["relatedLocations"][0]["message"]["text"] == r"`fs\[0\](1)` and `y\[0\]` and '{{0}}'"


# Places.


def test_the_region_of_a_finding_over_lines_is_its_first_line() -> None:
    physical = result(placed("y = f(  \n    x,\n)\n", found((1, 4, 3, 1))))["locations"][0]["physicalLocation"]
    assert physical["region"] == region(1, 5, 1, 7)
    assert physical["contextRegion"] == region(1, 5, 3, 2)


def test_columns_count_code_points() -> None:
    file = placed("s='😀é'; 漢y\n", found((1, 8, 1, 10), ((1, 0, 1, 5), "s")))
    one = result(file)
    assert one["locations"][0]["physicalLocation"]["region"] == region(1, 9, 1, 11)
    assert one["relatedLocations"][0]["physicalLocation"]["region"] == region(1, 1, 1, 6)


def test_addresses_are_relative_to_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repo #1" / ".git").mkdir(parents=True)
    (tmp_path / "repo #1" / "a b").mkdir()
    monkeypatch.chdir(tmp_path / "repo #1" / "a b")
    one = run(linted(ALIAS, "50%é.py"), linted(CHAIN, str(tmp_path / "else where.py")))
    assert one["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"{tmp_path.resolve().as_uri()}/repo%20%231/"}}
    inside, outside = (found["locations"][0]["physicalLocation"]["artifactLocation"] for found in one["results"])
    assert inside == {"uri": "a%20b/50%25%C3%A9.py", "uriBaseId": "%SRCROOT%"}
    assert outside == {"uri": f"{tmp_path.resolve().as_uri()}/else%20where.py"}


def test_a_safe_fix_says_so() -> None:
    fix = Fix("Do it", (Edit(Span(1, 0, 1, 1), "y"), Edit(Span(2, 0, 2, 1), "")), True)
    (one,) = result(placed("x\nx\n", found((1, 0, 1, 1), fix=fix)))["fixes"]
    assert one["description"]["text"] == "Do it (safe)"
    assert [edit["insertedContent"]["text"] for edit in one["artifactChanges"][0]["replacements"]] == ["y", ""]


def test_more_findings_than_a_run_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sarif.RESULTS == 25_000
    monkeypatch.setattr(sarif, "RESULTS", 2)
    file = placed("x\n" * 3, *(found((line, 0, line, 1)) for line in (1, 2, 3)))
    one = run(file)
    assert len(one["results"]) == 2
    (notice,) = one["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"]["text"] == "1 of 3 findings are left out: a run holds 2."
    assert run(FileReport(file.path, file.lines, file.findings[:2]))["invocations"] == [{"executionSuccessful": True}]
