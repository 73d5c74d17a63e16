"""Edits of expressions: another text for one, something before or after it, the calls in it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property

import libcst as cst

from flake8_tensorcopy.engine.edits.calls import PRIMARY, Calls, given
from flake8_tensorcopy.engine.edits.places import Edits, Maybe, Places, Site
from flake8_tensorcopy.engine.model import Edit, Span


class Expressions(Places):
    """Parentheses around an expression belong to it where something is put before or after it, and are left alone
    where the expression itself is replaced."""

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
        if isinstance(site, ast.GeneratorExp):  # its parentheses belong to it, or are those of a call
            span = self._region.span(site)
            before = self._region.lines[span.line - 1][: span.column].rstrip()[-1:]
            start = Span(span.line, span.column, span.line, span.column)
            return None if before.isidentifier() or before in (")", "]") else (Edit(start, function),)
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

    def joined(self, outer: Maybe) -> Edits | None:
        """Two indices in a row as one, the second less its leading `:`: `x[m][:, 2]` becomes `x[m, 2]`."""
        match self._expression(outer):
            case cst.Subscript(
                value=cst.Subscript(slice=[cst.SubscriptElement() as last], lpar=[]), slice=[_, second, *_]
            ):
                first, then = self._region.place(last.slice), self._region.place(second)
                if isinstance(last.slice, cst.Index) and isinstance(last.slice.value, cst.BaseExpression):
                    first = self._outer(last.slice.value)
                if isinstance(second.slice, cst.Index):
                    then = self._outer(second.slice.value)
                cut = Span(first.end_line, first.end_column, then.line, then.column)
                return None if "#" in self._between(cut) else (Edit(cut, ", "),)
        return None

    # Calls.

    @cached_property
    def _calls(self) -> Calls:
        return Calls(self._region)

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

    def unwrap(self, call: Maybe, trailer: str = "", argument: Maybe = None) -> Edits | None:
        """A call becomes its first argument, or another: `torch.clone(x)` becomes `x`, with a trailer `x.detach()`."""
        node, value = self._expression(call), self._expression(argument)
        if argument is None and isinstance(node, cst.Call) and node.args and node.args[0].keyword is None:
            value = node.args[0].value
        return self._calls.unwrap(node, value, trailer)

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

    def arguments(self, call: Maybe) -> Sequence[cst.Arg]:
        """The arguments of a call; empty for anything else."""
        return given(self._expression(call))

    def has_argument(self, call: Maybe, keyword: str) -> bool:
        """Whether a call is given this keyword, or may be by `**`."""
        return any(
            one.star == "**" or (one.keyword is not None and one.keyword.value == keyword)
            for one in self.arguments(call)
        )

    def add_argument(self, call: Maybe, text: str | None) -> Edits | None:
        """One more argument at the end of a call, as `keepdim=True`; of a keyword that is there, another value.

        None where the keyword may be given by `**`, or where a value would follow keywords.
        """
        return None if text is None else self._calls.add_argument(self._expression(call), text)

    def drop_argument(self, call: Maybe, *which: str | ast.expr) -> Edits | None:
        """A call without the arguments of keywords, or without values that it is given, and without their commas.

        None where a value stands before others that stay, or in a starred argument.
        """
        found = [one if isinstance(one, str) else self._expression(one) for one in which]
        return self._calls.drop_arguments(self._expression(call), found)

    def drop_arguments(self, call: Maybe, *keywords: str) -> Edits | None:
        """A call without the arguments of keywords, of which there may be none."""
        return self.drop_argument(call, *keywords) if keywords else ()

    def hoist(self, call: Maybe, outer: Maybe) -> Edits | None:
        """A call moves out, to take in what is computed from it: `f(x, key=1).half()` becomes `f(x.half(), key=1)`."""
        node, whole = self._expression(call), self._expression(outer)
        if not isinstance(node, cst.Call) or whole is None or whole is node or not node.args:
            return None
        first = node.args[0]
        if first.star or not (first.keyword is None or first.keyword.value == "data"):
            return None
        if isinstance(first.value, cst.GeneratorExp) and not first.value.lpar:
            return None
        inner, value, around = self._region.place(node), self._outer(first.value), self._region.place(whole)
        head = Span(inner.line, inner.column, value.line, value.column)
        tail = Span(value.end_line, value.end_column, inner.end_line, inner.end_column)
        open_, close = ("", "") if first.value.lpar or isinstance(first.value, PRIMARY) else ("(", ")")
        edits = [
            Edit(tail, close),
            Edit(Span(around.end_line, around.end_column, around.end_line, around.end_column), self._between(tail)),
        ]
        if (inner.line, inner.column) == (around.line, around.column):
            if open_:
                edits.append(Edit(Span(value.line, value.column, value.line, value.column), open_))
        else:
            edits.append(Edit(head, open_))
            edits.append(Edit(Span(around.line, around.column, around.line, around.column), self._between(head)))
        return tuple(edits)
