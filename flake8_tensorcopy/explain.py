"""A rule's page: its docstring, and the evidence that a verification left for it."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from flake8_tensorcopy.engine.model import Rule

EVIDENCE = Path(__file__).with_name("evidence.json")


@cache
def evidence() -> dict[str, Any]:
    """The JSON report of the full verification that belongs to this release.

    Raises OSError or ValueError where it cannot be read.
    """
    report: dict[str, Any] = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    return report


def page(rule: Rule) -> str:
    """The rule's page in Markdown: a title, the sections of its docstring, and a section Evidence."""
    module = sys.modules[rule.check.__module__]  # read as text, since `python -OO` drops docstrings
    text = ast.get_docstring(ast.parse(inspect.getsource(module))) or ""
    lines = "\n".join(f"- {line}" for line in lines_of_evidence(rule.code))
    return f"# {rule.name} ({rule.code})\n\n{text}\n\n## Evidence\n\n{lines}\n"


def lines_of_evidence(code: str) -> list[str]:
    """What running the rule's fixtures in torch showed: one line for each claim and device, then what was not run."""
    try:
        report = evidence()
        claims, devices = report["rules"].get(code, {}).get("claims", []), report["devices"].values()
    except (OSError, ValueError):
        return ["None: the evidence of this release cannot be read."]
    lines = [claim["evidence"] for claim in claims if claim["verdict"] != "skipped"]
    missing = [f"{text[0].upper()}{text[1:]}." for text in devices if text.startswith("not verified")]
    return [*lines, *missing] if lines else ["None: the rule's claims were not verified for this release."]
