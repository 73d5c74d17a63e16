"""`acc = torch.cat([acc, x])` in a loop: every pass copies all that was there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import GrownInLoop
from flake8_tensorcopy.engine.liveness import read_elsewhere
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import grows

Loop = ast.For | ast.AsyncFor | ast.While


def grown_in_loop(run: Run, loop: Loop) -> None:
    """Look for tensors that grow in this loop, itself and not one inside it, and are not read there."""
    growths: dict[str, list[tuple[ast.Assign, ast.Call]]] = {}
    for statement in _own(loop.body):
        if isinstance(statement, ast.Assign) and (call := grows(statement, run.names)) is not None:
            if (is_imported(run, call.func) or "").startswith("torch.") and not _of_itself(run, statement, call):
                growths.setdefault(run.text(statement.targets[0]), []).append((statement, call))
    if not growths:
        return
    uses = _uses(run, loop, growths)
    owners = {text.rpartition(".")[0] for text in growths} - {""}
    seen = _seen_by_methods(run, loop, owners) if owners else set()
    for text, found in growths.items():
        if not uses[text] and text.rpartition(".")[0] not in seen and not read_elsewhere(run, text):
            for _, call in found:
                name = is_imported(run, call.func) or ""
                run.fact(GrownInLoop(site=call, name=text, op=name.rsplit(".", 1)[-1], loop=loop))


def _of_itself(run: Run, statement: ast.Assign, call: ast.Call) -> bool:
    """`x = torch.cat([x, x])`: it doubles, and all passes together copy no more than twice what comes out."""
    text = run.text(statement.targets[0])
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "tensors")]
    lists = [parts.elts for parts in given if isinstance(parts, (ast.List, ast.Tuple))]
    return all(run.text(item) == text for parts in lists for item in parts)


def _own(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a loop, those of inner loops and functions left out."""
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, (ast.If, ast.With, ast.AsyncWith, ast.Try, ast.ExceptHandler, ast.Match, ast.match_case)):
            pending.extend(one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr))


def _uses(run: Run, loop: Loop, growths: dict[str, list[tuple[ast.Assign, ast.Call]]]) -> dict[str, set[ast.AST]]:
    """Where the loop does anything else with each of the names than to start it and to let it grow."""
    dotted = any("." in text for text in growths)
    uses: dict[str, set[ast.AST]] = {text: set() for text in growths}
    known: set[ast.AST] = set()
    for node in ast.walk(loop):
        match node:
            case ast.Name(id=text) if text in uses:
                uses[text].add(node)
            case ast.Attribute() if dotted and (text := run.text(node)) in uses:
                uses[text].add(node)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                known.add(left)
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) if run.text(target) in uses:
                text = run.text(target)
                call = grows(node, run.names)
                choice = _choice(run, growths[text][0][0], node)
                if call is not None:
                    known.update((target, *_operands(run, call, text)))
                elif choice is not None:
                    known.update((target, *ast.walk(choice.test)))
    return {text: found - known for text, found in uses.items()}


def _operands(run: Run, call: ast.Call, text: str) -> list[ast.AST]:
    """The operands of the call that are the name itself."""
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "tensors")]
    lists = [parts.elts for parts in given if isinstance(parts, (ast.List, ast.Tuple))]
    return [item for parts in lists for item in parts if run.text(item) == text]


def _choice(run: Run, growth: ast.Assign, other: ast.Assign) -> ast.If | None:
    """The `if` that chooses between the growth and another binding, which then is the first one."""
    sides = dict(_sides(run, growth))
    for node, side in _sides(run, other):
        if sides.get(node, side) != side:
            return node
    return None


def _sides(run: Run, node: ast.AST) -> Iterator[tuple[ast.If, bool]]:
    """The `if`s around a statement, and whether it stands in their first arm."""
    parents = run.parents()
    while (outer := parents.get(node)) is not None:
        if isinstance(outer, ast.If):
            yield outer, node in outer.body
        node = outer


def _seen_by_methods(run: Run, loop: Loop, owners: set[str]) -> set[str]:
    """The objects of which the loop calls a method, or which it passes on: their attributes may be read there."""
    seen: set[str] = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Call):
            used = [*node.args, *(keyword.value for keyword in node.keywords)]
            if isinstance(node.func, ast.Attribute):
                used.append(node.func.value)
            seen.update(run.text(one) for one in used if isinstance(one, (ast.Name, ast.Attribute)))
    return seen & owners
