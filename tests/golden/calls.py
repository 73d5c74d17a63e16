# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Calls: functions and methods of the same file, classes, and calls of which nothing is known."""

import operator
import types

import torch
import torch.nn.functional as F
from torch import nn


# Functions of the file.


def _bump(target: torch.Tensor, by: float = 1.0):
    target.add_(by)


def _same(x):
    return x


def _first_row(x: torch.Tensor):
    return x[0]


def _doubled(x: torch.Tensor):
    return x * 2


def _either(x: torch.Tensor, flag: bool):
    if flag:
        return x
    return x.clone()


def _pair(x: torch.Tensor):
    return x, x.clone()


def _second(one: torch.Tensor, other: torch.Tensor):
    other.zero_()


def _twice(x: torch.Tensor):
    _bump(x)
    _bump(x)


def _store(tensors: dict[str, torch.Tensor], x: torch.Tensor):
    tensors["k"].copy_(x)


def _countdown(x: torch.Tensor, n: int):
    if n > 0:
        x.sub_(1)
        _countdown(x, n - 1)
    return x


def _all(*tensors: torch.Tensor):
    for tensor in tensors:
        tensor.add_(1)


def argument_written(x: torch.Tensor):
    old = x
    _bump(x)  # fact: StaleRead reader=old writer=x op=add_ link=alias | how=call
    return old


def keyword_argument_written(x: torch.Tensor):
    old = x
    _bump(by=2.0, target=x)  # fact: StaleRead reader=old writer=x op=add_ link=alias | how=call
    return old


def other_argument_written(x: torch.Tensor, y: torch.Tensor):
    a, b = x, y
    _second(x, y)  # fact: StaleRead reader=b writer=y op=zero_ link=alias | how=call
    # stays: a
    return a + b


def view_passed(x: torch.Tensor):
    _bump(x[0])
    return x


def view_kept_and_base_passed(x: torch.Tensor):
    before = x[0]
    _bump(x)  # fact: StaleRead reader=before writer=x op=add_ link=view | how=call
    return before


def written_two_calls_deep(x: torch.Tensor):
    old = x
    _twice(x)  # fact: StaleRead reader=old writer=x op=add_ link=alias | how=call
    return old


def item_of_the_argument_written(tensors: dict[str, torch.Tensor], x: torch.Tensor):
    old = tensors["k"]
    _store(tensors, x)  # fact: StaleRead reader=old writer=tensors['k'] op=copy_ link=alias | how=call
    return old


def argument_read_only(x: torch.Tensor):
    old = x
    y = _doubled(x)  # stays: old
    y.add_(1)  # stays: x
    return old + y


def result_is_the_argument(x: torch.Tensor):
    y = _same(x)
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=alias
    return x


def result_is_a_view_of_the_argument(x: torch.Tensor):
    y = _first_row(x)
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=view
    return x


def result_may_be_the_argument(x: torch.Tensor, flag: bool):
    y = _either(x, flag)
    y += 1  # fact: StaleRead reader=x writer=y op=+= link=alias | -certain
    return x


def result_is_a_tuple(x: torch.Tensor):
    y, z = _pair(x)
    x.add_(1)  # fact: StaleRead reader=y writer=x op=add_ link=alias
    # stays: z
    return y + z


def recursion(x: torch.Tensor):
    old = x
    _countdown(x, 3)  # fact: StaleRead reader=old writer=x op=sub_ link=alias | how=call
    return old


def mutual_recursion(x: torch.Tensor, n: int):
    if n > 0:
        return _other_half(x, n - 1)
    return x


def _other_half(x: torch.Tensor, n: int):
    return mutual_recursion(x, n)


def unpacked_arguments(x: torch.Tensor, y: torch.Tensor):
    pair = (x, y)
    _second(*pair)  # stays: x
    return x


def collected_arguments(x: torch.Tensor):
    old = x.clone()
    _all(x, x)  # stays: old
    return old


# Calls of which nothing is known.


def unknown_call(x: torch.Tensor):
    y = operator.pos(x)
    y.add_(1)
    return x


def unknown_call_may_write(x: torch.Tensor):
    old = x
    operator.iadd(x, 1)  # moves: old
    return old


# run: unknown_method(torch.ones(3), types.SimpleNamespace(prepare=lambda x: x))
def unknown_method(x: torch.Tensor, owner):
    y = owner.prepare(x)
    y.add_(1)
    return x


# Nested functions.


def nested_function(x: torch.Tensor):
    def inner(y: torch.Tensor):
        old = y
        y.add_(1)  # fact: StaleRead reader=old writer=y op=add_ link=alias
        return old

    return inner(x)


def nested_function_called(x: torch.Tensor):
    def bump(y: torch.Tensor):
        y.add_(1)

    old = x
    bump(x)  # fact: StaleRead reader=old writer=x op=add_ link=alias | how=call
    return old


def local_name_of_a_nested_function(x: torch.Tensor):
    def inner():
        x = torch.zeros(3)
        x.add_(1)
        return x

    old = x
    y = inner()  # stays: old
    return old, y


def lambda_called(x: torch.Tensor):
    double = lambda t: t * 2
    old = x
    y = double(x)  # stays: old
    y.add_(1)  # stays: old
    return old


# todo: a called lambda is unknown
def lambda_writes(x: torch.Tensor):
    old = x
    change = lambda t: t.add_(1)
    change(x)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def lambda_reads_later(x: torch.Tensor):
    grad = x.grad
    x = x * 2
    return lambda: x, grad


# Classes.


# run: Block().overwritten(torch.tensor([-1.0, 0.0, 1.0]))
# run: Block().not_overwritten(torch.tensor([-1.0, 0.0, 1.0]))
# run: Block().first_layer_overwrites(torch.tensor([-1.0, 0.0, 1.0]))
# run: Block().second_layer_has_its_own(torch.tensor([-1.0, 0.0, 1.0]))
class Block(nn.Module):
    """The table of the class tells `relu` from `act`."""

    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.act = nn.ReLU()
        self.norm = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 3))
        self.late = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True))

    def overwritten(self, x: torch.Tensor):
        skip = x
        y = self.relu(x)  # fact: StaleRead reader=skip writer=x op=self.relu link=alias | how=module activation
        return y + skip

    def not_overwritten(self, x: torch.Tensor):
        skip = x
        y = self.act(x)  # stays: skip
        return y + skip

    def first_layer_overwrites(self, x: torch.Tensor):
        skip = x
        y = self.norm(x)  # fact: StaleRead reader=skip writer=x op=self.norm link=alias | how=module
        return y + skip

    def second_layer_has_its_own(self, x: torch.Tensor):
        skip = x
        y = self.late(x)  # stays: skip
        return y + skip


# run: Inherited().forward(torch.tensor([-1.0, 0.0, 1.0]))
class Inherited(Block):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor):
        skip = x
        y = self.relu(x)  # fact: StaleRead reader=skip writer=x op=self.relu link=alias
        z = self.act(y - 1)  # stays: y
        return y + skip + z


# run: ByPosition().forward(torch.tensor([-1.0, 0.0, 1.0]))
class ByPosition(nn.Module):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU(True)

    def forward(self, x: torch.Tensor):
        skip = x
        y = self.relu(x)  # fact: StaleRead reader=skip writer=x op=self.relu link=alias
        return y + skip


# run: Replaced().forward(torch.tensor([-1.0, 0.0, 1.0]))
class Replaced(nn.Module):
    """An attribute that another method assigns may be anything."""

    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.soften()

    def soften(self):
        self.relu = nn.GELU()

    def forward(self, x: torch.Tensor):
        skip = x
        y = self.relu(x)  # stays: skip
        return y + skip


# run: Buffers().overlapping()
# run: Buffers().kept()
# run: Buffers().number()
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.zeros(1, 4).expand(3, 4))
        self.register_buffer("mean", torch.zeros(4))
        self.count = 0

    def overlapping(self):
        self.mask[0] = 1  # fact: OverlappingWrite writer=self.mask op=[...] = expand=expand | silent

    def kept(self):
        old = self.mean
        self.mean.add_(1)  # fact: StaleRead reader=old writer=self.mean op=add_ link=alias | owner=attribute evidence=3
        return old

    def number(self):
        old = self.count
        self.count += 1
        return old


# run: Methods().use(torch.zeros(3))
# run: Methods().result(torch.ones(3))
# run: Methods().state()
class Methods(Buffers):
    def _change(self, x: torch.Tensor):
        x.add_(1)

    def _mine(self):
        return self.mean

    def _update(self):
        self.mean.add_(1)

    def use(self, x: torch.Tensor):
        old = x
        self._change(x)  # fact: StaleRead reader=old writer=x op=add_ link=alias | how=call
        return old

    def result(self, x: torch.Tensor):
        mean = self._mine()
        self.mean.add_(x[0])  # fact: StaleRead reader=mean writer=self.mean op=add_ link=alias
        return mean

    def state(self):
        old = self.mean
        self._update()  # fact: StaleRead reader=old writer=self.mean op=add_ link=alias | how=call
        return old


# run: InheritedMethods().use_inherited(torch.zeros(3))
class InheritedMethods(Methods):
    def use_inherited(self, x: torch.Tensor):
        old = x
        self._change(x)  # fact: StaleRead reader=old writer=x op=add_ link=alias | how=call
        return old


# run: Static().use(torch.zeros(3))
class Static:
    @staticmethod
    def change(x: torch.Tensor):
        x.add_(1)

    def use(self, x: torch.Tensor):
        old = x
        self.change(x)  # fact: StaleRead reader=old writer=x op=add_ link=alias | how=call
        return old


def module_of_the_file(x: torch.Tensor):
    block = Inherited()
    skip = x - 8
    y = block(skip[:, :3])
    return y, skip.shape


def module_built_here(x: torch.Tensor):
    relu = nn.ReLU(inplace=True)
    x = x - 8
    skip = x
    x = relu(x)  # fact: StaleRead reader=skip writer=x op=relu link=alias | how=module
    return x + skip


def _total(*parts):
    return sum(parts)


def spread_into_a_function_of_any_number(x: torch.Tensor, rows: list[torch.Tensor]):
    old = x
    sums = _total(*rows)
    x.add_(sums)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old, x
