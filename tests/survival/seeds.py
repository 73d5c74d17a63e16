"""The same input gives the same bytes, whatever order Python's sets have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.conftest import ROOT
from tests.survival.beside import FLAKE8

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "rdjson")
# All formats in one process: the same order of sets for all, in a third of the time.
_COMMAND = """\
import sys
from flake8_tensorcopy.cli import main
for format in sys.argv[1].split(","):
    main(["check", "--isolated", "--preview", "-j1", f"--output-format={format}", *sys.argv[2:]])
main(["fix", "--isolated", "--preview", "-j1", "--diff", "--unsafe-fixes", *sys.argv[2:]])
"""


def outputs(paths: Sequence[str], seed: int, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """What flake8 and the command print for files under a seed of hashing, by the program."""
    commands = {
        "flake8": [sys.executable, "-m", "flake8", "-j1", *FLAKE8, *paths],
        "tensorcopy": [sys.executable, "-c", _COMMAND, ",".join(formats), *paths],
    }
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
    return {
        name: subprocess.run(command, env=environment, capture_output=True, check=False, cwd=ROOT).stdout
        for name, command in commands.items()
    }


def different(fixtures: Path, folders: Sequence[str], random: Random, seeds: int = 21) -> Iterator[str]:
    """Says which program prints other bytes under another seed, for all fixtures and some files of the folders."""
    files = sorted(str(path) for folder in folders for path in Path(folder).rglob("*.py"))
    paths = [str(fixtures), *random.sample(files, min(40, len(files)))]
    first = outputs(paths, 0)
    for seed in range(1, seeds):
        for name, printed in outputs(paths, seed).items():
            if printed != first[name]:
                yield f"{name} prints other bytes under PYTHONHASHSEED={seed}"
