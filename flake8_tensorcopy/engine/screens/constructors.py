"""Constructors: whether what they are given may be a tensor, an array made for them, or a list of either."""

from __future__ import annotations

import ast
from typing import NamedTuple

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.names import TENSOR_TYPES
from flake8_tensorcopy.engine.nodes import end_of, stands_in, start_of, walk
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import Function, called_name

_COPYING = ("tensor", "new_tensor")
_OTHERS = tuple(
    "as_tensor asarray Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor ByteTensor".split()
)
# Builtins and methods that give a number, text, or nothing that holds tensors.
_PLAIN = frozenset("len int float bool str range round isinstance hasattr type id ord repr hash getattr".split())
_NUMBERS = frozenset("item tolist size numel dim ndimension".split())
_LISTS = frozenset("list tuple sorted reversed enumerate zip set sum abs max min map filter next iter dict".split())
_DRAWS = frozenset("sample rsample log_prob entropy".split())
_NEW = frozenset("reshape transpose swapaxes squeeze ravel astype copy flatten".split())
MAX_NAMES = 200


def tensor_of_tensor(sketch: Sketch) -> bool:
    """A constructor of torch that is given what may be a tensor, or a list of tensors or arrays."""
    for node, given in _given(sketch, *_COPYING, *_OTHERS):
        if Looks(sketch).at(node).tensor(given):
            return True
    return False


def fresh_array_copied(sketch: Sketch) -> bool:
    """`torch.tensor` of what a function of NumPy or a conversion has just made."""
    for node, given in _given(sketch, "tensor"):
        if any(one.arg == "dtype" for one in node.keywords):
            continue
        match given:
            case ast.BinOp():
                looks = Looks(sketch).at(node)
                if any(
                    _converts(sketch, one) or (isinstance(one, ast.Name) and looks.tensor(one)) for one in walk(given)
                ):
                    return True
            case ast.Call() if _converts(sketch, given):
                return True
    return False


def _converts(sketch: Sketch, node: ast.AST) -> bool:
    """A call that may make an array."""
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    whole = sketch.survey.names.qualify(func) or ""
    return whole.startswith("numpy.") or (isinstance(func, ast.Attribute) and func.attr in _NEW)


def _given(sketch: Sketch, *names: str) -> list[tuple[ast.Call, ast.expr]]:
    """The calls of torch's constructors and what they are given."""
    found: list[tuple[ast.Call, ast.expr]] = []
    for node in sketch.calls_of(names):
        if called_name(node) == "new_tensor" or sketch.torch_name(node.func) in names:
            given = node.args[:1] or [one.value for one in node.keywords if one.arg == "data"]
            found += [(node, one) for one in given if not isinstance(one, ast.Constant)]
    return found


class Looks:
    """What an expression of a function may be, by its form, by what its names are bound to, and by what calls pass."""

    def __init__(self, sketch: Sketch, asks: bool = True, known: _Known | None = None) -> None:
        self.sketch = sketch
        self.asks = asks  # whether the calls of the function may say what an argument is
        self.known = _Known(set()) if known is None else known
        self.until: tuple[int, int] | None = None  # the place up to which bindings count
        self.past: ast.expr | None = None  # a binding that comes too late

    def at(self, node: ast.Call) -> Looks:
        """What is bound after the call does not count, unless a loop goes on to it."""
        found = self.sketch.function.found
        ends = [end_of(loop) for loop in self.sketch.loops if stands_in(node, loop)]
        self.until = max(ends, default=end_of(node))
        if not ends:
            bindings = (one for one in found.get(ast.Assign, ()) if stands_in(node, one))
            self.past = next((one.value for one in bindings if node in walk(one.value)), None)
        return self

    def of(self, function: Function) -> Looks:
        """The same for another function."""
        return Looks(self.sketch.file.of(function), False, self.known)

    def tensor(self, node: ast.expr) -> bool:
        """Whether the value may be a tensor or array, or hold some; what cannot be told is taken for one."""
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.Lambda() | ast.Dict() | ast.Set():
                return False
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
                return any(map(self.tensor, parts))
            case ast.UnaryOp(operand=inner) | ast.Starred(value=inner) | ast.Subscript(value=inner):
                return self.tensor(inner)
            case ast.ListComp(elt=inner) | ast.GeneratorExp(elt=inner):
                return self.tensor(inner)
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                return self.tensor(left) or self.tensor(right)
            case ast.Name(id=name):
                return self.named(name)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
        return True

    def named(self, name: str) -> bool:
        sketch, function = self.sketch, self.sketch.function
        mark = (function, name, self.until)
        if mark in self.known.names:
            return False  # its bindings are being looked at
        self.known.names.add(mark)
        if len(self.known.names) > MAX_NAMES:
            return True
        for value in sketch.flows.get(name, ()):
            if (self.until is None or start_of(value) < self.until) and value is not self.past and self.tensor(value):
                return True
        for node in (function.node, *(() if function.inner == [] else function.found.get(ast.FunctionDef, ()))):
            one = _argument(node, name)
            if one is not None and (self.annotated(one.annotation) or node is not function.node or self.passed(name)):
                return True
        body = sketch.survey.body
        return name in body.stores and function is not body and self.of(body).named(name)

    def annotated(self, node: ast.expr | None) -> bool:
        """Whether an annotation says tensor, array, or list of such, or a distribution, which gives tensors."""
        match node:
            case ast.Constant(value=str(text)):
                return "Tensor" in text or "ndarray" in text or "Parameter" in text
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                sides = [one for one in (left, right) if not _is_none(one)]
                return len(sides) == 1 and self.annotated(sides[0])
            case ast.Subscript(value=outer, slice=index):
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                if getattr(outer, "attr", getattr(outer, "id", "")) in ("Optional", "Union"):
                    parts = [one for one in parts if not _is_none(one)]
                    return len(parts) == 1 and self.annotated(parts[0])
                return self.annotated(outer) or any(map(self.annotated, parts))
            case ast.Name() | ast.Attribute():
                whole = self.sketch.survey.names.qualify(node) or ""
                return whole in TENSOR_TYPES or whole == "numpy.ndarray" or whole.startswith("torch.distributions.")
        return False

    def passed(self, name: str) -> bool:
        """Whether a call in this file may pass a tensor, or a list of tensors or arrays, for an argument."""
        function = self.sketch.function
        spec = getattr(function.node, "args", None)
        if not self.asks or spec is None:
            return False
        called = function.name
        if function.cls is not None and called in ("__init__", "__call__", "forward"):
            called = function.cls.name
        names = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        bound = function.cls is not None and not function.static
        for caller in self.sketch.survey.all:
            if caller is not function and called in caller.calls:
                looks = self.of(caller)
                for node in looks.sketch.calls_of((called,)):
                    if any(map(looks.at(node).tensor, _given_to(node, names, name, bound))):
                        return True
        return False

    def attribute(self, node: ast.Attribute) -> bool:
        """A property of tensors, an attribute that only `__init__` sets, or that this function does."""
        name = node.attr
        if name in ("shape", "dtype", "device", "ndim"):
            return False
        if name in ("weight", "bias", "grad", "data") or ops.method(name) is not None:
            return True
        function = self.sketch.function
        if _stores(function, name) or "setattr" in function.calls:
            return True
        for cls in self.sketch.survey.classes.values():
            if self.annotated(cls.annotations.get(name)):
                return True
            init = cls.methods.get("__init__")
            if init is not None and init is not function and "__init__" in cls.assigns.get(name, ()):
                if (init, "." + name, None) not in self.known.names:
                    self.known.names.add((init, "." + name, None))
                    looks = self.of(init)
                    if any(looks.stored(one, name) for one in (*init.found.get(ast.Assign, ()), *_noted(init))):
                        return True
        return False

    def stored(self, node: ast.Assign | ast.AnnAssign, name: str) -> bool:
        """Whether an assignment may put a tensor into an attribute."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is None or not any(
            isinstance(one, ast.Attribute) and one.attr == name for target in targets for one in _parts(target)
        ):
            return False
        return self.tensor(node.value) or (isinstance(node, ast.AnnAssign) and self.annotated(node.annotation))

    def call(self, node: ast.Call) -> bool:
        """A function of torch or NumPy, of the file, or a method of what may be a tensor or hold some."""
        func = node.func
        whole = self.sketch.survey.names.qualify(func)
        given = [*node.args, *(one.value for one in node.keywords)]
        name = called_name(node)
        if whole is not None:
            root, _, rest = whole.partition(".")
            if root in ("torch", "numpy", "einops") or rest in ("deepcopy", "copy", "chain", "OrderedDict", "tqdm"):
                return True
        if name in self.sketch.callees:
            if isinstance(func, ast.Attribute):
                given.append(func.value)
            return any(map(self.tensor, given)) or self.returned(name)
        if whole is not None:
            return False
        if isinstance(func, ast.Name):
            if name in _PLAIN:
                return False
            if name in _LISTS:
                return any(map(self.tensor, given))
            return name in self.sketch.flows and self.named(name)
        if not isinstance(func, ast.Attribute):
            return True
        if name in _NUMBERS:
            return False
        if name in library.CONTAINER_METHODS:
            return self.tensor(func.value) or any(map(self.tensor, given))
        if name in _DRAWS or ops.method(name) is not None:
            return self.tensor(func.value)
        return self.attribute(func)  # a module, perhaps

    def returned(self, name: str) -> bool:
        """Whether a function of that name may return a tensor that it has made, or that its object holds."""
        for function in self.sketch.survey.all:
            if function.name == name and (function, "", None) not in self.known.names:
                self.known.names.add((function, "", None))
                looks = self.of(function)
                given = (*function.found.get(ast.Return, ()), *function.found.get(ast.Yield, ()))
                if any(one.value is not None and looks.tensor(one.value) for one in given):
                    return True
        return False


class _Known(NamedTuple):
    """What has been looked at: names in a function up to a line, attributes with a dot, results as an empty name."""

    names: set[tuple[Function, str, tuple[int, int] | None]]


def _argument(node: ast.AST, name: str) -> ast.arg | None:
    spec = getattr(node, "args", None)
    if not isinstance(spec, ast.arguments):
        return None
    given = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    given += [one for one in (spec.vararg, spec.kwarg) if one is not None]
    return next((one for one in given if one.arg == name), None)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _given_to(node: ast.Call, names: list[str], name: str, bound: bool) -> list[ast.expr]:
    """What a call gives for an argument, as far as its form tells: all that may be it."""
    found = [one.value for one in node.keywords if one.arg in (name, None)]
    if any(isinstance(one, ast.Starred) for one in node.args):
        return [*found, *node.args]
    if name in names:
        position = names.index(name)
        found += node.args[max(position - bound, 0) : position + 1]
    return found


def _stores(function: Function, name: str) -> bool:
    nodes = function.found.get(ast.Attribute, ())
    return any(one.attr == name and isinstance(one.ctx, ast.Store) for one in nodes)


def _noted(function: Function) -> list[ast.AnnAssign]:
    return function.found.get(ast.AnnAssign, [])


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
