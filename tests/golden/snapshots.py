# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""A state_dict and a list of parameters hold the live tensors of the module: what changes them, and what copies."""

import copy
import io
import types

import torch
from torch import nn


def _train_once(model: nn.Linear):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)


train_epoch = train = _train_once
TRAINER = types.SimpleNamespace(train=_train_once)
resume = _train_once
fit = lambda student, teacher: _train_once(student)


def _loss(model: nn.Linear):
    return model(torch.ones(2, 4)).sum()


def stepped(model: nn.Linear):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model | change=optimizer.step()
    _loss(model).backward()
    optimizer.step()  # moves: best
    return best


# run: optimizer_of_another_module(nn.Linear(4, 4), nn.Linear(4, 4))
def optimizer_of_another_module(model: nn.Linear, other: nn.Linear):
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    best = model.state_dict()
    _loss(other).backward()
    optimizer.step()  # stays: best
    return best


# run: optimizer_of_unknown_modules(*_model_and_optimizer())
def optimizer_of_unknown_modules(model: nn.Linear, optimizer):
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model | change=optimizer.step()
    _loss(model).backward()
    optimizer.step()  # moves: best
    return best


def _model_and_optimizer():
    model = nn.Linear(4, 4)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


# run: loaded_again(nn.Linear(4, 4), nn.Linear(4, 4).state_dict())
def loaded_again(model: nn.Linear, start: dict[str, torch.Tensor]):
    best = model.state_dict()
    # fact: StaleSnapshot reader=best module=model | change=model.load_state_dict()
    model.load_state_dict(start)  # moves: best
    return best


def loaded_back_at_once(model: nn.Linear):
    best = model.state_dict()
    model.load_state_dict(best)  # stays: best
    return model


def trained_by_name(model: nn.Linear):
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model | change=train_epoch()
    train_epoch(model)  # moves: best
    return best


def trained_by_a_function_called_train(model: nn.Linear):
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model | change=train()
    model.train(False)  # stays: best
    train(model)  # moves: best
    return best


def trained_by_a_method_called_train(model: nn.Linear):
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model | change=train()
    TRAINER.train(model)  # moves: best
    return best


def teacher_stays(student: nn.Linear, teacher: nn.Linear):
    start = student.state_dict()  # fact: StaleSnapshot reader=start module=student | change=fit()
    kept = teacher.state_dict()
    fit(student, teacher)  # moves: start
    return start, kept


def teacher_alone_is_trained(teacher: nn.Linear):
    best = teacher.state_dict()  # fact: StaleSnapshot reader=best module=teacher | change=train_epoch()
    train_epoch(teacher)  # moves: best
    return best


def mode_set_by_a_name(model: nn.Linear):
    best, mode = model.state_dict(), model.training
    model.train(mode)  # stays: best
    return best


def trained_by_a_function_of_the_file(model: nn.Linear):
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model
    _train_once(model)  # moves: best
    return best


def unknown_call_is_no_training(model: nn.Linear):
    best = model.state_dict()
    resume(model)  # moves: best
    return best


def all_parameters_written(model: nn.Linear):
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model | change=mul_ takes=call
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0)  # moves: best
    return best


def weight_written(model: nn.Linear):
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model | change=zero_
    nn.Linear.zero_grad(model)
    model.weight.data.zero_()  # moves: best
    return best


def first_write_is_named(model: nn.Linear):
    best = model.state_dict()  # fact: StaleSnapshot reader=best module=model | change=fill_
    nn.Linear.zero_grad(model)
    model.weight.data.fill_(2)  # moves: best
    model.bias.data.mul_(2)
    model.weight.data.add_(2)
    return best


def train_mode_changes_nothing(model: nn.Linear):
    best = model.state_dict()
    model.train()  # stays: best
    return best


def best_of_several(model: nn.Linear):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = None
    lowest = float("inf")
    for _ in range(3):
        loss = _loss(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # moves: best
        if loss.item() < lowest:  # fact: StepSync how=item
            lowest = loss.item()
            best = model.state_dict()
    # fact: StaleSnapshot reader=best module=model | change=optimizer.step()
    model.load_state_dict(best)
    return model


def deep_copy(model: nn.Linear):
    best = copy.deepcopy(model.state_dict())
    train_epoch(model)  # stays: best
    return best


def cloned(model: nn.Linear):
    best = {name: value.clone() for name, value in model.state_dict().items()}
    train_epoch(model)  # stays: best
    return best


def shallow_copy(model: nn.Linear):
    best = model.state_dict().copy()
    # fact: StaleSnapshot reader=best module=model | change=train_epoch() copies=.copy() takes=shallow
    train_epoch(model)  # moves: best
    return best


def dict_of_it(model: nn.Linear):
    best = dict(model.state_dict())
    # fact: StaleSnapshot reader=best module=model | change=train_epoch() copies=dict() takes=shallow
    train_epoch(model)  # moves: best
    return best


def values_moved_to_the_cpu(model: nn.Linear):
    best = {k: v.cpu() for k, v in model.state_dict().items()}
    # fact: StaleSnapshot reader=best module=model | change=train_epoch() copies=cpu takes=value
    train_epoch(model)  # moves: best
    return best


def values_cast(model: nn.Linear):
    best = {k: v.half() for k, v in model.state_dict().items()}
    train_epoch(model)  # stays: best
    return best


def one_value(model: nn.Linear):
    weight = model.state_dict()["weight"]
    # fact: StaleSnapshot reader=weight module=model | change=train_epoch() takes=value
    train_epoch(model)  # moves: weight
    return weight


def saved_at_once(model: nn.Linear):
    best = model.state_dict()
    file = io.BytesIO()
    torch.save(best, file)
    train_epoch(model)  # moves: best
    return file


def taken_after_the_last_change(model: nn.Linear):
    train_epoch(model)
    best = model.state_dict()
    return best


def taken_anew(model: nn.Linear):
    best = model.state_dict()
    train_epoch(model)  # moves: best
    best = model.state_dict()
    return best


def list_of_parameters(model: nn.Linear):
    start = list(model.parameters())
    # fact: StaleSnapshot reader=start module=model | change=train_epoch() call=parameters
    train_epoch(model)  # moves: start
    return sum((a - b).sum() for a, b in zip(start, model.parameters()))


def list_of_cloned_parameters(model: nn.Linear):
    start = [parameter.clone() for parameter in model.parameters()]
    train_epoch(model)  # stays: start
    return start


def weight_kept(model: nn.Linear):
    old = model.weight
    with torch.no_grad():
        model.weight.add_(1)
        # fact: StaleRead reader=old writer=model.weight op=add_ link=alias | parameter kept evidence=3
    return old


class _Fitted:
    def __init__(self):
        self.model = nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0)


# run: the_optimizer_of_another_object(_Fitted(), _Fitted())
def the_optimizer_of_another_object(kept, proxy):
    start = kept.model.state_dict()
    proxy.model.load_state_dict(start)
    proxy.model(torch.ones(1, 2)).sum().backward()
    proxy.optimizer.step()  # stays: start
    return start


# run: the_optimizer_of_the_same_object(_Fitted())
def the_optimizer_of_the_same_object(fitted):
    start = fitted.model.state_dict()
    # fact: StaleSnapshot reader=start module=fitted.model | change=fitted.optimizer.step()
    fitted.model(torch.ones(1, 2)).sum().backward()
    fitted.optimizer.step()  # moves: start
    return start
