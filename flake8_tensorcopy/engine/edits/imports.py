"""Names that a repair needs: how the file writes them at a site, and where an import of them goes.

What an import binds is told from its statement; scopes are those of Python: the module, and the functions around the
site, of which the innermost that binds a name decides.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flake8_tensorcopy.engine.model import Edit, Span

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Binding(NamedTuple):
    """A name that a statement of a scope binds."""

    name: str
    line: int
    full: str  # the qualified name that an import gives it; empty for anything else
    sure: bool  # the statement runs whenever its scope does, up to there
    typing: bool  # only type checkers see it


def written(tree: ast.Module, qualified: str, line: int) -> str | None:
    """How a qualified name is written on a line by the imports that stand above it, the shortest way first.

    None where they give no way.
    """
    ways = [
        name + qualified[len(full) :]
        for name, full in dict.fromkeys(_imports(tree, line))
        if (qualified == full or qualified.startswith(f"{full}.")) and _means(tree, name, full, line)
    ]
    return min(ways, key=len, default=None)


def free(tree: ast.Module, name: str, full: str, line: int) -> bool:
    """Whether an import at the top of the file can give a name a meaning that it has nowhere else."""
    stars = _stars(tree)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]) if node not in stars:
                return False
            case ast.Name(id=found) if stars and found == name:
                return False  # perhaps it comes from there
            case ast.Global(names=names) if name in names:
                return False
    return all(
        binding.full == full for scope in _around(tree, line) for binding in _bindings(scope) if binding.name == name
    ) and not any(binding.name == name for scope in _around(tree, line)[1:] for binding in _bindings(scope))


def built_in(tree: ast.Module, name: str, line: int) -> bool:
    """Whether a name of Python means itself on a line: nothing around it binds the name, nor may a star import."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                return False
            case ast.Global(names=names) if name in names:
                return False
    return all(binding.name != name for scope in _around(tree, line) for binding in _bindings(scope))


def in_class_body(tree: ast.Module, line: int) -> bool:
    """Whether a line belongs to the body of a class, and to no function in it."""
    return isinstance(_around(tree, line)[-1], ast.ClassDef)


def placed(tree: ast.Module, lines: Sequence[str], statement: str, line: int) -> Edit | None:
    """The edit that adds an import above a line: in its place among the first imports, below what has to come first.

    None where there is no such place.
    """
    module = statement.split()[1]
    if stars := _stars(tree):  # what they bind comes first
        at = (stars[-1].end_lineno or stars[-1].lineno) + 1
        return Edit(Span(at, 0, at, 0), f"{statement}\n") if _is_free(lines, at, stars[-1]) and at <= line else None
    head, rest = _head(tree)
    block = _first_block(rest, lines)
    if block and _begin(block[0]) < line:
        return _among(block, lines, statement, module)
    if head is None:
        at = 1
        # A blank line may stand above the comment that names the encoding.
        while at <= len(lines) and (lines[at - 1].startswith("#") or (at <= 2 and not lines[at - 1].strip())):
            at += 1
        text = f"{statement}\n"
    else:
        at = (head.end_lineno or head.lineno) + 1
        text = f"\n{statement}\n"
    first = min((_begin(node) for node in rest), default=0)
    return Edit(Span(at, 0, at, 0), text) if at <= first <= line else None


def _stars(tree: ast.Module) -> list[ast.ImportFrom]:
    """The star imports at the top of the file."""
    return [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]


def _is_free(lines: Sequence[str], at: int, above: ast.stmt) -> bool:
    """Whether a statement is the last one on its line, so that another one can follow on the next."""
    rest = lines[at - 2].encode()[above.end_col_offset :].decode().strip()
    return not rest or rest.startswith("#")


def _among(block: Sequence[ast.Import | ast.ImportFrom], lines: Sequence[str], statement: str, module: str) -> Edit:
    plain = statement.startswith("import")
    known = [_is_standard(node) for node in block]
    if not any(known):
        return _above(block[0], lines, statement, "\n")
    for node in block:
        if isinstance(node, ast.Import):
            later = plain and node.names[0].name > module
        else:
            later = plain or bool(node.level) or (node.module or "") > module
        if later:
            return _above(node, lines, statement)
    if not all(known):
        return _above(next(node for node, one in zip(block, known, strict=True) if not one), lines, statement)
    at = (block[-1].end_lineno or block[-1].lineno) + 1
    if at > len(lines):
        return _above(block[-1], lines, statement)
    return Edit(Span(at, 0, at, 0), f"{statement}\n")


def _above(node: ast.stmt, lines: Sequence[str], statement: str, gap: str = "") -> Edit:
    """Before a statement, on its line where others begin that line."""
    at = node.lineno
    column = len(lines[at - 1].encode()[: node.col_offset].decode())
    if lines[at - 1][:column].strip():
        return Edit(Span(at, column, at, column), f"{statement}; ")
    return Edit(Span(at, 0, at, 0), f"{statement}\n{gap}")


def _head(tree: ast.Module) -> tuple[ast.stmt | None, list[ast.stmt]]:
    """The last of what must stand first, which is a docstring and what is imported of `__future__`; and the rest."""
    head: ast.stmt | None = None
    for place, node in enumerate(tree.body):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) if place == 0:
                head = node
            case ast.ImportFrom(module="__future__"):
                head = node
            case _:
                return head, tree.body[place:]
    return head, []


def _first_block(body: Sequence[ast.stmt], lines: Sequence[str]) -> list[ast.Import | ast.ImportFrom]:
    """The first imports of the file, up to a blank line or to anything else."""
    block: list[ast.Import | ast.ImportFrom] = []
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if block and any(not lines[at].strip() for at in range(block[-1].end_lineno or 0, node.lineno - 1)):
                break
            block.append(node)
        elif block:
            break
    return block


def _is_standard(node: ast.Import | ast.ImportFrom) -> bool:
    name = node.names[0].name if isinstance(node, ast.Import) else "." if node.level else node.module or ""
    return name.partition(".")[0] in sys.stdlib_module_names


def _begin(statement: ast.stmt) -> int:
    """The line where a statement begins, decorators counted."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(node.lineno for node in decorators)])


# ----- what names mean


def _imports(tree: ast.Module, line: int) -> Iterator[tuple[str, str]]:
    """What is imported above a line, in the scopes around it, the innermost first."""
    for scope in reversed(_around(tree, line)):
        for binding in _bindings(scope):
            if binding.full and not binding.typing and binding.line < line:
                # What can always be imported is missing where the condition of an import does not hold.
                if binding.sure or binding.full.partition(".")[0] not in sys.stdlib_module_names:
                    yield binding.name, binding.full


def _means(tree: ast.Module, name: str, full: str, line: int) -> bool:
    """Whether a name has one meaning in the innermost scope around a line that binds it."""
    for scope in reversed(_around(tree, line)):
        found = [binding for binding in _bindings(scope) if binding.name == name]
        if found:
            return all(binding.full == full for binding in found) and any(
                not binding.typing and binding.line < line for binding in found
            )
    return False


def _around(tree: ast.Module, line: int) -> list[Scope]:
    """The module and the functions that hold a line, the innermost last; a class where nothing in it does."""
    scopes: list[Scope] = [tree]
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found = [
        node for node in ast.walk(tree) if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or 0)
    ]  # by depth
    scopes += [node for node in found if not isinstance(node, ast.ClassDef) or node is found[-1]]
    return scopes


def _bindings(scope: Scope) -> Iterator[Binding]:
    """What a scope binds: its parameters, and the names of its statements, those of functions in it apart."""
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        given = scope.args
        for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if arg is not None:
                yield Binding(arg.arg, scope.lineno, "", True, False)
    if not isinstance(scope, ast.Lambda):
        yield from _bound(scope.body, sure=True, typing=False)


def _bound(body: Sequence[ast.stmt], *, sure: bool, typing: bool) -> Iterator[Binding]:
    for node in body:
        line = node.lineno
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield Binding(name, line, "", sure, typing)
            case ast.Import(names=names):
                for alias in names:
                    root = alias.name.partition(".")[0]
                    yield Binding(alias.asname or root, line, alias.name if alias.asname else root, sure, typing)
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    # What a relative import gives has some other name, which is not known here.
                    full = f"{'.' * level}{module or ''}.{alias.name}"
                    yield Binding(alias.asname or alias.name, line, full, sure, typing)
            case ast.If(test=test, body=inner, orelse=other):
                yield from _named(test, line)
                yield from _bound(inner, sure=False, typing=typing or _is_typing(test))
                yield from _bound(other, sure=False, typing=typing)
            case ast.Try(body=inner, orelse=other, finalbody=last):
                # A handler stands in for what could not be imported.
                yield from _bound([*inner, *other], sure=False, typing=typing)
                yield from _bound(last, sure=sure, typing=typing)
                for handler in node.handlers:
                    if handler.name:
                        yield Binding(handler.name, line, "", False, typing)
                    if not any(isinstance(one, (ast.Import, ast.ImportFrom)) for one in inner):
                        yield from _bound(handler.body, sure=False, typing=typing)
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                for item in node.items:
                    yield from _named(item, line)
                yield from _bound(inner, sure=sure, typing=typing)
            case ast.For(body=inner, orelse=other) | ast.AsyncFor(body=inner, orelse=other):
                yield from _named(node.target, line)
                yield from _named(node.iter, line)
                yield from _bound([*inner, *other], sure=False, typing=typing)
            case ast.While(body=inner, orelse=other, test=test):
                yield from _named(test, line)
                yield from _bound([*inner, *other], sure=False, typing=typing)
            case ast.Match(cases=cases, subject=subject):
                yield from _named(subject, line)
                for case in cases:
                    yield from _named(case.pattern, line)
                    yield from _bound(case.body, sure=False, typing=typing)
            case _:
                yield from _named(node, line)


def _named(node: ast.AST, line: int) -> Iterator[Binding]:
    """The names that expressions bind, those in functions apart; comprehensions are not looked out of."""
    todo: list[ast.AST] = [node]
    while todo:
        one = todo.pop()
        match one:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield Binding(name, line, "", True, False)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield Binding(name, line, "", True, False)
        if not isinstance(one, ast.Lambda):
            todo += ast.iter_child_nodes(one)


def _is_typing(test: ast.expr) -> bool:
    match test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING") | ast.Constant(value=False):
            return True
    return False
