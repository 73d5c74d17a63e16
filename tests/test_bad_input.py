"""Files that are broken, odd or huge: flake8 goes on as without the plugin, and TSC000 is the worst that happens."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flake8_tensorcopy.config import DEBUG
from flake8_tensorcopy.plugin import Plugin
from tests.conftest import REPORT, WITHOUT_PLUGIN, run_flake8

HEAD = "import torch\n\n\n"
KNOWN = "\n\ndef known(x: torch.Tensor) -> torch.Tensor:\n    return x.clone().detach()\n"


def function(*body: str, name: str = "f") -> str:
    """A function of a tensor, with the statements `body`."""
    return f"def {name}(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n" + "".join(f"    {s}\n" for s in body)


def torch_file(*body: str) -> str:
    """`body` in one function of a module that uses torch, and another function with a TSC601."""
    return HEAD + function(*body) + KNOWN


def nest(before: str, inside: str, after: str, depth: int) -> str:
    return before * depth + inside + after * depth


def elifs(count: int) -> list[str]:
    arms = [
        f"{'if' if n == 0 else 'elif'} y.sum() > {n}:\n        x = y.view({n})\n        x.add_(1)" for n in range(count)
    ]
    return ["b = x", *arms, "x += 1", "return b - x"]


def nested_blocks(head: str, depth: int) -> list[str]:
    return [f"{' ' * 4 * n}{head}" for n in range(depth)] + [" " * 4 * depth + "x.add_(1)", "return x"]


def nested_functions(depth: int) -> str:
    lines = [f"{'    ' * n}def f{n}(x: torch.Tensor):\n{'    ' * (n + 1)}b = x\n" for n in range(depth)]
    return "".join(lines) + "    " * depth + "x.add_(1)\n" + "    " * depth + "return b - x\n"


def wide(count: int) -> list[str]:
    lines = ["b = x.detach()", "c = x[1:]"]
    for n in range(count // 5):
        lines += [
            f"t{n} = x.view({n})",
            f"t{n}.add_({n})",
            f"y[{n}] = t{n}",
            f"for i in range({n}):\n        x += y[i]",
        ]
    return [*lines, "return b - x + c"]


# flake8 takes these: the whole program is run on them, with the plugin and without.
ACCEPTED: dict[str, str | bytes] = {
    "empty": "",
    "blank": "\n\n\n",
    "comments": "# import torch\n# x.clone().detach()\n",
    "docstring": '"""torch"""\n',
    "unfinished": "import torch\n\ndef f(x:\n    return x.clone().detach()\n",
    "bad_indent": "import torch\ndef f(x):\nreturn x\n",
    "open_bracket": "import torch\nx = [1, 2\n",
    "open_string": 'import torch\nx = """abc\n',
    "tabs_and_spaces": "import torch\ndef f(x):\n\tif x:\n        return x\n",
    "python2": "import torch\nprint 'torch'\n",
    "return_outside": "import torch\nreturn torch.zeros(1)\n",
    "nul": b"import torch\nx = 1\x00\n",
    "binary": bytes(range(256)) * 8 + b"torch",
    "latin1_undeclared": b"import torch  # \xe9\n\n\ndef f(x: torch.Tensor):\n    return x.clone().detach()\n",
    "latin1_declared": b"# -*- coding: latin-1 -*-\nimport torch  # \xe9\n" + KNOWN.encode(),
    "unknown_coding": b"# -*- coding: klingon -*-\nimport torch\n" + KNOWN.encode(),
    "utf16": (HEAD + KNOWN).encode("utf-16"),
    "bom": b"\xef\xbb\xbf" + (HEAD + KNOWN).encode(),
    "crlf": (HEAD + KNOWN).replace("\n", "\r\n").encode(),
    "mixed_newlines": b"import torch\r\nx = torch.zeros(1)\ny = x\ry += 1\r\nprint(x, y)\n" + KNOWN.encode(),
    "form_feed": HEAD + "\x0c\n" + function("\x0cb = x", "x += 1", "return b - x") + KNOWN,
    "odd_separators": torch_file("s = '\u2028 \x85 \x1c'", "return x.clone().detach()"),
    "no_last_newline": (HEAD + KNOWN).rstrip("\n"),
    "only_torch": "torch",
    "star_import": "from torch import *\n\n\ndef f(x: Tensor):\n    return x.clone().detach()\n",
    "long_line": torch_file("x = [" + "1, " * 20_000 + "]", "return x"),
    "long_function": torch_file(*wide(5_000)),
    "continuations": torch_file("b = x \\\n        .detach()", "x \\\n        += 1", "return b - \\\n        x"),
    "strings": torch_file("s = ('a'\n         'b'\n         '''c\nd''')", "return x.clone().detach()"),
    "comment_in_chain": torch_file("return (x  # one\n            .clone()  # two\n            .detach())"),
    "nested_calls": torch_file("x = " + nest("torch.relu(", "x", ")", 60), "return x"),
    "nested_parentheses": torch_file("x = " + nest("(", "x", ")", 90), "return x"),
    "too_many_parentheses": torch_file("x = " + nest("(", "x", ")", 300), "return x"),
    "sum_of_terms": torch_file("x = " + " + ".join(["x"] * 150), "return x"),
    "long_chain": torch_file("x = x" + ".t()" * 80, "return x"),
    "attribute_chain": torch_file("x = x" + ".data" * 150, "return x"),
    "elifs": torch_file(*elifs(150)),
    "lambdas": torch_file("g = " + "".join(f"lambda a{n}=x: " for n in range(60)) + "x.add_(1)", "return g"),
    "nested_functions": HEAD + nested_functions(18) + KNOWN,
    "nested_ifs": torch_file(*nested_blocks("if y.sum():", 18)),
    "nested_fors": torch_file(*nested_blocks("for i in range(3):", 18)),
    "nested_withs": torch_file(*nested_blocks("with torch.no_grad():", 18)),
    "tries": torch_file(
        *[
            f"try:\n        x.add_({n})\n    except ValueError:\n        x = y\n    finally:\n        y = x"
            for n in range(40)
        ],
        "return x",
    ),
    "match": torch_file(
        "b = x",
        "match y:\n"
        "        case torch.Tensor() as b if b.sum():\n            b += 1\n"
        "        case [x, *rest] | {'k': x, **rest}:\n            x.add_(1)\n"
        "        case None | True | -1 | 1 + 2j | 'torch':\n            x = x.t()\n"
        "        case str(a, b=c):\n            x[a] = c\n"
        "        case _:\n            x -= 1",
        "return b - x",
    ),
    "f_strings": torch_file(
        "x.add_(1)", "s = f\"{x.clone().detach()!r:>{y.item()}} {x = } {{}} {f'{x.cpu()}'}\"", "return s"
    ),
    "walrus": torch_file(
        "if (b := x) is not None and (c := b.add_(1)).sum() > (d := 1):\n        return b - c + d", "return x"
    ),
    "comprehensions": torch_file(
        "a = [b.add_(1) for b in x for c in b if (d := c) if d]",
        "e = {k: v.clone().detach() for k, v in y.state_dict().items()}",
        "return a, e, {b for b in a}, (b for b in a)",
    ),
    "star_targets": torch_file(
        "a, *b, (c, *d) = x", "*b, a = b", "[a, *_], x.q, y[0] = d, a, c", "for a, *b in d:\n        a += 1", "return a"
    ),
    "chained_assignment": torch_file("a = b = x.y = y[0] = x", "a += 1", "del b, y[0], x.y", "return a"),
    "globals": torch_file("global g", "g = x", "g += 1", "return x - g"),
    "slices": torch_file("x[..., ::2, None, -1:] += 1", "x[x > 0][y] = 1", "x[()] = x[:][::]", "return x[*y]"),
    "operators": torch_file("x @= y", "x //= 2", "x **= -1", "x <<= 1", "x = ~x if not x else +x", "return x < y < 1"),
    "calls": torch_file(
        "f = x.add_", "f(*y, **{}, out=x)", "(lambda: x)().add_(1)", "x()()[0]().add_(1)", "return super().f(x)"
    ),
    "async": HEAD
    + "async def f(x: torch.Tensor, m: torch.nn.Module):\n    b = x\n    async for i in x:\n        b += await i\n"
    "    async with x as y:\n        yield x.clone().detach()\n    c = [i async for i in y]\n    yield b - x, c\n"
    + KNOWN,
    "generators": torch_file("b = yield x", "b = yield from y", "b += (yield)", "return b - x"),
    "classes": HEAD + "class A(torch.nn.Module, metaclass=M, k=1):\n    x = torch.zeros(1)\n    y = x\n    y += 1\n\n"
    "    class B:\n        def f(self, *a, b=x, **k) -> 'torch.Tensor':\n            self.x = self.y = b\n"
    "            self.x += 1\n            return self.y - self.x\n" + KNOWN,
    "decorators": HEAD
    + "@torch.no_grad()\n@(lambda f: f)\n@a.b[0]\n"
    + function("b = x", "x += 1", "return b - x")
    + KNOWN,
    "loops_with_else": torch_file(
        "b = x",
        "while True:\n        x += 1\n        if x:\n            break\n        continue\n    else:\n        x = y",
        "for x in x:\n        pass\n    else:\n        b += 1",
        "return b - x",
    ),
    "unreachable": torch_file("return x", "b = x", "raise b", "x += 1", "assert b - x, x", "pass"),
    "exception_groups": torch_file(
        "try:\n        x += 1\n    except* ValueError as e:\n        x = e\n    else:\n        y = x", "return y"
    ),
    "module_level": "import torch\nx = torch.zeros(1)\nb = x\nx += 1\nprint(b - x)\ndel x\nx.add_(1)\n" + KNOWN,
    "conditional_import": "try:\n    import torch\nexcept ImportError:\n    torch = None\n" + KNOWN,
    "shadowed_torch": torch_file("torch = y", "x = torch.zeros(1)", "return x.clone().detach()"),
    "unicode_names": torch_file("naïve = x", "x += 1", "return naïve - x, 変数"),
}
if sys.version_info >= (3, 12):
    ACCEPTED["type_parameters"] = (
        HEAD
        + "type A[T] = list[T]\n\n\nclass C[T: torch.Tensor]:\n    pass\n\n\n"
        + (
            "def f[T: torch.Tensor, *U, **V](x: T, y: torch.Tensor) -> T:\n    b = y\n    y += 1\n    return b - y\n"
            + KNOWN
        )
    )
    ACCEPTED["nested_f_strings"] = torch_file('return f"{f"{f"{x.clone().detach()}"}"}"')

# Beyond what flake8's own checkers take, or slow under them: the plugin alone, which must not depend on their limits.
DEEP: dict[str, str] = {
    "nested_calls": torch_file("x = " + nest("torch.relu(", "x", ")", 150), "return x"),
    "nested_lists": torch_file("x = " + nest("[", "x", "]", 180), "return x"),
    "sum_of_terms": torch_file("x = " + " + ".join(["x"] * 1_000), "return x"),
    "and_or": torch_file("x = " + " or ".join(["x and y"] * 1_000), "return x"),
    "concatenated_strings": torch_file("s = (" + "'torch'\n         " * 1_000 + ")", "return x.clone().detach()"),
    "comparisons": torch_file("x = " + " < ".join(["x"] * 1_000), "return x"),
    "long_chain": torch_file("x = x" + ".t()" * 450, "return x"),
    "attribute_chain": torch_file("x = x" + ".data" * 900, "return x"),
    "subscript_chain": torch_file("x = x" + "[0]" * 900, "x" + "[0]" * 900 + " += 1", "return x"),
    "elifs": torch_file(*elifs(500)),
    "conditionals": torch_file("x = " + "".join(f"x if y > {n} else " for n in range(500)) + "y", "return x"),
    "unary": torch_file("x = " + "-" * 900 + "x", "x = " + "not " * 900 + "x", "return x"),
    "lambdas": torch_file("g = " + "lambda: " * 150 + "x.add_(1)", "return g"),
    "nested_functions": HEAD + nested_functions(90) + KNOWN,
    "nested_ifs": torch_file(*nested_blocks("if y.sum():", 95)),
    "nested_whiles": torch_file(*nested_blocks("while y.sum():", 19)),
    "nested_fors": torch_file(*nested_blocks("for i in range(3):", 19)),
    "nested_tuples": torch_file("b = x", nest("(", "x", ",)", 150) + " = y", "return b"),
    "nested_classes": HEAD
    + "".join(f"{'    ' * n}class C{n}:\n" for n in range(90))
    + "    " * 90
    + "x = torch\n"
    + KNOWN,
    "decorated": HEAD + "@torch.no_grad()\n" * 1_000 + function("return x") + KNOWN,
    "many_arguments": HEAD
    + f"def f({', '.join(f'x{n}: torch.Tensor' for n in range(2_000))}):\n    x1 += x2\n"
    + KNOWN,
    "many_functions": HEAD + "\n".join(function("b = x", "return b", name=f"f{n}") for n in range(1_000)) + KNOWN,
    "call_cycle": HEAD
    + "\n".join(function(f"return f{(n + 1) % 200}(x, y)", name=f"f{n}") for n in range(200))
    + KNOWN,
    "base_cycle": HEAD
    + "class A(B):\n    pass\n\n\nclass B(A):\n    def f(self, x):\n        self.x = x\n        x += 1\n"
    + KNOWN,
}


@dataclass(frozen=True)
class Runs:
    """flake8's lines for each file, with the plugin and without."""

    with_plugin: dict[str, list[str]]
    without: dict[str, list[str]]


def by_file(out: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in ACCEPTED}
    for line in out.splitlines():
        match = REPORT.match(line)
        assert match, f"not a finding: {line}"
        found[match["file"].removesuffix(".py")].append(line)
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("bad")
    for name, text in ACCEPTED.items():
        (folder / f"{name}.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    options = ("--isolated", "-j1", "--max-complexity=10", ".")
    mine = run_flake8(*options, cwd=folder)
    bare = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", WITHOUT_PLUGIN, *options], cwd=folder, capture_output=True, check=False
    )
    assert (mine.err, bare.stderr.decode()) == ("", "")
    return Runs(by_file(mine.out), by_file(bare.stdout.decode()))


@pytest.mark.parametrize("name", ACCEPTED)
def test_flake8_reports_the_same_as_without_the_plugin(runs: Runs, name: str) -> None:
    others = [line for line in runs.with_plugin[name] if ": TSC" not in line]
    assert others == runs.without[name]


@pytest.mark.parametrize("name", ACCEPTED)
def test_everything_that_parses_is_analysed(runs: Runs, name: str) -> None:
    """None of these is deep enough for a TSC000, and the finding that each holds at its end is there."""
    found = [line.split()[1] for line in runs.with_plugin[name]]
    assert "TSC000" not in found
    text = ACCEPTED[name]
    known = KNOWN if isinstance(text, str) else KNOWN.encode()
    if "E999" not in found and "E902" not in found and text.endswith(known):  # type: ignore[arg-type]
        assert runs.with_plugin[name][-1].split()[1] == "TSC601"


def test_without_the_plugin_means_without(runs: Runs) -> None:
    assert not any("TSC" in line for lines in runs.without.values() for line in lines)
    assert runs.without["unfinished"]


def findings(text: str) -> Iterator[tuple[int, str]]:
    for line, _, message, _ in Plugin(ast.parse(text), text.splitlines(keepends=True), "deep.py").run():
        yield line, message


# The first statements of the deep function: a write that is to be followed, in a function that another one calls.
FOLLOWED = "    z = y\n    y.add_(1)\n"
CALLER = "\n\ndef caller(x, y):\n    z = y\n    f(x, y)\n    return z\n"


def followed(text: str) -> str:
    head, mark, rest = text.partition(function())
    return head + mark + FOLLOWED + rest.replace(KNOWN, CALLER + KNOWN) if mark else text


@pytest.mark.parametrize("change", [str, followed], ids=["", "followed"])
@pytest.mark.parametrize("name", DEEP)
def test_deep_files_are_survived(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[str], str]) -> None:
    """At worst one TSC000 that names the function, and never at the cost of the function beside the deep one."""
    monkeypatch.delenv(DEBUG, raising=False)
    text = change(DEEP[name])
    found = list(findings(text))
    assert found[-1][0] == text.count("\n")
    assert found[-1][1].startswith("TSC601 ")
    refused = [message for _, message in found if message.startswith("TSC000")]
    assert len(refused) <= 1
    assert all(message.startswith("TSC000 not analysed: `") for message in refused)


def test_a_file_nested_too_deeply_in_flake8(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text("import os\n" + torch_file(f"x{'[0]' * 150} += 1", "return x"))
    run = run_flake8("--isolated", "--select=F401,TSC", cwd=tmp_path)
    assert (run.err, run.exit) == ("", 1)
    assert sorted((line, code) for _, line, _, code in run.places) == [(1, "F401"), (1, "TSC000"), (11, "TSC601")]
    assert "TSC000 not analysed: `f` " in run.out


ALIAS = "    b = x\n    x += 1\n    return b - x\n"
ODD = {
    "form_feed_before_def": "import torch\n\n\n\fdef f(x: torch.Tensor):\n" + ALIAS,
    "empty_annotation": "import torch\nfrom typing import Annotated\n\n\n"
    "def g(m: Annotated[()] = None):\n    return m\n"
    "\n\ndef f(x: torch.Tensor):\n" + ALIAS,
    "endless_integer": "import torch\n\n\ndef g(x):\n    x[0x1"
    + "0" * 4000
    + "] += 1\n\n\ndef f(x: torch.Tensor):\n"
    + ALIAS,
    "deep_hierarchy": "import torch\n\n\nclass A0:\n    pass\n"
    + "".join(f"\n\nclass A{i}(A{i - 1}):\n    pass\n" for i in range(1, 1101))
    + "\n\nclass B(A1100):\n    def m(self):\n        b = self.y\n        b += 1\n        return b\n"
    + "\n\ndef f(x: torch.Tensor):\n"
    + ALIAS,
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files_keep_their_findings(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(DEBUG, "1")
    found = list(findings(ODD[name]))
    assert [message.split()[0] for _, message in found] == ["TSC101"]
    assert found[0][0] == ODD[name].count("\n") - 1
