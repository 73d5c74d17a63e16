"""What the repairs of lost writes, dropped results, rebound updates and layouts make of source: before and after.

Each text is the body of a function; `None` stands for a finding that has no repair.
"""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.fixes import Source, repair
from flake8_tensorcopy.lint import lint

HEAD = """\
import numpy as np
import torch
from torch import nn


def f(x: torch.Tensor, y: torch.Tensor, net: nn.Module, v: torch.Tensor, n: int):
"""


def body(text: str) -> str:
    return indent(dedent(text).strip("\n"), "    ") + "\n"


def repaired(text: str, code: str, head: str = HEAD, *, unsafe: bool = True) -> str | None:
    """The file after all repairs of a rule, or the safe ones; None where it reports something and repairs nothing."""
    every = Options(preview=True)
    data = (head + body(text)).encode()
    source = Source.read(data)
    assert [finding.code for finding in lint(source.tree(), source.lines, every) if finding.code == code]
    made = repair(
        data,
        lambda tree, lines: lint(tree, lines, every),
        lambda findings, tree, lines: [finding for finding in findings if finding.code == code],
        unsafe=unsafe,
    )
    assert made.refused == ()
    return "".join(made.source.lines) if made.fixed else None


INDEXED_ONCE = [
    ("x[x > 0].zero_()  # note", "x[x > 0] = 0  # note"),
    ("x[x > 0].fill_(1.5)", "x[x > 0] = 1.5"),
    ("x[x > 0].fill_(n)", "x[x > 0] = n"),
    ("x[x > 0].fill_(v)", "x[x > 0] = x[x > 0].fill_(v)"),
    ("x[x > 0].copy_(v)", "x[x > 0] = v"),
    ("x[x > 0].add_(v + 1)", "x[x > 0] += v + 1"),
    ("x[x > 0].add_(v, alpha=2)", "x[x > 0] = x[x > 0].add_(v, alpha=2)"),
    ("x[x > 0].mul_(2).add_(1)", "x[x > 0] = x[x > 0].mul_(2).add_(1)"),
    ("x[\n    x > 0\n].sub_(\n    v\n)", "x[\n    x > 0\n] -= v"),
    ("x[x > 0].clamp_(\n    0,  # low\n    1,\n)", "x[x > 0] = x[x > 0].clamp_(\n    0,  # low\n    1,\n)"),
    ("x[x > 0].fill_(  # why\n    0\n)", None),
    ("(x[x > 0].zero_())", None),
    ("a = 1; x[x > 0].zero_()", "a = 1; x[x > 0] = 0"),
    ("if n: x[x > 0].zero_()", "if n: x[x > 0] = 0"),
    ("torch.add(v, 1, out=x[x > 0])", "x[x > 0] = torch.add(v, 1)"),
    ("nn.init.normal_(x[x > 0])", "x[x > 0] = nn.init.normal_(x[x > 0])"),
    ("x[x > 0][:, 2] = v", "x[x > 0, 2] = v"),
    ("x[x > 0][:, 1:3, -1] += v", "x[x > 0, 1:3, -1] += v"),
    ("x[[0, 2]][:, n].mul_(2)", "x[[0, 2], n] *= 2"),
    ("x[x > 0][  # rows\n    :, 2] = v", None),
    ("x[x > 0][2] = v  # one", "selected = x[x > 0]\nselected[2] = v  # one\nx[x > 0] = selected"),
    (
        "selected = 1\nx[x > 0][2] = selected",
        "selected = 1\nselected_2 = x[x > 0]\nselected_2[2] = selected\nx[x > 0] = selected_2",
    ),
    ("x[x > 0][:, [0, 2]] += v", "selected = x[x > 0]\nselected[:, [0, 2]] += v\nx[x > 0] = selected"),
    ("x[[[0, 1]]][:, 1] = v", "selected = x[[[0, 1]]]\nselected[:, 1] = v\nx[[[0, 1]]] = selected"),
    ("x[x > 0][2].zero_()", "selected = x[x > 0]\nselected[2].zero_()\nx[x > 0] = selected"),
    ("if n: x[x > 0][2] = v", "if n:\n    selected = x[x > 0]\n    selected[2] = v\n    x[x > 0] = selected"),
    ("x[torch.rand(3) > 0.5][0] = v", None),
    ("x[torch.rand(3) > 0.5].neg_()", None),  # drawn twice
    ("x[torch.rand(3) > 0.5].add_(1)", "x[torch.rand(3) > 0.5] += 1"),
]


@pytest.mark.parametrize(("text", "result"), INDEXED_ONCE)
def test_a_lost_write_is_indexed_once(text: str, result: str | None) -> None:
    assert repaired(text, "TSC201") == (None if result is None else HEAD + body(result))


KEPT = [
    ("x.clamp(0)\nreturn x", "x = x.clamp(0)\nreturn x"),
    ("x.clamp(0)", "x.clamp_(0)"),  # the caller's
    ("x.clamp(\n    0,  # low\n)\nreturn x", "x = x.clamp(\n    0,  # low\n)\nreturn x"),
    ("x.clamp(0); return x", "x = x.clamp(0); return x"),
    ("x.clamp(0)\nx = y\nreturn x", "x.clamp_(0)\nx = y\nreturn x"),
    ("x.clamp(0)\nx = x + 1\nreturn x", "x = x.clamp(0)\nx = x + 1\nreturn x"),
    ("x.clamp(0)\nif n:\n    x = y\nreturn x", "x = x.clamp(0)\nif n:\n    x = y\nreturn x"),
    ("x.clamp(0)\nx += 1", "x = x.clamp(0)\nx += 1"),
    ("x.clamp(0)\ndef g():\n    return x\nreturn g", "x = x.clamp(0)\ndef g():\n    return x\nreturn g"),
    (
        "for _ in range(n):\n    y = x * 2\n    x.clamp(0)\nreturn y",
        "for _ in range(n):\n    y = x * 2\n    x = x.clamp(0)\nreturn y",
    ),
    (
        "for _ in range(n):\n    x = y * 2\n    print(x)\n    x.clamp(0)",
        "for _ in range(n):\n    x = y * 2\n    print(x)\n    x.clamp_(0)",
    ),
    ("y.backward()\nx.grad.clamp(0)", "y.backward()\nx.grad.clamp_(0)"),
    ("torch.clamp(x, 0)\nreturn x", "x = torch.clamp(x, 0)\nreturn x"),
    ("torch.clamp(x, 0)", None),
    (
        "for p in net.parameters():\n    p.clamp(0)",
        "for p in net.parameters():\n    with torch.no_grad():\n        p.clamp_(0)",
    ),
    (
        "with torch.no_grad():\n    for p in net.parameters():\n        p.clamp(0)",
        "with torch.no_grad():\n    for p in net.parameters():\n        p.clamp_(0)",
    ),
    ("g = x.grad\ng = g.clamp(0)", "g = x.grad\ng.clamp_(0)"),
]


@pytest.mark.parametrize(("text", "result"), KEPT)
def test_a_dropped_result_is_kept(text: str, result: str | None) -> None:
    assert repaired(text, "TSC203") == (None if result is None else HEAD + body(result))


MOVED = [
    ("x.half()\nreturn x", "x = x.half()\nreturn x"),
    ("x.half()", None),
    ("x.to(\n    'cpu',  # home\n)\nreturn x", "x = x.to(\n    'cpu',  # home\n)\nreturn x"),
    ("w = torch.zeros(1, requires_grad=True)\nw.double()\nreturn w", None),
]


@pytest.mark.parametrize(("text", "result"), MOVED)
def test_a_dropped_move_is_kept(text: str, result: str | None) -> None:
    assert repaired(text, "TSC204") == (None if result is None else HEAD + body(result))


MADE = "x = torch.zeros(3)\n"
SAFELY_MOVED = [
    (MADE + "x.cuda()\nreturn x", True),
    (MADE + "x.to('cuda', non_blocking=True)\nreturn x", True),
    (MADE + "print(x.sum(), x.shape)\nx.to(y.device)\nx.add_(1)\nreturn x", True),
    ("x.cuda()\nreturn x", True),
    ("for a, b in torch.utils.data.DataLoader(v):\n    a.cuda()\n    net(a)", True),
    (MADE + "x.cuda()\nkeep = x\nreturn x, keep", True),
    (MADE + "x.half()\nreturn x", False),
    (MADE + "x.long()\ny[x] = 1\nreturn y", False),
    (MADE + "x.double()\nreturn x @ y", False),
    (MADE + "x.to(torch.float64)\nreturn x", False),
    (MADE + "x.to('cuda', torch.float64)\nreturn x", False),
    (MADE + "x.to('cuda', dtype=torch.float64)\nreturn x", False),
    (MADE + "x.to(y)\nreturn x", False),
    (MADE + "x.to(n)\nreturn x", False),
    (MADE + "keep = x\nx.cuda()\nx.add_(1)\nreturn keep, x", False),
    (MADE + "keep = x.t()\nx.cuda()\nx.add_(1)\nreturn keep, x", False),
    (MADE + "keep = [x]\nx.cuda()\nx.add_(1)\nreturn keep, x", False),
    (MADE + "net.kept = x\nx.cuda()\nx.add_(1)\nreturn x", False),
    ("x = v[0]\nx.cuda()\nx.add_(1)\nreturn v, x", False),
    (MADE + "n.append(x)\nx.cuda()\nreturn x", False),
    ("x.cuda()\nx.add_(1)\nreturn x", False),
    (MADE + "def g():\n    return x\nx.cuda()\nreturn x, g", False),
    (MADE + "g = lambda: x\nx.cuda()\nreturn x, g", False),
    ("global w\nw = torch.zeros(3)\nw.cuda()\nreturn w", False),
]


@pytest.mark.parametrize(("text", "safe"), SAFELY_MOVED)
def test_only_a_move_that_nothing_else_sees_is_safe(text: str, safe: bool) -> None:
    assert (repaired(text, "TSC204", unsafe=False) is not None) == safe


LOOP = "for p, q in zip(net.parameters(), net.parameters()):\n    "
UPDATED = [
    ("p = p - 0.1 * p.grad  # step", "p -= 0.1 * p.grad  # step"),
    ("p = p * (\n        0.5\n    )", "p *= (\n        0.5\n    )"),
    ("p = p.mul(0.5)", "p.mul_(0.5)"),
    ("p = torch.lerp(p, q, 0.5)", "p.copy_(torch.lerp(p, q, 0.5))"),
    ("p = q.clone()", "p.copy_(q)"),
    ("p = torch.randn_like(p)", "p.copy_(torch.randn_like(p))"),
    (
        "p = (\n        p * 0.9  # old\n        + q * 0.1\n    )",
        "p.copy_(\n        p * 0.9  # old\n        + q * 0.1\n    )",
    ),
    ("p = p - 0.1 - q", "p.copy_(p - 0.1 - q)"),
    ("p = p.data - 0.1 * p.grad.data", "p.copy_(p.data - 0.1 * p.grad.data)"),
    ("p = p.mean(0) * 2", None),
    ("p = torch.cat([p, q]) + 1", None),
]


@pytest.mark.parametrize(("text", "result"), UPDATED)
def test_a_rebound_parameter_is_written_in_place(text: str, result: str | None) -> None:
    bare = repaired(LOOP + text, "TSC205")
    guard = "with torch.no_grad():\n"
    inner = f"    {guard}        "
    if result is None:
        assert bare is None
    else:
        assert bare == HEAD + body(LOOP[:-4] + inner + result.replace("\n", "\n    "))
        whole = guard + indent(LOOP + text, "    ")
        assert repaired(whole, "TSC205") == HEAD + body(guard + indent(LOOP + result, "    "))


@pytest.mark.parametrize("text", ["p = p * \\\n        2", "a = 1; p = p * 2"])
def test_what_cannot_be_put_under_no_grad_is_left(text: str) -> None:
    assert repaired(LOOP + text, "TSC205") is None


def test_a_suite_on_the_line_of_its_header_is_put_on_its_own() -> None:
    made = repaired(LOOP + "if n: p = p * 2", "TSC205")
    assert made == HEAD + body(LOOP + "if n:\n        with torch.no_grad():\n            p *= 2")


@pytest.mark.parametrize(
    ("imports", "written"),
    [("from torch import nn, no_grad as off\n", "off"), ("import torch as th\nfrom torch import nn\n", "th.no_grad")],
)
def test_no_grad_is_written_as_the_file_does(imports: str, written: str) -> None:
    head = imports + "\n\ndef f(net: nn.Module):\n"
    made = repaired("for p in net.parameters():\n    p = p * 2", "TSC205", head)
    assert made == head + body(f"for p in net.parameters():\n    with {written}():\n        p *= 2")


def test_without_an_import_of_torch_there_is_no_block() -> None:
    head = "from torch.nn import Module\n\n\ndef f(net: Module):\n"
    assert repaired("for p in net.parameters():\n    p = p * 2", "TSC205", head) is None


TRAIN = "w = torch.zeros(3, requires_grad=True)\nfor _ in range(n):\n    (w * x).sum().backward()\n    "
LEAVES = [
    (
        "w = w - 0.1 * w.grad",
        "with torch.no_grad():\n        w -= 0.1 * w.grad\n    w.grad = None",
    ),
    (
        "w = torch.clamp(w - w.grad, 0, 1)  # in range",
        "with torch.no_grad():\n        w.copy_(torch.clamp(w - w.grad, 0, 1))  # in range\n    w.grad = None",
    ),
    (
        "with torch.no_grad():\n        w = w - 0.1 * w.grad\n        w.grad.zero_()",
        "with torch.no_grad():\n        w -= 0.1 * w.grad\n        w.grad.zero_()",
    ),
    (
        "with torch.no_grad():\n        w = w - 0.1 * w.grad\n    v.grad.zero_()",
        "with torch.no_grad():\n        w -= 0.1 * w.grad\n        w.grad = None\n    v.grad.zero_()",
    ),
    ("w, n = w - 0.1 * w.grad, 1", None),
]


@pytest.mark.parametrize(("text", "result"), LEAVES)
def test_a_leaf_stays_a_leaf(text: str, result: str | None) -> None:
    assert repaired(TRAIN + text, "TSC206") == (None if result is None else HEAD + body(TRAIN + result))


GENERATORS = [
    ("p = net.parameters()", "p = list(net.parameters())"),
    ("p = (q for q in net.parameters())", "p = list(q for q in net.parameters())"),
    (
        "p = filter(\n    None,  # all\n    net.parameters(),\n)",
        "p = list(filter(\n    None,  # all\n    net.parameters(),\n))",
    ),
    ("p = net.parameters()\nprint(next(p).device)", None),
]


@pytest.mark.parametrize(("text", "result"), GENERATORS)
def test_a_generator_becomes_a_list(text: str, result: str | None) -> None:
    uses = "\nn = sum(q.numel() for q in p)\nfor q in p:\n    print(q, n)"
    assert repaired(text + uses, "TSC207") == (None if result is None else HEAD + body(result + uses))


SHADOWED = [
    ("TSC207", "", "def f(net: nn.Module, list: int):"),
    ("TSC207", "list = 1\n", "def f(net: nn.Module):"),
    ("TSC207", "def list(x):\n    return x\n", "def f(net: nn.Module):"),
    ("TSC207", "from shapes import *\n", "def f(net: nn.Module):"),
    ("TSC207", "def g():\n    global list\n    list = 1\n", "def f(net: nn.Module):"),
    ("TSC109", "", "def f(net: nn.Module, range: int):"),
    ("TSC109", "from shapes import span as range\n", "def f(net: nn.Module):"),
]


@pytest.mark.parametrize(("code", "above", "header"), SHADOWED)
def test_a_builtin_is_not_written_where_its_name_is_another(code: str, above: str, header: str) -> None:
    head = f"import torch\nfrom torch import nn\n{above}\n\n{header}\n"
    text = {
        "TSC207": "p = net.parameters()\nn = sum(q.numel() for q in p)\nfor q in p:\n    print(q, n)",
        "TSC109": "x = [torch.zeros(3)] * 2\nx[0] += 1\nreturn x",
    }
    assert repaired(text[code], code, head) is None
    assert repaired(text[code], code, "import torch\nfrom torch import nn\n\n\ndef f(net: nn.Module):\n") is not None


DRAWN = "i = torch.randint(0, 2, (9,))\n"
ADDED = [
    ("x[i] += v", "x.index_put_((i,), v, accumulate=True)"),
    ("x[i,] -= v", "x.index_put_((i,), -v, accumulate=True)"),
    ("x[i] -= v + 1  # note", "x.index_put_((i,), -(v + 1), accumulate=True)  # note"),
    ("x[i] += 1", "x.index_put_((i,), x.new_tensor(1), accumulate=True)"),
    ("x[i] -= n * 2", "x.index_put_((i,), x.new_tensor(-(n * 2)), accumulate=True)"),
    ("x[i, i] += v", "x.index_put_((i, i), v, accumulate=True)"),
    ("x[i] = v * 2 + x[i]", "x.index_put_((i,), v * 2, accumulate=True)"),
    ("x[i] = (x[i]\n        + v)", "x.index_put_((i,), v, accumulate=True)"),
    ("x[i] = (x[i]  # old\n        + v)", None),
    ("x[i, 0] += v", None),
    ("x[[1, 1]] += v", None),
]


@pytest.mark.parametrize(("text", "result"), ADDED)
def test_repeated_positions_are_added_up(text: str, result: str | None) -> None:
    assert repaired(DRAWN + text, "TSC208") == (None if result is None else HEAD + body(DRAWN + result))


LAYOUTS = [
    ("TSC301", "y = x.expand(3, 3)\ny[0, 0] = 1", "y = x.expand(3, 3).clone()\ny[0, 0] = 1"),
    (
        "TSC301",
        "y = (\n    x.expand(3, 3)  # all\n)\ny[0] = 1",
        "y = (\n    x.expand(3, 3)  # all\n).clone()\ny[0] = 1",
    ),
    ("TSC301", "y = x.expand(3, 3).to(v.dtype)\ny[0] = 1", "y = x.expand(3, 3).to(v.dtype).clone()\ny[0] = 1"),
    (
        "TSC301",
        "a, b = torch.meshgrid(x, y)\na[0, 0] = 1",
        "a, b = torch.meshgrid(x, y)\na = a.clone()\na[0, 0] = 1",
    ),
    ("TSC301", "a = torch.meshgrid(x, y)\na[0][0, 0] = 1", None),
    ("TSC302", "return nn.Parameter(x.expand(3, 3))", "return nn.Parameter(x.expand(3, 3).clone())"),
    ("TSC303", "m = x.sum(1)\nreturn x / m.expand_as(x)", "m = x.sum(1, keepdim=True)\nreturn x / m.expand_as(x)"),
    ("TSC303", "return x.sum(1, keepdim=False).expand_as(x)", "return x.sum(1, keepdim=True).expand_as(x)"),
    (
        "TSC303",
        "m = x.sum(-1,)\nprint(m)\nreturn m.expand_as(x)",
        "m = x.sum(-1,)\nprint(m)\nreturn m.unsqueeze(-1).expand_as(x)",
    ),
    (
        "TSC303",
        "m = x.sum(1)\nprint(m)\nreturn torch.broadcast_to(m, x.shape)",
        "m = x.sum(1)\nprint(m)\nreturn torch.broadcast_to(m.unsqueeze(1), x.shape)",
    ),
    ("TSC303", "m = x.sum((1, 2))\nprint(m)\nreturn m.expand_as(x)", None),
    ("TSC303", "return x.max(1)[0].expand_as(x)", "return x.max(1, keepdim=True)[0].expand_as(x)"),
    ("TSC303", "return torch.zeros(3, 2).expand(3, 6)", "return torch.zeros(3, 2).repeat(1, 3)"),
    ("TSC303", "return torch.zeros(3, 2).expand(-1, 5)", None),
    ("TSC304", "return torch.ones(2, 3).t().view(-1)", "return torch.ones(2, 3).t().reshape(-1)"),
    ("TSC304", "return torch.ones(2, 3).mT.view(  # \n    -1)", "return torch.ones(2, 3).mT.reshape(  # \n    -1)"),
    ("TSC307", "return torch.from_numpy(np.ones(3)[::-1])", "return torch.from_numpy(np.ones(3)[::-1].copy())"),
    (
        "TSC307",
        "a = np.ones(3)\nif n:\n    a = np.flip(a)\nreturn torch.from_numpy(a)",
        "a = np.ones(3)\nif n:\n    a = np.flip(a).copy()\nreturn torch.from_numpy(a)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "result"), LAYOUTS)
def test_layouts(code: str, text: str, result: str | None) -> None:
    assert repaired(text, code) == (None if result is None else HEAD + body(result))


ONE = "w = torch.zeros(1, 2)\n"
SAFELY_CLONED = [
    ("h = torch.zeros(1, 2).expand(3, 2)\nh[0] = 1\nreturn h", True),
    ("h = (x + 1).expand(3, 2)\nh[0] = 1\nreturn h", True),
    (ONE + "h = w.expand(3, 2)\nh[0] = 1\nreturn h", True),
    (ONE + "h = w.expand(3, 2)\nh[0] = 1\nw = y\nreturn h, w", True),
    (ONE + "h = w.expand(3, 2)\nk = h\nh[0] = 1\nreturn h, k", True),
    ("h = x.expand(3, 2)\nh += 1\nreturn h, x", True),  # which raised
    (ONE + "h = w.expand(3, 2)\nh[0] = 1\nreturn w", False),
    (ONE + "h = w.expand(3, 2)\nh[0] = 1\nprint(w)\nreturn h", False),
    (ONE + "h = w.expand(3, 2)\nw.fill_(2)\nh[0] = 1\nreturn h", False),
    (ONE + "k = w.t()\nh = w.expand(3, 2)\nh[0] = 1\nreturn h, k", False),
    (ONE + "k = [w]\nh = w.expand(3, 2)\nh[0] = 1\nreturn h, k", False),
    (ONE + "n.append(w)\nh = w.expand(3, 2)\nh[0] = 1\nreturn h", False),
    (ONE + "e = w.expand(3, 2)\nh = e.to(v.dtype)\nh[0] = 1\nreturn e, h", False),
    (ONE + "def g():\n    return w\nh = w.expand(3, 2)\nh[0] = 1\nreturn h, g", False),
    (ONE + "for _ in range(n):\n    h = w.expand(3, 2)\n    h[0] = 1", False),
    ("for _ in range(n):\n    w = x + 1\n    h = w.expand(3, 2)\n    h[0] = 1", True),
    ("h = x.expand(3, 2)\nh[0] = 1\nreturn h", False),  # the caller's
    ("h = net.w.expand(3, 2)\nh[0] = 1\nreturn h", False),
    ("w = torch.arange(3)\na, b = torch.meshgrid(w, w)\na[0, 0] = 1\nreturn a, b", False),
]


@pytest.mark.parametrize(("text", "safe"), SAFELY_CLONED)
def test_a_clone_is_safe_where_nothing_else_sees_the_write(text: str, safe: bool) -> None:
    assert (repaired(text, "TSC301", unsafe=False) is not None) == safe
    assert repaired(text, "TSC301") is not None


TRIPS = [
    ("b = torch.tensor(x.cpu().numpy()).to(v.device)\nreturn b", "b = x.to(v.device)\nreturn b"),
    (
        "b = torch.tensor(x.cpu().numpy()).to(v.device)\nb.add_(1)\nreturn b",
        "b = x.to(v.device, copy=True)\nb.add_(1)\nreturn b",
    ),
    (
        "b = torch.tensor(x.cpu().numpy()).to(x.device)\nb[0] = 1\nreturn b",
        "b = x.clone()\nb[0] = 1\nreturn b",
    ),
    (
        "b = torch.tensor(x.cpu().numpy()).cuda()\nx.add_(1)\nreturn b",
        "b = x.cuda().clone()\nx.add_(1)\nreturn b",
    ),
    (
        "b = torch.tensor(x.cpu().numpy(), device=v.device)\nx += 1\nreturn b",
        "b = x.to(device=v.device).clone()\nx += 1\nreturn b",
    ),
    (
        "b = torch.tensor(net.w.cpu().numpy()).cuda()\nnet.w.zero_()\nreturn b",
        "b = net.w.cuda().clone()\nnet.w.zero_()\nreturn b",
    ),
    (
        "for _ in range(n):\n    x.add_(1)\n    b = torch.tensor(x.cpu().numpy()).cuda()\nreturn b",
        "for _ in range(n):\n    x.add_(1)\n    b = x.cuda().clone()\nreturn b",
    ),
    (
        "x.add_(1)\nb = torch.tensor(x.cpu().numpy()).cuda()\nreturn b",
        "x.add_(1)\nb = x.cuda()\nreturn b",
    ),
    (
        "b = torch.tensor((x + 1).cpu().numpy()).cuda()\nb.add_(1)\nreturn b",
        "b = (x + 1).cuda()\nb.add_(1)\nreturn b",
    ),
]


@pytest.mark.parametrize(("text", "result"), TRIPS)
def test_what_stays_on_the_device_is_copied_where_it_is_written(text: str, result: str) -> None:
    assert repaired(text, "TSC506") == HEAD + body(result)
