"""Which part may import which: the arrows run one way, and the lint path stays light."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = "flake8_tensorcopy"


@dataclass(frozen=True)
class Import:
    """One imported module, or name of a module; `late` inside a function, `typing` under TYPE_CHECKING."""

    name: str
    late: bool
    typing: bool


def imports(path: Path) -> list[Import]:
    """All imports of a file; `from a import b` counts as `a.b`, since `b` may be a module."""

    def walk(node: ast.AST, late: bool, typing: bool) -> Iterator[Import]:
        match node:
            case ast.Import(names=names):
                yield from (Import(name.name, late, typing) for name in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                assert level == 0 and module is not None, f"{path}: relative imports hide where an arrow points"
                yield from (Import(f"{module}.{name.name}", late, typing) for name in names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from (found for child in node.body for found in walk(child, late, True))
                yield from (found for child in node.orelse for found in walk(child, late, typing))
                return
        late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, late, typing)

    return list(walk(ast.parse(path.read_text(encoding="utf-8")), False, False))


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def part_of(path: Path) -> str:
    """`rules`, `engine`, `verify`, or the module's own name at the top of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0] if parts[0] != PACKAGE else parts[1]


# What of the package, and what from outside the standard library, each part may import.
OWN: dict[str, tuple[str, ...]] = {
    "__init__": (),
    "__main__": ("cli",),
    "atomic": (),
    "baseline": ("atomic", "engine", "report", "selection"),
    "changes": ("engine", "selection"),
    "cli": ("commands", "config", "engine", "explain", "lsp", "registry", "report", "terminal", "verify"),
    "commands": (
        "atomic",
        "baseline",
        "changes",
        "config",
        "configfiles",
        "engine",
        "explain",
        "files",
        "processes",
        "registry",
        "report",
        "selection",
        "settings",
        "terminal",
    ),
    "configfiles": ("config", "registry", "report", "selection", "settings"),
    "files": ("atomic", "config", "engine", "fixes", "lint", "noqa", "notebooks", "report", "selection", "settings"),
    "lsp": (
        "config",
        "configfiles",
        "engine",
        "explain",
        "files",
        "fixes",
        "lint",
        "lsp",
        "noqa",
        "registry",
        "report",
        "selection",
        "settings",
    ),
    "magics": (),
    "noqa": ("engine",),
    "notebooks": ("engine", "fixes", "magics"),
    "processes": ("terminal",),
    "report": ("engine", "report"),
    "selection": ("settings",),
    "settings": ("config",),
    "terminal": (),
    "engine": ("engine",),
    "rules": ("engine",),
    "config": (),
    "explain": ("engine",),
    "fixes": ("engine",),
    "registry": ("engine",),
    "lint": ("config", "engine", "registry"),
    "plugin": ("config", "lint", "registry"),
    "verify": ("atomic", "config", "engine", "fixes", "lint", "registry", "terminal", "verify"),
}
OUTSIDE: dict[str, tuple[str, ...]] = {
    "cli": ("rich",),
    "configfiles": ("flake8",),
    "engine": ("libcst",),
    "lint": ("libcst",),
    "lsp": ("lsprotocol", "pygls"),
    "noqa": ("flake8",),
    "plugin": ("flake8",),
    "report": ("rich",),
    "selection": ("flake8",),
    "terminal": ("rich",),
    "verify": ("expecttest", "hypothesis", "numpy", "rich", "torch", "torchgen"),
}
MODULES = sorted([*(ROOT / PACKAGE).rglob("*.py"), *(ROOT / "rules").glob("*.py")])
EVERY = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


def test_every_part_is_listed() -> None:
    assert {part_of(path) for path in MODULES} == set(OWN)


@EVERY
def test_imports_of_the_package_follow_the_arrows(path: Path) -> None:
    allowed = [f"{PACKAGE}.{part}" for part in OWN[part_of(path)]]
    own = {found.name for found in imports(path) if within(found.name, PACKAGE)}
    assert {name for name in own if not within(name, *allowed)} == set()


@EVERY
def test_imports_from_outside_are_the_parts_own(path: Path) -> None:
    allowed = OUTSIDE.get(part_of(path), ())
    foreign = {
        found.name
        for found in imports(path)
        if found.name.split(".")[0] not in sys.stdlib_module_names and not within(found.name, PACKAGE)
    }
    assert {name for name in foreign if not within(name, *allowed)} == set()


# What costs much to import is imported inside functions, or by modules that are themselves imported only there.
COSTLY = ("expecttest", "hypothesis", "libcst", "lsprotocol", "numpy", "pygls", "rich", "torch", "torchgen")
LATE = (
    f"{PACKAGE}.engine.edits",
    f"{PACKAGE}.engine.units",
    f"{PACKAGE}.lsp",
    f"{PACKAGE}.verify.opcheck",
    f"{PACKAGE}.verify.preload",
    f"{PACKAGE}.verify.programs",
    f"{PACKAGE}.verify.sim",
    f"{PACKAGE}.verify.watch",
)


@EVERY
def test_what_is_costly_is_imported_only_when_called(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    early = {found.name for found in imports(path) if not found.late and not found.typing}
    if not within(module, *LATE):
        assert {name for name in early if within(name, *COSTLY, *LATE)} == set()


@EVERY
def test_of_libcsts_metadata_only_positions_are_used(path: Path) -> None:
    allowed = {"CodePosition", "CodeRange", "MetadataWrapper", "PositionProvider"}
    metadata = {found.name for found in imports(path) if within(found.name, "libcst.metadata")}
    assert {name for name in metadata if name.rpartition(".")[2] not in allowed} == set()
    heavy = {found.name for found in imports(path) if within(found.name, "libcst.matchers", "libcst.codemod")}
    assert heavy == set()


def test_the_walk_sees_what_it_must(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text(
        "from typing import TYPE_CHECKING\nimport a.b as c\n"
        "if TYPE_CHECKING:\n    from d import e\nelse:\n    import f\n"
        "class C:\n    import g\n    def m(self):\n        if self:\n            from h.i import j, k\n"
    )
    assert imports(file) == [
        Import("typing.TYPE_CHECKING", False, False),
        Import("a.b", False, False),
        Import("d.e", False, True),
        Import("f", False, False),
        Import("g", False, False),
        Import("h.i.j", True, False),
        Import("h.i.k", True, False),
    ]
