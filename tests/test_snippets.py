"""How messages quote code: as it is written, read off the text without a parse of the file."""

from __future__ import annotations

import ast

import pytest

from flake8_tensorcopy.engine.region import Region


def quoted(text: str, expression: str) -> str:
    """The code of the outermost node of the text that means `expression`."""
    tree = ast.parse(text)
    node = next(one for one in ast.walk(tree) if isinstance(one, ast.expr) and ast.unparse(one) == expression)
    return Region(text.splitlines(keepends=True), [], tree, repairs=False).code(node)


@pytest.mark.parametrize(
    ("text", "expression", "code"),
    [
        ("y = x.view( -1 )\n", "x.view(-1)", "x.view( -1 )"),
        ("y = (x.view(-1))\n", "x.view(-1)", "(x.view(-1))"),
        ("y = ( (x.t()) )[0]\n", "x.t()", "( (x.t()) )"),
        ("return_(x.t())\n", "x.t()", "x.t()"),
        ("assert(x.t())\n", "x.t()", "(x.t())"),
        ("y = a if (x.t()) else b\n", "x.t()", "(x.t())"),
        ("y = f((x.t()))\n", "x.t()", "(x.t())"),
        ("y = f()(x.t())\n", "x.t()", "x.t()"),
        ("y = a[0] (x.t())\n", "x.t()", "x.t()"),
        ("y = (x.t(), 1)\n", "x.t()", "x.t()"),
        ("y = (\n    x.t()\n)\n", "x.t()", "( x.t() )"),
        ("y = (\n    x  # a comment\n    .t()\n)\n", "x.t()", "( x"),
        ("é = 'ü'; y = x.t()\n", "x.t()", "x.t()"),
        ("x[a,  1] = 0\n", "(a, 1)", "a,  1"),
        ("x[ 1 : 2 ] = 0\n", "1:2", "1:2"),
        ("x[:,  [0, 2]] = 0\n", "(:, [0, 2])", ":,  [0, 2]"),
        ("x[\n    :,  # all\n    1,\n] = 0\n", "(:, 1)", ":,"),
        ("y = f'{x.t()} and {z}'\n", "x.t()", "x.t()"),
        (f"y = {'x.t()' * 0}x{'.t()' * 30}\n", f"x{'.t()' * 30}", f"x{'.t()' * 14}..."),
    ],
)
def test_code_is_quoted_as_it_stands(text: str, expression: str, code: str) -> None:
    assert quoted(text, expression) == code


def test_a_statement_is_quoted_without_what_parts_it_from_the_next() -> None:
    text = "if c:\n    y = x ; z = y\n"
    tree = ast.parse(text)
    region = Region(text.splitlines(keepends=True), [], tree, repairs=False)
    assert [region.code(one) for one in tree.body[0].body] == ["y = x", "z = y"]  # type: ignore[attr-defined]
