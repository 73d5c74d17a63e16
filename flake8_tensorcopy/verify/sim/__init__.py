"""A simulated accelerator: programs that name a CUDA device run without one, and what they do with it is recorded.

This package needs torch; what imports it does so only when it runs.
"""

from flake8_tensorcopy.verify.sim.accelerator import SimulatedAccelerator, host, unsupported
from flake8_tensorcopy.verify.sim.events import Event, Kind, SimulationError

__all__ = ["Event", "Kind", "SimulatedAccelerator", "SimulationError", "host", "unsupported"]
