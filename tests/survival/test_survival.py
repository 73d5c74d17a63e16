"""The part of the long run that each run of the suite tries: the same inputs each time, of every kind."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine import flow, nodes
from flake8_tensorcopy.lint import lint
from tests.conftest import ROOT
from tests.survival import inputs, odd, seeds, shapes
from tests.survival.beside import compared
from tests.survival.isolated import Judge
from tests.survival.judge import judged
from tests.survival.shapes import DEEP, WIDE


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """Judges in a process of its own: an input that ends the interpreter fails its test and no other one."""
    with Judge() as judge:
        yield judge


@pytest.mark.parametrize("name", DEEP)
def test_what_is_deep_is_survived(judge: Judge, name: str) -> None:
    """At every depth, up to the first that Python itself does not parse."""
    for size in (12, 95, 190, 2_900):
        verdict = judge(DEEP[name](size).encode(), limit=1_000)
        assert (size, verdict.complaints) == (size, [])
        if verdict.kind == "unparsed":
            break
        assert "TSC601" in verdict.codes


@pytest.mark.parametrize("name", WIDE)
def test_what_is_wide_is_survived(judge: Judge, name: str) -> None:
    for size in (12, 200 if name in SLOW else 1_000):
        verdict = judge(WIDE[name](size).encode(), limit=1_000)
        assert (size, verdict.complaints) == (size, [])
        assert "TSC601" in verdict.codes


SLOW = ("functions", "methods", "blocks_try", "blocks_with", "blocks_for", "views", "writes", "one_line", "statements")


def test_what_is_deep_is_survived_where_the_stack_is_small() -> None:
    """As in a thread of an editor: LibCST would end the interpreter at a tenth of what Python parses."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_SMALL_THREAD], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "done\n")


IN_A_SMALL_THREAD = """\
import threading
from tests.survival.judge import judged
from tests.survival.shapes import DEEP
def run():
    for name in ("parentheses", "calls", "tuples", "ifs", "functions", "sum", "method_chain", "pattern_dicts"):
        complaints = judged(DEEP[name](90).encode(), limit=0).complaints
        assert not complaints, (name, complaints)
    print("done")
threading.stack_size(512 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def unrepaired(text: str) -> bool:
    """Whether what is found in the first function has no repair; all is found that is found without repairs."""
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    found = lint(tree, lines, Options())
    bare = lint(tree, lines, Options(), repairs=False)
    assert [(one.span, one.code, one.message) for one in found] == [(one.span, one.code, one.message) for one in bare]
    *inside, beside = (one for one in found if one.code == "TSC601")
    assert beside.fix is not None
    assert inside and all(one.code != "TSC000" for one in found)
    (without,) = {one.fix is None for one in inside}
    return without


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("match y:\n        case [[[[[[[[c]]]]]]]]:\n            pass", False),
        ("match y:\n        case [[[[[[[[[c]]]]]]]]]:\n            pass", True),
        ("match y:\n        case A({1: [B(c, [((((1))))])]}) if c:\n            pass", True),  # which ast does not show
        ("match y:\n        case c if f(((((((((c))))))))):\n            pass", False),
        ("match f(((((((((y))))))))):\n        case 1:\n            pass", False),
        ("match y:\n        case 1: f(((((((((c)))))))))", False),
        ("match y:\n        case '((((((((((' | '[[[[[[[[[[':\n            pass", False),
        ("del (((((((((x,),),),),),),),),)", True),
        ("c = 1; del [[[[[[[[[x]]]]]]]]]", True),
        ("del x", False),
        ("case = del_ = f(((((((((y)))))))))", False),
        ("x[(((((((((0)))))))))] = y.delete", False),
    ],
)
def test_patterns_and_deletions_that_take_libcst_for_ever_have_no_repairs(statement: str, refused: bool) -> None:
    """Its time doubles at least with each bracket there: thirty of them take an hour."""
    assert unrepaired(shapes.function(statement)) == refused


@pytest.mark.parametrize(
    "name", ["disjunction", "iterations", "elifs", "dotted_import_in_function", "default_sum", "decorator_sum"]
)
def test_where_libcst_nests_and_ast_does_not(name: str) -> None:
    """The interpreter would end in LibCST, or what LibCST raises would take the findings of the whole file along."""
    build = {**DEEP, **WIDE, **shapes.BRANCHES}.get(name)
    text = build(310) if build else shapes.function(f"import {'.'.join(['a'] * 310)}")
    assert unrepaired(text)


LAYERS = "torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True))"
# What Python or torch would refuse when it runs, or would run and nobody writes.
ODD = {
    "a loop over a lambda": "for y in (lambda a, b: x):\n    found.append(y.grad)\n    y.grad.zero_()",
    "select of nothing": "x.t().select().view(x.size(0), -1)",
    "narrow of nothing": "x.t().narrow().view(x.size(0), -1)",
    "a dict that holds itself": "held = {'x': x}\nheld['y'] = held\ny = torch.stack(held)\ny = held + x",
    "a list that holds itself": "held = [x]\nheld.append(held)\ny = torch.cat(held) + held",
    "a match in a loop": "for y in found:\n    match y:\n        case 1:\n            f(x, y).backward()",
    "views in a row": "torch.isnan(x)\ny = torch.tensor(False).view(-1).view(-g(y))" + ".view(-1)" * 40,
    "layers given nothing": f"net = {LAYERS}\ny = net()\ny += 1",
    "layers given by name": f"net = {LAYERS}\ny = net(input=x)\ny += 1",
    "layers given what is unpacked": f"net = {LAYERS}\ny = net(*x, **y)\ny += 1",
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_survived(judge: Judge, name: str) -> None:
    verdict = judge(shapes.function(*ODD[name].split("\n")).encode())
    assert (verdict.kind, verdict.complaints) == ("linted", [])


def test_a_function_that_is_given_too_much_is_survived(judge: Judge) -> None:
    """By one of its file, with and without an object."""
    assert judge(GIVEN_TOO_MUCH.encode()).complaints == []


GIVEN_TOO_MUCH = """\
import torch
from torch import nn


class Averaged(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._draw(x, x.mean(0).detach(), x.mean(0))
        self.add(x, x, x)
        return added(x, x.mean(0), x) + x

    def _draw(self, mean: torch.Tensor) -> None:
        self.mean *= 0.9
        self.mean += 0.1 * mean

    @staticmethod
    def add(x: torch.Tensor) -> None:
        x += 1


def added(x: torch.Tensor) -> torch.Tensor:
    x += 1
    return x
"""


def test_odd_programs_are_survived(judge: Judge) -> None:
    for text in itertools.islice(odd.written(Random("suite")), 30):
        assert (judge(text.encode()).complaints, text) == ([], text)


def test_what_libcst_gives_up_on_costs_the_repairs_of_one_function() -> None:
    assert unrepaired(WIDE["texts"](1_500))
    assert unrepaired(WIDE["texts"](10_000))


def test_what_is_not_deep_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are for what is deep: starting one for each function would not be right in every program."""
    monkeypatch.setattr(threading, "Thread", None)
    assert not unrepaired(DEEP["calls"](10))


def test_functions_in_functions_are_not_walked_once_more_for_each_around_them(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = 0

    def counting(node: ast.AST) -> list[ast.AST]:
        nonlocal walked
        found = nodes.walk(node)
        walked += len(found)
        return found

    monkeypatch.setattr(flow, "walk", counting)
    counts = []
    for size in (20, 40):
        walked = 0
        text = DEEP["functions"](size)
        assert all(one.code != "TSC000" for one in lint(ast.parse(text), text.splitlines(keepends=True), Options()))
        counts.append(walked)
    assert counts[0] < counts[1] < 5 * counts[0]  # each function is run, and walked for those around it


def test_mutated_programs_are_survived(judge: Judge) -> None:
    became = set()
    for kind, _, data in itertools.islice(inputs.mutations([], Random("suite")), 70):
        verdict = judge(data)
        assert (kind, verdict.complaints, data) == (kind, [], data)
        became.add(verdict.kind)
    assert became == {"unparsed", "linted"}


def test_odd_bytes_are_survived() -> None:
    became = set()
    for kind, name, data in itertools.islice(inputs.odd_bytes(), 0, None, 5):
        verdict = judged(data, limit=1_000)
        assert (kind, name, verdict.complaints) == (kind, name, [])
        became.add(verdict.kind)
    assert became == {"unparsed", "parsed", "linted"}


def test_nothing_changes_for_the_other_checkers(tmp_path: Path) -> None:
    """Whichever way flake8 or the command is given a file."""
    random = Random("beside")
    odd = list(itertools.islice(inputs.odd_bytes(), 3, None, 97))
    mutated = list(itertools.islice(inputs.mutations([], random), 12))
    names = []
    for number, (_, _, data) in enumerate(odd + mutated):
        if b"\0" not in data:  # on which flake8 itself fails before Python 3.11.4
            names.append(f"p{number}.py")
            (tmp_path / names[-1]).write_bytes(data[:20_000])
    assert compared(names, tmp_path, names[-1:]) == []


def test_the_order_of_sets_changes_no_byte() -> None:
    paths = [str(path) for path in sorted((inputs.FIXTURES / "TSC101").glob("*.py"))]
    first = seeds.outputs(paths, 0, ("json", "sarif"))
    assert b"TSC101" in first["flake8"] and b"TSC101" in first["tensorcopy"]
    assert seeds.outputs(paths, 1, ("json", "sarif")) == first
