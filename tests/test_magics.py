"""What IPython adds to Python, replaced: each line stays a line, and what is left stays in its columns."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flake8_tensorcopy.magics import Plain, plain


def first(text: str) -> Plain:
    """The first way to read a cell that can be parsed."""
    for way in plain(text):
        try:
            ast.parse("".join(way.lines))
        except SyntaxError:
            continue
        return way
    raise AssertionError(f"no way to read {text!r}")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("x = 1 % y\n", "x = 1 % y\n"),
        ("%matplotlib inline\nimport x\n", "#\nimport x\n"),
        ("!pip install a \\\n  b\nimport x\n", "#\n#\nimport x\n"),
        ("if a:\n    !ls\n    %cd ..\n", "if a:\n    pass\n    pass\n"),
        ("x?\nx.y??\n?x\n??x\n%time?\nx[0].y?\n", "#\n#\n#\n#\n#\n#\n"),
        ("x = !ls -l\ny[0] = !ls\na, *b = !ls\nz = %sql q\n", None),
        ("y = %time f(x)\n", "y =       f(x)\n"),
        ("%time y = f(x)\n", "pass; y = f(x)\n"),
        ("if a:\n  %timeit -n 10 -r3 f(\n  x)\n", "if a:\n  pass;             f(\n  x)\n"),
        ("%time for a in b: c\n%timeit\n", "#\n#\n"),
        ("%%time\n%%capture out\nx = 1\n", "#\n#\nx = 1\n"),
        ("\n# why\n%%timeit n = 1\nx\n", "\n# why\n#\nx\n"),
        (",f a b\n;f a b\n/f a\nx = 1\n", "#\n#\n#\nx = 1\n"),
        ("pip install torch\nls -l /tmp\nx = 1\n", "#\n#\nx = 1\n"),
        ("ls = 1\nls\nls -ls\n", "ls = 1\nls\nls -ls\n"),
        ("s = '''\n%time\n!ls\n'''\n!ls\n", "s = '''\n%time\n!ls\n'''\n#\n"),
        ("s = 'a\\\n%b'\n%c\n", "s = 'a\\\n%b'\n#\n"),
        ("x = f(\n  a\n  % b)\n%c\n", "x = f(\n  a\n  % b)\n#\n"),
        ("x = a \\\n% b\n%c\n", "x = a \\\n% b\n#\n"),
        ("print('y=%d' % y, '=!')  # = !ls\n%c\n", "print('y=%d' % y, '=!')  # = !ls\n#\n"),
        ('print(f"{x!r:>{w}} ?")\n!x "\n# \'\n%c\n', 'print(f"{x!r:>{w}} ?")\n#\n# \'\n#\n'),
        ("x = await f()\nasync for a in b: pass\n", "x = await f()\nasync for a in b: pass\n"),
        ("", ""),
    ],
)
def test_replaced(text: str, made: str | None) -> None:
    if made is None:
        made = re.sub(r"= .*", "= get_ipython()", text)
    assert "".join(first(text).lines) == made


def test_what_is_timed_is_not_missed() -> None:
    assert first("x\n%time y\nz\nif x:\n    %memit y\n").timed == {2, 5}
    assert [first(f"%%{name}\nx\n").repeated for name in ("timeit", "time", "capture", "prun")] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("name", ["bash", "html", "writefile a.py", "script python", "javascript", "cython", "python3"])
def test_other_languages_and_processes(name: str) -> None:
    assert list(plain(f"%%{name}\nx = 1\n")) == []
    assert list(plain(f"%%time\n%%{name}\nx = 1\n")) == []


def test_what_is_not_python_stays_that() -> None:
    for text in ("x = (\n", "print x\n", "assert x != 3 !\n", "x == !y\n", "f(a=!ls)\n"):
        with pytest.raises(AssertionError, match="no way"):
            first(text)


PARTS = [
    "%",
    "%%",
    "!",
    "?",
    "x",
    " ",
    "=",
    "\n",
    "'",
    '"""',
    "(",
    ")",
    "#",
    "\\",
    "time ",
    "ls",
    ",",
    ";",
    "\t",
    "\x0c",
]


@given(st.lists(st.sampled_from(PARTS), max_size=20))
@settings(deadline=None, max_examples=500)
def test_lines_stay_lines(parts: list[str]) -> None:
    text = "".join(parts) + "\n"
    for way in plain(text):
        assert len(way.lines) == text.count("\n")
        assert all(line.count("\n") == 1 and line.endswith("\n") for line in way.lines)


SNIPPETS = [
    "x = 1", "f(\n    a,\n)", "if x:\n    !ls {x}\n    y?", "%time x = f(1)", "%matplotlib inline", "!ls \\\n  b",
    "z = %time f(x)", "a, b = !ls", "s = '''\n%no magic\n!x\n'''", "x?", "??f", "# why?\n", "print('?')  # %x", "!x 'a",
    "d['k'] = %sql select", "async with a as b: await c", "x = y \\\n% z", "print x", "q = \"a'b\" % x", "",
]  # fmt: skip


@given(st.lists(st.sampled_from(SNIPPETS), max_size=5))
@settings(deadline=None, derandomize=True)
def test_what_ipython_reads_is_read_and_nothing_else(snippets: list[str]) -> None:
    manager = pytest.importorskip("IPython.core.inputtransformer2").TransformerManager()
    text = "\n".join([*snippets, ""])
    assert _parses(manager.transform_cell(text)) == any(_parses("".join(way.lines)) for way in plain(text))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
