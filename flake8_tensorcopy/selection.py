"""Which codes and which files a user wants to see: flake8's own decisions."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterable, Iterator, Sequence

from flake8 import utils
from flake8.style_guide import Decision, DecisionEngine, Ignored

from flake8_tensorcopy.settings import Settings

LOG = logging.getLogger(__name__)
PREFIX = "TSC"
COPIES = ".ipynb_checkpoints"  # the folder where Jupyter keeps what a notebook was
UNREADABLE = ("E902", "E999")  # flake8's codes for a file that cannot be read or parsed


class Selection:
    """Decides about codes, of the longest pattern that fits a file where some are ignored for it alone."""

    def __init__(self, settings: Settings) -> None:
        self._default = _engine(settings)
        self._per_file = [
            (pattern, _engine(settings, codes)) for pattern, codes in settings.per_file_ignores if pattern
        ]
        self._of: dict[str, DecisionEngine] = {}

    def by_default(self, code: str) -> bool:
        """Whether a code is wanted in files that no pattern fits."""
        return self._default.decision_for(code) is Decision.Selected

    def wants(self, code: str, path: str) -> bool:
        """Whether a code is wanted in a file; that one cannot be read or parsed is, unless it is ignored by name."""
        engine = self._of.get(path)
        if engine is None:
            fitting = [(pattern, one) for pattern, one in self._per_file if _matches(path, [pattern])]
            _, engine = max([("", self._default), *fitting], key=lambda pair: len(pair[0]))
            self._of[path] = engine
        if code in UNREADABLE:
            return engine.was_ignored(code) is not Ignored.Explicitly
        return engine.decision_for(code) is Decision.Selected


def _engine(settings: Settings, ignored: Sequence[str] = ()) -> DecisionEngine:
    return DecisionEngine(
        argparse.Namespace(
            select=None if settings.select is None else list(settings.select),
            ignore=None if settings.ignore is None else list(settings.ignore),
            extend_select=list(settings.extend_select),
            extend_ignore=[*settings.extend_ignore, *ignored],
            extended_default_select=[PREFIX],
            extended_default_ignore=[],
        )
    )


def discover(paths: Sequence[str], settings: Settings, stdin_name: str) -> list[str]:
    """The files to look at, in the order in which they are shown, each once; "-" is standard input.

    Folders give the files below them whose name fits, and no pipes or devices; one that cannot be listed stands for
    itself.  A file that is named is looked at unless it is excluded itself; with `force_exclude` also unless a folder
    on the way to it is.
    """
    exclude = (*settings.exclude, *settings.extend_exclude, COPIES)
    found: dict[str, str] = {}
    for given in paths or ["."]:
        named = stdin_name if given == "-" else given
        if not (given == "-" and named == "stdin") and _matches(named, exclude):
            continue
        for path in _below(given, exclude, settings.filename) if os.path.isdir(given) else [given]:
            name = shown(path, stdin_name)
            if not (settings.force_exclude and any(_matches(folder, exclude) for folder in _folders(name))):
                found.setdefault(name, path)
    return [found[name] for name in sorted(found)]


def _below(folder: str, exclude: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The files below a folder that flake8 would find there, and the folders that cannot be listed."""
    unlisted: list[str] = []
    for root, folders, files in os.walk(folder, onerror=lambda error: unlisted.append(error.filename or folder)):
        folders[:] = [name for name in folders if not _matches(os.path.join(root, name), exclude)]
        for name in files:
            path = os.path.join(root, name)
            if utils.fnmatch(path, names) and not _matches(path, exclude) and _regular(path):
                yield path
    yield from unlisted


def _regular(path: str) -> bool:
    """A file, or a link that leads nowhere, which is told."""
    return os.path.isfile(path) or not os.path.exists(path)


def excluded(path: str, folder: str, settings: Settings) -> bool:
    """Whether a file is left out, or a folder between it and the one given; both paths are absolute."""
    patterns = (*settings.exclude, *settings.extend_exclude)
    while path not in (folder, os.path.dirname(path)):
        if _matches(path, patterns):
            return True
        path = os.path.dirname(path)
    return False


def shown(path: str, stdin_name: str = "stdin") -> str:
    """A path as reports show it: from the current folder on where it lies below that."""
    if path == "-":
        return stdin_name
    absolute, here = os.path.abspath(path), os.getcwd()
    below = os.path.join(here, "")
    return absolute[len(below) :] if absolute.startswith(below) else path


def _folders(name: str) -> Iterable[str]:
    """The folders between the current one, or the root, and a file."""
    while (name := os.path.dirname(name)) and name != os.path.dirname(name):
        yield name


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return bool(utils.matches_filename(path, patterns, '"%(path)s" has %(whether)sbeen matched', LOG))
