"""Further calls with the same arguments: what they do to the graph, and what `out=`, `inplace=True`, other values and
another default dtype change."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import torch

from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.opcheck.calls import Call, tensors
from flake8_tensorcopy.verify.opcheck.guard import Guard
from flake8_tensorcopy.verify.opcheck.observe import Given, bytes_of, counted, fresh, parts, spans, strided, touch
from flake8_tensorcopy.verify.opcheck.seen import Graph, Position

# ------------------------------------------------------------------------------------------------------------ the graph


def graph(op: Op, call: Call, invoke: Guard) -> Graph | None:
    """What the call does to the graph; None if it is refused then, or nothing can require grad."""
    first = _recorded(op, call, invoke)
    if first is None:
        return None
    given, outputs = first
    ends = [o for o in outputs if o.requires_grad]
    at = list(given.at(op))
    tracked = frozenset(k for k, v in at if any(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors(v)))
    found = Graph(bool(ends), tracked)
    if not ends:
        return found
    ranges = [spans(o) for o in outputs]
    loose = [
        k
        for k, v in at
        if any(counted(t) for t in tensors(v))
        and not any(touch(mine, spans(t)) for t in tensors(v) for mine in ranges)
        and not any(t is o for t in tensors(v) for o in outputs)
    ]
    forbids = _forbids(outputs)
    first = _recorded(op, call, invoke)
    if first is None or _complaint(*first) is not None:
        return replace(found, forbids=forbids)
    return Graph(
        attached=True,
        tracked=tracked,
        differentiable=True,
        keeps_result=_kept(op, call, invoke, None),
        keeps=frozenset(k for k in loose if _kept(op, call, invoke, k)),
        forbids=forbids,
    )


def _recorded(op: Op, call: Call, invoke: Guard) -> tuple[Given, list[Any]] | None:
    given = fresh(call, grad=True)
    if not given.leaves:
        return None
    if op.form == "module":
        return None
    torch.default_generator.manual_seed(0)
    try:
        with torch.enable_grad():
            result = invoke(call, given.args, given.kwargs)
    except Exception:
        return None
    outputs = [o for o in tensors(result) if isinstance(o, torch.Tensor)]
    return (given, outputs) if outputs else None


def _complaint(given: Given, outputs: list[Any]) -> str | None:
    """What backward says; None if it runs."""
    ends = [o for o in outputs if o.requires_grad]
    try:
        torch.autograd.grad(ends, given.leaves, [torch.ones_like(o) for o in ends], allow_unused=True)
    except RuntimeError as error:
        return str(error)
    except Exception as error:
        return type(error).__name__
    return None


def _kept(op: Op, call: Call, invoke: Guard, where: Position | None) -> bool:
    """Whether backward complains of a write to an argument, or (None) to the differentiable results."""
    again = _recorded(op, call, invoke)
    if again is None:
        return False
    given, outputs = again
    values = outputs if where is None else [t for k, v in given.at(op) if k == where for t in tensors(v)]
    for tensor in values:
        if counted(tensor) and (where is not None or tensor.requires_grad):
            _write(tensor)
    complaint = _complaint(given, outputs)
    return complaint is not None and "modified by an inplace operation" in complaint


def _write(tensor: Any) -> None:
    """A write that changes no value: to no elements, through an alias on the same version counter."""
    for part in parts(tensor.detach()):
        if strided(part) and not part.is_quantized:
            part.as_strided((0,), (1,)).zero_()
        else:
            torch.autograd.graph.increment_version(part)


def _forbids(outputs: list[Any]) -> bool:
    for output in outputs[:1]:
        try:
            with torch.enable_grad():
                output.add_(0)
        except RuntimeError as error:
            return "multiple views" in str(error)
    return False


# ---------------------------------------------------------------------------------------------------- special arguments


def with_out(op: Op, call: Call, invoke: Guard) -> str | None:
    """`Seen.out`."""
    plain = fresh(call)
    torch.default_generator.manual_seed(0)
    try:
        wanted = [o for o in tensors(invoke(call, plain.args, plain.kwargs)) if isinstance(o, torch.Tensor)]
        given = fresh(call)
        out = [torch.zeros_like(o) for o in wanted]
        if not out or any(not strided(o) for o in out):
            return None
        was = [o._version for o in out]
        before = [bytes_of(o.untyped_storage()) for o in out]
        torch.default_generator.manual_seed(0)
        result = invoke(call, given.args, {**given.kwargs, "out": out[0] if len(out) == 1 else tuple(out)})
    except Exception:
        return None
    returned = tensors(result)
    if result is not None and (
        len(returned) != len(out) or any(a is not b for a, b in zip(returned, out, strict=True))
    ):
        return "returned something else"
    moved = [o._version != w or bytes_of(o.untyped_storage()) != b for o, w, b in zip(out, was, before, strict=True)]
    equal = [not o.numel() or bool((o == w).all()) for o, w in zip(out, wanted, strict=True)]
    # `empty` has nothing to write.
    return "" if all(m or e for m, e in zip(moved, equal, strict=True)) or "empty" in op.name else "was not written"


def with_inplace(op: Op, call: Call, invoke: Guard, index: int = -1) -> str | None:
    """`Seen.inplace`; with an index the flag is passed by position, after the defaults of what lies before it."""
    given = fresh(call)
    if not given.args or not strided(given.args[0]):
        return None
    if call.build is not None:
        placed = _flagged(call.target, call.build.args, call.build.kwargs, index)
        if placed is None:
            return None
        call = replace(call, build=replace(call.build, args=placed[0], kwargs=placed[1]))
        args, kwargs = given.args, given.kwargs
    else:
        placed = _flagged(call.target, given.args, given.kwargs, index)
        if placed is None:
            return None
        args, kwargs = placed
    first, was = args[0], args[0]._version
    torch.default_generator.manual_seed(0)
    try:
        result = invoke(call, args, kwargs, "inplace=True")
    except Exception:
        return None
    if not any(one is first for one in tensors(result)[:1]):
        return "did not return argument 0"
    return "wrote" if first._version != was else "kept"


def _flagged(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], index: int
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with `inplace=True`, by name or at a position."""
    if index < 0:
        return args, {**kwargs, "inplace": True}
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return None
    names = [p.name for p in parameters[len(args) : index]]
    defaults = {p.name: p.default for p in parameters}
    filled = [kwargs.get(name, defaults[name]) for name in names]
    if len(args) > index or len(parameters) <= index or any(value is inspect.Parameter.empty for value in filled):
        return None
    return (*args, *filled, True), {name: value for name, value in kwargs.items() if name not in names}


def values_matter(op: Op, call: Call, invoke: Guard) -> bool | None:
    """`Seen.values_matter`."""
    given = fresh(call)
    mine = [t for _, v in given.at(op) for t in tensors(v) if strided(t) and not t.is_quantized]
    answers = []
    patterns: list[list[float]] = [
        [0] * len(mine),
        [1] * len(mine),
        [0, *[1] * (len(mine) - 1)],
        [float("nan")] * len(mine),
    ]
    for pattern in patterns:
        try:
            with torch.no_grad():
                for tensor, value in zip(mine, pattern, strict=True):
                    if value == value or tensor.is_floating_point():
                        tensor.detach().fill_(value)
            answers.append(repr(invoke(call, given.args, given.kwargs)))
        except Exception:
            continue
    return len(set(answers)) > 1 if len(answers) > 1 else None


def default_dtype(call: Call, invoke: Guard) -> bool | None:
    """`Seen.default_dtype`."""
    before = torch.get_default_dtype()
    answers = []
    try:
        for dtype in (torch.float32, torch.float64):
            torch.set_default_dtype(dtype)
            given = fresh(call)
            answers.append(all(o.dtype == dtype for o in tensors(invoke(call, given.args, given.kwargs))))
    except Exception:
        return None
    finally:
        torch.set_default_dtype(before)
    return all(answers)
