"""Deep copies that meet a tensor on the graph which is no leaf: torch refuses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_tensorcopy.engine.facts import CopiedGraph
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.rewrapped import recorded
from flake8_tensorcopy.engine.run import Run, last_state
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.unwrapped import methods_from
from flake8_tensorcopy.engine.values import DETACH, VIEW, Obj, Place, Ref, Value


def called(run: Run, node: ast.Call, obj: Obj) -> None:
    """A module is called: from here on it has what its `forward` keeps, with the graph if that is recorded."""
    if run.now.grad:
        run.forwarded.setdefault(obj, set()).add(node)


def called_inside(run: Run, node: ast.Call, done: Run, values: list[Value]) -> None:
    """A function of this file calls the modules that it is given."""
    for param, value in zip(done.params, values, strict=False):
        if param in done.forwarded:
            for ref in value.refs:
                called(run, node, ref.obj)


def copied(run: Run, node: ast.Call, value: Value) -> None:
    """`copy.deepcopy(value)`."""
    owner = run.short(node.args[0]) if node.args else "it"
    for ref in value.refs:
        if no_leaf(ref):
            run.fact(CopiedGraph(site=node, name=owner, copied=node, direct=True, owner=owner))
            continue
        for name, site in _kept(run, ref.obj):
            run.fact(CopiedGraph(site=site, name=name, copied=node, direct=False, owner=owner))


def no_leaf(ref: Ref) -> bool:
    """Whether a reference is surely to a tensor on the graph that is no leaf."""
    if not recorded(ref):
        return False
    return not (ref.obj.leaf or ref.obj.param) or any(
        link.kind == VIEW and link.op != "Parameter" for link in ref.chain
    )


def _kept(run: Run, obj: Obj) -> Iterator[tuple[str, ast.AST]]:
    """The tensors on the graph that an object holds here, by name, and where they were put there."""
    fields = run.now.fields(obj)
    if obj.kind in ("list", "tuple", "dict", "instance", "module"):
        for held in fields.values():
            for ref in held.refs:
                if no_leaf(ref) and ref.place is not None and ref.place.node is not None:
                    yield _named(ref.place, ref.place.node, obj)
    if obj.kind != "module" or not isinstance(obj.data, Class):
        return
    calls = run.forwarded.get(obj, set()) or _called_by_others(run, obj)
    for key, name, site in kept_by_forward(run.module, obj.data) if calls else ():
        value = fields.get(key)
        if value is None or any(
            (ref.obj.node in calls or ref.obj.owner == "attribute") and all(link.kind != DETACH for link in ref.chain)
            for ref in value.refs
        ):
            yield name, site
    for cls in _parts(run.module, obj.data) if calls else ():
        yield from ((name, site) for _, name, site in kept_by_forward(run.module, cls))


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


def _called_by_others(run: Run, obj: Obj) -> set[ast.Call]:
    """The calls of a module that self holds, in other methods of the class."""
    cls = run.function.cls
    if cls is None or not run.params or obj.parent is not run.params[0]:
        return set()
    found: set[ast.Call] = set()
    for method in cls.methods.values():
        if method is run.function or method.static:
            continue
        done = run.module.run_of(method)
        if done is not None and done.params:
            for one, nodes in done.forwarded.items():
                if one.slot == obj.slot and one.parent is done.params[0]:
                    found |= nodes
    return found if run.function.name not in methods_from(run.module, cls, "__init__") else set()


def kept_by_forward(module: Module, cls: Class) -> Iterator[tuple[str, str, ast.AST]]:
    """What a call of a module leaves in its attributes on the graph: slot, name, and where it is put there."""
    for name in sorted(methods_from(module, cls, "forward")):
        method = module.method(cls, name)
        done = module.run_of(method) if method is not None and not method.static and name != "__init__" else None
        state = last_state(done) if done is not None else None
        if done is None or state is None or not done.params:
            continue
        for key, held in state.fields(done.params[0]).items():
            for ref in held.refs:
                refs = [ref]
                if ref.obj.kind in ("list", "dict"):
                    refs = [one for value in state.fields(ref.obj).values() for one in value.refs]
                for one in refs:
                    if no_leaf(one) and one.place is not None and one.place.node is not None:
                        yield key, f"self{key}", one.place.node
