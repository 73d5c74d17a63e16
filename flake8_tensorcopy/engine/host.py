"""Moves to the host that serve one number: `.cpu().item()`, a scalar moved to be printed."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import HostScalar
from flake8_tensorcopy.engine.nodes import end_of, start_of
from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import called_name, receiver_of
from flake8_tensorcopy.engine.values import MAYBE, VIEW, Place, Ref, Value

_REPEATS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)
_PAIRS = frozenset({"max", "min", "median", "nanmedian"})  # of a dimension they give two tensors
HOST_OPS = frozenset({"cpu", "to"})


def moved_to_host(run: Run, ref: Ref) -> ast.Call | None:
    """The `.cpu()` or `.to("cpu")` call that the reference's last link is."""
    if not ref.chain:
        return None
    link = ref.chain[-1]
    node = link.node
    if link.kind != MAYBE or link.op not in HOST_OPS or not isinstance(node, ast.Call):
        return None
    if link.op == "cpu":
        return node
    target = node.args[0] if node.args else None
    for keyword in node.keywords:
        if keyword.arg == "device":
            target = keyword.value
    if isinstance(target, ast.Constant) and target.value == "cpu" and len(node.args) + len(node.keywords) == 1:
        return node
    if isinstance(target, ast.Call) and is_imported(run, target.func) == "torch.device":
        inner = target.args[0] if target.args else None
        if isinstance(inner, ast.Constant) and inner.value == "cpu":
            return node
    return None


def host_read(run: Run, node: ast.Call, ref: Ref, used: str) -> None:
    """`.cpu().item()`: the read alone would have fetched the number."""
    move = moved_to_host(run, ref)
    if move is None or not isinstance(node.func, ast.Attribute) or node.func.value is not move:
        return
    host_scalar(run, move, ref, used)


def host_scalar(run: Run, move: ast.Call, ref: Ref, used: str, once: tuple[ast.Assign, ast.Name] | None = None) -> None:
    scalar = ref.obj.zero_dim and not any(link.kind == VIEW for link in ref.chain)
    receiver = move.func.value if isinstance(move.func, ast.Attribute) else move
    if used in ("reduced", "indexed", "compared"):
        if run.stmt in run.narrowed or (scalar and used == "reduced"):
            return
        run.narrowed.add(run.stmt)
    outer = _outer(run, move) if used in ("reduced", "indexed") else None
    run.fact(
        HostScalar(
            site=move,
            receiver=run.short(receiver),
            move=run.text(move)[len(run.text(receiver)) + 1 :],
            scalar=scalar,
            used=used,
            outer=outer,
            read=_read_as_number(run, outer),
            operand=outer is not None and isinstance(run.parents().get(outer), (ast.BinOp, ast.Compare)),
            binding=once[0] if once is not None else None,
            shown=once[1] if once is not None else None,
            evidence=run.evidence(ref.obj, None),
        )
    )


def _outer(run: Run, move: ast.Call) -> ast.expr | None:
    """`x.cpu().max()`, `x.cpu()[0]`."""
    parents = run.parents()
    match parents.get(move):
        case ast.Subscript(value=value, ctx=ast.Load()) as index if value is move:
            return index
        case ast.Attribute(attr=name) as method:
            call = parents.get(method)
            if isinstance(call, ast.Call) and call.func is method and not (call.args and name in _PAIRS):
                return call
    return None


def _read_as_number(run: Run, node: ast.expr | None) -> bool:
    match run.parents().get(node) if node is not None else None:
        case ast.Attribute(attr="item" | "tolist"):
            return True
        case ast.Call(func=ast.Name(id="float" | "int" | "bool")):
            return True
    return False


def shown_once(run: Run, place: Place, move: ast.Call) -> tuple[ast.Assign, ast.Name] | None:
    """The binding of a host copy and its only read, if that could read what is moved as well."""
    parents, binding = run.parents(), place.node
    source = move.func.value if isinstance(move.func, ast.Attribute) else move
    if isinstance(source, ast.Call) and called_name(source) == "detach":
        source = receiver_of(source)
    mentions = [node for node in run.mentions(place.name) if parents.get(node) is not binding]
    if not isinstance(source, ast.Name) or len(mentions) != 1:
        return None
    (read,) = mentions
    uses = [use for use in run.uses if use.ref.place is place]
    if any(use.node is not read or len(use.whole.refs) != 1 for use in uses) or not isinstance(read.ctx, ast.Load):
        return None
    match binding:
        case ast.Assign(targets=[ast.Name()]):
            later: ast.AST = read
            while later in parents and parents[later] is not parents.get(binding):
                later = parents[later]
                if isinstance(later, _REPEATS):
                    return None
        case _:
            return None
    suite = next(
        (body for _, body in ast.iter_fields(parents[binding]) if isinstance(body, list) and binding in body), []
    )
    if later not in suite or suite.index(later) <= suite.index(binding):
        return None
    for node in run.mentions(source.id):
        if end_of(binding) < start_of(node) < end_of(later):
            above = parents.get(node)
            if not isinstance(node.ctx, ast.Load) or (isinstance(above, ast.Attribute) and above.attr[-1:] == "_"):
                return None
    return binding, read


def narrowed_on_host(run: Run, value: Value, node: ast.AST, used: str) -> None:
    """`x.cpu()[0]`: the whole tensor travels for a part of it."""
    for ref in value.refs:
        if moved_to_host(run, ref) is node and isinstance(node, ast.Call):
            host_scalar(run, node, ref, used)


def compared_on_host(run: Run, sides: list[tuple[ast.expr, Value]]) -> None:
    """`x.cpu() > 0`, `x.cpu() == y.cpu()`: the whole tensor travels for a test of it, which the device could make,
    unless something that is on the host only takes part."""
    if all(_on_any_device(run, node, value) for node, value in sides):
        for node, value in sides:
            narrowed_on_host(run, value, node, "compared")


def _on_any_device(run: Run, node: ast.expr, value: Value) -> bool:
    """Whether what is compared is a number, or was moved here for that."""
    return not value.refs or any(moved_to_host(run, ref) is node for ref in value.refs)


def reduced_on_host(run: Run, given: ast.expr, value: Value, others: list[Value], op: Op) -> None:
    """`x.cpu().max()`, `torch.max(x.cpu())`: the whole tensor travels, one number is wanted, or one for each row; no
    other tensor, which may be on the host only, takes part."""
    if op.shrinks and not any(other.refs for other in others):
        narrowed_on_host(run, value, given, "reduced")
