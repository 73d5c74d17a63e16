"""Copies between host and device: their bytes, their waits, and their part in the autograd graph.

The model is that of torch's CUDA copy kernel: a blocking copy waits for the stream; a blocking copy with a change of
dtype converts on the CPU, a non-blocking one on the device; a copy from or to pageable memory never overlaps with the
host; a non-blocking copy to the host allocates pinned memory.
"""

from __future__ import annotations

from typing import Any

import torch

from flake8_tensorcopy.verify.sim.events import Kind, SimulationError
from flake8_tensorcopy.verify.sim.machine import Machine
from flake8_tensorcopy.verify.sim.memory import dense, storage_of


class ToCopy(torch.autograd.Function):  # type: ignore[misc]
    """The node of a copy to the other side; its backward brings the gradient back, blocking, in the source's dtype."""

    generate_vmap_rule = True

    @staticmethod
    def forward(tensor: Any, machine: Machine, move: tuple[Any, ...]) -> Any:
        return move_data(machine, tensor, *move)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        tensor, ctx.machine, _ = inputs
        ctx.dtype = tensor.dtype
        ctx.device = ctx.machine.on_device(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
        if ctx.machine.on_device(gradient) is not ctx.device:
            gradient = move(ctx.machine, gradient, ctx.dtype)
        return gradient.to(ctx.dtype), None, None


ToCopy._backward_cls.__name__ = ToCopy._backward_cls.__qualname__ = "ToCopyBackward0"  # as torch names it


def move(
    machine: Machine,
    tensor: Any,
    dtype: Any = None,
    non_blocking: bool = False,
    memory_format: Any = torch.preserve_format,
    op: str = "to",
    quiet: bool = False,
) -> Any:
    """A copy of a tensor on the other side: of a device tensor on the host, of a host tensor on the device."""
    what = (dtype or tensor.dtype, non_blocking, memory_format, op, quiet)
    if tensor.requires_grad and torch.is_grad_enabled():
        return ToCopy.apply(tensor, machine, what)
    return move_data(machine, tensor, *what)


def move_data(
    machine: Machine, tensor: Any, dtype: Any, non_blocking: bool, memory_format: Any, op: str, quiet: bool
) -> Any:
    if tensor.layout is not torch.strided:
        raise SimulationError(f"the simulated accelerator has no {tensor.layout} tensors")
    if machine.on_device(tensor):
        return _to_host(machine, tensor, dtype, non_blocking, memory_format, op)
    with machine.copies.in_order(tensor), machine.raw():
        result = tensor.to(dtype, copy=True, memory_format=memory_format)
    machine.claim(result, op)
    if not quiet:
        _sent(machine, op, result, tensor, non_blocking)
    return result


def _to_host(machine: Machine, tensor: Any, dtype: Any, non_blocking: bool, memory_format: Any, op: str) -> Any:
    with machine.raw():
        result = tensor.to(dtype, copy=True, memory_format=memory_format)
    if non_blocking:
        machine.memory.pin(storage_of(result))
        machine.record(Kind.PIN, op, result.nbytes, True, True)
    _fetched(machine, op, result, tensor, non_blocking)
    return result


def copied(machine: Machine, target: Any, source: Any, non_blocking: bool) -> None:
    """`target.copy_(source)` has been done between two sides: what it meant."""
    if machine.on_device(target):
        _sent(machine, "copy_", target, source, non_blocking)
    else:
        _fetched(machine, "copy_", target, source, non_blocking)


def _sent(machine: Machine, op: str, target: Any, source: Any, non_blocking: bool) -> None:
    pinned = machine.memory.pinned(source)
    converted = target if not non_blocking else source
    machine.record(Kind.H2D, op, target.numel() * converted.element_size(), non_blocking, pinned)
    if not non_blocking:
        machine.wait(op)
    elif pinned and dense(source) and source.shape == target.shape:
        if not machine.silent:
            machine.copies.to_device(target, source)
    else:  # torch makes a source with gaps contiguous first, in pageable memory
        machine.record(Kind.STAGE, op, target.numel() * converted.element_size(), True, pinned)


def _fetched(machine: Machine, op: str, target: Any, source: Any, non_blocking: bool) -> None:
    pinned = machine.memory.pinned(target)
    converted = source if not non_blocking else target
    machine.record(Kind.D2H, op, target.numel() * converted.element_size(), non_blocking, pinned)
    if non_blocking and pinned and dense(target):
        if not machine.silent:
            machine.copies.to_host(target)
    else:
        machine.wait(op)
