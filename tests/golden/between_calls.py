# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""What one call leaves for the next, and what a function does for a caller who goes on: only together they tell."""

import copy

import torch
from torch import nn
from torch.utils.data import Dataset


# States of optimizers.


def _adam_after_a_step(model: nn.Linear):
    optimizer = torch.optim.Adam(model.parameters())
    _train_with(model, optimizer)
    return optimizer


def _train_with(model: nn.Linear, optimizer):
    model(torch.ones(2, model.in_features)).sum().backward()
    optimizer.step()


def _branched(model: nn.Linear, optimizer: torch.optim.Adam):
    made = torch.optim.Adam(copy.deepcopy(model).parameters())
    made.load_state_dict(optimizer.state_dict())
    # fact: SharedOptimizerState optimizer=made other=optimizer | certain stepped=@37
    return made


def state_of_a_branch(model: nn.Linear):
    optimizer = _adam_after_a_step(model)
    branch = _branched(model, optimizer)
    _train_with(model, optimizer)
    return branch


def _continued(model: nn.Linear, optimizer: torch.optim.Adam):
    made = torch.optim.Adam(model.parameters())
    made.load_state_dict(optimizer.state_dict())
    return made


def state_of_an_optimizer_bound_anew(model: nn.Linear):
    optimizer = _adam_after_a_step(model)
    optimizer = _continued(model, optimizer)
    _train_with(model, optimizer)
    return optimizer


# run: tried_out(nn.Linear(2, 1), torch.optim.Adam(nn.Linear(2, 1).parameters()))
def tried_out(model: nn.Linear, optimizer: torch.optim.Adam):
    trial = copy.deepcopy(model)
    made = torch.optim.Adam(trial.parameters())
    made.load_state_dict(optimizer.state_dict())
    # fact: SharedOptimizerState optimizer=made other=optimizer | -certain
    trial(torch.ones(2, model.in_features)).sum().backward()
    made.step()
    return trial


# run: RenewedOptimizer(nn.Linear(2, 1)).renew()
class RenewedOptimizer:
    def __init__(self, net: nn.Linear):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters())

    def renew(self):
        made = torch.optim.Adam(self.net.parameters())
        made.load_state_dict(self.optimizer.state_dict())
        self.optimizer = made

    def train_once(self):
        self.net(torch.ones(2, 2)).sum().backward()
        self.optimizer.step()


# Gradients.


def _zeroed_and_summed(layer: nn.Linear):
    layer.zero_grad(set_to_none=False)
    layer(torch.ones(1, layer.in_features)).sum().backward()


# run: _zeroed_and_summed(watch := nn.Linear(2, 1)) or GradientWatch(watch).change()
class GradientWatch:
    def __init__(self, layer: nn.Linear):
        self.layer = layer
        self.last = torch.zeros(1, 2)

    def change(self):
        gradient = self.layer.weight.grad
        difference = gradient - self.last
        self.last = gradient  # fact: StaleGradient reader=self.last gradient=self.layer.weight.grad kind=zeroed | kept
        return difference

    def latest(self):
        self.now = self.layer.weight.grad
        return self.now.norm()


def gradient_told(layer: nn.Linear):
    return _update_direction(layer)


def _update_direction(layer: nn.Linear):
    _zeroed_and_summed(layer)
    slope = layer.weight.grad
    slope /= slope.norm()
    # fact: GradientWrite writer=slope gradient=layer.weight.grad op=/= by=return
    return slope.flatten()


# Modules.


# run: ShallowAverage(nn.Linear(2, 1)).update(nn.Linear(2, 1))
class ShallowAverage:
    def __init__(self, model: nn.Module):
        self.model = copy.copy(model)  # fact: ModuleAlias name=self.model module=model how=copy.copy

    @torch.no_grad()
    def update(self, model: nn.Module):
        for mine, theirs in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(theirs, 0.5)


# Defaults and items.


# run: KeptDefault().fill(0)
class KeptDefault:
    def __init__(self):
        self.clear()

    def clear(self, cells=torch.zeros(2)):  # fact: SharedDefault name=cells shared_by=calls op=[...] =
        self.cells = cells

    def fill(self, i: int):
        self.cells[i] = 1
        return self.cells.sum()


# run: KeptPairs([(torch.ones(2), 0)])[0]
class KeptPairs(Dataset):
    def __init__(self, pairs):
        self.pairs = list(pairs)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        sound, label = self.pairs[i]
        sound = sound.unsqueeze(0)
        sound *= 0.5  # fact: MutatedItem owner_name=self.pairs[i][0] op=*= | evidence=1
        # moves: self.pairs
        return sound, label


# Results that a caller keeps.


class _Gauge:
    def __init__(self):
        self.level = torch.zeros(2)

    def raise_by(self, x: torch.Tensor):
        self.level += x

    def read(self):
        return self.level  # fact: HandedOut name=self.level how=return op=+= reason=read


def difference_of_one_buffer(x: torch.Tensor):
    gauge = _Gauge()
    before = gauge.read()
    gauge.raise_by(x.sum())  # moves: before
    # fact: StaleRead reader=before writer=gauge.level op=+= link=alias | handed
    return gauge.read() - before


# run: outputs_of_layers(nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)), [0])
def outputs_of_layers(net: nn.Sequential, positions: list[int]):
    kept = {}
    for k in positions:

        def keep(module, inputs, output, k=k):
            kept[k] = output  # fact: HandedOut name=output how=hook op=nn.ReLU reason=layer

        net[k].register_forward_hook(keep)
    net(torch.ones(1, 2))
    return kept


def outputs_of_the_first_layer():
    return outputs_of_layers(nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)), [0])


# Sums along edges.


# run: summed_along_edges(torch.ones(3), torch.tensor([[0, 1], [2, 2]]))
def summed_along_edges(x: torch.Tensor, edges: torch.Tensor):
    source, target = edges
    out = torch.zeros_like(x)
    out[target] += x[source]  # fact: LostUpdate target=out index=target op=+=
    return out


# run: summed_edge_by_edge(torch.ones(3), torch.tensor([[0, 2], [1, 2]]))
def summed_edge_by_edge(x: torch.Tensor, edges: torch.Tensor):
    out = torch.zeros_like(x)
    for edge in edges:
        out[edge[1]] += x[edge[0]]
    return out
