"""`acc = torch.cat([acc, x])` in a loop: every pass copies all that was there."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.evaluate import is_imported
from flake8_tensorcopy.engine.facts import GrownInLoop
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import grows

Loop = ast.For | ast.AsyncFor | ast.While


def grown_in_loop(run: Run, node: Loop) -> None:
    """Look for tensors that grow in this loop, itself and not one inside it, and are not read there."""
    for statement in _own(node.body):
        if isinstance(statement, ast.Assign) and (call := grows(statement)) is not None:
            name = is_imported(run, call.func)
            if name is not None and name.startswith("torch.") and not _used(run, node, statement):
                target = run.text(statement.targets[0])
                run.fact(GrownInLoop(site=call, name=target, op=name.rsplit(".", 1)[-1], loop=node))


def _own(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a loop, those of inner loops and functions left out."""
    found: list[ast.stmt] = []
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            found.append(node)
        if isinstance(node, (ast.If, ast.With, ast.AsyncWith, ast.Try, ast.ExceptHandler, ast.Match, ast.match_case)):
            pending.extend(one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr))
    return found


def _used(run: Run, loop: Loop, growth: ast.Assign) -> bool:
    """Whether the loop does anything else with the name than to start it and to let it grow."""
    target = growth.targets[0]
    text = run.text(target)
    if isinstance(target, ast.Attribute) and _seen_by_methods(run, loop, target):
        return True
    known: set[ast.AST] = set()
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=[one]) if run.text(one) == text:
                call, choice = grows(node), _starts(loop, growth, node)
                if call is not None:
                    known.update((one, *_operands(run, call, text)))
                elif choice is not None:
                    known.update((one, *ast.walk(choice.test)))
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                known.add(left)
    return any(
        isinstance(node, (ast.Name, ast.Attribute)) and node not in known and run.text(node) == text
        for node in ast.walk(loop)
    )


def _operands(run: Run, call: ast.Call, text: str) -> list[ast.AST]:
    """The operands of the call that are the name itself."""
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "tensors")]
    lists = [parts.elts for parts in given if isinstance(parts, (ast.List, ast.Tuple))]
    return [item for parts in lists for item in parts if run.text(item) == text]


def _starts(loop: Loop, growth: ast.Assign, other: ast.Assign) -> ast.If | None:
    """The `if` that chooses between the growth and another binding, which then is the first one."""
    for node in ast.walk(loop):
        if isinstance(node, ast.If):
            body, orelse = ({one for part in side for one in ast.walk(part)} for side in (node.body, node.orelse))
            if (growth in body and other in orelse) or (growth in orelse and other in body):
                return node
    return None


def _seen_by_methods(run: Run, loop: Loop, target: ast.Attribute) -> bool:
    """Whether the loop calls something that may read the attribute: a method of the object, or one that is given it."""
    owner = run.text(target.value)
    for node in ast.walk(loop):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and run.text(node.func.value) == owner:
                return True
            if any(run.text(one) == owner for one in (*node.args, *(keyword.value for keyword in node.keywords))):
                return True
    return False
