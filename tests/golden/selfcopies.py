# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Operations that read the memory they write."""

import torch


# run: rows_shifted(torch.zeros(4, 4))
def rows_shifted(x: torch.Tensor):
    x[1:] = x[:-1]
    # fact: SelfCopy target=x[1:] source=x[:-1] relation=shifted | refused -in_order
    # raises: RuntimeError


# run: columns_shifted(torch.arange(16.0).reshape(4, 4))
def columns_shifted(x: torch.Tensor):
    x[:, 1:] = x[:, :-1]  # fact: SelfCopy target=x[:, 1:] source=x[:, :-1] relation=shifted | -refused -in_order
    x[:, :-1] = x[:, 1:]  # fact: SelfCopy target=x[:, :-1] source=x[:, 1:] relation=shifted | -refused in_order


# run: transposed_onto_itself(torch.zeros(4, 4))
def transposed_onto_itself(x: torch.Tensor):
    x += x.t()  # fact: SelfCopy target=x source=x.t() relation=permuted | refused # raises: RuntimeError


# run: part_of_the_whole(torch.ones(4, 4))
def part_of_the_whole(x: torch.Tensor):
    x -= x[:, :1]  # fact: SelfCopy target=x source=x[:, :1] relation=part | -refused -in_order
    x /= x[:, -1:]  # fact: SelfCopy target=x source=x[:, -1:] relation=part | -refused in_order
    x[1:] -= x[1]  # fact: SelfCopy target=x[1:] source=x[1] relation=part | refused # raises: RuntimeError


# run: mask_of_itself(torch.tensor([True, True, False]), torch.tensor([True, False]))
def mask_of_itself(mask: torch.Tensor, values: torch.Tensor):
    mask[mask] = values
    # fact: SelfCopy target=mask[mask] source=mask relation=index | refused
    # raises: RuntimeError


# run: mask_filled(torch.tensor([True, False]))
def mask_filled(mask: torch.BoolTensor):
    mask[mask] = False
    mask[~mask] = True


# run: rows_in_another_order(torch.zeros(4, 2))
def rows_in_another_order(x: torch.Tensor):
    order = torch.randperm(4)
    x[order] = x  # fact: SelfCopy target=x[order] source=x relation=indexed | refused # raises: RuntimeError


def apart_or_the_same(x: torch.Tensor):
    x[:1] = x[1:2]
    x[1:] = x[:-1].clone()
    x *= x
    x[:] = x[0]
    x -= x[0] * 1


# run: products_onto_a_factor(torch.eye(4), torch.eye(4))
def products_onto_a_factor(a: torch.Tensor, b: torch.Tensor):
    torch.mm(a, b, out=b)  # fact: AliasedOut op=mm out=b argument=b
    torch.addmm(a, b, a, out=b[:])  # fact: AliasedOut op=addmm out=b[:] argument=b
    torch.addmm(a, b, b, out=a)
    torch.add(a, b, out=a)
