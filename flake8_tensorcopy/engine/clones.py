"""Where a `.clone()` can stand after what expanded a tensor: asked for the repairs of single findings only."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import Link, Place


def cloned_at(run: Run, link: Link) -> ast.AST | None:
    """The expression, where its value is one tensor."""
    if not isinstance(link.node, ast.Call) or not _gives_one(link.op):
        return None
    if link.inner is not None:  # a function of this file, which may return it among others
        done = run.called.get(link.node)
        values = [one.value for one in done.returned] if done is not None else []
        if not values or any(value.obj is None or value.obj.kind not in ("tensor", "unknown") for value in values):
            return None
    return link.node


def unpacked_at(link: Link, place: Place | None) -> ast.Assign | None:
    """`ys, xs = torch.meshgrid(..)`, of which one name is written to."""
    match place.node if place is not None else None:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=value) as statement if value is link.node:
            if place is not None and any(isinstance(one, ast.Name) and one.id == place.name for one in names):
                return statement
    return None


def _gives_one(name: str) -> bool:
    op = ops.method(name) or ops.function(f"torch.{name}")
    return op is not None and op.many == 1
