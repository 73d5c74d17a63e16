"""What a file holds: one walk over its tree finds imports, classes, functions, and what each could be wrong about."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.names import Names
from flake8_tensorcopy.engine.nodes import FIELDS, walk

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
CALLS_WRITER = 1 << 20  # a call of a function of the file that may write
DEFAULT = 1 << 21  # a default that is made once: no number, no text
HANDS_OUT = 1 << 22  # returns what `self` holds, or a name for it
HOOK = 1 << 23  # registers a forward hook
KEPT_ITEMS = 1 << 24  # a name for a generator, for parameters, for a list of them
MODULE_ALIAS = 1 << 25  # a second name, move or shallow copy of what may be a module
INDEX_ADD = 1 << 26  # `x[idx] += v`
LOADS_STATE = 1 << 27  # `load_state_dict`
REPEAT = 1 << 28  # a list display times a number, a comprehension of a name it does not bind, `dict.fromkeys`
SELF_COPY = 1 << 29  # a write with an operand of the same name, or a product of matrices with `out=`
STORAGE = 1 << 30  # what keeps, moves or borrows a storage: `torch.save`, `share_memory_`, `frombuffer`
WRAP = 1 << 31  # a parameter built over a tensor
REQUIRES_GRAD = 1 << 32  # sets `requires_grad`, or reads it
TO_ARRAY = 1 << 33  # `.numpy()`, `np.array(..)`
INFERENCE = 1 << 34  # names inference_mode, or calls what is decorated with it
BACKWARD = 1 << 36  # calls `backward()`, itself or through a function of this file
KEPT = 1 << 37  # a forward method that sets an attribute; what returns a loss, and makes a tensor of others
REBUILT = 1 << 38  # a tensor made of others by a constructor, or made a leaf
RATIO = 1 << 39  # takes an exponential
UNWRAP = 1 << 40  # makes a Parameter that is not simply assigned to an attribute by `__init__`
LEAF = 1 << 41  # makes a leaf: `requires_grad=True`, `requires_grad_()`
OPTIMIZER = 1 << 42  # builds an optimizer of torch.optim
PLACED = 1 << 43  # puts a new object into an attribute or item of another one
TENSOR_OF = 1 << 44  # `torch.tensor(..)` of something that is no literal
CHAINED = 1 << 45  # copies and casts one after the other in one chain
REPEATED = 1 << 46
GROWN = 1 << 47  # `acc = torch.cat([acc, x])`
COSTS = TENSOR_OF | CHAINED | REPEATED | GROWN
DEEPCOPY = 1 << 56  # `copy.deepcopy`, here or in what is called
TURNED = 1 << 52  # exchanges axes, and calls `view`
UNPACKED = 1 << 53  # unpacks or indexes a shape, and calls `view` or `reshape`
STRIDES = 1 << 54  # strides as such: `.strides`, `[::-1]`, flips
COUNTED = 1 << 55  # counts bytes, or repeats
LAYOUT = EXPAND | TURNED | UNPACKED | STRIDES | COUNTED
ASYNC = 1 << 48  # `non_blocking=`, `pin_memory`
CUDA = 1 << 49  # names CUDA: `.cuda()`, "cuda:0"
LEGACY = 1 << 50  # a tensor type by its old name, `load`
STEPS = 1 << 51  # `backward` and `step`, or what waits for each element
KEEPS_PART = 1 << 57  # appends what may be a view of a part: `append(x[0])`
TO_HOST = 1 << 58  # names the host: `.cpu()`, "cpu"
CAST = 1 << 59  # a call that may change the dtype: `float()`, `to(torch.half)`
VIA_NUMPY = 1 << 60  # makes arrays of tensors
ANYTHING = (1 << 61) - 1

_WRAPPERS = frozenset({"Parameter", "Variable"})
_STORES = frozenset({"append", "extend", "insert", "appendleft", "setdefault", "update"})
_TRAINED = frozenset({"weight", "bias"})
_PARAMETERS = frozenset(
    "parameters named_parameters buffers named_buffers modules named_modules children named_children".split()
)
_LAZY = frozenset({"filter", "map", "zip", "enumerate", "reversed", "chain"})
_LISTS = frozenset({"list", "tuple", "dict", "set", "OrderedDict"})
_MOVES = frozenset("to cuda cpu float double half eval train requires_grad_".split())
_CONSTRUCTORS = frozenset({"tensor", "as_tensor", "Tensor", "FloatTensor", "DoubleTensor", "Variable"})
_OPTIMIZERS = frozenset(
    "SGD Adam AdamW Adamax Adagrad Adadelta ASGD LBFGS NAdam RAdam RMSprop Rprop SparseAdam Adafactor".split()
)


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
    of_self: set[str] = field(default_factory=set)  # names assigned to what `self` holds
    gives: set[str] = field(default_factory=set)  # names returned
    moved: set[str] = field(default_factory=set)  # names whose `.to(..)` was bound
    generates: bool = False  # returns a generator

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
        decorators = () if isinstance(self.node, ast.Module) else self.node.decorator_list
        return bool(decorators) and any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in decorators)


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
    # Attributes that a method assigns a list, tuple or dict that it made, or what a call (named here) returned.
    holders: dict[str, str] = field(default_factory=dict)


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
        made.features |= _defaults(node)
        pending.append((body, None, outer, 0))
        pending.append((made, None, node.body, 0))
        if any(_mentions(item, "inference_mode", names) for item in node.decorator_list):
            made.features |= INFERENCE
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
            if isinstance(statement, ast.ImportFrom):
                names.add(statement)  # before what they are called in is looked at
    result.all.append(body)
    while pending:
        owner, _, nodes, depth = pending.pop()
        _scan(owner, nodes, depth, result)
    copies = {name for name, whole in names.imported.items() if whole == "copy.copy"}
    for one in result.all:
        if not copies.isdisjoint(one.calls):
            one.features |= MODULE_ALIAS
    _spread_features(result.all)
    return result


def _mentions(decorator: ast.expr, name: str, names: Names) -> bool:
    """Whether a decorator, called or not, has that name."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    found = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    return name == names.renamed.get(found, found)


# What a function has from those it calls; what changes in place also from the constructor of a base.
_WRITES = WRITE | INPLACE_MODULE
_HANDED_ON = (
    _WRITES
    | STRIDES
    | HOOK
    | REPEAT
    | STORAGE
    | KEEPS_PART
    | CAST
    | VIA_NUMPY
    | INFERENCE
    | BACKWARD
    | UNWRAP
    | LEAF
    | PLACED
    | WRAP
    | DEEPCOPY
    | ASYNC
)


def _spread_features(functions: list[Function]) -> None:
    """A call of a function of this file that writes may write, or give a flipped array: its caller is run too."""
    expanding = {function.name for function in functions if function.features & EXPAND}
    for function in functions:
        if "Parameter" in function.calls and not expanding.isdisjoint(function.calls):
            function.features |= EXPAND
    for _ in range(4):
        given: dict[str, int] = {}
        for function in functions:
            features = function.features & _HANDED_ON
            if function.name == "__init__":
                if function.cls is not None and features & WRAP:
                    given[function.cls.name] = given.get(function.cls.name, 0) | WRAP
                features &= _WRITES  # `super().__init__()` hands nothing else on
            if features:
                given[function.name] = given.get(function.name, 0) | features
        changed = False
        for function in functions:
            before = function.features
            for name in given.keys() & function.calls:
                function.features |= given[name]
            changed = changed or function.features != before
        if not changed:
            break
    writers = {one.name for one in functions if one.features & WRITE and one.name[:2] != "__"}
    # What such a class makes is called by another name.
    writers |= {
        function.cls.name
        for function in functions
        if function.cls is not None and function.features & WRITE and function.name in ("__call__", "__getitem__")
    }
    for function in functions:
        if not writers.isdisjoint(function.calls):
            function.features |= CALLS_WRITER
    givers = {function.name for function in functions if function.generates}
    graders = {function.name for function in functions if function.features & GRAD and "backward" in function.calls}
    states = STATE_DICT | LOADS_STATE
    loaders = {function.name for function in functions if function.features & states == states}
    for function in functions:
        if not loaders.isdisjoint(function.calls):
            function.features |= states
        if not givers.isdisjoint(function.calls):
            function.features |= KEPT_ITEMS
        if not graders.isdisjoint(function.calls):
            function.features |= GRAD


def _defaults(node: FunctionNode) -> int:
    """Whether a default of a function is made by a call, or names something."""
    given = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    return DEFAULT if any(isinstance(one, (ast.Call, ast.Name, ast.Attribute)) for one in given) else 0


def _of_self(node: ast.expr | None) -> bool:
    """Whether an expression is something that `self` holds."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
        if isinstance(node, ast.Name):
            return node.id == "self"
    return False


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
    wrapped = plainly = 0  # Parameters made, and those of them that `__init__` simply assigns
    holders: list[tuple[str, str]] = []
    made: set[str] = set()
    while stack:
        node, level = stack.pop()
        if level > deepest:
            deepest = level
            if level > MAX_DEPTH and result.too_deep is None:
                result.too_deep = (owner.name, getattr(node, "lineno", 1))
        if isinstance(node, ast.Name):
            features |= _ATTRIBUTES.get(node.id, 0)
            continue
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                if "cuda" in node.value[:10]:
                    features |= CUDA | LEGACY if node.value[:11] == "torch.cuda." else CUDA
                elif node.value == "cpu":
                    features |= TO_HOST
            continue
        if type(node) not in _TELLING:
            _below(stack, node, level)
            continue
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
                    if owner.name == "forward":
                        features |= KEPT
                    if cls is not None and isinstance(node.value, ast.Name) and node.value.id == "self":
                        cls.assigns.setdefault(name, set()).add(owner.name)
                stack.append((node.value, level + 1))
                continue
            case ast.Call():
                called = ""
                if isinstance(node.func, ast.Attribute):
                    called = node.func.attr
                    owner.calls.add(called)
                elif isinstance(node.func, ast.Name):
                    called = node.func.id
                    owner.calls.add(called)
                    if called in result.names.renamed:
                        called = result.names.renamed[called]
                        owner.calls.add(called)
                        features |= ANYTHING  # nobody looks that name up in the chains around it
                    if node.func.id == "delattr" and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
                        result.deleted.add(str(node.args[1].value))
                if cls is not None and called == "load_state_dict":
                    _restore(cls, owner, node)
                features |= _calls_feature(node, called)
                wrapped += called == "Parameter"
                features |= OPTIMIZER if called in _OPTIMIZERS else PLACED if called == "setattr" else 0
                for keyword in node.keywords:
                    if keyword.arg == "requires_grad" and is_true(keyword.value):
                        features |= LEAF
                    if keyword.arg in ("non_blocking", "pin_memory"):
                        features |= ASYNC
                    elif keyword.arg == "collate_fn":
                        result.collates.update(_named(keyword.value))
                    if keyword.arg in ("out", "inplace"):
                        features |= INPLACE_MODULE if called[:1].isupper() else WRITE
                        if isinstance(keyword.value, (ast.Subscript, ast.Call)):
                            features |= LOST
                if node.args and any(isinstance(item, ast.Constant) and item.value is True for item in node.args):
                    if called[:1].isupper():
                        features |= INPLACE_MODULE  # `nn.ReLU(True)`
                    elif (op := ops.function("torch.nn.functional." + called)) is not None and op.inplace_flag:
                        features |= WRITE  # `F.relu(x, True)`
                if called in _CONSTRUCTORS and (node.keywords if not node.args else not _literal(node.args[0])):
                    features |= TENSOR_OF
                elif called in _CHAINED and chained(node, called):
                    features |= CHAINED
                if called in _CASTS and (called != "to" or _names_dtype(node)):
                    features |= CAST
                if called[-1:] == "_" and called[:1] != "_" and node.args:
                    features |= WRITE | LOST if isinstance(node.args[0], (ast.Subscript, ast.Call)) else WRITE
                elif called in _STORES:
                    features |= SHARE
                    if isinstance(node.func, ast.Attribute) and library.says_frozen(_last_name(node.func.value)):
                        features |= MODULE_ALIAS
                elif called == "copy" and node.args:
                    features |= MODULE_ALIAS
                elif called in _CONSTRUCTORS and node.args and not isinstance(node.args[0], ast.Constant):
                    features |= REBUILT
                elif called == "exp":
                    features |= RATIO
                elif called in ("view", "reshape") and len(node.args) > 1 and _of_shape(node.args[0]):
                    features |= UNPACKED
            case ast.AugAssign():
                features |= WRITE
                if isinstance(node.target, ast.Subscript):
                    features |= INDEX_ADD
                if _names_again(node.target, [node.value]):
                    features |= SELF_COPY
                if isinstance(node.target, ast.Attribute):
                    # In place: it binds nothing new.
                    stack.append((node.target.value, level + 1))
                    stack.append((node.value, level + 1))
                    continue
            case ast.Subscript() if isinstance(node.ctx, ast.Store):
                features |= SHARE | (WRITE if isinstance(node.value, (ast.Name, ast.Attribute)) else WRITE | LOST)
            case ast.Subscript(value=ast.Call() as inner) if called_name(behind_detach(inner)) == "clone":
                features |= CHAINED
            case ast.Slice(step=ast.UnaryOp(op=ast.USub())):
                features |= STRIDES
            case ast.MatchAs():
                features |= SHARE
            case ast.BinOp(op=ast.Mult()):
                for side in (node.left, node.right):
                    if isinstance(side, (ast.List, ast.Tuple)):
                        named = any(isinstance(item, (ast.Call, ast.Name, ast.Attribute)) for item in side.elts)
                        features |= REPEAT if named else 0
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item) | ast.DictComp(value=item):
                if isinstance(item, (ast.Name, ast.Attribute)) and not _bound_by(node.generators, item):
                    features |= REPEAT
            case ast.Assign():
                features |= _keeps(node.value) | _module_alias(owner, node)
                if isinstance(node.targets[0], ast.Subscript) and isinstance(node.value, ast.BinOp):
                    features |= INDEX_ADD
                if isinstance(node.targets[0], ast.Subscript) and _names_again(node.targets[0], [node.value]):
                    features |= SELF_COPY
                if not all(isinstance(target, ast.Attribute) for target in node.targets):
                    features |= _shares(node.value)
                else:
                    if owner.name != "__init__":
                        features |= SHARE
                    plainly += owner.name == "__init__" and _builds(node.value) == "Parameter"
                    trained = any(isinstance(t, ast.Attribute) and t.attr in _TRAINED for t in node.targets)
                    if isinstance(node.value, ast.BinOp) or trained:
                        features |= REPLACED
                if len(node.targets) > 1:
                    features |= SHARE
                if _of_shape(node.value):
                    features |= UNPACKED
                owner.stores.update(target.id for target in node.targets if isinstance(target, ast.Name))
                if cls is not None and _of_self(node.value):
                    owner.of_self.update(target.id for target in node.targets if isinstance(target, ast.Name))
                features |= _rebuilt(node.targets, node.value)
                for target, value in _pairs(node):
                    if isinstance(target, ast.Name) and _collects(value):
                        made.add(target.id)
                    elif isinstance(target, ast.Attribute):
                        held = value.id if isinstance(value, ast.Name) else ""
                        if held or _collects(value):
                            holders.append((target.attr, held))
                        elif cls is not None and (maker := _called(value)):
                            cls.holders.setdefault(target.attr, maker)
                if isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
                    features |= SWAP
                elif isinstance(node.value, (ast.Call, ast.IfExp)) and grows(node, result.names) is not None:
                    features |= GROWN
            case ast.AnnAssign() | ast.NamedExpr() if node.value is not None:
                features |= _shares(node.value) | _keeps(node.value)
                if isinstance(node.target, ast.Attribute) and _collects(node.value):
                    holders.append((node.target.attr, ""))
                elif isinstance(node.target, ast.Name) and _collects(node.value):
                    made.add(node.target.id)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called))) if called[-1:] != "_":
                if ops.method(called) is not None or ops.function("torch." + called) is not None:
                    features |= DROPPED
                elif ops.function("torch.nn.functional." + called) is not None:
                    features |= DROPPED
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                if not isinstance(node, ast.comprehension):
                    owner.loops.update(n.id for n in walk(node.target) if isinstance(n, ast.Name))
                features |= SHARE
            case ast.Return(value=given) if given is not None:
                if _keeps(given):
                    owner.generates = True
                if cls is not None:
                    parts = given.elts if isinstance(given, ast.Tuple) else [given]
                    parts = given.values if isinstance(given, ast.Dict) else parts
                    owner.gives.update(part.id for part in parts if isinstance(part, ast.Name))
                    if any(_of_self(part) for part in parts):
                        features |= HANDS_OUT
            case ast.Yield() | ast.YieldFrom():
                owner.generates = True
                if isinstance(node, ast.Yield):
                    features |= SHARE
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                owner.inner.append(node)
                if not isinstance(node, ast.Lambda):
                    features |= _defaults(node)
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
        _below(stack, node, level)
    if wrapped > plainly:
        features |= UNWRAP
    if cls is not None:
        cls.holders.update((attribute, "") for attribute, held in holders if not held or held in made)
    if features & REBUILT and library.gives_loss(owner.name):
        features |= KEPT
    owner.features |= features
    owner.depth = max(owner.depth, deepest)
    owner.features = _layout(owner)
    if owner.loops & owner.stores:
        owner.features |= LOOP_REBIND
    if owner.of_self & owner.gives:
        owner.features |= HANDS_OUT
    if owner.calls & _EACH or ("step" in owner.calls and owner.calls & _BACKWARD):
        owner.features |= STEPS


# The types of node that tell anything by themselves.
_TELLING = frozenset(
    {
        ast.AnnAssign,
        ast.Assign,
        ast.AsyncFor,
        ast.AsyncFunctionDef,
        ast.Attribute,
        ast.AugAssign,
        ast.BinOp,
        ast.Call,
        ast.Delete,
        ast.DictComp,
        ast.Expr,
        ast.For,
        ast.FunctionDef,
        ast.GeneratorExp,
        ast.Import,
        ast.ImportFrom,
        ast.Lambda,
        ast.ListComp,
        ast.MatchAs,
        ast.NamedExpr,
        ast.Return,
        ast.Slice,
        ast.Subscript,
        ast.Yield,
        ast.YieldFrom,
        ast.comprehension,
    }
)


def _below(stack: list[tuple[ast.AST, int]], node: ast.AST, level: int) -> None:
    """Put what stands in a node on the stack, with its depth in expressions."""
    if isinstance(node, ast.expr):
        level += 1
    for name in FIELDS[type(node)]:
        child = getattr(node, name, None)
        if isinstance(child, list):
            stack += [(item, level) for item in child if isinstance(item, ast.AST)]
        elif isinstance(child, ast.AST):
            stack.append((child, level))


def _named(value: ast.expr) -> list[str]:
    """The function that an argument names: `f`, `self.f`, `partial(f, ..)`."""
    if isinstance(value, ast.Call) and value.args:
        value = value.args[0]
    return [value.id] if isinstance(value, ast.Name) else [value.attr] if isinstance(value, ast.Attribute) else []


def _layout(owner: Function) -> int:
    """The features, of which those about shapes need a call of `view` or `reshape` beside them."""
    calls, features = owner.calls, owner.features
    if "view" in calls and not _TURNS.isdisjoint(calls):
        features |= TURNED
    if "Parameter" in calls and "repeat" in calls:
        features |= EXPAND  # what `einops.repeat` makes is expanded
    if not isinstance(owner.node, ast.Module):
        features &= ~(0 if "view" in calls else TURNED)
        features &= ~(0 if "view" in calls or "reshape" in calls else UNPACKED)
    return features


def _of_shape(node: ast.expr) -> bool:
    """`x.shape`, `x.size()`, `x.shape[0]`, `x.size(0)`, or several of them."""
    if isinstance(node, ast.Tuple):
        return any(map(_of_shape, node.elts))
    if isinstance(node, ast.Subscript):
        node = node.value
    return (isinstance(node, ast.Attribute) and node.attr == "shape") or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size"
    )


def _restore(cls: Class, owner: Function, node: ast.Call) -> None:
    """Note a method that loads what another one may have kept in an attribute."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="load_state_dict"),
            args=[ast.Attribute(value=ast.Name(id="self"), attr=name), *_],
        ):
            cls.restores.setdefault(name, []).append((owner.name, node))


_TURNS = frozenset("t transpose swapaxes swapdims permute movedim moveaxis adjoint".split())
_ATTRIBUTES = {
    "expand": EXPAND,
    "expand_as": EXPAND,
    "broadcast_to": EXPAND,
    "broadcast_tensors": EXPAND,
    "meshgrid": EXPAND,
    "unfold": EXPAND,
    "as_strided": EXPAND,
    "register_forward_hook": HOOK,
    "state_dict": STATE_DICT,
    "load_state_dict": LOADS_STATE,
    "data_ptr": DATA_PTR,
    "grad": GRAD,
    "cpu": HOST | TO_HOST,
    "to": HOST,
    "clone": CLONE,
    "deepcopy": CLONE,
    "detach": DETACH,
    "data": DETACH,
    "parameters": PARAMETERS,
    "named_parameters": PARAMETERS,
    "numpy": TO_ARRAY | VIA_NUMPY,
    "array": TO_ARRAY | VIA_NUMPY,
    "asarray": TO_ARRAY | VIA_NUMPY,
    "__array__": VIA_NUMPY,
    "inference_mode": INFERENCE,
    "backward": BACKWARD,
    "manual_backward": BACKWARD,
    "requires_grad_": REBUILT | REQUIRES_GRAD | LEAF,
    "requires_grad": REBUILT | REQUIRES_GRAD,
    **dict.fromkeys(("T", "mT", "H", "mH"), TURNED),
    **dict.fromkeys(("strides", "flip", "fliplr", "flipud", "rot90"), STRIDES),
    **dict.fromkeys(("nbytes", "element_size", "itemsize", "repeat_interleave"), COUNTED),
    **dict.fromkeys(("repeat", "tile"), COUNTED | REPEATED),
    "pin_memory": ASYNC,
    "cuda": CUDA,
    "load": LEGACY,
    **dict.fromkeys(
        (f"{kind}Tensor" for kind in "Float Double Half BFloat16 Long Int Short Char Byte Bool".split()), LEGACY
    ),
}
_BACKWARD = frozenset({"backward", "manual_backward"})
_EACH = frozenset({"max", "min", "item"})

_CONSTRUCTORS = frozenset(
    "tensor as_tensor asarray new_tensor Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor".split()
)
_CASTS = frozenset("float double half bfloat16 long int short byte char bool type to".split())
_MOVES = frozenset({"cpu", "cuda", *_CASTS})
_CHAINED = frozenset({"clone", "contiguous", "detach", *_MOVES})
# What makes no new memory of its own, or may not: a clone of it has its use.
_PASSES = frozenset(
    "view reshape flatten t transpose permute squeeze unsqueeze expand expand_as narrow select chunk unflatten numpy "
    "cpu cuda to float double half long int type pop get".split()
)
_JOINS = frozenset("cat concat concatenate hstack vstack dstack column_stack row_stack".split())


def _literal(node: ast.expr) -> bool:
    """A number, or a list of numbers."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(isinstance(item, ast.Constant) for item in node.elts)
    return isinstance(node, ast.Constant)


def called_name(node: ast.expr) -> str:
    """The last part of what a call calls; nothing if it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def _names_dtype(node: ast.Call) -> bool:
    """Whether an argument of `to` may be a dtype: no call, no text, nothing called a device."""
    names = [getattr(item, "attr", getattr(item, "id", "device")) for item in node.args]
    return any(item.arg in ("dtype", None) for item in node.keywords) or any("dev" not in name for name in names)


def receiver_of(node: ast.expr) -> ast.expr:
    """What a method is called on, or what is indexed; the expression itself if it is neither."""
    if isinstance(node, ast.Subscript):
        return node.value
    return node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node


def cloned_operand(node: ast.expr) -> ast.expr:
    """The expression that a call of `clone` copies."""
    if isinstance(node, ast.Call) and (
        given := [*node.args, *(one.value for one in node.keywords if one.arg == "input")]
    ):
        return given[0]
    return receiver_of(node)


def behind_detach(node: ast.expr) -> ast.expr:
    """What `x.detach()` is called on; any other expression itself."""
    return receiver_of(node) if called_name(node) == "detach" else node


def chained(node: ast.Call, called: str) -> bool:
    """Whether a copy, move or cast stands where another may have been made in the same chain."""
    inner = receiver_of(node)
    if called == "clone" and len(node.args) == 1:
        inner = node.args[0]  # `torch.clone(x)`
    before = called_name(inner)
    match called:
        case "clone" if before == "detach":
            return not isinstance(receiver_of(inner), (ast.Name, ast.Attribute))
        case "clone":
            return before not in _PASSES and isinstance(
                inner, (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)
            )
        case "contiguous":
            return called_name(behind_detach(inner)) == "clone"
        case "detach":
            for _ in range(4):
                if called_name(inner) in ("cpu", "to"):
                    return True
                inner = receiver_of(inner)
            return False
    return called_name(behind_detach(inner)) == "clone" or (before in _CASTS and called in _CASTS)


def grows(node: ast.Assign, names: Names) -> ast.Call | None:
    """The call in `acc = torch.cat([acc, x])`, also as one side of a conditional."""
    if len(node.targets) != 1 or not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
        return None
    sides = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
    for side in sides:
        called = called_name(side)
        if isinstance(side, ast.Call) and names.renamed.get(called, called) in _JOINS:
            target = ast.dump(node.targets[0]).replace("Store()", "Load()")
            for parts in (*side.args[:1], *(one.value for one in side.keywords if one.arg == "tensors")):
                if isinstance(parts, (ast.List, ast.Tuple)) and target in map(ast.dump, parts.elts):
                    return side
    return None


def _calls_feature(node: ast.Call, called: str) -> int:
    """What a call may do to storages, by its name and the looks of its arguments."""
    named = {keyword.arg for keyword in node.keywords} if node.keywords else ()
    if called in _STORAGE_CALLS or "mmap_mode" in named:
        return STORAGE
    if called == "append":
        return KEEPS_PART if any(isinstance(item, ast.Subscript) for one in node.args for item in walk(one)) else 0
    if called in _WRAPS or (called == "load_state_dict" and "assign" in named):
        return WRAP
    if called == "deepcopy":
        return DEEPCOPY
    if called == "fromkeys":
        return REPEAT
    if "out" in named:
        return SELF_COPY
    if called[-1:] == "_" and isinstance(node.func, ast.Attribute) and _names_again(node.func.value, node.args):
        return SELF_COPY
    return 0


_WRAPS = frozenset({"Parameter", "from_pretrained", "vector_to_parameters"})
_STORAGE_CALLS = frozenset("save share_memory_ frombuffer memmap broadcast_to sliding_window_view".split())


def _bound_by(generators: list[ast.comprehension], item: ast.expr) -> bool:
    """Whether a comprehension itself binds a name of the item."""
    targets = {node.id for one in generators for node in walk(one.target) if isinstance(node, ast.Name)}
    return any(isinstance(node, ast.Name) and node.id in targets for node in walk(item))


def _names_again(target: ast.expr, values: list[ast.expr]) -> bool:
    """Whether an operand is (a view of) what the target names, to go by their first names."""
    name = _rooted(target)
    if isinstance(target, ast.Subscript):
        values = [*values, target.slice]
    return bool(name) and any(f"{_rooted(value)}.".startswith(f"{name}.") for value in values)


def _rooted(node: ast.expr) -> str:
    """The name or dotted attribute that indices and calls are applied to: `self.x` of `self.x[1:].t()`."""
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=name):
                parts.append(name)
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                parts.clear()
            case _:
                return ""
        node = inner
    return ".".join([node.id, *reversed(parts)])


def is_true(node: ast.expr) -> bool:
    """Whether an expression is `True`, written out."""
    return isinstance(node, ast.Constant) and node.value is True


def _builds(node: ast.expr) -> str:
    """The name of the class that an expression calls, or nothing."""
    func = node.func if isinstance(node, ast.Call) else None
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return name if name[:1].isupper() else ""


def _called(node: ast.expr) -> str:
    """The function, or method of the object itself, that an expression calls, or nothing."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            return name
    return ""


def _rebuilt(targets: list[ast.expr], value: ast.expr) -> int:
    """What an assignment says of leaves made, and of objects put into others."""
    features = 0
    for target in targets:
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and is_true(value):
            features |= LEAF
        elif isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(value, (ast.Name, ast.Call)):
            features |= PLACED
    return features


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment binds to what, `a, b = x, y` one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _collects(value: ast.expr) -> bool:
    """Whether an expression makes a list, tuple or dict."""
    while isinstance(value, ast.BinOp):  # as deep as it is long: no recursion down its left side
        if not isinstance(value.right, ast.BinOp) and _collects(value.right):
            return True
        value = value.left
    match value:
        case ast.List() | ast.ListComp() | ast.Tuple() | ast.Dict() | ast.DictComp():
            return True
        case ast.Call(func=ast.Name(id="list" | "tuple" | "dict" | "OrderedDict" | "defaultdict")):
            return True
    return False


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


def _keeps(value: ast.expr | None, deep: int = 0) -> int:
    """Whether a binding to this expression holds a generator, or the parameters of a module."""
    match value:
        case ast.GeneratorExp() if not deep:
            return KEPT_ITEMS
        case ast.Call(func=ast.Attribute(attr=name)) if name in _PARAMETERS:
            return KEPT_ITEMS
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _LAZY and not deep:
            return KEPT_ITEMS
        case ast.Call(func=ast.Name(id=name), args=[*_, last]) if name in _LAZY and deep < 4:
            return _keeps(last, deep + 1)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _LISTS and deep < 4:
            return _keeps(first, deep + 1)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() if deep < 4:
            return _keeps(value.generators[0].iter, deep + 1)
        case ast.IfExp() if deep < 4:
            return _keeps(value.body, deep + 1) | _keeps(value.orelse, deep + 1)
    return 0


def _module_alias(owner: Function, node: ast.Assign) -> int:
    """Whether an assignment may give a module a second name: one name says so, or one module is moved twice."""
    target, value = node.targets[0], node.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
        if isinstance(value, ast.Name):
            if value.id in owner.moved:
                return MODULE_ALIAS
            owner.moved.add(value.id)
    if isinstance(target, ast.Subscript):
        target = target.value
    if not all(isinstance(item, (ast.Name, ast.Attribute, ast.IfExp)) for item in (target, value)):
        return 0
    return MODULE_ALIAS if any(library.says_frozen(_last_name(item)) for item in (target, value)) else 0


def _last_name(node: ast.expr) -> str:
    """`best` of `best` and of `self.best`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
