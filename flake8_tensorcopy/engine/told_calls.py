"""What the calls of a function tell: names that mean something are looked at closely, others are passed over."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.definitions import Class, Function, Survey
from flake8_tensorcopy.engine.features import (
    ASYNC,
    CAST,
    CHAINED,
    DEEPCOPY,
    INPLACE_MODULE,
    KEEPS_PART,
    LEAF,
    LOST,
    MODULE_ALIAS,
    OPTIMIZER,
    PLACED,
    RATIO,
    REBUILT,
    REPEAT,
    SELF_COPY,
    SHARE,
    STORAGE,
    TENSOR_OF,
    UNPACKED,
    WRAP,
    WRITE,
)
from flake8_tensorcopy.engine.forms import (
    CASTS,
    chained,
    class_called,
    is_literal,
    is_of_shape,
    is_true,
    last_name,
    names_again,
    names_dtype,
    names_of,
)
from flake8_tensorcopy.engine.nodes import walk

_WRAPS = frozenset({"Parameter", "from_pretrained", "vector_to_parameters"})
_STORAGE_CALLS = frozenset("save share_memory_ frombuffer memmap broadcast_to sliding_window_view".split())
_STORES = frozenset({"append", "extend", "insert", "appendleft", "setdefault", "update"})
_CONSTRUCTORS = frozenset(
    "tensor as_tensor asarray new_tensor Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor".split()
)
_OPTIMIZERS = frozenset(
    "SGD Adam AdamW Adamax Adagrad Adadelta ASGD LBFGS NAdam RAdam RMSprop Rprop SparseAdam Adafactor".split()
)
_MOVES = frozenset({"cpu", "cuda", *CASTS})
_CHAINED = frozenset({"clone", "contiguous", "detach", *_MOVES})
_STORING = _WRAPS | _STORAGE_CALLS | {"append", "deepcopy", "fromkeys", "load_state_dict"}
# What takes a parameter out of its module, or puts something computed in its place.
_UNREGISTERING = frozenset({"delattr", "register_parametrization", "spectral_norm", "weight_norm"})
# Every name that `_call` looks for; those that end in an underscore come on top.
_NAMES = (
    _WRAPS | _STORAGE_CALLS | _STORES | _CONSTRUCTORS | _OPTIMIZERS | _CHAINED
    | _UNREGISTERING | frozenset("load_state_dict deepcopy fromkeys setattr copy exp view reshape pop".split())
)  # fmt: skip
_KEYWORDS = frozenset("requires_grad non_blocking pin_memory collate_fn out inplace mmap_mode".split())


class _Special(dict[str, bool]):
    """Whether a call of that name tells more than that there is one."""

    def __missing__(self, name: str) -> bool:
        self[name] = found = name in _NAMES or name[-1:] == "_"
        return found


_SPECIAL = _Special()


def tell_calls(owner: Function, nodes: list[ast.Call], result: Survey) -> int:
    """The features of the calls of a function; notes the names that they call."""
    features = 0
    names: list[str] = []
    for node in nodes:
        func = node.func
        kind = type(func)
        called: str = ""
        if kind is ast.Attribute:
            called = func.attr  # type: ignore[attr-defined]
        elif kind is ast.Name:
            called = func.id  # type: ignore[attr-defined]
        names.append(called)
        telling = _SPECIAL[called]
        if not telling:
            for item in node.args:
                if type(item) is ast.Constant and item.value is True:
                    telling = True
        for keyword in node.keywords:
            if keyword.arg in _KEYWORDS:
                telling = True
        if telling:
            features |= _call(owner, node, called, result, features)
    owner.calls.update(names)
    owner.calls.discard("")
    return features


def _call(owner: Function, node: ast.Call, called: str, result: Survey, known: int) -> int:
    """The features of a call whose name, or one of whose arguments, means something; none needs to be `known` twice."""
    cls = owner.cls
    if called in _UNREGISTERING and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
        result.deleted.add(str(node.args[1].value))
    if called == "pop" and node.args and isinstance(node.args[0], ast.Constant):
        if isinstance(node.func, ast.Attribute) and last_name(node.func.value) == "_parameters":
            result.deleted.add(str(node.args[0].value))
    if cls is not None and called == "load_state_dict":
        _restore(cls, owner, node)
    features = OPTIMIZER if called in _OPTIMIZERS else PLACED if called == "setattr" else 0
    if node.keywords or called in _STORING or called[-1:] == "_":
        features |= _storages(node, called)
    for keyword in node.keywords:
        if keyword.arg == "requires_grad" and is_true(keyword.value):
            features |= LEAF | REBUILT if called == "Variable" else LEAF
        if keyword.arg in ("non_blocking", "pin_memory"):
            features |= ASYNC
        elif keyword.arg == "collate_fn":
            result.collates.update((*names_of(keyword.value), class_called(keyword.value)))
        if keyword.arg in ("out", "inplace"):
            features |= INPLACE_MODULE if called[:1].isupper() else WRITE
            if isinstance(keyword.value, (ast.Subscript, ast.Call)):
                features |= LOST
    for item in node.args:
        if not is_true(item):
            continue
        if called[:1].isupper():
            features |= INPLACE_MODULE  # `nn.ReLU(True)`
        elif (op := ops.function("torch.nn.functional." + called)) is not None and op.inplace_flag:
            features |= WRITE  # `F.relu(x, True)`
    if called in _CONSTRUCTORS and (node.keywords if not node.args else not is_literal(node.args[0])):
        features |= TENSOR_OF
    elif not known & CHAINED and called in _CHAINED and chained(node, called):
        features |= CHAINED
    if not known & CAST and called in CASTS and (called != "to" or names_dtype(node)):
        features |= CAST
    if called[-1:] == "_" and called[:1] != "_" and node.args:
        features |= WRITE | LOST if isinstance(node.args[0], (ast.Subscript, ast.Call)) else WRITE
    elif called in _STORES:
        features |= SHARE
        if isinstance(node.func, ast.Attribute) and library.says_frozen(last_name(node.func.value)):
            features |= MODULE_ALIAS
    elif called == "copy" and node.args:
        features |= MODULE_ALIAS
    elif called in _CONSTRUCTORS and node.args and not isinstance(node.args[0], ast.Constant):
        features |= REBUILT
    elif called == "exp":
        features |= RATIO
    elif called in ("view", "reshape") and len(node.args) > 1 and is_of_shape(node.args[0]):
        features |= UNPACKED
    return features


def _storages(node: ast.Call, called: str) -> int:
    """What a call may do to storages, by its name and the looks of its arguments."""
    named = {keyword.arg for keyword in node.keywords} if node.keywords else ()
    if called in _STORAGE_CALLS or "mmap_mode" in named:
        return STORAGE
    if called == "append":
        return KEEPS_PART if any(isinstance(item, ast.Subscript) for one in node.args for item in walk(one)) else 0
    if called in _WRAPS or (called == "load_state_dict" and "assign" in named):
        return WRAP
    if called == "deepcopy":
        return DEEPCOPY
    if called == "fromkeys":
        return REPEAT
    if "out" in named:
        return SELF_COPY
    if called[-1:] == "_" and isinstance(node.func, ast.Attribute) and names_again(node.func.value, node.args):
        return SELF_COPY
    return 0


def _restore(cls: Class, owner: Function, node: ast.Call) -> None:
    """Note a method that loads what another one may have kept in an attribute."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="load_state_dict"),
            args=[ast.Attribute(value=ast.Name(id="self"), attr=name), *_],
        ):
            cls.restores.setdefault(name, []).append((owner.name, node))
