"""Differences of a value with itself, and the ratios made of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts import SelfRatio
from flake8_tensorcopy.engine.linked import detached
from flake8_tensorcopy.engine.values import ALIAS, Value, common_prefix

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run


def note_difference(run: Run, left: Value, right: Value, result: Value) -> None:
    """`a - b`, where b is a."""
    if len(left.refs) == 1 == len(right.refs) and left.obj is right.obj and len(result.refs) == 1:
        run.trail.alike[result.refs[0].obj] = (left.refs[0], right.refs[0])


def exponential(run: Run, node: ast.Call, value: Value) -> None:
    """`exp(a - b)` of one value: 1, whose gradient by a and b cancels out."""
    pair = run.trail.alike.get(value.refs[0].obj) if len(value.refs) == 1 and not detached(value.refs[0]) else None
    if pair is None or run.now.grad is False:
        return
    obj = pair[0].obj
    if obj.graph is False or obj.refuted or any(detached(ref) for ref in pair) or pair[0].place is pair[1].place:
        return
    shared = common_prefix(pair[0].chain, pair[1].chain)
    if any(link.kind != ALIAS for ref in pair for link in ref.chain[shared:]):
        return
    alias, other = sorted(pair, key=lambda ref: len(ref.chain), reverse=True)
    if alias.place is not None and other.place is not None and isinstance(alias.place.node, ast.stmt):
        run.fact(SelfRatio(site=alias.place.node, name=alias.place.name, source=other.place.name, ratio=node))
