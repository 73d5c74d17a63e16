"""The autograd graph, as far as the run sees it: what a value was computed from, what requires grad, what a backward
will go through, and in which grad mode a function is called."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from flake8_tensorcopy.engine.linked import on_graph
from flake8_tensorcopy.engine.modes import (
    INFERENCE_MODE,
    MAY_SET,
    SET,
    entry_mode,
    mentions_mode,
    mode_of,
    switches_off,
)
from flake8_tensorcopy.engine.nodes import children
from flake8_tensorcopy.engine.values import DETACH, NUMPY, Arm, Link, Obj, Ref, Value, exclusive

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.facts import Fact
    from flake8_tensorcopy.engine.freezing import Switched
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.saved import Saved
    from flake8_tensorcopy.engine.source import Function, Survey
    from flake8_tensorcopy.engine.state import State
    from flake8_tensorcopy.engine.values import Place, Write

MAX_ANCESTORS = 200
MAX_SINKS = 40

# Tests on a path that say the author looked at the mode, or at what requires grad.
_LOOKS = re.compile(r"requires_grad|grad_enabled|is_leaf|training|inference|no_grad|\beval|in_?place|\b(is_)?train\b")
_TRAINS = frozenset({"self.training", "training", "train", "is_train"})  # where these hold, the graph is there


class Sink(NamedTuple):
    """Where a value leaves the function, so that a backward may come to it: returned, stored, backpropagated."""

    objs: tuple[Obj, ...]
    tick: int
    arms: frozenset[Arm]
    node: ast.AST
    backward: bool
    retains: bool
    kept: bool  # stored: what is done to it later is seen there


class Tape:
    """What one run knows of the graph that it records."""

    def __init__(self) -> None:
        self.saved: dict[Obj, list[Saved]] = {}
        self.named: dict[Place, list[Saved]] = {}  # what is perhaps a copy, by the binding that has it
        self.spoiled: list[tuple[Saved, Write]] = []
        self.rebindable: dict[ast.AST, bool] = {}  # of these writes, whether one name has the value
        self.found: list[Fact] = []  # to be dropped if the function is only called without grad
        self.bypassed: list[tuple[Write, Fact, bool]] = []  # and whether a backward has to follow
        self.sinks: list[Sink] = []
        self.cut: set[tuple[Obj, Obj]] = set()  # a result and what it was computed from, but detached
        self.not_leaves: set[Obj] = set()  # computed, and marked as requiring grad all the same
        self.arms: dict[Obj, frozenset[Arm]] = {}  # where it was marked
        self.marked: list[tuple[Obj, Fact]] = []
        self.gradients: dict[Obj, ast.AST] = {}  # whose `.grad` is read
        self.retained: set[Obj] = set()
        self.on_device: set[Obj] = set()
        self.inference: set[Obj] = set()
        self.switched: list[Switched] = []
        self.expected = 0  # inside a test that something raises
        self.in_inference = 0


def ancestors(obj: Obj, without: Callable[[Obj], bool] | None = None) -> list[Obj]:
    """What a value was computed from, itself first, each once; an attribute or item stands for its owner too.

    `without` tells what is left out, with all that lies behind it.
    """
    found: list[Obj] = []
    pending = [obj]
    seen = {obj}
    for one in pending:  # the list grows meanwhile
        if without is not None and without(one):
            continue
        found.append(one)
        if len(found) == MAX_ANCESTORS:
            break
        for other in one.operands:
            if other not in seen:
                seen.add(other)
                pending.append(other)
        if one.parent is not None and one.parent not in seen:
            seen.add(one.parent)
            pending.append(one.parent)
    return found


def root_of(obj: Obj) -> Obj:
    """The object that an attribute or item belongs to, through all that lies between."""
    while obj.parent is not None:
        obj = obj.parent
    return obj


# ----- what requires grad


def graph_of(value: Value) -> bool | None:
    """Whether a value requires grad, whichever of its alternatives it is."""
    if not value.refs:
        return False if value.kind == "number" else None
    known = {on_graph(ref) for ref in value.refs}
    return known.pop() if len(known) == 1 else None


def items_of(run: Run, values: list[Value]) -> list[Value]:
    """These values, and in the place of a container what is in it."""
    found: list[Value] = []
    pending, seen = values[::-1], set[Obj]()
    while pending and len(found) < MAX_SINKS:
        value = pending.pop()
        if value.obj is not None and value.obj.kind in ("list", "tuple", "dict") and run.state is not None:
            if value.obj not in seen:  # one may hold itself
                seen.add(value.obj)
                pending.extend(run.now.fields(value.obj).values())
        else:
            found.append(value)
    return found


def graph_of_result(values: list[Value]) -> bool | None:
    """Whether the result of an operation on these requires grad, in grad mode."""
    graphs = [graph_of(value) for value in values]
    return True if True in graphs else (False if graphs and all(graph is False for graph in graphs) else None)


def note_arguments(run: Run, function: Function, done: Run, values: list[Value], args: Args) -> None:
    """Remember of a call which arguments it gives that require grad, in grad mode."""
    known = run.module.graphs_given.setdefault(function, {})
    given = dict(zip([obj.key for obj in done.params], values, strict=False))
    given.update((name, value) for name, (_, value) in args.keywords.items())
    for name, value in given.items():
        if value.refs:
            known.setdefault(name, set()).add(False if run.now.grad is False else graph_of(value))


def is_leaf(run: Run, ref: Ref) -> bool:
    """Whether a reference is to a leaf that requires grad (or to a view of one), for certain."""
    made = any(link.op in ("Parameter", "requires_grad_", "parameters") for link in ref.chain)
    tracked = ref.place is not None and ref.place.tracked
    if not (made or tracked or ref.obj.leaf) or ref.obj in run.tape.not_leaves or not on_graph(ref):
        return False
    return run.tape.arms.get(ref.obj, frozenset()) <= run.now.arms


def mark(run: Run, ref: Ref) -> bool:
    """`requires_grad` is set on a reference.  Whether it was computed on the graph, and so becomes no leaf by that."""
    obj = ref.obj
    listed = any(link.op == "parameters" for link in ref.chain)  # each of these is a leaf
    computed = on_graph(ref) is True and not obj.leaf and not obj.param and not listed
    if any(link.op == "Parameter" for link in ref.chain):
        return False  # it requires grad already, and what it was made of does not
    if any(link.kind in (DETACH, NUMPY) for link in ref.chain):
        obj.leaf = True
        if ref.place is not None:
            ref.place.tracked = True
        return False
    if not computed and not obj.leaf and ref.chain and not listed and ref.place is not None:
        ref.place.tracked = True  # a view of what has no graph is the leaf itself
    if computed:
        run.tape.not_leaves.add(obj)
    elif run.now.arms:
        run.tape.arms[obj] = run.now.arms
    statement = len(run.frames) == len(run.loop)  # no comprehension, which has one pass
    if run.frames and statement and ref.place is not None and ref.place.origin == "loop" and ref.place.loop == run.loop:
        run.frames[-1].marked.setdefault(obj, (obj.leaf, obj.graph))
    obj.leaf, obj.graph = True, True
    return computed


def since_marked(ref: Ref) -> tuple[Link, ...]:
    """The links of a reference behind the binding that was told to require grad, or all of them."""
    return ref.chain[ref.held :] if ref.place is not None and ref.place.tracked else ref.chain


def written_from(run: Run, refs: tuple[Ref, ...], sources: list[Value]) -> None:
    """Values are written into these: what depends on them depends on those from here on."""
    if run.now.grad is False:
        return
    for ref in refs:
        obj = ref.obj
        if any(link.kind in (DETACH, NUMPY) for link in ref.chain) or obj.kind not in ("tensor", "unknown"):
            continue
        for value in sources:
            if not value.refs:
                continue
            graph = graph_of(value)
            if graph is False:
                continue
            added = tuple(one.obj for one in value.refs if one.obj is not obj and one.obj not in obj.operands)
            obj.operands = (*obj.operands, *added)[:MAX_ANCESTORS]
            if graph is True and run.now.grad:
                obj.graph = True
            elif obj.graph is False:
                obj.graph = None


# ----- where a value goes


def sink(
    run: Run, value: Value, node: ast.AST, backward: bool = False, retains: bool = False, kept: bool = False
) -> None:
    """The value leaves the function, with all that is in it."""
    if run.state is None or not value.refs or len(run.tape.sinks) >= MAX_SINKS:
        return
    found: dict[Obj, None] = {}
    seen: set[Obj] = set()
    pending = list(value.refs)
    while pending and len(seen) < 50:
        ref = pending.pop()
        if ref.obj.kind in ("dict", "list", "tuple"):
            if ref.obj not in seen:
                seen.add(ref.obj)
                pending.extend(inner for held in run.now.fields(ref.obj).values() for inner in held.refs)
        elif on_graph(ref) is not False:
            found[ref.obj] = None
    if found:
        run.tape.sinks.append(Sink(tuple(found), run.count(), run.now.arms, node, backward, retains, kept))


def behind(run: Run, one: Sink) -> set[Obj]:
    """What a backward from there goes through."""
    pending = list(one.objs)
    seen: set[Obj] = set()
    while pending and len(seen) < MAX_ANCESTORS:
        obj = pending.pop()
        if obj in seen or obj.graph is False:
            continue
        seen.add(obj)
        pending.extend(operand for operand in obj.operands if (obj, operand) not in run.tape.cut)
        if obj.parent is not None and obj.owner != "attribute":
            pending.append(obj.parent)
        if obj.kind in ("list", "tuple") and run.state is not None:
            pending.extend(ref.obj for held in run.now.fields(obj).values() for ref in held.refs)
    return seen


def looks_at_mode(arms: frozenset[Arm]) -> bool:
    """Whether the path passed a test of the mode, or of what requires grad."""
    return any(_tells_mode(arm.text) and not (arm.taken and arm.text in _TRAINS) for arm in arms)


@lru_cache(maxsize=4096)
def _tells_mode(text: str) -> bool:
    return bool(_LOOKS.search(text))


def meets(one: frozenset[Arm], other: frozenset[Arm]) -> bool:
    """Whether a run may pass both."""
    return not exclusive(one, other)


# ----- grad mode


def may_set_mode(run: Run, node: ast.expr) -> bool:
    """Whether a context manager of unknown make may switch grad mode off: a variable, or a call that says so."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.IfExp)):
        return "lock" not in run.text(node).lower()
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    own = run.module.survey.functions.get(name)
    return bool(MAY_SET.search(run.text(node.func))) or (own is not None and mentions_mode(own.node))


def made_in_inference_mode(run: Run, value: Value, done: Run | None = None) -> None:
    """The value was made under inference_mode: here, or by a function of the file that has run."""
    if done is None:
        marks = run.tape.in_inference > 0
    else:
        marks = any(ref.obj in done.tape.inference for one in done.returned for ref in one.value.refs)
        for one in done.returned if done.tape.inference else ():
            _items_of_inference(run, done, one.value, one.state, value)
    for ref in value.refs if marks else ():
        if ref.obj.owner in ("fresh", "unknown") and ref.obj.kind in ("tensor", "unknown"):
            run.tape.inference.add(ref.obj)


def _items_of_inference(run: Run, done: Run, was: Value, state: State, made: Value, depth: int = 0) -> None:
    """What a function returned in lists, tuples and dicts, item by item."""
    containers = [ref.obj for ref in was.refs if ref.obj.kind in ("list", "tuple", "dict")]
    if not containers or len(containers) < len(was.refs) or depth > 2:
        return
    for slot in state.fields(containers[0]):
        inside = [ref for one in containers for ref in state.fields(one).get(slot, Value()).refs]
        item = tuple(ref for one in made.refs for ref in run.now.fields(one.obj).get(slot, Value()).refs)
        if inside and all(ref.obj in done.tape.inference for ref in inside):
            run.tape.inference.update(ref.obj for ref in item if ref.obj.owner in ("fresh", "unknown"))
        _items_of_inference(run, done, Value(tuple(inside)), state, Value(item), depth + 1)


def names_inference_mode(run: Run, node: ast.expr) -> bool:
    """Whether a context manager is `torch.inference_mode()`."""
    return isinstance(node, ast.Call) and run.names.qualify(node.func) in INFERENCE_MODE


def in_inference_mode(module: Module, function: Function) -> bool:
    """Whether a function is decorated with `torch.inference_mode`."""
    if isinstance(function.node, ast.Module) or entry_mode(module.survey, function) is not False:
        return False
    targets = [item.func if isinstance(item, ast.Call) else item for item in function.node.decorator_list]
    return any(module.names.qualify(target) in INFERENCE_MODE for target in targets)


class Mention(NamedTuple):
    """A place of the file that names a function: in which function it stands, and whether grad mode is on there."""

    within: str
    on: bool
    own: str  # the class in which it is read from `self`


def without_grad(module: Module, function: Function) -> bool:
    """Whether the file calls a function, and never in grad mode, nor where a model does not run for inference alone."""
    if not module.survey.once(switches_off) and not module.survey.once(_names_inference):
        return False
    if module.mentions is None:
        module.mentions = _mentions(module)
    name = function.name
    if name == "forward":
        return False  # called by the module's own `__call__`
    if name == "__init__" and function.cls is not None:
        name = function.cls.name
    return _only_off(module, name, function.cls.name if function.cls is not None else "", set())


def recording(run: Run) -> bool | None:
    """The grad mode that the current statement runs in, also by the calls of its function."""
    return False if run.now.grad and without_grad(run.module, run.function) else run.now.grad


def _only_off(module: Module, name: str, cls: str, seen: set[str]) -> bool:
    found = (module.mentions or {}).get(name, [])
    for own in ([one for one in found if cls and one.own == cls], [one for one in found if cls and one.own]):
        if own:
            found = own
            break
    found = [one for one in found if one.within != name]
    if not found or name in seen:
        return bool(found)
    seen = seen | {name}
    return all(not one.on or (one.within and _only_off(module, one.within, one.own, seen)) for one in found)


def _in_order(module: Module, body: list[ast.stmt], on: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements of a block, each with whether grad mode is on there: `torch.set_grad_enabled(False)` before them
    has switched it off."""
    for statement in body:
        yield statement, on
        on = _after(module, statement, on)


def _after(module: Module, statement: ast.stmt, on: bool) -> bool:
    """Whether grad mode is on after a statement."""
    match statement:
        case ast.Expr(value=ast.Call(func=func) as call) if module.names.qualify(func) in SET:
            return mode_of(module.names.qualify(func), call) != "off"
        case ast.With(items=items) if not any(
            isinstance(item.context_expr, ast.Call)
            and mode_of(module.names.qualify(item.context_expr.func), item.context_expr)
            for item in items
        ):
            inside = statement.body
        case ast.Try(body=body, orelse=orelse, finalbody=finalbody):
            inside = [*body, *orelse, *finalbody]
        case ast.If(test=ast.Constant(value=value)) if value:
            inside = statement.body
        case _:
            return on
    for one in inside:
        on = _after(module, one, on)
    return on


def _names_inference(survey: Survey) -> bool:
    """Whether a file may tell training from inference: `self.training`, `inference_params`."""
    for one in survey.all:
        if any(node.attr == "training" or "inference" in node.attr for node in one.found.get(ast.Attribute, ())):
            return True
        spec = None if isinstance(one.node, ast.Module) else one.node.args
        if spec is not None and any("inference" in arg.arg for arg in (*spec.args, *spec.kwonlyargs)):
            return True
    return False


def _tells_inference(test: ast.expr) -> bool:
    """Whether a test lets only inference pass: `inference_params is not None`, `not self.training`."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(_tells_inference, values))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _tells_training(inner)
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return _tells_inference(left)
    return "inference" in getattr(test, "attr", getattr(test, "id", ""))


def _tells_training(test: ast.expr) -> bool:
    return isinstance(test, ast.Attribute) and test.attr == "training"


# Statements in which grad mode, the class or the function may be another one for what stands in them.
_BLOCKS = frozenset(
    {
        ast.AsyncFunctionDef, ast.AsyncWith, ast.ClassDef, ast.FunctionDef, ast.If, ast.Module, ast.Try, ast.With,
    }
)  # fmt: skip


def _mentions(module: Module) -> dict[str, list[Mention]]:
    """Every name and attribute that is read anywhere in the file, by its last part."""
    defined = set(module.survey.classes)
    functions: dict[ast.AST, Function] = {}
    for function in module.survey.all:
        defined.add(function.name)
        functions[function.node] = function
    found: dict[str, list[Mention]] = {}
    pending: list[tuple[Any, str, str, bool]] = [(module.survey.body.node, "", "", True)]
    while pending:
        node, cls, within, on = pending.pop()
        kind = type(node)
        if kind is ast.Name:
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(Mention(within, on, ""))
            continue
        if kind is ast.Attribute:
            value = node.value
            own = type(value) is ast.Name and value.id in ("self", "cls")
            found.setdefault(node.attr, []).append(Mention(within, on, cls if own else ""))
            pending.append((value, cls, within, on))
            continue
        if kind not in _BLOCKS:
            pending.extend([(child, cls, within, on) for child in children(node) if type(child) is not ast.Constant])
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            known = functions.get(node) or module.nested(node)
            defined.add(node.name)
            mode = entry_mode(module.survey, known)
            pending.extend((item, cls, within, on) for item in node.decorator_list)
            inside = mode is not False and on
            pending.extend((item, cls, node.name, now) for item, now in _in_order(module, node.body, inside))
            continue
        if isinstance(node, ast.ClassDef):
            pending.extend((item, node.name, within, on) for item in (*node.decorator_list, *node.bases, *node.body))
            continue
        if isinstance(node, (ast.With, ast.AsyncWith)):
            inside = on
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call):
                    said = mode_of(module.names.qualify(call.func), call)
                    inside = False if said == "off" else True if said == "on" else inside
                pending.append((call, cls, within, on))
            pending.extend((item, cls, within, now) for item, now in _in_order(module, node.body, inside))
            continue
        modes: dict[ast.AST, bool] = dict(_in_order(module, node.body, on))
        if isinstance(node, ast.If):
            if _tells_inference(node.test):
                modes.update(dict.fromkeys(node.body, False))
            elif _tells_training(node.test):
                modes.update(dict.fromkeys(node.orelse, False))
        pending.extend((child, cls, within, modes.get(child, on)) for child in children(node))
    return {name: mentions for name, mentions in found.items() if name in defined}
