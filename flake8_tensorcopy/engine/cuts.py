"""Where a graph ends by mistake: a constructor makes a new leaf of what was computed, or a loss is declared one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts import GraphCut
from flake8_tensorcopy.engine.graph import ancestors
from flake8_tensorcopy.engine.linked import detached, linked, off, terms
from flake8_tensorcopy.engine.trail import Rebuilt
from flake8_tensorcopy.engine.values import Obj, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.run import Run

# Of tensors these make a tensor that is off their graph: of a single one, or of a list of them.
OF_TENSORS = frozenset({"torch.tensor"})
OF_LISTS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.Tensor", "torch.FloatTensor"})

# Made of these, a value has no gradient to pass on.
_STEPS = frozenset("argmax argmin round floor ceil sign bincount histc nonzero searchsorted".split())

_MEANT = re.compile(r"(^|[_.])(targets?|labels?|tgt|truth|gt|baseline|old|prev|ref|reference|frozen|stats?)(_|\d|$)")


def constructed(run: Run, node: ast.Call, name: str, args: Args, result: Value) -> Value:
    """`torch.tensor(losses)`: the result of a constructor, noted where what it was given is on the graph."""
    value = args.values[0] if args.values else None
    if value is None or len(value.refs) != 1 or len(result.refs) != 1 or name not in OF_LISTS or not run.now.grad:
        return result
    obj = value.refs[0].obj
    if obj.kind in ("list", "tuple"):
        items = [ref for held in run.now.fields(obj).values() for ref in held.refs]
        sources = [ref for ref in items if _on_graph(run, ref)]
    else:
        sources = [ref for ref in value.refs if name in OF_TENSORS and _on_graph(run, ref)]
    shown = run.short(args.nodes[0])
    if sources and not _MEANT.search(shown.lower()):
        made = result.refs[0].obj
        if made in (ref.obj for ref in sources):
            return result
        made.operands = tuple(dict.fromkeys(ref.obj for ref in sources))
        run.trail.rebuilt.append(Rebuilt(made, node, shown, run.short(node.func), forced=False))
    return result


def _on_graph(run: Run, ref: Ref) -> bool:
    """Whether a tensor surely has a graph: a parameter, or made of the output of a module that is called with one."""
    obj = ref.obj
    if detached(ref) or off(obj):
        return False
    return obj.graph is True or (obj.kind == "tensor" and _from_trained(run, obj))


def _from_trained(run: Run, obj: Obj) -> bool:
    calls = {one: call for call in run.trail.calls if call.grad for one in call.results}
    return any(one in calls and calls[one].module in run.modules for one in linked(obj, strict=True))


def made_leaf(run: Run, node: ast.AST, ref: Ref, shown: str) -> None:
    """`loss.requires_grad_(True)`, before it is done: of a value that was computed from weights, off the graph."""
    obj = ref.obj
    if (
        obj.leaf
        or obj.param
        or any(known.obj in ancestors(obj) for known in run.trail.rebuilt)
        or not _of_weights(run, obj)
        or _still_linked(run, obj)
    ):
        return
    run.trail.rebuilt.append(Rebuilt(obj, node, shown, "requires_grad_", forced=True))


def _called(run: Run) -> set[Obj]:
    return {call.module for call in run.trail.calls}


def _of_weights(run: Run, obj: Obj) -> bool:
    """Whether a value was computed by a module or from a parameter."""
    called = _called(run)
    return any(one in called or one.kind == "module" or one.param for one in ancestors(obj))


def _still_linked(run: Run, obj: Obj) -> bool:
    """Whether the value may hang on weights after all: a module, a parameter, something on the graph."""
    called = _called(run)
    pending = [obj]
    seen: set[Obj] = set()
    while pending and len(seen) < 300:
        one = pending.pop()
        if one in seen or off(one) or one.made in _STEPS:
            continue
        seen.add(one)
        if one in called or one.kind == "module" or one.param or (one.leaf and one.graph):
            return True
        pending.extend(one.operands)
        if one.parent is not None and one.owner in ("item", "attribute"):
            pending.append(one.parent)
    return False


def finish_cuts(run: Run) -> None:
    for rebuilt in run.trail.rebuilt:
        joined = _joined(run, rebuilt)
        if joined is not None:
            run.fact(
                GraphCut(site=rebuilt.site, source=rebuilt.source, op=rebuilt.op, joined=joined, forced=rebuilt.forced)
            )


def _joined(run: Run, rebuilt: Rebuilt) -> ast.AST | None:
    """Where a loss that was computed from the new leaf is backpropagated, or leaves the function as part of a graph."""
    for backward in run.backwards:
        if rebuilt.forced:
            if any(one is rebuilt.obj for one in terms(backward.ref.obj)):
                return backward.node
        elif not detached(backward.ref) and rebuilt.obj in ancestors(backward.ref.obj):
            return backward.node
    if rebuilt.forced or run.function.name != "forward":
        return None
    parameter = any(one.param for one in ancestors(rebuilt.obj))
    for value, state, node in run.returned:
        for ref in value.refs:
            held = state.fields(ref.obj).values() if ref.obj.kind in ("tuple", "list", "dict") else ()
            for one in (ref, *(inner for item in held for inner in item.refs)):
                if detached(one) or rebuilt.obj not in ancestors(one.obj):
                    continue
                if one.obj is not rebuilt.obj and (one.obj.graph or (parameter and one.obj.graph is None)):
                    return node
    return None
