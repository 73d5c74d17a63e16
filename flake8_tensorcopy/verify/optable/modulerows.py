"""The rows of the op table for the modules of `torch.nn`: what calling one does to its input, decided by execution.

Each class is built from its signature with small arguments (two numbers where it takes `*args`, as `RNN`, `LSTM` and
`GRU` do) and called in training and in evaluation mode on inputs of several layouts.  `inplace=` counts only where a
call with it is seen to write its input.  A class that cannot be built or called this way has no row: the linter says
nothing about it.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flake8_tensorcopy.engine import ops

if TYPE_CHECKING:
    import torch

# Arguments by name where a plain 2 would not do.
_ARGUMENTS: dict[str, Any] = {
    "kernel_size": 1,
    "lower": 0.1,
    "upper": 0.3,
    "threshold": 0.5,
    "value": 0.0,
    "padding": 1,
    "output_size": 2,
    "upscale_factor": 1,
    "downscale_factor": 1,
    "groups": 1,
    "num_groups": 1,
    "dim": -1,
    "unflattened_size": (1, 2),
    "cutoffs": [1],
    "n_classes": 3,
}


def rows() -> Iterator[ops.Op]:
    """One row for each module class that can be built and called, in the order of their names."""
    import torch

    for name in sorted(vars(torch.nn)):
        cls = getattr(torch.nn, name)
        if not inspect.isclass(cls) or not issubclass(cls, torch.nn.Module) or cls is torch.nn.Module:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = _row(f"torch.nn.{name}", cls)
        if row is not None:
            yield row


def _row(name: str, cls: type[torch.nn.Module]) -> ops.Op | None:
    shared: list[bool] = []
    same: list[bool] = []
    counts: list[int] = []
    for training in (True, False):
        for given in _inputs():
            answer = _call(cls, given, training, {})
            if answer is not None:
                shared.append(_shares(answer, given))
                same.append(answer is given)
                counts.append(_count(answer))
    if not shared:
        return None
    result: ops.Result = "fresh"
    if any(shared):
        result = "same" if all(same) else "view" if all(shared) else "maybe"
    position = _inplace_position(cls)
    writes = position is not None and _writes(cls)
    return ops.Op(
        name=name,
        form="module",
        result=result,
        of=-1 if result == "fresh" else 0,
        many=counts[0] if len(set(counts)) == 1 else 0,
        inplace_flag=writes,
        inplace_position=position if writes and position is not None else -1,
    )


def _inputs() -> list[torch.Tensor]:
    import torch

    torch.manual_seed(0)
    shapes = [(2, 2), (2, 2, 4), (1, 2, 4, 4), (1, 2, 2, 4, 4)]
    made = [torch.randn(shape) for shape in shapes]
    made += [torch.randn(tuple(reversed(shape))).permute(*range(len(shape) - 1, -1, -1)) for shape in shapes]
    return [*made, torch.tensor([[0, 1, 1], [1, 0, 1]])]


def _build(cls: type[torch.nn.Module], more: dict[str, Any]) -> torch.nn.Module | None:
    arguments: dict[str, Any] = dict(more)
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            arguments[parameter.name] = _ARGUMENTS.get(parameter.name, 2)
    hidden = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    for count in range(3 if hidden else 1):
        try:
            return cls(*[2] * count, **arguments)
        except Exception:
            continue
    return None


def _call(cls: type[torch.nn.Module], given: torch.Tensor, training: bool, more: dict[str, Any]) -> Any:
    import torch

    module = _build(cls, more)
    if module is None:
        return None
    module.train(training)
    with torch.no_grad():
        classes = torch.zeros(given.shape[0], dtype=torch.int64)
        for arguments in (
            (given,),
            (given, given.clone()),
            (given, given.clone(), given.clone()),
            (given, classes),
        ):
            try:
                return module(*arguments)
            except Exception:
                continue
    return None


def _count(answer: Any) -> int:
    """`Op.many` of one call."""
    if not isinstance(answer, (tuple, list)):
        return 1
    return 0 if any(isinstance(item, (tuple, list)) for item in answer) else len(answer)


def _shares(answer: Any, given: torch.Tensor) -> bool:
    import torch

    if isinstance(answer, (tuple, list)):
        return any(_shares(item, given) for item in answer)
    if not isinstance(answer, torch.Tensor):
        return False
    return bool(answer.untyped_storage().data_ptr() == given.untyped_storage().data_ptr())


def _inplace_position(cls: type[torch.nn.Module]) -> int | None:
    names = list(inspect.signature(cls.__init__).parameters)[1:]
    return names.index("inplace") if "inplace" in names else None


def _writes(cls: type[torch.nn.Module]) -> bool:
    for given in _inputs():
        before = given._version
        if _call(cls, given, True, {"inplace": True}) is not None and given._version > before:
            return True
    return False
