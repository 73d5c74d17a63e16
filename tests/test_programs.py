"""Random programs: the truth that torch shows, the comparison with the engine, and what they would catch."""

from __future__ import annotations

import ast
import copy
import json
import signal
import textwrap
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from flake8_tensorcopy.engine import (
    analysis,
    calls,
    evaluate,
    flow,
    indexing,
    operations,
    parts,
    staleness,
    state,
    summaries,
)
from flake8_tensorcopy.engine import ops as table
from flake8_tensorcopy.engine.facts import StaleRead
from flake8_tensorcopy.engine.values import Ref, Value
from flake8_tensorcopy.verify.programs import compare, golden, limits, report
from flake8_tensorcopy.verify.programs.grammar import write
from flake8_tensorcopy.verify.programs.writer import SIZE

if TYPE_CHECKING:
    from flake8_tensorcopy.verify.programs.report import ProgramsReport

pytestmark = pytest.mark.torch

SUITE = 300
SEED = 20


@cache
def suite() -> ProgramsReport:
    return report.check(SUITE, seed=SEED, jobs=1)


def test_engine_and_torch_agree() -> None:
    found = suite()
    assert [one.golden for one in found.disagreements] == []
    assert found.differing == 0
    assert found.programs == SUITE


def test_the_programs_are_worth_running() -> None:
    found = suite()
    assert found.with_stale_read >= 0.3 * SUITE
    assert found.stale_reads - found.seen <= 0.02 * found.stale_reads
    assert found.refused <= 0.02 * SUITE
    assert found.limited <= 0.02 * SUITE


# What a program can be made of.
CONSTRUCTS = frozenset(
    {
        "alias", "alias of a container", "annotated assignment", "append", "attribute", "augmented assignment",
        "call of a function", "cat", "chained assignment", "comprehension", "copy", "copy_", "deepcopy", "detach",
        "diagonal", "dict", "dict argument", "early return", "else", "expand", "flatten", "for", "from_numpy",
        "function of a list", "function that copies", "function that shares", "function that writes", "if",
        "in-place method", "in-place result", "index", "inplace=True", "item", "list", "list argument",
        "loop over a list", "loop over a tensor", "maybe copy", "method", "narrow", "nested function", "no_grad",
        "numpy", "numpy write", "object", "out=", "read", "read of a list", "read of an array", "rebinding",
        "reshape", "returned container", "select", "slice", "slice assignment", "squeeze", "starred unpacking",
        "stored item", "swap", "ternary", "transpose", "try", "tuple", "tuple assignment", "unpacked parts",
        "unsqueeze", "view", "walrus", "while", "write through .data",
    }
)  # fmt: skip


def test_every_construct_occurs() -> None:
    assert set(suite().constructs) == CONSTRUCTS


def test_the_same_run_twice_is_the_same() -> None:
    first, again = (report.check(30, seed=7, jobs=1) for _ in range(2))
    assert json.dumps(first.as_json()) == json.dumps(again.as_json())
    assert first.lines() == again.lines()
    assert [one.text for one in report.drawn(20, 7, 0)] == [one.text for one in report.drawn(20, 7, 0)]
    assert [one.text for one in report.drawn(20, 7, 0)] != [one.text for one in report.drawn(20, 8, 0)]


def test_chunks_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(report, "CHUNK", 8)
    assert report.check(20, seed=3, jobs=1, progress=lambda done, of: told.append((done, of))).programs == 20
    assert told == [(8, 20), (16, 20), (20, 20)]


def test_processes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "CHUNK", 6)
    one, two = (report.check(12, seed=3, jobs=jobs) for jobs in (1, 2))
    assert one.as_json() == two.as_json()


def test_bad_count() -> None:
    with pytest.raises(ValueError, match="the number of programs has to be 1 or more"):
        report.check(0)


def test_choices_that_run_out_make_a_program() -> None:
    program = write(bytes(SIZE))
    assert compare.compare(ast.parse(program.text)).error == ""
    assert write(b"").text == program.text


# The truth, on programs whose stale reads are known by hand.


def stale(
    body: str, parameters: str = "x: torch.Tensor, y: torch.Tensor", before: str = ""
) -> set[tuple[int, str, int]]:
    """The stale reads of a program by line of the write, reader and line of its binding; 1 is the first of `body`."""
    text = f"import torch\n{textwrap.dedent(before)}\ndef program({parameters}):\n" + textwrap.indent(
        textwrap.dedent(body).strip(), "    "
    )
    first = text[: text.index("def program")].count("\n") + 1
    from flake8_tensorcopy.verify.programs import runs

    tree = ast.parse(text)
    found = set()
    for choice in runs.choices(tree):
        run, result = runs.execute(tree, choice)
        assert run.error == ""
        assert runs.agrees(tree, choice, run, result)
        found |= {
            (key.write - first, key.reader, max(key.bound - first, 0)) for key in run.stale if key.function == "program"
        }
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("old = x\nx.add_(1)\nreturn old", {(2, "old", 1)}),
        ("old = x.clone()\nx.add_(1)\nreturn old", set()),
        ("old = x\nx.add_(1)\nreturn x", set()),
        ("old = x\nold.add_(1)\nreturn x", {(2, "x", 0)}),
        ("old = x\nx = x + 1\nx.add_(1)\nreturn old", set()),
        ("x.add_(1)\nold = x\nreturn old", set()),
        ("old = x[0]\nx[1] = 5\nreturn old", set()),
        ("old = x[0]\nx[:, 1] = 5\nreturn old", {(2, "old", 1)}),
        ("old = x[0]\nx[1] = 5\nx[0] = 5\nreturn old", {(3, "old", 1)}),
        ("old = x\nx[1] = 5\nreturn old[0]", set()),
        ("old = x\nx[x > 1] = 5\nreturn old[0]", {(2, "old", 1)}),
        ("old = x.detach()\nx.mul_(2)\nreturn old", {(2, "old", 1)}),
        ("old = x.data\nold.mul_(2)\nreturn x", {(2, "x", 0)}),
        ("old = x.numpy()\nold += 1\nreturn x", {(2, "x", 0)}),
        ("old = x.numpy()\nx.add_(1)\nreturn old.sum()", {(2, "old", 1)}),
        ("old = torch.from_numpy(x.numpy())\nx.add_(1)\nreturn old", {(2, "old", 1)}),
        ("old = x.contiguous()\nx.add_(1)\nreturn old", {(2, "old", 1)}),
        ("old = x.half()\nx.add_(1)\nreturn old", set()),
        ("kept = [x]\nx.add_(1)\nreturn kept", {(2, "kept[0]", 1)}),
        ("kept = {'a': x, 'b': y}\nx.add_(1)\nreturn kept['b']", set()),
        ("kept = {'a': x, 'b': y}\nx.add_(1)\nreturn kept['a']", {(2, "kept['a']", 1)}),
        ("kept = []\nkept.append(x)\nx.add_(1)\nreturn kept", {(3, "kept[0]", 2)}),
        ("kept = [x]\nkept[0] = y\nx.add_(1)\nreturn kept", set()),
        ("first, *rest = [x, y, x]\nx.add_(1)\nreturn rest", {(2, "rest[1]", 1)}),
        ("a, b = x.split(2)\na.add_(1)\nreturn b, x", {(2, "x", 0)}),
        ("old = x\ntorch.add(y, 1, out=x)\nreturn old", {(2, "old", 1)}),
        ("old = x\nx += 1\nreturn old", {(2, "old", 1)}),
        ("n = 0\nn += 1\nreturn x", set()),
        ("old = x\nx.zero_()\nx.zero_()\nreturn old", {(2, "old", 1), (3, "old", 1)}),
        ("old = x\ny.copy_(x)\nreturn old", set()),
        ("old = x\ny.add_(x)\nreturn x", set()),
        ("old = x[:2]\nold.add_(1)\nx.copy_(x + 1)\nreturn x", {(2, "x", 0)}),
        ("kept = x\nx.add_(1)\nx.copy_(kept)\nreturn kept", {(2, "kept", 1), (3, "kept", 1)}),
        ("y = torch.nn.functional.relu(x, inplace=True)\nreturn x + y", {(1, "x", 0)}),
        ("torch.nn.functional.relu(x, inplace=True)\nreturn x", set()),
        ("for row in x:\n    row.add_(1)\nreturn x", {(2, "x", 0)}),
        ("prev = y\nfor _ in range(2):\n    y = prev + 1\n    prev = x\n    x.add_(1)\nreturn y", {(5, "prev", 4)}),
        ("rows = [row for row in x]\nrows[1].add_(1)\nreturn rows[0]", set()),
        ("total = (old := x).sum()\nx.add_(1)\nreturn old", {(2, "old", 1)}),
        ("if x.shape == y.shape:\n    old = x\nx.add_(1)\nreturn old", {(3, "old", 2)}),
    ],
)
def test_truth(body: str, expected: set[tuple[int, str, int]]) -> None:
    assert stale(body) == expected


def test_truth_of_branches_is_over_all_executions() -> None:
    body = "if flag:\n    old = x\nelse:\n    old = x.clone()\nx.add_(1)\nreturn old"
    assert stale(body, "x: torch.Tensor, flag: bool") == {(5, "old", 2)}
    body = "old = x.clone()\nif flag:\n    old = x\nelse:\n    x.add_(1)\nreturn old"
    assert stale(body, "x: torch.Tensor, flag: bool") == set()


def test_what_copy_writes_over_may_be_said_or_not() -> None:
    """What is written back was perhaps saved before: by `to`, or by hand."""
    from flake8_tensorcopy.verify.programs import runs

    def seen(rest: str) -> tuple[set[int], set[int]]:
        """The lines of the writes that made `old` stale, and of those that may be said or not."""
        head = "import torch\n\ndef program(x: torch.Tensor, y: torch.Tensor):\n    old = x\n    x.add_(1)\n"
        tree = ast.parse(head + rest + "    return old * 2\n")
        run, _ = runs.execute(tree, runs.choices(tree)[0])
        return {key.write for key in run.stale if key.reader == "old"}, {key.write for key in run.open}

    assert seen("") == ({5}, set())
    assert seen("    old.copy_(y)\n") == ({5}, {5})
    assert seen("    old[0].copy_(y[0])\n") == ({5}, set())
    assert seen("    old.copy_(y)\n    x.add_(1)\n") == ({5, 7}, {5})
    assert seen("    old.copy_(x)\n") == (set(), set())


@pytest.mark.parametrize(
    ("helper", "body", "expected"),
    [
        ("def f(t):\n    t.add_(1)\n", "old = x\nf(x)\nreturn old", {(2, "old", 1)}),
        ("def f(t):\n    t.add_(1)\n", "old = x\nf(x)\nreturn x", set()),
        ("def f(t):\n    head = t[0]\n    head.zero_()\n", "old = x[1]\nf(x)\nreturn old", set()),
        ("def f(t):\n    return t[0]\n", "old = f(x)\nx.add_(1)\nreturn old", {(2, "old", 1)}),
        ("def f(t):\n    return t * 2\n", "old = f(x)\nx.add_(1)\nreturn old", set()),
        ("def f(ts):\n    ts[0].zero_()\n", "kept = [x]\nf(kept)\nreturn x", {(2, "x", 0)}),
        (
            "class C:\n    def __init__(self, t):\n        self.t = t\n    def f(self):\n        self.t.add_(1)\n",
            "c = C(x)\nc.f()\nreturn x",
            {(2, "x", 0)},
        ),
    ],
)
def test_truth_of_calls(helper: str, body: str, expected: set[tuple[int, str, int]]) -> None:
    assert stale(body, before=helper) == expected


# The comparison.


def differences(text: str) -> list[tuple[str, str]]:
    return [(one.kind, one.reader) for one in report.differences_of(textwrap.dedent(text).lstrip())]


ALIAS = """
    import torch


    def program(x: torch.Tensor, y: torch.Tensor):
        old = x
        head = y[0]
        y.mul_(2)
        x.add_(1)
        return old, head
"""


def test_nothing_to_say_of_a_stale_read_that_is_seen() -> None:
    assert differences(ALIAS) == []


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that sees no stale read of an alias."""
    real = analysis.analyse

    def analyse(tree: ast.Module, kinds: frozenset[str]) -> Any:
        done = real(tree, kinds)
        for region in done.regions:
            region.facts[:] = [one for one in region.facts if not (isinstance(one, StaleRead) and one.link == "alias")]
        return done

    monkeypatch.setattr(compare, "analyse", analyse)
    monkeypatch.setattr(golden, "analyse", analyse)


@pytest.mark.usefixtures("blind")
def test_a_missed_stale_read_is_shrunk_to_a_golden_test() -> None:
    assert differences(ALIAS) == [(compare.MISSED, "old")]
    text = textwrap.dedent(ALIAS).lstrip()
    found = report._shrunk([(4, text, report.differences_of(text))])
    assert [(one.kind, one.reader, one.writer, one.program) for one in found] == [(compare.MISSED, "old", "x", 4)]
    name = found[0].golden.partition("def ")[2].partition("(")[0]
    assert found[0].golden == (
        f"import torch\n\ndef {name}(x: torch.Tensor):\n    old = x\n"
        "    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias\n    return old\n"
    )


@pytest.mark.parametrize(
    ("write", "op"),
    [
        ("x.mul_(2)", "mul_"),
        ("x += 1", "+="),
        ("x[0] = 1", "[...] ="),
        ("torch.neg(x, out=x)", "neg"),
        ("change(x)", "sub_"),
    ],
)
def test_golden_tests_name_the_write(write: str, op: str) -> None:
    text = f"import torch\n\ndef change(t):\n    t.sub_(1)\n\ndef program(x: torch.Tensor):\n    old = x\n    {write}\n"
    one = compare.Difference(compare.MISSED, "program", 8, "old", "x", 7)
    assert f"# fact: StaleRead reader=old writer=x op={op} link=alias" in golden.golden(text, (one,))


def test_a_false_stale_read_is_shrunk_to_a_golden_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staleness, "must_overlap", lambda one, other: True)
    head = "import torch\n\ndef program(x: torch.Tensor, y: torch.Tensor):\n"
    text = head + "    a = x[0]\n    b = x[1]\n    b.add_(y[0])\n    return a, b\n"
    assert differences(text) == [(compare.FALSE, "a")]
    (found,) = report._shrunk([(0, text, report.differences_of(text))])
    assert found.kind == compare.FALSE
    assert "b.add_(1)" not in found.golden
    assert "# stays: a" in found.golden
    assert "# fact" not in found.golden


def test_a_denied_alias_of_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import torch\n\ndef program(x: torch.Tensor):\n    a = x[0]\n    b = x[1]\n    return a, b\n"
    assert differences(text) == []
    from flake8_tensorcopy.engine import sharing

    monkeypatch.setattr(sharing, "must_overlap", lambda one, other: True)
    assert differences(text) == [(compare.DENIED, "a")]
    (found,) = report._shrunk([(0, text, report.differences_of(text))])
    assert "a[...] = 77  # stays: b" in found.golden


def test_a_certain_write_that_goes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        import torch

        def program(x: torch.Tensor, flag: bool):
            old = x if flag else x.clone()
            x.add_(1)
            return old
    """
    assert differences(text) == []
    monkeypatch.setattr("flake8_tensorcopy.engine.run.mixed", lambda value, ref: False)
    assert differences(text) == [(compare.DENIED, "old")]


# What the engine would have to get wrong to be caught.


def caught(count: int = 150, seed: int = 5) -> set[str]:
    """The kinds of disagreement in a few programs, without shrinking any."""
    kinds = set()
    for program in report.drawn(count, seed, 0):
        tree = ast.parse(program.text)
        kinds |= {one.kind for one in report.sorted_out(tree, compare.compare(tree, check_plain=False))[0]}
    return kinds


def test_the_unchanged_engine_is_not_caught() -> None:
    assert caught() == set()


def test_detach_taken_for_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = table.method

    def method(name: str) -> table.Op | None:
        op = real(name)
        return replace(op, result="fresh", of=-1) if op is not None and name == "detach" else op

    monkeypatch.setattr(table, "method", method)
    assert compare.MISSED in caught()


def test_a_join_that_forgets_a_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "join_values", lambda one, other: one)
    assert compare.MISSED in caught()


def test_a_back_edge_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = flow._loop

    def once(run: Any, node: Any, head: Any, iterating: Any = None, counted: int | None = None) -> None:
        real(run, node, head, iterating, 1)

    monkeypatch.setattr(flow, "_loop", once)
    assert compare.MISSED in caught()


def test_disjoint_parts_taken_for_overlapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staleness, "must_overlap", lambda one, other: True)
    assert compare.FALSE in caught()


def test_a_view_taken_for_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    def item(run: Any, node: ast.Subscript, ref: Ref, kind: str, whole: Value) -> Value:
        if ref.kind == "tensor":
            return evaluate.copy_of(run, node, ref, "index", node.slice, whole)
        return real(run, node, ref, kind, whole)

    real = indexing._item_of_ref
    monkeypatch.setattr(indexing, "_item_of_ref", item)
    assert compare.MISSED in caught()


def test_a_write_of_a_callee_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    real = summaries.summary_of

    def forgetful(run: Any) -> summaries.Summary:
        known = copy.copy(real(run))
        known.effects = []
        return known

    monkeypatch.setattr(calls, "summary_of", forgetful)
    assert caught() == {compare.MISSED}


def test_a_part_that_is_cut_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """`narrow(0, 1, 2)` read as if it began at 0."""
    real = operations._as_index

    def as_index(short: str, given: list[int | None]) -> parts.Index | None:
        return real(short, [given[0], 0, *given[2:]] if short == "narrow" else given)

    monkeypatch.setattr(operations, "_as_index", as_index)
    assert caught(400) != set()


# The known limits: each is still there, and is recognised by what the program does.

LIMITS = {
    "size of a piece": """
        a, b = x.chunk(2)
        x[3] = 5
        return b
    """,
    "diagonal": """
        a = x.diagonal()
        x[1] = 5
        return a
    """,
    "counted from the end": """
        a = x[3]
        x[-1] = 5
        return a
    """,
    "row of a pass": """
        a = x[2]
        for row in x:
            a.add_(1)
            y = row * 2
        return y
    """,
    "another shape": """
        a = x[3]
        b = x.view(-1)[12:]
        b.add_(1)
        return a
    """,
    "rebound in a loop": """
        old = x
        if flag:
            for _ in range(2):
                x = x.clone()
        x.add_(1)
        return old
    """,
    "bound in a nested branch": """
        if flag:
            if other:
                x, y = y, x
            y.zero_()
        return x.sum()
    """,
    "item by its index in its loop": """
        for item in xs:
            xs[1].add_(1)
            y = item * 2
        return y
    """,
    "changed list": """
        rows = [row for row in x]
        rows[3] = y
        x[3] = 5
        return rows
    """,
    "exchanged in each pass": """
        old = y
        for row in xs[0][:3]:
            x, y = y, x
        y.add_(1)
        return old
    """,
}


def limited(body: str) -> set[str]:
    text = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    parameters = "x: torch.Tensor, y: torch.Tensor, xs: list[torch.Tensor], flag: bool, other: bool"
    head = f"import torch\n\ndef program({parameters}):\n"
    tree = ast.parse(head + text)
    left, names = report.sorted_out(tree, compare.compare(tree))
    assert left == ()
    return names


@pytest.mark.parametrize("name", LIMITS)
def test_known_limit(name: str) -> None:
    """A strict reminder: an engine that gets further loses the limit."""
    assert name in limited(LIMITS[name])


def test_known_limit_of_a_list_that_grows_in_a_loop() -> None:
    body = """
        kept = [y, y]
        for _ in range(2):
            kept.append(x)
        work = [item[:1] for item in kept]
        work[1].add_(1)
        return x
    """
    assert limited(body) == {"changed list"}


def test_known_limit_of_an_item_taken_before_its_loop() -> None:
    body = """
        left = xs[1]
        for item in xs:
            left.zero_()
            y = item * 2
        return y
    """
    assert limited(body) == {"item by its index in its loop"}


def test_an_interrupt_is_left_to_the_parent() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        report._deaf()
        signal.raise_signal(signal.SIGINT)  # else KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, before)


def test_known_limit_of_a_list_under_another_name() -> None:
    body = """
        rows = xs
        left = rows[1]
        for item in xs:
            left.zero_()
            y = item * 2
        return y
    """
    assert limited(body) == {"item by its index in its loop"}
    body = """
        xs[0] = y
        rows = xs
        for item in rows:
            y.add_(1)
            x = item * 2
        return x
    """
    assert limited(body) == {"changed list"}


def test_known_limit_of_a_return_in_a_nested_branch() -> None:
    body = """
        if other:
            x = x * 2
        elif not flag:
            return x
        old = y.clone() if flag else y
        if other:
            return x
        y.add_(1)
        return old
    """
    assert limited(body) == {"bound in a nested branch"}


def test_two_reads_that_differ_by_two_limits() -> None:
    body = """
        a = x.float()
        x.select(0, 3).add_(1)
        one, two = a.chunk(2)
        return a.diagonal().sum()
    """
    assert limited(body) == {"size of a piece"}
    assert limited(body.replace("one, two = a.chunk(2)", "one = a[0]")) == {"diagonal"}


def test_every_limit_is_shown() -> None:
    assert {limit.name for limit in limits.LIMITS} == set(LIMITS)
    assert len(limits.LIMITS) <= 10


def test_a_difference_that_no_limit_explains_stays() -> None:
    tree = ast.parse("import torch\n\ndef program(x: torch.Tensor):\n    return x\n")
    one = compare.Difference(compare.MISSED, "program", 4, "x", "y", 0, "", frozenset({(("[0]",), ("[0]",))}))
    assert limits.known(one, tree, one.paths) is None
