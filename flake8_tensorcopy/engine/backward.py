"""Which values get `backward()` in which pass, which modules are called on the way, what a callee does of either."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.linked import detached, linked, off, operand, proven_terms
from flake8_tensorcopy.engine.notes import Backward
from flake8_tensorcopy.engine.summaries import find, target_of
from flake8_tensorcopy.engine.trail import ModuleCall
from flake8_tensorcopy.engine.values import UNKNOWN, Obj, Ref, Value, exclusive

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.run import Run


MAX_CARRIED = 20  # calls of modules, of one function


def note_backward(run: Run, node: ast.Call, refs: tuple[Ref, ...], retains: bool) -> None:
    """These references get their gradients by this call."""
    for ref in refs:
        run.backwards.append(Backward(ref, node, run.loop, run.count(), run.now.arms, retains, run.within))


def backward_through(run: Run, node: ast.Call, name: str, func: ast.Attribute, args: Args) -> bool:
    """`accelerator.backward(loss)`, `self.manual_backward(loss)`: the argument is what gets its gradients."""
    if name == "manual_backward" or (name == "backward" and library.says_backward_owner(run.text(func.value))):
        if args.values and args.values[0].refs:
            note_backward(run, node, args.values[0].refs, args.flag("retain_graph"))
            return True
    return False


def autograd_backward(run: Run, node: ast.Call, args: Args) -> Value:
    """`torch.autograd.backward(loss)`, or of a list of them."""
    args.use(run)
    for value in args.values[:1]:
        for ref in value.refs:
            held = run.now.fields(ref.obj).values() if ref.obj.kind in ("list", "tuple") else (Value((ref,)),)
            for one in held:
                note_backward(run, node, one.refs, args.flag("retain_graph", 2))
    return UNKNOWN


def note_call(run: Run, node: ast.Call, module: Obj, args: Args, result: Value) -> None:
    """A module, or what may be one, was called."""
    if module.kind not in ("module", "unknown") or run.state is None:
        return
    fed: list[Value] = []
    for _, value in args.all():
        obj = value.obj
        if obj is not None and obj.kind in ("tuple", "list") and obj.owner == "fresh":
            fed.extend(run.now.fields(obj).values())
        else:
            fed.append(value)
    now = run.now
    results = [ref.obj for ref in result.refs]
    for obj in results:
        if obj.kind == "unknown" and obj.made == "call" and obj.owner == "unknown":
            obj.through = True
            obj.graph = False if now.grad is False else obj.graph
            if module not in obj.operands:
                obj.operands = (module, *obj.operands)
        elif obj.kind in ("tuple", "list"):
            results.extend(ref.obj for held in run.now.fields(obj).values() for ref in held.refs)
    if run.tape.in_inference:
        run.tape.inference.update(obj for obj in results if obj.kind in ("tensor", "unknown"))
    call = ModuleCall(module, node, tuple(results), tuple(fed), now.grad, run.count(), run.loop, run.within, now.arms)
    run.trail.calls.append(call)


def _changes_gradients(done: Run) -> bool:
    """Whether a function clears, sets or writes any gradient."""
    return bool(
        done.trail.zeroed
        or any(write.ref.obj.slot == ".grad" for write in done.log)
        or any(key == ".grad" for _, key in done.rebinds)
    )


def carried_back(run: Run, node: ast.Call, done: Run, values: list[Value], result: Value) -> None:
    """What a function of this file backpropagated: its arguments, and what it returns of that; what it cleared."""
    if done.once(_changes_gradients):
        run.trail.zeroed.append(UNKNOWN)
    if not done.backwards:
        return
    for backward in done.backwards:
        if detached(backward.ref) or backward.arms:
            continue
        proven = set(proven_terms(backward.ref.obj))
        for position, param in enumerate(done.params[: len(values)]):
            if param in proven and len(values[position].refs) == 1:
                note_backward(run, node, values[position].refs, backward.retains)
        for slot, returned in _returned(done):
            if returned.refs and all(ref.obj in proven and not detached(ref) for ref in returned.refs):
                held = result if not slot else _item(run, result, slot)
                note_backward(run, node, held.refs[:1], backward.retains)


def calls_carried_back(run: Run, node: ast.Call, done: Run, values: list[Value], result: Value) -> None:
    """The modules that a function of this file called, where the caller knows them and gets what they gave; and the
    loss that was computed from that and backpropagated in the function."""
    if done.function.name == "forward" or run.state is None:
        return  # of which the call itself is noted
    index = {obj: position for position, obj in enumerate(done.params)}
    given = dict(enumerate(values[: len(done.params)]))
    returned = [
        (one, result if not slot else _item(run, result, slot)) for slot, one in _returned(done) if len(one.refs) == 1
    ]
    for call in done.trail.calls[:MAX_CARRIED]:
        target = target_of(call.module, index)
        module = find(run, node, target, given) if target is not None and not call.arms and not call.within else None
        if module is None or module.obj is None:
            continue
        made = [
            ref.obj
            for one, held in returned
            if not detached(one.refs[0]) and not off(one.refs[0].obj) and _reaches(one.refs[0].obj, call)
            for ref in held.refs
            if not detached(ref)
        ]
        fed = [
            found
            for value in call.fed
            for ref in value.refs
            if not detached(ref)
            for one in linked(ref.obj, strict=True)
            if one in index and (found := given.get(index[one])) is not None
        ]
        backpropagated = call.grad and any(
            not one.arms and not detached(one.ref) and _reaches(one.ref.obj, call) for one in done.backwards
        )
        operands = (module.obj, *(operand(ref) for value in fed for ref in value.refs))
        if made and backpropagated:
            inner = Obj("tensor", "fresh", node, made="call", operands=operands, graph=True)
            note_backward(run, node, (Ref(inner),), retains=False)
            made.append(inner)
        grad = call.grad if run.now.grad else run.now.grad
        if made:
            run.trail.calls.append(
                ModuleCall(
                    module.obj, node, tuple(made), tuple(fed), grad, run.count(), run.loop, run.within, run.now.arms
                )
            )


def _reaches(obj: Obj, call: ModuleCall) -> bool:
    """Whether a value hangs on what a call of a module gave."""
    return any(one in call.results for one in linked(obj, strict=True))


def _returned(done: Run) -> list[tuple[str, Value]]:
    """What a function with one `return` gives, and the items of what it gives."""
    if len(done.returned) != 1:
        return []
    value, state, _ = done.returned[0]
    obj = value.obj
    items = state.fields(obj).items() if obj is not None and obj.kind in ("tuple", "dict", "list") else ()
    return [("", value), *items]


def _item(run: Run, value: Value, slot: str) -> Value:
    return run.now.fields(value.obj).get(slot, UNKNOWN) if value.obj is not None else UNKNOWN


def same_pass(backward: Backward, loop: tuple[int, ...], within: tuple[ast.stmt, ...], arms: frozenset[object]) -> bool:
    """Whether a call of backward lies in a pass of the same loops, and may be on the same way through it."""
    if backward.within[: len(within)] != within:
        return False
    return backward.loop[: len(loop)] == loop and not exclusive(backward.arms, arms)  # type: ignore[arg-type]


def inside(node: ast.AST | None, loop: ast.stmt) -> bool:
    """Whether a piece of code stands in the body of a loop."""
    line: int | None = getattr(node, "lineno", None)
    return line is not None and loop.lineno <= line <= (loop.end_lineno or loop.lineno)


def made_at(obj: Obj) -> ast.AST | None:
    """The code that made a value: for an item or attribute of a result, what made that."""
    while obj.node is None and obj.parent is not None and obj.parent.kind not in ("module", "instance"):
        obj = obj.parent
    return obj.node
