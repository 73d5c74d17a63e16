"""Optimizer states, parameters and modules that are taken for copies: what shares them, and what moves them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.facts import Fact, SharedOptimizerState
from flake8_tensorcopy.engine.values import Obj, Ref, Value, Write, exclusive

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.source import Class, Function

STATE = "optimizer.state_dict"


# ----- the state of an optimizer


class Loaded(NamedTuple):
    """`one.load_state_dict(other.state_dict())`, both of them optimizers."""

    one: Obj
    other: Obj
    fact: SharedOptimizerState


class Stepped(NamedTuple):
    """An optimizer has stepped."""

    obj: Obj
    node: ast.AST


def is_optimizer(obj: Obj) -> bool:
    """Whether an object is an optimizer, or is called like one."""
    return obj.kind == "optimizer" or (obj.kind == "unknown" and library.says_optimizer(obj.key))


def optimizer_method(run: Run, node: ast.Call, ref: Ref, name: str, args: list[Value]) -> Value | None:
    """`state_dict()` of an optimizer, and what loads it."""
    obj = ref.obj
    if name == "state_dict":
        return Value((Ref(Obj("dict", "fresh", node, made=STATE, operands=(obj,))),))
    for value in args:
        for given in value.refs:
            other = _optimizer_of(given.obj)
            if other is not None and other is not obj and _has_state(run, other):
                _load(run, node, obj, other)
    return None


def _optimizer_of(state: Obj) -> Obj | None:
    """The optimizer whose live state a dict is, or a shallow copy of it."""
    for _ in range(4):
        if state.made == STATE and state.operands:
            return state.operands[0]
        if state.kind != "dict" or not state.operands or state.made == "deepcopy":
            return None
        state = state.operands[0]
    return None


def _has_state(run: Run, optimizer: Obj) -> bool:
    """Whether there can be tensors in the state: before the first step there are none, and plain SGD has none ever."""
    if optimizer.owner != "fresh":
        return True
    made = optimizer.node
    if optimizer.made.endswith(".SGD") and isinstance(made, ast.Call):
        named = {keyword.arg for keyword in made.keywords}
        if not named & {"momentum", None} and len(made.args) < 3:
            return False
    return any(one.obj is optimizer for one in run.stepped)


def _load(run: Run, node: ast.Call, obj: Obj, other: Obj) -> None:
    fact = SharedOptimizerState(
        site=node, optimizer=obj.key or "it", other=other.key or "the other optimizer", stepped=node
    )
    token = run.token(other)
    run.now.add_write(token, Write(node, run.stmt, STATE, "loaded", Ref(obj), run.now.arms, run.loop))
    run.loads.append(Loaded(obj, other, fact))


def stepped(run: Run, optimizer: Obj, node: ast.AST) -> None:
    """The optimizer goes on: whoever has loaded its live state goes along."""
    run.stepped.append(Stepped(optimizer, node))
    known = run.tokens.get(optimizer)
    if known is None:
        return
    for write in run.now.written(known):
        if not exclusive(write.arms, run.now.arms):
            for one in run.loads:
                if one.fact.site is write.node and one.other is optimizer:
                    run.fact(
                        SharedOptimizerState(
                            site=one.fact.site, optimizer=one.fact.optimizer, other=one.fact.other, stepped=node
                        )
                    )


def optimizers_of_call(run: Run, node: ast.Call, done: Run, given: dict[int, Value]) -> None:
    """What a function of this file does with the optimizers that it is given."""
    index = {obj: position for position, obj in enumerate(done.params)}
    for load in done.loads:
        one, other = (_found(run, obj, index, given) for obj in (load.one, load.other))
        if one is not None and other is not None and one is not other and _has_state(run, other):
            _load(run, node, one, other)
    seen: set[Obj] = set()
    for step in done.stepped:
        found = _found(run, step.obj, index, given)
        if found is not None and found not in seen:
            seen.add(found)
            stepped(run, found, node)


def _found(run: Run, obj: Obj, index: dict[Obj, int], given: dict[int, Value]) -> Obj | None:
    """What the caller has where the callee reached an object from an argument."""
    slots: list[str] = []
    while obj not in index:
        if obj.parent is None or len(slots) > 3:
            return None
        slots.insert(0, obj.slot)
        obj = obj.parent
    value = given.get(index[obj])
    for slot in slots:
        if value is None or value.obj is None:
            return None
        value = run.field(value.obj, slot)
    return value.obj if value is not None else None


def states_on_self(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """One method loads the live state of an optimizer of the object, another one lets that optimizer step."""
    steps: dict[str, ast.AST] = {}
    loads: list[tuple[Function, str, Loaded]] = []
    for method in cls.methods.values():
        run = module.run_of(method) if not method.static else None
        if run is None or not run.params:
            continue
        me = run.params[0]
        for step in run.stepped:
            if step.obj.parent is me:
                steps.setdefault(step.obj.slot, step.node)
        loads.extend((method, one.other.slot, one) for one in run.loads if one.other.parent is me)
    for method, slot, load in loads:
        if slot in steps:
            fact = load.fact
            yield (
                method,
                SharedOptimizerState(
                    site=fact.site, optimizer=fact.optimizer, other=fact.other, stepped=steps[slot]
                ),
            )
