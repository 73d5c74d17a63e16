"""Calls of a trace: what they give back, what they put where, what they write, what they keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.screens.callees import Given, applied, may_run
from flake8_tensorcopy.engine.screens.groups import (
    ARRAY,
    CONVERTED,
    EXPANDED,
    GRADIENT,
    HOLDER,
    LEAF,
    NOTHING,
    PUT,
    SEVERAL,
    VIEWED,
    Group,
    Groups,
    collapse,
    field,
    find,
    join,
    key_of,
)
from flake8_tensorcopy.engine.screens.kept import INPUT, OUTPUT, keeps, object_keeps
from flake8_tensorcopy.engine.screens.layers import IN_PLACE, PASSING, marks_of
from flake8_tensorcopy.engine.screens.looks import name_called
from flake8_tensorcopy.engine.screens.paths import again, path

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.trace import Trace

# Builtins and functions of the standard library whose result holds what they are given, or is a part of it.
_PASSING = frozenset(
    "list tuple dict set frozenset zip enumerate reversed iter sorted filter map next min max vars getattr OrderedDict "
    "defaultdict deque chain tqdm SimpleNamespace copy partial".split()
)
_CONTAINERS = frozenset("list tuple dict set OrderedDict defaultdict deque".split())
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
# Where functions come from that are known by their names.
_KNOWN = ("torch.", "numpy.")
_MAKERS = frozenset("new_zeros new_ones new_empty new_full new_tensor clone detach".split())


def imported(trace: Trace, node: ast.expr) -> bool:
    """Whether a dotted expression begins with what is imported; a plain name, and not defined in the file as well."""
    survey = trace.sketch.survey
    if isinstance(node, ast.Name) and (node.id in survey.functions or node.id in survey.classes):
        return False
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in trace.imported and node.id not in trace.env


def call(trace: Trace, node: ast.Call) -> Groups:
    """What a call may give, with what it does."""
    found = _call(trace, node)
    if len(found) > 1:  # what may come in two ways is there once: in a row of calls it would double with each
        found = tuple(dict.fromkeys(found))
    trace.known[node] = found, ""
    return found


def _call(trace: Trace, node: ast.Call) -> Groups:
    func = node.func
    name = name_called(func)
    qualified = trace.sketch.survey.names.qualify(func) if imported(trace, func) else None
    if qualified is not None:
        name = qualified.rsplit(".", 1)[-1]
    given = _evaluated(trace, node, qualified)
    _writes(trace, given, name, qualified)
    _keep_operands(trace, given, name, qualified)
    if qualified is not None:
        return _imported(trace, node, qualified, given.every)
    if isinstance(func, ast.Name) and (known := _of_name(trace, given, func.id)) is not None:
        return known
    result: Groups = ()
    called = given.called
    if isinstance(func, ast.Attribute):
        result = _result_of_method(trace, node, name, given.receiver, given.arguments)
        if not result and name not in _OF_OBJECTS:
            called = trace.attribute(given.receiver, name)
    for effects in may_run(trace, func, called):
        result = (*result, *applied(trace, given, effects))
    return (*result, *_of_module(trace, given, called))


def _evaluated(trace: Trace, node: ast.Call, qualified: str | None) -> Given:
    """Go through what a call is of, and what it is given."""
    func, first = node.func, trace.tick
    receiver: Groups = ()
    called: Groups = ()
    name = ""
    if qualified is None and isinstance(func, ast.Attribute):
        receiver, name = path(trace, func.value)
        # Any method of an array may read it; of something else, one that tensors have.
        known = ops.method(func.attr) is not None or any(find(one).flags & ARRAY for one in receiver)
        if receiver and name and known:
            trace.load(name, receiver)
    elif qualified is None and isinstance(func, ast.Name):
        called = trace.env.get(func.id, ())
    elif qualified is None:
        called = trace.value(func)
    arguments = [trace.value(one) for one in node.args]
    keywords = [trace.value(one.value) for one in node.keywords]
    return Given(node, receiver, name, called, arguments, keywords, first)


def _writes(trace: Trace, given: Given, name: str, qualified: str | None) -> None:
    """Note what a call of torch or NumPy writes."""
    func = given.node.func
    if qualified is not None and not qualified.startswith(_KNOWN):
        return  # of another library: what it does is not known
    recorded = qualified is None or not qualified.startswith("torch.nn.init.")
    for target, how in _written_by(given.node, name, qualified):
        groups, called_by = again(trace, target)
        trace.targets.append(target)
        operands = tuple(group for one, part in given.pairs() if one is not target for group in part)
        if isinstance(func, ast.Attribute) and func.value is not target:
            operands = (*operands, *given.receiver)
        trace.write(groups, called_by, target, given.node, how, given.first, operands, recorded=recorded)
        if how == "activation" or (name[-1:] == "_" and keeps(name) & OUTPUT):
            trace.keep(groups, given.node)


def _keep_operands(trace: Trace, given: Given, name: str, qualified: str | None) -> None:
    """Note what an operation or module keeps of what it is given."""
    func = given.node.func
    kept_of = keeps(name) if qualified is not None or isinstance(func, ast.Attribute) else 0
    if qualified is None:
        kept_of |= object_keeps(trace, func)
    kept = given.every
    if kept_of & INPUT and name not in _PRODUCTS_IN_PLACE:
        kept = (*kept, *given.receiver)
    elif name not in _PRODUCTS_IN_PLACE:
        return
    trace.tick += 1
    trace.keep(kept, given.node)


def _of_name(trace: Trace, given: Given, name: str) -> Groups | None:
    """What a call of a plain name gives, where that needs no more than the name."""

    every = given.every
    if imported(trace, given.node.func):
        qualified = trace.sketch.survey.names.qualify(given.node.func) or name
        return _imported(trace, given.node, qualified, every)
    if name == "setattr" and len(given.arguments) == 3:
        for one in given.arguments[0]:
            if given.arguments[2]:
                join((collapse(one), *given.arguments[2]))
    if name in trace.sketch.survey.classes:
        return _holder(frozenset((name,)), every)
    if name == "SimpleNamespace":
        return _holder(NOTHING, every)
    if name in _PASSING and name not in trace.env:
        return _container_of(trace.made(container=True), every) if name in _CONTAINERS else every
    if name in trace.inner_named:  # a function inside: it may do to what it is given all that it does to anything
        for argument, groups in given.pairs() if trace.inner_may_write(name) else ():
            trace.write(
                tuple(map(collapse, groups)), _shown(trace, argument), argument, given.node, "call", given.first
            )
        return every
    return None


def _of_module(trace: Trace, given: Given, called: Groups) -> Groups:
    """What a call of a module of torch.nn gives back, and writes if it works in place."""
    func = given.node.func
    made = [find(one).made for one in called]
    if isinstance(func, ast.Attribute):
        made.append(trace.file.made_of(func.attr))
    in_place = any(IN_PLACE in marks for marks in made)
    if in_place:
        for one, groups in zip(given.node.args, given.arguments, strict=True):
            trace.write(groups, _shown(trace, one), one, given.node, "activation", given.first)
            trace.keep(groups, given.node)
    if in_place or any(PASSING in marks for marks in made):
        every = given.every
        trace.flag(every, CONVERTED)
        return every
    return ()


def _shown(trace: Trace, node: ast.expr) -> str:
    """What an argument is called."""
    return again(trace, node)[1] if _is_path(node) else ""


def _holder(made: frozenset[str], given: Groups) -> Groups:
    """A new object that may hold what it was given, under any attribute."""
    group = Group(HOLDER if given else 0, made)
    if given:
        join((group, *given))
    return (group,)


def _container_of(made: Group, given: Groups) -> Groups:
    """A new list or dict of what another one holds."""
    if given:
        join((collapse(made), *given))
    return (made,)


def _is_path(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


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
        trace.flag(result, LEAF)  # those that a function was called with before, too
    elif name in _OF_OBJECTS:
        result += map(collapse, receiver)
        if name in _CONVERTING:
            trace.flag(receiver, CONVERTED | VIEWED)
        if name in ("get", "pop", "setdefault"):
            if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                result = [field(one, key_of(node.args[0])) for one in receiver]
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
    return again(trace, node)[0] if _is_path(node) and not imported(trace, node) else ()


def _imported(trace: Trace, node: ast.Call, name: str, given: Groups) -> Groups:
    """What a call of what is imported may give."""
    short = name.rsplit(".", 1)[-1]
    if short[:1].isupper() and short not in _SPECIAL and (marks := marks_of(node)):
        return (Group(made=marks),)
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
    if short == "SimpleNamespace":
        return _holder(NOTHING, given)
    if short in _SPECIAL or short in _PASSING:
        if short not in _PASSING and short not in ("Parameter", "ModuleList", "Sequential"):
            trace.flag(given, CONVERTED | VIEWED)
        marks = marks_of(node)
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
    return ()


def gives_tensor(trace: Trace, node: ast.expr | None) -> bool:
    """Whether an expression is the result of an operation of torch that gives one tensor."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if not imported(trace, node.func):
        return node.func.attr in _MAKERS
    op = ops.function(trace.sketch.survey.names.qualify(node.func) or "")
    return op is not None and op.form != "module" and op.many == 1 and op.result in ("fresh", "view", "maybe", "same")


# ----- writes


def _written_by(node: ast.Call, name: str, qualified: str | None) -> Iterator[tuple[ast.expr, str]]:
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
