"""The settings of one run, checked once and frozen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

DEBUG = "TENSORCOPY_DEBUG"  # an environment variable: failures inside are raised instead of told


@dataclass(frozen=True, slots=True)
class Options:
    """What a user can set about the rules.

    `preview` also shows findings that are not on by default.  `train_calls` are names of functions and methods that
    train a module they are called on or given, besides those that the engine knows.
    """

    preview: bool = False
    train_calls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set about a run of `tensorcopy check` or `tensorcopy fix`.

    Codes, patterns and their names are flake8's.  Patterns with a slash are absolute.  `select` and `ignore` are None
    where they are not set at all; `jobs` is a number of processes, or 0 for as many as pay.
    """

    options: Options = Options()
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    filename: tuple[str, ...] = ("*.py",)
    disable_noqa: bool = False
    unsafe_fixes: bool = False
    statistics: bool = False
    output_format: str = ""
    jobs: int = 0


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
