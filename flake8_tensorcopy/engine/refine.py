"""What tests, decorators and context managers prove: kinds, identities, grad mode."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.evaluate import evaluate, is_imported
from flake8_tensorcopy.engine.graph import may_set_mode
from flake8_tensorcopy.engine.modes import mode_of
from flake8_tensorcopy.engine.nodes import stands_in, walk
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.unwrapped import is_layer
from flake8_tensorcopy.engine.values import (
    ALIAS,
    MAYBE,
    UNKNOWN,
    Obj,
    Ref,
    Value,
)


def refine(run: Run, test: ast.expr, taken: bool) -> None:
    """What a test proves of a name in its arm."""
    asked = run.asks_guards
    for node in walk(test) if asked is None else asked:
        if isinstance(node, ast.Attribute) and node.attr in library.GUARDS and isinstance(node.value, ast.Name):
            held = run.now.env.get(node.value.id)
            if held is not None and (asked is None or stands_in(node, test)):
                run.guarded.update(ref.obj for ref in held.refs)
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, taken = test.operand, not taken
    match test:
        case ast.BoolOp(op=ast.And(), values=values) if taken:
            for item in values:
                refine(run, item, True)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name() as name, kind]):
            value = run.now.env.get(name.id)
            if taken:
                _is_kind(run, value, kind)
            elif value is not None:
                _no_module(run, name, value, kind)
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="type"), args=[ast.Name() as name]),
            ops=[ast.Is() | ast.Eq()],
            comparators=[kind],
        ) if taken:
            _is_kind(run, run.now.env.get(name.id), kind)
        case ast.Call(args=[ast.Name() as name]) if taken and is_imported(run, test.func) == "torch.is_tensor":
            value = run.now.env.get(name.id)
            if value is not None and value.obj is not None:
                value.obj.uses.append((3, None))
        case ast.Compare(left=ast.Name() as left, ops=[op], comparators=[right]):
            _refine_identity(run, left, op, right, taken)


def _is_kind(run: Run, value: Value | None, kind: ast.expr) -> None:
    """What a test has said that something is; of several layers that all have a weight, the first stands for all."""
    obj = value.obj if value is not None else None
    if obj is None or obj.kind not in ("unknown", "module"):
        return
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    said = [run.module.from_annotation(one, Obj("unknown", "")) for one in kinds]
    first = said[0] if said else None
    if first is None or any(one is None or one.kind != first.kind for one in said):
        return
    if first.kind == "tensor" and obj.kind == "unknown":
        obj.uses.append((3, None))
    elif first.kind == "module" and (len(said) == 1 or all(one is not None and is_layer(one.cls) for one in said)):
        if obj.kind == "unknown":
            obj.kind, obj.cls = "module", first.cls
        elif not obj.cls and obj.data is None:
            obj.cls = first.cls


def _no_module(run: Run, name: ast.Name, value: Value, kind: ast.expr) -> None:
    """On the arm where something is no module it is not what the other arm has it for."""
    obj = value.obj
    if obj is None or obj.kind != "module" or obj.cls != "torch.nn.Module" or obj.data is not None:
        return
    said = run.module.from_annotation(kind, Obj("unknown", ""))
    if said is not None and said.cls == obj.cls:
        other = Obj("unknown", obj.owner, obj.node, obj.parent, obj.key, obj.slot)
        refs = (Ref(other, ref.chain, ref.place, ref.seen, ref.arms, ref.held, ref.via) for ref in value.refs)
        run.now.rebind(name.id, Value(tuple(refs)))


def _refine_identity(run: Run, left: ast.Name, op: ast.cmpop, right: ast.expr, taken: bool) -> None:
    if not isinstance(op, (ast.Is, ast.IsNot)):
        return
    same = isinstance(op, ast.Is) == taken
    value = run.now.env.get(left.id)
    if value is None:
        return
    if isinstance(right, ast.Constant) and right.value is None:
        if same:
            run.now.rebind(left.id, Value(kind="none"))
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
        run.now.rebind(left.id, Value(kept) if kept else UNKNOWN)


def grad_mode(run: Run, node: ast.expr) -> str | None:
    """What a context manager makes of the grad mode: on, off, unknown; None if it leaves it alone."""
    said = mode_of(is_imported(run, node.func), node) if isinstance(node, ast.Call) else ""
    return said or ("unknown" if may_set_mode(run, node) else None)


def entered_mode(run: Run, node: ast.expr) -> None:
    """`stack.enter_context(torch.no_grad())`, `mode.__enter__()`: from here on, as far as the block around it goes."""
    mode = grad_mode(run, node)
    if mode is not None:
        run.now.grad = mode == "on" if mode != "unknown" else None
