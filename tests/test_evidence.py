"""The evidence that is kept belongs to the rules, fixtures and table as they are; the pages show it."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from typing import Any

import pytest

from flake8_tensorcopy import cli, explain
from flake8_tensorcopy.engine.model import Rule
from flake8_tensorcopy.registry import rules, shipped
from flake8_tensorcopy.verify.evidence import stale
from flake8_tensorcopy.verify.fixtures import load_all
from flake8_tensorcopy.verify.proofs import repairs

FIXTURES = load_all(shipped("fixtures"), "*")
REPAIRS = repairs(FIXTURES)
EVERY_RULE = pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.code)


def test_the_evidence_is_not_stale() -> None:
    assert stale(explain.evidence(), FIXTURES, REPAIRS, rules()) == [], "CONTRIBUTING.md says how to renew it"


# Each change, and what must be said of the evidence after it.
CHANGES: dict[str, Callable[[Any], object]] = {
    "TSC101/batches has changed": lambda report: report["rules"]["TSC101"]["fixtures"].update({"TSC101/batches": "0"}),
    "TSC101/batches is new": lambda report: report["rules"]["TSC101"]["fixtures"].pop("TSC101/batches"),
    "TSC101/gone is no more": lambda report: report["rules"]["TSC101"]["fixtures"].update({"TSC101/gone": "0"}),
    "TSC101/batches is repaired otherwise": lambda report: report["rules"]["TSC101"]["repaired"].pop("TSC101/batches"),
    "tables/copies is new": lambda report: report["tables"].pop("tables/copies"),
    "TSC199 is no rule": lambda report: report["rules"].update(
        {"TSC199": {"fixtures": {}, "repaired": {}, "claims": []}}
    ),
    "TSC601 is missing": lambda report: report["rules"].pop("TSC601"),
    "TSC101: values is refuted on cpu": lambda report: report["rules"]["TSC101"]["claims"][0].update(verdict="refuted"),
    "TSC501: transfers is confirmed on none of cpu, sim": lambda report: [
        claim.update(verdict="skipped") for claim in report["rules"]["TSC501"]["claims"]
    ],
    "it is of version 0.0.1": lambda report: report["tool"].update(version="0.0.1"),
    "ops were not verified": lambda report: report.pop("ops"),
    "ops disagree": lambda report: report["ops"].update(disagreements=["one"]),
    "programs disagree": lambda report: report["programs"].update(disagreements=["one"]),
    "the table of operations is another one": lambda report: report["ops"].update(table="0"),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_every_kind_of_staleness_is_seen(reason: str) -> None:
    report = copy.deepcopy(explain.evidence())
    CHANGES[reason](report)
    assert reason in stale(report, FIXTURES, REPAIRS, rules())


@EVERY_RULE
def test_a_rules_page_ends_with_its_evidence(rule: Rule, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", rule.code]) == 0
    page = capsys.readouterr().out
    text, _, evidence = page.partition("\n## Evidence\n\n")
    assert (
        text
        == f"# {rule.name} ({rule.code})\n\n"
        + inspect.cleandoc(sys.modules[rule.check.__module__].__doc__ or "")
        + "\n"
    )
    claims = explain.evidence()["rules"][rule.code]["claims"]
    shown = [f"- {claim['evidence']}" for claim in claims if claim["verdict"] == "confirmed"]
    missing = [text for text in explain.evidence()["devices"].values() if text.startswith("not verified on CUDA: ")]
    assert shown
    assert evidence.splitlines() == [*shown, *(f"- N{text[1:]}." for text in missing)]


def test_a_rule_is_explained_by_its_name_too(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["explain", "tsc101"])
    by_code = capsys.readouterr().out
    cli.main(["explain", "alias-then-inplace"])
    assert capsys.readouterr().out == by_code


@pytest.mark.parametrize(("name", "hint"), [("TSC1O1", "; did you mean 'TSC101'?"), ("TSC999", ""), ("nothing", "")])
def test_an_unknown_rule_is_refused(name: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", name]) == 2
    out, err = capsys.readouterr()
    assert (out, err.splitlines()) == ("", [err.rstrip("\n")])
    assert err.startswith(f"tensorcopy explain: {name!r} is no rule{hint}")
