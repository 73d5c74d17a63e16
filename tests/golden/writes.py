# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""The ways to write, and what is done between the binding and the read."""

import torch
import torch.nn.functional as F
from torch import nn


def method(x: torch.Tensor):
    old = x
    x.clamp_(0, 1)  # fact: StaleRead reader=old writer=x op=clamp_ link=alias | how=method
    return old


def method_of_a_longer_chain(x: torch.Tensor):
    old = x
    x.mul_(2).add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    # fact: StaleRead reader=old writer=x op=mul_ link=alias
    return old


def augmented(x: torch.Tensor):
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | how=augmented
    return old


def augmented_part(x: torch.Tensor):
    old = x
    x[0] *= 2  # fact: StaleRead reader=old writer=x op=*= link=alias | how=augmented -same_part
    return old


def subscript(x: torch.Tensor):
    old = x
    x[x > 3] = 0  # fact: StaleRead reader=old writer=x op=[...] = link=alias | how=subscript
    return old


def out_argument(x: torch.Tensor):
    old = x
    torch.mul(x, 2, out=x)  # fact: StaleRead reader=old writer=x op=mul link=alias | how=out
    return old


def inplace_flag(x: torch.Tensor):
    old = x - 8
    skip = old
    y = F.relu(old, inplace=True)  # fact: StaleRead reader=skip writer=old op=relu link=alias | how=function activation
    return y + skip


def inplace_result_under_another_name(x: torch.Tensor):
    x = x - 8
    y = F.relu(x, inplace=True)  # fact: StaleRead reader=x writer=x op=relu link=alias | activation together
    return y + x


def inplace_result_under_the_same_name(x: torch.Tensor):
    x = x - 8
    x = F.relu(x, inplace=True)
    return x * 2


def inplace_flag_by_position(x: torch.Tensor):
    old = x - 8
    skip = old
    y = F.relu(old, True)  # fact: StaleRead reader=skip writer=old op=relu link=alias | how=function
    return y + skip


def inplace_flag_off(x: torch.Tensor):
    old = x - 8
    skip = old
    y = F.relu(old, inplace=False)  # stays: skip
    return y + skip


def functional_twin(x: torch.Tensor):
    old = x - 8
    skip = old
    y = torch.relu_(old)  # fact: StaleRead reader=skip writer=old op=relu_ link=alias | how=function
    return y + skip


def init_function():
    x = torch.ones(3, 4)
    old = x
    nn.init.zeros_(x)  # fact: StaleRead reader=old writer=x op=zeros_ link=alias | how=function
    return old


def called_on_the_class(x: torch.Tensor):
    old = x
    torch.Tensor.add_(x, 1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def through_a_temporary_view(x: torch.Tensor):
    old = x
    x.view(-1).zero_()  # fact: StaleRead reader=old writer=x op=zero_ link=alias | how=method
    return old


def through_a_temporary_part(x: torch.Tensor):
    old = x[1]
    other = x[0]
    x[1].zero_()  # fact: StaleRead reader=old writer=x op=zero_ link=view | same_part
    # stays: other
    return old + other


def through_data(x: torch.Tensor):
    old = x
    x.data.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def out_of_place(x: torch.Tensor):
    old = x
    x = x.add(1)  # stays: old
    return x - old


def result_of_the_write(x: torch.Tensor):
    y = x.add_(1)
    y.mul_(2)  # fact: StaleRead reader=x writer=y op=mul_ link=alias
    return x


def reading_and_writing_in_one_statement(x: torch.Tensor):
    old = x.clone()
    return x.add_(1) - old  # stays: old


def written_and_read_in_one_statement(x: torch.Tensor):
    old = x
    return x.add_(1) - old  # fact: StaleRead reader=old writer=x op=add_ link=alias


def argument_of_the_write(x: torch.Tensor):
    old = x
    x.add_(old)
    return x


# What saves the read.


def written_back(x: torch.Tensor):
    work = x
    work *= 3
    x.copy_(work)
    return x


def rebound_before_the_read(x: torch.Tensor):
    old = x
    x.add_(1)  # moves: old
    old = x.clone()
    return old


def read_before_the_write(x: torch.Tensor):
    old = x
    total = old.sum()
    x.add_(1)  # moves: old
    return total


def never_read(x: torch.Tensor):
    old = x
    x.add_(1)  # moves: old
    return x


def bound_after_the_write(x: torch.Tensor):
    x.add_(1)
    old = x
    return old


def deleted(x: torch.Tensor):
    old = x
    del old
    x.add_(1)
    return x


def same_name_rebound_to_its_view(x: torch.Tensor):
    x = x.view(-1)
    x.add_(1)
    return x


def name_rebound_to_a_new_tensor(x: torch.Tensor):
    old = x
    x = x + 1
    x.add_(1)  # stays: old
    return x - old


def two_writes_one_read(x: torch.Tensor):
    old = x
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    x.mul_(2)  # fact: StaleRead reader=old writer=x op=mul_ link=alias
    return old


def two_readers(x: torch.Tensor):
    a = x
    b = x.view(-1)
    x.add_(1)  # fact: StaleRead reader=a writer=x op=add_ link=alias
    # fact: StaleRead reader=b writer=x op=add_ link=view
    return a.sum() + b.sum()


def seen_by_the_second_binding(x: torch.Tensor):
    a = x
    x.add_(1)  # fact: StaleRead reader=a writer=x op=add_ link=alias
    b = x
    return a, b


def strongest_read_is_kept(x: torch.Tensor):
    a = x
    x.add_(1)  # fact: StaleRead reader=a writer=x op=add_ link=alias | together compared role=difference
    print(a.sum())
    return x - a


# What is no read.


def metadata(x: torch.Tensor):
    old = x
    x.add_(1)  # moves: old
    rows, columns = old.shape
    sizes = old.size(), old.dim(), old.numel(), old.stride(), old.dtype, old.device, old.ndim
    return rows, columns, sizes, len(old), old is x, isinstance(old, torch.Tensor), old.is_contiguous()


def compared_with_none(x: torch.Tensor):
    old = x
    x.add_(1)  # moves: old
    return x if old is not None else None


def both_shown(x: torch.Tensor):
    y = x
    y.add_(1)  # moves: x
    print(x)
    print(y)


def one_shown(x: torch.Tensor):
    old = x
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | role=logged -together
    print(f"{old} before")
    return x


def rows_exchanged_by_lists(x: torch.Tensor):
    x[[0, 1]] = x[[1, 0]]
    return x


def converted_on_one_path(x: torch.Tensor, flag: bool):
    if flag:
        x = x.float()
    x *= 2  # fact: SharedWrite writer=x owner_name=x op=*= link=maybe | certain
    return x


def copied_on_one_path(x: torch.Tensor, flag: bool):
    if flag:
        x = x.float()
    else:
        x = x.clone()
    x *= 2  # fact: SharedWrite writer=x owner_name=x op=*= link=maybe | -certain
    return x
