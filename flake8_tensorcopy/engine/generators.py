"""What can be gone through once: `parameters()`, `filter`, a generator; what uses it up, and who comes too late."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.facts import Exhausted, Fact
from flake8_tensorcopy.engine.nodes import children, start_of
from flake8_tensorcopy.engine.run import last_state
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.values import UNSURE, Obj, Place, Value, Write, exclusive

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.source import Class, Function

ONE_SHOT = frozenset(
    "parameters named_parameters buffers named_buffers modules named_modules children named_children filter map zip "
    "chain enumerate reversed generator".split()
)
# Calls outside the engine's own tables that go through what they are given.
_CONSUMES = re.compile(
    r"^torch\.nn\.utils\.|^torch\.autograd\.grad$|"
    r"(^|\.)(\w*(Adam|AdamW|Adamax|SGD|RMSprop|Adagrad|Adadelta|LBFGS|Lion))$"
)
# Methods of which every training step calls one.
_EVERY_STEP = frozenset({"backward", "step", "zero_grad"})


class Spent(NamedTuple):
    """An iterator was gone through (or handed to what goes through it)."""

    obj: Obj
    node: ast.AST
    arms: bool  # on some path only
    complete: bool


def one_shot(obj: Obj) -> bool:
    """Whether the object can be gone through once."""
    if obj.kind == "list":
        return obj.made == "generator"
    return obj.made in ONE_SHOT and obj.kind in ("iter", "unknown")


def spend(run: Run, value: Value, node: ast.AST) -> None:
    """The current statement goes through the value; say so if something has done so before."""
    state = run.now
    refs = [ref for ref in value.refs if not exclusive(ref.arms, state.arms)]
    for ref in refs:
        obj = ref.obj
        given = obj.kind == "unknown" and ((obj.owner == "argument" and obj in run.params) or _around(run, obj))
        if ref.place is None or not (given or one_shot(obj)):
            continue
        if any(link.kind == UNSURE for link in ref.chain):
            continue
        used = Write(node, run.stmt, obj.made, "spent", ref, state.arms | ref.arms, run.loop)
        used.tick = run.count()
        supply = run.token(obj)
        first: Write | None = None
        for one in state.written(supply):
            if (first is None or one.tick < first.tick) and (one.node is not node or one.loop != run.loop):
                if not exclusive(one.arms, used.arms):
                    first = one
        if first is not None:
            run.spent_twice.setdefault(obj, (first.node, node))
            if not given and all(one_shot(one.obj) for one in refs):
                _late(run, ref.place, obj, first.node, node)
        complete = run.begins is None or not _may_stop(run, run.begins)
        if complete:
            state.add_write(supply, used)
        run.spent.append(Spent(obj, node, bool(used.arms), complete))


def _late(run: Run, place: Place, obj: Obj, first: ast.AST, node: ast.AST) -> None:
    run.fact(
        Exhausted(
            site=node,
            name=place.name,
            made=obj.made,
            bound=place.node,
            first=first,
            again=first is node,
            supply=None if _asked_for_next(run.module, run.function.node, place.name) else obj.node,
        )
    )


def _asked_for_next(module: Module, where: ast.AST, name: str) -> bool:
    """`next(params)`, which takes no list."""
    below = module.below(where)
    calls = (below.parents.get(node) for node in below.names.get("next", ()))
    given = [call.args[0] for call in calls if isinstance(call, ast.Call) and call.args]
    given += [node.value for asked in ("__next__", "send", "close") for node in below.attributes.get(asked, ())]
    return any(isinstance(one, (ast.Name, ast.Attribute)) and text_of(one) == name for one in given)


def spent_by_call(run: Run, name: str, args: Args) -> None:
    """`clip_grad_norm_(params, 1.0)`, `SGD([{"params": params}])`: what is given is gone through."""
    if not _CONSUMES.search(name):
        return
    pending = [(value, node, 0) for node, value in args.all()]
    while pending:
        value, node, depth = pending.pop(0)
        for ref in value.refs:
            if one_shot(ref.obj) or ref.obj.owner == "argument" or _around(run, ref.obj):
                run.use_iterated(Value((ref,)), node)
            elif ref.obj.kind in ("list", "dict", "tuple") and depth < 3:
                held = run.now.fields(ref.obj)
                pending.extend((inner, node, depth + 1) for slot, inner in held.items() if slot[0] == "[")


def spent_by_function(run: Run, node: ast.Call, done: Run, values: list[Value], args: Args) -> None:
    """A function of this file goes through what it is given, once or more."""
    for position, param in enumerate(done.params):
        value = args.keywords[param.key][1] if param.key in args.keywords else None
        if value is None and position < len(values) and not args.spread:
            value = values[position]
        if value is None or not value.refs or not all(one_shot(ref.obj) for ref in value.refs):
            continue
        given = next((item for item, one in args.all() if one is value), node)
        twice = done.spent_twice.get(param)
        if twice is not None and value.refs[0].obj.made not in ("zip", "enumerate"):
            place = value.refs[0].place or Place(param.key, None)
            _late(run, Place(param.key, place.node), value.refs[0].obj, *twice)
        elif any(one.obj is param and one.complete and not one.arms for one in done.spent):
            run.use_iterated(value, given)


def _around(run: Run, obj: Obj) -> bool:
    """Whether an object is what a name of the function around this one stands for."""
    return obj.owner == "global" and obj.key in run.outside.names


def spent_around(run: Run, inner: Run) -> None:
    """A function inside this one, which is done, goes through what this one has used up before it defined that."""
    state = last_state(run)
    for one in inner.spent if state is not None else ():
        value = state.env.get(one.obj.key) if state is not None and _around(inner, one.obj) else None
        obj = value.obj if value is not None else None
        if value is None or obj is None or not one_shot(obj):
            continue
        before = start_of(inner.function.node)
        made = start_of(obj.node) if obj.node is not None else before
        first = next(
            (
                was.node
                for was in run.spent
                if was.obj is obj and was.complete and not was.arms and made < start_of(was.node) < before
            ),
            None,
        )
        place = value.refs[0].place
        if first is not None and place is not None and not any(ref.chain for ref in value.refs):
            _late(run, place, obj, first, one.node)


def _may_stop(run: Run, node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop may stop before the end; an inner loop is met many times."""
    known = run.left_early.get(node)
    if known is None:
        known = run.left_early[node] = leaves_early(node)
    return known


def leaves_early(node: ast.For | ast.AsyncFor) -> bool:
    """Whether the body of a loop may stop before the end."""
    pending: list[tuple[ast.AST, bool]] = [(one, True) for one in node.body]
    while pending:
        one, own = pending.pop()
        if isinstance(one, (ast.Return, ast.Raise)) or (own and isinstance(one, ast.Break)):
            return True
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        own = own and not isinstance(one, (ast.For, ast.AsyncFor, ast.While))
        pending.extend((child, own) for child in children(one) if not isinstance(child, ast.expr))
    return False


def kept_on_self(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """A generator that `__init__` keeps on the object, and what the methods do with it."""
    table = module.table(cls)
    kept = {
        key: value
        for key, value in table.items()
        if value.obj is not None and one_shot(value.obj) and cls.assigns.get(key[1:], set()) <= {"__init__"}
    }
    init = cls.methods.get("__init__")
    started = module.run_of(init) if init is not None and kept else None
    if started is None:
        return
    for key, value in kept.items():
        obj, ref = value.obj, value.refs[0]
        first = next((one.node for one in started.spent if one.obj is obj and one.complete), None)
        for method in cls.methods.values():
            run = module.run_of(method) if method is not init and not method.static else None
            uses = [] if run is None or not run.params else [one for one in run.spent if _is_slot(one.obj, run, key)]
            if not uses:
                continue
            repeated = method.name in ("forward", "__call__", "step") or not _EVERY_STEP.isdisjoint(method.calls)
            if first is None and repeated:
                again = True
            elif first is not None:
                again = False
            else:
                first = next((one.node for one in uses if one.complete), None)
                continue
            assert first is not None or again
            name = ref.place.name if ref.place is not None else key[1:]
            yield (
                method,
                Exhausted(
                    site=uses[0].node,
                    name=name,
                    made=obj.made if obj is not None else "",
                    bound=ref.place.node if ref.place is not None else None,
                    first=first or uses[0].node,
                    again=again,
                    supply=None if obj is None or _asked_for_next(module, cls.node, f"self{key}") else obj.node,
                ),
            )


def _is_slot(obj: Obj, run: Run, key: str) -> bool:
    return obj.slot == key and obj.parent is run.params[0]
