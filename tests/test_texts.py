"""What the engine writes out itself is what `ast.unparse` would write."""

from __future__ import annotations

import ast

import pytest

from flake8_tensorcopy.engine.texts import _plain, text_of
from tests.conftest import ROOT

PLAIN = (
    "x",
    "self.layers[0].weight",
    "f(x, y[1], flag=True)",
    'd["k"].t()',
    "a is not None",
    "a.b <= c[i] < len(xs)",
    "f(a == b)",
    "x[a > 'it\\'s']",
    "f(key=g(None), other=(1))",
    "x[1:]",
    "x[:, a.b:c[0], None]",
    "-1",
    "x[-1]",
    "a + b[0]",
    "f(a @ b)",
    "not x",
    "not (a or b)",
    "not a == 1",
    "not not a",
    "a and not b",
    "not a and b",
    "a or b and c",
    "(a or b) and c",
    "a == 1 and b == 2 and c == 3 and d + 1",
    "a and b and c and d and e and f and g and h + 1 and i * 2 and -1",
    "a or not b or not c or not d",
    "-x",
    "-(a + b)",
    "--x[0]",
    "-1.5",
    "1.5e-06",
    "a + b + c",
    "a + (b + c)",
    "(a - b) * c / (d * e)",
    "a * -b",
    "-(not a)",
    "(a == b) == c",
    "-n <= i + 1 < len(xs) - 1",
    "(a or b) + (not c)",
    "[]",
    "()",
    "(a,)",
    "isinstance(x, (list, tuple))",
    "x.shape != (n, 1)",
    "[a, [b], (c, d)] + xs[:2]",
)
OTHERS = "f(*xs)|f(**kw)|x[::2]|x[1,]|x[*a, b]|(a, *b)|+x|a ** b|a << b|u'x'|1e999|1 .real|a if b else c|...".split("|")


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_plain_is_put_together(text: str) -> None:
    node = ast.parse(text, mode="eval").body
    assert _plain(node) == ast.unparse(node)


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_not_plain_is_left_to_ast(text: str) -> None:
    node = ast.parse(text, mode="eval").body
    assert _plain(node) is None
    assert text_of(node) == ast.unparse(node)


def test_every_expression_of_the_fixtures() -> None:
    for path in sorted((ROOT / "fixtures").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.expr):
                assert text_of(node) == ast.unparse(node)
