# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Graphs over the passes of a loop: kept, walked twice, cut; gradients by hand, steps, parts without a graph."""

import torch
from torch import nn, optim
from torch.nn import functional as F


def retained_by_a_sum():
    model, total = nn.Linear(3, 1), 0.0
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        loss = model(x).pow(2).mean()
        loss.backward()
        total += loss  # fact: GraphRetained target=total value=loss how=sum | certain
    return total


def retained_through_a_scaled_loss():
    model, total = nn.Linear(3, 1), 0.0
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        loss = model(x).pow(2).mean() / 4
        loss.backward()
        total = total + loss * 4  # fact: GraphRetained target=total value=loss * 4 how=sum | certain
    return total


def retained_by_a_list_in_a_dict():
    model, history = nn.Linear(3, 1), {"loss": []}
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        loss = model(x).pow(2).mean()
        torch.autograd.backward(loss)
        history["loss"].append(loss)  # fact: GraphRetained target=history['loss'] value=loss how=list | certain
    return history


class _Meter:
    def __init__(self):
        self.sum, self.all = 0.0, []

    def update(self, value, n=1):
        self.sum += value * n

    def careful(self, value):
        self.sum += float(value)


def retained_by_a_meter():
    model, meter = nn.Linear(3, 1), _Meter()
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        loss = model(x).pow(2).mean()
        loss.backward()
        meter.update(loss)  # fact: GraphRetained target=meter value=loss how=meter | certain
        meter.careful(loss)
    return meter


def _train(loss):
    loss.backward()
    return loss


def retained_after_a_helper():
    model, total = nn.Linear(3, 1), 0.0
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        total += _train(model(x).sum())  # fact: GraphRetained target=total value=_train(model(x).sum()) how=sum
    return total


def not_retained():
    model, total, other = nn.Linear(3, 1), 0.0, 0.0
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        per_pass = []
        loss = model(x).pow(2).mean()
        loss.backward()
        total += loss
        total = total.detach()
        other += loss.detach()
        per_pass.append(loss)
    return total, other


def the_sum_is_the_objective():
    model, total = nn.Linear(3, 1), 0.0
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        loss = model(x).pow(2).mean()
        loss.backward(retain_graph=True)
        total = total + loss
    total.backward()


# run: Centre()(torch.ones(2, 3))
class Centre(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("mu", torch.zeros(3))
        self.register_buffer("nu", torch.zeros(3))

    def forward(self, x):
        h = self.layer(x)
        self.mu = 0.9 * self.mu + h.mean(0)
        # fact: GraphRetained target=self.mu value=0.9 * self.mu + h.mean(0) how=buffer | certain
        self.nu = 0.9 * self.nu + x.mean(0)
        # fact: GraphRetained target=self.nu value=0.9 * self.nu + x.mean(0) how=buffer | -certain
        return h


def fed_back():
    rnn, h = nn.GRU(3, 4), torch.zeros(1, 2, 4)
    for x in (torch.ones(2, 2, 3),):
        h = h.detach()
        out, h = rnn(x, h)
        out.sum().backward()
    h = torch.zeros(1, 2, 4)
    for x in torch.ones(5, 1, 2, 3)[:1]:
        out, h = rnn(x, h)  # fact: RecurrentState state=h how=loop | -retains
        out.sum().backward()


def fed_back_in_a_tuple():
    cell, h, c = nn.LSTMCell(3, 4), torch.zeros(2, 4), torch.zeros(2, 4)
    for x in torch.ones(5, 2, 3)[:1]:
        h, c = cell(x, (h, c))
        h.sum().backward(retain_graph=True)  # fact: RecurrentState state=h how=loop | retains


def retained_for_nothing():
    model = nn.Linear(3, 1)
    for x in torch.ones(5, 2, 3)[:1]:
        loss = model(x).sum()
        loss.backward(retain_graph=True)  # fact: RecurrentState state=loss.backward how=retained | retains


# run: Memory()(torch.ones(2, 3))
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.state = torch.zeros(3)

    def forward(self, x):
        self.state = torch.tanh(self.layer(x + self.state))  # fact: RecurrentState state=self.state how=attribute
        return self.state


def cut_by_a_constructor():
    model = nn.Linear(3, 1)
    losses = [model(x).sum() for x in torch.ones(2, 3)]
    total = torch.tensor(losses, requires_grad=True).sum()  # fact: GraphCut source=losses op=torch.tensor | -forced
    total.backward()
    return torch.tensor(losses)


def cut_and_forced():
    model = nn.Linear(3, 2)
    loss = model(torch.ones(2, 3)).argmax(1).float().mean()
    loss.requires_grad_(True)  # fact: GraphCut source=loss op=requires_grad_ | forced
    loss.backward()
    leaf = model(torch.ones(2, 3)).detach().requires_grad_(True)
    (leaf * 2).sum().backward()


def gradient_never_cleared():
    w = torch.zeros(3, requires_grad=True)
    for x in torch.ones(2, 3):
        (w * x).sum().backward()  # fact: GradientNotCleared tensor=w
        w.data -= 0.1 * w.grad


def gradient_cleared():
    w = torch.zeros(3, requires_grad=True)
    for x in torch.ones(2, 3):
        (w * x).sum().backward()
        w.data -= 0.1 * w.grad
        w.grad = None


def stepped_before():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = optim.SGD(model.parameters(), lr=0.0)
    loss = model(torch.ones(2, 3)).sum()
    opt.step()  # fact: SteppedBefore module=model
    try:
        loss.backward()
    except RuntimeError:
        pass


def untrained():
    one, two = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = optim.SGD(list(one.parameters()) + list(two.parameters()), lr=0.1)
    with torch.no_grad():
        h = one(torch.ones(2, 3))  # fact: UntrainedPart module=one
    two(h).sum().backward()
    opt.step()


# run: Parts().step(torch.ones(2, 3))
class Parts:
    def __init__(self):
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 1)
        self.opt = optim.SGD([*self.one.parameters(), *self.two.parameters()], lr=0.1)

    def step(self, x: torch.Tensor):
        with torch.no_grad():
            h = self.one(torch.ones(2, 3))  # fact: UntrainedPart module=self.one
        self.two(h).sum().backward()
        self.opt.step()


def ratio_to_itself(x: torch.Tensor):
    new = F.log_softmax(x, -1)
    old = new  # fact: SelfRatio name=old source=new
    return (new - old).exp() + torch.exp(new - new.detach())
