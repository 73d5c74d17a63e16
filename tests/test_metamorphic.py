"""What the linter says of a fixture, it says of every program that does the same."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from flake8_tensorcopy import registry
from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine.model import Finding
from flake8_tensorcopy.lint import lint
from flake8_tensorcopy.verify.fixtures import Fixture, load_all
from tests.rewrites import Rewrite, Rewritten, blocks, clones, imports, layout, names, places, rewritten, then

FIXTURES = load_all(registry.shipped("fixtures"))

# What is tried in one go: rewrites that have nothing to do with each other share a run of the linter.
CHAINS: dict[str, tuple[Rewrite, ...]] = {
    "laid out over many lines": (layout.commented, layout.spread),
    "renamed, on few lines": (names.renamed, layout.joined),
    "all in if, imports aliased": (blocks.bodies_in_if, imports.aliased),
    "some in if, all in with and try, padded, from imports": (
        blocks.some_in_if(1),
        imports.by_their_names,
        blocks.padded,
        blocks.bodies_in_try,
        blocks.bodies_in_with,
    ),
    "arms swapped, functions last, full names, cells": (
        blocks.swapped,
        places.functions_last,
        imports.in_full,
        places.in_cells,
    ),
    "functions aliased": (imports.by_other_names,),
    "static methods": (places.in_class,),
    "methods": (places.as_methods,),
    "returned by name": (blocks.returned_by_name,),
}

# What these have to rewrite is not in every program.
SOMETIMES: frozenset[Rewrite] = frozenset(
    {
        blocks.returned_by_name,
        blocks.swapped,
        imports.by_their_names,
        imports.in_full,
        places.as_methods,
        places.functions_last,
        places.in_class,
    }
)

# Where the linter still says something else: what it says less (-) or more (+), and why.
_TEXT = "what is said by name in a test, an annotation or a type is looked for as it is written"
_LOOKED_FOR = "a container, a layer or a mode is looked for by the name that it has in torch"
_RETURNED = "what is returned is looked for in the statement that returns it"
_TESTED = "what a loop appends, or registers, behind a test may be put there once"
KNOWN: dict[tuple[str, str], tuple[set[str], str]] = {
    ("functions aliased", "TSC108/hooks"): ({"-TSC108 last_output"}, _LOOKED_FOR),
    ("functions aliased", "TSC109/forms"): ({"-TSC109 bad_layer_by_name"}, _LOOKED_FOR),
    ("functions aliased", "TSC109/layers"): ({"-TSC109 copies_of"}, _LOOKED_FOR),
    ("functions aliased", "TSC306/strides"): ({"+TSC306 good_one_byte"}, _TEXT),
    ("functions aliased", "TSC402/results"): ({"-TSC402 Contrast"}, _LOOKED_FOR),
    ("functions aliased", "TSC405/meters"): ({"+TSC405 good_meters_that_take_numbers"}, _TEXT),
    ("functions aliased", "TSC409/lists"): ({"-TSC409 Basis"}, _LOOKED_FOR),
    ("functions aliased", "TSC419/features"): ({"-TSC419 bad_decorated"}, _LOOKED_FOR),
    ("functions aliased", "TSC510/datasets"): ({"+TSC510 Wherever"}, _TEXT),
    ("functions aliased", "TSC511/types"): ({"-TSC511 Scores"}, _TEXT),
    ("functions aliased", "TSC602/tensors"): ({"+TSC602 as_row"}, _TEXT),
    ("functions aliased", "TSC606/repeats"): ({"-TSC606 bad_tiled"}, _LOOKED_FOR),
    ("returned by name", "TSC107/arguments"): ({"-TSC107 scaled_error"}, _RETURNED),
    ("returned by name", "TSC108/buffers"): ({"-TSC108 Environment"}, _RETURNED),
    ("returned by name", "TSC115/written"): ({"-TSC115 step_vector"}, _RETURNED),
    ("some in if, all in with and try, padded, from imports", "TSC109/layers"): (
        {"-TSC109 bad_appended_in_a_loop", "-TSC109 Levels"},
        _TESTED,
    ),
}


def home_lines(found: list[Finding], program: Rewritten) -> Counter[tuple[int, str]]:
    return Counter((program.home(one.span.line, one.span.column), one.code) for one in found)


def linted(text: str, tree: ast.Module) -> list[Finding]:
    return lint(tree, text.splitlines(keepends=True), Options(preview=True), repairs=False)


def expected(fixture: Fixture) -> Counter[tuple[int, str]]:
    """The line of the statement, and the code, of everything that the fixture marks."""
    program = rewritten(fixture.source)
    lines = fixture.source.split("\n")
    marks = fixture.lines("expect", "expect-preview", "todo-ok")
    return Counter((program.home(line, _indent(lines[line - 1])), code) for line, code in marks)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def owner(fixture: Fixture, line: int) -> str:
    """The function or class at the top of the file in which a line stands."""
    for node in ast.parse(fixture.source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.lineno <= line <= (node.end_lineno or 0):
            return node.name
    return "new" if line == 0 else "<module>"


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.label)
@pytest.mark.parametrize("chain", CHAINS)
def test_the_findings_stay(chain: str, fixture: Fixture) -> None:
    program = rewritten(fixture.source)
    for rewrite in CHAINS[chain]:
        before, program = program, then(program, rewrite)
        assert rewrite in SOMETIMES or program.text not in (before.text, ast.unparse(before.tree) + "\n")
    wanted, found = expected(fixture), home_lines(linted(program.text, program.tree), program)
    different = {f"-{code} {owner(fixture, line)}" for line, code in wanted - found}
    different |= {f"+{code} {owner(fixture, line)}" for line, code in found - wanted}
    assert different == KNOWN.get((chain, fixture.label), (set(), ""))[0]


def test_what_is_known_names_chains_and_fixtures() -> None:
    assert {chain for chain, _ in KNOWN} <= set(CHAINS)
    assert {label for _, label in KNOWN} <= {fixture.label for fixture in FIXTURES}
    assert [key for key, (different, why) in KNOWN.items() if not different or not why] == []


# A copy at the binding.

# Rules of which a finding is gone where the value that it names is copied when it is bound; and how.
CURED = {
    **dict.fromkeys(
        ("TSC101", "TSC102", "TSC103", "TSC105", "TSC106", "TSC108", "TSC115", "TSC118", "TSC301"), "clone"
    ),
    **dict.fromkeys(("TSC104", "TSC122"), "copy"),
}
# And of the others, why a copy there is no cure.
NOT_CURED = {
    "TSC107": "the caller's tensor is written: what the function binds is its own affair",
    "TSC109": "the copy is repeated as well",
    "TSC110": "the copy is the default of every call",
    "TSC111": "nothing is bound: two addresses are compared",
    "TSC112": "a state_dict has no `clone`: `copy.deepcopy`",
    "TSC113": "a module has no `clone`: `copy.deepcopy`",
    "TSC114": "a list of parameters has no `clone`: one for each of them",
    "TSC116": "a state_dict has no `clone`: `copy.deepcopy`",
    "TSC117": "the parameter is copied then, not what it wraps",
    "TSC119": "what a product writes to is no copy of what it reads",
    "TSC120": "the copy is for the call that keeps the tensor",
    "TSC121": "the copy is not shared, which was the aim",
}

# Findings of the rules above that a copy at their binding leaves, by the line of their statement; and why.
LEFT: dict[str, dict[str, str]] = {
    "TSC106/blocks": {"Shortcut": "`self.body(x) + x`: an argument, bound by no statement, is written and read in one"},
    "TSC106/layers": {
        "Beside": "`self.act(x) + x`: one statement writes what it reads, whatever `x` is bound to",
        "PooledAll": "`self.layers[i](out) + out`: the same",
    },
    "TSC118/refused": {"bad_mask_of_itself": "`alive[alive] = ..`: the index is what has to be copied"},
}


def test_each_rule_of_its_family_is_cured_or_not() -> None:
    family = {code for code in registry.rules() if code.startswith("TSC1") or code == "TSC301"}
    assert family == CURED.keys() | NOT_CURED.keys()
    assert CURED.keys().isdisjoint(NOT_CURED)


@pytest.mark.parametrize("fixture", [one for one in FIXTURES if one.rule in CURED], ids=lambda fixture: fixture.label)
def test_a_copy_at_the_binding_cures(fixture: Fixture) -> None:
    """The first step of a finding's path is where the value was bound; a finding without steps stands there itself,
    but for one of a gradient that is written."""
    program = rewritten(fixture.source)
    found = [one for one in linted(fixture.source, program.tree) if one.code == fixture.rule]
    bound = set()
    for one in found:
        first = one.path[0].span if one.path else one.span
        line = program.home(first.line, first.column)
        bound.add(clones.bound_at(program.tree, line) if one.code == "TSC115" else line)
    tree = ast.parse(fixture.source)
    assert clones.cloned(tree, bound, CURED[fixture.rule]) >= len(bound) > 0
    text = ast.unparse(tree) + "\n"
    cured = rewritten(fixture.source, lambda *_: (text, tree))
    rest = {owner(fixture, line) for line, code in home_lines(linted(text, cured.tree), cured) if code == fixture.rule}
    assert rest == LEFT.get(fixture.label, {}).keys()


# The rewrites.

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn

LIMIT = 1


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return F.relu(self.inner(x)) if x.dim() > LIMIT else x


def helper(first):
    return torch.zeros(2) + first


def caller(flag):
    if flag:
        total = helper(LIMIT)
    else:
        total = torch.ones(2)
    return total * 2
"""

EXAMPLES: list[tuple[Rewrite, list[str]]] = [
    (layout.commented, ["LIMIT = 1  # as it was: clone(), detach()", "# copy.deepcopy() is not called here"]),
    (layout.spread, ["    return (\n  torch\n  .\n  zeros\n  (\n  2\n  )\n   +\n   first\n  )\n"]),
    (layout.joined, ["import torch; import torch.nn.functional as F; from torch import nn; LIMIT = 1"]),
    (names.renamed, ["class Net(nn.Module):", "def forward(self, zq", "return torch.zeros(2) + first"]),
    (blocks.bodies_in_if, ["def helper(first):\n    if True:\n        return torch"]),
    (blocks.bodies_in_with, ["import contextlib\n", "    with contextlib.nullcontext():\n        return torch"]),
    (blocks.bodies_in_try, ["    try:\n        return torch.zeros(2) + first\n    finally:\n        pass"]),
    (blocks.some_in_if(1), ["    if True:\n"]),
    (blocks.padded, ["    pass\n    unread = len('unread')\n    return torch"]),
    (
        blocks.swapped,
        ["    if not flag:\n        total = torch.ones(2)", "return x if not x.dim() > LIMIT else F.relu"],
    ),
    (blocks.returned_by_name, ["    answer = total * 2\n    return answer"]),
    (imports.aliased, ["import torch as m0q", "m0q.zeros(2)", "import torch.nn.functional as M1q"]),
    (imports.in_full, ["import torch.nn.functional\n", "torch.nn.functional.relu(", "class Net(torch.nn.Module)"]),
    (imports.by_their_names, ["from torch.nn import Linear", "= Linear(width, width)", "return zeros(2) + first"]),
    (imports.by_other_names, ["from torch import zeros as m", "q(2) + first"]),
    (places.in_class, ["class Holder:", "@staticmethod\n    def helper(first)", "total = Holder.helper(LIMIT)"]),
    (places.as_methods, ["    def caller(self, flag)", "total = self.helper(LIMIT)"]),
    (places.functions_last, ["    return total * 2\n\ndef helper(first)"]),
    (places.in_cells, ["# %%\nLIMIT = 1", "# %%\nclass Net"]),
]


@pytest.mark.parametrize(("rewrite", "parts"), EXAMPLES, ids=lambda one: getattr(one, "__name__", ""))
def test_a_rewrite_does_what_it_says(rewrite: Rewrite, parts: list[str]) -> None:
    program = rewritten(PROGRAM, rewrite)
    assert [part for part in parts if part not in program.text] == []
    kept = {line for line in program.lines.values() if line}
    assert kept == {node.lineno for node in ast.walk(ast.parse(PROGRAM)) if isinstance(node, ast.stmt)}


def test_every_rewrite_has_an_example() -> None:
    tried = {rewrite.__qualname__ for rewrite, _ in EXAMPLES}
    assert tried == {rewrite.__qualname__ for chain in CHAINS.values() for rewrite in chain}


def test_names_that_are_evidence_stay() -> None:
    text = (
        "import torch\n\ndef f(target_net, pixels, optimizer):\n    old = pixels\n    fresh = old\n    return fresh\n"
    )
    program = rewritten(text, names.renamed)
    for name in ("target_net", "optimizer", "old", "torch"):
        assert name in program.text
    for name in ("pixels", "fresh"):
        assert name not in program.text


def test_a_place_of_the_new_text_has_its_old_line() -> None:
    program = rewritten("a = 1\n\ndef f():\n    b = 2; c = 3\n", blocks.bodies_in_if, layout.joined)
    assert program.text == "a = 1\n\ndef f():\n    if True:\n        b = 2; c = 3\n"
    assert [program.home(*place) for place in ((1, 0), (2, 0), (3, 5), (4, 4), (5, 8), (5, 15))] == [1, 0, 3, 0, 4, 4]


def test_a_text_that_is_not_that_of_its_tree_is_refused() -> None:
    with pytest.raises(ValueError, match="line 1 is not what was meant: b"):
        rewritten("a = 1\n", lambda text, tree: ("b = 1\n", tree))


def test_a_copy_is_put_in() -> None:
    tree = ast.parse("b = a\nkept.append(c)\nx, y = d, 2\ne += f\n")
    assert clones.cloned(tree, {1, 2, 3}) == 3
    assert ast.unparse(tree) == "b = a.clone()\nkept.append(c.clone())\nx, y = (d.clone(), 2)\ne += f"
