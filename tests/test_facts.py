"""Facts are records: given by keyword, complete, and never changed."""

from __future__ import annotations

import ast

import pytest

from flake8_tensorcopy.engine.facts import Fact, changed

SITE = ast.Name("x")


class Seen(Fact):
    """A kind with a field that must be given, and one that need not."""

    name: str
    times: int = 1


class Heard(Seen):
    loud: bool


def test_fields_are_those_of_the_bases_and_its_own() -> None:
    assert (Fact.field_names, Heard.field_names) == (("site",), ("site", "name", "times", "loud"))
    assert repr(Heard(site=SITE, name="a", loud=True)) == f"Heard(site={SITE!r}, name='a', times=1, loud=True)"


@pytest.mark.parametrize("given", [{"site": SITE}, {"name": "a"}, {"site": SITE, "name": "a", "colour": 1}])
def test_what_must_be_given_is_and_nothing_else(given: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"^Seen: missing \[.*\], unknown \[.*\]"):
        Seen(**given)  # type: ignore[arg-type]


def test_a_fact_stays_what_it_is() -> None:
    seen = Seen(site=SITE, name="a")
    with pytest.raises(AttributeError, match=r"Seen\.times cannot be set"):
        seen.times = 2  # type: ignore[misc]
    again = changed(seen, times=2)
    assert (seen.times, again.times, again.name, type(again)) == (1, 2, "a", Seen)
    assert seen != Seen(site=SITE, name="a")
