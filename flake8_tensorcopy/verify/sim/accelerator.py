"""The simulated accelerator as a context manager."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from types import TracebackType
from typing import Any

import torch
from torch.utils import _device

from flake8_tensorcopy.verify.sim.dispatch import Dispatch
from flake8_tensorcopy.verify.sim.events import Event, Kind, SimulationError
from flake8_tensorcopy.verify.sim.functions import Functions
from flake8_tensorcopy.verify.sim.machine import Machine, activate, active
from flake8_tensorcopy.verify.sim.memory import host_view
from flake8_tensorcopy.verify.sim.methods import patch_methods
from flake8_tensorcopy.verify.sim.patches import Patches
from flake8_tensorcopy.verify.sim.runtime import patch_runtime


class SimulatedAccelerator:
    """Within, torch has one device, `cuda:0`, which records what a program does with it.

    Its tensors are CPU tensors, computed by the CPU's kernels, and so with the CPU's numbers; what the device adds is
    where each lies, what it costs to bring it elsewhere, and when that has happened.  A copy that nothing waits for
    happens as late as the rules allow: its target holds a pattern of its own until then.  Once the context is left,
    everything patched is back, the tensors of the device are CPU tensors, and copies never waited for have not arrived.
    A context can be entered once, by one thread.

    Raises SimulationError on entering while another is entered, and from what cannot be simulated.
    """

    def __init__(self) -> None:
        self._machine = Machine()
        self._patches: Patches | None = None

    def __enter__(self) -> SimulatedAccelerator:
        if active() is not None:
            raise SimulationError("a simulated accelerator cannot be entered within another")
        if self._patches is not None:
            raise SimulationError("a simulated accelerator can be entered only once")
        self._patches = Patches()
        machine = self._machine
        with Patches() as patches:
            activate(machine)
            patches.callback(activate, None)
            functions = Functions(machine)
            patches.callback(_restore_default, torch.get_default_device())
            patch_methods(machine, patches)
            patch_runtime(machine, functions, patches)
            patches.enter_context(Dispatch(machine))
            machine.listening = True
            patches.enter_context(functions)
            self._patches = patches.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._patches is not None
        self._patches.__exit__(kind, error, traceback)

    @property
    def events(self) -> list[Event]:
        """What happened, in order."""
        return self._machine.events

    def count(self, kind: Kind | str) -> int:
        """How many events of a kind there are."""
        return sum(event.kind == kind for event in self.events)

    def bytes(self, kind: Kind | str) -> int:
        """How many bytes the events of a kind have together."""
        return sum(event.bytes for event in self.events if event.kind == kind)

    def paused(self) -> AbstractContextManager[None]:
        """Within, the device works on, but nothing is recorded, no copy in flight arrives, and the peak stays."""
        return self._machine.paused()

    @property
    def allocated(self) -> int:
        """Bytes of the device storages that live."""
        return self._machine.memory.allocated

    @property
    def peak(self) -> int:
        """The most bytes that lived at one time."""
        return self._machine.memory.peak


def _restore_default(device: Any) -> None:
    """Puts the default device back where the program changed it."""
    place = _device.CURRENT_DEVICE
    if (torch.device("cpu") if place is None else place).type != device.type:
        torch.set_default_device(None if device.type == "cpu" else device)


def host(tensor: Any) -> Any:
    """The CPU tensor over the memory of a simulated tensor, with its offset and strides; a CPU tensor as it is.

    Both change together; the result's storage begins where the other's begins.  No event is recorded.
    """
    machine = active()
    if machine is None or not machine.on_device(tensor):
        return tensor
    with machine.raw():
        return host_view(tensor)


def unsupported() -> str | None:
    """Why this torch cannot carry the simulated accelerator, in one sentence; None if it can."""
    return None if active() is not None else _self_test()


@cache
def _self_test() -> str | None:
    try:
        problem = _tried()
    except Exception as error:  # whatever a torch of another kind raises
        problem = f"{type(error).__name__}: {error}"
    return problem and f"torch {torch.__version__} does not carry the simulated accelerator: {problem}"


def _tried() -> str | None:
    with SimulatedAccelerator() as simulated:
        weight = torch.ones(3, device="cuda", requires_grad=True)
        source = torch.ones(3, requires_grad=True)
        view = weight.detach()[1:]
        loss = (weight * source.to("cuda")).sum()
        loss.backward()
        value = loss.item()
        places = [weight.device.type, view.device.type, weight.grad.device.type, source.grad.device.type]
        kinds = [event.kind for event in simulated.events]
        held = simulated.allocated
        del weight, view, loss
    if places != ["cuda", "cuda", "cuda", "cpu"]:
        return f"tensors and gradients lie on {', '.join(places)}"
    if kinds != [Kind.ALLOC, Kind.H2D, Kind.SYNC, Kind.D2H, Kind.SYNC, Kind.D2H, Kind.SYNC] or value != 3:
        return f"a small program recorded {', '.join(kinds)}"
    if not 0 <= simulated.allocated < held:
        return "the end of a device tensor goes unnoticed"
    return None
