"""Facts that hold if an argument is what the function itself cannot know: a caller in the file settles it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from flake8_tensorcopy.engine.facts import Fact
from flake8_tensorcopy.engine.layers import has_parameters
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import Obj, Ref, Value

MAX_PREMISES = 20


class Premise(NamedTuple):
    """A fact that waits for a caller to pass a tensor, bytes, or a module with parameters."""

    argument: int
    needs: str  # tensor bytes parameters
    fact: Fact


def suppose(run: Run, obj: Obj, needs: str, fact: Fact) -> bool:
    """Whether the fact hangs on an argument of this function; it is kept for the callers then."""
    if (
        obj not in run.params
        or obj.kind not in ("unknown", "module")
        or obj.refuted
        or len(run.premises) >= MAX_PREMISES
    ):
        return False
    premise = Premise(run.params.index(obj), needs, fact)
    if len(run.premises) < MAX_PREMISES and all(
        known.fact.site is not fact.site or known.needs != needs for known in run.premises
    ):
        run.premises.append(premise)
    return True


def met(run: Run, done: Run, values: list[Value], keywords: dict[str, tuple[ast.expr, Value]]) -> None:
    """A call of a finished function: which of its premises do these arguments meet?"""
    for premise in done.premises:
        given = keywords.get(done.params[premise.argument].key)
        value = given[1] if given is not None else None
        if value is None and premise.argument < len(values):
            value = values[premise.argument]
        if value is None or len(value.refs) != 1:
            continue
        ref = value.refs[0]
        if _meets(run, ref, premise.needs):
            run.fact(premise.fact)
        elif not ref.chain:
            suppose(run, ref.obj, premise.needs, premise.fact)


def _meets(run: Run, ref: Ref, needs: str) -> bool:
    match needs:
        case "tensor":
            return ref.kind == "tensor"
        case "bytes":
            return ref.obj.kind == "bytes"
    return has_parameters(run, ref.obj)
