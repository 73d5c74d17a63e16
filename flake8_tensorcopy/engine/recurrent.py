"""States fed back: what one pass computed goes into the next, whose backward then walks a graph that is gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.backward import inside, made_at
from flake8_tensorcopy.engine.facts import GraphRetained, RecurrentState
from flake8_tensorcopy.engine.forms import written_attribute
from flake8_tensorcopy.engine.freezing import frozen, frozen_attributes
from flake8_tensorcopy.engine.linked import SCALES, detached, linked, off, terms
from flake8_tensorcopy.engine.module import MODULE_BASES
from flake8_tensorcopy.engine.nodes import every_time, start_of, walk
from flake8_tensorcopy.engine.retained import all_narrowed, kept_for_others, to_detach
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.trail import Kept, ModuleCall
from flake8_tensorcopy.engine.values import ALIAS, Obj, Ref, Value, Write

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.notes import Backward, Returned
    from flake8_tensorcopy.engine.run import Run

# Whatever is taken off the graph in place, and what makes a longer state of a state: a cache, as a rule.
_IN_PLACE = frozenset({"detach_"})
_GROWS = frozenset({"cat", "concat", "concatenate", "stack"})
# An average in place: what makes room for the new value, and what adds it.
_SCALED = frozenset({"mul_", "div_", "*=", "/="})
_ADDED = frozenset({"add_", "sub_", "+=", "-="})
# An item of a dict by a key that is written out.
_KEYED = re.compile(r"[\w.]+\['\w+'\]")
MAX_INPUTS = 20
MAX_BEFORE = 20  # calls of `backward()` in the pass before: the last ones
MAX_PAIRS = 500  # of calls of `backward()` in two passes, of one function

_CUTS = frozenset({"detach", "detach_", "data", "item", "numpy"})
_OFF = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


def finish_recurrent(run: Run) -> None:
    bound: dict[ast.stmt, set[str]] = {}  # by each loop
    graphs: dict[Obj, set[Obj]] = {}  # what each loss hangs on
    for first, second, loop in islice(_in_next_passes(run.backwards), MAX_PAIRS):
        if loop not in bound:
            names = run.module.below(loop).names.items()
            bound[loop] = {name for name, parts in names if any(isinstance(one.ctx, ast.Store) for one in parts)}
        if not _in_some_passes(second, bound[loop]):
            for one in (first.ref.obj, second.ref.obj):
                if one not in graphs:
                    graphs[one] = set(linked(one))
            _fed_back(run, first, second, loop, graphs)
    for backward in run.backwards:
        if backward.retains and backward.within and not detached(backward.ref):
            _retained_for_nothing(run, backward)
    for kept in run.trail.kept:
        _judge_kept(run, kept)


def _in_next_passes(backwards: list[Backward]) -> Iterator[tuple[Backward, Backward, ast.stmt]]:
    """Two calls of `backward()`, the second one in the pass after that of the first, and the loop of the two passes."""
    passes: dict[tuple[tuple[int, ...], tuple[ast.stmt, ...]], list[Backward]] = {}
    for second in backwards:
        if detached(second.ref):
            continue
        loop, within = second.loop, second.within
        depths = range(min(len(loop), len(within)))
        before = [
            first
            for depth in depths
            for first in passes.get(((*loop[:depth], loop[depth] - 1), within[: depth + 1]), ())
        ]
        for first in before[-MAX_BEFORE:]:
            yield first, second, within[len(loop_prefix(first, second))]
        for depth in depths:
            passes.setdefault((loop[: depth + 1], within[: depth + 1]), []).append(second)


def _fed_back(run: Run, first: Backward, second: Backward, loop: ast.stmt, graphs: Mapping[Obj, set[Obj]]) -> None:
    """Whether the second backward reaches through a state what the first one has walked."""
    walked = {one for one in graphs[first.ref.obj] if _computed(one) and inside(made_at(one), loop)}
    reached = graphs[second.ref.obj]
    depth = len(loop_prefix(first, second))
    for call in run.trail.giving(walked):
        walked.update(obj for obj in call.results if _computed(obj))  # what one call gives hangs together
    if walked.isdisjoint(reached) or not _IN_PLACE.isdisjoint(run.module.below(loop).attributes):
        return
    for call in run.trail.giving(reached):
        if call.loop[: depth + 1] != second.loop[: depth + 1] or call.grad is False:
            continue
        for value in call.fed:
            if value.refs and all(_comes_from(run, ref, walked, first, depth) for ref in value.refs):
                if not _named(run, value.refs[0], loop):
                    continue
                state = _state(run, value.refs[0], loop, lambda ref: _comes_from(run, ref, walked, first, depth))
                _report(run, state, call, first, second, loop)
                return
    _carried_name(run, walked, first, second, loop)


def _in_some_passes(backward: Backward, bound: set[str]) -> bool:
    """Whether a test of what the loop itself binds decides on the call: `if step == last: loss.backward()`."""
    for arm in backward.arms:
        names = arm.test[1] if isinstance(arm.test, tuple) and len(arm.test) == 3 else ()
        if isinstance(names, tuple) and any(name in bound for name, _ in names):
            return True
    return False


def _mentions(loop: ast.AST, names: frozenset[str]) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in names for part in walk(loop))


def loop_prefix(first: Backward, second: Backward) -> tuple[int, ...]:
    """The passes that two calls have in common."""
    common = []
    for one, other in zip(first.loop, second.loop, strict=False):
        if one != other:
            break
        common.append(one)
    return tuple(common)


def _computed(obj: Obj) -> bool:
    """Not a leaf: what backward walks through."""
    return not obj.leaf and not obj.param and obj.kind not in ("module", "instance", "optimizer") and not off(obj)


def _comes_from(run: Run, ref: Ref, walked: set[Obj], first: Backward, depth: int) -> bool:
    """Whether a reference hangs on the output of a module in the pass before, on the graph."""
    if detached(ref):
        return False
    for one in linked(ref.obj, strict=True):
        calls = run.trail.giving((one,)) if one in walked else []
        if calls and calls[-1].grad and calls[-1].loop[: depth + 1] == first.loop[: depth + 1]:
            return True
    return False


def _state(run: Run, ref: Ref, loop: ast.stmt, fed_back: Callable[[Ref], bool]) -> Ref:
    """Of what an argument was computed from, what a name holds from the pass before: `torch.cat([x, state], 1)`."""
    pending = [ref]
    for one in pending:
        if one.place is not None and one.place.node is not None and inside(one.place.node, loop):
            return one
        held = run.now.fields(one.obj).values() if one.obj.kind in ("list", "tuple") and run.state is not None else ()
        inputs = (*one.obj.inputs, *(inner for item in held for inner in item.refs))
        pending.extend(given for given in inputs if len(pending) < MAX_INPUTS and fed_back(given))
    return ref


def _named(run: Run, ref: Ref, loop: ast.stmt) -> bool:
    """Whether a name or an attribute holds the state, or a dict under a key that is written out (`state["h"]`), which
    the loop uses in no other way; and not some item of a list."""
    if ref.place is None or "[" not in ref.place.name:
        return True
    if _KEYED.fullmatch(ref.place.name) is None:
        return False
    below = run.module.below(loop)
    path = ref.place.name.partition("[")[0]
    last = path.rpartition(".")[2]
    for part in (below.attributes if "." in path else below.names).get(last, ()):
        if text_of(part) == path:
            match below.parents.get(part):
                case ast.Subscript(value=base, slice=ast.Constant()) if base is part:
                    continue
            return False
    return True


def _retained_for_nothing(run: Run, backward: Backward) -> None:
    """`loss.backward(retain_graph=True)` as the last of a pass, of a graph that the pass itself has built."""
    if isinstance(backward.node, ast.Call) and any(one.arg == "create_graph" for one in backward.node.keywords):
        return  # the gradients have a graph of their own, which goes on through this one
    loop = backward.within[-1]
    graph = {one for one in linked(backward.ref.obj) if _computed(one)}
    for other in run.backwards:
        if other.tick > backward.tick and other.node is not backward.node:
            if other.loop == backward.loop or not graph.isdisjoint(linked(other.ref.obj)):
                return
    names = (part.func for part in walk(loop) if isinstance(part, ast.Call))
    if any((name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")) == "grad" for name in names):
        return
    if any(not graph.isdisjoint(one.objs) and kept_for_others(run, one) for one in run.trail.added):
        return
    before = _walked_again(run, backward, graph, loop)
    if before is not None or _built_inside(run, backward.ref.obj, loop):
        run.fact(
            RecurrentState(
                site=backward.node,
                state=run.short(backward.node.func),
                how="retained" if before is None else "outside",
                call=before,
                backward=backward.node,
                retains=True,
            )
        )


def _walked_again(run: Run, backward: Backward, graph: set[Obj], loop: ast.stmt) -> ast.Call | None:
    """A call before the loop, of a module that each pass steps: backward walks its graph with weights that are gone."""
    stepped = {
        write.ref.obj
        for write in run.log
        if write.how == "training" and inside(write.node, loop) and write.ref.obj in holds_of(run, write)
    }
    for call in run.trail.giving(graph):
        outside = call.tick < backward.tick and not inside(call.node, loop)
        if outside and call.grad and call.module in stepped:
            return call.node
    return None


def holds_of(run: Run, write: Write) -> list[Obj]:
    """What an optimizer holds, of a write that is its step: nothing for any other one."""
    if not isinstance(write.node, ast.Call) or write.node not in run.method_calls:
        return []
    base, name = run.method_calls[write.node]
    obj = base.obj
    known = name == "step" and obj is not None and obj.kind == "optimizer" and isinstance(obj.data, list)
    return obj.data if known and obj is not None else []


def _built_inside(run: Run, obj: Obj, loop: ast.stmt) -> bool:
    """Whether all of a graph is built in one pass: nothing of it can be walked again later."""
    called = {call.module for call in run.trail.calls}
    reached = set(linked(obj))
    if all(loop not in call.within for call in run.trail.giving(reached)):
        return False  # what the loop goes over may be on a graph from before
    pending, seen = [obj], set()
    while pending:
        one = pending.pop()
        if one in seen or not _computed(one) or one in called:
            continue
        seen.add(one)
        if one.owner == "item" and one.parent is not None:
            if not one.slot.endswith(")]"):
                pending.append(one.parent)  # an item of what the loop gives is given
            continue
        if one.owner in ("argument", "attribute", "global") or not inside(made_at(one), loop):
            return False
        pending.extend(one.operands)
    return True


def _report(run: Run, ref: Ref, call: ModuleCall, first: Backward, second: Backward, loop: ast.stmt) -> None:
    place = ref.place
    if place is not None and place.origin in ("store", "item") and ref.via:
        place = ref.via[-1]  # handed over in a tuple
    depth = len(loop_prefix(first, second)) + 1
    carried = [one for one in ref.via if one.node is not None and inside(one.node, loop) and one.origin != "item"]
    for one in carried if place is not None and place.loop[:depth] != first.loop[:depth] else ():
        if one.loop[:depth] == first.loop[:depth]:
            place = one  # what the pass before has left it in
    retains = first.retains
    bound = place.node if place is not None and inside(place.node, loop) else None
    run.fact(
        RecurrentState(
            site=second.node if retains else bound or call.node,
            state=place.name.partition("[")[0] if place is not None else run.short(call.node),
            how="loop",
            call=call.node,
            backward=second.node,
            retains=retains,
        )
    )


def _carried_name(run: Run, walked: set[Obj], first: Backward, second: Backward, loop: ast.stmt) -> None:
    """`h = torch.tanh(x @ W + h @ U)`: a state that operations alone compute, bound before the loop as well."""
    for statement in every_time(getattr(loop, "body", [])):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=source) if any(
                isinstance(part, ast.Name) and part.id == name for part in walk(source)
            ) and not _may_cut(loop, name):
                shared = [
                    one
                    for one in walked
                    if one.node is source and (one.graph or _has_gradient(run, one)) and one in linked(first.ref.obj)
                ]
                if any(one in linked(second.ref.obj, strict=True) for one in shared):
                    run.fact(
                        RecurrentState(
                            site=second.node if first.retains else statement,
                            state=name,
                            how="loop",
                            call=source,
                            backward=second.node,
                            retains=first.retains,
                        )
                    )


def _has_gradient(run: Run, obj: Obj) -> bool:
    """Whether a value hangs on something of which the function reads the gradient."""
    return any(one in run.tape.gradients for one in linked(obj, strict=True))


def _may_cut(loop: ast.stmt, name: str) -> bool:
    """Whether the loop takes something of that name off the graph, or binds it where grad mode may be off."""
    for part in walk(loop):
        match part:
            case ast.Attribute(value=base, attr=attr) if attr in _CUTS:
                if any(isinstance(item, ast.Name) and item.id == name for item in walk(base)):
                    return True
            case ast.With(items=items, body=body) if any(_mentions(item, _OFF) for item in items):
                if any(
                    isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Store)
                    for statement in body
                    for item in walk(statement)
                ):
                    return True
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="set_grad_enabled"))):
                return True
    return False


# ----- attributes of a module


def kept(run: Run, target: ast.Attribute, before: Value, value: Value, item: bool = False) -> None:
    """`self.state = f(self.state, x)` in `forward`; also of an item: `self.states["h"] = f(self.states["h"], x)`."""
    me = run.params[0] if run.params else None
    if run.stmt is None or not run.now.grad or me is None or run.function.cls is None or run.function.static:
        return
    if not isinstance(target.value, ast.Name) or target.value.id != me.key:
        return
    owner = "item" if item else "attribute"
    old = tuple(ref.obj for ref in before.refs if ref.obj.owner == owner and not detached(ref))
    counted = not before.refs and before.kind == "number" and _reads(run, target)  # `self.v = 0.9 * self.v + x`
    if (not old and not counted) or any(
        obj.param or obj.kind in ("module", "instance", "function", "optimizer") for obj in old
    ):
        return
    if value.refs and not any(detached(ref) for ref in value.refs):
        for ref in value.refs:
            reached = set(linked(ref.obj, strict=True))
            if item:  # the first one, which `__init__` made, has no graph
                reached.update(operand for one in tuple(reached) for operand in one.operands)
            if ref.obj.made in _GROWS:
                return
            if (counted or any(obj in reached for obj in old)) and ref.obj not in old:
                run.trail.kept.append(Kept(target, run.stmt, old, ref.obj, item=item))
                return


def averaged_in_place(run: Run, receiver: ast.expr, ref: Ref, op: str, given: ast.expr, value: Value) -> None:
    """`self.mean.mul_(0.9).add_(0.1 * x)`, `self.mean += 0.1 * (x - self.mean)` in a method."""
    me = run.params[0] if run.params else None
    obj = ref.obj
    if run.stmt is None or not run.now.grad or me is None or run.function.cls is None or run.function.static:
        return
    target = written_attribute(receiver)
    if target is None or obj.owner != "attribute" or obj.parent is not me or obj.slot != f".{target.attr}":
        return
    if obj.param or obj.kind not in ("tensor", "unknown") or any(link.kind != ALIAS for link in ref.chain):
        return
    scaled = any(write.ref.obj is obj and write.op in _SCALED for write in run.log)
    for one in value.refs if not any(detached(item) for item in value.refs) else ():
        if op == "lerp_" or (scaled and op in _ADDED) or _made_with(one.obj, obj):
            run.trail.kept.append(Kept(target, run.stmt, (obj,), one.obj, given))
            return


def _made_with(obj: Obj, part: Obj) -> bool:
    """Whether a value was scaled or summed from another one, be that on the graph or not."""
    pending, seen = [obj], set[Obj]()
    while pending and len(seen) < MAX_INPUTS:
        one = pending.pop()
        if one is part:
            return True
        if one not in seen and one.made in SCALES:
            seen.add(one)
            pending.extend(one.operands)
    return False


def _reads(run: Run, target: ast.Attribute) -> bool:
    """Whether the statement computes the attribute from itself."""
    source = run.stmt.value if isinstance(run.stmt, ast.Assign) else None
    text = run.text(target)
    return source is not None and any(
        isinstance(part, ast.Attribute) and run.text(part) == text for part in walk(source)
    )


def kept_by_callee(run: Run, done: Run, given: dict[int, Value]) -> None:
    """`self._track(mean)` in `forward`, of a method that averages its argument into what the object holds."""
    if run.function.name != "forward" or not run.now.grad or not run.params or done.function.name == "forward":
        return
    if 0 not in given or given[0].obj is not run.params[0] or done.function.cls is not run.function.cls:
        return
    for kept in done.trail.kept:
        reached = set(linked(kept.value))
        refs = [ref for place, value in given.items() if place and done.params[place] in reached for ref in value.refs]
        if not any(map(detached, refs)):
            run.trail.kept.append(kept._replace(by=done, given=tuple(ref.obj for ref in refs)))


def _judge_kept(run: Run, kept: Kept) -> None:
    method = kept.by or run
    cls = method.function.cls
    name = kept.target.attr
    if cls is None or not _known_bases(run, cls) or name in run.module.survey.deleted:
        return
    own = method.function.name
    if own == "__init__" or not cls.assigns.get(name, set()) <= {"__init__", own} or _touched(method, kept):
        return
    if (kept.added is not None and _overwritten(method, kept)) or _read_behind(method, kept):
        return
    if own != "forward" and kept.by is None:
        if kept.added is None:
            _kept_by_a_step(run, kept)
        return
    sources = [one for obj in (kept.value, *kept.given) for one in linked(obj)]
    trained = [one for one in sources if _trained(run, one) or _trained(method, one)]
    # An average; a sum that began as a number is none.
    arithmetic = kept.added is not None or any(obj in terms(kept.value) for obj in kept.old)
    mine = {method.params[0], *run.params[:1], *(method.params if kept.by is not None else ())}
    # In place an argument alone is taken for what it mostly is there, a sample without a graph.
    given = kept.added is None and any(one.owner == "argument" and one not in mine for one in sources)
    outputs = _computed_with(run, kept) if kept.by is None else _handed_back(run, kept.by, kept)
    if trained and any(not outputs.isdisjoint(linked(ref.obj)) for one in run.returned for ref in one.value.refs):
        if _begun_by_callers(method, kept):
            return
        run.fact(
            RecurrentState(
                site=kept.site,
                state=f"self.{name}",
                how="attribute",
                call=None,
                backward=None,
                retains=False,
            )
        )
    elif arithmetic and (trained or given) and not any(obj.param for obj in terms(kept.value)):
        source = kept.site.value if isinstance(kept.site, ast.Assign) and kept.added is None else kept.added
        wanted = () if source is None else to_detach(method, source, f"self.{name}")
        run.fact(
            GraphRetained(
                site=kept.site,
                target=f"self.{name}",
                value=name if source is None else run.short(source),
                how="buffer",
                backward=None,
                certain=bool(trained),
                given=all_narrowed(method, wanted, tuple(terms(kept.value))),
            )
        )


def _kept_by_a_step(run: Run, kept: Kept) -> None:
    """A method that feeds the state of its last call into a module, and backpropagates what comes out."""
    if not run.trail.giving(linked(kept.value, strict=True)) or _begun_by_callers(run, kept):
        return
    outputs = _computed_with(run, kept)
    for backward in run.backwards:
        if not detached(backward.ref) and not outputs.isdisjoint(linked(backward.ref.obj)):
            run.fact(
                RecurrentState(
                    site=kept.site,
                    state=f"self.{kept.target.attr}",
                    how="attribute",
                    call=None,
                    backward=None,
                    retains=backward.retains,
                )
            )


def _read_behind(run: Run, kept: Kept) -> bool:
    """Whether all of the class reads the attribute behind the statement that sets it, in one loop over layers: what is
    read is what this call has set, though two tests that are not known to follow one another stand before the two."""
    cls = run.function.cls
    below = run.module.below(run.module.survey.body.node)
    parts = [part for part in below.attributes.get(kept.target.attr, ()) if isinstance(part.ctx, ast.Load)]
    reads = [part for part in parts if cls is not None and cls.node in below.around(part)]
    end = (kept.site.end_lineno or kept.site.lineno, kept.site.end_col_offset or 0)
    return bool(reads) and all(run.function.node in below.around(part) and start_of(part) >= end for part in reads)


def _begun_by_callers(run: Run, kept: Kept) -> bool:
    """`self.state = self.begin()` in `__init__`: a method makes a new state, by which those who train the module, in
    other files, begin each batch, as far as this file does not train it itself."""
    cls = run.function.cls
    init = run.module.method(cls, "__init__") if cls is not None else None
    if cls is None or init is None:
        return False
    below = run.module.below(run.module.survey.body.node)
    for part in below.attributes.get(kept.target.attr, ()):
        match below.parents.get(part):
            case ast.Assign(value=ast.Call(func=ast.Attribute(value=base, attr=name))) if _is_self(base):
                if init.node in below.around(part) and run.module.method(cls, name) is not None:
                    built = any(below.calls(one) is not None for one in below.names.get(cls.name, ()))
                    return not (built and below.attributes.get("backward"))
    return False


def _overwritten(run: Run, kept: Kept) -> bool:
    """Whether the method sets in place what it averages: `self.total.zero_()`, `self.total[:] = x`."""
    return any(
        write.ref.obj.slot == f".{kept.target.attr}"
        and write.op not in (*_SCALED, *_ADDED, "lerp_")
        and write.stmt is not kept.site
        for write in run.log
    )


def _computed_with(run: Run, kept: Kept) -> set[Obj]:
    """The new value of an attribute, and what else came of the calls of modules that were given the last one:
    `out, self.state = self.lstm(x, self.state)`."""
    if kept.added is not None:
        return set(kept.old)
    found = {kept.value}
    if kept.value.kind in ("tuple", "list", "dict"):
        found.update(one for one in kept.value.operands if not set(linked(one, strict=True)).isdisjoint(kept.old))
    for call in run.trail.giving(linked(kept.value, strict=True)):
        if call.grad:
            given = [ref.obj for value in call.fed for ref in value.refs if not detached(ref)]
            fed = {*given, *(one for obj in given for one in linked(obj))}
            if not fed.isdisjoint(kept.old):
                found.update(call.results)
    return found


def _handed_back(run: Run, done: Run, kept: Kept) -> set[Obj]:
    """What came of the calls of a method that returns the new value of an attribute, or what was computed with it."""
    outputs = _computed_with(done, kept)
    if kept.added is not None or all(outputs.isdisjoint(_reached(one)) for one in done.returned):
        return set()
    calls = {node for node, one in run.called.items() if one is done}
    return {obj for one in run.returned for obj in _reached(one) if obj.node in calls}


def _reached(one: Returned) -> set[Obj]:
    """What a returned value, or what is in it, hangs on."""
    refs = one.value.refs
    held = [inner for ref in refs for item in one.state.fields(ref.obj).values() for inner in item.refs]
    return {obj for ref in (*refs, *held) for obj in linked(ref.obj)}


def _trained(run: Run, obj: Obj) -> bool:
    """What has weights: a parameter, the output of a module of `self`."""
    if obj.param and obj.graph is not False:
        return True
    return any(
        one.kind == "module"
        and one.parent is run.params[0]
        and not frozen(one)
        and one.slot[1:] not in frozen_attributes(run.module)
        for one in obj.operands
    )


def _known_bases(run: Run, cls: Class) -> bool:
    """Whether nothing that another file defines can reset the state."""
    for base in cls.bases:
        if (run.names.qualify(base) or "") in MODULE_BASES:
            continue
        local = run.module.survey.classes.get(base.id) if isinstance(base, ast.Name) else None
        if local is None or local is cls or not _known_bases(run, local):
            return False
    return True


def _touched(run: Run, kept: Kept) -> bool:
    """Whether any other code of the file sets or detaches an attribute of that name."""
    name = kept.target.attr
    below = run.module.below(run.module.survey.body.node)
    cls = run.function.cls
    init = run.module.method(cls, "__init__") if cls is not None else None
    classes = run.module.once(_by_node)

    def elsewhere(part: ast.AST, own: bool) -> bool:
        """Whether a node stands outside of `__init__`, and is nothing that a class does to an object of its `own`."""
        for outer in below.around(part):
            if init is not None and outer is init.node:
                return False
            other = classes.get(outer) if own else None
            if cls is not None and other is not None and _unrelated(run, cls, other):
                return False
        return True

    cuts = [outer for part in below.attributes.get("detach_", ()) for outer in below.around(part)]
    cutting = {outer for outer in cuts if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for part in below.attributes.get(name, ()):
        own, above = _is_self(part.value), below.parents.get(part)
        if kept.item and run.function.node not in below.around(part) and elsewhere(part, own):
            return True
        if isinstance(part.ctx, ast.Store):
            # `self.mean *= 0.9`, before more is added.
            scaled = isinstance(above, ast.AugAssign) and run.function.node in below.around(part)
            if part is not kept.target and not scaled and elsewhere(part, own) and not _guarded_default(run, part):
                return True
        if isinstance(above, ast.Attribute) and above.attr in ("detach_", "zero_", "data") and elsewhere(above, own):
            return True
        if not cutting.isdisjoint(below.around(part)) and elsewhere(part, own):
            return True  # `for state in self.states: state.detach_()`
    for text in below.texts.get(name, ()):  # `setattr(module, "state", ..)`
        call = below.parents.get(text)
        if isinstance(call, ast.Dict) or (isinstance(call, ast.Subscript) and not isinstance(call.value, ast.Call)):
            continue  # a key, and none of `state_dict()`
        own = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _is_self(call.func.value)
        if elsewhere(text, own and isinstance(call, ast.Call) and text in call.args):
            return True
    return False


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _by_node(module: Module) -> dict[ast.AST, Class]:
    """The classes of the file that go by their names."""
    return {one.node: one for one in module.survey.classes.values()}


def _unrelated(run: Run, cls: Class, other: Class) -> bool:
    """Whether a class is neither a base of another one nor made from it."""
    if other is cls:
        return False
    return other not in run.module.local_bases(cls) and cls not in run.module.local_bases(other)


def _guarded_default(run: Run, part: ast.Attribute) -> bool:
    """`if self.state is None: self.state = zeros(..)`: set once."""
    text = f"{text_of(part)} is None"
    for node in walk(run.function.node):
        if isinstance(node, ast.If) and text in text_of(node.test):
            if any(inner is part for statement in node.body for inner in walk(statement)):
                return True
    return False
