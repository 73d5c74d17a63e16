"""Which lines have changed since a commit, as git tells."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from flake8_tensorcopy.engine import Finding
from flake8_tensorcopy.selection import UNREADABLE


class GitError(Exception):
    """Changes that cannot be told: one clause that says why."""


@dataclass(slots=True)
class Change:
    """What of a file is not as it was.

    `lines` are those that were added or changed, counted from 1; `gaps` are lines after which some were taken away.
    """

    lines: list[range] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)

    def concerns(self, finding: Finding) -> bool:
        """Whether the change may have made the finding.

        It has if one of the finding's own lines or of its chain's is new: a write that is added makes a bug of an alias
        that was none.  So has a line that was taken away between them: it may have been the copy.  What is said of a
        whole file concerns every change of it.
        """
        if finding.code == "TSC000" or finding.code in UNREADABLE:
            return True
        spans = [finding.span, *(step.span for step in finding.path)]
        if any(part.start <= span.end_line and span.line < part.stop for part in self.lines for span in spans):
            return True
        first, last = min(span.line for span in spans), max(span.end_line for span in spans)
        return any(first <= gap < last for gap in self.gaps)


WHOLE = Change([range(1, sys.maxsize)])


class Changes:
    """What has changed between a commit and the files as they are, in the repository of the current folder.

    The commit is the last one that `revision` and HEAD have in common, as in `git diff REVISION...`: what others did
    since then is no change of ours.  Changes count whether they are committed, staged or neither.  A renamed file is
    compared with what it was; a file that is new, or lies in no repository or another one, has changed as a whole, and
    one that git ignores has not.  A submodule is compared with the commit that it had.

    Raises GitError.
    """

    def __init__(self, revision: str) -> None:
        top = _git("rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").removesuffix("\n")
        self._main = _Repository(os.path.realpath(top), _fork(revision))
        self._repositories = {self._main.root: self._main}
        self._holders: dict[Path, Path | None] = {}

    def of(self, path: str) -> Change | None:
        """What has changed of a file; None if nothing."""
        repository, name = self._place(path)
        if repository is None or repository.base is None:
            return WHOLE
        change = repository.changes.get(name)
        if change is None:
            if os.path.exists(path):
                return WHOLE if name in repository.untracked else None
            return None if name in repository.deleted else WHOLE
        try:
            return WHOLE if _has_other_newlines(Path(path).read_bytes()) else change
        except OSError:  # told where the file is linted
            return WHOLE

    def of_text(self, path: str, data: bytes) -> Change | None:
        """The same of a text that is to be the content of a file."""
        repository, name = self._place(path)
        before = repository.content(name) if repository is not None else None
        if before is None or _has_other_newlines(data):
            return WHOLE
        with TemporaryDirectory() as folder:
            for file, content in (("old", before), ("new", data)):
                Path(folder, file).write_bytes(content)
            patch = _git("diff", "--no-index", *_DIFF, "old", "new", folder=folder, own=False, statuses=(0, 1))
        return next((change for _, _, change in _patches(patch)), None)

    def _place(self, path: str) -> tuple[_Repository | None, str]:
        """The repository that a file lies in, and its name there."""
        file = Path(os.path.realpath(path))
        holder = self._holder(file.parent)
        if holder is None:
            return None, ""
        return self._repository(holder), file.relative_to(holder).as_posix()

    def _holder(self, folder: Path) -> Path | None:
        """The nearest folder, from this one upwards, that is the root of a repository."""
        if folder not in self._holders:
            if str(folder) == self._main.root or (folder / ".git").exists():
                self._holders[folder] = folder
            else:
                self._holders[folder] = None if folder == folder.parent else self._holder(folder.parent)
        return self._holders[folder]

    def _repository(self, folder: Path) -> _Repository:
        root = str(folder)
        if root not in self._repositories:
            base = self._of_submodule(folder) if folder.is_relative_to(self._main.root) else None
            self._repositories[root] = _Repository(root, base, own=False)
        return self._repositories[root]

    def _of_submodule(self, folder: Path) -> str | None:
        """The commit that a submodule had; None if it was none."""
        outer, _ = self._place(str(folder.parent / "any"))
        if outer is None or outer.base is None:
            return None
        name = folder.relative_to(outer.root).as_posix()
        entry = outer.git("ls-tree", "-z", "--full-tree", outer.base, "--", name).decode("utf-8", "surrogateescape")
        mode, _, rest = entry.partition(" commit ")
        if mode != "160000":
            return None
        base = rest.partition("\t")[0]
        _commit(base, f"the submodule {name!r}", folder=str(folder), own=False)
        return base


@dataclass(frozen=True)
class _Repository:
    """A repository with the commit that its files are compared with; None if there is none.

    `own` is whether the variables of the environment that tell git about a repository mean this one.
    """

    root: str
    base: str | None
    own: bool = True

    def git(self, *arguments: str) -> bytes:
        return _git(*arguments, folder=None if self.own else self.root, own=self.own)

    @cached_property
    def _patch(self) -> tuple[dict[str, Change], set[str], dict[str, str]]:
        """The changes by file, the names that are gone, and the former names of the files that were renamed."""
        assert self.base is not None
        found: dict[str, Change] = {}
        deleted, renamed = set(), {}
        patch = self.git("diff", "-M", *_DIFF, "--no-relative", "--ignore-submodules=all", self.base, "--")
        for old, new, change in _patches(patch):
            if new is None:
                deleted.update([old] if old is not None else [])
                continue
            if old is not None and old != new:
                renamed[new] = old
                deleted.add(old)
            if change.lines or change.gaps:
                found[new] = change
        return found, deleted, renamed

    @property
    def changes(self) -> dict[str, Change]:
        return self._patch[0]

    @property
    def deleted(self) -> set[str]:
        return self._patch[1]

    @cached_property
    def untracked(self) -> frozenset[str]:
        names = self.git("ls-files", "--others", "--exclude-standard", "-z", "--full-name", "--", ":/")
        return frozenset(os.fsdecode(names).split("\0"))

    def content(self, name: str) -> bytes | None:
        """What a file was, or the one that it was renamed from; None if there was none."""
        if self.base is None:
            return None
        try:
            return self.git("cat-file", "--filters", f"{self.base}:{self._patch[2].get(name, name)}")
        except GitError:
            return None


# git.

# The same output whatever the configuration says; that a line ends otherwise is no change of code.
_DIFF = (
    "--unified=0", "--inter-hunk-context=0", "--text", "--ignore-cr-at-eol", "--no-color", "--no-ext-diff",
    "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
# Variables of the environment that tell git where a repository is.
_LOCAL = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_WORK_TREE",
)  # fmt: skip
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def _fork(revision: str) -> str:
    """The last commit that a revision and HEAD have in common."""
    commit = _commit(revision, "this repository")
    try:
        return _git("merge-base", "HEAD", commit).decode().split()[0]
    except (GitError, IndexError):
        raise GitError(f"{revision!r} and HEAD have no commit in common{_shallow()}") from None


def _commit(revision: str, where: str, *, folder: str | None = None, own: bool = True) -> str:
    try:
        arguments = ("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        return _git(*arguments, folder=folder, own=own).decode().strip()
    except GitError:
        raise GitError(f"{where} has no commit {revision!r}{_shallow(folder, own)}") from None


def _shallow(folder: str | None = None, own: bool = True) -> str:
    if _git("rev-parse", "--is-shallow-repository", folder=folder, own=own).strip() != b"true":
        return ""
    return "; it is a shallow clone, and `git fetch --unshallow` gets the rest"


def _git(*arguments: str, folder: str | None = None, own: bool = True, statuses: Collection[int] = (0,)) -> bytes:
    """What git prints; raises GitError with what it says if it fails."""
    variables = {name: value for name, value in os.environ.items() if own or name not in _LOCAL}
    try:
        done = subprocess.run(
            ["git", "-c", "diff.autoRefreshIndex=false", *arguments],  # nothing is written
            cwd=folder,
            env=variables | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror}") from error
    except ValueError as error:  # of a null byte
        raise GitError(f"git cannot be run: {error}") from error
    if done.returncode not in statuses:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("fatal: ")
        raise GitError(f"git says: {said or f'status {done.returncode}'}")
    return done.stdout


def _patches(patch: bytes) -> Iterator[tuple[str | None, str | None, Change]]:
    """The files of a patch without context: the name before and after, None for no file, and what has changed."""
    old: str | None = None
    new: str | None = None
    change: Change | None = None
    lines = iter(patch.split(b"\n"))
    for line in lines:
        if line.startswith(b"diff --git "):
            if change is not None:
                yield old, new, change
            old = new = None
            change = Change()
        elif line.startswith((b"--- ", b"rename from ")):
            old = _name(line)
        elif line.startswith((b"+++ ", b"rename to ")):
            new = _name(line)
        elif change is not None and (hunk := _HUNK.match(line)):
            removed, start, added = (1 if number is None else int(number) for number in hunk.groups())
            if added:
                change.lines.append(range(start, start + added))
            else:
                change.gaps.append(start)
            _skip(lines, removed + added)
    if change is not None:
        yield old, new, change


def _skip(lines: Iterator[bytes], count: int) -> None:
    """Goes past the lines of a hunk, and past what is said of missing newlines between them."""
    while count:
        count -= not next(lines).startswith(b"\\")


_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = dict(zip(b"abtnvfr", b"\a\b\t\n\v\f\r", strict=True))


def _name(line: bytes) -> str | None:
    """The name of a file in a line of a patch; None for no file."""
    prefixed = line[:4] in (b"--- ", b"+++ ")
    name = line[4:].removesuffix(b"\t") if prefixed else line.split(b" ", 2)[2]
    if name == b"/dev/null" and prefixed:
        return None
    if name.startswith(b'"'):
        name = _ESCAPE.sub(_unescaped, name[1:-1])
    return os.fsdecode(name[2:] if prefixed else name)


def _unescaped(escape: re.Match[bytes]) -> bytes:
    text = escape[1]
    return bytes([int(text, 8) if len(text) == 3 else _ESCAPES.get(text[0], text[0])])


def _has_other_newlines(data: bytes) -> bool:
    """Whether lines end with a carriage return alone: Python counts them, git does not."""
    return b"\r" in data.replace(b"\r\n", b"")
