"""Dimensions of size 1, where the program itself makes them: no sizes are computed.

They are made by `unsqueeze`, by `None` as an index, by `keepdim=True`, by a size written as 1.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine.parts import keeps_dimension, literal
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.values import ALIAS, DETACH, Ref

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run

MAX_DIMS = 12

_SIZES = frozenset({"view", "reshape", "zeros", "ones", "empty", "rand", "randn", "full"})
_KEEPS = frozenset("cpu cuda to type type_as contiguous float double half bfloat16 long int short byte bool".split())
_REDUCTIONS = frozenset(
    "mean sum amax amin max min prod std var norm logsumexp argmax argmin any all median nansum nanmean".split()
)


@dataclass(slots=True)
class Ones:
    """Which dimensions have size 1: counted from the front (0, 1, ..) and from the back (-1, -2, ..)."""

    front: set[int] = field(default_factory=set)
    back: set[int] = field(default_factory=set)
    count: int | None = None  # of dimensions, if known

    def has(self, position: int, of: int) -> bool:
        """Whether dimension `position` of `of` dimensions has size 1."""
        return position in self.front or position - of in self.back

    def insert(self, position: int) -> None:
        """One more dimension of size 1, at this place of the result."""
        if position >= 0:
            self.front = {one + (one >= position) for one in self.front} | {position}
            if position:
                self.back = set()  # on which side of it they are is not known
        else:
            self.back = {one - (one <= position) for one in self.back} | {position}
            if position != -1:
                self.front = set()
        self.count = None if self.count is None else self.count + 1


def ones_of(run: Run, ref: Ref) -> Ones:
    """The dimensions of size 1 of what a reference holds, as far as its derivation shows."""
    made, chain = ref.obj.node, ref.chain
    owner = ref.obj.parent.data if ref.obj.parent is not None else None
    if ref.obj.owner == "attribute" and isinstance(owner, Class):
        # What `__init__` put there, if no other method does.
        held = run.module.table(owner).get(ref.obj.slot)
        if held is not None and len(held.refs) == 1 and owner.assigns.get(ref.obj.slot[1:], set()) <= {"__init__"}:
            made, chain = held.refs[0].obj.node, (*held.refs[0].chain, *chain)
    ones = _made(made)
    for link in chain:
        node = link.node
        if link.op == "unsqueeze" and isinstance(node, ast.Call):
            position = literal(node.args[-1]) if node.args else None
            if position is None:
                ones = Ones()
            else:
                ones.insert(position)
        elif isinstance(node, ast.Subscript):
            _index(ones, node.slice)
        elif isinstance(node, ast.Call) and link.op in _SIZES:
            ones = _made(node)
        elif link.kind not in (ALIAS, DETACH) and link.op not in _KEEPS and link.op != "Parameter":
            ones = Ones()
    return ones


def _made(node: ast.AST | None) -> Ones:
    """What a call that makes a tensor says of its dimensions."""
    ones = Ones()
    if not isinstance(node, ast.Call):
        return ones
    name = getattr(node.func, "attr", "")
    if name in _SIZES:
        sizes = sizes_of(node.args[:1] if name == "full" else node.args)
        if sizes and not any(isinstance(size, ast.Starred) for size in sizes):
            ones.count = len(sizes)
            ones.front = {place for place, size in enumerate(sizes) if literal(size) == 1}
    elif name in _REDUCTIONS and any(
        one.arg == "keepdim" and isinstance(one.value, ast.Constant) and one.value.value is True
        for one in node.keywords
    ):
        given = next((one.value for one in node.keywords if one.arg in ("dim", "axis")), None)
        on_torch = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "torch"
        positional = node.args[1:] if on_torch or name == "norm" else node.args
        given = given if given is not None else positional[0] if positional else None
        for item in given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given] if given is not None else []:
            place = literal(item)
            if place is not None:
                (ones.front if place >= 0 else ones.back).add(place)
    return ones


def _index(ones: Ones, index: ast.expr) -> None:
    """`x[:, None]`, `x[..., None]`: what is before the dots counts from the front, what is after them from the back."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    dots = [isinstance(item, ast.Constant) and item.value is ... for item in items]
    if dots.count(True) > 1 or not all(map(keeps_dimension, items)) or len(items) > MAX_DIMS:
        ones.front, ones.back, ones.count = set(), set(), None
        return
    ahead = items[: dots.index(True)] if True in dots else items
    after = items[dots.index(True) + 1 :] if True in dots else []
    for place, item in enumerate(ahead):
        if isinstance(item, ast.Constant):
            ones.insert(place)
    for place, item in enumerate(reversed(after)):
        if isinstance(item, ast.Constant):
            ones.insert(-1 - place)


def sizes_of(args: list[ast.expr]) -> list[ast.expr]:
    """Sizes as separate arguments, or as one tuple or list."""
    if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)):
        return args[0].elts
    return args
