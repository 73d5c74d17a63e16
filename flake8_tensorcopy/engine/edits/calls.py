"""Edits of calls: methods that change places or go, a function that goes and leaves its argument, arguments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from flake8_tensorcopy.engine import snippets
from flake8_tensorcopy.engine.model import Edit, Span

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region

Edits = tuple[Edit, ...]

# What a trailer (`.clone()`, an index) can follow without parentheses.
PRIMARY = (
    cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp,
    cst.SetComp, cst.SimpleString, cst.FormattedString,
)  # fmt: skip
_OPERATORS = (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.Comparison)
_KEYWORD = re.compile(r"([^\W\d]\w*)\s*=(?!=)")


def outer(region: Region, node: cst.BaseExpression) -> Span:
    """Where an expression stands with the parentheses around it."""
    if not node.lpar:
        return region.place(node)
    first, last = region.place(node.lpar[0]), region.place(node.rpar[-1])
    return Span(first.line, first.column, last.end_line, last.end_column)


def between(region: Region, span: Span) -> str:
    """The source of a span."""
    return snippets.between(region.lines, span)


def has_comment(text: str) -> bool:
    """Whether a piece of source, of which brackets may be open or closed too early, holds a comment."""
    if "#" not in text:
        return False
    whole = "(" * (1 + text.count(")")) + text  # so that none is closed which was not opened
    try:
        return any(token.type == tokenize.COMMENT for token in tokenize.generate_tokens(io.StringIO(whole).readline))
    except (tokenize.TokenError, SyntaxError):
        return False  # at its end, where brackets are open


class Calls:
    """Makes the edits of calls in one file; None where a call has not the form, or a comment would be lost."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def swap(self, second: cst.BaseExpression | None) -> Edits | None:
        match second:
            case cst.Call(func=cst.Attribute(value=first)):
                return self.exchange(first, second)
        return None

    def exchange(self, one: cst.BaseExpression | None, other: cst.BaseExpression | None) -> Edits | None:
        match one, other:
            case cst.Call(func=cst.Attribute(attr=first)) as here, cst.Call(func=cst.Attribute(attr=second)) as there:
                places = _to(self._region.place(first), self._region.place(here))
                others = _to(self._region.place(second), self._region.place(there))
                return (Edit(places, between(self._region, others)), Edit(others, between(self._region, places)))
        return None

    def drop(self, call: cst.BaseExpression | None, *, bare: bool = False) -> Edits | None:
        match call:
            case cst.Call(func=cst.Attribute(value=value, attr=attr)):
                start, name, end = outer(self._region, value), self._region.place(attr), self._region.place(call)
            case _:
                return None
        if has_comment(between(self._region, _to(name, end))):
            return None
        whole = self._region.place(value) if bare and len(value.lpar) == 1 and self._is_all(value, end) else None
        line, column = start.end_line, start.end_column
        head = between(self._region, Span(line, column, name.line, name.column))
        if has_comment(head):  # which stays, at the end of its line
            if head.rpartition("\n")[2].strip() != ".":
                return None
            line, column = name.line, self._region.lines[name.line - 1].rindex(".", 0, name.column)
            if not self._region.lines[end.end_line - 1][end.end_column :].strip():
                line, column = line - 1, len(self._region.lines[line - 2].rstrip("\n"))
        if whole is not None:
            line, column = whole.end_line, whole.end_column
            opened = Span(start.line, start.column, whole.line, whole.column)
            return (Edit(opened, ""), Edit(Span(line, column, end.end_line, end.end_column), ""))
        return (Edit(Span(line, column, end.end_line, end.end_column), ""),)

    def _is_all(self, value: cst.BaseExpression, call: Span) -> bool:
        """A call on or of an operator's expression is all that a line assigns or returns: it needs no parentheses."""
        span = outer(self._region, value)
        head = self._region.lines[span.line - 1][: min(span.column, call.column)]
        alone = head.rstrip().endswith(" =") or head.split() == ["return"]
        statement = Span(span.line, len(head) - len(head.lstrip()), call.end_line, call.end_column)
        return (
            isinstance(value, _OPERATORS)
            and alone
            and span.line == call.end_line
            and self._region.is_statement(statement)
        )

    def unwrap(self, call: cst.BaseExpression | None, value: cst.BaseExpression | None, trailer: str) -> Edits | None:
        if not isinstance(call, cst.Call) or value is None:
            return None
        argument = next((one for one in call.args if one.value is value), None)
        if argument is None or argument.star or (isinstance(value, cst.GeneratorExp) and not value.lpar):
            return None
        whole, kept = self._region.place(call), outer(self._region, value)
        head = Span(whole.line, whole.column, kept.line, kept.column)
        tail = Span(kept.end_line, kept.end_column, whole.end_line, whole.end_column)
        if has_comment(between(self._region, head)) or has_comment(between(self._region, tail)):
            return None
        bare = (
            value.lpar
            or self._alone(value)
            or (not trailer and whole.line == whole.end_line and self._is_all(value, whole))
        )
        before, after = ("", "") if bare else ("(", ")")
        return (Edit(head, before), Edit(tail, after + trailer))

    def _alone(self, value: cst.BaseExpression) -> bool:
        """An expression needs no parentheses, neither for a trailer nor for its line breaks."""
        if not isinstance(value, PRIMARY):
            return False
        try:
            ast.parse(between(self._region, self._region.place(value)), mode="eval")
        except (SyntaxError, ValueError):
            return False
        return True

    def add_argument(self, call: cst.BaseExpression | None, text: str) -> Edits | None:
        if not isinstance(call, cst.Call):
            return None
        keyword = _KEYWORD.match(text)
        for one in call.args if keyword is not None else ():
            if one.keyword is not None and keyword is not None and one.keyword.value == keyword[1]:
                return (Edit(self._region.place(one.value), text[keyword.end() :].lstrip()),)
        if not self._takes(call, text):
            return None
        if not call.args:
            end = self._region.place(call)
            return (Edit(Span(end.end_line, end.end_column - 1, end.end_line, end.end_column - 1), text),)
        last = call.args[-1]
        span = outer(self._region, last.value)
        if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
            opened = Span(span.line, span.column, span.line, span.column)
            return (Edit(opened, "("), Edit(_end(span), f"), {text}"))
        if (line := self._own_line(last)) is not None:
            return (Edit(_end(line), f"\n{between(self._region, _margin(line))}{text},"),)
        return (Edit(_end(span), f", {text}"),)

    @staticmethod
    def _takes(call: cst.Call, text: str) -> bool:
        """Nothing that is given already stands in the way of one more argument at the end."""
        if _KEYWORD.match(text) is not None:
            return not any(one.star == "**" for one in call.args)
        return not any(one.keyword is not None or one.star == "**" for one in call.args)

    def _own_line(self, last: cst.Arg) -> Span | None:
        """The line of the last argument, if it is alone there, a comma and perhaps a comment behind it."""
        if not isinstance(last.comma, cst.Comma):
            return None
        start, end = self._argument(last)
        comma = self._region.place(last.comma)
        head, line = self._region.lines[start.line - 1], self._region.lines[comma.end_line - 1].rstrip("\n")
        rest = line[comma.end_column :].strip()
        if head[: start.column].strip() or comma.end_line != end.end_line or (rest and not rest.startswith("#")):
            return None
        return Span(start.line, start.column, comma.end_line, len(line))

    def drop_arguments(
        self, call: cst.BaseExpression | None, which: Sequence[str | cst.BaseExpression | None]
    ) -> Edits | None:
        if not isinstance(call, cst.Call):
            return None
        places = set()
        for one in which:
            known = [place for place, argument in enumerate(call.args) if _is(argument, one)]
            if not known or call.args[known[0]].star:
                return None
            places.add(known[0])
        for place in places:
            if call.args[place].keyword is None and any(
                argument.keyword is None and later not in places
                for later, argument in enumerate(call.args)
                if later > place
            ):
                return None  # which would take its place
        edits: list[Edit] = []
        for place in sorted(places):
            if place - 1 not in places:
                last = next(end for end in range(place, len(call.args)) if end + 1 not in places)
                span = self._cut(call, place, last)
                if has_comment(between(self._region, span)):
                    return None
                edits.append(Edit(span, ""))
        return tuple(edits)

    def _cut(self, call: cst.Call, first: int, last: int) -> Span:
        """What goes with some arguments that follow each other."""
        start, end = self._argument(call.args[first])[0], self._argument(call.args[last])[1]
        if last + 1 < len(call.args):  # up to the next argument
            following, _ = self._argument(call.args[last + 1])
            return Span(start.line, start.column, following.line, following.column)
        if first == 0:  # from parenthesis to parenthesis
            name, whole = outer(self._region, call.func), self._region.place(call)
            head = between(self._region, Span(name.end_line, name.end_column, whole.end_line, whole.end_column))
            return Span(*_moved(name, head[: head.index("(") + 1]), whole.end_line, whole.end_column - 1)
        _, before = self._argument(call.args[first - 1])  # from the end of the one before; a comma after the last stays
        span = Span(before.end_line, before.end_column, end.end_line, end.end_column)
        line = self._own_line(call.args[last]) if first == last else None
        if line is not None and has_comment(between(self._region, span)):
            above = self._region.lines[line.line - 2].rstrip("\n")
            return Span(line.line - 1, len(above), line.end_line, line.end_column)
        return span

    def _argument(self, argument: cst.Arg) -> tuple[Span, Span]:
        """Where an argument begins (its star or keyword) and where its value ends, parentheses counted."""
        end = outer(self._region, argument.value)
        start = end
        if argument.keyword is not None:
            start = self._region.place(argument.keyword)
        elif argument.star:
            start = self._region.place(argument)
        return start, end


def given(call: cst.BaseExpression | None) -> Sequence[cst.Arg]:
    """The arguments of a call; empty for anything else."""
    return call.args if isinstance(call, cst.Call) else ()


def _is(argument: cst.Arg, which: str | cst.BaseExpression | None) -> bool:
    if isinstance(which, str):
        return argument.keyword is not None and argument.keyword.value == which
    return argument.value is which


def _to(start: Span, end: Span) -> Span:
    """From the beginning of one span to the end of another."""
    return Span(start.line, start.column, end.end_line, end.end_column)


def _end(span: Span) -> Span:
    return Span(span.end_line, span.end_column, span.end_line, span.end_column)


def _margin(span: Span) -> Span:
    """What stands before a span on its line."""
    return Span(span.line, 0, span.line, span.column)


def _moved(span: Span, text: str) -> tuple[int, int]:
    """The line and column behind a text that begins where a span ends."""
    last = text.rpartition("\n")[2]
    lines = text.count("\n")
    return span.end_line + lines, len(last) if lines else span.end_column + len(last)
