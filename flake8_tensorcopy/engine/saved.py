"""What operations keep for backward, and the writes that spoil it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.facts import (
    BypassedWrite,
    ForbiddenWrite,
    InferenceUse,
    MarkedNonLeaf,
    SavedWrite,
    changed,
)
from flake8_tensorcopy.engine.freezing import frozen
from flake8_tensorcopy.engine.graph import (
    Sink,
    ancestors,
    behind,
    graph_of,
    graph_of_result,
    items_of,
    looks_at_mode,
    meets,
    without_grad,
)
from flake8_tensorcopy.engine.keeping import ACTIVATIONS, Keeps, kept_by
from flake8_tensorcopy.engine.leaves import leaf_write, on_device, settle_marks, told_inside
from flake8_tensorcopy.engine.linked import dtype_of, linked, on_graph, operand, perhaps_several
from flake8_tensorcopy.engine.nodes import children, start_of
from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.engine.values import ALIAS, DETACH, MAYBE, NUMPY, UNSURE, VIEW, Arm, Link, Obj, Ref, Value, Write

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.facts import Fact
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.source import Function

MAX_SAVED = 12  # of one storage
MASKED = 1e4  # a score this far below the others has no share in a softmax

MAX_NAMES = 500  # in a function that has more, a write is not repaired by binding its name to a new value
_DERIVATIVE = re.compile(r"grad|backward|deriv|jacobian|hessian|vjp|(^|_)bwd", re.IGNORECASE)

_PRODUCTS_IN_PLACE = frozenset("mul_ multiply_ div_ divide_ true_divide_".split())
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
# Results of several views of one op, by the step that took one of them.
_TAKEN = frozenset({"iteration", "unpacking"})  # of several tensors, too
_SEVERAL = _TAKEN | {"chunk", "split", "split_with_sizes", "unbind"}


class Saved(NamedTuple):
    """A storage that a backward will read as it is now."""

    obj: Obj
    ref: Ref | None  # the operand; None for the result itself
    result: Obj
    node: ast.AST
    keeper: str
    proven: bool
    tick: int
    arms: frozenset[Arm]
    at: ast.expr | None  # the expression that is kept, and that no other name has when it is made


def operator_keeps(symbol: str, operands: list[Value]) -> Keeps | None:
    """What an operator keeps: a power its base, or its result if that is a number's."""
    match symbol:
        case "*" | "@":
            return Keeps(False, (0, 1), "product")
        case "/" if operands[0].refs:
            return Keeps(False, (0, 1), "quotient")
        case "**" if not operands[0].refs:
            return Keeps(True, (), "any")
        case "**" if operands[1].kind == "number":
            return Keeps(False, (0,), "own")
        case "abs":
            return Keeps(False, (0,), "own")
    return None


def in_place_row(module: Obj) -> Op | None:
    """The row of the function that an activation works in place by."""
    return ops.function(f"torch.nn.functional.{ACTIVATIONS.get(module.cls.rsplit('.', 1)[-1], '')}_")


def module_keeps(module: Obj) -> Keeps | None:
    """What a module of torch.nn keeps of a call."""
    name = module.cls.rsplit(".", 1)[-1]
    if name in ACTIVATIONS:
        op = ops.function("torch.nn.functional." + ACTIVATIONS[name])
        return kept_by(op) if op is not None else None
    if name in ("LSTM", "RNNCell"):
        return Keeps(True, (), "any")
    if name.startswith((*library.KEEPING_LAYERS, "Embedding")):
        return Keeps(False, (0,), "any")
    return None


def record(run: Run, node: ast.AST, keeper: str, keeps: Keeps | None, operands: list[Value], result: Obj) -> None:
    """An operation made a new storage: which operands it depends on, and what it keeps of them."""
    tape = run.tape
    inside = items_of(run, operands)
    if any(value not in operands for value in inside):
        added = [operand(ref) for value in inside for ref in value.refs if ref.obj not in result.operands]
        result.operands = (*result.operands, *added)
        operands = [*operands, *inside]
    reached = {ref.obj for value in operands for ref in value.refs if graph_of(Value((ref,))) is not False}
    tape.cut.update((result, obj) for obj in result.operands if obj not in reached)
    if any(value.refs and all(on_device(run, ref) for ref in value.refs) for value in operands):
        tape.on_device.add(result)
    if tape.in_inference and result.kind in ("tensor", "unknown"):
        tape.inference.add(result)
    if keeps is None or not run.now.grad or result.graph is False:
        return
    if keeps.output:
        at = node if isinstance(node, ast.expr) and not result.made.endswith("LSTM") else None
        _save(run, Saved(result, None, result, node, keeper, result.graph is True, run.count(), run.now.arms, at))
    # What a model of unknown make gave is on a graph, as a rule.
    perhaps = result.graph is None and keeps.how in ("own", "any")
    if result.graph is not True and not perhaps:
        return
    for index in keeps.inputs:
        if index >= len(operands) or not (perhaps or _kept(keeps, operands, index)):
            continue
        at = _operand_at(run, node, index, result)
        for ref in operands[index].refs:
            _keep_operand(run, node, keeper, ref, result, at)


def _kept(keeps: Keeps, operands: list[Value], index: int) -> bool:
    """Whether an operand is among what is kept, given which operands require grad."""
    match keeps.how:
        case "product":
            return any(graph_of(operands[other]) for other in keeps.inputs if other != index and other < len(operands))
        case "quotient":
            return index == 1 or graph_of(operands[1]) is True
        case "weight":  # the ends for the gradient of a weight, which may be a number
            return index == 2 or (len(operands) > 2 and graph_of(operands[2]) is True)
        case "own":
            return graph_of(operands[index]) is True
    return True


def _operand_at(run: Run, node: ast.AST, index: int, result: Obj) -> ast.expr | None:
    """The expression of an operand."""
    from flake8_tensorcopy.engine.evaluate import is_imported

    match node:
        case ast.BinOp(left=left, right=right):
            return (left, right)[index]
        case ast.Call(args=args) if any(isinstance(one, ast.Starred) for one in args):
            return None
        case ast.Call(func=ast.Attribute(value=value), args=args) if (
            not result.made.startswith("torch.nn.") and is_imported(run, node.func) is None
        ):
            given = [value, *args]
        case ast.Call(args=args):
            given = args
        case _:
            return None
    return given[index] if index < len(given) else None


def _keep_operand(run: Run, node: ast.AST, keeper: str, ref: Ref, result: Obj, at: ast.expr | None) -> None:
    unclear = any(link.kind in (UNSURE, NUMPY) or link.op == "data" for link in ref.chain)
    perhaps = any(link.kind == MAYBE for link in ref.chain)
    if unclear or ref.kind not in ("tensor", "unknown") or (perhaps and ref.place is None):
        return
    if ref.obj in run.tape.inference:
        made = ref.obj.node
        name = ref.place.name if ref.place is not None else ref.obj.key or "a tensor"
        run.tape.found.append(InferenceUse(site=node, value=name, made=made, keeper=keeper))
    saved = Saved(ref.obj, ref, result, node, keeper, result.graph is True, run.count(), run.now.arms | ref.arms, at)
    if not perhaps:
        _save(run, saved)
    elif ref.place is not None:
        known = run.tape.named.setdefault(ref.place, [])
        if len(known) < MAX_SAVED:
            known.append(saved)


def keep_index(run: Run, node: ast.Subscript, chosen: Value, index: Value) -> None:
    """`x[mask]`: what chooses elements of a value with a graph is kept to tell where their gradients go."""
    for ref in chosen.refs if run.now.grad else ():
        if ref.obj.node is node and ref.obj.made == "index" and ref.obj.graph is True:
            for one in index.refs:
                _keep_operand(run, node, "[]", one, ref.obj, node.slice)


def keep_chosen(run: Run, target: ast.Subscript, ref: Ref) -> None:
    """`x[mask] = 0`: what chooses the elements is kept to tell which gradients end there."""
    name = target.slice
    index = run.now.env.get(name.id) if isinstance(name, ast.Name) else None
    written = ref.obj.graph is True and not any(link.kind in (DETACH, NUMPY, MAYBE, UNSURE) for link in ref.chain)
    for one in index.refs if index is not None and written and run.now.grad else ():
        if one.obj is not ref.obj:
            _keep_operand(run, target, "[] =", one, ref.obj, None)


def _save(run: Run, saved: Saved) -> None:
    known = run.tape.saved.setdefault(saved.obj, [])
    if len(known) < MAX_SAVED:
        known.append(saved)


def record_in_place(
    run: Run, node: ast.AST, op: Op | None, name: str, refs: tuple[Ref, ...], others: list[Value]
) -> None:
    """An operation that writes its first operand: what it keeps of its result, and of the other ones."""
    if not run.now.grad:
        return
    for ref in refs:
        obj = ref.obj
        if any(link.kind in (DETACH, NUMPY, MAYBE, UNSURE) for link in ref.chain) or obj.graph is False:
            continue
        if op is not None and op.saves_output:
            _save(run, Saved(obj, None, obj, node, name, obj.graph is True, run.count(), run.now.arms, None))
        if name in _PRODUCTS_IN_PLACE and obj.graph is True:
            at = next(iter(node.args), None) if isinstance(node, ast.Call) else getattr(node, "value", None)
            for other in others[:1]:
                for kept in other.refs:
                    if kept.obj is not obj:
                        _keep_operand(run, node, name, kept, obj, at)


# ----- writes


def judge_write(run: Run, write: Write, whole: Value) -> None:
    """What a write does to the graph; `whole` is what is written, with all its alternatives."""
    tape = run.tape
    if write.how in ("training", "part") or tape.expected:
        return
    ref = write.ref
    links = ref.chain[:-1] if write.how in ("subscript", "augmented") and _is_part(write, ref) else ref.chain
    if ref.kind not in ("tensor", "unknown", "array") or looks_at_mode(write.arms) or _other_attribute(write):
        return
    unclear = any(link.kind in (MAYBE, UNSURE) for link in links)
    if not unclear and leaf_write(run, write, whole):
        return
    if ref.obj.owner != "fresh" and write.how in ("augmented", "subscript") and run.evidence_of(ref, write.stmt) < 3:
        return  # an assignment would also do to a list or a number
    forbidden_write(run, write, links)
    if unclear:
        for saved in _under_the_name(run, ref, links):
            if meets(saved.arms, write.arms) and saved.node is not write.node:
                tape.spoiled.append((saved, write))
        return
    alike = (ref.obj,) if ref.obj.any_of is None else (ref.obj, ref.obj.any_of)
    for saved in [one for obj in dict.fromkeys(alike) for one in tape.saved.get(obj, ())]:
        if meets(saved.arms, write.arms) and saved.node is not write.node:
            tape.spoiled.append((saved, write))
            tape.rebindable[write.node] = tape.rebindable.get(write.node, True) and _has_one_name(run, write)
    through = bypasses(ref) and not ref.obj.leaf and not (_masks_out(run, write) or _shifts(run, write))
    graph = graph_of_result([Value((Ref(ref.obj),))]) if through else False
    supposed = _given(run, ref.obj) if graph is None and ref.obj.owner == "fresh" else ()
    asked = graph is None and not supposed
    if graph is True or supposed or (asked and _of_a_model(run, ref.obj)):
        tape.bypassed.append(
            (
                write,
                BypassedWrite(
                    site=write.node,
                    writer=write.target,
                    value=ref.place.name if ref.place is not None else ref.obj.key,
                    op=write.op,
                    how=write.how,
                    made=ref.obj.node,
                    inner=write.inner,
                    supposed=supposed,
                ),
                asked,
            )
        )


def _under_the_name(run: Run, ref: Ref, links: tuple[Link, ...]) -> list[Saved]:
    """What is kept under the name that is written: whether `x = x.to(device)` copied or not, both mean that tensor."""
    found: list[Saved] = []
    for saved in run.tape.named.get(ref.place, ()) if ref.place is not None else ():
        chain = saved.ref.chain if saved.ref is not None else ()
        if links[: len(chain)] == chain and not any(link.kind in (MAYBE, UNSURE) for link in links[len(chain) :]):
            found.append(saved)
    return found


def _has_one_name(run: Run, write: Write) -> bool:
    """Whether a local name that a statement writes is all that has the value: it could be bound to a new one."""
    ref, state = write.ref, run.now
    match write.stmt:
        case ast.AugAssign(target=ast.Name(id=name)):
            pass
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=op)) as call):
            if call is not write.node or ops.method(op[:-1]) is None or not _binds(run, name):
                return False
        case _:
            return False
    if not write.grad or write.mixed or ref.obj.owner != "fresh" or ref.obj.leaf or ref.obj.param:
        return False
    if write.how not in ("augmented", "method") or any(link.kind != ALIAS for link in ref.chain):
        return False
    if len(state.env) > MAX_NAMES:
        return False
    pending = [value for known, value in state.env.items() if known != name]
    seen: set[Obj] = set()
    while pending:
        for obj in {one.obj for one in pending.pop().refs} - seen:
            if obj is ref.obj:
                return False
            seen.add(obj)
            pending.extend(state.fields(obj).values())
    return True


def _binds(run: Run, name: str) -> bool:
    """Whether a statement of the function itself binds a name."""
    if run.binds is None:
        found: set[str] = set()
        pending: list[ast.AST] = [*run.function.node.body]
        while pending:
            node = pending.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                continue
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            pending.extend(children(node))
        run.binds = found
    return name in run.binds


def _other_attribute(write: Write) -> bool:
    """`p.extra += x`: an attribute that torch's tensors do not have."""
    node, chain = write.node, write.ref.chain
    if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Attribute):
        return False
    return bool(chain) and chain[-1].op == node.target.attr and ops.method(node.target.attr) is None


def _is_part(write: Write, ref: Ref) -> bool:
    """The last step of the derivation is the index that is written."""
    return bool(ref.chain) and ref.chain[-1].op == "[]"


def bypasses(ref: Ref) -> bool:
    """Whether autograd sees no write through a reference: `.data`, and the array of a detached tensor."""
    return any(link.op == "data" or link.kind == NUMPY for link in ref.chain)


def _shifts(run: Run, write: Write) -> bool:
    """`x.data.add_(noise)`: the derivative is 1 either way, of what is added there is none."""
    if write.op not in ("add_", "sub_", "+=", "-="):
        return False
    node, operands = run.operands or (None, [])
    return node is write.node and all(graph_of(value) is not True for _, value in operands)


def _masks_out(run: Run, write: Write) -> bool:
    """`scores.data.masked_fill_(mask, -math.inf)`: a softmax gives what it masks no gradient, recorded or not."""
    match write.node:
        case ast.Call(func=ast.Attribute(attr="masked_fill_"), args=[_, value]):
            return _next_to_nothing(run, value)
    match write.stmt:
        case ast.Assign(targets=[ast.Subscript()], value=value):
            return _next_to_nothing(run, value)
    return False


def _next_to_nothing(run: Run, node: ast.expr) -> bool:
    """Whether a number is so far below zero that a softmax makes nothing of it."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() | int() as size)):
            return size >= MASKED
        case ast.UnaryOp(op=ast.USub(), operand=ast.Attribute(attr="inf")):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Call() as call):
            return run.text(call) in ("float('inf')", "float('Inf')", "float('infinity')")
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(said))]):
            return said.strip().lower() in ("-inf", "-infinity")
        case ast.Attribute(value=ast.Call(func=func), attr="min"):
            return run.names.qualify(func) == "torch.finfo"
    return False


def forbidden_write(run: Run, write: Write, links: tuple[Link, ...]) -> None:
    """A write to one of the views that `unbind`, `chunk`, `split` or a loop over a tensor made."""
    if not write.grad or any(link.kind in (DETACH, NUMPY) for link in links):
        return
    maker = next((link for link in links if link.kind == VIEW and link.op in _SEVERAL), None)
    obj = write.ref.obj
    # Of a tensor that was perhaps copied before these are views all the same.
    if maker is None or any(link.kind in (MAYBE, UNSURE) for link in links[links.index(maker) :]):
        return
    if on_graph(write.ref) is False or not (_one_tensor(obj) or _taken_for_one(run, obj)):
        return
    whole = not any(link.kind == VIEW for link in links[: links.index(maker)])
    several = whole and maker.op in _TAKEN and (perhaps_several(obj) or not _has_rows(obj))
    if _of_integers(write.ref) or several:
        return
    # What an argument was computed into may require grad; of others a call has to say so.
    supposed = _from_arguments(obj) if obj.graph is None and obj.made in _ARITHMETIC else ()
    asked = obj.graph is None and not supposed
    if (asked and not (supposed := _given(run, obj))) or told_inside(run, write, ForbiddenWrite):
        return
    if write.how == "augmented" and not _is_part(write, write.ref) and links[-1].op not in (*_SEVERAL, "="):
        return
    run.tape.found.append(
        ForbiddenWrite(
            site=write.node,
            writer=write.target,
            op=write.op,
            how=write.how,
            maker=maker.op,
            made=maker.node,
            proven=obj.graph is True,
            supposed=supposed,
            inner=write.inner,
            asked=asked,
        )
    )


def _of_integers(ref: Ref) -> bool:
    """Whether a tensor holds integers or bools, which require no grad, whatever they were cast from."""
    cast = any(link.op in _INTEGRAL for link in ref.chain)
    return cast or dtype_of(ref).startswith(("int", "uint", "bool"))


_INTEGRAL = frozenset({"long", "int", "short", "char", "byte", "bool"})


def _one_tensor(obj: Obj) -> bool:
    """Whether it is one tensor: a module of unknown make may return several."""
    return obj.kind == "tensor" and not (obj.made.startswith("torch.nn.") and library.has_weights(obj.made) is None)


def _has_rows(obj: Obj) -> bool:
    """Whether what is gone through, or unpacked, is surely one tensor: what a call has made may be a tuple of them."""
    by = [one.made for one in obj.operands if one.kind in ("module", "instance")]
    if obj.kind == "unknown" and obj.owner == "fresh" and obj.made not in _ARITHMETIC:
        row = ops.method(obj.made)
        return row is not None and row.many == 1
    return all(name.startswith("torch.nn.") and (row := ops.function(name)) and row.many == 1 for name in by)


def _taken_for_one(run: Run, obj: Obj) -> bool:
    """Whether an argument, or what it was computed into, is used as a tensor."""
    return obj.kind == "unknown" and obj.owner in ("argument", "fresh") and run.evidence(obj) >= 2


def _given(run: Run, obj: Obj) -> tuple[str, ...]:
    """The arguments that a value hangs on in the graph: it requires grad where one of them does."""
    return tuple(one.key for one in linked(obj, strict=True) if one in run.params and one.graph is None)


def _by_hand(run: Run, write: Write) -> bool:
    """Whether the names say that a derivative is computed by hand, without autograd."""
    name = write.ref.place.name if write.ref.place is not None else ""
    return any(_DERIVATIVE.search(text) for text in (run.function.name, name, write.ref.obj.key, write.target))


def _from_arguments(obj: Obj) -> tuple[str, ...]:
    """The arguments that a new value was computed from, which may require grad."""
    behind_it = ancestors(obj) if obj.owner == "fresh" else []
    if any(one.kind == "module" and frozen(one) for one in behind_it):
        return ()
    return tuple(
        one.key
        for one in behind_it
        if one.owner == "argument" and one.kind in ("tensor", "unknown") and not one.refuted and one.graph is None
    )


def detached_view(run: Run, node: ast.Call, ref: Ref, target: str) -> None:
    """`x.view(-1).detach_()`: torch refuses to detach a view in place."""
    link = next((one for one in reversed(ref.chain) if one.kind != ALIAS), None)
    if link is None or link.kind != VIEW or run.tape.expected or link.op in ("Parameter", "copy.copy"):
        return
    proven = _one_tensor(ref.obj) or (link.op not in _SEVERAL and run.evidence(ref.obj, run.stmt) >= 1)
    if any(one.kind in (UNSURE, MAYBE, NUMPY, DETACH) for one in ref.chain) or not proven:
        return
    run.tape.found.append(
        ForbiddenWrite(
            site=node,
            writer=target,
            op="detach_",
            how="method",
            maker=link.op,
            made=link.node,
            proven=True,
            supposed=(),
        )
    )


# ----- the end of a run


def finish(run: Run) -> None:
    """Which of the spoiled values a backward would come to; nothing where the file calls the function without grad."""
    tape = run.tape
    if not (tape.spoiled or tape.found or tape.bypassed or tape.marked) or without_grad(run.module, run.function):
        return
    settle_marks(run)
    for fact in tape.found:
        run.fact(fact)
    if not (tape.spoiled or tape.bypassed):
        return
    reached = [(one, behind(run, one)) for one in tape.sinks]
    refused = {fact.site for fact in tape.found if isinstance(fact, ForbiddenWrite) and fact.proven}  # at once
    spoiled = [
        (saved, one)
        for saved, write in tape.spoiled
        if write.node not in refused and (one := _spoiled(run, saved, write, reached))
    ]
    kept: dict[ast.AST, list[ast.expr | None]] = {}
    for saved, found in spoiled:
        kept.setdefault(found.site, []).append(saved.at)
    for _, found in spoiled:
        at = tuple(one for one in dict.fromkeys(kept[found.site]) if one is not None)
        whole = changed(found, kept=() if None in kept[found.site] else at)
        run.fact(whole, strength=(found.proven, found.backward is not None))
    told = {mark[1] for mark in run.facts if mark[0] is SavedWrite}
    for write, bypass, asked in tape.bypassed:
        obj = write.ref.obj
        where = _reached(obj, write, reached) if write.node not in told else None
        if where is not None and (where.backward or not asked) and not _computed_before(run, where, write):
            run.fact(bypass)


def _computed_before(run: Run, where: Sink, write: Write) -> bool:
    """Whether all that goes on from what is written was computed before the write: what that kept is told of itself."""
    obj, at = write.ref.obj, start_of(write.node)
    if obj in where.objs:
        return False
    results = [one.node for one in behind(run, where) if obj in one.operands]
    return bool(results) and all(node is not None and start_of(node) < at for node in results)


def _reached(obj: Obj, write: Write, reached: list[tuple[Sink, set[Obj]]]) -> Sink | None:
    """Where a value goes after a write; a backward in this function before anything else."""
    after = [
        one
        for one, objs in reached
        if obj in objs and meets(one.arms, write.arms) and (one.tick > write.tick or (one.kept and not one.backward))
    ]
    return next((one for one in after if one.backward), after[0] if after else None)


def _spoiled(run: Run, saved: Saved, write: Write, reached: list[tuple[Sink, set[Obj]]]) -> SavedWrite | None:
    used = [
        one
        for one, _ in reached
        if one.backward and not one.retains and saved.tick < one.tick < write.tick and meets(one.arms, write.arms)
    ]
    where = _reached(saved.result, write, reached)
    if used or where is None or (not where.backward and _walked_before(saved, write, reached)):
        return None
    ref = write.ref
    leaf = bool(saved.obj.leaf or saved.obj.param)
    bypassed = bypasses(ref)
    if not where.backward and ((leaf and (bypassed or not write.grad)) or not (write.grad or saved.proven)):
        return None  # weights are updated so, after a backward somewhere else
    if told_inside(run, write, SavedWrite):
        return None
    if not saved.proven and (run.function.name == "__init__" or ref.place is None or _by_hand(run, write)):
        return None
    proven = saved.proven or (where.backward and _of_a_model(run, saved.obj))
    if saved.ref is not None and not proven:
        return None
    if not proven and (bypassed or not _from_arguments(saved.obj) or run.evidence(saved.obj, None) < 1):
        return None
    return SavedWrite(
        site=write.node,
        writer=write.target,
        op=write.op,
        how=write.how,
        saved=saved.node,
        keeper=saved.keeper,
        output=saved.ref is None,
        proven=proven,
        supposed=() if proven else _from_arguments(saved.obj),
        backward=where.node if where.backward else None,
        certain=not write.mixed,
        bypassed=bypassed,
        leaf=leaf,
        inner=write.inner,
        statement=write.stmt if run.tape.rebindable.get(write.node) and isinstance(write.stmt, ast.stmt) else None,
    )


def _walked_before(saved: Saved, write: Write, reached: list[tuple[Sink, set[Obj]]]) -> bool:
    """Whether a value was computed from what a backward had gone through, and freed: no other one comes to it."""
    made_from: set[Obj] | None = None
    for one, objs in reached:
        if one.backward and not one.retains and one.tick < saved.tick and meets(one.arms, write.arms):
            made_from = made_from or {known for known in ancestors(saved.obj) if known.operands and not known.leaf}
            if not made_from.isdisjoint(objs):
                return True
    return False


def _of_a_model(run: Run, obj: Obj) -> bool:
    """Whether a value was computed from the output of what was called with a graph, and is no model kept as it is."""
    found = [call for call in run.trail.giving(linked(obj, strict=True)) if call.grad]
    return bool(found) and not any(library.says_frozen(call.module.key) for call in found)


def _run_callers(module: Module, function: Function) -> None:
    """Run what calls a function, or makes the objects that run it when they are called."""
    made = function.cls is not None and function.name in ("__init__", "__call__", "forward")
    module.run_callers(function.cls.name if function.cls is not None and made else function.name)


def _some_call_gives(module: Module, function: Function, names: tuple[str, ...]) -> bool:
    """Whether a call of a function gives one of these arguments what requires grad."""
    _run_callers(module, function)
    graphs = module.graphs_given.get(function, {})
    return any(True in graphs.get(name, ()) for name in names)


def known_by_calls(module: Module, function: Function, fact: Fact) -> Fact | None:
    """A fact that supposes that arguments require grad: so it is where a call of the file gives one that does; and
    there is no such fact where all of them give what does not."""
    if isinstance(fact, (MarkedNonLeaf, BypassedWrite)) and fact.supposed:
        return fact if _some_call_gives(module, function, fact.supposed) else None
    if isinstance(fact, ForbiddenWrite) and fact.asked:
        return changed(fact, proven=True) if _some_call_gives(module, function, fact.supposed) else None
    if not isinstance(fact, (SavedWrite, ForbiddenWrite)) or fact.proven:
        return fact
    _run_callers(module, function)
    known = module.graphs_given.get(function, {})
    given = [known.get(name, {None}) for name in fact.supposed] if known else [{None}]
    if any(True in one for one in given):
        return changed(fact, proven=True)
    return None if all(one == {False} for one in given) else fact
