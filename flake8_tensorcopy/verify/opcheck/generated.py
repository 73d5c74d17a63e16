"""Calls from a seeded search over typical values by type and name of the parameters; most of them torch refuses."""

from __future__ import annotations

import inspect
import random
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy
import torch

from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.opcheck.calls import Call, Param, module_call, resolve, signatures

SHAPES: Final = ((4, 4), (4,), (2, 4, 6, 6), (2, 4, 6), (), (2, 4, 4, 4, 4), (1, 4), (3, 3, 3))


def generated(op: Op, seed: int) -> Iterator[Call]:
    """A seeded search: values by type and name of each parameter.  Most of these are refused."""
    target = resolve(op)
    if target is None:
        return
    dice = random.Random(zlib.crc32(op.name.encode()) + seed)
    if op.form == "module":
        for k in range(120):
            built = _module_arguments(target, dice)
            if built is None:
                return
            first = _tensor(dice, SHAPES[dice.randrange(len(SHAPES))], "")
            more = [
                first.clone() if dice.random() < 0.7 else torch.zeros(first.shape[:1]).long()
                for _ in range(dice.choice((0, 0, 1, 2)))
            ]
            if dice.random() < 0.15:
                first = torch.tensor([[0, 1, 1], [1, 0, 1]])
            yield module_call(target, (), built, k % 2 == 0, (first, *more), {})
        return
    if op.form == "property":
        for value in _selves(dice):
            yield Call(target, (value,), searched=True)
        return
    if op.name.startswith("torch.sym_"):
        # For numbers that may be symbolic; tensors get through by accident of what Python does with them.
        return
    lists = signatures(op)
    for k in range(240 if lists else 0):
        params = lists[k % len(lists)]
        shape = SHAPES[0] if k < 6 else dice.choice(SHAPES)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        by_name = False
        for p in params:
            if not p.required and not p.variadic and (k < 24 or dice.random() < 0.75 or p.name in ("out", "inplace")):
                by_name = True
                continue
            if p.variadic:
                args += [_value(p, shape, dice) for _ in range(dice.choice((1, 2, 3)))]
                continue
            value = _self(shape, dice, k) if op.form == "method" and not args else _value(p, shape, dice)
            if p.keyword_only or by_name:
                kwargs[p.name] = value
            else:
                args.append(value)
        yield Call(target, tuple(args), kwargs, searched=True)


def _module_arguments(cls: Callable[..., Any], dice: random.Random) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for p in inspect.signature(cls).parameters.values():
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            values: list[Any] = [1, 2, 4, (2, 2), 0.5, [2], (4, 6), 0]
            found[p.name] = dice.choice(values)
    return found


def _tensor(dice: random.Random, shape: tuple[int, ...], name: str) -> torch.Tensor:
    maker = torch.Generator().manual_seed(dice.randrange(1 << 30))
    if re.search(r"ind(ex|ices)|idx|target|offsets|lengths|labels|pivots|zero_point", name) and dice.random() < 0.7:
        return torch.randint(0, 2, shape, generator=maker)
    if re.search(r"mask|condition", name) and dice.random() < 0.8:
        return torch.randint(0, 2, shape, generator=maker).bool()
    made = torch.rand(shape, generator=maker) + 0.1
    match dice.random():
        case chance if chance < 0.05:
            return made.double()
        case chance if chance < 0.10:
            return torch.randint(0, 3, shape, generator=maker)
        case chance if chance < 0.13:
            return torch.complex(made, made)
        case chance if chance < 0.15:
            return made > 0.5
    return made


def _selves(dice: random.Random) -> list[torch.Tensor]:
    """Tensors of every layout, the common ones first."""
    made = torch.rand(4, 4, generator=torch.Generator().manual_seed(dice.randrange(1 << 30))) + 0.1
    found = [made, made.t(), made[0], made.double(), torch.complex(made, made), (made * 4).long(), made > 0.5]
    found += [torch.complex(made, made).conj(), torch.rand(2, 4, 6), torch.rand(()), made[:, ::2], made.half()]
    found += [made.to_sparse(), torch.quantize_per_tensor(made, 0.1, 0, torch.quint8)]
    scales, zeros = torch.full((4,), 0.1, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)
    found += [torch.quantize_per_channel(made, scales, zeros, 0, torch.quint8)]
    found += [made.to_sparse_csr(), made.to_sparse_csc(), made.to_sparse_bsr((2, 2)), made.to_sparse_bsc((2, 2))]
    found += [made.to_mkldnn(), torch.nested.nested_tensor([torch.rand(2), torch.rand(3)])]
    twice = torch.tensor([[0, 0], [1, 1]])
    found += [torch.sparse_coo_tensor(twice, torch.tensor([1.0, 2.0]), (4, 4)), torch.rand(4, requires_grad=True)]
    return found


def _self(shape: tuple[int, ...], dice: random.Random, k: int) -> torch.Tensor:
    return _tensor(dice, shape, "self") if dice.random() < 0.5 or k < 4 else dice.choice(_selves(dice))


def _value(p: Param, shape: tuple[int, ...], dice: random.Random) -> Any:
    kind = re.sub(r"Optional\[(.*)\]", r"\1", p.kind)
    name = p.name
    if name == "dtype" or kind == "dtype":
        return dice.choice((torch.float32, torch.float64, torch.int64, torch.quint8, torch.complex64))
    match kind:
        case "memory_format":
            return dice.choice((torch.contiguous_format, torch.preserve_format))
        case "layout":
            return dice.choice((torch.strided, torch.sparse_csr, torch.sparse_coo))
        case "device" | "torch.device":
            return torch.device("cpu")
        case "bool":
            return dice.random() < 0.5
        case "int" | "SymInt":
            return dice.choice((0, 1, 2, 3, 4, -1))
        case "float" | "number" | "Scalar" | "complex":
            return dice.choice((0.5, 0.1, 1.0, 2, 0.0))
        case "List[int]" | "List[SymInt]" if name in ("size", "shape"):
            return dice.choice(([4, 4], [3], [2, 3], [16], [2, 8]))
        case "List[int]" | "List[SymInt]":
            return dice.choice(([0], [1], [4, 4], [0, 1], [1, 1], [2, 2], [4], [], [1, 1, 1], [0, 0]))
        case "List[float]":
            return [0.5] * dice.choice((1, 2))
        case "List[Tensor]" | "List[Optional[Tensor]]":
            return [_tensor(dice, shape, name) for _ in range(dice.choice((1, 2, 3)))]
        case "str":
            return dice.choice(("mean", "sum", "none", "constant", "ij", "max", "trunc", str(p.default)))
        case "Generator":
            return None
    if re.search(r"\b(int|float|Number|number)\b", kind) and "Tensor" not in kind:
        return dice.choice((0.5, 2.0, 1.0) if "float" in kind else (0, 1, 2, 3))
    if "Tensor" in kind or name in ("input", "other", "x", "weight", "bias", "self", "tensor"):
        shape = dice.choice(SHAPES) if dice.random() < 0.2 else shape
        return _tensor(dice, shape, name) if dice.random() < 0.85 else dice.choice(_selves(dice))
    if "ndarray" in kind or name in ("ndarray", "buffer"):
        return numpy.ones((4, 4), dtype=numpy.float32)
    choices: tuple[Any, ...] = (
        _tensor(dice, shape, name),
        numpy.ones((4, 4), dtype=numpy.float32),
        [1.0, 2.0],
        1,
        0.5,
        (2, 2),
    )
    return dice.choice((*choices, torch.float32))
