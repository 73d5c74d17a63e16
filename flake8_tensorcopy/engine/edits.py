"""The edits that repairs are made of: small splices into the source, decided on LibCST nodes.

Every method of `Editor` gives the edits of one change, or None where the code has not the form that the change needs; a
repair of which one part is None does not exist.  Edits touch as little as they can, so that comments, line breaks and
quotes stay what they were.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from flake8_tensorcopy.engine import importing
from flake8_tensorcopy.engine.blocks import Blocks
from flake8_tensorcopy.engine.call_edits import PRIMARY, Calls, between, given, has_comment, outer
from flake8_tensorcopy.engine.model import Edit, Fix, Span
from flake8_tensorcopy.engine.nodes import children, walk

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.facts import Copy
    from flake8_tensorcopy.engine.facts.lost import Change
    from flake8_tensorcopy.engine.region import Region

Edits = tuple[Edit, ...]
Site = ast.AST | cst.CSTNode
Maybe = Site | None  # a part that a fact may lack: then the change cannot be made


# How strongly operators bind.
_STRENGTH: dict[type[ast.operator], int] = {
    ast.BitOr: 0, ast.BitXor: 1, ast.BitAnd: 2, ast.LShift: 3, ast.RShift: 3, ast.Add: 4, ast.Sub: 4, ast.Mult: 5,
    ast.MatMult: 5, ast.Div: 5, ast.FloorDiv: 5, ast.Mod: 5, ast.Pow: 6,
}  # fmt: skip


class Editor:
    """Makes edits of one file.

    A site is a node of the ast or of LibCST; parentheses around an expression belong to it where something is put
    before or after it, and are left alone where the expression itself is replaced.
    """

    def __init__(self, region: Region) -> None:
        self._region = region
        self._blocks = Blocks(region)
        self._calls = Calls(region)
        self._parents: dict[ast.AST, ast.AST] = {}  # what each node of the file stands in, once asked for

    def fix(self, title: str, *parts: Edits | None, safe: bool) -> Fix | None:
        """The repair that makes all of these changes; None if one of them cannot be made, or if two overlap."""
        edits = tuple(sorted(_merged(self.join(*parts) or ())))
        apart = all(_end(one.span) <= _start(other.span) for one, other in pairwise(edits))
        return Fix(title, edits, safe) if edits and apart else None

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
        """A copy at the first of several places where one can be made: `.clone()`, or `.copy()` of an array."""
        for copy in copies:
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

    def deep_copied(self, copies: Sequence[Copy]) -> Edits | None:
        """A deep copy of a container of tensors, at the first of several places where one can be made."""
        for copy in copies:
            if copy.nodes and all(self._is_one_value(node, copy.op) for node in copy.nodes):
                module = self.module("copy", copy.nodes[0])
                if module is not None:
                    name, importing = module
                    return self.join(importing, *(self.call(node, f"{name}.deepcopy") for node in copy.nodes))
        return None

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

    def is_used(self, call: ast.AST) -> bool:
        """Whether something is done with the value of an expression: it is no statement of its own."""
        outer = self._outside(call)
        while isinstance(outer, ast.Await):
            outer = self._outside(outer)
        return not isinstance(outer, ast.Expr)

    def _outside(self, node: ast.AST) -> ast.AST | None:
        """What an expression is an immediate part of."""
        if not self._parents:
            self._parents = {inner: outer for outer in walk(self._region.tree) for inner in children(outer)}
        return self._parents.get(node)

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

    def drop_copy(self, call: Maybe, argument: Maybe) -> Edits | None:
        """A copy becomes what it copies: its `argument`, or without one what the method is called on.

        Parentheses go with it where the copy was all that a line assigns or returns.
        """
        if argument is not None:
            return self.unwrap(call, "", argument)
        return self._calls.drop(self._expression(call), bare=True)

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

    # What holds one object in every slot.

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
        display, factor, times = self._outer(items), self._outer(count), self.quoted(count)
        cut = _from_end(display, factor) if items is product.left else _to_start(factor, display)
        if times is None or "#" in self._between(cut) or self._is_multiplied(site) or not self._can_be_inside(site):
            return None
        slots = self._slots(site, items, times, opening, closing)
        named = (Edit(_start(display), "tuple"),) if isinstance(items, cst.Tuple) else ()
        return self.join((Edit(cut, ""),), named, slots)

    def _slots(
        self, site: ast.AST, items: cst.List | cst.Tuple, times: str, opening: str, closing: str
    ) -> Edits | None:
        """The items of a list as what a comprehension yields."""
        if not items.elements:
            return None
        first, *others = items.elements
        last = items.elements[-1]
        where, end = self._outer(first.value), _end(self._outer(last.value))
        comma = self._region.place(last.comma) if isinstance(last.comma, cst.Comma) else None
        index = self._unused(site, "_", "index")
        if others:
            # Whether a name stands for something that the slots may share cannot be told.
            if opening or closing or not all(isinstance(one.value, cst.Call) for one in items.elements):
                return None
            each = self._unused(site, "item", "each")
            loops = f"{each} for {index} in range({times}) for {each} in ("
            return (Edit(_start(where), loops), Edit(end if comma is None else _end(comma), ")"))
        if isinstance(first, cst.StarredElement):
            return None
        if not opening and closing and not first.value.lpar and not isinstance(first.value, PRIMARY):
            return None
        return (
            *((Edit(_start(where), opening),) if opening else ()),
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
            ):
                opening, closing = {"list": ("[", "]"), "tuple": ("tuple(", ")"), "dict": ("{", "}")}[kind]
                whole, inner = self._region.place(call), self._outer(values)
                head, tail = _to_start(whole, inner), _from_end(inner, whole)
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
            ) if value is not None and self._can_be_inside(site):
                whole, inner = self._region.place(call), self._outer(keys)
                head, tail = _to_start(whole, inner), _from_end(inner, whole)
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
        return not importing.in_class_body(self._region.tree, self._region.line(site))

    @staticmethod
    def _unused(site: ast.AST, *names: str) -> str:
        """The first of these names that an expression does not use, or the last with a number."""
        used = {node.id for node in ast.walk(site) if isinstance(node, ast.Name)}
        more = (f"{names[-1]}{number}" for number in range(len(used) + 1))
        return next(name for name in (*names, *more) if name not in used)

    # Statements.

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

    def without_grad(self, statement: ast.stmt) -> Edits | None:
        """A statement under `torch.no_grad()`, as the file writes it; None where the file does not import torch."""
        no_grad = self.imported("torch.no_grad", statement)
        return None if no_grad is None else self.under(statement, f"with {no_grad}():")

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

    def out_of_place(self, statement: ast.stmt | None) -> Edits | None:
        """A name is bound to a new value instead of being written: `x += y` becomes `x = x + y`, `x.add_(y)` becomes
        `x = x.add(y)`."""
        node = None if statement is None else self._region.node(statement)
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

    # Names that a repair needs.

    def module(self, name: str, site: ast.AST) -> tuple[str, Edits] | None:
        """How a module is written at a site, and the edits that import it where the file does not.

        None where the name that an import would bind means something else in the file.
        """
        return self._known(name, site) or self._added(name, name, f"import {name}", site)

    def function(self, qualified: str, site: ast.AST) -> tuple[str, Edits] | None:
        """How a function of a module, as `copy.deepcopy`, is written at a site, and the edits that import it.

        None where no import can: the names that it would bind mean something else.
        """
        module, _, name = qualified.rpartition(".")
        added = self._known(qualified, site)
        if added is None and (added := self.module(module, site)) is not None:
            return f"{added[0]}.{name}", added[1]
        return added or self._added(name, qualified, f"from {module} import {name}", site)

    def imported(self, qualified: str, site: ast.AST) -> str | None:
        """How a qualified name is written at a site by the file's own imports: `torch.no_grad`, `no_grad`, `nn.Module`.

        None where no import that stands above the site leads to it.
        """
        return importing.written(self._region.tree, qualified, self._region.line(site))

    def unused(self, name: str) -> str:
        """The name, or one like it, that stands nowhere in the file."""
        known = {node.id for node in ast.walk(self._region.tree) if isinstance(node, ast.Name)}
        known |= {node.arg for node in ast.walk(self._region.tree) if isinstance(node, ast.arg)}
        return next(
            one for one in (name, *(f"{name}_{count}" for count in range(2, len(known) + 3))) if one not in known
        )

    def named(self, qualified: str, site: ast.AST) -> tuple[str, Edits] | None:
        """How a qualified name of torch is written at a site, and the edits that import torch where the file does not.

        None where that cannot be told.
        """
        if known := self.imported(qualified, site):
            return known, ()
        root, _, rest = qualified.partition(".")
        if (found := self.module(root, site)) is None:
            return None
        local, edits = found
        return f"{local}.{rest}", edits

    def _known(self, qualified: str, site: ast.AST) -> tuple[str, Edits] | None:
        name = self.imported(qualified, site)
        return None if name is None else (name, ())

    def _added(self, name: str, full: str, statement: str, site: ast.AST) -> tuple[str, Edits] | None:
        """A name that one more import binds."""
        tree, line = self._region.tree, self._region.line(site)
        if "." in name or not importing.free(tree, name, full, line):
            return None
        edit = importing.placed(tree, self._region.lines, statement, line)
        return None if edit is None else (name, (edit,))

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


def _is_clone(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="clone"), args=[], keywords=[]):
            return True
    return False


def _merged(edits: Edits) -> Iterator[Edit]:
    """Each edit once, and insertions at one place as one: whole lines first, then the rest as given."""
    at: dict[Span, list[str]] = {}
    for edit in dict.fromkeys(edits):
        at.setdefault(edit.span, []).append(edit.text)
    for span, texts in at.items():
        if (span.line, span.column) == (span.end_line, span.end_column):
            yield Edit(span, "".join(sorted(texts, key=lambda text: "\n" not in text)))
        else:
            yield from (Edit(span, text) for text in texts)


def _start(span: Span) -> Span:
    return Span(span.line, span.column, span.line, span.column)


def _end(span: Span) -> Span:
    return Span(span.end_line, span.end_column, span.end_line, span.end_column)


def _from_end(one: Span, other: Span) -> Span:
    """From the end of one span to that of a later one."""
    return Span(one.end_line, one.end_column, other.end_line, other.end_column)


def _to_start(one: Span, other: Span) -> Span:
    """From the start of one span to that of a later one."""
    return Span(one.line, one.column, other.line, other.column)


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _binds_closer(operand: ast.expr, op: ast.operator) -> bool:
    """An expression needs no parentheses as the right operand of an operator."""
    if isinstance(operand, ast.BinOp):
        return _STRENGTH[type(operand.op)] > _STRENGTH[type(op)]
    loose = (ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Tuple, ast.Yield, ast.YieldFrom)
    return not isinstance(operand, loose) and not (isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.Not))
