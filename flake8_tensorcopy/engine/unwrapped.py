"""Parameters: which call made one, what made a plain tensor of it, and which modules have any."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.around import (
    computed_alone,
    grown,
    holds,
    in_one_function,
    method_of,
    once,
    returned_from,
)
from flake8_tensorcopy.engine.facts import MovedParameter
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.values import ALIAS, DETACH, MAYBE, NUMPY, Chain, Link, Obj, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run

MAX_STEPS = 4

# Modules of torch.nn that always have parameters with their defaults; all others may have none.
_LAYERS = frozenset(
    "Linear Bilinear LazyLinear Embedding EmbeddingBag PReLU LayerNorm GroupNorm RMSNorm MultiheadAttention "
    "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d "
    "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d "
    "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d "
    "RNN LSTM GRU RNNCell LSTMCell GRUCell AdaptiveLogSoftmaxWithLoss "
    "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer".split()
)


class Step(NamedTuple):
    """An operation on the way from a Parameter, or a leaf, to another tensor."""

    made: ast.AST  # what made the Parameter or leaf
    op: str
    always: bool  # another tensor comes back whatever the device and dtype


def inputs_of(obj: Obj) -> tuple[Ref, ...]:
    """The references that a new tensor was computed from."""
    if obj.copied is not None and not obj.inputs:
        return (obj.copied,)
    return obj.inputs


def changes(link: Link, ref: Ref) -> bool:
    """Whether a step may give another tensor than it was given: not `cpu()`, nor a cast to the dtype it has, nor a move
    to where something lies that it was computed from."""
    if link.kind == ALIAS:
        return False
    if link.kind != MAYBE:
        return True
    if link.op in ("cpu", "contiguous", "Identity") or link.op.startswith("Dropout") or link.op == "dropout":
        return False
    if link.dtype and link.dtype == ref.obj.dtype:
        return False
    match link.node:
        case ast.Call(args=[ast.Constant(value="cpu"), *_]):
            return False
        case ast.Call(args=[ast.Attribute(value=ast.Name(id=name), attr="device")]) if not link.dtype:
            return not _computed_from(ref, name)
    return True


def _computed_from(ref: Ref, name: str, depth: int = 0) -> bool:
    """Whether a tensor is (a part of) what a name stood for, or an operation was given that: so they lie together."""
    if any(place is not None and place.name == name for place in (ref.place, *ref.via)) or ref.obj.key == name:
        return True
    return depth < MAX_STEPS and any(_computed_from(one, name, depth + 1) for one in inputs_of(ref.obj))


def always_another(link: Link) -> bool:
    """Whether the step makes another tensor even where nothing has to be moved or cast."""
    return link.kind != MAYBE or link.op in ("reshape", "flatten", "ravel")


def first_step(made: ast.AST, links: Chain, ref: Ref) -> Step | None:
    """The first step of a derivation that makes another tensor; None if none does, or it leaves the graph."""
    if any(link.kind in (DETACH, NUMPY) for link in links):
        return None
    for link in links:
        if changes(link, ref):
            return Step(made, link.op, always_another(link))
    return None


def wrapped(module: Module, ref: Ref) -> tuple[ast.AST, Chain] | None:
    """The `nn.Parameter(..)` call that a reference goes back to, and the steps since."""
    for position in range(len(ref.chain) - 1, -1, -1):
        if ref.chain[position].op == "Parameter":
            return ref.chain[position].node, ref.chain[position + 1 :]
    known = module.wraps.get(ref.obj)
    if known is None:
        return None
    made, chain = known
    return (made, ref.chain[len(chain) :]) if ref.chain[: len(chain)] == chain else None


def unwrapped(module: Module, ref: Ref, depth: int = 0) -> Step | None:
    """How a reference to a plain tensor comes from a Parameter; None for the Parameter itself and for all else."""
    found = wrapped(module, ref)
    if found is not None:
        return first_step(*found, ref)
    known = module.unwraps.get(ref.obj)
    if known is not None:
        return known
    obj = ref.obj
    if obj.owner != "fresh" or depth >= MAX_STEPS or obj.dtype == "bool" or "int" in obj.dtype:
        return None
    for one in inputs_of(obj):
        root = wrapped(module, one)
        if root is not None and not any(link.kind in (DETACH, NUMPY) for link in root[1]):
            return first_step(*root, one) or Step(root[0], obj.made, True)
        step = unwrapped(module, one, depth + 1)
        if step is not None:
            return step
    return None


def parameter_made(run: Run, node: ast.Call, value: Value) -> None:
    """`nn.Parameter(..)` has been evaluated."""
    for ref in value.refs:
        if not (ref.chain and ref.chain[-1].node is node):
            run.module.wraps[ref.obj] = (node, ref.chain)


def reaches(run: Run, owner: Obj, name: str, value: Value, site: ast.AST, source: ast.expr) -> None:
    """The value of an expression is bound to an attribute of an object: a Parameter is kept there; what was one is
    not."""
    steps = [step for ref in value.refs if (step := unwrapped(run.module, ref)) is not None]
    if owner.kind == "module":
        run.unwrapped.extend((step, name, site, source) for step in steps)
    for ref in value.refs:
        found = wrapped(run.module, ref)
        if found is not None and all(step.made is not found[0] for step in steps):
            run.module.kept.add(found[0])


def keeps(run: Run, value: Value) -> None:
    """The value is put into a container, or given to something that may register it."""
    for ref in value.refs:
        found = wrapped(run.module, ref)
        if found is not None:
            run.module.kept.add(found[0])


def returned(run: Run, was: Obj, chain: Chain, made: Obj) -> None:
    """What a function of this file returned is a Parameter of its own, or was one."""
    ref = Ref(was, chain)
    found = wrapped(run.module, ref)
    step = unwrapped(run.module, ref)
    if step is not None:
        run.module.unwraps[made] = step
    elif found is not None:
        run.module.wraps[made] = (found[0], ())


def report_unwrapped(run: Run) -> None:
    """At the end of a function: what reached a module no longer a Parameter, and did not reach one as it was."""
    for step, name, site, source in run.unwrapped:
        if step.made not in run.module.kept:
            whole, alone = _to_wrap(run, step.made, source)
            direct, factory = _direct(run, step.made)
            run.fact(
                MovedParameter(
                    site=step.made,
                    target=name,
                    op=step.op,
                    stored=site,
                    always=step.always,
                    whole=whole,
                    alone=alone,
                    direct=direct,
                    factory=factory,
                    random=factory is not None and "rand" in text_of(factory.func),
                )
            )


def _to_wrap(run: Run, made: ast.AST, source: ast.expr) -> tuple[ast.expr | None, bool]:
    """The expression that a Parameter would have to be made of, and whether nothing else has a part in it."""
    if holds(source, made) or not in_one_function(run.module, made, source):
        whole = grown(run.module, made)
        if whole is not None and whole is not made:
            return whole, computed_alone(whole, made)
        given = returned_from(run.module, made)
        return (given if isinstance(given, (ast.Call, ast.BinOp, ast.Subscript)) else None), False
    several = sum(step.made is made for step, _, _, _ in run.unwrapped) > 1
    return (None if several or not once(run.module, made, source) else source), False


def _direct(run: Run, made: ast.AST) -> tuple[ast.Call | None, ast.Call | None]:
    """A clone, or a move to another device, of a Parameter of a new tensor, and for the move what makes the tensor."""
    from flake8_tensorcopy.engine.library import FACTORIES
    from flake8_tensorcopy.engine.transfers import move_of

    call = method_of(run.module, made)
    match made:
        case ast.Call(args=[ast.Call() as factory, *_]) if call is not None and isinstance(call.func, ast.Attribute):
            if run.names.qualify(factory.func) not in FACTORIES:
                return None, None
            if call.func.attr == "clone":
                return (None if call.args or call.keywords else call), None
            given = {keyword.arg for keyword in factory.keywords}
            if move_of(run, call) is not None and not given & {None, "device", "generator", "out", "pin_memory"}:
                return call, factory
    return None, None


def methods_from(module: Module, cls: Class, name: str) -> frozenset[str]:
    """The methods of an object that a call of one of them may run, by name: itself, and what it calls on."""
    found: set[str] = set()
    pending = [name]
    while pending:
        here = pending.pop()
        method = module.method(cls, here)
        if here not in found and method is not None:
            found.add(here)
            pending.extend(method.calls)
    return frozenset(found)


# ----- modules with parameters


def layer_of(module: Module, obj: Obj, new: bool = False, depth: int = 0) -> str:
    """What has parameters about an object: the class of a layer, or nothing; with `new`, parameters made here."""
    if obj.kind == "tensor" and obj.param and not (new and obj.owner != "fresh"):
        return "Parameter"
    if obj.kind != "module" or (new and obj.owner != "fresh") or depth >= MAX_STEPS:
        return ""
    if isinstance(obj.data, Class):
        return obj.data.name if _has_layers(module, obj.data, depth) else ""
    if isinstance(obj.data, tuple) and obj.data[0] in ("layers", "some layers"):
        layers = (ref.obj for value in obj.data[1] for ref in value.refs)
        return "Sequential" if any(layer_of(module, one, new, depth + 1) for one in layers) else ""
    return obj.cls.rsplit(".", 1)[-1] if is_layer(obj.cls) and not _plain(obj) else ""


def is_layer(cls: str) -> bool:
    """Whether modules of a class, by its qualified name, always have parameters with its defaults."""
    return cls.startswith("torch.nn.") and cls.rsplit(".", 1)[-1] in _LAYERS


def _has_layers(module: Module, cls: Class, depth: int) -> bool:
    """Whether the objects of a class of this file have parameters."""
    if cls not in module.layered:
        module.layered[cls] = False  # unless something but the class itself says so
        module.layered[cls] = any(
            layer_of(module, ref.obj, False, depth + 1)
            for held in list(module.table(cls).values())
            for ref in held.refs
        )
    return module.layered[cls]


def _plain(obj: Obj) -> bool:
    """A layer that was asked to have no weights of its own."""
    keywords = obj.node.keywords if isinstance(obj.node, ast.Call) else []
    return any(
        keyword.arg in ("affine", "elementwise_affine")
        and isinstance(keyword.value, ast.Constant)
        and not keyword.value.value
        for keyword in keywords
    )


def parameter_of(module: Module, ref: Ref, new: bool = False) -> str:
    """The same for a reference: a Parameter (as it was made), a layer, or nothing."""
    found = wrapped(module, ref)
    if found is not None:
        return "Parameter" if all(link.kind == ALIAS for link in found[1]) else ""
    return layer_of(module, ref.obj, new) if all(link.kind == ALIAS for link in ref.chain) else ""
