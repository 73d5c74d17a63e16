"""Parameters built over tensors that live on: `nn.Parameter(t)`, `from_pretrained(t, freeze=False)` and their like."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.facts import WrappedTensor
from flake8_tensorcopy.engine.nodes import start_of, walk
from flake8_tensorcopy.engine.notes import Use
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.values import ALIAS, DETACH, SNAPSHOT, VIEW, Arm, Obj, Ref, Value, Write, exclusive

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args


class Wrap(NamedTuple):
    """A parameter over a tensor that has a name."""

    node: ast.Call
    ref: Ref
    op: str
    loop: tuple[int, ...]
    tick: int
    trained: bool  # the parameter is one, not frozen
    arms: frozenset[Arm]
    owner: Obj | None = None  # the module that has it, where its constructor was given the tensor


MAX_WRAPS = 50  # the last ones of a function


class Assigned(NamedTuple):
    """A state that a module took over as it is: `load_state_dict(state, assign=True)`."""

    node: ast.Call
    state: Ref
    module: Obj
    arms: frozenset[Arm]


def wrap(run: Run, node: ast.Call, value: Value, op: str, trained: bool = True) -> None:
    """A constructor takes over the storage of what it is given."""
    if len(value.refs) != 1:
        return
    ref = value.refs[0]
    if ref.place is None or not _live(ref):
        return
    made = Wrap(node, ref, op, run.loop, run.count(), trained, run.now.arms | ref.arms)
    for known in run.wraps[-MAX_WRAPS:] if op != "vector_to_parameters" else ():
        again = known.node is not node or known.loop != run.loop
        if again and known.ref.obj is ref.obj and known.op != "vector_to_parameters":
            if not exclusive(known.arms, made.arms) and _same(known.ref, ref):
                for one, other in ((known, made), (made, known)):
                    if one.trained:
                        _report(run, one, "wrapped", other.node, ref.place.name)
    run.wraps.append(made)


def wrapped_inside(run: Run, done: Run, values: dict[int, Value], made: Obj) -> None:
    """A constructor of this file builds a parameter over a tensor that it is given here."""
    given = {done.params[position]: value for position, value in values.items() if position < len(done.params)}
    for one in done.wraps:
        value = given.get(one.ref.obj)
        ref = value.refs[0] if value is not None and len(value.refs) == 1 else None
        if ref is not None and ref.place is not None and one.trained and not one.arms and _live(ref):
            if run.evidence_of(ref, run.stmt) >= 2 or run.evidence_of(one.ref, None) >= 2:
                run.wraps.append(
                    Wrap(one.node, ref, one.op, run.loop, run.count(), True, run.now.arms | ref.arms, made)
                )


def _live(ref: Ref) -> bool:
    """A tensor of somebody's, that is no parameter: one parameter in two places is tied on purpose."""
    obj = ref.obj
    if obj.param or obj.slot in (".weight", ".bias", ".grad") or obj.kind in ("array", "module", "list", "dict"):
        return False
    return all(link.kind in (ALIAS, DETACH, VIEW) and link.op != "Parameter" for link in ref.chain)


def _same(one: Ref, other: Ref) -> bool:
    """Whether both are the whole, or the same part."""
    return [link.key for link in one.chain if link.key] == [link.key for link in other.chain if link.key]


def _beside(made: Wrap, ref: Ref) -> bool:
    """Whether a reference reaches the wrapped storage on another way than through the parameter."""
    return ref.obj is made.ref.obj and all(
        link.node is not made.node and link.kind in (ALIAS, DETACH, VIEW) and link.op != "Parameter"
        for link in ref.chain
    )


def wrapped_read(run: Run, use: Use) -> None:
    """The tensor is read after something has trained the parameter."""
    if use.role in ("bind", "test", "logged", "receiver", "store"):
        return
    for made in run.wraps[-MAX_WRAPS:]:
        if made.trained and made.tick < use.tick and _beside(made, use.ref) and _trained_since(run, made, use.tick):
            if use.ref.place is not None and not exclusive(use.ref.arms, made.arms):
                _report(run, made, "read", use.node, use.ref.place.name)


def _trained_since(run: Run, made: Wrap, tick: int) -> bool:
    """Whether an optimizer stepped, or a call that trains was made, in between."""
    return any(
        write.how == "training" and made.tick < write.tick < tick and made.owner in (None, write.ref.obj)
        for write in run.log
    ) or (made.owner is None and any(made.tick < step < tick for step in run.steps))


def wrapped_written(run: Run, write: Write) -> None:
    """The tensor is written under its own name, and the parameter changes with it."""
    if write.how == "training":
        return
    for made in run.wraps:
        if made.owner is not None and not _trained_since(run, made, write.tick):
            continue
        if not _beside(made, write.ref) or write.ref.place is None or exclusive(write.arms, made.arms):
            continue
        # Initialised after it was wrapped: the same as before.
        if made.ref.obj.owner == "fresh" and not _trained_since(run, made, write.tick):
            continue
        if made.op != "vector_to_parameters" or not (run.loop or _given_anew(run, made, write)):
            _report(run, made, "written", write.node, write.ref.place.name)


def _given_anew(run: Run, made: Wrap, write: Write) -> bool:
    """Whether the parameters get the same vector once more after it was written: they are to change with it."""
    given = [run.text(argument) for argument in made.node.args]
    return any(
        isinstance(node, ast.Call)
        and start_of(node) > start_of(write.node)
        and run.text(node.func) == run.text(made.node.func)
        and [run.text(argument) for argument in node.args] == given
        for node in walk(run.function.node)
    )


def wrapped_in_each_pass(run: Run, known: int, outer: tuple[int, ...]) -> None:
    """A comprehension that made several parameters over one tensor."""
    for made in run.wraps[known:]:
        place = made.ref.place
        parts = any(link.key is not None for link in made.ref.chain)  # of each pass its own, perhaps
        if made.trained and place is not None and len(place.loop) <= len(outer) and not parts:
            _report(run, made, "wrapped", made.node, place.name)


def finish_wraps(run: Run) -> None:
    """In a constructor: the tensor is also kept in an attribute that another method reads."""
    cls = run.function.cls
    if not run.wraps or cls is None or not run.params or run.state is None:
        return
    if not run.module.is_module(cls) and not any("step" in function.calls for function in run.module.survey.all):
        return  # not a part of what is trained, and nothing here trains
    for slot, value in run.state.fields(run.params[0]).items():
        for ref in value.refs:
            for made in run.wraps:
                if made.trained and _beside(made, ref) and not exclusive(made.arms, ref.arms):
                    reader = reader_of(cls, slot[1:], run.function.name)
                    if reader is not None:
                        _report(run, made, "kept", reader, f"{run.params[0].key}{slot}")


def reader_of(cls: Class, attribute: str, besides: str) -> ast.AST | None:
    """Where another method reads the values of `self.attribute`."""
    if cls.assigns.get(attribute, set()) - {besides}:
        return None
    for method in cls.methods.values():
        if method.name == besides:
            continue
        spared: set[ast.AST] = set()
        for node in ast.walk(method.node):
            if isinstance(node, ast.Attribute) and node.attr in library.METADATA:
                spared.add(node.value)
            elif (
                isinstance(node, ast.Attribute)
                and node.attr == attribute
                and isinstance(node.ctx, ast.Load)
                and node not in spared
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            ):
                return node
    return None


def assigned(run: Run, node: ast.Call, target: Obj, args: Args) -> None:
    """`a.load_state_dict(b.state_dict(), assign=True)`: both modules have the same parameters."""
    if not args.flag("assign", 2) or not args.values:
        return
    _assigned_again(run, node, target, args.values[0])
    for ref in args.values[0].refs:
        for held in run.now.fields(ref.obj).values() if ref.obj.data == "state" else ():
            for one in held.refs:
                if one.obj is not target and one.obj.owner != "fresh" and any(x.kind == SNAPSHOT for x in one.chain):
                    made = Wrap(node, one, "load_state_dict", run.loop, run.count(), True, run.now.arms)
                    _report(run, made, "source", node, one.obj.key or "the other module")


def _assigned_again(run: Run, node: ast.Call, target: Obj, value: Value) -> None:
    """The state is that of another module already, and something of this file trains."""
    if len(value.refs) != 1 or value.refs[0].place is None or value.refs[0].obj.data == "state":
        return
    ref = value.refs[0]
    assert ref.place is not None
    made = Assigned(node, ref, target, run.now.arms | ref.arms)
    for known in run.assigned_states:
        if known.state.obj is ref.obj and known.module is not target and not exclusive(known.arms, made.arms):
            if any("step" in function.calls for function in run.module.survey.all):
                first = Wrap(known.node, ref, "load_state_dict", run.loop, run.count(), True, known.arms)
                _report(run, first, "wrapped", node, ref.place.name)
                _report(run, first._replace(node=node), "wrapped", known.node, ref.place.name)
    run.assigned_states.append(made)


def _given_to(call: ast.Call) -> ast.expr | None:
    """The tensor among the arguments: the first, or by its name."""
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    return next((one.value for one in call.keywords if one.arg in ("data", "embeddings", "vec")), None)


def _report(run: Run, made: Wrap, reason: str, other: ast.AST, shown: str) -> None:
    obj = made.ref.obj
    place = made.ref.place
    run.fact(
        WrappedTensor(
            site=made.node,
            name=shown if place is None or reason == "source" else place.name,
            op=made.op,
            reason=reason,
            other=other,
            shown=shown,
            owner=obj.owner,
            given=_given_to(made.node) if made.op != "load_state_dict" else None,
        ),
        (("source", "read", "written", "wrapped", "kept").index(reason),),
    )
