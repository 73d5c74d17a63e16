"""The function mode: what a torch function was asked for, which the operations that it runs do not tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device
from torch.utils._pytree import tree_leaves, tree_map

from flake8_tensorcopy.verify.sim.events import Kind, SimulationError
from flake8_tensorcopy.verify.sim.machine import DEVICE, Call, Machine
from flake8_tensorcopy.verify.sim.memory import storage_of
from flake8_tensorcopy.verify.sim.transfers import move


class Functions(TorchFunctionMode):  # type: ignore[misc]
    """Keeps the call that runs, and makes the tensors that torch would build outside its dispatcher."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        machine = self.machine
        if getattr(func, "__name__", "") == "__get__" or machine.bare:
            return func(*args, **(kwargs or {}))
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is None and func in _device._device_constructors() and (place := default_device()):
            kwargs["device"] = place
        if type(kwargs.get("device")) is int:
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        asked = machine.wanted(kwargs["device"]) if kwargs.get("device") is not None else None
        if "generator" in kwargs:
            kwargs["generator"] = own_generator(kwargs["generator"], asked, machine.any_on_device(args))
        listening, machine.listening = machine.listening, False
        try:
            with machine.calling(Call(asked, (args, kwargs))):
                if func in BUILDERS:
                    return BUILDERS[func](machine, func, args, kwargs, asked)
                return func(*(scalars_moved(machine, args) if torch.is_grad_enabled() else args), **kwargs)
        finally:
            machine.listening = listening


def default_device() -> Any | None:
    """The device of `set_default_device` or of a `with torch.device(..)`, if it is not the CPU."""
    place = _device.CURRENT_DEVICE
    return None if place is None or place.type == "cpu" else place


def own_generator(generator: Any, asked: bool | None, device: bool) -> Any:
    """The generator for the kernel. Raises RuntimeError, as torch does, where it is of the other side."""
    if generator is None:
        return None
    wanted = "cuda" if asked or (asked is None and device) else "cpu"
    if generator.device.type != wanted:
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{generator.device.type}'")
    return generator


def scalars_moved(machine: Machine, args: Any) -> Any:
    """A number of the host that needs a gradient gets its own node, which brings the gradient home from the device."""
    numbers = [x for x in args if isinstance(x, torch.Tensor) and x.requires_grad and x.dim() == 0]
    if not any(not machine.on_device(x) for x in numbers) or not machine.any_on_device(args):
        return args
    return tuple(
        move(machine, x, quiet=True) if any(x is number for number in numbers) and not machine.on_device(x) else x
        for x in args
    )


def _tensor(machine: Machine, func: Any, args: Any, kwargs: Any, asked: bool | None) -> Any:
    """`torch.tensor` and `new_tensor` build on the host and copy; a tensor that they are given is copied whole."""
    leaf, pinned = bool(kwargs.pop("requires_grad", False)), bool(kwargs.pop("pin_memory", False))
    kwargs.pop("device", None)
    this = args[0] if func is torch.Tensor.new_tensor else None
    data = kwargs["data"] if "data" in kwargs else args[0 if this is None else 1]
    op = func.__name__
    source = machine.on_device(data) if isinstance(data, torch.Tensor) else None
    if asked is None:
        asked = machine.on_device(this) if this is not None else bool(source)
    if source is None:
        for element in tree_leaves(data):
            if isinstance(element, torch.Tensor) and machine.on_device(element):
                machine.record(Kind.D2H, op, element.nbytes)
                machine.wait(op)
    with machine.raw():
        result = func(*args, **kwargs)
    if source:
        machine.claim(result, op)
        machine.record(Kind.D2D, op, result.nbytes)
    if bool(source) is not asked:
        result = move(machine, result, op=op)
    elif pinned:
        machine.memory.pin(storage_of(result))
        machine.record(Kind.PIN, op, result.nbytes, False, True)
    return result.requires_grad_() if leaf else result


def _as_tensor(machine: Machine, func: Any, args: Any, kwargs: Any, asked: bool | None) -> Any:
    """`as_tensor` and `asarray` keep what is already in place."""
    kwargs = {key: value for key, value in kwargs.items() if key != "device"}
    data: Any = args[0] if args else next((kwargs[key] for key in ("data", "obj") if key in kwargs), None)
    if isinstance(data, torch.Tensor) and machine.on_device(data):
        dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
        result = data.to("cpu" if asked is False else DEVICE, dtype, copy=bool(kwargs.get("copy")))
        return result.requires_grad_() if kwargs.get("requires_grad") else result
    with machine.raw_function():
        if isinstance(data, list | tuple):
            data = tree_map(lambda leaf: _number(machine, leaf, func.__name__), data)
        rest = {key: value for key, value in kwargs.items() if key not in ("data", "obj")}
        result = func(data, *args[1:], **rest)
    return move(machine, result, op=func.__name__) if asked else result


def _number(machine: Machine, leaf: Any, op: str) -> Any:
    if isinstance(leaf, torch.Tensor) and machine.on_device(leaf) and leaf.numel() == 1:
        machine.record(Kind.D2H, op, leaf.element_size())
        machine.wait(op)
        with machine.raw():
            return leaf.item()
    return leaf


def _padded(machine: Machine, func: Any, args: Any, kwargs: Any, asked: bool | None) -> Any:
    """The lengths of the sequences, which torch makes beside the padded tensor, lie on the host."""
    padded, lengths = func(*args, **kwargs)
    with machine.raw():
        return padded, lengths.clone()


def _refuse(machine: Machine, func: Any, args: Any, kwargs: Any, asked: bool | None) -> Any:
    if asked or machine.any_on_device((args, kwargs)):
        raise SimulationError(f"the simulated accelerator has no sparse tensors, as {func.__name__} makes")
    return func(*args, **kwargs)


SPARSE = [
    torch.sparse_coo_tensor,
    torch.sparse_compressed_tensor,
    torch.sparse_csr_tensor,
    torch.sparse_csc_tensor,
    torch.sparse_bsr_tensor,
    torch.sparse_bsc_tensor,
    torch.Tensor.to_sparse,
    torch.Tensor.to_sparse_csr,
    torch.Tensor.to_sparse_csc,
    torch.Tensor.to_sparse_bsr,
    torch.Tensor.to_sparse_bsc,
]
BUILDERS: dict[Any, Callable[..., Any]] = {
    torch.tensor: _tensor,
    torch.Tensor.new_tensor: _tensor,
    torch.as_tensor: _as_tensor,
    torch.asarray: _as_tensor,
    torch._VF._pad_packed_sequence: _padded,
    **dict.fromkeys(SPARSE, _refuse),
}
