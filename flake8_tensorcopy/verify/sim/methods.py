"""The methods and attributes of `torch.Tensor` that tell, or change, where a tensor lies or what the host knows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary
from torch.utils.data._utils import pin_memory

from flake8_tensorcopy.verify.sim.events import Kind, SimulationError
from flake8_tensorcopy.verify.sim.machine import DEVICE, Machine
from flake8_tensorcopy.verify.sim.memory import storage_of
from flake8_tensorcopy.verify.sim.patches import Patches
from flake8_tensorcopy.verify.sim.transfers import move


class Conversion(NamedTuple):
    """The arguments of `Tensor.to`; `device` is None for the tensor's own."""

    device: Any = None
    dtype: Any = None
    non_blocking: bool = False
    copy: bool = False
    memory_format: Any = torch.preserve_format


def conversion(*args: Any, **kwargs: Any) -> Conversion:
    """Reads the three forms of `to`: a tensor, a dtype, or a device and a dtype, then non_blocking and copy."""
    other = kwargs.pop("other", None)
    if args and isinstance(args[0], torch.Tensor):
        other, args = args[0], args[1:]
    if other is not None:
        named = {"device": other.device, "dtype": other.dtype}
        order = ["non_blocking", "copy"]
    elif args and isinstance(args[0], torch.dtype):
        named, order = {}, ["dtype", "non_blocking", "copy"]
    else:
        named, order = {}, ["device", "dtype", "non_blocking", "copy"]
    if kwargs.get("memory_format", 0) is None:
        del kwargs["memory_format"]
    asked = Conversion(**named, **dict(zip(order, args, strict=False)), **kwargs)
    if not isinstance(asked.device, str | int | torch.device | None):
        raise TypeError
    return asked


def overridable(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a tensor, seen by torch function modes as torch's own are."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if has_torch_function_unary(self):
            return handle_torch_function(call, (self,), self, *args, **kwargs)
        return method(self, *args, **kwargs)

    return call


def patch_methods(machine: Machine, patches: Patches) -> None:
    """Replaces them for as long as `patches` stands."""
    _patch_places(machine, patches)
    _patch_moves(machine, patches)
    _patch_reads(machine, patches)
    _patch_writes(machine, patches)


def _patch_places(machine: Machine, patches: Patches) -> None:
    """Where a tensor is."""
    tensor = torch.Tensor
    device, is_cuda, is_cpu = tensor.device, tensor.is_cuda, tensor.is_cpu

    def simulated(self: Any) -> bool:
        return not machine.bare and machine.on_device(self)

    patches.patch(tensor, "device", property(lambda self: DEVICE if simulated(self) else device.__get__(self)))
    patches.patch(tensor, "is_cuda", property(lambda self: simulated(self) or is_cuda.__get__(self)))
    patches.patch(tensor, "is_cpu", property(lambda self: not simulated(self) and is_cpu.__get__(self)))
    get_device, is_pinned, typename = tensor.get_device, tensor.is_pinned, tensor.type
    patches.patch(tensor, "get_device", lambda self: 0 if simulated(self) else get_device(self))

    def pinned(self: Any, device: Any = None) -> Any:
        return is_pinned(self) if machine.bare else machine.memory.pinned(self)

    def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if machine.bare:
            return typename(self, *([] if dtype is None else [dtype, non_blocking]), **kwargs)
        if dtype is None:
            with machine.raw():
                name = typename(self)
            return name.replace("torch.", "torch.cuda.") if simulated(self) else name
        if isinstance(dtype, torch.dtype):
            return self.to(dtype, non_blocking=non_blocking)
        name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
        place = DEVICE if ".cuda." in name else "cpu"
        return self.to(place, getattr(torch, name.rpartition(".")[2]).dtype, non_blocking=non_blocking)

    patches.patch(tensor, "is_pinned", pinned)
    patches.patch(tensor, "type", overridable(type_))


def _patch_moves(machine: Machine, patches: Patches) -> None:
    """What brings a tensor to another place."""
    tensor = torch.Tensor
    to, cuda, cpu, type_as, pin = tensor.to, tensor.cuda, tensor.cpu, tensor.type_as, tensor.pin_memory

    def convert(self: Any, asked: Conversion, op: str) -> Any:
        here = machine.on_device(self)
        there = here if asked.device is None else machine.wanted(asked.device)
        dtype = asked.dtype or self.dtype
        if there is None:
            return to(self, asked.device, dtype, asked.non_blocking, asked.copy, memory_format=asked.memory_format)
        if here is there or self.is_meta:
            return to(self, dtype, asked.non_blocking, asked.copy, memory_format=asked.memory_format)
        return move(machine, self, dtype, asked.non_blocking, asked.memory_format, op)

    def to_(self: Any, *args: Any, **kwargs: Any) -> Any:
        if machine.bare:
            return to(self, *args, **kwargs)
        try:
            asked = conversion(*args, **kwargs)
        except TypeError:
            return to(self, *args, **kwargs)  # torch words its own refusal
        return convert(self, asked, "to")

    def cuda_(
        self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = torch.preserve_format
    ) -> Any:
        if machine.bare:
            return cuda(self, device, non_blocking, memory_format)
        return convert(
            self, Conversion(DEVICE if device is None else device, None, non_blocking, False, memory_format), "cuda"
        )

    def cpu_(self: Any, memory_format: Any = torch.preserve_format) -> Any:
        if machine.bare:
            return cpu(self, memory_format)
        return convert(self, Conversion("cpu", memory_format=memory_format), "cpu")

    def type_as_(self: Any, other: Any) -> Any:
        return type_as(self, other) if machine.bare else self.to(other.device, other.dtype)

    def pinned_copy(self: Any, device: Any = None) -> Any:
        if machine.bare:
            return pin(self)
        if machine.on_device(self):
            raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
        if machine.memory.pinned(self):
            return self
        with machine.raw():
            result = self.clone(memory_format=torch.contiguous_format)
        machine.memory.pin(storage_of(result))
        machine.record(Kind.PIN, "DataLoader" if _for_a_loader() else "pin_memory", result.nbytes, False, True)
        return result

    moves: dict[str, Callable[..., Any]] = {"to": to_, "cuda": cuda_, "cpu": cpu_, "type_as": type_as_}
    for name, value in moves.items():
        patches.patch(tensor, name, overridable(value))
    patches.patch(tensor, "pin_memory", overridable(pinned_copy))

    share, record_stream = tensor.share_memory_, tensor.record_stream
    patches.patch(tensor, "share_memory_", lambda self: self if machine.on_device(self) else share(self))
    patches.patch(tensor, "record_stream", lambda self, s: None if machine.on_device(self) else record_stream(self, s))


def _for_a_loader() -> bool:
    """Whether a DataLoader pins its batch."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == pin_memory.__file__:
            return True
        frame = frame.f_back
    return False


def _patch_reads(machine: Machine, patches: Patches) -> None:
    """What brings the values to Python."""
    tensor = torch.Tensor
    numpy, tolist, dlpack, where = tensor.numpy, tensor.tolist, tensor.__dlpack__, tensor.__dlpack_device__

    def simulated(self: Any) -> bool:
        return not machine.bare and machine.on_device(self)

    def numpy_(self: Any, *, force: bool = False) -> Any:
        if not simulated(self):
            return numpy(self, force=force)
        if not force:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first."
            )
        return numpy(self.detach().cpu(), force=True)

    def tolist_(self: Any) -> Any:
        if simulated(self):
            machine.record(Kind.D2H, "tolist", self.nbytes)
            machine.wait("tolist")
        with machine.raw():
            return tolist(self)

    def dlpack_(self: Any, *args: Any, **kwargs: Any) -> Any:
        if simulated(self):
            raise SimulationError("the simulated accelerator cannot hand its memory to another library by DLPack")
        return dlpack(self, *args, **kwargs)

    patches.patch(tensor, "numpy", overridable(numpy_))
    patches.patch(tensor, "tolist", overridable(tolist_))
    patches.patch(tensor, "__dlpack__", dlpack_)
    patches.patch(tensor, "__dlpack_device__", lambda self: dlpack_(self) if simulated(self) else where(self))

    shown, text = torch._tensor_str._str, torch._tensor_str._str_intern

    def str_(self: Any, *, tensor_contents: Any = None) -> Any:
        if not simulated(self):
            return shown(self, tensor_contents=tensor_contents)
        with torch.no_grad():  # the same as torch does, with the modes on
            guard = torch._C._DisableFuncTorch()
            try:
                return text(self, tensor_contents=tensor_contents)
            finally:
                del guard

    patches.patch(torch._tensor_str, "_str", str_)


def _patch_writes(machine: Machine, patches: Patches) -> None:
    """A write of a tensor of the other side that needs a gradient: the copy gets its own node."""
    tensor = torch.Tensor
    copy, setitem = tensor.copy_, tensor.__setitem__

    def here(self: Any, value: Any) -> Any:
        """The value, on the side of the tensor that is written."""
        if not isinstance(value, torch.Tensor) or machine.bare or not (value.requires_grad and torch.is_grad_enabled()):
            return value
        return move(machine, value, op="copy_") if machine.on_device(self) != machine.on_device(value) else value

    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
        return copy(self, here(self, src), non_blocking)

    def setitem_(self: Any, index: Any, value: Any) -> None:
        setitem(self, index, here(self, value))

    patches.patch(tensor, "copy_", overridable(copy_))
    patches.patch(tensor, "__setitem__", overridable(setitem_))

    clone = torch.UntypedStorage.clone

    def clone_storage(self: Any) -> Any:
        with machine.raw():  # the copy into the new storage is within the device
            result = clone(self)
        if machine.memory.holds(self):
            machine.memory.take(result)
            machine.record(Kind.D2D, "deepcopy", self.nbytes())
        return result

    patches.patch(torch.UntypedStorage, "clone", clone_storage)
