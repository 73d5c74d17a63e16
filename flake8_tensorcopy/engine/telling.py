"""One function of a file: a lean walk puts its nodes into buckets by type, then each type tells its features."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.buckets import Buckets, gather
from flake8_tensorcopy.engine.definitions import Function, FunctionNode, Survey
from flake8_tensorcopy.engine.features import (
    ASYNC,
    ATTR_STORE,
    BACKWARD,
    CHAINED,
    CLONE,
    COUNTED,
    CUDA,
    DATA_PTR,
    DEFAULT,
    DETACH,
    DROPPED,
    EXPAND,
    GRAD,
    HANDS_OUT,
    HOOK,
    HOST,
    INDEX_ADD,
    INFERENCE,
    KEPT,
    KEPT_ITEMS,
    LEAF,
    LEGACY,
    LOADS_STATE,
    LOOP_REBIND,
    LOST,
    PARAMETERS,
    REBUILT,
    REPEAT,
    REPEATED,
    REQUIRES_GRAD,
    SELF_COPY,
    SHARE,
    STATE_DICT,
    STEPS,
    STRIDES,
    TO_ARRAY,
    TO_HOST,
    TURNED,
    UNPACKED,
    UNWRAP,
    VIA_NUMPY,
    WEIGHTS,
    WRITE,
)
from flake8_tensorcopy.engine.forms import (
    TURNS,
    behind_detach,
    bound_by,
    called_name,
    calls_for_nothing,
    class_called,
    is_of_self,
    last_name,
    names_again,
)
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.told_bindings import gives_generator, tell_assignments, tell_binding
from flake8_tensorcopy.engine.told_calls import tell_calls

_ATTRIBUTES = {
    "expand": EXPAND,
    "expand_as": EXPAND,
    "broadcast_to": EXPAND,
    "broadcast_tensors": EXPAND,
    "meshgrid": EXPAND,
    "unfold": EXPAND,
    "as_strided": EXPAND,
    "register_forward_hook": HOOK,
    "state_dict": STATE_DICT,
    "load_state_dict": LOADS_STATE,
    "data_ptr": DATA_PTR,
    "grad": GRAD,
    "cpu": HOST | TO_HOST,
    "to": HOST,
    "clone": CLONE,
    "deepcopy": CLONE,
    "detach": DETACH,
    "detach_": DETACH,
    "data": DETACH,
    "parameters": PARAMETERS,
    "named_parameters": PARAMETERS,
    **dict.fromkeys(library.OF_LAYERS, WEIGHTS),
    "numpy": TO_ARRAY | VIA_NUMPY,
    "array": TO_ARRAY | VIA_NUMPY,
    "asarray": TO_ARRAY | VIA_NUMPY,
    "__array__": VIA_NUMPY,
    "inference_mode": INFERENCE,
    "backward": BACKWARD,
    "manual_backward": BACKWARD,
    "requires_grad_": REBUILT | REQUIRES_GRAD | LEAF,
    "requires_grad": REBUILT | REQUIRES_GRAD,
    **dict.fromkeys(("T", "mT", "H", "mH"), TURNED),
    **dict.fromkeys(("strides", "flip", "fliplr", "flipud", "rot90"), STRIDES),
    **dict.fromkeys(("nbytes", "element_size", "itemsize", "repeat_interleave"), COUNTED),
    **dict.fromkeys(("repeat", "tile"), COUNTED | REPEATED),
    "pin_memory": ASYNC,
    "cuda": CUDA,
    "load": LEGACY,
    **dict.fromkeys(
        (f"{kind}Tensor" for kind in "Float Double Half BFloat16 Long Int Short Char Byte Bool".split()), LEGACY
    ),
}
_BACKWARD = frozenset({"backward", "manual_backward"})
_OF_MODULES = frozenset({"parameters", "named_parameters"})
_EACH = frozenset({"max", "min", "item"})
_FOR_NAMES = frozenset(_ATTRIBUTES)
_IN_PLACE = 1 << 62  # of an attribute: a method that writes


class _Attributes(dict[str, int]):
    """What an attribute tells by its name."""

    def __missing__(self, name: str) -> int:
        found = _ATTRIBUTES.get(name, 0)
        if name[-1:] == "_" and name[:1] != "_" and ops.method(name) is not None:
            found |= _IN_PLACE | WRITE
        elif name in library.NUMPY_WRITES:
            found |= WRITE
        self[name] = found
        return found


class _Dropped(dict[str, int]):
    """What a call of that method tells where it is a statement."""

    def __missing__(self, name: str) -> int:
        known = name[-1:] != "_" and (
            ops.method(name) or ops.function(f"torch.{name}") or ops.function(f"torch.nn.functional.{name}")
        )
        self[name] = found = DROPPED if known else 0
        return found


_OF_ATTRIBUTE = _Attributes()
_OF_STATEMENT = _Dropped()


def scan(owner: Function, nodes: Iterable[ast.AST], result: Survey) -> None:
    """Collect features of the nodes and all below them into their function."""
    found, names, texts, owner.depth = gather(nodes)
    owner.found = found
    get = found.get
    features = tell_calls(owner, found[ast.Call], result)
    for name in names & _FOR_NAMES:
        features |= _ATTRIBUTES[name]
    for text in texts:
        if "cuda" in text[:10]:
            features |= CUDA | LEGACY if text[:11] == "torch.cuda." else CUDA
        elif text == "cpu":
            features |= TO_HOST
    features |= _attributes(owner, found[ast.Attribute])
    features |= tell_assignments(owner, get(ast.Assign, []), get(ast.AnnAssign, []))
    for node in (*get(ast.AnnAssign, ()), *get(ast.NamedExpr, ())):
        if node.value is not None:
            features |= tell_binding(node.value)
    for node in get(ast.AugAssign, ()):
        features |= _augmented(node)
    fills = "append" in owner.calls
    for node in get(ast.Subscript, ()):
        if type(node.ctx) is ast.Store:
            fills = True
            if owner.name == "forward" and isinstance(node.value, ast.Attribute):
                features |= KEPT
            features |= SHARE | (WRITE if isinstance(node.value, (ast.Name, ast.Attribute)) else WRITE | LOST)
        elif type(node.value) is ast.Call and called_name(behind_detach(node.value)) == "clone":
            features |= CHAINED
    for node in get(ast.Slice, ()):
        if isinstance(node.step, ast.UnaryOp) and isinstance(node.step.op, ast.USub):
            features |= STRIDES
    for node in get(ast.BinOp, ()):
        if type(node.op) is ast.Mult:
            features |= _repeated(node)
    for node in (*get(ast.ListComp, ()), *get(ast.GeneratorExp, ()), *get(ast.DictComp, ())):
        item = node.value if type(node) is ast.DictComp else node.elt
        if isinstance(item, (ast.Name, ast.Attribute)) and not bound_by(node.generators, item):
            features |= REPEAT
    for node in get(ast.Expr, ()):
        for call in (node.value,) if type(node.value) is ast.Call else calls_for_nothing(node.value):
            if type(call.func) is ast.Attribute or type(call.func) is ast.Name:
                features |= _OF_STATEMENT[last_name(call.func)]
    for node in (*get(ast.For, ()), *get(ast.AsyncFor, ())):
        features |= SHARE
        over = (node.iter, *node.iter.args) if isinstance(node.iter, ast.Call) else (node.iter,)
        if fills and any(called_name(one) in _OF_MODULES for one in over):
            features |= KEPT_ITEMS  # a list or dict of parameters, perhaps
        owner.loops.update(one.id for one in walk(node.target) if isinstance(one, ast.Name))
    if ast.comprehension in found or ast.MatchAs in found or ast.Yield in found:
        features |= SHARE
    for node in get(ast.Return, ()):
        if node.value is not None:
            features |= _returned(owner, node.value)
    if ast.Yield in found or ast.YieldFrom in found:
        owner.generates = True
    for node in (*get(ast.FunctionDef, ()), *get(ast.AsyncFunctionDef, ()), *get(ast.Lambda, ())):
        owner.inner.append(node)
        if not isinstance(node, ast.Lambda):
            features |= defaults(node)
    for node in get(ast.Delete, ()):
        result.deleted.update(_deleted(node))
    if "Parameter" in owner.calls and _wrapped(found) > (_plainly(found) if owner.name == "__init__" else 0):
        features |= UNWRAP
    if features & REBUILT and library.gives_loss(owner.name):
        features |= KEPT
    owner.features |= features
    _settle(owner)


def _attributes(owner: Function, nodes: list[ast.Attribute]) -> int:
    features = 0
    names = {node.attr for node in nodes}
    for name in names:
        features |= _OF_ATTRIBUTE[name]
    if owner.name == "forward" and not names.isdisjoint(library.AVERAGES):
        features |= KEPT
    if features & _IN_PLACE:
        features ^= _IN_PLACE
        for node in nodes:
            if _OF_ATTRIBUTE[node.attr] & _IN_PLACE and not isinstance(node.value, (ast.Name, ast.Attribute)):
                features |= LOST
    for node in nodes:
        if type(node.ctx) is ast.Store:
            features |= ATTR_STORE
            if node.attr == "data" and not isinstance(node.value, (ast.Name, ast.Attribute)):
                features |= LOST
            if owner.name == "forward":
                features |= KEPT
            if owner.cls is not None and isinstance(node.value, ast.Name) and node.value.id == "self":
                owner.cls.assigns.setdefault(node.attr, set()).add(owner.name)
    return features


def _augmented(node: ast.AugAssign) -> int:
    features = WRITE
    if isinstance(node.target, ast.Subscript):
        features |= INDEX_ADD
    if names_again(node.target, [node.value]):
        features |= SELF_COPY
    return features


def _repeated(node: ast.BinOp) -> int:
    """A list display times a number."""
    for side in (node.left, node.right):
        if isinstance(side, (ast.List, ast.Tuple)):
            if any(isinstance(item, (ast.Call, ast.Name, ast.Attribute)) for item in side.elts):
                return REPEAT
    return 0


def _returned(owner: Function, given: ast.expr) -> int:
    if gives_generator(given):
        owner.generates = True
    if owner.cls is None:
        return 0
    parts: Sequence[ast.expr] = given.elts if isinstance(given, ast.Tuple) else [given]
    parts = given.values if isinstance(given, ast.Dict) else parts
    owner.gives.update(part.id for part in parts if isinstance(part, ast.Name))
    return HANDS_OUT if any(map(is_of_self, parts)) else 0


def _deleted(node: ast.Delete) -> Iterator[str]:
    """The attributes, and items by their keys, that a `del` removes."""
    for target in node.targets:
        if isinstance(target, ast.Attribute):
            yield target.attr
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            if isinstance(target.slice.value, str):
                yield target.slice.value


def _wrapped(found: Buckets) -> int:
    """How many Parameters are made."""
    return sum(called_name(node) == "Parameter" for node in found[ast.Call])


def _plainly(found: Buckets) -> int:
    """How many Parameters are made only to be assigned to attributes."""
    return sum(
        class_called(node.value) == "Parameter" and all(isinstance(target, ast.Attribute) for target in node.targets)
        for node in found[ast.Assign]
    )


def defaults(node: FunctionNode) -> int:
    """Whether a default of a function is made by a call, or names something."""
    given = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    return DEFAULT if any(isinstance(one, (ast.Call, ast.Name, ast.Attribute)) for one in given) else 0


def _settle(owner: Function) -> None:
    """Add what several nodes tell together, and drop what tells nothing without a call of `view` or `reshape`."""
    calls, features = owner.calls, owner.features
    if "view" in calls and not TURNS.isdisjoint(calls):
        features |= TURNED
    if "Parameter" in calls and "repeat" in calls:
        features |= EXPAND  # what `einops.repeat` makes is expanded
    if not isinstance(owner.node, ast.Module):
        features &= ~(0 if "view" in calls else TURNED)
        features &= ~(0 if "view" in calls or "reshape" in calls else UNPACKED)
    if owner.loops and (calls & library.PUTS or ("append" in calls and not library.HOLDERS.isdisjoint(calls))):
        features |= REPEAT  # perhaps one layer, again and again
    owner.features = features
    if owner.loops & owner.stores or not owner.loops.isdisjoint(owner.picked.values()):
        owner.features |= LOOP_REBIND
    if owner.of_self & owner.gives:
        owner.features |= HANDS_OUT
    if calls & _EACH or ("step" in calls and calls & _BACKWARD):
        owner.features |= STEPS
