"""What is told whether to require grad: tensors, modules, here, by functions that are called, anywhere in the file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.features import REQUIRES_GRAD
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.settled import constant_default
from flake8_tensorcopy.engine.values import DETACH, NUMPY, Obj, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.source import Class, Function
    from flake8_tensorcopy.engine.summaries import Target

MAX_SWITCHED = 40

_FREEZES = re.compile(r"freeze|requires_grad$")


class Asked(NamedTuple):
    """What `requires_grad` is set to: a constant, what a parameter of the function says, or its contrary; or None."""

    known: bool | None = None
    flag: str = ""
    contrary: bool = False


class Switched(NamedTuple):
    """Something that a function told whether to require grad; `whole` is a module with all its parameters."""

    obj: Obj
    whole: bool
    asked: Asked
    tick: int


class Carried(NamedTuple):
    """The same for the callers of the function: where they find it, after how many writes; what a parameter says of
    itself if it is not given."""

    target: Target
    whole: bool
    asked: Asked
    default: bool | None
    after: int


def asked_by(run: Run, node: ast.expr) -> Asked:
    """What an expression says that `requires_grad` is set to."""
    match node:
        case ast.Constant(value=value):
            return Asked(bool(value))
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return Asked(None, name, True) if any(obj.key == name for obj in run.params) else Asked()
        case ast.Name(id=name):
            return Asked(None, name) if any(obj.key == name for obj in run.params) else Asked()
    return Asked()


def switch(run: Run, ref: Ref, asked: Asked, whole: bool = False) -> None:
    """Something is told whether to require grad: a module, each parameter of one in its turn, a tensor."""
    obj = ref.obj
    if any(link.kind in (DETACH, NUMPY) or link.op == "Parameter" for link in ref.chain):
        if ref.place is not None and (asked.known is not True or ref.place.tracked is False):
            ref.place.tracked = None if asked.known else False
        return
    if whole or obj.kind == "module":
        _note(run, Switched(obj, True, asked, run.ticks))
        _switch_all(run, obj, asked)
        return
    owner = obj.parent
    if obj.slot.endswith(")]") and owner is not None:
        _note(run, Switched(owner, True, asked, run.ticks))
        if obj.param:
            _switch_all(run, owner, asked)
    else:
        _note(run, Switched(obj, False, asked, run.ticks))
    for one in _met_in(obj):
        if asked.known is not True and one.kind == "module":
            one.leaf = False
    if obj.kind == "unknown" and asked.known is not True:  # maybe a module: then with what was assigned to it
        for held in run.now.fields(obj).values():
            for part in held.refs:
                if part.obj.param:
                    freeze(run, part.obj, asked.known is False)
    if asked.known is True:
        obj.graph = None if obj.graph is False else obj.graph
    elif obj.kind in ("tensor", "unknown"):
        obj.leaf, obj.graph = True, False if asked.known is False and not run.now.arms else None


def _note(run: Run, one: Switched) -> None:
    if len(run.tape.switched) < MAX_SWITCHED:
        if run.now.arms and one.asked.known is False:
            one = one._replace(asked=Asked())
        run.tape.switched.append(one)


def _switch_all(run: Run, obj: Obj, asked: Asked) -> None:
    if asked.known is not True:
        freeze(run, obj, asked.known is False)
    elif frozen(obj):
        freeze(run, obj, False)


def default_of(function: Function, name: str) -> bool | None:
    """What a parameter is if a call does not give it, where that is a constant."""
    default = constant_default(function, name)
    return None if default is None else bool(default.value)


def carried(run: Run, one: Carried, value: Value, flag: Value | None) -> None:
    """A function that is called here has told something of the caller's whether to require grad."""
    asked = one.asked
    if asked.flag:
        said = one.default
        if flag is not None:
            said = bool(flag.const) if not flag.refs and flag.const is not None else None
        asked = Asked(said if said is None else said is not asked.contrary)
    _tell(run, value, asked, one.whole)


def applied(run: Run, value: Value, function: ast.expr, held: Value) -> None:
    """`net.apply(f)`, `map(f, net.parameters())`: what f is given may be told not to require grad."""
    made = held.obj.data if held.obj is not None else None
    if isinstance(function, ast.Name):
        made = made or run.module.survey.functions.get(function.id)
    elif isinstance(function, ast.Attribute) and run.function.cls is not None:
        made = made or run.module.method(run.function.cls, function.attr)
    node = made if isinstance(made, ast.Lambda) else getattr(made, "node", None)
    if isinstance(node, ast.AST) and any(switches_off(part) for part in walk(node)):
        _tell(run, value, Asked(), whole=True)


def _tell(run: Run, value: Value, asked: Asked, whole: bool) -> None:
    for ref in value.refs:
        obj = ref.obj
        if obj.kind == "iter" and isinstance(obj.data, tuple) and obj.data[0] in ("parameters", "named"):
            for _, module in obj.data[1]:
                for held in module.refs:
                    switch(run, held, asked, whole=True)
        else:
            switch(run, ref, asked, whole=whole and obj.kind != "tensor")


def _met_in(obj: Obj) -> Iterator[Obj]:
    """What an object was met in by loops: `for layer in net.children(): for p in layer.parameters()`."""
    one: Obj | None = obj
    while one is not None:
        if one.slot.endswith(")]") and one.parent is not None:
            yield one.parent
            yield from one.parent.operands
        one = one.parent


_CONTAINERS = frozenset({"list", "tuple", "dict"})
_HOLDING = frozenset({"module", "list"})
_FROZEN = _CONTAINERS | {"module", "tensor", "unknown"}


def freeze(run: Run, obj: Obj, certain: bool) -> None:
    """The parameters of a module (or some of them) are told not to require grad; or, where that is not certain, may be.

    Of a module, `graph` False says that all are frozen, `leaf` False that some may be.
    """
    pending, seen = [obj], set[Obj]()
    while pending and len(seen) < 50:
        one = pending.pop()
        if one in seen or one.kind not in _FROZEN:
            continue
        seen.add(one)
        if certain and not run.now.arms:
            one.graph = False
        elif one.kind == "tensor" or one.graph is False:
            one.graph = None
        if one.kind != "tensor":
            one.leaf = False
        if one.kind == "module" and isinstance(one.data, tuple) and one.data[0] == "layers":
            pending.extend(ref.obj for value in one.data[1] for ref in value.refs)
        for slot, held in run.now.fields(one).items():
            parts = one.kind in _CONTAINERS or all(ref.obj.param or ref.obj.kind in _HOLDING for ref in held.refs)
            if slot != ".grad" and parts:
                pending.extend(ref.obj for ref in held.refs)


def frozen(module: Obj) -> bool:
    """Whether some parameters of a module may not require grad: it is frozen, or what it is a part of."""
    one: Obj | None = module
    while one is not None:
        if one.graph is False or one.leaf is False:
            return True
        one = one.parent
    return False


_EITHER = frozenset({"self", "given"})
_ALL_PARAMETERS = frozenset({"parameters", "named_parameters", "modules", "children", "requires_grad_"})


def frozen_attributes(module: Module) -> frozenset[str]:
    """Attributes that a statement of the file freezes: `for p in self.body.parameters(): p.requires_grad = False`."""
    if module.frozen is None:
        found: set[str] = set()
        freezing = {
            function.name: _frozen_of(function)
            for function in module.survey.all
            if function.features & REQUIRES_GRAD and function.name[:2] != "__" and any_switched_off(function)
        }
        for function in module.survey.all:
            called = any(name in freezing or _FREEZES.search(name) for name in function.calls)
            if called or function.features & REQUIRES_GRAD:
                for statement in function.node.body:
                    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                        _frozen_in(statement, function, freezing, found)
        module.frozen = frozenset(found)
    return module.frozen


def freezes_itself(module: Module, cls: Class) -> bool:
    """Whether a method of a class freezes all parameters of its object."""
    return f"{cls.name}.*" in frozen_attributes(module)


def any_switched_off(function: Function) -> bool:
    """Whether a function sets `requires_grad` of anything to something else than True."""
    return any(switches_off(node) for node in walk(function.node))


def _frozen_of(function: Function) -> frozenset[str]:
    """The parameters that statements mention which switch `requires_grad` off."""
    if isinstance(function.node, ast.Module):
        return frozenset()
    spec = function.node.args
    names = {one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg) if one is not None}
    off = [statement for statement in function.node.body if any(switches_off(node) for node in walk(statement))]
    return frozenset(
        node.id for statement in off for node in walk(statement) if isinstance(node, ast.Name) and node.id in names
    )


def _frozen_in(statement: ast.stmt, function: Function, freezing: dict[str, frozenset[str]], found: set[str]) -> None:
    """The attributes that a statement freezes, or gives to what does: `freeze(self.body)`, `self.body.freeze()`."""
    inside = list(walk(statement))
    off = [node for node in inside if switches_off(node)]
    if off:
        parts: list[ast.AST] = _zipped_with(statement, off) or inside
    else:
        parts = []
        for node in inside:
            name = _called(node) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or not (name in freezing or _FREEZES.search(name)):
                continue
            what = freezing.get(name, _EITHER)
            if "self" in what and isinstance(node.func, ast.Attribute):
                parts += walk(node.func.value)
            if what - {"self"}:
                parts += [part for given in node.args for part in walk(given)]
    for node in parts:
        if not isinstance(node, ast.Attribute):
            continue
        found.add(node.attr)
        whole = isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in _ALL_PARAMETERS
        if whole and function.cls is not None:
            found.update(function.cls.assigns, (f"{function.cls.name}.*",))


def _zipped_with(statement: ast.stmt, off: list[ast.AST]) -> list[ast.AST]:
    """Of `for p, q in zip(a.parameters(), b.parameters())`, what the frozen ones come from."""
    for loop in walk(statement):
        match loop:
            case ast.For(target=ast.Tuple(elts=targets), iter=ast.Call(func=ast.Name(id="zip"), args=given)) if set(
                off
            ) <= set(walk(loop)):
                names = {item.id for node in off for item in walk(node) if isinstance(item, ast.Name)}
                pairs = zip(targets, given, strict=False)
                chosen = [one for target, one in pairs if isinstance(target, ast.Name) and target.id in names]
                return [node for one in chosen for node in walk(one)]
    return []


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def switches_off(node: ast.AST) -> bool:
    """`p.requires_grad = flag`, `m.requires_grad_(False)`: anything but True."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=value):
            return not (isinstance(value, ast.Constant) and value.value is True)
        case (
            ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[value, *_])
            | ast.Call(func=ast.Attribute(attr="requires_grad_"), keywords=[ast.keyword(value=value)])
        ):
            return not (isinstance(value, ast.Constant) and value.value is True)
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value="requires_grad"), value]):
            return not (isinstance(value, ast.Constant) and value.value is True)
    return False
