"""Torch modes that watch a program while it runs; this module needs torch, so the probes import it when they run."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

READS = {"__bool__", "__float__", "__format__", "__int__", "__repr__", "item", "tolist"}  # methods of a tensor
BACKWARD = (torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad)


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in a value, through lists, tuples and dicts."""
    match value:
        case torch.Tensor():
            yield value
        case list() | tuple():
            for item in value:
                yield from tensors(item)
        case dict():
            for item in value.values():
                yield from tensors(item)


def reachable(value: Any) -> set[Any]:
    """The autograd nodes that the tensors in a value keep alive, the accumulators of leaves not among them."""
    return _behind(tensor.grad_fn for tensor in tensors(value))


def _behind(nodes: Iterable[Any]) -> set[Any]:
    """Nodes, and the nodes that they lead back to."""
    found: set[Any] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found and node.name() != "torch::autograd::AccumulateGrad":
            found.add(node)
            waiting += [following for following, _ in node.next_functions]
    return found


class Saved:
    """A tensor that a graph node keeps for backward; it lives as long as the node holds it."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def _unpacked(saved: Saved) -> Any:
    return saved.tensor


class GraphWatch(TorchFunctionMode):  # type: ignore[misc]
    """Keeps every autograd node that a call's result shows, and which of them a backward started from.

    Tensors that are saved for backward are counted while their nodes hold them, those of its own leaves too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.recorded: set[Any] = set()
        self.started: set[Any] = set()
        self._saved: weakref.WeakSet[Saved] = weakref.WeakSet()
        self._hooks = ExitStack()

    def __enter__(self) -> GraphWatch:
        super().__enter__()
        self._hooks.enter_context(torch.autograd.graph.saved_tensors_hooks(self._packed, _unpacked))
        return self

    def __exit__(self, *exception: Any) -> None:
        self._hooks.close()
        super().__exit__(*exception)

    def _packed(self, tensor: Any) -> Saved:
        saved = Saved(tensor)
        self._saved.add(saved)
        return saved

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in BACKWARD:
            self.started |= {tensor.grad_fn for tensor in tensors([args, kwargs])}
        result = func(*args, **kwargs)
        self.recorded |= {tensor.grad_fn for tensor in tensors(result)} - {None}
        return result

    def unread(self, held: set[Any]) -> int:
        """How many recorded nodes nothing came to use: no backward went through them, and the result holds them not.

        `held` are those that it holds, with all that they lead back to.
        """
        return len(_behind(self.recorded) - _behind(self.started) - held)

    def forget(self) -> None:
        """Lets go of the recorded nodes, so that only the program's own references keep what they saved alive."""
        self.recorded.clear()
        self.started.clear()

    def saved(self) -> int:
        """How many tensors nodes keep for backward; meaningful once `forget` was called."""
        return len(self._saved)


class MemoryWatch(TorchDispatchMode):  # type: ignore[misc]
    """Counts the bytes of the storages that operations make, from the operation to the last reference to a storage.

    What an operation is given but no operation made was there before, or came from outside torch, and costs nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._made: dict[int, weakref.ref[Any]] = {}  # storages by address, which is used again once one is freed
        self._given: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is not torch.ops.aten.lift_fresh.default:  # what `torch.tensor` has just made, and only now shows
            for storage in _storages([args, kwargs]):
                if not _alive(self._made, storage):
                    self._given[storage._cdata] = weakref.ref(storage)
        result = func(*args, **kwargs)
        for storage in _storages(result):
            if not _alive(self._given, storage):
                self._made[storage._cdata] = weakref.ref(storage)
        living = [storage for known in self._made.values() if (storage := known()) is not None]
        self.peak = max(self.peak, sum(storage.nbytes() for storage in living))
        return result


def _storages(value: Any) -> list[Any]:
    return [tensor.untyped_storage() for tensor in tensors(value) if tensor.layout is torch.strided]


def _alive(known: dict[int, weakref.ref[Any]], storage: Any) -> bool:
    reference = known.get(storage._cdata)
    return reference is not None and reference() is not None


class HostCopies(TorchFunctionMode):  # type: ignore[misc]
    """Watches the tensors that calls bring from a device to the host: does anything come of them?"""

    def __init__(self) -> None:
        super().__init__()
        self._made: list[tuple[weakref.ref[Any], int]] = []  # host copies, with their number of elements
        self._used: set[int] = set()  # those that an operation took, by their place in `made`

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__":  # which is a property, such as a shape
            return result
        given = list(tensors([args, kwargs]))
        if name not in READS:
            taken = {id(tensor) for tensor in given}
            self._used |= {place for place, (copy, _) in enumerate(self._made) if id(copy()) in taken}
        if isinstance(result, torch.Tensor) and given and on_host(result) and not any(map(on_host, given)):
            self._made.append((weakref.ref(result), result.numel()))
        return result

    @property
    def made(self) -> int:
        """How many tensors were brought to the host."""
        return len(self._made)

    def idle(self) -> int:
        """How many host copies of one element no operation took and nothing keeps: they were read or shown, if at all.

        Reading the element on the device moves it too, and makes no tensor.  A copy of more elements has its use even
        if it is only shown: element by element from the device would be a transfer for each.
        """
        copies = enumerate(self._made)
        return sum(size == 1 and copy() is None for place, (copy, size) in copies if place not in self._used)


def on_host(tensor: Any) -> bool:
    """Does a tensor lie in host memory?"""
    return bool(tensor.device.type == "cpu")
