# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Statements that go nowhere or further than meant: lost writes, dropped results, rebindings, overlap, moves."""

from types import SimpleNamespace

import torch
from torch import nn


# Lost writes.


def mask(x: torch.Tensor):
    x[x > 3].zero_()  # fact: LostWrite base=x op=zero_ copied_by=index | evidence=3 repeatable
    return x


def list_index(x: torch.Tensor):
    x[[0, 1]].fill_(2)  # fact: LostWrite base=x op=fill_ copied_by=index
    return x


def inverted_mask(x: torch.Tensor, m):
    m = x > 3
    x[~m].zero_()  # fact: LostWrite base=x op=zero_ copied_by=index
    return x


def tensor_index(x: torch.Tensor):
    rows = torch.tensor([0, 1])
    x[rows].zero_()  # fact: LostWrite base=x op=zero_ copied_by=index
    return x


def double_index(x: torch.Tensor):
    x[x[:, 0] > 3][:, 1] = 0  # fact: LostWrite base=x op=[...] = copied_by=index | joined
    return x


def init_of_a_part(x: torch.Tensor):
    nn.init.zeros_(x[[0, 1]])  # fact: LostWrite base=x op=zeros_ copied_by=index | copy -joined
    return x


def out_is_a_copy(x: torch.Tensor):
    torch.mul(x[[0]], 2, out=x[[0]])  # fact: LostWrite base=x op=mul(out=..) copied_by=index
    return x


def diag(x: torch.Tensor):
    x.diag().fill_(0)  # fact: LostWrite base=x op=fill_ copied_by=diag
    return x


def data_of_a_part(x: torch.Tensor):
    x[0].data = torch.zeros(4)  # fact: LostWrite base=x[0] op=.data = copied_by=data
    # stays: x
    return x


def state_dict_edited(model: nn.Linear):
    state = model.state_dict()
    state["weight"] = torch.zeros(4, 4)  # fact: LostWrite base=state op=[...] = copied_by=state_dict
    # stays: model
    return model


def state_dict_edited_and_loaded(model: nn.Linear):
    state = model.state_dict()
    state["weight"] = torch.zeros(4, 4)
    model.load_state_dict(state)  # moves: model
    return model


def row_written(x: torch.Tensor):
    x[0].zero_()  # moves: x
    return x


def slice_written(x: torch.Tensor):
    x[1:3].zero_()  # moves: x
    return x


# run: index_of_unknown_kind_written(torch.ones(3, 4), 0)
def index_of_unknown_kind_written(x: torch.Tensor, i):
    x[i].zero_()  # moves: x
    return x


def mask_assigned(x: torch.Tensor):
    x[x > 3] = 0  # moves: x
    return x


def mask_augmented(x: torch.Tensor):
    x[x > 3] += 1  # moves: x
    return x


def mask_of_a_view(x: torch.Tensor):
    x[:, 0][x[:, 0] > 3] = 0  # moves: x
    return x


def diagonal_is_a_view(x: torch.Tensor):
    x.diagonal().fill_(0)  # moves: x
    return x


def named_copy(x: torch.Tensor):
    part = x[x > 3]
    part.zero_()  # stays: x
    return part


def zero_dim_index(x: torch.Tensor):
    i = x[:, 0].argmin()
    x[i].zero_()  # moves: x
    return x


# Dropped results.


def clamp(x: torch.Tensor):
    x.clamp(0, 1)  # fact: DroppedResult receiver=x op=clamp | twin evidence=3 -moves slot=name
    return x


def clamp_function(x: torch.Tensor):
    torch.clamp(x, 0, 1)  # fact: DroppedResult receiver=x op=clamp | twin evidence=3
    return x


def check_function(x: torch.Tensor):
    torch.equal(x, x * 2)
    return x


def move(x: torch.Tensor):
    x.to(torch.float64)  # fact: DroppedResult receiver=x op=to | moves
    return x


def dropped_view(x: torch.Tensor):
    x.transpose(0, 1)  # fact: DroppedResult receiver=x op=transpose | views
    return x


def detach_of_anything(x):
    x.detach()  # fact: DroppedResult receiver=x op=detach | -evidence -receiver_evidence
    return x


def detach_of_a_tensor_by_its_use(x):
    x.detach()  # fact: DroppedResult receiver=x op=detach | evidence=2 -receiver_evidence
    return x.contiguous()


def dropped_of_a_gradient(x: torch.Tensor):
    x.requires_grad_()
    x.sum().backward()
    x.grad.clamp(0, 1)  # fact: DroppedResult receiver=x.grad op=clamp | slot=part
    return x


def written_instead(x: torch.Tensor):
    x.clamp_(0, 1)  # moves: x
    return x


def result_used(x: torch.Tensor):
    x = x.clamp(0, 1)
    return x


def module_moves_itself(model: nn.Linear):
    model.to(torch.float64)
    return model


def module_of_the_file_moves_itself():
    net = nn.Sequential(nn.Linear(4, 4))
    net.half()
    return net


# run: probing(torch.ones(3))
def probing(x: torch.Tensor):
    try:
        x.view(2, 2)  # fact: DroppedResult receiver=x op=view | probing views
        # raises: RuntimeError
    except RuntimeError:
        return None


# Dead rebindings.


def parameters_rebound(model: nn.Linear):
    for parameter in model.parameters():
        parameter = parameter * 2
        # fact: DeadRebinding name=parameter origin=loop | uses_itself computed parameter evidence=3


def parameters_written(model: nn.Linear):
    for parameter in model.parameters():
        parameter.data = parameter.data * 2  # moves: model


def elements_rebound(xs: list[torch.Tensor]):
    for x in xs:
        x = x + 1  # fact: DeadRebinding name=x origin=loop | uses_itself computed -parameter
    return xs


def elements_of_two_lists(xs: list[torch.Tensor], ys: list[torch.Tensor]):
    for x, y in zip(xs, ys):
        x = torch.sub(x, y)  # fact: DeadRebinding name=x origin=loop | uses_sibling


def collected(xs: list[torch.Tensor]):
    out = []
    for x in xs:
        x = x + 1  # stays: x
        out.append(x)
    return out


def written_after_the_rebinding(xs: list[torch.Tensor]):
    for x in xs:
        x = x.view(-1)
        x.add_(1)
    return xs


def argument_updated(w: torch.Tensor, lr: float):
    w.requires_grad_()
    w.sum().backward()
    w = w - lr * w.grad  # fact: DeadRebinding name=w origin=argument | update uses_itself


def argument_scaled(x: torch.Tensor, total: torch.Tensor):
    total.requires_grad_()
    total.sum().backward()
    settings = SimpleNamespace(grad_scale=2.0)
    x = x * settings.grad_scale  # fact: DeadRebinding name=x origin=argument | -update
    return total.grad


def data_of_a_loop_rebound(model: nn.Linear):
    for parameter in model.parameters():
        data = parameter.data
        data = data * 2  # fact: DeadRebinding name=data origin=parameter | picked uses_itself


def argument_updated_and_returned(w: torch.Tensor, lr: float):
    w.requires_grad_()
    w.sum().backward()
    w = w - lr * w.grad  # stays: w
    return w


def parameter_rebound_under_a_name(model: nn.Linear, lr: float):
    w = model.weight
    model(torch.ones(4)).sum().backward()
    w = w - lr * w.grad  # fact: DeadRebinding name=w origin=parameter | update
    # stays: model
    return model


def gradient_rebound(x: torch.Tensor):
    x.requires_grad_()
    x.sum().backward()
    g = x.grad
    g = g.clamp(0, 1)  # fact: DeadRebinding name=g origin=grad
    return x


def bound_for_the_module(xs: list[torch.Tensor]):
    global shared
    for shared in xs:
        shared = shared + 1
    total = xs[0].requires_grad_()
    total.sum().backward()


def bound_for_all_names(xs: list[torch.Tensor]):
    for x in xs:
        x = x + 1
    return sorted(locals())


def closed_over(xs: list[torch.Tensor]):
    calls = []
    for x in xs:
        x = x + 1
        calls.append(lambda: x)
    return calls


def read_in_the_next_pass(xs: list[torch.Tensor], n: int):
    x = xs[0]
    total = 0
    for _ in range(n):
        total = total + x
        x = x + 1
    return total


# Leaves.


def leaf_rebound():
    w = torch.zeros(3, requires_grad=True)
    for _ in range(2):
        loss = (w - 1).pow(2).sum()
        loss.backward()
        if w.grad is None:
            break
        w = w - 0.1 * w.grad  # fact: LeafRebound target=w reason=grad_read
    return w


def leaf_made_again():
    w = torch.zeros(3, requires_grad=True)
    for _ in range(2):
        loss = (w - 1).pow(2).sum()
        loss.backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()
    return w


def one_update():
    w = torch.zeros(3, requires_grad=True)
    (w - 1).pow(2).sum().backward()
    w = w - 0.1 * w.grad  # stays: w
    return w


def parameter_replaced(model: nn.Linear):
    model.weight = model.weight * 2  # fact: LeafRebound target=model.weight reason=parameter


def parameter_replaced_by_a_parameter(model: nn.Linear):
    model.weight = nn.Parameter(model.weight * 2)


# run: _updated(Regression())
class Regression:
    def __init__(self):
        self.w = torch.zeros(3, requires_grad=True)

    def update(self):
        self.w = self.w - 0.1 * self.w.grad  # fact: LeafRebound target=self.w reason=method

    def update_in_place(self):
        with torch.no_grad():
            self.w -= 0.1 * self.w.grad  # moves: self.w


def _updated(model):
    model.w.sum().backward()
    model.update_in_place()
    model.update()


# Overlapping memory.


def expanded_row():
    x = torch.zeros(1, 4).expand(3, 4)
    x[0] = 1  # fact: OverlappingWrite writer=x op=[...] = expand=expand | silent how=subscript
    return x


def expanded_added():
    x = torch.zeros(1, 4).expand(3, 4)
    x.add_(1)  # fact: OverlappingWrite writer=x op=add_ expand=expand | -silent


def expanded_augmented():
    x = torch.zeros(1, 4).expand(3, 4)
    x += 1  # fact: OverlappingWrite writer=x op=+= expand=expand | -silent how=augmented


def expanded_slice():
    x = torch.zeros(1, 4).expand(3, 4)
    x[:] = 1  # fact: OverlappingWrite writer=x op=[...] = expand=expand | -silent


def expanded_filled(x: torch.Tensor):
    y = torch.zeros(4, 1).expand_as(x)
    y.fill_(1)  # fact: OverlappingWrite writer=y op=fill_ expand=expand_as | silent


def broadcast():
    x = torch.broadcast_to(torch.zeros(4), (3, 4))
    x.mul_(2)  # fact: OverlappingWrite writer=x op=mul_ expand=broadcast_to | -silent


def windows():
    x = torch.zeros(5).unfold(0, 3, 1)
    x.add_(1)  # fact: OverlappingWrite writer=x op=add_ expand=unfold | silent


def windows_side_by_side():
    x = torch.zeros(6).unfold(0, 3, 3)
    x.add_(1)
    return x


def overlapping_strides():
    x = torch.zeros(5).as_strided((3, 3), (1, 1))
    x.zero_()  # fact: OverlappingWrite writer=x op=zero_ expand=as_strided | silent


# todo: a row of an expanded tensor does not overlap itself: torch raises nothing
def view_of_an_expanded():
    x = torch.zeros(1, 4).expand(3, 4)
    y = x[1]
    y.add_(1)  # fact: OverlappingWrite writer=y op=add_ expand=expand | silent
    # moves: x
    return y


def expanded_deep_copy():
    import copy

    x = copy.deepcopy(torch.zeros(1, 4).expand(3, 4))
    x.add_(1)  # fact: OverlappingWrite writer=x op=add_ expand=expand | -silent


def expanded_and_cloned():
    x = torch.zeros(1, 4).expand(3, 4).clone()
    x.add_(1)
    return x


def expanded_to_its_own_shape():
    x = torch.zeros(3, 4).expand(-1, -1)
    x.add_(1)
    return x


# run: expanded_argument(torch.zeros(1, 4).expand(3, 4))
def expanded_argument(x: torch.Tensor):
    x[0] = 1
    return x


# Moves to the host.


def item_after_cpu(x: torch.Tensor):
    return x.sum().cpu().item()  # fact: HostScalar receiver=x.sum() move=cpu() used=item | scalar evidence=3


def rows_summed_then_shown(x: torch.Tensor):
    sums = x.sum(1).cpu()  # fact: HostScalar receiver=x.sum(1) move=cpu() used=logged | -scalar
    print(sums)


def rows_chosen_then_shown(x: torch.Tensor):
    print(x.argmax(-1).cpu())  # fact: HostScalar receiver=x.argmax(-1) move=cpu() used=logged | -scalar


def printed(x: torch.Tensor):
    loss = x.mean()
    print(loss.to("cpu"))  # fact: HostScalar receiver=loss move=to('cpu') used=logged | scalar


def named_and_printed(x: torch.Tensor):
    loss = x.mean().cpu()  # fact: HostScalar receiver=x.mean() move=cpu() used=logged | scalar
    print(f"{loss:.3f}")


def made_a_float(x: torch.Tensor):
    return float(x.norm().cpu())  # fact: HostScalar receiver=x.norm() move=cpu() used=float | scalar


def whole_tensor_reduced(x: torch.Tensor):
    return x.cpu().max()  # fact: HostScalar receiver=x move=cpu() used=reduced | -scalar


def whole_tensor_indexed(x: torch.Tensor):
    return x.cpu()[0]  # fact: HostScalar receiver=x move=cpu() used=indexed | -scalar


def whole_tensor_printed(x: torch.Tensor):
    print(x.cpu())  # fact: HostScalar receiver=x move=cpu() used=logged | -scalar


def printed_and_kept(x: torch.Tensor, out: list[torch.Tensor]):
    loss = x.mean().cpu()
    print(loss)
    out.append(loss)


def array_made(x: torch.Tensor):
    return x.mean().cpu().numpy()


# clone().detach()


def clone_detach_of_a_leaf():
    x = torch.ones(3, requires_grad=True)
    return x.clone().detach()  # fact: CloneDetach receiver=x | graph recording


def clone_detach_of_no_leaf():
    x = torch.ones(3)
    return x.clone().detach()  # fact: CloneDetach receiver=x | -graph recording


def clone_detach_of_a_result(model: nn.Linear, x: torch.Tensor):
    y = model(x)
    return y.clone().detach()  # fact: CloneDetach receiver=y | graph


def clone_detach_of_a_detached():
    x = torch.ones(3, requires_grad=True).detach()
    return x.clone().detach()  # fact: CloneDetach receiver=x | -graph


def clone_detach_of_a_comparison(x: torch.Tensor):
    x.requires_grad_()
    y = x > 3
    return y.clone().detach()  # fact: CloneDetach receiver=y | -graph


def function_clone(x: torch.Tensor):
    return torch.clone(x).detach()  # fact: CloneDetach receiver=x


def detach_clone(x: torch.Tensor):
    return x.detach().clone()


def clone_named(x: torch.Tensor):
    y = x.clone()
    return y, y.detach()


# Pointers.


def asserted(x: torch.Tensor):
    y = x[1:]
    assert x.data_ptr() != y.data_ptr()  # fact: PointerTest left=x right=y | asserted addresses
    return y


def pointer_tested(x: torch.Tensor, y: torch.Tensor):
    if x.data_ptr() != y.data_ptr():  # fact: PointerTest left=x right=y | -asserted
        raise ValueError("not shared")  # raises: ValueError
    return y


def pointer_as_a_fast_path(x: torch.Tensor, y: torch.Tensor):
    if x.data_ptr() != y.data_ptr():  # fact: PointerTest left=x right=y | guards_copy
        x.copy_(y)
    return x


def pointer_equality(x: torch.Tensor, y: torch.Tensor):
    return x.data_ptr() == y.data_ptr()


# `.data =`


# run: data_exchanged(nn.Linear(4, 4), nn.Linear(4, 4))
def data_exchanged(model: nn.Linear, other: nn.Linear):
    for p, q in zip(model.parameters(), other.parameters()):
        p.data = q.data  # fact: ReboundData target=p.data value=q.data | parameter looped


# run: data_copied(nn.Linear(4, 4), nn.Linear(4, 4))
def data_copied(model: nn.Linear, other: nn.Linear):
    for p, q in zip(model.parameters(), other.parameters()):
        p.data = q.data.clone()
