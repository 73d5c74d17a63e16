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


def backpropagated_one_by_one_later():
    model, losses = nn.Linear(3, 1), []
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        losses.append(model(x).pow(2).mean())
    for loss in losses:
        loss.backward()
    return losses


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


# run: InPlace()(torch.ones(2, 3))
class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("drawn", torch.zeros(3))
        self.register_buffer("faded", torch.zeros(3))
        self.register_buffer("gone", torch.zeros(3))
        self.register_buffer("room", torch.zeros(3))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        h = self.layer(x).mean(0)
        self.drawn += 0.1 * (h - self.drawn)  # moves: self.drawn
        # fact: GraphRetained target=self.drawn value=0.1 * (h - self.drawn) how=buffer | certain
        self._fade(h)
        self.gone.data.mul_(0.9).add_(0.1 * h)  # moves: self.gone
        self.room.fill_(0.5)  # moves: self.room
        self.room.mul_(0.9).add_(0.1 * h)  # moves: self.room
        self.last.copy_(h)  # moves: self.last
        return h

    def _fade(self, h):
        self.faded.mul_(0.9).add_(h, alpha=0.1)  # moves: self.faded
        # fact: GraphRetained target=self.faded value=h how=buffer | certain


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


def detached_by_a_function_inside():
    cell, h = nn.GRUCell(3, 4), torch.zeros(1, 4)

    def cut():
        nonlocal h
        h = h.detach()

    for x in torch.ones(2, 1, 3):
        h = cell(x, h)
        h.sum().backward()
        cut()


def made_a_leaf_again_by_a_function_inside():
    w = torch.zeros(3, requires_grad=True)

    def renew():
        nonlocal w
        w = w.detach().requires_grad_()

    for _ in range(2):
        (w - 1).pow(2).sum().backward()
        w = w - 0.1 * w.grad
        renew()


def copied_by_a_function_inside():
    w = torch.zeros(3, requires_grad=True)
    y = w.exp()

    def copy():
        nonlocal y
        y = y.clone()

    copy()
    y.add_(1)
    y.sum().backward()


def kept_for_a_function_inside():
    model, total, losses = nn.Linear(3, 1), 0.0, []

    def finish():
        (total + sum(losses)).backward()

    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        loss = model(x).pow(2).mean()
        loss.backward(retain_graph=True)
        total = total + loss
        losses.append(loss)
    finish()


def _cut_shared():
    global shared_state
    shared_state = shared_state.detach()


def detached_by_another_function():
    global shared_state
    cell, shared_state = nn.GRUCell(3, 4), torch.zeros(1, 4)
    for x in torch.ones(2, 1, 3):
        shared_state = cell(x, shared_state)
        shared_state.sum().backward()
        _cut_shared()


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
    return torch.tensor(losses)  # fact: TensorOfTensor argument=losses form=tensors


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


def _stepped(model, x, state):
    out, state = model(x, state)
    out.sum().backward()
    return state


def fed_back_through_a_helper():
    rnn, state = nn.GRU(3, 4), torch.zeros(1, 1, 4)
    for x in torch.ones(5, 2, 1, 3)[:1]:
        state = _stepped(rnn, x, state)  # fact: RecurrentState state=state how=loop | -retains


def fed_back_in_a_list():
    net, last = nn.Linear(6, 3), torch.zeros(2, 3)
    for x in (torch.ones(2, 3), torch.zeros(2, 3)):
        guess = net(torch.cat([x, last.detach()], 1))
        guess.sum().backward()
        last = guess
    last = torch.zeros(2, 3)
    for x in torch.ones(5, 2, 3)[:1]:
        guess = net(torch.cat([x, last], 1))
        guess.sum().backward()
        last = guess  # fact: RecurrentState state=last how=loop | -retains


def walked_from_before_the_loop():
    net, head = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer = optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    code = net(torch.ones(2, 3))
    for _ in range(3):
        loss = head(code).mean()
        loss.backward(retain_graph=True)  # fact: RecurrentState state=loss.backward how=outside | retains
        optimizer.step()


def retained_in_a_row():
    model, curve, records = nn.Linear(3, 1), torch.zeros(2), []
    for step, x in enumerate((torch.ones(2, 3), torch.zeros(2, 3))):
        loss = model(x).pow(2).mean()
        loss.backward()
        curve[step] = loss  # fact: GraphRetained target=curve value=loss how=list | certain
        records.append({"loss": loss})  # fact: GraphRetained target=records value={'loss': loss} how=list | certain
    return curve, records


# run: loss_of_a_policy(nn.Linear(3, 2), torch.ones(2, 3))
def loss_of_a_policy(policy: nn.Module, states):
    terms = []
    for state in states:
        choice = torch.distributions.Categorical(logits=policy(state))
        terms.append(choice.log_prob(choice.sample()))
    loss = torch.tensor(terms).mean()  # fact: GraphCut source=terms op=torch.tensor | -forced
    loss.requires_grad_(True)  # fact: GraphCut source=loss op=requires_grad_ | forced
    return loss


_two_layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))


# run: stepped_by_the_caller(_two_layers, optim.SGD(_two_layers.parameters(), lr=0.0), *torch.ones(2, 2, 3))
def stepped_by_the_caller(model: nn.Module, optimizer, first, second):
    one, other = F.mse_loss(model(first), first), F.mse_loss(model(second), second)
    one.backward()
    optimizer.step()  # fact: SteppedBefore module=model
    try:
        other.backward()
    except RuntimeError:
        pass


class _Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.front = torch.nn.Linear(3, 3)
        self.back = torch.nn.Linear(3, 1)

    def forward(self, x):
        with torch.no_grad():
            x = self.front(x)  # fact: UntrainedPart module=self.front
        return self.back(x)


def half_trained():
    net = _Half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()


def _given_without_graph(one, two, x):
    optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    with torch.no_grad():
        h = one(x)  # fact: UntrainedPart module=one
    two(h).sum().backward()
    optimizer.step()


def given_without_graph():
    _given_without_graph(nn.Linear(2, 2), nn.Linear(2, 2), torch.ones(1, 2))
