"""Programs under the simulated accelerator, with what they did as text."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flake8_tensorcopy.verify.sim import Event, SimulatedAccelerator

PROGRAM = "program.py"


def play(program: str, **names: Any) -> tuple[SimulatedAccelerator, dict[str, Any]]:
    """Runs a program, whose first line is line 1 of `program.py`, and returns its accelerator and its names."""
    import torch

    from flake8_tensorcopy.verify.sim import SimulatedAccelerator

    torch.manual_seed(0)
    space: dict[str, Any] = {"torch": torch, **names}
    with SimulatedAccelerator() as accelerator:
        space["accelerator"] = accelerator
        exec(compile(dedent(program).strip(), PROGRAM, "exec"), space)
    return accelerator, space


def told(event: Event) -> str:
    """Line, kind and bytes, then whether it was asynchronous and whether the host memory was pinned."""
    assert event.file == PROGRAM
    flags = [name for name, on in [("async", event.non_blocking), ("pinned", event.pinned)] if on]
    return " ".join([f"{event.line}", event.kind, *([f"{event.bytes}"] if event.bytes else []), *flags])


def events(program: str, **names: Any) -> list[str]:
    """All that a program did."""
    return [told(event) for event in play(program, **names)[0].events]
