"""Expressions and assignments of a trace: what each may share, what it reads, what it writes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.nodes import children
from flake8_tensorcopy.engine.screens import calls
from flake8_tensorcopy.engine.screens.groups import (
    GRADIENT,
    ITEM,
    KEYED,
    NOTHING,
    PUT,
    SEVERAL,
    VIEWED,
    YIELDED,
    Group,
    Groups,
    collapse,
    element,
    field,
    find,
    join,
)
from flake8_tensorcopy.engine.screens.looks import collects, is_number, of_arrays
from flake8_tensorcopy.engine.screens.trace import Keeper, Trace, Write

_PRODUCTS = (ast.Mult, ast.MatMult, ast.Div, ast.Pow)
MAX_PLACES = 8  # of a display whose items are told apart


def value(trace: Trace, node: ast.expr | None) -> Groups:
    """What the value of an expression may be, or hold; nothing if it shares nothing with anything."""
    if node is None:
        return ()
    handler = _VALUES.get(type(node))
    if handler is not None:
        return handler(trace, node)
    for child in children(node):
        if isinstance(child, ast.expr):
            value(trace, child)
    return ()


def path(trace: Trace, node: ast.expr) -> tuple[Groups, str]:
    """What an expression of names, attributes and items leads to, and what it is called; no read of that is noted."""
    if isinstance(node, ast.Name):
        return trace.name_of(node.id), node.id
    if isinstance(node, ast.Attribute):
        base, name = path(trace, node.value)
        op = ops.method(node.attr)
        if op is not None and op.form == "property" and node.attr != "grad":
            if op.result not in ("view", "maybe", "same"):
                return (), ""  # a shape, a device: nothing of the data is read
            trace.flag(base, VIEWED)
            return base, name
        held = trace.attribute(base, node.attr)
        if node.attr == "grad":
            trace.flag(held, GRADIENT)
        return held, name if "." in name else f"{name}.{node.attr}"
    if isinstance(node, ast.Subscript):
        base, name = path(trace, node.value)
        return item(trace, base, node.slice), name
    if isinstance(node, (ast.Starred, ast.Await)):
        return path(trace, node.value)
    if isinstance(node, ast.NamedExpr):
        value(trace, node)
        return path(trace, node.target)
    return value(trace, node), ""


def item(trace: Trace, base: Groups, index: ast.expr) -> Groups:
    """An item or part of what the groups stand for."""
    if isinstance(index, ast.Constant):
        if isinstance(index.value, str):
            trace.flag(base, KEYED)
            return tuple(field(one, f"[{index.value!r}]", KEYED) for one in base)
        trace.flag(base, VIEWED | ITEM)
        found = []
        for one in base:
            held = find(one).fields.get(f"[{index.value!r}]")
            found.append(element(one) if held is None else find(held))
        return tuple(found)
    value(trace, index)
    if isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
        trace.flag(base, ITEM)
    trace.flag(base, VIEWED)
    return tuple(element(one) for one in base)


def _name(trace: Trace, node: ast.Name) -> Groups:
    groups = trace.name_of(node.id)
    if groups:
        trace.load(node.id, groups)
    return groups


def _attribute(trace: Trace, node: ast.Attribute) -> Groups:
    if calls.imported(trace, node):
        return ()
    groups, name = path(trace, node)
    if groups and name:
        trace.load(name, groups)
    return groups


def _subscript(trace: Trace, node: ast.Subscript) -> Groups:
    groups, name = path(trace, node)
    if groups and name:
        trace.load(name, groups)
    return groups


def _inside(trace: Trace, node: ast.Starred | ast.Await) -> Groups:
    return value(trace, node.value)


def _binop(trace: Trace, node: ast.BinOp) -> Groups:
    left, right = value(trace, node.left), value(trace, node.right)
    if isinstance(node.op, _PRODUCTS) and (left or right):
        trace.tick += 1
        keep(trace, (*left, *right), node)
    if collects(node) or any(one.container for one in (*left, *right)):
        made = trace.made(container=True)
        if left or right:
            join((made, *left, *right))
        return (made,)
    if isinstance(node.op, ast.Pow):
        made = trace.made()
        keep(trace, (made,), node)
        return (made,)
    return ()


def keep(trace: Trace, groups: Iterable[Group], node: ast.AST) -> None:
    """Note an operation that keeps something for backward."""
    trace.keepers.append(Keeper(trace.tick, tuple(groups), node, trace.arms, trace.loops))


def _ifexp(trace: Trace, node: ast.IfExp) -> Groups:
    value(trace, node.test)
    found: list[Group] = []
    for arm in (node.body, node.orelse):
        groups = value(trace, arm)
        if groups or not isinstance(arm, ast.Constant):
            found += groups or (trace.made(),)
    return tuple(found)


def _unary(trace: Trace, node: ast.UnaryOp) -> Groups:
    groups = value(trace, node.operand)
    return groups if isinstance(node.op, ast.UAdd) else ()  # `+x` is x itself


def _boolop(trace: Trace, node: ast.BoolOp) -> Groups:
    found: list[Group] = []
    for one in node.values:
        found += value(trace, one)
    return tuple(found)


def _named(trace: Trace, node: ast.NamedExpr) -> Groups:
    groups = value(trace, node.value)
    bind_target(trace, node.target, groups, node.value)
    return trace.env.get(node.target.id, ())


def _display(trace: Trace, node: ast.List | ast.Tuple | ast.Set) -> Groups:
    if not any(isinstance(one, ast.expr) and not isinstance(one, ast.Constant) for one in node.elts):
        return ()
    made = trace.made(container=True)
    empty = True
    places = len(node.elts) <= MAX_PLACES and not any(isinstance(one, ast.Starred) for one in node.elts)
    for position, one in enumerate(node.elts):
        groups = value(trace, one)
        for group in groups:
            made.made |= find(group).made
        if groups:
            empty = False
            into = field(made, f"[{position}]") if places else collapse(made)
            join((into, *groups))
    return () if empty else (made,)


def _dict(trace: Trace, node: ast.Dict) -> Groups:
    made = trace.made(container=True)
    for key, one in zip(node.keys, node.values, strict=True):
        groups = value(trace, one)
        if key is not None and not isinstance(key, ast.Constant):
            value(trace, key)
        if groups:
            into = field(made, f"[{key.value!r}]") if isinstance(key, ast.Constant) else collapse(made)
            join((into, *groups))
            for group in groups:
                find(made).made |= find(group).made
    return (made,)


def _comprehension(trace: Trace, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Groups:
    outer = dict(trace.env)
    loops = trace.loops
    for generator in node.generators:
        over = value(trace, generator.iter)
        trace.loops |= {id(generator)}
        bind_iterated(trace, generator.target, generator.iter, over)
        for test in generator.ifs:
            value(trace, test)
    if isinstance(node, ast.DictComp):
        value(trace, node.key)
        groups = value(trace, node.value)
    else:
        groups = value(trace, node.elt)
    trace.loops = loops
    trace.env = outer
    made = trace.made(container=True)
    if groups:
        join((collapse(made), *groups))
    return (made,)


def _lambda(trace: Trace, node: ast.Lambda) -> Groups:
    trace._inner.append(node)
    return ()


def _yield(trace: Trace, node: ast.Yield | ast.YieldFrom) -> Groups:
    groups = value(trace, node.value)
    trace.flag(groups, YIELDED)
    trace.note_gradient(groups)
    if node.value is not None:
        trace.returned.append((node.value, groups))
    return ()


# ----- bindings


def names_in(target: ast.expr) -> frozenset[str]:
    """The names and attributes that an assignment to a target binds, as they are called here."""
    if isinstance(target, ast.Name):
        return frozenset((target.id,))
    if isinstance(target, (ast.Tuple, ast.List)):
        return frozenset(name for one in target.elts for name in names_in(one))
    if isinstance(target, ast.Starred):
        return names_in(target.value)
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        return frozenset((f"{target.value.id}.{target.attr}",))
    return NOTHING


def bind_target(trace: Trace, target: ast.expr, groups: Groups, source: ast.expr | None) -> None:
    """Bind a target to (what may be) a value."""
    if isinstance(target, ast.Name):
        if not groups and (target.id in trace.grown or source is None or not is_number(source)):
            groups = (trace.made(container=collects(source), tensor=calls.gives_tensor(trace, source)),)
        trace.bind(target.id, groups)
    elif isinstance(target, ast.Attribute):
        base, _ = path(trace, target.value)
        held = trace.attribute(base, target.attr)
        if groups:
            trace.note_gradient(groups)
            for one in held:
                join((one, *groups))
    elif isinstance(target, ast.Subscript):
        _store_item(trace, target, groups)
    elif isinstance(target, ast.Starred):
        bind_target(trace, target.value, groups, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        trace.flag(groups, SEVERAL)
        starred = any(isinstance(one, ast.Starred) for one in target.elts)
        for position, part in enumerate(target.elts):
            parts: list[Group] = []
            for group in groups:
                top = find(group)
                place = None if starred else top.fields.get(f"[{position}]")
                parts.append(element(top) if place is None else find(place))
            bind_target(trace, part, tuple(parts), None)


def _store_item(trace: Trace, target: ast.Subscript, groups: Groups) -> None:
    """`x[i] = value`: a write to x if that is a tensor, a slot of x if it is a list or dict."""
    first = trace.tick
    base, name = path(trace, target.value)
    index = target.slice
    chosen = value(trace, index) if not isinstance(index, ast.Constant) else ()
    key = isinstance(index, ast.JoinedStr) or (isinstance(index, ast.Constant) and isinstance(index.value, str))
    plain = bool(base) and all(one.container for one in base)
    if not plain and isinstance(target.value, ast.Attribute):
        plain = target.value.attr in trace.file.collections
    if not (key or plain):
        write(trace, base, name, target.value, target, "subscript", first, (*groups, *chosen))
    if groups and not of_arrays(index) and not (base and all(one.tensor for one in base)):
        held = item(trace, base, index) if isinstance(index, ast.Constant) else tuple(map(collapse, base))
        for one in held:
            join((one, *groups))
        trace.flag(held, PUT)
        trace.note_gradient(groups)


def bind_iterated(trace: Trace, target: ast.expr, over: ast.expr, groups: Groups) -> None:
    """Bind what a loop meets: the parts of `zip(..)` and `enumerate(..)` one by one, numbers of `range(..)`."""
    if isinstance(over, ast.Call):
        name = getattr(over.func, "attr", getattr(over.func, "id", ""))
        given = over.args
        if name == "range":
            bind_target(trace, target, (), _NUMBER)
            return
        if (
            isinstance(target, (ast.Tuple, ast.List))
            and not over.keywords
            and not any(isinstance(one, ast.Starred) for one in (*target.elts, *given))
        ):
            if name == "zip" and len(target.elts) == len(given):
                for part, one in zip(target.elts, given, strict=True):
                    bind_iterated(trace, part, one, _again(trace, one))
                return
            if name in ("enumerate", "items") and len(target.elts) == 2:
                bind_target(trace, target.elts[0], (), _NUMBER)
                if name == "enumerate" and given:
                    bind_iterated(trace, target.elts[1], given[0], _again(trace, given[0]))
                else:
                    bind_target(trace, target.elts[1], _items(trace, groups), None)
                return
    bind_target(trace, target, _items(trace, groups), None)


_NUMBER = ast.Constant(0)


def _again(trace: Trace, node: ast.expr) -> Groups:
    """What an expression gave that has been evaluated: its reads are noted."""
    loads = len(trace.loads)
    groups = value(trace, node)
    del trace.loads[loads:]
    return groups


def _items(trace: Trace, groups: Groups) -> Groups:
    trace.flag(groups, SEVERAL | VIEWED)
    return tuple(element(one) for one in groups)


def _assign(trace: Trace, node: ast.Assign) -> None:
    trace.binds = frozenset(name for target in node.targets for name in names_in(target))
    first, source = node.targets[0], node.value
    if (
        len(node.targets) == 1
        and isinstance(first, (ast.Tuple, ast.List))
        and isinstance(source, (ast.Tuple, ast.List))
        and len(first.elts) == len(source.elts)
        and not any(isinstance(one, ast.Starred) for one in (*first.elts, *source.elts))
    ):
        values = [value(trace, one) for one in source.elts]
        for target, groups, one in zip(first.elts, values, source.elts, strict=True):
            bind_target(trace, target, groups, one)
        return
    groups = value(trace, source)
    if len(node.targets) > 1 and not groups and not is_number(source):
        groups = (trace.made(container=collects(source)),)
    for target in node.targets:
        bind_target(trace, target, groups, source)
        for name in sorted(names_in(target)) if calls.keeps_result(trace, source) else ():
            if "." not in name:
                _note_result(trace, trace.env[name], source)
    if groups and calls.keeps_result(trace, source):
        _note_result(trace, groups, source)


def _note_result(trace: Trace, groups: Groups, source: ast.expr) -> None:
    """What an operation keeps as its result, under the name that it gets."""
    if groups:
        trace.tick += 1
        keep(trace, groups, source)


def _annassign(trace: Trace, node: ast.AnnAssign) -> None:
    if node.value is not None:
        trace.binds = names_in(node.target)
        groups = value(trace, node.value)
        bind_target(trace, node.target, groups, node.value)
        if isinstance(node.target, ast.Name) and calls.keeps_result(trace, node.value):
            _note_result(trace, trace.env[node.target.id], node.value)


def _augassign(trace: Trace, node: ast.AugAssign) -> None:
    first = trace.tick
    given = value(trace, node.value)
    target = node.target
    if isinstance(target, ast.Subscript):
        chosen = _again(trace, target.slice) if not isinstance(target.slice, (ast.Constant, ast.Slice)) else ()
        given = (*given, *chosen)
    groups, name = path(trace, target)
    if isinstance(target, ast.Name) and not groups:
        if not is_number(node.value):
            trace.bind(name, given if any(one.container for one in given) else (trace.made(),))
        return
    if isinstance(target, ast.Attribute) and target.attr in trace.file.numbers:
        return
    listed = isinstance(target, ast.Attribute) and target.attr in trace.file.collections
    if isinstance(node.op, (ast.Add, ast.BitOr)) and given:
        if collects(node.value) or any(one.container for one in (*groups, *given)):
            held = tuple(map(collapse, groups))
            for one in held:
                join((one, *given))
            trace.flag(held, PUT)
    if listed or (groups and all(one.container for one in groups)):
        return
    if isinstance(node.op, _PRODUCTS) and given:
        keep(trace, given, node)
    trace.whole = node
    write(trace, groups, name, target, node, "augmented", first, given)


def write(
    trace: Trace,
    groups: Groups,
    name: str,
    target: ast.expr,
    node: ast.AST,
    how: str,
    first: int,
    operands: Groups = (),
    uncertain: bool = False,
) -> None:
    """Note that something may be changed in place."""
    if not groups:
        return
    trace.tick += 1
    alone = trace.whole is node or how in ("augmented", "subscript")
    trace.writes.append(
        Write(
            groups, name, target, node, how, first, trace.tick, trace.statement, trace.arms, trace.loops, trace.late,
            trace.binds, alone, uncertain, operands, trace.aliases(groups, name),
        )
    )  # fmt: skip


_VALUES: dict[type[ast.AST], Callable[..., Groups]] = {
    ast.Constant: lambda trace, node: (),
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Starred: _inside,
    ast.Await: _inside,
    ast.Call: calls.call,
    ast.BinOp: _binop,
    ast.IfExp: _ifexp,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolop,
    ast.NamedExpr: _named,
    ast.List: _display,
    ast.Tuple: _display,
    ast.Set: _display,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}

ASSIGNMENTS: dict[type[ast.AST], Callable[..., None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annassign,
    ast.AugAssign: _augassign,
}
