"""Every repair is run: a repaired function measures like the one without the bug."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from flake8_tensorcopy import registry
from flake8_tensorcopy.fixes import Repaired
from flake8_tensorcopy.verify.devices import DEVICES
from flake8_tensorcopy.verify.fixtures import Fixture, load, load_all
from flake8_tensorcopy.verify.probes import measure
from flake8_tensorcopy.verify.proofs import repaired

FIXTURES = load_all(registry.shipped("fixtures"))
each_fixture = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.label)

made = cache(repaired)


def fixed(fixture: Fixture) -> tuple[Fixture, Repaired]:
    return made(fixture)


@each_fixture
def test_no_repair_is_taken_back(fixture: Fixture) -> None:
    assert [(finding.span.line, reason) for finding, reason in fixed(fixture)[1].refused] == []


@each_fixture
def test_a_second_repair_changes_nothing(fixture: Fixture) -> None:
    after, _ = fixed(fixture)
    again, second = repaired(after)
    assert (second.fixed, again.source) == ((), after.source)


@each_fixture
def test_what_is_right_stays_as_it_is(fixture: Fixture) -> None:
    """Helpers apart, which a function with the bug may share with one without."""
    after, _ = fixed(fixture)
    for name in fixture.good:
        start = f"\ndef {name}("
        before_text = re.split(r"\n(?=def |class |@)", fixture.source.split(start, 1)[1], maxsplit=1)[0]
        assert start + before_text in after.source


@pytest.mark.torch
@each_fixture
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_what_was_repaired_measures_like_what_is_right(fixture: Fixture, device: str) -> None:
    pytest.importorskip("torch")
    after, _ = fixed(fixture)
    if not after.fixed:
        return
    if device != "cpu" and (fixture.host_only or fixture.claim == "storage"):
        return
    if device == "cpu" and (fixture.device_only or fixture.sim_only or fixture.claim == "transfers"):
        return
    outcomes = [measure(after, name, DEVICES[device]()) for name in after.fixed]
    assert [outcome.measured for outcome in outcomes if not outcome.confirmed] == []


# The proof itself: a wrong repair is found out.

PAIRS = {
    "values": """
        def good_a():
            kept = torch.zeros(2)
            return kept.clone(), torch.zeros(2)

        def bad_a():
            kept = torch.zeros(2)
            {}
            return kept, torch.zeros(2)
        """,
    "memory": """
        def good_a():
            return float(torch.zeros(1000).sum())

        def bad_a():
            rows = torch.zeros(1000)
            {}
            return float(rows.sum())
        """,
    "graph": """
        def good_a():
            return (torch.ones(2, requires_grad=True) * 2).detach()

        def bad_a():
            scores = torch.ones(2, requires_grad=True) * 2
            {}
            return scores.detach()
        """,
    "transfers": """
        def good_a():
            return torch.zeros(3).cpu().tolist()

        def bad_a():
            rows = torch.zeros(3)
            {}
            return rows.cpu().tolist()
        """,
}
WRONG = {"values": "kept[0] = 1", "memory": "rows = rows + rows", "graph": "scores = scores.clone()",
         "transfers": "rows.sum().item()"}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("claim", PAIRS)
def test_a_repair_that_falls_short_is_refuted(claim: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    verdicts = []
    for line in ("pass", WRONG[claim]):
        text = textwrap.dedent(PAIRS[claim]).format(line)
        path = tmp_path / "pair.py"
        path.write_text(f"CLAIM = {claim!r}\nimport torch\n{text}")
        fixture = load(path)
        fixture = replace(fixture, bad=(), fixed=fixture.bad)
        assert fixture.functions == ("bad_a",)
        verdicts.append(measure(fixture, "bad_a", DEVICES["sim" if claim == "transfers" else "cpu"]()).confirmed)
    assert verdicts == [True, False]


def test_only_what_was_repaired_is_measured(tmp_path: Path) -> None:
    text = """
        \"\"\"Nothing of it is shown.\"\"\"
        import torch

        CLAIM = "graph"

        def keep(x: torch.Tensor):
            return x.clone().detach()

        def bad_by_a_helper():
            return keep(torch.ones(2, requires_grad=True))

        def bad_and_silent():
            return torch.ones(2, requires_grad=True)
        """
    folder = tmp_path / "TSC601"
    folder.mkdir()
    (folder / "some.py").write_text(textwrap.dedent(text))
    after, _ = repaired(load(folder / "some.py"))
    assert after.fixed == ("bad_by_a_helper",)
    assert "return x.detach().clone()" in after.source


@pytest.mark.parametrize("code", [code for code, rule in registry.rules().items() if rule.fix != "none"])
def test_every_rule_with_a_repair_repairs_one_of_its_fixtures(code: str) -> None:
    mine = [fixture for fixture in FIXTURES if fixture.rule == code]
    assert [name for fixture in mine for name in fixed(fixture)[0].fixed]


@pytest.mark.parametrize("code", registry.rules())
def test_a_repair_is_no_safer_than_its_rule_says(code: str) -> None:
    mine = [fixture for fixture in FIXTURES if fixture.rule == code]
    fixes = [finding.fix for fixture in mine for finding in fixed(fixture)[1].fixed]
    match registry.rules()[code].fix:
        case "none":
            assert fixes == []
        case "unsafe":
            assert not any(fix.safe for fix in fixes if fix)
