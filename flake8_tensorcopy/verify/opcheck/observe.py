"""Calls an op and writes down what happened to storage, version counters, the random generator and the graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy
import torch

from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.opcheck.calls import Call, fitting, position, show, signatures, tensors
from flake8_tensorcopy.verify.opcheck.guard import Guard
from flake8_tensorcopy.verify.opcheck.seen import Kind, Position, Seen

LAYOUTS: Final = ("reversed", "stepped", "negative", "mixed", "wild")
"""Other ways for the same shapes: strides reversed, every second element, a lazy negation, another dtype for all
arguments but the first, and values that are not numbers, infinite, negative."""


@dataclass(slots=True)
class Given:
    """Arguments made afresh from the prototypes of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Any]

    def at(self, op: Op) -> Iterator[tuple[Position, Any]]:
        """Each argument with its position; a list given for separate tensors as those."""
        args = list(self.args)
        if op.variadic and args and isinstance(args[-1], (list, tuple)):
            args[-1:] = args[-1]
        yield from enumerate(args)
        for name, value in self.kwargs.items():
            yield position(op, None, name, len(self.args)), value


# ------------------------------------------------------------------------------------------------------ fresh arguments


def fresh(call: Call, layout: str = "", *, grad: bool = False) -> Given:
    """Copies of the prototypes: same strides, offsets and sharing.  With `grad` no leaves, but tensors that require
    grad where that is possible; with a layout other values of the same shapes in memory."""
    storages: dict[int, Any] = {}
    done: dict[int, Any] = {}
    leaves: list[Any] = []

    def copied(value: Any) -> Any:
        match value:
            case torch.Tensor():
                if id(value) not in done:
                    done[id(value)] = tracked(_laid(_copied(value, storages), layout, first=not done))
                return done[id(value)]
            case numpy.ndarray() | bytearray():
                return value.copy()
            case torch.Size():
                return value
            case tuple() if hasattr(value, "_fields"):
                return type(value)(*map(copied, value))
            case list() | tuple():
                return type(value)(map(copied, value))
            case dict():
                return {key: copied(item) for key, item in value.items()}
            case torch.Generator():
                return torch.Generator().manual_seed(0)
            case _:
                return value

    def tracked(tensor: Any) -> Any:
        able = tensor.is_floating_point() or tensor.is_complex()
        if not grad or not able or tensor.is_quantized or tensor.is_mkldnn:
            return tensor
        leaf = tensor.detach().requires_grad_()
        leaves.append(leaf)
        return leaf.clone()

    return Given(copied(call.args), copied(call.kwargs), leaves)


def _copied(tensor: Any, storages: dict[int, Any]) -> Any:
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized or tensor.is_meta:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    storage = tensor.untyped_storage()
    if storage._cdata not in storages:
        storages[storage._cdata] = storage.clone()
    made = torch.empty(0, dtype=tensor.dtype)
    made.set_(storages[storage._cdata], tensor.storage_offset(), tensor.size(), tensor.stride())
    if tensor.is_conj():
        made = made.conj()
    if tensor.is_neg():
        made = torch._neg_view(made)
    return made.requires_grad_(tensor.requires_grad)


def _laid(tensor: Any, layout: str, *, first: bool) -> Any:
    if not layout or not strided(tensor) or tensor.is_quantized:
        return tensor
    tensor = tensor.detach()
    match layout:
        case "reversed":
            order = tuple(reversed(range(tensor.dim())))
            return tensor.permute(order).clone(memory_format=torch.contiguous_format).permute(order)
        case "stepped" if tensor.dim():
            return tensor.repeat_interleave(2, -1)[..., ::2]
        case "negative" if tensor.is_floating_point():
            return torch._neg_view(tensor)
        case "mixed" if not first and tensor.dtype == torch.float32:
            return tensor.double()
        case "wild" if tensor.is_floating_point():
            values = torch.tensor([float("nan"), -2.5, 3.0, float("inf"), 0.5], dtype=tensor.dtype)
            return values.repeat(tensor.numel() // 5 + 1)[: tensor.numel()].reshape(tensor.shape)
    return tensor


# --------------------------------------------------------------------------------------------------------------- memory


def parts(value: Any) -> list[Any]:
    """The strided tensors and arrays that hold the data of a tensor or array."""
    if isinstance(value, (numpy.ndarray, bytearray)):
        return [value]
    try:
        match value.layout:
            case torch.strided if not value.is_nested:
                return [value]
            case torch.strided:
                return [value.values()]
            case torch.sparse_coo:
                return [value._indices(), value._values()]
            case torch.sparse_csr | torch.sparse_bsr:
                return [value.crow_indices(), value.col_indices(), value.values()]
            case torch.sparse_csc | torch.sparse_bsc:
                return [value.ccol_indices(), value.row_indices(), value.values()]
    except RuntimeError:
        pass
    return []


def spans(value: Any) -> list[tuple[int, int]]:
    """First address and the one after the last of each storage that a value has, of those with bytes."""
    found = []
    for part in parts(value):
        if isinstance(part, bytearray):
            part = numpy.frombuffer(part, dtype=numpy.uint8)
        if isinstance(part, numpy.ndarray):
            low, high = numpy.lib.array_utils.byte_bounds(part) if part.size else (0, 0)
        else:
            storage = part.untyped_storage()
            low, high = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        if high > low > 0:
            found.append((low, high))
    return found


def touch(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> bool:
    """Whether two lists of address ranges have a byte in common."""
    return any(max(a, c) < min(b, d) for a, b in one for c, d in two)


def holders(value: Any) -> list[Any]:
    """What an argument holds memory in: its tensors and arrays, and byte arrays."""
    return [value] if isinstance(value, bytearray) else tensors(value)


def places(tensor: Any) -> Any:
    """The storage offset of each element, in the order of the elements."""
    found = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        found = found.unsqueeze(-1) + torch.arange(size) * stride
    return found.reshape(-1)


def doubled(value: Any) -> bool:
    """Whether two elements of a strided tensor lie at one address."""
    if isinstance(value, numpy.ndarray) or not strided(value) or value.numel() < 2 or value.numel() > 100_000:
        return False
    where = places(value)
    return int(where.unique().numel()) < int(where.numel())


def usual(call: Call) -> bool:
    """Whether all tensors that go in are strided and plain: not sparse, quantized or nested."""
    given = tensors((call.args, call.kwargs))
    return all(isinstance(t, numpy.ndarray) or (strided(t) and not t.is_quantized) for t in given)


def strided(value: Any) -> bool:
    """A tensor with one storage and strides into it."""
    return isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_nested


def elements(value: Any) -> int:
    return int(value.size) if isinstance(value, numpy.ndarray) else int(value.numel())


def bytes_of(storage: Any) -> Any:
    """A copy of the bytes of a storage or array."""
    if isinstance(storage, (numpy.ndarray, bytearray)):
        return bytes(storage)
    return bytes(torch.empty(0, dtype=torch.uint8).set_(storage).numpy()) if storage.nbytes() else b""


# ------------------------------------------------------------------------------------------------------------- one call


def kind(value: Any) -> Kind:
    """What came back."""
    match value:
        case None:
            return "none"
        case torch.Tensor():
            return "tensor"
        case numpy.ndarray():
            return "array"
        case bool() | int() | float() | complex() | str() | torch.Size() | torch.dtype() | torch.device():
            return "host"
        case torch.layout() | torch.memory_format() | torch.qscheme():
            return "host"
        case tuple() | list():
            kinds = {kind(item) for item in value}
            return "tensor" if "tensor" in kinds else "host" if kinds <= {"host", "none"} else "other"
        case _:
            return "other"


def text(op: Op, call: Call, given: Given, extra: str = "") -> str:
    """The call as a reader would write it."""
    inner = [show(a) for a in given.args] + [f"{name}={show(value)}" for name, value in given.kwargs.items()]
    inner += [extra] if extra else []
    return op.name + (call.build.text if call.build is not None else "") + f"({', '.join(inner)})"


def observe(op: Op, call: Call, invoke: Guard, layout: str = "") -> Seen | None:
    """Makes the call and says what it did; None if torch refuses it."""
    given = fresh(call, layout)
    at = list(given.at(op))
    if layout in ("reversed", "stepped") and all(a.is_contiguous() for _, v in at for a in tensors(v) if strided(a)):
        return None
    shown = text(op, call, given)
    before = {k: [(t, t._version) for t in tensors(v) if counted(t)] for k, v in at}
    ranges = {k: [spans(h) for h in holders(v)] for k, v in at}
    stores = {
        k: [p if not isinstance(p, torch.Tensor) else p.untyped_storage() for h in holders(v) for p in parts(h)]
        for k, v in at
    }
    content = {k: [bytes_of(s) for s in kept] for k, kept in stores.items()}
    single = {k: v for k, v in at if strided(v)}
    sizes = {k: (v.numel(), v.numel() * v.element_size()) for k, v in single.items()}
    contiguous = {k for k, v in single.items() if v.is_contiguous()}
    wide = {k for k, v in single.items() if v.dim() > 1}
    lazy = {k for k, v in single.items() if v.is_conj() or v.is_neg()}
    # What is not strided may be anything in memory.
    overlapped = any(not (isinstance(t, numpy.ndarray) or strided(t)) or doubled(t) for _, v in at for t in tensors(v))
    inputs = [t for _, v in at for t in tensors(v) if isinstance(t, torch.Tensor)]
    dtype, dims = (str(inputs[0].dtype)[6:] if inputs else ""), max((t.dim() for t in inputs), default=-1)
    minimal, plain, fits = options(op, given)
    torch.default_generator.manual_seed(0)
    dice = [torch.default_generator, *(v for _, v in at if isinstance(v, torch.Generator))]
    states = [generator.get_state() for generator in dice]
    try:
        result = invoke(call, given.args, given.kwargs)
    except Exception:
        return None
    outputs = tensors(result)
    after = [spans(o) for o in outputs]
    flat = isinstance(result, (tuple, list)) and not isinstance(result, torch.Size)
    nested = flat and any(isinstance(item, (tuple, list)) for item in result)
    numbers = [elements(o) for o in outputs]
    lengths = [int(o.nbytes) if isinstance(o, numpy.ndarray) else o.numel() * o.element_size() for o in outputs]
    one = outputs[0] if len(outputs) == 1 and strided(outputs[0]) else None
    moved = set()
    if one is not None and 1 < one.numel() < 100_000:
        where = places(one)
        if bool((where[1:] < where[:-1]).any()):
            moved = {k for k in contiguous & wide if sizes[k][0] == one.numel()}
    whole = all(strided(o) for o in outputs) and bool(numbers) and min(numbers) > 0
    return Seen(
        call=shown,
        layout=layout,
        usual=usual(call),
        minimal=minimal and (call.build is None or call.build.default),
        plain=plain,
        fits=fits,
        arguments=len(given.args) + len(given.kwargs),
        kind=kind(result),
        count=len(outputs),
        packed="nested" if nested else "flat" if flat else "",
        given=frozenset(k for k, v in at if holders(v)),
        solid=frozenset(k for k, v in at if holders(v) and all(spans(h) for h in holders(v))),
        shares=tuple(
            frozenset(k for k in ranges if any(touch(mine, r) for r in ranges[k])) if mine else None for mine in after
        ),
        linked=frozenset(
            (k, o) for k in ranges for o in ranges if k != o and any(touch(r, q) for r in ranges[k] for q in ranges[o])
        ),
        same=frozenset(k for k, v in at if len(outputs) == 1 and any(result is t for t in (v, *tensors(v)))),
        bumped=frozenset(k for k, kept in before.items() if any(t._version != was for t, was in kept)),
        changed=frozenset(
            k
            for k, kept in content.items()
            if any(_differ(was, bytes_of(s)) for was, s in zip(kept, stores[k], strict=True))
        ),
        overlaps=not overlapped and any(doubled(o) for o in outputs),
        drew=any(not torch.equal(was, one.get_state()) for was, one in zip(states, dice, strict=True)),
        size=sum(numbers),
        dims=tuple(o.ndim for o in outputs),
        most_dims=dims,
        dtypes=tuple(str(o.dtype).removeprefix("torch.") for o in outputs),
        given_dtype=dtype,
        dense=frozenset(contiguous - lazy),
        scattered=frozenset(set(single) - contiguous - lazy),
        moved=frozenset(moved),
        fewer=frozenset(k for k, (n, b) in sizes.items() if whole and max(numbers) < n and max(lengths) < b),
    )


def _differ(was: bytes, now: bytes) -> bool:
    shared = min(len(was), len(now))
    return was[:shared] != now[:shared]


def counted(tensor: Any) -> bool:
    """Whether a tensor counts its versions."""
    return isinstance(tensor, torch.Tensor) and not tensor.is_inference()


def options(op: Op, given: Given) -> tuple[bool, bool, bool]:
    """`Seen.minimal`, `Seen.plain` and `Seen.fits` of these arguments."""
    if op.form == "module":
        return True, True, True
    fits = fitting(op, given.args, given.kwargs)
    minimal = any(all(p.required or p.variadic for p, _ in fit) for fit in fits)
    plain = any(all(p.required or p.variadic or _dull(p, value) for p, value in fit) for fit in fits)
    return minimal, plain, bool(fits) or not signatures(op)


def _dull(param: Any, value: Any) -> bool:
    if isinstance(value, torch.Tensor) or param.takes_tensor:
        return True
    try:
        return bool(value == param.default) and type(value) is type(param.default)
    except Exception:
        return False
