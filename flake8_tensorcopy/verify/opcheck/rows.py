"""One row: its calls, what they did, and what that says against it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.opcheck import byhand, calls, databases, generated, observe, probes
from flake8_tensorcopy.verify.opcheck.calls import Call
from flake8_tensorcopy.verify.opcheck.claims import Verdict, judge
from flake8_tensorcopy.verify.opcheck.guard import Guard
from flake8_tensorcopy.verify.opcheck.seen import Seen

LAID: Final = {"reversed": 6, "stepped": 6, "negative": 1, "mixed": 3, "wild": 2}
"""Calls of one row that are made once more with the arguments laid out otherwise."""

GRAPHS: Final = {"float32": 8, "float64": 2, "complex64": 3}
"""Calls of one row whose graph is looked at, by the dtype of the first tensor."""

PLAIN: Final = 4
"""Calls without options whose graph is looked at beyond those."""

PROBES: Final = 4
"""Calls of one row that are tried with `out=` and `inplace=True`."""

TIRED: Final = 2
"""Calls that ended a process after which the search is left out: then it is nonsense that does so."""

REFUSALS: Final = {
    r"removed": "removed from torch: it raises whatever it is given",
    r"not compiled with|not linked with|accelerator": "needs a device that this build or machine has not",
    r"Could not run '.*' with arguments from the '(Sparse)?CPU' backend": "torch has no kernel of it for the CPU",
}
"""What torch says, and what it means."""

FEW: Final = 8
"""Calls wanted from the search; and from what modules call, where the databases have fewer than this."""


@dataclass(slots=True)
class Row:
    """What became of one row: `verdict` is None where no call was accepted, and `refused` says why."""

    calls: int = 0
    verdict: Verdict | None = None
    refused: str = ""


def run(op: Op, invoke: Guard, seed: int) -> Row:
    """Calls the op of a row in every way that is known and judges the row."""
    if calls.resolve(op) is None:
        return Row(refused="torch has no such name")
    seen: list[Seen] = []
    by_search: list[Seen] = []
    for call in _calls(op, seed, seen, search=len(invoke.skipped) < TIRED):
        found = observe.observe(op, call, invoke)
        if found is None:
            continue
        mine = [_probed(op, call, invoke, found, seen)]
        for layout, most in LAID.items():
            if sum(s.layout == layout for s in seen) < most and (layout != "wild" or op.writes):
                laid = observe.observe(op, call, invoke, layout)
                mine += [] if laid is None else [laid]
        seen += mine
        if call.searched and not call.written and not found.usual:
            by_search += mine
    if any(s.usual for s in seen):
        seen = [s for s in seen if all(s is not other for other in by_search)]
    return Row(len(seen), judge(op, seen)) if seen else Row(refused=_why(invoke.errors))


def _calls(op: Op, seed: int, seen: list[Seen], *, search: bool) -> Iterator[Call]:
    """The calls to try, by source: all of the databases, then until some more have worked."""
    yield from byhand.written(op)
    yield from databases.module_samples(op, seed) if op.form == "module" else databases.sampled(op, seed)
    if len(seen) < FEW:
        yield from databases.watched(op, seed)
    enough = sum(not s.layout for s in seen) + FEW
    for call in generated.generated(op, seed) if search else ():
        # The table speaks of strided tensors; of other layouts only where an op takes nothing else.
        if not any(s.usual for s in seen) or observe.usual(call):
            yield call
        if sum(not s.layout for s in seen) >= enough:
            break


def _probed(op: Op, call: Call, invoke: Guard, found: Seen, before: list[Seen]) -> Seen:
    """`found` with what further calls with the same arguments show."""
    graphs = [s for s in before if s.graph is not None]
    like = sum(s.given_dtype == found.given_dtype for s in graphs)
    wanted = like < GRAPHS.get(found.given_dtype, 1) or (found.plain and sum(s.plain for s in graphs) < PLAIN)
    wanted = wanted or call.searched
    # torch short-cuts what has no elements.
    if wanted and found.kind == "tensor" and found.solid == found.given:
        found = replace(found, graph=probes.graph(op, call, invoke))
    if op.form == "function" and found.kind == "tensor" and sum(s.out is not None for s in before) < PROBES:
        found = replace(found, out=probes.with_out(op, call, invoke))
    if op.form in ("function", "module") and sum(s.inplace is not None for s in before) < PROBES:
        flagged = probes.with_inplace(op, call, invoke)
        if flagged in ("wrote", "kept") and op.inplace_position >= 0:
            placed = probes.with_inplace(op, call, invoke, op.inplace_position)
            flagged = flagged if placed in (None, flagged) else f"at position {op.inplace_position} {placed}"
        found = replace(found, inplace=flagged)
    if found.kind == "host":
        found = replace(found, values_matter=probes.values_matter(op, call, invoke))
    if found.kind == "tensor" and not found.given and "dtype" not in call.kwargs and op.form == "function":
        found = replace(found, default_dtype=probes.default_dtype(call, invoke))
    return found


def _why(errors: list[str]) -> str:
    """Why no call was accepted, from what torch said."""
    for said, reason in REFUSALS.items():
        if any(re.search(said, error) for error in errors):
            return reason
    return "no arguments were found that it takes"
