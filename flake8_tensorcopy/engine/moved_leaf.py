"""Leaves: what is computed from one is none, and gets no gradient and no step of an optimizer."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.around import grown, holds, in_one_function, method_of, once
from flake8_tensorcopy.engine.facts import MovedLeaf
from flake8_tensorcopy.engine.graph import ancestors
from flake8_tensorcopy.engine.source import is_true
from flake8_tensorcopy.engine.unwrapped import MAX_STEPS, Step, first_step, inputs_of
from flake8_tensorcopy.engine.values import DETACH, NUMPY, Chain, Obj, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run


def begins(run: Run, node: ast.AST, value: Value) -> None:
    """The values are leaves from here on: `x.requires_grad_()`."""
    for ref in value.refs:
        if not ref.obj.inputs or ref.obj.graph is False:
            made, chains = run.module.leaves.get(ref.obj, (node, ()))
            before = chains if made is node and ref.chain not in chains else ()
            run.module.leaves[ref.obj] = (node, (*before, ref.chain))


def keeps_gradient(run: Run, ref: Ref) -> None:
    """`y.retain_grad()`: whatever it is, it gets one."""
    run.module.leaves[ref.obj] = (ref.obj.node or run.function.node, (ref.chain,))


def _leaf(module: Module, obj: Obj) -> tuple[ast.AST, tuple[Chain, ...]] | None:
    """What made a leaf, and the derivation it had when it became one: one for each way to that place."""
    known = module.leaves.get(obj)
    if known is not None or obj.param or obj.owner != "fresh":
        return known
    keywords = obj.node.keywords if isinstance(obj.node, ast.Call) else []
    if obj.node is not None and any(keyword.arg == "requires_grad" and is_true(keyword.value) for keyword in keywords):
        return obj.node, ((),)
    return None


def _begun(chains: tuple[Chain, ...], ref: Ref) -> Chain | None:
    """The derivation of a leaf that a reference goes on from: the longest one, if any."""
    met = [chain for chain in chains if ref.chain[: len(chain)] == chain]
    return max(met, key=len, default=None)


def moved(module: Module, ref: Ref, depth: int = 0) -> tuple[Step, Obj] | None:
    """How a reference was computed from a leaf, and the leaf; None for the leaf itself and for all else."""
    obj = ref.obj
    if obj in module.moved:
        return module.moved[obj]
    found = _leaf(module, obj)
    if found is not None:
        made, chains = found
        chain = _begun(chains, ref)
        if chain is None:
            return None
        itself = not any(link.kind in (DETACH, NUMPY) for link in chain)
        start = obj.node if itself and isinstance(obj.node, ast.Call) and obj.owner == "fresh" else made
        step = first_step(start, ref.chain[len(chain) :], ref)
        return (step, obj) if step is not None else None
    if obj.owner != "fresh" or obj.leaf or obj.graph is False or obj.dtype == "bool" or depth >= MAX_STEPS:
        return None
    if any(link.kind in (DETACH, NUMPY) for link in ref.chain) or any(one.slot == ".grad" for one in ancestors(obj)):
        return None  # off the graph, or an update of the leaf by its gradient
    for one in inputs_of(obj):
        known = moved(module, one, depth + 1)
        if known is not None:
            return known
        root = _leaf(module, one.obj)
        if root is not None and not any(link.kind in (DETACH, NUMPY) for link in one.chain):
            start = one.obj.node if isinstance(one.obj.node, ast.Call) else root[0]
            return Step(start, obj.made, True), one.obj
    return None


def _at_hand(run: Run, leaf: Obj) -> bool:
    """Whether some name still stands for the leaf itself, and not for what that was derived from."""
    known = _leaf(run.module, leaf)
    chains = known[1] if known is not None else ((),)
    for value in run.now.env.values():
        for ref in value.refs:
            if ref.obj is leaf and _begun(chains, ref) is not None and moved(run.module, ref) is None:
                return True
    return False


def used_as_leaf(run: Run, ref: Ref, node: ast.AST, name: str, use: str) -> None:
    """The gradient of the reference is read, or an optimizer is to step it."""
    from flake8_tensorcopy.engine.sole_leaf import alone

    if any(link.op == "parameters" for link in ref.chain):
        return  # a module was told, and each of its parameters is a leaf
    found = moved(run.module, ref)
    if found is None or any(f"{name}.grad is None" in str(arm.test) for arm in run.now.arms):
        return
    step, leaf = found
    if use == "grad" and step.always and _at_hand(run, leaf):
        return
    known = _leaf(run.module, leaf)
    mark = known[0] if known is not None else None
    whole = None if mark is None else _to_mark(run, mark, ref)
    if mark is not None and whole is not None and not alone(run, whole, mark, ref):
        whole = None
    run.fact(
        MovedLeaf(
            site=step.made,
            name=name,
            op=step.op,
            used=node,
            use=use,
            always=step.always,
            marked=mark,
            whole=whole,
            direct=None if mark is None else _copy_of(run, mark),
        )
    )


def _copy_of(run: Run, mark: ast.AST) -> ast.Call | None:
    """The clone of a leaf that is made and copied in one expression."""
    match method_of(run.module, mark):
        case ast.Call(func=ast.Attribute(attr="clone"), args=[], keywords=[]) as call if isinstance(mark, ast.Call):
            made = any(keyword.arg == "requires_grad" for keyword in mark.keywords)
            return call if made and (run.names.qualify(mark.func) or "").startswith("torch.") else None
    return None


def _to_mark(run: Run, mark: ast.AST, ref: Ref) -> ast.expr | None:
    """The expression that would have to require grad, in place of the one that is told to."""
    bound = ref.place.node if ref.place is not None else None
    match bound:
        case ast.Assign(targets=[ast.Name()], value=value) if not holds(bound, mark):
            if in_one_function(run.module, mark, value):
                return value if once(run.module, mark, value) else None
    whole = grown(run.module, mark)
    return None if whole is mark else whole


def optimized(run: Run, node: ast.Call, values: list[Value]) -> None:
    """What an optimizer is given, with all that lists and dicts among it hold."""
    pending = list(values)
    seen: set[Obj] = set()
    while pending:
        for ref in pending.pop().refs:
            if ref.obj.kind in ("list", "tuple", "dict"):
                if ref.obj not in seen:
                    seen.add(ref.obj)
                    pending.extend(run.now.fields(ref.obj).values())
                continue
            if ref.obj.kind == "iter" and isinstance(ref.obj.data, tuple):
                if ref.obj.data[0] == "values":
                    pending.extend(part for _, part in ref.obj.data[1])
                continue
            name = ref.place.name.partition("[")[0] if ref.place is not None else ""
            used_as_leaf(run, ref, node, "" if name == "the item" else name, "optimizer")


def returned(run: Run, was: Obj, chain: Chain, made: Obj) -> None:
    """What a function of this file returned was computed from a leaf of its own."""
    found = moved(run.module, Ref(was, chain))
    if found is not None:
        run.module.moved[made] = found
