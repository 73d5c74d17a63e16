"""The hooks for pre-commit, run by pre-commit itself; GitHub is not needed, an index of packages is."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, copied
from tests.repositories import HAS_GIT, Repository
from tests.samples import ALIAS, DETACH, FINE

pytestmark = [
    HAS_GIT,
    pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed"),
]
# Environments of hooks have an interpreter of their own, with nothing of this one.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON", "PRE_COMMIT"))
}


def hooks() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return found


def precommit(*arguments: str, cwd: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *arguments],
        cwd=cwd,
        env=ENVIRONMENT | {"PRE_COMMIT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_hooks_are_valid(tmp_path: Path) -> None:
    done = precommit("validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"), cwd=tmp_path, home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert [hook["id"] for hook in hooks()] == ["tensorcopy-check", "tensorcopy-fix"]


def test_the_hooks_of_this_checkout(tmp_path: Path) -> None:
    """As `pre-commit try-repo` takes them: what is committed, and what git knows of what is not."""
    at = ["git", "-C", str(ROOT), "rev-parse", "--show-toplevel", "HEAD"]
    known = subprocess.run(at, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if known.returncode or Path(known.stdout.splitlines()[0]) != ROOT.resolve():
        pytest.skip("this checkout is no repository of git")
    scratch = Repository(tmp_path / "scratch")
    scratch.write(**{"lib/detach.py": DETACH, "lib/fine.py": FINE, "old/alias.py": ALIAS, "notes.txt": DETACH})
    scratch.write(**{"pyproject.toml": '[tool.tensorcopy]\nexclude = ["old"]\n'})
    scratch.git("add", "--all")
    done = precommit("try-repo", str(ROOT), "--all-files", cwd=scratch.folder, home=tmp_path / "home")
    assert done.returncode == 1, done.stdout + done.stderr
    check, _, fix = done.stdout.partition("tensorcopy check...")[2].partition("tensorcopy fix...")
    assert "Failed" in check and f"exit code: 1\n\n{Path('lib/detach.py')}:5:12: TSC601 [*] `clone()`" in check
    assert check.count(": TSC") == 1  # named files below a folder that is left out are left out, too
    assert "Failed" in fix and "files were modified by this hook" in fix and "TSC" not in fix
    assert (scratch.folder / "lib" / "detach.py").read_text() == FINE
    assert (scratch.folder / "old" / "alias.py").read_text() == ALIAS


def test_the_hooks_beside_flake8(tmp_path: Path) -> None:
    """As local hooks with this package among their dependencies: they share one environment."""
    package = copied(tmp_path / "package")
    yaml = pytest.importorskip("yaml")
    local = {"language": "python", "types": ["python"], "additional_dependencies": ["flake8", str(package)]}
    flake8 = {"id": "flake8", "name": "flake8", "entry": "flake8 --extend-ignore=F401", **local}
    repo = {"repo": "local", "hooks": [flake8, *(hook | local for hook in hooks())]}
    scratch = Repository(tmp_path / "scratch")
    scratch.commit(**{".pre-commit-config.yaml": yaml.safe_dump({"repos": [repo]}), "a.py": FINE, "b.py": FINE})

    def run(hook: str, *files: str) -> tuple[int, str]:
        arguments = ("run", hook, *(("--files", *files) if files else ("--all-files",)))
        done = precommit(*arguments, cwd=scratch.folder, home=tmp_path / "home")
        return done.returncode, done.stdout

    for hook in ("flake8", "tensorcopy-check", "tensorcopy-fix"):
        status, shown = run(hook)
        assert status == 0 and "Passed" in shown, shown
    scratch.write(**{"a.py": DETACH})
    status, shown = run("flake8", "a.py", "b.py")
    assert status == 1 and shown.count("TSC") == 1 and "a.py:5:12: TSC601 `clone()`" in shown
    status, shown = run("tensorcopy-check", "b.py")
    assert status == 0 and "Passed" in shown
    status, shown = run("tensorcopy-check")
    assert status == 1 and "a.py:5:12: TSC601 [*] `clone()`" in shown and "modified" not in shown
    status, shown = run("tensorcopy-fix")
    assert status == 1 and "files were modified by this hook" in shown
    assert (scratch.folder / "a.py").read_text() == FINE
    status, shown = run("tensorcopy-fix")
    assert status == 0 and "Passed" in shown
