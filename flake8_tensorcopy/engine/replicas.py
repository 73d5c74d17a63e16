"""What DataParallel does to a module: `forward` runs on replicas, which are gone when it returns."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.facts import Fact, ReplicaState
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.unwrapped import methods_from
from flake8_tensorcopy.engine.values import Value


def replicated(run: Run, node: ast.Call, args: Args) -> None:
    """`nn.DataParallel(net)`: net, and the modules in it, are replicated in every call."""
    given = args.values[0] if args.values else args.keywords.get("module", (node, Value()))[1]
    pending = [ref.obj for ref in given.refs]
    while pending:
        obj = pending.pop()
        if obj.kind == "module" and isinstance(obj.data, Class) and obj.data not in run.module.replicated:
            run.module.replicated[obj.data] = node
            pending.extend(ref.obj for held in run.module.table(obj.data).values() for ref in held.refs)


def lost_on_replicas(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """Attributes that `forward` sets on a replica, and something reads on the module itself."""
    for function in module.once(_wrapping):
        module.run_of(function)
    wrapped = module.replicated.get(cls)
    if wrapped is None:
        return
    inside = methods_from(module, cls, "forward") - {"__init__"}
    reads: dict[str, ast.AST] | None = None
    for name in sorted(inside):
        method = cls.methods.get(name)
        if method is None or isinstance(method.node, ast.Module) or method.static:
            continue
        for attribute, statement in _sets(module, cls, method):
            reads = _reads(module, cls, inside) if reads is None else reads
            carried = _carried(module, cls, attribute, statement) or _counted(module, cls, inside, attribute)
            if carried is not None:
                reads.setdefault(attribute, carried)
            if attribute in reads:
                fact = ReplicaState(
                    site=statement, attribute=f"self.{attribute}", read=reads[attribute], wrapped=wrapped
                )
                yield method, fact


def _wrapping(module: Module) -> list[Function]:
    return [function for function in module.survey.all if "DataParallel" in function.calls]


def _me(function: Function) -> str:
    """What a method calls its object."""
    node = function.node
    arguments = [] if isinstance(node, ast.Module) else [*node.args.posonlyargs, *node.args.args]
    return arguments[0].arg if arguments and function.cls is not None and not function.static else ""


def _sets(module: Module, cls: Class, method: Function) -> Iterator[tuple[str, ast.stmt]]:
    """The attributes that a method binds anew on its object, and the statements that do."""
    me = _me(method)
    for node in _nodes(method):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = [inner for target in node.targets for inner in getattr(target, "elts", [target])]
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            targets = [node.target]
        for target in targets:
            match target:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == me:
                    if not isinstance(node, ast.AugAssign) or _is_number(module, cls, attribute):
                        assert isinstance(node, ast.stmt)
                        yield attribute, node


def _carried(module: Module, cls: Class, attribute: str, statement: ast.stmt) -> ast.AST | None:
    """Where a buffer goes on from its own last value: the next call, and whoever saves it, has the first one."""
    init = module.method(cls, "__init__")
    return _own_value(attribute, statement) if init is not None and attribute in _buffers(init) else None


def _own_value(attribute: str, statement: ast.stmt) -> ast.AST | None:
    """Where a statement that binds an attribute reads it."""
    value = getattr(statement, "value", None)
    for node in ast.walk(value) if isinstance(value, ast.expr) else ():
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name == attribute:
                return node
    return None


def _counted(module: Module, cls: Class, inside: frozenset[str], attribute: str) -> ast.AST | None:
    """Where what runs on a replica reads a number that it only ever counts on: each call has it count from the first
    value."""
    if not _is_number(module, cls, attribute):
        return None
    counts: list[ast.stmt] = []
    for name in inside & cls.methods.keys():
        counts += [statement for one, statement in _sets(module, cls, cls.methods[name]) if one == attribute]
    if not all(isinstance(one, ast.AugAssign) or _own_value(attribute, one) for one in counts):
        return None
    counting = {node for one in counts for node in ast.walk(one)}
    reads = [
        node
        for name in inside & cls.methods.keys()
        for node in _nodes(cls.methods[name])
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node not in counting
        if node.attr == attribute and isinstance(node.value, ast.Name) and node.value.id == _me(cls.methods[name])
    ]
    return min(reads, key=lambda node: node.lineno, default=None)


def _buffers(init: Function) -> set[str]:
    """The names that a constructor registers buffers by."""
    found: set[str] = set()
    for node in _nodes(init):
        match node:
            case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=str() as name), *_]):
                found.add(name)
    return found


def _is_number(module: Module, cls: Class, attribute: str) -> bool:
    """Whether `__init__` makes it a number: `+=` on a tensor or list writes what the replicas share."""
    held = module.table(cls).get("." + attribute)
    return held is not None and not held.refs and held.kind in ("number", "str")


def _nodes(function: Function) -> Iterable[ast.AST]:
    """The code of a function; of the module, its own statements."""
    for statement in function.node.body:
        if not isinstance(function.node, ast.Module) or not isinstance(
            statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            yield from walk(statement)


def _reads(module: Module, cls: Class, inside: frozenset[str]) -> dict[str, ast.AST]:
    """The attributes of the module that are read outside of what runs on a replica, and where."""
    instances = _instances(module, cls)
    ends = tuple(name[4:] for name in instances if name[:5] == "self.")
    known = module.once(_plain_reads)
    found: list[tuple[int, ast.Attribute]] = []
    for text, reads in known.items():
        if text in instances or (ends and text.endswith(ends)):
            found += [(place, node) for place, _, node in reads]
        elif "." not in text:
            for place, function, node in reads:
                outside = function.cls is cls and function.name not in inside and function.name != "__init__"
                if outside and text == _me(function):
                    found.append((place, node))
    first: dict[str, ast.AST] = {}
    for _, node in sorted(found, key=lambda one: one[0]):
        first.setdefault(node.attr, node)
    return first


def _plain_reads(module: Module) -> dict[str, list[tuple[int, Function, ast.Attribute]]]:
    """The reads of attributes of dotted names, by these: how many came before, in which function."""
    found: dict[str, list[tuple[int, Function, ast.Attribute]]] = {}
    place = 0
    for function in module.survey.all:
        for node in _nodes(function):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _is_plain(node.value):
                place += 1
                found.setdefault(text_of(node.value), []).append((place, function, node))
    return found


def _is_plain(node: ast.expr) -> bool:
    """A dotted name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _instances(module: Module, cls: Class) -> frozenset[str]:
    """The expressions that this file assigns an object of the class, or what wraps it, to; and their `.module`."""
    made = module.once(_made)
    return frozenset((*made.get(cls.name, ()), *made.get("", ())))


def _made(module: Module) -> dict[str, set[str]]:
    """What calls of plain names are assigned to, by these; under no name, what DataParallel wraps."""
    found: dict[str, set[str]] = {}
    for function in module.survey.all:
        for node in _nodes(function):
            match node:
                case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=name))) if (
                    name in module.survey.classes
                ):
                    found.setdefault(name, set()).add(text_of(target))
                case ast.Assign(targets=[target], value=ast.Call(func=func)) if (
                    module.survey.names.qualify(func) or text_of(func)
                ).endswith("DataParallel"):
                    found.setdefault("", set()).add(text_of(target) + ".module")
    return found
