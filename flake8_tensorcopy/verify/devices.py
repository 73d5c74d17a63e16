"""The devices that claims are measured on: the CPU, an accelerator that torch names, and the simulated one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

NAMES = ("cpu", "cuda", "sim")


@dataclass(slots=True)
class Usage:
    """What one stretch of a program cost: filled when the stretch has ended.

    `peak_bytes` is the most memory of tensors that lived at once, beyond what lived before; `copies` and `copied_bytes`
    go between host and device, in both directions; `waits` are those of the host for the device; `staged_bytes` were
    copied within the host on their way to the device, which only the simulated accelerator tells.
    """

    peak_bytes: int = 0
    copies: int = 0
    copied_bytes: int = 0
    waits: int = 0
    staged_bytes: int = 0


class Device(Protocol):
    """A place to run programs in, and the instruments there."""

    @property
    def name(self) -> str:
        """One of NAMES."""

    @property
    def transfers(self) -> bool:
        """Is there anything to transfer to and from?"""

    def unavailable(self) -> str | None:
        """Why nothing can be run here, in one sentence; None if it can."""

    def active(self) -> AbstractContextManager[None]:
        """Within it tensors are made on the device unless the program says otherwise."""

    def metered(self) -> AbstractContextManager[Usage]:
        """What the body costs; only while active."""

    def host(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor whose `untyped_storage()` tells where the elements of `tensor` lie."""


class Cpu:
    """torch as it is everywhere."""

    name = "cpu"
    transfers = False

    def unavailable(self) -> str | None:
        return None

    @contextmanager
    def active(self) -> Iterator[None]:
        with _default_device("cpu"):
            yield

    @contextmanager
    def metered(self) -> Iterator[Usage]:
        from flake8_tensorcopy.verify.watch import MemoryWatch

        usage = Usage()
        with MemoryWatch() as watch:
            yield usage
        usage.peak_bytes = watch.peak

    def host(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor


class Simulated:
    """The simulated accelerator of `sim`: copies, waits and bytes under a model, on the CPU."""

    name = "sim"
    transfers = True

    def __init__(self) -> None:
        self._running: Any = None

    def unavailable(self) -> str | None:
        from flake8_tensorcopy.verify import sim

        return sim.unsupported()

    @contextmanager
    def active(self) -> Iterator[None]:
        from flake8_tensorcopy.verify import sim

        with sim.SimulatedAccelerator() as self._running, _default_device("cuda"):
            yield
        self._running = None

    @contextmanager
    def metered(self) -> Iterator[Usage]:
        import torch

        usage = Usage()
        first, before = len(self._running.events), torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        yield usage
        usage.peak_bytes = torch.cuda.max_memory_allocated() - before
        for event in self._running.events[first:]:
            if event.kind in ("H2D", "D2H"):
                usage.copies += 1
                usage.copied_bytes += event.bytes
            usage.waits += event.kind == "SYNC"
            if event.kind == "STAGE" or (event.kind == "PIN" and event.op == "pin_memory"):
                usage.staged_bytes += event.bytes

    def host(self, tensor: torch.Tensor) -> torch.Tensor:
        from flake8_tensorcopy.verify import sim

        return sim.host(tensor)


class Accelerator:
    """The accelerator that `torch.accelerator` names: CUDA, ROCm, MPS, XPU or another."""

    name = "cuda"
    transfers = True

    def unavailable(self) -> str | None:
        import torch

        if not torch.accelerator.is_available():
            return "torch finds no accelerator on this machine"
        return None

    @contextmanager
    def active(self) -> Iterator[None]:
        import torch

        with _default_device(str(torch.accelerator.current_accelerator())):
            yield
            torch.accelerator.synchronize()  # an error of a kernel belongs to the program that started it

    @contextmanager
    def metered(self) -> Iterator[Usage]:
        """Memory is that of the allocator's statistics; copies and waits are those that the profiler saw.

        The device is idle before and after, so nothing started outside is counted; the profiler's own start and end
        wait for the device too, but outside the body.
        """
        import torch
        from torch.profiler import ProfilerActivity, profile

        usage = Usage()
        torch.accelerator.synchronize()
        memory = _memory_statistics()
        before = memory.memory_allocated()
        memory.reset_peak_memory_stats()
        on_device = [activity for activity in _device_activities() if activity in torch.profiler.supported_activities()]
        with profile(activities=[ProfilerActivity.CPU, *on_device], acc_events=True) as profiler:
            with torch.profiler.record_function(BODY):
                yield usage
            torch.accelerator.synchronize()
        usage.peak_bytes = memory.max_memory_allocated() - before
        count(profiler.profiler.kineto_results.events(), usage)

    def host(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor


DEVICES: dict[str, type[Cpu] | type[Accelerator] | type[Simulated]] = {
    device.name: device for device in (Cpu, Accelerator, Simulated)
}
BODY = "tensorcopy: measured"


def count(events: Any, usage: Usage) -> None:
    """Adds the copies and waits among the profiler's events, as CUPTI names them.

    `Memcpy HtoD (Pageable -> Device)` and `Memcpy DtoH (..)` are copies with their bytes; `cudaStreamSynchronize`,
    `cudaEventSynchronize` and `cudaDeviceSynchronize` (`hip..` under ROCm) are waits where they begin within the body.
    """
    events = list(events)
    bodies = [(event.start_ns(), event.start_ns() + event.duration_ns()) for event in events if event.name() == BODY]
    for event in events:
        name = event.name()
        if name.startswith(("Memcpy HtoD", "Memcpy DtoH")):
            usage.copies += 1
            usage.copied_bytes += event.nbytes()
        elif name.startswith(("cuda", "hip")) and name.endswith("Synchronize"):
            usage.waits += any(start <= event.start_ns() <= end for start, end in bodies)


def _device_activities() -> list[Any]:
    from torch.profiler import ProfilerActivity

    names = ("CUDA", "XPU", "MTIA", "PrivateUse1")
    return [getattr(ProfilerActivity, name) for name in names if hasattr(ProfilerActivity, name)]


def _memory_statistics() -> Any:
    """`torch.accelerator` reports memory from torch 2.9 on; before that only the backend's own module does."""
    import torch

    if hasattr(torch.accelerator, "max_memory_allocated"):
        return torch.accelerator
    current = torch.accelerator.current_accelerator()
    return torch.get_device_module(current)


@contextmanager
def _default_device(name: str) -> Iterator[None]:
    import torch

    before = torch.get_default_device()
    torch.set_default_device(name)
    try:
        yield
    finally:
        torch.set_default_device(None if before.type == "cpu" else before)
