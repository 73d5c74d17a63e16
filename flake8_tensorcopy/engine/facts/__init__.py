"""What the abstract run finds out, one class a kind of fact; rules ask for kinds by name and decide on the fields.

Sites are nodes of flake8's own ast; `region.Region` turns them into spans, LibCST nodes and text.  `evidence` says how
surely the thing is a tensor: 3 by definition, annotation or a torch result, 2 by a method that only tensors have, 1 by
array-like indexing, 0 unknown.  The statement that the fact is about never counts as evidence.
"""

from flake8_tensorcopy.engine.facts.autograd import (
    BypassedWrite,
    ForbiddenWrite,
    GradToArray,
    InferenceUse,
    LeafWrite,
    MarkedNonLeaf,
    SavedWrite,
)
from flake8_tensorcopy.engine.facts.base import Fact
from flake8_tensorcopy.engine.facts.constructors import RepeatedReference, WrappedTensor
from flake8_tensorcopy.engine.facts.costs import CloneDetach, HostScalar
from flake8_tensorcopy.engine.facts.graph import (
    GradientNotCleared,
    GraphCut,
    GraphRetained,
    RecurrentState,
    SelfRatio,
    SteppedBefore,
    UntrainedPart,
)
from flake8_tensorcopy.engine.facts.handed_out import HandedOut, MutatedArgument, MutatedItem, SharedDefault
from flake8_tensorcopy.engine.facts.lost import DeadRebinding, DroppedResult, LeafRebound, LostWrite
from flake8_tensorcopy.engine.facts.parameters import (
    CopiedGraph,
    MovedLeaf,
    MovedParameter,
    ReplacedParameter,
    ReplicaState,
    RewrappedParameter,
    UnregisteredItems,
)
from flake8_tensorcopy.engine.facts.selfcopy import AliasedOut, SelfCopy
from flake8_tensorcopy.engine.facts.sharing import (
    AccumulatedItem,
    JoinedWrite,
    OverlappingWrite,
    PointerTest,
    ReboundData,
    SharedWrite,
    StaleRead,
)
from flake8_tensorcopy.engine.facts.snapshots import ModuleAlias, SharedOptimizerState, StaleSnapshot
from flake8_tensorcopy.engine.facts.storages import KeptStorage, ReadOnlyWrite, UnlinkedArray
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
from flake8_tensorcopy.engine.facts.updates import Exhausted, GradientWrite, LostUpdate, StaleGradient

__all__ = [
    "AccumulatedItem",
    "AliasedOut",
    "BypassedWrite",
    "CloneDetach",
    "CopiedGraph",
    "CreatedThenMoved",
    "DatasetMove",
    "DeadRebinding",
    "DroppedResult",
    "Exhausted",
    "Fact",
    "ForbiddenWrite",
    "GradToArray",
    "GradientNotCleared",
    "GradientWrite",
    "GraphCut",
    "GraphRetained",
    "HandedOut",
    "HostScalar",
    "InferenceUse",
    "InvariantTransfer",
    "JoinedWrite",
    "KeptStorage",
    "LeafRebound",
    "LeafWrite",
    "LegacyDevice",
    "LostUpdate",
    "LostWrite",
    "MarkedNonLeaf",
    "ModuleAlias",
    "MovedLeaf",
    "MovedParameter",
    "MutatedArgument",
    "MutatedItem",
    "OverlappingWrite",
    "OverwrittenSource",
    "PinnedMove",
    "PointerTest",
    "ReadOnlyWrite",
    "ReboundData",
    "RecurrentState",
    "RepeatedReference",
    "ReplacedParameter",
    "ReplicaState",
    "RewrappedParameter",
    "RoundTrip",
    "SavedWrite",
    "SelfCopy",
    "SelfRatio",
    "SharedDefault",
    "SharedOptimizerState",
    "SharedWrite",
    "StaleGradient",
    "StaleRead",
    "StaleSnapshot",
    "StepSync",
    "SteppedBefore",
    "UnlinkedArray",
    "UnregisteredItems",
    "UntrainedPart",
    "UnwaitedRead",
    "WidenedMove",
    "WrappedTensor",
]
