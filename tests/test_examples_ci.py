"""The examples for continuous integration: their commands are run, and leave what the steps after them take."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.repositories import HAS_GIT, Repository, settings
from tests.samples import ALIAS, DETACH
from tests.test_report_schemas import errors

yaml = pytest.importorskip("yaml")
FOLDER = ROOT / "examples" / "ci"
OF_OTHERS = ("pip ", "reviewdog ")  # commands that need a network, or are not ours
pytestmark = [HAS_GIT, pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")]


def loaded(name: str) -> Any:
    return yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))


def steps(name: str) -> list[dict[str, Any]]:
    """The steps of the only job of a workflow."""
    (job,) = loaded(name)["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


@dataclass(frozen=True)
class Scratch:
    """A repository with a finding on `main`, and another one on the branch that is checked out."""

    repository: Repository
    base: str
    bin: Path

    @property
    def folder(self) -> Path:
        return self.repository.folder

    def run(self, command: str, **variables: str) -> tuple[int, str]:
        """Runs a command as the services do; returns the exit status and what it printed."""
        environment = settings(self.folder) | variables
        environment |= {"PATH": f"{self.bin}:{environment['PATH']}", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    bin = tmp_path / "bin"
    bin.mkdir()
    command = bin / "tensorcopy"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m flake8_tensorcopy.cli "$@"\n')
    command.chmod(0o755)
    repository = Repository(tmp_path / "scratch")
    base = repository.commit(**{"lib/old.py": DETACH})
    repository.git("checkout", "-q", "-b", "topic")
    repository.commit(**{"lib/new.py": ALIAS})
    return Scratch(repository, base, bin)


def report(scratch: Scratch, name: str, format: str) -> Any:
    """A report that a command has left, of a format that is held against its schema."""
    document = json.loads((scratch.folder / name).read_text(encoding="utf-8"))
    assert list(errors(format, document)) == []
    return document


def test_the_examples_there_are() -> None:
    names = [path.name for path in FOLDER.iterdir()]
    assert sorted(names) == ["github.yml", "gitlab.yml", "pre-commit-config.yaml", "reviewdog.yml"]


def test_github(scratch: Scratch) -> None:
    install, everything, upload, changed = steps("github")[2:]
    assert install["run"].startswith(OF_OTHERS)
    assert scratch.run(everything["run"]) == (0, "")
    assert upload["uses"].startswith("github/codeql-action/upload-sarif@")
    sarif = report(scratch, upload["with"]["sarif_file"], "sarif")
    assert sorted(result["ruleId"] for result in sarif["runs"][0]["results"]) == ["TSC101", "TSC601"]
    assert "pull_request" in changed["if"]
    (variable,) = changed["env"]
    assert changed["env"][variable] == "${{ github.event.pull_request.base.sha }}"
    status, shown = scratch.run(changed["run"], **{variable: scratch.base})
    assert status == 1
    assert re.findall(r"^::warning file=lib/(\w+)\.py,line=(\d+)", shown, re.MULTILINE) == [("new", "6")]
    scratch.repository.git("rm", "-q", "lib/new.py")
    assert scratch.run(changed["run"], **{variable: scratch.base}) == (0, "")


def test_gitlab(scratch: Scratch) -> None:
    job = loaded("gitlab")["tensorcopy"]
    install, everything, changed = job["script"]
    assert install.startswith(OF_OTHERS)
    assert scratch.run(everything) == (0, "")
    issues = report(scratch, job["artifacts"]["reports"]["codequality"], "gitlab")
    assert [issue["location"]["path"] for issue in issues] == ["lib/new.py", "lib/old.py"]
    assert scratch.run(changed) == (0, "")
    status, shown = scratch.run(changed, CI_MERGE_REQUEST_DIFF_BASE_SHA=scratch.base)
    assert status == 1 and shown.startswith("lib/new.py:6:5: TSC101 ") and "old.py" not in shown


def test_reviewdog(scratch: Scratch) -> None:
    install, everything, review = steps("reviewdog")[3:]
    assert install["run"].startswith(OF_OTHERS) and review["run"].startswith(OF_OTHERS)
    assert scratch.run(everything["run"]) == (0, "")
    name = review["run"].rpartition(" < ")[2]
    found = report(scratch, name, "rdjson")
    assert [one["code"]["value"] for one in found["diagnostics"]] == ["TSC101", "TSC601"]
    assert "-f=rdjson " in review["run"]


@pytest.mark.parametrize("name", ["github", "reviewdog"])
def test_workflows_ask_for_no_more_than_they_need(name: str) -> None:
    workflow = loaded(name)
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {} and job["permissions"]["contents"] == "read"
    written = {scope for scope, access in job["permissions"].items() if access == "write"}
    assert written == {"github": {"security-events"}, "reviewdog": {"pull-requests"}}[name]
    assert all("${{" not in step.get("run", "") for step in job["steps"])  # what others name is no part of a script
    (checkout,) = (step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["with"]["persist-credentials"] is False
    needs_history = any("--diff-base" in step.get("run", "") for step in job["steps"])
    assert (checkout["with"].get("fetch-depth") == 0) is needs_history


def test_precommit(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    path = FOLDER / "pre-commit-config.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", str(path)],
        cwd=tmp_path,
        env=settings(tmp_path) | {"PRE_COMMIT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    own, flake8 = yaml.safe_load(path.read_text(encoding="utf-8"))["repos"]
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {hook["id"] for hook in own["hooks"]} == {hook["id"] for hook in offered}
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert own["rev"] == f"v{version}"
    assert flake8["hooks"][0]["additional_dependencies"] == [f"flake8-tensorcopy=={version}"]
