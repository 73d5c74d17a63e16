"""Calls of a trace: what they give back, what they put where, what they write, what they keep."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.keeping import ACTIVATIONS, kept_by
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.groups import (
    ARRAY,
    CONVERTED,
    EXPANDED,
    GRADIENT,
    LEAF,
    OBTAINED,
    PUT,
    SEVERAL,
    VIEWED,
    Group,
    Groups,
    collapse,
    field,
    find,
    join,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.effects import Effects
    from flake8_tensorcopy.engine.screens.trace import Trace

# Marks among the classes of an object: modules of torch.nn that work in place, or give back what they are given.
IN_PLACE, PASSING = "<in place>", "<passing>"

# Builtins and functions of the standard library whose result holds what they are given, or is a part of it.
_PASSING = frozenset(
    "list tuple dict set frozenset zip enumerate reversed iter sorted filter map next min max vars getattr OrderedDict "
    "defaultdict deque chain tqdm SimpleNamespace copy partial".split()
)
# Methods of others than tensors whose result is (a part of) what they are called on.
_OF_OBJECTS = (
    library.CONTAINER_METHODS
    | library.MODULE_SELF
    | library.NUMPY_VIEWS
    | frozenset(
        "modules named_modules children named_children popleft fromkeys get_parameter get_submodule __getitem__ "
        "asarray astype cpu numpy".split()
    )
)
_PARAMETERS = frozenset("parameters named_parameters buffers named_buffers state_dict".split())
_CONVERTING = library.NUMPY_VIEWS | frozenset("asarray astype cpu cuda numpy to type".split())
# Methods that put what they are given into what they are called on.
_PUTTING = frozenset("append appendleft extend insert add update setdefault put push register_buffer".split())
# Functions of torch and others that have no row and whose result may be what they are given.
_SPECIAL = frozenset(
    "Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor Parameter Variable from_numpy as_tensor asarray "
    "from_dlpack frombuffer from_pretrained vector_to_parameters ModuleList ModuleDict ParameterList ParameterDict "
    "Sequential rearrange repeat reduce".split()
)
_EXPANDS = frozenset(
    "expand expand_as broadcast_to broadcast_tensors meshgrid unfold as_strided sliding_window_view repeat "
    "deepcopy".split()
)
_SEVERAL = frozenset({"chunk", "split", "split_with_sizes", "unbind"})
_PRODUCTS_IN_PLACE = frozenset("mul_ multiply_ div_ divide_ true_divide_".split())
_MAKERS = frozenset("new_zeros new_ones new_empty new_full new_tensor clone detach".split())
OUTPUT, INPUT = 1, 2


def name_called(func: ast.expr) -> str:
    """The last part of what is called."""
    return getattr(func, "attr", getattr(func, "id", ""))


def imported(trace: Trace, node: ast.expr) -> bool:
    """Whether a dotted expression begins with what is imported."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in trace.imported and node.id not in trace.env


def call(trace: Trace, node: ast.Call) -> Groups:
    """What a call may give, with what it does."""
    from flake8_tensorcopy.engine.screens.values import path, value, write

    func = node.func
    first = trace.tick
    receiver: Groups = ()
    called: Groups = ()  # the object that is called
    name = name_called(func)
    qualified = trace.sketch.survey.names.qualify(func) if imported(trace, func) else None
    receiver_name = ""
    if qualified is None:
        if isinstance(func, ast.Attribute):
            receiver, receiver_name = path(trace, func.value)
            if receiver and receiver_name and ops.method(func.attr) is not None:
                trace.load(receiver_name, receiver)
        elif isinstance(func, ast.Name):
            called = trace.env.get(func.id, ())
        else:
            called = value(trace, func)
    arguments = [value(trace, one) for one in node.args]
    keywords = [value(trace, one.value) for one in node.keywords]
    given = tuple(group for groups in (*arguments, *keywords) for group in groups)

    for target, how in _written_by(trace, node, name, qualified):
        groups, called_by = path(trace, target)
        trace.targets.append(target)
        others = tuple(
            group
            for one, part in zip(
                (*node.args, *(one.value for one in node.keywords)), (*arguments, *keywords), strict=True
            )
            if one is not target
            for group in part
        )
        if isinstance(func, ast.Attribute) and func.value is not target:
            others = (*others, *receiver)
        write(trace, groups, called_by, target, node, how, first, others)
        if how == "activation" or (name[-1:] == "_" and _keeps(name) & OUTPUT):
            _keep(trace, groups, node)
    keeps = _keeps(name) if qualified is not None or isinstance(func, ast.Attribute) else 0
    if qualified is None:
        keeps |= _object_keeps(trace, func)
    if (keeps & INPUT or name in _PRODUCTS_IN_PLACE) and (given or receiver):
        trace.tick += 1
        _keep(trace, given if name in _PRODUCTS_IN_PLACE else (*given, *receiver), node)

    if qualified is not None:
        return _imported(trace, node, qualified, given)
    result = _result_of_method(trace, node, func.attr, receiver, arguments) if isinstance(func, ast.Attribute) else ()
    if isinstance(func, ast.Name):
        if func.id in trace.imported and func.id not in trace.env:
            return _imported(trace, node, trace.sketch.survey.names.qualify(func) or func.id, given)
        if func.id == "setattr" and len(arguments) == 3:
            for one in arguments[0]:
                if arguments[2]:
                    join((collapse(one), *arguments[2]))
        if func.id in trace.sketch.survey.classes:
            made = Group(made=frozenset((func.id,)))
            if given:
                join((made, *given))
            return (made,)
        if func.id in _PASSING and func.id not in trace.env:
            made = trace.made(
                container=func.id in ("list", "tuple", "dict", "set", "OrderedDict", "defaultdict", "deque")
            )
            return given if not made.container else _container_of(made, given)
    elif isinstance(func, ast.Attribute) and not result and func.attr not in _OF_OBJECTS:
        called = tuple(trace.attribute(receiver, func.attr))
    if isinstance(func, ast.Name) and func.id in trace.inner_names:
        for groups, one in zip(
            (*arguments, *keywords), (*node.args, *(one.value for one in node.keywords)), strict=True
        ):
            write(
                trace,
                tuple(map(collapse, groups)),
                path(trace, one)[1] if _is_path(one) else "",
                one,
                node,
                "call",
                first,
            )
        return given
    for effects in _may_run(trace, func, called):
        result = (*result, *_applied(trace, node, effects, receiver, receiver_name, arguments, keywords, first))
    marks = frozenset(mark for one in called for mark in find(one).made)
    if isinstance(func, ast.Attribute):
        marks |= trace.file.made_of(func.attr)
    if IN_PLACE in marks:
        for groups, one in zip(arguments, node.args, strict=True):
            write(trace, groups, path(trace, one)[1] if _is_path(one) else "", one, node, "activation", first)
            _keep(trace, groups, node)
    if IN_PLACE in marks or PASSING in marks:
        trace.flag(given, CONVERTED)
        result = (*result, *given)
    return result


def _container_of(made: Group, given: Groups) -> Groups:
    """A new list or dict of what another one holds."""
    if given:
        join((collapse(made), *given))
    return (made,)


def _is_path(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def _keep(trace: Trace, groups: Groups, node: ast.AST) -> None:
    from flake8_tensorcopy.engine.screens.values import keep

    if groups:
        keep(trace, groups, node)


def _result_of_method(trace: Trace, node: ast.Call, name: str, receiver: Groups, arguments: list[Groups]) -> Groups:
    """What `x.name(..)` may give, if the name is that of a method of tensors, arrays, lists or modules."""
    result: list[Group] = []
    op = ops.method(name)
    if op is not None and op.form == "method":
        if op.writes:
            result += receiver
        elif op.result in ("view", "maybe", "same", "array"):
            result += receiver
            trace.flag(receiver, VIEWED | (CONVERTED if op.result in ("maybe", "array") else 0))
            if name in _SEVERAL:
                trace.flag(receiver, SEVERAL)
            if not receiver:
                result.append(Group(VIEWED | (SEVERAL if name in _SEVERAL else 0)))
    if name in _PARAMETERS:
        result += [field(one, ".<parameters>", LEAF) for one in receiver]
    elif name in _OF_OBJECTS:
        result += map(collapse, receiver)
        if name in _CONVERTING:
            trace.flag(receiver, CONVERTED | VIEWED)
        if name in ("get", "pop", "setdefault"):
            if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                result = [field(one, f"[{node.args[0].value!r}]") for one in receiver]
            result += [group for groups in arguments[1:] for group in groups]
    if name in _EXPANDS:
        result = list(receiver) or [Group()]
        trace.flag(result, EXPANDED | VIEWED)
    if name == "numpy":
        trace.flag(result, ARRAY)
    if name in _PUTTING and (op is None or all(one.container for one in receiver)):
        held = tuple(map(collapse, receiver))
        given = [group for groups in arguments for group in groups]
        given += [group for one in node.keywords for group in _looked_up(trace, one.value)]
        if given:
            for one in held:
                join((one, *given))
            trace.flag(held, PUT)
            trace.note_gradient(tuple(given))
    return tuple(result)


def _looked_up(trace: Trace, node: ast.expr) -> Groups:
    """What an argument is, that has been evaluated."""
    from flake8_tensorcopy.engine.screens.values import path

    return path(trace, node)[0] if _is_path(node) and not imported(trace, node) else ()


def _imported(trace: Trace, node: ast.Call, name: str, given: Groups) -> Groups:
    """What a call of what is imported may give."""
    short = name.rsplit(".", 1)[-1]
    if short not in _PASSING and short not in _SPECIAL:
        given = tuple(map(collapse, given)) if any(one.container for one in given) else given
    if name == "torch.autograd.grad":
        return (Group(GRADIENT),)
    if short in _EXPANDS:
        made = given or (Group(),)
        trace.flag(made, EXPANDED | VIEWED)
        return made
    if name.startswith("numpy."):
        made = given or (Group(),)
        trace.flag(made, ARRAY | CONVERTED | VIEWED)
        return made
    if short in _SPECIAL or short in _PASSING:
        if short not in _PASSING and short not in ("Parameter", "ModuleList", "Sequential"):
            trace.flag(given, CONVERTED | VIEWED)
        marks = frozenset(mark for mark in _marks_of(node))
        if short in ("ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict"):
            group = Group(made=marks)
            if given:
                join((group, *map(collapse, given)))
            return (find(group),)
        if short == "Parameter":
            made = given or (Group(),)
            trace.flag(made, LEAF)
            return made
        return given
    op = ops.function(name)
    if op is not None and (op.writes or op.result in ("view", "maybe", "same", "array")) and op.form != "module":
        if not op.writes:
            flags = VIEWED | (CONVERTED if op.result in ("maybe", "array") else 0)
            trace.flag(given, flags | (SEVERAL if short in _SEVERAL else 0))
            return given or (Group(VIEWED | (SEVERAL if short in _SEVERAL else 0)),)
        return given
    if short[-1:] == "_" or any(one.arg in ("out", "inplace") for one in node.keywords):
        return given
    if marks := marks_of(node):
        return (Group(made=marks),)
    return ()


def _marks_of(node: ast.Call) -> frozenset[str]:
    return marks_of(node)


def gives_tensor(trace: Trace, node: ast.expr | None) -> bool:
    """Whether an expression is the result of an operation of torch that gives one tensor."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if not imported(trace, node.func):
        return node.func.attr in _MAKERS
    op = ops.function(trace.sketch.survey.names.qualify(node.func) or "")
    return op is not None and op.form != "module" and op.many == 1 and op.result in ("fresh", "view", "maybe", "same")


# ----- writes


def _written_by(trace: Trace, node: ast.Call, name: str, qualified: str | None) -> Iterator[tuple[ast.expr, str]]:
    """What a call of torch or NumPy writes, and how."""
    func = node.func
    if name[-1:] == "_" and name[:1] != "_":
        if isinstance(func, ast.Attribute) and qualified is None:
            yield func.value, "method"
        elif node.args:
            yield node.args[0], "activation"
    elif isinstance(func, ast.Attribute) and name == "__setitem__":
        yield func.value, "method"
    elif isinstance(func, ast.Attribute) and name in library.NUMPY_WRITES and qualified is None:
        yield func.value, "array"
    elif name in library.NUMPY_FUNCTION_WRITES and node.args:
        yield node.args[0], "method"
    for one in node.keywords:
        if one.arg == "out":
            for target in one.value.elts if isinstance(one.value, ast.Tuple) else (one.value,):
                yield target, "out"
    if node.args and (
        any(one.arg == "inplace" for one in node.keywords)
        or any(isinstance(one, ast.Constant) and one.value is True for one in node.args[1:])
    ):
        op = ops.function(f"torch.nn.functional.{name}")
        if op is not None and op.inplace_flag:
            yield node.args[0], "activation"


# ----- functions of the file


def _may_run(trace: Trace, func: ast.expr, called: Groups) -> Iterable[Effects]:
    """The effects of the functions of the file that a call may run."""
    file = trace.file
    cls = trace.sketch.function.cls
    if isinstance(func, ast.Attribute):
        receiver = func.value
        if isinstance(receiver, ast.Name) and receiver.id == "self" and cls is not None:
            return file.called_on(cls, func.attr)
        if isinstance(receiver, ast.Call) and getattr(receiver.func, "id", "") == "super":
            return () if cls is None or func.attr == "__init__" else file.called_on_bases(cls, func.attr)
        return file.called(func.attr)
    if isinstance(func, ast.Name) and func.id in file.by_name:
        return file.called(func.id)
    classes = {one for group in called for one in find(group).made if one[0] != "<"}
    return [one for name in sorted(classes) for one in file.called_objects(name)]


def _applied(
    trace: Trace,
    node: ast.Call,
    effects: Effects,
    receiver: Groups,
    receiver_name: str,
    arguments: list[Groups],
    keywords: list[Groups],
    first: int,
) -> Groups:
    """Do to what a call is given what a function does to its parameters; what it returns of them."""
    from flake8_tensorcopy.engine.screens.values import write

    spread = any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords)
    by_name = {one.arg: groups for one, groups in zip(node.keywords, keywords, strict=True)}
    every = tuple(group for groups in (*arguments, *keywords) for group in groups)
    object_groups = receiver if isinstance(node.func, ast.Attribute) else trace.env.get(name_called(node.func), ())

    def meant(parameter: str, keys: tuple[str, ...]) -> tuple[Groups, str]:
        shown = ""
        if parameter == "self":
            groups, shown = object_groups, receiver_name
        elif spread or parameter not in effects.positions:
            groups = every
        elif parameter in by_name:
            groups = by_name[parameter]
        else:
            position = effects.positions[parameter]
            groups = arguments[position] if position < len(arguments) else ()
            if position < len(arguments) and isinstance(node.args[position], ast.Name):
                shown = node.args[position].id
        if not keys:
            groups = tuple(collapse(one) if one.container else one for one in groups)
        for key in keys:
            groups = tuple(field(one, key) for one in groups)
            shown = shown if not shown or "." in shown or key[0] != "." else shown + key
        return groups, shown

    result: list[Group] = []
    for one in effects.groups:
        parts = [(parameter, *meant(parameter, keys)) for parameter, keys in one.paths]
        groups = tuple(group for _, part, _ in parts for group in part)
        if not groups:
            continue
        if len(parts) > 1:
            join(groups)
        trace.flag(groups, one.flags)
        if one.written:
            for parameter, part, shown in parts:
                how = "object" if parameter == "self" else "call"
                write(trace, part, shown, node.func, node, how, first, uncertain=bool(one.flags & CONVERTED))
        if one.returned:
            result += groups
            if any(parameter == "self" for parameter, *_ in parts) and receiver_name != "self":
                trace.flag(groups, OBTAINED | VIEWED)
    if effects.fresh is not None:
        result.append(Group(effects.fresh))
    return tuple(result)


# ----- modules


@lru_cache(maxsize=1024)
def gives_back(name: str) -> bool:
    """Whether a module of torch.nn by that name may return what it is given, or a view of it: `Identity`, `Dropout`."""
    op = ops.function(f"torch.nn.{name}") if name[:1].isupper() else None
    return op is not None and op.form == "module" and op.result in ("view", "maybe", "same")


def marks_of(node: ast.expr) -> frozenset[str]:
    """Whether an expression makes a module that works in place, or one that gives back what it is given."""
    if isinstance(node, ast.Call) and node.args and name_called(node.func) == "Sequential":
        first = node.args[0]  # what it is given, only its first module gets
        return frozenset((IN_PLACE, PASSING)) if isinstance(first, ast.Starred) else marks_of(first)
    found: set[str] = set()
    for one in walk(node):
        if isinstance(one, ast.Call):
            name = name_called(one.func)
            if any(keyword.arg == "inplace" for keyword in one.keywords) or any(
                isinstance(given, ast.Constant) and given.value is True for given in one.args
            ):
                found.add(IN_PLACE)
            if gives_back(name):
                found.add(PASSING)
            if name in ("Sequential", "ModuleList") and any(
                isinstance(given, (ast.Name, ast.Starred)) for given in one.args
            ):
                found |= {IN_PLACE, PASSING}
    return frozenset(found)


# ----- what is kept for backward


@lru_cache(maxsize=4096)
def _keeps(name: str) -> int:
    """Whether some operation of that name keeps its result, and whether an operand."""
    found = 0
    for op in (ops.method(name), ops.function(f"torch.{name}"), ops.function(f"torch.nn.functional.{name}")):
        keeps = kept_by(op) if op is not None and op.form != "module" else None
        if keeps is not None:
            found |= (OUTPUT if keeps.output else 0) | (INPUT if keeps.inputs else 0)
    return found


@lru_cache(maxsize=1024)
def module_keeps(name: str) -> int:
    """The same of a module of torch.nn."""
    if name in ACTIVATIONS:
        return _keeps(ACTIVATIONS[name])
    if name in ("LSTM", "RNNCell"):
        return OUTPUT
    return INPUT if name.startswith(library.KEEPING_LAYERS) else 0


def _object_keeps(trace: Trace, func: ast.expr) -> int:
    """What a call of an object may keep."""
    known = trace.file.keepers
    if not known:
        return 0
    if isinstance(func, ast.Attribute):
        return known.get(func.attr, 0)
    if isinstance(func, ast.Name) and func.id not in trace.env:
        return 0
    return known.get("", 0)


def keeps_result(trace: Trace, node: ast.expr) -> bool:
    """Whether an expression is, or has in it, the result of an operation that keeps its result."""
    for one in walk(node):
        if isinstance(one, ast.Call):
            name = name_called(one.func)
            if _keeps(name) & OUTPUT or _object_keeps(trace, one.func) & OUTPUT:
                return True
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow):
            return True
    return False
