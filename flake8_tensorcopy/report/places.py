"""Paths as the services of continuous integration take them: from the root of the repository, with slashes."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote


def root() -> Path:
    """The folder of the repository that holds the current folder, or the current one outside of repositories."""
    here = Path(os.path.realpath(os.curdir))
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def in_repository(path: str) -> str:
    """Where a file lies below the root, symbolic links resolved; its whole path where it lies elsewhere."""
    file = Path(os.path.realpath(path))
    base = root()
    return (file.relative_to(base) if file.is_relative_to(base) else file).as_posix()


def slashes(path: str) -> str:
    """A path as it is, with slashes between its parts whatever the system puts there."""
    return path.replace(os.sep, "/")


def uri(path: str) -> str:
    """The URI of what `in_repository` gave: relative to the root, or absolute for a file that lies elsewhere."""
    file = Path(path)
    return file.as_uri() if file.is_absolute() else quote(os.fsencode(path))
