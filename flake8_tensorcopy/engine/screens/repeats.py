"""Screens of what stands in every slot: `[layer] * n`, `[t for _ in range(n)]`, `dict.fromkeys(keys, t)`."""

from __future__ import annotations

import ast
import builtins

from flake8_tensorcopy.engine.features import WRITE
from flake8_tensorcopy.engine.library import CONTAINER_METHODS, COPIES, HOLDERS, MODULE_SELF, PUTS
from flake8_tensorcopy.engine.nodes import stands_in, walk
from flake8_tensorcopy.engine.screens.dropped import Evidence, attributes_stored
from flake8_tensorcopy.engine.screens.parts import writes_part
from flake8_tensorcopy.engine.screens.sketch import Sketch, sketch_of
from flake8_tensorcopy.engine.source import Function, Survey, bound_by, called_name

# Functions whose result may be what they are given, or a copy.
_HANDS_ON = frozenset("deepcopy copy list tuple next iter reversed zip enumerate dict sorted".split())
_PUTS = PUTS | {"append"}
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
# What keeps nothing of the list that it is given.
_JOINS = frozenset("cat concat concatenate stack hstack vstack tensor as_tensor len join".split())


def repeated_reference(sketch: Sketch) -> bool:
    """A layer is repeated that is made there, or goes straight into a module or attribute; a layer or tensor is, and
    the slots may be written; or a function is called that does so with what it is given."""
    function = sketch.function
    repeated = repeats(function)
    if repeated:
        handed = [one for call in sketch.calls_of(_JOINS) for one in call.args]
        kept = [item for node, item in repeated if not any(node is one for one in handed)]
        slots = kept and sketch.features & WRITE and (writes_part(sketch) or _counts_in_slots(sketch))
        if slots and any(map(Evidence(sketch, uses=False).of, kept)):
            return True
        layers = {item for _, item in repeated if _may_be_layer(sketch, item)}
        if any(item in layers and _puts(node) for node, item in repeated):
            return True
        if layers and (sketch.calls(HOLDERS) or any(isinstance(item, ast.Call) for item in layers)):
            return True
        if not layers.isdisjoint(kept) and sketch.features & WRITE and writes_part(sketch):
            return True
        stored = [
            one
            for one in function.found.get(ast.Assign, ())
            if any(isinstance(target, ast.Attribute) for target in one.targets)
        ]
        for node, item in repeated:
            if item in layers and any(stands_in(node, one) for one in stored):
                return True
    copying = sketch.of_file(_copying)
    return bool(copying) and not copying.isdisjoint(function.calls)


def _counts_in_slots(sketch: Sketch) -> bool:
    """`counts[i] += 1`, where the slots hold tensors."""
    return any(isinstance(node.target, ast.Subscript) for node in sketch.function.found.get(ast.AugAssign, ()))


def _may_be_layer(sketch: Sketch, item: ast.expr) -> bool:
    """Whether an expression, or what it is an item of, may be a layer, or a Parameter, that is known for one."""
    survey = sketch.survey
    seen: set[tuple[ast.AST, str]] = set()
    pending: list[tuple[Sketch, ast.expr]] = [(sketch, item)]
    while pending:
        where, node = pending.pop()
        match node:
            case ast.Call(func=func, args=args):
                whole = survey.names.qualify(func) or ""
                name = called_name(node)
                if whole[:9] == "torch.nn." and whole.rpartition(".")[2][:1].isupper():
                    return True
                if name in survey.classes or name in sketch.of_file(_makers):
                    return True
                if isinstance(func, ast.Attribute) and (name in MODULE_SELF or name in CONTAINER_METHODS):
                    pending.append((where, func.value))
                if name in _HANDS_ON:
                    pending += [(where, one) for one in args]
            case ast.Attribute(attr=name):
                if ("." + name) not in {one for _, one in seen}:
                    seen.add((node, "." + name))
                    stored = sketch.of_file(attributes_stored)
                    pending += [(one, value) for one, value, _ in stored.get(name, ())]
            case ast.Name(id=name):
                mark = (where.function.node, name)
                if mark in seen:
                    continue
                seen.add(mark)
                said = where.annotations.get(name)
                if said is not None and any(_names_layer(survey, part) for part in walk(said)):
                    return True
                pending += [(where, value) for value in where.flows.get(name, ())]
                if name in where.flows or name in where.given or name in where.open:
                    continue
                if where.function is not survey.body:
                    pending.append((sketch_of(survey, survey.body), node))
                elif not _is_known(survey, name):
                    return True  # bound by a `with`, a pattern, or a function around
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts) | ast.BoolOp(values=parts):
                pending += [(where, one) for one in parts]
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
                pending += [(where, one), (where, other)]
            case ast.Subscript(value=one) | ast.Starred(value=one) | ast.NamedExpr(value=one) | ast.Await(value=one):
                pending.append((where, one))
            case ast.ListComp(elt=one) | ast.GeneratorExp(elt=one) | ast.DictComp(value=one):
                pending.append((where, one))
    return False


def _is_known(survey: Survey, name: str) -> bool:
    known = name in survey.names.imported or name in survey.functions or name in survey.classes
    return known or hasattr(builtins, name)


def _names_layer(survey: Survey, said: ast.AST) -> bool:
    match said:
        case ast.Constant(value=str()):
            return True
        case ast.Name() | ast.Attribute():
            whole = survey.names.qualify(said) or ""
            return whole.startswith("torch.nn") or getattr(said, "id", "") in survey.classes
    return False


def _makers(survey: Survey) -> frozenset[str]:
    """The names of the functions of the file that may give a layer: such as make, copy or are given one."""
    found = {"Parameter"}
    for function in survey.all:
        if any(name[:1].isupper() for name in function.calls) or not _HANDS_ON.isdisjoint(function.calls):
            found.add(function.name)
            found.update(one.name for one in function.inner if not isinstance(one, ast.Lambda))
    grown = True
    while grown:
        more = {one.name for one in survey.all if not found.isdisjoint(one.calls)} - found
        found |= more
        grown = bool(more)
    return frozenset(found)


def repeats(function: Function) -> list[tuple[ast.expr, ast.expr]]:
    """What may put one object into every slot, and the object."""
    found: list[tuple[ast.expr, ast.expr]] = []
    nodes = function.found
    for node in nodes.get(ast.BinOp, ()):
        if isinstance(node.op, ast.Mult):
            for side, count in ((node.left, node.right), (node.right, node.left)):
                if isinstance(side, (ast.List, ast.Tuple)) and not _once(count):
                    found += [(node, item) for item in side.elts if not isinstance(item, ast.Constant)]
    for kind in _COMPREHENSIONS:
        for node in nodes.get(kind, ()):
            item = node.value if isinstance(node, ast.DictComp) else node.elt
            if isinstance(item, (ast.Name, ast.Attribute)) and not bound_by(node.generators, item):
                found.append((node, item))
    if "fromkeys" in function.calls:
        for node in nodes.get(ast.Call, ()):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "fromkeys" and len(node.args) == 2:
                found.append((node, node.args[1]))
    if not _PUTS.isdisjoint(function.calls):
        for statement in (one for loop in nodes.get(ast.For, ()) for one in loop.body):
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[*_, item]) as node) if name in _PUTS:
                    pass
                case ast.Assign(targets=[ast.Subscript() as node], value=item):
                    pass
                case _:
                    continue
            if isinstance(item, (ast.Name, ast.Attribute)):
                found.append((node, item))
    return found


def _puts(node: ast.expr) -> bool:
    """Whether a layer is put into a module there, and not only into a list."""
    return isinstance(node, ast.Subscript) or called_name(node) in PUTS


def _once(count: ast.expr) -> bool:
    return isinstance(count, ast.Constant) and count.value in (0, 1)


def _copying(survey: Survey) -> frozenset[str]:
    """The functions whose names promise copies and that repeat something, and those that call them."""
    found = {one.name for one in survey.all if COPIES.search(one.name) and repeats(one)}
    found |= {
        inner.name
        for one in survey.all
        for inner in one.inner
        if not isinstance(inner, ast.Lambda) and COPIES.search(inner.name) and repeats(one)
    }
    more = found
    while more:
        more = {one.name for one in survey.all if not found.isdisjoint(one.calls)} - found
        found |= more
    return frozenset(found)
