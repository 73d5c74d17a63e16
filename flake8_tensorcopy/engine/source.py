"""What a file holds: one walk over its tree finds imports, classes, functions, and what each could be wrong about."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flake8_tensorcopy.engine.definitions import Class, Function, FunctionNode, Survey
from flake8_tensorcopy.engine.features import ANYTHING, INFERENCE, MODULE_ALIAS, WRITE
from flake8_tensorcopy.engine.forms import (
    CONTAINERS,
    TURNS,
    applied_to,
    behind_detach,
    bound_by,
    called_name,
    chained,
    class_called,
    grows,
    is_true,
    last_name,
    mentions,
    receiver_of,
    rooted,
)
from flake8_tensorcopy.engine.forms import is_of_shape as of_shape
from flake8_tensorcopy.engine.names import Names
from flake8_tensorcopy.engine.spreading import spread_features
from flake8_tensorcopy.engine.telling import defaults, scan

__all__ = [
    "MAX_DEPTH",
    "TURNS",
    "Class",
    "Function",
    "FunctionNode",
    "Survey",
    "applied_to",
    "behind_detach",
    "bound_by",
    "called_name",
    "chained",
    "collators",
    "first_line",
    "grows",
    "is_true",
    "of_shape",
    "receiver_of",
    "rooted",
    "survey",
]

# An expression nested deeper than this is not analysed: LibCST raises from about 200 nested calls on, and the
# interpreter below uses several frames a level.
MAX_DEPTH = 100


def survey(tree: ast.Module) -> Survey:
    """Walk the tree once, without recursion."""
    names = Names()
    body = Function("<module>", tree)
    result = Survey(names, {}, {}, body, [], [])
    met = _Met(result, [], [])
    own = met.own
    for statement in tree.body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            result.units.append((statement.lineno, statement.end_lineno or statement.lineno))
        if isinstance(statement, ast.ClassDef):
            result.units.append((first_line(statement), statement.end_lineno or statement.lineno))
    for statement in _flat(tree.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            result.functions[statement.name] = _function(met, statement, None)
        elif isinstance(statement, ast.ClassDef):
            made = Class(statement.name, statement, statement.bases)
            result.classes[statement.name] = made
            _members(met, made, statement)
        else:
            own.append(statement)
    result.all.append(body)
    scan(body, own, result)
    for one in reversed(met.pending):  # of what several methods assign, the last one counts
        scan(one, one.node.body, result)
    _import(result)
    for one in met.pending:
        decorators = () if isinstance(one.node, ast.Module) else one.node.decorator_list
        if any(mentions(item, "inference_mode", names) for item in decorators):
            one.features |= INFERENCE
    copies = {name for name, whole in names.imported.items() if whole == "copy.copy"}
    writes = {name for name, whole in names.imported.items() if whole[-1:] == "_" and whole.startswith("torch.")}
    for one in result.all:
        if not copies.isdisjoint(one.calls):
            one.features |= MODULE_ALIAS
        if not writes.isdisjoint(one.calls):
            one.features |= WRITE
        if renamed := names.renamed.keys() & one.calls:
            one.calls.update(names.renamed[name] for name in renamed)
            one.features |= ANYTHING  # what looks at names does not know it by this one
    spread_features(result.all)
    _inherit(result)
    return result


class _Met(NamedTuple):
    """What the walk has met so far."""

    survey: Survey
    own: list[ast.AST]  # what runs when the module is loaded
    pending: list[Function]


def _function(met: _Met, node: FunctionNode, cls: Class | None) -> Function:
    made = Function(node.name, node, cls)
    met.survey.all.append(made)
    met.survey.units.append((first_line(node), node.end_lineno or node.lineno))
    made.features |= defaults(node)
    met.own.extend((*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)))
    met.pending.append(made)
    return made


def _members(met: _Met, cls: Class, node: ast.ClassDef) -> None:
    rest: list[ast.AST] = []
    for statement in _flat(node.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            cls.methods[statement.name] = _function(met, statement, cls)
        elif isinstance(statement, ast.ClassDef):
            nested = Class(statement.name, statement, statement.bases)
            met.survey.classes.setdefault(statement.name, nested)
            _members(met, nested, statement)
        else:
            rest.append(statement)
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                cls.annotations[statement.target.id] = statement.annotation
    met.own.extend(rest)


def _inherit(result: Survey) -> None:
    """Note of each class what its bases in the file keep in lists, and of the bases that there are such below them."""
    keeping = any(cls.holders for cls in result.classes.values())
    imported = result.names.imported
    for cls in result.classes.values() if keeping else ():
        for attribute, maker in cls.holders.items():
            if maker and imported.get(maker) in CONTAINERS and maker not in result.functions:
                cls.holders[attribute] = ""  # `deque` under another name
    for cls in result.classes.values() if keeping else ():
        family = [cls]
        for here in family:
            names = (base.id for base in here.bases if isinstance(base, ast.Name))
            bases = (result.classes[name] for name in names if name in result.classes)
            family.extend(base for base in bases if base not in family)
        for base in family[1:]:
            cls.inherited.update((name, maker) for name, maker in base.holders.items() if name not in cls.holders)
        if cls.holders or cls.inherited:
            for one in family:
                one.keeps = True


def collators(survey: Survey) -> frozenset[str]:
    """The classes of the file of which a DataLoader is given an object to make batches."""
    found = survey.collates & survey.classes.keys()
    for one in survey.all if survey.collates else ():
        for node in one.found.get(ast.Assign, ()):
            if (made := class_called(node.value)) in survey.classes:
                found.update([made] if any(last_name(target) in survey.collates for target in node.targets) else ())
    return frozenset(found)


def _import(result: Survey) -> None:
    """Note the imports of all functions: of a name that is imported twice, the first one counts."""
    nodes: list[ast.Import | ast.ImportFrom] = []
    for one in result.all:
        nodes += [*one.found.get(ast.Import, ()), *one.found.get(ast.ImportFrom, ())]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        result.names.add(node)


def _flat(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements with the definitions that stand under a plain `if` or `try` lifted out."""
    for statement in statements:
        if isinstance(statement, (ast.If, ast.Try)) and _defines(statement):
            yield from _flat(statement.body)
            yield from _flat(statement.orelse)
            if isinstance(statement, ast.Try):
                for handler in statement.handlers:
                    yield from _flat(handler.body)
                yield from _flat(statement.finalbody)
        else:
            yield statement


def _defines(statement: ast.If | ast.Try) -> bool:
    inner = [*statement.body, *statement.orelse]
    return any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for node in inner)


def first_line(node: ast.stmt) -> int:
    """The line of a statement's first token, decorators included."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
        return min(node.lineno, node.decorator_list[0].lineno)
    return node.lineno
