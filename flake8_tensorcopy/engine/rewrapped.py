"""Parameters made anew where the graph is recorded: nothing leads from them back to what they were computed from."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.facts import RewrappedParameter
from flake8_tensorcopy.engine.graph import since_marked
from flake8_tensorcopy.engine.linked import on_graph
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import is_true
from flake8_tensorcopy.engine.unwrapped import MAX_STEPS, inputs_of, methods_from
from flake8_tensorcopy.engine.values import VIEW, Ref, Value


def rewrapped(run: Run, node: ast.Call, value: Value) -> None:
    """`nn.Parameter(t)` inside `forward`, with t on the graph: the new leaf has no way back."""
    cls = run.function.cls
    if cls is None or not run.now.grad or not run.module.is_module(cls):
        return
    if run.function.name not in methods_from(run.module, cls, "forward"):
        return
    if any(keyword.arg == "requires_grad" and not is_true(keyword.value) for keyword in node.keywords):
        return
    if any(recorded(ref) for ref in value.refs):
        given = node.args[0] if node.args else node
        run.fact(RewrappedParameter(site=node, value=run.short(given), method=run.function.name))


def recorded(ref: Ref, depth: int = 0) -> bool:
    """Whether a value is surely on the graph, and every operand that could say otherwise has been looked at."""
    obj = ref.obj
    if on_graph(ref) is not True:
        return False
    if obj.leaf and obj.owner == "fresh":
        return depth > 0 or any(link.kind == VIEW for link in since_marked(ref))
    if obj.owner != "fresh":
        return obj.param
    given = inputs_of(obj)
    if depth >= MAX_STEPS or not given:
        return True
    return any(recorded(one, depth + 1) for one in given)
