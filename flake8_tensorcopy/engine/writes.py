"""Writes: what each in-place change reaches, and what is wrong with it at once."""

from __future__ import annotations

import ast
import re

from flake8_tensorcopy.engine import gradients, library
from flake8_tensorcopy.engine.copies import cloned_at, copies_for_writer, last_copy, unpacked_at
from flake8_tensorcopy.engine.facts import (
    JoinedWrite,
    LostWrite,
    OverlappingWrite,
    SharedWrite,
)
from flake8_tensorcopy.engine.linked import dtype_of
from flake8_tensorcopy.engine.liveness import kept_to_itself, met_again, read_later
from flake8_tensorcopy.engine.parameters import wrapped_written
from flake8_tensorcopy.engine.parts import beside, mixed, packed_apart
from flake8_tensorcopy.engine.repeated import slot_written
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import judge_write
from flake8_tensorcopy.engine.selfcopy import operands_of
from flake8_tensorcopy.engine.storages import left_behind_used, read_only_write
from flake8_tensorcopy.engine.values import (
    ALIAS,
    ARRAY_ONLY,
    MAYBE,
    NUMPY,
    SNAPSHOT,
    UNSURE,
    VIEW,
    Link,
    Obj,
    Ref,
    Value,
    Write,
    exclusive,
)
from flake8_tensorcopy.engine.written_back import joins, number, repeatable, seen_elsewhere, selection

_OF_STRIDES = re.compile(r"^0 in .*\.stride\(\)$|\.stride\(.*\) == 0$")
MAX_LAYERS = 60  # of a module, whose parameters are looked for


def write_to(
    run: Run,
    node: ast.AST,
    value: Value,
    op: str,
    how: str,
    target: str = "",
    inner: ast.AST | None = None,
    whole: Value | None = None,
    unsure: bool = False,
    part: Link | None = None,
    recorded: bool | None = True,
) -> None:
    """The current statement changes the value's storage in place.

    `whole` is the written value with all its alternatives, where they are written one by one; `part` is the step to
    what is written of each; `recorded` is the grad mode of the called function, where that is what writes.
    """
    state = run.now
    whole = whole or value
    several = len({ref.obj for ref in whole.refs}) > 1
    for ref in value.refs:
        if exclusive(ref.arms, state.arms):
            continue
        written = ref if part is None else ref.derive(part)
        write = Write(node, run.stmt, op, how, written, state.arms | ref.arms, run.loop, target, inner)
        write.time = run.clock
        write.tick = run.count()
        if len(whole.refs) > 1:
            write.mixed = mixed(whole, ref)
            others = beside(whole, ref)
            write.others = others if part is None else tuple(other.derive(part) for other in others)
            if write.mixed and part is None and not unsure:
                write.whole = whole
        write.mixed = write.mixed or unsure
        write.grad = state.grad and recorded
        state.add_write(ref.obj, write)
        if how == "training":
            _reach_parameters(run, ref.obj, write)
        run.log.append(write)
        gradients.written(run, write)
        if run.operands is not None and run.operands[0] is node:
            operands_of(run, write, run.operands[1])
        if run.repeats:
            slot_written(run, write)
        if run.wraps:
            wrapped_written(run, write)
        if ref.place in run.left_behind and ref.place is not None:
            left_behind_used(run, ref.place, ref, node)
        _reach_owners(run, written, write)
        _judge_write(run, write, whole, several, unsure)
        judge_write(run, write, Value((ref,)) if unsure else whole)
        if state.flights:
            run.source_written(write)


def _reach_owners(run: Run, ref: Ref, write: Write) -> None:
    """A write to a module's tensor is a write to (a part of) the module."""
    part: list[Link] = []
    state = [link for link in ref.chain if link.kind == SNAPSHOT]  # written through a state_dict of it
    obj = ref.obj
    while obj.parent is not None and obj.slot != ".grad":
        part.insert(0, Link(VIEW, obj.slot, write.node, key=obj.slot))
        obj = obj.parent
        if obj.kind in ("module", "unknown"):
            through = Ref(obj, (*part, *state), ref.place, ref.seen, ref.arms)
            upper = Write(write.node, write.stmt, write.op, "part", through, write.arms, write.loop, write.target)
            run.now.add_write(obj, upper)


def _reach_parameters(run: Run, module: Obj, write: Write) -> None:
    """A module that is trained moves each parameter that the function has taken from it or from a layer of it."""
    pending = [module]
    seen: set[Obj] = set()
    while pending and len(seen) < MAX_LAYERS:
        owner = pending.pop()
        for slot, value in run.now.fields(owner).items() if owner not in seen else ():
            one = value.obj
            if one is None or one.parent is not owner or one.kind not in ("tensor", "module", "unknown"):
                continue
            if slot[0] == "." and (one.param or slot[1:] in library.OF_LAYERS):
                if one.graph is not False:
                    run.now.add_write(one, write)
            elif one.kind != "tensor":
                pending.append(one)
        seen.add(owner)


def _base_is_left(run: Run, ref: Ref, copied: Link) -> bool:
    """Nothing that does not come from a copy made at a link would see the write, or changes what is copied there."""
    parents = run.parents()
    statement = parents.get(copied.node)
    while statement is not None and not isinstance(statement, ast.stmt):
        statement = parents.get(statement)
    if ref.obj.owner != "fresh" or statement is None:
        return False

    def passes_by(value: Value) -> bool:
        return any(
            one.obj is ref.obj and not any(link.node is copied.node and link.op == copied.op for link in one.chain)
            for one in value.refs
        )

    if any(passes_by(value) for fields in run.now.heap.values() for value in fields.values()):
        return False
    local = not isinstance(run.function.node, ast.Module)
    return all(
        local
        and not read_later(run, name, statement)
        and not met_again(run, name, statement)
        and kept_to_itself(run, name, statement)
        for name, value in run.now.env.items()
        if passes_by(value)
    )


def _cast(ref: Ref, overlap: Link) -> bool:
    """Whether what was expanded is cast to a dtype that it is not known to have: who names one takes it for another."""
    first = ref.chain.index(overlap) + 1
    return any(
        link.kind == MAYBE and link.dtype not in ("", dtype_of(Ref(ref.obj, ref.chain[:place])))
        for place, link in enumerate(ref.chain[first:], first)
    )


def _judge_write(run: Run, write: Write, value: Value, several: bool, unsure: bool) -> None:
    ref = write.ref
    if write.how == "training":
        return
    overlap = ref.overlaps
    # What the callee expanded itself, or holds, is said where it writes it.
    known = write.how == "call" and (
        ref.obj.owner == "attribute" or (overlap is not None and overlap.node is write.node)
    )
    if overlap is not None and not all(one.overlaps for one in value.refs):
        # What another function gives is expanded on some of its paths only.
        known = known or overlap.inner is not None or overlap.node not in run.parents()
    unclear = overlap is not None and (asked_for_order(write) or _cast(ref, overlap))
    if overlap is not None and ref.obj.kind != "array" and not known and not unclear:
        after = ref.chain[ref.chain.index(overlap) + 1 :]
        # After a conversion that may copy, the clone stands behind it.
        last = next((link for link in reversed(after) if link.kind == MAYBE), overlap)
        run.fact(
            OverlappingWrite(
                site=write.node,
                writer=write.target,
                op=write.op,
                how=write.how,
                expand=overlap.op,
                expanded=overlap.node,
                silent=_silent(write, ref, overlap),
                maybe=any(link.kind == MAYBE for link in after),
                evidence=run.evidence(ref.obj, write.stmt),
                inner=write.inner,
                cloned=cloned_at(run, last),
                unpacked=unpacked_at(overlap, ref.place),
                bound=ref.place.name if ref.place is not None else "",
                alone=_base_is_left(run, ref, last),
            )
        )
    links = [link for link in ref.chain if link.kind in (NUMPY, MAYBE)]
    if all(link.op in ARRAY_ONLY for link in links):
        links = []
    temporary = any(link.kind == NUMPY for link in ref.chain[ref.held :])  # `t.numpy().sort()`
    if read_only_write(run, write):
        return
    if overlap is not None or temporary or any(link.kind == UNSURE for link in ref.chain):
        return
    if links and packed_apart(ref.chain) is not None:
        links = []
    if links and not ref.obj.moved and ref.obj.owner in ("argument", "attribute", "item"):
        kind = MAYBE if any(link.kind == MAYBE for link in links) else NUMPY
        run.fact(
            SharedWrite(
                site=write.node,
                writer=write.target,
                owner_name=ref.obj.key,
                op=write.op,
                how=write.how,
                link=kind,
                links=tuple(link.op for link in links),
                source=links[-1].node,
                owner=ref.obj.owner,
                evidence=run.evidence(ref.obj, write.stmt),
                certain=not (unsure or value.mixed_with(ref)),  # of one storage, any part is the owner's
                inner=write.inner,
                array=ref.obj.kind == "array",
                maybe_op=next((link.op for link in links if link.kind == MAYBE), ""),
                copies=copies_for_writer(run, write),
            )
        )
        run.shared_objs[(SharedWrite, write.node)] = ref.obj
    kept = ref.obj.owner in ("attribute", "item") and not (ref.obj.parent is not None and _of_a_call(ref.obj.parent))
    if several and kept and ref.place is not None:
        unowned = any(
            other.obj is not ref.obj and other.obj.owner == "fresh" and not other.chain and not _beside(run, other, ref)
            for other in value
        )
        if unowned and ref.chain and ref.chain[-1].kind == ALIAS:
            run.fact(
                JoinedWrite(
                    site=write.node,
                    writer=ref.place.name,
                    kept=ref.obj.key,
                    op=write.op,
                    bound=ref.place.node,
                    evidence=max(run.evidence(other.obj, write.stmt) for other in value.refs),
                    owner=ref.obj.owner,
                    copies=last_copy(run, ref),
                )
            )
            run.shared_objs[(JoinedWrite, write.node)] = ref.obj


def _of_a_call(obj: Obj) -> bool:
    """What a call gave and no name holds."""
    return obj.made == "call" and not obj.key


def _beside(run: Run, made: Ref, kept: Ref) -> bool:
    """Whether a new value is put where the kept one comes from: `buf = state["buf"] = torch.zeros(2)`."""
    holder = kept.obj.parent
    held = run.now.fields(holder).values() if holder is not None else ()
    return any(one.obj is made.obj for value in held for one in value.refs)


def lost_write(run: Run, node: ast.AST, value: Value, op: str) -> None:
    """The statement's only effect was a write to the value; say so if nobody else can see that storage."""
    obj = value.obj
    if obj is None or any(ref.place is not None for ref in value.refs) or obj.owner != "fresh":
        return
    copied = obj.copied
    if copied is None or obj.made in ("", "call"):
        return
    index = obj.data if obj.made == "index" else None
    evidence = max(run.evidence_of(copied, run.stmt), run.evidence(obj, run.stmt))
    if obj.made == "index":
        evidence = max(evidence, 1)
    elif obj.made in library.TENSOR_ONLY:
        evidence = max(evidence, 2)
    written = selection(node, obj)
    seen = written is not None and seen_elsewhere(copied)
    run.fact(
        LostWrite(
            site=node,
            base=copied.place.name if copied.place is not None else copied.obj.key or "the tensor",
            op=op,
            copied_by=obj.made,
            index=index,
            evidence=evidence,
            probing=run.quiet > 0,
            statement=run.stmt,
            copy=obj.node if seen else None,
            written=written,
            joined=seen and joins(run, written, obj),
            number=isinstance(node, ast.Call) and len(node.args) == 1 and number(run, node.args[0]),
            repeatable=seen and obj.node is not None and repeatable(run, obj.node),
        )
    )


def asked_for_order(write: Write) -> bool:
    """Whether a write comes to nothing expanded, as a test on the way to it tells."""
    arms = write.arms | write.ref.arms
    return any(arm.text.endswith(".is_contiguous()") if arm.taken else _OF_STRIDES.search(arm.text) for arm in arms)


def _silent(write: Write, ref: Ref, overlap: Link) -> bool | None:
    """Whether torch lets the write pass: it raises where it sees the overlap, not for a part or a fill."""
    if write.how == "call":
        return None
    if write.how == "subscript" and isinstance(write.node, ast.Subscript):
        index = write.node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        slices = [isinstance(part, ast.Slice) for part in parts]
        if any(
            link.key is not None for link in ref.chain[ref.chain.index(overlap) + 1 :] if link.node is not write.node
        ):
            return None
        # Integers may take the expanded dimension away, slices keep it.
        return True if not any(slices) else None if not slices[0] else False
    if any(link.key is not None for link in ref.chain[ref.chain.index(overlap) + 1 :]):
        return None
    return write.op in ("fill_", "zero_", "masked_fill_", "index_put_", "index_fill_") or overlap.op == "unfold"
