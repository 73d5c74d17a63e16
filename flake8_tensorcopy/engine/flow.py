"""Statements: the abstract run of one function, with its branches, loops, exits, handlers and grad mode."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.calls import host_scalar, moved_to_host
from flake8_tensorcopy.engine.evaluate import (
    arithmetic,
    arm_of,
    array_like,
    element_of,
    evaluate,
    index_kind,
    index_part,
    index_text,
    is_imported,
    item_key,
    operator,
    store_item,
    subscript_of,
)
from flake8_tensorcopy.engine.facts import (
    AccumulatedItem,
    DeadRebinding,
    DroppedResult,
    LeafRebound,
    LostWrite,
    ReboundData,
    SharedWrite,
    StaleRead,
)
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.run import LoopFrame, Run
from flake8_tensorcopy.engine.source import STATE_DICT, Function, FunctionNode
from flake8_tensorcopy.engine.state import State, join, join_all
from flake8_tensorcopy.engine.values import (
    ALIAS,
    DETACH,
    MAYBE,
    NUMBER,
    SNAPSHOT,
    UNKNOWN,
    UNSURE,
    VIEW,
    Arm,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    exclusive,
)

MAX_LOOP_DEPTH = 4


def run_function(module: Module, function: Function) -> Run:
    """Run a function (or the module's own statements) from its entry to its exits."""
    run = Run(module, function)
    node = function.node
    run.closed_over = _names_in(function)
    if isinstance(node, ast.Module):
        _block(run, [item for item in node.body if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))])
    else:
        if _no_grad_decorated(run, node) or _autograd_function(run):
            run.now.grad = False
        _bind_parameters(run, node)
        _block(run, node.body)
        for inner in function.inner:
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                _inner_function(run, inner)
    _finish_run(run)
    return run


def _names_in(function: Function) -> frozenset[str]:
    """Names that functions and lambdas inside use: a binding of one of these may be read later."""
    names: set[str] = set()
    for inner in function.inner:
        body = inner.body if isinstance(inner.body, list) else [inner.body]
        for statement in body:
            names.update(n.id for n in ast.walk(statement) if isinstance(n, ast.Name))
    return frozenset(names)


def _no_grad_decorated(run: Run, node: FunctionNode) -> bool:
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if is_imported(run, target) in ("torch.no_grad", "torch.inference_mode"):
            return True
    return False


def _autograd_function(run: Run) -> bool:
    """`forward` and `backward` of a torch.autograd.Function run with grad mode off."""
    cls = run.function.cls
    if cls is None or run.function.name not in ("forward", "backward", "setup_context", "vjp", "jvp"):
        return False
    return any((run.names.qualify(base) or "").endswith("autograd.Function") for base in cls.bases)


def _bind_parameters(run: Run, node: FunctionNode) -> None:
    spec = node.args
    arguments = [*spec.posonlyargs, *spec.args]
    cls = run.function.cls
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    classy = any(isinstance(d, ast.Name) and d.id == "classmethod" for d in node.decorator_list)
    for position, argument in enumerate([*arguments, *spec.kwonlyargs]):
        obj = Obj("unknown", "argument", argument, key=argument.arg)
        known: Obj | None = obj
        if position == 0 and cls is not None and not static:
            obj.kind = "class" if classy else run.module.kind_of_class(cls)
            obj.data, obj.cls = cls, cls.name
        else:
            known = run.module.from_annotation(argument.annotation, obj)
        run.params.append(obj)
        place = Place(argument.arg, None, origin="argument")
        run.now.bind(argument.arg, NUMBER if known is None else Value((Ref(obj, (), place),)))
    for star, kind in ((spec.vararg, "list"), (spec.kwarg, "dict")):
        if star is not None:
            obj = Obj(kind, "argument", star, key=star.arg)
            run.now.bind(star.arg, Value((Ref(obj, (), Place(star.arg, None, origin="argument")),)))


def _inner_function(run: Run, node: FunctionNode) -> None:
    """A nested function, as a run of its own whose free names are unknown."""
    from flake8_tensorcopy.engine.source import Function as Made

    function = Made(node.name, node)
    function.inner = [
        item
        for statement in node.body
        for item in ast.walk(statement)
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    ]
    inner = run_function(run.module, function)
    for mark, fact in inner.facts.items():
        run.facts.setdefault(mark, fact)


# ----- blocks and statements


def _block(run: Run, body: list[ast.stmt]) -> None:
    for statement in body:
        if run.state is None:
            return
        _statement(run, statement)


def _statement(run: Run, node: ast.stmt) -> None:
    handler = _STATEMENTS.get(type(node))
    if handler is None:
        return
    outer = run.stmt
    run.stmt = node
    run.clock += 1
    run.written_here = []
    run.pointer_tests = []
    if run.handlers and run.state is not None:
        run.handlers[-1].append(run.state.copy())
    handler(run, node)
    run.finish()
    if run.pointer_tests:
        _pointer_results(run, asserted=False, guards=False)
    run.stmt = outer


def _expr(run: Run, node: ast.Expr) -> None:
    value = evaluate(run, node.value)
    call = node.value
    if isinstance(call, ast.Await):
        call = call.value
    if not isinstance(call, ast.Call):
        return
    for written, target, op in run.written_here:
        if written is call:
            run.lost_write(call, target, op)
    if isinstance(node.value, ast.Call):
        _dropped(run, node.value, value)


def _dropped(run: Run, call: ast.Call, value: Value) -> None:
    """A call whose result nobody takes."""
    known = run.method_calls.get(call)
    if known is None or not isinstance(call.func, ast.Attribute):
        _dropped_function(run, call)
        return
    base, name = known
    op = ops.method(name)
    if op is None or op.form != "method" or op.writes or op.result not in ("fresh", "view", "maybe"):
        return
    if any(keyword.arg in ("out", "inplace") for keyword in call.keywords):
        return
    obj = base.obj
    if obj is None or obj.refuted or any(ref.kind not in ("tensor", "unknown") for ref in base.refs):
        return
    strict = min(run.evidence_of(ref, run.stmt) for ref in base.refs)
    own = 2 if name in library.TENSOR_ONLY or (name == "clamp") else 0
    run.fact(
        DroppedResult(
            site=call,
            receiver=run.short(call.func.value),
            op=name,
            moves=op.result == "maybe" and name not in library.LAYOUT - {"contiguous"},
            twin=ops.method(name + "_") is not None,
            views=op.result == "view",
            evidence=max(strict, own),
            receiver_evidence=strict,
            probing=run.quiet > 0,
        )
    )


def _dropped_function(run: Run, call: ast.Call) -> None:
    """`torch.clamp(x, 0, 1)` as a statement, where torch has a form that writes."""
    known = run.function_calls.get(call)
    if known is None or not call.args:
        return
    op, short = known
    functional = op.name.startswith("torch.nn.functional.") and (op.inplace_flag or op.out_keyword)
    if op.writes or op.factory or not (functional or ops.method(short + "_") is not None):
        return
    first = evaluate(run, call.args[0])
    if first.obj is None or run.evidence(first.obj, run.stmt) < 3 or op.result not in ("fresh", "maybe", "view"):
        return
    run.fact(
        DroppedResult(
            site=call,
            receiver=run.short(call.args[0]),
            op=short,
            moves=False,
            twin=True,
            views=False,
            evidence=3,
            receiver_evidence=3,
            probing=run.quiet > 0,
        )
    )


def _assign(run: Run, node: ast.Assign) -> None:
    if _swap(run, node):
        return
    value = evaluate(run, node.value)
    for target in node.targets:
        assign(run, target, value, node.value)


def _swap(run: Run, node: ast.Assign) -> bool:
    """`x[i], x[j] = x[j], x[i]`: the right side is views, so the second value is gone before it is read."""
    if len(node.targets) != 1:
        return False
    match node.targets[0], node.value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            pass
        case _:
            return False
    if not all(isinstance(item, ast.Subscript) for item in (*targets, *values)):
        return False
    texts = [run.text(item) for item in targets]
    if sorted(texts) != sorted(run.text(item) for item in values) or texts == [run.text(item) for item in values]:
        return False
    first = targets[0]
    assert isinstance(first, ast.Subscript)
    base = evaluate(run, first.value)
    held = [subscript_of(run, item, evaluate(run, item.value)) for item in values if isinstance(item, ast.Subscript)]
    for value in held:
        for ref in value.refs:
            if ref.obj.kind == "tensor" and ref.chain and ref.chain[-1].kind == VIEW:
                run.fact(_swap_fact(run, node, first, ref))
                break
    for item in targets:
        if isinstance(item, ast.Subscript):
            _store_subscript(run, item, UNKNOWN, node.value, base)
    return True


def _swap_fact(run: Run, node: ast.Assign, first: ast.Subscript, ref: Ref) -> StaleRead:
    name = run.short(first.value)
    values = node.value
    assert isinstance(values, ast.Tuple)
    return StaleRead(
        site=node,
        reader=run.short(values.elts[1]),
        bound=node,
        source=values.elts[1],
        writer=name,
        op="=",
        how="swap",
        inner=None,
        read=values.elts[1],
        link="view",
        links=("index",),
        evidence=run.evidence(ref.obj, node),
        together=True,
        kept=True,
        compared=False,
        role="store",
        reader_origin="part",
        writer_origin="name",
        reader_derived=True,
        writer_derived=False,
        stored_from="",
        owner=ref.obj.owner,
        certain=True,
        writer_certain=True,
        same_part=True,
        reader_is_source=False,
        writer_used=True,
        parameter=ref.obj.param,
        activation=False,
        maybe_op="",
    )


def assign(run: Run, target: ast.expr, value: Value, source: ast.expr) -> None:
    """Bind a target of an assignment."""
    match target:
        case ast.Name():
            _assign_name(run, target, value, source)
        case ast.Attribute():
            _store_attribute(run, target, value, source)
        case ast.Subscript():
            run.use(value, source, "store")
            _store_subscript(run, target, value, source, evaluate(run, target.value))
        case ast.Tuple() | ast.List():
            _unpack(run, target, value, source)
        case ast.Starred():
            assign(run, target.value, UNKNOWN, source)


def _assign_name(run: Run, target: ast.Name, value: Value, source: ast.expr) -> None:
    before = run.now.env.get(target.id)
    statement = run.stmt
    assert statement is not None
    run.use(value, source, "bind")
    place = Place(target.id, statement, loop=run.loop)
    if not value.refs and value.kind == "unknown":
        value = Value((Ref(Obj("unknown", "unknown", source, key=target.id)),))
    held = run.bound(value, place, source)
    for ref in held.refs:
        if ref.obj.kind in ("dict", "list") and not ref.obj.key:
            ref.obj.key = target.id
            for inside in run.now.fields(ref.obj).values():
                for item in inside.refs:
                    if item.place is not None and item.place.origin in ("item", "store"):
                        item.place.root = target.id
        elif not ref.obj.key and ref.obj.owner == "fresh":
            ref.obj.key = target.id
        move = moved_to_host(run, ref)
        if move is not None and move is source:
            run.logged[place] = set()
            run.moves[place] = (move, ref)
    run.now.bind(target.id, held)
    _leaf_candidate(run, place, value, source, target.id, before)
    _note_rebinding(run, target.id, before, held, place, source)


def _leaf_candidate(
    run: Run, place: Place, value: Value, source: ast.expr, name: str, before: Value | None
) -> None:
    """`w = w - lr * w.grad`: wrong if `.grad` of the new value is read."""
    obj = value.obj
    if obj is None or obj.owner != "fresh" or obj.leaf or value.refs[0].place is not None:
        return
    if run.stmt is not None and (f"{name}.grad" in run.text(source) or _from_gradient(obj, before)):
        run.leaf_candidates[place] = (run.stmt, name)


def _from_gradient(obj: Obj, before: Value | None) -> bool:
    """Whether a computed value has the gradient of what the name held before among its operands."""
    held = {ref.obj for ref in before.refs} if before is not None else set()
    pending, seen = [obj], set()
    while pending and len(seen) < 40:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.slot == ".grad" and one.parent in held:
            return True
        pending.extend(one.source)
    return False


def _note_rebinding(run: Run, name: str, before: Value | None, held: Value, place: Place, source: ast.expr) -> None:
    """Remember a rebinding of somebody's tensor, to see at the end whether the new one was ever read."""
    if before is None or not before.refs or name in run.closed_over:
        return
    was = before.refs[0]
    if was.place is None or was.place.name != name:
        return
    if was.place.origin == "loop":
        origin = "loop"
    elif was.place.origin == "argument":
        origin = "argument"
    elif was.chain and was.chain[-1].kind == ALIAS and was.obj.owner in ("attribute", "item"):
        origin = "grad" if was.obj.slot == ".grad" else "parameter"
    elif was.obj.slot == ".grad":
        origin = "grad"
    else:
        return
    names = set(run.names_in(source))
    siblings = run.siblings.get(name, frozenset()) & names
    statement = run.stmt
    assert statement is not None
    gradient = ".grad" in run.text(source)
    if not gradient:
        for used in names:
            value = run.now.env.get(used)
            obj = value.obj if value is not None else None
            if obj is not None and (obj.slot == ".grad" or "autograd.grad" in _makers(obj)):
                gradient = True
    obj = held.obj
    run.rebindings.append(
        (
            place,
            DeadRebinding(
                site=statement,
                name=name,
                origin=origin,
                source=was.place.name if origin == "loop" else was.obj.key,
                uses_itself=name in names,
                uses_sibling=bool(siblings),
                update=gradient,
                parameter=was.obj.param,
                computed=obj is not None
                and obj.owner == "fresh"
                and obj is not was.obj
                and obj.made not in ("call", "tuple"),
                evidence=0,
                op=obj.made if obj is not None else "",
            ),
            was,
        )
    )


def _makers(obj: Obj) -> set[str]:
    found, pending = set(), [obj]
    while pending and len(found) < 12:
        one = pending.pop()
        found.add(one.made)
        if one.parent is not None:
            pending.append(one.parent)
    return found


def _store_attribute(run: Run, target: ast.Attribute, value: Value, source: ast.expr) -> None:
    base = evaluate(run, target.value)
    if target.attr == "data" and base.refs and base.obj is not None and base.obj.kind in ("tensor", "unknown"):
        _rebind_data(run, target, base, value, source)
        return
    if target.attr == "requires_grad":
        for ref in base.refs:
            ref.obj.leaf, ref.obj.graph = True, True
        return
    for ref in base.refs:
        obj = ref.obj
        if obj.kind == "tensor" and target.attr != "grad":
            continue
        key = "." + target.attr
        run.rebinds.append((obj, key))
        before = run.field(obj, key)
        run.use(value, source, "store")
        name = f"{obj.key or run.short(target.value)}.{target.attr}"
        place = Place(name, run.stmt, root=obj.key, origin="attribute", loop=run.loop)
        held = run.bound(value, place, source)
        run.now.set_field(obj, key, held)
        for item in held.refs:
            if not item.obj.key:
                item.obj.key = name
        _leaf_rebound(run, target, obj, before, value, source, name)
    if not base.refs:
        run.use(value, source, "store")


def _rebind_data(run: Run, target: ast.Attribute, base: Value, value: Value, source: ast.expr) -> None:
    """`a.data = b.data` shares, `x[..].data = v` is lost, `p.data = new` moves the parameter."""
    temp = base.obj
    run.use(value, source, "store")
    if temp is not None and base.refs[0].chain and not any(ref.place is None for ref in base.refs):
        link = base.refs[0].chain[-1]
        if link.node is target.value and link.kind == VIEW and isinstance(target.value, ast.Subscript):
            run.fact(
                LostWrite(
                    site=run.stmt or target,
                    base=run.short(target.value),
                    op=".data =",
                    copied_by="data",
                    index=None,
                    evidence=run.evidence(temp, run.stmt),
                    probing=run.quiet > 0,
                )
            )
            return
    shared = [
        ref
        for ref in value.refs
        if ref.place is not None
        and ref.obj.owner != "fresh"
        and all(link.kind in (DETACH, ALIAS, VIEW, SNAPSHOT) for link in ref.chain)
        and any(link.kind == DETACH for link in ref.chain)
    ]
    if shared and temp is not None and shared[0].obj is not temp:
        run.fact(
            ReboundData(
                site=run.stmt or target,
                target=run.short(target.value),
                value=run.short(source),
                parameter=is_parameter(base.refs[0]) and is_parameter(shared[0]),
                looped=all(ref.place is not None and ref.place.origin == "loop" for ref in (base.refs[0], shared[0])),
                evidence=max(run.evidence(temp, run.stmt), run.evidence(shared[0].obj, run.stmt)),
            )
        )
    if temp is not None:
        _reach_parameter(run, target, base)


def is_parameter(ref: Ref) -> bool:
    """Whether a reference is to a module's parameter (or to one of its live values)."""
    return ref.obj.param or any(link.kind == SNAPSHOT for link in ref.chain)


def _reach_parameter(run: Run, target: ast.Attribute, base: Value) -> None:
    for ref in base.refs:
        module = ref.obj.parent
        if module is not None and module.kind in ("module", "unknown") and ref.obj.param:
            run.write(target, base, ".data =", "training")
            return


def _leaf_rebound(
    run: Run, target: ast.Attribute, obj: Obj, before: Value, value: Value, source: ast.expr, name: str
) -> None:
    new = value.obj
    if new is None or new.kind != "tensor" and run.evidence(new, None) < 2 or new.leaf or new.param:
        return
    if new.owner != "fresh" or value.refs[0].place is not None:
        return
    was = before.obj
    text = run.text(target)
    mentions = text in run.text(source)
    if target.attr in run.module.survey.deleted:
        return
    if was is not None and was.param and obj.kind == "module" and new.kind == "tensor" and new.made != "call":
        run.fact(LeafRebound(site=target, target=name, reason="parameter", expected=None, evidence=3))
        return
    table = run.module.table(obj.data).get("." + target.attr) if hasattr(obj.data, "methods") else None
    made = table.obj if table is not None else None
    if made is None or not (made.leaf or made.param) or run.function.name == "__init__":
        return
    if mentions and f"{text}.grad" in run.text(source) and run.now.env.get("self") is not None:
        run.fact(LeafRebound(site=target, target=name, reason="method", expected=made.node, evidence=3))


def _store_subscript(run: Run, target: ast.Subscript, value: Value, source: ast.expr, base: Value) -> None:
    kind = index_kind(run, target.slice)
    if array_like(target.slice):
        run.note(base, 1)
    for ref in base.refs:
        obj = ref.obj
        if obj.kind in ("dict", "list", "tuple", "instance") or kind == "key":
            run.note_container(obj, target.slice)
            weak = not isinstance(target.slice, ast.Constant)
            _edit_snapshot(run, target, ref, value)
            store_item(run, obj, item_key(run, target, kind), value, source, weak=False, site=run.stmt)
            if weak and "[*]" in run.now.fields(obj):
                store_item(run, obj, "[*]", value, source, weak=True, site=run.stmt)
            _item_leaf_rebound(run, target, obj, item_key(run, target, kind), value, source)
            continue
        _, whole = index_text(run, target.slice)
        known = not whole and kind not in ("advanced", "unknown")
        link = Link(VIEW, "[]", target, key=index_part(run, target.slice) if known else None)
        through = Value((ref.derive(link),))
        if obj.kind == "unknown":
            run.now.forget(obj)
        run.write(target, through, "[...] =", "subscript", run.short(target.value))
        if ref.place is None:
            run.lost_write(run.stmt or target, Value((ref,)), "[...] =")


def _item_leaf_rebound(run: Run, target: ast.Subscript, obj: Obj, key: str, value: Value, source: ast.expr) -> None:
    """`self.params[k] = self.params[k] - lr * self.params[k].grad`, with leaves from `__init__`."""
    name = run.text(target)
    new = value.obj
    if new is None or new.owner != "fresh" or new.leaf or value.refs[0].place is not None:
        return
    if f"{name}.grad" not in run.text(source) and not _from_item_gradient(new, obj):
        return
    if run.stmt is not None:
        run.item_candidates[(obj, key.split("]")[0])] = (run.stmt, name, run.loop, new)
    for slot in (key, "[*]"):
        for ref in run.now.fields(obj).get(slot, UNKNOWN).refs:
            if ref.obj is new and ref.place is not None and run.stmt is not None:
                run.leaf_candidates[ref.place] = (run.stmt, name)
    held = obj.data
    if isinstance(held, Value) and held.obj is not None and held.obj.leaf and run.stmt is not None:
        run.fact(LeafRebound(site=run.stmt, target=name, reason="method", expected=held.obj.node, evidence=3))


def _from_item_gradient(new: Obj, container: Obj) -> bool:
    """`for k, v in params.items(): params[k] = v - lr * v.grad`."""
    pending, seen = [new], set()
    while pending and len(seen) < 40:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.slot == ".grad" and one.parent is not None and one.parent.parent is container:
            return True
        pending.extend(one.source)
    return False


def _edit_snapshot(run: Run, target: ast.Subscript, ref: Ref, value: Value) -> None:
    if ref.obj.data == "state" and ref.place is not None and isinstance(target.value, ast.Name):
        run.edited.setdefault(ref.obj, (target, ref))


def _unpack(run: Run, target: ast.Tuple | ast.List, value: Value, source: ast.expr) -> None:
    obj = value.obj
    if obj is not None and obj.kind in ("tuple", "list"):
        fields = run.now.fields(obj)
        if not any(isinstance(item, ast.Starred) for item in target.elts):
            for position, item in enumerate(target.elts):
                held = fields.get(f"[{position}]") or fields.get("[*]")
                assign(run, item, held if held is not None else run.field(obj, f"[{position}]"), source)
            return
    for position, item in enumerate(target.elts):
        if isinstance(item, ast.Starred):
            assign(run, item.value, UNKNOWN, source)
            continue
        if value.kind == "number" and not value.refs:
            assign(run, item, NUMBER, source)
            continue
        parts: list[Ref] = []
        for ref in value.refs:
            if ref.obj.kind == "iter" and isinstance(ref.obj.data, tuple) and ref.obj.data[0] == "parts":
                for inner in ref.obj.data[1][0][1].refs:
                    parts.append(inner.derive(Link(VIEW, ref.obj.made, source, key=(source, position))))
            elif ref.obj.kind in ("tensor", "array"):
                parts.append(ref.derive(Link(VIEW, "unpacking", source, key=(source, position))))
        if parts:
            assign(run, item, Value(tuple(parts)), source)
        elif value.refs and value.obj is not None and value.obj.kind == "unknown":
            held = run.field(value.obj, f"[{position}]")
            assign(run, item, held, source)
        else:
            assign(run, item, UNKNOWN, source)


def bind_target(run: Run, target: ast.expr, value: Value, source: ast.expr, origin: str = "name") -> None:
    """Bind the target of a loop, a comprehension, a with or a walrus."""
    if isinstance(target, ast.Name):
        place = Place(target.id, run.stmt, origin=origin, loop=run.loop)
        if not value.refs and value.kind == "unknown":
            value = Value((Ref(Obj("unknown", "unknown", source, key=target.id)),))
        run.now.bind(target.id, run.bound(value, place, source))
        return
    if isinstance(target, (ast.Tuple, ast.List)):
        obj = value.obj
        names = frozenset(n.id for n in ast.walk(target) if isinstance(n, ast.Name))
        for position, item in enumerate(target.elts):
            if isinstance(item, ast.Starred):
                bind_target(run, item.value, UNKNOWN, source, origin)
                continue
            held: Value | None = None
            if obj is not None and obj.kind in ("tuple", "list"):
                held = run.now.fields(obj).get(f"[{position}]")
            if held is None and obj is not None and obj.kind in ("tensor", "array"):
                held = Value(
                    tuple(ref.derive(Link(VIEW, "unpacking", source, key=(source, position))) for ref in value.refs)
                )
            if held is None and obj is not None and obj.kind in ("unknown", "list", "tuple"):
                held = run.field(obj, f"[{position}]")
            bind_target(run, item, held if held is not None else UNKNOWN, source, origin)
            if isinstance(item, ast.Name):
                run.siblings[item.id] = names - {item.id}
        return
    assign(run, target, value, source)


def _annassign(run: Run, node: ast.AnnAssign) -> None:
    if node.value is None:
        return
    value = evaluate(run, node.value)
    obj = value.obj
    if obj is not None and obj.kind == "unknown":
        run.module.from_annotation(node.annotation, obj)
    assign(run, node.target, value, node.value)


def _augassign(run: Run, node: ast.AugAssign) -> None:
    value = evaluate(run, node.value)
    role = "difference" if isinstance(node.op, ast.Sub) else "operand"
    run.use(value, node.value, role)
    op = operator(node.op) + "="
    target = node.target
    if isinstance(target, ast.Name):
        before = run.now.env.get(target.id)
        if before is None:
            run.now.bind(target.id, UNKNOWN)
            return
        if not before.refs:
            if value.refs and before.kind == "number":
                # A number plus a tensor is a new tensor.
                made = arithmetic(run, node, operator(node.op), before, value)
                run.now.bind(target.id, run.bound(made, Place(target.id, node, loop=run.loop), node))
            return
        current = evaluate(run, _load(target))
        _augmented_write(run, node, current, op, target.id)
        run.use(current, target, "receiver")
        return
    if isinstance(target, ast.Subscript):
        base = evaluate(run, target.value)
        kind = index_kind(run, target.slice)
        if array_like(target.slice):
            run.note(base, 1)
        for ref in base.refs:
            if ref.obj.kind in ("dict", "list", "tuple") or kind == "key":
                run.note_container(ref.obj, target.slice)
                held = run.now.fields(ref.obj).get(item_key(run, target, kind))
                if held is None:
                    held = run.field(ref.obj, item_key(run, target, kind))
                _augmented_write(run, node, held, op, run.text(target))
                continue
            _, whole = index_text(run, target.slice)
            known = not whole and kind not in ("advanced", "unknown")
            link = Link(VIEW, "[]", target, key=index_part(run, target.slice) if known else None)
            if ref.obj.kind == "unknown" and run.evidence(ref.obj) < 2 and not array_like(target.slice):
                held = run.field(ref.obj, item_key(run, target, kind))
                _augmented_write(run, node, held, op, run.text(target))
            run.write(node, Value((ref.derive(link),)), op, "augmented", run.text(target))
            if ref.place is None:
                run.lost_write(node, Value((ref,)), op)
        return
    if isinstance(target, ast.Attribute):
        base = evaluate(run, target.value)
        if target.attr == "data":
            _augmented_write(
                run, node, Value(tuple(r.derive(Link(DETACH, "data", target)) for r in base.refs)), op, run.text(target)
            )
            return
        for ref in base.refs:
            if ref.obj.kind == "tensor" and target.attr != "grad":
                _augmented_write(run, node, Value((ref.derive(Link(VIEW, target.attr, target)),)), op, run.text(target))
                continue
            held = run.field(ref.obj, "." + target.attr)
            if held.refs:
                _augmented_write(run, node, held, op, run.text(target))


def _load(target: ast.Name) -> ast.Name:
    loaded = ast.Name(target.id, ast.Load())
    return ast.copy_location(loaded, target)


def _augmented_write(run: Run, node: ast.AugAssign, value: Value, op: str, target: str) -> None:
    objs = [ref for ref in value.refs if ref.obj.kind in ("tensor", "array", "unknown")]
    if objs:
        run.write(node, Value(tuple(objs)), op, "augmented", target)
    for ref in value.refs:
        if ref.obj.kind == "list":
            added = evaluate(run, node.value)
            store_item(run, ref.obj, "[*]", element_of(run, node.value, added), node.value, weak=True, site=node)


def _return(run: Run, node: ast.Return) -> None:
    value = UNKNOWN
    if node.value is not None:
        value = evaluate(run, node.value)
        run.use_deep(value, node.value, "return")
        _accumulated(run)
    run.finish()
    _pointer_results(run, asserted=False, guards=False)
    run.returned.append((value, run.now))
    run.state = None


def _accumulated(run: Run) -> None:
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
            if write.how in ("augmented", "method") and (obj is top or obj.parent is top or obj in reached):
                run.fact(
                    AccumulatedItem(
                        site=write.node,
                        writer=ref.place.name,
                        collection=owner.key,
                        op=write.op,
                        bound=ref.place.node,
                        evidence=run.evidence(obj, write.stmt),
                    )
                )


def _if(run: Run, node: ast.If) -> None:
    run.use(evaluate(run, node.test), node.test, "test")
    run.finish()
    _pointer_results(run, asserted=False, guards=_only_copies(run, node))
    yes, no = arm_of(run, node.test)
    before = run.now
    arms = before.arms
    exits: list[State | None] = []
    for arm, body in ((yes, node.body), (no, node.orelse)):
        if Arm(arm.test, not arm.taken) in arms:
            continue
        state = before.copy()
        state.arms = arms | {arm}
        run.state = state
        _refine(run, node.test, arm is yes)
        _block(run, body)
        exits.append(run.state)
    if len(exits) == 1:
        run.state = exits[0]
        return
    one, other = exits
    run.state = join(one, other, run.entry_field)
    if one is not None and other is not None:
        run.now.arms = arms


def _only_copies(run: Run, node: ast.If) -> bool:
    """The branch copies: the test only spares work."""
    if any(isinstance(item, (ast.Raise, ast.Assert)) for item in node.body):
        return False
    return any(word in run.text(item) for item in node.body for word in ("copy", "clone", "memmove", "contiguous"))


def _pointer_results(run: Run, asserted: bool, guards: bool) -> None:
    for test in run.pointer_tests:
        run.fact(replace(test, asserted=asserted, guards_copy=guards))
    run.pointer_tests = []


def _refine(run: Run, test: ast.expr, taken: bool) -> None:
    """What a test proves of a name in its arm."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, taken = test.operand, not taken
    match test:
        case ast.BoolOp(op=ast.And(), values=values) if taken:
            for item in values:
                _refine(run, item, True)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name() as name, kind]):
            value = run.now.env.get(name.id)
            if value is not None and value.obj is not None and value.obj.kind == "unknown":
                said = run.module.from_annotation(kind, Obj("unknown", ""))
                if taken and said is not None and said.kind == "tensor":
                    value.obj.uses.append((3, None))
                elif taken and said is not None and said.kind == "module":
                    value.obj.kind, value.obj.cls = "module", said.cls
        case ast.Call(args=[ast.Name() as name]) if taken and is_imported(run, test.func) == "torch.is_tensor":
            value = run.now.env.get(name.id)
            if value is not None and value.obj is not None:
                value.obj.uses.append((3, None))
        case ast.Compare(left=ast.Name() as left, ops=[op], comparators=[right]):
            _refine_identity(run, left, op, right, taken)


def _refine_identity(run: Run, left: ast.Name, op: ast.cmpop, right: ast.expr, taken: bool) -> None:
    if not isinstance(op, (ast.Is, ast.IsNot)):
        return
    same = isinstance(op, ast.Is) == taken
    value = run.now.env.get(left.id)
    if value is None:
        return
    if isinstance(right, ast.Constant) and right.value is None:
        if same:
            run.now.env[left.id] = Value(kind="none")
        return
    other = evaluate(run, right)
    objs = {ref.obj for ref in other.refs}
    run.guarded.update(ref.obj for ref in value.refs if ref.obj in objs)
    if same:
        return
    kept = tuple(
        ref for ref in value.refs if ref.obj not in objs or not any(link.kind in (MAYBE, ALIAS) for link in ref.chain)
    )
    if len(kept) < len(value.refs):
        run.now.env[left.id] = Value(kept) if kept else UNKNOWN


def _loop(run: Run, node: ast.For | ast.AsyncFor | ast.While, head: Callable[[], None]) -> None:
    entry = run.now
    outer = run.loop
    depth = len(outer)
    frame = LoopFrame()
    run.frames.append(frame)
    first_time: State | None = None
    run.loop = (*outer, 1)
    run.state = entry.copy()
    head()
    before = run.state.copy() if run.state is not None else None
    _block(run, node.body)
    first_time = join_all([run.state, *frame.continues], run.entry_field)
    frame.continues = []
    final = first_time
    # A snapshot that is taken now and then is read in the pass after the one that trained.
    passes = 3 if depth == 0 and run.function.features & STATE_DICT else 2
    for again in range(2, passes + 1):
        if final is None or not (depth == 0 or (depth < MAX_LOOP_DEPTH and _changed(before, final))):
            break
        run.loop = (*outer, again)
        run.state = final.copy()
        run.now.arms = entry.arms
        frame.continues = []
        head()
        _block(run, node.body)
        final = join_all([run.state, *frame.continues], run.entry_field)
    run.loop = outer
    run.frames.pop()
    if final is None and not frame.breaks:
        final = entry if first_time is None else first_time
    if final is not None:
        final.arms = entry.arms
    run.state = final
    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value and frame.breaks:
        run.state = None
    if run.state is not None and node.orelse:
        _block(run, node.orelse)
    breaks = [state for state in frame.breaks]
    for state in breaks:
        state.arms = entry.arms
    run.state = join_all([run.state, *breaks], run.entry_field)


def _changed(before: State | None, after: State) -> bool:
    """Whether a pass of a loop changed what the next one starts from."""
    if before is None:
        return True
    if before.heap != after.heap or before.epoch != after.epoch:
        return True
    for name, value in before.env.items():
        if after.env.get(name) is not value:
            return True
    return any(after.writes.get(obj) != writes for obj, writes in before.writes.items()) or any(
        obj.owner != "fresh" for obj in after.writes if obj not in before.writes
    )


def _for(run: Run, node: ast.For | ast.AsyncFor) -> None:
    value = evaluate(run, node.iter)
    run.use_iterated(value, node.iter)
    run.finish()

    def head() -> None:
        run.stmt = node
        bind_target(run, node.target, element_of(run, node.iter, value), node.iter, origin="loop")
        _batch_of_tensors(run, node)

    _loop(run, node, head)


def _batch_of_tensors(run: Run, node: ast.For | ast.AsyncFor) -> None:
    """`for images, labels in loader`: a loader's batches unpack into tensors."""
    target, over = node.target, node.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id in ("enumerate", "tqdm"):
        if over.func.id == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]
        over = over.args[0] if over.args else over
    if not isinstance(target, ast.Tuple) or not library.says_loader(run.text(over)):
        return
    for item in target.elts:
        value = run.now.env.get(item.id) if isinstance(item, ast.Name) else None
        if value is not None and value.obj is not None and value.obj.kind == "unknown":
            value.obj.uses.append((3, None))


def _while(run: Run, node: ast.While) -> None:
    def head() -> None:
        run.stmt = node
        run.use(evaluate(run, node.test), node.test, "test")
        run.finish()
        if run.state is not None:
            _refine(run, node.test, True)

    _loop(run, node, head)


def _with(run: Run, node: ast.With | ast.AsyncWith) -> None:
    grad = run.now.grad
    quiet = 0
    for item in node.items:
        value = evaluate(run, item.context_expr)
        mode = _grad_mode(run, item.context_expr)
        if mode is not None:
            run.now.grad = mode == "on" if mode != "unknown" else None
        text = run.text(item.context_expr)
        if "raises" in text or "Raises" in text or "suppress" in text or "warns" in text:
            quiet += 1
        if item.optional_vars is not None:
            bind_target(run, item.optional_vars, value if not value.refs or value.refs[0].obj.kind != "unknown" else UNKNOWN, item.context_expr)
    run.finish()
    run.quiet += quiet
    _block(run, node.body)
    run.quiet -= quiet
    if run.state is not None:
        run.now.grad = grad


def _grad_mode(run: Run, node: ast.expr) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    name = is_imported(run, node.func)
    if name in ("torch.no_grad", "torch.inference_mode"):
        return "off"
    if name == "torch.enable_grad":
        return "on"
    if name == "torch.set_grad_enabled":
        argument = node.args[0] if node.args else None
        if isinstance(argument, ast.Constant):
            return "on" if argument.value else "off"
        return "unknown"
    return None


def _try(run: Run, node: ast.Try) -> None:
    before = run.now.copy()
    reached: list[State] = []
    run.handlers.append(reached)
    probing = bool(node.handlers) and len(node.body) == 1
    run.quiet += probing
    _block(run, node.body)
    run.quiet -= probing
    run.handlers.pop()
    if run.state is not None:
        reached.append(run.state.copy())
        _block(run, node.orelse)
    exits: list[State | None] = [run.state]
    for handler in node.handlers:
        run.state = join_all([before, *reached], run.entry_field)
        if run.state is None:
            continue
        if handler.type is not None:
            evaluate(run, handler.type)
        if handler.name:
            run.now.bind(handler.name, UNKNOWN)
        _block(run, handler.body)
        exits.append(run.state)
    run.state = join_all(exits, run.entry_field)
    if node.finalbody:
        if run.state is None:
            run.state = join_all([before, *reached], run.entry_field)
            _block(run, node.finalbody)
            run.state = None
        else:
            _block(run, node.finalbody)


def _break(run: Run, node: ast.Break) -> None:
    if run.frames:
        run.frames[-1].breaks.append(run.now)
    run.state = None


def _continue(run: Run, node: ast.Continue) -> None:
    if run.frames:
        run.frames[-1].continues.append(run.now)
    run.state = None


def _raise(run: Run, node: ast.Raise) -> None:
    if node.exc is not None:
        evaluate(run, node.exc)
    run.state = None


def _assert(run: Run, node: ast.Assert) -> None:
    run.use(evaluate(run, node.test), node.test, "test")
    if node.msg is not None:
        evaluate(run, node.msg)
    _pointer_results(run, asserted=True, guards=False)
    run.finish()
    _refine(run, node.test, True)


def _delete(run: Run, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            run.now.env.pop(target.id, None)
        elif isinstance(target, ast.Attribute):
            for ref in evaluate(run, target.value).refs:
                run.now.set_field(ref.obj, "." + target.attr, UNKNOWN)


def _function(run: Run, node: FunctionNode) -> None:
    """A nested function: known by its node when it is called."""
    function = Function(node.name, node)
    run.now.bind(node.name, Value((Ref(Obj("function", "fresh", node, key=node.name, data=function)),)))


def _class(run: Run, node: ast.ClassDef) -> None:
    if run.stmt is not None and run.function.node is not node:
        run.now.bind(node.name, UNKNOWN)
        run.now.env.pop(node.name, None)


def _match(run: Run, node: ast.Match) -> None:
    subject = evaluate(run, node.subject)
    run.use(subject, node.subject, "test")
    run.finish()
    before = run.now
    exits: list[State | None] = []
    exhaustive = False
    for position, case in enumerate(node.cases):
        run.state = before.copy()
        run.now.arms = before.arms | {Arm((id(node), run.loop, position), True)} | {
            Arm((id(node), run.loop, other), False) for other in range(len(node.cases)) if other != position
        }
        _bind_pattern(run, case.pattern, subject, node.subject)
        if case.guard is not None:
            run.use(evaluate(run, case.guard), case.guard, "test")
        elif isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            exhaustive = True
        _block(run, case.body)
        if run.state is not None:
            run.now.arms = before.arms
        exits.append(run.state)
    if not exhaustive:
        exits.append(before)
    run.state = join_all(exits, run.entry_field)


def _bind_pattern(run: Run, pattern: ast.pattern, subject: Value, source: ast.expr) -> None:
    match pattern:
        case ast.MatchAs(pattern=None, name=str(name)):
            run.now.bind(name, run.bound(subject, Place(name, run.stmt, loop=run.loop), source))
        case ast.MatchAs(pattern=inner, name=name) if inner is not None:
            _bind_pattern(run, inner, subject, source)
            if name is not None:
                run.now.bind(name, run.bound(subject, Place(name, run.stmt, loop=run.loop), source))
        case _:
            for item in ast.walk(pattern):
                if isinstance(item, (ast.MatchAs, ast.MatchStar)) and item.name is not None:
                    run.now.bind(item.name, UNKNOWN)


_STATEMENTS: dict[type[ast.AST], Callable[[Run, Any], None]] = {
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _annassign,
    ast.AugAssign: _augassign,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Match: _match,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _try


# ----- the end of a run


def _finish_run(run: Run) -> None:
    """Facts that need the whole function: bindings never read, moves only logged, snapshots edited for nothing."""
    run.settle()
    for place, fact, was in run.rebindings:
        if not place.read:
            run.fact(replace(fact, evidence=run.evidence_of(was, fact.site)))
    for place, (move, ref) in run.moves.items():
        if run.logged[place] == {"logged"} and place.name not in run.closed_over:
            host_scalar(run, move, ref, "logged")
    for obj, (target, ref) in run.edited.items():
        if obj not in run.loaded and ref.place is not None and ref.place.name not in run.escaped:
            run.fact(
                LostWrite(
                    site=target,
                    base=ref.place.name,
                    op="[...] =",
                    copied_by="state_dict",
                    index=None,
                    evidence=3,
                    probing=False,
                )
            )


__all__ = ["SNAPSHOT", "SharedWrite", "assign", "bind_target", "exclusive", "run_function"]
