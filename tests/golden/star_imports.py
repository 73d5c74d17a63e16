# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""What nothing in the file binds comes from a star import: `torch` is torch."""

from torch.nn.functional import *


def bound_by_a_star_import(x):
    x = torch.add(x, 1)
    saved = x
    torch.mul(x, 2, out=x)  # fact: StaleRead reader=saved writer=x op=mul link=alias
    return saved


def star_under_no_grad(x):
    with torch.no_grad():
        x.exp_()
    return x.clone().detach()  # fact: CloneDetach receiver=x | -graph
