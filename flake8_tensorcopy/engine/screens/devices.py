"""Transfers as training code has them: in loops, of what was just made, between steps, of what is loaded."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.library import FACTORIES
from flake8_tensorcopy.engine.nodes import stands_in, start_of, walk
from flake8_tensorcopy.engine.screens.sketch import Sketch
from flake8_tensorcopy.engine.screens.transfers import flagged, moves
from flake8_tensorcopy.engine.source import called_name, receiver_of

_MADE = frozenset(name.removeprefix("torch.") for name in FACTORIES)
_BACKWARD = frozenset({"backward", "manual_backward"})


def created_then_moved(sketch: Sketch) -> bool:
    """A move of what a factory makes, in one expression."""
    return any(
        isinstance(inner, ast.Call) and sketch.torch_name(inner.func) in _MADE
        for node in moves(sketch)
        for inner in walk(receiver_of(node))
    )


def pinned_move(sketch: Sketch) -> bool:
    """A move of `x.pin_memory()`, or one that does not block of what a loader may have given."""
    if any(called_name(receiver_of(node)) == "pin_memory" for node in moves(sketch)):
        return True
    return flagged(sketch) and (sketch.in_file("DataLoader") or _imports_loader(sketch))


def _imports_loader(sketch: Sketch) -> bool:
    return any(whole.endswith("DataLoader") for whole in sketch.survey.names.imported.values())


# ----- loops


def invariant_transfer(sketch: Sketch) -> bool:
    """A move in a loop, of a name that the loop does not bind, or of what only `__init__` puts on `self`."""
    found = sketch.function.found
    moved = [node for node in (*moves(sketch), *sketch.calls_of(("cpu", "to"))) if _of_name(sketch, node)]
    if not moved:
        return False
    looped = [one for kind in (ast.ListComp, ast.GeneratorExp, ast.DictComp) for one in found.get(kind, ())]
    if len(found.get(ast.comprehension, ())) > sum(len(one.generators) for one in looped):
        return True  # a set
    for node in moved:
        root = receiver_of(node)
        name = root.id if isinstance(root, ast.Name) else ""
        for one in looped:
            if stands_in(node, one) and not any(_binds(part.target, name) for part in one.generators):
                return True
        loop = max((one for one in sketch.loops if stands_in(node, one)), key=start_of, default=None)
        if loop is not None and not (name and name in _bound_in(sketch, loop)):
            return True
    return False


def _of_name(sketch: Sketch, node: ast.Call) -> bool:
    """Whether a call is made on a name, or on an attribute that only `__init__` assigns."""
    match receiver_of(node):
        case ast.Name():
            return True
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            cls = sketch.function.cls
            return cls is not None and cls.assigns.get(name) == {"__init__"}
    return False


def _binds(target: ast.expr, name: str) -> bool:
    """Whether a target binds a name, alone or among others."""
    match target:
        case ast.Name(id=found):
            return found == name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_binds(one, name) for one in parts)
        case ast.Starred(value=inner):
            return _binds(inner, name)
    return False


def _bound_in(sketch: Sketch, loop: ast.For | ast.AsyncFor | ast.While) -> set[str]:
    """The names that assignments in a loop bind, or the loop itself."""
    found = sketch.function.found
    targets = [target for node in found.get(ast.Assign, ()) if stands_in(node, loop) for target in node.targets]
    for kind in (ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor):
        targets += [node.target for node in found.get(kind, ()) if stands_in(node, loop)]
    names: set[str] = set()
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Name):
            names.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            targets += target.elts
        elif isinstance(target, ast.Starred):
            targets.append(target.value)
    return names


def step_sync(sketch: Sketch) -> bool:
    """A loop that trains, `max(x)`, an element read in a comprehension, or a number in a message for debugging."""
    calls = sketch.function.calls
    if sketch.loops:
        inner = set(calls)
        for name in calls & sketch.callees.keys():
            inner |= sketch.callees[name]
        if "step" in inner and not _BACKWARD.isdisjoint(inner):
            return True
    if any(
        isinstance(node.func, ast.Name) and len(node.args) == 1 and isinstance(node.args[0], _VALUES)
        for node in sketch.calls_of(("max", "min"))
    ):
        return True
    if "debug" in calls and "item" in calls:
        return True
    found = sketch.function.found
    return any(_reads_each(one.elt) for kind in (ast.ListComp, ast.GeneratorExp) for one in found.get(kind, ())) or (
        len(found.get(ast.comprehension, ())) > 0 and "item" in calls and _has_set(sketch)
    )


# What may be a tensor, of the arguments that Python compares one by one.
_VALUES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.NamedExpr)


def _reads_each(node: ast.expr) -> bool:
    """`v.item()`, `float(v)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="item")):
            return True
        case ast.Call(func=ast.Name(id="float" | "int"), args=[ast.Name()]):
            return True
    return False


def _has_set(sketch: Sketch) -> bool:
    """Whether some comprehension makes a set: those the survey does not keep."""
    found = sketch.function.found
    known = [one for kind in (ast.ListComp, ast.GeneratorExp, ast.DictComp) for one in found.get(kind, ())]
    return len(found.get(ast.comprehension, ())) > sum(len(one.generators) for one in known)


# ----- checkpoints and types


def legacy_device(sketch: Sketch) -> bool:
    """`torch.load` of a file alone, or a type of CUDA by its old name."""
    for node in sketch.calls_of(("load",)):
        if len(node.args) == 1 and sketch.torch_name(node.func) == "load":
            if all(one.arg not in ("map_location", None) for one in node.keywords):
                return True
    for one in sketch.attributes:
        if one.attr.endswith("Tensor") and sketch.torch_name(one).startswith("cuda."):
            return True
    imported = sketch.survey.names.imported
    if any(imported.get(name, "").startswith("torch.cuda.") for name in sketch.function.calls):
        return True
    return any(
        (isinstance(one, ast.Constant) and str(one.value).startswith("torch.cuda."))
        or (isinstance(one, ast.Name) and (imported.get(one.id, "torch.cuda.").startswith("torch.cuda.")))
        for node in sketch.calls_of(("type", "set_default_tensor_type"))
        for one in node.args[:1]
    )
