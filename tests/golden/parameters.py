# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Parameters and leaves: what is one, what only was one, and who has it."""

import copy

import torch
from torch import nn


# run: WrappedThenCast(3)
class WrappedThenCast(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size)).double()  # fact: MovedParameter target=self.gain op=double | always
        self.bias = nn.Parameter(torch.ones(size).double())
        self.same = nn.Parameter(torch.ones(size)).float()
        scale = nn.Parameter(torch.ones(size))  # fact: MovedParameter target=self.scale op=* | always
        self.scale = scale * 0.1
        kept = nn.Parameter(torch.ones(size))
        self.kept = kept
        self.twice = kept * 2
        self.made = _moved_weight(size)
        self.listed = nn.ParameterList([nn.Parameter(torch.ones(size)).double()])


def _moved_weight(size):
    weight = nn.Parameter(torch.ones(1, size))  # fact: MovedParameter target=self.made op=view | always
    return weight.view(size)


def cast_leaf():
    weights = torch.ones(3, requires_grad=True).double()  # fact: MovedLeaf name=weights op=double use=grad | always
    weights.sum().backward()
    return weights.grad


def moved_leaf(like: torch.Tensor):
    weights = torch.ones(3, requires_grad=True).to(like)  # fact: MovedLeaf name=weights op=to use=grad | -always
    weights.sum().backward()
    return weights.grad


def scaled_leaves():
    codes = [torch.ones(3, requires_grad=True) / 2 for _ in range(2)]
    # fact: MovedLeaf name=codes op=/ use=optimizer | always
    try:
        torch.optim.SGD(codes, lr=0.1)  # raises: ValueError
    except ValueError:
        return codes


def leaf_made_last():
    weights = torch.ones(3).double().requires_grad_()
    weights.sum().backward()
    return weights.grad


def leaf_with_its_gradient_kept():
    weights = torch.ones(3, requires_grad=True).double()
    weights.retain_grad()
    weights.sum().backward()
    return weights.grad


def _moved_leaf():
    return torch.ones(3).requires_grad_().reshape(3, 1)  # fact: MovedLeaf name=weights op=reshape use=grad


def leaf_of_a_call():
    weights = _moved_leaf()
    weights.sum().backward()
    return weights.grad


class _Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 2)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.head(x))

    def resize(self, size):
        self.head = nn.Linear(2, size)


def new_head_after_the_optimizer():
    net = _Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.act = nn.Tanh()
    net.head = nn.Linear(2, 3)  # fact: ReplacedParameter target=net.head module=net
    net.resize(4)  # fact: ReplacedParameter target=net.head module=net | inner
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()


def new_head_before_the_optimizer():
    net = _Net()
    net.head = nn.Linear(2, 3)
    net.resize(4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()


def new_head_in_a_group_of_its_own():
    net = _Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.head = nn.Linear(2, 3)
    optimizer.add_param_group({"params": net.head.parameters()})
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()


# run: ListsOfLayers(2)
class ListsOfLayers(nn.Module):
    def __init__(self, depth: int):
        super().__init__()
        self.plain = [nn.Linear(2, 2) for _ in range(depth)]
        # fact: UnregisteredItems attribute=plain container=list item=Linear | -parameter
        self.named = {}
        self.named["a"] = nn.Sequential(nn.Linear(2, 2))
        # fact: UnregisteredItems attribute=named container=dict item=Sequential
        self.free = [nn.ReLU(), nn.Identity()]
        self.built = [nn.Linear(2, 2) for _ in range(depth)]
        self.net = nn.Sequential(*self.built)
        self.weights = (nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2)))
        # fact: UnregisteredItems attribute=weights container=tuple item=Parameter | parameter


# run: Rewrapped().forward(torch.ones(2))
class Rewrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.Parameter(torch.ones(2))

    def forward(self, x):
        weight = nn.Parameter(torch.tanh(self.raw))  # fact: RewrappedParameter value=torch.tanh(self.raw)
        zeros = nn.Parameter(torch.zeros(2))
        values = nn.Parameter(self.raw.detach() * 2)
        return x * weight + zeros + values


class _Keeping(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        self.features = self.linear(x)  # fact: CopiedGraph name=self.features owner=net | -direct
        return self.features


def copied_after_a_call():
    net = _Keeping()
    before = copy.deepcopy(net)
    net(torch.ones(1, 2))
    try:
        return copy.deepcopy(net)  # raises: RuntimeError
    except RuntimeError:
        return before


def copied_result():
    weight = torch.ones(2, requires_grad=True)
    doubled = weight * 2
    kept = copy.deepcopy(weight)
    try:
        return copy.deepcopy(doubled)  # raises: RuntimeError  # fact: CopiedGraph name=doubled owner=doubled | direct
    except RuntimeError:
        return kept


class _Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # fact: ReplicaState attribute=self.calls
        self.last = x
        return x


def counted_on_replicas():
    net = _Counting()
    parallel = nn.DataParallel(net)
    parallel(torch.ones(1))
    return net.calls


class _KeepingPenalty(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def penalty(self, x):
        self.kept = self.linear(x)  # fact: CopiedGraph name=self.kept owner=net | -direct
        return self.kept

    def drop(self):
        self.kept = None


def copied_after_a_method():
    net = _KeepingPenalty()
    net.penalty(torch.ones(1, 2))
    net.drop()
    before = copy.deepcopy(net)
    net.penalty(torch.ones(1, 2))
    try:
        return copy.deepcopy(net)  # raises: RuntimeError
    except RuntimeError:
        return before


def _copy_when_called(net):
    net(torch.ones(1, 2))
    try:
        return copy.deepcopy(net)  # raises: RuntimeError
    except RuntimeError:
        return net


class _KeepingCalled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.kept = None

    def forward(self, x):
        self.kept = self.linear(x)  # fact: CopiedGraph name=self.kept owner=net | -direct
        return self.kept


def copied_by_a_function():
    return _copy_when_called(_KeepingCalled())


class _KeepingIn:
    def __init__(self):
        self.linear = nn.Linear(2, 2)
        self.state = {"h": torch.zeros(1, 2)}

    def see(self):
        self.state["h"] = self.linear(self.state["h"])  # fact: CopiedGraph name=self.state owner=self.state | -direct

    def copied(self):
        return copy.deepcopy(self.state)
