"""Moves to the host that serve one number: `.cpu().item()`, a scalar moved to be printed."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import HostScalar
from flake8_tensorcopy.engine.ops import Op
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import MAYBE, VIEW, Ref, Value

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


def host_scalar(run: Run, move: ast.Call, ref: Ref, used: str) -> None:
    scalar = ref.obj.zero_dim and not any(link.kind == VIEW for link in ref.chain)
    receiver = move.func.value if isinstance(move.func, ast.Attribute) else move
    if used in ("reduced", "indexed", "compared"):
        if run.stmt in run.narrowed:
            return
        run.narrowed.add(run.stmt)
    run.fact(
        HostScalar(
            site=move,
            receiver=run.short(receiver),
            move=run.text(move)[len(run.text(receiver)) + 1 :],
            scalar=scalar,
            used=used,
            evidence=run.evidence(ref.obj, None),
        )
    )


def narrowed_on_host(run: Run, value: Value, node: ast.AST, used: str) -> None:
    """`x.cpu()[0]`, `x.cpu() == y`: the whole tensor travels for a part or a test of it."""
    for ref in value.refs:
        if moved_to_host(run, ref) is node and isinstance(node, ast.Call):
            host_scalar(run, node, ref, used)


def reduced_on_host(run: Run, node: ast.Call, ref: Ref, name: str, op: Op) -> None:
    """`x.cpu().max()`: the whole tensor travels, one number is wanted."""
    move = moved_to_host(run, ref)
    if move is None or not isinstance(node.func, ast.Attribute) or node.func.value is not move:
        return
    if op.zero_dim or op.dtype in ("bool", "int"):
        host_scalar(run, move, ref, "reduced")
