"""Each peer in an environment of its own, made with venv and pip in a cache outside the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tensorcopy-benchmarks"

# Of a checkout, what its wheel is made of.
SOURCES = ("flake8_tensorcopy", "rules", "fixtures", "pyproject.toml", "README.md", "LICENSE")

# What is installed where, beside this plugin.  TorchFix 0.7 takes no LibCST from 1.6 on: this plugin is measured with
# its LibCST as well.
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "flake8": ("flake8",),
    "plugin": ("flake8", "libcst"),
    "plugin, LibCST < 1.6": ("flake8", "libcst<1.6"),
    "plugin before": ("flake8", "libcst"),
    "TorchFix": ("flake8", "torchfix==0.7.0"),
    "torch-preflight": ("torch-preflight==0.5.0",),
    "ruff": ("ruff",),
}


def environment(name: str, checkout: Path = ROOT) -> Path:
    """The folder of an environment's programs, made where it is not there yet; the plugin is installed anew."""
    folder = CACHE / "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    requirements = REQUIREMENTS[name]
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != "\n".join(requirements):
        print(f"making the environment of {name} in {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip(programs, *requirements)
        stamp.write_text("\n".join(requirements), encoding="utf-8")
    if name.startswith("plugin"):
        # A wheel, as users have it, built from a copy: the checkout stays as it is.
        with tempfile.TemporaryDirectory() as copy:
            for source in SOURCES:
                if (checkout / source).is_dir():
                    shutil.copytree(checkout / source, Path(copy, source))
                else:
                    shutil.copy(checkout / source, copy)
            pip(programs, copy)
    return programs


def pip(programs: Path, *arguments: str) -> None:
    """Install into an environment; nothing is said unless it fails."""
    done = subprocess.run(
        [str(programs / "python"), "-m", "pip", "install", "--quiet", *arguments], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"pip install {' '.join(arguments)} failed:\n{done.stderr}")


def versions(programs: Path) -> str:
    """The packages of an environment that matter, with their versions."""
    done = subprocess.run(
        [str(programs / "python"), "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    )
    shown = ("flake8", "libcst", "torchfix", "torch-preflight", "ruff")
    return ", ".join(sorted(line for line in done.stdout.split() if line.lower().split("==")[0].startswith(shown)))
