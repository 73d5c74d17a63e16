"""Leaves of the graph: writes to them, marks on what is none, and what asks for their values."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts import Fact, GradToArray, LeafWrite, MarkedNonLeaf, changed
from flake8_tensorcopy.engine.freezing import Asked, freezes_itself, frozen, switch
from flake8_tensorcopy.engine.graph import ancestors, is_leaf, looks_at_mode, mark
from flake8_tensorcopy.engine.linked import linked, on_graph
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.values import DETACH, NUMPY, Obj, Ref, Value, Write

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run

# Calls that need a graph where they stand.
_DERIVES = frozenset("backward grad jacobian hessian vjp jvp hvp vhp step closure".split())


def leaf_write(run: Run, write: Write, whole: Value) -> bool:
    """A write in grad mode to a leaf that requires grad, or to a view of one: torch refuses it."""
    ref = write.ref
    if not write.grad or any(link.kind in (DETACH, NUMPY) for link in ref.chain[_after(ref) :]):
        return False
    proven = is_leaf(run, ref)
    if _told_of_method(run, write) or not (proven or _updates_by_gradient(run, write)):
        return False
    if (proven and not _trains(run, ref)) or told_inside(run, write, LeafWrite):
        return False
    obj = ref.obj
    run.tape.found.append(
        LeafWrite(
            site=write.node,
            writer=write.target,
            op=write.op,
            how=write.how,
            made=obj.node if obj.owner == "fresh" else None,
            parameter=obj.param,
            certain=proven and (not write.mixed or _all_leaves(run, whole)),
            inner=write.inner,
            statement=_alone(run, write),
        )
    )
    return True


def _all_leaves(run: Run, whole: Value) -> bool:
    """Whether each of several alternatives is a leaf: the values of a dict of them."""
    return len(whole.refs) > 1 and all(
        is_leaf(run, ref) and not any(link.kind in (DETACH, NUMPY) for link in ref.chain[_after(ref) :])
        for ref in whole.refs
    )


def _alone(run: Run, write: Write) -> ast.stmt | None:
    """The statement of a write, if it is good for that alone, so that it can do without a graph."""
    node = write.node
    match write.stmt:
        case ast.Expr() | ast.Return() if write.stmt.value is node:
            pass
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=value, attr=name))) if value is node and name[-1] == "_":
            pass
        case ast.Assign(targets=[ast.Name()]) if write.how == "method" and write.stmt.value is node:
            pass
        case ast.Assign(targets=[ast.Subscript()]) if write.how == "subscript":
            pass
        case ast.AugAssign():
            pass
        case _:
            return None
    if write.how == "call" and (write.inner is None or _walks_graph(run, write.inner)):
        return None
    derives = any(
        isinstance(part, ast.Call) and getattr(part.func, "attr", getattr(part.func, "id", "")) in _DERIVES
        for part in ast.walk(write.stmt)
    )
    return None if derives else write.stmt


def _walks_graph(run: Run, inner: ast.AST) -> bool:
    """Whether the function that holds a node, which was called, computes gradients."""
    return any(
        done is not None and done.backwards and any(part is inner for part in ast.walk(done.function.node))
        for done in run.module.runs.values()
    )


def _after(ref: Ref) -> int:
    """Where the derivation from the leaf begins."""
    for position in range(len(ref.chain) - 1, -1, -1):
        if ref.chain[position].op in ("Parameter", "requires_grad_"):
            return position
    tracked = ref.place is not None and ref.place.tracked
    return ref.held if tracked else 0


def _updates_by_gradient(run: Run, write: Write) -> bool:
    """`p -= rate * p.grad` of something unknown: what has a gradient is a leaf, or the program would fail here."""
    ref = write.ref
    if (
        ref.place is None
        or ref.obj.graph is False
        or ref.obj.slot == ".grad"
        or write.how not in ("method", "augmented")
    ):
        return False
    if ref.obj.owner == "fresh" or ref.kind not in ("tensor", "unknown") or write.stmt is None:
        return False
    if ref.obj not in run.tape.gradients:
        return False
    return f"{ref.place.name}.grad" in run.text(write.stmt) or _given_gradient(run, write)


def _given_gradient(run: Run, write: Write) -> bool:
    """Whether what is written was computed from the gradient of what it is written to: `g = p.grad; p -= rate * g`."""
    node, operands = run.operands or (None, [])
    return node is write.node and any(
        one.slot == ".grad" and one.parent is write.ref.obj
        for _, value in operands
        for ref in value.refs
        for one in ancestors(ref.obj)
    )


def _told_of_method(run: Run, write: Write) -> bool:
    """A method of this class writes what the object holds: it is told of that itself."""
    node = write.node
    if write.how != "call" or not isinstance(node, ast.Call) or not run.params or run.function.cls is None:
        return False
    if not isinstance(node.func, ast.Attribute) or run.text(node.func.value) != "self":
        return False
    held = run.now.fields(run.params[0]).values()
    return any(ref.obj is write.ref.obj or ref.obj is write.ref.obj.parent for one in held for ref in one.refs)


def told_inside(run: Run, write: Write, kind: type[Fact]) -> bool:
    """Whether the function that was called has been told of the write itself."""
    return write.how == "call" and any(
        done is not None and (kind, write.inner) in done.facts for done in run.module.runs.values()
    )


def _trains(run: Run, ref: Ref) -> bool:
    """Whether a parameter that a module was asked for is one that trains: nothing froze it, or its gradient is used."""
    obj = ref.obj
    owner = obj if any(link.op == "parameters" for link in ref.chain) else obj.parent
    if owner is None:
        return True
    if owner.kind == "module":
        own = isinstance(owner.data, Class) and owner in run.params and freezes_itself(run.module, owner.data)
        return not (own or frozen(owner))
    return owner.kind != "unknown" or not obj.slot.endswith(")]") or obj in run.tape.gradients


def marked(run: Run, node: ast.AST, base: Value, target: str, attribute: bool) -> None:
    """`x.requires_grad = True`, `x.requires_grad_()`."""
    from flake8_tensorcopy.engine.rebinding import report

    for ref in base.refs:
        if run.now.grad and not run.tape.expected and not looks_at_mode(run.now.arms | ref.arms):
            _marked_if_given(run, node, ref, target, attribute)
        computed = mark(run, ref)
        switch(run, ref, Asked(True))
        if computed and run.now.grad and not run.tape.expected:
            fact = MarkedNonLeaf(site=node, value=target, attribute=attribute, made=ref.obj.node, read=None)
            run.tape.marked.append((ref.obj, fact))
            update = run.leaf_candidates.get(ref.place) if attribute and ref.place is not None else None
            if update is not None and update.last:
                report(run, update.statement, update.statement, update.name, "marked", node)


def _marked_if_given(run: Run, node: ast.AST, ref: Ref, target: str, attribute: bool) -> None:
    """A value was computed from arguments: it is no leaf where one of them requires grad."""
    obj = ref.obj
    if obj.owner != "fresh" or obj.leaf or not obj.operands or on_graph(ref) is not None:
        return
    supposed = tuple(one.key for one in linked(obj) if one in run.params and one.graph is None)
    if supposed:
        fact = MarkedNonLeaf(site=node, value=target, attribute=attribute, made=obj.node, read=None, supposed=supposed)
        run.tape.marked.append((obj, fact))


def settle_marks(run: Run) -> None:
    """Marking a computed value is pointless where its `.grad` is wanted, and refused where it is assigned."""
    for obj, fact in sorted(run.tape.marked, key=_is_supposed):  # what is known comes before what is supposed
        assert isinstance(fact, MarkedNonLeaf)
        read = run.tape.gradients.get(obj)
        if fact.attribute or (obj not in run.tape.retained and (read is not None or obj.made == "clone")):
            run.fact(changed(fact, read=read, detached=_to_detach(run, fact)))


def _is_supposed(marked: tuple[Obj, Fact]) -> bool:
    return isinstance(marked[1], MarkedNonLeaf) and bool(marked[1].supposed)


def _to_detach(run: Run, fact: MarkedNonLeaf) -> ast.expr | None:
    """What would have to be detached for the value to be a leaf."""
    from flake8_tensorcopy.engine.around import bound_whole, holds

    match fact.made:
        case ast.Call(func=ast.Attribute(value=inner, attr="clone")) as call if run.names.qualify(call.func) is None:
            return inner
        case ast.Call(func=func, args=[inner]) if run.names.qualify(func) == "torch.clone":
            return inner
        case ast.expr() as made:
            return made if holds(fact.site, made) else bound_whole(run.module, made)
    return None


def on_device(run: Run, ref: Ref) -> bool:
    """Whether a tensor is on a device: the last move says so, or what it was made from."""
    for link in reversed(ref.chain):
        if link.op == "cpu":
            return False
        if link.op == "cuda":
            return True
        if link.op == "to" and isinstance(link.node, ast.Call):
            given = [*link.node.args, *(k.value for k in link.node.keywords if k.arg == "device")]
            names = [item.value for item in given if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            return any(name.startswith("cuda") for name in names)
    return ref.obj in run.tape.on_device or _made_on_device(ref.obj)


def _made_on_device(obj: Obj) -> bool:
    """`torch.zeros(3, device="cuda")`."""
    return isinstance(obj.node, ast.Call) and any(
        keyword.arg == "device"
        and isinstance(keyword.value, ast.Constant)
        and str(keyword.value.value).startswith("cuda")
        for keyword in obj.node.keywords
    )


_ASKS_DEVICE = re.compile(r"cuda|gpu|device", re.IGNORECASE)


def to_array(run: Run, node: ast.Call, ref: Ref, name: str, call: str) -> None:
    """`.numpy()`, `np.asarray(x)`: torch refuses a tensor that requires grad, in grad mode, and one on a device."""
    forced = any(keyword.arg == "force" for keyword in node.keywords) or (call == ".numpy()" and node.args)
    if forced or run.tape.expected or ref.kind not in ("tensor", "unknown") or looks_at_mode(run.now.arms | ref.arms):
        return
    records = run.now.grad is True and on_graph(ref) is True and is_certain(run, ref)
    # `x = x.cpu() if use_cuda else x`: what is left as it was lies on the host.
    on_host = any(not arm.taken and _ASKS_DEVICE.search(arm.text) for arm in run.now.arms | ref.arms)
    known = ref.obj.owner == "argument" or run.evidence_of(ref, run.stmt) >= 2
    device = known and not on_host and on_device(run, ref)
    if records or device:
        given = node.func.value if call == ".numpy()" and isinstance(node.func, ast.Attribute) else None
        run.tape.found.append(
            GradToArray(
                site=node,
                value=name,
                call=call,
                made=ref.obj.node,
                device=not records,
                given=next(iter(node.args), None) if given is None else given,
                moves=device,
            )
        )


def is_certain(run: Run, ref: Ref) -> bool:
    """Whether it requires grad on every path that leads here, and no parameter of unknown training."""
    owner = ref.obj.parent
    if owner is not None and ref.obj.param and (owner.kind != "module" or frozen(owner)):
        return ref.obj in run.tape.gradients
    return run.tape.arms.get(ref.obj, frozenset()) <= run.now.arms
