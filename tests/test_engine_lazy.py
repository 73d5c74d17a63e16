"""What the engine leaves alone: counted, since a test must not be timed."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from collections import Counter
from typing import Any

import libcst
import pytest

from flake8_tensorcopy import lint as lint_module
from flake8_tensorcopy import registry
from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine import analyse, analysis, buckets, generators, judging, telling
from flake8_tensorcopy.engine.edits.places import Places
from flake8_tensorcopy.engine.facts import Fact
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.region import Region
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.screens.effects import Sketches
from flake8_tensorcopy.engine.source import Survey, survey
from flake8_tensorcopy.lint import lint
from flake8_tensorcopy.plugin import Plugin
from tests.conftest import ROOT

ALL = frozenset(kind.__name__ for kind in Fact.__subclasses__() if kind.__module__.startswith("flake8_tensorcopy."))
STALE = """\
def {name}(x: torch.Tensor) -> torch.Tensor:
    old = x
    x.add_(1)
    return x - old
"""
SILENT = """\
def {name}(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.add_(1)
    return x - y
"""


def functions(*texts: str) -> str:
    return "\n\n".join(["import torch\n", *texts])


# The engine is not asked.


def test_a_text_without_torch_never_reaches_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ast.AST] = []
    monkeypatch.setattr(lint_module, "analyse", lambda tree, *rest: asked.append(tree))
    text = STALE.format(name="f").replace("torch", "tf")
    assert lint(ast.parse(text), text.splitlines(keepends=True), Options()) == []
    assert asked == []


# Functions are not run.

NOT_ENOUGH = {
    "only reads": ("StaleRead", "def f(x):\n    old = x\n    return old"),
    "only arithmetic": ("StaleRead", "def f(x, y):\n    return x + y * 2"),
    "no state_dict": ("StaleSnapshot", "def f(m, o):\n    best = m.weight\n    o.step()\n    return best"),
    "result taken": ("DroppedResult", "def f(x):\n    y = x.clamp(0)\n    return y"),
    "no expand": ("OverlappingWrite", "def f(x):\n    x.add_(1)\n    return x"),
    "expand only read": ("OverlappingWrite", "def f(x):\n    return x.expand(3, 4) + 1"),
    "detach without clone": ("CloneDetach", "def f(x):\n    return x.detach() + x.data"),
    "clone without detach": ("CloneDetach", "def f(x):\n    return x.clone() + 1"),
    "turned and reshaped": ("TurnedView", "def f(x):\n    return x.t().reshape(-1)"),
    "viewed and not turned": ("TurnedView", "def f(x):\n    return x.view(-1)"),
    "shape only unpacked": ("ScrambledAxes", "def f(x):\n    n, c = x.shape\n    return n * c"),
    "positive steps": ("NegativeStrides", "def f(x):\n    return torch.from_numpy(x[::2])"),
    "strides of a tensor": ("ByteStrides", "def f(x):\n    return x.as_strided(x.shape, x.stride())"),
    "bytes of no expanded": ("ExpandedBytes", "def f(x):\n    return x.nbytes"),
    "no move": ("HostScalar", "def f(x):\n    print(x.sum())\n    return x.item()"),
    "no pointer": ("PointerTest", "def f(x, y):\n    assert x is not y"),
    "no call of a writer": ("MutatedArgument", "def f(x):\n    x.add_(1)\n    return x"),
    "default without a write": ("SharedDefault", "def f(x, y=torch.ones(3)):\n    return x + y"),
    "write without a default": ("SharedDefault", "def f(x, y=3):\n    x.add_(y)\n    return x"),
    "nothing handed out": ("HandedOut", "def f(x):\n    x.add_(1)\n    return x + 1"),
    "clone of a name": ("RedundantClone", "def f(x):\n    return x.clone() + x[0].float()"),
    "clone of a view": ("RedundantClone", "def f(x):\n    return x.view(-1).clone() + x.detach().clone()"),
    "one cast": ("RedundantCast", "def f(x):\n    return x.view(-1).float()"),
    "detach before the move": ("MovedThenDetached", "def f(x):\n    return x.detach().cpu()"),
    "tensor of numbers": ("TensorOfTensor", "def f():\n    return torch.tensor([1, 2]), torch.tensor(3.0)"),
    "no repeat": ("RedundantRepeat", "def f(x):\n    return x.expand(2, -1)"),
    "joined once": ("GrownInLoop", "def f(xs):\n    for x in xs:\n        y = torch.cat([x, x])\n    return y"),
    "loop variable only read": ("DeadRebinding", "def f(xs):\n    for x in xs:\n        y = x + 1\n    return y"),
}
ENOUGH = {
    "alias and write": ("StaleRead", "def f(x):\n    old = x\n    x.add_(1)\n    return old"),
    "snapshot": ("StaleSnapshot", "def f(m, opt):\n    best = m.state_dict()\n    opt.step()\n    return best"),
    "result dropped": ("DroppedResult", "def f(x):\n    x.clamp(0)\n    return x"),
    "expand and write": ("OverlappingWrite", "def f(x):\n    x = x.expand(3, 4)\n    x += 1\n    return x"),
    "clone and detach": ("CloneDetach", "def f(x):\n    return x.clone().detach()"),
    "move": ("HostScalar", "def f(x):\n    return x.sum().cpu().item()"),
    "pointer": ("PointerTest", "def f(x, y):\n    assert x.data_ptr() != y.data_ptr()"),
    "default and write": ("SharedDefault", "def f(x, y=torch.ones(3)):\n    y += x\n    return y"),
    "stored and written": (
        "HandedOut",
        "def f(x, n):\n    a = []\n    for _ in n:\n        x += 1\n        a.append(x)",
    ),
    "hook": ("HandedOut", "def f(m, g):\n    m[0].register_forward_hook(g)"),
    "clone of a sum": ("RedundantClone", "def f(x):\n    return (x + 1).clone()"),
    "clone of a detached sum": ("RedundantClone", "def f(x):\n    return (x + 1).detach().clone()"),
    "clone before an index": ("RedundantClone", "def f(x):\n    return x.clone()[x > 0]"),
    "clone before a move": ("RedundantClone", "def f(x):\n    return x.clone().cpu()"),
    "two casts": ("RedundantCast", "def f(x):\n    return x.float().half()"),
    "move and detach": ("MovedThenDetached", "def f(x):\n    return x.cpu()[0].detach()"),
    "tensor of a name": ("TensorOfTensor", "def f(x: torch.Tensor):\n    return torch.tensor(x)"),
    "array in a call": ("FreshArrayCopied", "def f(x):\n    return torch.tensor(x.copy() * 2)"),
    "repeat": ("RedundantRepeat", "def f(x):\n    return x.repeat(2, 1) + 1"),
    "expand": ("MaterialisedExpand", "def f(x):\n    return x.expand(2, -1).clone() + 1"),
    "grown": ("GrownInLoop", "def f(xs, y):\n    for x in xs:\n        y = torch.cat([y, x])\n    return y"),
    "loop variable rebound": ("DeadRebinding", "def f(xs):\n    for x in xs:\n        x = x + 1"),
}


@pytest.mark.parametrize(("kind", "text"), NOT_ENOUGH.values(), ids=NOT_ENOUGH)
def test_a_function_without_a_trigger_is_not_run(ran: Counter[str], kind: str, text: str) -> None:
    assert analyse(ast.parse(functions(text)), frozenset({kind})).regions == []
    assert ran == {}


@pytest.mark.parametrize(("kind", "text"), ENOUGH.values(), ids=ENOUGH)
def test_a_function_with_a_trigger_is_run_once(ran: Counter[str], kind: str, text: str) -> None:
    analyse(ast.parse(functions(text)), frozenset({kind}))
    assert ran == {"f": 1}


def test_a_function_beside_one_with_a_trigger_is_not_run(ran: Counter[str]) -> None:
    text = functions(STALE.format(name="stale"), "def other(x):\n    return x + 1\n")
    analyse(ast.parse(text), ALL)
    assert ran == {"stale": 1}


def test_a_trigger_for_another_kind_does_not_count(ran: Counter[str]) -> None:
    text = functions(STALE.format(name="stale"), "def other(x):\n    return x.clone().detach()\n")
    analyse(ast.parse(text), frozenset({"CloneDetach"}))
    assert ran == {"other": 1}


def test_without_kinds_nothing_is_run(ran: Counter[str]) -> None:
    assert analyse(ast.parse(functions(STALE.format(name="stale"))), frozenset()).regions == []
    assert ran == {}


def test_a_called_function_is_run_once_for_all_its_callers(ran: Counter[str]) -> None:
    callers = [STALE.format(name=name).replace("x.add_(1)", "change(x)\n    x[0] = 1") for name in "abc"]
    text = functions("def change(t: torch.Tensor) -> None:\n    t.add_(1)\n", *callers)
    assert len(analyse(ast.parse(text), ALL).regions) == 3
    assert ran == {"change": 1, "a": 1, "b": 1, "c": 1}


def test_a_function_that_only_others_need_is_run_when_they_call_it(ran: Counter[str]) -> None:
    helper = "def twice(t: torch.Tensor) -> torch.Tensor:\n    return t * 2\n"
    analyse(ast.parse(functions(helper)), ALL)
    assert ran == {}
    caller = STALE.format(name="caller").replace("return x - old", "return twice(x) - old")
    analyse(ast.parse(functions(helper, caller)), ALL)
    assert ran == {"twice": 1, "caller": 1}


def test_a_method_may_have_its_trigger_in_init(ran: Counter[str]) -> None:
    """`self.relu(x)` is a write where `__init__` built `relu` to work in place."""
    text = functions(
        "from torch import nn\n",
        "class Block(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.relu = nn.ReLU({})\n\n"
        "    def forward(self, x):\n        skip = x\n        y = self.relu(x)\n        return y + skip\n",
    )
    analyse(ast.parse(text.format("")), frozenset({"StaleRead"}))
    assert ran["forward"] == 0
    analyse(ast.parse(text.format("inplace=True")), frozenset({"StaleRead"}))
    assert ran["forward"] == 1


ASKING = """\
def copied(value):
    return torch.tensor(value)


def caller(x: torch.Tensor) -> torch.Tensor:
    return copied(x * 2)


def other(x: torch.Tensor) -> torch.Tensor:
    return x * 2
"""


def test_only_a_fact_that_asks_has_the_callers_run(ran: Counter[str]) -> None:
    (part,) = analyse(ast.parse(functions(ASKING)), frozenset({"TensorOfTensor"})).regions
    assert ran == {"copied": 1, "caller": 1}
    assert [fact.form for fact in part.facts] == ["tensor"]  # type: ignore[attr-defined]
    ran.clear()
    analyse(
        ast.parse(functions(ASKING.replace("copied(value)", "copied(value: list[float])"))),
        frozenset({"RedundantClone"}),
    )
    assert ran == {}


# Units are not parsed.


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that LibCST has parsed."""
    texts: list[str] = []
    parse_module = libcst.parse_module

    def recorded(text: str, *rest: Any) -> libcst.Module:
        texts.append(text)
        return parse_module(text, *rest)

    monkeypatch.setattr(libcst, "parse_module", recorded)
    return texts


def findings_of(text: str) -> tuple[int, Region]:
    """How many findings there are, and the region after all rules have decided on it."""
    tree = ast.parse(text)
    analysis = analyse(tree, ALL)
    region = Region(text.splitlines(keepends=True), analysis.units, tree)
    count = 0
    for part in analysis.regions:
        for rule in registry.rules().values():
            if facts := [fact for fact in part.facts if type(fact).__name__ in rule.kinds]:
                count += len(list(rule.check(facts, region)))
    return count, region


def test_only_the_function_with_the_finding_is_parsed(parsed: list[str]) -> None:
    silent = [SILENT.format(name=f"silent_{number}") for number in range(20)]
    stale = STALE.format(name="stale")
    count, region = findings_of(functions(*silent[:10], stale, *silent[10:]))
    assert (count, region.parsed) == (1, 1)
    assert [text.strip() for text in parsed] == [stale.strip()]


def test_only_who_wants_repairs_has_regions_parsed_for_them(parsed: list[str]) -> None:
    text = functions("def f(x: torch.Tensor):\n    return x.exp().clone().detach()")
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    (without,) = lint(tree, lines, Options(), repairs=False)
    assert (without.fix, parsed) == (None, [])
    (found,) = lint(tree, lines, Options())
    assert found.fix is not None and found == without
    assert len(parsed) == 1


def test_the_plugin_wants_none(parsed: list[str]) -> None:
    text = functions("def f(x: torch.Tensor):\n    return x.exp().clone().detach()")
    found = list(Plugin(ast.parse(text), text.splitlines(keepends=True), "some.py").run())
    assert (len(found), parsed) == (1, [])


def test_two_findings_of_one_function_share_a_unit(parsed: list[str]) -> None:
    text = STALE.format(name="stale").replace("x.add_(1)", "x.add_(1)\n    x.mul_(2)")
    count, region = findings_of(functions(text, SILENT.format(name="silent")))
    assert (count, region.parsed, len(parsed)) == (2, 1, 1)


def test_every_function_with_a_finding_is_a_unit(parsed: list[str]) -> None:
    texts = [make.format(name=f"f{number}") for number, make in enumerate([STALE, SILENT, STALE, SILENT, STALE])]
    count, region = findings_of(functions(*texts))
    assert (count, region.parsed, len(parsed)) == (3, 3, 3)


def test_of_a_class_only_the_method_is_parsed(parsed: list[str]) -> None:
    methods = [
        text.format(name=name).replace("(x", "(self, x").replace("\n", "\n    ").rstrip(" ")
        for name, text in {"one": SILENT, "two": STALE, "three": SILENT}.items()
    ]
    count, region = findings_of(functions("class Model:\n    " + "\n    ".join(methods)))
    assert (count, region.parsed) == (1, 1)
    assert ["def two" in text and "def one" not in text and "def three" not in text for text in parsed] == [True]


def test_of_the_modules_own_statements_only_the_one_is_parsed(parsed: list[str]) -> None:
    count, region = findings_of(functions("x = torch.ones(3)", "old = x", "x.add_(1)", "print(x - old)"))
    assert (count, region.parsed) == (1, 1)
    assert [text.strip() for text in parsed] == ["old = x"]


def test_places_alone_parse_nothing(parsed: list[str]) -> None:
    text = functions(STALE.format(name="stale"))
    tree = ast.parse(text)
    analysis = analyse(tree, ALL)
    region = Region(text.splitlines(keepends=True), analysis.units, tree)
    (fact,) = analysis.regions[0].facts
    assert region.span(fact.site).line == region.line(fact.site) == 6
    assert region.step(fact.site, "here").span == region.span(fact.site)
    assert (region.parsed, parsed) == (0, [])


def test_lint_parses_nothing_where_there_are_no_facts(parsed: list[str]) -> None:
    text = functions(*(SILENT.format(name=f"silent_{number}") for number in range(5)))
    assert lint(ast.parse(text), text.splitlines(keepends=True), Options(preview=True)) == []
    assert parsed == []


# Nothing is walked twice, and nothing is imported for files in which nothing is to be run.


def test_the_survey_walks_each_function_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: Counter[str] = Counter()
    gather = buckets.gather

    def counted(nodes: Any) -> Any:
        nodes = list(nodes)
        walked.update(ast.unparse(node) for node in nodes)
        return gather(nodes)

    monkeypatch.setattr(telling, "gather", counted)
    text = functions(
        "x = 1", "def f():\n    def g():\n        y = 2\n    z = 3", "class C:\n    def m(self):\n        u = 4"
    )
    survey(ast.parse(text))
    assert walked == {"import torch": 1, "x = 1": 1, "def g():\n    y = 2": 1, "z = 3": 1, "u = 4": 1}


def test_what_the_survey_finds_is_what_a_whole_walk_finds() -> None:
    """Of each function by itself, so that inner functions count to the outer one."""
    for path in sorted((ROOT / "fixtures").glob("TSC*/*.py"))[::7]:
        for function in survey(ast.parse(path.read_text(encoding="utf-8"))).all:
            if isinstance(function.node, ast.Module):
                continue
            nodes = [node for one in function.node.body for node in ast.walk(one) if type(node) in buckets.TELLING]
            plain = [node for node in nodes if not _is_target_in_place(nodes, node)]
            held = [node for found in function.found.values() for node in found]
            assert Counter(held) == Counter(plain)


def _is_target_in_place(nodes: list[ast.AST], node: ast.AST) -> bool:
    """The attribute that an augmented assignment changes is not bound, and left out."""
    return any(
        isinstance(one, ast.AugAssign) and one.target is node and isinstance(node, ast.Attribute) for one in nodes
    )


def test_every_judge_has_its_facts() -> None:
    assert [judge.name for judge in analysis.JUDGES] == list(judging.FACTS)
    assert {judge.kind for judge in analysis.JUDGES} <= ALL


LOADED = """\
import ast, sys
from flake8_tensorcopy.plugin import Plugin
text = sys.argv[1]
print(len(list(Plugin(ast.parse(text), text.splitlines(keepends=True), "some.py").run())))
print(*(name.removeprefix("flake8_tensorcopy.") for name in sys.modules if name.startswith("flake8_tensorcopy.")))
"""
QUIET = """\
def {name}(x: torch.Tensor) -> torch.Tensor:
    return x + 1


class {name}Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 3

    def forward(self, x):
        return x * self.size
"""

# The index may be a number, or pick a copy.
FILLED = """\
def {name}(x: torch.Tensor, rows: list[int]) -> torch.Tensor:
    for row in rows:
        x[row].add_(1)
    return x
"""


@pytest.mark.parametrize(
    ("text", "count", "runs"), [(QUIET, 0, False), (SILENT, 0, False), (FILLED, 0, True), (STALE, 1, True)]
)
def test_the_interpreter_is_imported_only_where_something_is_run(text: str, count: int, runs: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, functions(text.format(name="f"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found, modules = done.stdout.splitlines()
    loaded = set(modules.split())
    assert int(found) == count
    late = {"engine.judging", "engine.module", "engine.run", "engine.flow", "engine.facts"}
    assert loaded & late == (late if runs else set())
    assert any(name.startswith("_rules.") for name in loaded) == (count > 0)
    assert len(loaded) < (220 if runs else 65)


# LibCST is not imported.

IMPORTED = """\
import ast, sys
from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine import analyse
from flake8_tensorcopy.lint import lint

def heavy():
    return sorted({"libcst", "numpy", "torch"} & set(sys.modules))

silent, stale = sys.argv[1:]
print(len(analyse(ast.parse(stale), frozenset({"StaleRead"})).regions), heavy())
print(len(lint(ast.parse(silent), silent.splitlines(keepends=True), Options())), heavy())
print(len(lint(ast.parse(stale), stale.splitlines(keepends=True), Options())), heavy())
"""


def test_libcst_is_imported_only_for_a_decision() -> None:
    texts = [functions(text.format(name="f")) for text in (SILENT, STALE)]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *texts], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.splitlines() == ["1 []", "0 []", "1 ['libcst']"]


# Repairs are not made.


def test_flake8_has_no_repairs_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings are the same without them, and no node is looked for that only an edit needs."""
    paths = sorted((ROOT / "fixtures").glob("TSC*/*.py"))[::5]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    with_fixes = [lint(ast.parse(text), text.splitlines(keepends=True), Options(preview=True)) for text in texts]
    assert any(finding.fix is not None for found in with_fixes for finding in found)

    def refuse(self: object, *_: object) -> None:
        raise AssertionError("an edit was made")

    monkeypatch.setattr(Places, "_node", refuse)
    for text, expected in zip(texts, with_fixes, strict=True):
        plugin = Plugin(ast.parse(text), text.splitlines(keepends=True), "some.py")
        monkeypatch.setattr(Plugin, "options", Options(preview=True))
        found = [(line, column, message) for line, column, message, _ in plugin.run()]
        assert found == [(one.span.line, one.span.column, f"{one.code} {one.message}") for one in expected]


# Loops, tests and stale reads are looked at once.


@pytest.mark.parametrize(("over", "loops"), [("n", 7), ("range(n)", 0), ("[n, n]", 0)])
def test_a_loop_inside_loops_is_looked_at_once(over: str, loops: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not at all unless what it goes over may be such as is gone through once."""
    looked: Counter[ast.AST] = Counter()
    leaves_early = generators.leaves_early

    def counted(node: Any) -> bool:
        looked[node] += 1
        return leaves_early(node)

    monkeypatch.setattr(generators, "leaves_early", counted)
    heads = [f"{'    ' * depth}for i{depth} in {over}:\n" for depth in range(1, 8)]
    text = functions("def f(x, n):\n    y = x\n" + "".join(heads) + "    " * 8 + "x.add_(1)\n    return y\n")
    assert len(analyse(ast.parse(text), frozenset({"StaleRead"})).regions) == 1
    assert len(looked) == loops and set(looked.values()) <= {1}


def test_a_read_that_is_no_stronger_makes_no_second_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    fact = Run.fact

    def counted(self: Run, one: Fact, *rest: Any, **named: Any) -> None:
        made.append(type(one).__name__)
        fact(self, one, *rest, **named)

    monkeypatch.setattr(Run, "fact", counted)
    text = functions("def f(x, p):\n    y = x\n    x.add_(1)\n" + "    p(y)\n" * 50)
    analyse(ast.parse(text), frozenset({"StaleRead"}))
    assert made.count("StaleRead") == 1


def test_an_analysis_leaves_little_to_the_garbage_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds itself is undone at the end: a collection goes through all that is left, and the tree of the file."""
    text = "import torch\nclass A:\n" + "".join(
        f"    def f{n}(self, x, y):\n        old = x\n        if y:\n            x.add_(self.f{n + 1}(y, 1))\n"
        "        return old, x\n"
        for n in range(50)
    )
    tree, kinds = ast.parse(text), frozenset({"StaleRead"})

    def left() -> int:
        gc.collect()
        assert analyse(tree, kinds).regions
        return gc.collect()

    gc.disable()
    try:
        after = left()
        for holder in (Survey, Sketches, Module):
            monkeypatch.setattr(holder, "release", lambda self: None)
        assert after * 10 < left()
    finally:
        gc.enable()
