"""Rebindings that lose something: a parameter's name rebound, a leaf replaced by a computed tensor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_tensorcopy.engine.facts import (
    DeadRebinding,
    LeafRebound,
)
from flake8_tensorcopy.engine.notes import LeafUpdate
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.updating import change_of
from flake8_tensorcopy.engine.values import (
    ALIAS,
    SNAPSHOT,
    UNKNOWN,
    Obj,
    Place,
    Ref,
    Value,
)

_GRADIENT = re.compile(r"\.grad\b")  # and not `.grad_scale`


def leaf_candidate(run: Run, place: Place, value: Value, source: ast.expr, name: str, before: Value | None) -> None:
    """`w = w - lr * w.grad`: wrong if `.grad` of the new value is read."""
    obj = value.obj
    if obj is None or obj.owner != "fresh" or obj.leaf or value.refs[0].place is not None:
        return
    if run.stmt is None:
        return
    if _names_gradient(run, source, name) or _from_gradient(obj, before):
        run.leaf_candidates[place] = LeafUpdate(run.stmt, name)
        return
    # `w = w.clamp(0, 1)` behind it: no leaf either, and what the next update finds.
    known = _update_of(run, before)
    if known is not None and before is not None and not {ref.obj for ref in before.refs}.isdisjoint(_operands(obj)):
        run.leaf_candidates[place] = known._replace(last=False)


def _update_of(run: Run, before: Value | None) -> LeafUpdate | None:
    """The update that computed what a name holds, if one did."""
    if before is None:
        return None
    found = [run.leaf_candidates.get(ref.place) for ref in before.refs if ref.place is not None]
    return next((one for one in found if one is not None), None)


def _names_gradient(run: Run, source: ast.expr, name: str) -> bool:
    """Whether an expression has the gradient of a name in it."""
    return run.asks_gradient and f"{name}.grad" in run.text(source)


def _operands(obj: Obj) -> Iterator[Obj]:
    """What a value was computed from, itself first."""
    pending = [obj]
    seen: set[Obj] = set()
    while pending and len(seen) < 40:
        one = pending.pop()
        if one not in seen:
            seen.add(one)
            yield one
            pending.extend(one.source)


def _from_gradient(obj: Obj, before: Value | None) -> bool:
    """Whether a computed value has the gradient of what the name held before among its operands."""
    held = {ref.obj for ref in before.refs} if before is not None else set()
    return any(one.slot == ".grad" and one.parent in held for one in _operands(obj))


def note_rebinding(run: Run, name: str, before: Value | None, held: Value, place: Place, source: ast.expr) -> None:
    """Remember a rebinding of somebody's tensor, to see at the end whether the new one was ever read."""
    if before is None or not before.refs or name in run.closed_over or not name.strip("_"):
        return  # what `_` is bound to is wanted by nobody
    # Each of what the name may stand for shows whose tensor it is: `m = state["m"]`, put there on one branch.
    found = ((ref, _origin(ref, name)) for ref in before.refs)
    was, origin = next(((ref, origin) for ref, origin in found if origin), (before.refs[0], ""))
    if was.place is None or not origin:
        return
    names = set(run.names_in(source))
    siblings = run.siblings.get(name, frozenset()) & names
    statement = run.stmt
    assert statement is not None
    gradient = _GRADIENT.search(run.text(source)) is not None
    if not gradient:
        for used in names:
            value = run.now.env.get(used)
            obj = value.obj if value is not None else None
            if obj is not None and (obj.slot == ".grad" or "autograd.grad" in _makers(obj)):
                gradient = True
    obj = held.obj
    computed = obj is not None and obj is not was.obj and obj.owner == "fresh" and obj.made not in ("call", "tuple")
    replaced = obj is not None and any(obj is run.now.env.get(one, UNKNOWN).obj for one in siblings)
    run.rebindings.append(
        (
            place,
            DeadRebinding(
                site=statement,
                name=name,
                origin=origin,
                source=was.place.name if origin == "loop" else was.obj.key,
                uses_itself=name in names or (computed and obj is not None and was.obj in _operands(obj)),
                uses_sibling=bool(siblings),
                update=gradient,
                parameter=was.obj.param,
                computed=computed or replaced,
                evidence=0,
                op=obj.made if obj is not None else "",
                picked=(
                    computed
                    and obj is not None
                    and obj.kind == "tensor"
                    and run.function.picked.get(name) in run.function.loops
                    and bool(run.loop)
                    and was.place.loop == run.loop
                ),
            ),
            was,
        )
    )


def _origin(ref: Ref, name: str) -> str:
    """Whose tensor a name stands for, if not its own."""
    if ref.place is None or ref.place.name != name:
        return ""
    if ref.place.origin in ("loop", "argument"):
        return ref.place.origin
    if ref.chain and ref.chain[-1].kind == ALIAS and ref.obj.owner in ("attribute", "item"):
        return "grad" if ref.obj.slot == ".grad" else "parameter"
    stored = ref.chain and ref.chain[-1].kind == ALIAS and ref.via and ref.via[-1].origin == "store"
    if ref.obj.slot != ".grad" and (stored or _held_elsewhere(ref)):
        return "parameter"
    return "grad" if ref.obj.slot == ".grad" else ""


def _held_elsewhere(ref: Ref) -> bool:
    """Whether a name stands for all of what a module, list or dict holds: `layer.weight.data`, `params[0]`."""
    whole = all(link.kind in (ALIAS, SNAPSHOT) or link.op in ("data", "detach") for link in ref.chain)
    live = any(link.kind == SNAPSHOT for link in ref.chain) or ref.obj.owner in ("attribute", "item")
    return bool(ref.chain) and whole and live


def _makers(obj: Obj) -> set[str]:
    found: set[str] = set()
    pending = [obj]
    while pending and len(found) < 12:
        one = pending.pop()
        found.add(one.made)
        if one.parent is not None:
            pending.append(one.parent)
    return found


def leaf_rebound(
    run: Run, target: ast.Attribute, obj: Obj, before: Value, value: Value, source: ast.expr, name: str
) -> None:
    new = value.obj
    if new is None or (new.kind != "tensor" and run.evidence(new, None) < 2) or new.leaf or new.param:
        return
    if new.owner != "fresh" or value.refs[0].place is not None:
        return
    was = before.obj
    text = run.text(target)
    mentions = text in run.text(source)
    if target.attr in run.module.survey.deleted:
        return
    proven = run.evidence(new, None) >= 3 and new.made != "call"
    if was is not None and was.param and obj.kind == "module" and proven:
        report(run, target, run.stmt, name, "parameter", None)
        return
    table = run.module.table(obj.data).get("." + target.attr) if hasattr(obj.data, "methods") else None
    made = table.obj if table is not None else None
    if made is None or not (made.leaf or made.param) or run.function.name == "__init__":
        return
    if mentions and f"{text}.grad" in run.text(source) and run.now.env.get("self") is not None:
        report(run, target, run.stmt, name, "method", made.node)


def item_leaf_rebound(run: Run, target: ast.Subscript, obj: Obj, key: str, value: Value, source: ast.expr) -> None:
    """`self.params[k] = self.params[k] - lr * self.params[k].grad`, with leaves from `__init__`."""
    name = run.text(target)
    new = value.obj
    if new is None or new.owner != "fresh" or new.leaf or value.refs[0].place is not None:
        return
    if f"{name}.grad" not in run.text(source) and not _from_item_gradient(run, new, obj):
        return
    if run.stmt is not None:
        run.item_candidates[(obj, key.split("]")[0])] = run.item_candidates[(new, "")] = (run.stmt, name, run.loop, new)
    for slot in (key, "[*]"):
        for ref in run.now.fields(obj).get(slot, UNKNOWN).refs:
            if ref.obj is new and ref.place is not None and run.stmt is not None:
                run.leaf_candidates[ref.place] = LeafUpdate(run.stmt, name)
    held = obj.data
    if isinstance(held, Value) and held.obj is not None and held.obj.leaf and run.stmt is not None:
        report(run, run.stmt, run.stmt, name, "method", held.obj.node)


def report(
    run: Run,
    site: ast.AST,
    statement: ast.stmt | None,
    name: str,
    reason: str,
    expected: ast.AST | None,
    evidence: int = 3,
) -> None:
    run.fact(
        LeafRebound(
            site=site,
            target=name,
            reason=reason,
            expected=expected,
            evidence=evidence,
            statement=statement,
            change=change_of(run, statement, name),
        )
    )


def _from_item_gradient(run: Run, new: Obj, container: Obj) -> bool:
    """`for k, v in params.items(): params[k] = v - lr * v.grad`."""
    gradients = [one.parent for one in _operands(new) if one.slot == ".grad"]
    if any(owner is not None and owner.parent is container for owner in gradients):
        return True
    held = {ref.obj for value in run.now.fields(container).values() for ref in value.refs} if gradients else set()
    return not held.isdisjoint(gradients)


def note_updates(run: Run, value: Value) -> None:
    """`params = [p - lr * p.grad for p in params]`: wrong if `.grad` of one of the new values is read."""
    match run.stmt:
        case ast.Assign(targets=[target]) if run.asks_gradient and value.obj is not None:
            new = value.obj
        case _:
            return
    operands = set(_operands(new)) if new.owner == "fresh" and not new.leaf else set()
    if any(one.slot == ".grad" and one.parent in operands for one in operands):
        run.item_updates[new] = LeafUpdate(run.stmt, run.text(target))
