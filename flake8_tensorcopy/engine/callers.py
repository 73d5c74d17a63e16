"""What the calls in this file pass to a function: evidence on arguments that the function itself says nothing of.

Only asked where a fact waits for it, after all runs: then the functions that call this one are run too.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import settled
from flake8_tensorcopy.engine.facts import TensorOfTensor, changed
from flake8_tensorcopy.engine.kinds import OPERATORS, is_array, is_tensor
from flake8_tensorcopy.engine.source import Function, called_name
from flake8_tensorcopy.engine.values import Obj, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run

MAX_CALLERS = 8
MAX_STEPS = 6
MAX_ITEMS = 60


class Ask(NamedTuple):
    """A fact that holds if a call passes an argument of some kind and goes its path; `forms` has its `form` for each
    such kind."""

    mark: tuple[object, ...]
    argument: str
    forms: dict[str, str]
    path: frozenset[settled.Ask]


class Passed(NamedTuple):
    """One call of a function: the kind of what it passes, by the names of the arguments, and what that is."""

    node: ast.Call
    kinds: dict[str, str]
    values: list[Value]
    given: dict[str, Value]

    def takes(self, path: frozenset[settled.Ask], run: Run) -> bool:
        """Whether the call may go a path of the function."""
        if not path:
            return True
        keywords = self.node.keywords
        spread = any(one.arg is None for one in keywords) or any(isinstance(one, ast.Starred) for one in self.node.args)
        given = dict(enumerate(self.values[:1] if spread else self.values))
        given.update({at: self.given[one.key] for at, one in enumerate(run.params) if one.key in self.given})
        return not settled.goes_elsewhere(path, given, spread)


def note_passed(
    run: Run, node: ast.Call, function: Function, values: list[Value], given: dict[str, tuple[ast.expr, Value]]
) -> None:
    """Keep what a call of a function of this file passes; that one calls itself says nothing of what it is given."""
    if isinstance(function.node, ast.Module) or function is run.function:
        return
    spec = function.node.args
    names = [one.arg for one in (*spec.posonlyargs, *spec.args)]
    kinds = {name: _kind_passed(run, value) for name, value in zip(names, values, strict=False)}
    kinds.update({name: _kind_passed(run, value) for name, (_, value) in given.items()})
    if any(kinds.values()):
        by_name = {name: value for name, (_, value) in given.items()}
        run.module.passed.setdefault(function, []).append(Passed(node, kinds, values, by_name))


def _kind_passed(run: Run, value: Value) -> str:
    """tensor, array, tensors, arrays (a list of them), or nothing: an annotation alone proves nothing to others."""
    if not value.refs or any(ref.obj.owner == "argument" for ref in value.refs):
        return ""
    if all(is_tensor(ref) for ref in value.refs):
        return "tensor"
    if all(is_array(run, ref) for ref in value.refs):
        return "array"
    return kind_of_items(run, value)


def kind_of_items(run: Run, value: Value, depth: int = 0) -> str:
    """tensors or arrays, if a list or tuple holds nothing else; nothing where that is not known."""
    obj = value.obj
    if obj is None or obj.kind not in ("list", "tuple") or depth > 2:
        return ""
    if any(link.op != "=" for ref in value.refs for link in ref.chain):
        return ""
    if obj.owner != "fresh":
        if not isinstance(obj.data, ast.expr):
            return ""
        made = Obj("unknown", "argument")
        run.module.from_annotation(obj.data, made)
        return {"tensor": "tensors", "array": "arrays"}.get(made.kind, "")
    if _holds_numbers(run, obj):
        return ""
    if len(run.now.fields(obj)) > MAX_ITEMS:
        return ""
    found = set()
    for slot, held in run.now.fields(obj).items():
        if slot[0] != "[" or not held.refs:
            return ""
        if all(is_tensor(ref) for ref in held.refs):
            found.add("tensors")
        elif all(is_array(run, ref) for ref in held.refs):
            found.add("arrays")
        else:
            found.add(kind_of_items(run, held, depth + 1))
    return found.pop() if len(found) == 1 else ""


def _holds_numbers(run: Run, obj: Obj) -> bool:
    """Whether something that is no tensor is appended, too: beside tensors the state keeps no numbers."""
    if run.mixed_lists is None:
        run.mixed_lists = set()
        for node in run.parents():
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[given]):
                    number = isinstance(given, (ast.Constant, ast.UnaryOp))
                    if number or called_name(given) in ("float", "int", "item"):
                        run.mixed_lists.add(name)
    return obj.key in run.mixed_lists


def argument_of(obj: Obj) -> tuple[Obj, bool, bool] | None:
    """The argument that a value was computed from, whether from an item of it, and whether only by operators."""
    item, plain = False, True
    for _ in range(MAX_STEPS):
        if obj.owner == "argument":
            return obj, item, plain
        if obj.owner == "item" and obj.parent is not None:
            item, obj = True, obj.parent
        elif obj.owner == "fresh" and obj.source:
            plain = plain and obj.made in OPERATORS
            obj = next((one for one in obj.source if one.kind == "unknown"), obj.source[0])
        else:
            return None
    return None


def settle_asked(module: Module, functions: list[Function], runs: dict[Function, Run], kinds: frozenset[str]) -> None:
    """Decide the facts that wait for what is passed; the first call that proves one is named in it."""
    for function, run in list(runs.items()):
        asks = [ask for ask in run.asks if ask.mark in run.facts and type(run.facts[ask.mark]).__name__ in kinds]
        if not asks:
            continue
        name = function.name
        if function.cls is not None and name in ("__init__", "__call__", "forward"):
            name = function.cls.name  # where an object is made, it is likely to be called, too
        callers = [one for one in functions if name in one.calls and one is not function]
        for caller in callers[:MAX_CALLERS]:
            module.run_of(caller)
        for ask in asks:
            fact = run.facts.get(ask.mark)
            if fact is None:
                continue
            for passed in module.passed.get(function, ()):
                form = ask.forms.get(passed.kinds.get(ask.argument, ""))
                if form is not None and passed.takes(ask.path, run):
                    proven = changed(fact, evidence=3)
                    if isinstance(proven, TensorOfTensor):
                        proven = changed(proven, form=form, defined=passed.node, caller=True)
                    run.facts[ask.mark] = proven
                    break
            else:
                if any(ask.forms.values()):
                    del run.facts[ask.mark]
