"""Where a repair is safe and where it is not: what the same code is made of once it cannot go wrong.

Each text is a file before and after the safe repairs of one rule; `None` stands for a finding without a safe repair.
"""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.fixes import Source, repair
from flake8_tensorcopy.lint import lint

HEAD = """\
import copy

import torch
from torch import nn


"""


def repaired(text: str, code: str) -> str | None:
    """A file after the safe repairs of a rule; None where it reports something and repairs nothing."""
    every = Options(preview=True)
    data = (HEAD + text).encode()
    source = Source.read(data)
    assert [finding.code for finding in lint(source.tree(), source.lines, every) if finding.code == code]
    made = repair(
        data,
        lambda tree, lines: lint(tree, lines, every),
        lambda findings, tree, lines: [finding for finding in findings if finding.code == code],
    )
    assert made.refused == ()
    return "".join(made.source.lines)[len(HEAD) :] if made.fixed else None


def function(arguments: str, text: str) -> str:
    return f"def f({arguments}):\n" + indent(dedent(text).strip("\n"), "    ") + "\n"


# ----- the state of a module

BEST = """\
best, low = None, 9.0
for x in data:
    opt.zero_grad()
    loss = net(x).sum()
    loss.backward()
    opt.step()
    if loss.item() < low:
        low, best = loss.item(), {}
net.load_state_dict(best)
"""

STATES = [
    ("net.state_dict(keep_vars=False)", "copy.deepcopy(net.state_dict(keep_vars=False))"),
    ("dict(net.state_dict(prefix=''))", "copy.deepcopy(net.state_dict(prefix=''))"),
    ("net.state_dict(keep_vars=True)", None),
    ("dict(net.state_dict(keep_vars=n))", None),
    ("net.state_dict(None, '', True).copy()", None),
    ("net.state_dict(**options)", None),
    ("net.state_dict(*options)", None),
]


@pytest.mark.parametrize(("before", "after"), STATES)
def test_what_may_be_the_parameters_themselves_has_no_safe_copy(before: str, after: str | None) -> None:
    arguments = "net: nn.Module, opt: torch.optim.Optimizer, data, n, options"
    made = repaired(function(arguments, BEST.replace("{}", before)), "TSC112")
    assert made == (None if after is None else function(arguments, BEST.replace("{}", after)))


# ----- a second name for a module

TRAINED = """\
class Learner:
    def __init__(self, net: nn.Module):
        {first}
        {second}
        self.opt = torch.optim.SGD({parameters}, lr=0.1)

    def step(self, x):
        loss = (self.net(x) - self.old_net(x) - 1).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
"""
NET, OLD, DEEP = "self.net = net", "self.old_net = net", "self.old_net = copy.deepcopy(net)"

ATTRIBUTES = [
    (NET, OLD, "self.net.parameters()", (NET, DEEP)),
    (NET, OLD, "self.old_net.parameters()", None),
    (NET, OLD, "[p for p in self.old_net.parameters() if p.requires_grad]", None),
    (NET, OLD, "[{'params': p} for p in self.old_net.parameters()]", None),
    (OLD, NET, "self.old_net.parameters()", None),
    (OLD, NET, "self.net.parameters()", None),
]


@pytest.mark.parametrize(("first", "second", "parameters", "after"), ATTRIBUTES)
def test_an_attribute_that_is_trained_gets_no_safe_copy(
    first: str, second: str, parameters: str, after: tuple[str, str] | None
) -> None:
    made = repaired(TRAINED.format(first=first, second=second, parameters=parameters), "TSC113")
    wanted = TRAINED.format(first=after[0], second=after[1], parameters=parameters) if after is not None else None
    assert made == wanted


FOLLOWED = """\
ema = {module}
{lines}
for x in data:
    opt.zero_grad()
    {called}(x).sum().backward()
    opt.step()
return (net(x) - ema(x)).norm()
"""

NAMES = [
    ("opt = torch.optim.SGD(net.parameters(), 0.1)", "net", True),
    ("opt = torch.optim.SGD(ema.parameters(), 0.1)", "ema", False),
    ("params = list(ema.parameters())\nopt = torch.optim.SGD(params, 0.1)", "ema", False),
    ("opt = torch.optim.SGD([p for _, p in ema.named_parameters()], 0.1)", "ema", False),
    ("for p in ema.parameters(): print(p)\nopt = torch.optim.SGD(net.parameters(), 0.1)", "net", True),
    ("opt = torch.optim.SGD(net.parameters(), 0.1)\nprint(sum(p.numel() for p in ema.parameters()))", "net", True),
]


@pytest.mark.parametrize(("lines", "called", "safe"), NAMES)
def test_a_name_that_is_trained_gets_no_safe_copy(lines: str, called: str, safe: bool) -> None:
    made = repaired(
        function("net: nn.Module, data", FOLLOWED.format(module="net", lines=lines, called=called)), "TSC113"
    )
    after = FOLLOWED.format(module="copy.deepcopy(net)", lines=lines, called=called)
    assert made == (function("net: nn.Module, data", after) if safe else None)


# ----- gradients of each parameter

MAYBE = "None if p.grad is None else p.grad.clone()"

GRADIENTS = [
    ("first = [p.grad for p in net.parameters()]", f"first = [{MAYBE} for p in net.parameters()]"),
    (
        "first = {n: p.grad for n, p in net.named_parameters()}",
        f"first = {{n: {MAYBE} for n, p in net.named_parameters()}}",
    ),
    (
        "first = {n: p.grad for n, p in net.named_parameters() if p.grad is not None}",
        "first = {n: p.grad.clone() for n, p in net.named_parameters() if p.grad is not None}",
    ),
    (
        "first = {n: p.grad for n, p in net.named_parameters() if p.requires_grad}",
        f"first = {{n: {MAYBE} for n, p in net.named_parameters() if p.requires_grad}}",
    ),
    (
        "first = []\nfor p in net.parameters():\n    first.append(p.grad)",
        f"first = []\nfor p in net.parameters():\n    first.append({MAYBE})",
    ),
    (
        "first = []\nfor p in net.parameters():\n    if p.grad is None:\n        continue\n    first.append(p.grad)",
        "first = []\nfor p in net.parameters():\n"
        "    if p.grad is None:\n        continue\n    first.append(p.grad.clone())",
    ),
    (
        "first = []\nfor p in net.parameters():\n    print(p.grad.norm())\n    first.append(p.grad)",
        "first = []\nfor p in net.parameters():\n    print(p.grad.norm())\n    first.append(p.grad.clone())",
    ),
    (
        "first = []\nfor p in net.parameters():\n    if p.grad is None:\n        print(p)\n    first.append(p.grad)",
        f"first = []\nfor p in net.parameters():\n    if p.grad is None:\n        print(p)\n    first.append({MAYBE})",
    ),
    (
        "first = []\nfor p in net.parameters():\n    if p.grad is not None and p.dim():\n        first.append(p.grad)",
        "first = []\nfor p in net.parameters():\n"
        "    if p.grad is not None and p.dim():\n        first.append(p.grad.clone())",
    ),
    (
        "first = []\nfor p in net.parameters():\n    g = p.grad\n    first.append(g)",
        "first = []\nfor p in net.parameters():\n    g = p.grad\n    first.append(None if g is None else g.clone())",
    ),
]

AFTERWARDS = """
net(y).sum().backward()
second = {n: p.grad - 1 for n, p in net.named_parameters() if p.grad is not None}
return first, second
"""


@pytest.mark.parametrize(("before", "after"), GRADIENTS)
def test_a_gradient_that_may_be_none_is_asked_for(before: str, after: str) -> None:
    begin = "net(x).sum().backward()\n"
    made = repaired(function("net: nn.Module, x, y", begin + before + AFTERWARDS), "TSC115")
    assert made == function("net: nn.Module, x, y", begin + after + AFTERWARDS)


# ----- a loss that is kept

STEP = "loss.backward()\nopt.step()\n"

LOSSES = [
    ("loss = net(x).sum()\n" + STEP, True),
    ("loss = 0.0\nif x is not None:\n    loss = net(x).sum()\n    loss.backward()\nopt.step()\n", False),
    ("if x is None:\n    loss = 0.0\nelse:\n    loss = net(x).sum()\n    loss.backward()\nopt.step()\n", False),
    ("if x is None:\n    continue\nelse:\n    loss = net(x).sum()\n" + STEP, True),
    ("if x is None:\n    loss = None\n    continue\nloss = net(x).sum()\n" + STEP, True),
    ("loss = net(x).sum() if n else None\nif loss is not None:\n    loss.backward()\nopt.step()\n", False),
    (
        "try:\n    loss = net(x).sum()\n    loss.backward()\nexcept TypeError:\n    loss = float('nan')\nopt.step()\n",
        False,
    ),
    ("try:\n    loss = net(x).sum()\n    loss.backward()\nexcept TypeError:\n    continue\nopt.step()\n", True),
    ("with torch.enable_grad():\n    loss = net(x).sum()\n" + STEP, True),
    ("loss = 0\nfor k in x:\n    loss = loss + net(k).sum()\nif n:\n    loss.backward()\nopt.step()\n", False),
    ("loss = 0\nfor k in x:\n    loss = loss + net(k).sum()\n" + STEP, True),  # a number has no `backward()`
    ("loss = 0\nfor k in x:\n    loss += net(k).sum()\nif n:\n    loss.backward()\nopt.step()\n", False),
    ("first = 0.0\nif n:\n    first = net(x).sum()\nloss = first\nif n:\n    loss.backward()\nopt.step()\n", False),
]

KEPT = [
    ("total += loss", "total += loss.detach()"),
    ("total = total + loss", "total = total + loss.detach()"),
    ("logs.append(loss)", "logs.append(loss.detach())"),
    ("logs.append((loss, 1))", "logs.append((loss.detach(), 1))"),
]


def epoch(lines: str, kept: str) -> str:
    passed = indent(f"opt.zero_grad()\n{lines}{kept}\n", "    ")
    body = f"total, logs = 0.0, []\nfor x in data:\n{passed}return total, logs"
    return function("net: nn.Module, opt, data, n", body)


@pytest.mark.parametrize(("before", "after"), KEPT)
@pytest.mark.parametrize(("lines", "sure"), LOSSES)
def test_what_may_be_no_tensor_is_not_detached(lines: str, sure: bool, before: str, after: str) -> None:
    assert repaired(epoch(lines, before), "TSC405") == (epoch(lines, after) if sure else None)


ARMS = [
    ("if n:\n    loss = net(x).sum()\nelse:\n    loss = net(x).mean()\n", True),
    ("if n:\n    loss = net(x).sum()\nelse:\n    loss = 0 * len(x)\n", False),
    ("loss = net(x).sum() if n else net(x).mean()\n", True),
    ("loss = net(x).sum() if n else data.get(x)\n", False),
]


@pytest.mark.parametrize(("lines", "sure"), ARMS)
def test_every_arm_has_to_give_a_tensor(lines: str, sure: bool) -> None:
    lines += "if n:\n    loss.backward()\nopt.step()\n"
    before, after = KEPT[1]
    assert repaired(epoch(lines, before), "TSC405") == (epoch(lines, after) if sure else None)
