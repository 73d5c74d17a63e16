"""The instruments of the devices; what an accelerator needs is exercised as far as a CPU allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from flake8_tensorcopy.verify.devices import BODY, DEVICES, NAMES, Accelerator, Cpu, Simulated, Usage, count


class Seen(NamedTuple):
    """An event as the profiler reports it: name, start and duration in nanoseconds, bytes."""

    text: str
    start: int
    duration: int = 0
    size: int = 0

    def name(self) -> str:
        return self.text

    def start_ns(self) -> int:
        return self.start

    def duration_ns(self) -> int:
        return self.duration

    def nbytes(self) -> int:
        return self.size


def test_copies_and_waits_are_counted_by_the_names_of_cupti() -> None:
    events = [
        Seen("cudaDeviceSynchronize", 5),
        Seen(BODY, 10, 100),
        Seen("Memcpy HtoD (Pageable -> Device)", 20, 5, 4096),
        Seen("cudaMemcpyAsync", 18, 5, 0),
        Seen("cudaStreamSynchronize", 30),
        Seen("Memcpy DtoH (Device -> Pinned)", 60, 5, 4),
        Seen("Memcpy DtoD (Device -> Device)", 61, 5, 4096),
        Seen("hipEventSynchronize", 62),
        Seen("aten::copy_", 15, 9, 0),
        Seen("Memset (Device)", 16, 9, 400),
        Seen("cudaDeviceSynchronize", 150),
    ]
    usage = Usage()
    count(iter(events), usage)
    assert usage == Usage(copies=2, copied_bytes=4100, waits=2)


def test_devices_are_known_by_name() -> None:
    assert tuple(DEVICES) == NAMES
    assert [device().name for device in DEVICES.values()] == list(NAMES)


@pytest.mark.torch
def test_an_accelerator_that_is_not_there_says_so() -> None:
    import torch

    reason = Accelerator().unavailable()
    assert (
        reason is None if torch.accelerator.is_available() else reason == "torch finds no accelerator on this machine"
    )
    assert Cpu().unavailable() is None


@pytest.mark.torch
def test_the_path_of_an_accelerator_runs_on_the_simulated_one() -> None:
    """Default device, statistics of memory and profiler are torch's own; only copies are not CUDA's."""
    import torch

    simulated, device = Simulated(), Accelerator()
    with simulated.active():
        assert device.unavailable() is None
        with device.active(), device.metered() as usage:
            rows = torch.zeros(256)
            twice = rows * 2
            del rows
        assert (rows_on(twice), usage.peak_bytes, usage.copies) == ("cuda", 2048, 0)
    assert twice is not None


def rows_on(tensor: Any) -> str:
    return str(tensor.device.type)


@contextmanager
def metered(name: str) -> Iterator[Usage]:
    device = DEVICES[name]()
    with device.active(), device.metered() as usage:
        yield usage


@pytest.mark.torch
def test_the_simulated_accelerator_counts_copies_bytes_and_waits() -> None:
    import torch

    with metered("sim") as usage:
        loss = torch.ones(256).sum()
        loss.item()
        host = torch.zeros(8, device="cpu")
        moved = host.to("cuda")
    assert moved is not host
    assert (usage.copies, usage.copied_bytes, usage.waits) == (2, 4 + 32, 2)


@pytest.mark.torch
def test_the_cpu_counts_memory_only() -> None:
    import torch

    before = torch.get_default_device()
    with metered("cpu") as usage:
        torch.zeros(256)
        torch.zeros(128)
    assert usage == Usage(peak_bytes=1024)
    assert torch.get_default_device() == before
