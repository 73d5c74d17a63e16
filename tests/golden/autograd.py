# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""The graph: leaves that are written, values that are kept for backward, views of which no one may be written."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def leaf_written():
    w = torch.zeros(2, requires_grad=True)
    w.add_(1)  # fact: LeafWrite writer=w op=add_ | -parameter certain
    # raises: RuntimeError


def leaf_augmented_through_a_view():
    w = nn.Parameter(torch.zeros(2, 2))
    row = w[0]
    row *= 2  # fact: LeafWrite writer=row op=*= | parameter
    # raises: RuntimeError


def leaf_written_quietly():
    w = nn.Parameter(torch.zeros(2))
    with torch.no_grad():
        w.add_(1)
    w.data.add_(1)
    w.detach().add_(1)
    nn.init.ones_(w)


def parameters_of_a_module():
    layer = nn.Linear(2, 2)
    for p in layer.parameters():
        p.zero_()  # fact: LeafWrite writer=p op=zero_ | parameter
        # raises: RuntimeError


def parameters_of_a_frozen_module():
    layer = nn.Linear(2, 2).requires_grad_(False)
    for p in layer.parameters():
        p.zero_()


def _trained():
    model = nn.Linear(2, 2)
    model(torch.ones(1, 2)).sum().backward()
    return model


# run: parameters_with_a_gradient(_trained())
def parameters_with_a_gradient(model):
    for p in model.parameters():
        p -= 0.1 * p.grad  # fact: LeafWrite writer=p op=-= | parameter
        # raises: RuntimeError


# run: parameters_with_a_gradient_quietly(_trained())
@torch.set_grad_enabled(False)
def parameters_with_a_gradient_quietly(model):
    for p in model.parameters():
        p -= 0.1 * p.grad


def result_kept():
    w = torch.ones(2, requires_grad=True)
    y = w.exp()
    y.mul_(2)  # fact: SavedWrite writer=y op=mul_ keeper=exp | output proven backward=@71 -bypassed
    y.sum().backward()  # raises: RuntimeError


def result_not_kept():
    w = torch.ones(2, requires_grad=True)
    y = w.sin()
    y.mul_(2)
    y.sum().backward()


def operand_kept():
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2)
    loss = (w * x).sum()
    x.add_(1)  # fact: SavedWrite writer=x op=add_ keeper=* | -output proven -leaf
    loss.backward()  # raises: RuntimeError


def operand_of_what_needs_no_gradient():
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2)
    loss = (w + x).sum()
    x.add_(1)
    loss.backward()


def operand_written_after_backward():
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2)
    loss = (w * x).sum()
    loss.backward()
    x.add_(1)
    return loss


def kept_and_put_into_a_list(xs: list[torch.Tensor]):
    layer = nn.Linear(4, 4)
    outs = []
    for x in xs:
        h = torch.relu(layer(x))
        h += 1  # fact: SavedWrite writer=h op=+= keeper=relu | output proven
        outs.append(h)
    return torch.stack(outs)


def kept_but_only_counted(x: torch.Tensor):
    p = torch.sigmoid(nn.Linear(4, 4)(x))
    p[p < 0.5] = 0
    return p.argmax(-1), int(p.sum())


def kept_for_an_argument(x: torch.Tensor):
    p = x.exp()
    p /= p.sum()  # fact: SavedWrite writer=p op=/= keeper=exp | output -proven
    return p


def kept_of_data(x: torch.Tensor):
    p = torch.randn(3).exp()
    p /= p.sum()
    return p * 2


def _only_without_grad(layer: nn.Linear):
    p = layer(torch.ones(1, 4)).sigmoid()
    p.clamp_(0.1, 0.9)
    return p


def calls_without_grad(layer: nn.Linear):
    with torch.no_grad():
        return _only_without_grad(layer)


# run: leaf_past_autograd(nn.Parameter(torch.ones(2)))
def leaf_past_autograd(w: nn.Parameter):
    loss = (w * w).sum()
    w.data.mul_(2)  # fact: SavedWrite writer=w.data op=mul_ keeper=* | bypassed leaf
    loss.backward()


def hidden_past_autograd(x: torch.Tensor):
    h = nn.Linear(4, 4)(x)
    h.data.clamp_(max=1)  # fact: BypassedWrite value=h op=clamp_ | made=@153
    return h


def hidden_past_autograd_alone(x: torch.Tensor):
    h = nn.Linear(4, 4)(x)
    noise = h.clone().data.normal_()
    return h + noise


def row_of_a_loop():
    table = torch.ones(2, 2, requires_grad=True) * 2
    for row in table:
        row.add_(1)  # fact: ForbiddenWrite writer=row op=add_ maker=iteration | proven
        # raises: RuntimeError


class _Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.near = nn.Linear(2, 2)
        self.far = nn.Linear(2, 2)

    def forward(self, near: torch.Tensor, far: torch.Tensor):
        near = self.near(near + far)
        return near, self.far(near)


# run: _stacked_levels()
class StackedLevels(nn.Module):
    def __init__(self, count: int = 2):
        super().__init__()
        self.stem = nn.Linear(2, 2)
        self.levels = nn.ModuleList()
        for _ in range(count):
            self.levels.append(_Pyramid())

    def forward(self, x: torch.Tensor):
        near, far = self.stem(x), self.stem(x + 1)
        for i, level in enumerate(self.levels):
            near, far = level(near, far)
            if i == 0:
                total = near
                rest = far
            else:
                total += near  # two values of a tuple, no views
                rest += far
        return total + rest


def _stacked_levels():
    return StackedLevels()(torch.ones(1, 2))


# run: _greedy_words()
class GreedyWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Linear(2, 3)

    def forward(self, x: torch.Tensor, done: torch.Tensor, greedy: bool):
        score = torch.cat([self.words(x), x], dim=1).log()
        if greedy:
            best, word = score.max(dim=1)
        else:
            best, word = score[:, 0] * 2.0, done
        best.masked_fill_(done, 0)
        return best, word


def _greedy_words():
    return GreedyWords()(torch.ones(2, 2), torch.zeros(2, dtype=torch.bool), True)


def piece_by_its_number():
    pieces = (torch.ones(4, requires_grad=True) * 2).chunk(2)
    pieces[0].add_(1)  # fact: ForbiddenWrite writer=pieces[0] op=add_ maker=chunk | proven
    # raises: RuntimeError


def piece_that_may_be_written():
    pieces = (torch.ones(4, requires_grad=True) * 2).tensor_split(2)
    pieces[0].add_(1)


def detached_in_place(x: torch.Tensor):
    flat = x.view(-1)
    flat.detach_()  # fact: ForbiddenWrite writer=flat op=detach_ maker=view
    # raises: RuntimeError


def flag_of_a_computed_value():
    y = torch.ones(2, requires_grad=True) * 2
    y.requires_grad = True  # fact: MarkedNonLeaf value=y | attribute
    # raises: RuntimeError


def flag_of_a_clone():
    x = torch.ones(2, requires_grad=True)
    y = x.clone().requires_grad_()  # fact: MarkedNonLeaf value=x.clone() | -attribute
    z = x.detach().clone().requires_grad_()
    return y, z


def flag_of_an_update(x: torch.Tensor):
    for _ in range(2):
        x.requires_grad = True  # fact: MarkedNonLeaf value=x | attribute
        # raises: RuntimeError
        x.sum().backward()
        x = x + x.grad  # fact: LeafRebound target=x reason=marked


def array_of_a_result():
    y = torch.ones(2, requires_grad=True) * 2
    y.detach().numpy()
    y.numpy(force=True)
    with torch.no_grad():
        y.numpy()
    y.numpy()  # fact: GradToArray value=y call=.numpy() | -device
    # raises: RuntimeError


def array_by_numpy(x: torch.Tensor):
    return np.array(nn.Linear(4, 4)(x))  # fact: GradToArray value=nn.Linear(4, 4)(x) call=np.array
    # raises: RuntimeError


# run: None
def array_of_a_device(x):
    x.cuda().cpu().numpy()
    x.numpy()
    return x.cuda().numpy()  # fact: GradToArray value=x.cuda() call=.numpy() | device


def inference_kept(x: torch.Tensor):
    with torch.inference_mode():
        y = x * 2
    w = torch.ones(1, requires_grad=True)
    w + y, w * y.clone()
    return w * y  # fact: InferenceUse value=y keeper=*
    # raises: RuntimeError


def whole_numbers_of_a_result():
    corners = nn.Linear(4, 2)(torch.ones(2, 4)).long()
    columns, rows = corners.unbind(1)
    columns.clamp_(0, 4)
    return columns, rows


# run: None
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.ones(4))
        self.shift = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor, state: torch.Tensor, inference_params=None):
        if inference_params is not None:
            return self.step(x, state)
        if not self.training:
            return self.step_of_evaluation(x, state)
        return self.step_of_training(x, state)

    def step(self, x: torch.Tensor, state: torch.Tensor):
        state.copy_(state * self.decay + x)
        return state * self.shift

    def step_of_evaluation(self, x: torch.Tensor, state: torch.Tensor):
        state.copy_(state * self.decay + x)
        return state * self.shift

    def step_of_training(self, x: torch.Tensor, state: torch.Tensor):
        state.copy_(state * self.decay + x)  # fact: SavedWrite writer=state op=copy_ keeper=* | -sure
        return state * self.shift


# run: None
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor):
        ctx.grad = torch.full_like(x, 2.0)
        return x * 2

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor):
        grad = ctx.grad
        grad *= grad_output
        return grad


def towards_a_mean(layer: nn.Linear, x: torch.Tensor):
    y = layer(x)
    y[:, :2] = x[:, :2].lerp(y[:, :2], 0.5)
    return y


# run: None
def masked_without_training(layer: nn.Linear, x: torch.Tensor, train: bool):
    p = layer(x).exp()
    if not train:
        p[:, 0] = 0
    return p


# run: None
def masked_in_training(layer: nn.Linear, x: torch.Tensor, train: bool):
    p = layer(x).exp()
    if train:
        p[:, 0] = 0  # fact: SavedWrite writer=p op=[...] = keeper=exp | output
    return p
