"""Which attributes a method may reach through its names, and which of them it may write."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.features import INPLACE_MODULE, WRITE
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.parts import NUMPY_WRITES, written
from flake8_tensorcopy.engine.screens.sketch import Sketch, sketch_of
from flake8_tensorcopy.engine.source import Function, Survey, called_name

# Packages of which the engine knows what their functions return.
_KNOWN = ("torch", "numpy", "einops", "copy")


def attributes_returned(survey: Survey, function: Function) -> set[str]:
    """The attributes through which a function may reach what it returns."""
    known: dict[Function, set[str]] = survey.told.setdefault("returned", {})
    if function not in known:
        known[function] = set()  # of a function that calls itself: what the others of its returns reach
        sketch = sketch_of(survey, function)
        names: set[str] = set()
        values = [node.value for node in function.found.get(ast.Return, ()) if node.value is not None]
        attributes = reached(sketch, values, names)
        for node in function.found.get(ast.Assign, ()):
            stored = [target.attr for target in node.targets if isinstance(target, ast.Attribute)]
            used = (*node.targets, *walk(node.value)) if stored else ()
            if any(isinstance(part, ast.Name) and part.id in names for part in used):
                attributes.update(stored)
        known[function] = attributes
    return known[function]


def attributes_written(survey: Survey, function: Function) -> set[str]:
    """The attributes through which a function may reach what it, or what it calls, writes."""
    if not function.features & (WRITE | INPLACE_MODULE):
        return set()
    known: dict[Function, set[str]] = survey.told.setdefault("written", {})
    if function not in known:
        sketch = sketch_of(survey, function)
        known[function] = reached(sketch, _targets(sketch, sketch.of_file(_writers)), set())
    return known[function]


def _targets(sketch: Sketch, writers: frozenset[str]) -> list[ast.expr]:
    """What a function may write, or gives to what may write it; `writers` are the functions that write an argument."""
    targets = list(written(sketch))
    found = sketch.function.found
    methods = sketch.of_file(_by_name)
    init = sketch.function.cls.methods.get("__init__") if sketch.function.cls is not None else None
    in_place = bool((sketch.features | (init.features if init is not None else 0)) & INPLACE_MODULE)
    for node in found.get(ast.Attribute, ()):
        if node.attr == "data" and isinstance(node.ctx, ast.Store):
            targets.append(node.value)
    for node in found.get(ast.Call, ()):
        name = called_name(node)
        base = node.func.value if isinstance(node.func, ast.Attribute) else None
        given = [*node.args, *(item.value for item in node.keywords)]
        if (name[-1:] == "_" != name[:1]) or name in NUMPY_WRITES:
            targets += [*node.args[:1], *([base] if base is not None else [])]
            continue
        if base is not None and any(one.features & WRITE for one in methods.get(name, ())):
            targets.append(base)
        flagged = any(item.arg in ("out", "inplace") for item in node.keywords)
        flagged = flagged or any(isinstance(item, ast.Constant) and item.value is True for item in node.args)
        if name in writers or flagged or (in_place and name not in methods):
            targets += given
    return targets


def _writers(survey: Survey) -> frozenset[str]:
    """The functions of the file that may write an argument, by the names by which they are called."""
    found: frozenset[str] = frozenset()
    pending = [
        sketch_of(survey, one)
        for one in survey.all
        if one.features & (WRITE | INPLACE_MODULE) and one is not survey.body
    ]
    while True:
        more: set[str] = set()
        for sketch in pending:
            names: set[str] = set()
            reached(sketch, _targets(sketch, found), names)
            if not names.isdisjoint(_parameters(sketch.function)):
                more.add(sketch.function.name)
                if sketch.function.name == "__init__" and sketch.function.cls is not None:
                    more.add(sketch.function.cls.name)
        if more <= found:
            return found
        pending = [one for one in pending if one.function.name not in more]
        found |= more


def _parameters(function: Function) -> list[str]:
    """The names of the parameters, without the object of a method."""
    if isinstance(function.node, ast.Module):
        return []
    spec = function.node.args
    names = [one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg) if one]
    return names[1:] if function.cls is not None and not function.static else names


def reached(sketch: Sketch, values: list[ast.expr], names: set[str]) -> set[str]:
    """The attributes, next to a name that nothing binds, that expressions may be aliases or views of something in; what
    functions of the file reach is theirs too.  The names on the way are added to those given."""
    attributes: set[str] = set()
    functions = sketch.of_file(_by_name)
    imported = sketch.survey.names.imported
    pending: list[ast.expr | None] = list(values)
    while pending:
        node = pending.pop()
        match node:
            case ast.Name(id=name):
                if name not in names:
                    names.add(name)
                    pending += [value for value, _ in sketch.bound.get(name, ())]
            case ast.Attribute(value=inner, attr=attr):
                if isinstance(inner, ast.Name):
                    attributes.add(attr)
                pending.append(inner)
            case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.Await(value=inner):
                pending.append(inner)
            case ast.NamedExpr(value=inner):
                pending.append(inner)
            case ast.Call(func=func):
                name = called_name(node)
                given = [*node.args, *(item.value for item in node.keywords)]
                for one in functions.get(name, ()):
                    attributes |= attributes_returned(sketch.survey, one)
                if isinstance(func, ast.Attribute):
                    base = func.value
                    if name in functions or name in library.CONTAINER_METHODS or name in library.MODULE_SELF:
                        pending += [base, *given]
                    elif (op := ops.method(name)) is not None:
                        if op.result != "fresh":
                            pending += [base, *given[:1]]
                    elif isinstance(base, ast.Name):
                        pending += given  # a module, perhaps one that works in place
                elif name in functions or name not in imported or imported[name].startswith(_KNOWN):
                    pending += given
            case ast.IfExp(body=one, orelse=other):
                pending += [one, other]
            case ast.BoolOp(values=items) | ast.Tuple(elts=items) | ast.List(elts=items) | ast.Dict(values=items):
                pending += items
            case ast.ListComp(elt=one) | ast.GeneratorExp(elt=one) | ast.DictComp(value=one):
                pending += [one, *(item.iter for item in node.generators)]
    return attributes


def _by_name(survey: Survey) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for one in survey.all:
        found.setdefault(one.name, []).append(one)
    return found
