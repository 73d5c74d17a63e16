"""What a file holds: one walk over its tree finds imports, classes, functions, and what each could be wrong about."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.names import Names

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

# An expression nested deeper than this is not analysed: LibCST raises from about 200 nested calls on, and the
# interpreter below uses several frames a level.
MAX_DEPTH = 100

# Features of a function that triggers are made of.
WRITE = 1  # something that may change a tensor in place
SHARE = 2  # a binding that may share storage with another
EXPAND = 4
DROPPED = 8  # a call as a statement
STATE_DICT = 16
DATA_PTR = 32
GRAD = 64  # reads `.grad` or calls autograd.grad
LOOP_REBIND = 128  # a for loop and an assignment of one of its targets
HOST = 256  # `.cpu()`, `.to(..)`
CLONE = 512
DETACH = 1024
SWAP = 2048
ATTR_STORE = 4096
PARAMETERS = 8192
INPLACE_MODULE = 16384  # a module built to work in place
LOST = 32768  # a write to what an index or a call returned
REPLACED = 65536  # an attribute set to something computed
ASYNC = 1 << 48  # `non_blocking=`, `pin_memory`
CUDA = 1 << 49  # names CUDA: `.cuda()`, "cuda:0"
LEGACY = 1 << 50  # a tensor type by its old name, `load`
STEPS = 1 << 51  # `backward` and `step`, or what waits for each element

_WRAPPERS = frozenset({"Parameter", "Variable"})
_STORES = frozenset({"append", "extend", "insert", "appendleft", "setdefault", "update"})
_TRAINED = frozenset({"weight", "bias"})


@dataclass(slots=True, eq=False)
class Function:
    """A function, a method, or the statements of the module itself (`node` is the Module)."""

    name: str
    node: FunctionNode | ast.Module
    cls: Class | None = None
    features: int = 0
    depth: int = 0
    calls: set[str] = field(default_factory=set)
    inner: list[FunctionNode | ast.Lambda] = field(default_factory=list)
    loops: set[str] = field(default_factory=set)  # targets of for loops
    stores: set[str] = field(default_factory=set)  # names assigned

    @property
    def wrapped(self) -> bool:
        """A decorator may change what a call does."""
        decorators = [] if isinstance(self.node, ast.Module) else self.node.decorator_list
        for item in decorators:
            target = item.func if isinstance(item, ast.Call) else item
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if name not in library.PLAIN_DECORATORS:
                return True
        return False

    @property
    def static(self) -> bool:
        """A static method: called without the object."""
        decorators = [] if isinstance(self.node, ast.Module) else self.node.decorator_list
        return any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in decorators)


@dataclass(slots=True, eq=False)
class Class:
    """A class of the file: its bases as written, its methods, the attributes that each method assigns on self."""

    name: str
    node: ast.ClassDef
    bases: list[ast.expr]
    methods: dict[str, Function] = field(default_factory=dict)
    assigns: dict[str, set[str]] = field(default_factory=dict)  # attribute -> methods that assign it
    restores: dict[str, list[tuple[str, ast.Call]]] = field(default_factory=dict)  # `m.load_state_dict(self.attr)`
    annotations: dict[str, ast.expr] = field(default_factory=dict)  # of its body: dataclass fields


@dataclass(slots=True, eq=False)
class Survey:
    """The result of the one walk."""

    names: Names
    functions: dict[str, Function]
    classes: dict[str, Class]
    body: Function
    all: list[Function]
    units: list[tuple[int, int]]  # line ranges that can be parsed alone: functions, top-level statements
    too_deep: tuple[str, int] | None = None
    deleted: set[str] = field(default_factory=set)  # attributes that some `del x.name` removes
    collates: set[str] = field(default_factory=set)  # functions that a DataLoader is given to make batches


def first_line(node: ast.stmt) -> int:
    """The line of a statement's first token, decorators included."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
        return min(node.lineno, node.decorator_list[0].lineno)
    return node.lineno


def survey(tree: ast.Module) -> Survey:
    """Walk the tree once, without recursion."""
    names = Names()
    body = Function("<module>", tree)
    result = Survey(names, {}, {}, body, [], [])
    pending: list[tuple[Function, Class | None, Iterable[ast.AST], int]] = []

    def function(node: FunctionNode, cls: Class | None) -> Function:
        made = Function(node.name, node, cls)
        result.all.append(made)
        result.units.append((first_line(node), node.end_lineno or node.lineno))
        outer = [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        pending.append((body, None, outer, 0))
        pending.append((made, None, node.body, 0))
        return made

    def members(cls: Class, node: ast.ClassDef) -> None:
        rest: list[ast.AST] = []
        for statement in _flat(node.body):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                cls.methods[statement.name] = function(statement, cls)
            elif isinstance(statement, ast.ClassDef):
                nested = Class(statement.name, statement, statement.bases)
                result.classes.setdefault(statement.name, nested)
                members(nested, statement)
            else:
                rest.append(statement)
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    cls.annotations[statement.target.id] = statement.annotation
        pending.append((body, None, rest, 0))

    for statement in tree.body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            result.units.append((statement.lineno, statement.end_lineno or statement.lineno))
        if isinstance(statement, ast.ClassDef):
            result.units.append((first_line(statement), statement.end_lineno or statement.lineno))
    for statement in _flat(tree.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            result.functions[statement.name] = function(statement, None)
        elif isinstance(statement, ast.ClassDef):
            made = Class(statement.name, statement, statement.bases)
            result.classes[statement.name] = made
            members(made, statement)
        else:
            pending.append((body, None, (statement,), 0))
    result.all.append(body)
    while pending:
        owner, _, nodes, depth = pending.pop()
        _scan(owner, nodes, depth, result)
    _spread_writes(result.all)
    return result


def _spread_writes(functions: list[Function]) -> None:
    """A call of a function of this file that writes may write: its caller has to be run too."""
    for _ in range(4):
        changed = False
        for feature in (WRITE, INPLACE_MODULE, ASYNC):
            writers = {function.name for function in functions if function.features & feature}
            for function in functions:
                if not function.features & feature and not writers.isdisjoint(function.calls):
                    function.features |= feature
                    changed = True
        if not changed:
            return


def _flat(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements with the definitions that stand under a plain `if` or `try` lifted out."""
    for statement in statements:
        if isinstance(statement, (ast.If, ast.Try)) and _defines(statement):
            yield from _flat(statement.body)
            yield from _flat(statement.orelse)
            if isinstance(statement, ast.Try):
                for handler in statement.handlers:
                    yield from _flat(handler.body)
                yield from _flat(statement.finalbody)
        else:
            yield statement


def _defines(statement: ast.If | ast.Try) -> bool:
    inner = [*statement.body, *statement.orelse]
    return any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for node in inner)


def _scan(owner: Function, nodes: Iterable[ast.AST], depth: int, result: Survey) -> None:
    """Collect features of the nodes and all below them into their function."""
    stack: list[tuple[ast.AST, int]] = [(node, depth) for node in nodes]
    features = 0
    deepest = 0
    cls = owner.cls
    while stack:
        node, level = stack.pop()
        if level > deepest:
            deepest = level
            if level > MAX_DEPTH and result.too_deep is None:
                result.too_deep = (owner.name, getattr(node, "lineno", 1))
        match node:
            case ast.Attribute():
                name = node.attr
                features |= _ATTRIBUTES.get(name, 0)
                if name[-1:] == "_" and name[:1] != "_" and ops.method(name) is not None:
                    features |= WRITE if isinstance(node.value, (ast.Name, ast.Attribute)) else WRITE | LOST
                elif name in library.NUMPY_WRITES:
                    features |= WRITE
                if isinstance(node.ctx, ast.Store):
                    features |= ATTR_STORE
                    if name == "data" and not isinstance(node.value, (ast.Name, ast.Attribute)):
                        features |= LOST
                    if cls is not None and isinstance(node.value, ast.Name) and node.value.id == "self":
                        cls.assigns.setdefault(name, set()).add(owner.name)
                stack.append((node.value, level + 1))
                continue
            case ast.Name():
                features |= _ATTRIBUTES.get(node.id, 0)
                continue
            case ast.Constant():
                if isinstance(node.value, str) and "cuda" in node.value[:10]:
                    features |= CUDA | LEGACY if node.value[:11] == "torch.cuda." else CUDA
                continue
            case ast.Call():
                if cls is not None:
                    _restore(cls, owner, node)
                called = ""
                if isinstance(node.func, ast.Attribute):
                    called = node.func.attr
                    owner.calls.add(called)
                elif isinstance(node.func, ast.Name):
                    called = node.func.id
                    owner.calls.add(called)
                    if node.func.id == "delattr" and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
                        result.deleted.add(str(node.args[1].value))
                for keyword in node.keywords:
                    if keyword.arg in ("non_blocking", "pin_memory"):
                        features |= ASYNC
                    elif keyword.arg == "collate_fn":
                        result.collates.update(_named(keyword.value))
                    if keyword.arg in ("out", "inplace"):
                        features |= INPLACE_MODULE if called[:1].isupper() else WRITE
                        if isinstance(keyword.value, (ast.Subscript, ast.Call)):
                            features |= LOST
                if any(isinstance(item, ast.Constant) and item.value is True for item in node.args):
                    if called[:1].isupper():
                        features |= INPLACE_MODULE  # `nn.ReLU(True)`
                    elif (op := ops.function("torch.nn.functional." + called)) is not None and op.inplace_flag:
                        features |= WRITE  # `F.relu(x, True)`
                if called[-1:] == "_" and called[:1] != "_" and node.args:
                    features |= WRITE | LOST if isinstance(node.args[0], (ast.Subscript, ast.Call)) else WRITE
                elif called in _STORES:
                    features |= SHARE
            case ast.AugAssign():
                features |= WRITE
                if isinstance(node.target, ast.Attribute):
                    # In place: it binds nothing new.
                    stack.append((node.target.value, level + 1))
                    stack.append((node.value, level + 1))
                    continue
            case ast.Subscript() if isinstance(node.ctx, ast.Store):
                features |= SHARE | (WRITE if isinstance(node.value, (ast.Name, ast.Attribute)) else WRITE | LOST)
            case ast.MatchAs():
                features |= SHARE
            case ast.Assign():
                if not all(isinstance(target, ast.Attribute) for target in node.targets):
                    features |= _shares(node.value)
                else:
                    if owner.name != "__init__":
                        features |= SHARE
                    trained = any(isinstance(t, ast.Attribute) and t.attr in _TRAINED for t in node.targets)
                    if isinstance(node.value, ast.BinOp) or trained:
                        features |= REPLACED
                if len(node.targets) > 1:
                    features |= SHARE
                owner.stores.update(target.id for target in node.targets if isinstance(target, ast.Name))
                if isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
                    features |= SWAP
            case ast.AnnAssign() | ast.NamedExpr() if node.value is not None:
                features |= _shares(node.value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called))) if called[-1:] != "_":
                if ops.method(called) is not None or ops.function("torch." + called) is not None:
                    features |= DROPPED
                elif ops.function("torch.nn.functional." + called) is not None:
                    features |= DROPPED
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                if not isinstance(node, ast.comprehension):
                    owner.loops.update(n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
                features |= SHARE
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                owner.inner.append(node)
            case ast.Delete():
                for target in node.targets:
                    if isinstance(target, ast.Attribute):
                        result.deleted.add(target.attr)
                    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                        if isinstance(target.slice.value, str):
                            result.deleted.add(target.slice.value)
            case ast.Import() | ast.ImportFrom():
                result.names.add(node)
                continue
        deeper = level + 1 if isinstance(node, ast.expr) else level
        for name in node._fields:
            child = getattr(node, name, None)
            if isinstance(child, list):
                stack.extend((item, deeper) for item in child if isinstance(item, ast.AST))
            elif isinstance(child, ast.AST):
                stack.append((child, deeper))
    owner.features |= features
    owner.depth = max(owner.depth, deepest)
    if owner.loops & owner.stores:
        owner.features |= LOOP_REBIND
    if owner.calls & _EACH or ("step" in owner.calls and owner.calls & _BACKWARD):
        owner.features |= STEPS


def _named(value: ast.expr) -> list[str]:
    """The function that an argument names: `f`, `self.f`, `partial(f, ..)`."""
    if isinstance(value, ast.Call) and value.args:
        value = value.args[0]
    return [value.id] if isinstance(value, ast.Name) else [value.attr] if isinstance(value, ast.Attribute) else []


def _restore(cls: Class, owner: Function, node: ast.Call) -> None:
    """Note a method that loads what another one may have kept in an attribute."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="load_state_dict"),
            args=[ast.Attribute(value=ast.Name(id="self"), attr=name), *_],
        ):
            cls.restores.setdefault(name, []).append((owner.name, node))


_ATTRIBUTES = {
    "expand": EXPAND,
    "expand_as": EXPAND,
    "broadcast_to": EXPAND,
    "broadcast_tensors": EXPAND,
    "meshgrid": EXPAND,
    "unfold": EXPAND,
    "as_strided": EXPAND,
    "state_dict": STATE_DICT,
    "data_ptr": DATA_PTR,
    "grad": GRAD,
    "cpu": HOST,
    "to": HOST,
    "clone": CLONE,
    "detach": DETACH,
    "data": DETACH,
    "parameters": PARAMETERS,
    "named_parameters": PARAMETERS,
    "pin_memory": ASYNC,
    "cuda": CUDA,
    "load": LEGACY,
    **dict.fromkeys(
        (f"{kind}Tensor" for kind in "Float Double Half BFloat16 Long Int Short Char Byte Bool".split()), LEGACY
    ),
}
_BACKWARD = frozenset({"backward", "manual_backward"})
_EACH = frozenset({"max", "min", "item"})


def _shares(value: ast.expr) -> int:
    """Whether a binding to this expression may share storage with what the expression names."""
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Starred, ast.Tuple)):
        return SHARE
    if isinstance(value, (ast.Dict, ast.List, ast.ListComp, ast.DictComp)):
        return SHARE
    if isinstance(value, ast.Call):
        func = value.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name[:1].isupper() and name not in _WRAPPERS and not name.endswith("Tensor"):
            # What a class makes is new, but for `torch.Tensor(array)`, `nn.Parameter(x)`, `Variable(x)`;
            # an object of a class of the file may hold what it was given.
            given = [*value.args, *(keyword.value for keyword in value.keywords)]
            holds = name == "SimpleNamespace" or isinstance(func, ast.Name)
            return SHARE if holds and any(isinstance(item, (ast.Name, ast.Attribute)) for item in given) else 0
        return SHARE
    return 0
