"""Statements: the abstract run of one function, with its branches, loops, exits, handlers and grad mode."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import flake8_tensorcopy.engine.expressions  # noqa: F401  (fills in the table of `evaluate`)
from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.assign import assign, augmented_assignment, bind_target, swap
from flake8_tensorcopy.engine.blocks import PLAIN, denied, entered, passed, put_into_block
from flake8_tensorcopy.engine.containers import item_deleted
from flake8_tensorcopy.engine.duplicates import assigned_update
from flake8_tensorcopy.engine.evaluate import evaluate, outside_of
from flake8_tensorcopy.engine.features import COSTS, GROWN, KEPT_ITEMS, LAYOUT, STATE_DICT
from flake8_tensorcopy.engine.forms import calls_for_nothing
from flake8_tensorcopy.engine.generators import spent_around
from flake8_tensorcopy.engine.graph import (
    in_inference_mode,
    made_in_inference_mode,
    names_inference_mode,
    sink,
)
from flake8_tensorcopy.engine.growth import grown_in_loop
from flake8_tensorcopy.engine.items import exact_items
from flake8_tensorcopy.engine.iteration import element_of
from flake8_tensorcopy.engine.modes import entry_mode, is_autograd_function
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.notes import LoopFrame, Returned
from flake8_tensorcopy.engine.operators import arm_of
from flake8_tensorcopy.engine.outcomes import (
    accumulated,
    batch_of_tensors,
    dropped,
    finish_run,
    only_copies,
    pointer_results,
)
from flake8_tensorcopy.engine.refine import entered_mode, grad_mode, refine
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.scopes import forget_names, names_of_several
from flake8_tensorcopy.engine.snapshots import hold_filled
from flake8_tensorcopy.engine.source import Function, FunctionNode
from flake8_tensorcopy.engine.staleness import finish
from flake8_tensorcopy.engine.state import Reaching, State, join_all, join_arms
from flake8_tensorcopy.engine.traces import changed_since_parting
from flake8_tensorcopy.engine.values import (
    NUMBER,
    UNKNOWN,
    Arm,
    Obj,
    Place,
    Ref,
    Value,
)
from flake8_tensorcopy.engine.writes import lost_write

MAX_LOOP_DEPTH = 4
MAX_COUNTED = 3  # a loop of so many passes is run pass by pass


def run_function(module: Module, function: Function) -> Run:
    """Run a function (or the module's own statements) from its entry to its exits."""
    run = Run(module, function)
    node = function.node
    run.closed_over, within = _names_in(function)
    run.shared = names_of_several(module.survey, function)
    if isinstance(node, ast.Module):
        _block(run, [item for item in node.body if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))])
    else:
        run.now.grad = run.outside.grad and entry_mode(module.survey, function)
        run.tape.in_inference = int(in_inference_mode(module, function))
        _bind_parameters(run, node)
        _block(run, node.body)
        for inner in _direct(node.body) if function.inner else ():
            _inner_function(run, run.module.nested(inner))
    for one in function.inner:
        if isinstance(one, ast.Lambda) and one not in within and _calls(one.body):
            _inner_function(run, run.module.as_function(one))
    finish_run(run)
    return run


def _direct(body: list[ast.stmt]) -> list[FunctionNode]:
    """The functions defined in a body, but not those defined inside them."""
    found: list[FunctionNode] = []
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(node)
            continue
        for name in _BODIES:
            pending += getattr(node, name, ())
    return found


_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)  # statements that go on to the next one

# The fields that hold statements, or handlers and cases with statements in them.
_BODIES = ("body", "handlers", "orelse", "finalbody", "cases")


def _calls(node: ast.expr) -> bool:
    return any(isinstance(item, ast.Call) for item in walk(node))


def _names_in(function: Function) -> tuple[frozenset[str], set[ast.AST]]:
    """Names that functions and lambdas inside use: a binding of one of these may be read later.

    With those functions and lambdas that stand within another one of them.
    """
    names: set[str] = set()
    seen: set[ast.AST] = set()  # those within another one, which comes first
    for inner in function.inner:
        if inner in seen:
            continue
        body = inner.body if isinstance(inner.body, list) else [inner.body]
        for statement in body:
            for node in walk(statement):
                if isinstance(node, ast.Name):
                    names.add(node.id)
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                    seen.add(node)
    return frozenset(names), seen


def _bind_parameters(run: Run, node: FunctionNode) -> None:
    spec = node.args
    arguments = [*spec.posonlyargs, *spec.args]
    cls = run.function.cls
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    classy = any(isinstance(d, ast.Name) and d.id == "classmethod" for d in node.decorator_list)
    for position, argument in enumerate([*arguments, *spec.kwonlyargs]):
        obj = Obj("unknown", "argument", argument, key=argument.arg)
        known: Obj | None = obj
        if position == 0 and static and cls is not None and is_autograd_function(run.module.survey, cls):
            obj.kind = "instance"  # the `ctx` of an autograd function
        elif position == 0 and cls is not None and not static:
            obj.kind = "class" if classy else run.module.kind_of_class(cls)
            obj.data, obj.cls = cls, cls.name
        else:
            known = run.module.from_annotation(argument.annotation, obj)
        run.params.append(obj)
        place = Place(argument.arg, None, origin="argument")
        run.now.bind(argument.arg, NUMBER if known is None else Value((Ref(obj, (), place),)))
    for star, kind in ((spec.vararg, "list"), (spec.kwarg, "dict")):
        if star is not None:
            obj = Obj(kind, "argument", star, key=star.arg)
            run.now.bind(star.arg, Value((Ref(obj, (), Place(star.arg, None, origin="argument")),)))
    run.given = run.now.version.copy()


def _inner_function(run: Run, function: Function) -> None:
    """A nested function, as a run of its own that knows little of its free names."""
    function.features |= run.function.features & (COSTS | LAYOUT)
    inner = run.module.runs.get(function)
    if inner is None:
        inner = run.module.runs[function] = run_function(run.module, function)
    for mark, fact in inner.facts.items():
        run.facts.setdefault(mark, fact)
    if inner.spent:
        spent_around(run, inner)


def _block(run: Run, body: list[ast.stmt]) -> None:
    for statement in body:
        if run.state is None:
            return
        _statement(run, statement)


def _statement(run: Run, node: ast.stmt) -> None:
    handler = _STATEMENTS.get(type(node))
    if handler is None:
        return
    outer = run.stmt
    run.stmt = node
    run.clock += 1
    run.written_here = []
    run.pointer_tests = []
    if run.handlers and run.state is not None:
        run.handlers[-1].add(run.state)
    handler(run, node)
    if run.shared and isinstance(node, _SIMPLE):
        forget_names(run, node)
    finish(run)
    if run.pointer_tests:
        pointer_results(run, asserted=False, guards=False)
    run.stmt = outer


def _expr(run: Run, node: ast.Expr) -> None:
    value = evaluate(run, node.value)
    shown = bool(run.module.shown) and (node.lineno, node.col_offset) in run.module.shown
    if shown:
        run.use_shown(value, node.value)
    call = node.value
    if isinstance(call, ast.Await):
        call = call.value
    for written, target, op in run.written_here if isinstance(call, ast.Call) else ():
        if written is call:
            lost_write(run, call, target, op)
    for one in calls_for_nothing(node.value) if not shown else ():
        dropped(run, one)


def _assign(run: Run, node: ast.Assign) -> None:
    if swap(run, node):
        return
    target, source = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(source, ast.Tuple) and len(node.targets) == 1:
        starred = any(isinstance(item, ast.Starred) for item in (*target.elts, *source.elts))
        if len(target.elts) == len(source.elts) and not starred:
            values = [evaluate(run, item) for item in source.elts]
            for one, held, item in zip(target.elts, values, source.elts, strict=True):
                assign(run, one, held, item)
            return
    value = evaluate(run, node.value)
    assigned_update(run, node)
    for target in node.targets:
        assign(run, target, value, node.value)


def _annassign(run: Run, node: ast.AnnAssign) -> None:
    if node.value is None:
        return
    value = evaluate(run, node.value)
    obj = value.obj
    if obj is not None and obj.kind == "unknown":
        run.module.from_annotation(node.annotation, obj)
    assign(run, node.target, value, node.value)


def _return(run: Run, node: ast.Return) -> None:
    value = UNKNOWN
    if node.value is not None:
        value = evaluate(run, node.value)
        sink(run, value, node)
        made_in_inference_mode(run, value)
        run.use_deep(value, node.value, "return")
        accumulated(run)
    finish(run)
    pointer_results(run, asserted=False, guards=False)
    run.returned.append(Returned(value, run.now, node))
    run.state = None


def _if(run: Run, node: ast.If) -> None:
    """An `if` with all its `elif`s, which may be hundreds: no recursion from one to the next."""
    exits: list[tuple[State | None, frozenset[Arm]]] = []
    while True:
        if isinstance(node.test, ast.Constant):  # `if True:`, the other arm is not there
            _block(run, node.body if node.test.value else node.orelse)
            break
        run.use(evaluate(run, node.test), node.test, "test")
        finish(run)
        pointer_results(run, asserted=False, guards=only_copies(run, node))
        yes, no = arm_of(run, node.test)
        before = run.now
        arms = before.arms
        if len(arms) >= PLAIN:
            run.blocks = put_into_block(run.blocks, arms, yes, no)
        yes.met = no.met = True
        blocks = run.blocks
        possible = [arm for arm in (yes, no) if not denied(arm, arms)]
        if yes in possible:
            run.state = before.copy()
            run.now.arms = entered(arms, yes)
            refine(run, node.test, True)
            _block(run, node.body)
            run.blocks = blocks
            exits.append((run.state, arms))
        if no not in possible:
            run.state = None
            break
        run.state = before.copy() if yes in possible else before
        run.now.arms = passed(arms, no)
        refine(run, node.test, False)
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            run.stmt = node
            continue
        _block(run, node.orelse)
        run.blocks = blocks
        break
    run.state = join_arms(exits, run.state, run.entry_field)


def _loop(
    run: Run,
    node: ast.For | ast.AsyncFor | ast.While,
    head: Callable[[], None],
    iterating: list[ast.AST] | None = None,
    counted: int | None = None,
) -> None:
    """Run the body as often as `counted` says, or twice: what changes from one pass to the next shows then."""
    if run.function.features & GROWN and max(run.loop, default=1) == 1:
        grown_in_loop(run, node)
    entry = run.now
    outer = run.loop
    depth = len(outer)
    run.within = (*run.within, node)
    frame = LoopFrame()
    run.frames.append(frame)
    first_time: State | None = None
    run.loop = (*outer, 1)
    run.state = entry.copy()
    head()
    before = run.state.copy() if depth and run.state is not None else None
    _block(run, node.body)
    first_time = join_all([run.state, *frame.continues], run.entry_field)
    frame.continues = []
    final = first_time
    # A snapshot that is taken now and then is read in the pass after the one that trained.
    passes = counted or (3 if depth == 0 and run.function.features & STATE_DICT else 2)
    for again in range(2, passes + 1):
        if final is None or not (depth == 0 or (depth < MAX_LOOP_DEPTH and _changed(before, final))):
            break
        run.loop = (*outer, again)
        run.state = final.copy()
        run.now.arms = entry.arms
        frame.continues = []
        frame.next_pass()
        head()
        _block(run, node.body)
        final = join_all([run.state, *frame.continues], run.entry_field)
    run.loop = outer
    run.within = run.within[:-1]
    run.frames.pop()
    frame.leave()
    if iterating:
        iterating.pop()
    if final is None and not frame.breaks:
        final = entry if first_time is None else first_time
    if final is not None:
        final.arms = entry.arms
    run.state = final
    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value and frame.breaks:
        run.state = None
    if run.state is not None and node.orelse:
        _block(run, node.orelse)
    for state in frame.breaks:
        state.arms = entry.arms
    run.state = join_all([run.state, *frame.breaks], run.entry_field)


def _changed(before: State | None, after: State) -> bool:
    """Whether a pass of a loop changed what the next one starts from."""
    if before is None:
        return True
    changed = changed_since_parting(before.trace, after.trace)
    return (
        any(before.heap.get(obj) != after.heap.get(obj) for obj in changed.fields)
        or any(before.epoch.get(obj) != after.epoch.get(obj) for obj in changed.objs)
        or any(name in before.env and after.env.get(name) is not before.env[name] for name in changed.names)
        or any(
            after.writes.get(obj) != before.writes.get(obj)
            for obj in changed.objs
            if obj in before.writes or obj.owner != "fresh"
        )
    )


def _for(run: Run, node: ast.For | ast.AsyncFor) -> None:
    value = evaluate(run, node.iter)
    run.begins = node
    run.use_iterated(value, node.iter)
    run.begins = None
    finish(run)

    run.iterating.append(node.iter)
    known = exact_items(run, value, MAX_COUNTED) if not run.loop else None
    if not known or _may_leave_or_grow(node):
        known = None

    def head() -> None:
        run.stmt = node
        item = element_of(run, node.iter, value) if known is None else known[run.loop[-1] - 1]
        bind_target(run, node.target, item, node.iter, origin="loop")
        batch_of_tensors(run, node)

    _loop(run, node, head, run.iterating, _counted(node.iter) if known is None else len(known))
    if run.function.features & KEPT_ITEMS and run.state is not None:
        hold_filled(run, value)


def _may_leave_or_grow(node: ast.For | ast.AsyncFor) -> bool:
    """Whether the body leaves a pass early, or changes the length of a list, perhaps of the one it goes over."""
    return any(
        isinstance(item, (ast.Break, ast.Continue))
        or (isinstance(item, ast.Attribute) and item.attr in ("append", "extend", "insert", "pop", "remove"))
        for statement in node.body
        for item in walk(statement)
    )


def _counted(node: ast.expr) -> int | None:
    """The passes of `range(3)`, if they are few."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]) if 1 <= count <= MAX_COUNTED:
            return count
    return None


def _while(run: Run, node: ast.While) -> None:
    def head() -> None:
        run.stmt = node
        run.use(evaluate(run, node.test), node.test, "test")
        finish(run)
        if run.state is not None:
            refine(run, node.test, True)

    _loop(run, node, head)


def _with(run: Run, node: ast.With | ast.AsyncWith) -> None:
    grad = run.now.grad
    quiet = expected = inference = 0
    for item in node.items:
        value = evaluate(run, item.context_expr)
        mode = grad_mode(run, item.context_expr)
        entered_mode(run, item.context_expr)
        text = run.text(item.context_expr)
        expected += "raises" in text.lower()
        inference += mode == "off" and names_inference_mode(run, item.context_expr)
        watches = any(word in text.lower() for word in library.QUIET) or _own_context(run, item.context_expr)
        if mode is None and watches:
            quiet += 1
        if item.optional_vars is not None:
            bind_target(
                run,
                item.optional_vars,
                value if not value.refs or value.refs[0].obj.kind != "unknown" else UNKNOWN,
                item.context_expr,
            )
    finish(run)
    run.quiet += quiet
    run.tape.expected += expected
    run.tape.in_inference += inference
    _block(run, node.body)
    run.tape.in_inference -= inference
    run.tape.expected -= expected
    run.quiet -= quiet
    if run.state is not None:
        run.now.grad = grad


def _own_context(run: Run, node: ast.expr) -> bool:
    """A context manager that a class of this file makes: it may look at what is computed inside."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in run.module.survey.classes


def _try(run: Run, node: ast.Try) -> None:
    before = run.now.copy()
    reached = Reaching(before)
    run.handlers.append(reached)
    probing = bool(node.handlers) and len(node.body) <= 3
    run.quiet += probing
    _block(run, node.body)
    run.quiet -= probing
    run.handlers.pop()
    if run.state is not None:
        reached.add(run.state)
        _block(run, node.orelse)
    exits: list[State | None] = [run.state]
    for handler in node.handlers:
        run.state = reached.state(run.entry_field)
        if handler.type is not None:
            evaluate(run, handler.type)
        if handler.name:
            run.now.bind(handler.name, UNKNOWN)
        _block(run, handler.body)
        exits.append(run.state)
    run.state = join_all(exits, run.entry_field)
    if node.finalbody:
        if run.state is None:
            run.state = reached.state(run.entry_field)
            _block(run, node.finalbody)
            run.state = None
        else:
            _block(run, node.finalbody)


def _break(run: Run, node: ast.Break) -> None:
    if run.frames:
        run.frames[-1].breaks.append(run.now)
    run.state = None


def _continue(run: Run, node: ast.Continue) -> None:
    if run.frames:
        run.frames[-1].continues.append(run.now)
    run.state = None


def _raise(run: Run, node: ast.Raise) -> None:
    if node.exc is not None:
        evaluate(run, node.exc)
    run.state = None


def _assert(run: Run, node: ast.Assert) -> None:
    run.use(evaluate(run, node.test), node.test, "test")
    if node.msg is not None:
        evaluate(run, node.msg)
    pointer_results(run, asserted=True, guards=False)
    finish(run)
    refine(run, node.test, True)


def _delete(run: Run, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            run.now.unbind(target.id)
        elif isinstance(target, ast.Attribute):
            for ref in evaluate(run, target.value).refs:
                run.now.set_field(ref.obj, "." + target.attr, UNKNOWN)
        elif isinstance(target, ast.Subscript):
            for ref in evaluate(run, target.value).refs:
                item_deleted(run, ref.obj, target.slice)


def _function(run: Run, node: FunctionNode) -> None:
    """A nested function: known by its node when it is called."""
    function = run.module.nested(node)
    run.module.outside.setdefault(function, outside_of(run, True, node))
    function.features |= run.function.features & (COSTS | LAYOUT)
    run.now.bind(node.name, Value((Ref(Obj("function", "fresh", node, key=node.name, data=function)),)))


def _class(run: Run, node: ast.ClassDef) -> None:
    # Classes are surveyed before any run; the name stands for the class.
    run.now.unbind(node.name)


def _match(run: Run, node: ast.Match) -> None:
    subject = evaluate(run, node.subject)
    run.use(subject, node.subject, "test")
    finish(run)
    before = run.now
    exits: list[State | None] = []
    exhaustive = False
    deciding = (node.subject, *(case.guard for case in node.cases if case.guard is not None))
    names = tuple((name, before.version.get(name, 0)) for one in deciding for name in run.names_in(one))
    for case, arms in zip(node.cases, run.module.cases(node, run.loop, names), strict=True):
        run.state = before.copy()
        run.now.arms = before.arms | arms
        _bind_pattern(run, case.pattern, subject, node.subject)
        if case.guard is not None:
            run.use(evaluate(run, case.guard), case.guard, "test")
        elif isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            exhaustive = True
        _block(run, case.body)
        if run.state is not None:
            run.now.arms = before.arms
        exits.append(run.state)
    if not exhaustive:
        exits.append(before)
    run.state = join_all(exits, run.entry_field)


def _bind_pattern(run: Run, pattern: ast.pattern, subject: Value, source: ast.expr) -> None:
    match pattern:
        case ast.MatchAs(pattern=None, name=str(name)):
            run.now.bind(name, run.bound(subject, Place(name, run.stmt, loop=run.loop), source))
        case ast.MatchAs(pattern=inner, name=name) if inner is not None:
            _bind_pattern(run, inner, subject, source)
            if name is not None:
                run.now.bind(name, run.bound(subject, Place(name, run.stmt, loop=run.loop), source))
        case _:
            for item in walk(pattern):
                if isinstance(item, (ast.MatchAs, ast.MatchStar)) and item.name is not None:
                    run.now.bind(item.name, UNKNOWN)


_STATEMENTS: dict[type[ast.AST], Callable[[Run, Any], None]] = {
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _annassign,
    ast.AugAssign: augmented_assignment,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Match: _match,
}


if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _try
