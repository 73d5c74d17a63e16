"""Finding calls: arguments that a name takes, from its recipe or by trying typical ones."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from flake8_tensorcopy.verify.optable.inputs import SHAPES, SPECIAL, Inputs, Sym, resolve
from flake8_tensorcopy.verify.optable.recipes import RECIPES
from flake8_tensorcopy.verify.optable.targets import Param, Target

INTS: Final = (0, 1, 2, 3, -1)
SCALARS: Final = (0.5, 2, 1.0)


@dataclass(frozen=True, slots=True)
class Call:
    """One way of calling: what is passed, with symbols for tensors."""

    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    minimal: bool = True
    """Only required arguments are given."""
    whole: bool = False
    """Besides them every tensor that may be left out, and nothing else."""


def candidates(param: Param) -> list[Any]:
    """Arguments worth trying for a parameter, the typical first."""
    import torch

    match param.kind:
        case "tensor":
            name = param.name
            if re.search(r"ind(ex|ices)|^idx", name):
                return [Sym("i"), Sym("j"), Sym("m"), Sym("v")]
            if "mask" in name or name == "condition":
                return [Sym("k"), Sym("kv"), Sym("m")]
            if name in ("target", "targets"):
                return [Sym("n"), Sym("i"), Sym("w"), Sym("j")]
            return [Sym("m"), Sym("v"), Sym("b"), Sym("s"), Sym("im"), Sym("seq"), Sym("z"), Sym("spd"), Sym("i")]
        case "maybe_tensor":
            return [None, Sym("v"), Sym("m")]
        case "tensors":
            return [[Sym("m"), Sym("n")], [Sym("v"), Sym("w")], [Sym("m")], [Sym("v")], [Sym("i")]]
        case "int":
            return list(INTS)
        case "ints":
            return [[0], [1], [3, 3], [0, 1], [1, 1], [9], 1, 2, [1, 0], [2, 1, 0], [1, 1, 1, 1], [3], []]
        case "float":
            return list(SCALARS)
        case "floats":
            return [[0.5], [0.5, 0.5]]
        case "bool":
            return [True, False]
        case "dtype":
            return [torch.float32, torch.float64]
        case "memory_format":
            return [torch.contiguous_format, torch.preserve_format]
        case "layout":
            return [torch.strided]
        case "device":
            return ["cpu"]
        case "str":
            norms = ["nuc", "fro"] if param.name in ("p", "ord") else []
            return [*norms, "mean", "constant", "ij", "sum", "none"]
        case _:
            return [*[Sym("m")] * (param.name == "obj"), 0.5, 1, None, "cpu"]


SAME_RANK: Final = (
    ("m", "n", "o"),
    ("v", "w", "x"),
    ("b", "c", "d"),
    ("im", "im2"),
    ("s", "t"),
    ("seq", "seq2"),
    ("z", "z"),
    ("spd", "m"),
)
LIMIT: Final = 300
ENOUGH: Final = 12


def find_calls(target: Target) -> list[Call]:
    """Ways of calling the target that do not raise, each in the plain layout or, failing that, any other."""
    recipes = RECIPES.get(target.name)
    by_params: list[tuple[Sequence[Param], list[Call]]] = []
    if recipes is not None:
        found = [call for text in recipes for call in _from_recipe(text, target)]
        by_params = [(params, found) for params in target.signatures]
    else:
        found = []
        for params in target.signatures:
            mine: list[Call] = []
            for call in itertools.islice(_proposals(params), LIMIT):
                if call not in found and works(target, call):
                    mine.append(call)
                if len(mine) >= ENOUGH:
                    break
            by_params.append((params, [call for call in found[:1] if not mine] + mine))
            found += mine
        moved = [call for params, mine in by_params for call in _required_moved(params, mine[:1])]
        found += [call for call in moved if call not in found and works(target, call)]
    varied = [option for params, mine in by_params for call in mine[:6] for option in _options(params, call)]
    varied = [call for call in varied if works(target, call)]
    whole = [full for params, mine in by_params for call in mine[:6] if (full := _whole(params, call, varied))]
    return found + varied + [call for call in whole if works(target, call)]


def _required_moved(params: Sequence[Param], found: list[Call]) -> Iterator[Call]:
    """The first call with each required argument that is no tensor moved to other values, each in turn."""
    for call in found:
        for k, param in enumerate(params[: len(call.args)]):
            if param.required and param.kind in ("bool", "int", "str") and not isinstance(call.args[k], (Sym, list)):
                for value in candidates(param):
                    if value != call.args[k]:
                        yield replace(call, args=(*call.args[:k], value, *call.args[k + 1 :]))


def _whole(params: Sequence[Param], call: Call, varied: list[Call]) -> Call | None:
    """The call with every tensor that it may be given by position: those of its options that work by themselves."""
    more: dict[str, Any] = {}
    for option in varied:
        if option.args == call.args and option.kwargs[:-1] == call.kwargs:
            name, value = option.kwargs[-1]
            if isinstance(value, Sym):
                more.setdefault(name, value)
    rest = [p for p in params[len(call.args) :] if not p.keyword_only and not p.variadic]
    while rest and rest[-1].name not in more:
        rest.pop()
    if not rest or call.kwargs:
        return None
    args, kwargs = _told_apart([*call.args, *(more.get(p.name, p.default) for p in rest)], [])
    return Call(args, kwargs, minimal=False, whole=True)


def _proposals(params: Sequence[Param]) -> Iterator[Call]:
    required = [p for p in params if p.required]
    tensors = [p for p in required if p.kind == "tensor"]
    # Tensors of equal rank first, for every choice of the other arguments; then mixtures.
    for symbols in SAME_RANK:
        names = itertools.cycle(symbols)
        fixed = {
            p.name: candidates(p)[:2] if _is_index(p) else [Sym(next(names))] if p in tensors else candidates(p)
            for p in required
        }
        yield from itertools.islice(_product(required, fixed), 120)
    yield from _product(required, {p.name: candidates(p) for p in required})


def _is_index(param: Param) -> bool:
    return isinstance(candidates(param)[0], Sym) and candidates(param)[0] not in (Sym("m"), Sym("n"))


def _product(required: Sequence[Param], choices: dict[str, list[Any]]) -> Iterator[Call]:
    for values in itertools.product(*(choices[p.name] for p in required)):
        args: list[Any] = []
        kwargs: list[tuple[str, Any]] = []
        for param, value in zip(required, values, strict=True):
            if param.keyword_only:
                kwargs.append((param.name, value))
            elif param.variadic:
                args.extend(value if isinstance(value, list) else [value])
            else:
                args.append(value)
        yield Call(*_told_apart(args, kwargs))


def _told_apart(args: list[Any], kwargs: list[tuple[str, Any]]) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
    """The arguments with another tensor of the same shape for each that is passed a second time."""
    taken: set[str] = set()

    def another(value: Any) -> Any:
        match value:
            case Sym(name):
                if name in taken and name in SHAPES:
                    name = next((n for n, shape in SHAPES.items() if shape == SHAPES[name] and n not in taken), name)
                taken.add(name)
                return Sym(name)
            case list():
                return [another(item) for item in value]
            case _:
                return value

    return tuple(map(another, args)), tuple((name, another(value)) for name, value in kwargs)


def _options(params: Sequence[Param], call: Call) -> Iterator[Call]:
    """The call with one option moved off its default, each in turn."""
    given = {name for name, _ in call.kwargs}
    for param in params[len(call.args) :]:
        if param.required or param.variadic or param.name in given or param.name in ("out", "inplace", "generator"):
            continue
        values = [not param.default] if param.kind == "bool" and isinstance(param.default, bool) else candidates(param)
        if param.kind == "float":
            values = [0.0, *values]
        for value in values[:4]:
            yield Call(call.args, (*call.kwargs, (param.name, value)), minimal=False)


def _from_recipe(text: str, target: Target) -> list[Call]:
    import torch

    symbols = {name: Sym(name) for name in (*SHAPES, *SPECIAL)}

    def collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    # `self` must be first for the reader and is a keyword for Python.
    args, kwargs = eval(f"collect({text})", {**symbols, "torch": torch, "collect": collect})
    self = kwargs.pop("self", Sym("m"))
    if target.form != "function":
        args = (self, *args)
    return [Call(tuple(args), tuple(kwargs.items()))]


def works(target: Target, call: Call) -> bool:
    """Whether the call returns in some layout."""
    return any(run(target, call, Inputs(layout)) is not None for layout in ("plain", "int", "complex", "double"))


@dataclass(slots=True)
class Ran:
    """A call that returned: what went in, by position (lists flattened), and what came out."""

    args: list[Any]
    kwargs: dict[str, Any]
    result: Any


def run(target: Target, call: Call, inputs: Inputs) -> Ran | None:
    """Calls the target; None if it raises."""
    import torch

    try:
        args = [resolve(value, inputs) for value in call.args]
        kwargs = {name: resolve(value, inputs) for name, value in call.kwargs}
    except Exception:
        return None
    torch.default_generator.manual_seed(0)
    try:
        return Ran(args, kwargs, target.call(*args, **kwargs))
    except Exception:
        return None
