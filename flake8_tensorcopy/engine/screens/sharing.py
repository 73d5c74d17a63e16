"""Which names of a function may share storage, and what it may write: no order, no paths, only what is bound to what.

A *root* is what the screens tell storages apart by: a local name, or an attribute of `self` (`self.x`); all that is
reached from it counts as the same.  Two roots are in one group if some binding, anywhere in the function, may make one
share what the other one holds.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.source import INPLACE_MODULE, Function, Survey

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.sketch import Effects, Sketch

Roots = frozenset[str]
NONE: Roots = frozenset()

# Not a name: what a generator yields, somebody else holds.
YIELDED = "<yield>"

# Not classes: modules of torch.nn that work in place, and those that give back what they are given.
IN_PLACE, PASSING = "<in place>", "<passing>"

_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
_BUILTINS = frozenset(vars(builtins))
# Builtins and functions of the standard library whose result holds what they are given, or is a part of it.
_PASSING = frozenset(
    "list tuple dict set frozenset zip enumerate reversed iter sorted filter map next min max vars getattr OrderedDict "
    "defaultdict deque chain tqdm SimpleNamespace copy partial".split()
)
_COLLECTIONS = frozenset("list dict set OrderedDict defaultdict deque Counter".split())
# Methods of others than tensors whose result is (a part of) what they are called on.
_OF_OBJECTS = (
    library.CONTAINER_METHODS
    | library.MODULE_SELF
    | library.NUMPY_VIEWS
    | frozenset(
        "state_dict parameters named_parameters buffers named_buffers modules named_modules children named_children "
        "popleft fromkeys get_parameter get_submodule __getitem__ asarray astype cpu numpy".split()
    )
)
_CONVERTING = library.NUMPY_VIEWS | frozenset({"asarray", "astype", "cpu", "cuda", "numpy", "to", "type"})
_MAKERS = frozenset("new_zeros new_ones new_empty new_full new_tensor clone detach".split())
# Methods that put what they are given into what they are called on.
_PUTTING = frozenset("append appendleft extend insert add update setdefault put push register_buffer".split())
# Functions of torch and others that have no row and whose result may be what they are given.
_SPECIAL = frozenset(
    "Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor Parameter Variable from_numpy as_tensor asarray "
    "from_dlpack frombuffer from_pretrained vector_to_parameters ModuleList ModuleDict ParameterList ParameterDict "
    "Sequential rearrange repeat reduce".split()
)
_NUMBERS = frozenset({"len", "int", "float", "round"})
_NUMBERS_OF_TENSORS = frozenset({"item", "size", "numel", "dim", "perf_counter", "time"})


class Write(NamedTuple):
    """What may change a storage in place: the roots of what is written, the expression, the node that does it."""

    roots: Roots
    target: ast.expr
    node: ast.AST
    how: str  # augmented subscript method activation call object (a method of the file writes what its object holds)
    uncertain: bool = False  # the function that is called may write a copy instead


class Sharing:
    """The groups of roots of one function, and its writes."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.file = sketch.file
        self.function: Function = sketch.function
        self.survey: Survey = sketch.survey
        self.imported = self.survey.names.imported
        # A module that works in place may be what an object called here is.
        self.in_place = bool(self.file.in_place) or bool(self.function.features & INPLACE_MODULE)
        self.containers: set[str] = set()  # roots that some binding makes a list, tuple or dict
        self.plain: set[str] = set()  # roots that no binding makes anything but that
        self.renewed: set[str] = set()  # names bound to something made of themselves: `x = x.cpu()`
        self.held: list[Roots] = []  # what is put into an attribute, an item or a list, and what it is put into
        self.keeps_gradient = False  # some binding holds a `.grad`, or what `autograd.grad` gave
        self.bound: set[str] = set()  # names that the function binds
        self.tensors: set[str] = set()  # names that are bound to what operations of torch give, and to nothing else
        self.uncertain: set[str] = set()  # roots bound to what shares or copies, as the case may be
        self.obtained: set[str] = set()  # roots bound to what a method returns of what its object holds
        self.viewed: set[str] = set()  # roots bound to a part or view of something
        self._converts = self._obtains = self._views = False
        self._arrays: set[str] | None = None  # roots bound to arrays
        self._made: dict[str, tuple[set[str], set[str]]] | None = None  # classes that are called for a root; names used
        self.bindings = list(self._bindings())
        self._parent: dict[str, str] = {}
        self._size: dict[str, int] = {}
        self._look()
        self.writes = list(self._writes())

    def bind(self) -> Sharing:
        """Make the groups, which only matters where something is written, or to those who call the function."""
        self.keeps_gradient = False  # where it is only written, it is no other name's
        self._bind()
        return self

    # ----- groups

    def find(self, root: str) -> str:
        """The root that stands for the group of this one."""
        parent = self._parent.setdefault(root, root)
        while parent != root:
            above = self._parent[parent]
            self._parent[root] = above
            root, parent = parent, above
        return root

    def join(self, roots: Iterable[str]) -> None:
        """Put roots into one group."""
        first = ""
        for root in roots:
            one = self.find(root)
            if not first:
                first = one
            elif one != first:
                self._parent[one] = first
                self._size[first] = self._size.get(first, 1) + self._size.pop(one, 1)

    def shared(self, roots: Iterable[str]) -> bool:
        """Whether something else may share storage with one of the roots."""
        return any(self._size.get(self.find(root), 1) > 1 for root in roots)

    def groups(self, roots: Iterable[str]) -> set[str]:
        return {self.find(root) for root in roots}

    def together(self, roots: Iterable[str], others: Iterable[str]) -> bool:
        """Whether one of these roots and one of those may share storage."""
        return not self.groups(roots).isdisjoint(self.groups(others))

    @property
    def members(self) -> list[str]:
        """Every root."""
        return list(self._parent)

    @property
    def of_self(self) -> list[str]:
        """The attributes of `self` that are roots, and `self` if it is one itself."""
        return [root for root in self._parent if root[:4] == "self" and root[4:5] in ("", ".")]

    # ----- bindings

    def _bindings(self) -> Iterator[tuple[list[ast.expr], ast.expr]]:
        found = self.function.found
        for node in found.get(ast.Assign, ()):
            if (
                len(node.targets) == 1
                and isinstance(node.targets[0], ast.Tuple)
                and isinstance(node.value, ast.Tuple)
                and len(node.targets[0].elts) == len(node.value.elts)
            ):
                for target, value in zip(node.targets[0].elts, node.value.elts, strict=True):
                    yield [target], value
            else:
                yield node.targets, node.value
        for kind in (ast.AnnAssign, ast.NamedExpr):
            for node in found.get(kind, ()):
                if node.value is not None:
                    yield [node.target], node.value
        for kind in (ast.For, ast.AsyncFor, ast.comprehension):
            for node in found.get(kind, ()):
                yield from _iterated(node.target, node.iter)
        for node in found.get(ast.withitem, ()):
            if node.optional_vars is not None:
                yield [node.optional_vars], node.context_expr

    def _look(self) -> None:
        """What is bound, and what kind of thing each name is for certain."""
        other: set[str] = set()
        others: set[str] = set()
        for targets, value in self.bindings:
            for target in targets:
                if isinstance(target, ast.Name):
                    self.bound.add(target.id)
                    (self.containers if self._collects(value) else other).add(target.id)
                    (self.tensors if self._is_tensor(value) else others).add(target.id)
                elif isinstance(target, (ast.Tuple, ast.List, ast.Starred)):
                    self.bound |= self.root_of_targets(target)
                    others |= self.root_of_targets(target)
        node = self.function.node
        if not isinstance(node, ast.Module):
            spec = node.args
            other.update(one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))
            self.containers.update(one.arg for one in (spec.vararg, spec.kwarg) if one is not None)
        self.tensors -= others | self.sketch.given.keys()
        self.plain = self.containers - other
        self.plain |= self.file.globals - other - self.bound
        self.containers |= self.file.collections
        self.plain |= self.file.collections

    def _bind(self) -> None:
        for targets, value in self.bindings:
            self._converts = self._obtains = self._views = False
            shares = self.shares(value)
            names = frozenset(root for target in targets for root in self.root_of_targets(target))
            if shares or len(targets) > 1 or (len(names) > 1 and self._paired(value)):
                if not isinstance(value, (ast.Name, ast.Attribute)):
                    self.renewed |= names & shares
                self.join((*names, *shares))
                if self._converts:
                    self.uncertain |= names
                if self._views:
                    self.viewed |= names
                if self._obtains:
                    self.obtained |= names
                self.held.extend(self.root_of_targets(target) for target in targets if isinstance(target, ast.Subscript))
        found = self.function.found
        for node in found.get(ast.Call, ()):
            self._call_joins(node)
        for node in found.get(ast.AugAssign, ()):
            if isinstance(node.op, (ast.Add, ast.BitOr)) and self._extends(node):
                self.join((*self.root_of_targets(node.target), *self.shares(node.value)))
        for kind in (ast.Yield, ast.YieldFrom):
            for node in found.get(kind, ()):
                if node.value is not None:
                    self.join((YIELDED, *self.shares(node.value)))
        if any(isinstance(value, ast.Name) and value.id == "self" for _, value in self.bindings):
            self.join(self.of_self)  # by the other name, too, all is reached that the object holds

    def _paired(self, value: ast.expr) -> bool:
        """Whether two of the things that an expression gives may be one: those that a function of the file returns."""
        return isinstance(value, ast.Call) and any(effects.paired for effects in self._may_run(value.func))

    def _extends(self, node: ast.AugAssign) -> bool:
        """Whether an augmented assignment may add items to a list."""
        return self._collects(node.value) or not self.containers.isdisjoint(
            self.root(node.target) | self.shares(node.value)
        )

    def _is_tensor(self, value: ast.expr) -> bool:
        """Whether an expression is the result of an operation of torch that gives one tensor."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return False
        qualified = self.survey.names.qualify(value.func)
        if qualified is None:
            op = ops.method(value.func.attr)
            return op is not None and op.form == "method" and value.func.attr in _MAKERS
        op = ops.function(qualified)
        return op is not None and op.form != "module" and op.many == 1 and op.result in ("fresh", "view", "maybe", "same")

    def _collects(self, value: ast.expr) -> bool:
        """Whether an expression makes a list, tuple, dict or set."""
        if isinstance(value, _DISPLAYS):
            return True
        if isinstance(value, ast.IfExp):
            return all(self._collects(one) or _none(one) for one in (value.body, value.orelse))
        if isinstance(value, ast.BinOp):
            return self._collects(value.left) or self._collects(value.right)
        return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _COLLECTIONS

    def root_of_targets(self, target: ast.expr) -> Roots:
        """What an assignment to a target binds: names, and what holds the slots."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return frozenset(root for item in target.elts for root in self.root_of_targets(item))
        if isinstance(target, ast.Starred):
            return self.root_of_targets(target.value)
        if isinstance(target, ast.Subscript) and (
            _of_arrays(target.slice) or (isinstance(target.value, ast.Name) and target.value.id in self.tensors)
        ):
            return NONE  # a copy into a part
        return self.root(target)

    def root(self, node: ast.expr) -> Roots:
        """The root that an expression of names, attributes and items begins with."""
        last = ""
        while True:
            if isinstance(node, ast.Name):
                if last and node.id == "self":
                    return frozenset((f"self.{last}",))
                return NONE if node.id in self.imported else frozenset((node.id,))
            if isinstance(node, ast.Attribute):
                last = node.attr
                node = node.value
            elif isinstance(node, (ast.Subscript, ast.Starred, ast.Await)):
                node = node.value
                last = ""
            else:
                return self.shares(node)

    # ----- expressions

    def shares(self, node: ast.expr | None) -> Roots:
        """The roots whose storage the value of an expression may have, or hold."""
        if node is None or isinstance(node, (ast.Constant, ast.Compare, ast.UnaryOp, ast.JoinedStr, ast.Lambda)):
            return NONE
        if isinstance(node, ast.Name):
            return NONE if node.id in self.imported or node.id in self.sketch.numbers else frozenset((node.id,))
        if isinstance(node, ast.Attribute):
            op = ops.method(node.attr)
            self._views = self._views or op is not None
            if op is not None and op.form == "property" and op.result not in ("view", "maybe", "same"):
                if node.attr != "grad":
                    return NONE
                self.keeps_gradient = True
                return self.shares(node.value)
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                return NONE if node.attr in self.file.numbers else frozenset((f"self.{node.attr}",))
            return self.shares(node.value)
        if isinstance(node, (ast.Subscript, ast.Starred, ast.Await, ast.YieldFrom)):
            self._views = True
            return self.shares(node.value)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            if self._collects(node) or any(not self.containers.isdisjoint(self._named(side)) for side in sides):
                return self.shares(node.left) | self.shares(node.right)
            return NONE
        if isinstance(node, ast.IfExp):
            return self.shares(node.body) | self.shares(node.orelse)
        if isinstance(node, ast.NamedExpr):
            return self.shares(node.value) | self.root(node.target)
        if isinstance(node, ast.BoolOp):
            return self._all(node.values)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return self._all(node.elts)
        if isinstance(node, ast.Dict):
            return self._all(node.values)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            return self.shares(node.elt)
        if isinstance(node, ast.DictComp):
            return self.shares(node.value)
        return NONE

    def _named(self, node: ast.expr) -> Roots:
        return self.root(node) if isinstance(node, (ast.Name, ast.Attribute)) else NONE

    def _all(self, nodes: Iterable[ast.expr]) -> Roots:
        found: Roots = NONE
        for node in nodes:
            found |= self.shares(node)
        return found

    def given(self, node: ast.Call) -> Roots:
        return self._all((*node.args, *(keyword.value for keyword in node.keywords)))

    def _call(self, node: ast.Call) -> Roots:
        """What the result of a call may share."""
        func = node.func
        result = NONE
        if isinstance(func, ast.Attribute):
            name = func.attr
            qualified = self.survey.names.qualify(func)
            if qualified is not None:
                return self._imported(node, qualified)
            op = ops.method(name)
            if op is not None and op.form == "method":
                if op.writes or op.result in ("view", "maybe", "same", "array"):
                    result |= self.shares(func.value)
                    self._converts = self._converts or op.result in ("maybe", "array")
                    self._views = self._views or not op.writes
            if name in _OF_OBJECTS:
                result |= self.shares(func.value)
                self._converts = self._converts or name in _CONVERTING
                if name in ("get", "pop", "setdefault"):
                    result |= self._all(node.args[1:])
        elif isinstance(func, ast.Name):
            name = func.id
            if name in self.imported:
                return self._imported(node, self.survey.names.qualify(func) or name)
            if name in _PASSING or name in self.survey.classes:
                return self.given(node)
        for effects in self._may_run(func):
            if effects.returned:
                if any(name[:4] == "self" for name in effects.returned):
                    self._obtains = self._views = True
                result |= self._meant(node, effects, effects.returned)
                self._converts = self._converts or effects.uncertain
        if self.is_object(func):
            if self._works_in_place(func) or self._gives_back(func):
                result |= self.given(node)
                self._converts = True
        return result

    def _imported(self, node: ast.Call, name: str) -> Roots:
        short = name.rsplit(".", 1)[-1]
        if name.startswith("numpy.") or short in _SPECIAL or short in _PASSING:
            self._converts = self._converts or (short not in _PASSING and short != "Parameter")
            return self.given(node)
        if name == "torch.autograd.grad":
            self.keeps_gradient = True
        op = ops.function(name)
        if op is not None and (op.writes or op.result in ("view", "maybe", "same", "array")):
            self._converts = self._converts or op.result in ("maybe", "array")
            self._views = self._views or not op.writes
            return self.given(node)
        if short[-1:] == "_" or any(keyword.arg in ("out", "inplace") for keyword in node.keywords):
            return self.given(node)
        return NONE

    # ----- functions of the file

    def is_object(self, func: ast.expr) -> bool:
        """Whether a call may be that of an object: of what an attribute, an item or a variable holds."""
        if isinstance(func, ast.Name):
            return func.id in self.bound
        return not isinstance(func, ast.Attribute) or self.survey.names.qualify(func) is None

    def _works_in_place(self, func: ast.expr) -> bool:
        """Whether an object that is called may be a module that works in place."""
        if not self.in_place:
            return False
        return func.attr in self.file.in_place if isinstance(func, ast.Attribute) else IN_PLACE in self._made_by(func)

    def _gives_back(self, func: ast.expr) -> bool:
        """Whether an object that is called may be a module that gives back what it is given."""
        if isinstance(func, ast.Attribute):
            return func.attr in self.file.passing
        return PASSING in self._made_by(func)

    def _may_run(self, func: ast.expr) -> Iterable[Effects]:
        """The effects of the functions of the file that a call of this may run."""
        if isinstance(func, ast.Attribute):
            receiver = func.value
            if isinstance(receiver, ast.Name) and receiver.id == "self" and self.function.cls is not None:
                return self.file.called_on(self.function.cls, func.attr)
            if isinstance(receiver, ast.Call) and getattr(receiver.func, "id", "") == "super":
                cls = self.function.cls
                return () if cls is None or func.attr == "__init__" else self.file.called_on_bases(cls, func.attr)
            return self.file.called(func.attr)
        if isinstance(func, ast.Name) and func.id in self.file.by_name:
            return self.file.called(func.id)
        return [one for cls in sorted(self._made_by(func)) if cls[0] != "<" for one in self.file.called_objects(cls)]

    def _made_by(self, func: ast.expr) -> Iterable[str]:
        """What an object may be, which is a variable or an item: a class of this file, or one of the marks."""
        if isinstance(func, ast.Name) and func.id not in self.bound and func.id not in self.sketch.annotated:
            return ()
        if self._made is None:
            self._made = {}
            for targets, value in self.bindings:
                made, names = self.file.made_in(value)
                for target in targets:
                    for root in self.root_of_targets(target) if made or names else ():
                        known = self._made.setdefault(root, (set(), set()))
                        known[0].update(made)
                        known[1].update(names)
            for name, cls in self.sketch.annotated.items():
                if cls in self.survey.classes:
                    self._made.setdefault(name, (set(), set()))[0].add(cls)
        found, pending = self.file.made_in(func)
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name not in seen and name in self._made:
                seen.add(name)
                found |= self._made[name][0]
                pending |= self._made[name][1]
        return found

    def _meant(self, node: ast.Call, effects: Effects, names: Iterable[str]) -> Roots:
        """What parameters and attributes of `self` of a function stand for in a call of it."""
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        spread = any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords)
        found: Roots = NONE
        for name in names:
            if name[:4] == "self" and name[4:5] in ("", "."):
                if isinstance(receiver, ast.Name) and receiver.id == "self":
                    found |= frozenset((name,))
                elif receiver is not None and not (isinstance(receiver, ast.Call)):
                    found |= self.root(receiver)
                elif receiver is not None:
                    found |= frozenset((name,))
                else:
                    found |= self.root(node.func)
            elif spread or name not in effects.positions:
                found |= self.given(node)
            else:
                position = effects.positions[name]
                if position < len(node.args):
                    found |= self.root(node.args[position]) if _is_path(node.args[position]) else self.shares(node.args[position])
                for keyword in node.keywords:
                    if keyword.arg == name:
                        found |= self.shares(keyword.value)
        return found

    def _call_joins(self, node: ast.Call) -> None:
        """What a call puts where: into a list, into an object, into an argument of a function of the file."""
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _PUTTING:
            given = self.given(node)
            if given:
                into = self.root(func.value)
                self.join((*into, *given))
                self.held.append(into)
        elif isinstance(func, ast.Name) and func.id == "setattr" and len(node.args) == 3:
            into = self.root(node.args[0])
            self.join((*into, *self.shares(node.args[2])))
        for effects in self._may_run(func):
            for names in effects.linked:
                self.join(self._meant(node, effects, names))
            for names in effects.held:
                self.held.append(self._meant(node, effects, names))

    # ----- writes

    def _writes(self) -> Iterator[Write]:
        found = self.function.found
        for node in found.get(ast.AugAssign, ()):
            if not self._counts(node):
                yield Write(self.root(node.target), node.target, node, "augmented")
        for node in found.get(ast.Subscript, ()):
            if isinstance(node.ctx, ast.Store) and self._writes_item(node):
                yield Write(self.root(node.value), node.value, node, "subscript")
        for node in found.get(ast.Call, ()):
            for target, how in self._written_by(node):
                yield Write(self.root(target), target, node, how)
            for effects in self._may_run(node.func):
                for name in effects.written:
                    roots = self._meant(node, effects, (name,))
                    if roots:
                        of_object = name[:4] == "self"
                        yield Write(roots, node.func, node, "object" if of_object else "call", effects.uncertain)
            if self._works_in_place(node.func) and self.is_object(node.func):
                for given in node.args:
                    if roots := self.shares(given):
                        yield Write(roots, given, node, "activation")

    def _written_by(self, node: ast.Call) -> Iterator[tuple[ast.expr, str]]:
        """What a call of torch or NumPy writes."""
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name[-1:] == "_" and name[:1] != "_":
            if isinstance(func, ast.Attribute) and self.survey.names.qualify(func) is None:
                yield func.value, "method"
            elif node.args:
                yield node.args[0], "activation"
        elif isinstance(func, ast.Attribute) and (
            name == "__setitem__" or (name in library.NUMPY_WRITES and self._may_be_array(func.value))
        ):
            yield func.value, "method"
        elif name in library.NUMPY_FUNCTION_WRITES and node.args:
            yield node.args[0], "method"
        for keyword in node.keywords:
            if keyword.arg == "out":
                for item in keyword.value.elts if isinstance(keyword.value, ast.Tuple) else (keyword.value,):
                    yield item, "method"
        if node.args and (
            any(keyword.arg == "inplace" for keyword in node.keywords)
            or any(isinstance(one, ast.Constant) and one.value is True for one in node.args[1:])
        ):
            op = ops.function(f"torch.nn.functional.{name}")
            if op is not None and op.inplace_flag:
                yield node.args[0], "activation"

    def _may_be_array(self, node: ast.expr) -> bool:
        """Whether an expression may be an array of NumPy's, as far as this file tells."""
        roots = self.root(node)
        if any(root[:4] == "self" or "array" in self.sketch.annotated.get(root, "") for root in roots):
            return self.file.has_arrays
        if self._arrays is None:
            self._arrays = {
                root
                for targets, value in self.bindings
                if self._gives_array(value)
                for target in targets
                for root in self.root_of_targets(target)
            }
        return self._gives_array(node) or self.together(roots, self._arrays)

    def _gives_array(self, node: ast.expr) -> bool:
        return any(
            isinstance(one, ast.Call)
            and (
                getattr(one.func, "attr", "") == "numpy"
                or (self.survey.names.qualify(one.func) or "").startswith("numpy.")
            )
            for one in walk(node)
        )

    def _writes_item(self, node: ast.Subscript) -> bool:
        """Whether an assignment to an item may change a tensor: not that of a dict, nor of a list made here."""
        index = node.slice
        if isinstance(index, ast.JoinedStr) or (isinstance(index, ast.Constant) and isinstance(index.value, str)):
            return False
        return self.plain.isdisjoint(self._named(node.value))

    def _counts(self, node: ast.AugAssign) -> bool:
        """Whether an augmented assignment changes a number, a text or a list made here: no tensor."""
        target = node.target
        if isinstance(target, ast.Attribute):
            return target.attr in self.file.numbers
        return isinstance(target, ast.Name) and (target.id in self.sketch.numbers or target.id in self.plain)


def _iterated(target: ast.expr, over: ast.expr) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    """What a loop binds to (an item of) what: the parts of `zip(..)` and `enumerate(..)` one by one."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(over, ast.Call) and not over.keywords:
        parts, given = target.elts, over.args
        name = getattr(over.func, "attr", getattr(over.func, "id", ""))
        if not any(isinstance(one, ast.Starred) for one in (*parts, *given)):
            if name == "zip" and len(parts) == len(given):
                for part, one in zip(parts, given, strict=True):
                    yield from _iterated(part, one)
                return
            if name in ("enumerate", "items") and len(parts) == 2:
                yield [parts[0]], _COUNT  # a number, or a key
                yield from _iterated(parts[1], given[0] if name == "enumerate" and given else over)
                return
    yield [target], over


_COUNT = ast.Constant(0)


def _none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_path(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def _of_arrays(index: ast.expr) -> bool:
    """An index that no list and no dict takes."""
    if isinstance(index, ast.Tuple):
        return any(
            isinstance(item, ast.Slice) or (isinstance(item, ast.Constant) and item.value in (None, ...))
            for item in index.elts
        )
    return isinstance(index, ast.Compare) or (isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert))


def collection(value: ast.expr) -> bool:
    """Whether an expression makes a list, tuple, dict or set and nothing else."""
    return isinstance(value, _DISPLAYS) or (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _COLLECTIONS
    )


def numbers_of(function: Function) -> set[str]:
    """The names that hold numbers or texts and nothing else: constants, lengths, counts, sums of these."""
    found = function.found
    other: set[str] = set()
    named: set[str] = set()
    node = function.node
    if not isinstance(node, ast.Module):
        spec = node.args
        given = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
        other.update(one.arg for one in given if one)

    def bind(target: ast.expr, number: bool) -> None:
        if isinstance(target, ast.Name):
            (named if number else other).add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                bind(item, number)
        elif isinstance(target, ast.Starred):
            bind(target.value, False)

    for node in found.get(ast.Assign, ()):
        value = node.value
        number = is_number(value)
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for one, given_to in zip(target.elts, value.elts, strict=True):
                    bind(one, is_number(given_to))
            else:
                bind(target, number)
    for kind in (ast.AnnAssign, ast.NamedExpr):
        for node in found.get(kind, ()):
            if node.value is not None:
                bind(node.target, is_number(node.value))
    for node in found.get(ast.AugAssign, ()):
        if not is_number(node.value):
            bind(node.target, False)
    for kind in (ast.For, ast.AsyncFor, ast.comprehension):
        for node in found.get(kind, ()):
            over = getattr(node.iter.func, "id", "") if isinstance(node.iter, ast.Call) else ""
            if over == "enumerate" and isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2:
                bind(node.target.elts[0], True)
                bind(node.target.elts[1], False)
            else:
                bind(node.target, over == "range")
    for node in found.get(ast.withitem, ()):
        if node.optional_vars is not None:
            bind(node.optional_vars, False)
    if found.get(ast.MatchAs):
        return set()
    return named - other


def is_number(value: ast.expr) -> bool:
    """Whether an expression is a number or text for certain: a constant, a length, a size, or computed of these."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, (int, float, str))
    if isinstance(value, ast.BinOp):
        return is_number(value.left) and is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Attribute) and value.value.attr == "shape"
    if isinstance(value, ast.Attribute):
        return value.attr == "shape"
    if isinstance(value, ast.Call):
        func = value.func
        if isinstance(func, ast.Attribute):
            return func.attr in _NUMBERS_OF_TENSORS
        return isinstance(func, ast.Name) and func.id in _NUMBERS
    return isinstance(value, ast.JoinedStr)
