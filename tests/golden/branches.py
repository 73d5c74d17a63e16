# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Branches, exits, handlers, grad mode: on which paths a write and a read can meet."""

from contextlib import nullcontext

import torch


def joined(x: torch.Tensor, flag: bool):
    if flag:
        old = x
    else:
        old = x.clone()
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | -certain
    return old


def joined_alias_of_both(x: torch.Tensor, flag: bool):
    if flag:
        old = x
    else:
        old = x.view(4, 4)
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | certain
    # fact: StaleRead reader=old writer=x op=add_ link=view | certain
    return old


def written_on_one_arm(x: torch.Tensor, flag: bool):
    old = x
    if flag:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | certain
    return old


def rebound_on_one_arm(x: torch.Tensor, flag: bool):
    old = x
    if flag:
        x = x.clone()
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | -certain
    return old


def exclusive_arms(x: torch.Tensor, flag: bool):
    old = x.clone()
    if flag:
        old = x
    else:
        x.add_(1)  # stays: old
    return old


def write_and_read_on_exclusive_arms(x: torch.Tensor, flag: bool):
    old = x
    if flag:
        x.add_(1)  # moves: old
    else:
        x = old * 2
    return x


def elif_arms(x: torch.Tensor, n: int):
    old = x.clone()
    if n == 1:
        old = x
    elif n == 2:
        x.add_(1)  # stays: old
    return old


def same_test_twice(x: torch.Tensor, flag: bool):
    if flag:
        old = x.clone()
    else:
        old = x
    if flag:
        x.add_(1)  # stays: old
    return old


def same_test_same_arm(x: torch.Tensor, flag: bool):
    old = x.clone()
    if flag:
        old = x
    y = x * 2
    if flag:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | -certain
    return old + y


def negated_test(x: torch.Tensor, flag: bool):
    old = x.clone()
    if flag:
        old = x
    if not flag:
        x.add_(1)  # stays: old
    return old


def is_none_and_is_not_none(x: torch.Tensor, n: int):
    old = x.clone()
    if n is None:
        old = x
    if n is not None:
        x.add_(1)  # stays: old
    return old


def same_test_on_a_changed_name(x: torch.Tensor, flag: bool):
    old = x.clone()
    if flag:
        old = x
    flag = not flag
    if not flag:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def rebound_on_the_arm_that_shares(x: torch.Tensor, flag: bool):
    old = x if flag else x.clone()
    x.add_(1)
    if flag:
        old = x.clone()
    return old


def kept_through_a_nested_branch(x: torch.Tensor, flag: bool, other: bool):
    old = x
    if flag:
        if other:
            old = x.clone()
    if not flag:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def same_on_both_arms(x: torch.Tensor, flag: bool):
    old = x if flag else x
    if not flag:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def early_return(x: torch.Tensor, flag: bool):
    old = x
    if flag:
        x.add_(1)  # moves: old
        return x
    return old


def early_return_of_the_reader(x: torch.Tensor, flag: bool):
    old = x
    if flag:
        return old
    x.add_(1)  # moves: old
    return x


def guarded_by_a_return(x: torch.Tensor, flag: bool):
    old = x
    if not flag:
        return old
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | certain
    return old


# run: raised(torch.ones(3), False)
def raised(x: torch.Tensor, flag: bool):
    old = x
    if flag:
        x.add_(1)
        raise ValueError(flag)
    return old


def conditional_expression(x: torch.Tensor, flag: bool):
    old = x if flag else x.clone()
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | -certain
    return old


def conditional_expression_of_the_same_test(x: torch.Tensor, flag: bool):
    old = x.clone() if flag else x
    if flag:
        x.add_(1)  # stays: old
    return old


# run: default_by_or(torch.ones(3))
def default_by_or(x: torch.Tensor, y=None):
    y = y or x
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=alias
    return x


# run: default_by_test(torch.ones(3))
def default_by_test(x: torch.Tensor, y=None):
    if y is None:
        y = x
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=alias
    return x


def joined_write(flag: bool, state: dict[str, torch.Tensor]):
    velocity = state["k"]
    if flag:
        delta = velocity / 2
    else:
        delta = velocity
    delta *= 0.1  # fact: JoinedWrite writer=delta kept=state['k'] op=*=
    return delta * 2


# Handlers.


def _fail():
    raise ValueError


def handled(x: torch.Tensor):
    old = x
    try:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
        _fail()
    except ValueError:
        return old
    return x


def bound_in_the_body(x: torch.Tensor):
    old = x.clone()
    try:
        old = x
        _fail()
    except ValueError:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def written_in_the_handler(x: torch.Tensor):
    old = x
    try:
        _fail()
    except ValueError:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | certain
    return old


def other_branch_of_a_try(x: torch.Tensor):
    old = x
    try:
        y = x * 2
    except ValueError:
        x.add_(1)
        return x
    return old + y


def written_in_else(x: torch.Tensor):
    old = x
    try:
        y = x * 2
    except ValueError:
        return old
    else:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old + y


def read_in_finally(x: torch.Tensor):
    old = x
    try:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    finally:
        y = old.sum()
    return y


def returned_through_finally(x: torch.Tensor, out: list[torch.Tensor]):
    old = x
    try:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
        return None
    finally:
        out.append(old * 2)


# with


def inside_with(x: torch.Tensor):
    old = x
    with nullcontext():
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def bound_by_with(x: torch.Tensor):
    old = x.clone()
    with nullcontext(x) as y:
        y.add_(1)  # stays: old
    return old


def under_no_grad(x: torch.Tensor):
    with torch.no_grad():
        y = x.clone().detach()  # fact: CloneDetach receiver=x | -recording
    z = x.clone().detach()  # fact: CloneDetach receiver=x | recording
    return y, z


@torch.no_grad()
def decorated_with_no_grad(x: torch.Tensor):
    return x.clone().detach()  # fact: CloneDetach receiver=x | -recording


@torch.inference_mode()
def decorated_with_inference_mode(x: torch.Tensor):
    return x.clone().detach()  # fact: CloneDetach receiver=x | -recording


def grad_mode_of_unknown_value(x: torch.Tensor, flag: bool):
    with torch.set_grad_enabled(flag):
        y = x.clone().detach()  # fact: CloneDetach receiver=x
    return y


def grad_mode_off(x: torch.Tensor):
    with torch.set_grad_enabled(False):
        y = x.clone().detach()  # fact: CloneDetach receiver=x | -recording
    return y


def grad_mode_switched_off(x: torch.Tensor):
    torch.set_grad_enabled(False)
    y = x.clone().detach()  # fact: CloneDetach receiver=x | -recording
    return y


def grad_mode_on_inside(x: torch.Tensor):
    with torch.no_grad():
        with torch.enable_grad():
            y = x.clone().detach()  # fact: CloneDetach receiver=x | recording
    return y


# match


def match_arms(x: torch.Tensor, n: int):
    old = x.clone()
    match n:
        case 0:
            old = x
        case _:
            x.add_(1)  # stays: old
    return old


def match_arm_written(x: torch.Tensor, n: int):
    old = x
    match n:
        case 2:
            x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
        case _:
            pass
    return old


def match_capture(x: torch.Tensor):
    match x:
        case torch.Tensor() as y:
            y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=alias
    return x


# run: None
def of_two_norms(model, x: torch.Tensor, norm: str):
    y = x.clone().requires_grad_()
    for _ in range(3):
        model(y).backward()
        if norm == "linf":
            y = (y + y.grad.sign()).detach().requires_grad_()
        if norm == "l2":
            y = y + 1
    return y


# run: of_one_norm(lambda y: y.sum(), torch.ones(2), "none", 2)
def of_one_norm(model, x: torch.Tensor, norm: str, steps: int):
    y = x.clone().requires_grad_()
    for _ in range(3):
        model(y).backward()
        if norm == "linf":
            y = (y + y.grad.sign()).detach().requires_grad_()
        if steps == 2:
            y = y + 1  # fact: LeafRebound target=y reason=grad_read
    return y
