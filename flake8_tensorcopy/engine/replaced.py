"""Optimizers keep the parameters that they were built from: what a module gets later, none of them steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.facts import ReplacedParameter
from flake8_tensorcopy.engine.run import Run, for_all, per_pass
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.unwrapped import methods_from, parameter_of
from flake8_tensorcopy.engine.values import Arm, Obj, Value, exclusive

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args


# Methods that put a part into a module.
_ADDS = frozenset({"append", "insert", "add_module", "register_module", "register_parameter"})
# What yields the parts of a module, one after the other.
_PARTS = frozenset({"modules", "named_modules", "children", "named_children"})


# Tests of a part that say of which kind it is: some of them are.
_ASKS = re.compile(r"isinstance\(|hasattr\(|type\(")


class Built(NamedTuple):
    """An optimizer of this function, and the modules whose parameters it was given."""

    node: ast.AST
    modules: Sequence[Obj]
    arms: frozenset[Arm]


class Replacement(NamedTuple):
    """New parameters in a module of an optimizer that does not have them."""

    optimizer: Obj
    built: ast.AST
    module: Obj
    new: tuple[Obj, ...]
    site: ast.AST
    target: str
    tick: int
    inner: ast.AST | None
    elsewhere: bool  # the optimizer is built by `__init__` and stepped by another method


def built(run: Run, node: ast.Call, optimizer: Obj, modules: list[Obj], values: list[Value]) -> None:
    """An optimizer is made: it has what its modules hold now."""
    found = list(modules)
    for value in values:
        for ref in value.refs:
            for slot, held in run.now.fields(ref.obj).items() if ref.obj.kind == "list" else ():
                if slot == "[*]":
                    found.extend(
                        one.obj.parent for one in held.refs if one.obj.param and _of_module(one.obj) and one.obj.parent
                    )
    for known in (*found, *(ref.obj for value in values for ref in value.refs)):
        run.replacements = [one for one in run.replacements if not _concerns(known, one)]
    if found:
        run.optimizers[optimizer] = Built(node, found, run.now.arms)


def _of_module(obj: Obj) -> bool:
    """One parameter after the other of a module."""
    return obj.parent is not None and (per_pass(obj.slot) or obj.slot == "[any]")


def _concerns(known: Obj, one: Replacement) -> bool:
    return _within(one.module, known) or _within(known, one.module) or known in one.new


def _within(obj: Obj, owner: Obj) -> bool:
    """Whether an object is the other one, or a part of it."""
    part: Obj | None = obj
    while part is not None:
        if part is owner:
            return True
        part = _owner(part)
    return False


def _owner(part: Obj) -> Obj | None:
    """What an object is a part of; of what `modules()` yields, the module that was asked."""
    match part:
        case Obj(parent=None, node=ast.Call(func=ast.Attribute(attr=name)), operands=[asked, *_]) if name in _PARTS:
            return asked
    return part.parent


def note_step(run: Run, optimizer: Value) -> None:
    """`optimizer.step()`, here or in what is called."""
    for ref in optimizer.refs:
        run.optimizer_steps.append((ref.obj, run.count()))


def extended(run: Run, optimizer: Obj) -> None:
    """`optimizer.add_param_group(..)`: it has the new ones too."""
    run.replacements = [
        one
        for one in run.replacements
        if one.optimizer is not optimizer
        and not (one.elsewhere and optimizer.parent in run.params and one.optimizer.key.endswith(optimizer.slot))
    ]


def stored(
    run: Run, base: Obj, before: Value | None, value: Value, site: ast.AST, target: str, inner: ast.AST | None = None
) -> None:
    """An attribute or item of an object is bound: new parameters there are in no optimizer that was built before."""
    if not value.refs or not (run.optimizers or run.function.cls is not None):
        return
    if not all(parameter_of(run.module, ref, new=True) and ref.obj.graph is not False for ref in value.refs):
        return
    new = tuple(ref.obj for ref in value.refs)
    _replaced(run, base, () if before is None else tuple(ref.obj for ref in before.refs), new, site, target, inner)


def reloaded(run: Run, node: ast.Call, module: Obj, args: Args) -> None:
    """`net.load_state_dict(state, assign=True)`: the module has the tensors of the state for its parameters now."""
    if args.flag("assign", 2) and run.optimizers:  # another method may do so when all training is over
        _replaced(run, module, (), (), node, "", None)


def _replaced(
    run: Run, base: Obj, was: tuple[Obj, ...], new: tuple[Obj, ...], site: ast.AST, target: str, inner: ast.AST | None
) -> None:
    elsewhere = not run.optimizers
    known = _kept(run) if elsewhere else run.optimizers
    for optimizer, (node, modules, arms) in known.items():
        module = next((one for one in modules if _within(base, one) or one in was), None)
        if module is None or exclusive(arms, run.now.arms) or not set(new).isdisjoint(modules):
            continue
        run.replacements.append(Replacement(optimizer, node, module, new, site, target, run.count(), inner, elsewhere))


def added(run: Run, node: ast.Call, base: Value, name: str, args: Args) -> None:
    """`net.append(layer)`, `net.add_module("head", layer)`: a method puts new parameters into a module."""
    if name not in _ADDS or not args.values or not (run.optimizers or run.function.cls is not None):
        return
    shown, value = args.all()[-1]
    for ref in base.refs:
        stored(run, ref.obj, None, value, node, run.short(shown))


def rebound(run: Run, target: str, before: Value | None, value: Value, source: ast.expr) -> None:
    """A name for a module is bound to a new one: an optimizer of the old one steps what nobody has any more."""
    was = before.obj if before is not None else None
    if was is None or not run.optimizers or target in run.names_in(source) or _held(run, was, target):
        return
    stored(run, was, before, value, run.stmt or source, target)


def _held(run: Run, module: Obj, name: str) -> bool:
    """Whether anything but a name holds a module, or what a call of it may have kept it in."""
    values = [value for known, value in run.now.env.items() if known != name]
    values += [value for fields in run.now.heap.values() for value in fields.values()]
    refs = [ref for value in values for ref in value.refs]
    return any(ref.obj is module or (ref.kind != "tensor" and module in ref.obj.operands) for ref in refs)


def _kept(run: Run) -> dict[Obj, Built]:
    """The optimizers that `__init__` keeps on self for other methods to step, and the modules they were built from."""
    cls = run.function.cls
    init = cls.methods.get("__init__") if cls is not None else None
    if cls is None or init is None or not run.params or run.function.static:
        return {}
    if run.function.name in methods_from(run.module, cls, "__init__"):
        return {}
    if any(_adds_group(function, cls) for function in run.module.survey.all if function is not run.function):
        return {}
    me = run.params[0]
    done = run.module.run_of(init)
    found: dict[Obj, Built] = {}
    for key, value in run.module.table(cls).items():
        obj = value.obj
        if obj is None or obj.kind != "optimizer" or not isinstance(obj.data, list) or key.endswith("[]"):
            continue
        if cls.assigns.get(key[1:], set()) <= {"__init__"} and steps_elsewhere(cls, run.function):
            held = run.field(me, key).obj
            modules = list(held.data) if held is not None and isinstance(held.data, list) else []
            if done is not None and done.params and done.params[0] in obj.data:
                modules.append(me)
            found[obj] = Built(obj.node or init.node, modules, frozenset())
    return found


def _adds_group(function: Function, cls: Class) -> bool:
    """Whether a function gives an optimizer that an object of the class keeps other parameters."""
    if "add_param_group" not in function.calls:
        return False
    if function.cls is not None:
        return function.cls is cls
    return any(
        isinstance(node, ast.Attribute) and node.attr == "add_param_group" and isinstance(node.value, ast.Attribute)
        for node in ast.walk(function.node)
    )


def steps_elsewhere(cls: Class, function: Function) -> bool:
    """Whether another method of the class makes steps."""
    return any("step" in method.calls for method in cls.methods.values() if method is not function)


def by_call(run: Run, node: ast.Call, done: Run, values: list[Value]) -> None:
    """A function of this file was called: what it has put into its arguments."""
    index = {obj: position for position, obj in enumerate(done.params[: len(values)])}
    for optimizer, _ in list(done.optimizer_steps):
        if optimizer in index:
            note_step(run, values[index[optimizer]])
    if not (run.optimizers or run.function.cls is not None) or done.state is None:
        return
    for base, key in dict.fromkeys(done.rebinds):
        slots: list[str] = []
        owner: Obj | None = base
        while owner is not None and owner not in index and len(slots) < 6:
            # A part of a module that a loop met is another one here: the module stands for it.
            slots = [owner.slot, *slots] if owner.parent is not None and not for_all(owner.slot) else []
            owner = _owner(owner)
        value = done.state.fields(base).get(key)
        if owner is None or owner not in index or value is None:
            continue
        each = for_all(base.slot) or (base.parent is not None and for_all(base.parent.slot))
        if each:
            chosen = tuple(ref for ref in value.refs if all(arm.taken and _ASKS.match(arm.text) for arm in ref.arms))
            value = Value(chosen)
        if value.obj in index:
            value = values[index[value.obj]]
        place = next((ref.place for ref in value.refs if ref.place is not None), None)
        for ref in values[index[owner]].refs:
            obj: Obj | None = ref.obj
            for slot in slots:
                obj = run.field(obj, slot).obj if obj is not None else None
            if obj is not None:
                inner = place.node if place is not None else None
                shown = f"{obj.key or 'it'}{key}"
                if each and isinstance(inner, ast.Assign):
                    shown = run.short(inner.targets[0])
                stored(run, obj, None, value, node, shown, inner)


def report_replaced(run: Run) -> None:
    """At the end of a function: which modules are trained after that."""
    if run.replacements and _edits_groups(run.function.node):
        return
    for one in run.replacements:
        if one.elsewhere or _trained_after(run, one):
            run.fact(
                ReplacedParameter(
                    site=one.site,
                    target=one.target,
                    module=one.module.key or one.target.split(".")[0].split("[")[0] or "the module",
                    optimizer=one.optimizer.key or "the optimizer",
                    built=one.built,
                    inner=one.inner,
                )
            )


def _edits_groups(node: ast.AST) -> bool:
    """Whether a function changes what an optimizer holds by hand: `opt.param_groups[0]["params"].extend(..)`."""
    for part in ast.walk(node):
        changed: ast.AST | None = None
        match part:
            case ast.Call(func=ast.Attribute(value=value, attr="append" | "extend" | "insert" | "__setitem__")):
                changed = value
            case ast.Subscript(ctx=ast.Store()):
                changed = part
        if changed is not None and any(
            isinstance(one, ast.Attribute) and one.attr == "param_groups" for one in ast.walk(changed)
        ):
            text = text_of(changed)
            if "'params'" in text or text.endswith("param_groups"):
                return True
    return False


def _trained_after(run: Run, one: Replacement) -> bool:
    if any(optimizer is one.optimizer and tick > one.tick for optimizer, tick in run.optimizer_steps):
        return True
    cls = run.function.cls
    if cls is not None and one.optimizer.key.startswith("self."):
        attribute = one.optimizer.key.removeprefix("self.")
        setting = cls.assigns.get(attribute, set())
        if setting <= {"__init__", run.function.name} and steps_elsewhere(cls, run.function):
            return True
    return _returned_into_training(run, one)


def _returned_into_training(run: Run, one: Replacement) -> bool:
    """The function returns both, and one that calls it makes steps."""
    name = run.function.name
    if not any(name in other.calls and "step" in other.calls for other in run.module.survey.all):
        return False
    for value, state, _ in run.returned:
        objs = {ref.obj for ref in value.refs}
        for obj in list(objs):
            objs.update(ref.obj for held in state.fields(obj).values() for ref in held.refs)
        if one.module in objs and one.optimizer in objs:
            return True
    return False
