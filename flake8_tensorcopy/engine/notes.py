"""What a run notes: reads, returns, calls of `backward()`, what leaves the function; where its loops leave."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.source import Function
from flake8_tensorcopy.engine.state import State
from flake8_tensorcopy.engine.values import Arm, Obj, Ref, Value, Write

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.run import Run


class Use:
    """One consumption of a reference by the current statement."""

    __slots__ = ("mixed", "node", "ref", "role", "tick", "whole")

    def __init__(self, ref: Ref, node: ast.AST, role: str, mixed: bool, tick: int, whole: Value) -> None:
        self.tick = tick
        self.mixed = mixed
        self.ref = ref
        self.node = node
        self.role = role
        self.whole = whole  # what is read, with all its alternatives


class Returned(NamedTuple):
    """What one `return` gives, and the state there."""

    value: Value
    state: State
    node: ast.Return


class Backward(NamedTuple):
    """One call of `backward()`: through which reference, in which pass of the loops, when and on which arms."""

    ref: Ref
    node: ast.Call
    loop: tuple[int, ...]
    tick: int
    arms: frozenset[Arm]
    retains: bool  # `retain_graph=True`, written out
    within: tuple[ast.stmt, ...] = ()  # the loops around it


class Handed(NamedTuple):
    """A reference that leaves its owner by a store, a `yield`: where, into what, in which pass of the loops."""

    ref: Ref
    node: ast.AST
    how: str
    into: Obj | None
    loop: tuple[int, ...]
    tick: int
    arms: frozenset[Arm]
    mixed: bool
    site: ast.AST  # where it is stored: for a call, in the called function


class KeptState(NamedTuple):
    """A live state_dict that a method has put on its object: where, what it holds, how its module is called, and under
    which tests."""

    target: ast.Attribute
    state: Obj
    held: Ref
    modules: frozenset[str]
    arms: frozenset[Arm]


class ItemsWritten(NamedTuple):
    """A function of this file has written the items of a list or dict that it was given, one after the other."""

    callee: Run
    write: Write  # in the function
    given: Ref
    items: frozenset[Obj]
    call: ast.Call
    tick: int
    arms: frozenset[Arm]


class LeafUpdate(NamedTuple):
    """An assignment that computes what a name holds from its own gradient."""

    statement: ast.stmt
    name: str
    last: bool = True  # nothing computes it further before it is read


class Hooked(NamedTuple):
    """A forward hook that is registered on a module: the call, the module, what is called."""

    module: Ref
    node: ast.Call
    hook: Function
    output: int  # which argument of the hook is the output
    names: dict[str, Value]  # what was in sight
    arms: frozenset[Arm]
    each: bool  # on the layers of the module that a loop meets
    over: str = ""  # for `net[i]` with i from an argument: which
    positions: tuple[int, ...] = ()  # the layers that such an i stands for


class Outside(NamedTuple):
    """What is around a function that is defined inside another: the grad mode, and what its free names stand for."""

    grad: bool | None = True
    off_graph: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()  # the local ones of the function around it


class LoopFrame:
    """Where `break` and `continue` of the innermost loop leave their states; the items that its passes made leaves."""

    __slots__ = ("breaks", "continues", "marked")

    def __init__(self) -> None:
        self.breaks: list[State] = []
        self.continues: list[State] = []
        self.marked: dict[Obj, tuple[bool | None, bool | None]] = {}  # and what they were: `leaf`, `graph`

    def next_pass(self) -> None:
        """The next item is another one, though one object may stand for all."""
        for obj, before in self.marked.items():
            obj.leaf, obj.graph = before

    def leave(self) -> None:
        """All items are what the passes made of them."""
        for obj in self.marked:
            obj.leaf = obj.graph = True


class Shared(NamedTuple):
    """A copy of a container that is one layer deep: of what, and how often an unknown call had got either."""

    source: Obj
    node: ast.AST
    op: str
    epochs: tuple[int | None, int | None]
