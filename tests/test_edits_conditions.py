"""Where repairs stop short, are unsafe, or are not made, as they would not give what was meant.

Each text is the body of a function; `None` stands for a finding that has no repair.
"""

from __future__ import annotations

import pytest

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine.registration import _OWN_NAMES
from flake8_tensorcopy.fixes import Source
from flake8_tensorcopy.lint import lint
from tests.test_edits_writes import body, repaired

HEAD = """\
import numpy as np
import torch
from torch import nn


def f(x: torch.Tensor, w: nn.Parameter, net: nn.Module, dev: torch.device, n: int):
"""

CASTS = [
    ("arange(0, 1, 0.1).to(dev, torch.int64)", "arange(0, 1, 0.1, device=dev).to(torch.int64)"),
    ("arange(n).to(dev, torch.int64, True)", None),
    ("linspace(0, 1, 5).to(dev, torch.long)", "linspace(0, 1, 5, device=dev).to(torch.long)"),
    ("linspace(0, 1, 5).to(dev, torch.float64)", "linspace(0, 1, 5, device=dev, dtype=torch.float64)"),
    ("full((2,), 0.5).to(device=dev, dtype=torch.int)", "full((2,), 0.5, device=dev).to(dtype=torch.int)"),
    ("rand(3).to(dev, dtype=torch.bool)", "rand(3, device=dev).to(dtype=torch.bool)"),
    ("rand(3).to(dev, x.dtype)", "rand(3, device=dev).to(x.dtype)"),
    ("randperm(n).to(dev, torch.half)", "randperm(n, device=dev).to(torch.half)"),
    ("zeros(3).to(dev, torch.int64)", "zeros(3, device=dev, dtype=torch.int64)"),
    ("eye(3).to(dev, x.dtype)", "eye(3, device=dev, dtype=x.dtype)"),
    ("arange(n).to(dev)", "arange(n, device=dev)"),
]


@pytest.mark.parametrize(("text", "result"), CASTS)
def test_a_factory_that_computes_is_not_told_to_in_integers(text: str, result: str | None) -> None:
    expected = None if result is None else HEAD + body(f"return torch.{result}")
    assert repaired(f"return torch.{text}", "TSC505", HEAD) == expected


def safety(text: str, code: str) -> list[bool | None]:
    """Whether the repairs of a rule's findings are safe; None for those that have none."""
    source = Source.read(text.encode())
    found = [one for one in lint(source.tree(), source.lines, Options(preview=True)) if one.code == code]
    return [None if one.fix is None else one.fix.safe for one in found]


ARRAYS = [
    ("return torch.tensor([np.zeros(2), np.ones(2)])", True),
    ("rows = [np.zeros(2) for _ in range(3)]\nreturn torch.tensor(rows)", True),
    ("rows = [np.zeros(2) for _ in (1, 2)]\nreturn torch.tensor(rows)", True),
    ("rows = [np.zeros(2)]\nrows.append(np.ones(2))\nreturn torch.tensor(rows)", True),
    ("rows = [np.zeros(2) for _ in range(n)]\nreturn torch.tensor(rows, dtype=torch.float32)", True),
    ("return torch.FloatTensor([np.zeros(2) for _ in range(n)])", True),
    ("rows = [np.zeros(2) for _ in range(n)]\nreturn torch.tensor(rows)", False),
    ("rows = [np.zeros(2) for _ in range(0)]\nreturn torch.tensor(rows)", False),
    ("rows = [np.zeros(2) for _ in range(3) if n]\nreturn torch.tensor(rows)", False),
    ("rows = [np.zeros(2)]\nrows.pop()\nreturn torch.tensor(rows)", False),
    ("rows = [np.zeros(2)]\nnet(rows)\nreturn torch.tensor(rows)", False),
    ("rows = []\nfor _ in range(n):\n    rows.append(np.zeros(2))\nreturn torch.as_tensor(rows)", False),
    ("return torch.as_tensor([np.zeros(2) for _ in range(n)])", False),
]


@pytest.mark.parametrize(("text", "safe"), ARRAYS)
def test_an_empty_list_would_change_its_dtype(text: str, safe: bool) -> None:
    assert safety(HEAD + body(text), "TSC602") == [safe]


KEYED = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, names, size: float):
        super().__init__()
        self.body = nn.Linear(3, 3)
        {}

    def forward(self, x):
        return sum(layer(x) for layer in self.parts.values())
"""
KEYS = [
    ('self.parts = {"a": nn.Linear(3, 3), "b_1": nn.Linear(3, 3)}', True),
    ('self.parts = {"0": nn.Linear(3, 3)}', True),
    ('self.parts = {f"layer{i}": nn.Linear(3, 3) for i in names}', True),
    ("self.parts = {str(i): nn.Linear(3, 3) for i in range(3)}", True),
    ('self.parts = {f"{i}": nn.Linear(3, 3) for i in range(3)}', True),
    ('self.parts = {key: nn.Linear(3, 3) for key in ("a", "b")}', True),
    ('self.parts = {"type": nn.Linear(3, 3)}', False),
    ('self.parts = {"pop": nn.Linear(3, 3), "a": nn.Linear(3, 3)}', False),
    ('self.parts = {"training": nn.Linear(3, 3)}', False),
    ('self.parts = {"_modules": nn.Linear(3, 3)}', False),
    ('self.parts = {"": nn.Linear(3, 3)}', False),
    ('self.parts = {"a.b": nn.Linear(3, 3)}', False),
    ('self.parts = {f"{i}.x": nn.Linear(3, 3) for i in range(3)}', False),
    ('self.parts = {f"x{size:.1f}": nn.Linear(3, 3)}', False),
    ('self.parts = {f"{name}": nn.Linear(3, 3) for name in names}', False),
    ("self.parts = {name: nn.Linear(3, 3) for name in names}", False),
    ('self.parts = {key: nn.Linear(3, 3) for key in ("a", "keys")}', False),
    ("self.parts = {str(size): nn.Linear(3, 3)}", False),
    ('self.parts: dict = {"type": nn.Linear(3, 3)}', False),
    ('self.parts = {}\n        self.parts["items"] = nn.Linear(3, 3)', False),
    ('self.parts = {}\n        self.parts["a"] = nn.Linear(3, 3)', True),
    ('self.parts = {"a": nn.Linear(3, 3)}\n        self.parts.update({"to": nn.Linear(3, 3)})', False),
    ('self.parts = {"type": nn.Parameter(torch.ones(3))}', False),
]


@pytest.mark.parametrize(("text", "made"), KEYS)
def test_a_dict_with_keys_that_torch_may_refuse_is_left(text: str, made: bool) -> None:
    assert safety(KEYED.format(text), "TSC409") == [False if made else None]


def test_names_of_their_own_are_those_of_torch() -> None:
    torch_nn = pytest.importorskip("torch.nn")
    for one in (torch_nn.ModuleDict(), torch_nn.ParameterDict()):
        assert {name for name in (*dir(one), *vars(one)) if name[0] != "_"} <= _OWN_NAMES


MADE = "u = torch.randn(3, requires_grad=True)"
STEPPED = "\nreturn torch.optim.Adam([u])"
LEAVES = [
    (MADE + " * n", "u = (torch.randn(3) * n).requires_grad_()"),
    (MADE + " / n ** 0.5", "u = (torch.randn(3) / n ** 0.5).requires_grad_()"),
    (MADE + ".cuda() + 1", "u = (torch.randn(3).cuda() + 1).requires_grad_()"),
    (MADE + " + torch.ones(3)", "u = (torch.randn(3) + torch.ones(3)).requires_grad_()"),
    (MADE + " + w.detach()", "u = (torch.randn(3) + w.detach()).requires_grad_()"),
    (MADE + " + w.sum().item()", "u = (torch.randn(3) + w.sum().item()).requires_grad_()"),
    ("s = torch.ones(3)\n" + MADE + " * s", "s = torch.ones(3)\nu = (torch.randn(3) * s).requires_grad_()"),
    (MADE + ".to(dev).view(n, -1)", "u = torch.randn(3).to(dev).view(n, -1).requires_grad_()"),
    (MADE + " + w.sum()", None),
    (MADE + " + x", None),
    (MADE + " + net(x)", None),
    (MADE + ".mul(w)", None),
    (MADE + ".clamp(min=w)", None),
    ("u = torch.where(x > 0, torch.randn(3, requires_grad=True), w)", None),
    (MADE + " + torch.ones(3, requires_grad=True)", None),
    ("s = torch.ones(3)\ns.add_(w)\n" + MADE + " * s", None),
    ("s = torch.ones(3)\ns += w\n" + MADE + " * s", None),
    ("s = torch.ones(3)\ns.requires_grad = True\n" + MADE + " * s", None),
    ("s = torch.ones(3).requires_grad_()\n" + MADE + " * s", None),
    ("s = torch.ones(3)\ns[0] = w\n" + MADE + " * s", None),
    (MADE + ".long()", None),
    (MADE + ".round().int()", None),
    (MADE + ".byte()", None),
    (MADE + ".to(torch.int64)", None),
    (MADE + ".to(dev, dtype=torch.int32)", None),
    (MADE + ".type(torch.LongTensor)", None),
    (MADE + ".type('torch.IntTensor')", None),
    (MADE + ".sort()[1]", None),
]


@pytest.mark.parametrize(("text", "result"), LEAVES)
def test_what_is_no_leaf_without_the_flag_is_left(text: str, result: str | None) -> None:
    expected = None if result is None else HEAD + body(result + STEPPED)
    assert repaired(text + STEPPED, "TSC404", HEAD) == expected
