"""Copies, moves and casts that follow one another in one chain, where one of them would do."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.callers import Ask, argument_of
from flake8_tensorcopy.engine.evaluate import evaluate, is_imported
from flake8_tensorcopy.engine.facts import Fact, MovedThenDetached, RedundantCast, RedundantClone
from flake8_tensorcopy.engine.graph import recording
from flake8_tensorcopy.engine.host import moved_to_host
from flake8_tensorcopy.engine.kinds import OPERATORS
from flake8_tensorcopy.engine.operations import _target_dtype, dtype_of, on_graph
from flake8_tensorcopy.engine.parts import Index
from flake8_tensorcopy.engine.refine import grad_mode
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.settled import asks_of
from flake8_tensorcopy.engine.source import applied_to, behind_detach, called_name, receiver_of
from flake8_tensorcopy.engine.values import DETACH, VIEW, Link, Obj, Ref, Value

CASTS = frozenset("float double half bfloat16 long int short byte char bool".split())
MOVES = frozenset({"to", "cpu", "cuda", "type", *CASTS})

# Floating dtypes: of two with unlike ranks the higher keeps every value of the lower.
_RANK = {"float16": 1, "bfloat16": 1, "float32": 2, "float64": 3}
# Which other dtypes one keeps without loss.
_KEEPS = {
    "float16": {"bool", "uint8", "int8"},
    "bfloat16": {"bool", "uint8", "int8"},
    "float32": {"bool", "uint8", "int8", "int16", "float16", "bfloat16"},
    "float64": {"bool", "uint8", "int8", "int16", "int32", "float16", "bfloat16", "float32"},
    "int64": {"int32", "int16", "int8", "uint8"},
    "int32": {"int16", "int8", "uint8"},
    "int16": {"int8", "uint8"},
}


def chained(run: Run, node: ast.Call, base: Value, name: str, args: Args) -> None:
    """A method called on what another call or operator has just made."""
    if run.quiet:
        return
    inner = receiver_of(node)
    if name == "clone" and not args.nodes and not args.keywords:
        clone_of(run, node, base, inner)
    elif name == "contiguous" and not args.nodes and not args.keywords:
        clone = behind_detach(inner)
        if _clone_of_what(run, base, inner) is not None and not _in_order(base.refs[0].obj.copied):
            _report(run, node, clone, "contiguous", "contiguous", base.refs[0].obj, 2, contiguous=node)
    elif name == "detach":
        moved_then_detached(run, node, base, inner)
    elif name in MOVES:
        _moved_clone(run, node, base, name, args, inner)
        _cast_twice(run, node, base, name, args, inner)


_JOINS = frozenset({"cat", "concat", "concatenate", "stack", "vstack", "hstack"})
_KEEPS_ORDER = frozenset({"reshape", "view", "flatten", "unsqueeze", "ravel", "="})


def _in_order(ref: Ref | None) -> bool:
    """Whether a tensor is contiguous anyhow: made or joined here, and no more than reshaped since."""
    if ref is None or not all(link.op in _KEEPS_ORDER for link in ref.chain):
        return False
    op = ops.function(f"torch.{ref.obj.made}")
    return ref.obj.made in _JOINS or (op is not None and op.factory and not op.overlaps)


def call_text(run: Run, node: ast.Call) -> str:
    """The call of a method without what it is called on."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else run.short(node.func)
    keywords = [
        f"{one.arg}={run.short(one.value)}" if one.arg else f"**{run.short(one.value)}" for one in node.keywords
    ]
    return f"{name}({', '.join([*map(run.short, node.args), *keywords])})"


# ----- clones


def clone_of(run: Run, node: ast.Call, base: Value, inner: ast.expr) -> None:
    """`(a + b).clone()`, `x.contiguous().clone()`: is it the second copy?"""
    if len(base.refs) != 1:
        return
    ref = base.refs[0]
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "contiguous":
        made = ref.obj.made == "contiguous" and not ref.chain
        if (made or (ref.chain and ref.chain[-1].node is inner)) and not inner.args and not inner.keywords:
            _report(run, node, node, "contiguous", "contiguous", ref.obj, 2, contiguous=inner)
        return
    if new_memory(run, ref, inner):
        _report(run, node, node, "fresh", ref.obj.made, ref.obj, run.evidence(ref.obj, None))
        _ask(run, RedundantClone, node, ref.obj)


def new_memory(run: Run, ref: Ref, inner: ast.expr) -> bool:
    """Whether the expression has just made storage that nothing else holds, and that backward does not need."""
    obj = ref.obj
    if ref.place is not None or obj.owner != "fresh" or obj.leaf or obj.kind not in ("tensor", "unknown"):
        return False
    if ref.chain:
        if len(ref.chain) > 1 or ref.chain[0].kind != DETACH or ref.chain[0].node is not inner:
            return False
        inner = receiver_of(inner)
    if obj.node is not inner:
        return False
    if isinstance(inner, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return obj.made in (OPERATORS | {"@"}) - {"**"}
    if isinstance(inner, ast.Subscript):
        return obj.made == "index" and _evidence(run, obj.copied) >= 2 and _surely_copies(run, inner.slice)
    if not isinstance(inner, ast.Call):
        return False
    if isinstance(inner.func, ast.Name) and inner.func.id not in run.names.imported:
        return False  # a builtin, or a function of this file
    if any(keyword.arg in ("requires_grad", "out", None) for keyword in inner.keywords):
        return False
    name = is_imported(run, inner.func)
    op = ops.method(obj.made) if name is None else ops.function(name)
    if op is None or op.form not in ("method", "function"):
        return False
    if name is None and (run.evidence(obj, None) < 2 or getattr(inner.func, "attr", "") != obj.made):
        return False
    if op.result == "maybe":
        return any(keyword.arg == "copy" for keyword in inner.keywords)
    single = op.many == 1 or (obj.made == "where" and len(inner.args) > 1)
    return op.result == "fresh" and single and not op.overlaps and (not op.saves_output or obj.graph is False)


def _surely_copies(run: Run, index: ast.expr) -> bool:
    """Whether an index is a list, a mask or a tensor of several indices: one of a single number makes a view."""
    return any(_chooses(run, item) for item in (index.elts if isinstance(index, ast.Tuple) else [index]))


def _chooses(run: Run, item: ast.expr) -> bool:
    match item:
        case ast.List() | ast.ListComp() | ast.Compare() | ast.UnaryOp(op=ast.Invert()):
            return True
        case ast.BinOp(op=operator):
            return isinstance(operator, (ast.BitAnd, ast.BitOr))
        case ast.Call():
            op = ops.function(is_imported(run, item.func) or "") or ops.method(called_name(item))
            return op is not None and op.result == "fresh" and op.many == 1 and not op.zero_dim
        case ast.Name() | ast.Attribute():
            value = evaluate(run, item)
            obj = value.obj
            if obj is None or not all(_all_or_some(link) for ref in value.refs for link in ref.chain):
                return False
            if obj.kind == "list":
                return isinstance(obj.node, (ast.List, ast.ListComp))
            return obj.kind in ("tensor", "array") and (obj.dtype == "bool" or obj.made not in OPERATORS)
    return False


def _all_or_some(link: Link) -> bool:
    """Whether an alias or a slice, of which no single number comes."""
    return link.op == "=" or (isinstance(link.key, Index) and link.key.slices_only)


def _evidence(run: Run, ref: Ref | None) -> int:
    return 0 if ref is None else run.evidence_of(ref, None)


def _clone_of_what(run: Run, base: Value, inner: ast.expr) -> Ref | None:
    """What `x.clone()` or `torch.clone(x)`, which has no other argument, copies; of several the least known.

    `detach()` may follow.
    """
    clone = behind_detach(inner)
    if not isinstance(clone, ast.Call) or clone.keywords:
        return None
    copied = [
        ref.obj.copied
        for ref in base.refs
        if (not ref.chain if clone is inner else len(ref.chain) == 1 and ref.chain[0].node is inner)
        if ref.place is None and ref.obj.made == "clone" and ref.obj.node is clone
    ]
    known = [ref for ref in copied if ref is not None]
    return min(known, key=lambda ref: _evidence(run, ref)) if known and len(known) == len(base.refs) else None


def _moved_clone(run: Run, node: ast.Call, base: Value, name: str, args: Args, inner: ast.expr) -> None:
    """`x.clone().to(device)`: `to(device, copy=True)` copies once, whether it moves or not."""
    source, clone = _clone_of_what(run, base, inner), behind_detach(inner)
    if source is None or source.kind not in ("tensor", "unknown") or (RedundantClone, clone) in run.facts:
        return
    if (
        _stays(run, args, clone)
        or "memory_format" in args.keywords
        or (name in ("to", "type") and not args.nodes and not args.keywords)
    ):
        return
    target = _target_dtype(run, name, node)
    if target and target == dtype_of(source) and (name in CASTS or len(args.nodes) + len(args.keywords) == 1):
        return
    bare = source.obj.owner == "argument" and not library.says_container(run.text(applied_to(clone)))
    dtype = target if name in CASTS else ""
    _report(run, node, clone, "moved", name, source.obj, _evidence(run, source), bare, dtype=dtype)
    _ask(run, RedundantClone, node, source.obj)


def _to_host(node: ast.AST) -> bool:
    """`cpu()`, `to("cpu")`."""
    if not isinstance(node, ast.Call):
        return False
    given = [
        item.value for item in (*node.args, *(one.value for one in node.keywords)) if isinstance(item, ast.Constant)
    ]
    return called_name(node) == "cpu" or "cpu" in given


def _stays(run: Run, args: Args, clone: ast.expr) -> bool:
    """`x.clone().to(x.device)`: proven to change nothing."""
    if len(args.nodes) + len(args.keywords) != 1:
        return False
    (given, _), *_ = args.all()
    text = run.text(given)
    source = applied_to(clone)
    while True:
        name = run.text(source)
        if text in (name, f"{name}.device", f"{name}.dtype"):
            return True
        if receiver_of(source) is source:
            return False
        source = receiver_of(source)


def indexed_clone(run: Run, node: ast.Subscript, base: Value, value: Value) -> None:
    """`x.clone()[mask]`: the index copies what it names anyway."""
    source = _clone_of_what(run, base, node.value)
    if source is None or value.obj is None or value.obj.made != "index" or value.obj.node is not node:
        return
    if _evidence(run, source) >= 2 and not run.quiet:
        _report(run, node.value, behind_detach(node.value), "indexed", "[..]", source.obj, _evidence(run, source))


def _report(
    run: Run,
    node: ast.AST,
    clone: ast.expr,
    form: str,
    op: str,
    obj: Obj,
    evidence: int,
    bare: bool = False,
    contiguous: ast.Call | None = None,
    dtype: str = "",
) -> None:
    if evidence < 3 and any(name.startswith("tensordict") for name in run.names.imported.values()):
        return  # its containers of tensors have the same methods
    copied = applied_to(clone)
    run.fact(
        RedundantClone(
            site=node,
            receiver=run.short(receiver_of(copied) if copied is contiguous else copied),
            form=form,
            op=op,
            clone=clone,
            argument=None if copied is receiver_of(clone) else copied,
            contiguous=contiguous,
            dtype=dtype,
            detached=False,
            host=form == "moved" and _to_host(node),
            bare=bare,
            evidence=evidence,
        )
    )
    if evidence < 3:
        run.about[(RedundantClone, node)] = (obj, None)


def _ask(run: Run, kind: type[Fact], node: ast.AST, obj: Obj) -> None:
    """The calls in this file may say that what came in as an argument is a tensor."""
    found = argument_of(obj)
    if found is not None and found[0].kind == "unknown" and not found[1]:
        run.asks.append(Ask((kind, node), found[0].key, {"tensor": ""}, asks_of(run, run.now.arms)))


# ----- moves


def moved_then_detached(run: Run, node: ast.Call, base: Value, inner: ast.expr) -> None:
    """`x.cpu().detach()`, `torch.detach(x.cpu())`, perhaps with views in between."""
    for ref in base.refs:
        at = inner
        for position in range(len(ref.chain) - 1, -1, -1):
            if ref.chain[position].node is not at:
                break
            moved = Ref(ref.obj, ref.chain[: position + 1], ref.place, ref.seen, ref.arms)
            move = moved_to_host(run, moved)
            told = run.facts.get((RedundantClone, move)) if move is not None else None
            if move is not None and (not isinstance(told, RedundantClone) or told.host):
                receiver = receiver_of(move)
                run.fact(
                    MovedThenDetached(
                        site=node,
                        receiver=run.short(receiver),
                        move=call_text(run, move),
                        moved=move,
                        graph=False if _made_off_graph(run, ref.obj) else on_graph(ref),
                        recording=recording(run),
                    )
                )
                return
            at = receiver_of(at)


def _made_off_graph(run: Run, obj: Obj) -> bool:
    """Whether an unknown call made it under `torch.no_grad()`, though it is moved outside."""
    parents = run.parents()
    at = parents.get(obj.node) if obj.node is not None and obj.made == "call" else None
    while at is not None:
        if isinstance(at, (ast.With, ast.AsyncWith)):
            if any(grad_mode(run, item.context_expr) == "off" for item in at.items):
                return True
        at = parents.get(at)
    return False


# ----- casts


def _cast_twice(run: Run, node: ast.Call, base: Value, name: str, args: Args, inner: ast.expr) -> None:
    """`x.float().half()`: the second cast alone gives the same."""
    if len(base.refs) != 1 or not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute):
        return
    second, first = _pure_cast(run, node, name), _pure_cast(run, inner, inner.func.attr)
    ref = base.refs[0]
    if not first or not second or ref.kind not in ("tensor", "unknown"):
        return
    if ref.chain and ref.chain[-1].node is inner:
        source = Ref(ref.obj, ref.chain[:-1], ref.place, ref.seen, ref.arms)
    elif ref.obj.copied is not None and ref.obj.node is inner:
        source = ref.obj.copied
    else:
        return
    dtype = dtype_of(source)
    exact = dtype == "bool" or dtype in _KEEPS.get(first, ())
    narrows = _RANK.get(second, 9) < _RANK.get(first, 0)
    if dtype in (first, second) or not (narrows or (exact and _reads_exactly(dtype, first, second))):
        return
    obj = source.obj
    evidence = run.evidence_of(source, None)
    # Operators, methods and views give no module; an argument may be one.
    computed = obj.owner == "fresh" and (obj.made in OPERATORS or ops.method(obj.made) is not None)
    if not obj.refuted and (computed or any(link.kind == VIEW for link in source.chain)):
        evidence = max(evidence, 1)
    plain = obj.owner in ("argument", "item") and all(link.op == "=" for link in source.chain)
    bare = plain and not library.says_module(run.text(receiver_of(inner)))
    run.fact(
        RedundantCast(
            site=node,
            receiver=run.short(receiver_of(inner)),
            first=call_text(run, inner),
            second=call_text(run, node),
            cast=inner,
            exact=exact,
            evidence=evidence,
            bare=bare,
        )
    )
    if evidence < 3:
        run.about[(RedundantCast, node)] = (obj, None)
    _ask(run, RedundantCast, node, obj)


def _reads_exactly(dtype: str, first: str, second: str) -> bool:
    """Whether a cast from `first` treats a value that it keeps exactly as a cast from its own dtype would; 0 and 1 are
    the same to all."""
    if dtype == "bool":
        return True
    return first.startswith(("float", "bfloat")) or (first.startswith("int") and second.startswith(("int", "uint")))


def _pure_cast(run: Run, node: ast.Call, name: str) -> str:
    """The dtype that a call converts to, if it asks for nothing else."""
    given = len(node.args) + len(node.keywords)
    if name in CASTS:
        return _target_dtype(run, name, node) if not given else ""
    if name in ("to", "type") and given == 1 and all(one.arg in ("dtype",) for one in node.keywords):
        return _target_dtype(run, name, node)
    return ""
