"""Tensors that are made once for all calls or all objects: defaults of arguments, values in the body of a class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_tensorcopy.engine.classes import effects_on_self, has_many_bases, methods_of
from flake8_tensorcopy.engine.evaluate import evaluate
from flake8_tensorcopy.engine.facts import Fact, SharedDefault
from flake8_tensorcopy.engine.features import INPLACE_MODULE, WRITE
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.nodes import defaults_of
from flake8_tensorcopy.engine.run import Run, last_state
from flake8_tensorcopy.engine.source import Class, Function, FunctionNode
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.values import ALIAS, DETACH, NUMPY, VIEW

# Links through which a write surely reaches what was handed in.
SURE = frozenset({ALIAS, VIEW, DETACH, NUMPY})

# Methods that an object runs before it is used: what they bind is its own.
SETS_UP = frozenset({"__init__", "__new__", "__post_init__", "setUp", "__setstate__"})

# Parts of a name that say: this one is meant to be shared.
MEANT = frozenset({"shared", "global", "common", "cache", "cached"})


def shared_defaults(run: Run) -> None:
    """Tensor defaults of the run's function that it writes in place."""
    node = run.function.node
    if isinstance(node, ast.Module):
        return
    for name, default in _defaults_of(node):
        obj = next((obj for obj in run.params if obj.key == name), None)
        for write in run.log:
            if write.ref.obj is not obj or write.mixed or write.how == "training":
                continue
            if all(link.kind in SURE for link in write.ref.chain) and _is_tensor(run, default):
                run.fact(
                    SharedDefault(
                        site=default,
                        name=name,
                        shared_by="calls",
                        owner=run.function.name,
                        op=write.op,
                        how=write.how if write.inner is None else "method",
                        write=write.inner or write.node,
                    )
                )
                break


def _defaults_of(node: FunctionNode) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a function that have a default which is no constant."""
    for argument, default in defaults_of(node.args):
        if not isinstance(default, ast.Constant) and not meant_to_be_shared(argument.arg):
            yield argument.arg, default


def _is_tensor(run: Run, node: ast.expr) -> bool:
    """Whether an expression outside all functions makes (or names) a tensor."""
    obj = evaluate(Run(run.module, run.module.survey.body), node).obj
    return obj is not None and obj.kind == "tensor" and not obj.param


def _may_be_tensor(module: Module, node: ast.expr) -> bool:
    """Whether an expression outside all functions may make (or name) a tensor: what needs no run to say that it does
    not."""
    match node:
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner) | ast.NamedExpr(value=inner):
            return _may_be_tensor(module, inner)
        case ast.BinOp(left=left, right=right):
            return _may_be_tensor(module, left) or _may_be_tensor(module, right)
        case ast.IfExp(body=body, orelse=other):
            return _may_be_tensor(module, body) or _may_be_tensor(module, other)
        case ast.BoolOp(values=values) | ast.Compare(comparators=values):
            return any(_may_be_tensor(module, one) for one in (*values, getattr(node, "left", None) or values[0]))
        case ast.Name(id=name):
            return name in module.survey.body.stores
        case ast.Attribute(value=inner):
            return module.names.qualify(node) is None and _may_be_tensor(module, inner)
        case ast.Call(func=func):
            whole = module.names.qualify(func)
            if whole is not None:
                return whole.startswith(_MAKE_TENSORS)
            given = [*node.args, *(one.value for one in node.keywords)]
            if isinstance(func, ast.Attribute):
                given.append(func.value)
            if isinstance(func, ast.Name) and func.id in module.survey.functions:
                return True
            return any(_may_be_tensor(module, one) for one in given)
    return False


# Packages whose functions may give tensors, as far as the engine knows.
_MAKE_TENSORS = ("torch.", "einops.", "copy.")


def meant_to_be_shared(name: str) -> bool:
    """Whether a name says that what it names is one for all."""
    return not MEANT.isdisjoint(name.lower().split("_"))


class _Made(NamedTuple):
    """A tensor that is made once; `function` has it as the default of `argument`."""

    site: ast.expr
    function: Function | None = None
    argument: str = ""


def class_tensors(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """Tensors in the body of a class that its methods write in place, where no object gets one of its own; and defaults
    that a method keeps on the object."""
    made: dict[str, list[_Made]] = {}
    for name, value in dict(_made_in_body(module, cls)).items():
        if not _may_be_tensor(module, value):
            continue
        if f".{name}" not in module.table(cls) and not _set_up(module, cls, name):
            made[name] = [_Made(value)]
    for name, kept in _kept_defaults(module, cls):
        made.setdefault(name, []).append(kept)
    if not made:
        return
    scratch = Run(module, module.survey.body)
    effects = effects_on_self(module, cls, WRITE | INPLACE_MODULE)
    for method, effect in effects:
        if _of_class(module, method) and effect.target.slots:
            made.pop(effect.target.slots[0][1:], None)  # what a class method changes is meant for all objects
    for method, effect in effects:
        name = effect.target.slots[0][1:] if effect.target.slots else ""
        if name not in made or len(effect.target.slots) > 1 or effect.training:
            continue
        if not all(link.kind in SURE for link in effect.chain):
            continue
        for one in made.pop(name):
            if not _is_tensor(scratch, one.site):
                continue
            yield (
                module.survey.body,
                SharedDefault(
                    site=one.site,
                    name=one.argument or name,
                    shared_by="calls" if one.function is not None else "objects",
                    owner=one.function.name if one.function is not None else cls.name,
                    op=effect.op,
                    how=_how(module, method, effect.node),
                    write=effect.node,
                ),
            )


def _kept_defaults(module: Module, cls: Class) -> Iterator[tuple[str, _Made]]:
    """Attributes that a method sets to a default of its own: all objects, and all such calls, have that one tensor."""
    for method in cls.methods.values():
        node = method.node
        given = () if isinstance(node, ast.Module) or method.static else _defaults_of(node)
        defaults = {name: default for name, default in given if _may_be_tensor(module, default)}
        run = module.run_of(method) if defaults else None
        state = last_state(run) if run is not None else None
        if run is None or state is None or not run.params:
            continue
        for key, held in state.fields(run.params[0]).items():
            obj = held.obj
            if obj is None or obj not in run.params or obj.key not in defaults or key[:1] != ".":
                continue
            if all(link.kind in SURE for ref in held.refs for link in ref.chain):
                yield key[1:], _Made(defaults[obj.key], method, obj.key)


def _of_class(module: Module, method: Function) -> bool:
    """Whether a method is one of the class itself."""
    run = module.run_of(method)
    return run is not None and bool(run.params) and run.params[0].kind == "class"


def _how(module: Module, method: Function, node: ast.AST) -> str:
    run = module.run_of(method)
    return next((write.how for write in run.log if write.node is node), "method") if run is not None else "method"


def _made_in_body(module: Module, cls: Class) -> Iterator[tuple[str, ast.expr]]:
    """What a class (or a base of it in this file) binds in its body, by name; not a number or text."""
    pending, seen = [cls], set()
    while pending and not has_many_bases(module, cls):
        here = pending.pop()
        if here in seen:
            continue
        seen.add(here)
        pending.extend(module.local_bases(here))
        for statement in here.node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    pass
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    pass
                case _:
                    continue
            if isinstance(value, ast.Call) and text_of(value.func).rpartition(".")[2] == "field":
                # Of a dataclass: `field(default=torch.zeros(3))`.
                value = next((one.value for one in value.keywords if one.arg == "default"), value)
            if not isinstance(value, ast.Constant) and not meant_to_be_shared(name):
                yield name, value


def _set_up(module: Module, cls: Class, name: str) -> bool:
    """Whether an object gets an attribute of its own before it is used."""
    methods = {method.name: method for method in methods_of(module, cls)}
    first = [methods[one] for one in SETS_UP if one in methods]
    called = {one for method in first for one in method.calls} | SETS_UP
    return any(
        not called.isdisjoint(here.assigns.get(name, ()))
        for here in {method.cls for method in methods.values()}
        if here
    )
