"""`torch.cuda`, `torch.accelerator` and what else of torch asks for a device, while the accelerator is simulated."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
import torch._dynamo  # what torch loads late must not find the replaced functions
import torch.utils.data.dataloader as dataloader
from torch.amp import autocast_mode

from flake8_tensorcopy.verify.sim.events import Kind, SimulationError
from flake8_tensorcopy.verify.sim.functions import Functions
from flake8_tensorcopy.verify.sim.machine import DEVICE, Call, Machine
from flake8_tensorcopy.verify.sim.patches import Patches
from flake8_tensorcopy.verify.sim.streams import Event, Generator, Stream, device_context, stream_context
from flake8_tensorcopy.verify.sim.transfers import move

LEGACY = "Double Float Half BFloat16 Bool Byte Char Short Int Long".split()


def patch_runtime(machine: Machine, functions: Functions, patches: Patches) -> None:
    """Replaces them for as long as `patches` stands."""
    _patch_devices(machine, patches)
    _patch_memory(machine, patches)
    _patch_streams(machine, patches)
    _patch_random(patches)
    _patch_legacy(machine, patches)
    _patch_autograd(machine, functions, patches)
    _patch_serialization(machine, patches)
    _patch_refusals(patches)


def _replace(patches: Patches, owner: Any, values: dict[str, Any]) -> None:
    """Replaces the attributes that this torch has."""
    for name, value in values.items():
        if hasattr(owner, name):
            patches.patch(owner, name, value)


def _patch_devices(machine: Machine, patches: Patches) -> None:
    def set_device(device: Any) -> None:
        machine.wanted(device)

    cuda: dict[str, Any] = {
        "_lazy_init": lambda: None,
        "_is_in_bad_fork": lambda: False,
        "init": lambda: None,
        "is_initialized": lambda: True,
        "is_available": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": set_device,
        "get_device_name": lambda *_: "simulated accelerator",
        "device": device_context,
    }
    _replace(patches, torch.cuda, cuda)
    accelerator: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_accelerator": lambda *_, **__: torch.device("cuda"),
        "current_device_index": lambda: 0,
        "current_device_idx": lambda: 0,
        "set_device_index": set_device,
        "set_device_idx": set_device,
        "device_index": device_context,
    }
    _replace(patches, torch.accelerator, accelerator)
    # CPU kernels in the order in which the CPU runs them: the numbers are the CPU's.
    patches.patch(torch.backends.cudnn, "is_acceptable", lambda _: False)
    for name in ("torch.optim.optimizer", "torch.optim.swa_utils", "torch.utils._foreach_utils"):
        _replace(patches, import_module(name), {"_get_foreach_kernels_supported_devices": lambda: []})
    clipping = import_module("torch.nn.utils.clip_grad")
    _replace(patches, clipping, {"_has_foreach_support": lambda tensors, device: False})
    _patch_grouping(machine, patches)


def _patch_grouping(machine: Machine, patches: Patches) -> None:
    """`clip_grad_norm_` and others group tensors by device in C++, which sees CPU tensors only."""
    name = "_group_tensors_by_device_and_dtype"
    group = getattr(torch._C, name, None)
    if group is None:
        return

    def grouped(lists: Any, with_indices: bool = False) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for there in (True, False):
            places = [place for place, tensor in enumerate(lists[0]) if machine.on_device(tensor) is there]
            if places:
                parts = [[tensors[place] for place in places] if tensors else tensors for tensors in lists]
                for (device, dtype), (members, indices) in group(parts, with_indices).items():
                    found[DEVICE if there else device, dtype] = members, [places[index] for index in indices]
        return found

    patches.patch(torch._C, name, grouped)


def _patch_memory(machine: Machine, patches: Patches) -> None:
    memory = machine.memory

    def reset(*_: Any) -> None:
        memory.peak = memory.allocated

    def empty_cache() -> None:
        if memory.cached:
            machine.wait("empty_cache")  # memory is given back by cudaFree, which waits
            memory.cached = 0

    figures: dict[str, Any] = {
        "memory_allocated": lambda *_, **__: memory.allocated,
        "max_memory_allocated": lambda *_, **__: memory.peak,
        "memory_reserved": lambda *_, **__: memory.allocated + memory.cached,
        "max_memory_reserved": lambda *_, **__: max(memory.peak, memory.allocated + memory.cached),
        "reset_peak_memory_stats": reset,
        "reset_max_memory_allocated": reset,
        "empty_cache": empty_cache,
        "ipc_collect": lambda: None,
    }
    for owner in (torch.cuda, torch.cuda.memory, torch.accelerator, getattr(torch.accelerator, "memory", None)):
        _replace(patches, owner, figures)


def _patch_streams(machine: Machine, patches: Patches) -> None:
    def synchronize(*_: Any, **__: Any) -> None:
        machine.wait("synchronize", machine.copies.pending)

    def set_stream(stream: Stream) -> None:
        machine.copies.switch(stream.stream_id)

    names: dict[str, Any] = {
        "synchronize": synchronize,
        "Stream": Stream,
        "Event": Event,
        "stream": stream_context,
        "StreamContext": stream_context,
        "current_stream": lambda *_: Stream(number=machine.copies.current),
        "default_stream": lambda *_: Stream(number=0),
        "set_stream": set_stream,
        "is_current_stream_capturing": lambda: False,
    }
    _replace(patches, torch.cuda, names)
    _replace(patches, torch.accelerator, {name: value for name, value in names.items() if name.islower()})
    _replace(patches, torch, {"Stream": Stream, "Event": Event})


def _patch_random(patches: Patches) -> None:
    """Device random numbers are drawn from the CPU's generator, so that the same seed gives the same numbers."""
    default = torch.default_generator

    def set_states(states: Any) -> None:
        default.set_state(states[0])

    names: dict[str, Any] = {
        "manual_seed": default.manual_seed,
        "manual_seed_all": default.manual_seed,
        "initial_seed": default.initial_seed,
        "seed": default.seed,
        "seed_all": default.seed,
        "get_rng_state": lambda *_: default.get_state(),
        "get_rng_state_all": lambda: [default.get_state()],
        "set_rng_state": lambda state, *_: default.set_state(state),
        "set_rng_state_all": set_states,
    }
    for owner in (torch.cuda, torch.cuda.random):
        _replace(patches, owner, names)
    patches.patch(torch, "Generator", Generator)


def _patch_legacy(machine: Machine, patches: Patches) -> None:
    for name in LEGACY:
        kind = type(f"{name}Tensor", (), {"__new__": _legacy(machine, getattr(torch, f"{name}Tensor"))})
        kind.__module__ = "torch.cuda"
        patches.patch(torch.cuda, f"{name}Tensor", kind)


def _legacy(machine: Machine, host: Any) -> Callable[..., Any]:
    def new(cls: Any, *args: Any) -> Any:
        with machine.raw():
            result = host(*args)
        if any(not isinstance(argument, int) for argument in args):
            return move(machine, result, op=cls.__name__)
        machine.claim(result, cls.__name__)
        machine.record(Kind.ALLOC, cls.__name__, result.nbytes)
        return result

    return new


def _patch_autograd(machine: Machine, functions: Functions, patches: Patches) -> None:
    """A backward runs functions and hooks of the user, and the torch function that runs it must not hide them."""
    engine = torch.autograd._engine_run_backward

    def run(roots: Any, *args: Any, **kwargs: Any) -> Any:
        with machine.calling(Call(None, roots)):
            if machine.listening or machine.bare:
                return engine(roots, *args, **kwargs)
            machine.listening = True
            try:
                with functions:
                    return engine(roots, *args, **kwargs)
            finally:
                machine.listening = False

    patches.patch(torch.autograd, "_engine_run_backward", run)


def _patch_serialization(machine: Machine, patches: Patches) -> None:
    """Files tell where a storage lay, and loading brings it back there."""
    serialization = torch.serialization
    saved: list[Any] = []

    def tag(storage: Any) -> str | None:
        if not machine.memory.holds(_untyped(storage)):
            return None
        if all(_untyped(storage) is not other for other in saved):
            saved.append(_untyped(storage))
            machine.record(Kind.D2H, "save", storage.nbytes())
            machine.wait("save")
        return "cuda:0"

    def restore(storage: Any, location: str) -> Any:
        if not location.startswith("cuda"):
            return None
        machine.wanted(location)
        untyped = _untyped(storage)
        if not machine.memory.holds(untyped):
            machine.memory.take(untyped)
            machine.record(Kind.H2D, "load", untyped.nbytes())
            machine.wait("load")
        return storage

    def once(write: Callable[..., Any]) -> Callable[..., Any]:
        def save(*args: Any, **kwargs: Any) -> Any:
            saved.clear()
            try:
                return write(*args, **kwargs)
            finally:
                saved.clear()

        return save

    registry = serialization._package_registry
    patches.patch(serialization, "_package_registry", [(0, tag, restore), *registry])
    for name in ("_save", "_legacy_save"):
        patches.patch(serialization, name, once(getattr(serialization, name)))


def _untyped(storage: Any) -> Any:
    return storage._untyped_storage if isinstance(storage, torch.storage.TypedStorage) else storage


def _patch_refusals(patches: Patches) -> None:
    """What cannot be simulated says so."""

    def refuse(what: str) -> Callable[..., Any]:
        def refused(*_: Any, **__: Any) -> Any:
            raise SimulationError(f"the simulated accelerator cannot run {what}")

        return refused

    _replace(patches, torch, {"compile": refuse("torch.compile")})
    _replace(patches, torch.nn.Module, {"compile": refuse("torch.compile")})
    graphs = {name: refuse("CUDA graphs") for name in ("CUDAGraph", "graph", "make_graphed_callables")}
    _replace(patches, torch.cuda, graphs)
    _replace(patches, torch.nn.DataParallel, {"__init__": refuse("torch.nn.DataParallel")})
    _replace(
        patches,
        torch.nn.parallel.DistributedDataParallel,
        {"__init__": refuse("torch.nn.parallel.DistributedDataParallel")},
    )

    enter = autocast_mode.autocast.__enter__

    def autocast(self: Any) -> Any:
        if self.device == "cuda" and self._enabled:
            raise SimulationError("the simulated accelerator cannot run torch.autocast, whose kernels it does not have")
        return enter(self)

    patches.patch(autocast_mode.autocast, "__enter__", autocast)

    iterator = dataloader.DataLoader._get_iterator

    def get_iterator(self: Any) -> Any:
        if self.num_workers and self.pin_memory:
            raise SimulationError("the simulated accelerator cannot pin what the worker processes of a DataLoader load")
        return iterator(self)

    patches.patch(dataloader.DataLoader, "_get_iterator", get_iterator)
