"""Transfers: which call brings which reference to which device, what is in flight, what a move moves for nothing."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.devices import Flight, Looped, Move
from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import (
    CreatedThenMoved,
    OverwrittenSource,
    PinnedMove,
    RoundTrip,
    UnwaitedRead,
    WidenedMove,
    changed,
)
from flake8_tensorcopy.engine.library import DEVICE, FACTORIES, LOADER
from flake8_tensorcopy.engine.linked import dtype_of
from flake8_tensorcopy.engine.liveness import bound_here_only
from flake8_tensorcopy.engine.names import TYPED
from flake8_tensorcopy.engine.nodes import end_of, start_of
from flake8_tensorcopy.engine.parts import Index, all_passes, must_overlap
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import (
    ALIAS,
    ARRAY_ONLY,
    MAYBE,
    NUMPY,
    TO_ARRAY,
    UNSURE,
    Chain,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    Write,
    exclusive,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.module import Module

MOVES = frozenset({"to", "cuda", "cpu"})

# Bytes of an element.
WIDTHS = {"bool": 1, "uint8": 1, "int8": 1, "float16": 2, "bfloat16": 2, "int16": 2, "int32": 4, "float32": 4}
WIDTHS |= {"int64": 8, "float64": 8}
NARROW = frozenset({"bool", "uint8", "int8", "int16", "float16", "bfloat16"})

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_WAITS = re.compile(r"sync|wait|barrier|flush|query|^join$|^result$|^block", re.IGNORECASE)
_DEFAULTS = frozenset({"set_default_device", "set_default_tensor_type"})
_MAX_BACK = 12
_MAX_FLIGHTS = 40

# Methods that write without a look at what is there.
_OVERWRITES = frozenset("copy_ zero_ fill_ set_ resize_ random_ uniform_ normal_".split())


# ----- moves


def move_of(run: Run, node: ast.AST) -> Move | None:
    """What a call moves where, or None for what is no move between devices."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in MOVES:
        return None
    known = run.devices.moves.get(node)
    if known is None and node not in run.devices.moves:
        known = run.devices.moves[node] = _read_move(run, node, node.func.attr)
    return known


def to_device_only(run: Run, node: ast.Call) -> bool:
    """Whether a call surely moves a tensor to a device and changes nothing else of it, as its dtype."""
    move = move_of(run, node)
    if move is None or move.dtype is not None:
        return False
    if any(keyword.arg not in ("device", "non_blocking") for keyword in node.keywords):
        return False
    asked = next((keyword.value for keyword in node.keywords if keyword.arg == "device"), None)
    asked = asked or (node.args[0] if node.args else None)
    value = run.now.env.get(asked.id) if isinstance(asked, ast.Name) else None
    return value is None or all(ref.obj.kind != "tensor" for ref in value.refs)  # `x.to(y)` takes the dtype too


def _read_move(run: Run, node: ast.Call, name: str) -> Move | None:
    assert isinstance(node.func, ast.Attribute)
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if None in keywords or any(isinstance(item, ast.Starred) for item in node.args):
        return None
    rest = list(node.args)
    if name == "cpu":
        return Move("cpu", True, "cpu", None, False)
    device = keywords.get("device") or (rest.pop(0) if rest else None)
    flag = keywords.get("non_blocking") or (rest[-1] if rest and _is_flag(rest[-1]) else None)
    known = flag.value if isinstance(flag, ast.Constant) and isinstance(flag.value, bool) else None
    non_blocking = False if flag is None else known
    if name == "cuda":
        return Move("cuda", True, "cuda" if device is None else run.short(device), None, non_blocking)
    if device is None:
        return None
    kind = device_type(run, device)
    if kind is None or run.text(device) == f"{run.text(node.func.value)}.device":
        return None
    dtype = keywords.get("dtype") or (rest[0] if rest and not _is_flag(rest[0]) else None)
    return Move(kind, not isinstance(device, (ast.Name, ast.Attribute)), run.short(device), dtype, non_blocking)


def _is_flag(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def device_type(run: Run, node: ast.expr) -> str | None:
    """The type of the device that an expression names; nothing if it cannot be told, None if it may name no device."""
    match node:
        case ast.Constant(value=str(text)):
            return text.split(":")[0]
        case ast.Constant(value=int(index)) if not isinstance(index, bool):
            return "cuda"
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) if ":" in text:
            return text.split(":")[0]
        case ast.Call() if is_imported(run, node.func) == "torch.device":
            literal = bool(node.args) and isinstance(node.args[0], (ast.Constant, ast.JoinedStr, ast.IfExp))
            return (device_type(run, node.args[0]) if literal else None) or ""
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return "" if name.endswith("_device") else None  # `torch.cuda.current_device()`, `x.get_device()`
        case ast.Subscript(value=inner):
            return "" if device_type(run, inner) == "" else None
        case ast.IfExp():
            yes, no = device_type(run, node.body), device_type(run, node.orelse)
            return yes if yes == no else "" if yes is not None and no is not None else None
        case ast.Attribute(attr=name):
            return "" if DEVICE.search(name) else None
        case ast.Name(id=name):
            value = run.now.env.get(name)
            if value is not None and value.kind == "str" and isinstance(value.const, str) and not value.refs:
                return value.const.split(":")[0]
            made = value.obj.node if value is not None and value.obj is not None else None
            if isinstance(made, ast.Call) and is_imported(run, made.func) == "torch.device":
                return device_type(run, made)
            if value is not None and value.obj is not None and value.obj.kind == "tensor":
                return ""  # `x.to(y)`
            return "" if DEVICE.search(name) or _annotated(run, name) else None
    return None


def _annotated(run: Run, name: str) -> bool:
    """Whether a parameter is annotated as a device."""
    spec = getattr(run.function.node, "args", None)
    if not isinstance(spec, ast.arguments):
        return False
    given = next((one for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if one.arg == name), None)
    return given is not None and given.annotation is not None and run.text(given.annotation) == "torch.device"


def place_of(run: Run, ref: Ref, depth: int = 0) -> str:
    """Where the tensor lies: "cpu", the type of another device, or nothing where that is not known."""
    for link in reversed(ref.chain):
        if link.kind == NUMPY:
            return "cpu"
        if link.kind == MAYBE:
            move = move_of(run, link.node)
            if move is not None:
                return move.to or "device"
            if link.op in MOVES and not link.dtype:
                return ""
    return _home(run, ref.obj, depth)


def _home(run: Run, obj: Obj, depth: int) -> str:
    node = obj.node
    if obj.kind == "array" or obj.pinned or loader_of(obj) is not None:
        return "cpu"
    if obj.owner != "fresh" or depth > _MAX_BACK:
        return run.devices.homes.get(obj, "")
    move = move_of(run, node) if node is not None else None
    if move is not None:
        return move.to or "device"
    if isinstance(node, ast.Call):
        name = is_imported(run, node.func) or ""
        op = ops.function(name)
        if op is not None and op.factory:
            return _placed(run, node)
        if name.startswith("torch.") and name[6:] in TYPED:
            return "cpu"  # those of `torch.cuda` have a name of their own
    if obj.copied is not None and len(obj.operands) <= 1:
        return place_of(run, obj.copied, depth + 1)
    if obj.kind in ("list", "tuple"):
        places = {place_of(run, one, depth + 1) for held in run.now.fields(obj).values() for one in held.refs}
        return places.pop() if len(places) == 1 else ""
    known = run.devices.homes.get(obj)
    if known is None:
        places = {place_of(run, one, depth + 1) for one in obj.inputs}
        places.update(_home(run, one, depth + 1) for one in obj.operands[len(obj.inputs) :])
        known = run.devices.homes[obj] = places.pop() if len(places) == 1 else ""
    return known


def _placed(run: Run, node: ast.Call) -> str:
    """Where a factory makes its tensor."""
    for keyword in node.keywords:
        if keyword.arg is None:
            return ""
        if keyword.arg == "device":
            return device_type(run, keyword.value) or ""
    return _default_device(run, node)


def _default_device(run: Run, node: ast.AST) -> str:
    """Where a factory makes its tensor that is told nothing: where `with torch.device(..)` says, or the whole file."""
    if run.module.once(_sets_default_device):
        return ""
    parents = run.parents()
    at = parents.get(node)
    while at is not None:
        if isinstance(at, (ast.With, ast.AsyncWith)):
            for item in at.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and is_imported(run, call.func) == "torch.device":
                    return device_type(run, call) or ""
        at = parents.get(at)
    return "cpu"


def _sets_default_device(module: Module) -> bool:
    return any(not _DEFAULTS.isdisjoint(one.calls) for one in module.survey.all)


def leaves_host(run: Run, ref: Ref, node: ast.AST) -> bool:
    """Whether a call surely copies: from the host, as its maker says, to a device that is written out."""
    move = move_of(run, node)
    if move is None or move.to in ("", "cpu", "meta") or not move.literal or ref.chain:
        return False
    made = ref.obj.node
    asked = [item.value for item in made.keywords if item.arg == "device"] if isinstance(made, ast.Call) else []
    return bool(asked) and device_type(run, asked[0]) == "cpu" and _home(run, ref.obj, 0) == "cpu"


def loader_of(obj: Obj) -> ast.Call | None:
    """The DataLoader that an item (or part of one) comes from."""
    while obj.parent is not None and obj.owner == "item":
        obj = obj.parent
        if obj.cls == LOADER:
            return obj.data[1] if isinstance(obj.data, tuple) else None
    return None


def is_tensor(run: Run, obj: Obj) -> bool:
    return run.evidence(obj, run.stmt) >= 2


# ----- methods


def after_method(run: Run, node: ast.Call, base: Value, name: str) -> None:
    """A method has been called: does it move, start a copy, wait?"""
    if name in MOVES:
        move = move_of(run, node)
        if move is not None:
            for ref in base.refs:
                if ref.kind in ("tensor", "unknown") and not ref.obj.refuted:
                    _moved(run, node, ref, move, base)
        # A blocking copy waits for the stream; of what lies there already it may be none, but that is not to be told.
        if move is not None and not move.non_blocking:
            wait(run)
    elif name == "copy_":
        _copied_into(run, node, base)
    elif name in ("item", "tolist", "nonzero") or _WAITS.search(name):
        wait(run)
    elif name in ("backward", "manual_backward") or (name == "scale" and "scaler" in run.text(node.func).lower()):
        # `accelerator.backward(loss)`, `scaler.scale(loss).backward()`
        given = run.devices.source
        run.devices.losses.extend(ref.obj for ref in (given.refs if given is not None else ()))


def wait(run: Run) -> None:
    """From here on nothing is in flight."""
    run.devices.waits = True
    if run.now.flights:
        run.now.flights = dict.fromkeys(run.now.flights)


def waits_by_name(name: str) -> bool:
    """Whether a function's name says that it waits."""
    return bool(_WAITS.search(name))


def _start(run: Run, node: ast.AST, flight: Flight) -> None:
    known = run.now.flights
    if len(known) >= _MAX_FLIGHTS:
        known = dict(list(known.items())[-_MAX_FLIGHTS // 2 :])
    run.now.flights = {**known, node: flight}


def _moved(run: Run, node: ast.Call, ref: Ref, move: Move, base: Value) -> None:
    assert isinstance(node.func, ast.Attribute)
    receiver = node.func.value
    if move.to == "cpu":
        if move.non_blocking and place_of(run, ref) != "cpu":
            _start(run, node, Flight(True, None, None, run.short(receiver), node))
    elif move.non_blocking and ref.obj.pinned and is_tensor(run, ref.obj):
        _start(run, node, Flight(False, ref.obj, ref, run.short(receiver), node))
    if run.loop and run.stmt is not None:
        run.devices.looped.setdefault(node, Looped(node, run.stmt, ref, move, place_of(run, ref)))
    if move.to == "cpu":
        return
    _pinned(run, node, ref, move, receiver)
    if all(place_of(run, other) == "cpu" for other in base.refs if other is not ref):  # else it may be there already
        _widened(run, node, ref, move, receiver)
    _created(run, node, move, receiver)
    round_trip(run, node, ref, move.device)


def _copied_into(run: Run, node: ast.Call, base: Value) -> None:
    """`pinned.copy_(x, non_blocking=True)`, or from pinned memory to a device."""
    flag = next((item.value for item in node.keywords if item.arg == "non_blocking"), None)
    flag = flag or (node.args[1] if len(node.args) > 1 else None)
    if not (isinstance(flag, ast.Constant) and flag.value is True) or not node.args:
        return
    source = run.devices.source
    for ref in base.refs:
        if ref.obj.pinned and is_tensor(run, ref.obj) and not _all_on_host(run, source):
            _start(run, node, Flight(True, ref.obj, None, run.short(node.args[0]), node))
        elif source is not None and place_of(run, ref) != "cpu":
            for one in source.refs:
                if one.obj.pinned:
                    _start(run, node, Flight(False, one.obj, one, run.short(node.args[0]), node))


def _all_on_host(run: Run, value: Value | None) -> bool:
    return value is None or not value.refs or all(place_of(run, ref) == "cpu" for ref in value.refs)


# ----- reads and writes of what is in flight


def host_use(run: Run, value: Value, node: ast.AST, role: str) -> None:
    """Values in flight to the host are read before they have arrived."""
    if run.devices.storing or role in ("bind", "store", "receiver", "item", "iterate"):
        return
    if role == "operand" and _not_read_there(run, node):
        return
    for ref in value.refs:
        found = _in_flight(run, ref)
        if found is None or exclusive(ref.arms, run.now.arms):
            if found is None and role in ("test", "logged", "number") and ref.kind in ("tensor", "unknown"):
                if place_of(run, ref) != "cpu":
                    wait(run)  # Python looks at a tensor that may lie on the device
            continue
        copy, flight, array = found
        site = array.node if array is not None and isinstance(array.node, ast.expr) else node
        if array is None and role in ("argument", "return", "yield"):
            continue
        run.fact(
            UnwaitedRead(
                site=site,
                source=flight.name,
                name=ref.place.name if ref.place is not None else "",
                copy=copy,
                started=flight.node,
                how="numpy" if site is not node else role,
                into=flight.obj is not None,
            )
        )
        run.now.flights = {**run.now.flights, copy: None}


def _not_read_there(run: Run, node: ast.AST) -> bool:
    """Whether a method of something that may be no tensor takes it (`queue.put(x)`), or a copy that may go to a device,
    in the order of the stream."""
    match run.parents().get(node):
        case ast.Call(func=ast.Attribute(value=receiver)) as call if receiver is not node and call in run.method_calls:
            base, name = run.method_calls[call]
            if name == "copy_":
                return any(place_of(run, ref) != "cpu" for ref in base.refs)
            return all(run.evidence(ref.obj, run.stmt) < 1 for ref in base.refs)
    return False


def _in_flight(run: Run, ref: Ref) -> tuple[ast.AST, Flight, Link | None] | None:
    for copy, flight in run.now.flights.items():
        if flight is None or not flight.fetches:
            continue
        after: tuple[Link, ...] | None = ref.chain if ref.obj is flight.obj or ref.obj.node is copy else None
        if flight.obj is None and after is None:
            after = next((ref.chain[i + 1 :] for i, link in enumerate(ref.chain) if link.node is copy), None)
        if after is None or any(link.kind == MAYBE and _leaves(run, link) for link in after):
            continue
        array = next((link for link in after if link.kind == NUMPY and link.op in TO_ARRAY), None)
        return copy, flight, array
    return None


def _leaves(run: Run, link: Link) -> bool:
    """Back to a device: in the order of the stream."""
    move = move_of(run, link.node)
    return move is not None and move.to != "cpu"


def source_written(run: Run, write: Write) -> None:
    """What a copy to a device may still read is written on the host."""
    if write.how == "training":
        return
    if write.how == "augmented" or (write.how == "method" and write.op not in _OVERWRITES):
        host_use(run, Value((write.ref,)), write.node, "operand")  # `x.add_(1)` reads, too
    for copy, flight in run.now.flights.items():
        if flight is None or flight.fetches or flight.source is None or flight.obj is not write.ref.obj:
            continue
        if write.how == "method" and _from_device(run, write):
            continue
        written = all_passes(write.ref.chain, write.loop, run.iterating, flight.source.chain)
        if exclusive(write.arms, flight.source.arms):
            continue
        if not must_overlap(flight.source.chain, written) and not _from_the_start(flight.source.chain, written):
            continue
        looped = start_of(write.node) <= start_of(copy)
        if looped and _one_of_several(run, flight.obj, write.node):
            continue
        run.fact(
            OverwrittenSource(
                site=write.node,
                source=flight.name,
                op=write.op,
                how=write.how,
                copy=copy,
                looped=looped,
            )
        )
        run.now.flights = {**run.now.flights, copy: None}


def _one_of_several(run: Run, obj: Obj, at: ast.AST) -> bool:
    """Whether a comprehension, or a loop that does not stand around this place, made as many of them: another one for
    each pass."""
    parents = run.parents()
    around = {at}
    while (outer := parents.get(at)) is not None:
        around.add(outer)
        at = outer
    made = obj.node
    while made is not None and made not in around:
        if isinstance(made, (*_COMPREHENSIONS, ast.For, ast.AsyncFor, ast.While)):
            return True
        made = parents.get(made)
    return False


def _from_the_start(one: Chain, other: Chain) -> bool:
    """`stage[:n]` and `stage[:m]`: the first elements are in both."""
    keys = [[link.key for link in chain if link.key is not None] for chain in (one, other)]
    return all(len(found) == 1 and isinstance(found[0], Index) and found[0].items[0][:1] == ":" for found in keys)


def _from_device(run: Run, write: Write) -> bool:
    """A copy that goes through the stream, behind the one that reads."""
    node = write.node
    if write.op != "copy_" or not isinstance(node, ast.Call):
        return False
    if any(item.arg == "non_blocking" for item in node.keywords) or len(node.args) > 1:
        return True
    source = run.devices.source
    return source is not None and any(place_of(run, ref) not in ("", "cpu") for ref in source.refs)


def left_in_flight(run: Run, node: ast.Call, done: Run, result: Value) -> None:
    """A function of this file has been called: it may have waited, or return what is in flight."""
    if done.devices.waits:
        wait(run)
    for value, state, _ in done.returned:
        for ref in value.refs if state.flights else ():
            for copy, flight in state.flights.items():
                if flight is None or not flight.fetches or flight.obj is not None:
                    continue
                if any(link.node is copy for link in ref.chain) and all(link.kind != NUMPY for link in ref.chain):
                    fresh = result.obj if result.obj is not None and not any(one.chain for one in result.refs) else None
                    _start(run, node, Flight(True, fresh, None, flight.name, flight.node))


# ----- what a move costs for nothing


def _pinned(run: Run, node: ast.Call, ref: Ref, move: Move, receiver: ast.expr) -> None:
    match receiver:
        case ast.Call(func=ast.Attribute(value=inner, attr="pin_memory"), args=[]) if is_tensor(run, ref.obj):
            kind = "on_the_fly" if move.non_blocking else "blocking" if move.non_blocking is False else ""
            if kind:
                run.fact(PinnedMove(site=node, receiver=run.short(inner), kind=kind, move=node))
            return
    loader = loader_of(ref.obj)
    if loader is None or not move.non_blocking or place_of(run, ref) != "cpu":
        return
    if ref.chain and any(link.kind == MAYBE for link in ref.chain):
        return
    pinned = next((item.value for item in loader.keywords if item.arg in ("pin_memory", None)), None)
    if pinned is None or (isinstance(pinned, ast.Constant) and pinned.value is False):
        run.fact(PinnedMove(site=loader, receiver=run.short(receiver), kind="loader", move=node))


def _created(run: Run, node: ast.Call, move: Move, receiver: ast.expr) -> None:
    made = _factory_behind(run, receiver)
    if made is None:
        return
    like = run.now.env.get(node.args[0].id) if node.args and isinstance(node.args[0], ast.Name) else None
    if like is not None and like.obj is not None and like.obj.kind == "tensor":
        return  # `.to(x)` takes the dtype, too
    given = {item.arg for item in made.keywords}
    if given & {None, "device", "generator", "out", "pin_memory", "layout", "names"}:
        return
    if _default_device(run, made) != "cpu":
        return
    short = (is_imported(run, made.func) or "").removeprefix("torch.")
    behind = made if made is not receiver else None
    if behind is not None and (WidenedMove, node) in run.facts:
        return  # nothing more to gain
    random = short.startswith("rand")
    run.fact(CreatedThenMoved(site=node, factory=short, device=move.device, random=random, behind=behind))


def _factory_behind(run: Run, node: ast.expr) -> ast.Call | None:
    """The factory of which an expression computes something with numbers alone: `torch.ones(n, n).triu(1).bool()`."""
    for _ in range(_MAX_BACK):
        match node:
            case ast.BinOp(left=inner, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=inner):
                node = inner
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=inner):
                node = inner
            case ast.Call(func=func) if (name := is_imported(run, func)) is not None:
                if name in FACTORIES:
                    return node
                if not node.args or not _computes_alone(run, node, ops.function(name), node.args[1:]):
                    return None
                node = node.args[0]
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if move_of(run, node) is None:
                if not _computes_alone(run, node, ops.method(name), node.args):
                    return None
                node = inner
            case _:
                return None
    return None


def _computes_alone(run: Run, node: ast.Call, op: ops.Op | None, args: list[ast.expr]) -> bool:
    """Whether a call takes no other tensor and draws no random numbers."""
    if op is None or op.many != 1 or op.writes or op.factory or op.random or op.name.endswith(".pin_memory"):
        return False
    if op.result in ("view", "maybe") or op.name == "Tensor.repeat":  # sizes may have names
        return True
    given = (*args, *(item.value for item in node.keywords))
    return op.result == "fresh" and all(isinstance(item, ast.Constant) for item in given)


def _widened(run: Run, node: ast.Call, ref: Ref, move: Move, receiver: ast.expr) -> None:
    """`mask.float().to(device)`: the narrow tensor is made wide before it travels."""
    obj = _cast_behind(ref.obj)
    source = obj.copied
    if source is None or obj.made not in CASTS or not isinstance(obj.node, ast.Call):
        return
    if any(link.kind == MAYBE for link in ref.chain):
        return
    narrow, wide = dtype_of(source), obj.dtype
    if narrow not in NARROW or not wide or WIDTHS.get(wide, 0) <= WIDTHS.get(narrow, 8):
        return
    if place_of(run, source) != "cpu" or (source.kind != "tensor" and not is_tensor(run, source.obj)):
        return
    fact = WidenedMove(
        site=node,
        receiver=run.short(obj.node.func.value) if isinstance(obj.node.func, ast.Attribute) else "the tensor",
        cast=obj.node,
        between="other" if move.dtype is not None else _between(run, node, obj, ref, receiver),
        narrow=narrow,
        wide=wide,
        factor=WIDTHS[wide] // WIDTHS[narrow],
    )
    if obj.node is receiver or ref.place is None:
        run.fact(fact)
    elif ref.place.last_use in (0, run.clock) and bound_here_only(run, ref.place):
        run.devices.widened.append((ref.place, run.clock, fact))


def _between(run: Run, node: ast.Call, cast: Obj, ref: Ref, receiver: ast.expr) -> str:
    """What stands between a cast and a move."""
    if cast.node is receiver:
        return "nothing"
    if ref.place is None:
        return "numbers" if _scaled_by_numbers(receiver, cast.node) else "other"
    binding, parents = ref.place.node, run.parents()
    if not isinstance(binding, ast.Assign) or binding.value is not cast.node or run.stmt is None:
        return "other"
    given = (*node.args, *(one.value for one in node.keywords))
    asked = {one.id for item in given for one in ast.walk(item) if isinstance(one, ast.Name)}
    bound = [one for name in asked for one in run.mentions(name) if not isinstance(one.ctx, ast.Load)]
    known = all(start_of(one) < start_of(binding) for one in bound) and parents.get(binding) is parents.get(run.stmt)
    return "name" if known and ref.obj is cast and isinstance(receiver, ast.Name) else "other"


def _scaled_by_numbers(node: ast.expr, cast: ast.AST | None) -> bool:
    while node is not cast:
        match node:
            case ast.BinOp(left=inner, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=inner):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner), args=[ast.Constant()], keywords=[]):
                node = inner
            case _:
                return False
    return True


def _cast_behind(obj: Obj) -> Obj:
    """The cast whose result was only scaled since, without a name of its own: `image.float() / 255`."""
    for _ in range(3):
        behind = obj.operands[0] if len(set(obj.operands)) == 1 else obj
        if obj.made not in SCALES or behind.key or behind.owner != "fresh":
            break
        obj = behind
    return obj


SCALES = frozenset({"/", "*", "-", "+", "div", "mul", "sub", "add", "true_divide"})
CASTS = frozenset({"to", "type", *(name for name in "float double half bfloat16 int long short".split())})


def round_trip(run: Run, node: ast.Call, ref: Ref, device: str) -> None:
    """`torch.from_numpy(x.cpu().numpy()).cuda()`: to the host and back, and nothing there needed it."""
    places: list[Place] = []
    way: list[ast.AST] = [node]
    found = _way_back(run, ref, places, way)
    if found is None:
        return
    fetched, start = found
    if place_of(run, start) == "cpu" or not isinstance(fetched.func, ast.Attribute):
        return
    fact = RoundTrip(
        site=node,
        source=run.short(fetched.func.value),
        fetched=fetched,
        arrays=tuple(one for one in way if _makes(run, one) is None and one is not node),
        made=tuple(one for one in way if (_makes(run, one) or "").startswith("torch.")),
        device=device,
    )
    on_host = tuple(place for place in places if end_of(place.node) >= end_of(fetched))
    if not all(bound_here_only(run, place) for place in on_host):
        return
    if all(place.last_use in (0, run.clock) for place in on_host):
        run.devices.round_trips.append((on_host, run.clock, fact))
        if start.place is not None:
            run.devices.apart[fact] = {ref.obj, start.obj}


def _makes(run: Run, node: ast.AST) -> str | None:
    """The function that a call names; None for a method."""
    return is_imported(run, node.func) if isinstance(node, ast.Call) else None


def factory_moves(run: Run, node: ast.Call, values: list[Value]) -> None:
    """`torch.tensor(x.cpu().numpy(), device=d)`: a factory that moves what it is given."""
    asked = next((item.value for item in node.keywords if item.arg == "device"), None)
    if asked is None or not values or (kind := device_type(run, asked)) is None or kind == "cpu":
        return
    for ref in values[0].refs:
        round_trip(run, node, ref, run.short(asked))


def _way_back(run: Run, ref: Ref, places: list[Place], way: list[ast.AST]) -> tuple[ast.Call, Ref] | None:
    """The call that brought to the host what this is, if it went through NumPy, and nothing changed it there.

    The bindings on the way are added to `places`, the calls between tensors and arrays to `way`.
    """
    through = False
    for _ in range(_MAX_BACK):
        places.extend(place for place in (*ref.via, ref.place) if place is not None)
        for position in range(len(ref.chain) - 1, -1, -1):
            link = ref.chain[position]
            if link.kind == UNSURE:
                return None
            if link.kind == NUMPY and link.op not in TO_ARRAY:
                way.append(link.node)
            if link.kind not in (ALIAS, NUMPY) and Ref(ref.obj, ref.chain[: position + 1]).kind == "array":
                return None  # NumPy's own work
            if link.kind == NUMPY and link.op in ARRAY_ONLY:
                return None
            if link.kind == NUMPY and link.op in TO_ARRAY:
                through = True
                way.append(link.node)
                if any(link in write.ref.chain for write in run.now.written(ref.obj)):
                    return None
            move = move_of(run, link.node) if link.kind == MAYBE else None
            if move is not None:
                if move.to != "cpu" or not through or not isinstance(link.node, ast.Call):
                    return None
                return link.node, Ref(ref.obj, ref.chain[:position], ref.place)
        obj = ref.obj
        if obj.copied is None or obj.kind != "tensor" or run.now.written(obj) or len(obj.operands) > 1:
            return None
        if obj.copied.kind == "array" and obj.node is not None:
            way.append(obj.node)
        ref = obj.copied
    return None


def round_trips(run: Run) -> list[RoundTrip]:
    """Those of which nothing else used what was on the host."""
    return [
        changed(fact, written=_written_after(run, fact))
        for places, clock, fact in run.devices.round_trips
        if all(place.last_use in (0, clock) and place not in run.shown for place in places)
    ]


def _written_after(run: Run, fact: RoundTrip) -> bool:
    """Whether the tensor that went to the host, which has a name, or the one that came back is written below, or in
    another pass of a loop."""
    objects = run.devices.apart.get(fact)
    if objects is None:
        return False
    parents = run.parents()
    outer, looped = parents.get(fact.site), False
    while outer is not None:
        looped = looped or isinstance(outer, (ast.For, ast.AsyncFor, ast.While))
        outer = parents.get(outer)
    site = start_of(fact.site)
    return any(
        (write.ref.obj in objects or write.ref.obj.node is fact.site) and (looped or end_of(write.node) >= site)
        for write in run.log
    )


def widened_moves(run: Run) -> list[WidenedMove]:
    """Those whose wide copy was used for nothing but the move."""
    return [fact for place, clock, fact in run.devices.widened if place.last_use in (0, clock)]
