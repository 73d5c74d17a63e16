"""One object in every slot: `[layer] * n`, `[t for _ in range(n)]`, `dict.fromkeys(keys, t)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.facts import Fact, RepeatedReference
from flake8_tensorcopy.engine.layers import has_parameters
from flake8_tensorcopy.engine.library import COPIES, HOLDERS
from flake8_tensorcopy.engine.nodes import defaults_of, walk
from flake8_tensorcopy.engine.premises import suppose
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.values import Obj, Ref, Value, Write

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.module import Module

_MEANT = re.compile(r"shar(e|ed|ing)|tied|(^|_)(tie|tying|same|reused?|universal|recurrent|recursive)(_|$)|Tied|Shared")
# What makes the same values from the same arguments.
_CONSTANT = frozenset({"zeros", "ones", "full", "eye", "arange", "linspace", "tensor", "empty"})


class Repeat(NamedTuple):
    """A container of one object: where it was made, and what stands in every slot."""

    node: ast.expr
    item: ast.expr
    how: str
    stmt: ast.stmt | None
    anew: bool = False  # evaluated again, the item shares nothing with the first
    constant: bool = False  # and it is a tensor with the same values


def multiplied(run: Run, node: ast.BinOp, left: Value, right: Value, result: Value) -> None:
    """`[x] * n` and `n * [x]`."""
    for side, shown, count in ((left, node.left, node.right), (right, node.right, node.left)):
        single = (isinstance(count, ast.Constant) and count.value in (0, 1)) or _is_truth(run, count)
        if not isinstance(shown, (ast.List, ast.Tuple)) or single or side.obj is None or result.obj is None:
            continue
        fields = run.now.fields(side.obj)
        for position, item in enumerate(shown.elts):
            value = fields.get(f"[{position}]")
            if value is not None and value.obj is not None:
                _repeat(run, Repeat(node, item, "multiplied", run.stmt), value.obj, result.obj)


def _is_truth(run: Run, count: ast.expr) -> bool:
    """`norm * [nn.BatchNorm1d(n)]` with a truth: there is one, or none."""
    match count:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="int" | "bool"), args=[inner]):
            return _is_truth(run, inner)
        case ast.Name(id=name) if not isinstance(run.function.node, ast.Module):
            spec = run.function.node.args
            truths = [one for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if _says_bool(one.annotation)]
            truths += [one for one, default in defaults_of(spec) if _says_bool(default)]
            return any(one.arg == name for one in truths)
    return False


def _says_bool(said: ast.expr | None) -> bool:
    """Whether an annotation is `bool`, or a default a truth."""
    match said:
        case ast.Name(id="bool") | ast.Constant(value=bool()):
            return True
    return False


Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def comprehended(run: Run, node: Comprehension, item: ast.expr, result: Obj) -> None:
    """`[t for _ in range(n)]`: the item does not depend on the loop."""
    held = run.now.fields(result).get("[*]")
    targets = {n.id for one in node.generators for n in walk(one.target) if isinstance(n, ast.Name)}
    if not isinstance(item, (ast.Name, ast.Attribute)) or targets.intersection(run.names_in(item)):
        return
    if held is not None and held.obj is not None:
        _repeat(run, Repeat(node, item, "comprehension", run.stmt), held.obj, result)
        for ref in held.refs if result in run.repeats else ():
            if ref.place is not None:
                run.repeat_places[ref.place] = result


def appended(run: Run, node: ast.Call | ast.Subscript, item: ast.expr, to: Ref, value: Value) -> None:
    """`layers.append(layer)`, `self.add_module(f"{i}", layer)`, `layers[str(i)] = layer` in a loop: each pass puts the
    very same one there."""
    obj, container, loop = value.obj, to.obj, run.within[-1]
    own = run.params[:1] == [container] and container.kind == "module"
    if obj is None or not (own or container.owner == "fresh"):
        return
    if not isinstance(loop, ast.For) or run.stmt not in loop.body:
        return
    origins = ("argument",) if own else ("name", "attribute")
    if to.place is None or to.place.origin not in origins or len(to.place.loop) >= len(run.loop):
        return  # the loop may meet another list in each pass
    before = run.appended.setdefault((node, container), (obj, run.loop))
    if before[0] is not obj or before[1] == run.loop or not isinstance(item, (ast.Name, ast.Attribute)):
        return
    if any(ref.place is not None and ref.place.loop == run.loop for ref in value.refs):
        return  # a name that this pass bound, to one item of many
    made = Repeat(node if isinstance(node, ast.Call) else item, item, "appended", run.stmt)
    meant = _is_meant(run, made) or _MEANT.search(run.text(node)) is not None
    if meant or not has_parameters(run, obj) or any(isinstance(one, (ast.Break, ast.Return)) for one in walk(loop)):
        return
    run.repeats[container] = made
    if own or container in run.module.registered or container.made.rpartition(".")[2] in HOLDERS:
        run.fact(_fact(run, made, "parameter" if obj.param else "layer"))


def from_keys(run: Run, node: ast.Call, args: Args) -> Value:
    """`dict.fromkeys(keys, x)`."""
    args.use(run)
    made = Obj("dict", "fresh", node, made="fromkeys", operands=args.objs())
    if len(args.values) == 2 and args.values[1].obj is not None:
        _repeat(run, Repeat(node, args.nodes[1], "fromkeys", run.stmt), args.values[1].obj, made)
    return Value((Ref(made),))


def _repeat(run: Run, made: Repeat, obj: Obj, container: Obj) -> None:
    """Follow the container if a write to a slot would matter; say at once that it holds one layer."""
    if _is_meant(run, made):
        return
    if _is_made(run, made.item, obj):
        made = made._replace(anew=True, constant=_is_constant(made.item, obj))
    if has_parameters(run, obj):
        run.repeats[container] = made
        if isinstance(made.item, ast.Call) or _placed(made):
            run.fact(_fact(run, made, "parameter" if obj.param else "layer"))
    elif obj.kind == "tensor":
        run.repeats[container] = made
        container.data = Value((Ref(obj),))
    elif COPIES.search(run.function.name) and _placed(made):
        # A function that promises copies: a caller that passes a layer with parameters gets one.
        suppose(run, obj, "parameters", _fact(run, made, "layer"))


def held_by_module(run: Run, node: ast.Call) -> None:
    """`nn.ModuleList(layers)`, `nn.Sequential(*layers)` of a list that was made before."""
    for item in node.args:
        inner = item.value if isinstance(item, ast.Starred) else item
        value = run.now.env.get(inner.id) if isinstance(inner, ast.Name) else None
        made = run.repeats.get(value.obj) if value is not None and value.obj is not None else None
        if made is not None and not _is_meant(run, Repeat(node, made.item, made.how, run.stmt)):
            run.fact(_fact(run, made, "layer"))


def slot_written(run: Run, write: Write) -> None:
    """A write in place that may be to one slot of such a container."""
    container = write.ref.obj.parent
    if container is not None and container.any_of is not None:
        container = container.any_of
    if container not in run.repeats:
        places = [write.ref.place, *write.ref.via]
        container = next((run.repeat_places[one] for one in places if one in run.repeat_places), None)
    if container is not None and container in run.repeats and write.how != "training":
        run.slot_writes.setdefault(container, write)


def finish_repeats(run: Run) -> None:
    """Tensors: a slot was written in place, and none was bound anew."""
    for container, write in run.slot_writes.items():
        if container not in run.slot_stores:
            run.fact(_fact(run, run.repeats[container], "tensor", write.node, write.op))


def repeats_on_self(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """A container made by one method and written, slot by slot, by another."""
    from flake8_tensorcopy.engine.classes import effects_on_self, methods_of

    held: dict[str, tuple[Function, Run, Repeat]] = {}
    stored: set[str] = set()
    for method in methods_of(module, cls):
        run = module.run_of(method) if not method.static else None
        if run is None or not run.params:
            continue
        me = run.params[0]
        stored.update(obj.slot for obj in run.slot_stores if obj.parent is me)
        for slot, value in run.state.fields(me).items() if run.state is not None else ():
            obj = value.obj
            if obj is not None and obj in run.repeats and obj.data is not None:
                if obj in run.slot_stores:
                    stored.add(slot)
                held[slot] = (method, run, run.repeats[obj])
    if not held:
        return
    for method, effect in effects_on_self(module, cls):
        slots = effect.target.slots
        if len(slots) < 2 or slots[0] not in held or slots[1][0] != "[" or slots[0] in stored or effect.training:
            continue
        maker, run, made = held[slots[0]]
        if maker is not method:
            yield maker, _fact(run, made, "tensor", effect.node, effect.op)
            stored.add(slots[0])


def _fact(run: Run, made: Repeat, holds: str, written: ast.AST | None = None, op: str = "") -> RepeatedReference:
    return RepeatedReference(
        site=made.node,
        item=made.item,
        name=run.short(made.item),
        holds=holds,
        how=made.how,
        anew=made.anew,
        constant=made.constant,
        written=written,
        op=op,
    )


def _is_made(run: Run, item: ast.expr, obj: Obj) -> bool:
    """Whether an expression makes an object that shares nothing with what was there before."""
    if not isinstance(item, ast.Call) or not any(obj.node is inner for inner in ast.walk(item)):
        return False
    for name in run.names_in(item):
        value = run.now.env.get(name)
        if value is not None and any(has_parameters(run, ref.obj) for ref in value.refs):
            return False
    parts = obj.data[1] if isinstance(obj.data, tuple) and obj.data[0] in ("layers", "some layers") else ()
    return obj.owner == "fresh" and all(ref.obj.owner == "fresh" for value in parts for ref in value.refs)


def _is_constant(item: ast.expr, obj: Obj) -> bool:
    inner = [one for one in ast.walk(item) if isinstance(one, (ast.Call, ast.NamedExpr, ast.Await))]
    return obj.node is item and obj.made in _CONSTANT and inner == [item]


def _placed(made: Repeat) -> bool:
    """Whether the container goes straight into a module, or to an attribute."""
    if isinstance(made.stmt, ast.Assign) and any(isinstance(one, ast.Attribute) for one in made.stmt.targets):
        return True
    for item in walk(made.stmt) if made.stmt is not None else ():
        if isinstance(item, ast.Call):
            name = item.func.attr if isinstance(item.func, ast.Attribute) else getattr(item.func, "id", "")
            if name in HOLDERS and any(inner is made.node for inner in walk(item)):
                return True
    return False


def _is_meant(run: Run, made: Repeat) -> bool:
    """Whether names, or the test that leads here, say that one object is wanted."""
    words = [run.text(made.item), run.function.name]
    if run.function.cls is not None:
        words.append(run.function.cls.name)
    if isinstance(made.stmt, ast.Assign):
        targets = [run.text(one) for one in made.stmt.targets]
        if isinstance(made.item, ast.Attribute) and words[0] in targets:
            return True  # `self.head = nn.ModuleList([self.head for _ in range(n)])`
        words.extend(targets)
    words.extend(arm.text for arm in run.now.arms if arm.taken)
    return any(_MEANT.search(word) for word in words)
