"""Reads fixtures; running them is for `probes`, and only that needs torch.

A fixture is a file of `fixtures/TSCNNN/`: a docstring, `CLAIM = "<kind>"` with a kind of `CLAIMS`, and functions
`bad_x` and `good_x` that need no arguments.  What a function returns depends on the claim:

- `values`: `(what torch gives, what the author meant)`.
- `raises`: anything; what counts is whether torch raises or warns with a text that `RAISES = "<regular expression>"`
  matches, so that no other mistake passes for it.
- `storage`: `(a, b, shared)`, where `shared` is what the program takes to be true of the tensors `a` and `b`.
- `trains`: `(before, after)`: copies of tensors, and the tensors themselves once the program should have moved them.
- `gradients`: `(loss, leaves, meant)`: a scalar, the leaves to differentiate it by, and the gradients that were meant.
- `graph`: any result that is to be had without a graph, or with a smaller one.
- `memory`: any result; what counts is how many bytes lived at once while it was made.
- `transfers`: any result; what is printed belongs to it.

`DEVICES = "host: <reason>"` says that the claim holds in host memory only, `"accelerator: <reason>"` that it does on
devices only, `"simulated: <reason>"` that a real device shows it only now and then; without it the fixture runs on
every device, with that device as torch's default.

The fixtures of `fixtures/tables/` belong to no rule.  They claim a `table`: their docstring shows it in Markdown, and a
function `row_x` for each of its rows makes the tensors that are measured (see `tables`).
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLAIMS = ("values", "raises", "storage", "trains", "gradients", "graph", "memory", "transfers", "table")
_WHERE = ("host", "accelerator", "simulated")
MARK_KINDS = ("expect", "expect-preview", "path", "todo", "todo-ok")
_MARK = re.compile(r"#\s*(expect-preview|expect|path|todo-ok|todo):\s*(TSC\d{3}(?:\s*,\s*TSC\d{3})*)\b\s*([^#]*)")
_LOOKS_LIKE_A_MARK = re.compile(r"#\s*(?:expect|path|todo)\b", re.IGNORECASE)


class FixtureError(ValueError):
    """A fixture that breaks the shape of fixtures: file, line where there is one, and what is wrong."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """What a fixture says about one of its lines: a kind of MARK_KINDS, a code, and a note."""

    line: int
    code: str
    kind: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One fixture file: its text, its claim, its marks in source order, and its functions in source order.

    `host_only` says why the claim holds in host memory only, `device_only` why it does not hold there, `sim_only` why
    a real device does not show it either; they are empty where it holds on every device.  `refusal` is a regular
    expression: what torch says when it raises or warns, for the claim that it does.  `fixed` names the functions that
    had the bug before the linter repaired the text (see `proofs`); no file on disk has any.
    """

    path: Path
    source: str
    claim: str
    marks: tuple[Mark, ...]
    bad: tuple[str, ...]
    good: tuple[str, ...]
    rows: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    host_only: str = ""
    device_only: str = ""
    sim_only: str = ""
    refusal: str = ""

    @property
    def rule(self) -> str:
        """The code of the rule that the fixture belongs to: the name of its folder."""
        return self.path.absolute().parent.name

    @property
    def label(self) -> str:
        """Folder and name, as it is written on the command line: `TSC101/batches`."""
        return f"{self.rule}/{self.path.stem}"

    @property
    def digest(self) -> str:
        """The SHA-256 of the text, by which evidence knows what it is evidence of."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions to measure, those with the bug first; of a repaired text the repaired ones."""
        return self.rows or self.fixed or self.bad + self.good

    def lines(self, *kinds: str, code: str | None = None) -> list[tuple[int, str]]:
        """The sorted (line, code) of the marks of these kinds, of one code if it is given."""
        return sorted((m.line, m.code) for m in self.marks if m.kind in kinds and code in (None, m.code))


def pair(name: str) -> str:
    """The function that a function is measured against: `good_x` of `bad_x` and the other way round."""
    side, _, rest = name.partition("_")
    return f"{'good' if side == 'bad' else 'bad'}_{rest}"


def load(path: Path) -> Fixture:
    """Reads a fixture without running it.

    Raises FixtureError where the file cannot be read or has not the shape of a fixture.
    """
    try:
        source = path.read_text(encoding="utf-8-sig")
        tree = ast.parse(source, str(path))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise FixtureError(f"{path}: {error}") from error
    except (MemoryError, RecursionError) as error:  # which Python's parser raises
        raise FixtureError(f"{path}: it is nested too deeply to be parsed") from error
    claims, devices = _texts(tree, "CLAIM"), _texts(tree, "DEVICES")
    if len(claims) != 1 or claims[0] not in CLAIMS:
        raise FixtureError(f"{path}: CLAIM must be given once, as one of {', '.join(CLAIMS)}")
    where, _, reason = devices[0].partition(":") if devices else ("", "", "")
    if len(devices) > 1 or (devices and (where not in _WHERE or not reason.strip())):
        raise FixtureError(f'{path}: DEVICES must be given at most once, as "host: <reason>", or {_WHERE[1:]}')
    refusal = _texts(tree, "RAISES")
    if len(refusal) != (claims[0] == "raises") or not _is_pattern(refusal):
        raise FixtureError(f"{path}: RAISES must be a regular expression, given once where the claim is 'raises'")
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    names = [node.name for node in functions]
    bad, good, rows = (tuple(name for name in names if name.startswith(side)) for side in ("bad_", "good_", "row_"))
    for node in functions:
        if node.name in bad + good + rows and (problem := _unfit(node, names)):
            raise FixtureError(f"{path}:{node.lineno}: {node.name} {problem}")
    if not (rows if claims[0] == "table" else bad + good):
        raise FixtureError(f"{path}: there is no function to measure for the claim {claims[0]!r}")
    marks, reason = tuple(_marks(path, source)), reason.strip()
    host, device, sim = (reason if where == one else "" for one in _WHERE)
    return Fixture(path, source, claims[0], marks, bad, good, rows, (), host, device, sim, "".join(refusal))


def _is_pattern(texts: list[str]) -> bool:
    try:
        return all(re.compile(text) and text for text in texts)
    except re.error:
        return False


def load_all(folder: Path, pattern: str = "TSC*") -> list[Fixture]:
    """The fixtures in the folders below `folder` whose names fit the pattern, in the order of their paths."""
    return [load(path) for path in sorted(folder.glob(f"{pattern}/*.py"))]


def _texts(tree: ast.Module, name: str) -> list[str]:
    """The texts that a name is given at the top of a file; empty for what is no text."""
    texts = []
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            match getattr(node, "value", None):
                case ast.Constant(value=str(text)):
                    texts.append(text)
                case _:
                    texts.append("")
    return texts


def _unfit(function: ast.FunctionDef | ast.AsyncFunctionDef, names: list[str]) -> str:
    """Why a function cannot be measured; empty if it can."""
    given = function.args
    if len(given.posonlyargs + given.args) > len(given.defaults) or None in given.kw_defaults:
        return "must need no arguments"
    if isinstance(function, ast.AsyncFunctionDef):
        return "must be no coroutine"
    return "is defined twice" if names.count(function.name) > 1 else ""


def _marks(path: Path, source: str) -> Iterator[Mark]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        found = list(_MARK.finditer(token.string))
        if len(found) != len(_LOOKS_LIKE_A_MARK.findall(token.string)):
            raise FixtureError(f"{path}:{line}: no mark can be read from {token.string!r}")
        for match in found:
            for code in match[2].split(","):
                yield Mark(line, code.strip(), match[1], match[3].strip())
