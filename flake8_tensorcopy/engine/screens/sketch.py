"""What the screens share about one function, each part made when it is first asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TypeVar

from flake8_tensorcopy.engine.source import Function, Survey

T = TypeVar("T")


class Sketch:
    """A function, looked at without running it.

    `function.found` has its nodes by type, those of functions inside it too, in no order.
    """

    def __init__(self, survey: Survey, function: Function, features: int) -> None:
        self.survey = survey
        self.function = function
        self.features = features  # with those that `__init__` adds

    @cached_property
    def named(self) -> dict[str, list[ast.Call]]:
        """The calls, by the last part of the name of what is called."""
        found: dict[str, list[ast.Call]] = {}
        for node in self.function.found.get(ast.Call, ()):
            func = node.func
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            found.setdefault(name, []).append(node)
        return found

    @cached_property
    def bound(self) -> dict[str, list[tuple[ast.expr, bool]]]:
        """What assignments and loops bind each name to, or of what the name gets a part.

        Not the parameters of the function, nor what a `with` or a pattern binds.
        """
        found: dict[str, list[tuple[ast.expr, bool]]] = {}
        nodes = self.function.found
        pairs: list[tuple[ast.expr, ast.expr, bool]] = []
        for assign in nodes.get(ast.Assign, ()):
            pairs += [(target, assign.value, False) for target in assign.targets]
        for kind in (ast.AnnAssign, ast.NamedExpr):
            pairs += [(node.target, node.value, False) for node in nodes.get(kind, ()) if node.value is not None]
        for loop in (ast.For, ast.AsyncFor, ast.comprehension):
            pairs += [(node.target, node.iter, True) for node in nodes.get(loop, ())]
        while pairs:
            target, value, part = pairs.pop()
            match target:
                case ast.Name(id=name):
                    found.setdefault(name, []).append((value, part))
                case ast.Tuple(elts=targets) | ast.List(elts=targets):
                    if not part and isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(targets):
                        pairs += [(one, given, False) for one, given in zip(targets, value.elts, strict=True)]
                    else:
                        pairs += [(one, value, True) for one in targets]
                case ast.Starred(value=inner):
                    pairs.append((inner, value, True))
        return found

    def of_file(self, what: str, make: Callable[[Survey], T]) -> T:
        """What is known of the whole file, made once."""
        told = self.survey.told
        if what not in told:
            told[what] = make(self.survey)
        found: T = told[what]
        return found

    def calls(self, names: frozenset[str]) -> bool:
        """Whether anything of one of these names is called, also under the name that an import gives it."""
        called = self.function.calls
        if not called.isdisjoint(names):
            return True
        renamed = self.of_file("renamed", _renamed)
        return any(whole in names and name in called for name, whole in renamed.items())

    def calls_of(self, names: Iterable[str]) -> Iterator[ast.Call]:
        """The calls of anything of one of these names, also under the name that an import gives it."""
        renamed = self.of_file("renamed", _renamed)
        for name in names:
            yield from self.named.get(name, ())
        for name, whole in renamed.items():
            if whole in names:
                yield from self.named.get(name, ())


def _renamed(survey: Survey) -> dict[str, str]:
    """What imports give another name than its own: `from torch.nn import Parameter as P`."""
    found = {}
    for name, whole in survey.names.imported.items():
        last = whole.rpartition(".")[2]
        if last != name:
            found[name] = last
    return found
