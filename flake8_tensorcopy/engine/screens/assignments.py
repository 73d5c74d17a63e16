"""Assignments of a trace: what names, attributes and items are bound to; what an augmented one writes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.screens import calls
from flake8_tensorcopy.engine.screens.groups import (
    NOTHING,
    PUT,
    SEVERAL,
    VIEWED,
    Group,
    Groups,
    collapse,
    element,
    find,
    join,
)
from flake8_tensorcopy.engine.screens.kept import keeps_result
from flake8_tensorcopy.engine.screens.looks import collects, is_key, is_number, of_arrays
from flake8_tensorcopy.engine.screens.paths import PRODUCTS, item, path

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.trace import Trace


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
    chosen = trace.value(index) if not isinstance(index, ast.Constant) else ()
    key = is_key(index)
    plain = bool(base) and all(one.container for one in base)
    if not plain and isinstance(target.value, ast.Attribute):
        plain = target.value.attr in trace.file.collections
    if not (key or plain):
        trace.write(base, name, target.value, target, "subscript", first, (*groups, *chosen))
        if isinstance(index, ast.Name):
            trace.keep(chosen, index)
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
    known = trace.known.get(node)
    if known is not None:
        return known[0]
    loads = len(trace.loads)
    groups = trace.value(node)
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
        values = [trace.value(one) for one in source.elts]
        for target, groups, one in zip(first.elts, values, source.elts, strict=True):
            bind_target(trace, target, groups, one)
        return
    groups = trace.value(source)
    if len(node.targets) > 1 and not groups and not is_number(source):
        groups = (trace.made(container=collects(source)),)
    kept = trace.recording and keeps_result(trace, source)
    for target in node.targets:
        bind_target(trace, target, groups, source)
        for name in sorted(names_in(target)) if kept else ():
            if "." not in name:
                _note_result(trace, trace.env[name], source)
    if groups and kept:
        _note_result(trace, groups, source)


def _note_result(trace: Trace, groups: Groups, source: ast.expr) -> None:
    """What an operation keeps as its result, under the name that it gets."""
    if groups:
        trace.tick += 1
        trace.keep(groups, source)


def _annassign(trace: Trace, node: ast.AnnAssign) -> None:
    if node.value is not None:
        trace.binds = names_in(node.target)
        groups = trace.value(node.value)
        bind_target(trace, node.target, groups, node.value)
        if isinstance(node.target, ast.Name) and keeps_result(trace, node.value):
            _note_result(trace, trace.env[node.target.id], node.value)


def _augassign(trace: Trace, node: ast.AugAssign) -> None:
    first = trace.tick
    given = trace.value(node.value)
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
    if isinstance(node.op, PRODUCTS) and given:
        trace.keep(given, node)
    trace.whole = node
    trace.write(groups, name, target, node, "augmented", first, given)


ASSIGNMENTS: dict[type[ast.AST], Callable[..., None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annassign,
    ast.AugAssign: _augassign,
}
