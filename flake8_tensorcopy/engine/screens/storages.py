"""Screens of what keeps a storage, leaves it, or has it twice."""

from __future__ import annotations

from flake8_tensorcopy.engine.features import KEEPS_PART
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import Survey

_SAVE = frozenset({"save"})
_SHARED = frozenset({"share_memory_"})
_PARTS = frozenset("split chunk unbind tensor_split unsafe_split unsafe_chunk hsplit vsplit".split())


def unlinked_array(sketch: Sketch) -> bool:
    """A tensor goes to shared memory."""
    return sketch.calls(_SHARED)


def kept_storage(sketch: Sketch) -> bool:
    """Something is saved, here or in a function of the file; or a list is given a part of something in a loop."""
    if sketch.features & KEEPS_PART and "append" in sketch.function.calls:
        return True
    if sketch.calls(_SAVE):
        return True
    savers = sketch.of_file(_savers)
    return bool(savers) and not savers.isdisjoint(sketch.function.calls)


def _savers(survey: Survey) -> frozenset[str]:
    """The functions that save something, and those that call them."""
    found = {one.name for one in survey.all if "save" in one.calls}
    more = found
    while more:
        more = {one.name for one in survey.all if not found.isdisjoint(one.calls)} - found
        found |= more
    return frozenset(found)
