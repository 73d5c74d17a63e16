"""What the runs of one file share: class tables, summaries of its functions, evidence."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from flake8_tensorcopy.engine import distributions, library, ops
from flake8_tensorcopy.engine.blocks import one_each
from flake8_tensorcopy.engine.freezing import frozen_attributes
from flake8_tensorcopy.engine.linked import PAIRS, dtype_of, on_graph
from flake8_tensorcopy.engine.methods import is_property
from flake8_tensorcopy.engine.moved_leaf import moved
from flake8_tensorcopy.engine.names import TENSOR_TYPES, TYPED
from flake8_tensorcopy.engine.nodes import Below, walk
from flake8_tensorcopy.engine.source import MAX_DEPTH, Class, Function, Survey
from flake8_tensorcopy.engine.values import (
    ALIAS,
    NO_LAYERS,
    NUMBER,
    NUMPY,
    Arm,
    Chain,
    Obj,
    Place,
    Ref,
    Value,
    both_arms,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.callers import Passed
    from flake8_tensorcopy.engine.graph import Mention
    from flake8_tensorcopy.engine.notes import Handed, Outside
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.unwrapped import Step

T = TypeVar("T")

MAX_CALL_DEPTH = 5
MAX_USES = 16  # of an object, that are evidence
MAX_BASES = 30
MAX_EQUAL = 8  # tests of one thing, that are kept apart

_LITERAL = re.compile(r"-?\d+|'[^'\\]*'|\"[^\"\\]*\"")  # two such texts are equal where their values are

MODULE_BASES = frozenset({"torch.nn.Module", "pytorch_lightning.LightningModule", "lightning.LightningModule"})
_NUMBER_TYPES = frozenset({"int", "float", "bool", "complex", "str", "torch.dtype", "torch.device"})
_OPTIONAL = frozenset({"Optional", "typing.Optional", "Union", "typing.Union", "Annotated", "typing.Annotated"})
# What norm layers count and average, in buffers that no gradient reaches.
_STATISTICS = frozenset({".running_mean", ".running_var", ".num_batches_tracked"})
_SEQUENCES = frozenset(
    "list List tuple Tuple Sequence Iterable typing.List typing.Tuple typing.Sequence typing.Iterable "
    "collections.abc.Sequence collections.abc.Iterable set".split()
)
_MAPPINGS = frozenset("dict Dict Mapping typing.Dict typing.Mapping collections.OrderedDict".split())


class Module:
    """The file under analysis."""

    def __init__(
        self,
        survey: Survey,
        train_calls: frozenset[str] = frozenset(),
        shown: frozenset[tuple[int, int]] = frozenset(),
    ) -> None:
        self.survey = survey
        self.shown = shown  # places of statements whose value is displayed
        self.names = survey.names
        self.runs: dict[Function, Run | None] = {}
        self.outside: dict[Function, Outside] = {}  # what is around functions inside others, and lambdas
        self.early: set[Function] = set()  # run before it was known what `__init__` makes: once more when that is known
        self.depth = 0
        self.train_calls = train_calls
        self.given: dict[tuple[Class, str], list[str]] = {}  # attributes that constructors set to what calls give them
        self.stored: dict[Class, dict[tuple[str, ...], list[tuple[Run, Handed]]]] = {}  # what methods put on the object
        self.none_attributes: dict[Class, frozenset[object]] = {}  # attributes that a class makes None at times
        self.asked: dict[ast.AST, tuple[Class, tuple[str, ...]]] = {}  # what of an object a fact is about
        self.proven: set[ast.AST] = set()  # writes of functions that some call of this file gives a tensor
        self.mentions: dict[str, list[Mention]] | None = None  # made when it is first asked for
        self.frozen: frozenset[str] | None = None  # the same
        self.graphs_given: dict[Function, dict[str, set[bool | None]]] = {}  # which arguments of its calls require grad
        self.wraps: dict[Obj, tuple[ast.AST, Chain]] = {}  # which `nn.Parameter(..)` made it, and how it had come there
        self.unwraps: dict[Obj, Step] = {}  # results of calls that were Parameters inside
        self.kept: set[ast.AST] = set()  # calls of `nn.Parameter` whose result is held as it is
        self.leaves: dict[Obj, tuple[ast.AST, tuple[Chain, ...]]] = {}  # what made it one, and how it had come there
        self.moved: dict[Obj, tuple[Step, Obj]] = {}  # results of calls that were computed from a leaf inside
        self.layered: dict[Class, bool] = {}  # classes whose objects have parameters, or have none
        self.registered: set[Obj] = set()  # lists that a ModuleList or ParameterList was made of
        self.replicated: dict[Class, ast.AST] = {}  # classes that DataParallel replicates, and the call that says so
        self._callers_run: set[str] = set()
        self._below: dict[ast.AST, Below] = {}
        self._told: dict[object, Any] = {}
        self.at_line: dict[int, Function] | None = None  # the innermost function around each line, once asked for
        self._nested: dict[ast.AST, Function] = {}
        self._tables: dict[Class, dict[str, Value]] = {}
        self._arms: dict[object, tuple[Arm, Arm]] = {}
        self._equal: dict[object, list[Arm]] = {}  # on which the same thing equals one literal or another
        self._cases: dict[tuple[ast.Match, tuple[int, ...]], list[frozenset[Arm]]] = {}
        self.passed: dict[Function, list[Passed]] = {}  # what calls pass to functions whose facts may ask for it

    def arms(self, test: object) -> tuple[Arm, Arm]:
        """The two arms of a test, the same objects whenever it is met."""
        known = self._arms.get(test)
        if known is None:
            known = self._arms[test] = both_arms(test)
            if isinstance(test, tuple):
                self._keep_apart(known[0], *test)
        return known

    def _keep_apart(self, arm: Arm, text: str, names: object, loop: object) -> None:
        """Of `x == "a"` and `x == "b"`, with no binding of x between them, one holds at most."""
        left, equals, right = text.rpartition(" == ")
        if equals and _LITERAL.fullmatch(right):
            others = self._equal.setdefault((left, names, loop), [])
            if len(others) < MAX_EQUAL:
                arm.apart = tuple([one.other for one in others])
                for one in others:
                    one.apart = (*one.apart, arm.other)
                others.append(arm)

    def cases(self, node: ast.Match, loop: tuple[int, ...], names: tuple[tuple[str, int], ...]) -> list[frozenset[Arm]]:
        """The arms of a path through each case of a `match`, in one pass of the loops around it.

        `names` are the bindings that decide, as of other tests; a case has no text.
        """
        known = self._cases.get((node, loop))
        if known is None:
            choices = [self.arms(("", names, (id(node), loop, position))) for position in range(len(node.cases))]
            known = self._cases[(node, loop)] = list(one_each(choices))
        return known

    def below(self, node: ast.AST) -> Below:
        """What stands below a node, gone through once."""
        known = self._below.get(node)
        if known is None:
            known = self._below[node] = Below(node)
        return known

    def once(self, make: Callable[[Module], T]) -> T:
        """What a function makes out about the whole file, kept for the next one that asks."""
        if make not in self._told:
            self._told[make] = make(self)
        found: T = self._told[make]
        return found

    # ----- runs of other functions

    def run_of(self, function: Function) -> Run | None:
        """The finished run of a function; None while it is under way (recursion), too many calls deep, or nested too
        deeply itself."""
        if function in self.runs:
            return self.runs[function]
        if self.depth >= MAX_CALL_DEPTH or function.depth > MAX_DEPTH:
            return None
        from flake8_tensorcopy.engine.flow import run_function

        self.runs[function] = None
        self.depth += 1
        try:
            done = run_function(self, function)
        finally:
            self.depth -= 1
        self.runs[function] = done
        if function.name == "__init__":
            for method in self.early:
                self.runs.pop(method, None)
            self.early.clear()
        return done

    def release(self) -> None:
        """Undo what holds itself: see `Survey.release`.  The facts of the runs do not need them."""
        for run in self.runs.values():
            if run is not None:
                vars(run).clear()
        for arm, _ in self._arms.values():
            del arm.other

    def run_callers(self, name: str) -> None:
        """Run all that calls something by a name, so that it is known what such calls give; once all else is done."""
        if self.depth or name in self._callers_run:
            return
        self._callers_run.add(name)
        for function in self.survey.all:
            if name in function.calls:
                self.run_of(function)

    def nested(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
        """A function inside a function: one object, however often its definition is met."""
        known = self._nested.get(node)
        if known is None:
            known = self._nested[node] = Function(node.name, node)
            known.inner = [
                item
                for statement in node.body
                for item in walk(statement)
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            ]
        return known

    def as_function(self, node: ast.Lambda) -> Function:
        """A lambda as the function that it is: one object, however often it is met."""
        known = self._nested.get(node)
        if known is None:
            result = ast.copy_location(ast.Return(node.body), node.body)
            made = ast.copy_location(ast.FunctionDef("<lambda>", node.args, [result], []), node)
            known = self._nested[node] = self.nested(made)
        return known

    def describe_global(self, name: str, made: Obj) -> None:
        """What the module's own statements say of a name that a function uses."""
        if name not in self.survey.body.stores:
            return
        run = self.run_of(self.survey.body)
        value = run.state.env.get(name) if run is not None and run.state is not None else None
        if value is not None and value.obj is not None:
            _copy_held(value, made)

    def method(self, cls: Class, name: str) -> Function | None:
        """The method as Python would find it among the classes of this file."""
        pending, seen = [cls], set()
        while pending:
            here = pending.pop(0)
            if here in seen:
                continue
            seen.add(here)
            if name in here.methods:
                return here.methods[name]
            pending.extend(self.local_bases(here))
        return None

    def held_under(self, cls: Class, name: str) -> str:
        """The attribute that an attribute of such objects stands for: of a property that just returns one, that one."""
        method = self.method(cls, name)
        run = self.run_of(method) if method is not None and is_property(method) else None
        if run is not None and len(run.returned) == 1 and len(run.returned[0].value.refs) == 1:
            ref = run.returned[0].value.refs[0]
            plain = all(link.kind == ALIAS for link in ref.chain)
            if plain and ref.obj.parent is run.params[0] and ref.obj.slot[:1] == ".":
                return ref.obj.slot[1:]
        return name

    def local_bases(self, cls: Class) -> list[Class]:
        found = []
        for base in cls.bases:
            if isinstance(base, ast.Name) and base.id in self.survey.classes:
                found.append(self.survey.classes[base.id])
        return found

    def is_module(self, cls: Class, depth: int = 0) -> bool:
        """Whether the class is a torch.nn.Module, as far as its bases tell."""
        for base in cls.bases:
            name = self.names.qualify(base) or (base.id if isinstance(base, ast.Name) else "")
            if name in MODULE_BASES or name.startswith("torch.nn.") or name.endswith("Module"):
                return True
            local = self.survey.classes.get(name)
            if local is not None and depth < 8 and local is not cls and self.is_module(local, depth + 1):
                return True
        return False

    def _is_layer(self, cls: Class) -> bool:
        """Whether a class is one of torch.nn's layers, made to do something else beside."""
        if "__init__" in cls.assigns.get("weight", ()) or "weight" in self.survey.deleted:
            return False  # it may be anything
        return any(library.has_weights(self.names.qualify(base) or "") for base in cls.bases)

    def kind_of_class(self, cls: Class) -> str:
        return "module" if self.is_module(cls) else "instance"

    # ----- class tables

    def table(self, cls: Class, depth: int = 0) -> dict[str, Value]:
        """What `__init__` made of each attribute of the class (its bases' first)."""
        known = self._tables.get(cls)
        if known is not None:
            return known
        if depth > MAX_BASES:
            return {}
        self._tables[cls] = table = {}
        for base in reversed(self.local_bases(cls)):
            table.update(self.table(base, depth + 1))
        init = cls.methods.get("__init__")
        run = self.run_of(init) if init is not None else None
        if run is None:
            if init is not None:
                del self._tables[cls]
                self.early.update(
                    function
                    for function, done in self.runs.items()
                    if done is None and function.cls is cls and function is not init
                )
            return table
        me = run.params[0] if run.params else None
        if me is not None and run.state is not None:
            for key, value in run.state.fields(me).items():
                table[key] = value
                obj = value.obj
                if obj is not None and obj.kind in ("list", "dict"):
                    items = run.state.fields(obj)
                    if items:
                        table[key + "[]"] = _any_of(list(items.values()))
        return table

    def entry_field(self, run: Run, obj: Obj, key: str) -> Value:
        """What a slot of an object holds before the function touches it."""
        per_pass = key.startswith("[") and key[1:2].isdigit() and key.endswith(")]")
        name = (
            f"{obj.key}[..]" if per_pass else f"{obj.key or '...'}{key.split(']')[0] + ']' if key[0] == '[' else key}"
        )
        attribute = key.startswith(".")
        place = Place(name, None, root=obj.key.split(".")[0].split("[")[0], origin="attribute" if attribute else "item")
        owner = "attribute" if attribute else "item"
        if key == ".grad" and obj.kind not in ("instance", "module"):
            grad = Obj("unknown", owner, parent=obj, key=name, slot=key, uses=[(2, None)])
            return Value((Ref(grad, (), place),))
        cls = obj.data if isinstance(obj.data, Class) else None
        if cls is not None and attribute:
            found = self.table(cls).get(key)
            if found is not None and found.obj is not None:
                return self._attribute(run, cls, key, found, obj, name, place)
            if found is not None and not found.refs and found.kind in ("number", "str"):
                return found
            alike = self._alike(found)
            if alike is not None:
                made = Obj("unknown", owner, parent=obj, key=name, slot=key)
                copy_facts(alike, made)
                return Value((Ref(made, (), place),))
            annotation = cls.annotations.get(key[1:])
            if annotation is not None and found is None:
                made = Obj("unknown", owner, parent=obj, key=name, slot=key)
                if self.from_annotation(annotation, made) is None:
                    return NUMBER
                return Value((Ref(made, (), place),))
        made = Obj("unknown", owner, parent=obj, key=name, slot=key)
        if obj.made in PAIRS and key in (".values", "[0]"):
            made.operands, made.graph = (obj,), obj.graph
        elif obj.made in PAIRS and (key == ".indices" or (key == "[1]" and len(obj.given) == 1)):
            made.dtype = "int"
        if obj.kind in ("tensor", "unknown") and obj.owner in ("fresh", "unknown") and obj.graph is False:
            made.graph = False
        distributions.parameter(obj, key, made)
        if obj.kind == "list" and not attribute:
            made.any_of = run.any_item(obj)
        if obj.kind == "module" and key in (".weight", ".bias") and obj.cls.startswith("torch.nn."):
            made.kind, made.param, made.leaf, made.graph = "tensor", True, True, True
        if obj.kind == "module" and key in _STATISTICS and obj.cls.startswith("torch.nn."):
            made.kind, made.graph = "tensor", False
        if cls is not None and obj.kind == "module" and key in (".weight", ".bias") and self._is_layer(cls):
            made.kind, made.param, made.leaf, made.graph = "tensor", True, True, True
        if not attribute and isinstance(obj.data, Value) and obj.data.refs:
            # A loop over a list comes to all that it holds, an index that is not known to any of that.
            one = obj.data if per_pass or len(obj.data.refs) == 1 else Value(obj.data.refs[-1:])
            if per_pass or one.obj is not None:
                _copy_held(one, made)
        if not attribute and obj.data in ("tensors", "indices"):
            made.kind = "tensor"
            made.dtype = "int" if obj.data == "indices" else ""
            made.graph = False if obj.graph is False else None
        if not attribute and obj.kind == "module":
            made.kind = "module"
            layers = obj.data[1] if isinstance(obj.data, tuple) and obj.data[0] == "layers" else []
            at = int(key[1:-1]) if key[1:-1].removeprefix("-").isdigit() else len(layers)
            if -len(layers) <= at < len(layers) and layers[at].obj is not None:
                copy_facts(layers[at].obj, made)
        annotation = _of_item(obj.data, key) if not attribute and isinstance(obj.data, ast.expr) else None
        if annotation is not None and self.from_annotation(annotation, made) is None:
            return NUMBER
        return Value((Ref(made, (), place),))

    def _alike(self, found: Value | None) -> Obj | None:
        """Of several modules that an attribute may be: one, if all of them work in place; else the one that gives back
        what it is given, as nobody can tell that it does not."""
        if found is None or len(found.refs) < 2 or any(ref.obj.kind != "module" for ref in found.refs):
            return None
        if all(ref.obj.data == "inplace" for ref in found.refs):
            return found.refs[0].obj
        if any(ref.obj.data == "inplace" for ref in found.refs):
            return None
        return next((ref.obj for ref in found.refs if _gives_back(ref.obj)), None)

    def _held_modules(self, run: Run, cls: Class, trained: list[Obj], me: Obj) -> list[Obj]:
        """The modules that an optimizer built in `__init__` moves, as this object's attributes hold them."""
        found = []
        for key, value in self.table(cls).items():
            if value.obj in trained and not key.endswith("[]"):
                held = run.field(me, key).obj
                if held is not None:
                    found.append(held)
        return found

    def _attribute(self, run: Run, cls: Class, key: str, found: Value, obj: Obj, name: str, place: Place) -> Value:
        was = found.obj
        assert was is not None
        made = Obj("unknown", "attribute", parent=obj, key=name, slot=key)
        chain: Chain = ()
        methods = cls.assigns.get(key[1:], set())
        # A module refuses everything but a Parameter (and None) where one is registered.
        stays = was.param and obj.kind == "module" and key[1:] not in self.survey.deleted
        if stays or methods <= {"__init__"}:
            _copy_held(found, made)
            if made.graph is not False and key[1:] in frozen_attributes(self):
                if made.kind == "module":
                    made.leaf = False
                else:
                    made.graph = None
            if obj.kind == "instance" and key[1:] not in self.once(_stored_later):
                self._place(run, cls, found.refs[0], made)
            step = moved(self, found.refs[0])
            if step is not None:
                self.moved[made] = step
            if was.kind == "optimizer" and isinstance(was.data, list):
                made.data = self._held_modules(run, cls, was.data, obj)
            items = self.table(cls).get(key + "[]")
            if items is not None:
                made.data = items
            links = found.refs[0].chain
            if any(link.overlap for link in links):
                start = next(i for i, link in enumerate(links) if link.overlap)
                chain = links[start:]
        elif was.kind == "tensor":
            made.uses.append((1, None))
        return Value((Ref(made, chain, place),))

    def _place(self, run: Run, cls: Class, found: Ref, made: Obj) -> None:
        """A tensor that `__init__` has made on the host lies there, unless a `setattr` moves it."""
        init = self.method(cls, "__init__")
        done = self.runs.get(init) if init is not None else None
        if found.kind == "tensor" and done is not None and done.place_of(found) == "cpu":
            if not any("setattr" in one.calls for one in self.survey.all):
                run.devices.homes[made] = "cpu"

    # ----- evidence

    def evidence(self, obj: Obj, statement: ast.AST | None, depth: int = 0) -> int:
        if obj.kind == "tensor":
            return 3
        if obj.kind != "unknown" or obj.refuted:
            return 0
        level = 0
        if len(obj.uses) > MAX_USES:
            obj.uses = _telling(obj.uses)
        for found, where in obj.uses:
            if found > level and (where is None or where is not statement):
                level = found
        if level == 1 and obj.made == "clone":
            level = 2  # an array is copied by another name
        if depth < 5:
            for source in obj.source:
                if level >= 3:
                    break
                level = max(level, self.evidence(source, statement, depth + 1))
        return level

    # ----- annotations

    def from_annotation(self, node: ast.expr | None, made: Obj) -> Obj | None:
        """Set the object's kind from an annotation; None if the annotation says it is a number or string."""
        if node is None:
            return made
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return made
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [side for side in (node.left, node.right) if not _is_none(side)]
            return self.from_annotation(sides[0], made) if len(sides) == 1 else made
        if isinstance(node, ast.Subscript):
            outer = self._name(node.value)
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if not parts:
                return made
            if outer in _OPTIONAL:
                parts = [part for part in parts if not _is_none(part)]
                return self.from_annotation(parts[0], made) if len(parts) == 1 or "Annotated" in outer else made
            if outer in _SEQUENCES or outer in _MAPPINGS:
                made.kind = "dict" if outer in _MAPPINGS else "list"
                if outer.lower().endswith("tuple") and len(parts) > 1 and not _is_ellipsis(parts[-1]):
                    made.data = node.slice  # each item has an annotation of its own
                    return made
                parts = [part for part in parts if not _is_ellipsis(part)]
                made.data = parts[-1] if parts else None
                return made
            if outer == "numpy.ndarray":
                made.kind = "array"
            elif outer == library.LOADER:
                made.cls = outer
            return made
        name = self._name(node)
        if name in TENSOR_TYPES:
            made.kind = "tensor"
            made.dtype = TYPED.get(name.removeprefix("torch."), "")
            made.param = name == "torch.nn.Parameter"
            if name == "torch.nn.Parameter":
                made.leaf = made.graph = True
        elif name == "numpy.ndarray":
            made.kind = "array"
        elif name == "bytes":
            made.kind = "bytes"
        elif name in _NUMBER_TYPES:
            return None
        elif name in _MAPPINGS:
            made.kind = "dict"
        elif name in ("list", "tuple", "set"):
            made.kind = "list"
        elif name.startswith("torch.distributions."):
            made.made, made.refuted, made.through = distributions.MADE, True, True
        elif name.startswith("torch.optim."):
            made.kind, made.cls = ("instance" if "lr_scheduler" in name else "optimizer"), name
        elif name.startswith("torch.nn."):
            made.kind, made.cls = "module", name
        elif name == library.LOADER:
            made.cls = name
        elif name in self.survey.classes:
            cls = self.survey.classes[name]
            made.kind, made.data, made.cls = self.kind_of_class(cls), cls, name
        elif _of_another_library(name):
            made.refuted = True
        return made

    def _name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and node.id not in self.names.imported:
            return node.id
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._name_of_text(node.value)
        return self.names.qualify(node) or ""

    def _name_of_text(self, text: str) -> str:
        try:
            return self._name(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ""


def _stored_later(module: Module) -> frozenset[str]:
    """The attributes that something else than an `__init__` sets."""
    return frozenset(
        node.attr
        for one in module.survey.all
        if one.name != "__init__"
        for node in one.found.get(ast.Attribute, ())
        if isinstance(node.ctx, ast.Store)
    )


def _of_item(annotation: ast.expr, key: str) -> ast.expr | None:
    """The annotation of one item of a list or tuple; None where that is unknown."""
    if not isinstance(annotation, ast.Tuple):
        return annotation
    position = int(key[1:-1]) if key[1:-1].isdigit() else len(annotation.elts)
    return annotation.elts[position] if position < len(annotation.elts) else None


def _gives_back(made: Obj) -> bool:
    """Whether a module of torch.nn may return the very tensor that it is given: `Identity`, `Dropout`."""
    if made.cls == "torch.nn.Sequential" and made.data != NO_LAYERS:
        return False
    op = ops.function(made.cls)
    return op is not None and op.form == "module" and op.result in ("maybe", "same")


def _telling(uses: list[tuple[int, ast.AST | None]]) -> list[tuple[int, ast.AST | None]]:
    """Of very many uses those that are as much evidence as all, whichever statement may not speak for itself."""
    kept: dict[int, list[tuple[int, ast.AST | None]]] = {}
    for level, where in uses:
        known = kept.setdefault(level, [])
        if len(known) < 2 and all(where is not other for _, other in known):
            known.append((level, where))
    return [one for known in kept.values() for one in known]


def _of_another_library(name: str) -> bool:
    """Whether what an annotation names is imported, and called like a class of something else than tensors."""
    library, _, last = name.rpartition(".")
    parts = library.split(".")
    if not library or parts[0] in _OF_TENSORS or parts[-1] in ("types", "typing"):
        return False
    return last[:1].isupper() and not any(word in last for word in ("Tensor", "Array"))


# Where what annotations name may be a tensor, or anything.
_OF_TENSORS = frozenset({"torch", "typing", "typing_extensions", "jaxtyping", "torchtyping", "numpy"})


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _any_of(held: list[Value]) -> Value:
    """What stands for any item of a list: the first one; with one that leaves its input alone, if that one does not."""
    first = held[0]
    if first.obj is None or not _works_in_place(first.obj):
        return first
    other = next((ref for one in held for ref in one.refs if not _works_in_place(ref.obj)), None)
    return first if other is None else Value((*first.refs[:1], other))


def _works_in_place(obj: Obj) -> bool:
    """Whether a module overwrites what it is given: an activation told so, or a Sequential that begins with one."""
    while isinstance(obj.data, tuple) and obj.data[0] == "layers" and obj.data[1] and obj.data[1][0].obj is not None:
        obj = obj.data[1][0].obj
    return bool(obj.data == "inplace")


def _copy_held(held: Value, made: Obj) -> None:
    """The kind and properties of what another function, or the module, keeps; an array may have the memory of a
    tensor, and a tensor that of an array: `x.numpy()`, `torch.from_numpy(array)`."""
    ref = held.refs[0]
    copy_facts(ref.obj, made)
    if any(link.kind == NUMPY for link in ref.chain):
        made.kind, made.dtype, made.graph = ref.kind, dtype_of(ref), on_graph(ref)


def copy_facts(was: Obj, made: Obj) -> None:
    """The kind and properties of an object, without its identity."""
    made.kind = was.kind
    made.refuted = made.refuted or was.refuted
    made.dtype = was.dtype
    made.zero_dim = was.zero_dim
    made.graph = was.graph
    made.leaf = was.leaf
    made.param = was.param
    made.pinned = was.pinned
    made.cls = was.cls
    made.data = was.data
    made.made = was.made
