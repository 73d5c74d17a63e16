"""Where a graph ends by mistake: a constructor makes a new leaf of what was computed, or a loss is declared one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.facts import GraphCut
from flake8_tensorcopy.engine.graph import ancestors, items_of
from flake8_tensorcopy.engine.linked import SCALES, detached, is_cut, linked, off, terms
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.trail import Rebuilt
from flake8_tensorcopy.engine.values import DETACH, Obj, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.run import Run

# Of tensors these make a tensor that is off their graph: of a single one, or of a list of them.
OF_TENSORS = frozenset({"torch.tensor"})
OF_LISTS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.Tensor", "torch.FloatTensor"})

# What makes a tensor of numbers.
_OF_NUMBERS = frozenset({"tensor", "as_tensor", "asarray", "scalar_tensor"})

# Made of these, a value has no gradient to pass on.
_STEPS = frozenset("argmax argmin round floor ceil sign bincount histc nonzero searchsorted".split())

# Of these no more than a part of what they give is on the graph.
_UNCLEAR = frozenset("call max min median mode unique sort topk kthvalue cummax cummin".split())

_MEANT = re.compile(r"(^|[_.])(targets?|labels?|tgt|truth|gt|baseline|old|prev|ref|reference|frozen|stats?)(_|\d|$)")


def constructed(run: Run, node: ast.Call, name: str, args: Args, result: Value) -> Value:
    """`torch.tensor(losses)`: the result of a constructor, noted where what it was given is on the graph."""
    value = args.values[0] if args.values else None
    if value is None or len(result.refs) != 1 or name not in OF_LISTS or not run.now.grad:
        return result
    if len(value.refs) != 1:
        _declared_leaf(run, node, args, result)
        return result
    obj = value.refs[0].obj
    if obj.kind in ("list", "tuple"):
        items = [ref for held in run.now.fields(obj).values() for ref in held.refs]
        sources = [ref for held in items_of(run, [value]) for ref in held.refs if _on_graph(run, ref)]
        tensors = all(held.refs and held.kind != "number" for held in run.now.fields(obj).values())
        made_of = "tensors" if tensors and all(ref.kind in ("tensor", "unknown") for ref in items) else ""
    else:
        made_of = "tensor"
        sources = [ref for ref in value.refs if name in OF_TENSORS and _on_graph(run, ref)]
    if args.flag("requires_grad") and any(one.slot == ".grad" for ref in sources for one in ancestors(ref.obj)):
        return result  # a step by hand: `z = torch.tensor(z - lr * z.grad, requires_grad=True)`
    shown = run.short(args.nodes[0])
    bound = [run.text(one) for one in run.stmt.targets] if isinstance(run.stmt, ast.Assign) else []
    if sources and not any(_MEANT.search(text.lower()) for text in (shown, *bound)):
        made = result.refs[0].obj
        if made in (ref.obj for ref in sources):
            return result
        made.operands = tuple(dict.fromkeys(ref.obj for ref in sources))
        run.trail.rebuilt.append(Rebuilt(made, node, shown, run.short(node.func), False, made_of))
    elif not sources:
        _declared_leaf(run, node, args, result)
    return result


def _declared_leaf(run: Run, node: ast.Call, args: Args, result: Value) -> None:
    """`torch.tensor(loss.item(), requires_grad=True)`: a leaf that was computed, by whatever means."""
    if _says_more(args.nodes[0]) and args.flag("requires_grad"):
        shown = run.short(args.nodes[0])
        run.trail.rebuilt.append(Rebuilt(result.refs[0].obj, node, shown, "requires_grad=True", True, alone=True))


def _says_more(node: ast.expr) -> bool:
    """Whether an expression is more than a number that is written out."""
    return not all(isinstance(part, (ast.Constant, ast.UnaryOp, ast.USub)) for part in walk(node))


def _is_computed(obj: Obj) -> bool:
    """Whether a value was made of numbers that were computed."""
    for one in ancestors(obj):
        match one.node:
            case ast.Call(args=[given, *_]) if one.made in _OF_NUMBERS and _says_more(given):
                return True
    return False


def _on_graph(run: Run, ref: Ref) -> bool:
    """Whether a tensor surely has a graph: a parameter, or made of the output of a module that is called with one."""
    obj = ref.obj
    if detached(ref) or off(obj):
        return False
    if obj.graph is True:
        return not _of_a_teacher(run, obj)
    if obj.owner == "item" and obj.parent is not None and obj.parent.kind == "tuple" and run.evidence(obj) < 1:
        return False  # of several results of a call one may be a number
    return obj.kind in ("tensor", "unknown") and _from_trained(run, obj, known=run.evidence(obj) < 3)


def _of_a_teacher(run: Run, obj: Obj) -> bool:
    """Whether a value comes from a model that by its name stays as it is: a target, as a rule."""
    return any(library.says_frozen(call.module.key) for call in run.trail.giving(linked(obj, strict=True)))


def _from_trained(run: Run, obj: Obj, known: bool) -> bool:
    """Whether a value was computed from the output of what is called with a graph; `known`: of what is surely a module,
    by operations that make tensors of tensors."""
    for one in linked(obj, strict=True):
        calls = [call for call in run.trail.giving((one,)) if call.grad]
        if calls:
            module = calls[-1].module
            if library.says_frozen(module.key):
                return False
            if module in run.modules and (not known or module.kind == "module"):
                return one is not obj or not known
        elif known and one.owner == "fresh" and one.made in _UNCLEAR:
            return False
    return False


def made_leaf(run: Run, node: ast.AST, ref: Ref, shown: str) -> None:
    """`loss.requires_grad_(True)`, before it is done: of a value that was computed from weights, off the graph."""
    obj = ref.obj
    if obj.leaf or obj.param or any(known.site is part for known in run.trail.rebuilt for part in ast.walk(node)):
        return
    op = "requires_grad=True" if isinstance(node, ast.Call) and node.keywords else "requires_grad_"
    if not _of_weights(run, obj):
        if obj.owner == "fresh" and obj.graph is False and _is_computed(obj):
            run.trail.rebuilt.append(Rebuilt(obj, node, shown, op, forced=True, alone=True))
    elif any(link.kind == DETACH for link in ref.chain):
        run.trail.rebuilt.append(Rebuilt(obj, node, shown, op, forced=True, alone=True))
    elif not _still_linked(run, obj):
        run.trail.rebuilt.append(Rebuilt(obj, node, shown, op, forced=True))


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
                GraphCut(
                    site=rebuilt.site,
                    source=rebuilt.source,
                    op=rebuilt.op,
                    joined=joined,
                    forced=rebuilt.forced,
                    made_of=rebuilt.made_of,
                )
            )


def _joined(run: Run, rebuilt: Rebuilt) -> ast.AST | None:
    """Where a loss that was computed from the new leaf is backpropagated, or leaves the function as part of a graph."""
    if rebuilt.alone:
        return _backpropagated_alone(run, rebuilt.obj)
    for backward in run.backwards:
        if rebuilt.forced:
            if any(one is rebuilt.obj for one in terms(backward.ref.obj)):
                return backward.node
        elif not detached(backward.ref) and rebuilt.obj in ancestors(backward.ref.obj, without=is_cut):
            return backward.node
    forward = run.function.name in ("forward", "training_step")
    for value, state, node in run.returned:
        for ref in value.refs:
            held = state.fields(ref.obj).values() if ref.obj.kind in ("tuple", "list", "dict") else ()
            for one in (ref, *(inner for item in held for inner in item.refs)):
                if detached(one) or rebuilt.obj not in ancestors(one.obj, without=is_cut):
                    continue
                if rebuilt.forced:
                    if one.obj is rebuilt.obj and one.obj.zero_dim and (forward or _says_loss(run, node)):
                        return node
                elif _marked(run, one.obj) or (forward and _of_a_graph(rebuilt, one.obj)) or _summed(run, rebuilt, one):
                    return node
    return None


def _backpropagated_alone(run: Run, obj: Obj) -> ast.AST | None:
    """Where a leaf, scaled perhaps, is all that is backpropagated for a step of something else."""
    held = any(obj in one.tensors for one in run.trail.optimizers.values())
    if held or obj in run.tape.gradients or "step" not in run.function.calls:
        return None
    for backward in run.backwards:
        ref = backward.ref
        same = (other for other in run.backwards if other.node is backward.node and other.loop == backward.loop)
        if any(other.ref is not ref for other in same):
            continue
        if ref.obj is obj and (obj.leaf or (detached(ref) and _declared(ref))):
            return backward.node
        if obj.leaf and {one for one in terms(ref.obj) if one.made not in SCALES} == {obj}:
            return backward.node
    return None


def _declared(ref: Ref) -> bool:
    """Whether a reference that is off the graph was told to require grad itself."""
    told = ref.place is not None and ref.place.tracked
    return bool(told) or any(link.op in ("Variable", "requires_grad_") for link in ref.chain)


def _says_loss(run: Run, node: ast.Return) -> bool:
    """Whether what is returned, or the function, is called a loss."""
    names = (getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node))
    return any(library.says_loss(name) for name in (run.function.name, *names))


def _marked(run: Run, obj: Obj) -> bool:
    """Whether a loss computed from the new leaf was told to require grad, so that it can be backpropagated."""
    return any(other.forced and other.obj is obj and obj.zero_dim for other in run.trail.rebuilt)


def _of_a_graph(rebuilt: Rebuilt, obj: Obj) -> bool:
    """Whether something else than the new leaf is on the graph of a value that `forward` returns."""
    parameter = any(one.param for one in ancestors(rebuilt.obj))
    return obj is not rebuilt.obj and bool(obj.graph or (parameter and obj.graph is None))


def _summed(run: Run, rebuilt: Rebuilt, ref: Ref) -> bool:
    """Whether a loss is the sum of the new leaf and of something that may have a graph."""
    if not any(
        library.says_loss(name) for name in (run.function.name, ref.place.name if ref.place is not None else "")
    ):
        return False
    pending, others, met = [ref.obj], False, False
    seen: set[Obj] = set()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.made in ("+", "-", "add", "sub"):
            pending.extend(one.operands)
        elif rebuilt.obj in ancestors(one, without=is_cut):
            met = True
        else:
            others = others or _computed(one)
    return met and others


def _computed(obj: Obj) -> bool:
    """Whether a term was computed from something that may have a graph."""
    return obj.owner == "fresh" and obj.kind in ("tensor", "unknown") and not off(obj) and bool(obj.operands)
