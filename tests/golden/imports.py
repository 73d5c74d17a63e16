# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""torch and its parts under other names."""

import collections as c
import types
from collections import deque as queue

import torch as th
import torch.nn.functional as functional
from torch import Tensor, clamp, nn as n, relu_ as activate
from torch.nn import init
from torch.nn.functional import normalize


def renamed(x: th.Tensor):
    saved = x
    th.mul(x, 2, out=x)  # fact: StaleRead reader=saved writer=x op=mul link=alias
    return saved


def functional_renamed(x: th.Tensor):
    x = x - 8
    saved = x
    functional.relu(x, inplace=True)  # fact: StaleRead reader=saved writer=x op=relu link=alias
    return saved


# run: annotation_imported(th.ones(3))
def annotation_imported(x: "Tensor"):
    saved = x
    x += 1  # fact: StaleRead reader=saved writer=x op=+= link=alias | evidence=3
    return saved


def function_imported(x: th.Tensor):
    x = x - 8
    saved = x
    activate(x)  # fact: StaleRead reader=saved writer=x op=relu_ link=alias
    return saved


def deeper_module_imported(x: th.Tensor):
    saved = x
    init.zeros_(x)  # fact: StaleRead reader=saved writer=x op=zeros_ link=alias
    return saved


def layer_through_a_renamed_package(x: th.Tensor):
    layer = n.ReLU(inplace=True)
    x = x - 8
    saved = x
    layer(x)  # fact: StaleRead reader=saved writer=x op=layer link=alias | how=module
    return saved


def imported_in_the_function(x: th.Tensor):
    from torch.nn.functional import elu

    x = x - 8
    saved = x
    elu(x, inplace=True)  # fact: StaleRead reader=saved writer=x op=elu link=alias
    return saved


def qualified_in_full(x):
    import torch

    x = torch.nn.functional.relu(x - 8)
    saved = x
    torch.nn.functional.relu(x.sub_(9), inplace=True)  # fact: StaleRead reader=saved writer=x op=relu link=alias
    # fact: StaleRead reader=saved writer=x op=sub_ link=alias
    # fact: SavedWrite writer=x op=sub_ keeper=relu | output -proven
    # fact: SavedWrite writer=x.sub_(9) op=relu keeper=relu | output -proven
    return saved


# run: shadowed(types.SimpleNamespace(relu=lambda x, inplace: x * 2), th.ones(3))
def shadowed(functional, x: th.Tensor):
    saved = x
    functional.relu(x, inplace=True)  # stays: saved
    return saved


def shadowed_by_a_local(x: th.Tensor):
    activate = lambda value: value * 2
    saved = x
    activate(x)  # stays: saved
    return saved


def shadowed_by_a_loop(x: th.Tensor):
    saved = x
    for init in [types.SimpleNamespace(zeros_=lambda value: None)]:
        init.zeros_(x)  # stays: saved
    return saved


def _import_of_another_function(x: th.Tensor):
    from torch import sigmoid_ as squash

    return squash(x.clone())


def squash(x):
    return x * 2


def import_of_another_function(x: th.Tensor):
    saved = x
    y = squash(x)  # stays: saved
    y += 1  # stays: saved
    return saved


def numpy_is_no_torch():
    import numpy as np

    x = np.zeros(3)
    saved = x
    np.add(x, 1, out=x)  # fact: StaleRead reader=saved writer=x op=add link=alias | -evidence
    return saved


def clone_through_a_renamed_package(x: th.Tensor):
    with th.no_grad():
        return th.clone(x).detach()  # fact: CloneDetach receiver=x | -recording


def dropped_by_name(x: th.Tensor):
    clamp(x, 0, 1)  # fact: DroppedResult receiver=x op=clamp | twin evidence=3
    return x


def dropped_functional_by_name(x: th.Tensor):
    normalize(x, dim=0)  # fact: DroppedResult receiver=x op=normalize | -twin asks=out=
    return x


# run: dropped_by_another_function(lambda x, low, high: x.clamp_(low, high), th.ones(3))
def dropped_by_another_function(clamp, x: th.Tensor):
    clamp(x, 0, 1)
    return x


# run: Queues(2)
class Queues(n.Module):
    def __init__(self, depth: int):
        super().__init__()
        self.first = queue()
        for _ in range(depth):
            self.first.append(n.Linear(2, 2))
            # fact: UnregisteredItems attribute=first container=deque item=Linear
        self.second = c.deque()
        self.second.append(n.Linear(2, 2))
        # fact: UnregisteredItems attribute=second container=deque item=Linear
        layers = queue([n.Linear(2, 2)])
        self.third = n.ModuleList(layers)
