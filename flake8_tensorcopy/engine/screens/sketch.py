"""A function, looked at without running it."""

from __future__ import annotations

import ast
from functools import cached_property

from flake8_tensorcopy.engine.screens.effects import _HANDED_ON, Effect, Effects, Sketches, effects_of
from flake8_tensorcopy.engine.screens.trace import Trace
from flake8_tensorcopy.engine.source import WRITE, Function


class Sketch:
    """What the screens share about one function, each part made when it is first asked for.

    `function.found` has its nodes by type, those of functions inside it too, in no order.
    """

    def __init__(self, file: Sketches, function: Function, features: int) -> None:
        self.file = file
        self.survey = file.survey
        self.function = function
        self.features = features  # with those that `__init__` adds
        self._busy = False

    @cached_property
    def trace(self) -> Trace:
        """One pass over it."""
        self._busy = True
        made = Trace(self)
        self._busy = False
        return made

    @cached_property
    def _effects(self) -> Effects | None:
        return effects_of(self)

    @property
    def effects(self) -> Effects | None:
        """What a call may do; nothing while that is being found out."""
        return None if self._busy else self._effects

    @cached_property
    def anything(self) -> Effects:
        """All that a call might do."""
        paths = tuple((name, ()) for name in (*self.given, *self.open, "self"))
        return Effects(self.given, (Effect(paths, bool(self.features & WRITE), True, _HANDED_ON),), 0)

    @cached_property
    def given(self) -> dict[str, int]:
        """The parameters, but `self`, and their positions in a call."""
        node = self.function.node
        if isinstance(node, ast.Module):
            return {}
        spec = node.args
        named = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        if self.function.cls is not None and not self.function.static:
            named = named[1:]
        found = dict(zip(named, range(len(named)), strict=True))
        found.update((one.arg, 1000) for one in spec.kwonlyargs)
        return found

    @property
    def open(self) -> list[str]:
        """`*args` and `**kwargs`, which may be any argument."""
        node = self.function.node
        spread = () if isinstance(node, ast.Module) else (node.args.vararg, node.args.kwarg)
        return [one.arg for one in spread if one is not None]

    @cached_property
    def annotated(self) -> dict[str, str]:
        """The parameters that have an annotation, and its name if it is a plain one, or in quotes."""
        node = self.function.node
        if isinstance(node, ast.Module):
            return {}
        spec = node.args
        return {
            one.arg: str(getattr(one.annotation, "id", getattr(one.annotation, "value", "")))
            for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
            if one.annotation is not None
        }


__all__ = ["Sketch", "Sketches"]
