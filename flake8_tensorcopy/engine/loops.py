"""Loops as a whole: what each of its passes moves anew, and where a training step waits for the device."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.devices import Looped, Sync
from flake8_tensorcopy.engine.facts import InvariantTransfer, StepSync
from flake8_tensorcopy.engine.features import STEPS
from flake8_tensorcopy.engine.host import moved_to_host
from flake8_tensorcopy.engine.nodes import every_time
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Function
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.transfers import place_of, round_trips, widened_moves
from flake8_tensorcopy.engine.values import ALIAS, MAYBE, Obj, Ref, Value

# Statements around another one, the outermost first: loops, and what may keep it from running in each pass.
Around = tuple[ast.AST, ...]

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_GUARDS = (ast.If, ast.ExceptHandler, ast.match_case)
_ONCE_IN_A_WHILE = re.compile(r"rank|epoch|step|iter|main|master|verbose|debug|log|print|first|last|interval|every")
_LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)
_MASK = re.compile(r"mask", re.IGNORECASE)
_STEPS = re.compile(r"optim|scaler|adam|sgd|(^|[._])opt(?!ion)|_opt($|[._\[\d])")
_LOGGERS = re.compile(r"(^|[._])(log|logger|logging)$", re.IGNORECASE)
_WAITING = frozenset({"synchronize", "empty_cache"})
_TIMES = frozenset({"time", *library.CLOCKS})


def spots(body: list[ast.stmt]) -> dict[ast.stmt, Around]:
    """What stands around each statement of a body, functions inside left out."""
    found: dict[ast.stmt, Around] = {}
    pending: list[tuple[list[ast.stmt], Around]] = [(body, ())]
    while pending:
        block, around = pending.pop()
        for node in every_time(block):
            found[node] = around
            pending.extend(_blocks(node, around))
            if isinstance(node, ast.If) and isinstance(every_time(node.body)[-1], _LEAVES) and _seldom(node.test):
                around = (*around, node)  # what follows runs in some passes only
    return found


def _blocks(node: ast.stmt, around: Around) -> Iterator[tuple[list[ast.stmt], Around]]:
    """The blocks of a statement that not every pass meets."""
    match node:
        case ast.For() | ast.AsyncFor() | ast.While():
            yield node.body, (*around, node)
            yield node.orelse, around
        case ast.If() if not isinstance(node.test, ast.Constant):
            yield node.body, (*around, node)
            yield node.orelse, (*around, node)
        case ast.Try() | ast.TryStar():
            yield from ((block, around) for block in (node.orelse, node.finalbody))
            yield from ((handler.body, (*around, handler)) for handler in node.handlers)
        case ast.Match():
            yield from ((case.body, (*around, case)) for case in node.cases)


def _seldom(test: ast.expr) -> bool:
    """A test by number, rank or wish: it lets through some passes of a loop."""
    for node in ast.walk(test):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return True
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        if isinstance(name, str) and _ONCE_IN_A_WHILE.search(name.lower()):
            return True
    return False


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node, functions inside left out."""
    pending = list(ast.iter_child_nodes(node))
    while pending:
        one = pending.pop()
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield one
            pending.extend(ast.iter_child_nodes(one))


def _own(stmt: ast.stmt) -> list[ast.AST]:
    """What a statement evaluates itself, the statements in it left out."""
    match stmt:
        case ast.If() | ast.While():
            return [stmt.test]
        case ast.For() | ast.AsyncFor():
            return [stmt.iter]
        case ast.With() | ast.AsyncWith():
            return [item.context_expr for item in stmt.items]
        case ast.Try() | ast.Match() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return []
    return [stmt]


def _trains(run: Run, loop: ast.AST) -> bool:
    """Whether a loop holds both `backward()` and an optimizer's `step()`."""
    known = run.devices.trains.get(loop)
    if known is None:
        run.devices.trains[loop] = False  # of a function that calls itself
        known = run.devices.trains[loop] = _backward_and_step(run, loop)
    return known


def _backward_and_step(run: Run, loop: ast.AST) -> bool:
    backward = steps = False
    for node in _inside(loop):
        called = _function_called(run, node)
        if called is not None and not _trains_within(run, called.node):
            backward = backward or not called.calls.isdisjoint(("backward", "manual_backward"))
            steps = steps or "step" in called.calls
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            backward = backward or name in ("backward", "manual_backward")
            if name == "step" and not steps:
                text = text_of(node.func.value).lower()
                steps = bool(_STEPS.search(text))
    return backward and steps


def _function_called(run: Run, node: ast.AST) -> Function | None:
    """The function or method of this file that a call names."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return run.module.survey.functions.get(name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if run.function.cls is not None:
            return run.module.method(run.function.cls, name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if owner in run.module.survey.classes:
            return run.module.method(run.module.survey.classes[owner], name)
    return None


def training_loop(run: Run, around: Around) -> ast.AST | None:
    """The innermost loop around that trains, if it holds no other such loop: its passes are the steps."""
    for node in reversed(around):
        if isinstance(node, _LOOPS) and _trains(run, node):
            return None if _trains_within(run, node) else node
    return None


def _trains_within(run: Run, loop: ast.AST) -> bool:
    """Whether a loop that trains stands in a loop or a function."""
    known = run.devices.trains_within.get(loop)
    if known is None:
        loops = [one for one in _inside(loop) if isinstance(one, _LOOPS)]
        known = any(_trains(run, one) for one in loops)
        run.devices.trains_within[loop] = known
    return known


# ----- waits


def note_sync(run: Run, site: ast.AST, how: str, value: Value | None = None) -> None:
    """The current statement makes the host wait, if the value is a tensor that lies on a device."""
    if not run.function.features & STEPS or run.stmt is None or not isinstance(site, ast.expr):
        return
    if value is None:
        run.devices.syncs[site, how, None] = Sync(site, run.stmt, how, run.short(site), None)
        return
    for ref in value.refs:
        if ref.kind in ("tensor", "unknown") and not ref.obj.refuted and _waits(run, ref):
            run.devices.syncs[site, how, ref.obj] = Sync(site, run.stmt, how, run.short(site), ref.obj)


def _waits(run: Run, ref: Ref) -> bool:
    """A tensor that may lie on a device, or was brought from there in this pass to be read: `loss.cpu().item()`."""
    if place_of(run, ref) != "cpu":
        return True
    position = len(ref.chain) - 1
    while position >= 0 and ref.chain[position].kind == ALIAS:
        position -= 1
    moved = Ref(ref.obj, ref.chain[: position + 1])
    here = ref.place is None or ref.place.loop == run.loop
    return here and moved_to_host(run, moved) is not None and place_of(run, Ref(ref.obj, ref.chain[:position])) != "cpu"


def indexed(run: Run, node: ast.Subscript, base: Value, result: Value) -> None:
    """`x[mask]`: how much it is has to be known on the host."""
    if not run.function.features & STEPS or not run.loop or not isinstance(node.ctx, ast.Load):
        return
    index = node.slice
    if isinstance(index, ast.Tuple):
        return
    masks = isinstance(index, (ast.Compare, ast.UnaryOp)) and not isinstance(getattr(index, "op", None), ast.USub)
    masks = masks or (isinstance(index, ast.Attribute) and bool(_MASK.search(index.attr)))
    if isinstance(index, ast.Name):
        value = run.now.env.get(index.id)
        obj = value.obj if value is not None else None
        masks = obj is not None and (obj.dtype == "bool" or (obj.kind == "unknown" and bool(_MASK.search(index.id))))
        masks = masks or (obj is not None and obj.kind == "tensor" and not obj.dtype and bool(_MASK.search(index.id)))
    if masks:
        note_sync(run, node, "mask", base)
        if result.obj is not None and result.obj.owner == "item":
            note_sync(run, node, "mask", result)  # if what is chosen is a tensor, so is what it is chosen from


def elements(run: Run, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, over: Value) -> None:
    """`[v.item() for v in x]`: one wait for each element."""
    if isinstance(node, ast.DictComp) or len(node.generators) != 1:
        return
    match node.elt, node.generators[0].target:
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id=read), attr="item"))
            | ast.Call(func=ast.Name(id="float" | "int"), args=[ast.Name(id=read)]),
            ast.Name(id=bound),
        ) if read == bound:
            if over.refs and all(_proven(run, ref) for ref in over.refs):
                note_sync(run, node, "elements", over)


def builtin(run: Run, node: ast.Call, name: str, values: list[Value]) -> None:
    """`max(x)` of a tensor: Python compares its elements one by one."""
    if name in ("max", "min") and len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        if values[0].refs and all(_proven(run, ref) and not ref.obj.zero_dim for ref in values[0].refs):
            note_sync(run, node, "builtin", values[0])


def _proven(run: Run, ref: Ref) -> bool:
    return ref.kind == "tensor" or (ref.kind == "unknown" and run.evidence(ref.obj, run.stmt) >= 2)


def formatted(run: Run, node: ast.Call, name: str) -> None:
    """`logger.debug(f"{loss.item()}")` reads the number whether the message is shown or not."""
    if name != "debug" or not isinstance(node.func, ast.Attribute):
        return
    if not _LOGGERS.search(run.text(node.func.value)):
        return
    if any("enabled" in str(arm.test).lower() or "debug" in str(arm.test).lower() for arm in run.now.arms):
        return
    inside = {one for item in node.args if isinstance(item, ast.JoinedStr) for one in ast.walk(item)}
    for sync in [one for one in run.devices.syncs.values() if one.site in inside and one.how == "item"]:
        run.devices.syncs[sync.site, "debug", sync.obj] = sync._replace(how="debug")


# ----- the end of a function


def finish_loops(run: Run) -> None:
    """Facts that need the whole function."""
    for fact in (*widened_moves(run), *round_trips(run)):
        run.fact(fact)
    if not run.devices.syncs and not run.devices.looped:
        return
    around = spots(run.function.node.body)
    for moved in run.devices.looped.values():
        _invariant(run, moved, around)
    graph = _on_graph(run)
    for sync in run.devices.syncs.values():
        _sync(run, sync, around, graph)


def _sync(run: Run, sync: Sync, around: dict[ast.stmt, Around], graph: tuple[set[Obj], set[Obj]]) -> None:
    if sync.obj is not None and not _is_tensor(run, sync.obj, graph):
        return
    loop: ast.AST | None = None
    if sync.how not in ("builtin", "elements", "debug"):
        outer = around.get(sync.stmt, ())
        loop = training_loop(run, outer)
        if loop is None or any(isinstance(node, _GUARDS) for node in outer[outer.index(loop) :]):
            return
        if _guarded_within(sync.stmt, sync.site):
            return
        if sync.how in _WAITING and _TIMES & run.function.calls:
            return
    run.fact(StepSync(site=sync.site, text=sync.text, how=sync.how, loop=loop))


def _guarded_within(stmt: ast.stmt, site: ast.AST) -> bool:
    """Whether an expression of a statement is evaluated in some passes only."""
    for node in (one for top in _own(stmt) for one in ast.walk(top)):
        branches: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            branches = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            branches = node.values[1:]
        elif isinstance(node, ast.Lambda):
            branches = [node.body]
        if any(site is one or any(site is inner for inner in ast.walk(one)) for one in branches):
            return True
    return False


def _on_graph(run: Run) -> tuple[set[Obj], set[Obj]]:
    """What had `backward()`, and what that was computed from by one operation on one tensor after the other; and what
    the calls of other functions on the way were given."""
    found: set[Obj] = set()
    given: set[Obj] = set()
    pending = [one.ref.obj for one in run.backwards if one.ref.obj.kind in ("tensor", "unknown")]
    pending.extend(run.devices.losses)
    while pending:
        obj = pending.pop()
        if obj in found:
            continue
        found.add(obj)
        operands = {one for one in obj.operands if one.kind in ("tensor", "unknown")}
        if obj.made == "call":
            given |= operands
        elif obj.made and len(operands) == 1:
            pending.extend(operands)
        elif obj.parent is not None and obj.owner == "item" and _MASK.search(obj.slot):
            pending.append(obj.parent)  # what is chosen from by a mask
    return found, given


def _is_tensor(run: Run, obj: Obj, graph: tuple[set[Obj], set[Obj]]) -> bool:
    """Whether it is a tensor, or what operations made of one; of what a loss was made of, an operation has to."""
    found, given = graph
    pending, seen = [obj], set[Obj]()
    while pending and len(seen) < 50:
        one = pending.pop()
        known = run.devices.strengths.get(one)
        if known is None:
            known = run.devices.strengths[one] = run.evidence(one, None)
        if one in found or (one is not obj and one in given) or known >= 2:
            return True
        seen.add(one)
        if one.owner == "fresh" and one.made not in ("", "call") and not one.refuted:
            pending.extend(i for i in one.operands if i.kind in ("tensor", "unknown") and i not in seen)
    return False


# ----- moves


def _invariant(run: Run, moved: Looped, around: dict[ast.stmt, Around]) -> None:
    node, stmt, ref, move = moved.node, moved.stmt, moved.ref, moved.move
    outer = around.get(stmt, ())
    loop: ast.AST | None = _comprehension_around(stmt, node)
    if loop is None:
        loop = next((one for one in reversed(outer) if isinstance(one, _LOOPS)), None)
    if loop is None or not isinstance(node.func, ast.Attribute) or moved.place == (move.to or "device"):
        return
    if isinstance(stmt, ast.Expr) and stmt.value is node:
        return  # nobody takes the result: another defect, or the move itself is what is timed
    receiver = node.func.value
    evidence = 3 if ref.kind == "tensor" else run.evidence(ref.obj, None)
    if ref.kind not in ("tensor", "unknown") or (evidence < 2 and node not in run.devices.operands):
        return
    guards = [one for one in outer[outer.index(loop) :] if isinstance(one, _GUARDS)] if loop in outer else []
    if any(isinstance(one, ast.If) and _seldom(one.test) for one in guards) or _guarded_within(stmt, node):
        return
    if any(not isinstance(one, ast.If) for one in guards):
        return
    if isinstance(loop, _LOOPS) and any(isinstance(end, (ast.Return, ast.Break)) for end in _ends(run, loop, stmt)):
        return
    if not _unchanged(run, receiver, node, ref, loop):
        return
    if any(link.kind == MAYBE for link in ref.chain) or ref.obj.param or ref.obj.graph:
        return
    run.fact(
        InvariantTransfer(
            site=node, receiver=run.short(receiver), device=move.device, loop=loop, evidence=max(evidence, 2)
        )
    )


def _ends(run: Run, loop: ast.For | ast.AsyncFor | ast.While, stmt: ast.stmt) -> Iterator[ast.stmt]:
    """The last statements of a loop and of what it holds around one of its statements."""
    yield loop.body[-1]
    parents = run.parents()
    inner: ast.AST = stmt
    while inner is not loop and (outer := parents.get(inner)) is not None:
        blocks = [body for _, body in ast.iter_fields(outer) if isinstance(body, list) and inner in body]
        yield from (body[-1] for body in blocks)
        inner = outer


def _comprehension_around(stmt: ast.stmt, node: ast.Call) -> ast.AST | None:
    """The innermost comprehension that evaluates an expression for each of its items."""
    found: ast.AST | None = None
    for one in (one for top in _own(stmt) for one in ast.walk(top)):
        if isinstance(one, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            once = set(ast.walk(one.generators[0].iter))
            if node not in once and any(inner is node for inner in ast.walk(one)):
                found = one
    return found


def _unchanged(run: Run, receiver: ast.expr, node: ast.Call, ref: Ref, loop: ast.AST) -> bool:
    """Whether each pass of a loop moves the same values to the same device, as far as the loop's own code tells."""
    root = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    if isinstance(receiver, ast.Attribute) and not _kept_by_class(run, receiver, root):
        return False
    given = {name for item in (*node.args, *(one.value for one in node.keywords)) for name in run.names_in(item)}
    names = {root.id, *given}
    changed, handed = _changed_by(run, loop)
    if names & changed or run.text(receiver) in changed or run.text(receiver) in handed:
        return False
    assert isinstance(loop, (ast.expr, ast.stmt))
    first, last = loop.lineno, loop.end_lineno or loop.lineno
    return not any(write.ref.obj is ref.obj and first <= getattr(write.node, "lineno", 0) <= last for write in run.log)


def _changed_by(run: Run, loop: ast.AST) -> tuple[set[str], set[str]]:
    """What a loop binds, and what it hands to functions that may write it; as text."""
    known = run.devices.changed.get(loop)
    if known is None:
        bound: set[str] = set()
        handed: set[str] = set()
        for one in _inside(loop):
            if isinstance(one, (ast.Name, ast.Attribute)) and not isinstance(one.ctx, ast.Load):
                bound.add(run.text(one))
            elif isinstance(one, ast.Call) and run.names.qualify(one.func) is None:
                given = (*one.args, *(item.value for item in one.keywords))
                handed.update(run.text(item) for item in given if isinstance(item, (ast.Name, ast.Attribute)))
        known = run.devices.changed[loop] = (bound, handed)
    return known


def _kept_by_class(run: Run, receiver: ast.Attribute, root: ast.Name) -> bool:
    """`self.x`, which only `__init__` assigns, and which does not move with a module."""
    cls = run.function.cls
    if cls is None or root.id != "self" or receiver.value is not root:
        return False
    init = cls.methods.get("__init__")
    if init is None or "register_buffer" in init.calls:
        return False
    return cls.assigns.get(receiver.attr, set()) == {"__init__"}
