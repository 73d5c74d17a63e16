# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""What others hold too: written arguments, kept items, live buffers, defaults that are made once."""

import functools

import torch
from torch import nn
from torch.utils.data import Dataset


# run: KeptRows(torch.ones(2, 3))[0]
class KeptRows(Dataset):
    def __init__(self, rows: torch.Tensor):
        self.rows = rows
        self.work = torch.zeros(3)
        self.reads = torch.zeros(len(rows))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        row -= 1  # fact: MutatedItem owner_name=self.rows op=-= | writer=row evidence=3
        # moves: self.rows
        self.work.copy_(row)
        self.work.mul_(2)  # stays: self.rows
        self.reads[i] += 1
        return row + self.work


# run: KeptList([torch.ones(2, 4)])[0]
class KeptList:
    def __init__(self, boxes: list[torch.Tensor]):
        self.boxes = boxes

    def __getitem__(self, i):
        return self.boxed(i)

    def boxed(self, i):
        box = self.boxes[i]
        box[:, 2:] -= box[:, :2]  # fact: MutatedItem owner_name=self.boxes[i] op=-= | how=augmented
        # fact: StaleRead reader=self.boxes[i] writer=box op=-= link=alias
        # moves: self.boxes
        copied = self.boxes[i].clone()
        copied[0] = 0  # stays: self.boxes
        return box, copied


def _shrunk(t: torch.Tensor):
    t.mul_(0.5)  # fact: MutatedItem owner_name=self.values op=mul_ | called=@62
    return t


# run: ByAHelper(torch.ones(2, 3))[0]
class ByAHelper(Dataset):
    def __init__(self, values: torch.Tensor):
        self.values = values

    def __getitem__(self, i):
        return _shrunk(self.values[i])  # moves: self.values


def _centred(v: torch.Tensor):
    v -= v.mean()  # fact: MutatedArgument function=_centred argument=x op=-= | writer=v read=@73 evidence=3
    return v.abs()


# run: argument_read_again(torch.arange(3.0))
def argument_read_again(x: torch.Tensor):
    y = _centred(x)  # moves: x
    return x - y


def _centred_again(v: torch.Tensor):
    v -= v.mean()
    return v.abs()


def argument_bound_to_the_result(x: torch.Tensor):
    x = _centred_again(x)
    return x - 1


def argument_called_for_the_effect(x: torch.Tensor):
    _centred_again(x)
    return x


def _energy(outputs: dict):
    energy = outputs["energy"]
    energy *= 2  # fact: MutatedArgument function=_energy argument=outputs['energy'] op=*= | evidence=3
    return energy.sum()


# run: energy_of_a_dict({"energy": torch.ones(2)})
def energy_of_a_dict(outputs: dict):
    first = _energy(outputs)  # moves: outputs
    return first, _energy(outputs)


def proves_that_the_item_is_a_tensor():
    return energy_of_a_dict({"energy": torch.ones(2)})


# run: list(yielded_live(3))
def yielded_live(n: int):
    count = torch.zeros(1)
    for _ in range(n):
        count += 1
        yield count  # fact: HandedOut name=count how=yield op=+= reason=loop


def stored_in_a_pair(x: torch.Tensor, n: int):
    kept = []
    for i in range(n):
        x.add_(1)  # fact: StaleRead reader=the item writer=x op=add_ link=alias
        # moves: kept
        kept.append((i, x))  # fact: HandedOut name=(i, x) how=store op=add_ reason=loop
    return kept


def stored_row_by_row(x: torch.Tensor):
    rows = []
    for i in range(len(x)):
        x[i] = i
        rows.append(x[i])
    return rows


def stored_copies(x: torch.Tensor, n: int):
    kept = []
    for _ in range(n):
        x.add_(1)  # stays: kept
        kept.append(x.clone())
    return kept


class _Store:
    def __init__(self):
        self.kept = []

    def add(self, x: torch.Tensor):
        self.kept.append(x)  # fact: HandedOut name=x how=store op=add_ reason=loop


# run: stored_by_a_method(_Store(), torch.zeros(1))
def stored_by_a_method(store: _Store, x: torch.Tensor):
    for _ in range(2):
        x.add_(1)
        store.add(x)


# run: LiveBuffer().step(torch.ones(2))
# run: LiveBuffer().record()
# run: LiveBuffer().fresh()
class LiveBuffer:
    def __init__(self):
        self.held = torch.zeros(2)
        self.trace = []

    def step(self, x: torch.Tensor):
        self.held += x
        return self.held  # fact: HandedOut name=self.held how=return op=+= reason=method | by=step

    def record(self):
        self.held.mul_(2)
        self.trace.append(self.held)  # fact: HandedOut name=self.held how=store op=mul_ reason=method

    def fresh(self):
        return self.held * 2, self.held.clone()


class _Cache:
    def __init__(self):
        self.values = {}

    def put(self, key: str, value: torch.Tensor):
        self.values[key] = value.clone()

    def get(self, key: str):
        return self.values[key]  # fact: HandedOut name=self.values[key] how=return op=[...] = reason=caller


# run: edited_by_the_caller(_Cache())
def edited_by_the_caller(cache: _Cache):
    cache.put("a", torch.zeros(2))
    got = cache.get("a")
    got[0] = 1  # moves: cache.values
    return got


def hooked_layer():
    kept, copied = {}, {}
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(inplace=True), nn.Linear(2, 1))

    def keep(module, inputs, output):
        kept["first"] = output  # fact: HandedOut name=output how=hook op=nn.ReLU reason=layer

    def keep_a_copy(module, inputs, output):
        copied["first"] = output.clone()

    net[0].register_forward_hook(keep)
    net[0].register_forward_hook(keep_a_copy)
    net[2].register_forward_hook(lambda module, inputs, output: copied.update(last=output))
    net(torch.ones(1, 1))
    return kept, copied


def _append_to(where, module, inputs, output):
    where.append(output)  # fact: HandedOut name=output how=hook op=nn.ReLU reason=layer


def hooked_by_partial():
    kept = []
    layer = nn.Linear(1, 2)
    net = nn.Sequential(layer, nn.ReLU(inplace=True))
    layer.register_forward_hook(functools.partial(_append_to, kept))
    net(torch.ones(1, 1))
    return kept


def tensor_default(x: torch.Tensor, state=torch.zeros(3)):  # fact: SharedDefault name=state shared_by=calls op=+=
    state += x
    return state


def tensor_default_read(x: torch.Tensor, weight=torch.ones(3)):
    weight = weight * 2
    weight += x
    return weight


# run: ClassTensor().add(1.0)
class ClassTensor:
    total = torch.zeros(1)  # fact: SharedDefault name=total shared_by=objects op=add_
    scale = torch.ones(1)
    own = torch.zeros(1)

    def __init__(self):
        self.own = torch.zeros(1)

    def add(self, v: float):
        self.total.add_(v)
        self.own.add_(v)
        return self.total * self.scale


def last_one_masked(xs: list[torch.Tensor]):
    kept = []
    for x in xs:
        kept.append(x * 2)
        kept[-1] = kept[-1].clamp_(min=0).add(1)
    return kept
