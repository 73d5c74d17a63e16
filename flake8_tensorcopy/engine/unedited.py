"""The editor of a run that asks for no repairs: flake8 has no use for them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable


class NoEdits:
    """Takes every request that `engine.edits.Editor` takes, and makes no edit: no finding gets a repair.

    Repairs take longer than all the rest that a rule does.
    """

    def __getattr__(self, name: str) -> Callable[..., None]:
        return _nothing

    def text(self, site: object) -> str:
        return ""

    def unused(self, name: str) -> str:
        return name

    def arguments(self, call: object) -> tuple[()]:
        return ()

    def together(self, statements: Iterable[ast.stmt]) -> dict[ast.stmt, tuple[ast.stmt, ...]]:
        return {statement: (statement,) for statement in statements}


def _nothing(*_: object, **__: object) -> None:
    return None
