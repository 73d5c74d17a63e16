"""The formats of other tools, held against what those demand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from flake8_tensorcopy import explain, registry
from flake8_tensorcopy.engine import Edit, Fix, Span
from flake8_tensorcopy.report import FileReport, render
from tests.reports import ALIAS, CHAIN, UNANALYSED, UNPARSED, UNREAD, every_fixture, found, linted, placed, shown

SCHEMAS = Path(__file__).parent / "data" / "schemas"
FORMATS = sorted(path.stem for path in SCHEMAS.glob("*.json"))
FIX = Fix("Do it", (Edit(Span(1, 0, 1, 0), "("), Edit(Span(2, 0, 2, 1), ")\n")), False)
ODD = [
    UNREAD,
    UNPARSED,
    UNANALYSED,
    linted(ALIAS, "../über #1/50% [a].py"),
    linted(CHAIN, "a\n\x1b:b,c.py"),
    placed("", found((1, 0, 1, 0), ((1, 0, 1, 0), "step")), path="empty.py"),
    placed("x\n\n", found((2, 0, 2, 0)), found((3, 0, 3, 0)), found((1, 0, 9, 9), fix=FIX), path="ends.py"),
    placed("s = '😀\t漢'\n" * 2, found((1, 4, 2, 9)), found((1, 4, 2, 9)), path="./wide.py"),
    placed("x\n", found((1, 0, 1, 1), code="TSC999", message="of no rule"), path="unknown.py"),
]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@cache
def validator(format: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{format}.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def errors(format: str, document: Any) -> Iterator[str]:
    """What the document has wrong, as far as it is asked for."""
    return (f"{error.json_path}: {error.message}" for error in validator(format).iter_errors(document))


def test_the_formats() -> None:
    assert FORMATS == ["gitlab", "rdjson", "sarif"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("files", [lambda: [], every_fixture, lambda: ODD], ids=["none", "fixtures", "odd"])
def test_reports_are_valid(format: str, files: Callable[[], Iterable[FileReport]]) -> None:
    assert list(errors(format, json.loads(shown(format, *files())))) == []


@pytest.mark.parametrize("format", FORMATS)
def test_the_schemas_refuse_what_is_wrong(format: str) -> None:
    """Each property of a report that is taken away or of another type is missed, but for those that may be left out."""
    text = render(format, [linted(ALIAS)], {"TSC101": registry.rules()["TSC101"]}, explain.page)  # one rule is enough
    document = json.loads(text)
    optional = {"range", "suggestions", "related_locations", "relatedLocations", "codeFlows", "fixes", "uriBaseId"}
    checked = 0
    for holder, key in parts(document):
        kept = holder[key]
        holder[key] = {"of": "no use"}
        assert any(errors(format, document)), key
        del holder[key]
        assert any(errors(format, document)) or key in optional, key
        holder[key] = kept
        checked += 1
    assert checked > 8 and not any(errors(format, document))


def parts(document: Any) -> list[tuple[dict[str, Any], str]]:
    """The properties of objects in a document, of lists only of their first item."""
    if isinstance(document, list):
        return parts(document[0]) if document else []
    if not isinstance(document, dict):
        return []
    return [(document, key) for key in document] + [part for value in document.values() for part in parts(value)]
