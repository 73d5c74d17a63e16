"""How an assignment that rebinds a name could write to the tensor itself: what the repairs of updates need to know."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.facts.lost import Change
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.texts import text_of

_SIGNS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_SAME_SHAPE = frozenset(("clone", "detach", "to", "float", "double", "half", "cpu", "cuda", "contiguous", "type_as"))
_BROADCAST = frozenset(("where", "maximum", "minimum", "fmax", "fmin"))
_NO_GRAD = frozenset(("torch.no_grad", "torch.inference_mode"))


def change_of(run: Run, statement: ast.AST | None, target: str) -> Change | None:
    """How `target = ..` could be a write in place; None where the statement is not one such assignment."""
    match statement:
        case ast.Assign(targets=[one], value=source) if run.text(one) == target:
            pass
        case _:
            return None
    return Change(
        form=_form(run, one, source),
        recorded=not under_no_grad(run, statement),
        clears=_clears(run, one),
        argument=isinstance(one, ast.Name) and one.id in _arguments(run),
    )


def _form(run: Run, target: ast.expr, source: ast.expr) -> str:
    text = run.text(target)
    match source:
        case ast.BinOp(left=left, op=op) if isinstance(op, _SIGNS) and run.text(left) == text:
            return "augmented"
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if run.text(value) == text and _elementwise(attr):
            return "method" if not any(keyword.arg == "out" for keyword in source.keywords) else ""
    names = set(run.names_in(source)) if isinstance(target, ast.Name) else _updated(source, text)
    siblings = run.siblings.get(text, frozenset()) | {text}
    whole = {name for name in names if not isinstance(target, ast.Name) or name in siblings}
    return "copy" if _keeps_shape(run, source, whole) else ""


def _updated(source: ast.expr, target: str) -> set[str]:
    """The expressions whose gradient an update reads, and its target."""
    found = {target}
    for node in ast.walk(source):
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            found.add(text_of(node.value))
    return found


def _keeps_shape(run: Run, node: ast.expr, whole: set[str]) -> bool:
    """An expression has the shape of one of these, unless another operand has more axes."""
    if run.text(node) in whole:
        return True
    match node:
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _SIGNS):
            return _keeps_shape(run, left, whole) or _keeps_shape(run, right, whole)
        case ast.UnaryOp(operand=operand):
            return _keeps_shape(run, operand, whole)
        case ast.Attribute(value=value, attr="data" | "grad"):
            return _keeps_shape(run, value, whole)
        case ast.Call() if node in run.function_calls:
            op_, short = run.function_calls[node]
            if short.endswith("_like"):
                return bool(node.args) and _keeps_shape(run, node.args[0], whole)
            return op_.result == "fresh" and (_elementwise(short) or short in _BROADCAST) and any(
                _keeps_shape(run, argument, whole) for argument in node.args
            )  # fmt: skip
        case ast.Call(func=ast.Attribute(value=value, attr=attr)):
            return (attr in _SAME_SHAPE or _elementwise(attr)) and _keeps_shape(run, value, whole)
    return False


def _elementwise(name: str) -> bool:
    """An operation that has a form in place, and so the shape of its first argument."""
    op, twin = ops.method(name), ops.method(name + "_")
    return op is not None and op.result == "fresh" and twin is not None and twin.writes == (0,)


def under_no_grad(run: Run, statement: ast.AST) -> bool:
    """A statement stands under `torch.no_grad()`, as it is written."""
    parents = run.parents()
    outer: ast.AST | None = statement
    while outer is not None:
        calls: list[ast.expr] = []
        if isinstance(outer, (ast.With, ast.AsyncWith)):
            calls = [item.context_expr for item in outer.items]
        elif isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            calls = outer.decorator_list
        for call in calls:
            if run.names.qualify(call.func if isinstance(call, ast.Call) else call) in _NO_GRAD:
                return True
        outer = parents.get(outer)
    return False


def _clears(run: Run, target: ast.expr) -> bool:
    """The function (for what an object holds, its class) sets the gradient to None or to zero."""
    cls = run.function.cls
    local = isinstance(target, ast.Name) or cls is None
    node = run.function.node if local or cls is None else cls.node
    cleared = run.cleared.get(node)
    if cleared is None:
        cleared = run.cleared[node] = frozenset(_cleared(run, node))
    # A loop over what is trained clears all of it, as `zero_grad()` does.
    return not cleared.isdisjoint(("", run.text(target), *run.function.loops))


def _cleared(run: Run, node: ast.AST) -> Iterator[str]:
    """What has its gradient set to None or to zero, as texts; an empty one for all there is."""
    below = run.module.below(node)
    for part in below.attributes.get("zero_grad", ()):
        if below.calls(part) is not None:
            yield ""
    for part in below.attributes.get("grad", ()):
        above = below.parents[part]
        if isinstance(above, ast.Assign):
            clears = above.targets == [part]
        else:
            clears = (
                isinstance(above, ast.Attribute) and above.attr in ("zero_", "fill_") and below.calls(above) is not None
            )
        if clears:
            yield run.text(part.value)


def _arguments(run: Run) -> set[str]:
    node = run.function.node
    if isinstance(node, ast.Module):
        return set()
    given = node.args
    return {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
