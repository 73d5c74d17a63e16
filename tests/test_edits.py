"""Edits: each pair of texts is a file before and after; what cannot be changed rightly is left alone."""

from __future__ import annotations

import ast
import textwrap

import pytest

from flake8_tensorcopy.engine import Edit, Fix
from flake8_tensorcopy.engine.edits import Editor
from flake8_tensorcopy.engine.region import Region
from flake8_tensorcopy.fixes import Source

Pair = tuple[str, str | None]


def source(text: str) -> Source:
    return Source.read(textwrap.dedent(text).encode())


def editor(file: Source) -> tuple[Editor, ast.Module]:
    tree = file.tree()
    return Editor(Region(file.lines, [(1, len(file.lines))], tree)), tree


def site(tree: ast.Module, text: str) -> ast.expr:
    """The last expression of the file that reads like this."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and ast.unparse(node) == text]
    return max(found, key=lambda node: (node.lineno, node.col_offset))


def spliced(file: Source, *parts: tuple[Edit, ...] | None) -> bytes | None:
    edits = Editor.join(*parts)
    return None if edits is None else file.spliced(edits).data


def copied(file: Source, value: str = "value") -> bytes | None:
    """The file with a deep copy of `value`, the last one that it has."""
    edit, tree = editor(file)
    node = site(tree, value)
    found = edit.function("copy.deepcopy", node)
    return None if found is None else spliced(file, edit.call(node, found[0]), found[1])


def check(before: str, after: str | None, change: bytes | None) -> None:
    assert change == (None if after is None else textwrap.dedent(after).encode())
    if change is not None:
        ast.parse(change)


# ----- names that a repair needs

KNOWN: dict[str, Pair] = {
    "module": (
        """\
        import copy
        def f(value): return value
        """,
        """\
        import copy
        def f(value): return copy.deepcopy(value)
        """,
    ),
    "alias": (
        """\
        import copy as cp
        kept = value
        """,
        """\
        import copy as cp
        kept = cp.deepcopy(value)
        """,
    ),
    "function": (
        """\
        from copy import deepcopy
        kept = value
        """,
        """\
        from copy import deepcopy
        kept = deepcopy(value)
        """,
    ),
    "function with alias": (
        """\
        from copy import copy, deepcopy as deep
        kept = value
        """,
        """\
        from copy import copy, deepcopy as deep
        kept = deep(value)
        """,
    ),
    "in the function": (
        """\
        def f(value):
            import copy
            return value
        """,
        """\
        def f(value):
            import copy
            return copy.deepcopy(value)
        """,
    ),
    "in a function around": (
        """\
        def f():
            from copy import deepcopy
            def g(value):
                return value
        """,
        """\
        def f():
            from copy import deepcopy
            def g(value):
                return deepcopy(value)
        """,
    ),
    "hidden by a parameter, there under another name": (
        """\
        import copy
        from copy import deepcopy
        def f(value, copy):
            return value
        """,
        """\
        import copy
        from copy import deepcopy
        def f(value, copy):
            return deepcopy(value)
        """,
    ),
    "a method of that name": (
        """\
        import copy
        class A:
            def copy(self):
                return self.value
        """,
        """\
        import copy
        class A:
            def copy(self):
                return copy.deepcopy(self.value)
        """,
    ),
    "under with": (
        """\
        with quiet():
            import copy
        kept = value
        """,
        """\
        with quiet():
            import copy
        kept = copy.deepcopy(value)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), KNOWN.values(), ids=KNOWN)
def test_what_the_file_imports_is_used(before: str, after: str) -> None:
    check(before, after, copied(source(before), "self.value" if "self.value" in before else "value"))


ADDED: dict[str, Pair] = {
    "in its place among the first imports": (
        """\
        import argparse
        import os

        import torch
        kept = value
        """,
        """\
        import argparse
        import copy
        import os

        import torch
        kept = copy.deepcopy(value)
        """,
    ),
    "before what is imported from": (
        """\
        import abc
        from os import path
        kept = value
        """,
        """\
        import abc
        import copy
        from os import path
        kept = copy.deepcopy(value)
        """,
    ),
    "last of its block": (
        """\
        import abc
        import argparse

        import torch
        kept = value
        """,
        """\
        import abc
        import argparse
        import copy

        import torch
        kept = copy.deepcopy(value)
        """,
    ),
    "a block of its own": (
        """\
        import torch
        kept = value
        """,
        """\
        import copy

        import torch
        kept = copy.deepcopy(value)
        """,
    ),
    "before what comes from elsewhere": (
        """\
        import abc
        import torch
        kept = value
        """,
        """\
        import abc
        import copy
        import torch
        kept = copy.deepcopy(value)
        """,
    ),
    "after a docstring, the future and comments": (
        '''\
        #!/usr/bin/env python
        # -*- coding: utf-8 -*-
        # All rights reserved.
        """What it does.

        In two paragraphs.
        """
        from __future__ import annotations

        # Torch first.
        import torch
        kept = value
        ''',
        '''\
        #!/usr/bin/env python
        # -*- coding: utf-8 -*-
        # All rights reserved.
        """What it does.

        In two paragraphs.
        """
        from __future__ import annotations

        # Torch first.
        import copy

        import torch
        kept = copy.deepcopy(value)
        ''',
    ),
    "no import, only a docstring": (
        '''\
        """Short."""
        kept = value
        ''',
        '''\
        """Short."""

        import copy
        kept = copy.deepcopy(value)
        ''',
    ),
    "no import, only the future": (
        """\
        from __future__ import annotations
        kept = value
        """,
        """\
        from __future__ import annotations

        import copy
        kept = copy.deepcopy(value)
        """,
    ),
    "nothing above": (
        """\
        kept = value
        """,
        """\
        import copy
        kept = copy.deepcopy(value)
        """,
    ),
    "only comments above": (
        """\
        #!/usr/bin/env python
        # Short.
        kept = value
        """,
        """\
        #!/usr/bin/env python
        # Short.
        import copy
        kept = copy.deepcopy(value)
        """,
    ),
    "on the line of a docstring": (
        '''\
        """Short."""; import torch
        kept = value
        ''',
        '''\
        """Short."""; import copy; import torch
        kept = copy.deepcopy(value)
        ''',
    ),
    "several on one line": (
        """\
        import abc; import torch
        kept = value
        """,
        """\
        import abc; import copy; import torch
        kept = copy.deepcopy(value)
        """,
    ),
    "an import over several lines": (
        """\
        from abc import (
            ABC,
        )
        kept = value
        """,
        """\
        import copy
        from abc import (
            ABC,
        )
        kept = copy.deepcopy(value)
        """,
    ),
    "imports below the site": (
        '''\
        """Doc."""
        def f(value):
            return value
        import torch
        ''',
        '''\
        """Doc."""

        import copy
        def f(value):
            return copy.deepcopy(value)
        import torch
        ''',
    ),
    "the same module, further down": (
        """\
        def f(value):
            return value
        import copy
        """,
        """\
        import copy
        def f(value):
            return copy.deepcopy(value)
        import copy
        """,
    ),
    "the same module, in another function": (
        """\
        import torch
        def g():
            import copy
        def f(value):
            return value
        """,
        """\
        import copy

        import torch
        def g():
            import copy
        def f(value):
            return copy.deepcopy(value)
        """,
    ),
    "the same module, for type checkers": (
        """\
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import copy
        def f(value):
            return value
        """,
        """\
        import copy
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import copy
        def f(value):
            return copy.deepcopy(value)
        """,
    ),
    "the same module, under a condition": (
        """\
        import sys
        if sys.argv:
            import copy
        kept = value
        """,
        """\
        import copy
        import sys
        if sys.argv:
            import copy
        kept = copy.deepcopy(value)
        """,
    ),
    "below what may bind anything": (
        """\
        import torch
        from torch.nn import *
        from utils import *  # all
        kept = value
        """,
        """\
        import torch
        from torch.nn import *
        from utils import *  # all
        import copy
        kept = copy.deepcopy(value)
        """,
    ),
    "the site on the line of the first import": (
        """\
        import torch; kept = value
        """,
        """\
        import copy
        import torch; kept = copy.deepcopy(value)
        """,
    ),
    "the function, where the name of the module is taken": (
        """\
        from torch import nn
        def copy(x): return x
        def f(value):
            return value
        """,
        """\
        from copy import deepcopy

        from torch import nn
        def copy(x): return x
        def f(value):
            return deepcopy(value)
        """,
    ),
    "the function, where a parameter has the name of the module": (
        """\
        import abc
        from dataclasses import field
        def f(value, copy=False):
            return value
        """,
        """\
        import abc
        from copy import deepcopy
        from dataclasses import field
        def f(value, copy=False):
            return deepcopy(value)
        """,
    ),
    "the function, where another one of the module has its name": (
        """\
        from copy import copy
        kept = value
        """,
        """\
        from copy import copy
        from copy import deepcopy
        kept = deepcopy(value)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), ADDED.values(), ids=ADDED)
def test_what_the_file_lacks_is_imported(before: str, after: str) -> None:
    check(before, after, copied(source(before)))


TAKEN = {
    "both names": """\
        def copy(x): return x
        def deepcopy(x): return x
        kept = value
        """,
    "both names, locally": """\
        import copy
        def f(value, copy):
            deepcopy = copy
            return value
        """,
    "a local name that is imported below": """\
        import copy
        from copy import deepcopy
        def f(value):
            kept = value
            import copy
            deepcopy = copy.deepcopy
        """,
    "a loop variable": """\
        for copy, deepcopy in ():
            pass
        kept = value
        """,
    "global": """\
        def g():
            global copy, deepcopy
            copy = deepcopy = None
        def f(value):
            return value
        """,
    "perhaps, by a star": """\
        from numpy import *
        kept = value
        other = copy(value), deepcopy
        def f():
            return value
        """,
    "perhaps, by a star in a branch": """\
        if there:
            from numpy import *
        kept = value
        """,
    "perhaps, by a star below": """\
        kept = value
        from numpy import *
        """,
    "perhaps, by a star on the same line": """\
        from numpy import *; import torch
        kept = value
        """,
    "a relative import": """\
        from . import copy, deepcopy
        kept = value
        """,
    "a pattern": """\
        def f(value):
            match value:
                case [copy, *deepcopy]:
                    return value
        """,
    "a handler": """\
        try:
            pass
        except OSError as copy:
            pass
        except ValueError as deepcopy:
            pass
        kept = value
        """,
}


@pytest.mark.parametrize("before", TAKEN.values(), ids=TAKEN)
def test_names_that_mean_something_else_are_left_alone(before: str) -> None:
    check(before, None, copied(source(before)))


def test_an_import_has_the_newlines_of_the_file() -> None:
    file = Source.read(b"\xef\xbb\xbf# x\r\nimport os\r\n\r\nkept = value\r\n")
    assert copied(file) == (b"\xef\xbb\xbf# x\r\nimport copy\r\nimport os\r\n\r\nkept = copy.deepcopy(value)\r\n")


def test_a_form_feed_is_no_line() -> None:
    file = Source.read(b'"""Doc."""\n\x0cimport os\n\x0c\ndef f(value):\n    return value\n')
    assert copied(file) == (
        b'"""Doc."""\nimport copy\n\x0cimport os\n\x0c\ndef f(value):\n    return copy.deepcopy(value)\n'
    )


def test_the_encoding_is_still_named_in_the_first_two_lines() -> None:
    file = Source.read("\n# coding: latin-1\nkept = value, 'é'\n".encode("latin-1"))
    assert copied(file) == "\n# coding: latin-1\nimport copy\nkept = copy.deepcopy(value), 'é'\n".encode("latin-1")


def test_no_newline_at_the_end() -> None:
    assert copied(Source.read(b"import os\nkept = value")) == b"import copy\nimport os\nkept = copy.deepcopy(value)"


def test_letters_outside_ascii() -> None:
    file = source("''; import torch; ä = 'ö', value\n")
    assert copied(source("'ü'; import torch\nä = 'ö', value\n")) == (
        "'ü'; import copy; import torch\nä = 'ö', copy.deepcopy(value)\n".encode()
    )
    assert copied(file) is None


def test_two_repairs_import_once() -> None:
    file = source("import torch\nfirst = value\nsecond = value\n")
    edit, tree = editor(file)
    sites = [node.value for node in tree.body if isinstance(node, ast.Assign)]
    fixes = []
    for node in sites:
        found = edit.function("copy.deepcopy", node)
        assert found is not None
        fixes.append(edit.fix("Copy", edit.call(node, found[0]), found[1], safe=True))
    edits = {one for fix in fixes if isinstance(fix, Fix) for one in fix.edits}
    assert file.spliced(edits).data == (
        b"import copy\n\nimport torch\nfirst = copy.deepcopy(value)\nsecond = copy.deepcopy(value)\n"
    )


IMPORTED: dict[str, list[tuple[str, str | None]]] = {
    "torch.no_grad": [
        ("import torch\n", "torch.no_grad"),
        ("import torch as th\n", "th.no_grad"),
        ("from torch import no_grad\n", "no_grad"),
        ("from torch import no_grad as quiet\n", "quiet"),
        ("import torch.nn\n", "torch.no_grad"),
        ("import torch.nn as nn\n", None),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", "torch.no_grad"),
        ("if has_torch():\n    import torch\n", "torch.no_grad"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n", None),
        ("if False:\n    pass\nelse:\n    import torch\n", "torch.no_grad"),
        ("import torch\nimport jax as torch\n", None),
        ("import torch\ntorch = wrapped(torch)\n", None),
        ("from .torch import no_grad\n", None),
        ("def g():\n    import torch\n", None),
        ("", None),
    ],
    "torch.nn.Module": [
        ("import torch\n", "torch.nn.Module"),
        ("from torch import nn\n", "nn.Module"),
        ("import torch.nn as nn\n", "nn.Module"),
        ("from torch.nn import Module\n", "Module"),
    ],
}


@pytest.mark.parametrize(
    ("qualified", "imports", "written"),
    [(name, imports, written) for name, cases in IMPORTED.items() for imports, written in cases],
)
def test_a_qualified_name_is_written_as_the_file_imports_it(qualified: str, imports: str, written: str | None) -> None:
    edit, tree = editor(source(f"{imports}def f(value):\n    return value\n"))
    assert edit.imported(qualified, site(tree, "value")) == written


def test_a_module_with_a_dot_is_not_imported() -> None:
    edit, tree = editor(source("import os\nkept = value\n"))
    assert edit.module("xml.dom", site(tree, "value")) is None
    assert edit.module("os.path", site(tree, "value")) == ("os.path", ())


# ----- one object in every slot

REPEATED: dict[str, Pair] = {
    "list": ("kept = [f()] * n\n", "kept = [f() for _ in range(n)]\n"),
    "number first": ("kept = 3 * [f()]\n", "kept = [f() for _ in range(3)]\n"),
    "tuple": ("kept = (f(),) * n\n", "kept = tuple(f() for _ in range(n))\n"),
    "sum of numbers": ("kept = [f()] * (n + 1)\n", "kept = [f() for _ in range(n + 1)]\n"),
    "parentheses around": ("g(*([f()] * n))\n", "g(*([f() for _ in range(n)]))\n"),
    "several": ("kept = [f(), g()] * n\n", "kept = [item for _ in range(n) for item in (f(), g())]\n"),
    "name taken": (
        "kept = [f(item, _), g()] * n\n",
        "kept = [each for index in range(n) for each in (f(item, _), g())]\n",
    ),
    "over lines": (
        "kept = [\n    f(),  # one\n] * n\n",
        "kept = [\n    f() for _ in range(n)  # one\n]\n",
    ),
    "several over lines": (
        "kept = [\n    f(),  # one\n    g(),  # two\n] * n\n",
        "kept = [\n    item for _ in range(n) for item in (f(),  # one\n    g(),)  # two\n]\n",
    ),
    "a number over lines": (
        "kept = [f()] * (\n    n\n    + 1\n)\n",
        "kept = [f() for _ in range(n + 1)]\n",
    ),
    "a comment that would be lost": ("kept = [f()] * (\n    n  # of them\n    + 1\n)\n", None),
    "a comment between": ("kept = ([f()]  # one\n    * n)\n", None),
    "a further product": ("kept = [f()] * n * m\n", None),
    "inside a further product": ("kept = [[f()] * n] * m\n", None),
    "a name among several": ("kept = [f(), g] * n\n", None),
    "starred": ("kept = [*f()] * n\n", None),
    "empty": ("kept = [] * n\n", None),
    "no list": ("kept = f() * n\n", None),
    "a name bound inside": ("kept = [f()] * (n := 3)\n", None),
    "awaited": ("async def g():\n    return [await f()] * n\n", None),
    "in the body of a class": ("class A:\n    kept = [f()] * n\n", None),
    "range is another name": ("def g(range):\n    return [f()] * range\n", None),
    "tuple is another name": ("def g(tuple):\n    return (f(),) * 2\n", None),
    "another function has the name": (
        "def g(range):\n    return range\nkept = [f()] * n\n",
        "def g(range):\n    return range\nkept = [f() for _ in range(n)]\n",
    ),
    "in a method": (
        "class A:\n    def g(self):\n        return [f()] * n\n",
        "class A:\n    def g(self):\n        return [f() for _ in range(n)]\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), REPEATED.values(), ids=REPEATED)
def test_repeated(before: str, after: str | None) -> None:
    file = source(before)
    edit, tree = editor(file)
    product = next(node for node in ast.walk(tree) if isinstance(node, ast.BinOp))
    if "[[" in before:  # the inner one
        product = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp)][-1]
    elif " * m" in before:
        assert isinstance(product.left, ast.BinOp)
        product = product.left
    check(before, after, spliced(file, edit.repeated(product)))


WRAPPED = [
    ("kept = [f] * n\n", "copy(", ")", "kept = [copy(f) for _ in range(n)]\n"),
    ("kept = [f] * n\n", "", ".clone()", "kept = [f.clone() for _ in range(n)]\n"),
    ("kept = [(a or b)] * n\n", "", ".clone()", "kept = [(a or b).clone() for _ in range(n)]\n"),
    ("kept = [a or b] * n\n", "", ".clone()", None),
    ("kept = [a or b] * n\n", "copy(", ")", "kept = [copy(a or b) for _ in range(n)]\n"),
    ("kept = [f, g] * n\n", "copy(", ")", None),
]


@pytest.mark.parametrize(("before", "opening", "closing", "after"), WRAPPED)
def test_repeated_copies(before: str, opening: str, closing: str, after: str | None) -> None:
    file = source(before)
    edit, tree = editor(file)
    product = next(node for node in ast.walk(tree) if isinstance(node, ast.BinOp))
    check(before, after, spliced(file, edit.repeated(product, opening, closing)))


KEYED: dict[str, Pair] = {
    "names": ("kept = dict.fromkeys(names, f())\n", "kept = {key: f() for key in names}\n"),
    "a condition": (
        "kept = dict.fromkeys(a if c else b, f())\n",
        "kept = {key: f() for key in (a if c else b)}\n",
    ),
    "parentheses": ("kept = dict.fromkeys((1, 2), f(),)\n", "kept = {key: f() for key in (1, 2)}\n"),
    "a name taken": ("kept = dict.fromkeys(names, f(key))\n", "kept = {name: f(key) for name in names}\n"),
    "over lines": ("kept = dict.fromkeys(\n    names,\n    f(),\n)\n", "kept = {key: f() for key in names}\n"),
    "comment": ("kept = dict.fromkeys(\n    names,  # all\n    f(),\n)\n", None),
    "no value": ("kept = dict.fromkeys(names)\n", None),
    "starred": ("kept = dict.fromkeys(*names, f())\n", None),
    "another class": ("kept = Counter.fromkeys(names, f())\n", None),
    "dict is another name": ("dict = Counter\nkept = dict.fromkeys(names, f())\n", None),
    "in the body of a class": ("class A:\n    kept = dict.fromkeys(names, f())\n", None),
}


@pytest.mark.parametrize(("before", "after"), KEYED.values(), ids=KEYED)
def test_keyed(before: str, after: str | None) -> None:
    file = source(before)
    edit, tree = editor(file)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    value = ast.unparse(call.args[-1])
    check(before, after, spliced(file, edit.keyed(call, value)))


# ----- copies

EACH: dict[str, Pair] = {
    "list": ("kept = list(m.ps())\n", "kept = [x.clone() for x in m.ps()]\n"),
    "tuple": ("kept = tuple(m.ps())\n", "kept = tuple(x.clone() for x in m.ps())\n"),
    "over lines": ("kept = list(\n    m.ps(),\n)\n", "kept = [x.clone() for x in m.ps()]\n"),
    "a comment": ("kept = list(\n    m.ps(),  # all\n)\n", None),
    "parentheses": ("kept = list((a or b))\n", "kept = [x.clone() for x in (a or b)]\n"),
    "loose": ("kept = list(a or b)\n", None),
    "a generator": ("kept = list(y for y in z)\n", None),
    "starred": ("kept = list(*z)\n", None),
    "list is another name": ("list = fetch\nkept = list(m.ps())\n", None),
    "sorted": ("kept = sorted(z)\n", None),
}


@pytest.mark.parametrize(("before", "after"), EACH.values(), ids=EACH)
def test_each(before: str, after: str | None) -> None:
    file = source(before)
    edit, tree = editor(file)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    check(before, after, spliced(file, edit.each(call, "x.clone()", "x")))


CLONED: dict[str, Pair] = {
    "name": ("x", "x.clone()"),
    "operator": ("x + y", "(x + y).clone()"),
    "host": ("x.cpu()", 'x.to("cpu", copy=True)'),
    "host with a layout": ("x.cpu(memory_format=f)", "x.cpu(memory_format=f).clone()"),
    "device": ("x.to(device)", "x.to(device, copy=True)"),
    "device, a trailing comma": ("x.to(device,)", "x.to(device, copy=True,)"),
    "a copy or none": ("x.to(device, copy=c)", "x.to(device, copy=c).clone()"),
    "options": ("x.to(**options)", "x.to(**options).clone()"),
    "array": ("x.cpu().numpy()", "x.cpu().numpy().copy()"),
    "or none": ("x.grad if x.grad is not None else None", "x.grad.clone() if x.grad is not None else None"),
    "none or": ("None if c else x.cpu()", 'None if c else x.to("cpu", copy=True)'),
    "a number": ("0 if c else x", "0 if c else x.clone()"),
    "one of two": ("x if c else y", "(x if c else y).clone()"),
}


@pytest.mark.parametrize(("before", "after"), CLONED.values(), ids=CLONED)
def test_cloned(before: str, after: str) -> None:
    file = source(f"kept = {before}\n")
    edit, tree = editor(file)
    assert isinstance(tree.body[0], ast.Assign)
    check(before, f"kept = {after}\n", spliced(file, edit.cloned(tree.body[0].value)))


def test_cloned_if_any() -> None:
    file = source("kept = [x.y.grad, x[0].grad]\n")
    edit, tree = editor(file)
    check(
        "",
        "kept = [None if x.y.grad is None else x.y.grad.clone(), x[0].grad]\n",
        spliced(file, edit.cloned_if_any(site(tree, "x.y.grad"))),
    )
    assert edit.cloned_if_any(site(tree, "x[0].grad")) is None


DEEPENED: dict[str, Pair] = {
    "method": ("m.state().copy()", "deepcopy(m.state())"),
    "method over lines": ("(m.state()\n    .copy())", "(deepcopy(m.state()))"),
    "method after a comment": ("(m.state()  # all\n    .copy())", "(deepcopy(m.state())  # all\n    )"),
    "method with a comment in it": ("m.state().copy(  # all\n)", None),
    "dict": ("dict(m.state())", "deepcopy(m.state())"),
    "copy": ("copy.copy(m)", "deepcopy(m)"),
    "two arguments": ("dict(m.state(), n=1)", None),
    "starred": ("dict(*m)", None),
}


@pytest.mark.parametrize(("before", "after"), DEEPENED.values(), ids=DEEPENED)
def test_deepened(before: str, after: str | None) -> None:
    file = source(f"kept = {before}\n")
    edit, tree = editor(file)
    assert isinstance(tree.body[0], ast.Assign)
    change = spliced(file, edit.deepened(tree.body[0].value, "deepcopy", shallow=True))
    check(before, None if after is None else f"kept = {after}\n", change)
