"""What can be set about the rules, checked once and frozen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

DEBUG = "TENSORCOPY_DEBUG"  # an environment variable: failures inside are raised instead of told


class Options(NamedTuple):
    """What a user can set about the rules.

    `preview` also shows findings that are not on by default.  `train_calls` are names of functions and methods that
    train a module they are called on or given, besides those that the engine knows.
    """

    preview: bool = False
    train_calls: frozenset[str] = frozenset()


def names(values: str | Iterable[str], setting: str) -> frozenset[str]:
    """The identifiers of a setting: a text in which commas or white space part them, or a list of such texts.

    Raises ValueError, with one sentence that names the setting, for anything that is not a Python identifier.
    """
    texts = [values] if isinstance(values, str) else values
    found = {name for text in texts for name in text.replace(",", " ").split()}
    for name in sorted(found):
        if not name.isidentifier():
            raise ValueError(f"{setting}: {name!r} is not a plain name of a function or method")
    return frozenset(found)
