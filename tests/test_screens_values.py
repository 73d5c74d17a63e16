"""Screens of layout, bindings, training, repeats, storages and classes: what they hold back gives nothing."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

import pytest

from flake8_tensorcopy.engine import analyse, analysis
from flake8_tensorcopy.engine.facts import DeadRebinding, DroppedResult, Fact
from flake8_tensorcopy.engine.screens import SCREENS
from tests.conftest import ROOT

KINDS = (
    "ByteStrides ClashingExpand DeadRebinding DroppedResult Exhausted ExpandedBytes ExpandedParameter KeptStorage "
    "LeafRebound MixedRepeats ModuleAlias NegativeStrides ReboundData RepeatedReference ScrambledAxes "
    "SharedDefault SharedOptimizerState StaleSnapshot TurnedView UnlinkedArray UnregisteredItems HandedOut"
).split()

HEAD = "import torch\nfrom torch import nn\n\n\n"

HELD_BACK = {
    "items put into one another": (
        "DroppedResult",
        "def f(xs):\n    d = {}\n    for a, b in xs:\n        d[a].add(d[b])\n    return d",
    ),
    "an argument expanded": ("ClashingExpand", "def f(x, n):\n    return x.mean() + x.expand(n, -1)"),
    "an attribute expanded": ("ClashingExpand", "def f(self, x):\n    return self.token.expand(x.shape[0], -1, -1)"),
    "read behind": ("DeadRebinding", "def f(xs, net):\n    for x in xs:\n        x = x.cuda()\n        net(x)"),
    "read in each pass": (
        "DeadRebinding",
        "def f(xs, net, v):\n    for x in xs:\n        x = x * 2\n        if v:\n            print()\n        net(x)",
    ),
    "text": ("DeadRebinding", "def f(d):\n    for k in d:\n        k = k.replace('a', 'b')"),
    "no tensor's method": ("DroppedResult", "def f(x):\n    x.max_depth(3)\n    x.append(1)"),
    "an argument moved": ("DroppedResult", "def f(m, device):\n    m.to(device)"),
    "a set": ("DroppedResult", "def f(xs):\n    seen = set()\n    for x in xs:\n        seen.add(x)"),
    "a set in a dict": ("DroppedResult", "def f(xs, k):\n    d = {}\n    d.setdefault(k, set()).add(xs)"),
    "the object itself": ("DroppedResult", "class A(nn.Module):\n    def f(self):\n        self.to('cpu')"),
    "a module moved": (
        "DroppedResult",
        "class A:\n    def __init__(self, vae):\n        self.vae = vae\n    def f(self, x):\n"
        "        self.vae.to(x.dtype)\n        return self.vae.decode(x)",
    ),
    "modules moved": ("DroppedResult", "def f(m):\n    for one in m.modules():\n        one.half()"),
    "put elsewhere": ("DroppedResult", "def f(x: torch.Tensor, y):\n    torch.mul(x, 2, out=y)"),
    "gone through once": ("Exhausted", "def f(m):\n    ps = m.parameters()\n    for p in ps:\n        print(p)"),
    "made in each pass": (
        "Exhausted",
        "def f(ms):\n    for m in ms:\n        ps = m.parameters()\n        torch.optim.SGD(ps, lr=1)",
    ),
    "bound anew": (
        "Exhausted",
        "def f(m):\n    ps = m.parameters()\n    n = sum(ps)\n    ps = m.parameters()\n    return n, list(ps)",
    ),
    "on one arm each": (
        "Exhausted",
        "def f(m, c):\n    ps = m.parameters()\n    if c:\n        list(ps)\n    else:\n        sum(ps)",
    ),
    "a list of them": (
        "Exhausted",
        "def f(m):\n    ps = list(m.parameters())\n    for p in ps:\n        print(p)\n    return sum(ps)",
    ),
    "expanded and no Parameter": ("ExpandedParameter", "def f(x):\n    return x.expand(3, 4)"),
    "bytes of nothing": ("ExpandedBytes", "def f(x):\n    return x.repeat(2, 1) + x.expand(3, 4)"),
    "saved nowhere": ("KeptStorage", "def f(x, path):\n    x.share_memory_()"),
    "a number on self": ("LeafRebound", "class A:\n    def f(self, d, h):\n        self.width = d // h"),
    "one repeat": ("MixedRepeats", "def f(x):\n    return x.repeat(2, 1)"),
    "nothing trained": ("ModuleAlias", "def f(net):\n    target = net\n    return target"),
    "a scheduler steps": (
        "ModuleAlias",
        "def f(net, plan):\n    target = net\n    plan.step()\n    return target",
    ),
    "a mode is set": (
        "ModuleAlias",
        "def f(net, mode):\n    target = net\n    net.train(mode)\n    target.train(net.training)\n"
        "    net.train(not mode)\n"
        "    return target",
    ),
    "flipped for nobody": ("NegativeStrides", "def f(x):\n    return x[::-1]"),
    "strides for nobody": ("ByteStrides", "def f(x):\n    return x[::-1]"),
    "data read": ("ReboundData", "def f(a, b):\n    a.best = b.data"),
    "joined at once": ("RepeatedReference", "def f(x, y):\n    y += 1\n    return torch.cat([x] * 2) + y"),
    "numbers": ("RepeatedReference", "def f(n, dim):\n    dims = [dim] * n\n    return dims"),
    "numbers of layers": (
        "RepeatedReference",
        "def f(n, dim):\n    dims = [dim] * n\n    return nn.Sequential(*[nn.Linear(d, dim) for d in dims])",
    ),
    "a text repeated": (
        "RepeatedReference",
        "def f(x, text, n):\n    texts = [text or ''] * n\n    x[0][1] += 1\n    return texts",
    ),
    "a size left open": ("ScrambledAxes", "def f(x):\n    b, c, h = x.shape\n    return x.view(b, -1)"),
    "another number": ("ScrambledAxes", "def f(x):\n    b, c = x.shape\n    return x.view(b, c, 3)"),
    "bound anew before the view": (
        "TurnedView",
        "def f(x, net):\n    x = x.t()\n    x = net(x)\n    return x.view(-1)",
    ),
    "numbers that agree": (
        "ClashingExpand",
        "def f(x):\n    y = torch.full([1], 2)\n    return y.expand(x.shape[0])",
    ),
    "reduced another time": (
        "ClashingExpand",
        "def f(x, net):\n    y = x.mean(1)\n    y = net(y)\n    return y.expand(3, 4)",
    ),
    "flipped and another one taken": ("NegativeStrides", "def f(x, y):\n    return torch.from_numpy(x), y[::-1]"),
    "its own order": ("ScrambledAxes", "def f(x):\n    b, c, h = x.shape\n    y = x * 2\n    return y.view(b, c, h)"),
    "sizes of another": ("ScrambledAxes", "def f(x, net):\n    b, c = x.shape\n    return net(x).t().view(b, c)"),
    "made anew": (
        "ScrambledAxes",
        "def f(x, net):\n    b, c = x.size()\n    if c:\n        x = net(x)\n    else:\n        x = net(b)\n"
        "    return x.t().reshape(b, c)",
    ),
    "split by what it has not": (
        "ScrambledAxes",
        "def f(x, n):\n    b, c = x.shape\n    y = x.view(b, c)\n    return y.t().reshape(c // n, b)",
    ),
    "a part of a shape": ("ScrambledAxes", "def f(x):\n    h, w = x.shape[-2:]\n    return x.t().view(w, h)"),
    "no step": ("SharedOptimizerState", "def f(a, b):\n    a.load_state_dict(b.state_dict())"),
    "nothing asked for its state": (
        "StaleSnapshot",
        "def f(a, b, opt):\n    pairs = zip(a, b)\n    opt.zero_grad()\n    opt.step()\n    return pairs",
    ),
    "another name computed": (
        "LeafRebound",
        "def f(ps, lr):\n    for p in ps:\n        g = p.grad\n        step = lr * 2\n        p.add_(g, alpha=step)",
    ),
    "kept and not trained": ("StaleSnapshot", "def f(m):\n    best = m.state_dict()\n    return best"),
    "parameters handed to an optimizer": (
        "StaleSnapshot",
        "def f(m, xs):\n    o = torch.optim.SGD(m.parameters())\n    for x in xs:\n        o.step()\n"
        "    torch.save(m.state_dict(), 'm')",
    ),
    "parameters drawn anew": (
        "StaleSnapshot",
        "class A(nn.Module):\n    def __init__(self):\n        for p in self.parameters():\n"
        "            p.data.zero_()\n    def f(self, x):\n        self.count.add_(1)\n        return x * 2",
    ),
    "a weight used": (
        "StaleSnapshot",
        "def f(m, x):\n    y = torch.nn.functional.linear(x, m.weight)\n    m.count.add_(1)\n    return y",
    ),
    "an attribute that is no parameter": (
        "LeafRebound",
        "class A(nn.Module):\n    def f(self, n):\n        self.size = tuple(n)\n"
        "        self.register_parameter('weight', None)",
    ),
    "a parameter without its shape": (
        "LeafRebound",
        "class A(nn.Module):\n    def f(self):\n        self.weight = nn.UninitializedParameter()",
    ),
    "in order": ("TurnedView", "def f(x):\n    x = x.t().contiguous()\n    return x.view(-1)"),
    "another one turned": ("TurnedView", "def f(x, y):\n    z = y.t()\n    return x.view(-1) + z"),
    "not shared": ("UnlinkedArray", "def f(x, path):\n    torch.save(x, path)"),
}
LET_PASS = {
    "trained by another object": (
        "ModuleAlias",
        "def f(net, trainer):\n    target = net\n    trainer.train(net)\n    return target",
    ),
    "an item of one put into another": (
        "DroppedResult",
        "def f(x):\n    d, e = {}, {}\n    d[0] = e[0]\n    e[0] = d[0]\n    e[1] = x.relu()\n    d[0].cuda()",
    ),
    "reduced": ("ClashingExpand", "def f(x):\n    m = x.mean(1)\n    return m.expand_as(x)"),
    "more axes": ("ClashingExpand", "def f(n):\n    x = torch.zeros(2, 3)\n    return x.expand(n)"),
    "never read": ("DeadRebinding", "def f(xs):\n    for x in xs:\n        x = x * 2"),
    "read by one arm": (
        "DeadRebinding",
        "def f(xs, c):\n    for x in xs:\n        x = x * 2\n        if c:\n            return x\n"
        "        else:\n            return 0",
    ),
    "left before": (
        "DeadRebinding",
        "def f(xs, n):\n    for x in xs:\n        if n:\n            x = x * 2\n            continue\n        n(x)",
    ),
    "dropped": ("DroppedResult", "def f(x):\n    x.clamp(0, 1)"),
    "function dropped": ("DroppedResult", "def f(x):\n    torch.clamp(x, 0, 1)"),
    "known for a tensor later": ("DroppedResult", "def f(x):\n    x.cuda()\n    return torch.relu(x)"),
    "written before": ("DroppedResult", "def f(x):\n    y = x.view(-1)\n    y.add_(1)\n    x.add(1)"),
    "of a loader": ("DroppedResult", "def f(loader):\n    for x, y in loader:\n        x.cuda()"),
    "a buffer moved": (
        "DroppedResult",
        "class A(nn.Module):\n    def __init__(self, x):\n        self.register_buffer('b', x)\n    def f(self):\n"
        "        self.b.cuda()",
    ),
    "a weight dropped": ("DroppedResult", "def f():\n    m = nn.Linear(2, 2)\n    m.weight.mul(2)"),
    "an item moved": ("DroppedResult", "def f(x):\n    d = {}\n    d[0] = torch.relu(x)\n    d[0].cuda()"),
    "asked for its type": ("DroppedResult", "def f(x):\n    if isinstance(x, torch.Tensor):\n        x.cuda()"),
    "gone through twice": (
        "Exhausted",
        "def f(m):\n    ps = m.parameters()\n    torch.optim.SGD([{'params': ps}], lr=1)\n    return list(ps)",
    ),
    "in each pass": (
        "Exhausted",
        "def f(m, xs):\n    ps = m.parameters()\n    for x in xs:\n        print(x, list(ps))",
    ),
    "under two names": ("Exhausted", "def f(m):\n    ps = m.parameters()\n    qs = ps\n    sum(ps)\n    sum(qs)"),
    "through another one": (
        "Exhausted",
        "def f(m):\n    ps = m.parameters()\n    pairs = enumerate(ps)\n    list(pairs)\n    list(ps)",
    ),
    "bound anew by one arm": (
        "Exhausted",
        "def f(m, c):\n    ps = m.parameters()\n    list(ps)\n    if c:\n        ps = []\n    list(ps)",
    ),
    "on an object": ("Exhausted", "def f(a, m):\n    a.ps = m.parameters()\n    list(a.ps)\n    list(a.ps)"),
    "in an item": (
        "Exhausted",
        "def f(m):\n    d = {}\n    d['a'] = m.parameters()\n    list(d['a'])\n    list(d['a'])",
    ),
    "from a function": (
        "Exhausted",
        "def g(m):\n    return filter(None, m)\ndef f(m):\n    p, q = g(m), zip(m)\n    return list(p), sum(p)",
    ),
    "given to a function": (
        "Exhausted",
        "def g(ps):\n    list(ps)\n    sum(ps)\ndef f(m):\n    ps = m.parameters()\n    g(ps)",
    ),
    "of the module": (
        "Exhausted",
        "ps = (p for p in [1])\ndef f(m):\n    qs = m.parameters()\n    return list(ps), list(ps)",
    ),
    "Parameter by another name": (
        "ExpandedParameter",
        "from torch.nn import Parameter as P\ndef f(x):\n    return P(x.expand(3, 4))",
    ),
    "nbytes": ("ExpandedBytes", "def f(x):\n    return x.expand(3, 4).nbytes"),
    "saved": ("KeptStorage", "def f(x, path):\n    torch.save(x[:3], path)"),
    "appended part": ("KeptStorage", "def f(xs, out):\n    for x in xs:\n        out.append(x[0])"),
    "scrambled": ("ScrambledAxes", "def f(x):\n    b, c = x.shape\n    y = x * 2\n    return y.view(c, b)"),
    "scrambled as given": (
        "ScrambledAxes",
        "def f(x, n):\n    b, c = x.shape\n    y = x.view(b, n, c // n)\n    d = c // n\n    return y.view(b, d, n)",
    ),
    "scrambled on one way": (
        "ScrambledAxes",
        "def f(x, net):\n    b, c = x.size(0), x.size(1)\n    if c:\n        x = x * 2\n    else:\n        x = net(b)\n"
        "    return torch.reshape(x, (c, b))",
    ),
    "turned by a function": (
        "ScrambledAxes",
        "def g(x):\n    return x.t()\n\n\ndef f(x):\n    s = x.shape\n    return g(x).reshape(s)",
    ),
    "scrambled in a list": (
        "ScrambledAxes",
        "def f(xs, x):\n    b, c = x.shape\n    xs = []\n    xs.append(x)\n    for y in xs:\n        x = y.view(c, b)",
    ),
    "a weight": ("LeafRebound", "def f(m):\n    m.weight = m.weight * 2"),
    "both repeats": ("MixedRepeats", "def f(x, y):\n    return x.repeat(2, 1) + y.repeat_interleave(2, 0)"),
    "trained": ("ModuleAlias", "def f(net, opt):\n    target = net\n    opt.step()\n    return target"),
    "trained by a callee": (
        "ModuleAlias",
        "def update(opt):\n    opt.step()\ndef f(net, opt):\n    target = net\n    update(opt)\n    return target",
    ),
    "taken over": ("NegativeStrides", "def f(x):\n    return torch.from_numpy(x[::-1])"),
    "strides": ("ByteStrides", "def f(x, t):\n    return torch.as_strided(t, x.shape, x.strides)"),
    "data set": ("ReboundData", "def f(a, b):\n    a.data = b.data"),
    "a layer": ("RepeatedReference", "def f(n):\n    return nn.Sequential(*[nn.Linear(2, 2)] * n)"),
    "slots written": (
        "RepeatedReference",
        "def f(x: torch.Tensor, n):\n    xs = [x] * n\n    xs[0].add_(1)\n    return xs",
    ),
    "a layer by name": (
        "RepeatedReference",
        "def f(n):\n    one = nn.Linear(2, 2)\n    rows = [one] * n\n    return nn.ModuleList(rows)",
    ),
    "a layer of a function": (
        "RepeatedReference",
        "def g():\n    return nn.Linear(2, 2)\ndef f(n):\n    return nn.Sequential(*[g()] * n)",
    ),
    "a layer of the module": (
        "RepeatedReference",
        "one = nn.Linear(2, 2)\ndef f(n):\n    return nn.ModuleList([one] * n)",
    ),
    "an item written": (
        "RepeatedReference",
        "def f(n):\n    ts = [torch.zeros(2)]\n    t = ts[0]\n    xs = [t] * n\n    xs[0][1] = 1\n    return xs",
    ),
    "sizes in another order": ("ScrambledAxes", "def f(x):\n    b, c = x.shape\n    return x.view(c, b)"),
    "a leaf updated": (
        "LeafRebound",
        "def f(w, lr, n):\n    for _ in n:\n        v = w\n        g = v.grad\n        w = w - lr * g",
    ),
    "asked by a function": (
        "StaleSnapshot",
        "def g(m):\n    return m.state_dict()\ndef f(m, o):\n    b = g(m)\n    m.load_state_dict(m.state_dict())\n"
        "    return b",
    ),
    "loaded and stepped": ("SharedOptimizerState", "def f(a, b):\n    a.load_state_dict(b.state_dict())\n    b.step()"),
    "parameters written": (
        "StaleSnapshot",
        "def f(m):\n    best = m.state_dict()\n    for p in m.parameters():\n        p.mul_(0)\n    return best",
    ),
    "a weight kept in a list": (
        "StaleSnapshot",
        "def f(m, xs):\n    seen = []\n    for x in xs:\n        seen.append(m.weight.detach())\n"
        "        m.weight.data.add_(x)\n    return seen",
    ),
    "a weight kept by a callee": (
        "StaleSnapshot",
        "def g(h, w):\n    h.append(w)\ndef f(m, x):\n    h = []\n    g(h, m.weight.data)\n    m.weight.data.add_(x)\n"
        "    return h",
    ),
    "kept by another method": (
        "StaleSnapshot",
        "class A:\n    def __init__(self, m):\n        self.all = {n: p.data for n, p in m.named_parameters()}\n"
        "    def f(self, m):\n        for n, p in m.named_parameters():\n            p.data.mul_(0.5)\n"
        "        return self.all",
    ),
    "a registered parameter": (
        "LeafRebound",
        "class A(nn.Module):\n    def f(self, x):\n        self.register_parameter('w', nn.Parameter(x))\n"
        "        self.w = x * 2",
    ),
    "turned": ("TurnedView", "def f(x):\n    y = x.t()\n    return y.view(-1)"),
    "turned by a callee": ("TurnedView", "def g(x):\n    return x.t()\ndef f(x):\n    return g(x).view(-1)"),
    "shared memory": ("UnlinkedArray", "def f(x):\n    a = x.numpy()\n    x.share_memory_()\n    return a"),
}
# Classes of which nothing is run, and such of which something is.
CLASSES = {
    "no tensor in the body": (
        "SharedDefault",
        "    names = ['a']\n    size = 3\n    def f(self, x):\n        x += 1",
        False,
    ),
    "a dtype as default": ("SharedDefault", "    def f(self, x, dtype=torch.float32):\n        x += 1", False),
    "a tensor in the body": (
        "SharedDefault",
        "    buf = torch.zeros(3)\n    def f(self, x):\n        self.buf += x",
        True,
    ),
    "another attribute written": (
        "HandedOut",
        "    def f(self, x):\n        self.seen += x\n    def get(self):\n        return self.buf",
        False,
    ),
    "the one returned": (
        "HandedOut",
        "    def f(self, x):\n        self.buf.add_(x)\n    def get(self):\n        return self.buf",
        True,
    ),
    "by another name": (
        "HandedOut",
        "    def f(self, x):\n        b = self.buf\n        b[0] = x\n    def get(self):\n        return self.buf",
        True,
    ),
    "a list of numbers": (
        "UnregisteredItems",
        "    def __init__(self, n):\n        self.sizes = [n]\n        self.sizes.append(int(n))",
        False,
    ),
    "a list of layers": (
        "UnregisteredItems",
        "    def __init__(self, n):\n        layers = []\n        layers.append(nn.Linear(2, 2))\n"
        "        self.all = layers",
        True,
    ),
}


@pytest.mark.parametrize(("kind", "text"), HELD_BACK.values(), ids=HELD_BACK)
def test_what_gives_nothing_is_held_back(ran: Counter[str], kind: str, text: str) -> None:
    assert analyse(ast.parse(HEAD + text), frozenset({kind})).regions == []
    assert ran == {}


@pytest.mark.parametrize(("kind", "text"), LET_PASS.values(), ids=LET_PASS)
def test_what_may_give_something_is_run(ran: Counter[str], kind: str, text: str) -> None:
    analyse(ast.parse(HEAD + text), frozenset({kind}))
    assert ran["f"] == 1


@pytest.mark.parametrize(("kind", "text", "runs"), CLASSES.values(), ids=CLASSES)
def test_a_class_that_shows_nothing_is_not_run(
    ran: Counter[str], monkeypatch: pytest.MonkeyPatch, kind: str, text: str, runs: bool
) -> None:
    monkeypatch.setitem(SCREENS, kind, lambda sketch: False)  # only the judge of the class runs anything
    analyse(ast.parse(f"{HEAD}class A(nn.Module):\n{text}"), frozenset({kind}))
    assert bool(ran) == runs


@cache
def programs() -> list[ast.Module]:
    paths = [*(ROOT / "tests" / "golden").glob("*.py"), *(ROOT / "fixtures").rglob("*.py")]
    return [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(paths)]


def told(fact: Fact) -> bool:
    """Whether a rule may say anything of a fact."""
    match fact:
        case DeadRebinding():
            return fact.computed and (fact.uses_itself or fact.uses_sibling)
        case DroppedResult():
            return fact.evidence >= 2 and not fact.probing and any((fact.moves, fact.twin, fact.views, fact.asks))
    return True


def facts_of(kind: str) -> Counter[tuple[int, int, int]]:
    found: Counter[tuple[int, int, int]] = Counter()
    for number, tree in enumerate(programs()):
        for region in analyse(tree, frozenset({kind})).regions:
            found.update(
                (number, fact.site.lineno, fact.site.col_offset)  # type: ignore[attr-defined]
                for fact in region.facts
                if told(fact)
            )
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_fact_of_a_program_is_lost(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    with_screens = facts_of(kind)
    monkeypatch.setattr(analysis, "SCREENS", {one: screen for one, screen in SCREENS.items() if one != kind})
    monkeypatch.setattr(analysis, "JUDGES", tuple(judge._replace(possible=None) for judge in analysis.JUDGES))
    assert with_screens
    assert with_screens == facts_of(kind)
