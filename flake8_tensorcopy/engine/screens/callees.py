"""Calls of functions of the file: which may run, and what they do to what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.screens.groups import (
    CONVERTED,
    OBTAINED,
    VIEWED,
    Group,
    Groups,
    collapse,
    field,
    find,
    join,
)
from flake8_tensorcopy.engine.screens.looks import name_called

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.effects import Effects
    from flake8_tensorcopy.engine.screens.trace import Trace


class Given(NamedTuple):
    """A call: what it is of, and what it is given."""

    node: ast.Call
    receiver: Groups
    receiver_name: str
    called: Groups  # the object that is called
    arguments: list[Groups]
    keywords: list[Groups]
    first: int  # when it began to be evaluated

    @property
    def every(self) -> Groups:
        return tuple(group for groups in (*self.arguments, *self.keywords) for group in groups)

    def pairs(self) -> Iterator[tuple[ast.expr, Groups]]:
        """The expressions of the arguments, and what they are."""
        yield from zip(self.node.args, self.arguments, strict=True)
        for keyword, groups in zip(self.node.keywords, self.keywords, strict=True):
            yield keyword.value, groups


def may_run(trace: Trace, func: ast.expr, called: Groups) -> Iterable[Effects]:
    """The effects of the functions of the file that a call may run."""
    file = trace.file
    cls = trace.sketch.function.cls
    if name_called(func) == trace.sketch.function.name and not isinstance(trace.sketch.function.node, ast.Module):
        receiver = func.value if isinstance(func, ast.Attribute) else None
        if receiver is None or (isinstance(receiver, ast.Name) and receiver.id == "self"):
            return (trace.sketch.anything,)  # it calls itself
    if isinstance(func, ast.Attribute):
        receiver = func.value
        if isinstance(receiver, ast.Name) and receiver.id == "self" and cls is not None:
            return file.called_on(cls, func.attr)
        if isinstance(receiver, ast.Call) and getattr(receiver.func, "id", "") == "super":
            return () if cls is None or func.attr == "__init__" else file.called_on_bases(cls, func.attr)
        return file.called(func.attr)
    if isinstance(func, ast.Name) and func.id in file.by_name:
        return file.called(func.id)
    classes = {one for group in called for one in find(group).made if one[0] != "<"}
    return [one for name in sorted(classes) for one in file.called_objects(name)]


def applied(trace: Trace, given: Given, effects: Effects) -> Groups:
    """Do to what a call is given what a function does to its parameters; what it returns of them."""

    node = given.node
    meant = {
        parameter: _meant(trace, given, effects, parameter)
        for parameter in {parameter for one in effects.groups for parameter, _ in one.paths}
    }
    result: list[Group] = []
    for one in effects.groups:
        parts = [(parameter, *_part(*meant[parameter], keys)) for parameter, keys in one.paths]
        groups = tuple(group for _, part, _ in parts for group in part)
        if not groups:
            continue
        if len(parts) > 1:
            join(groups)
        trace.flag(groups, one.flags)
        if one.written:
            for parameter, part, shown in parts:
                how = "object" if parameter == "self" else "call"
                unsure = bool(one.flags & CONVERTED)
                trace.write(part, shown, node.func, node, how, given.first, uncertain=unsure, recorded=one.recorded)
        if one.returned:
            result += groups
            if any(parameter == "self" for parameter, *_ in parts) and given.receiver_name != "self":
                trace.flag(groups, OBTAINED | VIEWED)
    if effects.fresh is not None:
        result.append(Group(effects.fresh))
    return tuple(result)


def _meant(trace: Trace, given: Given, effects: Effects, parameter: str) -> tuple[Groups, str]:
    """What a parameter is in a call, and what it is called there."""
    node = given.node
    shown = ""
    spread = any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords)
    named = {one.arg: groups for one, groups in zip(node.keywords, given.keywords, strict=True)}
    if parameter == "self":
        shown = given.receiver_name
        is_method = isinstance(node.func, ast.Attribute)
        groups = given.receiver if is_method else trace.env.get(name_called(node.func), ())
    elif spread or parameter not in effects.positions:
        groups = given.every
    elif parameter in named:
        groups = named[parameter]
    else:
        position = effects.positions[parameter]
        groups = given.arguments[position] if position < len(given.arguments) else ()
        one = node.args[position] if position < len(node.args) else None
        shown = one.id if isinstance(one, ast.Name) else ""
    return groups, shown


def _part(groups: Groups, shown: str, keys: tuple[str, ...]) -> tuple[Groups, str]:
    """What lies under some keys of what a call is given, and what that is called."""
    if not keys:
        groups = tuple(collapse(one) if one.container else one for one in groups)
    for key in keys:
        groups = tuple(field(one, key) for one in groups)
        shown = shown if not shown or "." in shown or key[0] != "." else shown + key
    return groups, shown
