"""Screens: what can be told of a function without running it.

Most functions hold what a kind of fact needs (a write, a binding that may share) and not the thing itself.  A screen
looks at the nodes that the survey has found in the function and says whether a fact of its kind is possible there.  It
may let a function pass for nothing, which costs a run; it must never hold back one whose run would give the fact.
"""

from __future__ import annotations

from collections.abc import Callable

from flake8_tensorcopy.engine.screens import bindings, layout, repeats, storages, training
from flake8_tensorcopy.engine.screens.sketch import Sketch

# By the kind of fact; a kind without a screen is possible wherever its features are.
SCREENS: dict[str, Callable[[Sketch], bool]] = {
    "ByteStrides": layout.byte_strides,
    "ClashingExpand": layout.clashing_expand,
    "DeadRebinding": bindings.dead_rebinding,
    "DroppedResult": bindings.dropped_result,
    "ExpandedBytes": layout.expanded_bytes,
    "ExpandedParameter": layout.expanded_parameter,
    "KeptStorage": storages.kept_storage,
    "LeafRebound": bindings.leaf_rebound,
    "MixedRepeats": layout.mixed_repeats,
    "ModuleAlias": training.module_alias,
    "NegativeStrides": layout.negative_strides,
    "ReboundData": bindings.rebound_data,
    "RepeatedReference": repeats.repeated_reference,
    "ScrambledAxes": layout.scrambled_axes,
    "SharedOptimizerState": training.shared_state,
    "StaleSnapshot": training.stale_snapshot,
    "TurnedView": layout.turned_view,
    "UnlinkedArray": storages.unlinked_array,
}
