# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Copies that cost too much: the second copy of a chain, constructors that copy, what an operation would broadcast."""

import numpy as np
import torch
from torch import nn


# Clones beside another copy.


def clone_of_a_sum(x: torch.Tensor, y: torch.Tensor):
    return (x + y).clone()  # fact: RedundantClone receiver=x + y form=fresh op=+ | evidence=3


def clone_of_a_negation(x: torch.Tensor):
    return (-x).clone()  # fact: RedundantClone receiver=-x form=fresh op=-


def clone_of_a_stack(x: torch.Tensor):
    return torch.stack([x, x]).clone()  # fact: RedundantClone receiver=torch.stack([x, x]) form=fresh op=stack


def clone_of_a_mean(x: torch.Tensor):
    return x.mean(0).clone()  # fact: RedundantClone receiver=x.mean(0) form=fresh op=mean


def clone_of_a_detached_product(x: torch.Tensor):
    return (x * 2).detach().clone()  # fact: RedundantClone receiver=(x * 2).detach() form=fresh op=*


def clone_of_masked_rows(x: torch.Tensor):
    mask = x[:, 0] > 2
    return x[mask].clone()  # fact: RedundantClone receiver=x[mask] form=fresh op=index


def clone_of_listed_rows(x: torch.Tensor):
    return torch.clone(x[[0, 2]])  # fact: RedundantClone receiver=x[[0, 2]] form=fresh op=index


def clone_of_a_clone(x: torch.Tensor):
    return x.clone().clone()  # fact: RedundantClone receiver=x.clone() form=fresh op=clone


def clone_of_something_added(x, y):
    return (x + y).clone()  # fact: RedundantClone receiver=x + y form=fresh op=+ | -evidence


def clones_of_what_others_hold(x: torch.Tensor, i: int):
    whole, part, row, flat = x.clone(), x[:2].clone(), x[i].clone(), x.view(-1).clone()
    return whole, part, row, flat


def clone_of_a_part_of_a_sum(x: torch.Tensor):
    return (x + 1)[0].clone(), (x + 1).view(-1).clone()


def clones_that_backward_needs(x: torch.Tensor):
    return torch.exp(x).clone(), x.sigmoid().clone(), (2**x).clone()


def clone_of_what_has_no_backward():
    x = torch.zeros(3)
    return torch.exp(x).clone()  # fact: RedundantClone receiver=torch.exp(x) form=fresh op=exp


def clone_of_a_leaf():
    return torch.ones(3, requires_grad=True).clone()


def clone_then_detach_of_a_sum(x: torch.Tensor):
    return (x + 1).clone().detach()
    # fact: RedundantClone receiver=x + 1 form=fresh op=+ | detached
    # fact: CloneDetach receiver=x + 1


def clone_before_a_move(x: torch.Tensor, device="cpu"):
    return x.clone().to(device)  # fact: RedundantClone receiver=x form=moved op=to | evidence=3


def clone_before_a_cast(x: torch.Tensor):
    return x.detach().clone().double()  # fact: RedundantClone receiver=x.detach() form=moved op=double


def clone_moved_to_where_it_is(x: torch.Tensor):
    return x.clone().to(x.device), x.detach().clone().to(x.dtype), x.clone().to(memory_format=torch.preserve_format)


def _moved(x):
    return x.clone().cpu()  # fact: RedundantClone receiver=x form=moved op=cpu | host evidence=3


def moves_a_tensor():
    return _moved(torch.ones(2))


def clone_beside_contiguous(x: torch.Tensor):
    one = x.t().contiguous().clone()  # fact: RedundantClone receiver=x.t() form=contiguous op=contiguous
    two = x.t().clone().contiguous()  # fact: RedundantClone receiver=x.t() form=contiguous op=contiguous
    return one, two, x.clone(memory_format=torch.contiguous_format)


def joined_and_so_contiguous(x: torch.Tensor, y: torch.Tensor):
    both = torch.cat([x, y], dim=-1).reshape(-1)
    start = torch.eye(3)
    return both.clone().contiguous(), start.clone().contiguous()


def clone_before_an_index(x: torch.Tensor):
    return x.clone()[x > 2], x.clone()[0]  # fact: RedundantClone receiver=x form=indexed op=[..]


# Moves and casts.


def moved_then_detached(x: torch.Tensor):
    return x.cpu().detach()  # fact: MovedThenDetached receiver=x move=cpu() | recording -graph


def moved_viewed_then_detached(x: torch.Tensor):
    return x.to("cpu").view(-1)[:2].detach()  # fact: MovedThenDetached receiver=x move=to('cpu')


def moved_under_no_grad(x: torch.Tensor):
    with torch.no_grad():
        return x.cpu().detach()  # fact: MovedThenDetached receiver=x move=cpu() | -recording


def moved_and_named(x: torch.Tensor):
    host = x.cpu()
    return host.detach()


def detached_then_moved(x: torch.Tensor):
    return x.detach().cpu()


def wide_then_narrow(x: torch.Tensor):
    return x.double().half()  # fact: RedundantCast receiver=x first=double() second=half() | -exact evidence=3


def wide_then_narrow_spelled_out(x: torch.Tensor):
    return x.to(torch.float64).to(dtype=torch.bfloat16)
    # fact: RedundantCast receiver=x first=to(torch.float64) second=to(dtype=torch.bfloat16)


def mask_to_int(x: torch.Tensor):
    return (x > 2).float().long()  # fact: RedundantCast receiver=x > 2 first=float() second=long() | exact


def cast_of_something(x):
    return x.double().float()  # fact: RedundantCast receiver=x first=double() second=float() | bare -evidence


def casts_that_round(x: torch.Tensor):
    return x.half().float(), x.long().float(), x.int().to(torch.uint8), x.bool().float(), x.float().long()


def casts_of_a_module(net: nn.Linear):
    return net.double().float()


def first_cast_of_a_known_dtype():
    return torch.ones(3).float().half()


def cast_beside_a_move(x: torch.Tensor):
    return x.to("cpu", torch.float64).float()


# Constructors.


def tensor_of_a_result(x: torch.Tensor):
    scale = x.abs().mean()
    return torch.tensor(scale)  # fact: TensorOfTensor argument=scale form=tensor | defined -caller evidence=3


def tensor_of_results(x: torch.Tensor):
    return torch.tensor([x.sum(), x.mean()])  # fact: TensorOfTensor argument=[x.sum(), x.mean()] form=tensors


def tensor_of_arrays():
    rows = [np.ones(3) for _ in range(2)]
    return torch.as_tensor(rows)  # fact: TensorOfTensor argument=rows form=arrays


def tensor_of_parts_of_arrays(x: np.ndarray):
    pieces = [x[i : i + 2] for i in range(len(x) - 2)]
    return torch.tensor(pieces)  # fact: TensorOfTensor argument=pieces form=arrays


def tensor_of_items_of_arrays(x: np.ndarray, i: int):
    return torch.tensor([x[i], x[i + 1]])


def new_tensor_of_a_tensor(x: torch.Tensor, y: torch.Tensor):
    return x.new_tensor(y)  # fact: TensorOfTensor argument=y form=tensor


def _as_given(value):
    return torch.tensor(value)  # fact: TensorOfTensor argument=value form=tensor | caller


def copies_a_tensor():
    return _as_given(torch.ones(2))


def _joined(rows):
    return torch.tensor([row * 2 for row in rows])
    # fact: TensorOfTensor argument=[row * 2 for row in rows] form=arrays | caller


def joins_arrays():
    return _joined([np.ones(2), np.zeros(2)])


def _measured(rows):
    return torch.tensor([row.mean() for row in rows])


def measures_arrays():
    return _measured([np.ones(2), np.zeros(2)])


def _plain(value):
    return torch.tensor(value)


def passes_numbers():
    return _plain([1, 2])


def tensor_of_numbers(x: torch.Tensor):
    return torch.tensor([x.sum().item(), float(x.mean()), len(x)]), torch.tensor(x.shape)


# run: tensor_behind_a_test([1.0, 2.0])
def tensor_behind_a_test(x):
    if isinstance(x, torch.Tensor):
        return x
    return torch.tensor(x)


# run: tensor_of_its_own_name([1.0, 2.0])
def tensor_of_its_own_name(x: torch.Tensor):
    x = torch.tensor(x)
    return x


def tensor_of_a_new_array():
    rows = np.ones((2, 3))
    return torch.tensor(rows * 2), torch.tensor(rows.astype(np.float32))
    # fact: FreshArrayCopied made=rows * 2 | sure
    # fact: FreshArrayCopied made=rows.astype(np.float32)


def tensor_of_a_joined_array(a: np.ndarray):
    return torch.tensor(np.concatenate([a, a]))  # fact: FreshArrayCopied made=np.concatenate([a, a]) | sure


def tensor_of_other_arrays(a: np.ndarray):
    return (
        torch.tensor(a),
        torch.tensor(np.asarray(a)),
        torch.tensor(np.mean(a)),
        torch.tensor(np.stack([a, a]), dtype=torch.float64),
    )


# Broadcasting.


def repeated_mask(x: torch.Tensor):
    return x * x.sum(1, keepdim=True).repeat(1, 4)
    # fact: RedundantRepeat receiver=x.sum(1, keepdim=True) call=repeat(1, 4) | used -ones


def repeated_by_name(x: torch.Tensor):
    wide = x[0][None].repeat(4, 1)  # fact: RedundantRepeat receiver=x[0][None] call=repeat(4, 1) | used
    return x + wide


def repeated_by_ones(x):
    return x.repeat(1, 1, 1)  # fact: RedundantRepeat receiver=x call=repeat(1, 1, 1) | ones evidence=2


def repeated_last_dimension(x: torch.Tensor):
    return x * x[:, 0, None].repeat(1, 4), x * x[..., :1].mean(-1, keepdim=True).repeat(1, 4)
    # fact: RedundantRepeat receiver=x[..., :1].mean(-1, keepdim=True) call=repeat(1, 4)


def repeated_for_other_uses(x: torch.Tensor):
    row = x[0].unsqueeze(0)
    full = row.repeat(4, 1)
    full[0] = 1
    return torch.cat([x, row.repeat(2, 1)]), row.repeat(4, 1).view(-1), row.repeat(4, 1) @ x, full


def repeated_long_dimension(x: torch.Tensor):
    return x + x[:2].repeat(2, 1)


def materialised_mean(x: torch.Tensor):
    mean = x.mean(0, keepdim=True)
    return x - mean.expand_as(x).contiguous()
    # fact: MaterialisedExpand receiver=mean op=contiguous expand=expand_as(x) | used


def materialised_by_name(x: torch.Tensor):
    wide = x[:1].expand(4, -1).clone()  # fact: MaterialisedExpand receiver=x[:1] op=clone expand=expand(4, -1)
    return torch.add(x, wide)


def merged(x: torch.Tensor):
    flat = x.view(-1)
    return flat * x[0].unsqueeze(0).expand(4, -1).reshape(-1)
    # fact: MaterialisedExpand receiver=x[0].unsqueeze(0) op=reshape expand=expand(4, -1)


def expanded_operand(x: torch.Tensor):
    return x - x[:1].expand_as(x)  # fact: MaterialisedExpand receiver=x[:1] op= expand=expand_as(x)


def materialised_for_other_uses(x: torch.Tensor):
    wide = x[:1].expand_as(x).clone()
    wide[0] = 1
    return wide, x[:1].expand_as(x).contiguous().view(-1), x @ x[:1].expand_as(x).contiguous()


# Growth.


def grown(rows: list[torch.Tensor]):
    table = torch.empty(0, 4)
    for row in rows:
        table = torch.cat([table, row])  # fact: GrownInLoop name=table op=cat | loop
    return table


def grown_from_none(rows: list[torch.Tensor]):
    table = None
    for row in rows:
        table = row if table is None else torch.vstack([table, row])  # fact: GrownInLoop name=table op=vstack
    return table


def grown_and_read(rows: list[torch.Tensor]):
    table, totals = torch.empty(0, 4), []
    for row in rows:
        table = torch.cat([table, row])
        totals.append(table.sum())
    return totals


def grown_to_a_length(x: torch.Tensor):
    table = x[:1]
    while table.shape[0] < 6:
        table = torch.cat([table, x])
    return table


def grown_in_a_nested_function(rows: list[torch.Tensor]):
    def joined():
        table = torch.empty(0, 4)
        for row in rows:
            table = torch.cat([table, row])  # fact: GrownInLoop name=table op=cat
        return table

    return joined()
