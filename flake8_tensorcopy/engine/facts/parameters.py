"""Parameters and leaves that an optimizer, a module or a copy does not have."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.facts.base import Fact


class MovedParameter(Fact):
    """A Parameter was turned into a plain tensor before a module got it; `site` is the `nn.Parameter(..)` call."""

    target: str
    op: str
    stored: ast.AST
    always: bool  # whatever the device and dtype
    whole: ast.expr | None = None  # the expression that the Parameter would have to be made of
    alone: bool = False  # which nothing else on a graph has a part in
    direct: ast.Call | None = None  # the clone or move that a new tensor has no need of
    factory: ast.Call | None = None  # what makes that tensor, if it can be told the device
    random: bool = False  # a device would draw other numbers


class MovedLeaf(Fact):
    """A tensor computed from a leaf is used as if it were the leaf; `site` makes the leaf."""

    name: str
    op: str
    used: ast.AST
    use: str  # grad, optimizer
    always: bool  # whatever the device and dtype
    marked: ast.AST | None = None  # the call that makes it require grad
    whole: ast.expr | None = None  # the expression that would have to require grad instead
    direct: ast.Call | None = None  # a clone that would have no use then


class ReplacedParameter(Fact):
    """A module that an optimizer was built from gets new parameters, and is trained; `site` puts them there."""

    target: str  # nothing for all that the module holds
    module: str
    optimizer: str
    built: ast.AST
    inner: ast.AST | None = None  # for a call of a function of this file: the assignment in its body


class UnregisteredItems(Fact):
    """A module keeps layers or Parameters in a plain list, tuple or dict; `site` puts them there."""

    attribute: str
    container: str  # list, tuple, dict, deque
    item: str  # the class of what is in it
    parameter: bool
    built: ast.expr | None = None  # the container, if one of torch's could take its place


class RewrappedParameter(Fact):
    """`forward` makes a new Parameter of a tensor on the graph; `site` is the `nn.Parameter(..)` call."""

    value: str
    method: str


class CopiedGraph(Fact):
    """A tensor on the graph that is no leaf is deep-copied; `site` keeps it where the copy meets it."""

    name: str
    copied: ast.AST
    direct: bool  # the copied value is that very tensor: `site` is the copy
    owner: str  # what is copied
    kept: ast.expr | None = None  # what could be detached, or be detached in another name
    reads: tuple[ast.expr, ...] | None = None  # what reads it from where it is kept; None where that is not known
    name_free: bool = False  # a local name of the attribute could take their place


class ReplicaState(Fact):
    """`forward` sets an attribute of a module that DataParallel replicates, and it is read elsewhere."""

    attribute: str
    read: ast.AST
    wrapped: ast.AST
