"""The settings of each folder of a workspace, and those that an editor sends."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flake8_tensorcopy import registry
from flake8_tensorcopy.configfiles import ConfigError, load
from flake8_tensorcopy.settings import Settings

# The files that settings come from, as flake8 and this package look for them.
FILES = ("pyproject.toml", "setup.cfg", "tox.ini", ".flake8")

# Settings of [tool.tensorcopy] that mean something in an editor.
KNOWN = (
    "select", "ignore", "extend-select", "extend-ignore", "per-file-ignores", "preview", "train-calls", "disable-noqa",
    "exclude", "extend-exclude", "unsafe-fixes",
)  # fmt: skip

Stamp = tuple[tuple[str, int, int], ...]  # of each file that there is: its path, when it was written, its size


def sent(options: Any) -> tuple[dict[str, Any], list[str]]:
    """What an editor has set, by the names in [tool.tensorcopy], and what its user should be told, sentences.

    The names may also be written as JSON has them (`unsafeFixes`), and all of it below `tensorcopy` or `settings`.
    """
    for section in ("tensorcopy", "settings", "tensorcopy"):
        if isinstance(options, Mapping) and isinstance(options.get(section), Mapping):
            options = options[section]
    if options is None:
        return {}, []
    if not isinstance(options, Mapping):
        return {}, [f"the editor's settings must be an object, not {options!r}"]
    found, notes = {}, []
    for name, value in options.items():
        key = re.sub("(?<=[a-z])([A-Z])", r"-\1", str(name)).replace("_", "-").lower()
        if key not in KNOWN:
            notes.append(f"the editor's settings: there is none called {name!r}{registry.near_match(key, KNOWN)}")
        elif value is not None:
            found[key] = value
    return found, notes


@dataclass(slots=True)
class Folder:
    """A folder whose files have the same settings, those that `tensorcopy check` has when it is run there."""

    path: str
    _given: Mapping[str, Any] = field(default_factory=dict)
    _stamp: Stamp | None = None
    _settings: Settings | None = None

    def settings(self, given: Mapping[str, Any]) -> tuple[Settings, tuple[str, ...]]:
        """The settings, and what the user should be told of them if they were read: read again after a change.

        `given`, by the names in [tool.tensorcopy], comes before what the files say.  Where one of the two makes no
        sense, the settings are those that there were before; where there were none, it is left out.
        """
        stamp = tuple(self._files())
        if self._settings is not None and stamp == self._stamp and given == self._given:
            return self._settings, ()
        self._stamp, self._given = stamp, dict(given)
        notes: tuple[str, ...] = ()
        try:
            self._settings, notes = self._load(given)
        except ConfigError as error:
            notes = (str(error),)
            self._settings = self._settings or self._made_of_what_makes_sense(given)
        return self._settings, notes

    def _made_of_what_makes_sense(self, given: Mapping[str, Any]) -> Settings:
        for some, isolated in ({}, False), (given, True):
            with contextlib.suppress(ConfigError):
                return self._load(some, isolated)[0]
        return self._load({}, True)[0]

    def _load(self, given: Mapping[str, Any], isolated: bool = False) -> tuple[Settings, tuple[str, ...]]:
        with contextlib.chdir(self._there()):  # as a command would be; all else in the server has absolute paths
            return load(given, isolated=isolated, called="the editor's setting `{}`")

    def _there(self) -> str:
        """The folder, or the one above it that there is: a file can be open before its folder is made."""
        path = self.path
        while not os.path.isdir(path) and path != os.path.dirname(path):
            path = os.path.dirname(path)
        return path

    def _files(self) -> Iterable[tuple[str, int, int]]:
        path = self.path
        while True:
            for name in FILES:
                with contextlib.suppress(OSError):
                    file = os.path.join(path, name)
                    status = os.stat(file)
                    yield file, status.st_mtime_ns, status.st_size
            if path == os.path.dirname(path):
                return
            path = os.path.dirname(path)


class Folders:
    """The folders of a workspace."""

    def __init__(self) -> None:
        self._roots: tuple[str, ...] = ()
        self._folders: dict[str, Folder] = {}

    def set(self, roots: Iterable[str]) -> None:
        """These, by their absolute paths, are the folders of the workspace now."""
        self._roots = tuple(roots)

    def of(self, path: str | None) -> Folder:
        """The folder whose settings a file has.

        It is the innermost one of the workspace that the file lies in; the file's own, where there is none.  What is no
        file has the settings of the first folder.
        """
        if path is None:
            root = self._roots[0] if self._roots else os.path.abspath(os.sep)
        else:
            around = [root for root in self._roots if path.startswith(os.path.join(root, ""))]
            root = max(around, key=len, default=os.path.dirname(path))
        return self._folders.setdefault(root, Folder(root))
