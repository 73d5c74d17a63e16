# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""How surely a thing is a tensor, and what is silent because it is none."""

from typing import Any, Optional

import numpy as np
import torch


def by_annotation(x: torch.Tensor):
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | evidence=3
    return old


# run: by_optional_annotation()
def by_optional_annotation(x: Optional[torch.Tensor] = None):
    if x is None:
        x = torch.zeros(3)
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | evidence=3
    return old


# run: by_union_annotation(torch.ones(3))
def by_union_annotation(x: "torch.Tensor | None" = None):
    if x is None:
        return None
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | evidence=3
    return old


def by_annotation_of_the_list(xs: list[torch.Tensor]):
    old = xs[0]
    xs[0].add_(1)  # fact: StaleRead reader=old writer=xs[0] op=add_ link=alias | evidence=3
    return old * 2


def by_definition():
    x = torch.zeros(3)
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | evidence=3
    return old


def by_definition_of_an_operand(x):
    y = x + torch.ones(4)
    old = y
    y += 1  # fact: StaleRead reader=old writer=y op=+= link=alias | evidence=3
    return old


def by_isinstance(x):
    if not isinstance(x, torch.Tensor):
        return None
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | evidence=3
    return old


def by_is_tensor(x):
    if torch.is_tensor(x):
        old = x
        x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | evidence=3
        return old


def by_a_tensor_only_method(x):
    old = x
    mask = x.masked_fill(x > 3, 0)
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | evidence=2
    return old * mask


def by_an_earlier_write(x):
    x.mul_(2)
    old = x
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | evidence=2
    return old


def by_array_like_indexing(x):
    first = x[:, 0].sum()
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | evidence=1
    return old * first


def a_mask_speaks_for_its_own_statement(x):
    old = x
    x[x > 3] = 0  # fact: StaleRead reader=old writer=x op=[...] = link=alias | evidence=1
    return old


def the_write_is_little_evidence_of_itself(x):
    old = x
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | evidence=1
    return old


def a_method_of_everybody_is_no_evidence(x):
    size = x.size()
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | -evidence
    return old, size


# run: unknown_number(1)
def unknown_number(x):
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | -evidence
    # stays: old
    return old


def annotated_number(x: int):
    old = x
    x += 1  # stays: old
    return old


def number():
    x = 3
    old = x
    x += 1  # stays: old
    return old


def size_is_a_number(x: torch.Tensor):
    n = x.shape[0]
    old = n
    n += 1  # stays: old
    return old, len(x)


def counted(x: torch.Tensor):
    n = x.sum().item()
    old = n
    n += 1  # stays: old
    return old


def list_of_numbers():
    x = [1]
    old = x
    x += [2]
    return old


def annotated_list(x: list[torch.Tensor]):
    old = x
    x += [torch.zeros(3)]
    return old


def string():
    x = "a"
    old = x
    x += "b"  # stays: old
    return old


# run: container_by_key({"a": 1})
def container_by_key(x):
    old = x
    x["a"] = 2
    return old


def numpy_array(x: np.ndarray):
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | -evidence
    return old


def numpy_made():
    x = np.zeros(3)
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | -evidence
    return old


# run: any_object(torch.ones(3))
def any_object(x: Any):
    old = x
    x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | -evidence
    return old


# run: batches(torch.utils.data.DataLoader([(torch.ones(2), torch.ones(2))]))
def batches(loader):
    for images, labels in loader:
        old = images
        images += 1  # fact: StaleRead reader=old writer=images op=+= link=alias | evidence=3
        print(old + labels)


# run: batches_within(torch.utils.data.DataLoader([((torch.ones(2), torch.ones(2)), torch.ones(2))]))
def batches_within(loader):
    for (left, right), labels in loader:
        old = left
        left += 1  # fact: StaleRead reader=old writer=left op=+= link=alias | evidence=3
        print(old + right + labels)


# run: collated_batches([(torch.ones(2), torch.ones(2))], lambda items: items[0])
def collated_batches(data, collate):
    loader = torch.utils.data.DataLoader(data, collate_fn=collate)
    for images, labels in loader:
        images.to(torch.float64)  # fact: DroppedResult receiver=images op=to | -evidence
        labels.to(torch.float64)  # fact: DroppedResult receiver=labels op=to | -evidence


# run: module_called(torch.nn.Linear(4, 4), torch.ones(4))
def module_called(net, x):
    net.add = net(x)
    old = net
    net.train()
    return old
