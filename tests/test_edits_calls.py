"""Edits of calls that take in more of the code around them, or let go of what they hold."""

from __future__ import annotations

import ast
import io
from collections.abc import Callable

import pytest

from flake8_tensorcopy.engine.edits import Editor, Edits
from flake8_tensorcopy.engine.region import Region
from flake8_tensorcopy.fixes import Source


def changed(text: str, change: Callable[[Editor, ast.Call, ast.expr], Edits | None]) -> str | None:
    """The text of one assignment after a change of its first call of a name `f`, in the whole of its value."""
    tree = ast.parse(text)
    lines = io.StringIO(text).readlines()
    edit = Region(lines, [(1, len(lines))], tree).edit
    (statement,) = tree.body
    assert isinstance(statement, ast.Assign)
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "f")
    fix = edit.fix("Change it", change(edit, next(calls), statement.value), safe=False)
    if fix is None:
        return None
    made = Source.read(text.encode()).spliced(fix.edits).text
    ast.parse(made)
    return made


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("y = f(x).half()\n", "y = f(x.half())\n"),
        ("y = f(x, key=1).half().t()\n", "y = f(x.half().t(), key=1)\n"),
        ("y = f(data=x, key=1).half()\n", "y = f(data=x.half(), key=1)\n"),
        ("y = f(x + 1).half()\n", "y = f((x + 1).half())\n"),
        ("y = f((x + 1)).half()\n", "y = f((x + 1).half())\n"),
        ("y = f(-x) * 2\n", "y = f((-x) * 2)\n"),
        ("y = 2 * f(x)\n", "y = f(2 * x)\n"),
        ("y = 2 * f(x + 1, 3)\n", "y = f(2 * (x + 1), 3)\n"),
        ("y = -f(x)\n", "y = f(-x)\n"),
        ("y = g(f(x), 1)\n", "y = f(g(x, 1))\n"),
        ("y = (f(x)).half()\n", "y = f((x).half())\n"),
        ("y = (f(x).half())\n", "y = (f(x.half()))\n"),
        ("y = f(x,).half()\n", "y = f(x.half(),)\n"),
        (
            "y = f(\n    x,  # one\n    key=1,  # two\n).half()\n",
            "y = f(\n    x.half(),  # one\n    key=1,  # two\n)\n",
        ),
        ("y = 2 * f(  # one\n    x\n)\n", "y = f(  # one\n    2 * x\n)\n"),
    ],
)
def test_a_call_moves_out(text: str, result: str) -> None:
    assert changed(text, lambda edit, call, whole: edit.hoist(call, whole)) == result


@pytest.mark.parametrize("text", ["y = f(x)\n", "y = f(*x).t()\n", "y = f(key=x).t()\n", "y = f().t()\n",
                                  "y = f(a for a in x).t()\n"])  # fmt: skip
def test_no_call_moves_out(text: str) -> None:
    assert changed(text, lambda edit, call, whole: edit.hoist(call, whole)) is None


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("y = f(x)\n", "y = x.to(1)\n"),
        ("y = f(x, key=1) * 2\n", "y = x.to(1) * 2\n"),
        ("y = f(x + 1)\n", "y = (x + 1).to(1)\n"),
        ("y = f((x + 1))\n", "y = (x + 1).to(1)\n"),
        ("y = f(\n    x\n    .t()\n)\n", "y = (x\n    .t()).to(1)\n"),
    ],
)
def test_a_call_goes(text: str, result: str) -> None:
    assert changed(text, lambda edit, call, _: edit.unwrap(call, ".to(1)")) == result


@pytest.mark.parametrize("text", ["y = f()\n", "y = f(*x)\n", "y = f(key=x)\n"])
def test_no_call_goes_that_holds_nothing(text: str) -> None:
    assert changed(text, lambda edit, call, _: edit.unwrap(call)) is None


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("y = f(x, key=1)\n", "y = f(x)\n"),
        ("y = f(x, other=2, key=1)\n", "y = f(x)\n"),
        ("y = f(x, z, key=1,)\n", "y = f(x, z,)\n"),
        ("y = f(\n    (x),\n    other=2,\n    key=(1),\n)\n", "y = f(\n    (x),\n)\n"),
    ],
)
def test_last_arguments_go(text: str, result: str) -> None:
    def change(edit: Editor, call: ast.Call, _: ast.expr) -> Edits | None:
        return edit.drop_arguments(call, *(keyword.arg for keyword in call.keywords if keyword.arg))

    assert changed(text, change) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("y = f(key=1)\n", "y = f()\n"),
        ("y = f(x, key=1, third=3)\n", "y = f(x, third=3)\n"),
        ("y = f(key=1, *x)\n", "y = f(*x)\n"),
        ("y = f(x)\n", None),
    ],
)
def test_an_argument_goes_from_any_place(text: str, result: str | None) -> None:
    assert changed(text, lambda edit, call, _: edit.drop_arguments(call, "key")) == result
