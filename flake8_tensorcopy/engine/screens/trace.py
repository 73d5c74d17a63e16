"""One pass over a function: what each name may share storage with where it stands, what is read and written, in order.

It is to a run what a sketch is to a plan: a name has a group (or a few) for each binding, the arms of an `if` are taken
apart and put together again, a loop is gone through once, and what objects hold is told apart by its name alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine.modes import entry_mode, mode_of
from flake8_tensorcopy.engine.nodes import walk
from flake8_tensorcopy.engine.screens.groups import (
    ARGUMENT,
    ATTRIBUTE,
    GLOBAL,
    GRADIENT,
    HOLDER,
    JOINED,
    NOTHING,
    Group,
    Groups,
    field,
    find,
    join,
    reached,
)
from flake8_tensorcopy.engine.screens.looks import is_number
from flake8_tensorcopy.engine.screens.signs import inner_may_write
from flake8_tensorcopy.engine.screens.statements import STATEMENTS
from flake8_tensorcopy.engine.screens.values import value as value_of

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.screens.sketch import Sketch
    from flake8_tensorcopy.engine.source import FunctionNode

MAX_ALTERNATIVES = 6
MAX_VERSIONS = 6
MAX_LOOKED_AT = 1 << 16  # names, for all writes together: what reached later ones is not known

# What may switch grad mode on again, whatever a decorator or a block around it says.
_SETS_MODE = frozenset({"enable_grad", "set_grad_enabled"})

Env = dict[str, Groups]
Arms = tuple[tuple[ast.AST, int], ...]  # the tests and cases that a statement stands in, and which arm


class Load(NamedTuple):
    """A read: when, of which groups, by which name; of which statement, which binds which names."""

    tick: int
    groups: Groups
    name: str
    statement: int
    arms: Arms
    loops: frozenset[int]
    late: bool  # in a function inside, which may run at any time
    binds: frozenset[str]
    version: Groups  # what its first name stands for there


class Write(NamedTuple):
    """What may change a storage in place: its groups, the written expression, the node; what is read before it."""

    groups: Groups
    name: str
    target: ast.expr
    node: ast.AST
    how: str  # augmented subscript method array activation call object (what a method does to what its object holds)
    first: int
    last: int
    statement: int
    arms: Arms
    loops: frozenset[int]
    late: bool
    binds: frozenset[str]
    alone: bool  # the statement is nothing else
    recorded: bool  # in grad mode, for all that is known
    uncertain: bool = False  # a function that is called may write a copy instead
    operands: Groups = ()
    aliases: dict[str, Groups] | None = None  # what else reached it, when it was written; None if that is not known


class Keeper(NamedTuple):
    """An operation that keeps something for backward: when, and the groups of what it keeps."""

    tick: int
    groups: Groups
    node: ast.AST
    arms: Arms
    loops: frozenset[int]


class Trace:
    """What one pass over a function shows."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.file = sketch.file
        self.imported = sketch.survey.names.imported
        self.loads: list[Load] = []
        self.writes: list[Write] = []
        self.keepers: list[Keeper] = []
        self.reached: dict[int, frozenset[Group]] = {}  # of reads, by their ticks, once all is known
        self.targets: list[ast.expr] = []  # expressions that are written, whatever they may be
        self.returned: list[tuple[ast.expr, Groups]] = []
        self.keeps_gradient = False  # a gradient has another name
        self.entry: dict[str, Group] = {}  # parameters, and names that are read before they are bound
        self.every: dict[str, list[Group]] = {}  # what names were bound to, anywhere
        self.env: Env = {}
        self.tick = 0
        self.statement = 0
        self.arms: Arms = ()
        self.loops: frozenset[int] = frozenset()
        self.late = False
        self.recording = self._begins_recording()
        self.binds: frozenset[str] = frozenset()
        self.whole: ast.AST | None = None  # the statement under way, or the value that it is for
        self._looked_at = 0
        self.known: dict[ast.AST, tuple[Groups, str]] = {}  # what calls and items of this statement led to
        self.log: list[str] = []  # the names that were bound, in order: all that arms and passes can differ in
        self._frames: list[list[Env]] = []
        self.inner_named: dict[str, list[FunctionNode]] = {}  # functions inside, by their names
        # A number at first, perhaps: what is added may make a tensor of it.
        self.grown = {
            node.target.id
            for node in sketch.function.found.get(ast.AugAssign, ())
            if isinstance(node.target, ast.Name) and not is_number(node.value)
        }
        self._inner: list[FunctionNode | ast.Lambda] = []
        self._run()

    # ----- names

    def _run(self) -> None:
        node = self.sketch.function.node
        if not isinstance(node, ast.Module):
            self._bind_parameters(node)
        self.block(node.body)
        for inner in self._inner:  # the list grows meanwhile
            self._inner_function(inner)

    def _begins_recording(self) -> bool:
        """Whether the function may begin in grad mode."""
        function = self.sketch.function
        return not _SETS_MODE.isdisjoint(function.calls) or entry_mode(self.sketch.survey, function) is not False

    def without_grad(self, node: ast.expr) -> bool:
        """Whether a context manager surely switches grad mode off, and nothing in the function on again."""
        if not isinstance(node, ast.Call) or not _SETS_MODE.isdisjoint(self.sketch.function.calls):
            return False
        return mode_of(self.sketch.survey.names.qualify(node.func), node) == "off"

    def _bind_parameters(self, node: FunctionNode) -> None:
        spec = node.args
        classes = self.sketch.survey.classes
        for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            said = self.sketch.annotated.get(one.arg, "")
            group = Group(ARGUMENT, frozenset((said,)) if said in classes else NOTHING)
            self.entry[one.arg] = group
            self.env[one.arg] = (group,)
        for star in (spec.vararg, spec.kwarg):
            if star is not None:
                self.entry[star.arg] = group = Group(ARGUMENT, container=True)
                self.env[star.arg] = (group,)

    def _inner_function(self, node: FunctionNode | ast.Lambda) -> None:
        """A function inside, after all else: it may read what any binding gave to a name."""
        outer, self.late, self.recording = self.env, True, True
        self.env = {}
        for name in dict.fromkeys(one.id for one in walk(node) if isinstance(one, ast.Name)):
            groups, entry = self.every.get(name, []), self.entry.get(name)
            if len(groups) > MAX_VERSIONS:
                join(groups)
                del groups[:-MAX_VERSIONS]
            held = groups if entry is None else (*groups, entry)
            if held:
                self.env[name] = tuple(dict.fromkeys(map(find, held)))
        spec = node.args
        for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg):
            if one is not None:
                self.env[one.arg] = (Group(),)
        if isinstance(node, ast.Lambda):
            self.value(node.body)
        else:
            self.block(node.body)
        self.env = outer

    def inner_may_write(self, name: str) -> bool:
        """Whether a function inside, or one of several of that name, may write anything."""
        return any(inner_may_write(self.sketch, node) for node in self.inner_named[name])

    def name_of(self, name: str) -> Groups:
        """What a name may stand for, where it is read; nothing for a number, or what is imported."""
        groups = self.env.get(name)
        if groups is None:
            if name in self.imported:
                return ()
            group = self.entry.get(name)
            if group is None:
                group = self.entry[name] = Group(GLOBAL, container=name in self.file.globals)
            groups = self.env[name] = (group,)
        return groups

    def load(self, name: str, groups: Groups) -> None:
        """Note a read."""
        self.tick += 1
        self.loads.append(
            Load(
                self.tick, groups, name, self.statement, self.arms, self.loops, self.late, self.binds,
                self.env.get(root_of(name), ()),
            )
        )  # fmt: skip

    def bind(self, name: str, groups: Groups) -> None:
        """Give a name a new binding."""
        if len(groups) > 1:
            groups = tuple(dict.fromkeys(map(find, groups)))
            if len(groups) > MAX_ALTERNATIVES:
                groups[0].flags |= JOINED
                join(groups)
                groups = (find(groups[0]),)
        self.env[name] = groups
        self.log.append(name)
        if groups:
            self.every.setdefault(name, []).extend(groups)
            self.note_gradient(groups)

    def made(self, container: bool = False, tensor: bool = False) -> Group:
        """What is made where the trace is: another one in each pass of the loops there."""
        group = Group(container=container, tensor=tensor)
        group.loops = self.loops
        return group

    def aliases(self, groups: Groups, name: str) -> dict[str, Groups] | None:
        """The other names that reach something at this moment; not asked of what outlives the passes of a loop."""
        if self.late or any(not self.loops <= one.loops for one in groups):
            return {}
        self._looked_at += len(self.env)
        if self._looked_at > MAX_LOOKED_AT:
            return None
        tops = {find(one) for one in groups}
        found: dict[str, Groups] = {}
        root = root_of(name)
        for other, held in self.env.items():
            if other != name and other != root and any(_reaches(one, tops) for one in held):
                found[other] = held
        return found

    def keep(self, groups: Iterable[Group], node: ast.AST) -> None:
        """Note an operation that keeps something for backward."""
        if self.recording and (kept := tuple(groups)):
            self.keepers.append(Keeper(self.tick, kept, node, self.arms, self.loops))

    def write(
        self,
        groups: Groups,
        name: str,
        target: ast.expr,
        node: ast.AST,
        how: str,
        first: int,
        operands: Groups = (),
        uncertain: bool = False,
        recorded: bool = True,
    ) -> None:
        """Note that something may be changed in place."""
        if not groups:
            return
        self.tick += 1
        alone = self.whole is node or how in ("augmented", "subscript")
        self.writes.append(
            Write(
                groups, name, target, node, how, first, self.tick, self.statement, self.arms, self.loops, self.late,
                self.binds, alone, self.recording and recorded, uncertain, operands, self.aliases(groups, name),
            )
        )  # fmt: skip

    def note_gradient(self, groups: Groups) -> None:
        if not self.keeps_gradient and any(find(one).flags & GRADIENT for one in groups):
            self.keeps_gradient = True

    def flag(self, groups: Iterable[Group], flags: int) -> None:
        for one in groups:
            find(one).flags |= flags

    def attribute(self, groups: Groups, name: str) -> Groups:
        """What objects hold under an attribute."""
        file = self.file
        made = file.made_of(name)
        flags = ATTRIBUTE | (file.leaf if name in file.leaves else 0)
        held = tuple(field(one, "." + name, flags, made) for one in groups)
        for one, inside in zip(groups, held, strict=True):
            if find(one).flags & HOLDER:
                join((one, inside))
        return held

    # ----- statements

    def block(self, body: list[ast.stmt]) -> bool:
        """Go through a block; False if its end is not reached."""
        for node in body:
            handler = STATEMENTS.get(type(node))
            self.statement += 1
            self.known.clear()
            self.binds = frozenset()
            self.whole = node
            if handler is not None:
                if handler(self, node) is False:
                    return False
        return True

    value = value_of

    def merge(self, envs: list[Env], since: int) -> None:
        """Go on with what any of several paths has bound, since the log was as long as that."""
        if not envs:
            return
        if len(envs) == 1:
            self.env = envs[0]
            return
        merged = dict(envs[0])
        bound = dict.fromkeys(self.log[since:])
        others = self._bound_in(envs, bound) if len(bound) > len(envs[0]) else None
        for name in bound:
            for groups in others.get(name, ()) if others is not None else (env.get(name) for env in envs[1:]):
                if groups is None:
                    continue
                known = merged.get(name)
                if known is None:
                    entry = self.entry.get(name)
                    merged[name] = groups if entry is None else tuple(dict.fromkeys((*groups, entry)))
                elif known is not groups and known != groups:
                    merged[name] = tuple(dict.fromkeys((*known, *groups)))
            groups = merged.get(name, ())
            if len(groups) > MAX_ALTERNATIVES:
                find(groups[0]).flags |= JOINED
                join(groups)
                merged[name] = (find(groups[0]),)
        self.env = merged

    def _bound_in(self, envs: list[Env], bound: dict[str, None]) -> dict[str, list[Groups]]:
        """What names are bound to at the ends of paths, where that is not as on the first one: of very many names, each
        bound on a path of its own, not each is looked for on each path."""
        first = envs[0]
        found: dict[str, list[Groups]] = {}
        for env in envs[1:]:
            for name, groups in env.items():
                if first.get(name) is not groups and name in bound:
                    found.setdefault(name, []).append(groups)
        return found

    def arm(self, node: ast.AST, number: int, body: list[ast.stmt], env: Env) -> Env | None:
        """One arm of a branch; what it has bound, if its end is reached."""
        outer = self.arms
        self.arms = (*outer, (node, number))
        self.env = dict(env)
        ended = self.block(body)
        self.arms = outer
        return self.env if ended else None

    def loop(self, bind: Callable[[], None] | None, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """A loop, gone through once: what it has bound at its end is what it may begin with."""
        before = dict(self.env)
        since = len(self.log)
        outer = self.loops
        self.loops = outer | {self.statement}
        frame: list[Env] = []
        self._frames.append(frame)
        if bind is not None:
            bind()
        if self.block(body):
            frame.append(self.env)
        self._frames.pop()
        self.loops = outer
        bound = dict.fromkeys(self.log[since:])
        for env in frame:
            for name in bound if len(bound) <= len(env) else [name for name in env if name in bound]:
                groups = env.get(name, ())
                known = before.get(name)
                if known is None:
                    known = (self.entry[name],) if name in self.entry else ()
                if known and groups and known != groups:
                    different = {find(one) for one in (*known, *groups)}
                    if len(different) > 1:
                        find(groups[0]).flags |= JOINED
                        join(different)
        self.merge([before, *frame], since)
        self.block(orelse)

    def leave(self) -> bool:
        """`break` or `continue`."""
        if self._frames:
            self._frames[-1].append(dict(self.env))
        return False

    def apart(self, one: Arms, other: Arms) -> bool:
        """Whether two places stand in different arms of one branch."""
        if not one or not other:
            return False
        taken = dict(one)
        return any(taken.get(node, arm) != arm for node, arm in other)


def _reaches(group: Group, tops: set[Group]) -> bool:
    """Whether a group, or what it holds, is one of these."""
    top = find(group)
    if top in tops:
        return True
    return bool(top.fields) and not tops.isdisjoint(reached(top))


def root_of(name: str) -> str:
    """The plain name that what something is called begins with: `x` of `x.y` and of `x[0]`."""
    return name.split(".", 1)[0].split("[", 1)[0]
