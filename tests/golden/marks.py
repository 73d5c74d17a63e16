# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Values that are told to require grad, and copies of leaves: what is a leaf then."""

import copy

import torch
from torch import nn


def copied_leaf_that_was_a_view():
    flat = torch.arange(4.0) * 2
    square = flat.view(2, 2)
    square.requires_grad = True
    return copy.deepcopy(square)


def copied_view_of_a_leaf():
    flat = torch.ones(4, requires_grad=True)
    square = flat.view(2, 2)
    try:
        return copy.deepcopy(square)  # raises: RuntimeError  # fact: CopiedGraph name=square owner=square | direct
    except RuntimeError:
        return flat


def view_of_a_leaf_that_was_a_view():
    flat = torch.arange(4.0) * 2
    square = flat.view(2, 2)
    square.requires_grad = True
    row = square[0]
    try:
        return copy.deepcopy(row)  # raises: RuntimeError  # fact: CopiedGraph name=row owner=row | direct
    except RuntimeError:
        return square


def flag_of_a_leaf_that_was_copied():
    x = torch.ones(2)
    x.requires_grad = True
    y = copy.deepcopy(x)
    y.requires_grad = True
    return y


# run: flag_of_parameters_in_a_list(nn.Linear(2, 2))
def flag_of_parameters_in_a_list(layer):
    for p in list(layer.parameters()):
        p.requires_grad = True


# run: flag_of_a_new_parameter(torch.ones(2))
def flag_of_a_new_parameter(x: torch.Tensor):
    weight = nn.Parameter(x)
    weight.requires_grad = True
    return weight
