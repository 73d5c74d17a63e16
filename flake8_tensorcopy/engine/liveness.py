"""Whether what is bound to a name is read, and how: asked of single findings and of their repairs only."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import Place

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_OF_ALL_NAMES = frozenset({"locals", "globals", "vars", "exec"})  # what they give may be read by any name


def read_later(run: Run, name: str, statement: ast.stmt) -> bool:
    """A new value of the name, bound by the statement, would be read: below it, or in the next pass of a loop."""
    if name in run.closed_over:
        return True
    around = list(_around(run, statement))
    inside = set(ast.walk(statement))
    mentions = [node for node in run.mentions(name) if node not in inside]
    if _reads_first(run, (node for node in mentions if _place(node) > _place(statement)), around):
        return True
    for loop in around:
        if isinstance(loop, _LOOPS):
            within = set(ast.walk(loop))
            if _reads_first(run, (node for node in mentions if node in within), around):
                return True
    return False


def read_elsewhere(run: Run, name: str) -> bool:
    """Other functions may read what the function binds to a name: those inside it, or those that share a name of the
    module's."""
    if name in run.closed_over or not run.function.calls.isdisjoint(_OF_ALL_NAMES):
        return True
    top = run.function.node
    if not isinstance(top, ast.Module):
        return name in run.once(_declared)
    below = run.module.below(top)
    named: dict[ast.AST, list[ast.Name]] = {}
    for node in below.names.get(name, ()):
        around = next((one for one in below.around(node) if isinstance(one, _FUNCTIONS)), None)
        if around is not None:
            named.setdefault(around, []).append(node)
    return any(not _of_its_own(function, name, nodes) for function, nodes in named.items())


def _declared(run: Run) -> frozenset[str]:
    """The names that a function says to be those of another scope."""
    scopes = (node for node in run.parents() if isinstance(node, (ast.Global, ast.Nonlocal)))
    return frozenset(name for node in scopes for name in node.names)


def _of_its_own(function: ast.AST, name: str, nodes: list[ast.Name]) -> bool:
    """A function that mentions a name has one of its own by it: an argument, or one that it binds."""
    if isinstance(function, _FUNCTIONS):
        spec = function.args
        given = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
        if any(argument is not None and argument.arg == name for argument in given):
            return True
    bound = any(not isinstance(node.ctx, ast.Load) for node in nodes)
    return bound and not any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(function))


def kept_to_itself(run: Run, name: str, statement: ast.stmt) -> bool:
    """What the name stands for at a statement was stored, handed on or viewed nowhere before, as far as can be seen,
    and the name is the function's own."""
    parents = run.parents()
    if read_elsewhere(run, name):
        return False
    inside = set(ast.walk(statement))
    again: set[ast.AST] = set()  # what another pass of a loop may do before
    for outer in _around(run, statement):
        if isinstance(outer, _LOOPS):
            if not isinstance(outer, ast.While) and any(
                isinstance(node, ast.Name) and node.id == name for node in ast.walk(outer.target)
            ):
                break  # each pass has a tensor of its own
            again.update(ast.walk(outer))
    return all(
        isinstance(node.ctx, ast.Store) or _only_computed_with(parents, node)
        for node in run.mentions(name)
        if node not in inside and (_place(node) < _place(statement) or node in again)
    )


def bound_here_only(run: Run, place: Place) -> bool:
    """Whether a binding is a name of the function's own and nothing else: what an object keeps, others may read."""
    several = isinstance(place.node, ast.Assign) and len(place.node.targets) > 1
    return place.name.isidentifier() and not several and not read_elsewhere(run, place.name)


def met_again(run: Run, name: str, statement: ast.stmt) -> bool:
    """The statement may run a second time, in another pass of a loop, with what the name stood for in the first."""
    loop = next((outer for outer in _around(run, statement) if isinstance(outer, _LOOPS)), None)
    if loop is None:
        return False
    parents = run.parents()
    for node in run.mentions(name):
        holder: ast.AST | None = node
        while holder is not None and parents.get(holder) is not loop:
            holder = parents.get(holder)
        if isinstance(node.ctx, ast.Store) and _place(node) < _place(statement):
            if isinstance(holder, (ast.Assign, ast.AnnAssign)) or holder is getattr(loop, "target", loop):
                return False
    return True


def _only_computed_with(parents: dict[ast.AST, ast.AST], node: ast.Name) -> bool:
    """`x + 1`, `x.sum()`, `x.shape`: nothing of it shares the memory of the tensor."""
    outer = parents.get(node)
    if isinstance(outer, ast.Attribute):
        op = ops.method(outer.attr)
        return outer.attr in library.METADATA or (op is not None and op.result == "fresh" and not op.writes)
    return isinstance(outer, (ast.BinOp, ast.Compare))


def only_looked_at(run: Run, over: ast.AST) -> bool:
    """Whether a loop or comprehension over something asks its items only what they are like, or whether they are the
    same objects: `sum(p.numel() for p in params)`, `assert all(p.grad is None for p in params)`."""
    parents = run.parents()
    outer = parents.get(over)
    while isinstance(outer, (ast.Call, ast.Attribute, ast.Starred)):
        outer = parents.get(outer)
    if not isinstance(outer, (ast.For, ast.comprehension)):
        return False
    targets = list(outer.target.elts) if isinstance(outer.target, ast.Tuple) else [outer.target]
    asked = outer.iter.func if isinstance(outer.iter, ast.Call) else None
    if isinstance(asked, ast.Attribute) and asked.attr in ("items", "named_parameters", "named_buffers"):
        targets = targets[1:]  # but for their names
    names = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    whole = outer if isinstance(outer, ast.For) else parents.get(outer)
    return whole is not None and all(
        _looks_at(run, node)
        for node in ast.walk(whole)
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
    )


def _looks_at(run: Run, node: ast.expr) -> bool:
    parents = run.parents()
    match parents.get(node):
        case ast.Attribute(attr="grad") as outer:
            test = parents.get(outer)
            return isinstance(test, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops)
        case ast.Attribute(attr=name):
            return name in library.METADATA or name.startswith("new_")
        case ast.Compare(ops=signs):
            return all(isinstance(op, (ast.Is, ast.IsNot)) for op in signs)
        case ast.Call(func=func, args=[first, *_]) if first is node:
            called = run.names.qualify(func) or str(getattr(func, "id", ""))
            return called.endswith("_like") or called in ("id", "isinstance", "len")
    return False


def _around(run: Run, statement: ast.stmt) -> Iterator[ast.AST]:
    """What a statement stands in, up to the function."""
    parents = run.parents()
    outer: ast.AST | None = parents.get(statement)
    while outer is not None:
        yield outer
        outer = parents.get(outer)


def _reads_first(run: Run, mentions: Iterable[ast.Name], around: list[ast.AST]) -> bool:
    """The first of these mentions reads the name: none binds it anew before, in the statements around."""
    parents = run.parents()
    for node in mentions:
        holder = parents.get(node)
        if isinstance(node.ctx, ast.Load) or isinstance(holder, ast.AugAssign):
            return True
        while holder is not None and not isinstance(holder, ast.stmt):
            holder = parents.get(holder)
        if holder is None:
            continue
        value = holder.iter if isinstance(holder, (ast.For, ast.AsyncFor)) else getattr(holder, "value", None)
        if value is not None and any(isinstance(one, ast.Name) and one.id == node.id for one in ast.walk(value)):
            return True
        if holder in around or parents.get(holder) in around:
            return False
    return False


def _place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset
