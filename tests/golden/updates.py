# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Modules under two names, gradients, states of optimizers, generators, repeated positions: what follows, what is used up."""

import copy

import torch
from torch import nn


def _step(model: nn.Linear):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, model.in_features)).sum().backward()
    optimizer.step()


def _leaf():
    return torch.ones(3, requires_grad=True)


def _adam(model: nn.Linear):
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, model.in_features)).sum().backward()
    optimizer.step()
    return optimizer


# Modules.


def second_name(model: nn.Linear):
    target = model  # fact: ModuleAlias name=target module=model how=assignment | taken keeps
    _step(model)
    return target


def second_name_of_nothing_trained(model: nn.Linear):
    target = model
    return target(torch.ones(1, model.in_features))


def deep_copy_of_a_module(model: nn.Linear):
    target = copy.deepcopy(model)
    _step(model)
    return target


def deep_copy_on_one_path(model: nn.Linear):
    best = model
    _step(model)
    if model.weight.sum() > 0:
        best = copy.deepcopy(model)
    _step(model)
    return best


def moved_twice(model: nn.Linear):
    online = model.to("cpu")
    frozen = model.to("cpu")  # fact: ModuleAlias name=frozen module=model how=to
    _step(online)
    return frozen.weight


def shallow_copy_of_a_module(model: nn.Linear):
    student = copy.copy(model)  # fact: ModuleAlias name=student module=model how=copy.copy
    _step(student)
    return student


def shallow_copy_of_a_module_not_trained(model: nn.Linear):
    student = copy.copy(model)
    return student(torch.ones(1, model.in_features))


# run: _Twins(nn.Linear(2, 1)).learn(torch.ones(1, 2))
class _Twins:
    def __init__(self, net: nn.Linear):
        self.online = net
        self.target = net  # fact: ModuleAlias name=self.target module=self.online how=assignment
        self.optimizer = torch.optim.SGD(self.online.parameters(), lr=0.1)

    def learn(self, x):
        self.online(x).sum().backward()
        self.optimizer.step()


# Parameters.


def parameters_compared(model: nn.Linear):
    kept = [parameter.data for parameter in model.parameters()]
    # fact: StaleSnapshot reader=kept module=model | call=parameters compared copies=data takes=value
    _step(model)
    return [(new - old).sum() for new, old in zip(model.parameters(), kept)]


def parameters_as_a_handle(model: nn.Linear):
    params = [parameter for parameter in model.parameters()]
    # fact: StaleSnapshot reader=params module=model | call=parameters -compared -kept
    _step(model)
    return params


def parameters_swapped_by_data(model: nn.Linear):
    backup = {name: parameter.data for name, parameter in model.named_parameters()}
    for name, parameter in model.named_parameters():
        parameter.data = torch.zeros_like(parameter)
    for name, parameter in model.named_parameters():
        parameter.data = backup[name]
    return model


# Gradients.


def gradient_after_a_second_backward(x: torch.Tensor):
    weight = _leaf()
    (weight * 2).sum().backward()
    first = weight.grad  # fact: StaleGradient reader=first gradient=weight.grad kind=backward
    (weight * 3).sum().backward()  # moves: first
    return first


def gradient_let_go_of(x: torch.Tensor):
    weight = _leaf()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    (weight * 2).sum().backward()
    first = weight.grad
    optimizer.zero_grad()  # stays: first
    (weight * 3).sum().backward()  # stays: first
    return first


def gradient_zeroed(x: torch.Tensor):
    weight = _leaf()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    (weight * 2).sum().backward()
    first = weight.grad  # fact: StaleGradient reader=first gradient=weight.grad kind=zeroed
    optimizer.zero_grad(set_to_none=False)  # moves: first
    return first


def gradient_clipped(x: torch.Tensor):
    weight = _leaf()
    (weight * 20).sum().backward()
    raw = weight.grad  # fact: StaleGradient reader=raw gradient=weight.grad kind=clipped | kept taken -perhaps
    nn.utils.clip_grad_norm_([weight], 1.0)  # moves: raw
    return raw


def gradient_of_another_leaf(x: torch.Tensor):
    weight, other = _leaf(), _leaf()
    (weight * 2).sum().backward()
    first = weight.grad
    (other * 3).sum().backward()  # stays: first
    return first


def gradient_written_before_a_step(x: torch.Tensor):
    weight, axis = _leaf(), torch.tensor([1.0, 0.0, 0.0])
    optimizer = torch.optim.SGD([weight], lr=0.1)
    (weight * 2).sum().backward()
    grad = weight.grad
    grad *= axis  # fact: GradientWrite writer=grad gradient=weight.grad op=*= by=step | taken statement
    share = (grad * axis).sum()
    optimizer.step()
    return share


def gradient_written_for_the_step(x: torch.Tensor):
    weight = _leaf()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    (weight * 2).sum().backward()
    grad = weight.grad
    grad.clamp_(-1, 1)
    optimizer.step()
    return weight


def results_of_one_call(x: torch.Tensor):
    left, right = _leaf(), _leaf()
    for_left, for_right = torch.autograd.grad(left + right, [left, right], grad_outputs=torch.ones(3))
    for_left.mul_(2)  # moves: for_right
    # fact: GradientWrite writer=for_left gradient=for_right op=mul_ by=sibling | certain -taken statement
    return for_right


# States of optimizers.


def state_of_an_optimizer(model: nn.Linear):
    optimizer = _adam(model)
    other = torch.optim.Adam(copy.deepcopy(model).parameters())
    optimizer.step()
    other.load_state_dict(optimizer.state_dict())
    # fact: SharedOptimizerState optimizer=other other=optimizer
    optimizer.step()
    return other


def state_of_an_optimizer_copied(model: nn.Linear):
    optimizer = _adam(model)
    other = torch.optim.Adam(copy.deepcopy(model).parameters())
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    optimizer.step()
    return other


def state_of_an_optimizer_that_is_done(model: nn.Linear):
    optimizer = _adam(model)
    other = torch.optim.Adam(copy.deepcopy(model).parameters())
    optimizer.step()
    other.load_state_dict(optimizer.state_dict())
    other.step()
    return other


# Generators.


def generator_used_twice(model: nn.Linear):
    params = model.parameters()
    count = len(list(params))
    return count, [parameter.sum() for parameter in params]  # fact: Exhausted name=params made=parameters


def generator_used_in_each_pass(model: nn.Linear):
    weights = (parameter for parameter in model.parameters())
    total = 0
    for _ in range(2):
        total += sum(weight.numel() for weight in weights)  # fact: Exhausted name=weights made=generator | again
    return total


def generator_left_early(model: nn.Linear):
    params = filter(lambda parameter: parameter.requires_grad, model.parameters())
    for parameter in params:
        if parameter.dim() > 1:
            break
    return list(params)


def list_used_twice(model: nn.Linear):
    params = list(model.parameters())
    count = len(list(params))
    return count, [parameter.sum() for parameter in params]


def generator_on_exclusive_branches(model: nn.Linear):
    params = model.parameters()
    if model.in_features > 2:
        return list(params)
    else:
        return tuple(params)


# Repeated positions.


def drawn_positions(x: torch.Tensor):
    drawn = torch.randint(0, 2, (8,))
    x[drawn] += 1  # fact: LostUpdate target=x index=drawn op=+= | made=randint
    return x


def positions_of_rounded_values(x: torch.Tensor):
    cells = (torch.rand(8) * 2).long()
    x[cells] = x[cells] - 1  # fact: LostUpdate target=x index=cells op=-=
    return x


def positions_once_each(x: torch.Tensor):
    x[torch.randperm(2)] += 1
    x[torch.arange(2)] += 1
    return x


# todo: the labels of a function without annotations are not proven a tensor
# run: labels_without_annotation(torch.tensor([0, 0]))
def labels_without_annotation(labels):
    counts = torch.zeros(3)
    counts[labels] += 1  # fact: LostUpdate target=counts index=labels op=+=
    return counts
