"""What the abstract run finds out, one class a kind of fact; rules ask for kinds by name and decide on the fields.

Sites are nodes of flake8's own ast; `region.Region` turns them into spans, LibCST nodes and text.  `evidence` says how
surely the thing is a tensor: 3 by definition, annotation or a torch result, 2 by a method that only tensors have, 1 by
array-like indexing, 0 unknown.  The statement that the fact is about never counts as evidence.
"""

from flake8_tensorcopy.engine.facts.base import Fact
from flake8_tensorcopy.engine.facts.costs import CloneDetach, HostScalar
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
from flake8_tensorcopy.engine.facts.transfers import (
    CreatedThenMoved,
    DatasetMove,
    InvariantTransfer,
    LegacyDevice,
    OverwrittenSource,
    PinnedMove,
    RoundTrip,
    StepSync,
    UnwaitedRead,
    WidenedMove,
)

__all__ = [
    "AccumulatedItem",
    "CloneDetach",
    "CreatedThenMoved",
    "DatasetMove",
    "DeadRebinding",
    "DroppedResult",
    "Fact",
    "HostScalar",
    "InvariantTransfer",
    "JoinedWrite",
    "LeafRebound",
    "LegacyDevice",
    "LostWrite",
    "OverlappingWrite",
    "OverwrittenSource",
    "PinnedMove",
    "PointerTest",
    "ReboundData",
    "RoundTrip",
    "SharedWrite",
    "StaleRead",
    "StaleSnapshot",
    "StepSync",
    "UnwaitedRead",
    "WidenedMove",
]
