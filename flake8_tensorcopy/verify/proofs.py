"""Fixtures as the linter repairs them: what `bad_x` becomes must measure like `good_x`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine import Finding
from flake8_tensorcopy.fixes import Repaired, repair
from flake8_tensorcopy.lint import lint
from flake8_tensorcopy.verify.fixtures import Fixture

_EVERY = Options(preview=True)


def repairs(fixtures: Sequence[Fixture]) -> list[Fixture]:
    """Those of the fixtures that have something to repair, repaired."""
    made = (repaired(fixture)[0] for fixture in fixtures if fixture.bad)
    return [fixture for fixture in made if fixture.fixed]


def repaired(fixture: Fixture) -> tuple[Fixture, Repaired]:
    """The fixture after every repair, safe or not, of the rule that it belongs to, and what was repaired.

    Its `fixed` are the functions to measure: those with the bug whose text, or that of what they call in the file, was
    changed, and in which the rule reports nothing any more and misses nothing that is marked as a known miss.
    """

    def choose(findings: Sequence[Finding], tree: ast.Module, lines: Sequence[str]) -> list[Finding]:
        return [finding for finding in findings if finding.code == fixture.rule]

    made = repair(fixture.source.encode(), lambda tree, lines: lint(tree, lines, _EVERY), choose, unsafe=True)
    text = "".join(made.source.lines)
    before, after = ast.parse(fixture.source), ast.parse(text)
    lines = {finding.span.line for finding in made.left}
    lines |= {at for at, line in enumerate(made.source.lines, 1) if f"# todo: {fixture.rule}" in line}
    fixed = []
    for name in fixture.bad:
        parts = list(_reached(after, name))
        if [ast.dump(part) for part in parts] != [ast.dump(part) for part in _reached(before, name)] and not any(
            part.lineno <= line <= (part.end_lineno or part.lineno) for part in parts for line in lines
        ):
            fixed.append(name)
    return replace(fixture, source=text, bad=(), fixed=tuple(fixed)), made


def _reached(tree: ast.Module, name: str) -> Iterator[ast.stmt]:
    """A function, and the functions, classes and values at the top of the file that it names, however far away."""
    parts: dict[str, ast.stmt] = {}
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=known) | ast.ClassDef(name=known):
                parts[known] = node
            case ast.Assign(targets=[ast.Name(id=known)]):
                parts[known] = node
    waiting, seen = [name], {name}
    while waiting:
        part = parts[waiting.pop()]
        yield part
        named = {node.id for node in ast.walk(part) if isinstance(node, ast.Name) and node.id in parts}
        waiting += named - seen
        seen |= named
