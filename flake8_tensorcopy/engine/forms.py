"""What expressions look like: the calls they make, what they are applied to, what they repeat."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_tensorcopy.engine.names import Names
from flake8_tensorcopy.engine.nodes import walk

CASTS = frozenset("float double half bfloat16 long int short byte char bool type to".split())
_PASSES = frozenset(
    "view reshape flatten t transpose permute squeeze unsqueeze expand expand_as narrow select chunk unflatten numpy "
    "cpu cuda to float double half long int type pop get".split()
)
# Methods that exchange axes.
TURNS = frozenset("t transpose swapaxes swapdims permute movedim moveaxis adjoint".split())
_OF_COLLECTIONS = frozenset({"OrderedDict", "defaultdict", "deque"})
_COLLECTIONS = _OF_COLLECTIONS | {"list", "tuple", "dict"}
# Lists and dicts of the standard library, by their qualified names.
CONTAINERS = frozenset(f"collections.{name}" for name in _OF_COLLECTIONS)
_DISPLAYS = frozenset({ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp})
JOINS = frozenset("cat concat concatenate hstack vstack dstack column_stack row_stack".split())


def called_name(node: ast.expr) -> str:
    """The last part of what a call calls; nothing if it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def receiver_of(node: ast.expr) -> ast.expr:
    """What a method is called on, or what is indexed; the expression itself if it is neither."""
    if isinstance(node, ast.Subscript):
        return node.value
    return node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node


def calls_for_nothing(node: ast.expr) -> list[ast.Call]:
    """The calls of an expression that is a statement, whose results nobody takes: the items of a display are calls
    for their own sake."""
    match node:
        case ast.Call():
            return [node]
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return [item for item in items if isinstance(item, ast.Call)]
        case ast.ListComp(elt=ast.Call() as item) | ast.SetComp(elt=ast.Call() as item):
            return [item]
    return []


def applied_to(node: ast.expr) -> ast.expr:
    """The expression that a call of `clone` copies, or a call of `detach` takes off the graph."""
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
    if called in ("clone", "detach") and len(node.args) == 1:
        inner = node.args[0]  # `torch.clone(x)`
    before = called_name(inner)
    match called:
        case "clone" if before == "detach":
            return not isinstance(receiver_of(inner), (ast.Name, ast.Attribute))
        case "clone":
            if isinstance(inner, ast.Call):
                return before not in _PASSES or any(one.arg == "copy" for one in inner.keywords)
            return isinstance(inner, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript))
        case "contiguous":
            return called_name(behind_detach(inner)) == "clone"
        case "detach":
            for _ in range(4):
                if called_name(inner) in ("cpu", "to"):
                    return True
                inner = receiver_of(inner)
            return False
    return called_name(behind_detach(inner)) == "clone" or (before in CASTS and called in CASTS)


def grows(node: ast.Assign, names: Names | None = None) -> ast.Call | None:
    """The call in `acc = torch.cat([acc, x])`, also as one side of a conditional."""
    if len(node.targets) != 1 or not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
        return None
    sides = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
    for side in sides:
        called = called_name(side)
        if isinstance(side, ast.Call) and (names.renamed.get(called, called) if names else called) in JOINS:
            target = ast.dump(node.targets[0]).replace("Store()", "Load()")
            for parts in (*side.args[:1], *(one.value for one in side.keywords if one.arg == "tensors")):
                if isinstance(parts, (ast.List, ast.Tuple)) and target in map(ast.dump, parts.elts):
                    return side
    return None


def is_true(node: ast.expr) -> bool:
    """Whether an expression is `True`, written out."""
    return isinstance(node, ast.Constant) and node.value is True


def last_name(node: ast.expr) -> str:
    """`best` of `best` and of `self.best`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_literal(node: ast.expr) -> bool:
    """A number, or a list of numbers."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(isinstance(item, ast.Constant) for item in node.elts)
    return isinstance(node, ast.Constant)


def names_of(value: ast.expr) -> list[str]:
    """The function that an argument names: `f`, `self.f`, `partial(f, ..)`."""
    if isinstance(value, ast.Call) and value.args:
        value = value.args[0]
    return [value.id] if isinstance(value, ast.Name) else [value.attr] if isinstance(value, ast.Attribute) else []


def is_of_self(node: ast.expr | None) -> bool:
    """Whether an expression is something that `self` holds."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
        if isinstance(node, ast.Name):
            return node.id == "self"
    return False


def written_attribute(node: ast.expr) -> ast.Attribute | None:
    """The attribute of `self` that a method in place is called of: `self.x`, also as `self.x.mul_(2)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr[-1:] == "_":
        node = node.func.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node
    return None


def is_of_shape(node: ast.expr) -> bool:
    """`x.shape`, `x.size()`, `x.shape[0]`, `x.size(0)`, or several of them."""
    if isinstance(node, ast.Tuple):
        return any(map(is_of_shape, node.elts))
    if isinstance(node, ast.Subscript):
        node = node.value
    return (isinstance(node, ast.Attribute) and node.attr == "shape") or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size"
    )


def bound_by(generators: list[ast.comprehension], item: ast.expr) -> bool:
    """Whether a comprehension itself binds a name of the item."""
    targets = {node.id for one in generators for node in walk(one.target) if isinstance(node, ast.Name)}
    return any(isinstance(node, ast.Name) and node.id in targets for node in walk(item))


def names_again(target: ast.expr, values: list[ast.expr]) -> bool:
    """Whether an operand is (a view of) what the target names, to go by their first names."""
    name = rooted(target)
    if isinstance(target, ast.Subscript):
        values = [*values, target.slice]
    return bool(name) and any(f"{rooted(value)}.".startswith(f"{name}.") for value in values)


def rooted(node: ast.expr) -> str:
    """The name or dotted attribute that indices and calls are applied to: `self.x` of `self.x[1:].t()`."""
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            parts.clear()
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            parts.clear()
            node = node.func.value
        else:
            return ""
    return ".".join([node.id, *reversed(parts)])


def class_called(node: ast.expr) -> str:
    """The name of the class that an expression calls, or nothing."""
    func = node.func if isinstance(node, ast.Call) else None
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return name if name[:1].isupper() else ""


def function_called(node: ast.expr) -> str:
    """The function, or method of the object itself, that an expression calls, or nothing."""
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Name):
        return func.id
    of_self = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"
    return func.attr if of_self else ""  # type: ignore[union-attr]


def names_dtype(node: ast.Call) -> bool:
    """Whether an argument of `to` may be a dtype: no call, no text, nothing called a device."""
    for keyword in node.keywords:
        if keyword.arg in ("dtype", None):
            return True
    for item in node.args:
        if "dev" not in getattr(item, "attr", getattr(item, "id", "device")):
            return True
    return False


def bindings(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment binds to what, `a, b = x, y` one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def collects(value: ast.expr) -> bool:
    """Whether an expression makes a list, tuple or dict."""
    pending = [value]  # sums and conditions may be as deep as they are long: no recursion
    while pending:
        one = pending.pop()
        if type(one) is ast.BinOp:
            pending.append(one.left)
            if not isinstance(one.right, ast.BinOp):
                pending.append(one.right)
        elif type(one) is ast.IfExp:
            pending += (one.body, one.orelse)
        elif type(one) in _DISPLAYS or (type(one) is ast.Call and _makes_container(one.func)):
            return True
    return False


def _makes_container(func: ast.expr) -> bool:
    """`list`, `OrderedDict`, `collections.deque`."""
    match func:
        case ast.Name(id=name):
            return name in _COLLECTIONS
        case ast.Attribute(value=ast.Name(), attr=name):  # by whatever name the module was imported
            return name in _OF_COLLECTIONS
    return False


def mentions(decorator: ast.expr, name: str, names: Names) -> bool:
    """Whether a decorator, called or not, has that name."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    found = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    return name == names.renamed.get(found, found)
