"""Comprehensions: what they make of each item, one by one or for all of them."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.assign import bind_target
from flake8_tensorcopy.engine.displays import container
from flake8_tensorcopy.engine.evaluate import evaluate
from flake8_tensorcopy.engine.items import all_rows, differs, each_objects, exact_items
from flake8_tensorcopy.engine.iteration import element_of
from flake8_tensorcopy.engine.loops import elements
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.parameters import wrapped_in_each_pass
from flake8_tensorcopy.engine.rebinding import note_updates
from flake8_tensorcopy.engine.repeated import comprehended
from flake8_tensorcopy.engine.retained import listed
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.snapshots import hold_parameters
from flake8_tensorcopy.engine.values import Obj, Value

MAX_UNROLLED = 4  # items of a list that a comprehension is run for one by one


def comprehension(run: Run, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    state = run.now
    wraps = len(run.wraps)
    targets = {n.id for g in node.generators for n in walk(g.target) if isinstance(n, ast.Name)}
    saved = {name: (state.env.get(name), state.version.get(name, 0)) for name in targets}
    first = evaluate(run, node.generators[0].iter)
    elements(run, node, first)
    outer = run.loop
    run.loop = (*outer, 1)
    known = exact_items(run, first)
    if known is not None and isinstance(node, ast.ListComp) and len(known) <= MAX_UNROLLED and _plain(node):
        result = _unrolled(run, node, first, known)
        _restore_names(run, saved)
        run.loop = outer
        return result
    for position, generator in enumerate(node.generators):
        over = first if position == 0 else evaluate(run, generator.iter)
        run.use_iterated(over, generator.iter)
        bind_target(run, generator.target, element_of(run, generator.iter, over), generator.iter, origin="loop")
        for test in generator.ifs:
            run.use(evaluate(run, test), test, "test")
    if isinstance(node, ast.DictComp):
        run.use(evaluate(run, node.key), node.key, "argument")
        value = evaluate(run, node.value)
        note_updates(run, value)
        listed(run, node, node.value, value)
        result = container(run, node, "dict", [("[*]", node.value, value)])
        comprehended(run, node, node.value, result.refs[0].obj)
    else:
        value = evaluate(run, node.elt)
        note_updates(run, value)
        listed(run, node, node.elt, value)
        result = container(run, node, "list", [("[*]", node.elt, value)])
        inside = set(walk(node.elt))
        made = result.refs[0].obj
        made.made = "generator" if isinstance(node, ast.GeneratorExp) else ""
        comprehended(run, node, node.elt, made)
        passes = {f"[{id(generator.iter)}{run.loop}]" for generator in node.generators}
        lists = {ref.obj.parent for ref in value.refs if ref.obj.slot in passes}
        each = each_objects(run, first) if len(node.generators) == 1 else frozenset()
        if value.refs and all(
            differs(run, ref, inside, passes)
            or ref.obj in each
            or (ref.obj.parent is not None and ref.obj.parent in lists)
            for ref in value.refs
        ):
            made.data = "each"
            made.over = first.obj if each else None
            made.born = run.count()
            for ref in value.refs:
                if ref.obj.node in inside and ref.obj.owner == "fresh":
                    ref.obj.any_of = ref.obj
            held = run.now.fields(made)["[*]"]
            run.now.set_field(made, "[*]", Value(tuple(all_rows(run, ref) for ref in held.refs), held.kind))
            made.exact = len(node.generators) == 1 and not node.generators[0].ifs
    hold_parameters(run, node, result.refs[0].obj)
    made = result.refs[0].obj
    if made.data is None and _varies(run, node.value if isinstance(node, ast.DictComp) else node.elt, targets, made):
        made.data = "varies"
    run.loop = outer
    wrapped_in_each_pass(run, wraps, outer)
    _restore_names(run, saved)
    return result


def _varies(run: Run, item: ast.expr, targets: set[str], made: Obj) -> bool:
    """Whether each pass of a comprehension may give another item: by its own names, or by what a call gives it."""
    if not targets.isdisjoint(run.names_in(item)):
        return True
    inside = set(walk(item))
    return any(ref.obj.node in inside for ref in run.now.fields(made)["[*]"].refs)


def _plain(node: ast.ListComp) -> bool:
    """One `for`, no `if`."""
    return len(node.generators) == 1 and not node.generators[0].ifs


def _unrolled(run: Run, node: ast.ListComp, over: Value, known: list[Value]) -> Value:
    """A comprehension over a list whose items are known one by one."""
    generator = node.generators[0]
    run.use_iterated(over, generator.iter)
    items: list[tuple[str, ast.expr, Value]] = []
    for position, held in enumerate(known):
        bind_target(run, generator.target, held, generator.iter, origin="loop")
        value = evaluate(run, node.elt)
        note_updates(run, value)
        items.append((f"[{position}]", node.elt, value))
    return container(run, node, "list", items)


def _restore_names(run: Run, saved: dict[str, tuple[Value | None, int]]) -> None:
    """The targets of a comprehension are its own."""
    for name, (value, version) in saved.items():
        if value is None:
            run.now.unbind(name)
        else:
            run.now.rebind(name, value, version)
