"""Calls from torch's own test databases: `op_db`, `module_db`, and what modules call inside."""

from __future__ import annotations

import inspect
import itertools
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import numpy
import torch
from torch.overrides import TorchFunctionMode

from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.verify.opcheck.calls import Call, module_call, resolve, signatures, weight

PREFIXES: Final = ("", "nn.functional.", "linalg.", "special.", "fft.")
LARGEST: Final = 1 << 18
"""Bytes of the arguments of one call: larger samples are skipped."""

TAKEN: Final = {
    torch.float32: 20,
    torch.float64: 3,
    torch.int64: 3,
    torch.bool: 2,
    torch.complex64: 3,
    torch.bfloat16: 1,
    torch.int32: 1,
}
"""Samples of one entry of `op_db` by dtype."""


@cache
def _op_index() -> dict[str, list[Any]]:
    """The entries of `op_db` by their name and the names of their aliases."""
    from torch.testing._internal.common_methods_invocations import op_db

    found: dict[str, list[Any]] = {}
    for info in op_db:
        for name in dict.fromkeys((info.name, *(alias.name for alias in info.aliases))):
            if name.removeprefix(name.rpartition(".")[0] + ".") and f"{name.rpartition('.')[0]}." in (".", *PREFIXES):
                found.setdefault(name, []).append(info)
    return found


def _entries(op: Op) -> list[Any]:
    """The entries whose samples may fit a name: its own, else those of the op that it is a variant of."""
    index = _op_index()
    full = op.name.removeprefix("torch.").removeprefix("Tensor.")
    owner, _, bare = full.rpartition(".")
    lead = owner + "." if owner else ""
    variants = [bare]
    if bare.endswith("_"):
        variants.append(bare.rstrip("_"))
    for prefix in ("unsafe_", "native_", "linalg_", "special_", "fft_"):
        variants += [name.removeprefix(prefix) for name in variants if name.startswith(prefix)]
    for suffix in ("_copy", "_with_indices"):
        variants += [name.removesuffix(suffix) for name in variants if name.endswith(suffix)]
    for variant in variants:
        for prefix in dict.fromkeys((lead, *PREFIXES)):
            if found := index.get(prefix + variant):
                return found
    return []


@cache
def _samples(entry: int, dtype: torch.dtype, wanted: int, seed: int) -> tuple[Any, ...]:
    from torch.testing._internal.common_methods_invocations import op_db

    info = op_db[entry]
    # `torch.manual_seed` seeds accelerators as well, and looks at the stack for that: most of the time of a run.
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)
    try:
        # Not `info.sample_inputs`, which notes for each sample where in the source it was made.
        found = list(itertools.islice(info.sample_inputs_func(info, "cpu", dtype, requires_grad=False), 60))
    except Exception:
        return ()
    found = [s for s in found if weight((s.input, s.args, s.kwargs)) <= LARGEST]
    if len(found) <= wanted:
        return tuple(found)
    return tuple(found[k * len(found) // wanted] for k in range(wanted))


@cache
def _entry_numbers() -> dict[int, int]:
    from torch.testing._internal.common_methods_invocations import op_db

    return {id(info): k for k, info in enumerate(op_db)}


def sampled(op: Op, seed: int) -> Iterator[Call]:
    """Calls from the samples of `op_db`, by turns from each entry that fits."""
    target = resolve(op)
    if target is None:
        return
    entries = _entries(op)
    for dtype, wanted in TAKEN.items():
        share = max(2, wanted * 2 // (1 + len(entries)))
        found = [_from_entry(op, target, info, dtype, min(wanted, share), seed) for info in entries]
        yield from (call for turn in itertools.zip_longest(*found) for call in turn if call is not None)


def _from_entry(
    op: Op, target: Callable[..., Any], info: Any, dtype: torch.dtype, wanted: int, seed: int
) -> Iterator[Call]:
    if dtype not in info.dtypes:
        return
    for sample in _samples(_entry_numbers()[id(info)], dtype, wanted, seed):
        kwargs = {k: v for k, v in sample.kwargs.items() if k not in ("out", "inplace")}
        if _wraps(info.op):
            # The entry's op passes its sample on in another order: what it calls is the sample.
            for call in _inside(info, target, sample):
                yield Call(target, call.args, {k: v for k, v in call.kwargs.items() if k not in ("out", "inplace")})
            continue
        yield Call(target, (sample.input, *sample.args), kwargs)
        yield from _adapted(op, info, target, sample)


def _wraps(function: Any) -> bool:
    """Whether the op of an entry is a wrapper that a test database defines."""
    return inspect.isfunction(function) and function.__module__.startswith("torch.testing.")


def _inside(info: Any, target: Any, sample: Any) -> list[Call]:
    """What the op of an entry calls of the name that is looked for, or else of the entry's name."""
    watch = _Watch()
    try:
        with watch, torch.no_grad():
            info.op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        pass
    return _of(watch.kept.get(info.name.rpartition(".")[2], []), target)


def _of(found: list[Call], target: Any) -> list[Call]:
    """The calls of the target itself if there are any: `torch` and `torch.nn.functional` share names."""
    return [call for call in found if call.target == target] or found


def _adapted(op: Op, info: Any, target: Callable[..., Any], sample: Any) -> Iterator[Call]:
    """A sample for `torch.nn.functional.x` passed by name to a builtin `torch.x`, which orders them otherwise."""
    if inspect.isfunction(target) or not inspect.isfunction(info.op) or op.form != "function":
        return
    try:
        bound = inspect.signature(info.op).bind(sample.input, *sample.args, **sample.kwargs)
    except (TypeError, ValueError):
        return
    bound.apply_defaults()
    for params in signatures(op):
        if not params or len(params) < 3 or [p.name for p in params] == list(bound.arguments):
            continue
        blank = {"bool": False, "int": 1, "float": 0.1}
        args = [bound.arguments.get(p.name, blank.get(p.kind)) for p in params if not p.keyword_only]
        yield Call(target, tuple(args))


@cache
def _module_infos() -> dict[str, Any]:
    from torch.testing._internal.common_modules import module_db

    return {"torch.nn." + info.module_cls.__name__: info for info in module_db}


def module_samples(op: Op, seed: int) -> Iterator[Call]:
    """Calls of instances of a module class from the samples of `module_db`."""
    info = _module_infos().get(op.name)
    cls = resolve(op)
    if info is None or cls is None:
        return
    for training in (True, False):
        torch.default_generator.manual_seed(seed)
        try:
            found = list(
                info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=training)
            )
        except Exception:
            continue
        for sample in found[:8]:
            build, forward = sample.constructor_input, sample.forward_input
            if forward is None or build.kwargs.get("inplace"):
                continue
            yield module_call(cls, build.args, build.kwargs, training, forward.args, forward.kwargs)


class _Watch(TorchFunctionMode):  # type: ignore[misc]
    """Keeps what is called while it is active, but not what those calls call."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, list[Call]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kept = self.kept.setdefault(getattr(func, "__name__", ""), [])
        if sum(call.target == func for call in kept) < 6 and weight((args, kwargs)) <= LARGEST:
            kept.append(Call(func, tuple(args), dict(kwargs or {})))
        return func(*args, **(kwargs or {}))


@cache
def _watched(seed: int) -> dict[str, list[Call]]:
    watch = _Watch()
    for name in sorted(_module_infos()):
        op = Op(name, "module", "other")
        for call in itertools.islice(module_samples(op, seed), 2):
            try:
                module = call.make()
                with watch, torch.no_grad():
                    module(*call.args, **call.kwargs)
            except Exception:
                continue
    return watch.kept


def watched(op: Op, seed: int) -> Iterator[Call]:
    """Calls of a function that modules made while the samples of `module_db` ran."""
    target = resolve(op)
    if op.form == "function" and target is not None:
        for call in _of(_watched(seed).get(op.name.rpartition(".")[2], []), target):
            yield Call(target, call.args, call.kwargs)
