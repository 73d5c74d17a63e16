"""Where repairs put a copy: each way to bind, store or hand out a tensor, before and after."""

from __future__ import annotations

import ast

import pytest

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.fixes import repair
from flake8_tensorcopy.lint import lint

EVERY = Options(preview=True)
HEAD = "import numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\n"


def repaired(code: str, source: str) -> str:
    made = repair(
        (HEAD + source).encode(),
        lambda tree, lines: lint(tree, lines, EVERY),
        lambda findings, tree, lines: [finding for finding in findings if finding.code == code],
        unsafe=True,
    )
    assert made.refused == ()
    return "".join(made.source.lines).removeprefix(HEAD)


X = "def f(x: torch.Tensor, flag=None):\n"

CASES = [
    ("TSC101", "    y = x\n", "    y = x.clone()\n", "    y += 1\n    return torch.stack([x, y])\n"),
    ("TSC101", "    y: torch.Tensor = x\n", "    y: torch.Tensor = x.clone()\n", "    y.add_(1)\n    return x - y\n"),
    (
        "TSC101",
        "    y = (\n        x  # in\n    )\n",
        "    y = (\n        x  # in\n    ).clone()\n",
        "    y += 1\n    return torch.stack([x, y])\n",
    ),
    ("TSC101", "    y, z = x, 1\n", "    y, z = x.clone(), 1\n", "    y += 1\n    return torch.stack([x, y])\n"),
    (
        "TSC101",
        "    y = x if flag else torch.zeros(2)\n",
        "    y = x.clone() if flag else torch.zeros(2)\n",
        "    y += 1\n    return torch.stack([x, y])\n",
    ),
    ("TSC101", "    y = z = x\n", "    y = z = x\n    z = y.clone()\n", "    z += 1\n    return torch.stack([y, z])\n"),
    ("TSC101", "    print(y := x)\n", "    print(y := x.clone())\n", "    y.add_(1)\n    return x - y\n"),
    ("TSC102", "    old_a, old_b = x\n", "    old_a, old_b = x.clone()\n", "    x += 1\n    return x[0] - old_a\n"),
    (
        "TSC102",
        "    old, rest = torch.chunk(x, 2)\n",
        "    old, rest = torch.chunk(x.clone(), 2)\n",
        "    x += 1\n    return x[:2] - old\n",
    ),
    (
        "TSC102",
        "    old = x.chunk(2)[0]\n",
        "    old = x.chunk(2)[0].clone()\n",
        "    x += 1\n    return x[:2] - old\n",
    ),
    (
        "TSC102",
        "    x[0], x[1], x[2] = x[2], x[0], x[1]\n",
        "    x[0], x[1], x[2] = x[2], x[0].clone(), x[1].clone()\n",
        "    return x\n",
    ),
    ("TSC103", "    old = x.data[0]\n", "    old = x.data[0].clone()\n", "    x.add_(1)\n    return x[0] - old\n"),
    (
        "TSC104",
        "    old = x.numpy()[1:]\n",
        "    old = x.numpy()[1:].copy()\n",
        "    x += 1\n    return x.numpy()[1:] - old\n",
    ),
    (
        "TSC105",
        "    y = x.to(\n        flag,  # where\n    )\n",
        "    y = x.to(\n        flag,  # where\n        copy=True,\n    )\n",
        "    y += 1\n    return x - y\n",
    ),
    (
        "TSC105",
        "    y = x.to(flag) if flag else x\n",
        "    y = x.to(flag).clone() if flag else x.clone()\n",
        "    y += 1\n    return torch.stack([x, y])\n",
    ),
    ("TSC105", "    y = x.float().mul_(3)\n", "    y = x.float().clone().mul_(3)\n", "    return x - y\n"),
    (
        "TSC105",
        "    y = x.float()\n    if flag:\n        y = y.T\n",
        "    y = x.float().clone()\n    if flag:\n        y = y.T\n",
        "    y.mul_(3)\n    return y\n",
    ),
    (
        "TSC106",
        "    skip = x\n    y = F.relu(\n        x,  # in\n        inplace=True,\n    )\n",
        "    skip = x\n    y = F.relu(\n        x,  # in\n    )\n",
        "    return y + skip\n",
    ),
    ("TSC106", "    skip = x\n    x.relu_()\n", "    skip = x.clone()\n    x.relu_()\n", "    return x + skip\n"),
    (
        "TSC106",
        "    skip = x\n    x = x.relu_() * 2\n",
        "    skip = x\n    x = x.relu() * 2\n",
        "    return x + skip\n",
    ),
    (
        "TSC108",
        "    for i in range(3):\n        x += 1\n        yield i, x\n",
        "    for i in range(3):\n        x += 1\n        yield i, x.clone()\n",
        "",
    ),
    (
        "TSC108",
        "    for i in range(3):\n        x += 1\n        item = {'x': x}\n        yield item\n",
        "    for i in range(3):\n        x += 1\n        item = {'x': x.clone()}\n        yield item\n",
        "",
    ),
    (
        "TSC120",
        "    torch.save({'x': x[5].detach()}, flag)\n",
        "    torch.save({'x': x[5].detach().clone()}, flag)\n",
        "",
    ),
    (
        "TSC122",
        "    a = np.frombuffer(b'ab', dtype=np.uint8)\n    t = torch.from_numpy(a[1:])\n",
        "    a = np.frombuffer(b'ab', dtype=np.uint8)\n    t = torch.from_numpy(a[1:].copy())\n",
        "    t += 1\n    return t\n",
    ),
]


@pytest.mark.parametrize(("code", "before", "after", "rest"), CASES)
def test_the_copy_stands_where_the_names_part(code: str, before: str, after: str, rest: str) -> None:
    assert repaired(code, X + before + rest) == X + after + rest


NONE = [
    # What is bound may be None.
    (
        "TSC101",
        "def f(x, y: torch.Tensor | None = None):\n    z = y\n    if z is not None:\n        z += 1\n"
        "        return z - y\n    return x\n",
    ),
    # The written copy would be seen by nobody.
    ("TSC105", "def f(x: torch.Tensor):\n    x.reshape(-1).add_(1)\n    return x\n"),
    # The loop's iterable holds the tensors, and is none of them.
    ("TSC102", "def f(x: torch.Tensor, out):\n    for old in x:\n        x += 1\n        out.append(x[0] - old)\n"),
    # The attribute is None at times.
    (
        "TSC108",
        "class Mean:\n    def __init__(self):\n        self.total = None\n\n    def start(self):\n"
        "        self.total = torch.zeros(2)\n\n    def add(self, x):\n        self.total += x\n\n    def get(self):\n"
        "        return self.total\n",
    ),
]


@pytest.mark.parametrize(("code", "source"), NONE)
def test_no_copy_where_none_is_surely_right(code: str, source: str) -> None:
    text = HEAD + source
    found = lint(ast.parse(text), text.splitlines(keepends=True), EVERY)
    assert code in [finding.code for finding in found]
    assert repaired(code, source) == source
