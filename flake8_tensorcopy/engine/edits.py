"""The edits that repairs are made of: small splices into the source, decided on LibCST nodes.

Every method of `Editor` gives the edits of one change, or None where the code has not the form that the change needs; a
repair of which one part is None does not exist.  Edits touch as little as they can, so that comments, line breaks and
quotes stay what they were.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from flake8_tensorcopy.engine.call_edits import PRIMARY, Calls, between, given, has_comment, outer
from flake8_tensorcopy.engine.model import Edit, Fix, Span

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region

Edits = tuple[Edit, ...]
Site = ast.AST | cst.CSTNode
Maybe = Site | None  # a part that a fact may lack: then the change cannot be made


class Editor:
    """Makes edits of one file.

    A site is a node of the ast or of LibCST; parentheses around an expression belong to it where something is put
    before or after it, and are left alone where the expression itself is replaced.
    """

    def __init__(self, region: Region) -> None:
        self._region = region
        self._calls = Calls(region)

    def fix(self, title: str, *parts: Edits | None, safe: bool) -> Fix | None:
        """The repair that makes all of these changes; None if one of them cannot be made."""
        edits = self.join(*parts)
        return Fix(title, tuple(sorted(set(edits))), safe) if edits else None

    @staticmethod
    def join(*parts: Edits | None) -> Edits | None:
        """Several changes as one; None if one of them cannot be made."""
        joined: list[Edit] = []
        for part in parts:
            if part is None:
                return None
            joined += part
        return tuple(joined)

    # Text of the source.

    def text(self, site: Site) -> str:
        """The source of a node as it stands, line breaks and comments included, its own parentheses not."""
        return self._between(self._span(site))

    def quoted(self, site: Site) -> str | None:
        """The source of an expression on one line, to be written a second time; None where a comment would be lost."""
        text = self.text(site)
        if has_comment(text):
            return None
        if "\n" not in text:
            return text
        return None if '"""' in text or "'''" in text or "\\\n" in text else " ".join(text.split())

    # Expressions.

    def replace(self, site: Site, text: str) -> Edits:
        """Another text for a node; parentheses around it stay."""
        return (Edit(self._span(site), text),)

    def method(self, site: Maybe, call: str) -> Edits | None:
        """A trailer after an expression, as `.clone()`; where it would bind to a part of it only, in parentheses."""
        node = self._expression(site)
        if node is None:
            return None
        span = self._outer(node)
        after = Edit(Span(span.end_line, span.end_column, span.end_line, span.end_column), call)
        if node.lpar or isinstance(node, PRIMARY):
            return (after,)
        before = Edit(Span(span.line, span.column, span.line, span.column), "(")
        return (before, Edit(after.span, ")" + call))

    def call(self, site: Maybe, function: str) -> Edits | None:
        """An expression as the only argument of a function: `x` becomes `copy.deepcopy(x)`."""
        node = self._expression(site)
        if node is None:
            return None
        span = self._outer(node)
        if node.lpar and not isinstance(node, (cst.GeneratorExp, cst.Tuple)):
            return (Edit(Span(span.line, span.column, span.line, span.column), function),)
        return (
            Edit(Span(span.line, span.column, span.line, span.column), f"{function}("),
            Edit(Span(span.end_line, span.end_column, span.end_line, span.end_column), ")"),
        )

    def rename(self, site: Maybe, name: str) -> Edits | None:
        """Another name for the method of a call, or for the attribute: `x.view(..)` becomes `x.reshape(..)`."""
        node = self._expression(site)
        if isinstance(node, cst.Call):
            node = node.func
        match node:
            case cst.Attribute(attr=attr):
                return (Edit(self._region.place(attr), name),)
            case cst.Name():
                return (Edit(self._region.place(node), name),)
        return None

    def receiver(self, call: Maybe) -> cst.BaseExpression | None:
        """What a method is called on: `x` of `x.clone()`."""
        match self._expression(call):
            case cst.Call(func=cst.Attribute(value=value)):
                return value
        return None

    def swap(self, outer: Maybe) -> Edits | None:
        """Two methods in a row change places: `x.clone(..).detach()` becomes `x.detach().clone(..)`."""
        return self._calls.swap(self._expression(outer))

    def exchange(self, one: Maybe, other: Maybe) -> Edits | None:
        """Two methods that are called in different places change places, arguments and all."""
        return self._calls.exchange(self._expression(one), self._expression(other))

    def drop_call(self, call: Maybe) -> Edits | None:
        """A method call becomes what it was called on: `x.cpu()` becomes `x`."""
        return self._calls.drop(self._expression(call))

    def unwrap(self, call: Maybe, argument: Maybe, trailer: str = "") -> Edits | None:
        """A call becomes one of its arguments, perhaps with a trailer: `torch.clone(x)` becomes `x`."""
        return self._calls.unwrap(self._expression(call), self._expression(argument), trailer)

    def trailer(self, call: Maybe) -> str | None:
        """A method call without what it is called on: `.to("cpu")`; None where a comment or a line break is in it."""
        match self._expression(call):
            case cst.Call(func=cst.Attribute(attr=name)) as node:
                start, end = self._region.place(name), self._region.place(node)
                text = self._between(Span(start.line, start.column, end.end_line, end.end_column))
                return None if "\n" in text else f".{text}"
        return None

    def name(self, site: ast.Name) -> cst.Name | None:
        """A name as LibCST sees it, also in a formatted string, of which older Pythons tell no exact columns."""
        node = self._expression(site)
        return node if isinstance(node, cst.Name) and node.value == site.id else None

    def drop_copy(self, call: Maybe, argument: Maybe) -> Edits | None:
        """A copy becomes what it copies: its `argument`, or without one what the method is called on."""
        return self.drop_call(call) if argument is None else self.unwrap(call, argument)

    def arguments(self, call: Maybe) -> Sequence[cst.Arg]:
        """The arguments of a call; empty for anything else."""
        return given(self._expression(call))

    def add_argument(self, call: Maybe, text: str) -> Edits | None:
        """One more argument at the end of a call, as `memory_format=torch.contiguous_format`.

        None where the keyword is given already, perhaps by `**`, or where a value would follow keywords.
        """
        return self._calls.add_argument(self._expression(call), text)

    def drop_argument(self, call: Maybe, *which: str | ast.expr) -> Edits | None:
        """A call without the arguments of keywords, or without values that it is given, and without their commas.

        None where a value stands before others that stay, or in a starred argument.
        """
        found = [one if isinstance(one, str) else self._expression(one) for one in which]
        return self._calls.drop_arguments(self._expression(call), found)

    # Statements.

    def before(self, statement: ast.stmt, *lines: str) -> Edits | None:
        """Lines of their own before a statement, indented as it is."""
        indent = self._indent(statement)
        if indent is None:
            return None
        line = _first_line(statement)
        return (Edit(Span(line, 0, line, 0), "".join(f"{indent}{text}\n" for text in lines)),)

    def after(self, statement: ast.stmt, *lines: str) -> Edits | None:
        """Lines of their own after a simple statement, indented as it is."""
        indent = self._indent(statement)
        end = statement.end_lineno or statement.lineno
        if indent is None or not self._ends_line(statement):
            return None
        text = "".join(f"\n{indent}{line}" for line in lines)
        column = len(self._region.lines[end - 1].rstrip("\n"))
        return (Edit(Span(end, column, end, column), text),)

    def under(self, statement: ast.stmt, header: str) -> Edits | None:
        """A statement as the body of a block: `header` on a line of its own, the statement indented below it."""
        indent, first = self._indent(statement), _first_line(statement)
        end = statement.end_lineno or statement.lineno
        if indent is None or not self._ends_line(statement) or self._holds_long_text(first, end):
            return None
        step = "\t" if "\t" in indent else self._step()
        inner = (line for line in range(first + 1, end + 1) if self._region.lines[line - 1].strip())
        return (
            Edit(Span(first, 0, first, 0), f"{indent}{header}\n{step}"),
            *(Edit(Span(line, 0, line, 0), step) for line in inner),
        )

    def assign(self, statement: ast.stmt, target: str) -> Edits | None:
        """An expression statement becomes an assignment: `x.clamp(0)` becomes `x = x.clamp(0)`."""
        if not isinstance(statement, ast.Expr):
            return None
        span = self._region.span(statement)
        return (Edit(Span(span.line, span.column, span.line, span.column), f"{target} = "),)

    def drop_statement(self, statement: ast.stmt) -> Edits | None:
        """A statement goes, with its lines; a comment behind it stays.  The suite must have others."""
        span, lines = self._region.span(statement), self._region.lines
        head, last = lines[span.line - 1][: span.column], lines[span.end_line - 1].rstrip("\n")
        rest = last[span.end_column :].lstrip()
        above = lines[span.line - 2] if span.line > 1 else ""
        if head.strip() or above.endswith("\\\n") or has_comment(self._between(span)):
            return None
        if not rest:
            return (Edit(Span(span.line, 0, span.end_line + 1, 0), ""),)
        return (
            (Edit(Span(span.line, span.column, span.end_line, len(last) - len(rest)), ""),) if rest[0] == "#" else None
        )

    # Names that a repair needs.

    def module(self, name: str, site: ast.AST) -> tuple[str, Edits] | None:
        """How a module is written at a site, and the edits that import it where the file does not.

        None where the name that an import would bind means something else in the file.
        """
        for node in _top_level(self._region.tree.body):
            if isinstance(node, ast.Import) and self._region.line(node) < self._region.line(site):
                for alias in node.names:
                    if alias.name == name and (alias.asname or "." not in name):
                        local = alias.asname or alias.name
                        return None if self._hidden(local, site) else (local, ())
        root = name.partition(".")[0]
        if root != name or self._hidden(root, site) or self._bound(root):
            return None
        return root, self._importing(f"import {name}")

    def imported(self, qualified: str, site: ast.AST) -> str | None:
        """How a qualified name is written at a site by the file's own imports: `torch.no_grad`, `no_grad`, `nn.Module`.

        None where no import of the file that stands above the site leads to it.
        """
        for node in _top_level(self._region.tree.body):
            if self._region.line(node) >= self._region.line(site):
                break
            if isinstance(node, ast.Import):
                names = [(a.asname or a.name.partition(".")[0], a.name if a.asname else a.name.partition(".")[0])
                         for a in node.names]  # fmt: skip
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [(a.asname or a.name, f"{node.module}.{a.name}") for a in node.names]
            else:
                continue
            for local, full in names:
                if (qualified == full or qualified.startswith(f"{full}.")) and not self._hidden(local, site):
                    return local + qualified[len(full) :]
        return None

    def _importing(self, statement: str) -> Edits:
        """The import as a line of its own: before the first import that is not of `__future__`."""
        body = self._region.tree.body
        line = 1
        for place, node in enumerate(body):
            docstring = place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not (docstring or future):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    line = _first_line(node)
                break
            line = (node.end_lineno or node.lineno) + 1
        else:
            line = min(line, len(self._region.lines) + 1)
        if line > len(self._region.lines):
            return ()
        if line == 1:
            while line <= len(self._region.lines) and self._region.lines[line - 1].startswith("#"):
                line += 1
        return (Edit(Span(line, 0, line, 0), f"{statement}\n"),)

    def _hidden(self, name: str, site: ast.AST) -> bool:
        """A function around the site binds the name itself."""
        line = self._region.line(site)
        for node in ast.walk(self._region.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                if node.lineno <= line <= (node.end_lineno or node.lineno) and name in _bound_in(node):
                    return True
        return False

    def _bound(self, name: str) -> bool:
        """The file binds the name outside functions."""
        return any(name in _names_of(node) for node in _top_level(self._region.tree.body))

    # Helpers.

    def _span(self, site: Site) -> Span:
        return self._region.span(site) if isinstance(site, ast.AST) else self._region.place(site)

    def _between(self, span: Span) -> str:
        return between(self._region, span)

    def _expression(self, site: Maybe) -> cst.BaseExpression | None:
        node = self._region.node(site) if isinstance(site, ast.AST) else site
        return node if isinstance(node, cst.BaseExpression) else None

    def _outer(self, node: cst.BaseExpression) -> Span:
        """Where an expression stands with the parentheses around it."""
        return outer(self._region, node)

    def _indent(self, statement: ast.stmt) -> str | None:
        """The white space before a statement; None where something else stands before it on its line."""
        line = _first_line(statement)
        column = statement.col_offset if line == statement.lineno else 0
        head = self._region.lines[line - 1][:column]
        if head.strip():
            return None
        before = self._region.lines[line - 2] if line > 1 else ""
        return None if before.endswith("\\\n") else head

    def _ends_line(self, statement: ast.stmt) -> bool:
        """Nothing but a comment follows on the line where a statement ends."""
        span = self._region.span(statement)
        rest = self._region.lines[span.end_line - 1][span.end_column :].strip()
        return not rest or rest.startswith("#")

    def _holds_long_text(self, first: int, end: int) -> bool:
        """A text or a backslash runs over lines, which an indentation would change."""
        if first == end:
            return False
        text = "".join(self._region.lines[first - 1 : end])
        return '"""' in text or "'''" in text or "\\\n" in text

    def _step(self) -> str:
        """One level of indentation, as the file has it."""
        for node in ast.walk(self._region.tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.With, ast.While)):
                inner, outer = node.body[0].col_offset, node.col_offset
                if node.body[0].lineno > node.lineno and inner > outer:
                    return " " * (inner - outer)
        return "    "


def _first_line(statement: ast.stmt) -> int:
    """The line where a statement begins, decorators counted."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(node.lineno for node in decorators)])


def _top_level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module does, those in its ifs, tries and withs too."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for inner in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(node, inner, ()))
            for handler in getattr(node, "handlers", ()):
                yield from _top_level(handler.body)


def _names_of(node: ast.AST) -> set[str]:
    """The names that a statement binds in its own scope."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(alias.asname or alias.name).partition(".")[0] for alias in names}
    found: set[str] = set()
    todo = [node]
    while todo:
        inner = todo.pop()
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
            found.add(inner.id)
        elif isinstance(inner, ast.ExceptHandler) and inner.name:
            found.add(inner.name)
        todo += [
            child
            for child in ast.iter_child_nodes(inner)
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))
        ]
    return found


def _bound_in(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Parameters and local names of a function, those of functions in it apart."""
    given = function.args
    found = {arg.arg for arg in [*given.posonlyargs, *given.args, *given.kwonlyargs]}
    found |= {arg.arg for arg in (given.vararg, given.kwarg) if arg is not None}
    if not isinstance(function, ast.Lambda):
        for node in _top_level(function.body):
            found |= _names_of(node)
    return found
