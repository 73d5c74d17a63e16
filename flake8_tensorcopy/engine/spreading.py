"""What a function has of those it calls: their writes, their leaves, their arrays."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.definitions import Function
from flake8_tensorcopy.engine.features import (
    ASYNC,
    ATTR_STORE,
    BACKWARD,
    CALLS_WRITER,
    CAST,
    DEEPCOPY,
    EXPAND,
    GIVEN_STATE,
    GRAD,
    HOOK,
    INFERENCE,
    INPLACE_MODULE,
    KEEPS_PART,
    KEPT,
    KEPT_ITEMS,
    LEAF,
    LOADS_STATE,
    OVERLAPS,
    PLACED,
    REPEAT,
    STATE_DICT,
    STORAGE,
    STRIDES,
    TURNED,
    UNWRAP,
    VIA_NUMPY,
    WRAP,
    WRITE,
)
from flake8_tensorcopy.engine.forms import TURNS
from flake8_tensorcopy.engine.library import AVERAGES

# What a function has from those it calls; what changes in place also from the constructor of a base.
_WRITES = WRITE | INPLACE_MODULE
_HANDED_ON = (
    _WRITES
    | STRIDES
    | HOOK
    | REPEAT
    | STORAGE
    | KEEPS_PART
    | CAST
    | VIA_NUMPY
    | INFERENCE
    | BACKWARD
    | UNWRAP
    | LEAF
    | PLACED
    | WRAP
    | DEEPCOPY
    | ASYNC
    | OVERLAPS
)


def spread_features(functions: list[Function]) -> None:
    """A call of a function of this file that writes may write, or give a flipped array: its caller is run too."""
    for function in functions:
        if function.features & EXPAND:
            function.features |= OVERLAPS
        if function.name == "forward" and function.cls is not None:
            methods = function.cls.methods
            called = [methods[name] for name in function.calls & methods.keys() if name != "__init__"]
            if any(one.features & ATTR_STORE or not AVERAGES.isdisjoint(one.calls) for one in called):
                function.features |= KEPT
    expanding = {function.name for function in functions if function.features & EXPAND}
    for function in functions:
        if "Parameter" in function.calls and not expanding.isdisjoint(function.calls):
            function.features |= EXPAND
    turning = {function.name for function in functions if not TURNS.isdisjoint(function.calls)}
    for function in functions:
        if "view" in function.calls and not turning.isdisjoint(function.calls):
            function.features |= TURNED
    for _ in range(4):
        given: dict[str, int] = {}
        for function in functions:
            features = function.features & _HANDED_ON
            if function.name == "__init__":
                if function.cls is not None and features & WRAP:
                    given[function.cls.name] = given.get(function.cls.name, 0) | WRAP
                features &= _WRITES  # `super().__init__()` hands nothing else on
            if features:
                given[function.name] = given.get(function.name, 0) | features
        changed = False
        for function in functions:
            before = function.features
            for name in given.keys() & function.calls:
                function.features |= given[name]
            changed = changed or function.features != before
        if not changed:
            break
    writers = {one.name for one in functions if one.features & WRITE and one.name[:2] != "__"}
    # What such a class makes is called by another name.
    writers |= {
        function.cls.name
        for function in functions
        if function.cls is not None and function.features & WRITE and function.name in ("__call__", "__getitem__")
    }
    for function in functions:
        if not writers.isdisjoint(function.calls):
            function.features |= CALLS_WRITER
    givers = {function.name for function in functions if function.generates}
    graders = {function.name for function in functions if function.features & GRAD and "backward" in function.calls}
    given_state = {
        one.cls.name if one.name == "__call__" and one.cls is not None else one.name
        for one in functions
        if one.features & STATE_DICT and (ast.Return in one.found or one.cls is not None)
    }
    states = STATE_DICT | LOADS_STATE
    loaders = {function.name for function in functions if function.features & states == states}
    for function in functions:
        if not loaders.isdisjoint(function.calls):
            function.features |= states
        if not given_state.isdisjoint(function.calls):
            function.features |= GIVEN_STATE
        if not givers.isdisjoint(function.calls):
            function.features |= KEPT_ITEMS
        if not graders.isdisjoint(function.calls):
            function.features |= GRAD
