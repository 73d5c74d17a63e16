"""Screens of what writes do: they hold back most functions, and none whose run gives a fact."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from flake8_tensorcopy.engine import analysis, module
from flake8_tensorcopy.engine.facts import Fact
from flake8_tensorcopy.engine.features import RENAMED
from flake8_tensorcopy.engine.screens import SCREENS
from flake8_tensorcopy.engine.screens.effects import Sketches
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.screens.trace import Trace
from flake8_tensorcopy.engine.source import Function, Survey, survey
from flake8_tensorcopy.verify.programs.grammar import write
from flake8_tensorcopy.verify.programs.writer import SIZE
from tests.conftest import ROOT

ALL = frozenset(kind.__name__ for kind in Fact.__subclasses__() if kind.__module__.startswith("flake8_tensorcopy."))
SOURCES = sorted([*(ROOT / "fixtures").glob("TSC*/*.py"), *(ROOT / "tests" / "golden").glob("*.py")])
# Of these, the screens also hold back what the rules reject in any case: `test_screens_values` looks at the others.
REJECTED = frozenset({"DeadRebinding", "DroppedResult"})


def facts_by_function(tree: ast.Module, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Survey, Function, set[str]]]:
    """The kinds of fact that each function gives, where all that has a trigger is run."""
    made: list[module.Module] = []

    class Kept(module.Module):
        def __init__(self, *given: object, **named: object) -> None:
            super().__init__(*given, **named)  # type: ignore[arg-type]
            made.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(module, "Module", Kept)
        for holder in (Survey, Sketches, Kept):
            patch.setattr(holder, "release", lambda self: None)
        patch.setattr(analysis, "SCREENS", {})
        analysis.analyse(tree, ALL)
    for one in made:
        known = set(one.survey.all)
        for function, run in one.runs.items():
            if run is not None and function in known:
                yield one.survey, function, {type(fact).__name__ for fact in run.facts.values()} - REJECTED


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_function_with_a_fact_is_held_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    held: list[tuple[str, str]] = []
    renamed = False
    sketches: Sketches | None = None
    for found, function, kinds in facts_by_function(tree, monkeypatch):
        if sketches is None:
            sketches = Sketches(found, analysis._inherited(found))
        sketch = sketches.of(function)
        if sketch.features & RENAMED:
            renamed = True  # is run in any case
            continue
        held += [(function.name, kind) for kind in sorted(kinds) if kind in SCREENS and not SCREENS[kind](sketch)]
    assert held == []
    assert sketches is not None or renamed or "torch" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_give_the_same_facts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def facts(tree: ast.Module) -> Counter[tuple[str, int, int]]:
        return Counter(
            (type(fact).__name__, fact.site.lineno, fact.site.col_offset)  # type: ignore[attr-defined]
            for part in analysis.analyse(tree, ALL - REJECTED).regions
            for fact in part.facts
        )

    seen = 0
    for number in range(20):
        tree = ast.parse(write(random.Random(100 * seed + number).randbytes(SIZE)).text)
        with_screens = facts(tree)
        with monkeypatch.context() as patch:
            patch.setattr(analysis, "SCREENS", {})
            assert facts(tree) == with_screens
        seen += sum(with_screens.values())
    assert seen > 20


HELD_BACK = {
    "nothing else has it": ("StaleRead", "def f(x):\n    y = torch.zeros(3)\n    y[0] = x\n    return y"),
    "the other name is not read again": ("StaleRead", "def f(x):\n    y = x.view(-1)\n    y.add_(1)\n    return y"),
    "bound anew before the write": (
        "StaleRead",
        "def f(x):\n    old = x\n    x = x + 1\n    x.add_(1)\n    return x - old",
    ),
    "on the other arm": (
        "StaleRead",
        "def f(x, a):\n    y = x\n    if a:\n        x.add_(1)\n    else:\n        return y\n    return 1",
    ),
    "an item of a dict": ("StaleRead", 'def f(x):\n    d = {}\n    old = d\n    d["k"] = x\n    return old'),
    "a count": ("StaleRead", "def f(xs):\n    n = 0\n    m = n\n    for x in xs:\n        n += 1\n    return m, n"),
    "an attribute that is a number": (
        "StaleRead",
        "class A:\n    def __init__(self):\n        self.n = 0\n    def f(self):\n        m = self.n\n"
        "        self.n += 1\n"
        "        return m",
    ),
    "made anew in each pass": (
        "HandedOut",
        "def f(xs):\n    seen = []\n    for x in xs:\n        y = torch.zeros(3)\n        y += x\n"
        "        seen.append(y)\n"
        "    return seen",
    ),
    "another storage after a product": (
        "SavedWrite",
        "def f(x, w):\n    y = x * w\n    x = x + 1\n    x += 2\n    return y + x",
    ),
    "no operation before it keeps it": ("SavedWrite", "def f(x, y):\n    z = x + y\n    z += 1\n    return z"),
    "no parameter": ("LeafWrite", "def f(x):\n    y = x + 1\n    y.mul_(2)\n    return y"),
    "an argument that is not converted": ("SharedWrite", "def f(x):\n    y = x[0]\n    y.add_(1)\n    return y"),
    "an index that makes a view": ("LostWrite", "def f(x):\n    x[0].add_(1)\n    return x"),
    "another tensor": ("SelfCopy", "def f(x, y):\n    x[1:] += y[:-1]\n    return x"),
    "the callee writes what it made": (
        "MutatedArgument",
        "def g(x):\n    y = x + 1\n    y.add_(1)\n    return y\ndef f(x):\n    y = g(x)\n    return x + y",
    ),
    "the call is for that": (
        "MutatedArgument",
        "def g(x):\n    x.add_(1)\n    return x\ndef f(x):\n    x = g(x)\n    return x",
    ),
    "one view": ("ForbiddenWrite", "def f(x):\n    y = x + 1\n    z = y.t()\n    z.add_(1)\n    return y"),
    "an initialisation": (
        "LeafWrite",
        "class A(nn.Module):\n    def __init__(self):\n        self.w = nn.Parameter(torch.ones(3))\n"
        "    def f(self):\n        nn.init.zeros_(self.w)",
    ),
    "an initialisation by a callee": (
        "LeafWrite",
        "def g(w):\n    nn.init.zeros_(w)\nclass A(nn.Module):\n    def __init__(self):\n"
        "        self.w = nn.Parameter(torch.ones(3))\n"
        "    def f(self):\n        g(self.w)",
    ),
    "a parameter, without grad": (
        "LeafWrite",
        "class A(nn.Module):\n    def __init__(self):\n        self.w = nn.Parameter(torch.ones(3))\n"
        "    @torch.no_grad()\n    def f(self):\n        self.w.mul_(2)",
    ),
    "a factor, in a block without grad": (
        "SavedWrite",
        "def f(x, w):\n    with torch.no_grad():\n        y = x * w\n    x += 1\n    return y + x",
    ),
    "a function of another library": (
        "StaleRead",
        "from lib import scale_\ndef f(x):\n    old = x\n    scale_(x)\n    return x - old",
    ),
    "not expanded": ("OverlappingWrite", "def f(x, y):\n    z = x.expand(3)\n    y.add_(1)\n    return y + z"),
    "a key put together": (
        "StaleRead",
        "def f(x, d, name):\n    old = d\n    d[name + '.weight'] = x\n    d['%s.bias' % name] = x\n    d[id(x)] = x\n"
        "    return old",
    ),
    "what a module holds by name": (
        "StaleRead",
        "def f(module, name, x):\n    old = module._buffers\n    module._buffers[name] = x\n    return old",
    ),
    "a truth": (
        "StaleRead",
        "def f(xs):\n    flag = False\n    was = flag\n    for x in xs:\n        flag |= torch.is_complex(x)\n"
        "        flag &= x.is_cuda\n"
        "    return flag, was",
    ),
    "a function inside that writes nothing": (
        "StaleRead",
        "def f(x, n):\n    old = x\n    def g(y):\n        return y.expand(n, 3)\n    z = g(x)\n    return old, z",
    ),
    "a gradient that nothing moves": (
        "StaleGradient",
        "def f(xs):\n    kept = []\n    for x in xs:\n        kept.append(x.grad)\n    return kept",
    ),
    "a gradient, and nothing is written": (
        "GradientWrite",
        "def f(x, loss):\n    g = x.grad\n    loss.backward()\n    return g, x.grad",
    ),
}
PASSES = {
    "read later": ("StaleRead", "def f(x):\n    old = x\n    x.add_(1)\n    return x - old"),
    "in the next pass": (
        "StaleRead",
        "def f(x, n):\n    old = x\n    for _ in n:\n        print(old)\n        x.add_(1)",
    ),
    "by a function inside": (
        "StaleRead",
        "def f(x):\n    old = x\n    def g():\n        return old\n    x.add_(1)\n    return g()",
    ),
    "in a list": ("StaleRead", "def f(x):\n    kept = [x]\n    x.add_(1)\n    return kept"),
    "what a callee gives back": (
        "StaleRead",
        "def g(x):\n    return x[0]\ndef f(x):\n    y = g(x)\n    y.add_(1)\n    return x + y",
    ),
    "what a callee writes": (
        "StaleRead",
        "def g(x):\n    x.add_(1)\ndef f(x):\n    old = x\n    g(x)\n    return old",
    ),
    "through an attribute": (
        "StaleRead",
        "class A:\n    def f(self):\n        old = self.x\n        self.x.add_(1)\n        return old",
    ),
    "another item": (
        "StaleRead",
        'def f(x):\n    d = {"a": x, "b": x}\n    d["a"].add_(1)\n    return d["b"] * 2',
    ),
    "what holds another item": ("StaleRead", "def f(x):\n    pair = (x, x)\n    pair[0].add_(1)\n    return pair"),
    "a method of an array": (
        "StaleRead",
        "def f(xs):\n    a = xs[1].numpy()\n    xs[1].data.add_(1)\n    return a.copy().sum()",
    ),
    "a view made anew in each pass": (
        "StaleRead",
        "def f(x, n):\n    for _ in n:\n        y = x.select(0, 2)\n        y[...] = 1",
    ),
    "an operand in the next pass": (
        "StaleRead",
        "def f(x, n):\n    kept = [x]\n    for _ in n:\n        torch.add(kept[0].clone(), 3, out=x)",
    ),
    "stored and rewritten": (
        "HandedOut",
        "def f(x, n):\n    seen = []\n    for _ in n:\n        x += 1\n        seen.append(x)\n    return seen",
    ),
    "a number at first": (
        "HandedOut",
        "def f(xs):\n    seen, total = [], 0\n    for x in xs:\n        total += x\n        seen.append(total)\n"
        "    return seen",
    ),
    "yielded": ("HandedOut", "def f(x, n):\n    for _ in n:\n        x += 1\n        yield x"),
    "yielded with a number": ("HandedOut", "def f(x, n):\n    for i in n:\n        x += 1\n        yield i, x"),
    "a factor": ("SavedWrite", "def f(x, w):\n    y = x * w\n    x += 1\n    return y + x"),
    "a result that is kept": ("SavedWrite", "def f(x):\n    y = x.exp()\n    y += 1\n    return y"),
    "a parameter": (
        "LeafWrite",
        "class A(nn.Module):\n    def __init__(self):\n        self.w = nn.Parameter(torch.ones(3))\n"
        "    def f(self):\n        self.w.mul_(2)",
    ),
    "a parameter, with grad again": (
        "LeafWrite",
        "class A(nn.Module):\n    def __init__(self):\n        self.w = nn.Parameter(torch.ones(3))\n"
        "    @torch.no_grad()\n    def f(self):\n        with torch.enable_grad():\n            self.w.mul_(2)",
    ),
    "a parameter, after a block without grad": (
        "LeafWrite",
        "class A(nn.Module):\n    def __init__(self):\n        self.w = nn.Parameter(torch.ones(3))\n"
        "    def f(self):\n        with torch.no_grad():\n            print(self.w)\n        self.w.mul_(2)",
    ),
    "a parameter, by a function inside": (
        "LeafWrite",
        "class A(nn.Module):\n    def __init__(self):\n        self.w = nn.Parameter(torch.ones(3))\n"
        "    @torch.no_grad()\n    def f(self):\n        def g():\n            self.w.mul_(2)\n        return g",
    ),
    "in place of an import": (
        "StaleRead",
        "from lib import scale_\ndef scale_(x):\n    x.mul_(2)\ndef f(x):\n    old = x\n    scale_(x)\n"
        "    return x - old",
    ),
    "perhaps the argument": ("SharedWrite", "def f(x):\n    y = x.cpu()\n    y.add_(1)\n    return y"),
    "an index that picks": ("LostWrite", "def f(x):\n    x[x > 0].add_(1)\n    return x"),
    "another part of it": ("SelfCopy", "def f(x):\n    x[1:] += x[:-1]\n    return x"),
    "an argument written by a callee": (
        "MutatedArgument",
        "def g(x):\n    x.add_(1)\n    return x.sum()\ndef f(x):\n    y = g(x)\n    return x + y",
    ),
    "one of several views": ("ForbiddenWrite", "def f(x):\n    a, b = (x + 1).chunk(2)\n    a.mul_(b)\n    return a"),
    "expanded": ("OverlappingWrite", "def f(x):\n    y = x.expand(3)\n    y.add_(1)\n    return y"),
    "an index put together": ("StaleRead", "def f(x, i):\n    old = x\n    x[i + 1] = 0\n    return old"),
    "a buffer of that name": (
        "StaleRead",
        "class A:\n    def __init__(self):\n        self._buffers = torch.zeros(3)\n"
        "    def f(self, i, x):\n        old = self._buffers\n        self._buffers[i] = x\n        return old",
    ),
    "a truth of each element": (
        "StaleRead",
        "def f(xs):\n    flag = torch.zeros(3)\n    was = flag\n    flag |= xs > 0\n    return flag, was",
    ),
    "a function inside that counts up": (
        "StaleRead",
        "def f(x):\n    old = x\n    def g(y):\n        y += 1\n        return y\n    z = g(x)\n    return old, z",
    ),
    "a function inside that calls another one": (
        "StaleRead",
        "def f(x):\n    old = x\n    def h(y):\n        y.add_(1)\n    def g(y):\n        h(y)\n        return y\n"
        "    z = g(x)\n"
        "    return old, z",
    ),
    "a gradient that backward adds to": (
        "StaleGradient",
        "def f(x, loss):\n    g = x.grad\n    loss.backward()\n    return g, x.grad",
    ),
    "a gradient that a function adds to": (
        "StaleGradient",
        "def g(model, x):\n    model(x).backward()\ndef f(model, x):\n    kept = x.grad\n    g(model, x)\n"
        "    return kept",
    ),
    "a gradient that a method of Lightning's adds to": (
        "StaleGradient",
        "def f(self, x, loss):\n    kept = x.grad\n    self.manual_backward(loss)\n    return kept",
    ),
    "a gradient that the object keeps": (
        "StaleGradient",
        "def clear(x):\n    x.grad.zero_()\nclass A:\n    def f(self, x):\n        if self.g is not None:\n"
        "            print(self.g)\n"
        "        self.g = x.grad",
    ),
    "a gradient that is written": ("GradientWrite", "def f(x):\n    g = x.grad\n    g.mul_(2)\n    return x"),
}


def passes(kind: str, text: str) -> bool:
    """Whether the screen of a kind lets the last function of a file pass, and a trigger does."""
    found = survey(ast.parse(f"import torch\nfrom torch import nn\n{text}\n"))
    function = found.all[-2]  # the last one is the module
    features = function.features
    triggered = any(features & need == need for need in analysis._TRIGGERS[kind])
    return triggered and SCREENS[kind](Sketches(found, analysis._inherited(found)).of(function))


@pytest.mark.parametrize(("kind", "text"), HELD_BACK.values(), ids=HELD_BACK)
def test_a_function_in_which_it_cannot_be_is_held_back(kind: str, text: str) -> None:
    assert not passes(kind, text)


@pytest.mark.parametrize(("kind", "text"), PASSES.values(), ids=PASSES)
def test_a_function_in_which_it_may_be_passes(kind: str, text: str) -> None:
    assert passes(kind, text)


def test_a_function_is_traced_once_for_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    from flake8_tensorcopy.engine.screens import trace

    traced: Counter[str] = Counter()

    class Counted(Trace):
        def __init__(self, sketch: Sketch) -> None:
            traced[sketch.function.name] += 1
            super().__init__(sketch)

    monkeypatch.setattr(trace, "Trace", Counted)
    text = (
        "import torch\ndef g(x):\n    x.add_(1)\n    return x\ndef f(x):\n    old = x\n    g(x)\n    x.mul_(2)\n"
        "    return old\n"
        "def quiet(d, x):\n    d['k'] = x\n    return d\n"
    )
    analysis.analyse(ast.parse(text), ALL)
    assert traced == {"f": 1, "g": 1}


def test_calls_of_one_another_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the chain of calls, and however it turns back."""
    chain = "".join(f"def f{n}(x):\n    x.add_(1)\n    return f{(n + 1) % 400}(x)\n" for n in range(400))
    analysis.analyse(ast.parse(f"import torch\n{chain}"), ALL)
