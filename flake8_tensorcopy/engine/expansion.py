"""Repeated and expanded tensors, and the one elementwise operation they are made for: it would broadcast by itself."""

from __future__ import annotations

import ast
from bisect import bisect_right
from itertools import islice
from typing import NamedTuple

from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import MaterialisedExpand, RedundantRepeat
from flake8_tensorcopy.engine.library import BROADCASTING, BROADCASTING_FUNCTIONS
from flake8_tensorcopy.engine.linked import on_graph
from flake8_tensorcopy.engine.liveness import read_elsewhere
from flake8_tensorcopy.engine.nodes import end_of, start_of
from flake8_tensorcopy.engine.parts import literal
from flake8_tensorcopy.engine.redundant import call_text
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.shapes import ones_of, sizes_of
from flake8_tensorcopy.engine.source import receiver_of
from flake8_tensorcopy.engine.values import Ref, Value

MAX_READS = 20
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Using(NamedTuple):
    """Where a function uses the value of one of its calls."""

    elementwise: ast.AST | None  # the operation, if that is all
    written: bool


def repeated(run: Run, node: ast.Call, base: Value, args: Args) -> None:
    """`x.repeat(1, n, 1)`, `x.tile(..)`."""
    if len(base.refs) != 1 or args.spread or args.keywords or base.refs[0].kind not in ("tensor", "unknown"):
        return
    ref = base.refs[0]
    counts = sizes_of(node.args)
    if not counts:
        return
    ones = all(literal(count) == 1 for count in counts)
    evidence = run.evidence_of(ref, None)
    if len(counts) > 2 or isinstance(node.args[0], ast.Tuple):
        evidence = max(evidence, 2)  # an array takes one count, and an axis
    using = use_of(run, node)
    known = ones_of(run, ref)
    if len(counts) == 1 and known.count != 1 and literal(counts[0]) is None:
        return  # `x.tile(counts)`: who knows how many
    more = 0 if known.count is None else max(len(counts) - known.count, 0)
    if ones:
        if using.written:
            return
    else:
        if using.elementwise is None or not all(
            literal(count) == 1 or place < more or known.has(place - more, len(counts) - more)
            for place, count in enumerate(counts)
        ):
            return
    run.fact(
        RedundantRepeat(
            site=node,
            receiver=run.short(receiver_of(node)),
            call=call_text(run, node),
            ones=ones,
            kept=tuple(count for count in counts[more:] if literal(count) == 1),
            dims=known.count,
            used=None if ones else using.elementwise,
            evidence=evidence,
        )
    )
    run.about[(RedundantRepeat, node)] = (ref.obj, None)


def materialised(run: Run, node: ast.Call, base: Value, name: str, result: Value) -> None:
    """`m.expand_as(x).contiguous()`, `.clone()`, `.reshape(-1)`: an expanded tensor is copied."""
    if len(base.refs) != 1 or (node.args and name in ("contiguous", "clone")):
        return
    ref = base.refs[0]
    expand = ref.overlaps
    if expand is None or expand.op not in ("expand", "expand_as", "broadcast_to") or ref.chain[-1] is not expand:
        return
    if not isinstance(expand.node, ast.Call):
        return
    made = result.obj
    if made is None or made.owner != "fresh" or (name in ("reshape", "flatten") and not _merges(node, expand.node)):
        return
    using = use_of(run, node)
    if using.elementwise is not None:
        _report(run, node, expand.node, ref, name, using.elementwise)


def expanded(run: Run, node: ast.BinOp, sides: list[tuple[ast.expr, Value]]) -> None:
    """`x - m.expand_as(x)`: the subtraction expands by itself."""
    for (side, value), (other, _) in zip(sides, reversed(sides), strict=True):
        if not isinstance(side, ast.Call) or not isinstance(side.func, ast.Attribute) or len(value.refs) != 1:
            continue
        ref = value.refs[0]
        if not ref.chain or ref.chain[-1].node is not side or len(side.args) != 1 or side.keywords:
            continue
        if _like(run, side, other):
            _report(run, side, side, ref, "", node)


def _like(run: Run, expand: ast.Call, other: ast.expr) -> bool:
    """`m.expand_as(x)`, `m.expand(x.shape)` beside `x`."""
    if not isinstance(expand.func, ast.Attribute) or len(expand.args) != 1 or expand.keywords:
        return False
    text = run.text(other)
    given = expand.args[0].value if isinstance(expand.args[0], ast.Starred) else expand.args[0]
    like = {"expand_as": (text,), "expand": (f"{text}.shape", f"{text}.size()")}.get(expand.func.attr, ())
    return run.text(given) in like


def _report(run: Run, node: ast.expr, expand: ast.Call, ref: Ref, op: str, used: ast.AST) -> None:
    beside = [used.left, used.right] if isinstance(used, ast.BinOp) else []
    off = run.now.grad is False
    run.fact(
        MaterialisedExpand(
            site=node,
            receiver=run.short(receiver_of(expand)),
            op=op,
            expand=call_text(run, expand),
            expanded=expand,
            like=node in beside and any(_like(run, expand, other) for other in beside if other is not node),
            used=used,
            graph=False if off else on_graph(ref),
            evidence=max(run.evidence_of(ref, None), 1),
        )
    )
    run.about[(MaterialisedExpand, node)] = (ref.obj, None)


def _merges(node: ast.Call, expand: ast.Call) -> bool:
    """Whether a reshape surely makes one dimension of an expanded one and its neighbour."""
    sizes, shape = sizes_of(expand.args), sizes_of(node.args)
    wide = [place for place, size in enumerate(sizes) if literal(size) not in (1, -1)]
    if not wide or any(isinstance(size, ast.Starred) for size in (*sizes, *shape)):
        return False
    if len(sizes) > 1 and (not shape or (len(shape) == 1 and literal(shape[0]) == -1)):
        return True
    joined = literal(shape[0]) == -1 or isinstance(shape[0], ast.BinOp) if shape else False
    return len(shape) == len(sizes) - 1 and joined and wide[0] in (0, 1)


# ----- uses


def use_of(run: Run, node: ast.Call) -> Using:
    """What the function does with the value: at once, or with the name that it is given."""
    parents = run.parents()
    parent = parents.get(node)
    if _elementwise(run, parent, node):
        return Using(parent, False)
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return _named(run, parent, name, parents)
        case ast.Attribute(attr=attr) if attr[-1:] == "_":
            return Using(None, True)
    return Using(None, False)


def _named(run: Run, binding: ast.Assign, name: str, parents: dict[ast.AST, ast.AST]) -> Using:
    """The reads of a name from its binding on, or anywhere in the loop around that."""
    if read_elsewhere(run, name):
        return Using(None, True)
    loop = parents.get(binding)
    while loop is not None and not isinstance(loop, _LOOPS):
        loop = parents.get(loop)
    bound = end_of(binding)
    inside = set(ast.walk(loop)) if loop is not None else set()
    reads: list[tuple[ast.expr, ast.AST]] = []
    written = False
    mentions = run.mentions(name)
    first = 0 if inside else bisect_right(mentions, bound, key=start_of)
    for node in islice(mentions, first, None):
        if written or len(reads) > MAX_READS:
            return Using(None, True)
        if start_of(node) > bound or node in inside:
            parent = parents[node]
            match parent:
                case ast.AugAssign(target=target) if target is node:
                    written = True
                case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                    written = True
                case ast.Attribute(attr=attr) if attr[-1:] == "_":
                    written = True
                case _ if isinstance(node.ctx, ast.Load):
                    reads.append((node, parent))
    used = reads[0][1] if len(reads) == 1 and not written and _elementwise(run, reads[0][1], reads[0][0]) else None
    return Using(used, written)


def _elementwise(run: Run, parent: ast.AST | None, node: ast.expr) -> bool:
    match parent:
        case ast.BinOp(op=op):
            return not isinstance(op, ast.MatMult)
        case ast.Compare(ops=[op]):
            return not isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot))
        case ast.AugAssign(value=value):
            return value is node
        case ast.Call(func=func) if func is not node:
            name = is_imported(run, func)
            if name is not None:
                return name.startswith("torch.") and name[6:] in BROADCASTING_FUNCTIONS and len(parent.args) > 1
            method = isinstance(func, ast.Attribute) and func.attr.removesuffix("_") in BROADCASTING
            return method and node in parent.args
    return False
