"""Screens: what can be told of a function without running it.

Most functions hold what a kind of fact needs (a write, a binding that may share) and not the thing itself.  A screen
looks at the nodes that the survey has found in the function and says whether a fact of its kind is possible there.  It
may let a function pass for nothing, which costs a run; it must never hold back one whose run would give the fact.
"""

from __future__ import annotations

from collections.abc import Callable

from flake8_tensorcopy.engine.screens import broadcasts, constructors, costs, devices, leaves, losses, transfers, writes
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
    "RedundantCast": costs.redundant_cast,
    "CloneDetach": costs.clone_detach,
    "MovedThenDetached": costs.moved_then_detached,
    "RedundantClone": costs.redundant_clone,
    "TensorOfTensor": constructors.tensor_of_tensor,
    "FreshArrayCopied": constructors.fresh_array_copied,
    "GraphRetained": losses.graph_retained,
    "RecurrentState": losses.recurrent_state,
    "GraphCut": losses.graph_cut,
    "UntrainedPart": losses.untrained_part,
    "SteppedBefore": losses.stepped_before,
    "GradientNotCleared": losses.gradient_not_cleared,
    "ReplacedParameter": losses.replaced_parameter,
    "MovedLeaf": losses.moved_leaf,
    "MovedParameter": losses.moved_parameter,
    "WidenedMove": transfers.widened_move,
    "RoundTrip": transfers.round_trip,
    "HostScalar": transfers.host_scalar,
    "DatasetMove": transfers.dataset_move,
    "UnwaitedRead": transfers.unwaited_read,
    "OverwrittenSource": transfers.overwritten_source,
    "CreatedThenMoved": devices.created_then_moved,
    "PinnedMove": devices.pinned_move,
    "InvariantTransfer": devices.invariant_transfer,
    "StepSync": devices.step_sync,
    "LegacyDevice": devices.legacy_device,
    "RedundantRepeat": broadcasts.redundant_repeat,
    "MaterialisedExpand": broadcasts.materialised_expand,
    "GrownInLoop": broadcasts.grown_in_loop,
    "MarkedNonLeaf": leaves.marked_non_leaf,
    "GradToArray": leaves.grad_to_array,
    "SelfRatio": leaves.self_ratio,
    "CopiedGraph": leaves.copied_graph,
    "RewrappedParameter": leaves.rewrapped_parameter,
}
