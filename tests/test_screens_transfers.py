"""Screens of transfers, costs, constructors, losses, leaves: they hold back runs, and no facts."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy.engine import analyse, analysis
from flake8_tensorcopy.engine.features import RENAMED
from flake8_tensorcopy.engine.screens import (
    SCREENS,
    broadcasts,
    constructors,
    costs,
    devices,
    leaves,
    losses,
    transfers,
)
from flake8_tensorcopy.engine.screens.sketch import Sketch
from tests.conftest import ROOT

MODULES = {one.__name__ for one in (broadcasts, constructors, costs, devices, leaves, losses, transfers)}
OURS = {kind: screen for kind, screen in SCREENS.items() if screen.__module__ in MODULES}
# Facts that stand in another function than the one whose run finds them, or that are found without one.
ELSEWHERE = {"CopiedGraph", "UntrainedPart"}
SOURCES = [*sorted((ROOT / "fixtures").rglob("*.py")), *sorted((ROOT / "tests" / "golden").glob("*.py"))]


def facts(tree: ast.Module, kinds: frozenset[str]) -> Counter[tuple[str, int, int]]:
    found: Counter[tuple[str, int, int]] = Counter()
    for region in analyse(tree, kinds).regions:
        for fact in region.facts:
            site: Any = fact.site
            found[type(fact).__name__, site.lineno, site.col_offset] += 1
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_fact_is_held_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    held: set[tuple[ast.AST, str]] = set()

    def told(sketch: Sketch, kinds: set[str]) -> bool:
        if sketch.features & RENAMED:
            return True  # is run in any case
        held.update((sketch.function.node, kind) for kind in kinds if kind in OURS and not OURS[kind](sketch))
        return True

    with monkeypatch.context() as patched:
        patched.setattr(analysis, "_passes", told)
        every = facts(tree, frozenset(OURS))
        for region in analyse(tree, frozenset(OURS)).regions if every else ():
            kinds = {type(fact).__name__ for fact in region.facts} - ELSEWHERE
            assert not [kind for kind in kinds if (region.node, kind) in held]
    monkeypatch.setattr(analysis, "SCREENS", OURS)
    assert facts(tree, frozenset(OURS)) == every


HEAD = "import copy\nimport numpy as np\nimport torch\nfrom torch import nn\n\n\n"

# Functions that have the features of a kind and cannot give a fact of it.
HELD = {
    "cast of a cast with more": ("RedundantCast", "def f(x, d):\n    return x.float().to(d)"),
    "cast of a cast with a copy": ("RedundantCast", "def f(x):\n    return x.float().to(torch.half, copy=True)"),
    "clone of a slice": ("RedundantClone", "def f(x):\n    return x[1:, 0].clone()"),
    "clone of a call of the file": ("RedundantClone", "def f(x):\n    return g(x).clone()"),
    "clone and detach apart": ("CloneDetach", "def f(x, y):\n    return x.clone() + y.detach()"),
    "detached before the move": ("MovedThenDetached", "def f(x, y):\n    return x.detach().cpu() + y.to(0).detach()"),
    "tensor of lengths": ("TensorOfTensor", "def f(xs):\n    n = [len(x) for x in xs]\n    return torch.tensor(n)"),
    "tensor of an argument nobody gives": ("TensorOfTensor", "def f(x):\n    return torch.tensor(x)"),
    "tensor of an item read": ("TensorOfTensor", "def f(x):\n    return torch.tensor([x.item(), x.shape[0]])"),
    "array with a dtype": (
        "FreshArrayCopied",
        "def f():\n    return torch.tensor(np.zeros(3) * 2, dtype=torch.float64)",
    ),
    "tensor of a product": ("FreshArrayCopied", "def f():\n    n = 2\n    return torch.tensor(n * 3)"),
    "wide before the move": ("WidenedMove", "def f(x, d):\n    return x.float().to(d)"),
    "cast and move apart": (
        "WidenedMove",
        "def f(x, y, d):\n    m = torch.ones(3, dtype=torch.bool).float()\n    return m, y.to(d)",
    ),
    "cast and a move to a dtype": ("WidenedMove", "def f(x, dtype):\n    return (x > torch.ones(2)).float().to(dtype)"),
    "to the host only": ("RoundTrip", "def f(x, d):\n    return x.cpu().numpy(), x.to(d)"),
    "moved and kept": ("HostScalar", "def f(x, xs):\n    y = x.cpu()\n    xs.append(y)\n    return x.cpu().numpy()"),
    "moved in a function": ("DatasetMove", "def f(x):\n    return x.cuda(non_blocking=True)"),
    "blocking": ("UnwaitedRead", "def f(x):\n    return x.to('cpu', non_blocking=False).numpy()"),
    "blocking source": (
        "OverwrittenSource",
        "def f(x, d):\n    x.pin_memory()\n    y = x.to(d, non_blocking=False)\n    x.zero_()\n    return y",
    ),
    "nothing pinned": (
        "OverwrittenSource",
        "def f(x, d):\n    y = x.to(d, non_blocking=True)\n    x.zero_()\n    return y",
    ),
    "nothing pinned to copy into": (
        "UnwaitedRead",
        "def f(x, y):\n    x.copy_(y, non_blocking=True)\n    return x.sum()",
    ),
    "a number is kept": (
        "GraphRetained",
        "def f(xs, m):\n    total = 0\n    for x in xs:\n        loss = m(x)\n        loss.backward()\n"
        "        total += loss.item()",
    ),
    "nothing handed on": (
        "RecurrentState",
        "def f(xs, m):\n    for x in xs:\n        loss = m(x)\n        loss.backward()",
    ),
    "nothing made of a loss": ("GraphCut", "def f(x, m):\n    m(x, torch.tensor(len(x))).backward()"),
    "no optimizer": ("UntrainedPart", "def f(x, m, o):\n    m(x).backward()\n    o.step()"),
    "step after": ("SteppedBefore", "def f(x, m, o):\n    m(x).backward()\n    o.step()"),
    "no loop": ("GradientNotCleared", "def f(x, w):\n    (x * w).sum().backward()\n    w.data -= w.grad"),
    "no step in the file": (
        "ReplacedParameter",
        "def f(m):\n    o = torch.optim.SGD(m.parameters(), 0.1)\n    m.head = nn.Linear(2, 2)",
    ),
    "Parameter in a list": ("MovedParameter", "def f(x):\n    return [nn.Parameter(x).cuda()]"),
    "moved and not made": ("CreatedThenMoved", "def f(x, d):\n    return torch.zeros(2) + x.to(d)"),
    "made where it belongs": ("CreatedThenMoved", "def f(x, d):\n    return torch.tensor(x).to(d)"),
    "no pin": ("PinnedMove", "def f(x, d):\n    return x.to(d, non_blocking=True)"),
    "moved outside the loop": (
        "InvariantTransfer",
        "def f(x, xs, d):\n    y = x.to(d)\n    for x in xs:\n        y = y + x\n    return y",
    ),
    "loop variable moved": ("InvariantTransfer", "def f(xs, d):\n    return [x.to(d) for x in xs]"),
    "bound in the loop": (
        "InvariantTransfer",
        "def f(xs, d):\n    for x in xs:\n        y = x + 1\n        y.to(d)",
    ),
    "no training": ("StepSync", "def f(xs):\n    for x in xs:\n        print(x.item())"),
    "longest of a display": ("StepSync", "def f(x, y):\n    return max([x, y])"),
    "load to a device": ("LegacyDevice", "def f(p, d):\n    return torch.load(p, map_location=d)"),
    "load of a file": ("LegacyDevice", "def f(p):\n    return np.load(p)"),
    "repeated for a call": ("RedundantRepeat", "def f(x, m):\n    return m(x.repeat(2, 1))"),
    "expanded and joined": (
        "MaterialisedExpand",
        "def f(x, y):\n    return torch.cat([x.expand(3, -1).contiguous(), y])",
    ),
    "joined once": ("GrownInLoop", "def f(x, y):\n    y = torch.cat([y, x])\n    return y"),
    "frozen": ("MarkedNonLeaf", "def f(x):\n    x.requires_grad_(False)\n    x.requires_grad = False"),
    "detached and fetched": ("GradToArray", "def f(x):\n    return x.detach().cpu().numpy(), np.array([1, 2])"),
    "ratio of two": ("SelfRatio", "def f(x, y):\n    return torch.exp(x - y)"),
    "gradient of nothing": (
        "MovedLeaf",
        "def f(x):\n    grad = x.requires_grad_()\n    return grad",
    ),
    "Parameter of a function": ("RewrappedParameter", "def f(x):\n    return [nn.Parameter(x)]"),
    "no copy of its own": ("CopiedGraph", "def f(m):\n    return m.deepcopy()"),
}

# Functions in which a fact is found, by ways that a screen has to follow.
PASSED = {
    "casts to dtypes": (
        "RedundantCast",
        "def f(x):\n    y = x * 2\n    return y.to(torch.float32).to(dtype=torch.half)",
    ),
    "clone of a copy": (
        "RedundantClone",
        "def f():\n    x = torch.ones(2)\n    return x.to(torch.half, copy=True).clone()",
    ),
    "clone of a mask": ("RedundantClone", "def f(x):\n    x = torch.ones(2)\n    return x[x > 0].clone()"),
    "function of clone": ("CloneDetach", "def f(x):\n    return torch.clone(x).detach()"),
    "function of detach": ("CloneDetach", "def f(x):\n    return torch.detach(torch.clone(x))"),
    "in a lambda": ("MovedThenDetached", "def f(xs):\n    return map(lambda x: torch.detach(x.cpu()), xs)"),
    "views on the way": ("MovedThenDetached", "def f(x: torch.Tensor):\n    return x.to('cpu')[0].view(-1).detach()"),
    "given by a call": (
        "TensorOfTensor",
        "def f(x):\n    return torch.tensor(x)\n\n\ndef g():\n    return f(torch.ones(3))",
    ),
    "a list of them": (
        "TensorOfTensor",
        "def f(x: torch.Tensor):\n    all = []\n    for one in x:\n        all.append(one * 2)\n"
        "    return torch.tensor(all)",
    ),
    "converted": ("FreshArrayCopied", "def f(x):\n    return torch.tensor(np.stack(x) / 255)"),
    "scaled": (
        "WidenedMove",
        "def f(a, d):\n    x = torch.from_numpy(a.astype(np.uint8))\n    x = x.float() / 255\n    return x.to('cuda')",
    ),
    "by a name": (
        "WidenedMove",
        "def f(n, device):\n    mask = torch.ones(n) > 0\n    mask = mask.float()\n    return mask[None].to(device)",
    ),
    "through a factory": (
        "RoundTrip",
        "def f(x: torch.Tensor, device):\n    y = x.cpu().numpy()\n    return torch.tensor(y, device=device)",
    ),
    "in a text": ("HostScalar", "def f(x):\n    y = x.sum().cpu()\n    print(f'{y}')"),
    "in an old text": ("HostScalar", "def f(x):\n    return '%s' % x.sum().cpu()"),
    "compared": ("HostScalar", "def f(x: torch.Tensor, y):\n    return x.cpu() == y.cpu()"),
    "in a function inside": (
        "DatasetMove",
        "def f(data):\n    def collate(batch):\n        return torch.stack(batch).cuda()\n\n    return collate",
    ),
    "handed on": (
        "RecurrentState",
        "def f(xs):\n    net = nn.LSTM(2, 2)\n    state = None\n    for x in xs:\n        out, state = net(x, state)\n"
        "        out.sum().backward()",
    ),
    "loss kept": (
        "GraphRetained",
        "def f(xs):\n    net = nn.Linear(2, 2)\n    kept = []\n    for x in xs:\n        loss = net(x).sum()\n"
        "        loss.backward()\n        kept.append(loss)",
    ),
    "made in the move": ("CreatedThenMoved", "def f(device):\n    return torch.zeros(2, 3).to(device)"),
    "in a comprehension": (
        "InvariantTransfer",
        "def f(xs, w: torch.Tensor, device):\n    return [x * w.to(device) for x in xs]",
    ),
    "in a while": (
        "InvariantTransfer",
        "def f(n, x, w: torch.Tensor, device):\n    while n:\n        n -= 1\n        x = x * w.to(device)\n"
        "    return x",
    ),
    "each read": ("StepSync", "def f(x: torch.Tensor):\n    return [v.item() for v in x]"),
    "largest": ("StepSync", "def f(x: torch.Tensor):\n    return max(x)"),
    "loaded": ("LegacyDevice", "def f(p):\n    return torch.load(p)"),
    "old type": ("LegacyDevice", "def f(x):\n    return x.type(torch.cuda.FloatTensor)"),
    "repeated for a sum": ("RedundantRepeat", "def f(x, y):\n    z = x.unsqueeze(0).repeat(4, 1)\n    return y + z"),
    "expanded by a name": (
        "MaterialisedExpand",
        "def f(x: torch.Tensor, y):\n    z = x.expand(4, 3)\n    return y * z.contiguous()",
    ),
    "grown": ("GrownInLoop", "def f(xs, y):\n    for x in xs:\n        y = torch.cat([y, x])\n    return y"),
    "marked": ("MarkedNonLeaf", "def f():\n    x = torch.ones(2, requires_grad=True) * 2\n    x.requires_grad = True"),
    "on the graph": (
        "GradToArray",
        "def f():\n    x = torch.ones(2, requires_grad=True)\n    return (x * 2).cpu().numpy()",
    ),
    "ratio of one": ("SelfRatio", "def f(x):\n    old = x\n    return torch.exp(x - old)"),
    "copied": ("CopiedGraph", "def f():\n    x = torch.ones(2, requires_grad=True) * 2\n    return copy.deepcopy(x)"),
}


@pytest.mark.parametrize(("kind", "text"), HELD.values(), ids=HELD)
def test_a_function_that_cannot_give_the_fact_is_not_run(
    ran: Counter[str], monkeypatch: pytest.MonkeyPatch, kind: str, text: str
) -> None:
    tree = ast.parse(f"{HEAD}{text}\n")
    assert analyse(tree, frozenset({kind})).regions == []
    assert ran == {}
    monkeypatch.setattr(analysis, "SCREENS", {})
    analyse(tree, frozenset({kind}))
    assert ran["f"] == 1, "the screen is not what held it back"


@pytest.mark.parametrize(("kind", "text"), PASSED.values(), ids=PASSED)
def test_a_fact_is_found_by_whatever_way(kind: str, text: str) -> None:
    found = facts(ast.parse(f"{HEAD}{text}\n"), frozenset({kind}))
    assert [name for name, _, _ in found] == [kind]


def test_every_screen_holds_something_back() -> None:
    assert {kind for kind, _ in HELD.values()} == OURS.keys()
