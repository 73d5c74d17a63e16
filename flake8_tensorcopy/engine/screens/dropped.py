"""Screens of calls whose result nobody takes: what they are called on may be a tensor, for all that is said of it."""

from __future__ import annotations

import ast
from functools import cached_property

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.forms import calls_for_nothing
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.sketch import Sketch, methods, sketch_of
from flake8_tensorcopy.engine.source import Survey, called_name

_RESULTS = frozenset({"fresh", "view", "maybe"})
_TARGETS = frozenset({"inplace", "out"})  # arguments that say what is written
_TENSORS = ("Tensor", "Variable", "Parameter", "Buffer", "DataLoader")  # a loader unpacks into tensors
_MODULES = frozenset({"modules", "named_modules", "children", "named_children"})
_BUILTINS = frozenset("len isinstance issubclass hasattr id type callable float int bool str repr print range".split())
_OF_MODULES = library.MODULE_METHODS | library.MODULE_SELF | _MODULES
_PASSING = frozenset("enumerate iter next reversed sorted tqdm zip".split())
_EMPTY = frozenset({"list", "dict", "set", "OrderedDict"})
_DISPLAYS = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp,
    ast.Lambda,
)  # fmt: skip


def dropped_result(sketch: Sketch) -> bool:
    """A call is a statement, of a method or function of tensors that gives something new and writes nothing; what the
    method is called on may be known for a tensor."""
    evidence = Evidence(sketch)
    return any(
        _gives(evidence, call, call.func)
        for node in sketch.function.found.get(ast.Expr, ())
        for call in calls_for_nothing(node.value)
    )


def _gives(evidence: Evidence, node: ast.Call, func: ast.expr) -> bool:
    given = {keyword.arg for keyword in node.keywords}
    if isinstance(func, ast.Attribute) and _gives_by_method(evidence, func, given):
        return True
    if not node.args or "out" in given:
        return False
    whole = evidence.survey.names.qualify(func)
    if whole is None or not whole.startswith("torch."):
        return False
    op = ops.function(whole)
    if op is None or op.writes or op.factory or op.result not in _RESULTS:
        return False
    functional = whole.startswith("torch.nn.functional.") and (op.inplace_flag or op.out_keyword)
    return functional or ops.method(whole.rpartition(".")[2] + "_") is not None


def _gives_by_method(evidence: Evidence, func: ast.Attribute, given: set[str | None]) -> bool:
    name = func.attr
    op = ops.method(name)
    if op is None or op.form != "method" or op.writes or op.result not in _RESULTS or not given.isdisjoint(_TARGETS):
        return False
    moves = op.result == "maybe" and (not op.layout or name == "contiguous")
    if not moves and op.result != "view" and ops.method(name + "_") is None:
        return False
    return name in library.TENSOR_ONLY or name == "clamp" or evidence.of(func.value)


class Evidence:
    """What a function, and what binds its names and attributes, says for a tensor."""

    def __init__(self, sketch: Sketch, seen: set[tuple[ast.AST, str]] | None = None, uses: bool = True) -> None:
        """`uses`: also what is done to something says what it is, not only what it was made as."""
        self.sketch = sketch
        self.uses = uses
        self.survey = sketch.survey
        self._seen = set() if seen is None else seen  # functions and names that are being looked at

    def of(self, node: ast.expr, part: bool = False) -> bool:
        """Whether an expression, or a part of it, may be known for a tensor."""
        if part and library.says_loader(ast.unparse(node)):
            return True  # `for images, labels in loader`
        match node:
            case ast.Name(id=name):
                return self._of_name(name)
            case ast.Attribute(attr=name):
                if self.survey.names.qualify(node) is not None:
                    return False
                return ops.method(name) is not None or _is_parameter(name) or self._of_attribute(name)
            case ast.Subscript(value=ast.Name(id=name)) if self._is_filled(name):
                return self._is_put(name) or self._is_used(name)
            case ast.Call():
                return self._of_call(node, part)
            case ast.IfExp(body=one, orelse=other):
                return self.of(one, part) or self.of(other, part)
            case ast.BoolOp(values=values):
                return any(self.of(one, part) for one in values)
            case ast.NamedExpr(value=one) | ast.Await(value=one) | ast.Starred(value=one):
                return self.of(one, part)
            case ast.BinOp(left=one, right=other):
                return self.of(one, part) or self.of(other, part)
            case ast.UnaryOp(operand=one):
                return self.of(one)
            case ast.Subscript(value=one):
                return self.uses or not isinstance(one, ast.Name) or self._of_item(one)
        return part or not isinstance(node, _DISPLAYS)

    def _of_name(self, name: str) -> bool:
        function = self.sketch.function
        mark = (function.node, name)
        if mark in self._seen:
            return False
        self._seen.add(mark)
        bound = self.sketch.bound.get(name, ())
        if name == "self" and function.cls is not None and not bound:
            return any("Tensor" in ast.unparse(base) for base in function.cls.bases)
        if any(self.of(value, part) for value, part in bound) or self._is_used(name):
            return True
        if name in self.sketch.given or name in self.sketch.open:
            return self._said(name)
        if bound:
            return False
        if name in self.survey.names.imported:
            return False
        body = self.survey.body
        if function is body or name not in sketch_of(self.survey, body).bound:
            return name not in self.survey.functions and name not in self.survey.classes
        return Evidence(sketch_of(self.survey, body), self._seen, self.uses).of(ast.Name(name, ast.Load()))

    def _is_put(self, name: str) -> bool:
        """Whether a tensor may be put into what was made empty under a name."""
        mark = (self.sketch.function.node, f"{name}[..]")
        if mark in self._seen:
            return False
        self._seen.add(mark)
        return any(not _is_empty(one) and self.of(one) for one in self.sketch.flows.get(name, ()))

    def _of_item(self, node: ast.Name) -> bool:
        """Whether an item of what a name stands for may be made as a tensor."""
        mark = (self.sketch.function.node, f"{node.id}[]")
        if mark in self._seen:
            return False
        self._seen.add(mark)
        return self.of(node) or any(self.of(value, True) for value in self.sketch.flows.get(node.id, ()))

    def _said(self, name: str) -> bool:
        """Whether the annotation of a parameter may say that it is a tensor."""
        said = self.sketch.annotations.get(name)
        return said is not None and self._names_tensor(said)

    def _names_tensor(self, said: ast.expr) -> bool:
        outside = sketch_of(self.survey, self.survey.body).bound
        for part in walk(said):
            match part:
                case ast.Constant(value=str(text)) if any(one in text for one in _TENSORS):
                    return True
                case ast.Name(id=name) if name in outside:
                    return True
                case ast.Name() | ast.Attribute():
                    whole = self.survey.names.qualify(part) or str(getattr(part, "id", ""))
                    if whole.endswith(_TENSORS):
                        return True
        return False

    def _of_attribute(self, name: str) -> bool:
        """Whether any object's attribute of that name may be a tensor."""
        if self._is_used(name, attribute=True):
            return True
        mark = (self.survey.body.node, f".{name}")
        if mark in self._seen:
            return False
        self._seen.add(mark)
        stored = self.sketch.of_file(attributes_stored).get(name, ())
        return any(Evidence(sketch, self._seen, self.uses).of(value, part) for sketch, value, part in stored)

    def _of_call(self, node: ast.Call, part: bool) -> bool:
        func = node.func
        name = called_name(node)
        whole = self.survey.names.qualify(func)
        if whole is not None and whole.startswith("torch."):
            last = whole.rpartition(".")[2]
            return not last[:1].isupper() or last.endswith(_TENSORS)
        if name in self.survey.functions or any(name in cls.methods for cls in self.survey.classes.values()):
            return True
        if name[:1].isupper():
            return name.endswith(_TENSORS)
        if isinstance(func, ast.Name):
            known = self.sketch.bound.get(name, ()) or name in self.sketch.given
            if name in _PASSING and not known:
                return any(self.of(one, True) for one in node.args)
            return bool(known) or name in ("deepcopy", "copy", "abs", "sum")
        if isinstance(func, ast.Attribute):
            if name == "setdefault" and len(node.args) == 2:
                return self.of(node.args[1])
            if part and name in _MODULES:
                return False
            if name in library.MODULE_SELF and not part:
                return self.of(func.value)
            return True
        return True

    def _is_used(self, name: str, attribute: bool = False) -> bool:
        """Whether what has a name, or is an attribute of that name, is used there as only a tensor can be, also under
        other names for it or for views of it."""
        return self.uses and any(self._is_used_as(*one) for one in self._names_for(name, attribute))

    def _names_for(self, name: str, attribute: bool) -> set[tuple[str, bool]]:
        """The names and attributes (true) that may stand for the same storage as one of them."""
        found = {(name, attribute)}
        pending = [(name, attribute)]
        while pending:
            for other in self._others.get(pending.pop(), ()):
                if other not in found:
                    found.add(other)
                    pending.append(other)
        return found

    @cached_property
    def _others(self) -> dict[tuple[str, bool], set[tuple[str, bool]]]:
        """By each name and attribute, those that a binding may make stand for the same storage."""
        others: dict[tuple[str, bool], set[tuple[str, bool]]] = {}
        for pair in _pairs(self.sketch):
            for one in pair:
                others.setdefault(one, set()).update(pair)
        return others

    def _is_used_as(self, name: str, attribute: bool) -> bool:
        def named(node: ast.AST) -> bool:
            return (
                isinstance(node, ast.Attribute) and node.attr == name
                if attribute
                else isinstance(node, ast.Name) and node.id == name
            )

        found = self.sketch.function.found
        if "grad" in {node.attr for node in found.get(ast.Attribute, ()) if named(node.value)}:
            return True
        for node in found.get(ast.Call, ()):
            func = node.func
            if isinstance(func, ast.Attribute) and named(func.value):
                op = ops.method(func.attr)
                if func.attr in library.TENSOR_ONLY or func.attr in ("clamp", "backward", "manual_backward"):
                    return True
                if op is not None and op.writes:
                    return True
            given = [*node.args, *(one.value for one in node.keywords)]
            if given and any(named(part) for one in given for part in _roots(one)) and self._proves(node):
                return True
        return False

    def _proves(self, node: ast.Call) -> bool:
        """Whether a call may say of what it is given that it is a tensor."""
        func = node.func
        name = called_name(node)
        whole = self.survey.names.qualify(func)
        if whole is not None:
            return whole.startswith("torch.") and not whole.startswith("torch.distributed.")
        if name == "isinstance":
            return any("Tensor" in ast.unparse(one) or "Parameter" in ast.unparse(one) for one in node.args[1:])
        if isinstance(func, ast.Name):
            return name not in _BUILTINS and (name in self.sketch.bound or name in self.sketch.given)
        if not isinstance(func, ast.Attribute):
            return True
        if func.attr in library.CONTAINER_METHODS or func.attr in _OF_MODULES or ops.method(func.attr) is not None:
            return False
        # What an attribute of that name holds may be a layer; a method of the file is none.
        return func.attr not in self.sketch.of_file(methods) or any(
            func.attr in cls.assigns for cls in self.survey.classes.values()
        )

    def _is_filled(self, name: str) -> bool:
        """Whether a name stands for a list or dict that was made empty here."""
        bound = self.sketch.bound.get(name, ())
        if not bound or not all(not part and _is_empty(value) for value, part in bound):
            return False
        return len(self._names_for(name, False)) == 1


def _pairs(sketch: Sketch) -> list[frozenset[tuple[str, bool]]]:
    """The names and attributes that a binding may make stand for one storage."""
    bound = [(ast.Name(name, ast.Store()), value) for name, values in sketch.bound.items() for value, _ in values]
    for node in sketch.function.found.get(ast.Assign, ()):
        bound += [(target, node.value) for target in node.targets if not isinstance(target, ast.Name)]
    found = []
    for target, value in bound:
        for one in _roots(target):
            for other in _roots(value):
                pair = frozenset(_mark(part) for part in (one, other) if isinstance(part, (ast.Name, ast.Attribute)))
                if len(pair) == 2:
                    found.append(pair)
    return found


def _mark(node: ast.Name | ast.Attribute) -> tuple[str, bool]:
    return (node.attr, True) if isinstance(node, ast.Attribute) else (node.id, False)


def _is_parameter(name: str) -> bool:
    """Whether a layer of torch.nn may have a tensor of that name."""
    return "weight" in name or "bias" in name or name.startswith("running_")


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(args=args, keywords=[]):
            name = called_name(value)
            return (name in _EMPTY and not args) or (name == "defaultdict" and len(args) == 1)
    return False


def _roots(node: ast.expr) -> list[ast.expr]:
    """What an expression may be, or be a view or a moved copy of."""
    found: list[ast.expr] = []
    pending: list[ast.expr] = [node]
    while pending:
        one = pending.pop()
        found.append(one)
        match one:
            case ast.Call(func=ast.Attribute(value=base, attr=name)):
                if ops.method(name) is not None or name == "copy":
                    pending.append(base)
            case ast.Attribute(value=base, attr=name):
                op = ops.method(name)
                if op is not None and op.result in ("view", "maybe", "same"):
                    pending.append(base)
            case ast.Subscript(value=base) | ast.Starred(value=base) | ast.NamedExpr(value=base):
                pending.append(base)
            case ast.IfExp(body=left, orelse=right):
                pending += [left, right]
            case ast.BoolOp(values=values):
                pending += values
    return found


def attributes_stored(survey: Survey) -> dict[str, list[tuple[Sketch, ast.expr, bool]]]:
    """What the functions of the file, and the bodies of its classes, bind attributes to; with what may be a part."""
    found: dict[str, list[tuple[Sketch, ast.expr, bool]]] = {}
    for function in survey.all:
        sketch = sketch_of(survey, function)
        nodes = function.found
        pairs: list[tuple[ast.expr, ast.expr, bool]] = []
        for assign in nodes.get(ast.Assign, ()):
            pairs += [(target, assign.value, False) for target in assign.targets]
        pairs += [(one.target, one.value, False) for one in nodes.get(ast.AnnAssign, ()) if one.value is not None]
        for loop in (ast.For, ast.AsyncFor):
            pairs += [(one.target, one.iter, True) for one in nodes.get(loop, ())]
        while pairs:
            target, value, part = pairs.pop()
            if isinstance(target, (ast.Tuple, ast.List)):
                same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
                values = value.elts if same else [value] * len(target.elts)  # type: ignore[attr-defined]
                pairs += [(one, given, part or not same) for one, given in zip(target.elts, values, strict=True)]
            elif isinstance(target, ast.Attribute):
                found.setdefault(target.attr, []).append((sketch, value, part))
        for node in sketch.calls_of(("register_buffer", "register_parameter", "setattr")):
            given = [*node.args, *(one.value for one in node.keywords)]
            for one in given[:-1]:
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    value = (
                        given[-1] if called_name(node) == "setattr" else ast.Attribute(node.func, "data", ast.Load())
                    )
                    found.setdefault(one.value, []).append((sketch, value, False))
    body = sketch_of(survey, survey.body)
    for cls in survey.classes.values():
        for statement in cls.node.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for target in targets:
                    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
                    for one in names:
                        if isinstance(one, ast.Name):
                            found.setdefault(one.id, []).append((body, statement.value, len(names) > 1))
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found.setdefault(statement.target.id, []).append((body, statement.annotation, False))
    return found
