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
