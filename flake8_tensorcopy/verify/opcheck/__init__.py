"""The op table held against execution: every row is called, and every claim of it is compared with what happened.

    report = opcheck.check()

Independent of how the table was made: the arguments come from torch's own test databases (`op_db`, `module_db`) and
from a search of its own, and what happens is observed by code of its own.  `claims` says what can be refuted, and how.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.ops import Op

__all__ = ["Disagreement", "OpsReport", "check"]


@dataclass(frozen=True, slots=True, order=True)
class Disagreement:
    """A claim of a row that a call refuted, or (with "every call" in `observed`) that all of them did."""

    row: str
    claim: str
    observed: str
    call: str


@dataclass(frozen=True, slots=True)
class OpsReport:
    """What execution says of the table.  Every tuple is sorted."""

    torch: str
    """The version of torch that ran."""

    rows: int
    run: int
    """Rows of which some call was accepted."""

    calls: int
    agreeing: int
    """Rows that were run and that no call refuted."""

    disagreements: tuple[Disagreement, ...]
    not_run: tuple[tuple[str, str], ...]
    """Rows of which no call was accepted, and why."""

    unwitnessed: tuple[tuple[str, str], ...] = ()
    """Claims of rows that were run which need a call that no call was ("maybe": one that shares and one that copies):
    not refuted and not confirmed."""

    crashes: tuple[tuple[str, str, str], ...] = ()
    """Row, call and how: calls that ended their process or hung.  The other calls of these rows count."""

    def as_json(self) -> dict[str, Any]:
        """The report as plain data: the same for the same table, torch and seed."""
        return {
            "torch": self.torch,
            "rows": self.rows,
            "run": self.run,
            "calls": self.calls,
            "agreeing": self.agreeing,
            "disagreements": [
                {"row": d.row, "claim": d.claim, "observed": d.observed, "call": d.call} for d in self.disagreements
            ],
            "not_run": [{"row": row, "reason": reason} for row, reason in self.not_run],
            "unwitnessed": [{"row": row, "claim": claim} for row, claim in self.unwitnessed],
            "crashes": [{"row": row, "call": call, "how": how} for row, call, how in self.crashes],
        }

    def lines(self) -> list[str]:
        """The report as text."""
        share = f"{100 * self.run / self.rows:.1f} %" if self.rows else "none"
        text = [f"{self.run:,} of {self.rows:,} rows run ({share}) in {self.calls:,} calls; {self.agreeing:,} agree"]
        for d in self.disagreements:
            text.append(f"refuted: {d.row}: {d.claim}: {d.observed}: {d.call}")
        for heading, pairs in (("not run", self.not_run), ("not witnessed", self.unwitnessed)):
            grouped: dict[str, list[str]] = {}
            for row, reason in pairs:
                grouped.setdefault(reason, []).append(row)
            for reason, names in sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0])):
                text.append(f"{heading} ({len(names)}): {reason}: {', '.join(names)}")
        text.extend(f"{how}: {call}" for _, call, how in self.crashes)
        return text


def check(
    names: Collection[str] | None = None,
    *,
    jobs: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    table: Mapping[str, Op] | None = None,
) -> OpsReport:
    """Holds the rows of these names (all by default) of a table (the shipped one by default) against execution.

    `jobs` processes work, as many as there are processors for 0.  `progress` is called with the rows done and their
    number.  Raises KeyError for a name without a row, and RuntimeError where processes cannot be forked.
    """
    if not hasattr(os, "fork"):
        raise RuntimeError("the op table can be held against execution only where processes can be forked")
    rows = [_row(name, table) for name in sorted(set(_names(table) if names is None else names))]
    # Imported before the fork, so that workers have it in common.
    import torch

    from flake8_tensorcopy.verify.opcheck import children

    finished = 0

    def done() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, len(rows))

    found = sorted(children.answers(rows, jobs or os.cpu_count() or 1, seed, done), key=lambda answer: answer.name)
    ran = [answer for answer in found if answer.calls]
    return OpsReport(
        torch=torch.__version__.partition("+")[0],
        rows=len(rows),
        run=len(ran),
        calls=sum(answer.calls for answer in ran),
        agreeing=sum(not answer.against for answer in ran),
        disagreements=tuple(sorted(Disagreement(a.name, *against) for a in ran for against in a.against)),
        not_run=tuple((answer.name, answer.refused) for answer in found if not answer.calls),
        unwitnessed=tuple(sorted((answer.name, claim) for answer in ran for claim in answer.unwitnessed)),
        crashes=tuple(sorted((answer.name, *crash) for answer in found for crash in answer.crashes)),
    )


def _names(table: Mapping[str, Op] | None) -> Collection[str]:
    return ops.names() if table is None else table.keys()


def _row(name: str, table: Mapping[str, Op] | None) -> Op:
    if table is not None:
        return table[name]
    op = ops.method(name.removeprefix("Tensor.")) if name.startswith("Tensor.") else ops.function(name)
    if op is None:
        raise KeyError(f"the op table has no row {name!r}")
    return op
