"""A program as a golden test: its source with the marks that the golden files have.

The marks say what should be: the engine's facts, without the false ones, with the missed ones, and for each
disagreement what torch does on the line of the write.  Helpers get names that begin with `_`, and the program one of
its own.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import defaultdict

from flake8_tensorcopy.engine import analyse
from flake8_tensorcopy.engine.dump import KEYS
from flake8_tensorcopy.engine.facts import Fact, StaleRead
from flake8_tensorcopy.verify.programs.compare import DENIED, FALSE, MISSED, RETURNED, Difference, same_name, shown
from flake8_tensorcopy.verify.programs.record import ELSEWHERE

_LINKS = (
    ("maybe", frozenset("to cpu float double contiguous reshape flatten type_as dropout".split())),
    ("numpy", frozenset("numpy from_numpy as_tensor".split())),
    ("detach", frozenset({"detach", "data"})),
)


def golden(text: str, differences: tuple[Difference, ...]) -> str:
    """The program with the marks that a golden test of the disagreements has."""
    text = _at_the_return(text, differences)
    tree = ast.parse(text)
    marks: dict[int, list[str]] = defaultdict(list)
    for region in analyse(tree, frozenset(KEYS)).regions:
        for fact in region.facts:
            line = fact.site.lineno  # type: ignore[attr-defined]
            about = [one for one in differences if _is_about(one, fact)]
            if any(one.kind == FALSE for one in about):
                continue
            marks[line].append(_mark(fact) + (" | -certain" if any(one.kind == DENIED for one in about) else ""))
    for one in differences:
        if one.kind == MISSED:
            marks[one.write].append(_missed(one, tree))
        elif one.kind == FALSE:
            marks[one.write].append(f"# stays: {_root(one.reader)}")
    return _named(_written(text, marks))


def _is_about(difference: Difference, fact: Fact) -> bool:
    return (
        isinstance(fact, StaleRead)
        and difference.link != RETURNED
        and difference.write == getattr(fact.site, "lineno", 0)
        and same_name(difference.reader, shown(fact.reader))
        and difference.bound in (getattr(fact.bound, "lineno", 0), ELSEWHERE)
    )


def _mark(fact: Fact) -> str:
    kind = type(fact).__name__
    return " ".join(["# fact:", kind, *(f"{key}={getattr(fact, key)}" for key in KEYS[kind])])


def _missed(difference: Difference, tree: ast.Module) -> str:
    """What the engine should have said."""
    link = "alias"
    for mine, theirs in sorted(difference.paths)[:1]:
        while mine and theirs and mine[0] == theirs[0]:
            mine, theirs = mine[1:], theirs[1:]
        steps = {*mine, *theirs}
        link = next((name for name, ops in _LINKS if steps & ops), "view" if steps else "alias")
    op = _op(tree, difference.write)
    return f"# fact: StaleRead reader={difference.reader} writer={difference.writer} op={op} link={link}"


def _op(tree: ast.Module, line: int) -> str:
    """How the engine calls the write that stands on a line; of a call, the write in the function."""
    called = []
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) != line:
            continue
        match node:
            case ast.AugAssign(op=op):
                return {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*="}.get(type(op), "/=")
            case ast.Assign(targets=[ast.Subscript()]):
                return "[...] ="
            case ast.Call(func=ast.Attribute(attr=name)) if name.endswith("_") or node.keywords or name == "fill":
                return name
            case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                called.append(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in called:
            for statement in node.body:
                if (inner := _op(tree, statement.lineno)) != "?":
                    return inner
    return "?"


def _at_the_return(text: str, differences: tuple[Difference, ...]) -> str:
    """Two names that share memory at a `return`: a write to one of them shows whether they do."""
    lines = text.splitlines()
    for one in sorted(differences, key=lambda one: -one.write):
        if one.link == RETURNED:
            indent = re.match(r"\s*", lines[one.write - 1])
            space = indent.group() if indent is not None else ""
            lines[one.write - 1 : one.write] = [
                f"{space}{one.reader}[...] = 77  # stays: {one.writer}",
                lines[one.write - 1],
            ]
    return "\n".join(lines) + "\n"


def _root(name: str) -> str:
    return name.partition("[")[0]


def _written(text: str, marks: dict[int, list[str]]) -> str:
    """The source with the marks at the ends of its lines, and further ones on lines of their own below."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        first, *more = marks.get(number, [""])
        lines.append(f"{line}  {first}" if first else line)
        lines += [" " * (len(line) - len(line.lstrip())) + mark for mark in more]
    return "\n".join(lines) + "\n"


def _named(text: str) -> str:
    """Helpers begin with `_`; the program is called by what it is made of."""
    tree = ast.parse(text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            new = f"program_{digest}" if node.name == "program" else f"_{node.name}"
            text = re.sub(rf"(?<![\w.]){node.name}\b", new, text)
    return text
