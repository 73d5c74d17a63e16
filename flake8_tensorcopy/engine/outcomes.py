"""What only a whole statement or function shows: dropped results, accumulators, bindings never read."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.aliases import settle_copies
from flake8_tensorcopy.engine.copies import last_copy
from flake8_tensorcopy.engine.defaults import shared_defaults
from flake8_tensorcopy.engine.evaluate import evaluate
from flake8_tensorcopy.engine.facts import (
    AccumulatedItem,
    DroppedResult,
    LostWrite,
    StaleGradient,
    StaleRead,
    changed,
)
from flake8_tensorcopy.engine.gradients import settle_writes
from flake8_tensorcopy.engine.handed_out import kept_results, live_in_containers
from flake8_tensorcopy.engine.host import host_scalar, shown_once
from flake8_tensorcopy.engine.indexing import without_versions
from flake8_tensorcopy.engine.liveness import bound_here_only, kept_to_itself, read_elsewhere, read_later
from flake8_tensorcopy.engine.loading import makes_batches
from flake8_tensorcopy.engine.loops import finish_loops
from flake8_tensorcopy.engine.parameters import finish_wraps
from flake8_tensorcopy.engine.repeated import finish_repeats
from flake8_tensorcopy.engine.replaced import report_replaced
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import finish as finish_graph
from flake8_tensorcopy.engine.snapshots import kept_before_writes, kept_for_later
from flake8_tensorcopy.engine.staleness import settle
from flake8_tensorcopy.engine.storages import finish_storages
from flake8_tensorcopy.engine.tiling import mixed_repeats
from flake8_tensorcopy.engine.trained import finish_training, judge_inputs
from flake8_tensorcopy.engine.transfers import to_device_only
from flake8_tensorcopy.engine.unwrapped import report_unwrapped
from flake8_tensorcopy.engine.updating import change_of, under_no_grad
from flake8_tensorcopy.engine.values import (
    Arm,
    Obj,
)
from flake8_tensorcopy.engine.written_back import repeatable


def dropped(run: Run, call: ast.Call) -> None:
    """A call whose result nobody takes: a statement, or one of several calls in one."""
    known = run.method_calls.get(call)
    alone = isinstance(run.stmt, ast.Expr) and run.stmt.value is call
    if known is None or not isinstance(call.func, ast.Attribute):
        if alone:
            _dropped_function(run, call)
        return
    base, name = known
    op = ops.method(name)
    if op is None or op.form != "method" or op.writes or op.result not in ("fresh", "view", "maybe"):
        return
    if any(keyword.arg in ("out", "inplace") for keyword in call.keywords):
        return
    if any(_denies(arm, run.text(call.func.value)) for arm in run.now.arms):
        return
    obj = base.obj
    if obj is None or obj.refuted or any(ref.kind not in ("tensor", "unknown") for ref in base.refs):
        return
    strict = min(run.evidence_of(ref, run.stmt) for ref in base.refs)
    leaf = any(ref.obj.param or bool(ref.obj.leaf) for ref in base.refs)
    own = 2 if name in library.TENSOR_ONLY or (name == "clamp") else 0
    run.fact(
        DroppedResult(
            site=call,
            receiver=run.short(call.func.value),
            op=name,
            moves=op.result == "maybe" and (not op.layout or name == "contiguous"),
            twin=ops.method(name + "_") is not None,
            views=op.result == "view",
            evidence=max(strict, own),
            receiver_evidence=strict,
            probing=run.quiet > 0
            or op.overlaps
            or not library.CLOCKS.isdisjoint(run.function.calls)
            or _made_to_try(call.func.value, obj),
            statement=run.stmt,
            target=call.func.value,
            method=True,
            slot=_slot(run, call.func.value) if alone else "",
            alone=to_device_only(run, call) and _alone(run, call.func.value, obj),
            leaf=leaf,
            recorded=leaf and run.stmt is not None and not under_no_grad(run, run.stmt),
        )
    )
    run.about[(DroppedResult, call)] = (obj, run.stmt)


def _alone(run: Run, receiver: ast.expr, obj: Obj) -> bool:
    """No other name, item or attribute that is known holds the tensor that a local name stands for, but what it was
    taken from as an item."""
    if not isinstance(receiver, ast.Name) or isinstance(run.function.node, ast.Module):
        return False
    name = receiver.id
    others = [value for known, value in run.now.env.items() if known != name]
    source = obj.parent if obj.owner == "item" else None
    held = [value for holder, fields in run.now.heap.items() if holder is not source for value in fields.values()]
    return not any(ref.obj is obj for value in (*others, *held) for ref in value.refs)


def _made_to_try(receiver: ast.expr, obj: Obj) -> bool:
    """`torch.zeros(1).cuda()` alone: a tensor that nobody could use later is made, as to set the device up."""
    op = ops.function(f"torch.{obj.made}")
    return obj.node is receiver and obj.owner == "fresh" and op is not None and op.factory


def _dropped_function(run: Run, call: ast.Call) -> None:
    """`torch.clamp(x, 0, 1)` as a statement, where torch has a form that writes."""
    known = run.function_calls.get(call)
    if known is None or not call.args:
        return
    op, short = known
    asks = "inplace=True" if op.inplace_flag else "out=" if op.out_keyword else ""
    functional = op.name.startswith("torch.nn.functional.") and asks
    if op.writes or op.factory or not (functional or ops.method(short + "_") is not None):
        return
    first = evaluate(run, call.args[0])
    if first.obj is None or op.result not in ("fresh", "maybe", "view"):
        return
    if first.obj.slot != ".grad" and run.evidence(first.obj, run.stmt) < 3:
        return
    twin = ops.method(short + "_") is not None or ops.function(op.name + "_") is not None
    run.fact(
        DroppedResult(
            site=call,
            receiver=run.short(call.args[0]),
            op=short,
            moves=False,
            twin=twin,
            views=False,
            evidence=3,
            receiver_evidence=3,
            probing=run.quiet > 0,
            statement=run.stmt,
            target=call.args[0],
            slot=_slot(run, call.args[0]),
            leaf=first.obj.param or bool(first.obj.leaf),
            asks="" if twin else asks,
        )
    )


def _slot(run: Run, node: ast.expr) -> str:
    """What an assignment to an expression binds; empty where it would bind something else than it reads."""
    match node:
        case ast.Name(id=name):
            return "name" if name in run.now.env else "global"
        case ast.Attribute(value=base, attr=attr):
            if ops.method(attr) is None:
                return "attribute"
            return "part" if repeatable(run, base) else ""
        case ast.Subscript():
            return "item" if repeatable(run, node) else ""
    return ""


def _settle_dropped(run: Run) -> None:
    """Of results that are known to be lost: whether the name would be read if it were bound to them."""
    for mark, fact in list(run.facts.items()):
        if isinstance(fact, DroppedResult) and fact.op == "detach" and not fact.receiver_evidence:
            # Contexts, files and finalizers are detached too, by statements that are right.
            known = [base for call, (base, _) in run.method_calls.items() if call is fact.site]
            if not any(
                run.evidence_of(ref, fact.statement) or ops.method(ref.obj.made) is not None
                for base in known
                for ref in base.refs
            ):
                run.facts[mark] = changed(fact, evidence=0)
                continue
        if isinstance(fact, DroppedResult) and fact.slot == "name" and fact.evidence >= 2:
            assert fact.statement is not None and isinstance(fact.target, ast.Name)
            about = run.about.get((DroppedResult, fact.site))
            lent = about is None or (
                about[0].owner != "fresh" and any(write.ref.obj is about[0] for write in run.log)
            )  # others see what is written to it
            run.facts[mark] = changed(
                fact,
                read=read_later(run, fact.target.id, fact.statement),
                alone=fact.alone and not lent and kept_to_itself(run, fact.target.id, fact.statement),
            )


def accumulated(run: Run) -> None:
    """`acc = w[0]; acc += ..; return acc / n`: the caller's first item is the sum now."""
    for ref in [use.ref for use in run.uses]:
        top = ref.obj
        owner = top.parent
        if top.owner != "item" or owner is None or owner.owner != "argument" or ref.place is None:
            continue
        if not top.slot.strip("[]-").isdigit():
            continue
        if ref.place.origin != "name":
            continue
        reached = [top, *(held.obj for slot in run.now.fields(top).values() for held in slot.refs)]
        for write in run.log:
            obj = write.ref.obj
            adds = write.how == "augmented" or write.op in ("add_", "sub_", "mul_", "div_")
            if (
                adds
                and (obj is not top or write.ref.place is ref.place)
                and (obj is top or obj.parent is top or obj in reached)
            ):
                run.fact(
                    AccumulatedItem(
                        site=write.node,
                        writer=ref.place.name,
                        collection=owner.key,
                        op=write.op,
                        bound=ref.place.node,
                        evidence=run.evidence(obj, write.stmt),
                        inside=obj is not top,
                        copies=last_copy(run, ref),
                    )
                )


def _denies(arm: Arm, receiver: str) -> bool:
    """The path passed a test which says that this is no tensor."""
    test = arm.test
    return not arm.taken and isinstance(test, tuple) and str(test[0]).startswith(f"isinstance({receiver},")


def only_copies(run: Run, node: ast.If) -> bool:
    """The branch spares or redoes work; it concludes nothing from the addresses.

    A conclusion is an error, an answer, or a write in place that is taken for safe.
    """
    tested = {text for test in run.pointer_tests for text in (test.left, test.right)}
    for item in node.body:
        match item:
            case ast.Raise() | ast.Assert() | ast.Return() | ast.Break() | ast.Continue():
                return False
            case ast.AugAssign(target=target) if run.text(target) in tested:
                return False
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=base, attr=name))):
                if name[-1:] == "_" and name != "copy_" and run.text(base) in tested:
                    return False
    return True


def pointer_results(run: Run, asserted: bool, guards: bool) -> None:
    for test in run.pointer_tests:
        run.fact(changed(test, asserted=asserted, guards_copy=guards))
    run.pointer_tests = []


def batch_of_tensors(run: Run, node: ast.For | ast.AsyncFor) -> None:
    """`for images, labels in loader`: a loader's batches unpack into tensors."""
    target, over = node.target, node.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id in ("enumerate", "tqdm"):
        if over.func.id == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]
        over = over.args[0] if over.args else over
    if not isinstance(target, ast.Tuple) or not makes_batches(run, over):
        return
    within = [one for item in target.elts if isinstance(item, ast.Tuple) for one in item.elts]
    for item in (*target.elts, *within):
        value = run.now.env.get(item.id) if isinstance(item, ast.Name) else None
        if value is not None and value.obj is not None and value.obj.kind == "unknown":
            value.obj.uses.append((3, None))


def finish_run(run: Run) -> None:
    """Facts that need the whole function: bindings never read, moves only logged, snapshots edited for nothing."""
    settle(run)
    _settle_dropped(run)
    shared_defaults(run)
    kept_results(run)
    live_in_containers(run)
    settle_writes(run)
    settle_copies(run)
    kept_before_writes(run)
    kept_for_later(run)
    finish_repeats(run)
    finish_wraps(run)
    finish_storages(run)
    judge_inputs(run)
    finish_graph(run)
    finish_training(run)
    report_unwrapped(run)
    report_replaced(run)
    if run.tilings:
        mixed_repeats(run)
    finish_loops(run)
    alive = {fact.site for place, fact, _ in run.rebindings if place.read}
    for _, fact, was in run.rebindings:
        if fact.site not in alive and not read_elsewhere(run, fact.name):
            updates = fact.computed and (fact.uses_itself or fact.uses_sibling)
            change = change_of(run, fact.site, fact.name) if updates else None
            plain = was.obj.graph is False and not was.obj.leaf and not was.obj.param
            run.fact(changed(fact, evidence=run.evidence_of(was, fact.site), change=change, plain=plain))
    for place, (move, ref) in run.moves.items():
        if run.logged[place] == {"logged"} and bound_here_only(run, place):
            host_scalar(run, move, ref, "logged", shown_once(run, place, move))
    for mark, known in run.facts.items():
        if isinstance(known, StaleRead):
            names = without_versions(known.reader), without_versions(known.writer)
            run.facts[mark] = changed(known, reader=names[0], writer=names[1])
        elif isinstance(known, StaleGradient):
            run.facts[mark] = changed(known, reader=without_versions(known.reader))
    for obj, (target, name, _) in run.edited.items():
        if obj not in run.loaded and not read_elsewhere(run, name):
            run.fact(
                LostWrite(
                    site=target,
                    base=name,
                    op="[...] =",
                    copied_by="state_dict",
                    index=None,
                    evidence=3,
                    probing=False,
                )
            )
