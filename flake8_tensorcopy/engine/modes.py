"""Grad mode: what decorators and context managers make of it, and in which one a function is called."""

from __future__ import annotations

import ast
import re

from flake8_tensorcopy.engine.definitions import Class, Function, Survey
from flake8_tensorcopy.engine.nodes import walk

OFF = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode"})
ON = frozenset({"torch.enable_grad", "torch.autograd.enable_grad"})
SET = frozenset({"torch.set_grad_enabled", "torch.autograd.set_grad_enabled"})
INFERENCE_MODE = frozenset({"torch.inference_mode", "torch.autograd.inference_mode"})

# A decorator, or a context manager of unknown make, that by its name may set the mode.
MAY_SET = re.compile(r"grad|infer|eval|freeze|differentiable|dispatch", re.IGNORECASE)
# Methods that a `torch.autograd.Function` has, and that Lightning calls, without grad.
_OF_FUNCTIONS = frozenset({"forward", "backward", "setup_context", "vjp", "jvp"})
_EVALUATING = frozenset(
    f"{prefix}{name}{suffix}"
    for name in ("validation", "test", "predict")
    for prefix, suffix in (("", "_step"), ("on_", "_epoch_end"), ("on_", "_epoch_start"), ("", "_epoch_end"))
)


def mode_of(name: str | None, node: ast.Call | None) -> str:
    """What a context manager or decorator of torch makes of the mode: on, off, unknown; nothing if it is none."""
    argument: ast.expr | None = None
    if node is not None:
        argument = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "mode"), None)
    if name in ON:
        return "on"
    if name in OFF and (name not in INFERENCE_MODE or argument is None):
        return "off"
    if name in SET or name in INFERENCE_MODE:
        if not isinstance(argument, ast.Constant):
            return "unknown"
        return "off" if bool(argument.value) == (name in INFERENCE_MODE) else "on"
    return ""


def entry_mode(survey: Survey, function: Function) -> bool | None:
    """The grad mode that the body of a function begins in, as its decorators and its class say."""
    node = function.node
    if isinstance(node, ast.Module):
        return True
    mode: bool | None = True
    for decorator in reversed(node.decorator_list):
        called = decorator if isinstance(decorator, ast.Call) else None
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        said = mode_of(survey.names.qualify(target), called)
        if said:
            mode = {"on": True, "off": False}.get(said)
            break
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        own = survey.functions.get(name)
        if MAY_SET.search(name) or (own is not None and mentions_mode(own.node)):
            mode = None
    cls = function.cls
    if cls is not None and mode is True:
        if function.name in _OF_FUNCTIONS and is_autograd_function(survey, cls):
            return False
        if function.name in _EVALUATING and any(base.endswith("LightningModule") for base in _bases(survey, cls)):
            return False
    return mode


def is_autograd_function(survey: Survey, cls: Class) -> bool:
    """Whether a class is a `torch.autograd.Function`, by the names of its bases."""
    functions = ("autograd.Function", "autograd.function.Function", "autograd.function.InplaceFunction")
    return any(base.endswith(functions) for base in _bases(survey, cls))


def _bases(survey: Survey, cls: Class) -> list[str]:
    return [survey.names.qualify(base) or (base.id if isinstance(base, ast.Name) else "") for base in cls.bases]


def switches_off(survey: Survey) -> bool:
    """Whether anything in a file may switch grad mode off: a call, a decorator, what a class is."""
    modes = {name.rpartition(".")[2] for name in (*OFF, *SET)}
    return any(not modes.isdisjoint(one.calls) or entry_mode(survey, one) is False for one in survey.all)


def mentions_mode(node: ast.AST) -> bool:
    words = ("no_grad", "inference_mode", "set_grad_enabled")
    return any(getattr(item, "attr", getattr(item, "id", "")) in words for item in walk(node))
