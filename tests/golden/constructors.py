# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""One object in every slot, and parameters over tensors that live on."""

import torch
from torch import nn


# run: layers_multiplied(2)
def layers_multiplied(count: int):
    layers = [nn.Linear(2, 2)] * count
    # fact: RepeatedReference name=nn.Linear(2, 2) holds=layer | anew -written how=multiplied
    plain = [nn.ReLU()] * count
    return nn.ModuleList(layers), plain


# run: layer_in_each_pass(2)
def layer_in_each_pass(count: int):
    layer = nn.Linear(2, 2)
    return nn.ModuleList([layer for _ in range(count)])
    # fact: RepeatedReference name=layer holds=layer | -anew how=comprehension


# run: slot_added_to(2)
def slot_added_to(count: int):
    sums = [torch.zeros(2)] * count
    # fact: RepeatedReference name=torch.zeros(2) holds=tensor | anew constant written op=+=
    sums[0] += 1
    return sums


# run: slot_by_key()
def slot_by_key():
    zero = torch.zeros(2)
    sums = dict.fromkeys("ab", zero)  # fact: RepeatedReference name=zero holds=tensor | how=fromkeys
    sums["a"].add_(1)  # moves: zero
    return sums


# run: slot_bound_anew(2)
def slot_bound_anew(count: int):
    sums = [torch.zeros(2)] * count
    sums[0] = torch.ones(2)
    sums[0] += 1
    return sums


def _several(module: nn.Module, count: int):
    return nn.ModuleList([module for _ in range(count)])


# run: Counts().count(0)
class Counts:
    def __init__(self):
        self.seen = [torch.zeros(1)] * 2  # fact: RepeatedReference name=torch.zeros(1) holds=tensor | op=add_

    def count(self, label: int):
        self.seen[label].add_(1)


# run: Start(torch.zeros(2)).distance()
class Start(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.start = start
        self.weight = nn.Parameter(start)
        # fact: WrappedTensor name=start op=Parameter reason=kept | shown=self.start

    def distance(self):
        return (self.weight - self.start).norm()


def wrapped_twice(start: torch.Tensor):
    one = nn.Parameter(start)  # fact: WrappedTensor name=start op=Parameter reason=wrapped
    two = nn.Parameter(start)  # fact: WrappedTensor name=start op=Parameter reason=wrapped
    return one, two


def wrapped_and_written(start: torch.Tensor):
    weight = nn.Parameter(start)  # fact: WrappedTensor name=start op=Parameter reason=written
    start.mul_(2)  # fact: StaleRead reader=weight writer=start op=mul_ link=view
    return weight


def wrapped_copy(start: torch.Tensor):
    weight = nn.Parameter(start.clone())
    start.mul_(2)  # stays: weight
    return weight


# run: tables_over(torch.zeros(2, 2))
def tables_over(vectors: torch.Tensor):
    query = nn.Embedding.from_pretrained(vectors, freeze=False)
    # fact: WrappedTensor name=vectors op=from_pretrained reason=wrapped
    return query, nn.Embedding.from_pretrained(vectors)


# run: assigned_state(nn.Linear(2, 2), nn.Linear(2, 2))
def assigned_state(target: nn.Module, online: nn.Module):
    target.load_state_dict(online.state_dict(), assign=True)
    # fact: WrappedTensor name=online op=load_state_dict reason=source


# run: one_or_none(2, True)
def one_or_none(width: int, norm: bool, last=True):
    layers = [nn.Linear(2, width)] + norm * [nn.BatchNorm1d(2)] + [nn.Linear(2, 2)] * last
    layers += (width > 2) * [nn.Linear(2, 3)] + int(not norm) * [nn.Linear(2, 4)]
    return nn.Sequential(*layers)
