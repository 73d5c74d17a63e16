"""`torch.distributions`: what their methods give is on the graph of the parameters, or is drawn off it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.values import Obj, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.run import Run

MADE = "distribution"

_ON_GRAPH = frozenset({"log_prob", "entropy", "rsample", "cdf", "icdf"})
_DRAWN = frozenset({"sample", "sample_n"})


def distribution(node: ast.Call, args: Args) -> Value:
    """`Categorical(logits=policy(state))`."""
    return Value((Ref(Obj("unknown", "unknown", node, made=MADE, refuted=True, through=True, operands=args.objs())),))


def distribution_method(run: Run, node: ast.Call, obj: Obj, name: str, args: Args) -> Value | None:
    """A tensor that a distribution gives, or nothing."""
    if obj.made != MADE or name not in _ON_GRAPH | _DRAWN:
        return None
    args.use(run)
    graph = None if name in _ON_GRAPH and run.now.grad else False
    made = Obj("tensor", "fresh", node, made=name, graph=graph, operands=(obj, *args.objs()))
    return Value((Ref(made),))
