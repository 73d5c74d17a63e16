"""Measures fixtures in processes of their own, so that one that hangs, crashes or eats memory harms no other.

This module imports no torch: a server process imports it once, and each child is forked from there (where forking is
not to be had, each child imports it).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from flake8_tensorcopy.verify.devices import DEVICES, Device
from flake8_tensorcopy.verify.fixtures import Fixture

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

VerdictName = Literal["confirmed", "refuted", "failed", "skipped"]
LONGEST = 2000  # characters of a measurement or a reason
START = 120.0  # seconds that a child may take to import torch; they are not the function's


@dataclass(frozen=True, slots=True)
class Limits:
    """What a fixture may take: `seconds` of wall time for one function, `bytes` of memory beyond what torch takes."""

    seconds: float = 60.0
    bytes: int = 4 << 30


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one function on one device.

    `verdict`: "confirmed" or "refuted" where its claim was measured, "skipped" where it cannot be on this device,
    "failed" where the function could not be measured at all.  `text` is the measurement, or the reason.  `fixed`: what
    was run is the function as the linter repairs it.
    """

    fixture: str
    rule: str
    claim: str
    function: str
    bad: bool
    device: str
    verdict: VerdictName
    text: str
    figures: dict[str, int] = field(default_factory=dict)
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Torch:
    """The torch that is installed; `missing` says why it cannot be imported, `devices` why a device cannot be used."""

    version: str
    missing: str
    devices: dict[str, str | None]
    accelerator: str = ""


@dataclass(frozen=True, slots=True)
class _Job:
    fixture: Fixture
    functions: tuple[str, ...]
    device: str
    seed: int
    limits: Limits


def installed() -> Torch:
    """Asks a child which torch there is, and on which devices it runs."""
    context = _context()
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_describe, args=(there,), daemon=True)
    process.start()
    there.close()
    try:
        answer = here.recv()
    except EOFError:
        process.join()
        answer = Torch("", f"importing torch ends Python: {_ending(process.exitcode)}", {})
    process.join()
    if not isinstance(answer, Torch):
        raise TypeError(answer)
    return answer


def run(
    fixtures: Sequence[Fixture],
    devices: Sequence[str],
    *,
    torch: Torch,
    seed: int = 0,
    limits: Limits = Limits(),
    jobs: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Measures every function of the fixtures on each device, `jobs` at a time (as many as there are CPUs for 0).

    The order of the results is that of the fixtures, then of the devices, then of the functions.  `progress` is told
    how many functions are done, and of how many.  One accelerator is shared by all jobs: its fixtures run one by one.
    """
    tell = _Counter(sum(len(fixture.functions) for fixture in fixtures) * len(devices), progress)
    children = _Children()
    work: list[Callable[[], list[Result]]] = []
    for fixture in fixtures:
        for device in devices:
            if reason := _skipped(fixture, device, torch):
                skipped = [_result(fixture, name, device, "skipped", reason) for name in fixture.functions]
                work.append(partial(_told, skipped, tell))
            else:
                work.append(partial(_measured, _Job(fixture, fixture.functions, device, seed, limits), tell, children))
    workers = 1 if "cuda" in devices and torch.devices.get("cuda") is None else jobs or os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        try:
            running = [pool.submit(part) for part in work]
            return [result for part in running for result in part.result()]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.stop()
            raise


class _Counter:
    """Counts what is done over all threads, for whoever shows it."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._done, self._total, self._progress = 0, total, progress
        self._lock = Lock()

    def __call__(self, count: int) -> None:
        with self._lock:
            self._done += count
            if self._progress:
                self._progress(self._done, self._total)


def _told(results: list[Result], tell: _Counter) -> list[Result]:
    tell(len(results))
    return results


def _skipped(fixture: Fixture, device: str, torch: Torch) -> str:
    if reason := torch.devices.get(device):
        return reason
    if fixture.host_only and device != "cpu":
        return fixture.host_only
    if fixture.device_only and not DEVICES[device].transfers:
        return fixture.device_only
    if fixture.sim_only and device != "sim":
        return fixture.sim_only
    if fixture.claim == "transfers" and not DEVICES[device].transfers:
        return "there is no device to copy to or from"
    return ""


def _result(
    fixture: Fixture, name: str, device: str, verdict: VerdictName, text: str, figures: dict[str, int] | None = None
) -> Result:
    bad = name in fixture.bad
    fixed = name in fixture.fixed
    return Result(fixture.label, fixture.rule, fixture.claim, name, bad, device, verdict, text, figures or {}, fixed)


# The parent's side of a child.


def _context() -> ForkServerContext | SpawnContext:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"{__package__}.preload", __name__])
    return context


class _Stopped(Exception):
    """The run ends: no child is started any more."""


class _Children:
    """The children that run: all of them end when the run does, however it ends."""

    def __init__(self) -> None:
        self._running: set[Any] = set()
        self._lock = Lock()
        self._stopped = False

    @contextmanager
    def running(self, process: Any) -> Iterator[None]:
        """Starts a child; ends it, and what it has started itself, when the body does."""
        with self._lock:
            if self._stopped:
                raise _Stopped
            process.start()
            self._running.add(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)
                _kill(process)
            process.join()

    def stop(self) -> None:
        """Ends every child, and lets no other start."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill(process)


def _kill(process: Any) -> None:
    process.kill()
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # it has not got as far as to lead a group
            os.killpg(process.pid, signal.SIGKILL)


def _measured(job: _Job, tell: _Counter, children: _Children) -> list[Result]:
    """Starts a child; when one dies over a function, another one goes on with the next function."""
    results: list[Result] = []
    while len(results) < len(job.functions):
        left = job.functions[len(results) :]
        done = 0
        for result in _child(_Job(job.fixture, left, job.device, job.seed, job.limits), children):
            results.append(result)
            done += 1
            tell(1)
        if not done:
            raise RuntimeError(f"{job.fixture.path}: a child process neither answered nor ended")
    return results


def _child(job: _Job, children: _Children) -> Iterator[Result]:
    """The results of the functions in turn; where the child ends early, the last is that of the function it died of."""
    context = _context()
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(there, job))
    with here, children.running(process):
        there.close()
        for place, name in enumerate(job.functions):
            ended = _result(job.fixture, name, job.device, "failed", "")
            try:
                if place == 0 and here.poll(START):
                    here.recv()  # it is ready
                if not here.poll(job.limits.seconds):
                    yield replace(ended, text=f"timed out after {job.limits.seconds:g} s")
                    return
                answer = here.recv()
            except (EOFError, OSError):  # the latter in the middle of an answer
                process.join()
                yield replace(ended, text=f"the process ended: {_ending(process.exitcode)}")
                return
            yield answer


def _ending(status: int | None) -> str:
    if status is not None and status < 0:
        try:
            return f"killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"killed by signal {-status}"
    return f"exit status {status}"


# The child's side.


def _describe(answers: Connection) -> None:
    _quiet()
    try:
        import torch
    except Exception as error:
        answers.send(Torch("", _named(error), {}))
        return
    accelerator = ""
    if DEVICES["cuda"]().unavailable() is None:
        accelerator = torch.get_device_module(torch.accelerator.current_accelerator()).get_device_name()
    devices = {name: _unavailable(device()) for name, device in DEVICES.items()}
    answers.send(Torch(torch.__version__.partition("+")[0], "", devices, accelerator))


def _unavailable(device: Device) -> str | None:
    try:
        return device.unavailable()
    except Exception as error:  # of a driver, say
        return _named(error)


def _work(answers: Connection, job: _Job) -> None:
    _quiet()
    _lead()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it deterministic algorithms refuse cuBLAS
    import torch

    from flake8_tensorcopy.verify.probes import measure

    torch.set_num_threads(1)
    if job.device != "cuda":  # an accelerator maps far more address space than it uses
        _bound_memory(job.limits.bytes)
    device = DEVICES[job.device]()
    process = os.getpid()
    answers.send("ready")
    for name in job.functions:
        _expire(job.limits.seconds)
        try:
            outcome = measure(job.fixture, name, device, job.seed)
        except BaseException as error:  # SystemExit too: what follows must still be measured
            answer = _result(job.fixture, name, job.device, "failed", _shown(_reason(error, job.limits)))
        else:
            verdict: VerdictName = "confirmed" if outcome.confirmed else "refuted"
            text = _shown(outcome.measured)
            answer = _result(job.fixture, name, job.device, verdict, text, outcome.figures)
        if os.getpid() != process:
            os._exit(0)  # the function forked, and this is the copy
        answers.send(answer)
    answers.close()


def _reason(error: BaseException, limits: Limits) -> str:
    from flake8_tensorcopy.verify.probes import out_of_memory

    if out_of_memory(error) or out_of_memory(error.__cause__):
        return f"out of memory: it wants more than {limits.bytes >> 20:,} MiB"
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) and text else _named(error)


def _named(error: BaseException) -> str:
    """Class and message of an error on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _shown(text: str) -> str:
    """A text that no terminal takes for commands, and of bounded length."""
    shown = "".join(
        letter if letter.isprintable() or letter == "\n" else letter.encode("unicode_escape").decode()
        for letter in text[:LONGEST]
    )
    return shown if len(text) <= LONGEST >= len(shown) else f"{shown[:LONGEST]} .. ({len(text):,} characters)"


def _lead() -> None:
    """Makes this process the leader of a session of its own: what it starts can be ended with it."""
    if hasattr(os, "setsid"):
        os.setsid()


def _expire(seconds: float) -> None:
    """Has the system end this process some time after its limit, should nobody be left to do so."""
    if hasattr(signal, "alarm"):
        signal.alarm(int(seconds) + 5)


def _quiet() -> None:
    """Neither a fixture's output nor a crash's last words reach the terminal, and no core is dumped."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")
    resource = _resource()
    if resource:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _bound_memory(size: int) -> None:
    """Bounds the address space to `size` bytes more than now, where the system lets it be known and bounded."""
    resource = _resource()
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return
    if resource:
        resource.setrlimit(resource.RLIMIT_AS, (now + size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _resource() -> Any:
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource
