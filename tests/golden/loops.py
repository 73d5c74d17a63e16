# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Loops: what is stale only in the next pass, and what each pass has of its own."""

import asyncio

import torch


def next_pass(x: torch.Tensor, n: int):
    prev = x.clone()
    total = x * 0
    for _ in range(n):
        total = total + (x - prev)
        prev = x
        x.add_(1)  # fact: StaleRead reader=prev writer=x op=add_ link=alias | together compared
    return total


def next_pass_of_a_while(x: torch.Tensor, n: int):
    prev = x.clone()
    while n > 0:
        n = n - int((x == prev).any()) - 1
        prev = x
        x.add_(1)  # fact: StaleRead reader=prev writer=x op=add_ link=alias
    return n


def same_pass(x: torch.Tensor, n: int):
    total = x * 0
    for _ in range(n):
        prev = x
        x.add_(1)  # fact: StaleRead reader=prev writer=x op=add_ link=alias | certain
        total = total + prev
    return total


def rebound_in_every_pass(x: torch.Tensor, n: int):
    total = x * 0
    for _ in range(n):
        x.add_(1)
        prev = x
        total = total + prev
    return total


def written_in_the_last_line(x: torch.Tensor, n: int):
    first = x
    total = x * 0
    for _ in range(n):
        total = total + first
        x.add_(1)  # fact: StaleRead reader=first writer=x op=add_ link=alias
    return total


def new_tensor_in_every_pass(x: torch.Tensor, n: int):
    prev = x
    total = x * 0
    for _ in range(n):
        y = x * 2
        total = total + prev
        y.add_(1)  # stays: prev
        prev = x
    return total


def fresh_accumulator(xs: list[torch.Tensor]):
    total = torch.zeros(4, 4)
    for x in xs:
        total += x
    return total, xs


def kept_in_a_list(n: int):
    state = torch.zeros(3)
    history = []
    for _ in range(n):
        state.add_(1)  # fact: StaleRead reader=history[*] writer=state op=add_ link=alias
        # moves: history
        history.append(state)  # fact: HandedOut name=state how=store op=add_ reason=loop
    return history


def kept_clones(n: int):
    state = torch.zeros(3)
    history = []
    for _ in range(n):
        state.add_(1)  # stays: history
        history.append(state.clone())
    return history


def kept_new_tensors(n: int):
    history = []
    for _ in range(n):
        state = torch.zeros(3)
        state.add_(1)  # stays: history
        history.append(state)
    return history


# Exits.


def continued(xs: list[torch.Tensor], flag: bool):
    total = torch.zeros(4, 4)
    for x in xs:
        old = x
        if flag:
            x.add_(1)  # moves: old
            continue
        total = total + old
    return total


def continued_to_the_next_pass(x: torch.Tensor, n: int):
    old = x
    total = x * 0
    for i in range(n):
        total = total + old
        if i == 0:
            x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
            continue
        total = total * 2
    return total


def broken(x: torch.Tensor, n: int):
    old = x
    for _ in range(n):
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
        break
    return old


def broken_before_the_write(x: torch.Tensor, flag: bool):
    old = x
    while True:
        if flag:
            return old
        x.add_(1)  # moves: old
        return x


def continued_in_every_pass_or_in_none(x: torch.Tensor, n: int, flag: bool):
    old = x.clone()
    for _ in range(n):
        x.add_(1)
        if flag:
            continue
        old = x
    return old


def raised_in_a_loop(xs: list[torch.Tensor], flag: bool):
    total = torch.zeros(4, 4)
    for x in xs:
        old = x
        if x is None:
            x.add_(1)
            raise ValueError
        total = total + old
    return total


def for_else(x: torch.Tensor, n: int):
    old = x
    for _ in range(n):
        if n == 3:
            break
    else:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def while_else_of_an_endless_loop(x: torch.Tensor):
    old = x
    while True:
        break
    else:
        x.add_(1)
    return old


# Nested loops.


def nested(x: torch.Tensor, n: int):
    prev = x.clone()
    total = x * 0
    for _ in range(n):
        for _ in range(n):
            total = total + prev
            prev = x
            x.add_(1)  # fact: StaleRead reader=prev writer=x op=add_ link=alias
    return total


def written_in_the_inner_loop(x: torch.Tensor, n: int):
    total = x * 0
    for _ in range(n):
        prev = x
        for _ in range(n):
            x.add_(1)  # fact: StaleRead reader=prev writer=x op=add_ link=alias
        total = total + prev
    return total


def written_in_the_outer_loop_only(x: torch.Tensor, n: int):
    total = x * 0
    for _ in range(n):
        x.add_(1)
        prev = x
        for _ in range(n):
            total = total + prev
    return total


# What is iterated over.


def enumerated(xs: list[torch.Tensor]):
    out = []
    for i, x in enumerate(xs):
        old = x
        x.add_(i + 1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
        out.append(old * 2)
    return out


def zipped(xs: list[torch.Tensor], ys: list[torch.Tensor]):
    total = torch.zeros(4, 4)
    for x, y in zip(xs, ys):
        old = x
        x.add_(y)  # fact: StaleRead reader=old writer=x op=add_ link=alias
        # stays: y
        total = total + old - y
    return total


def items_of_a_dict(tensors: dict[str, torch.Tensor]):
    total = torch.zeros(4, 4)
    for key, value in tensors.items():
        old = value
        value.mul_(len(key) + 1)  # fact: StaleRead reader=old writer=value op=mul_ link=alias | evidence=3
        total = total + old
    return total


def elements_of_different_passes(xs: list[torch.Tensor]):
    prev = torch.zeros(4, 4)
    for x in xs:
        x.add_(prev)  # stays: prev
        prev = x
    return prev


# todo: DeadRebinding though the next pass reads the binding
def last_element_kept(xs: list[torch.Tensor]):
    prev = torch.zeros(4, 4)
    total = torch.zeros(4, 4)
    for x in xs:
        total = total + prev
        prev = x
        x.add_(1)  # fact: StaleRead reader=prev writer=x op=add_ link=alias
    return total


def rows_written(x: torch.Tensor):
    for row in x:
        row.add_(1)  # fact: StaleRead reader=x writer=row op=add_ link=view | writer_origin=loop writer_derived
    return x


def rows_of_different_passes():
    x = torch.ones(3, 4)
    prev = torch.zeros(4)
    for row in x:
        row.add_(prev)  # stays: prev
        prev = row
    return prev


def base_written_in_a_loop_over_rows(x: torch.Tensor):
    total = torch.zeros(4)
    for row in x:
        x.mul_(2)  # fact: StaleRead reader=row writer=x op=mul_ link=view | reader_origin=loop
        total = total + row
    return total


def unproven_iterable(items):
    out = []
    for item in items:
        old = item
        item += 1  # fact: StaleRead reader=old writer=item op=+= link=alias | -evidence
        out.append(old)
    return out


def first_element_is_the_accumulator(xs: list[torch.Tensor]):
    total = xs[0]
    for x in xs[1:]:
        total += x  # fact: AccumulatedItem writer=total collection=xs op=+= | evidence=3
    return total


def rest_of_a_list_written(xs: list[torch.Tensor]):
    first = xs[0]
    for x in xs[1:]:
        x.add_(1)  # stays: first
    return first * 2


def rest_of_a_display_written(x: torch.Tensor, y: torch.Tensor):
    pair = [x, y]
    for tensor in pair[1:]:
        tensor.add_(1)  # stays: x
    return x * 2


def index_of_a_loop(x: torch.Tensor, n: int):
    total = torch.zeros(4)
    for i in range(n):
        row = x[i]
        other = x[i + 1]
        row.add_(1)  # stays: other
        total = total + other
    return total


def index_of_the_previous_pass(x: torch.Tensor, n: int):
    prev = torch.zeros(4)
    total = torch.zeros(4)
    for i in range(n):
        row = x[i]
        row.add_(1)  # stays: prev
        total = total + prev
        prev = row
    return total


# run: list(yielded(torch.ones(3), 2))
def yielded(x: torch.Tensor, n: int):
    old = x
    for _ in range(n):
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | role=yield
        yield old


async def _batches(xs: list[torch.Tensor]):
    for x in xs:
        yield x


# run: asyncio.run(asynchronous(_batches([torch.ones(3)])))
async def asynchronous(batches):
    total = torch.zeros(3)
    async for x in batches:
        old = x.detach()
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=detach | evidence=2
        total = total + await _later(old)
    return total


async def _later(x: torch.Tensor):
    return x * 2
