"""What the names of the table mean, how they are called, and how a call is written."""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy
import torch

from flake8_tensorcopy.engine.ops import Op


@dataclass(frozen=True, slots=True)
class Build:
    """How an instance of a module class is made."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    training: bool
    default: bool
    """No more than what the constructor requires."""

    @property
    def text(self) -> str:
        """The arguments of the constructor, and the mode."""
        inner = [*map(show, self.args), *(f"{name}={show(value)}" for name, value in self.kwargs.items())]
        return f"({', '.join(inner)})" + ("" if self.training else ".eval()")


@dataclass(frozen=True, slots=True)
class Call:
    """One way of calling: what is called, and prototypes of the arguments."""

    target: Callable[..., Any]
    """The function, or the class of a module."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    build: Build | None = None
    searched: bool = False
    """From no database: written out, or found by trying."""
    written: bool = False
    """Written out."""

    def make(self) -> Callable[..., Any]:
        """What to call: the function, or a new instance of the module, with the same weights each time."""
        if self.build is None:
            return self.target
        torch.default_generator.manual_seed(0)
        module = self.target(*self.build.args, **self.build.kwargs)
        made: Callable[..., Any] = module.train(self.build.training)
        return made


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: `kind` is its type as the schema or the annotation says it."""

    name: str
    kind: str
    required: bool
    default: Any = None
    keyword_only: bool = False
    variadic: bool = False

    @property
    def takes_tensor(self) -> bool:
        return "Tensor" in self.kind


# ---------------------------------------------------------------------------------------------------- what a name means


def resolve(op: Op) -> Callable[..., Any] | None:
    """What the name calls, with `self` as its first argument for methods and properties; None if torch lacks it."""
    owner, _, bare = op.name.rpartition(".")
    if op.form in ("method", "property"):
        if bare not in dir(torch.Tensor):
            return None
        if op.form == "property":
            return lambda self: getattr(self, bare)
        return lambda self, *args, **kwargs: getattr(self, bare)(*args, **kwargs)
    try:
        found = getattr(importlib.import_module(owner), bare)
    except (ImportError, AttributeError):
        return None
    return found if callable(found) else None


@cache
def _schemas() -> dict[str, list[Any]]:
    """The schemas of the dispatcher, by bare name; TorchScript's own on numbers and lists are no ops on tensors."""
    found: dict[str, list[Any]] = {}
    for schema in torch._C._jit_get_all_schemas():
        full = f"{schema.name}.{schema.overload_name}".rstrip(".")
        if schema.name.startswith("aten::") and torch._C._dispatch_has_kernel(full):
            found.setdefault(schema.name[6:], []).append(schema)
    return found


@cache
def signatures(op: Op) -> tuple[tuple[Param, ...], ...]:
    """The parameter lists of a name: of its Python function, else of the schemas of its overloads."""
    if op.form == "property":
        return ((Param("self", "Tensor", True),),)
    owner, _, bare = op.name.rpartition(".")
    target = getattr(torch.Tensor, bare, None) if op.form == "method" else resolve(op)
    if inspect.isfunction(target):
        return (_python_params(target, op.form == "method"),)
    prefix = owner.removeprefix("torch.nn.functional").removeprefix("torch").removeprefix("Tensor").removeprefix(".")
    names = {f"{prefix}_{bare}" if prefix else bare, getattr(target, "__name__", bare), bare}
    found = []
    for schema in itertools.chain.from_iterable(_schemas().get(name, ()) for name in sorted(names)):
        written = any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
        tensor_first = bool(schema.arguments) and str(schema.arguments[0].type) == "Tensor"
        if not written and (tensor_first or op.form != "method"):
            found.append(tuple(_schema_param(argument) for argument in schema.arguments))
    if not found and op.form == "method":
        found.append((Param("self", "Tensor", True),))
    return tuple(found)


def _schema_param(argument: Any) -> Param:
    kind = str(argument.type)
    if argument.name in ("dtype", "layout", "device", "memory_format"):
        kind = argument.name
    required = not argument.has_default_value() and not (argument.kwarg_only and kind.startswith("Optional["))
    return Param(argument.name, kind, required, argument.default_value, argument.kwarg_only)


def _python_params(function: Callable[..., Any], method: bool) -> tuple[Param, ...]:
    from torch._jit_internal import boolean_dispatched

    if function in boolean_dispatched:
        function = boolean_dispatched[function]["if_false"]
    found = []
    for k, p in enumerate(inspect.signature(function).parameters.values()):
        if p.kind is p.VAR_KEYWORD:
            continue
        note = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", str(p.annotation))
        kind = "" if p.annotation is p.empty else str(p.annotation) if "[" in str(p.annotation) else note
        if method and k == 0:
            kind = "Tensor"
        required = p.default is p.empty and p.kind is not p.VAR_POSITIONAL
        default = None if p.default is p.empty else p.default
        variadic = p.kind is p.VAR_POSITIONAL
        found.append(Param(p.name, kind, required, default, p.kind is p.KEYWORD_ONLY, variadic))
    return tuple(found)


def fitting(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[tuple[Param, Any], ...]]:
    """For each signature that can take these arguments, the parameters with what they are given."""
    found = []
    for params in signatures(op):
        positional = [p for p in params if not p.keyword_only and not p.variadic]
        variadic = next((p for p in params if p.variadic), None)
        if len(args) > len(positional) and variadic is None:
            # `x.view(2, 3)`: the numbers of a list may be given one by one.
            last = positional[-1] if positional else None
            if last is None or "List[" not in last.kind or not all(isinstance(a, int) for a in args):
                rest = args[len(positional) - 1 :] if positional else args
                if last is None or "List[" not in last.kind or not all(isinstance(a, int) for a in rest):
                    continue
            given = [*zip(positional[:-1], args, strict=False), (positional[-1], list(args[len(positional) - 1 :]))]
        else:
            given = list(zip(positional, args, strict=False))
            given += [(variadic, a) for a in args[len(positional) :] if variadic is not None]
        names = {p.name: p for p in params}
        if not names.keys() >= kwargs.keys() - {"input"}:
            continue
        given += [(names.get(name, params[0]), value) for name, value in kwargs.items()]
        taken = {p.name for p, _ in given}
        if all(_takes(p, value) for p, value in given) and all(p.name in taken for p in params if p.required):
            found.append(tuple(given))
    return found


def _takes(param: Param, value: Any) -> bool:
    tensor = isinstance(value, torch.Tensor)
    if param.kind in ("Tensor", "Optional[Tensor]"):
        return tensor or (value is None and param.kind != "Tensor")
    if param.kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        return isinstance(value, (list, tuple))
    if param.kind in ("int", "bool", "str", "dtype", "layout", "device", "memory_format"):
        return not tensor
    return True


def position(op: Op, index: int | None, name: str | None, call_args: int) -> int | str:
    """Where an argument given by index, or by name, lies among the parameters."""
    if index is not None:
        return index
    assert name is not None
    if name == "input":
        return 0
    for params in signatures(op):
        for k, p in enumerate(params):
            if p.name == name and not p.keyword_only:
                return k
    return name


def module_call(
    cls: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], training: bool, given: Any, named: Any
) -> Call:
    """The call of an instance of a module class: the arguments of the constructor, then those of the call."""
    parameters = list(inspect.signature(cls).parameters.values())
    required = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    hidden = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    default = len(args) + len(kwargs) <= max(len(required), 2 * hidden) and (not kwargs or not args)
    return Call(cls, tuple(given), dict(named), Build(tuple(args), dict(kwargs), training, default))


# --------------------------------------------------------------------------------------------------------------- values


def tensors(value: Any) -> list[Any]:
    """The tensors and arrays in an argument or a result, through lists, tuples and dicts."""
    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        return [value]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [t for item in value for t in tensors(item)]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors(item)]
    return []


def weight(value: Any) -> int:
    """The bytes of the tensors in a value."""
    return sum(int(t.nbytes) if isinstance(t, numpy.ndarray) else t.numel() * t.element_size() for t in tensors(value))


def show(value: Any) -> str:
    """A value in a call, as short text: a tensor by its dtype and shape, and its strides if it is not contiguous."""
    match value:
        case torch.Tensor():
            if value.layout is not torch.strided or value.is_nested:
                return f"{str(value.dtype)[6:]}{list(value.shape) if not value.is_nested else ''} {value.layout}"
            strides = "" if value.is_contiguous() else f" strides {tuple(value.stride())}"
            return f"{str(value.dtype)[6:]}{list(value.shape)}{strides}"
        case numpy.ndarray():
            return f"array {value.dtype}{list(value.shape)}"
        case list() | tuple() if len(value) < 12:
            inner = ", ".join(show(item) for item in value)
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
        case _ if callable(value) and not isinstance(value, type):
            return getattr(value, "__name__", "callable")
        case _:
            text = repr(value)
            return text if len(text) < 60 else text[:57] + "..."
