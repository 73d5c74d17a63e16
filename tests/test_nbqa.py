"""nbQA, which runs tools for Python files on notebooks: flake8 with the plugin, and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.samples import ALIAS, DETACH, dumped, notebook

pytestmark = pytest.mark.skipif(find_spec("nbqa") is None, reason="nbQA is not installed")


def nbqa(folder: Path, *arguments: str) -> list[str]:
    """The lines that nbQA prints."""
    done = subprocess.run(
        [sys.executable, "-m", "nbqa", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        timeout=300,
        check=False,
    )
    return (done.stdout + done.stderr).decode().splitlines()


def test_flake8_finds_in_a_notebook_what_the_plugin_finds(tmp_path: Path) -> None:
    shown = "%matplotlib inline\nimport torch\nx = torch.zeros(3)\nx.add(1)"  # displayed, so not lost
    (tmp_path / "a.ipynb").write_bytes(dumped(notebook("#md text", shown, "x.add(1)\nx", ALIAS)))
    lines = nbqa(tmp_path, "flake8", "a.ipynb", "--select=TSC", "--isolated")
    assert [line.split(" ")[:2] for line in lines] == [
        ["a.ipynb:cell_2:1:1:", "TSC203"],
        ["a.ipynb:cell_3:6:5:", "TSC101"],
    ]


def test_the_command_repairs_through_it(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_bytes(dumped(notebook("#md text", DETACH.splitlines(keepends=True))))
    assert nbqa(tmp_path, "flake8_tensorcopy.cli fix", "a.ipynb", "--isolated") == []
    (_, cell) = json.loads((tmp_path / "a.ipynb").read_bytes())["cells"]
    assert "    return x.detach().clone()" in "".join(cell["source"])
