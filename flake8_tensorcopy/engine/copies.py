"""Where a copy would part two names of one storage: what repairs are told, found on the steps of their derivation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.facts.base import Copy
from flake8_tensorcopy.engine.nodes import defaults_of, walk
from flake8_tensorcopy.engine.parts import beside
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.values import MAYBE, NUMPY, UNSURE, Arm, Chain, Link, Obj, Place, Ref, Write

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.notes import Use
    from flake8_tensorcopy.engine.run import Run

CONTAINERS = frozenset({"tuple", "list", "dict", "iter"})

# Views that are several tensors: their base is copied.
_SEVERAL = frozenset(
    {"split", "chunk", "unbind", "tensor_split", "unsafe_split", "unsafe_chunk", "hsplit", "vsplit", "dsplit",
     "split_with_sizes", "meshgrid", "broadcast_tensors"}
)  # fmt: skip


def parting(run: Run, use: Use, written: Write, start: int, reader_first: bool) -> tuple[Copy, ...]:
    """Where what is read and what is written of one storage could be parted, the best place first: where the reader
    was bound or where the writer was, and as near to that binding as can be.

    `start` is the length of the derivation that both have in common.
    """
    reader, writer = use.ref, written.ref
    if _may_be_none(run, reader.obj, (written.arms | run.now.arms) - (reader.arms & writer.arms)):
        return ()
    sides = [(reader, beside(use.whole, reader), writer), (writer, written.others, reader)]
    found: list[Copy] = []
    for ref, others, opposite in sides if reader_first else reversed(sides):
        shared = {link.node for link in opposite.chain[start : opposite.held]}  # `a = b = x`
        found += (copy for copy in _along(run, ref, start, written.node, others) if shared.isdisjoint(copy.nodes))
    return tuple(found)


def copies_for_writer(run: Run, write: Write) -> tuple[Copy, ...]:
    """Where what is written could get a storage of its own, the best place first."""
    if _may_be_none(run, write.ref.obj, write.arms - write.ref.arms):
        return ()
    return tuple(_along(run, write.ref, 0, write.node, write.others))


def _along(run: Run, ref: Ref, start: int, write: ast.AST, others: tuple[Ref, ...]) -> Iterator[Copy]:
    """A copy after each step of a binding's derivation, the last one first; of `x.float().mul_(2)`, which no name
    holds in between, after what the write is a method of.

    A step that another path to the binding does not take parts nothing there.
    """
    receiver = write.func.value if isinstance(write, ast.Call) and isinstance(write.func, ast.Attribute) else None
    seen: set[ast.AST] = set()
    for at in range(len(ref.chain) - 1, start - 1, -1):
        node = ref.chain[at].node
        if node in seen or not (at < ref.held or node is receiver):
            continue
        seen.add(node)
        if all(any(link.node is node for link in other.chain) for other in others):
            if (copy := copy_after(run, ref.obj, ref.chain, at, write)) is not None:
                yield copy


def copy_after(run: Run, obj: Obj, chain: Chain, at: int, write: ast.AST | None = None) -> Copy | None:
    """A copy of what one step of a derivation gave; before the step where that itself is the write."""
    link = chain[at]
    node = link.node
    if not isinstance(node, ast.expr) or link.kind == UNSURE or link.op == "requires_grad_":
        return None  # a copy of a leaf is none
    array = Ref(obj, chain[: at + 1]).kind == "array"
    if node in run.called:
        # What a function of this file did to what it returns.
        returned = [ref.obj.kind for value, _, _ in run.called[node].returned for ref in value.refs]
        alone = node is not write and CONTAINERS.isdisjoint(returned)
        return (
            Copy((node,), array, "", any(step.kind == MAYBE for step in chain if step.node is node)) if alone else None
        )
    if node is write or link.op in _SEVERAL:
        given = given_to(run, node, link.op)
        return Copy((given,), Ref(obj, chain[:at]).kind == "array", "", False) if given is not None else None
    return Copy(tuple(_arms(run, node, obj)), array, link.op, link.kind == MAYBE)


def given_to(run: Run, call: ast.AST, op: str) -> ast.expr | None:
    """The tensor that an operation of torch works on: `x` of `x.chunk(2)` and of `torch.chunk(x, 2)`."""
    match call:
        case ast.Call(func=func, args=[first, *_]) if run.names.qualify(func) is not None:
            return first if not isinstance(first, ast.Starred) else None
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr == op:
            return value
    return None


def last_copy(run: Run, ref: Ref) -> tuple[Copy, ...]:
    """A copy of what a reference is, where the expression that it is held by stands."""
    if not ref.chain or _may_be_none(run, ref.obj, run.now.arms - ref.arms):
        return ()
    copy = copy_after(run, ref.obj, ref.chain, len(ref.chain) - 1)
    return (copy,) if copy is not None else ()


def handed_copy(run: Run, ref: Ref, site: ast.AST) -> tuple[Copy, ...]:
    """A copy of what a statement or call returns, yields or stores: of all that stands there, what the reference is."""
    held = ref.chain[-1].node if ref.chain else None
    stored = ref.place is not None and ref.place.origin == "store"
    given = [one for value in _values_of(site) for one in _in_display(value)]
    named = [one for one in given if ref.place is not None and run.text(one) == ref.place.name]
    for found in ([one for one in given if one is held], given, named):
        texts = {run.text(one) for one in found}
        if len(texts) == 1 and not (stored and isinstance(found[0], ast.Name) and found[0] is not held):
            same = [arm for one in given if run.text(one) in texts for arm in _arms(run, one, ref.obj)]
            return (Copy(tuple(same), ref.kind == "array", "", False),)
    # What was put into a container before that was handed out.
    return (Copy((held,), ref.kind == "array", "", False),) if stored and isinstance(held, ast.expr) else ()


def writable_copy(run: Run, ref: Ref, crossing: int) -> tuple[Copy, ...]:
    """A copy of an array just before one step of the derivation makes it a tensor; else of what was made first."""
    link = ref.chain[crossing] if ref.chain else None
    found: list[Copy] = []
    if link is not None and link.kind == NUMPY and link.node not in run.called:
        given = given_to(run, link.node, link.op)
        if given is not None:
            found.append(Copy((given,), True, "", False))
    made = ref.obj.node
    if isinstance(made, ast.Call) and made not in run.called:
        found.append(Copy((made,), ref.obj.kind == "array", "", False))
    return tuple(found)


def returned_copy(run: Run, ref: Ref, node: ast.Return) -> tuple[Copy, ...]:
    """A copy of what a method returns of its object, where that is never None."""
    copies = handed_copy(run, ref, node)
    passed = next((one.state.arms for one in run.returned if one.node is node), frozenset())
    excluded = {str(arm.test[0]) for arm in passed if isinstance(arm.test, tuple) and not arm.taken}
    for part in (part for copy in copies for part in copy.nodes):
        if _set_to_none(run, part) and f"{run.text(part)} is None" not in excluded:
            return ()
    return copies


def _set_to_none(run: Run, node: ast.expr) -> bool:
    """Whether the class makes an attribute None at times."""
    cls = run.function.cls
    if cls is None or not isinstance(node, ast.Attribute):
        return False
    known = run.module.none_attributes.get(cls)
    if known is None:
        known = run.module.none_attributes[cls] = frozenset(_attributes_set_to_none(cls))
    return node.attr in known


def _attributes_set_to_none(cls: Class) -> Iterator[object]:
    for part in walk(cls.node):
        match part:
            case ast.Assign(targets=targets, value=ast.Constant(value=None)):
                yield from (one.attr for one in targets if isinstance(one, ast.Attribute))
            case ast.AnnAssign(target=ast.Attribute(attr=attr), value=ast.Constant(value=None)):
                yield attr
            case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=name), given, *_]):
                if isinstance(given, ast.Constant):
                    yield name


def _values_of(site: ast.AST) -> list[ast.expr]:
    """The expressions that a statement or call hands out."""
    match site:
        case ast.Call(args=args, keywords=keywords):
            return [*args, *(one.value for one in keywords)]
        case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
            return [value]
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return [value]
    return []


def _in_display(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of a tuple, list, set or dict that is written out, or the expression itself."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _in_display(part)
        case _:
            yield node


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
    if obj.owner == "fresh" or not any("None" in arm.text for arm in arms):
        return False
    return obj.owner != "argument" or _optional(run, obj.node)


def _optional(run: Run, argument: ast.AST | None) -> bool:
    """Whether a parameter of the function is declared to take None."""
    node = run.function.node
    if isinstance(node, ast.Module) or not isinstance(argument, ast.arg):
        return True
    if any(one is argument and isinstance(default, ast.Constant) for one, default in defaults_of(node.args)):
        return True
    text = text_of(argument.annotation) if argument.annotation is not None else ""
    return "Optional" in text or "None" in text


def cloned_at(run: Run, link: Link) -> ast.AST | None:
    """The expression, where its value is one tensor."""
    if not isinstance(link.node, ast.Call) or not _gives_one(link.op):
        return None
    if link.inner is not None:  # a function of this file, which may return it among others
        done = run.called.get(link.node)
        values = [one.value for one in done.returned] if done is not None else []
        if not values or any(value.obj is None or value.obj.kind not in ("tensor", "unknown") for value in values):
            return None
    return link.node


def unpacked_at(link: Link, place: Place | None) -> ast.Assign | None:
    """`ys, xs = torch.meshgrid(..)`, of which one name is written to."""
    match place.node if place is not None else None:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=value) as statement if value is link.node:
            if place is not None and any(isinstance(one, ast.Name) and one.id == place.name for one in names):
                return statement
    return None


def _gives_one(name: str) -> bool:
    op = ops.method(name) or ops.function(f"torch.{name}")
    return op is not None and op.many == 1
