"""git repositories for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HAS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def settings(home: Path) -> dict[str, str]:
    """The environment without what a user or an outer git sets for git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {f"GIT_{role}_{key}": f"a{sign}b" for role in ("AUTHOR", "COMMITTER") for key, sign in WHO}
    return kept | who | {"GIT_CONFIG_GLOBAL": str(home / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}


WHO = (("NAME", " "), ("EMAIL", "@"))


class Repository:
    """A new repository in a folder, with the branch `main`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=settings(self.folder), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def write(self, **texts: str) -> None:
        """Writes files, of which a name may have folders: `lib/a.py`."""
        for name, text in texts.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())

    def commit(self, **texts: str) -> str:
        """Commits everything there is, and these texts; returns the commit."""
        self.write(**texts)
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", "some")
        return self.git("rev-parse", "HEAD")
