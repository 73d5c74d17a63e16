# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Sizes, strides and their order: what a view joins, what `expand` cannot repeat, what NumPy counts otherwise."""

import numpy as np
import torch
from torch import nn


def _transposed(x):
    return x.transpose(1, 2)


def _backwards(array):
    return array[::-1]


# run: flattened_transpose(torch.ones(2, 3))
def flattened_transpose(x: torch.Tensor):
    y = x.t()
    return y.view(-1)  # fact: TurnedView receiver=y op=t | -copied
    # raises: RuntimeError


# run: clone_keeps_the_order(torch.ones(2, 3))
def clone_keeps_the_order(x: torch.Tensor):
    y = x.mT.clone()
    return y.view(6)  # fact: TurnedView receiver=y op=mT | copied=clone
    # raises: RuntimeError


# run: merged_by_symbols(torch.ones(2, 3, 4, 5))
def merged_by_symbols(x: torch.Tensor):
    b, h, t, d = x.shape
    y = x.transpose(1, 2) * 2
    inner = h * d
    return y.view(b, t, inner)  # fact: TurnedView receiver=y op=transpose
    # raises: RuntimeError


# run: split_by_symbols(torch.ones(2, 3, 4))
def split_by_symbols(x: torch.Tensor):
    b, c, n = x.shape
    y = x.permute(0, 2, 1)
    return y.view(b, n, c // 3, 3)


# run: channels_last_rows(torch.ones(2, 3, 4, 5))
def channels_last_rows(x: torch.Tensor):
    n, c, h, w = x.size()
    y = x.permute(0, 2, 3, 1)
    kept = y.view(n, h * w, c)
    return y.view(n * h * w, c), kept  # fact: TurnedView receiver=y op=permute
    # raises: RuntimeError


# run: turned_back(torch.ones(2, 3, 4))
def turned_back(x: torch.Tensor):
    y = x.movedim(0, 2).movedim(2, 0)
    return y.view(-1)


# run: turned_in_a_helper(torch.ones(2, 3, 4))
def turned_in_a_helper(x: torch.Tensor):
    y = _transposed(x)
    return y.view(x.size(0), 12)  # fact: TurnedView receiver=y op=transpose
    # raises: RuntimeError


# run: size_one_is_anywhere(torch.ones(3, 4))
def size_one_is_anywhere(x: torch.Tensor):
    y = x[:, :1].t()
    z = x.unsqueeze(1).transpose(0, 1)
    return y.view(-1), z.view(-1), x.sum(1, keepdim=True).T.view(3)


# run: size_of_another_time(torch.ones(2, 3, 4))
def size_of_another_time(x: torch.Tensor):
    b, n, c = x.shape
    b, n = n, b
    return x.view(n, b, c)


# run: order_of_sizes(torch.ones(2, 3, 4))
def order_of_sizes(x: torch.Tensor):
    b, n, c = x.shape
    y = x.view(n, b, c)  # fact: ScrambledAxes receiver=x op=view | evidence=3
    return y, x.reshape(b * n, c), x.transpose(1, 2).reshape(b, c, n)


# run: order_of_an_unknown(torch.ones(2, 3))
def order_of_an_unknown(x):
    rows, columns = x.size(0), x.size(1)
    return x.reshape(columns, rows)  # fact: ScrambledAxes receiver=x op=reshape


# run: reduced_without_keepdim(torch.ones(2, 3))
def reduced_without_keepdim(x: torch.Tensor):
    total = x.sum(1)
    kept = x.sum(1, keepdim=True).expand_as(x)
    return total.expand_as(x), kept  # fact: ClashingExpand receiver=total op=expand_as | keeps
    # raises: RuntimeError


# run: reduced_last_of_unknown(torch.ones(2, 3, 4))
def reduced_last_of_unknown(x):
    mean = x.mean(dim=-1)
    return mean.expand(x.shape)  # fact: ClashingExpand receiver=mean op=expand
    # raises: RuntimeError


# run: reduced_first_or_unsqueezed(torch.ones(2, 3))
def reduced_first_or_unsqueezed(x):
    return x.mean(dim=0).expand_as(x), x.mean(1).unsqueeze(1).expand_as(x), x.amax(1)[:, None].expand(x.size())


def sizes_of_numbers():
    row = torch.zeros(3, 2)
    wide = torch.zeros(3, 1).expand(3, 6)
    return row.expand(3, 6), wide  # fact: ClashingExpand receiver=row op=expand | own=2 wanted=6 repeats -keeps
    # raises: RuntimeError


def parameter_over_rows(count: int):
    rows = torch.zeros(1, 4).expand(count, 4)
    kept = nn.Parameter(rows.clone())
    return nn.Parameter(rows), kept  # fact: ExpandedParameter name=rows op=expand | -rows


def parameter_for_each_row(count: int):
    start = torch.zeros(4)
    return [nn.Parameter(row) for row in start.expand(count, 4)]
    # fact: ExpandedParameter name=row op=expand | rows


def frozen_parameter(count: int):
    return nn.Parameter(torch.zeros(1, 4).expand(count, 4), requires_grad=False)


# run: strides_in_bytes(torch.zeros(100), np.zeros((2, 3), np.float32))
def strides_in_bytes(x: torch.Tensor, array: np.ndarray):
    kept = torch.as_strided(x, array.shape, [step // 4 for step in array.strides])
    return x.as_strided(array.shape, array.strides), kept  # fact: ByteStrides array=array op=as_strided


# run: strides_compared(torch.zeros(2, 3))
def strides_compared(x: torch.Tensor):
    array = x.numpy()
    same = array.strides == x.stride()  # fact: ByteStrides array=array op=
    return same


# run: flipped_array(np.zeros((2, 3)))
def flipped_array(array: np.ndarray):
    flipped = np.fliplr(array)
    copied = torch.from_numpy(flipped.copy())
    return torch.from_numpy(flipped), copied  # fact: NegativeStrides op=from_numpy flip=np.fliplr | array_proven
    # raises: ValueError


# run: flipped_in_a_helper(np.zeros(3))
def flipped_in_a_helper(array: np.ndarray):
    return torch.as_tensor(_backwards(array))  # fact: NegativeStrides op=as_tensor flip=[::-1] | array_proven
    # raises: ValueError


# run: flipped_list([1, 2, 3])
def flipped_list(items):
    return torch.tensor(items[::-1])  # fact: NegativeStrides op=tensor flip=[::-1] | -array_proven


# run: repeated_otherwise(torch.zeros(2, 3), torch.zeros(2), 4)
def repeated_otherwise(x: torch.Tensor, y: torch.Tensor, times: int):
    many = x.repeat_interleave(times, dim=0)
    whole = y.repeat(times)  # fact: MixedRepeats tiled=y interleaved=x
    return many, whole


# run: repeated_by_numpy(np.zeros((2, 3)), torch.zeros(2), 4)
def repeated_by_numpy(x: np.ndarray, y: torch.Tensor, times: int):
    many = torch.from_numpy(np.repeat(x, times, axis=0)).float()
    whole = y.repeat(times)  # fact: MixedRepeats tiled=y interleaved=x
    return many, whole


# run: repeated_as_an_operand(torch.zeros(2, 3), torch.zeros(2), 4)
def repeated_as_an_operand(x: torch.Tensor, y: torch.Tensor, times: int):
    many = x.repeat_interleave(times, dim=0)
    if times > 2:
        return many * y.repeat(times)[:, None]  # fact: MixedRepeats tiled=y interleaved=x
    else:
        return many


# run: repeated_apart(torch.zeros(2, 3), torch.zeros(2), 4)
def repeated_apart(x: torch.Tensor, y: torch.Tensor, times: int):
    many = x.repeat_interleave(times, dim=0)
    print(y.repeat(times))
    return many


# run: every_pair(torch.zeros(2, 3))
def every_pair(x: torch.Tensor):
    return torch.cat([x.repeat_interleave(2, dim=0), x.repeat(2, 1)])


def bytes_of_rows(count: int):
    rows = torch.zeros(1, 4).expand(count, 4)
    counted = rows.nbytes  # fact: ExpandedBytes receiver=rows counted=nbytes
    return counted, rows.contiguous().nbytes, rows.untyped_storage().nbytes()


def bytes_by_product(count: int):
    rows = torch.zeros(1, 4).expand(count, 4)
    return rows.numel() * rows.element_size()
    # fact: ExpandedBytes receiver=rows counted=rows.numel() * rows.element_size()


def columns_backwards():
    image = np.zeros((3, 4))
    return torch.from_numpy(image[:, ::-1])  # fact: NegativeStrides op=from_numpy flip=[:, ::-1] | array_proven
    # raises: ValueError


# run: axis_put_back_in_place(torch.ones(2, 3))
def axis_put_back_in_place(x: torch.Tensor):
    total = x.sum(1)
    same = total
    same.unsqueeze_(1)
    return total.expand_as(x)


# run: axis_dropped_before_it_is_put_back(torch.ones(2, 3))
def axis_dropped_before_it_is_put_back(x: torch.Tensor):
    total = x.sum(1)
    wide = total.expand_as(x)  # fact: ClashingExpand receiver=total op=expand_as
    # raises: RuntimeError
    total.unsqueeze_(1)
    return wide


# run: exchanged_back_in_place(torch.ones(2, 3))
def exchanged_back_in_place(x: torch.Tensor):
    y = x.t()
    y.transpose_(0, 1)
    return y.view(-1), x.t_().reshape(6)


# run: only_a_view_of_it_is_exchanged(torch.ones(2, 3))
def only_a_view_of_it_is_exchanged(x: torch.Tensor):
    y = x.t()
    first = y[:2]
    first.squeeze_(0)
    return y.view(-1)  # fact: TurnedView receiver=y op=t
    # raises: RuntimeError


def _with_an_axis_more(x):
    x.unsqueeze_(1)


# run: axis_put_back_by_a_helper(torch.ones(2, 3))
def axis_put_back_by_a_helper(x: torch.Tensor):
    total = x.sum(1)
    _with_an_axis_more(total)
    return total.expand(x.shape)


# run: sizes_after_a_change_in_place(torch.ones(2, 3, 4))
def sizes_after_a_change_in_place(x: torch.Tensor):
    b, n, c = x.shape
    x.transpose_(1, 2)
    return x.reshape(b, c, n)
