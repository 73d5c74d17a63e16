"""Facts as text, one a line, for golden tests and bug reports."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flake8_tensorcopy.engine.facts import Fact

# The fields that tell one fact of a kind from another, which a golden test always states.
KEYS = {
    "StaleRead": ("reader", "writer", "op", "link"),
    "SharedWrite": ("writer", "owner_name", "op", "link"),
    "JoinedWrite": ("writer", "kept", "op"),
    "AccumulatedItem": ("writer", "collection", "op"),
    "ReboundData": ("target", "value"),
    "PointerTest": ("left", "right"),
    "StaleSnapshot": ("reader", "module"),
    "LostWrite": ("base", "op", "copied_by"),
    "DroppedResult": ("receiver", "op"),
    "DeadRebinding": ("name", "origin"),
    "LeafRebound": ("target", "reason"),
    "OverlappingWrite": ("writer", "op", "expand"),
    "HostScalar": ("receiver", "move", "used"),
    "CloneDetach": ("receiver",),
    "MutatedItem": ("owner_name", "op"),
    "MutatedArgument": ("function", "argument", "op"),
    "HandedOut": ("name", "how", "op", "reason"),
    "SharedDefault": ("name", "shared_by", "op"),
    "ModuleAlias": ("name", "module", "how"),
    "SharedOptimizerState": ("optimizer", "other"),
    "StaleGradient": ("reader", "gradient", "kind"),
    "GradientWrite": ("writer", "gradient", "op", "by"),
    "Exhausted": ("name", "made"),
    "LostUpdate": ("target", "index", "op"),
    "RepeatedReference": ("name", "holds"),
    "WrappedTensor": ("name", "op", "reason"),
    "SelfCopy": ("target", "source", "relation"),
    "AliasedOut": ("op", "out", "argument"),
    "KeptStorage": ("view", "into"),
    "UnlinkedArray": ("array", "tensor"),
    "ReadOnlyWrite": ("writer", "op", "made"),
    "LeafWrite": ("writer", "op"),
    "SavedWrite": ("writer", "op", "keeper"),
    "BypassedWrite": ("value", "op"),
    "ForbiddenWrite": ("writer", "op", "maker"),
    "MarkedNonLeaf": ("value",),
    "GradToArray": ("value", "call"),
    "InferenceUse": ("value", "keeper"),
    "GraphRetained": ("target", "value", "how"),
    "RecurrentState": ("state", "how"),
    "GraphCut": ("source", "op"),
    "GradientNotCleared": ("tensor",),
    "SteppedBefore": ("module",),
    "UntrainedPart": ("module",),
    "SelfRatio": ("name", "source"),
    "MovedParameter": ("target", "op"),
    "MovedLeaf": ("name", "op", "use"),
    "ReplacedParameter": ("target", "module"),
    "UnregisteredItems": ("attribute", "container", "item"),
    "RewrappedParameter": ("value",),
    "CopiedGraph": ("name", "owner"),
    "ReplicaState": ("attribute",),
    "MovedThenDetached": ("receiver", "move"),
    "TensorOfTensor": ("argument", "form"),
    "RedundantClone": ("receiver", "form", "op"),
    "RedundantCast": ("receiver", "first", "second"),
    "RedundantRepeat": ("receiver", "call"),
    "MaterialisedExpand": ("receiver", "op", "expand"),
    "GrownInLoop": ("name", "op"),
    "FreshArrayCopied": ("made",),
    "ExpandedParameter": ("name", "op"),
    "ClashingExpand": ("receiver", "op"),
    "TurnedView": ("receiver", "op"),
    "ScrambledAxes": ("receiver", "op"),
    "ByteStrides": ("array", "op"),
    "NegativeStrides": ("op", "flip"),
    "MixedRepeats": ("tiled", "interleaved"),
    "ExpandedBytes": ("receiver", "counted"),
    "UnwaitedRead": ("source", "how"),
    "OverwrittenSource": ("source", "op"),
    "PinnedMove": ("receiver", "kind"),
    "CreatedThenMoved": ("factory", "device"),
    "RoundTrip": ("source", "device"),
    "InvariantTransfer": ("receiver", "device"),
    "StepSync": ("how",),
    "WidenedMove": ("receiver", "narrow", "wide"),
    "DatasetMove": ("place",),
    "LegacyDevice": ("api", "how"),
}


def dump(facts: Iterable[Fact]) -> str:
    """Each fact as `line: Kind field=value ...`; fields that are false, empty or zero are left out, in source order."""
    lines = sorted((_line(fact.site), _text(fact)) for fact in facts)
    return "\n".join(f"{line}: {text}" for line, text in lines)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _text(fact: Fact) -> str:
    parts = [type(fact).__name__]
    for name in fact.field_names:
        value = getattr(fact, name)
        if name == "site" or value in (False, "", 0, (), None):
            continue
        parts.append(f"{name}={_shown(value)}")
    return " ".join(parts)


def _shown(value: object) -> str:
    if isinstance(value, ast.AST):
        return f"@{_line(value)}"
    if isinstance(value, tuple):
        return ",".join(_shown(item) for item in value)
    return "yes" if value is True else str(value)
