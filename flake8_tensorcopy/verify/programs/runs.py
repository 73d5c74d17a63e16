"""A program run in every way: observed, and once more by Python alone."""

from __future__ import annotations

import ast
import itertools
import warnings
from dataclasses import dataclass
from typing import Any

import torch

from flake8_tensorcopy.verify.programs.memory import same
from flake8_tensorcopy.verify.programs.observe import Binding, Frame, Return, Unsupported
from flake8_tensorcopy.verify.programs.record import Truth
from flake8_tensorcopy.verify.programs.truth import Execution


@dataclass(frozen=True, slots=True)
class Choice:
    """How one execution is called: the values of the flags, and what the tensors are."""

    flags: tuple[bool, ...]
    plain: bool  # float32; else float64


def _argument(annotation: str, number: int, plain: bool) -> Any:
    def tensor(offset: int) -> torch.Tensor:
        made = torch.arange(1.0, 17.0).reshape(4, 4) / 4 - offset
        return made if plain else made.double()

    match annotation:
        case "torch.Tensor":
            return tensor(number)
        case "list[torch.Tensor]":
            return [tensor(number), tensor(number + 1)]
        case "dict[str, torch.Tensor]":
            return {"a": tensor(number), "b": tensor(number + 1)}
    raise Unsupported(annotation)


def _program(tree: ast.Module) -> ast.FunctionDef:
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "program")


def choices(tree: ast.Module) -> list[Choice]:
    """Every way in which a program is run."""
    spec = _program(tree).args.args
    flags = sum(1 for one in spec if one.annotation is not None and ast.unparse(one.annotation) == "bool")
    return [Choice(given, plain) for plain in (True, False) for given in itertools.product((True, False), repeat=flags)]


def _arguments(tree: ast.Module, choice: Choice) -> list[Any]:
    flags = list(choice.flags)
    given: list[Any] = []
    for number, one in enumerate(_program(tree).args.args):
        assert one.annotation is not None
        text = ast.unparse(one.annotation)
        given.append(flags.pop(0) if text == "bool" else _argument(text, number, choice.plain))
    return given


def execute(tree: ast.Module, choice: Choice) -> tuple[Truth, Any]:
    """Run the program once; what it returned, and what was seen on the way."""
    run = Execution(tree)
    result: Any = None
    function = run.globals["program"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = [one.arg for one in function.node.args.args]
            given = _arguments(tree, choice)
            run.frame = Frame("program", 1, None)
            for name, value in zip(spec, given, strict=True):
                run.frame.names[name] = Binding(name, 0, 0, value, None)
                if isinstance(value, list | dict):
                    run.frame.roots[id(value)] = name
                    run.adopt(value, None, 0)
            for slots in run.slots.values():
                for held in slots.values():
                    held.time, held.frame = -1, None
            for name, held in run.frame.names.items():
                run.reachable(run.frame, name, held)
            try:
                run.block(function.node.body)
            except Return as done:
                result = done.value.value
    except Unsupported:
        raise
    except Exception as error:
        run.truth.error = f"{type(error).__name__}: {error}"
    return run.truth, result


def plain(tree: ast.Module, choice: Choice) -> Any:
    """What Python makes of the program, with nothing in between."""
    namespace: dict[str, Any] = {"__name__": "program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, "program", "exec"), namespace)
        return namespace["program"](*_arguments(tree, choice))


def agrees(tree: ast.Module, choice: Choice, run: Truth, result: Any) -> bool:
    """Whether the plain execution ends as the observed one did."""
    try:
        other = plain(tree, choice)
    except Exception as error:
        return run.error == f"{type(error).__name__}: {error}"
    return not run.error and same(result, other)
