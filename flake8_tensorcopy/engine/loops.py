"""Loops as a whole: what each of its passes moves anew, and where a training step waits for the device."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.devices import Looped, Sync
from flake8_tensorcopy.engine.facts import InvariantTransfer, StepSync
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import STEPS
from flake8_tensorcopy.engine.transfers import place_of, round_trips, widened_moves
from flake8_tensorcopy.engine.values import MAYBE, Obj, Ref, Value

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
        for node in block:
            found[node] = around
            pending.extend(_blocks(node, around))
            if isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVES) and _seldom(node.test):
                around = (*around, node)  # what follows runs in some passes only
    return found


def _blocks(node: ast.stmt, around: Around) -> Iterator[tuple[list[ast.stmt], Around]]:
    match node:
        case ast.For() | ast.AsyncFor() | ast.While():
            yield node.body, (*around, node)
            yield node.orelse, around
        case ast.If():
            yield node.body, (*around, node)
            yield node.orelse, (*around, node)
        case ast.With() | ast.AsyncWith():
            yield node.body, around
        case ast.Try():
            yield from ((block, around) for block in (node.body, node.orelse, node.finalbody))
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


@cache
def _trains(loop: ast.AST) -> bool:
    """Whether a loop holds both `backward()` and an optimizer's `step()`."""
    backward = steps = False
    for node in _inside(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            backward = backward or name in ("backward", "manual_backward")
            if name == "step" and not steps:
                text = ast.unparse(node.func.value).lower()
                steps = bool(_STEPS.search(text))
    return backward and steps


def training_loop(around: Around) -> ast.AST | None:
    """The innermost loop around that trains: the one whose passes are the steps."""
    for node in reversed(around):
        if isinstance(node, _LOOPS) and _trains(node):
            nested = any(isinstance(one, _LOOPS) and _trains(one) for one in _inside(node))
            return None if nested else node
    return None


# ----- waits


def note_sync(run: Run, site: ast.AST, how: str, value: Value | None = None) -> None:
    """The current statement makes the host wait, if the value is a tensor that lies on a device."""
    if not run.function.features & STEPS or run.stmt is None or not isinstance(site, ast.expr):
        return
    if value is None:
        run.devices.syncs.append(Sync(site, run.stmt, how, run.short(site), None))
        return
    for ref in value.refs:
        if ref.kind in ("tensor", "unknown") and not ref.obj.refuted and place_of(run, ref) != "cpu":
            run.devices.syncs.append(Sync(site, run.stmt, how, run.short(site), ref.obj))


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
    for sync in [one for one in run.devices.syncs if one.site in inside and one.how == "item"]:
        run.devices.syncs.append(sync._replace(how="debug"))


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
    for sync in run.devices.syncs:
        _sync(run, sync, around, graph)


def _sync(run: Run, sync: Sync, around: dict[ast.stmt, Around], graph: tuple[set[Obj], set[Obj]]) -> None:
    if sync.obj is not None and not _is_tensor(run, sync.obj, graph):
        return
    loop: ast.AST | None = None
    if sync.how not in ("builtin", "elements", "debug"):
        outer = around.get(sync.stmt, ())
        loop = training_loop(outer)
        if loop is None or any(isinstance(node, _GUARDS) for node in outer[outer.index(loop) :]):
            return
        if _guarded_within(sync.stmt, sync.site):
            return
        if sync.how in _WAITING and _TIMES & run.function.calls:
            return
    run.fact(StepSync(site=sync.site, text=sync.text, how=sync.how, loop=loop))


def _guarded_within(stmt: ast.stmt, site: ast.AST) -> bool:
    """Whether an expression of a statement is evaluated in some passes only."""
    for node in ast.walk(stmt.test if isinstance(stmt, (ast.If, ast.While)) else stmt):
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


def _is_tensor(run: Run, obj: Obj, graph: tuple[set[Obj], set[Obj]], depth: int = 0) -> bool:
    """Whether it is a tensor, or what operations made of one; of what a loss was made of, an operation has to."""
    if obj in graph[0] or (depth and obj in graph[1]) or run.evidence(obj, None) >= 2:
        return True
    if depth > 8 or obj.owner != "fresh" or obj.made in ("", "call") or obj.refuted:
        return False
    return any(_is_tensor(run, one, graph, depth + 1) for one in obj.operands if one.kind in ("tensor", "unknown"))


# ----- moves


def _invariant(run: Run, moved: Looped, around: dict[ast.stmt, Around]) -> None:
    node, stmt, ref, move = moved.node, moved.stmt, moved.ref, moved.move
    outer = around.get(stmt, ())
    loop: ast.AST | None = _comprehension_around(stmt, node)
    if loop is None:
        loop = next((one for one in reversed(outer) if isinstance(one, _LOOPS)), None)
    if loop is None or not isinstance(node.func, ast.Attribute) or moved.place == (move.to or "device"):
        return
    receiver = node.func.value
    evidence = 3 if ref.kind == "tensor" else run.evidence(ref.obj, None)
    if ref.kind not in ("tensor", "unknown") or (evidence < 2 and node not in run.devices.operands):
        return
    guards = [one for one in outer[outer.index(loop) :] if isinstance(one, _GUARDS)] if loop in outer else []
    if any(isinstance(one, ast.If) and _seldom(one.test) for one in guards) or _guarded_within(stmt, node):
        return
    if any(not isinstance(one, ast.If) for one in guards):
        return
    if isinstance(loop, _LOOPS) and isinstance(loop.body[-1], (ast.Return, ast.Break)):
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


def _comprehension_around(stmt: ast.stmt, node: ast.Call) -> ast.AST | None:
    """The innermost comprehension that evaluates an expression for each of its items."""
    found: ast.AST | None = None
    for one in ast.walk(stmt.test if isinstance(stmt, (ast.If, ast.While)) else stmt):
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
    text = run.text(receiver)
    for one in _inside(loop):
        if isinstance(one, ast.Name) and one.id in names and not isinstance(one.ctx, ast.Load):
            return False
        if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load) and run.text(one) == text:
            return False
        if isinstance(one, ast.Call) and run.names.qualify(one.func) is None and one is not node:
            if any(run.text(item) == text for item in (*one.args, *(item.value for item in one.keywords))):
                return False
    assert isinstance(loop, (ast.expr, ast.stmt))
    first, last = loop.lineno, loop.end_lineno or loop.lineno
    return not any(write.ref.obj is ref.obj and first <= getattr(write.node, "lineno", 0) <= last for write in run.log)


def _kept_by_class(run: Run, receiver: ast.Attribute, root: ast.Name) -> bool:
    """`self.x`, which only `__init__` assigns, and which does not move with a module."""
    cls = run.function.cls
    if cls is None or root.id != "self" or receiver.value is not root:
        return False
    init = cls.methods.get("__init__")
    if init is None or "register_buffer" in init.calls:
        return False
    return cls.assigns.get(receiver.attr, set()) == {"__init__"}
