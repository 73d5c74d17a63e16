"""Screens: what can be told of a function without running it.

Most functions hold what a kind of fact needs (a write, a binding that may share) and not the thing itself.  A screen
looks at the nodes that the survey has found in the function and says whether a fact of its kind is possible there.  It
may let a function pass for nothing, which costs a run; it must never hold back one whose run would give the fact.
"""

from __future__ import annotations

from collections.abc import Callable

from flake8_tensorcopy.engine.screens import writes
from flake8_tensorcopy.engine.screens.sketch import Sketch

# By the kind of fact; a kind without a screen is possible wherever its features are.
SCREENS: dict[str, Callable[[Sketch], bool]] = {
    "StaleRead": writes.shared_write,
    "JoinedWrite": writes.joined_write,
    "AccumulatedItem": writes.accumulated_item,
    "HandedOut": writes.handed_out,
    "SharedWrite": writes.owned_write,
    "SharedDefault": writes.default_write,
    "OverlappingWrite": writes.overlapping_write,
    "MutatedArgument": writes.written_by_callee,
    "LostWrite": writes.lost_write,
    "SelfCopy": writes.self_copy,
    "AliasedOut": writes.aliased_out,
    "LeafWrite": writes.leaf_write,
    "SavedWrite": writes.saved_write,
    "BypassedWrite": writes.bypassed_write,
    "ForbiddenWrite": writes.part_write,
    "ReadOnlyWrite": writes.read_only_write,
    "GradientWrite": writes.gradient,
    "StaleGradient": writes.gradient,
}
