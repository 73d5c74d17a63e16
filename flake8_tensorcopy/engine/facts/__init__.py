"""What the abstract run finds out, one class a kind of fact; rules ask for kinds by name and decide on the fields.

Sites are nodes of flake8's own ast; `region.Region` turns them into spans, LibCST nodes and text.  `evidence` says how
surely the thing is a tensor: 3 by definition, annotation or a torch result, 2 by a method that only tensors have, 1 by
array-like indexing, 0 unknown.  The statement that the fact is about never counts as evidence.
"""

from flake8_tensorcopy.engine.facts.base import Fact
from flake8_tensorcopy.engine.facts.costs import CloneDetach, HostScalar
from flake8_tensorcopy.engine.facts.layout import (
    ByteStrides,
    ClashingExpand,
    ExpandedBytes,
    ExpandedParameter,
    MixedRepeats,
    NegativeStrides,
    ScrambledAxes,
    TurnedView,
)
from flake8_tensorcopy.engine.facts.lost import DeadRebinding, DroppedResult, LeafRebound, LostWrite
from flake8_tensorcopy.engine.facts.sharing import (
    AccumulatedItem,
    JoinedWrite,
    OverlappingWrite,
    PointerTest,
    ReboundData,
    SharedWrite,
    StaleRead,
)
from flake8_tensorcopy.engine.facts.snapshots import StaleSnapshot

__all__ = [
    "AccumulatedItem",
    "ByteStrides",
    "ClashingExpand",
    "CloneDetach",
    "DeadRebinding",
    "DroppedResult",
    "ExpandedBytes",
    "ExpandedParameter",
    "Fact",
    "HostScalar",
    "JoinedWrite",
    "LeafRebound",
    "LostWrite",
    "MixedRepeats",
    "NegativeStrides",
    "OverlappingWrite",
    "PointerTest",
    "ReboundData",
    "ScrambledAxes",
    "SharedWrite",
    "StaleRead",
    "StaleSnapshot",
    "TurnedView",
]
