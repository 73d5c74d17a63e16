"""Modules of torch.nn that matter to whoever calls them: they work in place, or give back what they are given."""

from __future__ import annotations

import ast
from functools import lru_cache

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.features import INPLACE_MODULE
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.looks import name_called
from flake8_tensorcopy.engine.source import Survey

# Marks among the classes of an object.
IN_PLACE, PASSING = "<in place>", "<passing>"


def makers(survey: Survey) -> frozenset[str]:
    """The functions that make modules which work in place, by name, and the classes of such modules that run what
    torch.nn does; also those that call one of them."""
    calls: dict[str, set[str]] = {}
    found: set[str] = set()
    for function in survey.all:
        name = function.name
        if function.cls is not None and name == "__init__" and "forward" not in function.cls.methods:
            name = function.cls.name
        if name[:2] != "__":
            calls.setdefault(name, set()).update(function.calls)
            if function.features & INPLACE_MODULE:
                found.add(name)
    pending = len(found)
    while pending:
        more = {name for name, called in calls.items() if name not in found and not called.isdisjoint(found)}
        found |= more
        pending = len(more)
    return frozenset(found)


@lru_cache(maxsize=1024)
def gives_back(name: str) -> bool:
    """Whether a module of torch.nn by that name may return what it is given, or a view of it: `Identity`, `Dropout`."""
    op = ops.function(f"torch.nn.{name}") if name[:1].isupper() else None
    return op is not None and op.form == "module" and op.result in ("view", "maybe", "same")


def marks_of(node: ast.expr) -> frozenset[str]:
    """Whether an expression makes a module that works in place, or one that gives back what it is given."""
    if isinstance(node, ast.Call) and node.args and name_called(node.func) == "Sequential":
        first = node.args[0]  # what it is given, only its first module gets
        return frozenset((IN_PLACE, PASSING)) if isinstance(first, ast.Starred) else marks_of(first)
    found: set[str] = set()
    for one in walk(node):
        if isinstance(one, ast.Call):
            name = name_called(one.func)
            if any(keyword.arg == "inplace" for keyword in one.keywords) or any(
                isinstance(given, ast.Constant) and given.value is True for given in one.args
            ):
                found.add(IN_PLACE)
            if gives_back(name):
                found.add(PASSING)
            if name in ("Sequential", "ModuleList") and any(
                isinstance(given, (ast.Name, ast.Starred)) for given in one.args
            ):
                found |= {IN_PLACE, PASSING}
    return frozenset(found)
