"""Edits of statements: an assignment becomes a write and a write an assignment, and what stands around them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from flake8_tensorcopy.engine.edits.blocks import Blocks
from flake8_tensorcopy.engine.edits.calls import has_comment
from flake8_tensorcopy.engine.edits.expressions import Expressions
from flake8_tensorcopy.engine.edits.names import Names
from flake8_tensorcopy.engine.edits.places import Edits
from flake8_tensorcopy.engine.model import Edit, Span

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.facts.lost import Change

# How strongly operators bind.
_STRENGTH: dict[type[ast.operator], int] = {
    ast.BitOr: 0, ast.BitXor: 1, ast.BitAnd: 2, ast.LShift: 3, ast.RShift: 3, ast.Add: 4, ast.Sub: 4, ast.Mult: 5,
    ast.MatMult: 5, ast.Div: 5, ast.FloorDiv: 5, ast.Mod: 5, ast.Pow: 6,
}  # fmt: skip


class Statements(Expressions, Names):
    """Lines before, after and around a statement, and the statement itself."""

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self._region)

    def before(self, statement: ast.stmt, *lines: str) -> Edits | None:
        """Lines of their own before a statement, indented as it is."""
        return self._blocks.before(statement, lines)

    def after(self, statement: ast.stmt, *lines: str) -> Edits | None:
        """Lines of their own after a simple statement, indented as it is."""
        return self._blocks.after(statement, lines)

    def around(self, statement: ast.stmt, first: str, last: str) -> Edits | None:
        """A line of its own before a simple statement and one after it, indented as it is."""
        return self._blocks.around(statement, first, last)

    def under(self, statements: ast.stmt | Sequence[ast.stmt], header: str) -> Edits | None:
        """One or several statements of a suite, as they follow each other, as the body of a block: `header` on a line
        of its own, the statements indented below it."""
        return self._blocks.under([statements] if isinstance(statements, ast.stmt) else statements, header)

    def together(self, statements: Iterable[ast.stmt]) -> dict[ast.stmt, tuple[ast.stmt, ...]]:
        """For each of some statements those that stand with it, one right after the other."""
        return self._blocks.together(statements)

    def without_grad(self, statement: ast.stmt) -> Edits | None:
        """A statement under `torch.no_grad()`, as the file writes it; None where the file does not import torch."""
        no_grad = self.imported("torch.no_grad", statement)
        return None if no_grad is None else self.under(statement, f"with {no_grad}():")

    def assign(self, statement: ast.stmt, target: str) -> Edits | None:
        """An expression statement becomes an assignment: `x.clamp(0)` becomes `x = x.clamp(0)`."""
        if not isinstance(statement, ast.Expr):
            return None
        span = self._region.span(statement)
        return (Edit(Span(span.line, span.column, span.line, span.column), f"{target} = "),)

    def written(self, statement: ast.stmt, operator: str, value: str) -> Edits | None:
        """A method call as a statement becomes an assignment: `x[m].fill_(v)` becomes `x[m] = v`."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        node, value_of = self._expression(call), self.receiver(call)
        if node is None or node.lpar or value_of is None:
            return None
        end, start = self._region.place(node), self._outer(value_of)
        cut = Span(start.end_line, start.end_column, end.end_line, end.end_column)
        return None if "#" in self._between(cut) else (Edit(cut, f" {operator} {value}"),)

    def in_place(self, statement: ast.AST, change: Change | None) -> Edits | None:
        """An assignment becomes a write to what its target holds: `x = x - y` becomes `x -= y`."""
        if not isinstance(statement, ast.Assign) or change is None or not change.form:
            return None
        target, source = self._expression(statement.targets[0]), self._expression(statement.value)
        if target is None or source is None or target.lpar:
            return None
        start, whole = self._region.place(target), self._outer(source)
        match change.form, source:
            case "augmented", cst.BinaryOperation(lpar=[], operator=operator, right=right):
                operand = self._outer(right)
                cut = Span(start.end_line, start.end_column, operand.line, operand.column)
                sign = self._between(self._region.place(operator)).strip()
                return None if "#" in self._between(cut) else (Edit(cut, f" {sign}= "),)
            case "method", cst.Call(func=cst.Attribute(attr=attr), lpar=[]):
                again = Span(start.line, start.column, whole.line, whole.column)
                return (Edit(again, ""), Edit(self._region.place(attr), f"{attr.value}_"))
        begin = Span(start.end_line, start.end_column, whole.line, whole.column)
        if "#" in self._between(begin):
            return None
        if source.lpar:  # the parentheses become those of the call
            return (Edit(begin, ".copy_"),)
        if _is_clone(statement.value) and (copied := self.receiver(source)) is not None:  # `copy_` copies anyhow
            of = self._outer(copied)
            tail = Span(of.end_line, of.end_column, whole.end_line, whole.end_column)
            return (Edit(begin, ".copy_("), Edit(tail, ")"))
        # With the last character, so that what is put after the statement comes behind it.
        tail = Span(whole.end_line, whole.end_column - 1, whole.end_line, whole.end_column)
        return (Edit(begin, ".copy_("), Edit(tail, f"{self._between(tail)})"))

    def out_of_place(self, statement: ast.stmt | None) -> Edits | None:
        """A name is bound to a new value instead of being written: `x += y` becomes `x = x + y`, `x.add_(y)` becomes
        `x = x.add(y)`."""
        node = None if statement is None else self._node(statement)
        match statement, node:
            case ast.AugAssign(op=op, value=given), cst.AugAssign(
                target=cst.Name(value=name), operator=sign, value=value
            ):
                place, span = self._region.place(sign), self._outer(value)
                changed = Edit(place, f"= {name} {self._between(place)[:-1]}")
                if value.lpar or _binds_closer(given, op):
                    return (changed,)
                start = Edit(Span(span.line, span.column, span.line, span.column), "(")
                end = Edit(Span(span.end_line, span.end_column, span.end_line, span.end_column), ")")
                return (changed, start, end)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) as call), _:
                if method.endswith("_") and not method.endswith("__"):
                    return self.join(self.rename(call, method[:-1]), self.assign(statement, name))
        return None

    def accumulate(
        self, statement: ast.stmt, place: ast.Subscript, added: ast.expr, wrapped: tuple[str, str]
    ) -> Edits | None:
        """`x[i] += v` becomes `x.index_put_((i,), v, accumulate=True)`, with a text before and after the value."""
        node, value = self._expression(place), self._expression(added)
        if not isinstance(node, cst.Subscript) or node.lpar or value is None:
            return None
        base, end = self._outer(node.value), self._outer(value)
        inner = [self._region.place(item.slice) for item in node.slice]
        first, last = inner[0], inner[-1]
        start = Span(base.end_line, base.end_column, first.line, first.column)
        middle = Span(last.end_line, last.end_column, end.line, end.column)
        until = self._region.span(statement)
        rest = Span(end.end_line, end.end_column, until.end_line, until.end_column)
        if any("#" in self._between(cut) for cut in (start, middle, rest)):
            return None
        close = ")" if len(inner) > 1 else ",)"
        before, after = wrapped
        return (
            Edit(start, ".index_put_(("),
            Edit(middle, f"{close}, {before}"),
            Edit(rest, f"{after}, accumulate=True)"),
        )

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


def _is_clone(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="clone"), args=[], keywords=[]):
            return True
    return False


def _binds_closer(operand: ast.expr, op: ast.operator) -> bool:
    """An expression needs no parentheses as the right operand of an operator."""
    if isinstance(operand, ast.BinOp):
        return _STRENGTH[type(operand.op)] > _STRENGTH[type(op)]
    loose = (ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Tuple, ast.Yield, ast.YieldFrom)
    return not isinstance(operand, loose) and not (isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.Not))
