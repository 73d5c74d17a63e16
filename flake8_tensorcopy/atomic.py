"""Writes files in one step: whoever reads one sees the old file or the new one, never half of it."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


class Unwritable(Exception):
    """A file that is not written: one clause that says why."""


def check_writable(file: str) -> None:
    """Raises Unwritable for a name under which `write` would fail: a run takes long, and is not made for nothing."""
    try:
        path, special = target(file)
        if not path.parent.is_dir():
            raise Unwritable(f"cannot write {file!r}: there is no folder {str(path.parent)!r}")
        if path.is_dir() or not os.access(path if special else path.parent, os.W_OK):
            raise Unwritable(f"cannot write {file!r}: it is a folder, or lies in one that cannot be written to")
    except OSError as error:
        raise Unwritable(f"cannot write {file!r}: {error.strerror}") from error


def target(file: str) -> tuple[Path, bool]:
    """The file that a name or a link stands for, and whether it is special: a terminal, pipe or device."""
    path = Path(file).absolute()
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path)), False
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return Path(os.path.realpath(path)), False
    return path, True


def write(text: str, file: str) -> None:
    """Writes a text as UTF-8; raises Unwritable where that fails."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        path, special = target(file)
        if special:
            path.write_bytes(data)
        else:
            _replace(path, data)
    except OSError as error:
        raise Unwritable(f"cannot write {file!r}: {error.strerror}") from error


def rewrite(file: str, old: bytes, new: bytes) -> None:
    """Gives a file whose content was `old` the content `new`, so that a loss of power loses neither.

    What a link points to is written.  Raises Unwritable for a file that is read-only, that has other hard links (they
    would keep the old content) or that has changed meanwhile, and where writing fails.
    """
    path = Path(os.path.realpath(file))
    try:
        status = path.stat()
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise Unwritable("it is read-only")
        if status.st_nlink > 1:
            raise Unwritable("it has another hard link, which would keep the old text")
        _replace(path, new, old)
    except OSError as error:
        raise Unwritable(error.strerror or str(error)) from error


def _replace(path: Path, data: bytes, expected: bytes | None = None) -> None:
    """Puts a new file in the place of the one at `path`, if that one is as expected; mode and owner stay."""
    before = path.stat() if path.exists() else None
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=".", suffix=".tmp", delete=False) as new:
        try:
            new.write(data)
            new.flush()
            if before is not None and (before.st_uid, before.st_gid) != _owner(new.name):
                _give(new.name, before.st_uid, before.st_gid)
            os.chmod(new.name, before.st_mode & 0o7777 if before else 0o666 & ~_umask())
            if expected is not None:
                os.fsync(new.fileno())
                if path.read_bytes() != expected:
                    raise Unwritable("it has changed since it was read")
            new.close()
            os.replace(new.name, path)
        except BaseException:
            new.close()
            os.unlink(new.name)
            raise


def _owner(file: str) -> tuple[int, int]:
    status = os.stat(file)
    return status.st_uid, status.st_gid


def _give(file: str, user: int, group: int) -> None:
    try:
        os.chown(file, user, group)
    except (AttributeError, PermissionError):  # not on this system, or not ours to give away
        pass


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
