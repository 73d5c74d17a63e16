"""Attributes replaced for a while, and put back in reverse order, however it ends."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from typing import Any

MISSING = object()


class Patches(ExitStack):
    """A stack of replaced attributes: leaving it puts them back."""

    def patch(self, owner: Any, name: str, value: Any) -> Any:
        """Replaces an attribute that `owner` has, itself or from a base, and returns what it was."""
        if inspect.isfunction(value):
            value.__name__ = name  # by which a torch function mode may know it
        own = vars(owner).get(name, MISSING)
        before = getattr(owner, name)
        setattr(owner, name, value)
        self.callback(delattr if own is MISSING else setattr, owner, name, *([] if own is MISSING else [own]))
        return before
