"""What one call did to storage, version counters and the graph."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flake8_tensorcopy.verify.optable.arguments import Call
from flake8_tensorcopy.verify.optable.inputs import Inputs, resolve
from flake8_tensorcopy.verify.optable.targets import Target


@dataclass(slots=True)
class Seen:
    """What one call in one layout did, by argument position where there is one."""

    call: Call
    layout: str
    kind: str
    """"tensor", "host", "array", "none" or "other"."""
    outputs: int = 1
    listed: bool = False
    nested: bool = False
    """A list or tuple came back that holds others."""
    shared: frozenset[int] = frozenset()
    """Arguments whose storage every output has (with variadic arguments: its own)."""
    partly: frozenset[int] = frozenset()
    """Arguments whose storage some output has."""
    same: frozenset[int] = frozenset()
    written: frozenset[int] = frozenset()
    reshaped: frozenset[int] = frozenset()
    """Sparse arguments that were written, by their counters, though no byte in their storages changed."""
    overlaps: bool = False
    lasting: bool = False
    """Two calls on one argument gave the same storage, which is no argument's."""
    dtype: str = ""
    exact: str = ""
    """The dtype of the first output, as torch names it."""
    second_int: bool = False
    """There are two outputs, the first of a float type, the second of an integer type."""
    contiguous: frozenset[int] = frozenset()
    """Arguments that are one contiguous tensor before the call."""
    scattered: frozenset[int] = frozenset()
    """Arguments that are one strided tensor, not contiguous, before the call."""
    permuted: frozenset[int] = frozenset()
    """Arguments with two dimensions or more and in memory order, all of whose elements the output has in another one,
    if it shares their storage."""
    fewer: frozenset[int] = frozenset()
    """Arguments of which every output has some elements, but fewer, and fewer bytes."""
    zero_dim: bool = False
    tensors: frozenset[int] = frozenset()
    float_inputs: bool = False
    draws: bool = False
    hollow: bool = False
    """The results have fewer than two elements: `randperm(1)` has nothing to draw."""
    empty: bool = False
    """An empty list came back, which shows nothing."""


@dataclass(slots=True)
class Graphed:
    """What one call did to the graph when its float arguments required grad."""

    call: Call
    attached: bool
    backward: bool = False
    """Backward ran at all; without that nothing is known of what it kept."""
    saves_output: bool = False
    saves: frozenset[int] = frozenset()
    forbids: bool = False
    full: bool = False
    """Every float tensor that went in required grad."""
    grads: int = 0
    """How many tensors did."""


def flat(value: Any) -> list[Any]:
    """The tensors and arrays in a result or argument."""
    import numpy
    import torch

    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        return [value]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [item for part in value for item in flat(part)]
    return []


def memory(value: Any) -> frozenset[tuple[int, int]]:
    """The address ranges that a tensor's storages or an array's buffer occupy; empty ones left out."""
    import numpy

    if isinstance(value, bytearray):
        value = numpy.frombuffer(value, dtype=numpy.uint8)
    if isinstance(value, numpy.ndarray):
        low, high = numpy.lib.array_utils.byte_bounds(value)
        return frozenset({(low, high)}) if high > low else frozenset()
    return frozenset((s.data_ptr(), s.data_ptr() + s.nbytes()) for s in storages(value) if s.nbytes())


def storages(value: Any) -> list[Any]:
    """The storages of a tensor, dense or sparse; none of anything else."""
    import torch

    if not isinstance(value, torch.Tensor):
        return []
    match value.layout:
        case torch.strided:
            parts = [value]
        case torch.sparse_coo:
            parts = [value._indices(), value._values()]
        case torch.sparse_csr | torch.sparse_bsr:
            parts = [value.crow_indices(), value.col_indices(), value.values()]
        case torch.sparse_csc | torch.sparse_bsc:
            parts = [value.ccol_indices(), value.row_indices(), value.values()]
        case _:
            parts = []
    return [part.untyped_storage() for part in parts]


def meet(one: frozenset[tuple[int, int]], other: frozenset[tuple[int, int]]) -> bool:
    """Whether two sets of address ranges have a byte in common."""
    return any(a < d and c < b for a, b in one for c, d in other)


def self_overlapping(tensor: Any) -> bool:
    """Whether two elements of a strided tensor lie at one address."""
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.is_nested or tensor.layout != torch.strided or not tensor.numel():
        return False
    if tensor.is_contiguous():
        return False
    offsets = [0]
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        offsets = [offset + index * stride for offset in offsets for index in range(size)]
    return len(set(offsets)) < len(offsets)


def is_strided(tensor: Any) -> bool:
    """Whether a tensor has one storage and strides into it."""
    import torch

    return bool(tensor.layout == torch.strided and not tensor.is_nested)


def _is_integer(tensor: Any) -> bool:
    import torch

    other = tensor.is_floating_point() or tensor.is_complex() or tensor.is_quantized
    return not other and tensor.dtype != torch.bool


def _in_memory_order(tensor: Any) -> bool:
    """Whether the strides descend, apart from those of dimensions with one element or none."""
    strides = [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]
    return all(one >= other for one, other in itertools.pairwise(strides))


def kind_of(value: Any) -> str:
    """ "tensor", "host", "array", "none" or "other"."""
    import numpy
    import torch

    match value:
        case None:
            return "none"
        case torch.Tensor():
            return "tensor"
        case numpy.ndarray():
            return "array"
        case bool() | int() | float() | complex() | str() | torch.Size():
            return "host"
        case torch.dtype() | torch.device() | torch.layout() | torch.memory_format() | torch.qscheme():
            return "host"
        case tuple() | list():
            kinds = {kind_of(item) for item in value}
            if "tensor" in kinds:
                return "tensor"
            return "host" if kinds <= {"host", "none"} else "other"
        case _:
            return "other"


def versions(values: Sequence[Any]) -> list[list[int]]:
    """The version counters of the tensors in each argument."""
    import torch

    return [[t._version for t in flat(v) if isinstance(t, torch.Tensor) and not t.is_inference()] for v in values]


def content(storages: Sequence[Any]) -> list[bytes]:
    """The bytes in each storage."""
    import ctypes

    return [ctypes.string_at(s.data_ptr(), s.nbytes()) if s.nbytes() else b"" for s in storages]


def observe(target: Target, call: Call, layout: str) -> Seen | None:
    """Runs the call once and says what it did; None if it raises."""
    import numpy
    import torch

    inputs = Inputs(layout)
    try:
        args = [resolve(value, inputs) for value in call.args]
        kwargs = {name: resolve(value, inputs) for name, value in call.kwargs}
    except Exception:
        return None
    before = versions(args)
    held = [[memory(t) for t in flat(a)] or ([memory(a)] if isinstance(a, bytearray) else []) for a in args]
    dtypes = [t.dtype for a in args for t in flat(a) if isinstance(t, torch.Tensor)]
    overlapped = any(self_overlapping(t) for a in args for t in flat(a))
    strided = {k: a for k, a in enumerate(args) if isinstance(a, torch.Tensor) and is_strided(a)}
    sizes = {k: (a.numel(), a.numel() * a.element_size()) for k, a in strided.items()}
    contiguous = frozenset(k for k, a in strided.items() if a.is_contiguous())
    flat_ones = frozenset(k for k, a in strided.items() if a.dim() < 2)
    stores = [[s for t in flat(a) for s in storages(t)] for a in args]
    bits = [content(s) for s in stores]
    torch.default_generator.manual_seed(0)
    state = torch.default_generator.get_state()
    try:
        result = target.call(*args, **kwargs)
    except Exception:
        return None
    draws = not torch.equal(state, torch.default_generator.get_state())
    seen = Seen(call, layout, kind_of(result), draws=draws)
    seen.tensors = frozenset(
        k for k, a in enumerate((*args, *kwargs.values())) if any(isinstance(t, torch.Tensor) for t in flat(a))
    )
    seen.written = frozenset(
        k
        for k, (was, now) in enumerate(zip(before, versions(args), strict=True))
        # `map_` and `apply_` write without counting.
        if was != now or any(a[: len(b)] != b[: len(a)] for a, b in zip(bits[k], content(stores[k]), strict=True))
    )
    seen.reshaped = frozenset(
        k
        for k in seen.written
        if flat(args[k])
        and all(isinstance(t, torch.Tensor) and t.layout != torch.strided for t in flat(args[k]))
        and all(a[: len(b)] == b[: len(a)] for a, b in zip(bits[k], content(stores[k]), strict=True))
    )
    seen.float_inputs = bool(dtypes) and dtypes[0] in (torch.float32, torch.float64)
    outputs = flat(result)
    seen.empty = isinstance(result, (list, tuple)) and not result and not isinstance(result, torch.Size)
    if not outputs:
        return seen
    seen.empty = False
    seen.outputs = len(outputs)
    seen.listed = isinstance(result, (list, tuple)) and not hasattr(result, "_fields")
    seen.nested = seen.listed and any(isinstance(item, (list, tuple)) for item in result)
    first = outputs[0]
    seen.hollow = sum(o.size if isinstance(o, numpy.ndarray) else o.numel() for o in outputs) < 2
    after = [memory(o) for o in outputs]
    shared, partly = set(), set()
    for k, ranges in enumerate(held):
        hits = [any(meet(mine, r) for r in ranges) for mine in after]
        if hits and all(hits):
            shared.add(k)
        if any(hits):
            partly.add(k)
        if len(outputs) == 1 and any(first is t for t in flat(args[k])):
            seen.same |= {k}
    seen.shared, seen.partly = frozenset(shared), frozenset(partly)
    seen.overlaps = not overlapped and any(self_overlapping(o) for o in outputs)
    seen.contiguous, seen.scattered = contiguous, frozenset(strided.keys() - contiguous)
    if all(isinstance(o, torch.Tensor) and is_strided(o) for o in outputs):
        counts, lengths = [o.numel() for o in outputs], [o.numel() * o.element_size() for o in outputs]
        if min(counts) > 0:
            seen.fewer = frozenset(k for k, (n, size) in sizes.items() if max(counts) < n and max(lengths) < size)
        if len(outputs) == 1 and not _in_memory_order(first):
            seen.permuted = frozenset(k for k in contiguous - flat_ones if sizes[k][0] == first.numel())
    if isinstance(first, torch.Tensor):
        seen.exact = str(first.dtype).removeprefix("torch.")
        second = outputs[1] if len(outputs) == 2 and isinstance(outputs[1], torch.Tensor) else None
        seen.second_int = second is not None and first.is_floating_point() and _is_integer(second)
        seen.zero_dim = len(outputs) == 1 and first.dim() == 0
        if first.dtype == torch.bool:
            seen.dtype = "bool"
        elif _is_integer(first):
            seen.dtype = "int"
        if dtypes and first.dtype == dtypes[0]:
            seen.dtype += "=" if seen.dtype else "same"
    if not partly and seen.tensors and not isinstance(first, numpy.ndarray):
        try:
            again = flat(target.call(*args, **kwargs))
        except Exception:
            again = []
        seen.lasting = any(meet(memory(a), memory(b)) for a, b in zip(outputs, again, strict=False))
    return seen


def graph(target: Target, call: Call) -> Graphed | None:
    """Runs the call with float arguments that require grad, then writes to the result and to each argument in turn and
    asks backward whether it minds.  None if the call raises or no argument is a float tensor."""
    import torch

    ran = _graph_run(target, call)
    if ran is None:
        return None
    args, kwargs, outputs, leaves = ran
    attached = any(o.requires_grad for o in outputs)
    report = Graphed(call, attached)
    if not attached:
        return report
    given = [t for value in (*args, *kwargs.values()) for t in flat(value) if isinstance(t, torch.Tensor)]
    report.full = all(t.requires_grad or not (t.is_floating_point() or t.is_complex()) for t in given)
    report.grads = sum(t.requires_grad for t in given)
    report.backward = _backward(outputs, leaves)
    if not report.backward:
        return report
    # An argument that the op wrote, or that the result shares, cannot be told from the result.
    report.saves_output = _minds(target, call, None)
    touched = {k for k, value in enumerate(args) if any(t is o for t in flat(value) for o in outputs)}
    report.saves = frozenset(
        k for k, value in enumerate(args) if flat(value) and k not in touched and _minds(target, call, k)
    )
    report.forbids = _forbids(outputs)
    return report


def _graph_run(target: Target, call: Call) -> tuple[list[Any], dict[str, Any], list[Any], list[Any]] | None:
    import torch

    inputs = Inputs("plain", grad=True)
    torch.default_generator.manual_seed(0)
    try:
        args = [resolve(value, inputs) for value in call.args]
        kwargs = {name: resolve(value, inputs) for name, value in call.kwargs}
        with torch.enable_grad():
            result = target.call(*args, **kwargs)
    except Exception:
        return None
    outputs = [o for o in flat(result) if isinstance(o, torch.Tensor)]
    return (args, kwargs, outputs, inputs.leaves) if inputs.leaves and outputs else None


def _backward(outputs: list[Any], leaves: list[Any]) -> bool:
    import torch

    ends = [o for o in outputs if o.requires_grad]
    try:
        torch.autograd.grad(ends, leaves, [torch.ones_like(o) for o in ends], allow_unused=True)
    except Exception:
        return False
    return True


def _minds(target: Target, call: Call, position: int | None) -> bool:
    """Whether backward complains of a write to an argument (or, for None, to the differentiable results)."""
    import torch

    ran = _graph_run(target, call)
    if ran is None:
        return False
    args, _, outputs, leaves = ran
    try:
        with torch.no_grad():
            ends = [o for o in outputs if o.requires_grad]
            for tensor in ends if position is None else flat(args[position]):
                tensor.copy_(tensor.clone())
    except Exception:
        return False
    try:
        torch.autograd.grad(ends, leaves, [torch.ones_like(o) for o in ends], allow_unused=True)
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return False


def _forbids(outputs: list[Any]) -> bool:
    try:
        outputs[0].mul_(1)
    except RuntimeError as error:
        return "multiple views" in str(error)
    return False
