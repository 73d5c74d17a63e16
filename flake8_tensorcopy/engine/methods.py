"""What the names of methods say of what they do with the object."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.source import Function
from flake8_tensorcopy.engine.texts import text_of

# Methods that set what the object holds.
SETS = frozenset(
    {"__init__", "__setitem__", "__new__", "__post_init__", "__setstate__", "load_state_dict", "_load_from_state_dict"}
)

# First words of methods that fill what the object holds before it is used.
_FIRST = frozenset({"init", "initialize", "initialise", "setup", "build", "load"})

# Methods that hand out what the object holds by contract.
_LIVE = frozenset({"state_dict", "__getstate__"})


def sets_up(name: str) -> bool:
    """Whether a method is there to set what the object holds, not to use it."""
    return name in SETS or name.strip("_").split("_")[0] in _FIRST or name.endswith("reset_parameters")


def hands_out(method: Function) -> bool:
    """Whether callers outside the class get what a method returns, and take it for a result."""
    name = method.name
    if name in _LIVE:
        return False
    if method.static or (name[:1] == "_" and name not in ("__call__", "__next__", "__getitem__")) or name[-1:] == "_":
        return name in ("__call__", "__next__", "__getitem__")
    node = method.node
    decorators = [] if isinstance(node, ast.Module) else node.decorator_list
    return not any("property" in text_of(item) for item in decorators)


def is_property(method: Function) -> bool:
    """Whether a method is read like an attribute."""
    match method.node:
        case ast.FunctionDef(decorator_list=[ast.Name(id="property")]):
            return True
    return False
