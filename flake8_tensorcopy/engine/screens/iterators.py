"""Screens of what can be gone through once: a generator, `parameters()`, `filter`, that has a name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.features import ATTR_STORE
from flake8_tensorcopy.engine.nodes import children
from flake8_tensorcopy.engine.screens.sketch import Sketch, sketch_of
from flake8_tensorcopy.engine.source import Survey, called_name

_MAKERS = frozenset(
    "parameters named_parameters buffers named_buffers modules named_modules children named_children filter map zip "
    "chain enumerate reversed".split()
)
# Functions that go through what they are given, or whose result does.
_SPENDERS = frozenset(
    "list tuple dict set frozenset sorted sum any all max min zip enumerate reversed iter filter map chain OrderedDict "
    "tqdm trange ModuleList ParameterList Sequential partial deque Counter".split()
)
_OPTIMIZERS = ("Adam", "AdamW", "Adamax", "SGD", "RMSprop", "Adagrad", "Adadelta", "LBFGS", "Lion")
# What holds, but no longer is, what it was made of.
_LISTS = frozenset({"list", "tuple", "set", "dict", "frozenset", "sorted", "OrderedDict"})
_PASSING = frozenset("iter tqdm zip enumerate reversed chain filter map sorted cycle tee islice partial".split())
_PUTS = frozenset({"append", "appendleft", "extend", "insert", "add", "update", "setdefault"})


def exhausted(sketch: Sketch) -> bool:
    """A name or attribute stands for what can be gone through once, and two places, or one in a loop that does not
    make it, go through it; or a function of the file, which may do so itself, is given it."""
    givers = sketch.of_file(_givers)
    held = sketch.of_file(_on_objects) | _held(sketch)
    if sketch.function is not sketch.survey.body:
        held |= sketch.of_file(_of_module) - sketch.bound.keys()
    known = _known(sketch)
    for node in sketch.function.found.get(ast.Call, ()):
        if called_name(node) in known:
            for item in _given(node):
                if _may_be_spent(sketch, item, held, givers):
                    return True
    return bool(held) and _gone_through_twice(sketch, held)


def _known(sketch: Sketch) -> set[str]:
    """The names of the functions and classes of the file."""
    return sketch.of_file(_callable)


def _callable(survey: Survey) -> set[str]:
    return {one.name for one in survey.all} | survey.classes.keys()


def _given(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(one.value for one in node.keywords)]


def _givers(survey: Survey) -> frozenset[str]:
    """The names of the functions that return something that can be gone through once, as far as they say so."""
    found = {one.name for one in survey.all if one.generates}
    for function in survey.all:
        sketch = sketch_of(survey, function)
        given = [node.value for node in function.found.get(ast.Return, ()) if node.value is not None]
        if given and any(isinstance(node, (ast.Call, ast.Name, ast.GeneratorExp, ast.Tuple)) for node in given):
            held: frozenset[str] | None = None
            for node in given:
                if isinstance(node, ast.Name) or (isinstance(node, ast.Call) and called_name(node) not in _MAKERS):
                    if not _MAKERS & function.calls and ast.GeneratorExp not in function.found:
                        continue
                    held = _held(sketch) if held is None else held
                if _may_be_spent(sketch, node, held or frozenset(), frozenset()):
                    found.add(function.name)
                    break
    return frozenset(found)


def _on_objects(survey: Survey) -> frozenset[str]:
    """The attributes that anything of the file makes such a thing."""
    found: set[str] = set()
    for function in survey.all:
        if function.features & ATTR_STORE and (
            ast.GeneratorExp in function.found or not _MAKERS.isdisjoint(function.calls)
        ):
            found.update(name for name in _held(sketch_of(survey, function)) if name[0] == ".")
    return frozenset(found)


def _of_module(survey: Survey) -> frozenset[str]:
    return _held(sketch_of(survey, survey.body))


def _held(sketch: Sketch) -> frozenset[str]:
    """The names, and the attributes with a dot, that may stand for such a thing, or for what holds it."""
    givers = sketch.survey.told.get(_givers, frozenset())  # none while they are being made out
    waiting = list(_bindings(sketch))
    held: set[str] = set()
    grown = True
    while grown:
        grown = False
        for name, value in waiting:
            if name not in held and _may_be_spent(sketch, value, held, givers):
                held.add(name)
                grown = True
    return frozenset(held)


def _bindings(sketch: Sketch) -> Iterator[tuple[str, ast.expr]]:
    """What is bound to names, and put into what names and attributes stand for."""
    found = sketch.function.found
    for name, values in sketch.bound.items():
        for value, part in values:
            yield name, (_container(value) if part else value)
    for node in (*found.get(ast.Assign, ()), *found.get(ast.AnnAssign, ()), *found.get(ast.AugAssign, ())):
        pending = [(target, node.value) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
        while pending:
            target, value = pending.pop()
            if isinstance(target, (ast.Tuple, ast.List)):
                same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
                pending += zip(target.elts, value.elts if same else [value] * len(target.elts), strict=True)
            elif value is not None and (isinstance(node, ast.AugAssign) or not isinstance(target, ast.Name)):
                yield _slot(target), value
    for node in sketch.calls_of(_PUTS):
        if isinstance(node.func, ast.Attribute):
            for item in _given(node):
                yield _slot(node.func.value), item
    for node in sketch.calls_of(("setattr",)):
        if len(node.args) == 3:
            match node.args[1]:
                case ast.Constant(value=str(name)):
                    yield f".{name}", node.args[2]
                case _:
                    yield _slot(node.args[0]), node.args[2]


def _container(value: ast.expr) -> ast.expr:
    """What an item of an expression may be an item of, where it is no part of what is made there to be gone through."""
    while isinstance(value, ast.Call) and called_name(value) in _PASSING | _LISTS and value.args:
        if len(value.args) > 1:
            return ast.Tuple([_container(one) for one in value.args], ast.Load())
        value = value.args[0]
    match value:
        case ast.GeneratorExp(elt=one):
            return one
        case ast.Call() if called_name(value) in _MAKERS:
            return ast.Tuple([], ast.Load())
    return value


def _slot(node: ast.expr) -> str:
    """The name, or the attribute, that leads to a place."""
    while not isinstance(node, (ast.Name, ast.Attribute)):
        match node:
            case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                node = inner
            case _:
                return "?"
    return node.id if isinstance(node, ast.Name) else f".{node.attr}"


def _may_be_spent(sketch: Sketch, value: ast.expr, held: Iterable[str], givers: frozenset[str]) -> bool:
    """Whether an expression may be what can be gone through once, or hold it."""
    pending: list[ast.expr | None] = [value]
    while pending:
        node = pending.pop()
        match node:
            case ast.GeneratorExp():
                return True
            case ast.Name(id=name):
                if name in held:
                    return True
            case ast.Attribute(attr=name):
                if f".{name}" in held:
                    return True
            case ast.Call(func=func):
                name = called_name(node)
                if name in _MAKERS or name in givers:
                    return True
                given = _given(node)
                if name in _LISTS:
                    pending += [one for one in given if not _made(one)]
                elif name in _PASSING or name in _known(sketch):
                    pending += given
                if isinstance(func, ast.Attribute) and (name in library.CONTAINER_METHODS or name in _known(sketch)):
                    pending.append(func.value)
            case ast.ListComp(elt=one) | ast.SetComp(elt=one) | ast.DictComp(value=one):
                pending.append(one)
            case ast.Subscript(value=one) | ast.Starred(value=one) | ast.NamedExpr(value=one) | ast.Await(value=one):
                pending.append(one)
            case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
                pending += [one, other]
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(values=items):
                pending += items
            case ast.BoolOp(values=items):
                pending += items
    return False


def _made(node: ast.expr) -> bool:
    """Whether an expression makes such a thing, whose items are none."""
    return isinstance(node, ast.GeneratorExp) or (isinstance(node, ast.Call) and called_name(node) in _MAKERS)


class _Use(NamedTuple):
    """A place where a name is read or bound."""

    name: str
    loops: tuple[ast.AST, ...]  # with the functions inside, which may be called more than once
    arms: tuple[tuple[ast.AST, int], ...]
    stored: bool


def _gone_through_twice(sketch: Sketch, held: frozenset[str]) -> bool:
    """Whether the same thing may be gone through at two places, or in each pass of a loop."""
    kinds: dict[str, str] = {}
    for name, value in _bindings(sketch):
        if name in held and isinstance(value, (ast.Name, ast.Attribute)) and _slot(value) in held:
            kinds[name] = kinds[_slot(value)] = ""  # two names for one
    seen: dict[str, list[_Use]] = {}
    for use in _uses(sketch, held):
        group = kinds.get(use.name, use.name)
        before = seen.setdefault(group, [])
        if not use.stored:
            anew = [place for place, one in enumerate(before) if one.stored and group and _on_the_way(one, use)]
            if use.loops and not any(before[place].loops == use.loops for place in anew):
                return True
            if any(not one.stored and not _exclusive(one, use) for one in before[anew[-1] if anew else 0 :]):
                return True
        before.append(use)
    return False


def _on_the_way(binding: _Use, use: _Use) -> bool:
    """Whether a binding is always met before a place behind it."""
    size, arms = len(binding.loops), len(binding.arms)
    return use.loops[:size] == binding.loops and use.arms[:arms] == binding.arms


def _exclusive(one: _Use, other: _Use) -> bool:
    taken = dict(one.arms)
    return any(isinstance(node, (ast.If, ast.IfExp)) and taken.get(node, arm) != arm for node, arm in other.arms)


def _uses(sketch: Sketch, held: frozenset[str]) -> Iterator[_Use]:
    """Where the names are bound, and where what they stand for may be gone through, in order."""
    known = _known(sketch)
    parts: tuple[ast.expr, ...]
    passed: set[ast.AST] = set()  # reads that go through nothing
    pending: list[tuple[ast.AST, tuple[ast.AST, ...], tuple[tuple[ast.AST, int], ...]]]
    pending = [(one, (), ()) for one in reversed(sketch.function.node.body)]
    while pending:
        node, loops, arms = pending.pop()
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = node.id if isinstance(node, ast.Name) else f".{node.attr}"
            if name in held and node not in passed:
                yield _Use(name, loops, arms, isinstance(node.ctx, ast.Store))
        inside = (*loops, node)
        rest: list[tuple[ast.AST, tuple[ast.AST, ...], tuple[tuple[ast.AST, int], ...]]] = []
        match node:
            case ast.For() | ast.AsyncFor():
                rest = [(node.iter, loops, arms), (node.target, inside, arms)]
                rest += [(one, inside, arms) for one in node.body] + [(one, loops, arms) for one in node.orelse]
            case ast.While():
                passed.add(node.test)
                rest = [(one, inside, arms) for one in (node.test, *node.body)]
                rest += [(one, loops, arms) for one in node.orelse]
            case ast.If():
                passed.add(node.test)
                rest = [(node.test, loops, arms)]
                rest += [(one, loops, (*arms, (node, 0))) for one in node.body]
                rest += [(one, loops, (*arms, (node, 1))) for one in node.orelse]
            case ast.IfExp():
                passed.add(node.test)
                rest = [(node.test, loops, arms), (node.body, loops, (*arms, (node, 0)))]
                rest.append((node.orelse, loops, (*arms, (node, 1))))
            case ast.Try() | ast.TryStar():
                rest = [(one, loops, (*arms, (node, 0))) for one in (*node.body, *node.handlers, *node.orelse)]
                rest += [(one, loops, arms) for one in node.finalbody]
            case ast.Match():
                rest = [(node.subject, loops, arms)]
                rest += [(one, loops, (*arms, (node, number))) for number, one in enumerate(node.cases)]
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if node.value is not None:
                    passed.add(node.value)  # another name, which is looked at by itself
                    rest = [(node.value, loops, arms)]
                rest += [(one, loops, arms) for one in targets]
            case ast.Call():
                if not _spends(sketch, node, known):
                    passed.update(node.args, (one.value for one in node.keywords))
                rest = [(one, loops, arms) for one in children(node)]
            case ast.Attribute():
                if node.attr not in library.CONTAINER_METHODS:
                    passed.add(node.value)
                rest = [(node.value, loops, arms)]
            case ast.Compare() | ast.Return() | ast.BoolOp() | ast.UnaryOp() | ast.Expr() | ast.Yield():
                passed.update(children(node))
                rest = [(one, loops, arms) for one in children(node)]
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                rest = [(one, inside, arms) for one in children(node)]
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                first, *others = node.generators
                rest = [(first.iter, loops, arms), (first.target, inside, arms)]
                rest += [(one, inside, arms) for one in (*first.ifs, *others)]
                parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
                rest += [(one, inside, arms) for one in parts]
            case _:
                rest = [(one, loops, arms) for one in children(node)]
        pending += reversed(rest)


def _spends(sketch: Sketch, node: ast.Call, known: set[str]) -> bool:
    """Whether a call may go through what it is given."""
    name = called_name(node)
    if not name or name in _SPENDERS or name in known or name.endswith(_OPTIMIZERS):
        return True
    whole = sketch.survey.names.qualify(node.func) or ""
    return whole.startswith(("torch.nn.utils.", "torch.autograd.grad")) or whole.endswith(
        (*_OPTIMIZERS, *(f".{one}" for one in _SPENDERS))
    )
