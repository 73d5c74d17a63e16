"""Whether the evidence that is kept still belongs to the rules, their fixtures and the table of operations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.model import Rule
from flake8_tensorcopy.verify.fixtures import Fixture

TABLE = Path(ops.__file__).with_name("ops.tsv")
PROVING = ("cpu", "sim")  # a rule must be confirmed on one of these


def table_digest() -> str:
    """The SHA-256 of the table of operations, its lines ending in line feeds."""
    return hashlib.sha256(TABLE.read_text(encoding="utf-8").encode()).hexdigest()


def stale(
    report: Mapping[str, Any], fixtures: Sequence[Fixture], repairs: Sequence[Fixture], rules: Mapping[str, Rule]
) -> list[str]:
    """Why a report is no evidence of these fixtures, repairs and rules, one reason a line; empty if it is."""
    return list(_reasons(report, fixtures, repairs, rules))


def _reasons(
    report: Mapping[str, Any], fixtures: Sequence[Fixture], repairs: Sequence[Fixture], rules: Mapping[str, Rule]
) -> Iterator[str]:
    if report["tool"]["version"] != version("flake8-tensorcopy"):
        yield f"it is of version {report['tool']['version']}"
    groups: dict[str, Any] = report["rules"] | report["tables"]
    known = {label: digest for group in groups.values() for label, digest in group["fixtures"].items()}
    now = {fixture.label: fixture.digest for fixture in fixtures}
    yield from (f"{label} is new" for label in now if label not in known)
    yield from (f"{label} is no more" for label in known if label not in now)
    yield from (f"{label} has changed" for label in now if known.get(label, now[label]) != now[label])
    known = {label: digest for group in report["rules"].values() for label, digest in group["repaired"].items()}
    now = {fixture.label: fixture.digest for fixture in repairs}
    yield from (f"{label} is repaired otherwise" for label in now | known if known.get(label) != now.get(label))
    yield from (f"{code} is no rule" for code in report["rules"] if code not in rules)
    yield from (f"{code} is missing" for code in rules if code not in report["rules"])
    for name, group in groups.items():
        for claim in group["claims"]:
            if claim["verdict"] in ("refuted", "failed"):
                yield f"{name}: {claim['claim']} is {claim['verdict']} on {claim['device']}"
        for kind in {claim["claim"] for claim in group["claims"]}:
            on = [claim["device"] for claim in group["claims"] if claim["claim"] == kind and _proved(claim)]
            if not set(on) & set(PROVING):
                yield f"{name}: {kind} is confirmed on none of {', '.join(PROVING)}"
    for part in ("ops", "programs"):
        if part not in report:
            yield f"{part} were not verified"
        elif report[part]["disagreements"]:
            yield f"{part} disagree"
    if report.get("ops", {}).get("table") != table_digest():
        yield "the table of operations is another one"


def _proved(claim: Mapping[str, Any]) -> bool:
    return claim["verdict"] == "confirmed" and bool(claim["bad"]["functions"] or claim["claim"] == "table")
