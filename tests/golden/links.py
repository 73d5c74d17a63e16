# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""What connects two bindings: the same object, a view, a detached view, a NumPy array, perhaps nothing."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


# One link.


def alias(x: torch.Tensor):
    old = x
    x.add_(1)  # fact: StaleRead reader=old writer=x op=add_ link=alias | kept together compared certain evidence=3
    return x - old


def alias_the_other_way(x: torch.Tensor):
    y = x
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=alias | -kept -together -compared certain
    return x.sum()


def copy_is_no_alias(x: torch.Tensor):
    old = x.clone()
    x.add_(1)  # stays: old
    return x - old


def view(x: torch.Tensor):
    before = x.view(-1)
    x.mul_(2)  # fact: StaleRead reader=before writer=x op=mul_ link=view | kept reader_derived -writer_derived
    return before.sum()


def base_of_a_written_view(x: torch.Tensor):
    y = x.transpose(0, 1)
    y.zero_()  # fact: StaleRead reader=x writer=y op=zero_ link=view | writer_derived -reader_derived
    return x


def slice_is_a_view(x: torch.Tensor):
    head = x[:2]
    x.mul_(2)  # fact: StaleRead reader=head writer=x op=mul_ link=view
    return head


def detach(x: torch.Tensor):
    saved = x.detach()
    x.add_(1)  # fact: StaleRead reader=saved writer=x op=add_ link=detach | kept reader_derived
    return saved


def data_attribute(x: torch.Tensor):
    saved = x.data
    x.add_(1)  # fact: StaleRead reader=saved writer=x op=add_ link=detach | links=data
    return saved


def array_of_a_tensor():
    x = torch.ones(3)
    array = x.numpy()
    x.add_(1)  # fact: StaleRead reader=array writer=x op=add_ link=numpy | owner=fresh
    return array.sum()


def array_written():
    x = torch.ones(3)
    array = x.numpy()
    array += 1  # fact: StaleRead reader=x writer=array op=+= link=numpy | how=augmented
    return x.sum()


def tensor_over_an_array():
    array = np.ones(3)
    x = torch.from_numpy(array)
    x.add_(1)  # fact: StaleRead reader=array writer=x op=add_ link=numpy | writer_derived
    return array.sum()


def refilled_array():
    array = np.ones(3)
    x = torch.from_numpy(array)
    array[:] = 0  # fact: StaleRead reader=x writer=array op=[...] = link=numpy | how=subscript
    return x.sum()


def array_copied():
    array = np.ones(3)
    x = torch.tensor(array)
    array[:] = 0  # stays: x
    return x.sum()


def shared_argument(array: np.ndarray):
    x = torch.from_numpy(array)
    x.mul_(2)  # fact: SharedWrite writer=x owner_name=array op=mul_ link=numpy | array certain
    return x.sum()


# Links that may be copies.


def same_dtype():
    x = torch.ones(3)
    y = x.to(torch.float32)
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=maybe | maybe_op=to
    return x


def same_dtype_of_a_range():
    x = torch.arange(3.0)
    y = x.to(torch.float32)
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=maybe | maybe_op=to
    return x


def other_dtype():
    x = torch.ones(3)
    y = x.to(torch.float64)
    y.add_(1)  # stays: x
    return x


def same_dtype_maybe_of_an_argument(x: torch.Tensor):
    y = x.double()
    y.add_(1)  # fact: SharedWrite writer=y owner_name=x op=add_ link=maybe
    # stays: x
    return y


def same_device():
    x = torch.ones(3)
    y = x.cpu()
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=maybe | maybe_op=cpu
    return x


def contiguous_already():
    x = torch.ones(3)
    y = x.contiguous()
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=maybe | maybe_op=contiguous
    return x


def contiguous_of_a_transpose():
    x = torch.ones(3, 4)
    y = x.t().contiguous()
    y.add_(1)  # stays: x
    return x


def reshape():
    x = torch.ones(3, 4)
    y = x.reshape(-1)
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=maybe | maybe_op=reshape
    return x


def dropout_off():
    x = torch.ones(3)
    y = F.dropout(x, training=False)
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=maybe | maybe_op=dropout
    return x


# run: DropoutModule().eval()(torch.ones(3))
class DropoutModule(nn.Module):
    """Of a module in eval mode, the argument comes back."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor):
        y = self.dropout(x * 2)
        z = self.dropout(y)
        z += 1  # fact: StaleRead reader=y writer=z op=+= link=maybe | maybe_op=Dropout
        return y + z


def copy_asked_for():
    x = torch.ones(3)
    y = x.to(torch.float32, copy=True)
    y.add_(1)  # stays: x
    return x


def maybe_shared_argument(x: torch.Tensor):
    y = x.float()
    y.mul_(2)  # fact: SharedWrite writer=y owner_name=x op=mul_ link=maybe | maybe_op=float
    return y


# Chains, and what two of them have in common.


def chain():
    x = torch.ones(3, 4)
    y = x.view(-1).detach()[2:]
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=detach | writer_derived
    return x


def common_prefix_is_an_alias():
    x = torch.ones(3, 4)
    y = x.detach()
    z = y
    z.add_(1)  # fact: StaleRead reader=y writer=z op=add_ link=alias
    return y


def common_prefix_is_a_view():
    x = torch.ones(3, 4)
    y = x.detach()
    z = y.view(-1)
    z.add_(1)  # fact: StaleRead reader=y writer=z op=add_ link=view
    return y


def two_sides_of_a_fork():
    x = torch.ones(3, 4)
    y, z = x.detach(), x.view(-1)
    z.add_(1)  # fact: StaleRead reader=y writer=z op=add_ link=detach
    return y


def chain_broken_by_a_copy():
    x = torch.ones(3, 4)
    y = x.view(-1).clone().detach()  # fact: CloneDetach receiver=x.view(-1) | -graph
    y.add_(1)  # stays: x
    return x


def unary_plus():
    x = torch.ones(3)
    y = +x
    y.add_(1)  # fact: StaleRead reader=x writer=y op=add_ link=alias
    return x


def unary_minus():
    x = torch.ones(3)
    y = -x
    y.add_(1)  # stays: x
    return x


# Parts.


def equal_parts():
    x = torch.ones(3, 4)
    a = x[0]
    b = x[0]
    a.add_(1)  # fact: StaleRead reader=b writer=a op=add_ link=view | same_part
    return b


def different_parts():
    x = torch.ones(3, 4)
    a = x[0]
    b = x[1]
    a.add_(1)  # stays: b
    return b


def equal_unknown_parts(x: torch.Tensor, i: int):
    a = x[i]
    b = x[i]
    a.add_(1)  # fact: StaleRead reader=b writer=a op=add_ link=view | same_part
    return b


# run: unknown_parts(torch.ones(3, 4), 0, 1)
def unknown_parts(x: torch.Tensor, i: int, j: int):
    a = x[i]
    b = x[j]
    a.add_(1)  # stays: b
    return b


# run: moved_index(torch.ones(3, 4), 0)
def moved_index(x: torch.Tensor, i: int):
    a = x[i]
    i += 1
    b = x[i]
    a.add_(1)  # stays: b
    return b


def disjoint_slices():
    x = torch.ones(3, 4)
    a = x[:2]
    b = x[2:]
    a.add_(1)  # stays: b
    return b


def columns():
    x = torch.ones(3, 4)
    a = x[:, 0]
    b = x[:, 1]
    x[:, 0] = 2  # fact: StaleRead reader=a writer=x op=[...] = link=view
    # stays: b
    return a, b


def whole_is_every_part():
    x = torch.ones(3, 4)
    a = x[:]
    b = x[1]
    a.add_(1)  # fact: StaleRead reader=b writer=a op=add_ link=view
    return b


def chunks():
    x = torch.ones(4)
    a, b = x.chunk(2)
    a.add_(1)  # stays: b
    return b


def unbound():
    x = torch.ones(2, 4)
    a, b = x.unbind()
    a.add_(1)  # stays: b # fact: StaleRead reader=x writer=a op=add_ link=view | writer_derived
    return b, x


def split():
    x = torch.ones(4)
    a, b = torch.split(x, 2)
    x.add_(1)  # fact: StaleRead reader=b writer=x op=add_ link=view | reader_derived
    return b


def rows_unpacked():
    x = torch.ones(2, 4)
    a, b = x
    a.add_(1)  # stays: b # fact: StaleRead reader=x writer=a op=add_ link=view
    return b, x


def copied_by_an_index():
    x = torch.ones(3, 4)
    a = x[[0, 1]]
    a.add_(1)  # stays: x
    return x


# run: index_of_unknown_kind(torch.ones(3, 4), 0)
# run: index_of_unknown_kind(torch.ones(3, 4), [0])
def index_of_unknown_kind(x: torch.Tensor, index):
    a = x[index]
    a.add_(1)
    return x


def swapped_rows():
    x = torch.arange(8.0).reshape(2, 4)
    x[0], x[1] = x[1], x[0]  # fact: StaleRead reader=x[0] writer=x op== link=view | how=swap
    return x


def all_columns(x: torch.Tensor):
    row = x[:, :4].reshape(-1)
    row.mul_(3)  # fact: StaleRead reader=x writer=row op=mul_ link=maybe
    # fact: SharedWrite writer=row owner_name=x op=mul_ link=maybe
    return row + x.sum()


def some_columns(x: torch.Tensor):
    row = x[:, 1:].reshape(-1)
    row.mul_(3)
    return row + x.sum()
