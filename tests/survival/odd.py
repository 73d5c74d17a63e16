"""Random programs of constructs that are seldom written together, about torch: valid Python, meant for nobody."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from random import Random

DEPTH = 4  # of expressions
NAMES = ("x", "y", "w", "b", "out", "i", "k", "model", "opt", "loss", "states", "best", "data", "mask", "a", "v")
GLOBALS = ("torch", "nn", "F", "np", "copy", "T", "Net", "helper", "buffers", "print", "list", "dict", "len", "zip")
ATTRIBUTES = (
    "data", "grad", "T", "shape", "weight", "bias", "buf", "relu", "layers", "items", "net", "device", "requires_grad",
    "real", "mT", "is_leaf", "dtype", "state",
)  # fmt: skip
METHODS = (
    "add_", "mul_", "zero_", "copy_", "clone", "detach", "cpu", "cuda", "numpy", "item", "view", "reshape", "t", "to",
    "expand", "expand_as", "repeat", "backward", "step", "zero_grad", "state_dict", "load_state_dict", "parameters",
    "named_parameters", "children", "append", "extend", "pop", "update", "items", "values", "get", "setdefault",
    "contiguous", "float", "half", "type", "index_fill_", "masked_fill", "masked_fill_", "scatter_", "unbind", "chunk",
    "split", "squeeze", "unsqueeze", "narrow", "select", "diagonal", "as_strided", "unfold", "requires_grad_",
    "retain_grad", "register_hook", "register_buffer", "tolist", "sum", "mean", "clamp", "clamp_", "abs", "exp",
    "share_memory_", "pin_memory", "train", "eval", "apply", "forward", "copy", "set_", "resize_", "put_", "sort",
    "new_zeros", "fill_", "index_add_", "transpose", "permute", "flatten", "__getitem__", "__setitem__", "__iadd__",
    "detach_", "synchronize", "broadcast_to", "roll", "cat", "tile", "storage", "data_ptr", "stride", "sub_", "div_",
)  # fmt: skip
CALLS = (
    "torch.zeros(2, 2)", "torch.ones_like(x)", "torch.tensor([1.0, 2.0])", "torch.from_numpy(np.zeros(3))",
    "torch.as_tensor(x)", "torch.empty(3)", "nn.Linear(2, 2)", "nn.ReLU(inplace=True)", "nn.Parameter(x)",
    "torch.cat([x, y])", "torch.stack((x, y))", "copy.deepcopy(model)", "copy.copy(states)", "np.asarray(x)",
    "torch.optim.SGD(model.parameters(), lr=0.1)", "torch.broadcast_tensors(x, y)", "torch.where(mask, x, y)",
    "nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])", "[torch.zeros(1)] * 3", "dict.fromkeys('ab', x)",
    "torch.load('a.pt')", "torch.save(model.state_dict(), 'a')", "iter(model.parameters())", "torch.no_grad()",
    "F.relu(x, inplace=True)", "F.relu_(x)", "torch.add(x, 1, out=x)", "torch.split(x, 2)", "getattr(x, 'data')",
    "setattr(x, 'data', y)", "vars(model)", "super().forward(x)", "super().__init__()", "self.net(x)", "type(x)(x)",
    "exec('x = y')", "eval('x')", "globals()", "locals()", "torch.utils.data.DataLoader(data)", "functools.partial(f)",
    "torch.Tensor.add_(x, y)", "torch.jit.script(f)", "torch.func.vmap(f)(x)", "nn.init.zeros_(model.weight)",
    "x.register_hook(lambda g: g.mul_(2))", "torch.autograd.grad(loss, x)", "nn.Sequential(*[nn.ReLU(True)] * 2)",
)  # fmt: skip
IMPORTS = (
    "import torch", "import torch.nn as nn", "from torch import nn", "import torch.nn.functional as F",
    "import torch.nn.functional as torch", "from torch import *", "import numpy as np", "import copy",
    "from copy import deepcopy as copy", "import torch as np", "from . import torch", "from torch.nn import functional",
    "import torch, torch.nn.functional, numpy", "from torch import Tensor as T, nn as nn", "import functools as F",
    "from __future__ import annotations", "from torch.nn.parameter import Parameter as nn",
)  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "@", "//", "%", "**", "<<", ">>", "&", "|", "^")
KEYWORDS = ("out", "dim", "inplace", "copy", "requires_grad", "non_blocking", "device", "set_to_none")
MODULES = ("torch", "F", "nn", "np", "self", "super()", "Net", "nn.init")
TARGETS = ("torch", "nn", "self", "self.x", "self.x[0]", "torch.x", "F", "x.data", "x.grad", "Net.x")
WRITES = ("add_", "zero_", "mul_", "copy_", "data.copy_", "grad.zero_")
KEYS = ("'k'", "0", "x", "y", "self.x")
COMPARISONS = ("<", ">", "==", "!=", "is", "is not", "in", "not in", "<=")
ANNOTATIONS = (
    "torch.Tensor", "'torch.Tensor'", "T", "list[torch.Tensor]", "'list[torch.Tensor]'", "nn.Module", "int",
    "torch.Tensor | None", "'(not (valid'", "dict[str, 'torch.Tensor']", "Net", "'Net'", "lambda: 0", "*tuple[T, ...]",
    "np.ndarray", "'\\x00'", "''", "f'{T}'",
)  # fmt: skip


class Writer:
    """Writes one program; every choice is of `random`."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._functions = 0
        self._in_loop = False
        self._in_function = False
        self._in_async = False

    def program(self) -> str:
        lines = self._some(IMPORTS, 1, 6)
        lines.sort(key=lambda line: "__future__" not in line)
        if not any(line.startswith("import torch") for line in lines):
            lines.append("import torch")
        lines.append("buffers = {}")
        for _ in range(self._random.randint(1, 4)):
            lines += self._random.choice((self._function, self._function, self._class, self._statement))(2)
        return "\n".join(lines) + "\n"

    def expression(self, depth: int) -> str:
        """One of at most that depth, in a function or not."""
        self._in_function = self._chance(5)
        return self._expression(depth)

    def target(self) -> str:
        return self._target()

    # Helpers.

    def _pick(self, values: Sequence[str]) -> str:
        return self._random.choice(values)

    def _some(self, values: Sequence[str], least: int, most: int) -> list[str]:
        return [self._pick(values) for _ in range(self._random.randint(least, most))]

    def _chance(self, of_ten: int) -> bool:
        return self._random.randrange(10) < of_ten

    # Expressions.

    def _name(self) -> str:
        if self._in_function and self._chance(1):
            return "self"
        return self._pick(NAMES) if self._chance(9) else self._pick(GLOBALS)

    def _expression(self, depth: int = DEPTH) -> str:
        if depth <= 0:
            return self._name() if self._chance(8) else self._pick(("1", "0.5", "None", "True", "'a'", "...", "b'a'"))
        kinds: tuple[tuple[int, Callable[[int], str]], ...] = (
            (6, lambda d: self._name()),
            (4, lambda d: self._pick(CALLS)),
            (7, self._method),
            (4, self._attribute),
            (4, self._subscript),
            (2, lambda d: f"({self._expression(d)} {self._pick(OPERATORS)} {self._expression(d)})"),
            (1, self._comparison),
            (1, lambda d: f"({self._expression(d)} if {self._expression(d)} else {self._expression(d)})"),
            (1, lambda d: f"({self._expression(d)} {self._pick(('and', 'or'))} {self._expression(d)})"),
            (1, lambda d: f"({self._pick(('not ', '-', '~', '+'))}{self._expression(d)})"),
            (2, self._display),
            (2, self._comprehension),
            (1, lambda d: f"(lambda {self._parameters(d, annotated=False)}: {self._expression(d)})"),
            (2, lambda d: f"({self._pick(NAMES)} := {self._expression(d)})"),
            (1, self._text),
            (1, lambda d: f"(yield {self._expression(d)})" if self._in_function else self._name()),
            (1, lambda d: f"(yield from {self._expression(d)})" if self._yields_from() else self._name()),
            (1, lambda d: f"(await {self._expression(d)})" if self._in_async else self._name()),
        )
        weights = [weight for weight, _ in kinds]
        return self._random.choices([kind for _, kind in kinds], weights)[0](depth - 1)

    def _yields_from(self) -> bool:
        return self._in_function and not self._in_async

    def _method(self, depth: int) -> str:
        arguments = [self._expression(depth - 1) for _ in range(self._random.choice((0, 0, 1, 1, 2)))]
        if self._chance(1):
            arguments.append(f"*{self._expression(depth - 1)}")
        if self._chance(2):
            arguments.append(f"{self._pick(KEYWORDS)}={self._expression(depth - 1)}")
        elif self._chance(1):
            arguments.append(f"**{self._expression(depth - 1)}")
        if self._chance(1):
            called = self._expression(depth)
        elif self._chance(2):
            called = f"{self._pick(MODULES)}.{self._pick(METHODS)}"
        else:
            called = f"{self._primary(depth)}.{self._pick(METHODS)}"
        return f"{called}({', '.join(arguments)})"

    def _primary(self, depth: int) -> str:
        text = self._expression(depth)
        return text if text.isidentifier() or text[-1] in ")]" else f"({text})"

    def _attribute(self, depth: int) -> str:
        return f"{self._primary(depth)}.{self._pick(ATTRIBUTES)}"

    def _subscript(self, depth: int) -> str:
        return f"{self._primary(depth)}[{self._index(depth)}]"

    def _index(self, depth: int) -> str:
        expression = self._expression(depth - 1)
        return self._pick(
            ("0", "-1", ":", "...", "None", "::-1", "1:", f"{expression}:", f"[{expression}]", f"{expression},", ":, 0",
             expression, "'k'", f"..., {expression}", f"*{self._name()},", "[0, 1]", "mask", f"{self._name()} > 0")
        )  # fmt: skip

    def _comparison(self, depth: int) -> str:
        parts = [self._expression(depth)]
        for _ in range(self._random.randint(1, 3)):
            parts += [self._pick(COMPARISONS), self._expression(depth)]
        return f"({' '.join(parts)})"

    def _display(self, depth: int) -> str:
        parts = [("*" if self._chance(1) else "") + self._expression(depth) for _ in range(self._random.randint(0, 3))]
        if self._chance(4):
            return f"[{', '.join(parts)}]"
        if self._chance(4):
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if self._chance(3) and parts:
            return f"{{{', '.join(parts)}}}"
        pairs = [f"{self._pick(KEYS)}: {self._expression(depth)}" for _ in parts]
        if self._chance(2):
            pairs.append(f"**{self._expression(depth)}")
        return f"{{{', '.join(pairs)}}}"

    def _comprehension(self, depth: int) -> str:
        item = self._expression(depth)
        clauses = []
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            word = "async for" if self._in_async and self._chance(2) else "for"
            clauses.append(f"{word} {self._loop_target()} in {self._iterated(depth)}")
            clauses += [f"if {self._expression(depth - 1)}" for _ in range(self._random.choice((0, 0, 1, 2)))]
        body = " ".join(clauses)
        return self._pick(
            (f"[{item} {body}]", f"({item} {body})", f"{{{item} {body}}}", f"{{{self._pick(NAMES)}: {item} {body}}}",
             f"list({item} {body})")
        )  # fmt: skip

    def _iterated(self, depth: int) -> str:
        x, y = self._name(), self._name()
        return self._pick(
            ("range(3)", "model.parameters()", f"{x}.state_dict().items()", f"zip({x}, {y})", f"enumerate({x})", x,
             f"reversed({x})", f"({x}, {y})", f"[*{x}, {y}]", f"{self._expression(depth - 1)}", f"{x}.unbind()",
             "model.named_parameters()", "opt.param_groups")
        )  # fmt: skip

    def _text(self, depth: int) -> str:
        inside = self._expression(0).replace("'", "").replace('"', "") or "x"
        nested = f"f\"{{f'{{{inside}}}'}}\""
        return self._pick((f"f'{{{inside}}}'", f"f'{{{inside}!r:>{{{inside}}}}}'", nested, f"f'{{{inside}=}}'"))

    # Targets and parameters.

    def _target(self, depth: int = 2) -> str:
        kinds: tuple[Callable[[], str], ...] = (
            lambda: self._pick(NAMES),
            lambda: self._pick(NAMES),
            lambda: self._attribute(1),
            lambda: self._subscript(1),
            lambda: self._pick(TARGETS),
            lambda: self._tuple_target(depth),
        )
        return self._random.choice(kinds)()

    def _tuple_target(self, depth: int) -> str:
        if depth <= 0:
            return self._pick(NAMES)
        parts = [self._target(depth - 1) for _ in range(self._random.randint(1, 3))]
        if self._chance(3):
            at = self._random.randrange(len(parts))
            parts[at] = "*" + self._pick((self._pick(NAMES), "x.data", "x[0]", "self.x"))
        joined = ", ".join(parts)
        return f"[{joined}]" if self._chance(3) else f"({joined},)"

    def _loop_target(self) -> str:
        return self._pick(NAMES) if self._chance(5) else self._pick(
            (f"{self._pick(NAMES)}, {self._pick(NAMES)}", f"({self._pick(NAMES)}, *{self._pick(NAMES)})",
             f"{self._pick(NAMES)}, ({self._pick(NAMES)}, {self._pick(NAMES)})", "self.x" , "x[0]", "x.data")
        )  # fmt: skip

    def _parameters(self, depth: int, *, annotated: bool = True) -> str:
        names = self._random.sample(NAMES, self._random.randint(0, 4))
        parts, default = [], False
        slash = self._random.randint(1, 9)
        star = self._random.randint(1, 9)
        for number, name in enumerate(names, 1):
            text = name
            if annotated and self._chance(5):
                text += f": {self._pick(ANNOTATIONS).replace('*', '')}"
            if default or self._chance(2):
                default = True
                text += f"={self._expression(1) if self._chance(5) else self._pick(CALLS)}"
            parts.append(text)
            if number == slash:
                parts.append("/")
            if number == star and number >= slash and number < len(names):
                parts.append("*")
                slash = 99
        if "*" not in parts and self._chance(2):
            parts.append("*args")
        if self._chance(1):
            parts.append("**kwargs")
        return ", ".join(parts)

    # Statements, as lines.

    def _block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3))):
            lines += self._statement(depth)
        return [f"    {line}" for line in lines or ["pass"]]

    def _statement(self, depth: int) -> list[str]:
        simple = (
            self._assigned, self._assigned, self._assigned, self._augmented, self._augmented, self._called,
            self._called, self._written, self._left, self._other,
        )  # fmt: skip
        if depth <= 0 or self._chance(6):
            return [self._random.choice(simple)()]
        compound: tuple[Callable[[int], list[str]], ...] = (
            self._if, self._if, self._for, self._for, self._while, self._try, self._with, self._match, self._function,
            self._class, self._training,
        )  # fmt: skip
        return self._random.choice(compound)(depth - 1)

    def _assigned(self) -> str:
        value = self._expression()
        if self._chance(1):
            return f"{self._pick((*NAMES, 'self.x', 'x[0]', '(x)'))}: {self._pick(ANNOTATIONS[:12])} = {value}"
        targets = [self._target() for _ in range(self._random.choice((1, 1, 1, 1, 2, 3)))]
        if self._chance(1):
            value = f"{value}, *{self._expression(1)}"
        return " = ".join([*targets, value])

    def _augmented(self) -> str:
        target = self._random.choice(
            (lambda: self._pick(NAMES), lambda: self._subscript(2), lambda: self._attribute(2), lambda: "x.data[0].T")
        )()
        return f"{target} {self._pick(OPERATORS)}= {self._expression(2)}"

    def _called(self) -> str:
        return self._method(3)

    def _written(self) -> str:
        return f"{self._pick(NAMES)}.{self._pick(WRITES)}({self._name()})"

    def _left(self) -> str:
        ways = ["pass", f"raise {self._expression(1)}", f"raise {self._name()} from {self._name()}"]
        if self._in_function:
            ways += ["return", f"return {self._expression(2)}", f"return {self._expression(1)}, {self._name()}"] * 2
            if self._in_async:
                ways = [way.replace("return x,", "return") for way in ways]
        if self._in_loop:
            ways += ["continue", "break"] * 2
        return self._pick(ways)

    def _other(self) -> str:
        name = self._pick(NAMES)
        ways = [
            f"del {name}", f"del {self._subscript(1)}, {self._attribute(1)}", f"del ({name}, [{self._pick(NAMES)}])",
            f"assert {self._expression(2)}, {self._expression(1)}", f"{name}: torch.Tensor", self._expression(3),
            "'a text'", "...", self._pick([line for line in IMPORTS if "*" not in line and "__" not in line]),
            "x = 1; y = x; y += x", "exec('x = 1')", f"global {self._pick(('buffers', 'G', 'H'))}",
        ]  # fmt: skip
        if not self._in_function:
            ways.append("from torch import *")
        return self._pick(ways)

    def _if(self, depth: int) -> list[str]:
        lines = [f"if {self._expression(2)}:", *self._block(depth)]
        while self._chance(2):
            lines += [f"elif {self._expression(2)}:", *self._block(depth)]
        return [*lines, "else:", *self._block(depth)] if self._chance(4) else lines

    def _looped(self, depth: int) -> list[str]:
        before, self._in_loop = self._in_loop, True
        try:
            return self._block(depth)
        finally:
            self._in_loop = before

    def _for(self, depth: int) -> list[str]:
        word = "async for" if self._in_async and self._chance(3) else "for"
        lines = [f"{word} {self._loop_target()} in {self._iterated(2)}:", *self._looped(depth)]
        return [*lines, "else:", *self._block(depth)] if self._chance(2) else lines

    def _while(self, depth: int) -> list[str]:
        lines = [f"while {self._expression(2)}:", *self._looped(depth)]
        return [*lines, "else:", *self._block(depth)] if self._chance(2) else lines

    def _training(self, depth: int) -> list[str]:
        """The loop that the rules are about, with anything within it."""
        steps = ["    loss = model(x).sum()", "    opt.zero_grad()", "    loss.backward()", "    opt.step()"]
        if self._chance(2):
            self._random.shuffle(steps)
        kept = self._pick(("model.state_dict()", "list(model.parameters())", "model", "x.grad", "x.data"))
        before = self._looped(depth)
        lines = [f"best = {kept}", "for x, y in data:", *before, *steps, *self._looped(depth)]
        return [*lines, "model.load_state_dict(best)"]

    def _try(self, depth: int) -> list[str]:
        lines = ["try:", *self._block(depth)]
        starred = self._chance(2)
        handlers = self._random.randint(0, 2)
        if starred:
            before = self._in_loop, self._in_function
            self._in_loop = self._in_function = False  # what leaves the handler is a syntax error there
        for _ in range(handlers):
            word = "except*" if starred else "except"
            lines += [f"{word} {self._pick(('ValueError', '(OSError, x.a)'))}{self._pick(('', ' as x', ' as e'))}:"]
            lines += self._block(depth)
        if starred:
            self._in_loop, self._in_function = before
        if handlers and self._chance(3):
            lines += ["else:", *self._block(depth)]
        if not handlers or self._chance(4):
            lines += ["finally:", *self._block(depth)]
        return lines

    def _with(self, depth: int) -> list[str]:
        word = "async with" if self._in_async and self._chance(3) else "with"
        items = [
            self._pick(("torch.no_grad()", "torch.enable_grad()", "torch.inference_mode()", "torch.autocast('cuda')",
                        "torch.set_grad_enabled(False)", self._expression(2), "torch.cuda.stream(x)"))
            for _ in range(self._random.randint(1, 2))
        ]  # fmt: skip
        named = [f"{item} as {self._target(1)}" if self._chance(3) else item for item in items]
        return [f"{word} {', '.join(named)}:", *self._block(depth)]

    def _pattern(self, depth: int) -> str:
        name = self._pick(NAMES)
        if depth <= 0:
            return self._pick((name, "_", "0", "'a'", "None", "-1.5", "torch.float32"))
        first, second = self._pattern(depth - 1), self._pattern(0)
        return self._pick(
            (f"[{first}, *_]", f"({second}, {first})", f"{{'k': {first}, **rest}}", f"torch.Tensor(data={first})",
             f"Net({first}, x={second})", f"[*_, {second}]", f"{{0: {first}}}", "str() | 0", f"({first}) as whole")
        )  # fmt: skip

    def _match(self, depth: int) -> list[str]:
        lines = [f"match {self._expression(2)}{self._pick(('', ',', ', y'))}:"]
        for _ in range(self._random.randint(1, 3)):
            guard = f" if {self._expression(1)}" if self._chance(3) else ""
            lines += [f"    case {self._pattern(2)}{guard}:", *(f"    {line}" for line in self._block(depth))]
        return lines

    def _decorators(self) -> list[str]:
        made = (
            "@lambda f: f", "@torch.no_grad()", "@torch.no_grad", "@property", "@staticmethod", "@classmethod",
            "@functools.wraps(x)", "@x[0].y", "@(y := x)", "@torch.jit.script", "@torch.inference_mode()", "@x.setter",
            "@functools.cached_property", "@functools.cache", "@contextlib.contextmanager", f"@{self._expression(1)}",
            "@typing.overload", "@torch.compile(fullgraph=True)",
        )  # fmt: skip
        return [self._pick(made) for _ in range(self._random.choice((0, 0, 0, 1, 2)))]

    def _function(self, depth: int) -> list[str]:
        self._functions += 1
        before = self._in_loop, self._in_function, self._in_async
        decorators, parameters = self._decorators(), self._parameters(1)
        self._in_loop, self._in_function, self._in_async = False, True, self._chance(2)
        returns = f" -> {self._pick(ANNOTATIONS[:12])}" if self._chance(3) else ""
        name = self._pick((f"f{self._functions}", "f", "helper", "forward", "__init__", "training_step", "__getitem__",
                           "__getattr__", "x", "torch", "__iadd__", "__call__", "setup"))  # fmt: skip
        if self._chance(4):
            parameters = f"self, {parameters}" if not parameters.startswith("/") else "self"
        lines = [f"{'async ' * self._in_async}def {name}({parameters}){returns}:"]
        if before[1] and self._chance(2):
            free = [one for one in ("x", "y", "best", "loss") if one not in parameters]
            lines += [f"    nonlocal {self._pick(free)}"] if free else []
        elif self._chance(2):
            lines.append("    global buffers, G")
        for _ in range(self._random.randint(1, 4)):
            lines += self._block(depth)
        if self._chance(5):
            lines.append(f"    return {self._name()}" if not self._in_async else "    return")
        self._in_loop, self._in_function, self._in_async = before
        return [*decorators, *lines]

    def _class(self, depth: int) -> list[str]:
        before = self._in_loop, self._in_function, self._in_async
        bases = self._pick(
            ("", "(nn.Module)", "(torch.nn.Module)", "(Net)", "(torch.Tensor)", "(Net, metaclass=Meta)", "(type)",
             "(torch.utils.data.Dataset)", "(A, B)", "(*bases)", "(x.y[0])", "(Net2)", "(torch.autograd.Function)",
             f"({self._expression(1)})", "(nn.Module, Generic[T])", "(pl.LightningModule)", "(torch.optim.Optimizer)")
        )  # fmt: skip
        name = self._pick(("Net", "Net2", "A", "B", "torch", "nn", "T", "Meta"))
        decorators = ["@dataclasses.dataclass"] if self._chance(2) else self._decorators()
        lines = [*decorators, f"class {name}{bases}:"]
        self._in_loop = self._in_function = self._in_async = False
        for _ in range(self._random.randint(1, 4)):
            made = self._function(depth) if self._chance(6) else self._statement(depth)
            lines += [f"    {line}" for line in made]
        if self._chance(3):
            lines += ["    def __init__(self, x):", "        super().__init__()"]
            lines.append(f"        self.{self._pick(ATTRIBUTES)} = {self._expression(3)}")
        self._in_loop, self._in_function, self._in_async = before
        return lines


def written(random: Random) -> Iterator[str]:
    """Programs that parse, without end."""
    while True:
        text = Writer(random).program()
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        yield text
