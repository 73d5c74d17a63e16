"""Edits that make a copy where there is none, or take away one that is too many."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from flake8_tensorcopy.engine.edits.expressions import Expressions
from flake8_tensorcopy.engine.edits.names import Names
from flake8_tensorcopy.engine.edits.places import Edits, Maybe
from flake8_tensorcopy.engine.model import Edit, Span
from flake8_tensorcopy.engine.nodes import children, walk
from flake8_tensorcopy.engine.values import ONE_LAYER

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.facts import Copy


class Copies(Expressions, Names):
    """Copies of tensors and arrays, and deep copies of what holds them."""

    def cloned(self, site: Maybe) -> Edits | None:
        """A tensor, or an array that `numpy()` gave, as a copy: `x.clone()`, `x.to(device, copy=True)`."""
        node = self._expression(site)
        arguments = self.arguments(site)
        match node:
            case cst.Call(func=cst.Attribute(attr=cst.Name("cpu") as name), args=[]):
                span = self._region.place(node)
                end = Span(span.end_line, span.end_column - 1, span.end_line, span.end_column - 1)
                return (Edit(self._region.place(name), "to"), Edit(end, '"cpu", copy=True'))
            case cst.Call(func=cst.Attribute(attr=cst.Name("to")), args=[_, *_]) if not any(
                one.star or (one.keyword is not None and one.keyword.value == "copy") for one in arguments
            ):
                return self.add_argument(site, "copy=True")
            case cst.Call(func=cst.Attribute(attr=cst.Name("numpy"))):
                return self.method(site, ".copy()")
            case cst.IfExp(body=body, orelse=orelse):
                # `None` and numbers, on the other arm, have no such method.
                arms = [arm for arm in (body, orelse) if not isinstance(arm, cst.BaseNumber) and not _is_none(arm)]
                return self.cloned(arms[0]) if len(arms) == 1 else self.method(site, ".clone()")
        return self.method(site, ".clone()")

    def cloned_if_any(self, site: Maybe) -> Edits | None:
        """A clone of what may be None: `None if x.grad is None else x.grad.clone()`; only of names and attributes."""
        node = self._expression(site)
        text = self.quoted(node) if isinstance(node, (cst.Name, cst.Attribute)) else None
        if node is None or text is None or not all(part.isidentifier() for part in text.split(".")):
            return None
        return self.replace(node, f"None if {text} is None else {text}.clone()")

    def copied(self, copies: Sequence[Copy]) -> Edits | None:
        """A copy at the first of several places where one can be made: `.clone()`, or `.copy()` of an array; of what
        was copied one layer deep, a deep one."""
        for copy in copies:
            if copy.op in ONE_LAYER:
                deepcopy = self.function("copy.deepcopy", copy.nodes[0])
                if deepcopy is None or (edits := self.deepened(copy.nodes[0], deepcopy[0], shallow=True)) is None:
                    continue
                return self.join(edits, deepcopy[1])
            trailer = ".copy()" if copy.array else ".clone()"
            if copy.nodes and all(self._is_one_value(node, copy.op) for node in copy.nodes):
                if (edits := self.join(*(self.method(node, trailer) for node in copy.nodes))) is not None:
                    return edits
        return None

    def contiguous_clone(self, call: ast.expr) -> Edits | None:
        """`x.contiguous()` becomes `x.clone(memory_format=torch.contiguous_format)`, which copies always."""
        form = self.imported("torch.contiguous_format", call)
        if form is None or self.receiver(call) is None or self.arguments(call):
            return None
        return self.join(self.rename(call, "clone"), self.add_argument(call, f"memory_format={form}"))

    def drop_copy(self, call: Maybe, argument: Maybe) -> Edits | None:
        """A copy becomes what it copies: its `argument`, or without one what the method is called on.

        Parentheses go with it where the copy was all that a line assigns or returns.
        """
        if argument is not None:
            return self.unwrap(call, "", argument)
        return self._calls.drop(self._expression(call), bare=True)

    def deepened(self, site: ast.AST, function: str, *, shallow: bool) -> Edits | None:
        """An expression as the argument of `copy.deepcopy`, as `function` is its name in the file.

        A call that copies one layer, where that is what the expression is, makes place for it: `x.copy()`, `dict(x)`
        and `copy.copy(x)` become `copy.deepcopy(x)`.
        """
        match site:
            case _ if not shallow:
                return self.call(site, function)
            case ast.Call(func=ast.Attribute(attr="copy", value=value), args=[], keywords=[]):
                return self.join(self.drop_call(site), self.call(value, function))
            case ast.Call(func=shallow_copy, args=[value], keywords=[]) if not isinstance(value, ast.Starred):
                return self.replace(shallow_copy, function)
        return None

    def deep_copied(self, copies: Sequence[Copy]) -> Edits | None:
        """A deep copy of a container of tensors, at the first of several places where one can be made."""
        for copy in copies:
            if copy.nodes and all(self._is_one_value(node, copy.op) for node in copy.nodes):
                module = self.module("copy", copy.nodes[0])
                if module is not None:
                    name, importing = module
                    return self.join(importing, *(self.call(node, f"{name}.deepcopy") for node in copy.nodes))
        return None

    def is_used(self, call: ast.AST) -> bool:
        """Whether something is done with the value of an expression: it is no statement of its own."""
        outer = self._outside(call)
        while isinstance(outer, ast.Await):
            outer = self._outside(outer)
        return not isinstance(outer, ast.Expr)

    def _is_one_value(self, node: ast.expr, op: str) -> bool:
        """Whether the expression is itself what is bound, stored or handed on, not what holds that."""
        outer = self._outside(node)
        match outer:
            case ast.For() | ast.AsyncFor() | ast.comprehension() | ast.Starred() | ast.withitem() | ast.Slice():
                return False
            case ast.Assign(targets=targets) if any(isinstance(target, (ast.Tuple, ast.List)) for target in targets):
                return op == "unpacking"
            case ast.keyword(arg=arg):
                return arg is not None
            case ast.Attribute():
                # `x.float().mul_(2)` alone: the write would go to a copy that nobody sees.
                call = self._outside(outer)
                return not isinstance(call, ast.Call) or self.is_used(call)
        return outer is not None and not isinstance(node, (ast.Starred, ast.Tuple, ast.List, ast.Dict, ast.Set))

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        """What each node of the file stands in."""
        return {inner: outer for outer in walk(self._region.tree) for inner in children(outer)}

    def _outside(self, node: ast.AST) -> ast.AST | None:
        """What an expression is an immediate part of."""
        return self._parents.get(node)


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"
