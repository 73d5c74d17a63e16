"""Where a copy would part two names of one storage: what repairs are told, found on the steps of their derivation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.facts.base import Copy
from flake8_tensorcopy.engine.values import UNSURE, Arm, Chain, Obj, Ref, Write

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run

# Views that are several tensors: their base is copied.
_SEVERAL = frozenset(
    {"split", "chunk", "unbind", "tensor_split", "unsafe_split", "unsafe_chunk", "hsplit", "vsplit", "dsplit",
     "split_with_sizes", "meshgrid", "broadcast_tensors"}
)  # fmt: skip


def parting(run: Run, reader: Ref, written: Write, start: int, reader_first: bool) -> tuple[Copy, ...]:
    """Where the reader of a storage and what writes it could be parted, the best place first: where the reader was
    bound or where the writer was, and as near to that binding as can be.

    `start` is the length of the derivation that both have in common.
    """
    if _may_be_none(run, reader.obj, (written.arms | run.now.arms) - (reader.arms & written.ref.arms)):
        return ()
    mine, theirs = ({link.node for link in ref.chain[start : ref.held]} for ref in (reader, written.ref))
    both = mine & theirs  # `a = b = x`
    sides = (reader, written.ref) if reader_first else (written.ref, reader)
    return tuple(copy for ref in sides for copy in _along(run, ref, start, written.node, both))


def copies_for_writer(run: Run, write: Write) -> tuple[Copy, ...]:
    """Where what is written could get a storage of its own, the best place first."""
    if _may_be_none(run, write.ref.obj, write.arms - write.ref.arms):
        return ()
    return tuple(_along(run, write.ref, 0, write.node, set()))


def _along(run: Run, ref: Ref, start: int, write: ast.AST, but: set[ast.AST]) -> Iterator[Copy]:
    """A copy after each step of a binding's derivation, the last one first; of `x.float().mul_(2)`, which no name
    holds in between, after what the write is a method of."""
    for at in range(len(ref.chain) - 1, start - 1, -1):
        node = ref.chain[at].node
        if at < ref.held or (
            isinstance(write, ast.Call) and isinstance(write.func, ast.Attribute) and write.func.value is node
        ):
            if node not in but and (copy := copy_after(run, ref.obj, ref.chain, at, write)) is not None:
                yield copy


def copy_after(run: Run, obj: Obj, chain: Chain, at: int, write: ast.AST | None = None) -> Copy | None:
    """A copy of what one step of a derivation gave; before the step where that itself is the write."""
    link = chain[at]
    array = Ref(obj, chain[: at + 1]).kind == "array"
    node = link.node
    if node is write or link.op in _SEVERAL:
        given = given_to(run, node)
        return Copy((given,), Ref(obj, chain[:at]).kind == "array", "") if given is not None else None
    if not isinstance(node, ast.expr) or link.kind == UNSURE:
        return None
    return Copy(tuple(_arms(run, node, obj)), array, link.op)


def given_to(run: Run, call: ast.AST) -> ast.expr | None:
    """The tensor that an operation works on: `x` of `x.chunk(2)` and of `torch.chunk(x, 2)`."""
    match call:
        case ast.Call(func=ast.Attribute(value=value) as func) if run.names.qualify(func) is None:
            return value
        case ast.Call(args=[first, *_]) if not isinstance(first, ast.Starred):
            return first
    return None


def last_copy(run: Run, ref: Ref) -> tuple[Copy, ...]:
    """A copy of what a reference is, where the expression that it is held by stands."""
    if not ref.chain or _may_be_none(run, ref.obj, run.now.arms - ref.arms):
        return ()
    copy = copy_after(run, ref.obj, ref.chain, len(ref.chain) - 1)
    return (copy,) if copy is not None else ()


def _arms(run: Run, node: ast.expr, obj: Obj) -> Iterator[ast.expr]:
    """Of a conditional expression the arms that may be the object."""
    branches = run.branches.get(node)
    if branches is None:
        yield node
        return
    for branch, value in branches:
        if any(ref.obj is obj for ref in value.refs):
            yield from _arms(run, branch, obj)


def _may_be_none(run: Run, obj: Obj, arms: frozenset[Arm]) -> bool:
    """Whether only a later test says that there is a tensor: a copy of None cannot be made."""
    if obj.owner == "fresh" or not any(isinstance(arm.test, tuple) and "None" in str(arm.test[0]) for arm in arms):
        return False
    return obj.owner != "argument" or _optional(run, obj.node)


def _optional(run: Run, argument: ast.AST | None) -> bool:
    """Whether a parameter of the function is declared to take None."""
    node = run.function.node
    if isinstance(node, ast.Module) or not isinstance(argument, ast.arg):
        return True
    spec = node.args
    placed = [*spec.posonlyargs, *spec.args]
    defaults = [*zip(placed[len(placed) - len(spec.defaults) :], spec.defaults, strict=True)]
    defaults += [(one, default) for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    if any(one is argument and isinstance(default, ast.Constant) for one, default in defaults):
        return True
    text = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    return "Optional" in text or "None" in text
