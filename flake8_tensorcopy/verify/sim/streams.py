"""What `torch.cuda.Stream`, `torch.cuda.Event` and `torch.Generator` are while the accelerator is simulated."""

from __future__ import annotations

from typing import Any

import torch

from flake8_tensorcopy.verify.sim.copies import Copy
from flake8_tensorcopy.verify.sim.events import SimulationError
from flake8_tensorcopy.verify.sim.machine import DEVICE, Machine, active


def running(what: str) -> Machine:
    """The machine that is simulated now. Raises SimulationError when there is none any more."""
    machine = active()
    if machine is None:
        raise SimulationError(f"{what} of a simulated accelerator cannot be used after the simulation")
    return machine


class Stream:
    """A queue of work: copies on it are ordered among each other, and with other streams only by waits."""

    def __init__(self, device: Any = None, priority: int = 0, *, number: int | None = None, **_: Any) -> None:
        machine = running("a stream")
        self.stream_id = next(machine.copies.numbers) if number is None else number
        self.device, self.priority = DEVICE, priority
        self._outer: list[int] = []

    @property
    def cuda_stream(self) -> int:
        return self.stream_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash(self.stream_id)

    def __enter__(self) -> Stream:
        copies = running("a stream").copies
        self._outer.append(copies.current)
        copies.switch(self.stream_id)
        return self

    def __exit__(self, *_: object) -> None:
        running("a stream").copies.switch(self._outer.pop())

    def synchronize(self) -> None:
        machine = running("a stream")
        machine.wait("synchronize", machine.copies.before(self.stream_id))

    def query(self) -> bool:
        """True: the work may always be done already, and once that is known, its results may be read."""
        machine = running("a stream")
        machine.arrive(machine.copies.before(self.stream_id))
        return True

    def is_capturing(self) -> bool:
        return False

    def wait_stream(self, stream: Stream) -> None:
        copies = running("a stream").copies
        copies.order(self.stream_id, copies.before(stream.stream_id))

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def record_event(self, event: Event | None = None) -> Event:
        event = event if event is not None else Event()
        event.record(self)
        return event


class Event:
    """A mark on a stream: it stands for the copies that the stream had before it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._machine = running("an event")
        self._copies: list[Copy] = []
        self._recorded = False

    def record(self, stream: Stream | None = None) -> None:
        copies = self._machine.copies
        self._copies = copies.before(copies.current if stream is None else stream.stream_id)
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        copies = self._machine.copies
        copies.order(copies.current if stream is None else stream.stream_id, self._copies)

    def query(self) -> bool:
        """True, as for a stream."""
        self._machine.arrive(self._copies)
        return True

    def synchronize(self) -> None:
        if self._recorded:
            self._machine.wait("synchronize", self._copies)

    def elapsed_time(self, end_event: Any) -> float:
        raise SimulationError("the simulated accelerator has no time that Event.elapsed_time could measure")


class Generator(torch.Generator):  # type: ignore[misc]
    """A generator of either side; on the device it draws the CPU's numbers."""

    def __new__(cls, device: Any = "cpu") -> Any:
        machine = running("a generator")
        generator = super().__new__(cls)
        generator.__dict__["_place"] = DEVICE if machine.wanted(device) else torch.device(device)
        return generator

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__()

    @property
    def device(self) -> Any:
        return self.__dict__["_place"]


class stream_context:
    """`torch.cuda.stream(s)`: work within goes to `s`; nothing happens for None."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


class device_context:
    """`torch.cuda.device(d)`: there is one device; a number of -1 means none."""

    def __init__(self, device: Any) -> None:
        if device is not None and device != -1:
            running("a device").wanted(device)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...
