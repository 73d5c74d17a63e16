"""Training: losses, states and steps, by what is bound, added and called in which loop."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.features import BACKWARD, OPTIMIZER, PLACED
from flake8_tensorcopy.engine.forms import written_attribute
from flake8_tensorcopy.engine.nodes import stands_in, walk
from flake8_tensorcopy.engine.screens.sketch import Sketch, other_names
from flake8_tensorcopy.engine.source import Class, Survey, called_name

_BACKWARD = ("backward", "manual_backward")
_APPENDS = ("append", "appendleft", "extend", "insert")
# What a sum, or a longer list, is made by.
_SUMS = (ast.BinOp, ast.IfExp, ast.Call, ast.List)
# What takes a value off the graph.
_CUTS = frozenset({"detach", "item", "tolist", "numpy", "data"})


# ----- graphs and states


def graph_retained(sketch: Sketch) -> bool:
    """What may be a loss is added to what outlives the pass, in a function that backpropagates, or `kept_state`."""
    if sketch.features & BACKWARD and any(_on_graph(sketch, one) for one in _added(sketch)):
        return True
    return kept_state(sketch)


def _added(sketch: Sketch) -> list[ast.expr]:
    """What is added to sums and lists, in loops or to what `self` holds."""
    found = sketch.function.found
    looped = bool(sketch.loops)
    added: list[ast.expr] = []
    for node in found.get(ast.AugAssign, ()):
        if isinstance(node.op, (ast.Add, ast.Sub)) and (looped or isinstance(node.target, ast.Attribute)):
            added.append(node.value)
    for node in found.get(ast.Assign, ()):
        target = node.targets[0]
        if looped and isinstance(target, ast.Subscript):
            added.append(node.value)
        elif (looped or isinstance(target, ast.Attribute)) and isinstance(node.value, _SUMS):
            names = {ast.unparse(one) for one in node.targets}
            nodes = walk(node.value)
            if any(isinstance(one, (ast.Name, ast.Attribute)) and ast.unparse(one) in names for one in nodes):
                added.append(node.value)
    for node in sketch.calls_of((*_APPENDS, "add_", "sub_")):
        if node.args and isinstance(node.func, ast.Attribute):
            if looped or isinstance(node.func.value, ast.Attribute):
                added.append(node.args[-1] if node.func.attr in _APPENDS else node.args[0])
    for kind in (ast.ListComp, ast.DictComp):
        for node in found.get(kind, ()):
            item = node.elt if isinstance(node, ast.ListComp) else node.value
            if isinstance(item, ast.Call) and called_name(item) in sketch.callees:
                added.append(item)
    for node in found.get(ast.Call, ()):  # a meter of this file
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        called = name in sketch.callees or (isinstance(func, ast.Name) and "__call__" in sketch.callees)
        if looped and called and name[:1] != "_":
            added += (*node.args, *(keyword.value for keyword in node.keywords))
    return added


def _on_graph(sketch: Sketch, node: ast.expr) -> bool:
    """Whether a value may be on a graph, as far as its own expression tells."""
    match node:
        case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.Lambda():
            return False
        case ast.Call(func=ast.Attribute(value=inner, attr=name)):
            return name not in _CUTS and (
                name not in ("cpu", "to", "size", "numel", "clone") or _on_graph(sketch, inner)
            )
        case ast.Call(func=ast.Name(id=name)):
            return name not in ("len", "int", "float", "str", "bool", "round", "range")
        case ast.Attribute(attr=name):
            return name not in ("data", "shape")
        case ast.Subscript(value=inner):
            return _on_graph(sketch, inner)
        case ast.BinOp(left=left, right=right):
            return _on_graph(sketch, left) or _on_graph(sketch, right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_on_graph(sketch, one) for one in parts)
        case ast.Dict(values=parts):
            return any(_on_graph(sketch, one) for one in parts)
        case ast.Name(id=name):
            values = sketch.flows.get(name)
            return values is None or not all(isinstance(one, (ast.Constant, ast.JoinedStr)) for one in values)
    return True


def kept_state(sketch: Sketch) -> bool:
    """A method sets an attribute to what was computed from that attribute, and no other method but `__init__` does."""
    function = sketch.function
    cls = function.cls
    if cls is None or function.name == "__init__" or not (function.name == "forward" or sketch.features & BACKWARD):
        return False
    if _set_from_itself(sketch, cls):
        return True
    if function.name != "forward":
        return False
    called = [method for name, method in cls.methods.items() if name in function.calls and name != "__init__"]
    others = [sketch.file.of(method) for method in called]
    return any(map(_averages_in_place, (sketch, *others))) or any(_set_from_itself(one, cls) for one in others)


def _set_from_itself(sketch: Sketch, cls: Class) -> bool:
    """An attribute is computed from itself that nothing but the function and `__init__` sets."""
    function = sketch.function
    own = {"__init__", function.name}
    kept = {node.attr for node in sketch.attributes if isinstance(node.ctx, ast.Store)}
    kept |= {
        node.value.attr
        for node in function.found.get(ast.Subscript, ())
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Attribute)
    }
    names = {name for name in kept if cls.assigns.get(name, set()) <= own}
    names &= {node.attr for node in sketch.attributes if isinstance(node.ctx, ast.Load)} if names else set()
    # The survey does not look at what `self.x += y` binds.
    names |= {
        node.target.attr for node in function.found.get(ast.AugAssign, ()) if isinstance(node.target, ast.Attribute)
    }
    names -= sketch.survey.deleted
    if not names:
        return False
    values = [
        (target.attr, node.value)
        for node in function.found.get(ast.Assign, ())
        for whole in node.targets
        for target in walk(whole)
        if isinstance(target, ast.Attribute) and target.attr in names
    ]
    values += [
        (node.target.attr, node.value)
        for kind in (ast.AnnAssign, ast.AugAssign)
        for node in function.found.get(kind, ())
        if isinstance(node.target, ast.Attribute) and node.target.attr in names
    ]
    return any(
        isinstance(one, ast.Attribute) and one.attr == name
        for name, value in values
        if value is not None
        for one in sketch.closure([value])
    )


def _averages_in_place(sketch: Sketch) -> bool:
    """What `self` holds is added to, or copied into, where it is scaled as well or is part of what is added."""
    added = [
        (target.attr, [*node.args, *(one.value for one in node.keywords)])
        for node in sketch.calls_of(library.AVERAGES)
        if isinstance(node.func, ast.Attribute) and (target := written_attribute(node.func.value)) is not None
    ]
    added += [
        (node.target.attr, [node.value])
        for node in sketch.function.found.get(ast.AugAssign, ())
        if isinstance(node.target, ast.Attribute)
    ]
    if not added:
        return False
    calls = sketch.function.calls
    scales = "mul_" in calls or "div_" in calls or "lerp_" in calls
    if scales or any(isinstance(one.op, (ast.Mult, ast.Div)) for one in sketch.function.found.get(ast.AugAssign, ())):
        return True
    return any(
        isinstance(one, ast.Attribute) and one.attr == name for name, given in added for one in sketch.closure(given)
    )


MAX_LOOPS = 20  # of one function: to run it costs less than to look at more


def recurrent_state(sketch: Sketch) -> bool:
    """A loop that backpropagates and hands something on from one pass to the next, or keeps the graph; `kept_state`."""
    if sketch.features & BACKWARD and sketch.loops:
        calls = [one for name in _walkers(sketch) for one in sketch.named.get(name, ())]
        if len(sketch.loops) > MAX_LOOPS:
            return True
        for loop in sketch.loops:
            inside = [one for one in calls if stands_in(one, loop)]
            if any(one.args or one.keywords for one in inside if getattr(one.func, "attr", "") in _BACKWARD):
                return True  # `retain_graph=True`, perhaps
            if inside and _carries(sketch, loop):
                return True
    return kept_state(sketch)


def _walkers(sketch: Sketch) -> list[str]:
    """The names of what backpropagates: `backward`, and functions of the file that do."""
    found = sketch.of_file(_backpropagate)
    return [*_BACKWARD, *(name for name in found if name in sketch.function.calls)]


def _backpropagate(survey: Survey) -> list[str]:
    """The names of the functions of the file that backpropagate."""
    return list(dict.fromkeys(one.name for one in survey.all if one.features & BACKWARD))


def _carries(sketch: Sketch, loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether a loop binds something that was there before and is computed from what it was."""
    goes_over = getattr(loop, "iter", None)
    for name, values in sketch.flows.items():
        inside = [one for one in values if one is not goes_over and stands_in(one, loop)]
        if not inside or any(one is goes_over for one in values):
            continue
        if any(isinstance(one, ast.Name) and one.id == name for one in sketch.closure(inside)):
            return True
    return False


def graph_cut(sketch: Sketch) -> bool:
    """A constructor is given what may be on the graph, or a value is declared a leaf."""
    if "requires_grad_" in sketch.function.calls or "Variable" in sketch.function.calls:
        return True
    if any(one.attr == "requires_grad" and isinstance(one.ctx, ast.Store) for one in sketch.attributes):
        return True
    for node in sketch.calls_of(("tensor", "as_tensor", "asarray", "Tensor", "FloatTensor")):
        if not node.args or not sketch.torch_name(node.func):
            continue
        if _on_graph(sketch, node.args[0]) or any(keyword.arg == "requires_grad" for keyword in node.keywords):
            return True
    return False


# ----- steps


def builds_optimizer(sketch: Sketch) -> bool:
    """Whether the function, or what it calls, builds an optimizer of torch."""
    if sketch.features & OPTIMIZER:
        return True
    builders = sketch.of_file(_builders)
    return bool(builders) and (sketch.function.name in builders or sketch.comes_to_call(builders))


def _builders(survey: Survey) -> frozenset[str]:
    """The names of functions that build an optimizer, and of classes whose constructor does."""
    found: set[str] = set()
    for function in survey.all:
        if function.features & OPTIMIZER or any(
            (survey.names.qualify(node.func) or "").startswith("torch.optim.")
            for node in function.found.get(ast.Call, ())
        ):
            found.add(function.name)
            if function.cls is not None and function.name == "__init__":
                found.add(function.cls.name)
    return frozenset(found)


def untrained_part(sketch: Sketch) -> bool:
    """An optimizer is built and stepped, and nothing is said of `requires_grad`."""
    if "step" not in sketch.function.calls or not builds_optimizer(sketch):
        return False
    return all(one.attr != "requires_grad" for one in sketch.attributes)


def stepped_before(sketch: Sketch) -> bool:
    """A step stands above a call that backpropagates."""
    steps = list(sketch.calls_of(("step",)))
    if not steps:
        return False
    first = min(one.lineno for one in steps)
    return any(one.lineno >= first for name in _walkers(sketch) for one in sketch.named.get(name, ()))


def gradient_not_cleared(sketch: Sketch) -> bool:
    """There is a loop."""
    return bool(sketch.loops)


def replaced_parameter(sketch: Sketch) -> bool:
    """Something in the file makes steps; and a new object is put into another one, or gets the name of another one."""
    if not sketch.in_file("step"):
        return False
    if sketch.features & PLACED:
        return True
    if any(node.args and _is_new(sketch, node.args[-1]) for node in sketch.calls_of(_ADDS)):
        return True
    if any(len(node.args) > 2 or "assign" in {one.arg for one in node.keywords} for node in sketch.calls_of(_LOADS)):
        return True
    return any(sum(_is_new(sketch, one) for one, part in bound if not part) > 1 for bound in sketch.bound.values())


_LOADS = ("load_state_dict",)
_ADDS = ("append", "insert", "add_module", "register_module", "register_parameter")


def _is_new(sketch: Sketch, node: ast.expr) -> bool:
    """Whether an expression may be a new layer: a call of a class, or of a function of the file; a name, an item."""
    if isinstance(node, ast.Call):
        name = called_name(node)
        return name[:1].isupper() or name in sketch.callees or not name or name in sketch.of_file(other_names)
    return isinstance(node, (ast.Name, ast.IfExp, ast.NamedExpr))


# ----- leaves


def moved_leaf(sketch: Sketch) -> bool:
    """A gradient is read, or an optimizer is built here or in what is called."""
    return any(one.attr == "grad" for one in sketch.attributes) or builds_optimizer(sketch)


_PARAMETER = frozenset({"Parameter"})


def moved_parameter(sketch: Sketch) -> bool:
    """A Parameter is made here or in what is called, and an attribute is set or something is registered."""
    if not sketch.comes_to_call(_PARAMETER):
        return False
    known = sketch.function.calls
    if not known.isdisjoint(("setattr", "register_parameter", "register_module", "add_module")):
        return True
    return any(isinstance(one.ctx, ast.Store) for one in sketch.attributes)
