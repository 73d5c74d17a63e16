"""Code that a linter may be slow on: each shape is a function from a size to a text, most of them torch code."""

from __future__ import annotations

from collections.abc import Callable

ORDINARY = '''\
class Block{n}(nn.Module):
    """Two layers and what they remember."""

    def __init__(self, width: int, momentum: float = 0.9) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width)
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(width))
        self.seen = []

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        skip = x
        x = F.relu(self.inner(x))
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        y = self.outer(x).view(x.shape[0], -1)
        self.mean.mul_(self.momentum).add_(y.detach().mean(0), alpha=1 - self.momentum)
        return y + skip

    def remember(self, batches):
        for batch in batches:
            out = self.forward(batch["x"].to("cuda"))
            loss = (out - batch["y"]).pow(2).mean()
            self.seen.append(loss.detach().cpu().item())
        return sum(self.seen) / max(1, len(self.seen))


def train{n}(model, loader, optimizer, epochs=10):
    best, state = float("inf"), None
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if total < best:
            best = total
            state = {{name: value.clone() for name, value in model.state_dict().items()}}
    return state


'''
HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"


def repeated(size: int) -> str:
    """Ordinary classes and functions, one after the other: about `size` lines."""
    return HEAD + "".join(ORDINARY.format(n=n) for n in range(max(1, size // ORDINARY.count("\n"))))


def one_function(size: int) -> str:
    """One function of `size` lines, as a generator of code would write it."""
    lines = ["def f(x, w):\n", "    y = x.clone()\n"]
    for n in range(size // 4):
        lines += [
            f"    t{n} = torch.matmul(y, w[{n}])\n",
            f"    u{n} = t{n}.view(-1)[{n}:]\n",
            f"    y = y + t{n} * {n}.0\n",
            f"    y[{n}] = u{n}.sum()\n",
        ]
    return HEAD + "".join(lines) + "    return y\n"


def branches(size: int) -> str:
    """`size` branches in a row over one tensor."""
    body = "".join(f"    if k == {n}:\n        y = x\n        x.add_({n})\n" for n in range(size))
    return HEAD + "def f(x: torch.Tensor, k):\n    y = x.clone()\n" + body + "    return x + y\n"


def rewritten(size: int) -> str:
    """`size` branches in a row, each of which may bind the tensor anew."""
    body = "".join(f"    if flags[{n}]:\n        x = x + torch.relu(y) * {n}\n" for n in range(size))
    return (
        HEAD + "def f(x: torch.Tensor, y: torch.Tensor, flags):\n    old = x\n    y.mul_(2)\n" + body + "    return x\n"
    )


def straight(size: int) -> str:
    """One function of `size` lines over one tensor: each line is computed from the one before."""
    body = "".join(
        f"    v{n + 1} = torch.relu(v{n}.view(-1, {n + 1}) @ w + v{n}.detach())\n    v{n + 1}.add_(1)\n"
        for n in range(size // 2)
    )
    return HEAD + "def f(v0: torch.Tensor, w: torch.Tensor):\n" + body + f"    return v{size // 2}\n"


def alternatives(size: int) -> str:
    """One `if` with `size` branches."""
    body = "".join(f"    elif k == {n}:\n        y = x.view({n}, -1)\n        y.add_({n})\n" for n in range(size))
    return HEAD + "def f(x: torch.Tensor, k):\n    y = x\n    if k < 0:\n        y = -x\n" + body + "    return x + y\n"


def appended(size: int) -> str:
    """A list to which tensors are appended `size` times."""
    body = "".join(f"    x.mul_({n})\n    kept.append(x)\n" for n in range(size))
    return HEAD + "def f(x: torch.Tensor):\n    kept = []\n" + body + "    return kept\n"


def calls(size: int) -> str:
    """`size` functions that call each other: the next one, and one far off."""
    return HEAD + "".join(
        f"def f{n}(x: torch.Tensor):\n    y = x\n    x.add_({n})\n    f{(n + 1) % size}(y)\n"
        f"    return f{(n * 7 + 3) % size}(x) + y\n\n\n"
        for n in range(size)
    )


def methods(size: int) -> str:
    """A class of `size` methods that write what the others keep."""
    return (
        HEAD
        + "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        self.a{n} = torch.zeros(3)\n" for n in range(size))
        + "".join(
            f"\n    def m{n}(self, x):\n        old = self.a{n}\n        self.a{(n + 1) % size}.add_(x)\n"
            f"        self.m{(n + 1) % size}(old)\n        return self.a{n}\n"
            for n in range(size)
        )
    )


def loops(size: int) -> str:
    """`size` loops in a row, each with a loop inside."""
    body = "".join(
        f"    for i{n} in range(n):\n        old = x\n        for j{n} in range(n):\n            x.add_(i{n} * j{n})\n"
        "        y = y + old\n"
        for n in range(size)
    )
    return HEAD + "def f(x: torch.Tensor, n):\n    y = torch.zeros(3)\n" + body + "    return y\n"


def nested(size: int) -> str:
    """Loops and branches inside one another, 18 deep, `size` times: Python takes no more than 20 blocks."""
    texts = []
    for n in range(size):
        lines = [f"def f{n}(x: torch.Tensor, n):", "    y = x"]
        for depth in range(1, 19):
            head = f"for i{depth} in range(n):" if depth % 2 else f"if n > {depth}:"
            lines += [f"{'    ' * depth}{head}", f"{'    ' * (depth + 1)}y = x.view(-1)"]
        lines += [f"{'    ' * 19}x.add_(1)", "    return y", "", ""]
        texts.append("\n".join(lines))
    return HEAD + "\n".join(texts)


def cases(size: int) -> str:
    """One `match` of `size` cases."""
    body = "".join(
        f"        case {n}:\n            y = x.view({n}, -1)\n            y.add_({n})\n" for n in range(size)
    )
    return HEAD + "def f(x: torch.Tensor, k):\n    y = x\n    match k:\n" + body + "    return x + y\n"


def exits(size: int) -> str:
    """`size` early exits in a row."""
    body = "".join(f"    if k == {n}:\n        x.add_({n})\n        return x - old\n" for n in range(size))
    return HEAD + "def f(x: torch.Tensor, k):\n    old = x.clone()\n" + body + "    return x\n"


def answers(size: int) -> str:
    """One `if` with `size` branches, each of which binds a name of its own and leaves a loop or goes on."""
    body = "".join(
        f"        elif k == {n}:\n            y{n} = x[{n}]\n            y{n}.add_(1)\n"
        + "            break\n" * (n % 2)
        for n in range(size)
    )
    return (
        HEAD
        + "def f(x: torch.Tensor, ks):\n    for k in ks:\n        if k < 0:\n            pass\n"
        + body
        + "    return x\n"
    )


def guarded(size: int) -> str:
    """A `try` around `size` statements, each of which binds a name."""
    body = "".join(f"        y{n} = x.view({n}, -1).clone()\n        y{n}.add_(y)\n" for n in range(size // 2))
    tail = "    except ValueError:\n        y = x\n    return x + y\n"
    return HEAD + "def f(x: torch.Tensor):\n    y = x.clone()\n    try:\n" + body + tail


def attributes(size: int) -> str:
    """`size` branches in a row, each of which may bind an attribute."""
    body = "".join(f"        if self.on{n}:\n            self.b{n} = x * {n}\n" for n in range(size))
    return (
        HEAD + "class Model(nn.Module):\n    def forward(self, x: torch.Tensor):\n        old = x.clone()\n"
        "        x.add_(1)\n" + body + "        return x - old\n"
    )


def returning(size: int) -> str:
    """A class of `size` methods that hand out buffers and `size` that write them."""
    return (
        HEAD
        + "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f'        self.register_buffer("b{n}", torch.zeros(3))\n' for n in range(size))
        + "".join(
            f"\n    def get{n}(self):\n        return self.b{n}\n\n"
            f"    def set{n}(self, x):\n        self.b{n}.add_(x)\n"
            for n in range(size)
        )
    )


def trainings(size: int) -> str:
    """One function that trains in one loop after the other."""
    return (
        HEAD
        + "def train(model, loader, optimizer):\n    total = 0.0\n"
        + "".join(
            "    for batch in loader:\n        loss = model(batch).mean()\n        optimizer.zero_grad()\n"
            "        loss.backward()\n        optimizer.step()\n        total += loss.detach()\n"
            for _ in range(size)
        )
        + "    return total\n"
    )


def heads(size: int) -> str:
    """One training loop with many losses, each of which is backpropagated by a call of its own."""
    return (
        HEAD
        + "def step(model, loss, optimizer):\n    loss.backward()\n    optimizer.step()\n\n\n"
        + "def train(models, loader, optimizer):\n    for batch in loader:\n"
        + "".join(
            f"        loss{n} = models[{n}](batch).mean()\n        step(models[{n}], loss{n}, optimizer)\n"
            for n in range(size)
        )
    )


def closures(size: int) -> str:
    """One function with many inside, each of which is called once."""
    return (
        HEAD
        + "def run(x, scale):\n"
        + "".join(
            f"    def change{n}(part):\n        part.mul_(scale)\n        return part\n\n    y{n} = change{n}(x[{n}])\n"
            for n in range(size)
        )
        + "    return x\n"
    )


def composed(size: int) -> str:
    """Modules that each hold the one before, all under one name."""
    return HEAD + "\n\n".join(
        f"class Layer{n}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.inner = {f'Layer{n - 1}()' if n else 'nn.Linear(3, 3)'}\n\n"
        "    def forward(self, x):\n        x = self.inner(x)\n        x += 1\n        return x\n"
        for n in range(size)
    )


def carried(size: int) -> str:
    """Functions that hand one object on, each of which changes one more of the tensors that it holds."""
    return HEAD + "".join(
        f"def step{n}(state, options):\n    state.table{n}.mul_(options.rate{n})\n"
        + (f"    step{n - 1}(state, options)\n" if n else "")
        + f"    return state.table{n}\n\n\n"
        for n in range(size)
    )


def inheriting(size: int) -> str:
    """Classes of which each inherits from the one before."""
    return HEAD + "".join(
        f"class Layer{n}({f'Layer{n - 1}' if n else 'nn.Module'}):\n    def forward(self, x):\n        y = x\n"
        "        x.add_(1)\n        return super().forward(y) + x\n\n\n"
        for n in range(size)
    )


def optimizers(size: int) -> str:
    """One function that makes many layers, an optimizer for each, and trains them."""
    return (
        HEAD
        + "def train(batch):\n"
        + "".join(
            f"    net{n} = nn.Linear(3, 3)\n    optimizer{n} = torch.optim.SGD(net{n}.parameters(), lr=0.1)\n"
            f"    net{n}.weight = nn.Parameter(torch.zeros(3, 3))\n    net{n}(batch).sum().backward()\n"
            f"    optimizer{n}.step()\n"
            for n in range(size)
        )
    )


def table(size: int) -> str:
    """A dict of `size` names for one tensor, which is written and returned."""
    items = "".join(f'        "k{n}": x,\n' for n in range(size))
    return HEAD + "def f(x: torch.Tensor):\n    kept = {\n" + items + "    }\n    x.add_(1)\n    return kept, x\n"


def merged(size: int) -> str:
    """Dicts and lists of which each is made of the one before and one tensor more."""
    body = "".join(f'    d = {{**d, "k{n}": x}}\n    xs = xs + [x]\n' for n in range(size))
    return HEAD + "def f(x: torch.Tensor):\n    d, xs = {}, []\n" + body + "    x.add_(1)\n    return d, xs\n"


def summed(size: int) -> str:
    """A training loop that adds the loss to many sums."""
    body = "".join(f"        total{n} += loss\n" for n in range(size))
    first = "".join(f"    total{n} = 0\n" for n in range(size))
    train = "    for batch in loader:\n        loss = model(batch).mean()\n        loss.backward()\n"
    return HEAD + "def f(model, loader):\n" + first + train + body + "    return total0\n"


def yielded(size: int) -> str:
    """A generator that hands out one tensor again and again, in a loop and before it."""
    pairs = "".join(f"    x.add_({n})\n    yield x\n" for n in range(size // 2))
    inside = "".join(f"        x.add_({n})\n        yield x\n" for n in range(size // 2))
    return HEAD + "def f(x: torch.Tensor, n):\n" + pairs + "    for _ in range(n):\n" + inside


def expression(size: int) -> str:
    """One sum of `size` lines."""
    terms = "".join(f"        + y * {n}\n" for n in range(size))
    return HEAD + "def f(x: torch.Tensor):\n    y = x\n    x.add_(1)\n    return (\n        x\n" + terms + "    )\n"


def methods_on(size: int) -> str:
    """Methods that call each other on `self`, each the one before."""
    return (
        HEAD
        + "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "        self.lin = nn.Linear(3, 3)\n"
        + "".join(
            f"\n    def m{n}(self, x):\n        y = self.m{max(0, n - 1)}(x)\n        x.add_(1)\n"
            "        return self.lin(y)\n"
            for n in range(size)
        )
    )


def copied(size: int) -> str:
    """One function that takes the parameters of a model again and again, and writes them each time."""
    body = "".join(
        f"    kept{n} = list(model.parameters())\n    for p in model.parameters():\n        p.data.add_({n})\n"
        for n in range(size)
    )
    return HEAD + "def f(model):\n" + body + "    return kept0\n"


# The sizes of each: the last is about ten times the one before.
SHAPES: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "the same code, repeated": (repeated, (45, 450, 4_500)),
    "one function of many lines": (one_function, (200, 2_000, 20_000)),
    "branches in a row": (branches, (30, 100, 300, 1_000)),
    "branches that bind anew": (rewritten, (30, 100, 300, 1_000)),
    "one long computation": (straight, (200, 2_000, 20_000)),
    "one if of many branches": (alternatives, (30, 100, 300, 1_000)),
    "one match of many cases": (cases, (30, 100, 300, 1_000)),
    "early exits in a row": (exits, (30, 100, 300, 1_000)),
    "branches that leave a loop": (answers, (30, 100, 300, 1_000)),
    "one long try": (guarded, (200, 2_000, 20_000)),
    "attributes bound in branches": (attributes, (30, 100, 300, 1_000)),
    "methods that hand out": (returning, (5, 50, 500)),
    "a list appended to": (appended, (30, 100, 300, 1_000)),
    "functions that call each other": (calls, (5, 50, 500)),
    "training loops in a row": (trainings, (10, 100, 1_000)),
    "losses in one loop": (heads, (10, 100, 1_000)),
    "functions in one function": (closures, (10, 100, 1_000)),
    "modules in modules": (composed, (5, 50, 500)),
    "functions that hand an object on": (carried, (5, 50, 500)),
    "methods of one class": (methods, (5, 50, 500)),
    "loops in a row": (loops, (10, 100, 1_000)),
    "classes that inherit": (inheriting, (20, 200, 2_000)),
    "optimizers in one function": (optimizers, (20, 200, 2_000)),
    "a table of one tensor": (table, (20, 200, 2_000)),
    "dicts and lists made of others": (merged, (30, 300, 3_000)),
    "sums of one loss": (summed, (30, 100, 300, 1_000)),
    "a tensor yielded": (yielded, (30, 100, 300, 1_000)),
    "one long sum": (expression, (10, 100, 1_000)),
    "methods that call the one before": (methods_on, (10, 100, 1_000)),
    "parameters taken again": (copied, (10, 100, 1_000)),
    "blocks 18 deep": (nested, (1, 10, 100)),
}
