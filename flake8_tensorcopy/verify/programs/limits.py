"""Known limits: what the engine does not decide, by design or for its price, each recognised by what the program does.

A limit is asked with the difference, the program and how torch saw the reader's and the written memory cut out of their
storage.  Each is shown by a test.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flake8_tensorcopy.verify.programs.compare import DENIED, FALSE, MISSED, Difference

Paths = frozenset[tuple[tuple[str, ...], tuple[str, ...]]]
Recogniser = Callable[[Difference, ast.Module, Paths], bool]

_SHAPES = frozenset("view reshape flatten unsqueeze squeeze permute transpose t T expand".split())
_PARTS = frozenset("narrow select split chunk unbind diagonal row".split())


@dataclass(frozen=True, slots=True)
class Limit:
    """One kind of sharing that the engine leaves open."""

    name: str
    reason: str
    recognise: Recogniser


def known(difference: Difference, tree: ast.Module, paths: Paths) -> Limit | None:
    """The limit that a difference falls under, if any."""
    return next((limit for limit in LIMITS if limit.recognise(difference, tree, paths)), None)


def _cuts(step: str) -> bool:
    return step in _PARTS or (step.startswith("[") and step not in ("[:]", "[...]", "[0:]"))


def _two_parts(difference: Difference, paths: Paths, token: Callable[[str], bool]) -> bool:
    """The reader and what was written are two parts of one tensor each time, and one of them was cut in a way of which
    the engine does not know enough: in this one, or (where it is read twice) in another of these."""

    def in_some_way(step: str) -> bool:
        return step in ("chunk", "diagonal", "row") or step in _SHAPES or _is_from_the_end(step)

    return (
        difference.kind == MISSED
        and any(token(step) for pair in paths for part in pair for step in part)
        and all(
            any(_cuts(step) for step in mine)
            and any(_cuts(step) for step in theirs)
            and any(in_some_way(step) for step in (*mine, *theirs))
            for mine, theirs in paths
        )
    )


def _piece(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    return _two_parts(difference, paths, lambda step: step == "chunk")


def _diagonal(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    return _two_parts(difference, paths, lambda step: step == "diagonal")


def _is_from_the_end(step: str) -> bool:
    return step.startswith("[") and "-" in step


def _from_the_end(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    return _two_parts(difference, paths, _is_from_the_end)


def _another_shape(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    return _two_parts(difference, paths, lambda step: step in _SHAPES)


def _row(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    return _two_parts(difference, paths, lambda step: step == "row")


def _loops(tree: ast.Module) -> Iterator[ast.For | ast.While]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While):
            yield node


def _bound_in(node: ast.AST) -> set[str]:
    """Names that are bound inside, or of which an item or attribute is."""
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name | ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store):
            found.add(_root(ast.unparse(one)))
    return found


def _root(name: str) -> str:
    return name.partition("[")[0].partition(".")[0]


def _names(difference: Difference, tree: ast.Module) -> set[str]:
    """The reader, the writer, and every name that they were made of."""
    names = {_root(difference.reader), _root(difference.writer)}
    made = [
        (_bound_in(node), {one.id for one in ast.walk(node) if isinstance(one, ast.Name)})
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr)
    ]
    while True:
        more = {name for bound, of in made if not bound.isdisjoint(names) for name in of} - names
        if not more:
            return names
        names |= more


def _rebound_in_a_loop(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    names = {_root(difference.reader), _root(difference.writer)}
    return difference.kind == DENIED and any(not names.isdisjoint(_bound_in(loop)) for loop in _loops(tree))


def _exchanges(node: ast.AST) -> set[str]:
    """Names that some assignment inside exchanges: `x, y = y, x`."""
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                names = {item.id for item in targets if isinstance(item, ast.Name)}
                if len(names) == 2 and names == {item.id for item in values if isinstance(item, ast.Name)}:
                    found |= names
    return found


def _bound_in_a_nested_branch(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    nested = [
        (outer, inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.If)
        for item in (*outer.body, *outer.orelse)
        for inner in ast.walk(item)
        if isinstance(inner, ast.If)
    ]
    return difference.kind == FALSE and any(
        not _names(difference, tree).isdisjoint(_bound_in(inner)) or _left_and_tested(tree, outer, inner)
        for outer, inner in nested
    )


def _left_and_tested(tree: ast.Module, outer: ast.If, inner: ast.If) -> bool:
    """Whether the inner branch returns, and both of its tests are asked again."""
    if not any(isinstance(one, ast.Return) for one in ast.walk(inner)):
        return False
    again = {
        one.id
        for node in ast.walk(tree)
        if isinstance(node, ast.If | ast.IfExp) and node not in (outer, inner)
        for one in ast.walk(node.test)
        if isinstance(one, ast.Name)
    }
    return all(
        not again.isdisjoint(one.id for one in ast.walk(test) if isinstance(one, ast.Name))
        for test in (outer.test, inner.test)
    )


def _exchanged_in_each_pass(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    for loop in _loops(tree):
        counted = isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
        if not counted and _exchanges(loop):
            return True
    return False


def _given_lists(tree: ast.Module) -> list[set[str]]:
    """The parameters of the program that are lists, each with the other names that the list is given."""
    found = [
        {one.arg}
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "program"
        for one in node.args.args
        if one.annotation is not None and ast.unparse(one.annotation).startswith("list[")
    ]
    for names in found:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.value) in names:
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _iterated(tree: ast.Module, names: set[str]) -> Iterator[ast.AST]:
    """Loops and comprehensions over a list of these names."""
    for node in ast.walk(tree):
        over = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
        if any(isinstance(one.iter, ast.Name) and one.iter.id in names for one in over):
            yield node


def _item_by_index_in_its_loop(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    for given in _given_lists(tree):
        for loop in _iterated(tree, given):
            if _indexes(loop, given):
                return True
            # The item was taken before, and one of the two is that of the pass.
            if isinstance(loop, ast.For) and loop.lineno < difference.write <= (loop.end_lineno or 0):
                names = _names(difference, tree)
                assigned = (node for node in ast.walk(tree) if isinstance(node, ast.Assign))
                taken = (node for node in assigned if _indexes(node.value, given))
                if ast.unparse(loop.target) in names and any(not names.isdisjoint(_bound_in(one)) for one in taken):
                    return True
    return False


def _indexes(node: ast.AST, names: set[str]) -> bool:
    """Whether an item of a list is taken by its index somewhere inside."""
    return any(
        isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) and one.value.id in names
        for one in ast.walk(node)
    )


def _grown_in_a_loop(tree: ast.Module) -> set[str]:
    """Lists that a loop appends to."""
    return {
        ast.unparse(one.value)
        for loop in _loops(tree)
        for one in ast.walk(loop)
        if isinstance(one, ast.Attribute) and one.attr == "append"
    }


def _changed_list(difference: Difference, tree: ast.Module, paths: Paths) -> bool:
    if not _names(difference, tree).isdisjoint(_grown_in_a_loop(tree)):
        return True
    for names in _given_lists(tree):
        changed = any(
            (isinstance(one, ast.Attribute) and one.attr == "append" and ast.unparse(one.value) in names)
            or (isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store) and ast.unparse(one.value) in names)
            for one in ast.walk(tree)
        )
        if changed and any(True for _ in _iterated(tree, names)):
            return True
    made = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.ListComp)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return any(
        isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store) and _root(ast.unparse(one)) in made
        for one in ast.walk(tree)
    ) and not _names(difference, tree).isdisjoint(made)


LIMITS: tuple[Limit, ...] = (
    Limit("size of a piece", "where `chunk` cuts depends on the size, which the engine does not know", _piece),
    Limit("diagonal", "which rows a diagonal meets depends on the size", _diagonal),
    Limit("counted from the end", "which index `-1` is depends on the size", _from_the_end),
    Limit("row of a pass", "in a loop over a tensor, whether this pass's row is one that is named by number", _row),
    Limit("another shape", "what an index means after `view` depends on the size", _another_shape),
    Limit(
        "rebound in a loop",
        "what a loop replaces is no alternative to the engine, though another branch may have kept it",
        _rebound_in_a_loop,
    ),
    Limit(
        "bound in a nested branch",
        "which two bindings go together after `if` in `if` is an `or` of tests, the engine keeps an `and`",
        _bound_in_a_nested_branch,
    ),
    Limit(
        "item by its index in its loop",
        "in a loop over a given list, the item of a pass and an item by its index may be two",
        _item_by_index_in_its_loop,
    ),
    Limit(
        "changed list",
        "what stands where in a list of unknown length after `append` or a new item",
        _changed_list,
    ),
    Limit(
        "exchanged in each pass",
        "a loop of unknown length is run twice: names that change places in each pass are where two passes leave them",
        _exchanged_in_each_pass,
    ),
)
