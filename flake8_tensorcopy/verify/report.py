"""What a verification found: as JSON for machines and for evidence, as a table for people."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from flake8_tensorcopy.engine.model import Rule
from flake8_tensorcopy.verify.fixtures import Fixture, pair
from flake8_tensorcopy.verify.runner import Result, Torch

if TYPE_CHECKING:
    from rich.console import Console

# Claims about a cost: only a function and its pair can be compared.
COSTS = ("graph", "memory", "transfers")
SHOWN = {"cpu": "CPU", "cuda": "CUDA", "sim": "simulated accelerator"}


def build(
    fixtures: Sequence[Fixture],
    repairs: Sequence[Fixture],
    results: Sequence[Result],
    rules: Mapping[str, Rule],
    torch: Torch,
    seed: int,
    devices: Sequence[str],
) -> dict[str, Any]:
    """The report on fixtures as JSON: stable for the same fixtures, torch and seed."""
    return {
        "tool": {"name": "flake8-tensorcopy", "version": version("flake8-tensorcopy")},
        "torch": torch.version,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "seed": seed,
        "devices": {name: _device(name, torch) for name in devices},
        "rules": {
            code: {"name": rules[code].name if code in rules else ""} | _group(mine, repairs, results, torch)
            for code, mine in _groups(fixture for fixture in fixtures if fixture.claim != "table").items()
        },
        "tables": {
            fixture.label: _group([fixture], [], results, torch) for fixture in fixtures if fixture.claim == "table"
        },
    }


def _groups(fixtures: Iterable[Fixture]) -> dict[str, list[Fixture]]:
    groups: dict[str, list[Fixture]] = {}
    for fixture in fixtures:
        groups.setdefault(fixture.rule, []).append(fixture)
    return groups


def _group(
    fixtures: Sequence[Fixture], repairs: Sequence[Fixture], results: Sequence[Result], torch: Torch
) -> dict[str, Any]:
    labels = {fixture.label: fixture.digest for fixture in fixtures}
    repaired = {fixture.label: fixture.digest for fixture in repairs if fixture.label in labels}
    claims = _claims([result for result in results if result.fixture in labels])
    return {
        "fixtures": labels,
        "repaired": repaired,
        "claims": [claim | {"evidence": sentence(claim, torch.version)} for claim in claims],
    }


def _device(name: str, torch: Torch) -> str:
    if reason := torch.devices.get(name):
        return f"not verified on {SHOWN[name]}: {reason}"
    return torch.accelerator if name == "cuda" else SHOWN[name]


def _claims(results: Sequence[Result]) -> Iterable[dict[str, Any]]:
    for claim, device in dict.fromkeys((result.claim, result.device) for result in results):
        mine = [result for result in results if (result.claim, result.device) == (claim, device)]
        verdict = _verdict(mine)
        yield {
            "claim": claim,
            "device": device,
            "verdict": verdict,
            "reason": next((result.text for result in mine if result.verdict == verdict != "confirmed"), ""),
            "bad": _side([result for result in mine if result.bad], mine),
            "good": _side([result for result in mine if not result.bad and not result.fixed], mine),
            "fixed": _side([result for result in mine if result.fixed], mine),
            "functions": [
                {"fixture": result.fixture, "function": result.function, "verdict": result.verdict}
                | ({"repaired": True} if result.fixed else {})
                | ({"figures": result.figures} if result.figures else {})
                | ({"reason": result.text} if result.verdict in ("refuted", "failed") else {})
                for result in mine
                if result.verdict != "skipped"
            ],
        }


def _verdict(results: Sequence[Result]) -> str:
    """The worst there is; skipped only where nothing was measured."""
    verdicts = {result.verdict for result in results}
    return next(verdict for verdict in ("refuted", "failed", "confirmed", "skipped") if verdict in verdicts)


def _side(side: Sequence[Result], all_results: Sequence[Result]) -> dict[str, Any]:
    names = {(result.fixture, result.function) for result in all_results}
    measured = [result for result in side if result.verdict in ("confirmed", "refuted")]
    figures: dict[str, int] = {}
    for result in measured:
        if result.claim not in COSTS or (result.fixture, pair(result.function)) in names:
            for key, value in result.figures.items():
                figures[key] = figures.get(key, 0) + value
    return {"functions": len(measured), "figures": figures}


def claims(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The claims of all rules and tables in the report."""
    groups = [*report["rules"].values(), *report["tables"].values()]
    return [claim for group in groups for claim in group["claims"]]


def refuted(report: Mapping[str, Any]) -> bool:
    """Does anything contradict what the linter believes, or could it not be measured?"""
    wrong = any(claim["verdict"] in ("refuted", "failed") for claim in claims(report))
    return wrong or any(report.get(part, {}).get("disagreements") for part in ("ops", "programs"))


# In words.


def figures(claim: str, side: Mapping[str, Any]) -> str:
    """The figures of one side of a claim: "34 of 36 elements wrong"."""
    found = side["figures"]
    if not found:
        return ""
    match claim:
        case "values" | "gradients":
            return f"{found['wrong']:,} of {found['elements']:,} elements wrong"
        case "raises":
            return f"torch refuses {found['refused']} of {side['functions']}"
        case "storage":
            return f"sharing misjudged in {found['misjudged']} of {side['functions']}"
        case "trains":
            return f"{found['moved']} of {found['tensors']} tensors moved"
        case "graph":
            return f"{counted(found['nodes'], 'node')}, {counted(found['saved'], 'saved tensor')}"
        case "memory":
            return f"{counted(found['peak_bytes'], 'byte')} at the peak"
        case "transfers":
            moved = f"{counted(found['copies'], 'copy')} of {counted(found['bytes'], 'byte')}"
            waits, idle = counted(found["waits"], "wait"), counted(found["idle"], "host tensor")
            staged = f", {counted(found['staged'], 'byte')} staged" if found.get("staged") else ""
            return f"{moved}, {waits}, {idle} only to be read{staged}"
        case _:
            return ""


def counted(count: int, thing: str) -> str:
    """A number of things in words: "1 copy", "2,000 copies"."""
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else plural}"


def sentence(claim: Mapping[str, Any], torch: str) -> str:
    """One line of evidence for a rule's page."""
    head = f"torch {torch}, {SHOWN[claim['device']]}, {claim['claim']}: {claim['verdict']}"
    if claim["verdict"] != "confirmed":
        return f"{head}: {claim['reason']}."
    sides = [
        f"{counted(claim[side]['functions'], 'function')} {words}: {figures(claim['claim'], claim[side])}"
        for side, words in (("bad", "with the bug"), ("good", "without the bug"), ("fixed", "after the fix"))
        if claim[side]["functions"]
    ]
    return f"{head}; {'; '.join(sides)}."


def show(report: Mapping[str, Any], console: Console) -> None:
    """The table, what was refuted in full, and a summary."""
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    colours = {"confirmed": "green", "refuted": "bold red", "failed": "bold red", "skipped": "dim"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("Rule", "Claim", "Device", "Verdict", "With the bug", "Without", "Repaired"):
        table.add_column(heading, overflow="fold", no_wrap=heading in ("Claim", "Device", "Verdict"))
    missing = {name for name, text in report["devices"].items() if text.startswith("not verified")}
    for code, group in (report["rules"] | report["tables"]).items():
        first = f"{code} {group.get('name', '')}".strip()
        for claim in group["claims"]:
            if claim["device"] in missing:
                continue
            verdict = Text(claim["verdict"], colours[claim["verdict"]])
            if claim["verdict"] in ("confirmed", "refuted"):
                cells = [_cell(claim, side) for side in ("bad", "good", "fixed")]
            else:
                cells = [claim["reason"], "", ""]
            table.add_row(first, claim["claim"], claim["device"], verdict, *map(escape, cells))
            first = ""
    if table.row_count:
        console.print(table)
    for claim in claims(report):
        for function in claim["functions"]:
            if function["verdict"] in ("refuted", "failed"):
                repaired = " after the fix" if function.get("repaired") else ""
                place = f"{function['fixture']} {function['function']}{repaired} on {claim['device']}"
                console.print(f"\n[bold red]{function['verdict']}[/] {escape(place)}: {escape(function['reason'])}")
    for name in sorted(missing):
        console.print(f"\n{escape(report['devices'][name])}.")
    console.print(f"\n{summary(report)}")


def _cell(claim: Mapping[str, Any], side: str) -> str:
    part = claim[side]
    if not part["functions"]:
        return ""
    count = counted(part["functions"], "row" if claim["claim"] == "table" else "function")
    text = figures(claim["claim"], part)
    return f"{count}: {text}" if text else count


def summary(report: Mapping[str, Any]) -> str:
    """How many claims came to which verdict, in one line."""
    missing = {name for name, text in report["devices"].items() if text.startswith("not verified")}
    verdicts = [claim["verdict"] for claim in claims(report) if claim["device"] not in missing]
    counts = [f"{verdicts.count(name)} {name}" for name in ("confirmed", "refuted", "failed", "skipped")]
    what = [counted(len(report[kind]), kind[:-1]) for kind in ("rules", "tables") if report[kind]]
    head = f"torch {report['torch']}, seed {report['seed']}: {', '.join(what)}, {counted(len(verdicts), 'claim')}"
    return f"{head}: {', '.join(counts)}."
