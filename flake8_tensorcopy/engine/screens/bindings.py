"""Screens of bindings that are lost: never read, put where a leaf was."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Sequence

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.features import GRAD, LEAF
from flake8_tensorcopy.engine.nodes import stands_in, start_of, walk
from flake8_tensorcopy.engine.screens.sketch import Sketch, methods
from flake8_tensorcopy.engine.source import Survey

_TRAINED = frozenset({"weight", "bias"})
_ASKS = frozenset({"getattr", "setattr", "hasattr"})
_MAKES = frozenset({"Parameter", "register_parameter"})


def dead_rebinding(sketch: Sketch) -> bool:
    """A name of a loop (or of an item picked by one) is computed from itself or from another name of a loop, or with
    gradients any name is computed, where no statement behind it surely reads it."""
    function = sketch.function
    picked = {name for name, index in function.picked.items() if index in function.loops}
    names = None if sketch.features & GRAD else (function.loops & function.stores) | picked
    if names is not None and not names:
        return False
    for node in function.found.get(ast.Assign, ()):
        for target in node.targets:
            for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,):
                if isinstance(part, ast.Name) and (names is None or part.id in names):
                    used = {part.id} | (function.loops if part.id in function.loops else set())
                    computed = _computed_from(sketch, node.value, used) or (
                        part.id in function.loops and _is_another(node.value, part.id)
                    )
                    if computed and not _read_behind(function.node, node, part.id):
                        return True
    return False


def _is_another(value: ast.expr, name: str) -> bool:
    """`p = q`, `p = q.data`: what another name of the loop stands for, or what was computed before."""
    match value:
        case ast.Name(id=other) | ast.Attribute(value=ast.Name(id=other), attr="data"):
            return other != name
    return False


def _computed_from(sketch: Sketch, value: ast.expr, names: set[str]) -> bool:
    """Whether an expression computes a tensor from what one of the names stands for, and no text, container or bare
    part of it."""
    match value:
        case ast.BoolOp(values=parts):
            return any(_computed_from(sketch, part, names) for part in parts)
        case ast.IfExp(body=one, orelse=other):
            return _computed_from(sketch, one, names) or _computed_from(sketch, other, names)
        case ast.Name() | ast.Attribute() | ast.Constant() | ast.JoinedStr() | ast.List() | ast.Dict() | ast.Set():
            return False
        case ast.Subscript(slice=ast.Slice() | ast.Constant()):
            return False  # the same storage
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        name, base = value.func.attr, value.func.value
        if isinstance(base, ast.Name) and base.id in names and name not in sketch.of_file(methods):
            if ops.method(name) is None:
                return False  # `key.replace("a", "b")`
    return any(isinstance(part, ast.Name) and part.id in names for part in walk(value))


def _read_behind(root: ast.AST, statement: ast.stmt, name: str) -> bool:
    """Whether a statement that is reached from another one, whatever is tested in between, reads a name."""
    for block, place in reversed(_blocks_around(root, statement)):
        found = _reads_first(block[place + 1 :], name)
        if found is not None:
            return found
    return False


def _reads_first(block: list[ast.stmt], name: str) -> bool | None:
    """Whether statements, one after the other, surely read a name; False where they may not come to their end, None
    where they do without."""
    for one in block:
        found: bool | None = None
        match one:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(), attr="grad")], value=ast.Constant(value=None)):
                pass  # the gradient is let go of: nothing is read for that
            case ast.Expr() | ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Assert() | ast.Delete():
                found = _reads([one], name) or None
            case ast.Return():
                found = _reads([one], name)
            case ast.If(test=test, orelse=rest):
                on = not rest or _falls_through(one.body) or _falls_through(rest)
                found = _reads([test], name) or (None if on else False)
            case ast.While(test=test):
                found = _reads([test], name) or (False if isinstance(test, ast.Constant) else None)
            case ast.For(iter=over):
                found = _reads([over], name) or _reads_first(one.body, name) or None
            case ast.With(items=items):
                found = _reads(items, name) or _reads_first(one.body, name)
            case ast.Pass() | ast.FunctionDef() | ast.Import() | ast.ImportFrom():
                pass
            case _:
                found = False
        if found is not None:
            return found
    return None


def _falls_through(block: list[ast.stmt]) -> bool:
    """Whether a block comes to its end, to go by its last statement."""
    return bool(block) and isinstance(block[-1], (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Pass))


def _reads(nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether a name is read there, and not by something that may never run or has a name of its own for it."""
    inside = [part for node in nodes for part in walk(node)]
    if any(isinstance(part, (ast.Lambda, ast.comprehension, ast.IfExp, ast.BoolOp)) for part in inside):
        return False
    return any(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load) for part in inside)


def _blocks_around(root: ast.AST, statement: ast.stmt) -> list[tuple[list[ast.stmt], int]]:
    """The blocks that a statement stands in, the outermost of its function first, and where in each."""
    found: list[tuple[list[ast.stmt], int]] = []
    pending: list[ast.AST] = [root]
    while pending:
        node = pending.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            at = 0
            if name != "cases":  # which have no places
                at = max(0, bisect.bisect_right(block, start_of(statement), key=start_of) - 1)
            for place, one in enumerate(block[at:] if name == "cases" else block[at : at + 1], at):
                if one is statement:
                    return [*found, (block, place)]
                if isinstance(one, ast.match_case) or stands_in(statement, one):
                    if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                        found = []
                    elif isinstance(one, ast.stmt):
                        found.append((block, place))
                    pending.append(one)
    return []


def leaf_rebound(sketch: Sketch) -> bool:
    """What is computed is put where a Parameter or a leaf was, or takes a name of what has its gradient read, or is
    made a leaf again."""
    function = sketch.function
    leaves: set[str] | None = None
    gradient = bool(sketch.features & GRAD) and any(
        node.attr == "grad" for node in function.found.get(ast.Attribute, ())
    )
    for node in function.found.get(ast.Assign, ()):
        for target in node.targets:
            if gradient and _may_be_update(target, node.value):
                leaves = _leaves(sketch) if leaves is None else leaves
                if not leaves.isdisjoint(_marks(target)):
                    return True
            if isinstance(target, ast.Attribute) and _computes(node.value):
                if target.attr in _TRAINED or (sketch.of_file(_makes_leaves) and _held_before(sketch, target.attr)):
                    return True
    return False


def _may_be_update(target: ast.expr, value: ast.expr) -> bool:
    if not isinstance(target, (ast.Name, ast.Subscript, ast.Tuple, ast.List, ast.Attribute)):
        return False
    return not isinstance(value, (ast.Name, ast.Attribute, ast.Constant, ast.JoinedStr))


def _leaves(sketch: Sketch) -> set[str]:
    """The names, and the attributes with a dot, of what has its gradient read or is said to need one, and of what it
    may be taken from or stand for."""
    found = sketch.function.found
    asked: list[ast.expr] = [
        node.value for node in found.get(ast.Attribute, ()) if node.attr in ("grad", "requires_grad", "requires_grad_")
    ]
    given = [item for call in sketch.calls_of(_ASKS) for item in (*call.args, *(one.value for one in call.keywords))]
    marks: set[str] = set()
    for node in sketch.closure([*asked, *given]):
        if isinstance(node, (ast.Name, ast.Attribute)):
            marks |= _marks(node)
    return marks


def _marks(target: ast.AST) -> set[str]:
    """The names that a target binds, and the attributes, with a dot."""
    match target:
        case ast.Name(id=name):
            return {name}
        case ast.Attribute(attr=name):
            return {f".{name}"}
        case ast.Subscript(value=inner) | ast.Starred(value=inner):
            return _marks(inner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return {name for part in parts for name in _marks(part)}
    return {"?"}


def _computes(value: ast.expr) -> bool:
    """Whether an expression may make a tensor that is no Parameter."""
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        return not name.endswith("Parameter")
    return not isinstance(value, (ast.Name, ast.Attribute, ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.JoinedStr))


def _makes_leaves(survey: Survey) -> bool:
    return any(one.features & LEAF or not _MAKES.isdisjoint(one.calls) for one in survey.all)


def _held_before(sketch: Sketch, attribute: str) -> bool:
    """Whether an attribute is assigned twice here, or by another function too."""
    function = sketch.function
    for cls in sketch.survey.classes.values():
        if not cls.assigns.get(attribute, set()) <= ({function.name} if cls is function.cls else set()):
            return True
    times = 0
    for node in function.found.get(ast.Attribute, ()):
        times += node.attr == attribute and isinstance(node.ctx, ast.Store)
    return times > 1 or any(_registers(node, attribute) for node in sketch.calls_of(("register_parameter",)))


def _registers(node: ast.Call, attribute: str) -> bool:
    """Whether a call of `register_parameter` may be for an attribute."""
    named = node.args[0] if node.args else None
    return named is None or not isinstance(named, ast.Constant) or named.value == attribute


def rebound_data(sketch: Sketch) -> bool:
    """`.data` of something is set."""
    return any(
        node.attr == "data" and isinstance(node.ctx, ast.Store) for node in sketch.function.found.get(ast.Attribute, ())
    )
