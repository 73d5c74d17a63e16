"""The probes: each measures one kind of claim by running a function of a fixture in torch, and assumes nothing.

What a function of a fixture returns is in `fixtures`.  A function with the bug and its pair run under one probe and
must contrast.  Only running a probe imports torch.
"""

from __future__ import annotations

import gc
import inspect
import io
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from flake8_tensorcopy.verify import tables
from flake8_tensorcopy.verify.devices import Cpu, Device, Usage
from flake8_tensorcopy.verify.fixtures import Fixture, FixtureError, pair

if TYPE_CHECKING:
    from flake8_tensorcopy.verify.watch import GraphWatch, HostCopies


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a probe made of one function.

    `confirmed`: is the function's side of the claim true?  `measured` says it in words, `figures` in numbers that can
    be added up over functions; their units are in their names, where they are not numbers of things.
    """

    name: str
    confirmed: bool
    measured: str
    figures: dict[str, int] = field(default_factory=dict)


class Run(NamedTuple):
    """One execution of a fixture function."""

    result: Any
    printed: str
    warned: list[str]
    error: Exception | None
    usage: Usage


class Verdict(NamedTuple):
    """What a probe returns: the fields of Outcome but the name."""

    confirmed: bool
    measured: str
    figures: dict[str, int]


@dataclass(frozen=True, slots=True)
class Trial:
    """A fixture on a device, with a seed."""

    fixture: Fixture
    device: Device
    seed: int

    def execute(self, name: str, watch: GraphWatch | HostCopies | None = None) -> Run:
        """Runs a function in a new module made of the fixture's text, seen by `watch` if there is one."""
        module = ModuleType(self.fixture.path.stem)
        code = compile(self.fixture.source, str(self.fixture.path), "exec", dont_inherit=True)
        result, error, usage = None, None, Usage()
        printed = io.StringIO()
        with _settled(self.seed), warnings.catch_warnings(record=True) as caught, redirect_stdout(printed):
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # of a file left open, whenever that is noticed
            try:
                exec(code, vars(module))
                caught.clear()  # of what the module imports
                with redirect_stderr(io.StringIO()), self.device.metered() as usage, watch or nullcontext():
                    result = vars(module)[name]()
            except Exception as raised:
                error = raised
        if inspect.isgenerator(result) or inspect.iscoroutine(result):
            result.close()
            raise FixtureError(f"{name} returns a {type(result).__name__}, whose body nothing runs")
        return Run(result, printed.getvalue(), [str(warning.message) for warning in caught], error, usage)

    def complete(self, name: str, watch: GraphWatch | HostCopies | None = None) -> Run:
        """As `execute`; raises FixtureError where the function raises."""
        run = self.execute(name, watch)
        if run.error is not None:
            raise self.failure(name, run.error) from run.error
        return run

    def unpack(self, name: str, size: int) -> Sequence[Any]:
        """The things that a function returns; raises FixtureError if they are not `size` in number."""
        result = self.complete(name).result
        if not isinstance(result, tuple) or len(result) != size:
            raise FixtureError(f"{name} must return {size} things for the claim {self.fixture.claim!r}")
        return result

    def failure(self, name: str, error: Exception) -> FixtureError:
        text = " ".join(str(error).split())
        return FixtureError(f"{name} raised {type(error).__name__}" + (f": {text}" if text else ""))

    def partner(self, name: str) -> str:
        """The function to measure against; empty if the fixture has none."""
        other = pair(name)
        return other if other in self.fixture.bad + self.fixture.good else ""

    def contrasts(self, name: str, cost: dict[str, int], against: dict[str, int]) -> bool:
        """Is the cost of a function on its side of that of its pair?  A repaired one is no dearer than the good one."""
        if name in self.fixture.fixed:
            return all(cost[key] <= against[key] for key in cost)
        return _dearer(cost, against) if name in self.fixture.bad else _dearer(against, cost)

    def like_its_pair(self, name: str) -> bool:
        """Do a function and its pair print and return the same?"""
        other = self.partner(name)
        if not other:
            return True
        one, two = self.complete(name), self.complete(other)
        return one.printed == two.printed and same(_plain(one.result), _plain(two.result))


def measure(fixture: Fixture, name: str, device: Device | None = None, seed: int = 0) -> Outcome:
    """Measures the claim of one function, in this process: seeded, with torch's global state put back afterwards.

    The CPU unless another device is given, which must be available.
    Raises FixtureError where the function fails, or does not return what its claim needs.
    """
    trial = Trial(fixture, device or Cpu(), seed)
    with trial.device.active():
        return Outcome(name, *PROBES[fixture.claim](trial, name, name in fixture.bad))


@contextmanager
def _settled(seed: int) -> Iterator[None]:
    """A fixed seed and deterministic algorithms; afterwards the random states, torch's modes and defaults are back."""
    import torch

    numpy = sys.modules.get("numpy")  # which torch imports where there is one
    drawn, drawn_by_numpy = random.getstate(), numpy and numpy.random.get_state()
    random.seed(seed)
    if numpy:
        numpy.random.seed(seed % 2**32)

    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_always = torch.is_warn_always_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        torch.set_warn_always(True)  # else only the first function to be warned sees it
        try:
            yield
        finally:
            torch.set_grad_enabled(grad)
            torch.set_default_dtype(dtype)
            torch.use_deterministic_algorithms(deterministic)
            torch.set_warn_always(warn_always)
            random.setstate(drawn)
            if numpy:
                numpy.random.set_state(drawn_by_numpy)


def out_of_memory(error: BaseException | None) -> bool:
    """Did an allocator of Python or torch refuse?  On the CPU torch's has no error class of its own."""
    import torch

    refused = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return refused or "DefaultCPUAllocator: can't allocate memory" in str(error)


# Comparing.


def differences(left: Any, right: Any) -> tuple[int, int]:
    """How many elements of two results differ, and of how many.

    Tensors and arrays are compared in type, shape, dtype, device and element by element, containers item by item; what
    is unlike as a whole differs in every element.  A NaN is like a NaN.
    """
    import torch

    match left, right:
        case torch.Tensor(), torch.Tensor():
            if (left.shape, left.dtype, left.device) != (right.shape, right.dtype, right.device):
                size = max(left.numel(), right.numel(), 1)
                return size, size
            if torch.equal(left, right):
                return 0, left.numel()
            return int(_unlike(left, right).sum()), left.numel()
        case (dict(), dict()):
            if list(left) != list(right):
                return max(len(left), len(right)), max(len(left), len(right))
            return _summed(differences(left[key], right[key]) for key in left)
        case (list() | tuple(), list() | tuple()):
            if len(left) != len(right):
                return max(len(left), len(right)), max(len(left), len(right))
            return _summed(map(differences, left, right))
        case _ if hasattr(left, "__array__") and hasattr(right, "__array__"):
            import numpy as np

            one, two = np.asarray(left), np.asarray(right)
            if type(left) is not type(right) or (one.shape, one.dtype) != (two.shape, two.dtype):
                return max(one.size, two.size, 1), max(one.size, two.size, 1)
            return int(_unlike(one, two).sum()), one.size
        case float(), float():
            return int(_unlike(left, right)), 1
        case _:
            return int(type(left) is not type(right) or not bool(left == right)), 1


def _unlike(left: Any, right: Any) -> Any:
    """Where two tensors, arrays or numbers differ; a NaN differs from itself, and so from no other NaN."""
    return (left != right) & ((left == left) | (right == right))


def _summed(counts: Iterator[tuple[int, int]]) -> tuple[int, int]:
    wrong, total = 0, 0
    for one, of in counts:
        wrong, total = wrong + one, total + of
    return wrong, total


def same(left: Any, right: Any) -> bool:
    """Do two results differ in no element?"""
    return differences(left, right)[0] == 0


def share_storage(left: Any, right: Any) -> bool:
    """Have the storages of two strided tensors of one device bytes in common?

    Whole storages are compared: `data_ptr()` of a tensor says where its first element lies and misses offsets, and the
    storage of a slice that came back from NumPy begins in the middle of another.
    """
    if left.device != right.device:
        return False
    one, other = left.untyped_storage(), right.untyped_storage()
    first = max(one.data_ptr(), other.data_ptr())
    last = min(one.data_ptr() + one.nbytes(), other.data_ptr() + other.nbytes())
    return bool(first < last)


def addresses(tensor: Any) -> set[int]:
    """The addresses of the elements of a strided tensor, in bytes; a dimension of stride 0 adds none."""
    found = {tensor.data_ptr()} if tensor.numel() else set()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        offsets = [place * stride * tensor.element_size() for place in range(size if stride else 1)]
        found = {start + offset for start in found for offset in offsets}
    return found


def overlap(left: Any, right: Any) -> int:
    """How many elements of `left` lie where elements of `right` lie; both strided, of one device and element size.

    Found from strides and addresses: two slices of one tensor share a storage and yet may have no element in common.
    """
    return len(addresses(left) & addresses(right)) if left.device == right.device else 0


def _plain(result: Any) -> Any:
    """A result with its 0-d tensors as numbers: a cost claim is about what is paid for a value, not about its type."""
    import torch

    match result:
        case torch.Tensor() if result.dim() == 0:
            return result.item()
        case list() | tuple():
            return [_plain(item) for item in result]
        case dict():
            return {key: _plain(value) for key, value in result.items()}
        case _:
            return result


# Probes.


def _values(trial: Trial, name: str, bad: bool) -> Verdict:
    """A function and its pair must also mean the same, or one of them could be right about something else."""
    given, meant = trial.unpack(name, 2)
    wrong, total = differences(given, meant)
    measured = f"{wrong} of {total} elements wrong: torch gives {given!r}, meant was {meant!r}"
    figures = {"wrong": wrong, "elements": total}
    if other := trial.partner(name):
        _, wanted = trial.unpack(other, 2)
        if not same(meant, wanted):
            return Verdict(False, f"{measured}, and {other} means {wanted!r}", figures)
    return Verdict((wrong > 0) is bad, measured, figures)


def _raises(trial: Trial, name: str, bad: bool) -> Verdict:
    """An error that the fixture does not name would be a slip of its author; so would be a want of memory."""
    run = trial.execute(name)
    expected = re.compile(trial.fixture.refusal)
    if run.error is not None:
        if not expected.search(str(run.error)) or out_of_memory(run.error):
            raise trial.failure(name, run.error) from run.error
        return Verdict(bad, f"{type(run.error).__name__}: {run.error}", {"refused": 1})
    warned = next(filter(expected.search, run.warned), None)
    if warned is not None:
        return Verdict(bad, f"warned: {warned}", {"refused": 1})
    return Verdict(not bad, "nothing was raised", {"refused": 0})


def _storage(trial: Trial, name: str, bad: bool) -> Verdict:
    left, right, believed = trial.unpack(name, 3)
    if not isinstance(believed, bool):
        raise FixtureError(f"{name} must say True or False of sharing, and says {believed!r}")
    one, other = trial.device.host(left), trial.device.host(right)
    shared = share_storage(one, other)
    measured = f"storage is {'' if shared else 'not '}shared, the program says {believed}"
    figures = {"shared": int(shared), "misjudged": int(believed is not shared)}
    if one.element_size() == other.element_size():
        figures["overlap"] = overlap(one, other)
        measured += f"; {figures['overlap']} of {one.numel()} elements overlap"
    return Verdict((believed is shared) is not bad, measured, figures)


def _trains(trial: Trial, name: str, bad: bool) -> Verdict:
    import torch

    before, after = ([side] if isinstance(side, torch.Tensor) else list(side) for side in trial.unpack(name, 2))
    if not before or len(before) != len(after):
        raise FixtureError(f"{name} returns {len(before)} tensors before and {len(after)} after")
    host = trial.device.host
    if any(share_storage(host(old), host(new)) for old in before for new in after):
        raise FixtureError(f"{name} compares a tensor with itself: `before` needs clone()")
    if any((old.shape, old.dtype) != (new.shape, new.dtype) for old, new in zip(before, after, strict=True)):
        raise FixtureError(f"{name} compares tensors of unlike shapes or dtypes")
    moved = [not same(old, new) for old, new in zip(before, after, strict=True)]
    figures = {"moved": sum(moved), "tensors": len(moved)}
    return Verdict(not any(moved) if bad else all(moved), f"{sum(moved)} of {len(moved)} tensors moved", figures)


def _gradients(trial: Trial, name: str, bad: bool) -> Verdict:
    """A leaf that no gradient reaches has None, which differs from every gradient that was meant."""
    import torch

    loss, leaves, meant = trial.unpack(name, 3)
    if len(leaves) != len(meant) or not leaves:
        raise FixtureError(f"{name} returns {len(leaves)} leaves and {len(meant)} gradients")
    if loss.requires_grad:
        given = list(torch.autograd.grad(loss, leaves, allow_unused=True))
    else:
        given = [None] * len(leaves)
    wrong, total = 0, 0
    for one, wanted in zip(given, meant, strict=True):
        size = 1 if wanted is None else wanted.numel()
        if one is None or wanted is None:
            wrong, total = wrong + (size if one is not wanted else 0), total + size
        else:
            wrong, total = _summed(iter([(wrong, total), differences(one, wanted)]))
    measured = f"{wrong} of {total} elements of gradients wrong: torch gives {given!r}, meant was {list(meant)!r}"
    if other := trial.partner(name):
        _, _, wanted = trial.unpack(other, 3)
        if not same(list(meant), list(wanted)):
            return Verdict(False, f"{measured}, and {other} means {wanted!r}", {"wrong": wrong, "elements": total})
    return Verdict((wrong > 0) is bad, measured, {"wrong": wrong, "elements": total})


def _graph(trial: Trial, name: str, bad: bool) -> Verdict:
    """Nodes and saved tensors for nothing: recorded and never read, or held by the result after the program has ended.

    A function and its pair must give the same values.  One without a pair has nothing for nothing, or it is bad.
    """
    cost, measured = _graph_cost(trial, name)
    other = trial.partner(name)
    against, _ = _graph_cost(trial, other) if other else ({"nodes": 0, "saved": 0}, "")
    equal = trial.like_its_pair(name)
    if other:
        contrast = trial.contrasts(name, cost, against)
    else:
        contrast = _dearer(cost, against) is bad
    return Verdict(equal and contrast, measured + _differs(equal), cost)


def _graph_cost(trial: Trial, name: str) -> tuple[dict[str, int], str]:
    from flake8_tensorcopy.verify.watch import GraphWatch, reachable

    watch = GraphWatch()
    run = trial.complete(name, watch)
    held = reachable(run.result)
    unread = watch.unread(held)
    watch.forget()
    gc.collect()  # what only a cycle of references keeps is not kept by the result
    saved, nodes = watch.saved(), len(held)
    del held, run
    measured = f"{unread} nodes recorded and not read, {nodes} nodes and {saved} saved tensors kept alive by the result"
    return {"nodes": unread + nodes, "saved": saved}, measured


def _memory(trial: Trial, name: str, bad: bool) -> Verdict:
    """The peak of the bytes that live at once is higher with the bug; the values are equal."""
    peak = trial.complete(name).usage.peak_bytes
    measured, contrast = f"{peak:,} bytes at the peak", True
    if other := trial.partner(name):
        against = trial.complete(other).usage.peak_bytes
        measured += f", {against:,} in {other}"
        contrast = trial.contrasts(name, {"peak_bytes": peak}, {"peak_bytes": against})
    equal = trial.like_its_pair(name)
    return Verdict(equal and contrast, measured + _differs(equal), {"peak_bytes": peak})


def _transfers(trial: Trial, name: str, bad: bool) -> Verdict:
    """More copies, bytes, waits, staging or host tensors that serve only to be read than the pair; equal values."""
    cost = _transfer_cost(trial, name)
    other = trial.partner(name)
    if other:
        against = _transfer_cost(trial, other)
        contrast = trial.contrasts(name, cost, against)
    else:
        contrast = (cost["idle"] > 0) is bad
    equal = trial.like_its_pair(name)
    measured = (
        f"copies: {cost['copies']} of {cost['bytes']:,} bytes, waits: {cost['waits']}, "
        f"host tensors made only to be read: {cost['idle']}, bytes staged or pinned on the way: {cost['staged']:,}"
    )
    return Verdict(equal and contrast, measured + _differs(equal), cost)


def _transfer_cost(trial: Trial, name: str) -> dict[str, int]:
    from flake8_tensorcopy.verify.watch import HostCopies

    watch = HostCopies()
    kept = trial.complete(name, watch)  # while it lives, a host copy that the program keeps lives too
    usage = kept.usage
    cost = {"copies": usage.copies, "bytes": usage.copied_bytes, "waits": usage.waits, "idle": watch.idle()}
    cost["staged"] = usage.staged_bytes
    del kept
    return cost


def _dearer(one: dict[str, int], other: dict[str, int]) -> bool:
    """Is a cost higher in something and lower in nothing?"""
    return one != other and all(one[key] >= other[key] for key in one)


def _differs(equal: bool) -> str:
    return "" if equal else "; the pair gives other values"


def _table(trial: Trial, name: str, bad: bool) -> Verdict:
    """The row of the table in the docstring is the row that was measured."""
    shown = tables.of(trial.fixture)
    measured = tables.row(trial.fixture, name, shown.columns, lambda: trial.complete(name).result, trial.device)
    stated = shown.rows.get(measured.partition("|")[0].strip(), "")
    return Verdict(measured == stated, measured if measured == stated else f"{measured}, stated is {stated!r}", {})


PROBES: dict[str, Callable[[Trial, str, bool], Verdict]] = {
    "values": _values,
    "raises": _raises,
    "storage": _storage,
    "trains": _trains,
    "gradients": _gradients,
    "graph": _graph,
    "memory": _memory,
    "transfers": _transfers,
    "table": _table,
}
