# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""One program in several writings: how it is laid out, where a function stands and how a name was imported."""

import torch
from torch import clone, nn, where
from torch import cat as joined
from torch import tensor as made


def under_a_test_that_holds(x: torch.Tensor):
    if True:
        old = x
    if 1:
        x += 1  # fact: StaleRead reader=old writer=x op=+= link=alias | together
    return old, x


def under_a_test_that_fails(x: torch.Tensor):
    old = x
    if False:
        x += 1
    else:
        old = old + 1
    return old, x


def carried_under_a_context():
    w, h = torch.eye(2, requires_grad=True), torch.zeros(1, 2)
    for x in torch.ones(2, 1, 2):
        with torch.enable_grad():
            h = torch.tanh(x + h @ w)  # fact: RecurrentState state=h how=loop
        h.sum().backward()  # raises: RuntimeError


def clone_by_its_name(x: torch.Tensor):
    return clone(x).detach()  # fact: CloneDetach receiver=x


# run: mask_by_its_name(torch.ones(2, 4) > 0, torch.ones(2, 3, 4))
def mask_by_its_name(mask: torch.Tensor, scores: torch.Tensor):
    wide = mask.unsqueeze(1).repeat(1, 3, 1)  # fact: RedundantRepeat receiver=mask.unsqueeze(1) call=repeat(1, 3, 1)
    return where(wide, scores, -1.0)


def tensor_by_another_name(x: torch.Tensor):
    return made(x)  # fact: TensorOfTensor argument=x form=tensor


def joined_by_another_name(chunks: list[torch.Tensor]):
    rows = torch.zeros(0)
    for chunk in chunks:
        rows = joined([rows, chunk])  # fact: GrownInLoop name=rows op=cat
    return rows


# run: Holder._scaled(torch.ones(2))
class Holder:
    @staticmethod
    def _scaled(x: torch.Tensor):
        x *= 2  # fact: MutatedArgument function=_scaled argument=x op=*=
        return x


def static_method_writes(x: torch.Tensor):
    old = x
    Holder._scaled(x)  # fact: StaleRead reader=old writer=x op=*= link=alias
    return old, x


def static_method_returns_its_argument(x: torch.Tensor):
    y = Holder._scaled(x)
    y += 1  # fact: StaleRead reader=x writer=y op=+= link=alias
    return x, y


# run: Frozen()(torch.ones(1, 2))
class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.slow = nn.Linear(2, 2), nn.Linear(2, 2)
        with torch.no_grad():
            for fast, slow in zip(self.online.parameters(), self.slow.parameters(), strict=True):
                slow.copy_(fast)
                slow.requires_grad = False
        self.register_buffer("queue", torch.ones(2, 4))

    def forward(self, x: torch.Tensor):
        scores = self.online(x) @ self.queue
        self.queue.mul_(0.5)  # fact: SavedWrite writer=self.queue op=mul_ keeper=@
        return scores


# run: Smoothed()(torch.ones(3, 2))
class Smoothed(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.zeros(2))

    def forward(self, x: torch.Tensor):
        self.level = 0.9 * self.level + 0.1 * x.mean(0)
        # fact: GraphRetained target=self.level value=0.9 * self.level + 0.1 * x.mean(0) how=buffer
        return x - self.level


# run: Cut()(torch.ones(3, 2))
class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("spread", torch.zeros(2))

    def forward(self, x: torch.Tensor):
        self.spread = 0.9 * self.spread + 0.1 * x.mean(0)
        return x - self.spread


# run: Unrelated()
class Unrelated:
    def __init__(self):
        self.level = torch.zeros(2)


# run: Owner(Cut()).cut()
class Owner:
    def __init__(self, net: Cut):
        self.net = net

    def cut(self):
        self.net.spread = self.net.spread.detach()
