"""Expanded tensors taken for tensors of their own: as a Parameter, in a count of bytes."""

from __future__ import annotations

import ast
import re

from flake8_tensorcopy.engine.copies import cloned_at
from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import ExpandedBytes, ExpandedParameter
from flake8_tensorcopy.engine.parts import keeps_dimension
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import ALIAS, DETACH, VIEW, Link, Ref, Value

_EXPANDS = frozenset({"expand", "expand_as", "broadcast_to", "broadcast_tensors", "meshgrid", "as_strided"})
_COUNTS = frozenset({"numel", "nelement"})


def expanded(ref: Ref) -> tuple[Link, bool] | None:
    """What expanded the memory of a reference that is still as it was, and whether one row of it is meant."""
    for place, link in enumerate(ref.chain):
        if not link.overlap or link.op not in _EXPANDS:
            continue
        rows = False
        for later in ref.chain[place + 1 :]:
            if later.op == "iteration":
                rows = True
            elif later.kind not in (ALIAS, DETACH, VIEW) or (later.key is not None and not _slices(later)):
                return None
        return link, rows
    return None


def _slices(link: Link) -> bool:
    """An index that drops no axis."""
    node = link.inner or link.node
    index = node.slice if isinstance(node, ast.Subscript) else None
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(item, (ast.Slice, ast.Constant)) and keeps_dimension(item) for item in items)


def parameter_over(run: Run, node: ast.Call, given: ast.expr, value: Value) -> None:
    """`nn.Parameter(x.expand(3, 4))`, which is to be trained."""
    for ref in value.refs:
        found = expanded(ref)
        if found is not None:
            link, rows = found
            run.fact(
                ExpandedParameter(
                    site=node,
                    name=run.short(given),
                    op=link.op,
                    expanded=link.node,
                    rows=rows,
                    cloned=cloned_at(run, link),
                )
            )
            return
        made = ref.obj.node
        if ref.obj.made == "repeat" and isinstance(made, ast.Call) and not ref.chain[1:] and _einops(run, made):
            run.fact(
                ExpandedParameter(
                    site=node, name=run.short(given), op="einops.repeat", expanded=made, rows=False, cloned=made
                )
            )
            return


def _einops(run: Run, node: ast.Call) -> bool:
    """`einops.repeat(x, "d -> h d", h=8)`: an axis of its own is expanded, one in a group is copied."""
    if is_imported(run, node.func) != "einops.repeat" or len(node.args) < 2:
        return False
    pattern = node.args[1]
    if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str) or "->" not in pattern.value:
        return False
    left, right = pattern.value.split("->", 1)
    if "(" in right:
        return False
    return bool({name for name in re.findall(r"\w+", right) if name != "1"} - set(re.findall(r"\w+", left)))


def bytes_of(run: Run, node: ast.AST, refs: tuple[Ref, ...], receiver: ast.expr, counted: str) -> None:
    """`x.nbytes` of an expanded tensor, where its storage is not looked at beside it."""
    if len(refs) != 1 or run.stmt is None or "storage" in run.text(run.stmt):
        return
    found = expanded(refs[0])
    if found is not None and not found[1]:
        link, _ = found
        run.fact(
            ExpandedBytes(site=node, receiver=run.short(receiver), counted=counted, op=link.op, expanded=link.node)
        )


def product_of_bytes(run: Run, node: ast.BinOp, left: ast.expr, right: ast.expr) -> None:
    """`x.numel() * x.element_size()`."""
    for one, other in ((left, right), (right, left)):
        match one, other:
            case (
                ast.Call(func=ast.Attribute(value=counted, attr=count)),
                ast.Call(func=ast.Attribute(value=measured, attr="element_size"))
                | ast.Attribute(value=measured, attr="itemsize"),
            ) if count in _COUNTS:
                if isinstance(measured, ast.Attribute) and measured.attr == "dtype":
                    measured = measured.value
                known = run.method_calls.get(one)
                if known is not None and run.text(counted) == run.text(measured):
                    bytes_of(run, node, known[0].refs, counted, run.text(node))
                return
