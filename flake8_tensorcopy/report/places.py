"""Paths as the services of continuous integration take them."""

from __future__ import annotations

import os


def slashes(path: str) -> str:
    """A path with slashes between its parts, whatever the system puts there."""
    return path.replace(os.sep, "/")
