"""Deep copies that meet a tensor on the graph which is no leaf: torch refuses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.facts import CopiedGraph, changed
from flake8_tensorcopy.engine.graph import since_marked
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.mutated import function_at
from flake8_tensorcopy.engine.nodes import end_of, start_of
from flake8_tensorcopy.engine.rewrapped import recorded
from flake8_tensorcopy.engine.run import Run, last_state
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.state import State
from flake8_tensorcopy.engine.unwrapped import methods_from
from flake8_tensorcopy.engine.values import DETACH, SNAPSHOT, VIEW, Obj, Place, Ref, Value

MAX_METHODS = 32  # of one object that a function calls


def called(run: Run, node: ast.Call, obj: Obj, method: str = "forward") -> None:
    """A module is called, or a method of an object of this file: from here on it has what that keeps, with the graph
    if that is recorded."""
    if run.now.grad:
        run.forwarded.setdefault(obj, set()).add((node, method))


def called_inside(run: Run, node: ast.Call, done: Run, values: list[Value]) -> None:
    """A function of this file calls the modules that it is given, and may copy them."""
    for param, value in zip(done.params, values, strict=False):
        for copy, calls in done.deep_copies.get(param, ()):
            for ref in value.refs:
                _copied_inside(run, ref.obj, copy, {method for _, method in calls})
        methods = {method for _, method in done.forwarded.get(param, ())}
        for method in sorted(methods)[:MAX_METHODS]:
            for ref in value.refs:
                called(run, node, ref.obj, method)


def _copied_inside(run: Run, obj: Obj, copy: ast.Call, methods: set[str]) -> None:
    """A function that knows nothing of the class has called an object of it, and copied it then."""
    owner = run.short(copy.args[0])
    if obj.kind in ("module", "instance") and isinstance(obj.data, Class):
        for method in sorted(methods):
            for _, name, site in kept_by(run.module, obj.data, method):
                run.fact(_kept_fact(run, site, name, copy, owner))


def copied(run: Run, node: ast.Call, value: Value) -> None:
    """`copy.deepcopy(value)`."""
    given = node.args[0] if node.args else None
    owner = "it" if given is None else run.short(given)
    for ref in value.refs:
        if ref.obj in run.params and not isinstance(ref.obj.data, Class) and not _used_otherwise(run, ref.obj):
            run.deep_copies.setdefault(ref.obj, []).append((node, frozenset(run.forwarded.get(ref.obj, ()))))
        if no_leaf(ref):
            run.fact(CopiedGraph(site=node, name=owner, copied=node, direct=True, owner=owner, kept=given))
            continue
        for name, site in (*_kept(run, ref.obj), *_kept_by_methods(run, ref.obj)):
            run.fact(_kept_fact(run, site, name, node, owner))


def _kept_fact(run: Run, site: ast.AST, name: str, copy: ast.AST, owner: str) -> CopiedGraph:
    """The fact of what is kept at a site, with what there is to detach and who reads it."""
    fact = CopiedGraph(site=site, name=name, copied=copy, direct=False, owner=owner)
    match site:
        case ast.Assign(targets=[ast.Attribute(attr=attribute)], value=kept):
            pass
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=attribute), attr="append"), args=[kept]):
            pass
        case _:
            return fact
    below = run.module.below(run.module.survey.body.node)
    fills = {node.value for name in _FILLS for node in below.attributes.get(name, ()) if below.calls(node) is not None}
    named = below.attributes.get(attribute, [])
    reads = tuple(node for node in named if isinstance(node.ctx, ast.Load) and node not in fills)
    function = function_at(run.module, site)
    free = isinstance(site, ast.Assign) and function is not None and site in function.node.body
    if free and function is not None:
        inner = run.module.below(function.node)
        stores = [node for node in named if node in inner.parents and not isinstance(node.ctx, ast.Load)]
        free = (
            len(stores) == 1
            and all(read in inner.parents and start_of(read) > end_of(site) for read in reads)
            and attribute not in inner.names
            and not any(isinstance(node, ast.arg) and node.arg == attribute for node in inner.parents)
        )
    return changed(fact, kept=kept, reads=reads, name_free=free)


# What a list is filled or emptied by.
_FILLS = frozenset({"append", "clear"})


def _used_otherwise(run: Run, obj: Obj) -> bool:
    """Whether a method was called on an object of which nothing is known: it may let go of what `forward` keeps."""
    return any(
        base.obj is obj and name not in library.MODULE_METHODS and name != "forward"
        for base, name in run.method_calls.values()
    )


def no_leaf(ref: Ref) -> bool:
    """Whether a reference is surely to a tensor on the graph that is no leaf."""
    if not recorded(ref) or any(link.kind == SNAPSHOT for link in ref.chain):
        return False  # the parameters of a module are leaves
    return not (ref.obj.leaf or ref.obj.param) or any(
        link.kind == VIEW and link.op != "Parameter" for link in since_marked(ref)
    )


def _kept(run: Run, obj: Obj) -> Iterator[tuple[str, ast.AST]]:
    """The tensors on the graph that an object holds here, by name, and where they were put there."""
    fields = run.now.fields(obj)
    if obj.kind in ("list", "tuple", "dict", "instance", "module"):
        for held in fields.values():
            for ref in held.refs:
                if no_leaf(ref) and ref.place is not None and ref.place.node is not None:
                    yield _named(ref.place, ref.place.node, obj)
    if obj.kind not in ("module", "instance") or not isinstance(obj.data, Class):
        return
    calls = run.forwarded.get(obj, set()) or _called_by_others(run, obj)
    for method in sorted({method for _, method in calls}):
        nodes = {node for node, name in calls if name == method}
        for key, name, site in kept_by(run.module, obj.data, method):
            value = fields.get(key)
            if value is None or any(
                (ref.obj.node in nodes or (ref.obj.owner == "attribute" and ref.obj.node is None))
                and all(link.kind != DETACH for link in ref.chain)
                for ref in value.refs
            ):
                yield name, site
    for cls in _parts(run.module, obj.data) if any(method == "forward" for _, method in calls) else ():
        yield from ((name, site) for _, name, site in kept_by(run.module, cls, "forward"))
    for cls in (obj.data, *_parts(run.module, obj.data)):
        since = fields.keys() if cls is obj.data else ()
        yield from ((name, site) for key, name, site in _made_with(run.module, cls) if key not in since)


def _made_with(module: Module, cls: Class) -> Iterator[tuple[str, str, ast.AST]]:
    """What the constructor of an object computes on the graph for its attributes, where nothing else sets them."""
    init = cls.methods.get("__init__")
    done = module.run_of(init) if init is not None else None
    state = last_state(done) if done is not None else None
    if done is not None and state is not None and done.params:
        for key, name, site in _left(done, state, done.params[0]):
            if cls.assigns.get(key[1:]) == {"__init__"}:
                yield key, name, site


def _kept_by_methods(run: Run, obj: Obj) -> Iterator[tuple[str, ast.AST]]:
    """The tensors on the graph that another method keeps in a container of `self` which is copied here."""
    cls = run.function.cls
    if cls is None or not run.params or obj.parent is not run.params[0]:
        return
    if cls.methods.get(run.function.name) is not run.function or run.now.fields(obj):
        return
    found: list[tuple[str, ast.AST]] = []
    for method in cls.methods.values():
        done = run.module.run_of(method) if method is not run.function and not method.static else None
        state = last_state(done) if done is not None else None
        if done is None or state is None or not done.params or method.name == "__init__":
            continue
        kept = [one for one in _left(done, state, done.params[0]) if one[0] == obj.slot]
        if not kept and (obj.slot[1:] in _stored(method) or method.name in cls.assigns.get(obj.slot[1:], ())):
            return  # lets go of it
        found.extend((name, site) for _, name, site in kept)
    held = run.module.table(cls).get(obj.slot)
    if held is not None and held.obj is not None and held.obj.kind in ("dict", "list", "tensor"):
        yield from found


def _stored(method: Function) -> set[str]:
    """The attributes of which a method sets, deletes or clears an item."""
    found: set[str] = set()
    for node in ast.walk(method.node):
        match node:
            case ast.Subscript(value=ast.Attribute(attr=name), ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name))):
                found.add(name)
    return found


def _parts(module: Module, cls: Class) -> Iterator[Class]:
    """The classes of the modules that a module has in its attributes, and in theirs."""
    pending, seen = [cls], {cls}
    while pending:
        for held in module.table(pending.pop()).values():
            for ref in held.refs:
                data = ref.obj.data
                if ref.obj.kind == "module" and isinstance(data, Class) and data not in seen:
                    seen.add(data)
                    pending.append(data)
                    yield data


def _named(place: Place, node: ast.AST, obj: Obj) -> tuple[str, ast.AST]:
    return place.name if obj.key else "an item", node


def _called_by_others(run: Run, obj: Obj) -> set[tuple[ast.Call, str]]:
    """The calls of a module that self holds, in other methods of the class."""
    cls = run.function.cls
    if cls is None or not run.params or obj.parent is not run.params[0]:
        return set()
    found: set[tuple[ast.Call, str]] = set()
    for method in cls.methods.values():
        if method is run.function or method.static:
            continue
        done = run.module.run_of(method)
        if done is not None and done.params:
            for one, calls in done.forwarded.items():
                if one.slot == obj.slot and one.parent is done.params[0]:
                    found |= {(node, name) for node, name in calls if name == "forward"}
    return found if run.function.name not in methods_from(run.module, cls, "__init__") else set()


def kept_by(module: Module, cls: Class, called: str) -> Iterator[tuple[str, str, ast.AST]]:
    """What a call of a method leaves in the object's attributes on the graph: slot, name, where it is put there."""
    for name in sorted(methods_from(module, cls, called)):
        method = module.method(cls, name)
        done = module.run_of(method) if method is not None and not method.static and name != "__init__" else None
        state = last_state(done) if done is not None else None
        if done is not None and state is not None and done.params:
            yield from _left(done, state, done.params[0])


def _left(done: Run, state: State, me: Obj) -> Iterator[tuple[str, str, ast.AST]]:
    """What is in the attributes of an object, on the graph, at the end of a method."""
    for key, held in state.fields(me).items():
        for ref in held.refs:
            refs = [ref]
            if ref.obj.kind in ("list", "dict"):
                refs = [one for value in state.fields(ref.obj).values() for one in value.refs]
            for one in refs:
                if no_leaf(one) and one.place is not None and one.place.node is not None:
                    yield key, f"self{key}", one.place.node
