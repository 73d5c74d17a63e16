"""Screens for what writes do: to what another name holds, to what autograd keeps, to nothing."""

from __future__ import annotations

import ast
from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.screens.sharing import YIELDED, Write
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.source import EXPAND, GRAD, HOOK, LEAF, STATE_DICT, WRAP

_EXPANDS = frozenset(
    "expand expand_as broadcast_to broadcast_tensors meshgrid unfold as_strided sliding_window_view repeat "
    "deepcopy".split()
)
_READ_ONLY = frozenset({"broadcast_to", "frombuffer", "memmap", "sliding_window_view", "load"})


def shared_write(sketch: Sketch) -> bool:
    """Something is written that another root may share, and that root is read afterwards, here or by somebody else."""
    return any(_seen(sketch, write) for write in sketch.looks.writes) or _swaps(sketch)


def _seen(sketch: Sketch, write: Write) -> bool:
    """Whether a write may be seen through something else than what is written."""
    sharing = sketch.sharing
    if write.how == "activation" and _kept(sketch, write):
        return True
    roots = write.roots
    if not sharing.shared(roots):
        return False
    groups = sharing.groups(roots)
    if sharing.find(YIELDED) in groups:
        return True
    for holders in sharing.held:
        if not groups.isdisjoint(sharing.groups(holders)) and not holders <= sharing.bound:
            return True
    order = sketch.order
    span = order.spans.get(write.node)
    if span is None:
        return True
    makers = sketch.makers(roots)
    return any(
        order.read_after(other, span, makers)
        for other in sharing.members
        if other not in roots and sharing.find(other) in groups
    )


def _kept(sketch: Sketch, write: Write) -> bool:
    """Whether the result of an activation that works in place goes elsewhere, and what it was given is read again."""
    order = sketch.order
    span = order.spans.get(write.node)
    if span is None:
        return True
    statement = order.statements[span.statement]
    if isinstance(statement, ast.Expr) and statement.value is write.node:
        return False
    if isinstance(statement, ast.Assign) and any(
        isinstance(target, (ast.Name, ast.Attribute)) and sketch.sharing.root(target) & write.roots
        for target in statement.targets
    ):
        return False
    return any(order.read_after(root, span) for root in write.roots)


def joined_write(sketch: Sketch) -> bool:
    """A name that may stand for what an object or a list holds, or for something else, is written."""
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    written = {
        root for write in sharing.writes for root in write.roots if root in sharing.bound and sharing.shared((root,))
    }
    if not written:
        return False
    count: dict[str, int] = {}
    named: set[str] = set()
    for targets, value in sharing.bindings:
        arms = [value]
        if isinstance(value, ast.IfExp):
            arms = [value.body, value.orelse]
        elif isinstance(value, ast.BoolOp):
            arms = value.values
        for target in targets:
            if isinstance(target, ast.Name) and target.id in written:
                count[target.id] = count.get(target.id, 1 if target.id in sketch.given else 0) + len(arms)
                if any(isinstance(arm, (ast.Attribute, ast.Subscript, ast.Name)) for arm in arms):
                    named.add(target.id)
    return any(count[name] > 1 for name in named)


def accumulated_item(sketch: Sketch) -> bool:
    """An item of something, taken by a number, is what is written."""
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    written = sharing.groups(root for write in sharing.writes for root in write.roots)
    return bool(written) and any(
        isinstance(value, ast.Subscript)
        and isinstance(value.slice, (ast.Constant, ast.UnaryOp))
        and isinstance(target, ast.Name)
        and sharing.find(target.id) in written
        for targets, value in sharing.bindings
        for target in targets
    )


_SEVERAL = frozenset({"chunk", "split", "split_with_sizes", "unbind"})


def part_write(sketch: Sketch) -> bool:
    """One of several views that one operation, a loop or an unpacking made is written, or detached in place."""
    if "detach_" in sketch.function.calls:
        return True
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    written = sharing.groups(root for write in sharing.writes for root in write.roots)
    if not written:
        return False
    if not _SEVERAL.isdisjoint(sketch.function.calls) and (
        any(_temporary(write.target) for write in sharing.writes)
        or any(
            sharing.find(root) in written
            for targets, value in sharing.bindings
            if _calls_one_of(value)
            for target in targets
            for root in sharing.root_of_targets(target)
        )
    ):
        return True
    return any(
        sharing.find(root) in written
        for targets, value in sharing.bindings
        for target in targets
        if isinstance(target, ast.Tuple) or value in sketch.iterated
        for root in sharing.root_of_targets(target)
        if not isinstance(value, (ast.Call, ast.Tuple)) or root in sharing.renewed or sharing.shared((root,))
    )


def _calls_one_of(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and getattr(one.func, "attr", getattr(one.func, "id", "")) in _SEVERAL for one in ast.walk(value))


def handed_out(sketch: Sketch) -> bool:
    """Something is written that another root may share, or that a method handed out; or a hook is registered."""
    if sketch.features & HOOK or shared_write(sketch):
        return True
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    obtained = sharing.groups(sharing.obtained)
    return bool(obtained) and any(not obtained.isdisjoint(sharing.groups(write.roots)) for write in sharing.writes)


def _swaps(sketch: Sketch) -> bool:
    """`x[i], x[j] = x[j], x[i]`."""
    return any(
        isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        and all(isinstance(item, ast.Subscript) for item in (*target.elts, *node.value.elts))
        for node in sketch.function.found.get(ast.Assign, ())
        for target in node.targets[:1]
    )


def owned_write(sketch: Sketch) -> bool:
    """What is written may be an argument or attribute, behind an operation that shares or copies as the case may be."""
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    outside = sharing.groups((*sketch.given, *sketch.open, *sharing.of_self))
    outside |= {sharing.find(root) for root in sharing.members if root not in sharing.bound}
    uncertain = sharing.groups(sharing.uncertain)
    for write in sharing.writes:
        groups = sharing.groups(write.roots)
        if not groups.isdisjoint(outside) and (
            not groups.isdisjoint(uncertain) or write.uncertain or _temporary(write.target)
        ):
            return True
    return False


def _temporary(node: ast.expr) -> bool:
    """Whether an expression is (a part of) what a call returns."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return isinstance(node, ast.Call)


def default_write(sketch: Sketch) -> bool:
    """An argument that has a default made once may be what is written."""
    node = sketch.function.node
    if isinstance(node, ast.Module):
        return False
    spec = node.args
    named = [*spec.posonlyargs, *spec.args]
    given = [*zip(named[len(named) - len(spec.defaults) :], spec.defaults, strict=True)]
    given += [(one, default) for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    names = [one.arg for one, default in given if not isinstance(default, ast.Constant)]
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    return bool(names) and any(sharing.together(write.roots, names) for write in sharing.writes)


def overlapping_write(sketch: Sketch) -> bool:
    """What is written may be (a view of) something expanded."""
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    if not sharing.writes:
        return False
    expanded = {
        root
        for targets, value in sharing.bindings
        if any(
            isinstance(one, ast.Call) and getattr(one.func, "attr", getattr(one.func, "id", "")) in _EXPANDS
            for one in ast.walk(value)
        )
        for target in targets
        for root in sharing.root(target)
    }
    held = sketch.function.cls is not None and sketch.file.inherited.get(sketch.function.cls, 0) & EXPAND
    groups = {sharing.find(root) for root in expanded}
    return any(
        _temporary(write.target)
        or any(sharing.find(root) in groups or (held and root[:4] == "self") for root in write.roots)
        for write in sharing.writes
    )


def written_by_callee(sketch: Sketch) -> bool:
    """A function of the file may write an argument, in a call that is not there for that alone."""
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    calls = {write.node for write in sharing.writes if write.how == "call"}
    if not calls:
        return False
    found = sketch.function.found
    for statement in found.get(ast.Expr, ()):
        calls.discard(statement.value)
    for assign in found.get(ast.Assign, ()):
        if isinstance(assign.value, ast.Call) and assign.value in calls:
            targets = {ast.dump(one).replace("Store()", "Load()") for target in assign.targets for one in getattr(target, "elts", [target])}
            given = [*assign.value.args, *(keyword.value for keyword in assign.value.keywords)]
            if any(ast.dump(one) in targets for one in given):
                calls.discard(assign.value)
    order = sketch.order
    for write in sharing.writes:
        span = order.spans.get(write.node)
        if write.node in calls and write.how == "call":
            if span is None or any(
                order.read_after(root, span)
                for root in {*sharing.members, *write.roots}
                if sharing.find(root) in sharing.groups(write.roots)
            ):
                return True
    return False


def lost_write(sketch: Sketch) -> bool:
    """What is written may be a copy that nobody holds: made by an index that picks, or by a call."""
    if sketch.features & STATE_DICT and sketch.function.found.get(ast.Subscript):
        return True
    sharing = sketch.looks
    for write in sharing.writes:
        target = write.target
        if write.how == "augmented" and isinstance(target, ast.Subscript):
            target = target.value  # it is assigned afterwards
        if write.how not in ("call", "object") and _picks(target, sketch):
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
            return index.id not in sketch.annotated and index.id not in sketch.sharing.bound
        return index.id in sketch.numbers or index.id not in sketch.sharing.bound
    if isinstance(index, ast.BinOp):
        return _basic(index.left, sketch) and _basic(index.right, sketch)
    return isinstance(index, (ast.Constant, ast.Slice, ast.JoinedStr))


def self_copy(sketch: Sketch) -> bool:
    """An operand of a write may be another part or view of what is written."""
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    viewed = sharing.groups(sharing.viewed)
    assigned = {target: node.value for node in sketch.function.found.get(ast.Assign, ()) for target in node.targets}

    def meets(write: Write, operands: list[ast.expr], elementwise: bool = False) -> bool:
        groups = sharing.groups(write.roots)
        # What works element by element may write the very tensor that it reads, but no other part of it.
        whole = elementwise and isinstance(write.target, (ast.Name, ast.Attribute)) and groups.isdisjoint(viewed)
        return any(
            not groups.isdisjoint(sharing.groups(sharing.shares(one)))
            for one in operands
            if not (whole and isinstance(one, (ast.Name, ast.Attribute)))
        )

    for write in sharing.writes:
        node = write.node
        if isinstance(node, ast.AugAssign):
            if meets(write, [node.value], elementwise=True):
                return True
            if isinstance(node.target, ast.Subscript) and meets(write, [node.target.slice]):
                return True
        elif isinstance(node, ast.Subscript):
            if meets(write, [node.slice, *([assigned[node]] if node in assigned else [])]):
                return True
        elif isinstance(node, ast.Call) and write.how in ("method", "activation"):
            given = [*node.args, *(one.value for one in node.keywords)]
            if isinstance(node.func, ast.Attribute):
                given.append(node.func.value)
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            elementwise = name.removesuffix("_") in library.ELEMENTWISE and name[-1:] == "_"
            if meets(write, [one for one in given if one is not write.target], elementwise):
                return True
    return False


def aliased_out(sketch: Sketch) -> bool:
    """`out=` may be an operand."""
    return any(
        keyword.arg == "out" for node in sketch.function.found.get(ast.Call, ()) for keyword in node.keywords
    ) and self_copy(sketch)


_PARAMETERS = frozenset({"parameters", "named_parameters", "ParameterList", "ParameterDict"})


def leaf_write(sketch: Sketch) -> bool:
    """What is written may be a leaf that requires grad: a parameter, or something with a gradient."""
    if sketch.features & (LEAF | GRAD | WRAP):
        return bool(sketch.looks.writes)
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    if not _PARAMETERS.isdisjoint(sketch.function.calls) and any(sharing.shared(one.roots) for one in sharing.writes):
        return True
    names = sketch.file.leaves
    groups = sharing.groups(root for root in sharing.members if root[:5] == "self." and root[5:] in names)
    groups.add(sharing.find("self"))
    return any(
        not groups.isdisjoint(sharing.groups(write.roots)) or
        any(root[:5] == "self." and root[5:] in names for root in write.roots) or _names(write.target, names)
        for write in sharing.writes
    )


def _names(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an attribute on the way to what an expression names has one of the names."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Attribute):
            if node.attr in names:
                return True
            node = node.value
        else:
            node = node.value if isinstance(node, ast.Subscript) else node.func
    return False


def saved_write(sketch: Sketch) -> bool:
    """What is written may be what an operation keeps for backward."""
    from flake8_tensorcopy.engine.screens.saved import spoils

    return shared_write(sketch) or spoils(sketch)


def bypassed_write(sketch: Sketch) -> bool:
    """A write past autograd: through `.data`, or an array."""
    if not sketch.looks.writes:
        return False
    sharing = sketch.sharing
    return any(
        _temporary(write.target)
        or _names(write.target, _DATA)
        or sharing.shared(write.roots)
        or not sharing.renewed.isdisjoint(write.roots)
        for write in sharing.writes
    )


_DATA = frozenset({"data"})


def read_only_write(sketch: Sketch) -> bool:
    """Something of this file makes an array that cannot be written."""
    return bool(sketch.looks.writes) and any(not one.calls.isdisjoint(_READ_ONLY) for one in sketch.survey.all)


def gradient(sketch: Sketch) -> bool:
    """A gradient is kept under another name."""
    return sketch.sharing.keeps_gradient
