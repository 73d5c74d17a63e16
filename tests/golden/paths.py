# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Paths that never meet, copies that only look like sharing: what no fact may come from."""

import torch
import torch.nn as nn


def kept_on_the_way_out(xs: list[torch.Tensor], w: torch.Tensor):
    best = None
    for x in xs:
        if x.sum() > 3:
            best = w
            break
        w.add_(1)
    return best, w


def snapshot_on_the_way_out(model: nn.Linear, steps: int):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    final = None
    for step in range(steps):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        if step == 3:
            final = model.state_dict()
            break
    return final


def _state_of(model: nn.Linear):
    return model.state_dict()


def snapshot_after_the_initialisation():
    model = nn.Linear(4, 4)
    nn.init.zeros_(model.weight)
    state = _state_of(model)
    return state


def cast_from_another_dtype(x: torch.Tensor):
    q = torch.round(x).to(torch.int8)
    back = q.float()
    back *= 3
    return q, back


def cast_under_a_test(image: torch.Tensor):
    shown = image
    if image.dtype == torch.uint8:
        shown = image.float()
        shown /= 255
    return image, shown


def _scaled(t: torch.Tensor, copy: bool = True):
    t = t.clone() if copy else t
    t.mul_(2)
    return t


def written_only_on_request(x: torch.Tensor):
    y = _scaled(x)
    return y


def items_of_a_comprehension():
    a, b = (torch.zeros(3) for _ in range(2))
    a += 1
    return a, b


def items_of_a_list_of_new_tensors():
    rows = [torch.zeros(3) for _ in range(2)]
    first, second = rows[0], rows[1]
    first += 1
    return first, second


def expanded_by_nothing(x: torch.Tensor):
    y = x.unsqueeze(0).expand(1, -1, -1)
    y[0, 0] = 3
    return y


def index_of_one_number(x: torch.Tensor, mask: torch.Tensor):
    for k in mask.nonzero().flatten():
        x[k].sub_(1)
    return x


# run: no_tensor_on_this_path(nn.Linear(4, 4), "cpu")
def no_tensor_on_this_path(item, device):
    if not isinstance(item, torch.Tensor):
        item.to(device)
        return item
    return item.to(device)
