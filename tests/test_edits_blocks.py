"""Edits of whole statements: a block around some, lines before and after one, in every layout that Python allows."""

from __future__ import annotations

import ast
import io
from collections.abc import Callable, Iterable

import pytest

from flake8_tensorcopy.engine.edits import Editor, Edits
from flake8_tensorcopy.engine.region import Region
from flake8_tensorcopy.fixes import Source

BLOCK = "with torch.no_grad():"


def changed(text: str, change: Callable[[Editor, list[ast.stmt]], Edits | None]) -> str | None:
    """The text after a change of the statements whose code holds `add_`."""
    tree = ast.parse(text)
    lines = io.StringIO(text).readlines()
    edit = Region(lines, [(1, len(lines))], tree).edit
    found = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, (ast.Expr, ast.AugAssign)) and "add_" in ast.unparse(node))
        or (isinstance(node, ast.FunctionDef) and node.name == "add_")
    ]
    fix = edit.fix("Change it", change(edit, sorted(found, key=lambda node: node.lineno)), safe=False)
    if fix is None:
        return None
    made = Source.read(text.encode()).spliced(fix.edits).text
    ast.parse(made)
    return made


def under(edit: Editor, found: list[ast.stmt]) -> Edits | None:
    return edit.join(*(edit.under(group, BLOCK) for group in dict.fromkeys(edit.together(found).values())))


def before(edit: Editor, found: list[ast.stmt]) -> Edits | None:
    return edit.join(*(edit.before(one, "y = y.clone()") for one in found))


def after(edit: Editor, found: list[ast.stmt]) -> Edits | None:
    return edit.join(*(edit.after(one, "y = y.clone()", "z = y") for one in found))


def cases(*pairs: tuple[str, str, str]) -> Iterable[object]:
    return [pytest.param(text, result, id=name) for name, text, result in pairs]


@pytest.mark.parametrize(
    ("text", "result"),
    cases(
        ("module", "y.add_(1)\n", "with torch.no_grad():\n    y.add_(1)\n"),
        ("no newline at the end", "y.add_(1)", "with torch.no_grad():\n    y.add_(1)"),
        (
            "the step of the block around",
            "class A:\n    x = 1\n    if x:\n      y.add_(1)\n",
            "class A:\n    x = 1\n    if x:\n      with torch.no_grad():\n        y.add_(1)\n",
        ),
        (
            "two spaces, elsewhere in the file",
            "if x:\n  pass\ny.add_(1)\n",
            "if x:\n  pass\nwith torch.no_grad():\n  y.add_(1)\n",
        ),
        ("tabs", "def f(y):\n\ty.add_(1)\n", "def f(y):\n\twith torch.no_grad():\n\t\ty.add_(1)\n"),
        (
            "tabs, at the top of the file",
            "y.add_(1)\nif x:\n\tpass\n",
            "with torch.no_grad():\n\ty.add_(1)\nif x:\n\tpass\n",
        ),
        (
            "form feed",
            "def f(y):\n\f    y.add_(1)\n",
            "def f(y):\n\f    with torch.no_grad():\n        y.add_(1)\n",
        ),
        (
            "form feed between two",
            "def f(y):\n    y.add_(1)\n\f    y.add_(2)\n",
            "def f(y):\n    with torch.no_grad():\n        y.add_(1)\n\f        y.add_(2)\n",
        ),
        ("comment", "y.add_(1)  # one\n", "with torch.no_grad():\n    y.add_(1)  # one\n"),
        (
            "comments around",
            "if x:\n    # before\n    y.add_(1)\n    # after\n",
            "if x:\n    # before\n    with torch.no_grad():\n        y.add_(1)\n    # after\n",
        ),
        (
            "several lines",
            "y.add_(\n    1,  # one\n\n    alpha=2,\n)\n",
            "with torch.no_grad():\n    y.add_(\n        1,  # one\n\n        alpha=2,\n    )\n",
        ),
        (
            "a text over lines",
            'y.add_(f(\n  """a\n  b\n""",\n  1))\n',
            'with torch.no_grad():\n    y.add_(f(\n      """a\n  b\n""",\n      1))\n',
        ),
        (
            "a formatted text over lines",
            "y.add_(f(f'''a {\nx} b\nc'''\n))\n",
            "with torch.no_grad():\n    y.add_(f(f'''a {\nx} b\nc'''\n    ))\n",
        ),
        (
            "a text over lines by a backslash",
            "y.add_(f('a\\\n  b'))\n",
            "with torch.no_grad():\n    y.add_(f('a\\\n  b'))\n",
        ),
        ("backslash", "y.add_ \\\n  (1)\n", "with torch.no_grad():\n    y.add_ \\\n      (1)\n"),
        (
            "two in a row",
            "if x:\n    y.add_(1)\n    # and\n    z.add_(1)\n",
            "if x:\n    with torch.no_grad():\n        y.add_(1)\n        # and\n        z.add_(1)\n",
        ),
        (
            "two apart",
            "y.add_(1)\n\nz.add_(1)\n",
            "with torch.no_grad():\n    y.add_(1)\n\nwith torch.no_grad():\n    z.add_(1)\n",
        ),
        (
            "two with another between",
            "y.add_(1)\nf()\nz.add_(1)\n",
            "with torch.no_grad():\n    y.add_(1)\nf()\nwith torch.no_grad():\n    z.add_(1)\n",
        ),
        ("two on a line", "y.add_(1); z.add_(1)\n", "with torch.no_grad():\n    y.add_(1); z.add_(1)\n"),
        ("semicolon at the end", "y.add_(1);  # one\n", "with torch.no_grad():\n    y.add_(1);  # one\n"),
        (
            "elif and else",
            "if x:\n    pass\nelif z:\n    y.add_(1)\nelse:\n    y.add_(2)\n",
            "if x:\n    pass\nelif z:\n    with torch.no_grad():\n        y.add_(1)\n"
            "else:\n    with torch.no_grad():\n        y.add_(2)\n",
        ),
        ("one line", "if x: y.add_(1)\n", "if x:\n    with torch.no_grad():\n        y.add_(1)\n"),
        (
            "one line, two statements",
            "def f(y, z):\n  for x in y: y.add_(1); z.add_(2)  # both\n",
            "def f(y, z):\n  for x in y:\n    with torch.no_grad():\n      y.add_(1); z.add_(2)  # both\n",
        ),
        (
            "one line after another keyword",
            "if x: pass\nelif z: y.add_(1)\nelse: y.add_(2)\n",
            "if x: pass\nelif z:\n    with torch.no_grad():\n        y.add_(1)\n"
            "else:\n    with torch.no_grad():\n        y.add_(2)\n",
        ),
        (
            "one line of a handler",
            "try:\n\tpass\nexcept E: y.add_(1)\nfinally: y.add_(2)\n",
            "try:\n\tpass\nexcept E:\n\twith torch.no_grad():\n\t\ty.add_(1)\n"
            "finally:\n\twith torch.no_grad():\n\t\ty.add_(2)\n",
        ),
        (
            "one line of a case",
            "match x:\n  case [1, *_]: y.add_(1)\n",
            "match x:\n  case [1, *_]:\n    with torch.no_grad():\n      y.add_(1)\n",
        ),
        (
            "one line under a header of several",
            "if (x and\n        z): y.add_(1)\n",
            "if (x and\n        z):\n    with torch.no_grad():\n        y.add_(1)\n",
        ),
        (
            "one line with a colon of its own",
            "if x[1:2]: y[:, 1].add_(1)\n",
            "if x[1:2]:\n    with torch.no_grad():\n        y[:, 1].add_(1)\n",
        ),
        (
            "letters of several bytes",
            "if 'é': y.add_(1)\nλ.add_('é')\n",
            "if 'é':\n    with torch.no_grad():\n        y.add_(1)\nwith torch.no_grad():\n    λ.add_('é')\n",
        ),
        (
            "decorators",
            "class A:\n    @a\n    @b(\n        1\n    )\n    def add_(self):\n        pass\n",
            "class A:\n    with torch.no_grad():\n        @a\n        @b(\n            1\n        )\n"
            "        def add_(self):\n            pass\n",
        ),
        (
            "newlines of Windows",
            "def f(y):\r\n    y.add_(1)\r\n",
            "def f(y):\r\n    with torch.no_grad():\r\n        y.add_(1)\r\n",
        ),
    ),
)
def test_under_a_block(text: str, result: str) -> None:
    assert changed(text, under) == result


@pytest.mark.parametrize(
    "text",
    [
        "y.add_(1); f()\n",
        "f(); y.add_(1)\n",
        "if x: y.add_(1); f()\n",
        "if x: f(); y.add_(1)\n",
        "if x: \\\n  y.add_(1)\n",
        "if x:\\\n  y.add_(1)\n",
        "'''a\n'''; y.add_(1)\n",
    ],
)
def test_no_block_where_others_share_the_line(text: str) -> None:
    assert changed(text, under) is None


@pytest.mark.parametrize(
    ("text", "result"),
    cases(
        ("module", "y.add_(1)\n", "y = y.clone()\ny.add_(1)\n"),
        ("body", "if x:\n  y.add_(1)\n", "if x:\n  y = y.clone()\n  y.add_(1)\n"),
        ("tabs", "if x:\n\ty.add_(1)\n", "if x:\n\ty = y.clone()\n\ty.add_(1)\n"),
        ("form feed", "if x:\n\f  y.add_(1)\n", "if x:\n\f  y = y.clone()\n  y.add_(1)\n"),
        ("others follow on the line", "y.add_(1); f()\n", "y = y.clone()\ny.add_(1); f()\n"),
        ("one line", "while x: y.add_(1)", "while x:\n    y = y.clone()\n    y.add_(1)"),
        ("one line, others follow", "if x: y.add_(1); f()\n", "if x:\n    y = y.clone()\n    y.add_(1); f()\n"),
        (
            "decorators",
            "class A:\n    @a\n    def add_(self):\n        pass\n",
            "class A:\n    y = y.clone()\n    @a\n    def add_(self):\n        pass\n",
        ),
    ),
)
def test_lines_before(text: str, result: str) -> None:
    assert changed(text, before) == result


@pytest.mark.parametrize("text", ["f(); y.add_(1)\n", "if x: f(); y.add_(1)\n", "if x: \\\n  y.add_(1)\n"])
def test_no_lines_before_what_follows_on_a_line(text: str) -> None:
    assert changed(text, before) is None


@pytest.mark.parametrize(
    ("text", "result"),
    cases(
        ("module", "y.add_(1)\n", "y.add_(1)\ny = y.clone()\nz = y\n"),
        ("no newline at the end", "if x:\n\ty.add_(1)", "if x:\n\ty.add_(1)\n\ty = y.clone()\n\tz = y"),
        ("comment", "y.add_(1)  # one\nf()\n", "y.add_(1)  # one\ny = y.clone()\nz = y\nf()\n"),
        ("several lines", "y.add_(\n    1\n)\n", "y.add_(\n    1\n)\ny = y.clone()\nz = y\n"),
        ("semicolon at the end", "y.add_(1);\n", "y.add_(1);\ny = y.clone()\nz = y\n"),
        ("form feed", "if x:\n\f  y.add_(1)\n", "if x:\n\f  y.add_(1)\n  y = y.clone()\n  z = y\n"),
        ("one line", "if x: y.add_(1)\n", "if x:\n    y.add_(1)\n    y = y.clone()\n    z = y\n"),
    ),
)
def test_lines_after(text: str, result: str) -> None:
    assert changed(text, after) == result


@pytest.mark.parametrize(
    "text",
    [
        "y.add_(1); f()\n",
        "f(); y.add_(1)\n",
        "if x: y.add_(1); f()\n",
        "if x: f(); y.add_(1)\n",
        "def add_(self):\n    pass\n",
    ],
)
def test_no_lines_after_what_shares_a_line_or_has_a_body(text: str) -> None:
    assert changed(text, after) is None


def test_lines_come_before_what_else_is_put_at_the_beginning() -> None:
    def both(edit: Editor, found: list[ast.stmt]) -> Edits | None:
        return edit.join(edit.assign(found[0], "y"), edit.under(found[0], BLOCK))

    assert changed("y.add_(1)\n", both) == "with torch.no_grad():\n    y = y.add_(1)\n"


def out_of_place(edit: Editor, found: list[ast.stmt]) -> Edits | None:
    return edit.join(*(edit.out_of_place(one) for one in found))


@pytest.mark.parametrize(
    ("text", "result"),
    cases(
        ("method", "y.add_(1)\n", "y = y.add(1)\n"),
        ("method over lines", "y.add_(\n    1,  # one\n)\n", "y = y.add(\n    1,  # one\n)\n"),
        ("sum", "y += x.add_\n", "y = y + x.add_\n"),
        ("no blanks", "y*=add_\n", "y= y *add_\n"),
        ("power", "y **= -add_\n", "y = y ** -add_\n"),
        ("operand that binds closer", "y += 2 * add_  # two\n", "y = y + 2 * add_  # two\n"),
        ("operand that binds as close", "y -= 2 - add_  # two\n", "y = y - (2 - add_)  # two\n"),
        ("operand that binds less", "y @= x + add_\n", "y = y @ (x + add_)\n"),
        ("condition", "y //= add_ if x else 1\n", "y = y // (add_ if x else 1)\n"),
        ("comparison", "y += add_ > 1\n", "y = y + (add_ > 1)\n"),
        ("negation", "y &= not add_\n", "y = y & (not add_)\n"),
        ("lambda", "y += lambda: add_\n", "y = y + (lambda: add_)\n"),
        ("tuple", "y += 1, add_\n", "y = y + (1, add_)\n"),
        ("in parentheses", "y *= (\n    x + add_\n)\n", "y = y * (\n    x + add_\n)\n"),
        ("backslash", "y += \\\n    add_\n", "y = y + \\\n    add_\n"),
    ),
)
def test_a_new_value(text: str, result: str) -> None:
    assert changed(text, out_of_place) == result


@pytest.mark.parametrize("text", ["x.y += add_\n", "y[0] += add_\n", "x.y.add_(1)\n", "y.add_.add()\n", "add_(y)\n"])
def test_no_new_value_for_what_is_no_name(text: str) -> None:
    assert changed(text, out_of_place) is None


def test_a_name_of_torch_as_the_file_writes_it() -> None:
    def names(text: str) -> tuple[str, int] | None:
        tree = ast.parse(text)
        lines = io.StringIO(text).readlines()
        found = Region(lines, [(1, len(lines))], tree).edit.named("torch.no_grad", tree.body[-1])
        return found and (found[0], len(found[1]))

    assert names("import torch\nf()\n") == ("torch.no_grad", 0)
    assert names("import torch as t\nf()\n") == ("t.no_grad", 0)
    assert names("from torch import no_grad as quiet\nf()\n") == ("quiet", 0)
    assert names("from torch import nn\nf()\n") == ("torch.no_grad", 1)
    assert names("from tools import torch\nf()\n") is None
