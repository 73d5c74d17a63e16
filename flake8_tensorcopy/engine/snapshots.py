"""Optimizer states, parameters and modules that are taken for copies: what shares them, and what moves them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.facts import Fact, SharedOptimizerState, StaleSnapshot, changed
from flake8_tensorcopy.engine.features import KEPT_ITEMS
from flake8_tensorcopy.engine.guards import leaves
from flake8_tensorcopy.engine.nodes import every_time, stands_in, start_of, walk
from flake8_tensorcopy.engine.run import last_state
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    MAYBE,
    NUMPY,
    SNAPSHOT,
    VIEW,
    Arm,
    Chain,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    Write,
    exclusive,
    per_pass,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.notes import Handed, KeptState, Use
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.state import State
    from flake8_tensorcopy.engine.traces import Trace

STATE = "optimizer.state_dict"


def takes(chain: Chain, site: ast.AST | None) -> tuple[ast.AST, str]:
    """Where a copy should have been made of what a module holds, and of what: see StaleSnapshot."""
    start = next(place for place, link in enumerate(chain) if link.kind == SNAPSHOT)
    if chain[start].inner is not None:  # a function of this file gives it
        return chain[start].node, "call"
    if (value := value_kept(chain[start + 1 :], site)) is not None:
        return value, "value"
    for link in reversed(chain[start + 1 :]):
        if link.op.endswith("()") and link.node is not None:
            return link.node, "shallow"
    node = chain[start].node
    assert node is not None
    return node, "call"


def surely_given(run: Run, snapshot: Link) -> bool:
    """Whether a function of this file that may give live tensors gives nothing else, whatever way it goes."""
    done = run.called.get(snapshot.node) if snapshot.inner is not None else None
    if done is None or (len(done.returned) == 1 and len(done.returned[0].value.refs) == 1):
        return True
    return all(
        any(link.kind == SNAPSHOT for held in state.fields(ref.obj).values() for one in held.refs for link in one.chain)
        for value, state, _ in done.returned
        for ref in value.refs
    )


def value_kept(chain: Chain, site: ast.AST | None) -> ast.expr | None:
    """The expression of a tensor that a statement keeps, as the chain of the tensor tells it; None if there is none."""
    for link in reversed(chain):
        node = link.node
        if not isinstance(node, ast.expr):
            continue
        if link.kind != ALIAS:
            return node
        if link.op == "=" and not isinstance(node, (ast.List, ast.Tuple, ast.Dict)) and _is_kept(node, site):
            return node
    return None


def _is_kept(node: ast.expr, site: ast.AST | None) -> bool:
    """Whether the value of an expression is what a statement keeps, and not what it takes that from."""
    match site:
        case ast.Assign(targets=targets, value=value):
            if value is node:
                return not any(isinstance(target, (ast.Tuple, ast.List)) for target in targets)
            return isinstance(value, (ast.Tuple, ast.List)) and node in value.elts
        case ast.AnnAssign(value=value):
            return value is node
        case ast.AugAssign(value=ast.List(elts=items) | ast.Tuple(elts=items)):
            return node in items
        case ast.Call(args=items):
            return node in items or _is_item(node, site)
        case ast.expr():
            return site is node or _is_item(node, site)
        case ast.stmt():
            return any(isinstance(inner, ast.NamedExpr) and inner.value is node for inner in ast.walk(site))
    return False


def _is_item(node: ast.expr, site: ast.AST) -> bool:
    """Whether an expression is what a comprehension in another one, or a display there, is made of."""
    for inner in ast.walk(site):
        match inner:
            case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item) | ast.DictComp(value=item):
                if item is node or (isinstance(item, ast.Tuple) and node in item.elts):
                    return True
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(values=items):
                if node in items:
                    return True
    return False


# ----- the state of a module


def kept_for_later(run: Run) -> None:
    """At the end: what another method of a class that trains loads back into the same module, or a later call into the
    module that both are given, is the live state that the object has kept."""
    cls = run.function.cls
    states = [one.state for one in run.returned] + ([] if run.state is None else [run.state])
    for kept in run.kept_states if cls is not None and run.params else ():
        assert cls is not None
        name = kept.target.attr
        after = [state.fields(run.params[0]).get(f".{name}") for state in states]
        if not any(ref.obj is kept.state for value in after if value is not None for ref in value.refs):
            continue
        trains = any("backward" in method.calls for method in cls.methods.values())
        given = kept.held.obj in run.params and _HANDED_ON.isdisjoint(_words(name))
        for method, node in cls.restores[name]:
            into = node.func.value if isinstance(node.func, ast.Attribute) else node
            if method == run.function.name:
                later = given and _on_other_calls(run, kept.target, node)
            else:
                later = trains or (given and (not _KEPT.isdisjoint(_words(name)) or _when_better(kept)))
                later = later or _loaded_since(kept, states)
            if later and run.text(into) in kept.modules:
                _loaded_back(run, kept, method, node, into)


def _loaded_since(kept: KeptState, states: list[State]) -> bool:
    """Whether the method itself loads another state into the module, on every way, once it has kept the live one."""
    after = [state.written(kept.held.obj) - kept.held.seen for state in states]
    return bool(after) and all(
        any(write.op.endswith("load_state_dict()") and not exclusive(write.arms, kept.arms) for write in writes)
        for writes in after
    )


# Names for the state of another model, that the next one begins with.
_HANDED_ON = frozenset({"prev", "previous", "last"})


def _when_better(kept: KeptState) -> bool:
    """`if loss < self.best:`: the state is the best one so far, which is loaded when later ones were worse."""
    texts = [arm.text for arm in kept.arms]
    return any(("<" in text or ">" in text) and not _BEST.isdisjoint(_words(text)) for text in texts)


_BEST = frozenset({"best", "lowest", "highest"})


def _loaded_back(run: Run, kept: KeptState, method: str, node: ast.Call, into: ast.expr) -> None:
    ref = kept.held
    link = next(link for link in ref.chain if link.kind == SNAPSHOT)
    taken, of = takes(ref.chain, ref.place.node if ref.place is not None else None)
    assert link.node is not None
    run.fact(
        StaleSnapshot(
            site=link.node,
            reader=run.text(kept.target),
            module=run.text(into),
            call=link.op,
            changed=node,
            change="training",
            read=node,
            copies=tuple(one.op for one in ref.chain if one is not link and one.op != "="),
            stored=True,
            role="argument",
            method=method,
            made=link.node,
            taken=taken,
            takes=of,
        )
    )


def _on_other_calls(run: Run, one: ast.AST, other: ast.AST) -> bool:
    """Whether no call of the function comes to both places: they stand on two arms, or it is left after one of them."""
    for outer in walk(run.function.node):
        if isinstance(outer, ast.If):
            mine, theirs = (
                [any(stands_in(node, part) for part in suite) for suite in (outer.body, outer.orelse)]
                for node in (one, other)
            )
            if mine != theirs and any(mine) and any(theirs):
                return True
            if any(mine) != any(theirs):
                suite = outer.body if True in (mine[0], theirs[0]) else outer.orelse
                if leaves(every_time(suite)):
                    return True
    return False


# ----- the parameters of a module


def hold_parameters(run: Run, node: ast.AST, made: Obj) -> None:
    """`[p.detach() for p in m.parameters()]`: what the new list (or dict) holds moves with the module."""
    held = run.now.fields(made).get("[*]")
    if held is None or not held.refs or not all(_one_of_all(ref.obj) for ref in held.refs):
        return
    made.data = None
    run.now.set_field(made, "[*]", Value(tuple(_of_all(run, node, ref) for ref in held.refs), held.kind))


def hold_filled(run: Run, over: Value) -> None:
    """`for name, p in m.named_parameters(): old[name] = p.detach()`: so does what a loop filled, once it is over."""
    if not any(ref.obj.kind == "iter" for ref in over.refs):
        return
    for made, fields in _filled(run):
        if made.owner not in ("fresh", "attribute") or made.kind not in ("list", "dict") or not fields:
            continue
        held = [ref for one in fields.values() for ref in one.refs]
        if all(one.refs for one in fields.values()) and all(
            (_one_of_all(ref.obj) and not _left(run, ref)) or _gradient_of_all(ref.obj) for ref in held
        ):
            # The passes are not told apart: each has put another parameter where the last one did.
            refs = {(ref.obj.parent, ref.place.node): ref for ref in held if ref.place is not None}
            items = tuple(
                ref if _gradient_of_all(ref.obj) else _of_all(run, site, ref)
                for (_, site), ref in refs.items()
                if site is not None
            )
            made.data = None
            run.now.set_fields(made, {"[*]": Value(items)})
    run.filled_until = run.now.trace


def _filled(run: Run) -> list[tuple[Obj, dict[str, Value]]]:
    """What was filled since it was asked last, if that was on the way here; all otherwise."""
    heap, last = run.now.heap, run.filled_until
    trace: Trace | None = run.now.trace
    if last is not None:
        changed: dict[Obj, None] = {}
        while trace is not None and trace.depth >= last.depth:
            changed.update(dict.fromkeys(trace.fields))
            if trace is last:
                return [(obj, heap[obj]) for obj in changed if obj in heap]
            trace = trace.before
    return list(heap.items())


def _left(run: Run, ref: Ref) -> bool:
    """Whether a parameter has got another storage, `p.data = other`, since its old one was taken."""
    since = run.now.written(ref.obj) - ref.seen
    return any(link.kind == DETACH for link in ref.chain) and any(write.op == ".data =" for write in since)


def _of_all(run: Run, node: ast.AST, ref: Ref) -> Ref:
    """A reference to one parameter of a module as one to any of them, as they are now."""
    module = ref.obj.parent
    assert module is not None
    return Ref(module, (Link(SNAPSHOT, "parameters", node), *ref.chain), ref.place, run.now.written(module), ref.arms)


def _one_of_all(obj: Obj) -> bool:
    """Whether an object stands for each parameter of a module in its turn."""
    return obj.param and obj.slot[-2:] in (")]", "y]") and obj.parent is not None


def _gradient_of_all(obj: Obj) -> bool:
    """Whether an object stands for the gradient of each parameter of a module in its turn."""
    return obj.slot == ".grad" and obj.parent is not None and _one_of_all(obj.parent)


def intended(run: Run, use: Use, uses: list[Use], write: Write) -> tuple[bool, bool]:
    """Whether the reader of parameters meets those of now in one statement, here or in what is called, and whether its
    name says that it keeps values; a list of parameters is a handle otherwise."""
    ref = use.ref
    compared = use.role in (*_MEETS, "item") and any(
        other.role in (*_MEETS, "receiver") and ref.place not in other.ref.via and _live(other.ref, ref.obj, write)
        for other in uses
        if other is not use
    )
    compared = compared or _compared_by_callee(run, use)
    assert ref.place is not None
    words = _words(ref.place.root)
    kept = not _KEPT.isdisjoint(words) and _KEPT.isdisjoint(_words(ref.obj.key))
    return compared, kept


def _compared_by_callee(run: Run, use: Use) -> bool:
    """Whether a function of this file is given the parameters, and compares them with those of the same module."""
    call = run.parents().get(use.node)
    done = run.called.get(call) if isinstance(call, ast.Call) else None
    if done is None or not isinstance(call, ast.Call) or use.node not in call.args:
        return False
    if any(isinstance(node, ast.Starred) for node in call.args):
        return False
    function, key = done.function, use.ref.obj.key
    of_object = function.cls is not None and not function.static
    names = {run.text(node): held.key for node, held in zip(call.args, done.params[of_object:], strict=False)}
    if of_object and function.cls is run.function.cls and run.text(call.func).startswith("self."):
        names.setdefault(key, key)
    return key in names and _compares(function, names[run.text(use.node)], names[key]) is not None


_MEETS = frozenset({"difference", "iterate", "operand"})
_KEPT = frozenset(
    "old prev previous orig original saved best before backup initial init snapshot start anchor reference frozen copy "
    "theta0".split()
)


def _words(name: str) -> list[str]:
    return _WORD.findall(name.lower())


_WORD = re.compile("[a-z0-9]+")


def _live(ref: Ref, module: Obj, write: Write) -> bool:
    """Whether a reference is to the parameters of the module as they are after the write."""
    if ref.obj is not module and not (ref.obj.parent is module and ref.obj.param):
        return False
    return write in ref.seen or not any(link.kind == SNAPSHOT for link in ref.chain)


def kept_parameter(run: Run, use: Use, write: Write, uses: list[Use]) -> None:
    """One parameter, `layer.weight` or its `.data`, was taken from a module before that was trained: it is compared
    with the parameter of now, or was kept by a pass of the loop that trains."""
    ref, place = use.ref, use.ref.place
    links = [link for link in ref.chain if link.kind != ALIAS]
    if place is None or place.node is None or use.mixed or not all(_keeps_memory(run, link) for link in links):
        return
    if write.op == ".data =":
        return
    compared = _meets_itself(use, uses, write)
    logged = place.origin == "store" and bool(links) and _logged_in_passes(run, use, place, write)
    if not (compared or logged):
        return
    taken = value_kept(ref.chain, place.node)
    if taken is None:
        return
    run.fact(
        StaleSnapshot(
            site=place.node,
            reader=_keeper(run, place),
            module=ref.obj.key or "the module",
            call="parameter",
            changed=write.node,
            change=write.op,
            read=use.node,
            copies=tuple(link.op for link in links),
            stored=place.origin == "store",
            role=use.role,
            compared=compared,
            kept=logged,
            made=taken,
            taken=taken,
            takes="value",
        ),
        strength=(compared, logged),
    )


def _keeper(run: Run, place: Place) -> str:
    """The name of what keeps a value: a list by the expression that it is put into."""
    match place.node:
        case ast.Call(func=ast.Attribute(value=value)) if place.origin == "store":
            return run.short(value)
    return place.root


_KEEPS_MEMORY = frozenset({DETACH, NUMPY, VIEW})


def _keeps_memory(run: Run, link: Link) -> bool:
    """Whether a step shares memory: `cpu()` does where the model is trained on the host, of which nothing says that it
    is not."""
    if link.kind == MAYBE and link.op == "cpu":
        return "cuda" not in run.text(run.function.node)
    return link.kind in _KEEPS_MEMORY


def _meets_itself(use: Use, uses: list[Use], write: Write) -> bool:
    """Whether a statement compares what was taken from a module with the same of now."""
    ref, place = use.ref, use.ref.place
    if use.role not in _MEETS or place is None or place.origin not in ("name", "store"):
        return False
    return any(
        other.ref.obj is ref.obj
        and other.role in (*_MEETS, "receiver")
        and other.ref.place is not place
        and (write in other.ref.seen or (other.ref.place is not None and other.ref.place.origin == "attribute"))
        for other in uses
    )


def _logged_in_passes(run: Run, use: Use, place: Place, write: Write) -> bool:
    """Whether each pass of a loop that trains puts the parameter into one container, which is read after the loop."""
    if use.role not in _READ_WHOLE or len(run.loop) >= len(place.loop) or len(place.loop) > len(write.loop):
        return False
    loops = _loops_around(run, place.node)
    if not loops or loops[0] not in _loops_around(run, write.node):
        return False
    owner = use.ref.obj
    while owner.parent is not None and not per_pass(owner.slot):
        owner = owner.parent
    # Else each pass has a module of its own, and an optimizer of unknown make may move the one and not the other.
    return not per_pass(owner.slot) and loops[0] not in _loops_around(run, owner.node)


def _loops_around(run: Run, node: ast.AST | None) -> list[ast.AST]:
    """The loops that code stands in, the innermost one first."""
    parents = run.parents()
    found: list[ast.AST] = []
    while node is not None:
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            found.append(node)
        node = parents.get(node)
    return found


_READ_WHOLE = frozenset({"return", "item", "iterate", "argument"})


def parameters_on_self(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """One method keeps the live parameters on the object, another one compares them with those of now."""
    for method in cls.methods.values():
        run = module.run_of(method) if method.features & KEPT_ITEMS and not method.static else None
        state = last_state(run) if run is not None else None
        if run is None or state is None or not run.params:
            continue
        fields = state.fields(run.params[0])
        for key, value in fields.items():
            held = state.fields(value.obj).get("[*]") if value.obj is not None else None
            ref = held.refs[0] if held is not None and len(held.refs) == 1 else None
            link = next((one for one in ref.chain if one.op == "parameters"), None) if ref is not None else None
            if ref is None or link is None or link.kind != SNAPSHOT:
                continue
            slot = ref.obj.slot if ref.obj.parent is run.params[0] else ""
            slot = slot or next((name for name, one in fields.items() if one.obj is ref.obj), "")
            given = ref.obj.key if ref.obj in run.params and not _SHADOWS.isdisjoint(_words(key[1:])) else ""
            if (not slot and not given) or slot == key:
                continue
            if any(one.kind == DETACH for one in ref.chain) and any(write.op == ".data =" for write in run.log):
                continue  # the old storages are kept, and the parameters have other ones
            for other in cls.methods.values():
                now = f"self{slot}" if slot else given
                read = _compares(other, f"self{key}", now) if other is not method else None
                if read is not None:
                    taken, of = takes(ref.chain, ref.place.node if ref.place is not None else None)
                    yield (
                        method,
                        StaleSnapshot(
                            site=link.node,
                            reader=f"self{key}",
                            module=f"self{slot}" if slot else given,
                            call="parameters",
                            changed=read,
                            change="training",
                            read=read,
                            copies=tuple(one.op for one in ref.chain if one is not link and one.op != "="),
                            stored=True,
                            role="difference",
                            method=other.name,
                            compared=True,
                            made=link.node,
                            taken=taken,
                            takes=of,
                        ),
                    )
                    break


# What holds averages of parameters: of a model that several methods are given by one name, it is the same one.
_SHADOWS = frozenset("shadow shadows ema average averages averaged avg".split())


def _compares(function: Function, kept: str, module: str) -> ast.stmt | None:
    """The statement that takes `kept` and `module.parameters()` together, to compare them, to copy back or to
    average."""
    if isinstance(function.node, ast.Module):
        return None
    nodes = list(walk(function.node))
    if not any(_is_named(node, kept) for node in nodes):
        return None
    for node in nodes:
        if not isinstance(node, (ast.For, ast.Assign, ast.AugAssign, ast.Return, ast.Expr)):
            continue
        inside = list(walk(node))
        if any(isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) for one in inside):
            continue
        reads = any(_is_named(one, kept) for one in inside)
        now = any(
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and one.func.attr in ("parameters", "named_parameters")
            and _is_named(one.func.value, module)
            for one in inside
        )
        if reads and now and any(_is_comparison(one) for one in inside):
            return node
    return None


def _is_named(node: ast.AST, text: str) -> bool:
    """Whether a node is a name, or an attribute of `self`, that reads like this."""
    if isinstance(node, ast.Attribute):
        return f"self.{node.attr}" == text and getattr(node.value, "id", "") == "self"
    return isinstance(node, ast.Name) and node.id == text


def _is_comparison(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Sub(), left=left):
            return not isinstance(left, ast.Constant)  # the weight of an average: `1 - decay`
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in ("copy_", "dist", "sub", "mul_", "lerp_") or library.compares(name)
    return False


def kept_before_writes(run: Run) -> None:
    """At the end: the data of a tensor is kept on an object, under a name that says that it is to stay as it was; the
    function has written the tensor in place since, and another one reads what is kept."""
    for one in run.handed:
        match one.site:
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript() as target], value=taken):
                pass
            case _:
                continue
        kinds = {link.kind for link in one.ref.chain}
        if one.mixed or one.ref.obj.moved or DETACH not in kinds or not kinds <= {ALIAS, DETACH}:
            continue
        kept = not _KEPT.isdisjoint(_words(run.text(target)))
        write = _in_place_since(run, one) if kept and not _set_again(run, target) else None
        read = _read_elsewhere(run, target) if write is not None else None
        if write is None or read is None:
            continue
        place = one.ref.place
        run.fact(
            StaleSnapshot(
                site=one.site,
                reader=run.short(target),
                module=place.name if place is not None else one.ref.obj.key or "the tensor",
                call="parameter",
                changed=write.node,
                change=write.op,
                read=read,
                copies=tuple(link.op for link in one.ref.chain if link.kind == DETACH),
                stored=True,
                role="item",
                kept=True,
                made=taken,
                taken=taken,
                takes="value",
            )
        )


def _in_place_since(run: Run, one: Handed) -> Write | None:
    """The write of a tensor in place after it was stored."""
    obj = one.ref.obj
    for write in run.log:
        if write.ref.obj is obj and write.tick > one.tick and not write.mixed and not exclusive(write.arms, one.arms):
            proven = obj.param or run.evidence(obj, write.stmt) > 1
            if write.how == "method" or (write.how == "augmented" and proven):
                return write
    return None


def _set_again(run: Run, target: ast.expr) -> bool:
    """Whether a later statement of the function puts something else there: a copy, perhaps."""
    text, stored = run.text(target), run.function.found.get(ast.Assign, ())
    others = (one for node in stored for one in node.targets if start_of(one) > start_of(target))
    return any(run.text(one) == text for one in others)


def _read_elsewhere(run: Run, target: ast.Attribute | ast.Subscript) -> ast.expr | None:
    """Where another method of the class (outside of one, another function) reads what was stored: an attribute, an
    item of it, an item of that key."""
    cls = run.function.cls
    below = run.module.below(run.module.survey.body.node if cls is None else cls.node)
    named: list[ast.expr] = []
    match target:
        case ast.Attribute(attr=name) | ast.Subscript(value=ast.Attribute(attr=name), slice=ast.Name()):
            named += below.attributes.get(name, ())
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            items = (below.parents.get(text) for text in below.texts.get(key, ()))
            named += [item for item in items if isinstance(item, ast.Subscript)]
    read = (one for one in named if isinstance(one.ctx, ast.Load))  # type: ignore[attr-defined]
    return next((one for one in read if not stands_in(one, run.function.node)), None)


# ----- the state of an optimizer


class Loaded(NamedTuple):
    """`one.load_state_dict(other.state_dict())`, both of them optimizers."""

    one: Obj
    other: Obj
    fact: SharedOptimizerState
    tick: int


class Stepped(NamedTuple):
    """An optimizer has stepped."""

    obj: Obj
    node: ast.AST
    tick: int
    arms: frozenset[Arm]


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
    if isinstance(made, ast.Call) and made in run.called and run.called[made].stepped:
        return True  # a function of this file built it, and let it step
    if optimizer.made.endswith(".SGD") and isinstance(made, ast.Call):
        named = {keyword.arg for keyword in made.keywords}
        if not named & {"momentum", None} and len(made.args) < 3:
            return False
    return any(one.obj is optimizer for one in run.stepped)


def _load(run: Run, node: ast.Call, obj: Obj, other: Obj, within: SharedOptimizerState | None = None) -> None:
    """`within` is the load in the function that is called here."""
    fact = within or SharedOptimizerState(
        site=node, optimizer=obj.key or "it", other=other.key or "the other optimizer", stepped=node
    )
    token = run.token(other)
    run.now.add_write(token, Write(fact.site, run.stmt, STATE, "loaded", Ref(obj), run.now.arms, run.loop))
    run.loads.append(Loaded(obj, other, fact, run.count()))


def stepped(run: Run, optimizer: Obj, node: ast.AST) -> None:
    """The optimizer goes on: whoever has loaded its live state goes along."""
    run.stepped.append(Stepped(optimizer, node, run.count(), run.now.arms))
    for one in run.loads:
        if one.one is optimizer and one.fact.site not in run.called and _forked(one):
            run.fact(changed(one.fact, stepped=node, certain=False))
    known = run.tokens.get(optimizer)
    if known is None:
        return
    for write in run.now.written(known):
        if not exclusive(write.arms, run.now.arms):
            for one in run.loads:
                if one.fact.site is write.node and one.other is optimizer:
                    run.fact(changed(one.fact, stepped=node), strength=(True,))


def _forked(load: Loaded) -> bool:
    """Whether the optimizer of a copied model has the state of one that somebody else has."""
    held = load.one.data
    copied = isinstance(held, list) and bool(held) and all(module.made == "deepcopy" for module in held)
    return copied and load.one.owner == "fresh" and load.other.owner in ("argument", "attribute")


def _goes_on(run: Run, load: Loaded) -> bool:
    """Whether the optimizer that has loaded the state steps, or is handed to somebody who may let it step."""
    one = load.one
    if any(step.obj is one and step.tick > load.tick for step in run.stepped):
        return True
    pending = [(value, state) for value, state, _ in run.returned]
    if run.state is not None:
        pending += [(held, run.state) for param in run.params for held in run.state.fields(param).values()]
    for value, state in pending:
        held = [value, *(inner for ref in value.refs for inner in state.fields(ref.obj).values())]
        if any(ref.obj is one for item in held for ref in item.refs):
            return True
    return False


def optimizers_of_call(run: Run, node: ast.Call, done: Run, given: dict[int, Value]) -> None:
    """What a function of this file does with the optimizers that it is given."""
    index = {obj: position for position, obj in enumerate(done.params)}
    me = done.params[0] if done.function.cls is not None and done.params else None
    for load in done.loads:
        if me is not None and _attribute(load.other, me):
            continue  # that is said of the class
        one, other = (_found(run, obj, index, given) for obj in (load.one, load.other))
        if one is None and load.one.owner == "fresh" and _goes_on(done, load):
            one = load.one
        if one is not None and other is not None and one is not other and _has_state(run, other):
            _load(run, node, one, other, load.fact)
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


def _attribute(obj: Obj, me: Obj) -> str:
    """The attribute of the object through which something is reached, or nothing."""
    for _ in range(4):
        if obj.parent is None or obj.parent is me:
            break
        obj = obj.parent
    return obj.slot if obj.parent is me else ""


def states_on_self(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """One method loads the live state of an optimizer of the object, another one lets that optimizer step."""
    steps: dict[str, ast.AST] = {}
    loads: list[tuple[Run, Loaded]] = []
    for method in cls.methods.values():
        run = module.run_of(method) if not method.static else None
        if run is None or not run.params:
            continue
        for step in run.stepped:
            steps.setdefault(_attribute(step.obj, run.params[0]), step.node)
        loads.extend((run, one) for one in run.loads)
    for run, load in loads:
        slot = _attribute(load.other, run.params[0])
        peer = "" if slot else _of_a_peer(run, load)
        if (slot or peer) in steps and not (slot and _replaced(run, load.other)) and (slot or peer):
            yield run.function, changed(load.fact, stepped=steps[slot or peer], certain=bool(slot))


def _of_a_peer(run: Run, load: Loaded) -> str:
    """The attribute of both, where a method loads what another object of its class has: `other.opt` into `self.opt`."""
    me, peer = run.params[0], load.other.parent
    alike = peer is not None and peer in run.params[1:] and peer.data in (None, me.data)
    return load.one.slot if alike and load.one.parent is me and load.one.slot == load.other.slot else ""


def _replaced(run: Run, optimizer: Obj) -> bool:
    """Whether the object has another optimizer in this one's place when the method is done."""
    states = [state for _, state, _ in run.returned] + ([run.state] if run.state is not None else [])
    holder = optimizer.parent
    if holder is None:
        return False
    held = [state.fields(holder).get(optimizer.slot) for state in states]
    return bool(held) and all(value is not None and all(ref.obj is not optimizer for ref in value) for value in held)


def edit_snapshot(run: Run, site: ast.expr, state: ast.expr, ref: Ref, value: Value) -> None:
    """A tensor is put into a state_dict, under a name or just made: lost, unless it is loaded back."""
    plain = not value.refs and value.kind in ("number", "str", "none")
    named = ref.place is not None and isinstance(state, ast.Name)
    if ref.obj.data == "state" and not plain and (named or (ref.place is None and isinstance(state, ast.Call))):
        name = ref.place.name if ref.place is not None else run.short(state)
        run.edited.setdefault(ref.obj, (site, name, run.stmt))
