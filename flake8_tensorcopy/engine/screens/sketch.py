"""What the screens share about one function, each part made when it is first asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.features import WRITE
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.effects import HANDED_ON, Effect, Effects, Sketches, callees, effects_of
from flake8_tensorcopy.engine.source import MAX_DEPTH, Function, Survey

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.origins import Origins
    from flake8_tensorcopy.engine.screens.trace import Trace

# Methods that put what they are given into their receiver.
_PUTS = frozenset({"append", "appendleft", "extend", "insert", "add", "update", "setdefault"})
# Operations that scale: what they make may be the same values as before, as far as a cast of them goes.
_SCALES = frozenset({"div", "mul", "sub", "add", "true_divide"})
# Functions whose result holds their arguments, or is one of them.
_HOLDS = frozenset(
    "list tuple dict set zip enumerate reversed sorted iter next map filter chain tqdm trange OrderedDict "
    "SimpleNamespace copy deepcopy rearrange partial".split()
)


# Expressions that are, or hold, what is in one of their fields.
_INNER: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.Attribute, ast.Subscript, ast.Starred, ast.NamedExpr, ast.Await, ast.DictComp), "value"),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp), "elt"),
}
_PARTS: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set), "elts"),
    **dict.fromkeys((ast.BoolOp, ast.Dict), "values"),
}

_BINDINGS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Return, ast.Yield, ast.YieldFrom)
_GIVEN = _PUTS | {"setattr", "partial"}

T = TypeVar("T")


class Sketch:
    """A function, looked at without running it.

    `function.found` has its nodes by type, those of functions inside it too, in no order.
    """

    def __init__(self, file: Sketches, function: Function, features: int) -> None:
        self.file = file
        self.survey = file.survey
        self.function = function
        self.features = features  # with those that `__init__` adds
        self._named: dict[str, list[ast.Call]] | None = None
        self._busy = False
        self._told: dict[object, Any] = {}

    @property
    def named(self) -> dict[str, list[ast.Call]]:
        """The calls, by the last part of the name of what is called."""
        if self._named is not None:
            return self._named
        named: dict[str, list[ast.Call]] = {}
        self._named = named
        for node in self.function.found.get(ast.Call, ()):
            func = node.func
            kind = type(func)
            name = func.attr if kind is ast.Attribute else func.id if kind is ast.Name else ""
            if name in named:
                named[name].append(node)
            else:
                named[name] = [node]
        return named

    def calls_of(self, names: Iterable[str]) -> Iterator[ast.Call]:
        """The calls of anything of one of these names, also under the name that an import gives it."""
        known = self.function.calls
        for name in names:
            if name in known:
                yield from self.named.get(name, ())
        for name, last in self.of_file(other_names).items():
            if name in known and last in names:
                yield from self.named.get(name, ())

    def of_file(self, make: Callable[[Survey], T]) -> T:
        """What a function makes out about the whole file, once."""
        return self.survey.once(make)

    def calls(self, names: frozenset[str]) -> bool:
        """Whether anything of one of these names is called, also under the name that an import gives it."""
        called = self.function.calls
        if not called.isdisjoint(names):
            return True
        renamed = self.of_file(other_names)
        return any(whole in names and name in called for name, whole in renamed.items())

    @cached_property
    def bound(self) -> dict[str, list[tuple[ast.expr, bool]]]:
        """What assignments and loops bind each name to, or of what the name gets a part.

        Not the parameters of the function, nor what a `with` or a pattern binds.
        """
        found: dict[str, list[tuple[ast.expr, bool]]] = {}
        nodes = self.function.found
        pairs: list[tuple[ast.expr, ast.expr, bool]] = []
        for assign in nodes.get(ast.Assign, ()):
            pairs += [(target, assign.value, False) for target in assign.targets]
        for kind in (ast.AnnAssign, ast.NamedExpr):
            pairs += [(node.target, node.value, False) for node in nodes.get(kind, ()) if node.value is not None]
        for loop in (ast.For, ast.AsyncFor, ast.comprehension):
            pairs += [(node.target, node.iter, True) for node in nodes.get(loop, ())]
        while pairs:
            target, value, part = pairs.pop()
            match target:
                case ast.Name(id=name):
                    found.setdefault(name, []).append((value, part))
                case ast.Tuple(elts=targets) | ast.List(elts=targets):
                    if not part and isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(targets):
                        pairs += [(one, given, False) for one, given in zip(targets, value.elts, strict=True)]
                    else:
                        pairs += [(one, value, True) for one in targets]
                case ast.Starred(value=inner):
                    pairs.append((inner, value, True))
        return found

    def once(self, make: Callable[[Sketch], T]) -> T:
        """What a screen has made out about the function, kept for the next one."""
        if make not in self._told:
            self._told[make] = make(self)
        found: T = self._told[make]
        return found

    @property
    def attributes(self) -> list[ast.Attribute]:
        """The attributes that are read or set."""
        return self.function.found.get(ast.Attribute, [])

    @property
    def loops(self) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops that are statements."""
        found = self.function.found
        return [loop for kind in (ast.For, ast.AsyncFor, ast.While) for loop in found.get(kind, ())]

    @cached_property
    def flows(self) -> dict[str, list[ast.expr]]:
        """What may come to be held by a name, or by something that is reached from it: expressions by the name."""
        flows: dict[str, list[ast.expr]] = {}
        found = self.function.found
        for node in found.get(ast.Assign, ()):
            for target in node.targets:
                _flow(flows, target, node.value)
        for binding in (ast.AnnAssign, ast.AugAssign, ast.NamedExpr):
            for node in found.get(binding, ()):
                if node.value is not None:
                    _flow(flows, node.target, node.value)
        for loop in (ast.For, ast.AsyncFor, ast.comprehension):
            for node in found.get(loop, ()):
                _flow(flows, node.target, node.iter)
        for node in self.calls_of(_PUTS):
            if isinstance(node.func, ast.Attribute):
                for item in (*node.args, *(one.value for one in node.keywords)):
                    _flow(flows, node.func.value, item)
        for node in self.calls_of(("setattr",)):
            for item in node.args[1:]:
                _flow(flows, node.args[0], item)
        return flows

    @cached_property
    def kept(self) -> list[ast.expr]:
        """The expressions whose value a name, an object, a list, a caller or a function of the file gets; what loops
        go over is not among them."""
        found = self.function.found
        kept = [node.value for kind in _BINDINGS for node in found.get(kind, ()) if node.value is not None]
        callees, renamed = self.callees, self.of_file(other_names)
        for name, calls in self.named.items():
            if name in callees or renamed.get(name, name) in _GIVEN:
                kept += [item for node in calls for item in (*node.args, *(one.value for one in node.keywords))]
        return kept + [node.body for node in found.get(ast.Lambda, ())]

    def origins(self, node: ast.expr, parts: frozenset[str] = frozenset()) -> list[ast.expr]:
        """What the value of an expression may be, or be a view or scaled copy of: names, what makes new values, and
        the attributes called `parts`."""
        found: list[ast.expr] = []
        pending: list[Any] = [node]
        while pending:
            part = pending.pop()
            kind = type(part)
            if kind is ast.Attribute and part.attr in parts:
                found.append(part)
            elif kind in _INNER:
                pending.append(getattr(part, _INNER[kind]))
            elif kind in _PARTS:
                pending += getattr(part, _PARTS[kind])
            elif kind is ast.IfExp:
                pending += (part.body, part.orelse)
            else:
                found.append(part)
                if kind is ast.Call:
                    pending += self._passed_on(part)
                elif kind is ast.BinOp:
                    pending += (part.left, part.right)
        return found

    def _passed_on(self, node: ast.Call) -> list[ast.expr]:
        """What a call may give back, or a part of it: its receiver or its arguments."""
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        given = [*node.args, *(one.value for one in node.keywords)]
        whole = self.survey.names.qualify(func)
        if whole is not None:
            op = ops.function(whole)
            if op is not None and (op.form == "function" or not whole.startswith("torch.nn.")):
                return given if name in _SCALES or op.result != "fresh" else []
            return given if name in _HOLDS or whole.startswith("torch.nn.") else []
        if name in self.callees or not name:
            return [*given, func.value] if isinstance(func, ast.Attribute) else given
        if not isinstance(func, ast.Attribute):
            return given if name in _HOLDS or name in self.flows else []
        if name in library.CONTAINER_METHODS:
            return [func.value, *given]
        op = ops.method(name)
        return [func.value] if op is not None and (name in _SCALES or op.result != "fresh") else []

    def holders(self, made: set[ast.AST]) -> set[str]:
        """The names that may come to hold what one of these expressions gives."""
        held: set[str] = set()
        of_nodes, of_names = self._receivers
        pending = [name for one in made for name in of_nodes.get(one, ())]
        while pending:
            name = pending.pop()
            if name not in held:
                held.add(name)
                pending += of_names.get(name, ())
        return held

    @cached_property
    def _receivers(self) -> tuple[dict[ast.AST, list[str]], dict[str, list[str]]]:
        """The names that may come to hold what an expression gives, and what a name holds."""
        of_nodes: dict[ast.AST, list[str]] = {}
        of_names: dict[str, list[str]] = {}
        for name, values in self.flows.items():
            for value in values:
                for one in self.origins(value):
                    of_nodes.setdefault(one, []).append(name)
                    if type(one) is ast.Name:
                        of_names.setdefault(one.id, []).append(name)
        return of_nodes, of_names

    def reached_by(self, made: set[ast.AST], where: list[ast.expr]) -> bool:
        """Whether one of the expressions `where` may be what another gives, or a view or scaled copy of it."""
        nodes = [one for expression in where for one in self.origins(expression)]
        if any(one in made for one in nodes):
            return True
        names = {one.id for one in nodes if type(one) is ast.Name}
        return bool(names) and not names.isdisjoint(self.holders(made))

    def closure(self, where: list[ast.expr]) -> list[ast.AST]:
        """All the expressions that the given ones may be computed from, by the bindings of their names."""
        found: list[ast.AST] = []
        seen: set[str] = set()
        pending = list(where)
        while pending:
            for node in walk(pending.pop()):
                found.append(node)
                if type(node) is ast.Name and node.id not in seen:
                    seen.add(node.id)
                    pending += self.flows.get(node.id, ())
        return found

    @property
    def callees(self) -> dict[str, set[str]]:
        """What the functions of the file call, by their names; an object's constructor under that of its class."""
        return self.of_file(callees)

    def comes_to_call(self, names: frozenset[str]) -> bool:
        """Whether one of these names is called, or by the functions of this file behind what is called."""
        calls = self.function.calls
        return not calls.isdisjoint(names) or not calls.isdisjoint(self.file.callers_of(names))

    @cached_property
    def from_where(self) -> Origins:
        """Where its values come from, by the bindings that reach each place."""
        from flake8_tensorcopy.engine.screens.origins import Origins

        return Origins(self)

    @cached_property
    def trace(self) -> Trace:
        """One pass over it."""
        self._busy = True
        from flake8_tensorcopy.engine.screens.trace import Trace

        made = Trace(self)
        self._busy = False
        return made

    @cached_property
    def _effects(self) -> Effects | None:
        return effects_of(self)

    @property
    def effects(self) -> Effects | None:
        """What a call may do; nothing while that is being found out."""
        if self.function.depth > MAX_DEPTH:  # a trace, too, goes down by recursion
            return self.anything
        return None if self._busy else self._effects

    @cached_property
    def anything(self) -> Effects:
        """All that a call might do."""
        paths = tuple((name, ()) for name in (*self.given, *self.open, "self"))
        return Effects(self.given, (Effect(paths, bool(self.features & WRITE), True, True, HANDED_ON),), 0)

    @cached_property
    def given(self) -> dict[str, int]:
        """The parameters, but `self`, and their positions in a call."""
        node = self.function.node
        if isinstance(node, ast.Module):
            return {}
        spec = node.args
        named = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        if self.function.cls is not None and not self.function.static:
            named = named[1:]
        found = dict(zip(named, range(len(named)), strict=True))
        found.update((one.arg, 1000) for one in spec.kwonlyargs)
        return found

    @property
    def open(self) -> list[str]:
        """`*args` and `**kwargs`, which may be any argument."""
        node = self.function.node
        spread = () if isinstance(node, ast.Module) else (node.args.vararg, node.args.kwarg)
        return [one.arg for one in spread if one is not None]

    @cached_property
    def annotated(self) -> dict[str, str]:
        """The parameters that have an annotation, and its name if it is a plain one, or in quotes."""
        node = self.function.node
        if isinstance(node, ast.Module):
            return {}
        spec = node.args
        return {
            one.arg: str(getattr(one.annotation, "id", getattr(one.annotation, "value", "")))
            for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
            if one.annotation is not None
        }

    @cached_property
    def annotations(self) -> dict[str, ast.expr]:
        """The annotations of the parameters."""
        node = self.function.node
        if isinstance(node, ast.Module):
            return {}
        spec = node.args
        every = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
        return {one.arg: one.annotation for one in every if one is not None and one.annotation is not None}

    def may_run_file(self, node: ast.Call) -> bool:
        """Whether a call may run a method of an object of the file's classes: no function of torch or other libraries,
        no method of tensors, no argument of which nothing is known."""
        func = node.func
        if isinstance(func, ast.Name):
            name = func.id
            if name in self.survey.names.imported or (name in self.given and name not in self.annotated):
                return name in self.bound
            return True
        if isinstance(func, ast.Attribute):
            return self.survey.names.qualify(func) is None and (
                func.attr in self.callees or ops.method(func.attr) is None
            )
        return True

    def in_file(self, *names: str) -> bool:
        """Whether any function of the file calls one of these names."""
        return not self.of_file(_names_called).isdisjoint(names)

    def torch_name(self, node: ast.expr) -> str:
        """The name of a function or dtype of torch, without `torch.`; nothing for all else."""
        name = self.survey.names.qualify(node)
        return name[6:] if name is not None and name.startswith("torch.") else ""


def methods(survey: Survey) -> frozenset[str]:
    """The names of the methods that the classes of the file have."""
    return frozenset(one.name for one in survey.all if one.cls is not None)


def _names_called(survey: Survey) -> frozenset[str]:
    """The names that any function of the file calls something by."""
    return frozenset().union(*(one.calls for one in survey.all))


def sketch_of(survey: Survey, function: Function) -> Sketch:
    """The sketch of a function of a file that is being looked at."""
    file: Sketches = survey.told["sketches"]
    return file.of(function)


def _flow(flows: dict[str, list[ast.expr]], target: ast.expr, value: ast.expr) -> None:
    """Note what a target may get; for an attribute or item, under the name that leads to it."""
    if isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for position, item in enumerate(target.elts):
            _flow(flows, item, value.elts[position] if same else value)  # type: ignore[attr-defined]
        return
    while not isinstance(target, ast.Name):
        match target:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
                target = inner
            case ast.Call(func=ast.Attribute(value=inner)):
                target = inner
            case _:
                return
    flows.setdefault(target.id, []).append(value)


def other_names(survey: Survey) -> dict[str, str]:
    """What imports give another name than its own: `from torch.nn import Parameter as P`."""
    found = {}
    for name, whole in survey.names.imported.items():
        last = whole.rpartition(".")[2]
        if last != name:
            found[name] = last
    return found
