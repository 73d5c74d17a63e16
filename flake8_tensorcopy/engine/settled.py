"""Tests of a function on what it is given, which a call settles: a flag, a name, an argument that is None."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.blocks import denied
from flake8_tensorcopy.engine.nodes import defaults_of
from flake8_tensorcopy.engine.values import Arm, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.source import Function

# `flag`, `mask is None`, `mode == 'mean'`: what the arms of these and of their contraries are called by.
_TEST = re.compile(r"\w+(?: (?:is|==) (?P<literal>None|True|False|-?\d+|'\w*'))?")

_CONSTANTS = (bool, int, float, str)


class Ask(NamedTuple):
    """What holds of a parameter on a path: that it is a constant, or that it is true; or the contrary."""

    position: int
    test: str  # as it goes on after the parameter's name
    literal: object
    truth: bool  # the test asks whether it is true
    taken: bool
    default: ast.Constant | None


def asks_of(run: Run, arms: frozenset[Arm]) -> frozenset[Ask]:
    """What a function has asked its parameters on a path, before it bound them anew."""
    if not arms or not run.given:
        return frozenset()
    return frozenset([ask for arm in arms if (ask := _ask(run, arm)) is not None])


def _ask(run: Run, arm: Arm) -> Ask | None:
    known = _TEST.fullmatch(arm.text)
    match arm.test:
        case (str(), ((str() as name, version),), _) if known is not None and run.given.get(name) == version:
            pass
        case _:
            return None
    position = next((i for i, one in enumerate(run.params) if one.key == name), None)
    if position is None:
        return None
    written = known["literal"]
    literal = None if written is None else ast.literal_eval(written)
    default = constant_default(run.function, name)
    return Ask(position, arm.text[len(name) :], literal, written is None, arm.taken, default)


def constant_default(function: Function, name: str) -> ast.Constant | None:
    """What a parameter is if a call does not give it, where that is a constant."""
    if isinstance(function.node, ast.Module):
        return None
    given = defaults_of(function.node.args)
    return next((value for one, value in given if one.arg == name and isinstance(value, ast.Constant)), None)


class Way(NamedTuple):
    """A path of a function, for one call of it."""

    is_open: bool = True
    surely: bool = True
    arms: frozenset[Arm] = frozenset()  # where the caller passes on what it was given itself: the same path there


def way_of(
    run: Run, node: ast.Call, names: list[str], asks: frozenset[Ask], given: dict[int, Value], spread: bool
) -> Way:
    """Whether a call of a function with parameters of these names goes a path of it, as far as that is known."""
    surely, arms = True, set()
    for ask in asks:
        answer = _answer(ask, given, spread)
        if answer is None:
            arm = None if spread else _passed_on(run, ask, written_for(node, ask.position, names))
            if arm is not None:
                arms.add(arm)
            surely = surely and arm is not None
        elif answer is not ask.taken:
            return Way(is_open=False)
    return Way(not any(denied(arm, run.now.arms) for arm in arms), surely, frozenset(arms))


def goes_elsewhere(asks: frozenset[Ask], given: dict[int, Value], spread: bool) -> bool:
    """Whether what a call gives, by position, surely leads off a path."""
    answers = [(ask.taken, _answer(ask, given, spread)) for ask in asks]
    return any(answer is not None and answer is not taken for taken, answer in answers)


def written_for(node: ast.Call, position: int, names: list[str]) -> ast.expr | None:
    """What a call writes for a parameter."""
    for keyword in node.keywords:
        if keyword.arg == names[position]:
            return keyword.value
    position -= 1 if names[:1] == ["self"] else 0
    return node.args[position] if 0 <= position < len(node.args) else None


def _passed_on(run: Run, ask: Ask, written: ast.expr | None) -> Arm | None:
    """The arm of the same test in the caller, where it passes on its own parameter."""
    if not isinstance(written, ast.Name):
        return None
    name, version = written.id, run.given.get(written.id)
    if version is None or run.now.version.get(name) != version:
        return None
    yes, no = run.module.arms((name + ask.test, ((name, version),), ()))
    return yes if ask.taken else no


def _answer(ask: Ask, given: dict[int, Value], spread: bool) -> bool | None:
    value = given.get(ask.position)
    if value is None:
        if ask.default is None or spread:
            return None
        constant = ask.default.value
    elif value.kind == "none" and not value.refs:
        constant = None
    elif not value.refs and isinstance(value.const, _CONSTANTS):
        constant = value.const
    elif not ask.truth and ask.literal is None:
        return False if _is_something(value) else None
    else:
        return None
    return bool(constant) if ask.truth else constant == ask.literal


def _is_something(value: Value) -> bool:
    """Whether it cannot be None, as what an argument or an attribute holds may be, whatever its annotation says."""
    if not value.refs:
        return value.kind in ("number", "str", "slice")
    return all(ref.kind != "unknown" and (ref.obj.owner == "fresh" or _derived(ref)) for ref in value.refs)


def _derived(ref: Ref) -> bool:
    return any(link.op != "=" for link in ref.chain)
