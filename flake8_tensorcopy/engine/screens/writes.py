"""Screens for what writes do: to what another name holds, to what autograd keeps, to nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.features import GRAD, HOOK, LEAF, OVERLAPS, STATE_DICT, WRAP
from flake8_tensorcopy.engine.nodes import defaults_of
from flake8_tensorcopy.engine.screens.groups import (
    ARGUMENT,
    ARRAY,
    ATTRIBUTE,
    CONVERTED,
    EXPANDED,
    ITEM,
    JOINED,
    KEYED,
    OBTAINED,
    OUTSIDE,
    PUT,
    SEVERAL,
    VIEWED,
    YIELDED,
    Group,
    find,
    reached,
)
from flake8_tensorcopy.engine.screens.groups import (
    LEAF as LEAF_GROUP,
)
from flake8_tensorcopy.engine.screens.signs import may_write
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.screens.trace import Load, Trace, Write, root_of

MAX_PAIRS = 1 << 14  # of reads and writes of one function: to run it costs less than to go through more

_READ_ONLY = frozenset({"broadcast_to", "frombuffer", "memmap", "sliding_window_view", "load"})


def _flags(groups: Iterable[Group]) -> int:
    """What is known of some of the groups."""
    found = 0
    for one in groups:
        found |= find(one).flags
    return found


def _writes(sketch: Sketch) -> list[Write]:
    """The writes; methods that only arrays have count where an array may be."""
    if not sketch.once(may_write):
        return []
    return [
        one
        for one in sketch.trace.writes
        if one.how != "array"
        or _flags(one.groups) & ARRAY
        or _array_attribute(sketch, one)
        or "array" in sketch.annotated.get(one.name, "")
    ]


def _array_attribute(sketch: Sketch, write: Write) -> bool:
    return "." in write.name and write.name.rsplit(".", 1)[1] in sketch.file.arrays


def _after(trace: Trace, load: Load, write: Write) -> bool:
    """Whether a read may come after a write."""
    if write.first < load.tick <= write.last:
        return not load.loops.isdisjoint(write.loops)  # in the next pass
    if load.late or write.late or not load.loops.isdisjoint(write.loops):
        return True
    if load.tick > write.last:
        return not trace.apart(load.arms, write.arms)
    return load.statement == write.statement and not write.alone


def _same(load: str, write: str) -> bool:
    """Whether a read is by the name that is written, or of a part of that."""
    return load == write or load.startswith((f"{write}.", f"{write}["))


def _read_later(trace: Trace, write: Write, own: bool = False) -> bool:
    """Whether what is written is read afterwards by another name; or by its `own`, too.

    By another name means one that reached it when it was written; in a loop that does not make it anew in each pass,
    one that ever does.
    """
    if len(trace.loads) * len(trace.writes) > MAX_PAIRS:
        return True
    groups = {find(one) for one in write.groups}
    lasting = write.late or any(not write.loops <= one.loops for one in write.groups)
    for load in trace.loads:
        same = _same(load.name, write.name)
        made_anew = load.statement == write.statement and write.name in load.binds
        if load.name == "" or (not own and (same or made_anew)) or not _after(trace, load, write):
            continue
        if not lasting and not same:
            if load.tick <= write.first and not load.late and load.statement != write.statement:
                continue
            root = root_of(load.name)
            held = write.aliases.get(root, ()) if write.aliases is not None else ()
            known = write.aliases is None or load.late or load.name not in trace.every or root == root_of(write.name)
            if not known and not any(one in held for one in load.version):
                continue
        if write.name.startswith((f"{load.name}.", f"{load.name}[")):
            if _held_elsewhere(load, write, groups):
                return True
        elif not groups.isdisjoint(_reached(trace, load)):
            return True
    return False


def _held_elsewhere(load: Load, write: Write, groups: set[Group]) -> bool:
    """Whether what is read holds what is written in another place than the one that is written."""
    rest = write.name[len(load.name) :]
    for group in load.groups:
        top = find(group)
        if top in groups:
            return True
        for key, held in top.fields.items():
            if not rest.startswith(key) and not groups.isdisjoint(reached(held)):
                return True
    return False


def _reached(trace: Trace, load: Load) -> frozenset[Group]:
    """What a read comes to, once the whole function has been gone through."""
    known = trace.reached.get(load.tick)
    if known is None:
        known = frozenset(one for group in load.groups for one in reached(group))
        trace.reached[load.tick] = known
    return known


def shared_write(sketch: Sketch) -> bool:
    """Something is written that another name may share, and that name is read afterwards."""
    return any(_seen(sketch.trace, one) for one in _writes(sketch)) or _swaps(sketch)


def _seen(trace: Trace, write: Write) -> bool:
    if write.how == "activation" and not write.alone:
        # Of `x = act(x) + x`, only what stands beside the call reads the old x.
        if _read_beside(trace, write) if write.name in write.binds else _read_later(trace, write, own=True):
            return True
    return _read_later(trace, write)


def _read_beside(trace: Trace, write: Write) -> bool:
    """Whether the statement of a write reads what is written more often than to give it to the write."""
    if len(trace.loads) * len(trace.writes) > MAX_PAIRS:
        return True
    return sum(load.statement == write.statement and load.name == write.name for load in trace.loads) > 1


def handed_out(sketch: Sketch) -> bool:
    """Something is written that somebody else's list holds, that was yielded, or that a method handed out."""
    if sketch.features & HOOK:
        return True
    for write in _writes(sketch):
        flags = _flags(write.groups)
        if flags & (YIELDED | OBTAINED) or (flags & PUT and flags & OUTSIDE) or _seen(sketch.trace, write):
            return True
    return False


def _swaps(sketch: Sketch) -> bool:
    """`x[i], x[j] = x[j], x[i]`, also where what is stored has names."""
    return any(
        isinstance(target, ast.Tuple)
        and isinstance(node.value, ast.Tuple)
        and all(isinstance(item, ast.Subscript) for item in target.elts)
        and all(isinstance(item, (ast.Subscript, ast.Name)) for item in node.value.elts)
        for node in sketch.function.found.get(ast.Assign, ())
        for target in node.targets[:1]
    )


def joined_write(sketch: Sketch) -> bool:
    """A name that may stand for what an object or a list holds, or for something else, is written."""
    return any(
        (len(write.groups) > 1 or _flags(write.groups) & JOINED)
        and _flags(write.groups) & (ATTRIBUTE | ITEM | KEYED | SEVERAL)
        for write in _writes(sketch)
    )


def accumulated_item(sketch: Sketch) -> bool:
    """An item of an argument, taken by a number, is what is written."""
    return any(flags & ITEM and flags & ARGUMENT for write in _writes(sketch) for flags in (_flags(write.groups),))


def owned_write(sketch: Sketch) -> bool:
    """What is written may be an argument or attribute, behind an operation that shares or copies as the case may be."""
    for write in _writes(sketch):
        flags = _flags(write.groups)
        if flags & OUTSIDE and (flags & CONVERTED or write.uncertain):
            return True
    return False


def default_write(sketch: Sketch) -> bool:
    """An argument that has a default made once may be what is written."""
    node = sketch.function.node
    if isinstance(node, ast.Module):
        return False
    names = [one.arg for one, default in defaults_of(node.args) if not isinstance(default, ast.Constant)]
    if not names:
        return False
    groups = {find(sketch.trace.entry[name]) for name in names}
    return any(find(one) in groups for write in _writes(sketch) for one in write.groups)


def overlapping_write(sketch: Sketch) -> bool:
    """What is written may be (a view of) something expanded."""
    cls = sketch.function.cls
    held = cls is not None and sketch.file.inherited.get(cls, 0) & OVERLAPS
    return any(
        flags & EXPANDED or (held and flags & ATTRIBUTE)
        for write in _writes(sketch)
        for flags in (_flags(write.groups),)
    )


def written_by_callee(sketch: Sketch) -> bool:
    """A function of the file may write an argument, in a call that is not there for that alone, and it is read on."""
    return any(
        write.how == "call"
        and not write.alone
        and not _given_back(write)
        and _read_later(sketch.trace, write, own=True)
        for write in _writes(sketch)
    )


def _given_back(write: Write) -> bool:
    """`x = f(x)`."""
    return bool(write.name) and write.name in write.binds


def lost_write(sketch: Sketch) -> bool:
    """What is written may be a copy that nobody holds: made by an index that picks, or by a call."""
    if sketch.features & STATE_DICT and ("update" in sketch.function.calls or sketch.function.found.get(ast.Subscript)):
        return True
    for write in _writes(sketch):
        target = write.target
        if write.how == "augmented" and isinstance(target, ast.Subscript):
            target = target.value  # it is assigned afterwards
        if write.how not in ("call", "object") and _picks(target, sketch):
            return True
    if sketch.once(may_write) and any(_picks(target, sketch) for target in sketch.trace.targets):
        return True
    return any(
        isinstance(node.ctx, ast.Store) and node.attr == "data" and isinstance(node.value, (ast.Subscript, ast.Call))
        for node in sketch.function.found.get(ast.Attribute, ())
    )


def _picks(node: ast.expr, sketch: Sketch) -> bool:
    """Whether an expression that is written may have made a copy on the way."""
    while True:
        if isinstance(node, ast.Subscript):
            if not _basic(node.slice, sketch):
                return True
            node = node.value
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            op = ops.method(name)
            if not isinstance(node.func, ast.Attribute) or op is None or (op.result != "view" and not op.writes):
                return True
            node = node.func.value
        elif isinstance(node, (ast.Attribute, ast.Starred)):
            node = node.value
        else:
            return False


def _basic(index: ast.expr, sketch: Sketch) -> bool:
    """An index that makes a view of a tensor, or an item of a list or dict, for certain."""
    if isinstance(index, ast.Tuple):
        return all(_basic(item, sketch) for item in index.elts)
    if isinstance(index, ast.UnaryOp):
        return not isinstance(index.op, ast.Invert) and _basic(index.operand, sketch)
    if isinstance(index, ast.Name):
        if index.id in sketch.given:
            return index.id not in sketch.annotated and index.id not in sketch.trace.every
        return index.id not in sketch.trace.every  # a number, or of somewhere else
    if isinstance(index, ast.BinOp):
        return _basic(index.left, sketch) and _basic(index.right, sketch)
    return isinstance(index, (ast.Constant, ast.Slice, ast.JoinedStr))


def self_copy(sketch: Sketch) -> bool:
    """An operand of a write may be another part or view of what is written."""
    for write in _writes(sketch):
        node = write.node
        if write.how in ("call", "object"):
            continue
        groups = {find(one) for one in write.groups}
        name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
        elementwise = isinstance(node, ast.AugAssign) or name.removesuffix("_") in library.ELEMENTWISE
        viewed = not isinstance(write.target, (ast.Name, ast.Attribute)) or bool(_flags(groups) & VIEWED)
        if write.how != "out" and elementwise and not viewed:
            continue  # what works element by element may write the very tensor that it reads, but no other part of it
        if not groups.isdisjoint(find(one) for one in write.operands):
            return True
    return False


def aliased_out(sketch: Sketch) -> bool:
    """`out=` may be an operand."""
    return any(write.how == "out" for write in _writes(sketch)) and self_copy(sketch)


_PARAMETERS = frozenset({"parameters", "named_parameters", "ParameterList", "ParameterDict"})


def leaf_write(sketch: Sketch) -> bool:
    """What is written may be a leaf that requires grad: a parameter, or something with a gradient."""
    writes = [write for write in _writes(sketch) if write.recorded]
    if sketch.features & (LEAF | GRAD | WRAP):
        return bool(writes)
    return any(_flags(write.groups) & LEAF_GROUP for write in writes)


def saved_write(sketch: Sketch) -> bool:
    """What is written may be what an operation before it keeps for backward."""
    writes = _writes(sketch)
    if not writes:
        return False
    trace = sketch.trace
    keepers: dict[Group, list[int]] = {}
    for position, keeper in enumerate(trace.keepers):
        for group in keeper.groups:
            keepers.setdefault(find(group), []).append(position)
    for write in writes:
        for group in write.groups:
            for position in keepers.get(find(group), ()):
                keeper = trace.keepers[position]
                if keeper.node is write.node:
                    continue
                if write.late or not keeper.loops.isdisjoint(write.loops):
                    return True
                if keeper.tick <= write.last and not trace.apart(keeper.arms, write.arms):
                    return True
    return False


def bypassed_write(sketch: Sketch) -> bool:
    """A write past autograd: through `.data`, or an array."""
    return any(flags & (VIEWED | ARRAY | CONVERTED) for write in _writes(sketch) for flags in (_flags(write.groups),))


def part_write(sketch: Sketch) -> bool:
    """One of several views that one operation, a loop or an unpacking made is written, or detached in place."""
    if "detach_" in sketch.function.calls:
        return True
    return any(_flags(write.groups) & SEVERAL for write in _writes(sketch))


def read_only_write(sketch: Sketch) -> bool:
    """Something of this file makes an array that cannot be written."""
    return bool(_writes(sketch)) and sketch.in_file(*_READ_ONLY)


# What moves all gradients at once, in the function or in one of the file that it calls.
_MOVES_GRADIENTS = frozenset("backward manual_backward zero_grad clip_grad_norm_ clip_grad_value_".split())


def gradient_write(sketch: Sketch) -> bool:
    """A gradient is kept under another name, and something is written."""
    return sketch.trace.keeps_gradient and bool(_writes(sketch))


def stale_gradient(sketch: Sketch) -> bool:
    """A gradient is kept under another name, and gradients may be written, cleared or added to: there, in what is
    called, or, where an object may keep it, anywhere in the file."""
    if not sketch.trace.keeps_gradient:
        return False
    function = sketch.function
    if sketch.comes_to_call(_MOVES_GRADIENTS) or _writes(sketch):
        return True
    return function.cls is not None and sketch.in_file("zero_grad", "zero_")
