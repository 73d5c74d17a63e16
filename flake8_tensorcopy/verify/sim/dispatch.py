"""The dispatch mode: every operation, forwards and backwards, with where its results lie and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from flake8_tensorcopy.verify.sim.events import Kind
from flake8_tensorcopy.verify.sim.machine import MIXED, Machine
from flake8_tensorcopy.verify.sim.memory import storage_of
from flake8_tensorcopy.verify.sim.transfers import copied

# Operations whose results' sizes, or whose answer, the host reads back.
WAITING = frozenset(
    "nonzero masked_select _unique _unique2 unique_dim unique_consecutive unique_dim_consecutive equal allclose "
    "bincount repeat_interleave argwhere _linalg_check_errors".split()
)
# Operations that take tensors of the host beside tensors of the device.
MIXING = frozenset("_pack_padded_sequence _pack_padded_sequence_backward set_".split())
INDEXING = frozenset("index index_put index_put_ _index_put_impl_ _unsafe_index".split())
# Results that lie on the host whatever the arguments: the batch sizes of a packed sequence.
HOST_RESULTS = {"_pack_padded_sequence": (1,)}


class Dispatch(TorchDispatchMode):  # type: ignore[misc]
    """Runs each operation on the CPU tensors that they all are, and records what a device would do."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return Operation(self.machine, func, args, dict(kwargs or {})).run()


@cache
def written(func: Any) -> tuple[int | str, ...]:
    """The arguments that an operation writes, by position, or by name where they are keywords."""
    found: list[int | str] = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found.append(argument.name if argument.kwarg_only else place)
    return tuple(found)


@dataclass(slots=True)
class Operation:
    """One operation on its way to the CPU kernel."""

    machine: Machine
    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.func._schema.name.partition("::")[2])

    def run(self) -> Any:
        machine = self.machine
        inputs = [leaf for leaf in tree_leaves((self.args, self.kwargs)) if isinstance(leaf, torch.Tensor)]
        device = [tensor for tensor in inputs if machine.on_device(tensor)]
        explicit = self._take_device()
        pinned = bool(self.kwargs.get("pin_memory"))
        if pinned:
            self.kwargs["pin_memory"] = False
        if machine.copies.pending and not machine.silent:
            machine.copies.notice()
        if self.name == "copy_":
            return self._copy()
        if device:
            self._check(inputs, device)
        before = [storage_of(tensor) for tensor in inputs]
        self._announce(device)
        with machine.raw_function():
            result = self.func(*self.args, **self.kwargs)
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        if self._goes_to_device(explicit, bool(inputs), bool(device)):
            fresh = self._claim(outputs, before)
            self._record(outputs, device, fresh, explicit)
        elif pinned:
            self._pin(outputs)
        if device and self.func._schema.is_mutable:
            for storage in before:
                machine.memory.fit(storage)
        elif self.func._schema.is_mutable:
            self._wrote()
        return result

    def _take_device(self) -> bool | None:
        """The device argument, as True for the device; the kernel is told the CPU."""
        device = self.kwargs.get("device")
        if device is None or torch.device(device).type != "cuda":
            call = self.machine.call
            return call.asked if call is not None else None
        self.machine.wanted(device)
        self.kwargs["device"] = torch.device("cpu")
        return True

    def _goes_to_device(self, explicit: bool | None, inputs: bool, device: bool) -> bool:
        """Do new results lie on the device? A factory that torch itself calls makes what its caller works on."""
        if explicit is not None:
            return explicit
        if inputs:
            return device
        call = self.machine.call
        return call is not None and self.machine.any_on_device(call.arguments)

    def _claim(self, outputs: list[Any], before: list[Any]) -> list[Any]:
        fresh = []
        for place, output in enumerate(outputs):
            storage = storage_of(output)
            known = any(storage is other for other in before)
            shape_only = output.is_meta  # `x.to("meta")` of the device's tensors leaves it
            if not (known or shape_only) and self.name != "set_" and place not in HOST_RESULTS.get(self.name, ()):
                self.machine.claim(output, self.name)
                fresh.append(output)
        return fresh

    def _check(self, inputs: list[Any], device: list[Any]) -> None:
        machine = self.machine
        host = [tensor for tensor in inputs if not any(tensor is other for other in device)]
        if self.name in INDEXING:
            if not machine.on_device(self.args[0]):
                raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
            self._move_indices()
            self._move_value()
            host = [tensor for tensor in host if not any(tensor is index for index in self._indices())]
        elif self.name in MIXING:
            return
        writes = [
            self.kwargs.get(place) if isinstance(place, str) else self.args[place] for place in written(self.func)
        ]
        if any(tensor.dim() > 0 or any(tensor is target for target in writes) for tensor in host):
            raise RuntimeError(MIXED)
        if self.name == "where":
            self._move_numbers(host)

    def _move_numbers(self, host: list[Any]) -> None:
        """`where` copies each number of the host to the device first, in the dtype of the result."""
        size = torch.result_type(*self.args[1:3]).itemsize
        for number in host:
            self.machine.record(Kind.H2D, self.name, number.nbytes if number is self.args[0] else size)
            self.machine.wait(self.name)

    def _indices(self) -> list[Any]:
        return [index for index in self.args[1] if isinstance(index, torch.Tensor)]

    def _move_indices(self) -> None:
        """Indices on the host are copied to the device, masks as the positions that they hold."""
        for index in self._indices():
            mask = index.dtype in (torch.bool, torch.uint8)
            if not self.machine.on_device(index):
                with self.machine.raw():
                    count = int(index.count_nonzero()) * index.dim() if mask else index.numel()
                self.machine.record(Kind.H2D, self.name, count * 8)
                self.machine.wait(self.name)

    def _move_value(self) -> None:
        """A number of the host that is put at indices is copied to the device first."""
        if self.name.startswith("index_put") and not self.machine.on_device(self.args[2]) and not self._fills():
            self.machine.record(Kind.H2D, self.name, self.args[2].nbytes)
            self.machine.wait(self.name)

    def _announce(self, device: list[Any]) -> None:
        """What the host waits for before it has the results."""
        if not device:
            return
        machine, name = self.machine, self.name
        if name == "_local_scalar_dense":
            machine.record(Kind.D2H, "item", device[0].element_size())
            machine.wait("item")
        elif name in WAITING and not (name == "repeat_interleave" and self.kwargs.get("output_size") is not None):
            machine.wait(name.lstrip("_"))
        elif name in INDEXING and any(
            i.dtype in (torch.bool, torch.uint8) for i in self._indices() if machine.on_device(i)
        ):
            if not self._fills():
                machine.wait(name.lstrip("_"))

    def _fills(self) -> bool:
        """`x[mask] = number` is a masked fill, which needs no positions."""
        if not self.name.startswith("index_put") or len(self._indices()) != 1:
            return False
        value, mask = self.args[2], self._indices()[0]
        plain = len(self.args) < 4 or not self.args[3]
        return plain and value.numel() == 1 and not self.machine.on_device(value) and mask.dtype == torch.bool

    def _record(self, outputs: list[Any], device: list[Any], fresh: list[Any], explicit: bool | None) -> None:
        machine, name = self.machine, self.name
        nbytes = sum(output.nbytes for output in fresh)
        if name in ("clone", "_to_copy"):
            same = device and device[0].dtype == outputs[0].dtype
            machine.record(Kind.D2D if same else Kind.CAST, name.lstrip("_"), nbytes)
        elif explicit and not device and fresh:
            machine.record(Kind.ALLOC, name, nbytes)

    def _pin(self, outputs: list[Any]) -> None:
        for output in outputs:
            self.machine.memory.pin(storage_of(output))
            self.machine.record(Kind.PIN, self.name, output.nbytes, False, True)

    def _copy(self) -> Any:
        machine = self.machine
        target, source = self.args[:2]
        non_blocking = bool(self.args[2] if len(self.args) > 2 else self.kwargs.get("non_blocking", False))
        to_device, from_device = machine.on_device(target), machine.on_device(source)
        with machine.copies.in_order(source), machine.raw_function():
            result = self.func(*self.args, **self.kwargs)
        if to_device != from_device:
            copied(machine, target, source, non_blocking)
        elif to_device:
            same = target.dtype == source.dtype
            machine.record(Kind.D2D if same else Kind.CAST, "copy_", target.nbytes)
        if not to_device:
            self._wrote()
        return result

    def _wrote(self) -> None:
        """The host wrote: what if the bytes are still on their way to the device?"""
        if self.machine.copies.pending and not self.machine.silent:
            values = [self.kwargs.get(p) if isinstance(p, str) else self.args[p] for p in written(self.func)]
            leaves = [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
            self.machine.copies.written([storage_of(leaf) for leaf in leaves])
