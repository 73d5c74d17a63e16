"""One module under two names: a second name, a move, a shallow copy that was taken for a module of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.classes import MethodEffect, effects_on_self
from flake8_tensorcopy.engine.facts import Fact, ModuleAlias
from flake8_tensorcopy.engine.features import MODULE_ALIAS
from flake8_tensorcopy.engine.nodes import stands_in, start_of, walk
from flake8_tensorcopy.engine.run import last_state
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.values import ALIAS, MAYBE, SNAPSHOT, Obj, Place, Ref, Value, Write, exclusive

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run
    from flake8_tensorcopy.engine.state import State

COPY = "copy.copy"
_MODELS = frozenset("model net network policy critic actor encoder decoder backbone student teacher agent ema".split())


class Used(NamedTuple):
    """A module was called, or asked for what it holds."""

    obj: Obj
    tick: int
    called: bool
    grad: bool | None
    node: ast.AST
    method: Function


def module_like(run: Run, obj: Obj) -> bool:
    """Whether an object is a module, as far as its kind, its use and its name say."""
    if obj.kind == "module":
        return True
    words = obj.key.lower().replace(".", "_").split("_")
    return obj.kind == "unknown" and (obj in run.asked or not _MODELS.isdisjoint(words))


def module_used(run: Run, ref: Ref, node: ast.AST, called: bool) -> None:
    """The statement uses a module: say so if its name was to keep another one, which training has left nowhere."""
    run.used.append(Used(ref.obj, run.count(), called, run.now.grad, node, run.function))
    if ref.place is None or not _meant_to_stay(run, ref, ref.place):
        return
    for write in sorted(run.now.written(ref.obj), key=_tick):
        if write.how == "training" and write not in ref.seen:
            alias_read(run, ref, write, node)


def _tick(write: Write) -> int:
    return write.tick


def alias_read(run: Run, ref: Ref, write: Write, node: ast.AST) -> None:
    """A second name of a module is read after the module was trained."""
    place, obj = ref.place, ref.obj
    if place is None or place.origin not in ("name", "argument", "attribute", "store"):
        return
    if write.op.endswith("load_state_dict()") or not module_like(run, obj) or not _trains_by(write):
        return
    if exclusive(write.arms, ref.arms) or exclusive(write.arms, run.now.arms) or exclusive(ref.arms, run.now.arms):
        return
    own = [link for link in ref.chain[: ref.held] if link.op != "="]
    if any(link.kind not in (ALIAS, MAYBE) for link in own) or not _alone(run, place, obj):
        return
    if not _meant_to_stay(run, ref, place):
        return
    frozen = library.says_frozen(place.name)
    site = place.node
    if site is None:
        taken = _taken_from(run, obj, place) if library.says_frozen(place.name, source=True) else None
        if taken is None or taken.node is None:
            return
        site = taken.node
        other: Place | None = taken
    else:
        held = next((one for one in _others(run, obj, place) if frozen or _moved(one)), None)
        other = held.place if held is not None else None
    if other is None or library.says_frozen(other.name) or obj.made == COPY or _said_of_the_class(run, obj, place):
        return
    run.fact(
        ModuleAlias(
            site=site,
            name=place.name,
            module=other.name,
            how=own[-1].op if own else "assignment",
            trained=write.node,
            training=write.op,
            read=node,
            taken=_taken_at(run, site, place.name if site is place.node else other.name),
            keeps=site is place.node and _kept_only([run], place.name, other.name),
        )
    )


def _kept_only(runs: Iterable[Run], name: str, other: str) -> bool:
    """Whether a name, and not the other one of the same module, is the one to keep: in what these functions do, its
    parameters go nowhere but into loops, and it is not the only one of the two that is called."""
    if library.says_frozen(other) and not library.says_frozen(name):
        return False
    called: set[str] = set()
    for run in runs:
        inert: set[ast.AST] = set()  # calls that lead to a loop over the parameters
        for node in walk(run.function.node):
            match node:
                case ast.For(iter=over):
                    inert.update(walk(over))
                case ast.Call(func=ast.Name(id="zip")):
                    inert.update(walk(node))
                case ast.ListComp(elt=elt, generators=[first]) | ast.GeneratorExp(elt=elt, generators=[first]):
                    if not isinstance(elt, (ast.Name, ast.Dict, ast.Tuple)):
                        inert.update(walk(first.iter))
                case ast.Call(func=ast.Attribute(value=value, attr="parameters" | "named_parameters")):
                    if node not in inert and f"{run.text(value)}.".startswith(f"{name}."):
                        return False
                case ast.Call(func=func):
                    called.add(run.text(func))
    return name not in called or other in called


def _taken_at(run: Run, site: ast.AST, name: str) -> ast.AST | None:
    """The module, as an expression, that a statement gives to one name; None where others get the very same."""
    match site:
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
            pass
        case _:
            return None
    if isinstance(target, (ast.Tuple, ast.List)):
        if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != len(target.elts):
            return None
        found = [one for one, to in zip(value.elts, target.elts, strict=True) if run.text(to) == name]
        if len(found) != 1 or any(isinstance(one, ast.Starred) for one in (*value.elts, *target.elts)):
            return None
        value = found[0]
    while (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in library.MODULE_SELF
    ):
        value = value.func.value
    return value


def _said_of_the_class(run: Run, obj: Obj, place: Place) -> bool:
    """Whether a constructor has put what it was given into two attributes: that is where they become one."""
    for fields in run.now.heap.values():
        held = [value.refs[0].place for value in fields.values() if value.obj is obj]
        if place in held and sum(one is not None and one.node is place.node for one in held) > 1:
            return True
    return False


def _trains_by(write: Write) -> bool:
    """A step or a training call, and no assignment of `.data`."""
    return write.op.endswith("()")


def _alone(run: Run, place: Place, obj: Obj) -> bool:
    """Whether the name stands for nothing but this module: no copy of it on another path, no later binding."""
    held = run.now.env.get(place.root) if place.origin == "name" else None
    return held is None or all(
        ref.obj is obj and (ref.place is None or len(ref.place.loop) <= len(place.loop)) for ref in held.refs
    )


def _taken_from(run: Run, obj: Obj, place: Place) -> Place | None:
    """A name that was bound from this one and holds the module."""
    for value in run.now.env.values():
        for ref in value.refs:
            if ref.obj is obj and len(value.refs) == 1 and place in ref.via:
                return ref.place
    return None


def _meant_to_stay(run: Run, ref: Ref, place: Place) -> bool:
    """Whether a name says that it keeps a module as it is, or the module is used without grad after a move."""
    return library.says_frozen(place.name) or (run.now.grad is False and _moved(ref))


def _moved(ref: Ref) -> bool:
    """Whether a binding is to the result of a move, as if that were another module."""
    return any(link.op in ("to", "cuda", "cpu") for link in ref.chain)


def _others(run: Run, obj: Obj, place: Place) -> Iterator[Ref]:
    """The other bindings that still hold the module, and not only its parameters."""
    for name, value in run.now.env.items():
        for ref in value.refs:
            if ref.obj is obj and name != place.root and len(value.refs) == 1 and ref.place is not None:
                if _whole(ref):
                    yield ref
    parent = obj.parent
    if parent is not None and obj.slot[:1] == ".":
        held = run.now.fields(parent).get(obj.slot)
        if (held is None or held.obj is obj) and obj.key != place.name:
            yield Ref(obj, (), Place(obj.key, None))
    for fields in run.now.heap.values():
        for slot, value in fields.items():
            for ref in value.refs[:1] if len(value.refs) == 1 and slot[:1] == "." else ():
                if ref.obj is obj and ref.place not in (None, place) and _whole(ref):
                    yield ref


def _whole(ref: Ref) -> bool:
    """Whether a reference is to the module itself, however it was handed on."""
    return all(link.kind in (ALIAS, MAYBE) for link in ref.chain)


# ----- shallow copies


def shallow(run: Run, node: ast.Call, value: Value) -> Value | None:
    """`copy.copy(module)`: a new object that has the very same parameters."""
    obj = value.obj
    if obj is None or obj.kind not in ("module", "unknown", "instance"):
        return None
    made = Obj("module" if obj.kind == "module" else "unknown", "fresh", node, made=COPY, operands=(obj,), cls=obj.cls)
    made.data = obj.data if obj.kind == "module" and not isinstance(obj.data, tuple) else None
    run.shallow.append((made, obj, run.count()))
    return Value((Ref(made),))


def settle_copies(run: Run) -> None:
    """At the end: which shallow copies were trained, or kept while the other was."""
    if not run.shallow:
        return
    returned = {ref.obj for one in run.returned for ref in one.value.refs}
    used: dict[Obj, list[Used]] = {}
    for use in run.used:
        used.setdefault(use.obj, []).append(use)
    for made, source, tick in run.shallow:
        pairs = [(made, source), (source, made)]
        if not (module_like(run, made) and made in run.asked) and not (source.kind == "module" or source in run.asked):
            if not (module_like(run, source) and any(use.called for use in used.get(source, ()))):
                continue
            pairs = pairs[1:]  # called like a model, and trained like one
        for one, other in pairs:
            writes = run.once(_writes_by_owner).get(one, ())
            write = next((w for w in writes if _trained(w, one) and w.tick > tick), None)
            outside = other.owner != "fresh" or other in returned
            if write is not None and (outside or any(use.tick > write.tick for use in used.get(other, ()))):
                assert made.node is not None
                run.fact(
                    ModuleAlias(
                        site=made.node,
                        name=made.key or "the copy",
                        module=source.key or "the module",
                        how=COPY,
                        trained=write.node,
                        training=write.op,
                        read=None,
                        taken=made.node,
                    )
                )
                break


def _writes_by_owner(run: Run) -> dict[Obj | None, list[Write]]:
    """The writes that may train a module, by the module."""
    found: dict[Obj | None, list[Write]] = {}
    for write in run.log:
        owner = write.ref.obj if write.how == "training" else write.ref.obj.parent
        found.setdefault(owner, []).append(write)
    return found


def _trained(write: Write, module: Obj) -> bool:
    if write.how == "training":
        return write.ref.obj is module and _trains_by(write) and not write.op.endswith("load_state_dict()")
    return write.ref.obj.param and write.ref.obj.parent is module and write.op not in ("copy_", "zero_", "normal_")


# ----- attributes of one object


def aliases_on_self(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """Two attributes hold one module: a method trains it, and one of the two was to stay as it was."""
    effects = None
    for method in cls.methods.values():
        run = module.run_of(method) if method.features & MODULE_ALIAS and not method.static else None
        state = last_state(run) if run is not None else None
        if run is None or state is None or not run.params:
            continue
        me = run.params[0]
        fields = state.fields(me)
        for key, value in fields.items():
            ref = _put_there(cls, method, me, key, value)
            if ref is None:
                continue
            fact = _averaged_into_itself(module, cls, run, key, ref)
            if fact is not None:
                yield method, fact
                continue
            other = _sibling(run, me, fields, key, ref)
            if other is None or not _apart(module, cls, run, key, other, ref):
                continue
            if effects is None:
                effects = [one for one in effects_on_self(module, cls) if _trains(one)]
            over = () if _trained_since(state, value, ref.obj) else _run_by(module, cls, method)
            trained = [one for one in effects if one.effect.target.slots[:1] in ((key,), (other,))]
            found = next((one.effect for one in trained if one.method not in over), None)
            if found is not None:
                yield method, _on_self(module, cls, run, key, other, value, found.node, found.op)
            elif not trained and (called := _target_of_itself(module, cls, key, other)) is not None:
                yield method, _on_self(module, cls, run, key, other, value, called, "")


def _on_self(
    module: Module, cls: Class, run: Run, key: str, other: str, value: Value, trained: ast.AST, training: str
) -> ModuleAlias:
    """Two attributes of an object are one module."""
    state = last_state(run)
    assert state is not None
    fields, ref = state.fields(run.params[0]), _given(run.params[0], key, value)[0]
    assert ref.place is not None and ref.place.node is not None
    site: ast.AST = ref.place.node
    bound = key
    with_it = fields.get(other)
    if with_it is not None and with_it.obj is ref.obj and _before(ref, with_it.refs[0]):
        held = with_it.refs[0].place
        if held is not None and held.node is not None:
            site, bound = held.node, other
    taken = _taken_at(run, site, f"self{bound}")
    if ref.obj.made == COPY and ref.obj.node is not None:
        site = taken = ref.obj.node
    own = [link.op for link in ref.chain if link.op != "="]
    names = (f"self{key}", f"self{other}") if bound == key else (f"self{other}", f"self{key}")
    methods = [module.run_of(one) for one in cls.methods.values()]
    kept = _kept_only([one for one in methods if one is not None], *names)
    return ModuleAlias(
        site=site,
        name=f"self{key}",
        module=f"self{other}",
        how=COPY if ref.obj.made == COPY else own[-1] if own else "assignment",
        trained=trained,
        training=training,
        read=None,
        taken=taken,
        keeps=bound == key and kept,
    )


def _target_of_itself(module: Module, cls: Class, key: str, other: str) -> ast.AST | None:
    """In a Module that is trained elsewhere: where a method calls the one of two attributes with gradients, beside the
    one that its name says to be frozen, which the class calls without them only."""
    frozen, live = (key, other) if library.says_frozen(key) else (other, key)
    if not module.is_module(cls) or not library.says_frozen(frozen) or library.says_frozen(live):
        return None
    if {use.grad for use in _calls(module, cls, frozen)} != {False}:
        return None
    beside = {use.method for use in _calls(module, cls, frozen)}
    return next((use.node for use in _calls(module, cls, live) if use.grad and use.method in beside), None)


def _trains(one: MethodEffect) -> bool:
    return one.effect.training and "load_state" not in one.effect.op


def _put_there(cls: Class, method: Function, me: Obj, key: str, value: Value) -> Ref | None:
    """What a statement of a method has given an attribute, perhaps on some paths only; it is the only one then, but for
    one of the constructor."""
    refs = _given(me, key, value)
    sites = {(ref.obj, ref.place.node if ref.place is not None else None) for ref in refs}
    if len(sites) != 1 or refs[0].place is None or refs[0].place.node is None:
        return None
    alone = len(value.refs) == 1 or cls.assigns.get(key[1:], set()) <= {"__init__", method.name}
    return refs[0] if alone else None


def _given(me: Obj, key: str, value: Value) -> list[Ref]:
    """What an attribute may have, without what it had when the method began."""
    return [ref for ref in value.refs if ref.obj.parent is not me or ref.obj.slot != key]


def _trained_since(state: State, value: Value, obj: Obj) -> bool:
    """Whether the method that gave the module its second name has trained it afterwards, if only in a later pass."""
    source = obj.operands[0] if obj.made == COPY and obj.operands else obj
    writes = [write for write in state.written(source) if write.how == "training"]
    return any(write not in ref.seen for ref in value.refs if ref.obj is obj for write in writes)


def _run_by(module: Module, cls: Class, method: Function) -> list[Function]:
    """A method, and the methods of its class that it may call."""
    found = [method]
    for one in found:
        called = (module.method(cls, name) for name in sorted(one.calls))
        found += [inner for inner in called if inner is not None and inner not in found]
    return found


def _averaged_into_itself(module: Module, cls: Class, run: Run, key: str, ref: Ref) -> ModuleAlias | None:
    """`self.ema = copy.copy(model)`, and a method that writes the parameters of the one from those of a model that it
    is given: they are the very same ones."""
    made = ref.obj
    if made.made != COPY or made.node is None or not made.operands or made.operands[0] not in run.params[1:]:
        return None
    for found in effects_on_self(module, cls):
        done = module.run_of(found.method)
        trains = found.effect.training or any(link.kind == SNAPSHOT for link in found.effect.chain)
        if done is None or not trains or found.effect.target.slots[:1] != (key,):
            continue
        if any(obj in done.asked for obj in done.params[1:]):
            return ModuleAlias(
                site=made.node,
                name=f"self{key}",
                module=made.operands[0].key,
                how=COPY,
                trained=found.effect.node,
                training=found.effect.op,
                read=None,
                taken=made.node,
            )
    return None


def _sibling(run: Run, me: Obj, fields: dict[str, Value], key: str, ref: Ref) -> str | None:
    """The attribute that has the module of this one: stored before it, or the one that it was taken from."""
    obj = ref.obj.operands[0] if ref.obj.made == COPY and ref.obj.operands else ref.obj
    if not module_like(run, obj) and not _asked_by_constructor(run, obj):
        return None
    if obj.parent is me and obj.slot not in (key, "") and fields.get(obj.slot, Value((Ref(obj),))).obj is obj:
        return obj.slot
    for other, value in fields.items():
        if other != key and value.obj is obj and (library.says_frozen(key) or _before(value.refs[0], ref)):
            return other
    return None


def _asked_by_constructor(run: Run, obj: Obj) -> bool:
    """Whether `__init__` asks what it puts into the attribute for its parameters."""
    init = (
        run.function.cls.methods.get("__init__") if run.function.cls is not None and obj.owner == "attribute" else None
    )
    made = run.module.run_of(init) if init is not None and init is not run.function else None
    state = last_state(made) if made is not None else None
    if made is None or state is None or not made.params:
        return False
    held = state.fields(made.params[0]).get(obj.slot)
    return held is not None and held.obj in made.asked


def _before(one: Ref, other: Ref) -> bool:
    first, second = one.place, other.place
    return start_of(first.node if first is not None else None) < start_of(second.node if second is not None else None)


def _apart(module: Module, cls: Class, run: Run, key: str, other: str, ref: Ref) -> bool:
    """Whether one of two attributes was to be a module of its own: its name says so, or it was moved (as if that made
    another one) and is only called without gradients, the other one with them."""
    if library.says_frozen(other) and not library.says_frozen(other, source=True):
        return False
    if library.says_frozen(key) != library.says_frozen(other):
        frozen = key if library.says_frozen(key) else other
        return not (library.says_as_given(frozen) and _only_given_back(module, frozen))
    moved = _moved(ref) or ref.obj.made == COPY
    if not moved or library.says_frozen(key):
        return False
    modes, others = ({use.grad for use in _calls(module, cls, slot)} for slot in (key, other))
    return modes == {False} and True in others


def _calls(module: Module, cls: Class, slot: str) -> Iterator[Used]:
    """Where the methods of a class call a module that the object has."""
    for method in cls.methods.values():
        done = module.run_of(method) if not method.static else None
        for use in done.used if done is not None and done.params else ():
            if use.called and done is not None and use.obj.parent is done.params[0] and use.obj.slot == slot:
                yield use


def _only_given_back(module: Module, key: str) -> bool:
    """Whether the file does nothing with an attribute but set and return it: its weights are compared with none."""
    below = module.below(module.survey.body.node)
    for one in below.attributes.get(key[1:], ()):
        match below.parents.get(one):
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is one:
                function = next(node for node in below.around(one) if isinstance(node, (*_FUNCTIONS, ast.Module)))
                named = [node for node in below.names[name] if stands_in(node, function)]
                read = [below.parents.get(node) for node in named if isinstance(node.ctx, ast.Load)]
                if all(isinstance(outer, ast.Return) for outer in read):
                    continue
            case ast.Return():
                continue
        if isinstance(one.ctx, ast.Load):
            return False
    return True


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
