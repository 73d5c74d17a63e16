"""The wheel, the checkout and the editable install hold the same rules and fixtures."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.conftest import ROOT, copied, run_flake8

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SHIPPED = {"rules": "flake8_tensorcopy._rules", "fixtures": "flake8_tensorcopy._fixtures"}
DETACH = "import torch\n\n\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return x.clone().detach()\n"
ASK = """\
import sys
from pathlib import Path
import flake8_tensorcopy
from flake8_tensorcopy import registry
print(Path(flake8_tensorcopy.__file__).parent)
print(*registry.rules())
fixtures = registry.shipped("fixtures")
print(*sorted(path.relative_to(fixtures).as_posix() for path in fixtures.rglob("*.py")))
"""


def python_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))


RULES = sorted(path.name[:6].upper() for path in (ROOT / "rules").glob("tsc*.py"))
FIXTURES = python_files(ROOT / "fixtures")


def ask(python: str, cwd: Path, path: Path | None = None) -> tuple[Path, list[str], list[str]]:
    """Where a fresh interpreter finds the package, and which rules and fixtures it finds there."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        env["PYTHONPATH"] = str(path)
    shown = subprocess.run([python, "-c", ASK], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    where, rules, fixtures = shown.stdout.split("\n")[:3]
    return Path(where), rules.split(), fixtures.split()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is built, so that no build touches, or profits from, leftovers in the working tree."""
    return copied(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with the setuptools of this environment: the dev group holds one that is new enough."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(folder)]
    build = [sys.executable, "-m", "pip", "wheel", *options, "."]
    done = subprocess.run(build, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's content, to be put on the path."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_package_list_is_the_tree() -> None:
    folders = {path.parent for path in (ROOT / "flake8_tensorcopy").rglob("*.py")}
    tree = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == tree | set(SHIPPED.values())
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {package: folder for folder, package in SHIPPED.items()}


def test_rules_and_fixtures_are_no_packages_of_their_own() -> None:
    assert list(ROOT.glob("rules/**/__init__.py")) == list(ROOT.glob("fixtures/**/__init__.py")) == []


def test_dependencies_are_few_and_uncapped() -> None:
    assert PROJECT["project"]["dependencies"] == ["flake8>=7", "libcst>=1.5", "rich>=13"]
    assert PROJECT["project"]["requires-python"] == ">=3.11"


def test_the_wheel_holds_everything_and_installs_one_name(wheel: Path, installed: Path) -> None:
    assert wheel.name == "flake8_tensorcopy-0.1.0-py3-none-any.whl"
    info = "flake8_tensorcopy-0.1.0.dist-info"
    assert sorted(path.name for path in installed.iterdir()) == ["flake8_tensorcopy", info]
    packed = installed / "flake8_tensorcopy"
    inside = {name for name in python_files(packed) if not name.startswith(("_rules/", "_fixtures/"))}
    assert inside == set(python_files(ROOT / "flake8_tensorcopy"))
    assert python_files(packed / "_rules") == python_files(ROOT / "rules")
    assert python_files(packed / "_fixtures") == FIXTURES
    assert (packed / "py.typed").is_file()
    assert (packed / "evidence.json").read_bytes() == (ROOT / "flake8_tensorcopy/evidence.json").read_bytes()
    assert (packed / "engine" / "ops.tsv").read_bytes() == (ROOT / "flake8_tensorcopy/engine/ops.tsv").read_bytes()
    assert (installed / info / "licenses" / "LICENSE").is_file()
    entry_points = (installed / info / "entry_points.txt").read_text()
    assert "TSC = flake8_tensorcopy.plugin:Plugin" in entry_points
    assert "tensorcopy = flake8_tensorcopy.__main__:main" in entry_points


def test_there_is_something_to_find() -> None:
    assert RULES and FIXTURES and len(set(RULES)) == len(RULES)


def test_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    assert ask(sys.executable, tmp_path, installed) == (installed / "flake8_tensorcopy", RULES, FIXTURES)
    (tmp_path / "detach.py").write_text(DETACH)
    run = run_flake8("--isolated", "--select=TSC", cwd=tmp_path, env={"PYTHONPATH": str(installed)})
    assert run.places == [("detach.py", 5, 12, "TSC601")]


def test_from_the_wheel_in_the_checkouts_folder(installed: Path, checkout: Path, tmp_path: Path) -> None:
    assert ask(sys.executable, checkout, installed) == (checkout / "flake8_tensorcopy", RULES, FIXTURES)
    (tmp_path / "detach.py").write_text(DETACH)
    options = ("--isolated", "--select=TSC", str(tmp_path / "detach.py"))
    run = run_flake8(*options, cwd=checkout, env={"PYTHONPATH": str(installed)})
    assert run.codes == ["TSC601"]


def test_from_an_editable_install(checkout: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", symlinks=os.name != "nt")
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = str(scripts / Path(sys.executable).name)
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    # The tools come from this environment; what it holds editable, perhaps this very project, does not.
    borrowed = {str(distribution(name).locate_file("")) for name in ("flake8", "libcst", "pip", "setuptools")}
    (Path(site) / "borrowed.pth").write_text("\n".join(sorted(borrowed)))
    options = ["--ignore-installed", "--no-build-isolation", "--no-deps", "--no-index"]
    install = [python, "-m", "pip", "install", *options, "-e", str(checkout)]
    done = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ask(python, tmp_path) == (checkout / "flake8_tensorcopy", RULES, FIXTURES)
    (tmp_path / "detach.py").write_text(DETACH)
    run = run_flake8("--isolated", "--select=TSC", "detach.py", cwd=tmp_path, python=python)
    assert run.places == [("detach.py", 5, 12, "TSC601")]
