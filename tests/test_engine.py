"""The golden functions: what the engine says of each, line by line, and what torch says of the same lines.

`golden/*.py` are programs that run.  A comment at the end of a line (or alone on the lines below it) states

- `# fact: Kind key=value ... | flag -flag field=value`: the engine finds this fact here.  Before the bar stand the
  fields of `KEYS`, always; behind it those of its other fields that the function is about: present, absent, equal.
  A line without such a mark has no fact.
- `# moves: a, b`: running the statement changes the tensors (or what is in the containers) that a and b were before.
- `# stays: a, b`: it does not.
- `# raises: Error`: torch refuses the statement.

Above a function or class:

- `# run: expression`: how it is called under torch, where the annotations of its parameters do not say it;
- `# todo: reason`: the engine does not say what is true yet;
- `# todo-trigger: reason`: it does, but not where it first asks whether the function is worth a run.

Most facts make a claim about torch by themselves (`CLAIMS`): a stale read that its reader moves, a lost write that the
tensor stays.  Names that begin with `_` are helpers, run only through others.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import subprocess
import sys
import tokenize
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy.engine import analyse, facts
from flake8_tensorcopy.engine.dump import KEYS, dump
from flake8_tensorcopy.engine.facts import Fact
from tests.conftest import ROOT

FOLDER = Path(__file__).parent / "golden"
KINDS = frozenset(KEYS)
MARK = re.compile(r"# (fact|moves|stays|raises|run|todo|todo-trigger): ")


@dataclass(frozen=True)
class Mark:
    """One statement of a comment: `word` says which, `text` is the rest."""

    line: int
    word: str
    text: str

    @property
    def named(self) -> list[str]:
        return [name.strip() for name in self.text.split(",")]


@dataclass(frozen=True)
class Case:
    """A top-level function or class of a golden file, with the marks in it and above it."""

    path: Path
    name: str
    first: int
    last: int
    marks: tuple[Mark, ...] = field(repr=False)

    def all(self, word: str) -> list[Mark]:
        return [mark for mark in self.marks if mark.word == word]


@cache
def read(path: Path) -> tuple[str, ast.Module]:
    text = path.read_text(encoding="utf-8")
    return text, ast.parse(text)


def marks_of(path: Path) -> Iterator[Mark]:
    code = 0
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                _, *parts = MARK.split(token.string)
                for word, text in zip(parts[::2], parts[1::2], strict=True):
                    yield Mark(token.start[0] if word in ("run", "todo", "todo-trigger") else code, word, text.strip())
            elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                code = token.end[0]


@cache
def cases() -> tuple[Case, ...]:
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        marks = list(marks_of(path))
        end = 0
        for node in read(path)[1].body:
            first, end = end + 1, node.end_lineno or node.lineno
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = tuple(mark for mark in marks if first <= mark.line <= end)
                found.append(Case(path, node.name, first, end, inside))
    return tuple(found)


# What the engine says.


@cache
def found_in(path: Path, everywhere: bool) -> tuple[Fact, ...]:
    """The facts of a file; `everywhere` by running every function, which a kind without triggers asks for."""
    analysis = analyse(read(path)[1], KINDS | {"Fact"} if everywhere else KINDS)
    assert analysis.problem is None
    return tuple(fact for region in analysis.regions for fact in region.facts)


def line_of(node: ast.AST) -> int:
    assert isinstance(node, ast.expr | ast.stmt)
    return node.lineno


def projection(fact: Fact) -> str:
    """The fields that are always stated."""
    kind = type(fact).__name__
    return " ".join([kind, *(f"{key}={getattr(fact, key)}" for key in KEYS[kind])])


def flags_of(fact: Fact) -> dict[str, str]:
    """All fields of the fact as its dump shows them; `yes` for a flag."""
    shown = dump([fact]).partition(": ")[2]
    names = list(fact.field_names)
    parts = re.split(rf"(?:^| )({'|'.join(names)})=", shown)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def said(term: str, flags: dict[str, str]) -> str:
    """What the fact says where the expectation says `term`: the same text if it agrees."""
    name, equals, _ = term.removeprefix("-").partition("=")
    if equals:
        return f"{name}={flags.get(name, '')}"
    return name if name in flags else f"-{name}"


def rendered(case: Case, everywhere: bool = True) -> list[str]:
    """The engine's facts in the words of the expectations."""
    terms: dict[tuple[int, str], list[list[str]]] = {}
    for mark in case.all("fact"):
        text, _, more = mark.text.partition(" | ")
        terms.setdefault((mark.line, text), []).append(more.split())
    lines = []
    for fact in found_in(case.path, everywhere):
        line = line_of(fact.site)
        if case.first <= line <= case.last:
            text = projection(fact)
            asked = terms.get((line, text), [[]])
            flags = flags_of(fact)
            shown = [said(term, flags) for term in (asked.pop(0) if len(asked) > 1 else asked[0])]
            lines.append(f"{line}: {text}" + (f" | {' '.join(shown)}" if shown else ""))
    return sorted(lines)


def parameters(todo: str = "", helpers: bool = True) -> list[Any]:
    """Every case; those with the mark `todo` are known to fail."""
    found = []
    for case in cases():
        if helpers or not case.name.startswith("_"):
            reasons = [mark.text for mark in case.all(todo)]
            marks = [pytest.mark.xfail(strict=True, reason=reason) for reason in reasons]
            found.append(pytest.param(case, marks=marks, id=f"{case.path.stem}-{case.name}"))
    return found


@pytest.mark.parametrize("case", parameters(todo="todo"))
def test_facts(case: Case) -> None:
    expected = sorted(f"{mark.line}: {mark.text}" for mark in case.all("fact"))
    assert "\n".join(rendered(case)) == "\n".join(expected)


@pytest.mark.parametrize("case", parameters(todo="todo-trigger"))
def test_what_is_not_run_has_no_facts(case: Case) -> None:
    assert "\n".join(rendered(case, everywhere=False)) == "\n".join(rendered(case))


def test_the_golden_functions_show_every_kind_of_fact() -> None:
    assert set(KEYS) == {kind.__name__ for kind in Fact.__subclasses__() if kind.__module__.startswith(facts.__name__)}
    stated = {mark.text.split()[0] for case in cases() for mark in case.all("fact")}
    assert stated == KINDS
    for name, keys in KEYS.items():
        assert set(keys) <= set(getattr(facts, name).field_names)


def test_every_mark_stands_where_it_is_read() -> None:
    read_ = [mark for case in cases() for mark in case.marks]
    assert len(read_) == sum(1 for path in FOLDER.glob("*.py") for _ in marks_of(path))
    assert len({case.name for case in cases()}) == len(cases()), "names are unique, so that the files can be joined"


# Whether two runs agree.

DUMP = """\
import ast, random, sys
from flake8_tensorcopy.engine import analyse
from flake8_tensorcopy.engine.dump import dump
from flake8_tensorcopy.engine.facts import Fact

kinds = frozenset(kind.__name__ for kind in Fact.__subclasses__())
text = sys.stdin.read()
chance = random.Random(sys.argv[1])
kept = []
for _ in range(2):
    kept.append([bytearray(chance.randrange(500)) for _ in range(chance.randrange(1000))])
    print(dump(fact for part in analyse(ast.parse(text), kinds).regions for fact in part.facts))
    print("end")
"""


def test_the_dump_depends_on_nothing_but_the_text() -> None:
    """Neither on the seed of the hash, which orders sets of strings, nor on addresses, which order sets of objects."""
    joined = "\n\n".join(read(path)[0] for path in sorted(FOLDER.glob("*.py")))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", DUMP, str(seed)],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONUTF8": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for seed in range(6)
    ]
    dumps = [dump for process in running for dump in process.communicate(joined, timeout=120)[0].split("end\n")[:-1]]
    assert [process.returncode for process in running] == [0] * 6
    assert len(dumps) == 12
    assert len(dumps[0].splitlines()) > 200
    differing = {line for other in dumps for line in set(other.splitlines()) ^ set(dumps[0].splitlines())}
    assert sorted(differing) == []
    assert set(dumps) == {dumps[0]}


# What torch says.


@dataclass
class Claim:
    """What one statement does under torch, over all its executions."""

    ran: int = 0
    changed: dict[str, list[bool]] = field(default_factory=dict)
    raised: list[str] = field(default_factory=list)
    recording: list[bool] = field(default_factory=list)
    after: dict[str, list[Any]] = field(default_factory=dict)


# What a fact says about torch, by its fields: which names the statement moves, and which it leaves alone.
CLAIMS: dict[str, tuple[str, str]] = {
    "StaleRead": ("moves", "reader"),
    "SharedWrite": ("moves", "owner_name"),
    "JoinedWrite": ("moves", "kept"),
    "AccumulatedItem": ("moves", "collection"),
    "LostWrite": ("stays", "base"),
    "DroppedResult": ("stays", "receiver"),
    "DeadRebinding": ("stays", "name"),
}


@dataclass
class Stated:
    """The claims about one line."""

    moves: list[str] = field(default_factory=list)
    stays: list[str] = field(default_factory=list)
    raises: list[str] = field(default_factory=list)
    said: bool = False  # by marks: the facts add nothing
    silent: bool = False
    leaves: list[str] = field(default_factory=list)  # are leaves after the statement no more
    shares: list[tuple[str, str]] = field(default_factory=list)
    recording: bool | None = None
    graph: list[tuple[str, bool]] = field(default_factory=list)

    @property
    def before(self) -> list[str]:
        return [*self.moves, *self.stays, *(name for name, _ in self.graph)]

    @property
    def after(self) -> list[str]:
        return [*self.leaves, *(name for pair in self.shares for name in pair)]


def stated(case: Case) -> dict[int, Stated]:
    found: dict[int, Stated] = {}
    for mark in case.marks:
        one = found.setdefault(mark.line, Stated())
        if mark.word in ("moves", "stays", "raises"):
            getattr(one, mark.word).extend(mark.named)
            one.said = one.said or mark.word != "raises"
    for mark in case.all("fact"):
        _claims_of_fact(mark, found[mark.line])
    return found


def _claims_of_fact(mark: Mark, one: Stated) -> None:
    text, _, more = mark.text.partition(" | ")
    kind, _, rest = text.partition(" ")
    parts = re.split(rf"(?:^| )({'|'.join(KEYS[kind])})=", rest)[1:]
    keys, flags = dict(zip(parts[::2], parts[1::2], strict=True)), more.split()
    match kind:
        case "OverlappingWrite" if "silent" in flags:
            one.silent = True
        case "OverlappingWrite" if "-silent" in flags:
            one.raises.append("RuntimeError")
        case "LeafRebound" if keys["reason"] == "parameter":
            one.raises.append("TypeError")
        case "LeafRebound":
            one.leaves.append(keys["target"])
        case "ReboundData":
            one.shares.append((keys["target"], keys["value"]))
        case "CloneDetach":
            asked = [term for term in flags if term.removeprefix("-") == "recording"]
            one.recording = asked[0] == "recording" if asked else None
            one.graph += [(keys["receiver"], term == "graph") for term in flags if term.removeprefix("-") == "graph"]
        case _ if kind in CLAIMS:
            side, key = CLAIMS[kind]
            if not one.said and _is_expression(keys[key]):
                getattr(one, side).append(keys[key])


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


class _Instrument(ast.NodeTransformer):
    """Puts the probe around every simple statement that a claim is made about."""

    def __init__(self, wanted: dict[int, Stated]) -> None:
        self.wanted = wanted

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.stmt) or hasattr(node, "body"):
            return self.generic_visit(node)
        lines = [line for line in self.wanted if node.lineno <= line <= (node.end_lineno or node.lineno)]
        if not lines:
            return node
        before, after = (_taken(getattr(self.wanted[lines[0]], side)) for side in ("before", "after"))
        text = (
            f"_probe.before({lines[0]}, {before})\n"
            f"try:\n    pass\nexcept BaseException as _error:\n    _probe.raised({lines[0]}, _error)\n    raise\n"
            f"finally:\n    _probe.after({lines[0]}, {after})\n"
        )
        first, guarded = ast.parse(text).body
        assert isinstance(guarded, ast.Try)
        guarded.body = [node]
        return [first, guarded]


def _taken(names: list[str]) -> str:
    return "{" + ", ".join(f"{name!r}: lambda: {name}" for name in names) + "}"


class Probe:
    """Looks at the named values before and after a statement."""

    def __init__(self) -> None:
        self.claims: dict[int, Claim] = {}
        self.held: dict[int, list[dict[str, tuple[Any, list[Any]]]]] = {}

    def before(self, line: int, names: dict[str, Callable[[], Any]]) -> None:
        import torch

        claim = self.claims.setdefault(line, Claim())
        claim.ran += 1
        claim.recording.append(torch.is_grad_enabled())
        now = {name: (value, _contents(value)) for name, value in self._values(names)}
        for name, (value, _) in now.items():
            claim.after.setdefault(f"{name}.requires_grad", []).append(getattr(value, "requires_grad", None))
        self.held.setdefault(line, []).append(now)

    def raised(self, line: int, error: BaseException) -> None:
        self.claims[line].raised += [one.__name__ for one in type(error).__mro__]

    def after(self, line: int, names: dict[str, Callable[[], Any]]) -> None:
        claim = self.claims[line]
        for name, (value, contents) in self.held[line].pop().items():
            claim.changed.setdefault(name, []).append(not _same(contents, _contents(value)))
        for name, value in self._values(names):
            claim.after.setdefault(name, []).append(value)

    @staticmethod
    def _values(names: dict[str, Callable[[], Any]]) -> Iterator[tuple[str, Any]]:
        for name, get in names.items():
            try:
                yield name, get()
            except (NameError, KeyError, IndexError, AttributeError):
                continue  # not bound yet, in the first pass of a loop


def _contents(value: Any) -> list[Any]:
    """Copies of the tensors and arrays in a value."""
    import numpy as np
    import torch

    match value:
        case torch.Tensor():
            return [value.detach().clone()]
        case np.ndarray():
            return [torch.from_numpy(value.copy())]
        case torch.nn.Module():
            return _contents(list(value.state_dict().values()))
        case dict():
            return _contents(list(value.values()))
        case list() | tuple():
            return [part for item in value for part in _contents(item)]
    return [value]


def _same(one: list[Any], other: list[Any]) -> bool:
    import torch

    return len(one) == len(other) and all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) else a is b or a == b
        for a, b in zip(one, other, strict=True)
    )


@cache
def loaded(path: Path) -> tuple[dict[str, Any], Probe]:
    """The golden file as a module, with the probe around the claims."""
    wanted = {line: one for case in cases() if case.path == path for line, one in stated(case).items()}
    tree = _Instrument(wanted).visit(ast.parse(read(path)[0]))
    probe = Probe()
    namespace: dict[str, Any] = {"__name__": path.stem, "_probe": probe}
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), namespace)
    return namespace, probe


def arguments(case: Case) -> Iterator[list[Any]]:
    """Arguments by annotation: every combination of booleans, a tensor where nothing is said."""
    import numpy as np
    import torch

    def tensor() -> torch.Tensor:
        return torch.arange(1.0, 17.0).reshape(4, 4)

    makers: dict[str, Callable[[], Any]] = {
        "": tensor,
        "torch.Tensor": tensor,
        "th.Tensor": tensor,
        "int": lambda: 2,
        "float": lambda: 0.5,
        "str": lambda: "k",
        "list[torch.Tensor]": lambda: [tensor(), tensor() + 1, tensor() + 2],
        "dict[str, torch.Tensor]": lambda: {"a": tensor(), "k": tensor() + 1},
        "np.ndarray": lambda: np.arange(1, 17, dtype=np.float32).reshape(4, 4),
        "nn.Linear": lambda: torch.nn.Linear(4, 4),
    }
    node = next(node for node in read(case.path)[1].body if getattr(node, "name", "") == case.name)
    assert isinstance(node, ast.FunctionDef)
    names = ["" if a.annotation is None else ast.unparse(a.annotation) for a in node.args.args]
    choices = [[True, False] if name == "bool" else [name] for name in names]
    for choice in itertools.product(*choices):
        yield [makers[one]() if isinstance(one, str) else one for one in choice]


@pytest.mark.torch
@pytest.mark.parametrize("case", parameters(helpers=False))
def test_claims(case: Case) -> None:
    """Torch does what the facts and the marks say of each statement."""
    torch = pytest.importorskip("torch")
    namespace, probe = loaded(case.path)
    wanted = stated(case)
    expected = {error for one in wanted.values() for error in one.raises}
    torch.manual_seed(0)
    texts = [mark.text for mark in case.all("run")]
    calls = [partial(eval, text, namespace) for text in texts] or [
        partial(namespace[case.name], *given) for given in arguments(case)
    ]
    for call in calls:
        try:
            with warnings.catch_warnings(action="ignore"):
                call()
        except Exception as error:
            assert expected & {one.__name__ for one in type(error).__mro__}, f"{case.name} raised {error!r}"
        finally:
            torch.set_grad_enabled(True)
    for line, one in wanted.items():
        claim = probe.claims.get(line, Claim())
        if not (one.before or one.after or one.raises or one.silent or one.recording is not None):
            continue
        assert claim.ran, f"line {line} was never reached"
        for name in one.moves:
            assert any(claim.changed.get(name, [])), f"line {line}: {name} stays"
        for name in one.stays:
            assert claim.changed.get(name), f"line {line}: {name} was never there"
            assert not any(claim.changed[name]), f"line {line}: {name} moves"
        assert set(one.raises) <= set(claim.raised), f"line {line}: raised {claim.raised}"
        assert one.raises or not claim.raised, f"line {line}: raised {claim.raised}"
        for name in one.leaves:
            assert [value.is_leaf for value in claim.after[name]] == [False] * len(claim.after[name])
        for left, right in one.shares:
            pairs = zip(claim.after[left], claim.after[right], strict=True)
            assert all(a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for a, b in pairs)
        if one.recording is not None:
            assert set(claim.recording) == {one.recording}, f"line {line}: grad mode {claim.recording}"
        for name, graph in one.graph:
            assert set(claim.after[f"{name}.requires_grad"]) == {graph}, f"line {line}: {name} on the graph"
