"""A failure as a small program: lines are left out for as long as the failure stays."""

from __future__ import annotations

from collections.abc import Callable


def shrunk(data: bytes, fails: Callable[[bytes], bool], tries: int = 300) -> bytes:
    """The input without lines that it can do without; `fails` is asked at most `tries` times."""
    lines = data.splitlines(keepends=True)
    size = max(len(lines) // 2, 1)
    while tries > 0:
        at, smaller = 0, False
        while at < len(lines) and tries > 0:
            rest = lines[:at] + lines[at + size :]
            tries -= 1
            if rest and fails(b"".join(rest)):
                lines, smaller = rest, True
            else:
                at += size
        if size == 1 and not smaller:
            break
        size = max(size // 2, 1)
    return b"".join(lines)
