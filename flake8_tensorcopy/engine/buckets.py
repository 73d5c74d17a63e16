"""The lean walk: the nodes of a function by their types, level by level."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from flake8_tensorcopy.engine.nodes import FIELDS, NODES_ONLY

Buckets = defaultdict[type[ast.AST], list[Any]]

# The types of node that tell anything by themselves.  (Of names and constants only the texts do.)
TELLING = frozenset(
    {
        ast.AnnAssign,
        ast.Assign,
        ast.AsyncFor,
        ast.AsyncFunctionDef,
        ast.Attribute,
        ast.AugAssign,
        ast.BinOp,
        ast.Call,
        ast.Delete,
        ast.DictComp,
        ast.Expr,
        ast.For,
        ast.FunctionDef,
        ast.GeneratorExp,
        ast.Global,
        ast.Import,
        ast.ImportFrom,
        ast.Lambda,
        ast.ListComp,
        ast.MatchAs,
        ast.NamedExpr,
        ast.Nonlocal,
        ast.Return,
        ast.Slice,
        ast.Subscript,
        ast.While,
        ast.Yield,
        ast.YieldFrom,
        ast.comprehension,
        ast.withitem,
    }
)
_CLOSED = frozenset({ast.Import, ast.ImportFrom})  # nothing in them is looked at


class _Expressions(dict[type[ast.AST], bool]):
    """Whether a type of node is an expression: what stands in it is one level deeper."""

    def __missing__(self, kind: type[ast.AST]) -> bool:
        self[kind] = found = issubclass(kind, ast.expr)
        return found


_EXPRESSIONS = _Expressions()


def gather(nodes: Iterable[ast.AST]) -> tuple[Buckets, set[str], set[str], int]:
    """The telling nodes of some statements and all below them by type, the names, the texts, the depth of expressions.

    Every node of a source file goes through here: the common types are told apart by hand, the rest by tables.
    """
    found: Buckets = defaultdict(list)
    names: set[str] = set()
    texts: set[str] = set()
    depth = -1
    level = list(nodes)
    attributes, calls = found[ast.Attribute], found[ast.Call]
    name, constant, attribute, call, subscript = ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript
    assign, augmented = ast.Assign, ast.AugAssign
    node: Any
    while level:
        depth += 1
        deeper: list[ast.AST] = []
        for node in level:  # grows meanwhile by what stands in statements
            kind = type(node)
            if kind is name:
                names.add(node.id)
            elif kind is attribute:
                attributes.append(node)
                deeper.append(node.value)
            elif kind is constant:
                if type(node.value) is str:
                    texts.add(node.value)
            elif kind is call:
                calls.append(node)
                deeper.append(node.func)
                deeper += node.args
                for keyword in node.keywords:
                    deeper.append(keyword.value)
            elif kind is assign:
                found[assign].append(node)
                level += node.targets
                level.append(node.value)
            elif kind is subscript:
                found[subscript].append(node)
                deeper.append(node.value)
                deeper.append(node.slice)
            else:
                if kind in TELLING:
                    found[kind].append(node)
                    if kind in _CLOSED:
                        continue
                    if kind is augmented and type(node.target) is attribute:  # in place: it binds nothing new
                        deeper.append(node.target.value)
                        deeper.append(node.value)
                        continue
                into = deeper if _EXPRESSIONS[kind] else level
                for field in FIELDS[kind]:
                    child = getattr(node, field, None)
                    if child.__class__ is list:
                        into += child if field in NODES_ONLY else [item for item in child if isinstance(item, ast.AST)]
                    elif isinstance(child, ast.AST):
                        into.append(child)
        level = deeper
    return found, names, texts, max(depth, 0)
