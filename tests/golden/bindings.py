# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Names, paths and containers: every way to bind, and what an item of a container is."""

import types

import torch

BUFFER = torch.ones(4)


def walrus(x: torch.Tensor):
    if (old := x) is not None:
        x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old


def annotated(x):
    old: torch.Tensor = x
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | evidence=3
    return old


def chained_targets(x: torch.Tensor):
    a = b = x * 2
    a.add_(1)  # fact: StaleRead reader=b writer=a op=add_ link=alias
    return b


def unpacked_tuple(x: torch.Tensor, y: torch.Tensor):
    a, b = x, y
    a.add_(1)  # fact: StaleRead reader=x writer=a op=add_ link=alias
    # stays: b
    return x + b


def unpacked_nested(x: torch.Tensor, y: torch.Tensor):
    (a, _), b = (x, 1), y
    a.add_(1)  # fact: StaleRead reader=x writer=a op=add_ link=alias
    # stays: b
    return x + b


def exchanged_names(x: torch.Tensor, y: torch.Tensor):
    x, y = y, x
    x.add_(1)  # stays: y
    return y


def starred(xs: list[torch.Tensor]):
    first, *rest = xs
    out = torch.zeros(4, 4)
    out.add_(first)  # stays: xs
    return out, rest, xs


def starred_from_a_tuple(x: torch.Tensor, y: torch.Tensor):
    a, *rest = (x, y)
    a.add_(1)  # fact: StaleRead reader=x writer=a op=add_ link=alias
    return x, rest


def starred_display(xs: list[torch.Tensor], x: torch.Tensor):
    ys = [*xs, x]
    ys.append(x * 2)
    x.add_(1)
    return x


def number_becomes_a_tensor(x: torch.Tensor):
    total = 0
    total += x
    total += x  # stays: x
    return total, x


def comprehension_has_its_own_names(x: torch.Tensor, xs: list[torch.Tensor]):
    old = x
    doubled = [x * 2 for x in xs]
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias
    return old, doubled


def first_iterator_is_outside(x: torch.Tensor):
    old = x
    rows = [x.add_(1) for x in x]  # fact: StaleRead reader=old writer=x op=add_ link=view
    return old, rows


def list_of_views(x: torch.Tensor):
    rows = [row for row in x]
    x.zero_()  # fact: StaleRead reader=rows[*] writer=x op=zero_ link=view
    # moves: rows
    return torch.stack(rows)


def list_of_clones(x: torch.Tensor):
    rows = [row.clone() for row in x]
    x.zero_()  # stays: rows
    return torch.stack(rows)


# Paths.


def item_of_a_dict(tensors: dict[str, torch.Tensor]):
    old = tensors["k"]
    tensors["k"].add_(1)  # fact: StaleRead reader=old writer=tensors['k'] op=add_ link=alias | writer_origin=item
    return old


def item_read_after_its_shorthand(tensors: dict[str, torch.Tensor]):
    value = tensors["k"]
    value.add_(1)  # fact: StaleRead reader=tensors['k'] writer=value op=add_ link=alias | reader_is_source
    return tensors["k"] * 2


def other_item(tensors: dict[str, torch.Tensor]):
    old = tensors["k"]
    tensors["a"].add_(1)  # stays: old
    return old


def item_rebound(tensors: dict[str, torch.Tensor]):
    old = tensors["k"]
    tensors["k"] = tensors["k"] + 1
    tensors["k"].add_(1)  # stays: old
    return old


def item_augmented(tensors: dict[str, torch.Tensor], key: str):
    old = tensors[key]
    tensors[key] += 1  # fact: StaleRead reader=old writer=tensors[key] op=+= link=alias | how=augmented
    return old * 2


def kept_item_is_no_accumulator(tensors: dict[str, torch.Tensor]):
    old = tensors["k"]
    tensors["k"] += 1  # fact: StaleRead reader=old writer=tensors['k'] op=+= link=alias
    return old


def same_key_rebound(tensors: dict[str, torch.Tensor], key: str):
    old = tensors[key]
    key = "a"
    tensors[key].add_(1)  # stays: old
    return old


# run: attribute(types.SimpleNamespace(buf=torch.zeros(3)))
def attribute(state):
    old = state.buf
    state.buf.add_(1)  # fact: StaleRead reader=old writer=state.buf op=add_ link=alias | owner=attribute
    return old


# run: attribute_rebound(types.SimpleNamespace(buf=torch.zeros(3)))
def attribute_rebound(state):
    old = state.buf
    state.buf = state.buf + 1
    state.buf.add_(1)  # stays: old
    return old


# run: attribute_bound(types.SimpleNamespace(), torch.zeros(3))
def attribute_bound(state, x: torch.Tensor):
    state.old = x
    x.add_(1)  # fact: StaleRead reader=state.old writer=x op=add_ link=alias | reader_origin=attribute
    return state.old * 2


# run: attribute_on_one_arm(types.SimpleNamespace(old=torch.zeros(3)), torch.zeros(3), True)
def attribute_on_one_arm(state, x: torch.Tensor, flag: bool):
    if flag:
        state.old = x
    x.add_(1)  # fact: StaleRead reader=state.old writer=x op=add_ link=alias
    return state.old * 2


def global_name():
    old = BUFFER
    BUFFER.add_(1)  # fact: StaleRead reader=old writer=BUFFER op=add_ link=alias | owner=global
    return old


def global_read_after_a_write_to_its_view():
    head = BUFFER[:2]
    head.zero_()  # fact: StaleRead reader=BUFFER writer=head op=zero_ link=view
    return BUFFER * 2


# Containers.


def dict_display(x: torch.Tensor):
    kept = {"a": x}
    x.add_(1)  # fact: StaleRead reader=kept['a'] writer=x op=add_ link=alias | stored_from=x reader_origin=store
    return kept


def dict_display_of_another_name(x: torch.Tensor):
    y = x
    x.add_(1)  # fact: StaleRead reader=y writer=x op=add_ link=alias | together -stored_from
    return {"x": x, "y": y}


def list_display(x: torch.Tensor):
    kept = [x, x * 2]
    x.add_(1)  # fact: StaleRead reader=kept[0] writer=x op=add_ link=alias
    return kept[0] * 2


def other_item_of_a_list(x: torch.Tensor):
    kept = [x, x * 2]
    x.add_(1)
    return kept[1] * 2


def last_item_of_a_list(x: torch.Tensor):
    kept = [x * 2, x]
    x.add_(1)  # fact: StaleRead reader=kept[1] writer=x op=add_ link=alias
    return kept[-1] * 2


def tuple_display(x: torch.Tensor):
    pair = (x, 1)
    a, b = pair
    x.add_(1)  # fact: StaleRead reader=a writer=x op=add_ link=alias
    return a * b


def append(x: torch.Tensor):
    kept = []
    kept.append(x)
    x.add_(1)  # fact: StaleRead reader=kept[0] writer=x op=add_ link=alias | stored_from=x
    # moves: kept
    return kept


def append_of_a_clone(x: torch.Tensor):
    kept = []
    kept.append(x.clone())
    x.add_(1)  # stays: kept
    return kept


def append_of_a_view(x: torch.Tensor):
    kept = []
    kept.append(x[0])
    x.add_(1)  # fact: StaleRead reader=kept[0] writer=x op=add_ link=view | stored_from=x
    # moves: kept
    return kept


def append_of_an_array():
    x = torch.zeros(3)
    kept = []
    kept.append(x.numpy())
    x.add_(1)  # fact: StaleRead reader=kept[0] writer=x op=add_ link=numpy
    # moves: kept
    return kept


def extend(x: torch.Tensor):
    kept = []
    kept.extend([x, x.clone()])
    x.add_(1)  # fact: StaleRead reader=kept[*] writer=x op=add_ link=alias
    # moves: kept
    return kept


def item_stored(x: torch.Tensor):
    kept = {}
    kept["a"] = x
    x.add_(1)  # fact: StaleRead reader=kept['a'] writer=x op=add_ link=alias
    return kept["a"] * 2


def item_stored_and_replaced(x: torch.Tensor):
    kept = {}
    kept["a"] = x
    kept["a"] = x.clone()
    x.add_(1)  # stays: kept
    return kept["a"] * 2


def shallow_copy_of_a_dict(x: torch.Tensor):
    kept = {"a": x}
    other = kept.copy()
    x.add_(1)  # fact: StaleRead reader=other['a'] writer=x op=add_ link=alias
    return other["a"] * 2


def get_and_pop(x: torch.Tensor):
    kept = {"a": x}
    y = kept.get("a")
    z = kept.pop("a")
    x.add_(1)  # fact: StaleRead reader=y writer=x op=add_ link=alias
    # fact: StaleRead reader=z writer=x op=add_ link=alias
    return y * z


def values_of_a_dict(x: torch.Tensor):
    kept = {"a": x}
    x.add_(1)  # fact: StaleRead reader=kept['a'] writer=x op=add_ link=alias
    return sum(value.sum() for value in kept.values())


def stored_by_slice(xs: list[torch.Tensor], x: torch.Tensor):
    xs[:] = [x]
    x = x + 1
    x.add_(1)  # stays: xs
    return xs


def thrown_away(xs: list[torch.Tensor]):
    best = []
    for x in xs:
        for _ in x:
            _ = x.sum()
        _, places = torch.topk(x, 1)
        best.append(places)
    return best
