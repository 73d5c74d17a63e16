# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""What random programs have found: sharing that was not seen, and sharing that was seen where none is."""

import copy
import types

import torch
import torch.nn.functional as F


# Which parts of a tensor meet.


def slices_that_meet():
    x = torch.ones(4, 4)
    a = x[:2]
    b = x[1:]
    b.add_(1)  # fact: StaleRead reader=a writer=b op=add_ link=view
    return a


def row_in_a_slice():
    x = torch.ones(4, 4)
    a = x[:2]
    x[1] = 2  # fact: StaleRead reader=a writer=x op=[...] = link=view
    return a


def row_after_a_slice():
    x = torch.ones(4, 4)
    a = x[:2]
    x[2] = 2  # stays: a
    return a


def last_row_in_an_open_slice():
    x = torch.ones(4, 4)
    a = x[1:]
    x[-1] = 2  # fact: StaleRead reader=a writer=x op=[...] = link=view
    return a


def last_row_after_a_closed_slice():
    x = torch.ones(4, 4)
    a = x[:-1]
    x[-1] = 2  # stays: a
    return a


def parts_of_equal_parts():
    x = torch.ones(4, 4)
    a, b = x[0], x[0]
    c = a[1]
    d = b[2]
    d.add_(1)  # stays: c
    return c


def equal_indices_of_a_transpose():
    x = torch.ones(4, 4)
    a = x.t()[0, 1]
    b = x[0, 1]
    b.add_(1)  # stays: a
    return a


def row_of_a_transpose():
    x = torch.ones(4, 4)
    a = x.t()[1]
    b = x[:, 1]
    b.add_(1)  # fact: StaleRead reader=a writer=b op=add_ link=view
    return a


def equal_indices_of_another_shape():
    x = torch.ones(4, 4)
    a = x.view(-1)[3]
    b = x[3]
    b.add_(1)  # stays: a
    return a


def first_elements_in_every_shape():
    x = torch.ones(4, 4)
    a = x.view(-1)[:2]
    b = x[0]
    b.add_(1)  # fact: StaleRead reader=a writer=b op=add_ link=view
    return a


def index_under_other_names():
    x = torch.ones(4, 4)
    a = x.narrow(0, 1, 2)
    b = x.select(0, 2)
    c = x.narrow(0, 0, 1)
    b.add_(1)  # fact: StaleRead reader=a writer=b op=add_ link=view
    # stays: c
    return a, c


def parts_cut_twice():
    x = torch.ones(4, 4)
    a, b = x.chunk(2)
    c, d = torch.chunk(x, 2)
    d.add_(1)  # fact: StaleRead reader=b writer=d op=add_ link=view
    # stays: a
    return a, b


def piece_and_slice():
    x = torch.ones(4, 4)
    a, b = x.split(2)
    c = x[1:3]
    c.add_(1)  # fact: StaleRead reader=a writer=c op=add_ link=view
    # fact: StaleRead reader=b writer=c op=add_ link=view
    return a, b


def items_chosen_by_a_list():
    x = torch.ones(4, 4)
    a = x[1]
    x[[0, 2]] = 3  # stays: a
    return a


def every_row_of_a_loop(x: torch.Tensor):
    a = x[0]
    for row in x:
        row.add_(1)  # fact: StaleRead reader=a writer=row op=add_ link=view
    return a


# Alternatives.


def item_assignment_to_an_alternative(x: torch.Tensor, flag: bool):
    y = x.clone() if flag else x
    old = x
    y[0] = 3  # fact: StaleRead reader=old writer=y op=[...] = link=alias | -certain
    return old


def method_of_an_alternative(x: torch.Tensor, flag: bool):
    old = x.clone() if flag else x
    x[0] = 3  # fact: StaleRead reader=old writer=x op=[...] = link=alias | -certain
    return old.sum()


def walrus_reads(x: torch.Tensor, y: torch.Tensor):
    old = x
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return (kept := old) is y


# Lists.


def second_of_two_appended(x: torch.Tensor, y: torch.Tensor):
    kept = []
    kept.append(x)
    kept.append(y)
    second = kept[1]
    second.add_(1)  # stays: x
    return x * 2


def appended_and_replaced(x: torch.Tensor, y: torch.Tensor):
    kept = []
    kept.append(x)
    kept[0] = y
    x.add_(1)  # stays: kept
    return kept


def first_of_a_lengthened_argument(xs: list[torch.Tensor], x: torch.Tensor):
    xs.append(x)
    x.add_(1)
    return xs[0]


def appended_on_one_arm(x: torch.Tensor, y: torch.Tensor, flag: bool):
    kept = [y]
    if flag:
        kept.append(x)
    last = kept[-1]
    x.add_(1)  # fact: StaleRead reader=last writer=x op=add_ link=alias
    return last


def other_row_of_a_comprehension(x: torch.Tensor):
    rows = [row for row in x]
    first = rows[0]
    rows[1].add_(1)  # stays: first
    return first


def row_of_a_comprehension(x: torch.Tensor):
    rows = [row for row in x]
    x[1] = 3  # fact: StaleRead reader=rows[*] writer=x op=[...] = link=view
    return rows[1] * 2


def other_item_of_a_comprehension(xs: list[torch.Tensor]):
    heads = [item[:1] for item in xs]
    first = heads[0]
    heads[1].add_(1)  # stays: first
    return first


# Objects.


def namespace_of_a_tensor(x: torch.Tensor):
    held = types.SimpleNamespace(value=x)
    x.add_(1)  # fact: StaleRead reader=held.value writer=x op=add_ link=alias
    return held.value * 2


class _Holder:
    def __init__(self, value: torch.Tensor):
        self.value = value

    def scale(self):
        self.value.mul_(2)


def object_of_a_tensor(x: torch.Tensor):
    held = _Holder(x)
    x.add_(1)  # fact: StaleRead reader=held.value writer=x op=add_ link=alias
    return held.value * 2


def object_that_writes(x: torch.Tensor):
    held = _Holder(x)
    old = x
    held.scale()  # fact: StaleRead reader=old writer=held.value op=mul_ link=alias
    return old * 2


def appended_to_a_comprehension(x: torch.Tensor):
    rows = [row.clone() for row in x]
    rows.append(rows[2] + 3)
    first = rows[1]
    first.add_(1)
    return rows[3]


def _clear_head(t):
    head = t[0]
    head.zero_()


def part_written_by_a_function(x: torch.Tensor):
    old = x
    _clear_head(x)  # fact: StaleRead reader=old writer=x op=zero_ link=alias | how=call
    return old


def restored_on_one_path(x: torch.Tensor, flag: bool):
    kept = x
    work = x.view(-1)
    work.add_(1)  # fact: StaleRead reader=x writer=work op=add_ link=view
    # fact: StaleRead reader=kept writer=work op=add_ link=view
    if flag:
        x.copy_(kept)
    return x * 2


def list_in_a_transposed_piece():
    x = torch.ones(4, 4)
    a, b = x.split(2)
    b[[0]] = 5  # stays: a # fact: StaleRead reader=x writer=b op=[...] = link=view
    return a, x[2:]


def item_of_each_pass(x: torch.Tensor, y: torch.Tensor):
    kept = None
    for item in [x, y]:
        kept = [item]
    x.add_(1)  # stays: kept
    return kept


def array_of_an_alternative(x: torch.Tensor, flag: bool):
    old = x
    y = x if flag else x.clone()
    array = y.numpy()
    array.fill(7)  # fact: StaleRead reader=old writer=array op=fill link=numpy | -certain
    # fact: SharedWrite writer=array owner_name=x op=fill link=numpy | -certain
    return old


def array_filled(x: torch.Tensor):
    array = x.numpy()
    array.fill(7)  # fact: StaleRead reader=x writer=array op=fill link=numpy
    # fact: SharedWrite writer=array owner_name=x op=fill link=numpy
    return x * 2


def tensor_over_an_alternative(x: torch.Tensor, flag: bool):
    y = x if flag else x.clone()
    z = torch.as_tensor(y)
    x.add_(1)  # fact: StaleRead reader=z writer=x op=add_ link=maybe | -certain
    return z


def names_exchanged_three_times(x: torch.Tensor, y: torch.Tensor):
    old = x
    for _ in range(3):
        x, y = y, x
    x.add_(1)  # stays: old
    return old


def written_through_what_may_be_a_copy(x: torch.Tensor):
    a = b = x.t().clone()
    a.reshape(-1).add_(1)  # fact: StaleRead reader=b writer=a op=add_ link=maybe
    # stays: b
    return b


def exchanged_twice_is_in_order(x: torch.Tensor):
    y = x.t().t().contiguous()
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=maybe
    # fact: SharedWrite writer=y owner_name=x op=add_ link=maybe
    return x


def first_item_after_a_loop(xs: list[torch.Tensor]):
    first = xs[0]
    for item in xs:
        item.add_(1)  # fact: StaleRead reader=first writer=item op=add_ link=alias
    return first


def item_of_a_list_of_one_arm(x: torch.Tensor, y: torch.Tensor, flag: bool):
    kept = [x]
    if flag:
        x.add_(1)
        kept = [y]
    return kept


def _first(items):
    return items[0]


def item_through_a_function(x: torch.Tensor):
    rows = [row.clone() for row in x]
    first = _first(rows)
    first.add_(1)  # fact: StaleRead reader=rows[*] writer=first op=add_ link=alias
    # moves: rows
    return rows


def _copied(t):
    return t.clone()


def copy_through_a_function(x: torch.Tensor):
    y = _copied(x)
    a, b = y.split(2)
    y.add_(1)  # fact: StaleRead reader=a writer=y op=add_ link=view | evidence=3
    return a


def result_of_the_pass_before(x: torch.Tensor):
    y = x * 2
    for _ in range(2):
        kept = y
        y = y.mul_(2)  # fact: StaleRead reader=kept writer=y op=mul_ link=alias
    return kept


def whole_of_another_shape(x: torch.Tensor):
    kept = x.view(1, -1)[0:]
    x[1] = 3  # fact: StaleRead reader=kept writer=x op=[...] = link=view
    return kept


def appended_after_the_loop(x: torch.Tensor, y: torch.Tensor):
    for _ in range(2):
        kept = [y, y]
    kept.append(x)
    second = kept[1]
    second.add_(1)  # stays: x
    return x


def part_of_one_of_two_layouts(y: torch.Tensor, flag: bool):
    left, window = y.chunk(2)
    turned = y.t() if flag else y
    turned[1] += 4  # fact: StaleRead reader=window writer=turned op=+= link=view | -certain
    return window


def one_of_two_layouts_read(y: torch.Tensor, flag: bool):
    turned = y.t() if flag else y
    row = turned[1]
    y[2] = 4  # fact: StaleRead reader=row writer=y op=[...] = link=view | -certain
    return row


def whichever_layout(y: torch.Tensor, flag: bool):
    corner = y[0]
    turned = y.t() if flag else y
    turned[0] += 4  # fact: StaleRead reader=corner writer=turned op=+= link=view | certain
    return corner


def deep_copy_of_an_alternative(y: torch.Tensor, flag: bool):
    kept = spare = copy.deepcopy(y * 2 if flag else y)
    spare += 1  # fact: StaleRead reader=kept writer=spare op=+= link=alias
    # stays: y
    return kept


def dict_made_anew_on_one_arm(x: torch.Tensor, flag: bool):
    outer = x.detach()
    old = {"a": x, "b": x}
    if flag:
        old["b"] = old["b"]
        old = {"a": outer, "b": x.clone()}
    outer[0] -= 5  # fact: StaleRead reader=old['b'] writer=outer op=-= link=detach | -certain
    return old["b"] * 2


def row_read_on_one_arm(x: torch.Tensor, flag: bool):
    rows = [row for row in x]
    if flag:
        head = rows[3][0]
    else:
        x.mul_(3)  # fact: StaleRead reader=rows[*] writer=x op=mul_ link=view
    return rows[3]


def row_replaced_on_one_arm(x: torch.Tensor, y: torch.Tensor, flag: bool):
    rows = [row for row in x]
    if flag:
        rows[3] = y
    y.mul_(3)
    return rows[0]


def written_through_many_alternatives(x: torch.Tensor, flag: bool):
    right = x[1:].detach() if flag else x[1:]
    for _ in range(2):
        right.add_(1).mul_(2)
        right.sub_(1).div_(2)
        right.add_(2).mul_(3)
        right.sub_(2).div_(3)
    kept = x[0]
    x.zero_()  # fact: StaleRead reader=kept writer=x op=zero_ link=view
    return kept


def _clear_first(items):
    items[0].zero_()


def other_item_through_a_function(xs: list[torch.Tensor], x: torch.Tensor, flag: bool):
    if flag:
        xs = [x, xs[0]]
    _clear_first(xs)
    return xs[1] * 2


def parts_chosen_by_one_test(x: torch.Tensor, flag: bool):
    row = x[2] if flag else x[3]
    part = x[2] if flag else x[1]
    part += 4  # fact: StaleRead reader=row writer=part op=+= link=view | -certain
    return row


def item_of_another_arm(x: torch.Tensor, flag: bool):
    old = x.clone() if flag else x
    kept = [x, old]
    x.add_(1)  # fact: StaleRead reader=kept[0] writer=x op=add_ link=alias
    if flag:
        return [item * 2 for item in kept]
    return None
