"""What is called: the names of the table, with their schemas and parameters."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from flake8_tensorcopy.engine import ops

FUNCTION_MODULES: Final = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")

# Schemas name the ops of a submodule with a prefix.
SCHEMA_PREFIX: Final = {"torch.linalg": "linalg_", "torch.special": "special_", "torch.fft": "fft_"}


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter as far as it matters for finding an argument: `kind` is one of those in `arguments.candidates`."""

    name: str
    kind: str
    required: bool
    keyword_only: bool = False
    default: Any = None
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """One name of the table."""

    name: str
    form: ops.Form
    call: Callable[..., Any]
    schemas: tuple[Any, ...]
    signatures: tuple[tuple[Param, ...], ...]


def _schema_kind(text: str) -> str:
    text = re.sub(r"Optional\[(.*)\]", r"\1", text)
    match text:
        case "Tensor":
            return "tensor"
        case "List[Tensor]" | "List[Optional[Tensor]]":
            return "tensors"
        case "int" | "SymInt":
            return "int"
        case "List[int]" | "List[SymInt]":
            return "ints"
        case "float" | "number" | "Scalar" | "complex":
            return "float"
        case "List[float]":
            return "floats"
        case "bool":
            return "bool"
        case "str":
            return "str"
        case _:
            return "other"


def _schema_params(schema: Any) -> tuple[Param, ...]:
    params = []
    for argument in schema.arguments:
        kind = _schema_kind(str(argument.type))
        # The schema registry spells dtypes, layouts and devices as int or Device.
        if kind == "int" and argument.name in ("dtype", "layout", "memory_format", "device"):
            kind = argument.name
        elif argument.name in ("dtype", "memory_format"):
            kind = argument.name
        if kind == "other" and argument.name == "other":
            kind = "float"
        optional = str(argument.type).startswith("Optional[")
        if optional and kind == "tensor" and not argument.kwarg_only:
            kind = "maybe_tensor"
        # A fixed-size list takes one number for all.
        params.append(
            Param(
                argument.name,
                kind,
                required=not argument.has_default_value() and not (optional and argument.kwarg_only),
                keyword_only=argument.kwarg_only,
                default=argument.default_value,
            )
        )
    return tuple(params)


TENSOR_NAMES: Final = frozenset({
    "input", "x", "self", "A", "B", "a", "b", "tensor", "other", "target", "weight", "bias", "LU_data", "LU_pivots",
    "mat", "x1", "x2", "anchor", "positive", "negative", "query", "key", "value", "condition", "indices", "end",
    "input1", "input2", "tensor1", "tensor2", "var", "log_probs", "targets", "input_lengths", "target_lengths",
    "grid", "theta", "running_mean", "running_var",
})  # fmt: skip


def _python_params(function: Callable[..., Any]) -> tuple[Param, ...] | None:
    from torch._jit_internal import boolean_dispatched

    # `max_pool2d(return_indices=...)` chooses one of two functions and shows the parameters of neither.
    while function in boolean_dispatched:
        function = boolean_dispatched[function]["if_false"]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    params = []
    for parameter in signature.parameters.values():
        note = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
        if isinstance(parameter.annotation, type):
            note = parameter.annotation.__name__
        variadic = parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        default = None if parameter.default is parameter.empty else parameter.default
        params.append(
            Param(
                parameter.name,
                _python_kind(note, parameter.name, default),
                required=parameter.default is parameter.empty,
                keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
                default=default,
                variadic=variadic,
            )
        )
    return tuple(params)


def _python_kind(note: str, name: str, default: Any) -> str:
    if name in ("dtype", "memory_format"):
        return name
    if re.search(r"(list|List|tuple|Tuple|Sequence)\[.*Tensor", note) or name in ("tensors", "matrices", "operands"):
        return "tensors"
    if isinstance(default, bool) or note == "bool":
        return "bool"
    if isinstance(default, float) or note == "float":
        return "float"
    if "Tensor" in note:
        return "tensor"
    if isinstance(default, int) or note in ("int", "Optional[int]", "int | None"):
        return "int"
    if isinstance(default, (tuple, list)) or "BroadcastingList" in note or "list[int]" in note or "List[int]" in note:
        return "ints"
    if note == "str" or isinstance(default, str):
        return "str"
    if name in TENSOR_NAMES:
        return "tensor"
    if name in ("dim", "dims", "kernel_size", "output_size", "size"):
        return "ints"
    return "other"


@cache
def _schemas() -> dict[str, list[Any]]:
    """aten schemas that the dispatcher or the Python bindings know, by bare name."""
    import torch

    known: dict[str, list[Any]] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            known.setdefault(schema.name.removeprefix("aten::"), []).append(schema)
    return known


def qualified(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def dispatched(schema: Any) -> bool:
    """Whether this schema is an op of the dispatcher, and not one of TorchScript's own on lists, strings or numbers."""
    import torch

    return bool(torch._C._dispatch_has_kernel(qualified(schema)))


def is_out(schema: Any) -> bool:
    """Whether the overload writes to keyword-only tensors: its name says nothing (`topk.values`)."""
    return any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)


@cache
def targets() -> tuple[Target, ...]:
    """Everything the table has a row for, sorted by name."""
    found = [*_methods(), *_functions()]
    return tuple(sorted(found, key=lambda target: target.name))


def _methods() -> Iterator[Target]:
    import torch

    for name in [name for name in dir(torch.Tensor) if not name.startswith("_")] + ["__array__"]:
        member = inspect.getattr_static(torch.Tensor, name)
        # Static lookup: reading `Tensor.data` on the class gives the descriptor as well, but some raise.
        if callable(getattr(torch.Tensor, name, None)):
            schemas = tuple(
                s
                for s in _schemas().get(name, ())
                if s.arguments and str(s.arguments[0].type) == "Tensor" and s.arguments[0].name == "self"
            )
            signatures = tuple(_schema_params(s) for s in schemas if not is_out(s))
            if not signatures and (params := _python_params(getattr(torch.Tensor, name))) is not None:
                signatures = ((replace(params[0], kind="tensor"), *params[1:]),)
            if isinstance(member, types.FunctionType) and (params := _python_params(member)) is not None:
                signatures = (*signatures, (replace(params[0], kind="tensor"), *params[1:]))
            if not signatures:
                signatures = ((Param("self", "tensor", True),),)
            yield Target("Tensor." + name, "method", _bound(name), schemas, signatures)
        else:
            schemas = tuple(
                s for s in _schemas().get(name, ()) if len(s.arguments) == 1 and str(s.arguments[0].type) == "Tensor"
            )
            yield Target("Tensor." + name, "property", _attribute(name), schemas, ((Param("self", "tensor", True),),))


def _bound(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    return call


def _attribute(name: str) -> Callable[..., Any]:
    def call(self: Any) -> Any:
        return getattr(self, name)

    return call


def _functions() -> Iterator[Target]:
    import importlib

    for module_name in FUNCTION_MODULES:
        module = importlib.import_module(module_name)
        for name in dir(module):
            member = getattr(module, name)
            if not name.startswith("_") and takes_or_returns_tensors(module_name, name, member):
                yield _function(module_name, name, member)


def _function(module_name: str, name: str, member: Callable[..., Any]) -> Target:
    schemas: tuple[Any, ...] = ()
    signatures: tuple[tuple[Param, ...], ...] = ()
    if not isinstance(member, types.FunctionType):
        bare = SCHEMA_PREFIX.get(module_name, "") + getattr(member, "__name__", name).removeprefix(
            SCHEMA_PREFIX.get(module_name, "")
        )
        schemas = tuple(s for s in _schemas().get(bare, ()) if dispatched(s))
        signatures = tuple(_schema_params(s) for s in schemas if not is_out(s))
    if not signatures and (params := _python_params(member)) is not None:
        signatures = (params,)
    return Target(f"{module_name}.{name}", "function", member, schemas, signatures)


def takes_or_returns_tensors(module_name: str, name: str, member: Any) -> bool:
    """Whether a public member of a module is an op: torch lets tensors override it, a schema of its name speaks of
    tensors, or its annotation returns one."""
    if not callable(member) or isinstance(member, type):
        return False
    if member in _overridable(module_name):
        return True
    if isinstance(member, types.FunctionType):
        # Python functions imported from elsewhere are helpers.
        note = str(getattr(member, "__annotations__", {}).get("return", ""))
        return "Tensor" in note or (member.__module__ == "torch.nn.functional" and "input" in _parameter_names(member))
    if module_name == "torch" and name in _stubbed():
        return True
    bare = SCHEMA_PREFIX.get(module_name, "") + name
    return isinstance(member, types.BuiltinFunctionType) and any(
        "Tensor" in str(s) for s in _schemas().get(bare, ()) if dispatched(s)
    )


def _parameter_names(member: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(member).parameters)
    except (TypeError, ValueError):
        return []


@cache
def _overridable(module_name: str) -> frozenset[Any]:
    import importlib

    from torch.overrides import get_overridable_functions

    table = get_overridable_functions()
    module = importlib.import_module(module_name)
    found = list(table.get(module, ()))
    if module_name == "torch":
        found += table.get(importlib.import_module("torch.functional"), ())
    return frozenset(found)


@cache
def _stubbed() -> frozenset[str]:
    """Builtin functions of torch whose stub returns a tensor: the only place that says so for `from_numpy`."""
    import torch

    text = (Path(torch.__file__).parent / "_C" / "_VariableFunctions.pyi").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^def (\w+)\((?:[^()]|\([^()]*\))*\) -> Tensor:", text, re.M))
