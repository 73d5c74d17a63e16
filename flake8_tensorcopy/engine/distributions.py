"""`torch.distributions`: what their methods give is on the graph of the parameters, or is drawn off it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.linked import off
from flake8_tensorcopy.engine.values import Obj, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.run import Run

MADE = "distribution"

_ON_GRAPH = frozenset({"log_prob", "entropy", "rsample", "cdf", "icdf"})
_DRAWN = frozenset({"sample", "sample_n"})
_OF_ALL = frozenset({"log_prob", "rsample"})  # by all parameters: a normal's entropy knows nothing of its mean
_PARAMETERS = frozenset({".probs", ".logits"})


def distribution(run: Run, node: ast.Call, args: Args) -> Value:
    """`Categorical(logits=policy(state))`."""
    made = Obj("unknown", "unknown", node, made=MADE, refuted=True, through=True, operands=args.objs())
    made.graph = True if run.now.grad and any(one.graph and not off(one) for one in made.operands) else None
    return Value((Ref(made),))


def returned(was: Obj, made: Obj) -> None:
    """A function of the file gives a distribution."""
    made.made, made.refuted, made.through, made.graph = MADE, True, True, was.graph


def parameter(obj: Obj, slot: str, made: Obj) -> None:
    """`dist.probs`: one parameter, as it was given or the other way round."""
    if obj.made == MADE and slot in _PARAMETERS:
        made.kind, made.graph, made.operands = "tensor", obj.graph, (obj,)


def distribution_method(run: Run, node: ast.Call, obj: Obj, name: str, args: Args) -> Value | None:
    """A tensor that a distribution gives, or nothing."""
    if obj.made != MADE or name not in _ON_GRAPH | _DRAWN:
        return None
    args.use(run)
    graph = (
        False if name in _DRAWN or run.now.grad is False else obj.graph if name in _OF_ALL and run.now.grad else None
    )
    made = Obj("tensor", "fresh", node, made=name, graph=graph, operands=(obj, *args.objs()))
    return Value((Ref(made),))
