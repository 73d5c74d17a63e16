"""The arguments of one call, evaluated."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.evaluate import evaluate
from flake8_tensorcopy.engine.iteration import element_of
from flake8_tensorcopy.engine.linked import operand
from flake8_tensorcopy.engine.registration import passed
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.values import Obj, Value


class Args:
    """The evaluated arguments of one call."""

    __slots__ = ("_all", "keywords", "lists", "node", "nodes", "read", "spread", "values")

    def __init__(self, run: Run, node: ast.Call) -> None:
        self.node = node
        self.nodes: list[ast.expr] = []
        self.values: list[Value] = []
        self.keywords: dict[str, tuple[ast.expr, Value]] = {}
        self.spread = False
        self.lists: dict[ast.expr, Value] = {}  # what is spread over several arguments: `f(*layers)`
        self.read = False  # by a method of one of several receivers, all of which are called at once
        for item in node.args:
            if isinstance(item, ast.Starred):
                self.spread = True
                value = evaluate(run, item.value)
                run.use_iterated(value, item.value)
                self.nodes.append(item.value)
                self.lists[item.value] = value
                self.values.append(element_of(run, item, value))
            else:
                self.nodes.append(item)
                self.values.append(evaluate(run, item))
        for keyword in node.keywords:
            value = evaluate(run, keyword.value)
            if keyword.arg is None:
                self.spread = True
                run.use_deep(value, keyword.value, "argument")
            else:
                self.keywords[keyword.arg] = (keyword.value, value)
        self._all = [*zip(self.nodes, self.values, strict=True), *self.keywords.values()]
        if run.function.cls is not None and run.function.cls.keeps:
            passed(run, node, self)

    @classmethod
    def of_one(cls, node: ast.Call, at: ast.expr, value: Value) -> Args:
        """Those of a call that is given one thing, which is evaluated already."""
        args = cls.__new__(cls)
        args.node, args.nodes, args.values, args._all = node, [at], [value], [(at, value)]
        args.keywords, args.lists, args.spread, args.read = {}, {}, False, False
        return args

    def use(self, run: Run, role: str = "argument", deep: bool = True) -> None:
        """Every argument is read."""
        for node, value in self._all:
            if deep:
                run.use_deep(value, node, role)
            else:
                run.use(value, node, role)

    def all(self) -> list[tuple[ast.expr, Value]]:
        """Each argument, those by position first, as it is written and as it is."""
        return self._all

    def given(self, known: list[Value]) -> list[Value]:
        """The values of keywords, beside those that are known already."""
        return [value for _, value in self.keywords.values() if value.refs and value not in known]

    def objs(self) -> tuple[Obj, ...]:
        """What the arguments refer to."""
        return tuple([operand(ref) for _, value in self._all for ref in value.refs])

    def flag(self, name: str, position: int = -1) -> bool:
        """Whether a boolean argument is written as True."""
        node: ast.expr | None = None
        if name in self.keywords:
            node = self.keywords[name][0]
        elif 0 <= position < len(self.nodes):
            node = self.nodes[position]
        return isinstance(node, ast.Constant) and node.value is True
