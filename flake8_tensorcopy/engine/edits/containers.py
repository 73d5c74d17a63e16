"""Edits of lists, tuples and dicts: one that is multiplied or copied becomes a comprehension."""

from __future__ import annotations

import ast

import libcst as cst

from flake8_tensorcopy.engine.edits import imports
from flake8_tensorcopy.engine.edits.calls import PRIMARY
from flake8_tensorcopy.engine.edits.names import Names
from flake8_tensorcopy.engine.edits.places import Edits, end_of, from_end, start_of, to_start
from flake8_tensorcopy.engine.model import Edit, Span


class Containers(Names):
    """Comprehensions, in which each item is made anew."""

    def repeated(self, site: ast.AST, opening: str = "", closing: str = "") -> Edits | None:
        """A multiplied list or tuple becomes a comprehension: `[f()] * n` calls `f` in each of its passes.

        `opening` and `closing` go around what stands in every slot.
        """
        product = self._expression(site)
        if not isinstance(product, cst.BinaryOperation) or not isinstance(product.operator, cst.Multiply):
            return None
        items, count = product.left, product.right
        if not isinstance(items, (cst.List, cst.Tuple)):
            items, count = count, items
        if not isinstance(items, (cst.List, cst.Tuple)) or len(items.lpar) != isinstance(items, cst.Tuple):
            return None
        written = ["range", "tuple"] if isinstance(items, cst.Tuple) else ["range"]
        if any(self.builtin(name, site) is None for name in written):
            return None
        display, factor, times = self._outer(items), self._outer(count), self.quoted(count)
        cut = from_end(display, factor) if items is product.left else to_start(factor, display)
        if times is None or "#" in self._between(cut) or self._is_multiplied(site) or not self._can_be_inside(site):
            return None
        slots = self._slots(site, items, times, opening, closing)
        named = (Edit(start_of(display), "tuple"),) if isinstance(items, cst.Tuple) else ()
        return self.join((Edit(cut, ""),), named, slots)

    def _slots(
        self, site: ast.AST, items: cst.List | cst.Tuple, times: str, opening: str, closing: str
    ) -> Edits | None:
        """The items of a list as what a comprehension yields."""
        if not items.elements:
            return None
        first, *others = items.elements
        last = items.elements[-1]
        where, end = self._outer(first.value), end_of(self._outer(last.value))
        comma = self._region.place(last.comma) if isinstance(last.comma, cst.Comma) else None
        index = self._unused(site, "_", "index")
        if others:
            # Whether a name stands for something that the slots may share cannot be told.
            if opening or closing or not all(isinstance(one.value, cst.Call) for one in items.elements):
                return None
            each = self._unused(site, "item", "each")
            loops = f"{each} for {index} in range({times}) for {each} in ("
            return (Edit(start_of(where), loops), Edit(end if comma is None else end_of(comma), ")"))
        if isinstance(first, cst.StarredElement):
            return None
        if not opening and closing and not first.value.lpar and not isinstance(first.value, PRIMARY):
            return None
        return (
            *((Edit(start_of(where), opening),) if opening else ()),
            Edit(end, f"{closing} for {index} in range({times})"),
            *(() if comma is None else (Edit(Span(comma.line, comma.column, comma.line, comma.column + 1), ""),)),
        )

    def _is_multiplied(self, site: ast.AST) -> bool:
        """The expression is a part of a further product, which would repeat what it holds."""
        return any(
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and node is not site
            and any(inner is site for inner in ast.walk(node))
            for node in ast.walk(self._region.tree)
        )

    def each(self, site: ast.AST, value: str, target: str) -> Edits | None:
        """`list(xs)`, `tuple(xs)` or `dict(xs)` becomes a comprehension: `[value for target in xs]`."""
        match self._expression(site):
            case (
                cst.Call(
                    func=cst.Name("list" | "tuple" | "dict" as kind),
                    args=[cst.Arg(value=values, keyword=None, star="")],
                ) as call
            ) if self.builtin(kind, site) is not None:
                opening, closing = {"list": ("[", "]"), "tuple": ("tuple(", ")"), "dict": ("{", "}")}[kind]
                whole, inner = self._region.place(call), self._outer(values)
                head, tail = to_start(whole, inner), from_end(inner, whole)
                if "#" in self._between(head) + self._between(tail):
                    return None
                if not values.lpar and not isinstance(values, PRIMARY):
                    return None
                return (Edit(head, f"{opening}{value} for {target} in "), Edit(tail, closing))
        return None

    def keyed(self, site: ast.AST, value: str | None) -> Edits | None:
        """`dict.fromkeys(keys, ..)` becomes a comprehension with this text for each value."""
        match self._expression(site):
            case (
                cst.Call(
                    func=cst.Attribute(value=cst.Name("dict"), attr=cst.Name("fromkeys")),
                    args=[cst.Arg(value=keys, keyword=None, star=""), cst.Arg(keyword=None, star="")],
                ) as call
            ) if value is not None and self.builtin("dict", site) is not None and self._can_be_inside(site):
                whole, inner = self._region.place(call), self._outer(keys)
                head, tail = to_start(whole, inner), from_end(inner, whole)
                bare = bool(keys.lpar) or isinstance(keys, PRIMARY)
                key = self._unused(site, "key", "name", "each")
                if "#" in self._between(head) + self._between(tail):
                    return None
                before, after = ("", "}") if bare else ("(", ")}")
                return (Edit(head, f"{{{key}: {value} for {key} in {before}"), Edit(tail, after))
        return None

    def _can_be_inside(self, site: ast.AST) -> bool:
        """An expression means in a comprehension what it means outside."""
        barred = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
        if any(isinstance(node, barred) for node in ast.walk(site)):
            return False
        return not imports.in_class_body(self._region.tree, self._region.line(site))

    @staticmethod
    def _unused(site: ast.AST, *names: str) -> str:
        """The first of these names that an expression does not use, or the last with a number."""
        used = {node.id for node in ast.walk(site) if isinstance(node, ast.Name)}
        more = (f"{names[-1]}{number}" for number in range(len(used) + 1))
        return next(name for name in (*names, *more) if name not in used)
