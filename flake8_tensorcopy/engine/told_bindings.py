"""What the assignments of a function tell."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.definitions import Class, Function
from flake8_tensorcopy.engine.features import (
    GROWN,
    INDEX_ADD,
    KEPT_ITEMS,
    LEAF,
    MODULE_ALIAS,
    PLACED,
    REPLACED,
    SELF_COPY,
    SHARE,
    SWAP,
    UNPACKED,
)
from flake8_tensorcopy.engine.forms import (
    CASTS,
    JOINS,
    bindings,
    collects,
    function_called,
    grows,
    is_of_self,
    is_of_shape,
    is_true,
    last_name,
    names_again,
    rooted,
)

_WRAPPERS = frozenset({"Parameter", "Variable"})
_PARAMETERS = frozenset(
    "parameters named_parameters buffers named_buffers modules named_modules children named_children".split()
)
_LAZY = frozenset({"filter", "map", "zip", "enumerate", "reversed", "chain"})
_LISTS = frozenset({"list", "tuple", "dict", "set", "OrderedDict"})
_MOVES = frozenset({"cpu", "cuda", *CASTS})
_KEEPERS = _PARAMETERS | _LAZY | _LISTS | {"copy"}
# What a call by any other name gives is bound, and that is all.
_SPECIAL = _KEEPERS | _MOVES | JOINS | library.MODULE_SELF | {"defaultdict", "deque", "size"}
# The types of expression for which the questions below can have an answer.
_KEEPING = frozenset({ast.Call, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.ListComp, ast.SetComp, ast.Tuple})
_ALIASING = frozenset({ast.Attribute, ast.Call, ast.IfExp, ast.Name})
_SHAPES = frozenset({ast.Attribute, ast.Call, ast.Subscript, ast.Tuple})
_GROWING = frozenset({ast.Call, ast.IfExp})
_SHARING = frozenset(
    {
        ast.Attribute, ast.BoolOp, ast.Dict, ast.DictComp, ast.IfExp, ast.List, ast.ListComp, ast.Name, ast.Starred,
        ast.Subscript, ast.Tuple,
    }
)  # fmt: skip
_PATHS = frozenset({ast.Attribute, ast.Call, ast.Subscript})
_NAMED = frozenset({ast.Attribute, ast.IfExp, ast.Name})
_OBJECTS = frozenset({ast.Call, ast.Name})
_COLLECTING = frozenset({ast.BinOp, ast.Call, ast.Dict, ast.DictComp, ast.IfExp, ast.List, ast.ListComp, ast.Tuple})


def tell_assignments(owner: Function, nodes: list[ast.Assign], annotated: list[ast.AnnAssign]) -> int:
    """The features of the assignments of a function; notes the names and attributes that they bind."""
    features = 0
    attributes_share = 0 if owner.name == "__init__" else SHARE
    stores: list[str] = []
    picked: dict[str, str] = {}
    made: set[str] = set()  # names for a list, tuple or dict
    held: list[tuple[str, str]] = []  # attributes, and the name of what they hold if it has one
    makers: list[tuple[str, str, ast.Assign]] = []  # attributes, and the function that gives what they hold
    for node in nodes:
        target, value = node.targets[0], node.value
        kind, alone = type(value), len(node.targets) == 1
        if kind is ast.Call and alone and last_name(value.func) not in _SPECIAL:  # type: ignore[attr-defined]
            # Most assignments: what a call gives that tells nothing by its name.
            if type(target) is ast.Name:
                stores.append(target.id)
                if not features & SHARE:
                    features |= _shares(value)
                continue
            if type(target) is ast.Attribute:
                features |= PLACED | attributes_share
                if target.attr in library.OF_LAYERS or _computed_again(target.attr, value):  # type: ignore[arg-type]
                    features |= REPLACED
                if maker := function_called(value):
                    makers.append((target.attr, maker, node))
                continue
        if kind in _KEEPING:
            features |= _keeps(value)
        if kind in _ALIASING:
            features |= _module_alias(owner, node)
        if kind in _SHAPES and is_of_shape(value):
            features |= UNPACKED
        if kind in _GROWING and grows(node) is not None:
            features |= GROWN
        if type(target) is ast.Name and alone:
            stores.append(target.id)
            if kind is ast.Subscript and type(value.slice) is ast.Name:  # type: ignore[attr-defined]
                picked[target.id] = value.slice.id  # type: ignore[attr-defined]
            elif kind is ast.Attribute and (root := _root_of(value)):  # type: ignore[arg-type]
                picked[target.id] = root
            if kind is not ast.Constant:
                features |= _shares(value)
                if kind in _COLLECTING and collects(value):
                    made.add(target.id)
                if owner.cls is not None and is_of_self(value):
                    owner.of_self.add(target.id)
            continue
        if type(target) is ast.Attribute and alone:
            features |= attributes_share | _rebuilt(target, value)
            if kind is ast.BinOp or target.attr in library.OF_LAYERS:
                features |= REPLACED
            if kind is ast.Name:
                held.append((target.attr, value.id))  # type: ignore[attr-defined]
            elif kind in _COLLECTING and collects(value):
                held.append((target.attr, ""))
            elif maker := function_called(value):
                makers.append((target.attr, maker, node))
            continue
        if type(target) is ast.Tuple and kind is ast.Tuple:
            for one, given in bindings(node):
                if type(given) in _ALIASING:
                    features |= _named_again(owner, one, given)
        if type(target) is ast.Tuple and alone and kind is not ast.Tuple:
            features |= _shares(value)
            continue
        if not alone:
            features |= SHARE | _named_twice(node.targets)
        for one in node.targets:
            features |= _rebuilt(one, value)
        if isinstance(target, ast.Subscript):
            if isinstance(value, ast.BinOp):
                features |= INDEX_ADD
            if names_again(target, [value]):
                features |= SELF_COPY
        if not all(isinstance(one, ast.Attribute) for one in node.targets):
            features |= _shares(value)
        else:
            features |= attributes_share
            if isinstance(value, ast.BinOp) or any(last_name(one) in library.OF_LAYERS for one in node.targets):
                features |= REPLACED
        bound = [one.id for one in node.targets if isinstance(one, ast.Name)]
        stores += bound
        if owner.cls is not None and is_of_self(value):
            owner.of_self.update(bound)
        for one, given in bindings(node):
            if isinstance(one, ast.Name):
                if collects(given):
                    made.add(one.id)
            elif isinstance(one, ast.Attribute):
                name = given.id if isinstance(given, ast.Name) else ""
                if name or collects(given):
                    held.append((one.attr, name))
                elif maker := function_called(given):
                    makers.append((one.attr, maker, node))
        if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple):
            features |= SWAP
    for other in annotated:
        if type(other.value) in _ALIASING:
            features |= _named_again(owner, other.target, other.value)  # type: ignore[arg-type]
        if other.value is not None and collects(other.value):
            if isinstance(other.target, ast.Attribute):
                held.append((other.target.attr, ""))
            elif isinstance(other.target, ast.Name):
                made.add(other.target.id)
    owner.stores.update(stores)
    owner.picked.update((name, index) for name, index in picked.items() if stores.count(name) > 1)
    if owner.cls is not None:
        _hold(owner.cls, held, made, makers)
    return features


def _root_of(node: ast.Attribute) -> str:
    """The name that an attribute begins with: `layer` in `layer.weight.data`."""
    root: ast.expr = node
    while type(root) is ast.Attribute:
        root = root.value
    return root.id if type(root) is ast.Name else ""


def _hold(cls: Class, held: list[tuple[str, str]], made: set[str], makers: list[tuple[str, str, ast.Assign]]) -> None:
    """Note the attributes that hold what their method made: of several functions that made it, the last one."""
    for attribute, maker, _ in sorted(makers, key=lambda one: (one[2].lineno, one[2].col_offset), reverse=True):
        cls.holders.setdefault(attribute, maker)
    cls.holders.update((attribute, "") for attribute, name in held if not name or name in made)


def tell_binding(value: ast.expr) -> int:
    """The features of a binding with an annotation, or inside an expression."""
    return _shares(value) | _keeps(value)


def gives_generator(value: ast.expr) -> bool:
    """Whether what is returned is a generator, or the parameters of a module."""
    return type(value) in _KEEPING and bool(_keeps(value))


def _computed_again(attribute: str, call: ast.Call) -> bool:
    """`self.scale = self.scale.clamp(0)`, `self.scale = torch.clamp(self.scale, 0)`: no move, which suits a module."""
    func = call.func
    if type(func) is ast.Attribute and func.attr in library.MODULE_SELF:
        return False
    given = [func.value, *call.args] if type(func) is ast.Attribute else call.args
    return any(type(one) in _PATHS and rooted(one).rpartition(".")[2] == attribute for one in given)


def _rebuilt(target: ast.expr, value: ast.expr) -> int:
    """What an assignment says of leaves made, and of objects put into others."""
    if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and is_true(value):
        return LEAF
    return PLACED if isinstance(target, (ast.Attribute, ast.Subscript)) and type(value) in _OBJECTS else 0


def _shares(value: ast.expr) -> int:
    """Whether a binding to this expression may share storage with what the expression names."""
    if type(value) in _SHARING:
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
    if type(value) is ast.Call and last_name(value.func) not in _KEEPERS:
        return 0
    match value:
        case ast.GeneratorExp() if not deep:
            return KEPT_ITEMS
        case ast.Tuple(elts=parts) if not deep:
            return KEPT_ITEMS if any(_keeps(one, 1) for one in parts) else 0
        case ast.Call(func=ast.Attribute(attr=name)) if name in _PARAMETERS:
            return KEPT_ITEMS
        case ast.Call(func=ast.Attribute(value=inner, attr="copy")) if deep < 4:
            return _keeps(inner, deep + 1)
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
    return _named_again(owner, node.targets[0], node.value)


def _named_twice(targets: list[ast.expr]) -> int:
    """The same of `policy = target = Net()`."""
    named = [one for one in targets if type(one) in _NAMED]
    return MODULE_ALIAS if len(named) > 1 and any(library.says_frozen(last_name(one)) for one in named) else 0


def _named_again(owner: Function, target: ast.expr, value: ast.expr) -> int:
    """The same of one binding."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
        if isinstance(value, ast.Name):
            if value.id in owner.moved:
                return MODULE_ALIAS
            owner.moved.add(value.id)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in library.MODULE_SELF:
            return 0
        value = value.func.value
    if isinstance(target, ast.Subscript):
        target = target.value
    if type(target) not in _NAMED or type(value) not in _NAMED:
        return 0
    frozen = library.says_frozen(last_name(target)) or library.says_frozen(last_name(value))
    return MODULE_ALIAS if frozen else 0
