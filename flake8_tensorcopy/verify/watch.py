"""Torch modes that watch a program while it runs; this module needs torch, so the probes import it when they run."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

READS = (
    torch.Tensor.__bool__,
    torch.Tensor.__float__,
    torch.Tensor.__format__,
    torch.Tensor.__int__,
    torch.Tensor.__repr__,
    torch.Tensor.item,
    torch.Tensor.tolist,
)
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
    found: set[Any] = set()
    waiting = [tensor.grad_fn for tensor in tensors(value)]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found and node.name() != "torch::autograd::AccumulateGrad":
            found.add(node)
            waiting += [following for following, _ in node.next_functions]
    return found


class GraphWatch(TorchFunctionMode):  # type: ignore[misc]
    """Keeps every autograd node that a call's result shows, and which of them a backward started from."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded: set[Any] = set()
        self.started: set[Any] = set()

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in BACKWARD:
            self.started |= {tensor.grad_fn for tensor in tensors([args, kwargs])}
        result = func(*args, **kwargs)
        self.recorded |= {tensor.grad_fn for tensor in tensors(result)} - {None}
        return result

    def unread(self, held: set[Any]) -> int:
        """How many recorded nodes nothing came to use: no other node, no backward, and not the `held` of the result."""
        read = {following for node in self.recorded for following, _ in node.next_functions}
        return len(self.recorded - read - self.started - held)


class TransferWatch(TorchFunctionMode):  # type: ignore[misc]
    """Takes the CPU for an accelerator whose tensors `cpu()` and `to("cpu")` copy to the host.

    On a CPU such a call gives its argument back; here it gives a copy, as it does on a device, and the copy and all
    that is computed from it lie on the host.  Reading elements of a device tensor moves the bytes that are read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0
        self.made: list[tuple[weakref.ref[Any], int]] = []  # host copies, with their number of elements
        self.used: set[int] = set()  # those that an operation took, by their place in `made`
        self.host: dict[int, weakref.ref[Any]] = {}  # the tensors that lie on the host, by identity

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = list(tensors([args, kwargs]))
        result = func(*args, **kwargs)
        if _asks_for_the_host(func, args, kwargs) and not self._on_host(args[0]):
            result = args[0].clone() if result is args[0] else result
            self.bytes += args[0].nbytes
            self._put_on_host(result)
            self.made.append((self.host[id(result)], result.numel()))
        elif func in READS:
            self.bytes += sum(tensor.nbytes for tensor in given if not self._on_host(tensor))
        elif getattr(func, "__name__", "") != "__get__":  # which is a property, such as a shape
            taken = {id(tensor) for tensor in given if self._on_host(tensor)}
            self.used |= {place for place, (copy, _) in enumerate(self.made) if id(copy()) in taken}
            for tensor in tensors(result) if taken else ():
                self._put_on_host(tensor)
        return result

    def _on_host(self, tensor: Any) -> bool:
        known = self.host.get(id(tensor))
        return known is not None and known() is tensor  # an identity may be that of a tensor long gone

    def _put_on_host(self, tensor: Any) -> None:
        self.host[id(tensor)] = weakref.ref(tensor)

    def idle(self) -> int:
        """How many host copies of one element no operation took and nothing keeps: they were read or shown, if at all.

        Reading the element on the device moves it too, and makes no tensor.  A copy of more elements has its use even
        if it is only shown: element by element from the device would be a transfer for each.
        """
        copies = enumerate(self.made)
        return sum(size == 1 and copy() is None for place, (copy, size) in copies if place not in self.used)


def _asks_for_the_host(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> bool:
    if func is torch.Tensor.cpu:
        return True
    places = [value for value in (*args[1:], *kwargs.values()) if isinstance(value, str | torch.device)]
    return func is torch.Tensor.to and any(torch.device(place).type == "cpu" for place in places)
