"""Names that several functions bind: `global`, `nonlocal`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.forms import last_name
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.source import Function, Survey
from flake8_tensorcopy.engine.values import UNKNOWN

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run


def names_of_several(survey: Survey, function: Function) -> frozenset[str]:
    """The names of a function that others bind, too: functions inside it, or any for what is the module's."""
    if isinstance(function.node, ast.Module):
        return survey.once(_of_the_module)
    found = function.found
    if ast.Global not in found and ast.Nonlocal not in found:
        return frozenset()
    return frozenset(name for kind in (ast.Global, ast.Nonlocal) for node in found.get(kind, ()) for name in node.names)


def _of_the_module(survey: Survey) -> frozenset[str]:
    return frozenset(name for one in survey.all for node in one.found.get(ast.Global, ()) for name in node.names)


def forget_names(run: Run, statement: ast.stmt) -> None:
    """Nothing is known of shared names behind a call of a function of the file, or of one that is given it."""
    called = run.module.survey.once(_functions)
    bound: set[str] = set()
    calls = False
    for node in walk(statement):
        if isinstance(node, ast.Call):
            named = (last_name(node.func), *(last_name(one) for one in node.args))
            calls = calls or any(name in called for name in named)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
    if calls and run.state is not None:
        for name in run.shared - bound:
            if name in run.now.env:
                run.now.bind(name, UNKNOWN)


def _functions(survey: Survey) -> frozenset[str]:
    """The names of all functions and methods of the file, those inside others too."""
    nodes = (node for one in survey.all for kind in _KINDS for node in one.found.get(kind, ()))
    return frozenset(one.name for one in survey.all) | {node.name for node in nodes}


_KINDS = (ast.FunctionDef, ast.AsyncFunctionDef)
