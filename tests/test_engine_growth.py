"""The work of the engine grows with the code and no faster: counted, since a test must not be timed."""

from __future__ import annotations

import ast
import random
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from benchmarks import shapes
from flake8_tensorcopy.engine import analyse, analysis, blocks, flow, state
from flake8_tensorcopy.engine.facts import Fact
from flake8_tensorcopy.engine.screens import SCREENS
from flake8_tensorcopy.engine.state import State
from tests.conftest import ROOT

ALL = frozenset(kind.__name__ for kind in Fact.__subclasses__() if kind.__module__.startswith("flake8_tensorcopy."))

# Ten times the size: at most so many times the work.
MOST = 11


@pytest.fixture
def without_screens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every function: a screen may hold back a small one, or one that writes to nothing."""
    monkeypatch.setattr(analysis, "SCREENS", {})


def calls_made(tree: ast.Module) -> int:
    """How many functions an analysis calls, those of the interpreter and each step of a generator among them."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        analyse(tree, ALL)
    finally:
        sys.setprofile(before)
    return count


def lines_run(tree: ast.Module) -> int:
    """How many lines an analysis runs, those of a loop or comprehension in each of its passes."""
    count = 0

    def traced(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        analyse(tree, ALL)
    finally:
        sys.settrace(before)
    return count


SIZES: dict[Callable[[int], str], int] = {
    shapes.alternatives: 30,
    shapes.cases: 30,
    shapes.exits: 30,
    shapes.attributes: 30,
    shapes.returning: 10,
    shapes.trainings: 20,
    shapes.heads: 10,
}


@pytest.mark.usefixtures("without_screens")
@pytest.mark.parametrize("shape", SIZES, ids=lambda shape: shape.__name__)
def test_the_work_grows_with_the_code(shape: Callable[[int], str]) -> None:
    size = SIZES[shape]
    few, many = (ast.parse(shape(number)) for number in (size, 10 * size))
    analyse(few, ALL)  # what is remembered between files
    assert calls_made(many) <= MOST * calls_made(few)


# Many writes in one function, where many names are bound.
LONG: dict[Callable[[int], str], int] = {
    shapes.one_function: 1200,
    shapes.straight: 1200,
    shapes.guarded: 1200,
    shapes.rewritten: 120,
    shapes.branches: 120,
    shapes.appended: 120,
    shapes.loops: 40,
    shapes.calls: 40,
    shapes.carried: 40,
    shapes.composed: 40,
    shapes.closures: 200,
    shapes.methods: 40,
    shapes.answers: 100,
}


@pytest.mark.parametrize(
    ("shape", "size"), [*SIZES.items(), *LONG.items()], ids=lambda given: getattr(given, "__name__", "")
)
def test_the_work_of_the_screens_grows_with_the_code(
    shape: Callable[[int], str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "_passes", lambda sketch, kinds: [one(sketch) for one in SCREENS.values()] and False)
    few, many = (ast.parse(shape(number)) for number in (size, 10 * size))
    analyse(few, ALL)
    assert calls_made(many) <= MOST * calls_made(few)


# Where there are thousands of one thing.  What is counted has screens and runs in it, as under flake8.
MANY: dict[Callable[[int], str], int] = {
    shapes.copied: 60,
    shapes.expression: 60,
    shapes.inheriting: 40,
    shapes.loops: 70,
    shapes.merged: 70,
    shapes.methods_on: 60,
    shapes.optimizers: 40,
    shapes.summed: 40,
    shapes.yielded: 120,
}


@pytest.mark.parametrize("shape", MANY, ids=lambda shape: shape.__name__)
def test_the_work_grows_with_the_number_of_things(shape: Callable[[int], str]) -> None:
    size = MANY[shape]
    few, many = (ast.parse(shape(number)) for number in (size, 10 * size))
    analyse(few, ALL)
    assert calls_made(many) <= MOST * calls_made(few)


def attributes_of_one_another(size: int) -> str:
    lines = "".join(f"    self.a{n} = self.b{n}.detach()\n" for n in range(size))
    return shapes.HEAD + "def f(self, x: torch.Tensor):\n" + lines + "    self.b0.add_(1)\n    return x\n"


@pytest.mark.parametrize(
    ("shape", "size"),
    [(shapes.composed, 70), (shapes.table, 60), (attributes_of_one_another, 120)],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_loops_grow_with_the_number_of_things(shape: Callable[[int], str], size: int) -> None:
    few, many = (ast.parse(shape(number)) for number in (size, 10 * size))
    analyse(few, ALL)
    assert lines_run(many) <= MOST * lines_run(few)


# Lines that come again and again in one function, with another number each time; then lines at its end.
LINES = {
    "items of one write": ("    kept{n} = x[{n}]\n", "    x.add_(1)\n    return [{names}]\n", "kept{n}"),
    "functions inside": (
        "    def g{n}():\n        x.add_({n})\n        return g{n} if y{n} else x\n    y{n} = g{n}\n",
        "",
        "",
    ),
    "copies of modules": ("    m{n} = copy.copy(x)\n    m{n}.weight.data.add_(1)\n", "    return m0\n", ""),
    "shapes": ("    y{n} = x.view(b, h, c, w)\n    z{n} = x.permute(0, 2, 1, 3).reshape(b, c)\n", "", ""),
    "expanded": ("    e{n} = x{n}.expand({n}, 3)\n    e{n}[0] = 1\n", "    return e0\n", ""),
    "indices": ("    for i in a:\n        for j in i:\n            x[i, j] += x[j, {n}]\n", "    return x\n", ""),
    "optimizers in one loop": ("        m{n}(x).sum().backward()\n        o[{n}].step()\n", "    return x\n", ""),
    "one tensor in one loop": ("        y = x\n        x = torch.relu(x)\n        x += y\n", "    return x\n", ""),
    "loops over one list": ("    for x in a:\n        out.append(x)\n        x.add_({n})\n", "    return out\n", ""),
}
IN_LOOP = "    for x in a:\n"


@pytest.mark.parametrize("kind", LINES)
def test_the_work_grows_with_the_lines_of_a_function(kind: str) -> None:
    def text(times: int) -> ast.Module:
        lines, end, name = LINES[kind]
        names = ", ".join(name.replace("{n}", str(n)) for n in range(times))
        head = "import copy\nimport torch\n\ndef f(self, x: torch.Tensor, a, b, c, h, w, m, o, out):\n"
        head += IN_LOOP if lines.startswith("        ") else ""
        body = "".join(lines.replace("{n}", str(n)) for n in range(times))
        return ast.parse(head + body + end.replace("{names}", names))

    few, many = text(60), text(600)
    analyse(few, ALL)
    assert calls_made(many) <= MOST * calls_made(few)


# Functions whose statements are repeated one after the other.
REPEATED = {
    "order_of_sizes": "tests/golden/layout.py",
    "repeated_otherwise": "tests/golden/layout.py",
    "_given_without_graph": "tests/golden/graph.py",
    "retained_in_a_row": "tests/golden/graph.py",
    "train": "fixtures/TSC113/forms.py",
    "one_step": "fixtures/TSC406/loops.py",
    "bad_named_parameters": "fixtures/TSC205/updates.py",
    "two_tables": "fixtures/TSC117/tables.py",
    "_attend": "fixtures/TSC416/kept.py",
    "generator_used_in_each_pass": "tests/golden/updates.py",
}
DIVERGENCE = """\
import torch
from torch.nn import functional as F

def divergence(p, q):
    batch, channels, rows, columns = p.shape
    p = p.reshape(batch * channels, rows * columns)
    q = q.reshape(batch * channels, rows * columns)
    empty = (p == 0) & (q >= 0)
    p = p.masked_fill(empty, 1.0)
    q = q.masked_fill(empty, 1.0)
    found = F.kl_div(q.log(), p)
    return found.sum(-1).view(batch, channels)
"""


def repeated(text: str, name: str, times: int) -> ast.Module:
    """A file of which a function is longer: its statements, but those that return, come again and again."""
    tree = ast.parse(text)
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    kept = [ast.unparse(node) for node in function.body if not isinstance(node, (ast.Return, ast.Raise))]
    function.body = ast.parse("\n".join(kept * times)).body
    others = (ast.ClassDef, ast.FunctionDef)
    tree.body = [
        node for node in tree.body if not isinstance(node, others) or any(one is function for one in ast.walk(node))
    ]
    return ast.parse(ast.unparse(tree))


@pytest.mark.parametrize("screened", [True, False], ids=["screens", "runs"])
@pytest.mark.parametrize("name", [*REPEATED, "divergence"])
def test_the_work_grows_with_what_is_repeated(name: str, screened: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if screened:
        ask = [*SCREENS.values()]
        monkeypatch.setattr(analysis, "_passes", lambda sketch, kinds: [one(sketch) for one in ask] and False)
    else:
        monkeypatch.setattr(analysis, "SCREENS", {})
    text = (ROOT / REPEATED[name]).read_text(encoding="utf-8") if name in REPEATED else DIVERGENCE
    few, many = (repeated(text, name, times) for times in (15, 150))
    analyse(few, ALL)
    assert calls_made(many) <= 5 * MOST * calls_made(few)  # each run looks back at some of what was before it


# An expression around another one, as often as one likes: what is called, given or indexed is gone through once.
NESTED = {
    "chain in place": "{}.add_(1)",
    "functions in place": "F.relu({}, inplace=True)",
    "methods of attributes": "g({}).w.add_(1)",
    "function inside": "h({}[0])",
    "function of the file": "g({}[0])",
    "index of an item": "z[g({})]",
    "out": "torch.add(z[{}], 1, out=x)",
    "put into a list": "z.append(g({})[0])",
    "conditional": "({} if z else x.add_(1))",
    "views": "{}.view(2, -1).t()",
    "views that are written": "{}.view(2, -1).add_(1)",
    "methods of tensors and arrays": "{}.to(z).copy().add_(1)",
}
AROUND = """\
import torch
import torch.nn.functional as F

def g(a):
    a.add_(1)
    return a

def f(x: torch.Tensor, z):
    def h(a):
        a.add_(1)
        return a
    old = x
    y = {}
    return old + y
"""


@pytest.mark.parametrize("form", NESTED.values(), ids=NESTED)
def test_expressions_in_expressions_are_gone_through_once(form: str) -> None:
    def nested(times: int) -> ast.Module:
        text = "x"
        for _ in range(times):
            text = form.replace("{}", text)
        return ast.parse(AROUND.replace("{}", text))

    analyse(nested(2), ALL)
    assert calls_made(nested(24)) <= 100 * calls_made(nested(4))  # a million times, were it to double with each


FILES = [
    "fixtures/TSC418/counters.py",
    "fixtures/TSC405/meters.py",
    "fixtures/TSC416/kept.py",
    "fixtures/TSC115/next_call.py",
    "tests/golden/parameters.py",
]


def copies(text: str, times: int) -> ast.Module:
    """A file that comes again and again, its functions and classes under other names each time."""
    defined = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names = "|".join(sorted(defined - {"forward", "step"}, key=len, reverse=True))
    plain = text.replace("from __future__ import annotations\n", "")
    return ast.parse("\n".join(re.sub(rf"\b(?!__)({names})\b", rf"\1_{n}", plain) for n in range(times)))


@pytest.mark.usefixtures("without_screens")
@pytest.mark.parametrize("path", FILES)
def test_the_work_grows_with_the_functions_of_a_file(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    few, many = copies(text, 2), copies(text, 20)
    analyse(few, ALL)
    assert calls_made(many) <= 1.5 * MOST * calls_made(few)


@pytest.mark.usefixtures("without_screens")
@pytest.mark.parametrize("shape", [shapes.alternatives, shapes.cases, shapes.exits], ids=lambda shape: shape.__name__)
def test_a_path_does_not_remember_every_test_that_it_passed(
    shape: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 0
    written = State.add_write

    def counted(self: State, *rest: Any) -> None:
        nonlocal most
        most = max(most, len(self.arms))
        written(self, *rest)

    monkeypatch.setattr(State, "add_write", counted)
    analyse(ast.parse(shape(900)), frozenset({"StaleRead"}))
    assert 0 < most <= blocks.PLAIN + 3 * blocks.BLOCK <= 64  # a block of blocks of blocks holds them all


@pytest.mark.usefixtures("without_screens")
def test_a_handler_begins_with_a_few_of_very_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = []
    for size in (600, 6000):
        joins = 0
        join = state.join

        def counted(*given: Any) -> State | None:
            nonlocal joins
            joins += 1
            return join(*given)  # noqa: B023

        with monkeypatch.context() as patched:
            patched.setattr(state, "join", counted)
            analyse(ast.parse(shapes.guarded(size)), frozenset({"StaleRead"}))
        joined.append(joins)
    assert 0 < joined[0] and joined[1] <= state.MAX_REACHING + 1


# However many tests there are, what is found does not depend on how their arms are kept and paths are joined.

BODIES = (
    "x.add_({n})",
    "y = x",
    "z = x.view({n}, -1)",
    "y = z = x.clone()",
    "use(y, x)",
    "return y",
    "raise ValueError(z)",
    "y.mul_(2)",
    "t{n} = x[{n}]",
    "z = [x, y]",
    "self.kept = x",
    "pass",
)
AFTER = (
    "use(x, y)",
    "use(z)",
    "x.add_(y)",
    "if k == {n}:\n        use(y, z)",
    "z = y if k == {n} else x",
    "use(self.kept)",
)


def chain(seed: int, kind: str) -> str:
    """A function with a row of random branches, and random statements after them."""
    chance = random.Random(seed)
    count = chance.randrange(70, 120 if kind == "try" else 300)
    quiet = chance.choice((0.2, 0.9, 0.97))
    lines = ["def f(self, x: torch.Tensor, k):", "    y = x.clone()", "    z = x", "    x.add_(1)"]
    head, inner = {
        "elif": ("    {first}if k == {n}:", "        "),
        "match": ("        case {n}:", "            "),
        "if": ("    if k == {n}:", "        "),
        "try": ("", "        "),
    }[kind]
    lines += {"match": ["    match k:"], "try": ["    try:"]}.get(kind, [])
    for n in range(count):
        body = "pass" if chance.random() < quiet else chance.choice(BODIES)
        if kind == "try" and body.startswith(("return", "raise")):
            body = f"if k == {n}:\n            {body}"
        lines += [head.format(first="el" if n else "", n=n)] if head else []
        lines.append(inner + body.format(n=n))
    lines += ["    except ValueError:", "        use(y, z)"] if kind == "try" else []
    lines += ["    " + chance.choice(AFTER).format(n=chance.randrange(count)) for _ in range(8)]
    return "\n".join(["import torch\n", *lines, "    return x, y, z\n"])


def facts(text: str) -> list[str]:
    return [ast_free(fact) for part in analyse(ast.parse(text), ALL).regions for fact in part.facts]


def ast_free(fact: Fact) -> str:
    """A fact as text, with lines for nodes."""
    names = sorted(name for one in type(fact).__mro__ for name in getattr(one, "__slots__", ()))
    told = {name: getattr(fact, name) for name in names}
    shown = {name: f"line {one.lineno}" if isinstance(one, ast.stmt | ast.expr) else one for name, one in told.items()}
    return f"{type(fact).__name__} {shown}".split(" object at ")[0]


@pytest.mark.parametrize("kind", ["elif", "match", "if", "try"])
@pytest.mark.parametrize("seed", range(8))
def test_blocks_and_joins_of_neighbours_change_nothing(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = chain(seed, kind)
    found = facts(text)
    for where, name in ((blocks, "PLAIN"), (flow, "PLAIN"), (state, "FEW")):
        monkeypatch.setattr(where, name, 10**9)
    assert found == facts(text)
