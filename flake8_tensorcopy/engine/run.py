"""The run of one function: its state, and the primitives that statements and expressions are made of."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.devices import Devices
from flake8_tensorcopy.engine.facts import (
    DeadRebinding,
    Fact,
    PointerTest,
    RedundantClone,
    StaleRead,
    changed,
)
from flake8_tensorcopy.engine.features import STEPS
from flake8_tensorcopy.engine.graph import Tape
from flake8_tensorcopy.engine.nodes import children, walk
from flake8_tensorcopy.engine.notes import (
    Backward,
    Handed,
    Hooked,
    ItemsWritten,
    KeptState,
    LeafUpdate,
    LoopFrame,
    Outside,
    Returned,
    Shared,
    Use,
)
from flake8_tensorcopy.engine.parts import mixed
from flake8_tensorcopy.engine.source import Function
from flake8_tensorcopy.engine.state import Reaching, State
from flake8_tensorcopy.engine.texts import text_of
from flake8_tensorcopy.engine.trail import Trail
from flake8_tensorcopy.engine.values import (
    ALIAS,
    UNKNOWN,
    Arm,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    Write,
    exclusive,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.aliases import Used
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.axes import Layout, Size
    from flake8_tensorcopy.engine.callers import Ask
    from flake8_tensorcopy.engine.generators import Spent
    from flake8_tensorcopy.engine.gradients import Met, Touched
    from flake8_tensorcopy.engine.layouts import Given
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.parameters import Assigned, Wrap
    from flake8_tensorcopy.engine.premises import Premise
    from flake8_tensorcopy.engine.registration import Kept
    from flake8_tensorcopy.engine.repeated import Repeat
    from flake8_tensorcopy.engine.replaced import Built, Replacement
    from flake8_tensorcopy.engine.snapshots import Loaded, Stepped
    from flake8_tensorcopy.engine.summaries import Summary
    from flake8_tensorcopy.engine.tiling import Tiling
    from flake8_tensorcopy.engine.traces import Trace
    from flake8_tensorcopy.engine.unwrapped import Step

T = TypeVar("T")
_WHOLE = frozenset({"tensor", "array", "module", "function", "class"})  # kinds of objects that are no containers


class Run:
    """One abstract run.  `state` is None where the code cannot be reached."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module = module
        self.names = module.names
        self.function = function
        self.state: State | None = State()
        self.loop: tuple[int, ...] = ()
        self.within: tuple[ast.stmt, ...] = ()  # the loops under way, of which `loop` tells the passes
        self.frames: list[LoopFrame] = []
        self.handlers: list[Reaching] = []  # of the `try`s under way
        self.blocks: list[Arm] = []  # those of the tests passed in a row, where they are many
        self.stmt: ast.stmt | None = None
        self.clock = 0  # statements executed
        self.ticks = 0  # reads and writes
        self.uses: list[Use] = []
        self.facts: dict[tuple[object, ...], Fact] = {}
        self.returned: list[Returned] = []
        self.log: list[Write] = []
        self.backwards: list[Backward] = []
        self.called: dict[ast.AST, Run] = {}  # calls of functions of this file
        self.mutations: dict[tuple[ast.AST | None, str], Write | None] = {}  # told by writes of callers, once asked for
        self.handed: list[Handed] = []
        self.filled_until: Trace | None = None  # when it was asked last what loops have filled
        self.hooks: list[Hooked] = []
        self.items_written: list[ItemsWritten] = []
        self.read_at: dict[Obj, int] = {}  # when an item of a container was read last
        self.tape = Tape()
        self.augmented = UNKNOWN  # the right side of the augmented assignment under way
        self.trail = Trail()
        self.modules: dict[Obj, None] = {}
        self.yields = False
        self.tokens: dict[Obj, Obj] = {}
        self.loads: list[Loaded] = []
        self.used: list[Used] = []
        self.asked: set[Obj] = set()  # what a method was called on that only modules have
        self.shares: dict[Obj, Shared] = {}  # copies of containers, one layer deep
        self.shallow: list[tuple[Obj, Obj, int]] = []  # copies by `copy.copy`, of what, and when
        self.gradients: dict[Obj, None] = {}  # what `.grad` was found to hold
        self.grad_calls: dict[Obj, tuple[Obj, dict[str, Obj]]] = {}
        self.touched: list[Touched] = []
        self.met: list[Met] = []
        self.clears = False  # lets go of gradients
        self.zeroed: set[Obj] = set()  # what `zero_grad()` was called on: if it steps, it is an optimizer
        self.stepped: list[Stepped] = []
        self.spent: list[Spent] = []
        self.spent_twice: dict[Obj, tuple[ast.AST, ast.AST]] = {}
        self.begins: ast.For | ast.AsyncFor | None = None  # the loop whose iterable the statement goes through
        self.left_early: dict[ast.AST, bool] = {}  # loops over what is gone through once: whether they may stop
        self.params: list[Obj] = []
        self.given: dict[str, int] = {}  # the versions of the names that stand for them
        self.devices = Devices()
        self.rebinds: list[tuple[Obj, str]] = []
        self.closed_over: frozenset[str] = frozenset()
        self.shared: frozenset[str] = frozenset()  # names that other functions bind, too
        self.outside = module.outside.get(function) or Outside()
        self.quiet = 0  # inside a test for an exception
        self.pointer_tests: list[PointerTest] = []
        self.written_here: list[tuple[ast.AST, Value, str]] = []
        self.method_calls: dict[ast.Call, tuple[Value, str]] = {}
        self.function_calls: dict[ast.Call, tuple[ops.Op, str]] = {}
        self.narrowed: set[ast.stmt | None] = set()
        self.negations = 0
        self.item_candidates: dict[tuple[Obj, str], tuple[ast.stmt, str, tuple[int, ...], Obj]] = {}
        self.about: dict[tuple[object, ...], tuple[Obj, ast.AST | None]] = {}  # whose evidence to ask at the end
        self.each: dict[tuple[Obj, str], Value] = {}
        self.iterating: list[ast.AST] = []  # what the loops under way iterate over
        self.any_items: dict[Obj, Obj] = {}
        self.siblings: dict[str, frozenset[str]] = {}
        self.rebindings: list[tuple[Place, DeadRebinding, Ref]] = []
        self.operands: tuple[ast.AST, list[tuple[ast.expr, Value]]] | None = None  # of the write about to be made
        self.premises: list[Premise] = []
        self.repeats: dict[Obj, Repeat] = {}  # containers of one object
        self.appended: dict[tuple[ast.expr, Obj], tuple[Obj, tuple[int, ...]]] = {}  # by a call first, and when
        self.repeat_places: dict[Place, Obj] = {}
        self.slot_writes: dict[Obj, Write] = {}
        self.slot_stores: set[Obj] = set()  # containers of which a slot was bound anew
        self.in_shared_memory: set[tuple[Obj, Link | None]] = set()
        self.kept_views: list[tuple[Obj, Ref, ast.Call, Link | None]] = []  # put into lists of this function
        self.left_behind: dict[Place, tuple[ast.Call, frozenset[Arm], Link | None]] = {}
        self.read_only: set[ast.AST] = set()  # writes that no array of NumPy's would allow
        self.wraps: list[Wrap] = []
        self.assigned_states: list[Assigned] = []
        self.steps: list[int] = []  # when an optimizer stepped
        self.moves: dict[Place, tuple[ast.Call, Ref]] = {}
        self.kept_states: list[KeptState] = []
        self.edited: dict[Obj, tuple[ast.expr, str, ast.stmt | None]] = {}  # state_dicts: what puts something in
        self.merged: set[ast.AST | None] = set()  # `state_dict()` of what is edited and loaded back: a merge
        self.loaded: set[Obj] = set()
        self.unwrapped: list[
            tuple[Step, str, ast.AST, ast.expr]
        ] = []  # Parameters that reached a module as plain tensors
        self.optimizers: dict[Obj, Built] = {}
        self.optimizer_steps: list[tuple[Obj, int]] = []  # calls of `step()`, and when
        self.replacements: list[Replacement] = []
        self.forwarded: dict[Obj, set[tuple[ast.Call, str]]] = {}  # which calls, of which method, with the graph on
        self.deep_copies: dict[Obj, list[tuple[ast.Call, frozenset[tuple[ast.Call, str]]]]] = {}  # of arguments
        self.passed: set[Obj] = set()  # in a class that keeps lists: what calls were given
        self.kept_containers: list[Kept] = []
        self.summary: Summary | None = None
        self.logged: dict[Place, set[str]] = {}  # how each binding was used, for moves to the host
        self.between: dict[tuple[object, ...], tuple[Place, Place, int, Obj]] = {}
        self.shown: set[Place] = set()
        self.shared_objs: dict[tuple[object, ...], Obj] = {}
        self.written_back: set[Obj] = set()
        self.cleared: dict[ast.AST, frozenset[str]] = {}  # whose gradients are cleared below a node, once asked for
        self.guarded: set[Obj] = set()  # compared by `is` with what they may share storage with
        self.leaf_candidates: dict[Place, LeafUpdate] = {}
        self.item_updates: dict[Obj, LeafUpdate] = {}  # by what a comprehension computed of each item
        self.branches: dict[ast.expr, tuple[tuple[ast.expr, Value], ...]] = {}  # of conditional expressions
        self.sizes: dict[ast.AST, Given] = {}  # what calls that make or reshape were given
        self.scrambled: dict[ast.AST, tuple[Size, ...]] = {}  # and of those that put axes in another order, the first
        self.layouts: dict[Obj, tuple[int, Layout | None]] = {}  # of what was asked for in this statement, how deep
        self.layouts_at = (0, 0)
        self.ranks: dict[Obj, int] = {}  # how many axes, where a shape was unpacked
        self.relaid: dict[Obj, list[tuple[object, ...]]] = {}  # which of its tensors were given other axes in place
        self.single: set[Obj] = set()  # what modules made of something whose first axis has size 1
        self.rows: set[Obj] = set()  # what modules made of something with an axis of size 1
        self.byte_strides: dict[Obj, Ref] = {}  # what `a.strides` gave, and of which array
        self.tilings: list[Tiling] = []
        self.strengths: dict[tuple[object, ...], tuple[object, ...]] = {}
        self.asks: list[Ask] = []  # facts that wait for what the callers pass
        self.mixed_lists: set[str] | None = None  # names of lists that numbers are appended to, once asked for
        self.binds: set[str] | None = None  # the names that statements of the function bind, once asked for
        self._parents: dict[ast.AST, ast.AST] = {}
        self._mentions: dict[str, list[ast.Name]] = {}
        self._entry: dict[tuple[Obj, str, int], Value] = {}
        self._globals: dict[str, Value] = {}
        self._texts: dict[ast.AST, str] = {}
        self._names: dict[ast.AST, tuple[str, ...]] = {}
        self._told: dict[object, object] = {}

    def once(self, make: Callable[[Run], T]) -> T:
        """What a function makes out about the run when it is finished, kept for the next one that asks."""
        if make not in self._told:
            self._told[make] = make(self)
        return self._told[make]  # type: ignore[return-value]

    # ----- names, fields, texts

    @property
    def now(self) -> State:
        """The current state; only called where the code can be reached."""
        assert self.state is not None
        return self.state

    def count(self) -> int:
        """The next place in the order of reads and writes."""
        self.ticks += 1
        return self.ticks

    def text(self, node: ast.AST) -> str:
        """The expression as source-like text, shortened."""
        known = self._texts.get(node)
        if known is None:
            if isinstance(node, ast.Name):
                known = node.id
            else:
                try:
                    known = text_of(node)
                except ValueError:  # an integer too long to print
                    known = "..."
            self._texts[node] = known
        return known

    @cached_property
    def asks_gradient(self) -> bool:
        """Whether the function may name a gradient: not known of functions inside others."""
        found = self.function.found
        return not found or any(node.attr[:4] == "grad" for node in found.get(ast.Attribute, ()))

    @cached_property
    def asks_guards(self) -> list[ast.Attribute] | None:
        """Where it names what guards a conversion, a dtype or a device; None of functions inside others."""
        found = self.function.found
        return [node for node in found.get(ast.Attribute, ()) if node.attr in library.GUARDS] if found else None

    def names_in(self, node: ast.AST) -> tuple[str, ...]:
        """The names that an expression mentions."""
        known = self._names.get(node)
        if known is None:
            inner = node.left if isinstance(node, ast.Compare) and _against_constant(node) else node
            while isinstance(inner, ast.Attribute):
                inner = inner.value
            if isinstance(inner, ast.Name):
                known = (inner.id,)
            else:
                known = tuple(sorted({n.id for n in walk(inner) if isinstance(n, ast.Name)}))
            self._names[node] = known
        return known

    def short(self, node: ast.AST) -> str:
        text = self.text(node)
        return text if len(text) <= 60 else text[:57] + "..."

    def global_value(self, name: str) -> Value:
        known = self._globals.get(name)
        if known is None:
            obj = Obj("unknown", "global", key=name, graph=False if name in self.outside.off_graph else None)
            if name not in self.outside.names:
                self.module.describe_global(name, obj)
            known = self._globals[name] = Value((Ref(obj, (), Place(name, None, origin="global")),))
        return known

    def entry_field(self, state: State, obj: Obj, key: str) -> Value:
        """What slot `key` of the object held on entry (or since an unknown call may have changed it)."""
        mark = (obj, key, state.epoch.get(obj, 0))
        known = self._entry.get(mark)
        if known is None:
            known = self._shared_item(state, obj, key) if obj in self.shares else None
            if known is None:
                known = self.module.entry_field(self, obj, key)
            self._entry[mark] = known
        return known

    def share(self, node: ast.AST, made: Obj, source: Obj, op: str) -> None:
        """A copy of a container that came from elsewhere holds the very items that nobody has asked for yet."""
        if source.owner != "fresh":
            self.shares[made] = Shared(source, node, op, (self.now.epoch.get(made), self.now.epoch.get(source)))

    def unshare(self, obj: Obj) -> None:
        """Nobody knows which items of a container are others now: a copy of it may hold something else."""
        for made in [made for made, shared in self.shares.items() if obj in (made, shared.source)]:
            del self.shares[made]

    def _shared_item(self, state: State, obj: Obj, key: str) -> Value | None:
        """An item of a copy that is one layer deep: what it was made of holds it too, unless one of them has changed
        since."""
        source, node, op, epochs = self.shares[obj]
        if key[0] != "[" or key[-2:] in ("*]", ")]") or (state.epoch.get(obj), state.epoch.get(source)) != epochs:
            return None
        held = state.fields(source).get(key) or self.entry_field(state, source, key)
        if not held.refs or any(ref.obj.parent is not source or ref.obj.slot != key for ref in held.refs):
            return None  # put there since: the copy holds what was there before
        place = Place(f"{obj.key or op}{key}", node, origin="item")
        link = Link(ALIAS, op, node)
        return Value(tuple(Ref(ref.obj, (*ref.chain, link), place, frozenset(), ref.arms) for ref in held.refs))

    def field(self, obj: Obj, key: str) -> Value:
        state = self.now
        found = state.fields(obj).get(key)
        if found is None:
            found = self.entry_field(state, obj, key)
            state.set_field(obj, key, found)
            if key == ".grad":
                self.gradients.update((held.obj, None) for held in found.refs if held.obj.parent is obj)
        return found

    def token(self, obj: Obj) -> Obj:
        """What stands for something of an object that is no tensor: the items left in an iterator, a state."""
        known = self.tokens.get(obj)
        if known is None:
            known = self.tokens[obj] = Obj("unknown", "fresh")
        return known

    # ----- evidence

    def note(self, value: Value, level: int) -> None:
        """The current statement uses the value as only a tensor can be used (2), or an array (1).

        Array-like indexing is unmistakable and speaks for its own statement too.
        """
        for ref in value.refs:
            if ref.obj.kind == "unknown":
                ref.obj.uses.append((level, self.stmt if level > 1 else None))

    # ----- bindings

    def bound(self, value: Value, place: Place, node: ast.AST) -> Value:
        """The value as held by a new binding."""
        if not value.refs:
            return value
        state = self.now
        refs = []
        for ref in value.refs:
            if exclusive(ref.arms, state.arms):
                continue
            chain = ref.chain
            if ref.place is not None and not (chain and chain[-1].node is node):
                chain = ref.derive(Link(ALIAS, "=", node)).chain
            via = ref.via if ref.place is None else (*ref.via[-7:], ref.place)
            refs.append(Ref(ref.obj, chain, place, state.written(ref.obj), ref.arms | state.arms, via=via))
        if not refs:
            return UNKNOWN
        return Value(tuple(refs))

    # ----- uses

    def use(self, value: Value, node: ast.AST, role: str, whole: Value | None = None) -> None:
        """The current statement consumes the value; `whole` has all its alternatives, where they are met one by one.

        What is only looked at, for its shape, dtype or device, takes part in an operation and is not read.
        """
        if role == "looked at":
            self.devices.operands.add(node)
            return
        if role in ("operand", "difference") and not self.devices.storing:
            self.devices.operands.add(node)
        if self.state is not None and self.state.flights:
            self.host_use(value, node, role)
        if role == "test" and self.loop and self.function.features & STEPS:
            self._waits_for(value, node, "test")
        if not value.refs:
            return
        whole = whole or value
        several = len(whole.refs) > 1
        for ref in value.refs:
            # What this very statement puts into a slot is used where it is put there.
            if ref.place is not None and not self._just_made(ref.place):
                if role not in ("receiver", "bind", "test", "logged"):
                    ref.place.last_use = self.clock
                self.uses.append(Use(ref, node, role, several and mixed(whole, ref), self.count(), whole))
                known = self.logged.get(ref.place)
                if known is not None:
                    known.add(role)
                if ref.obj.data == "state" and role != "iterate":
                    self.loaded.add(ref.obj)

    def host_use(self, value: Value, node: ast.AST, role: str) -> None:
        from flake8_tensorcopy.engine.transfers import host_use

        host_use(self, value, node, role)

    def _waits_for(self, value: Value, node: ast.AST, how: str) -> None:
        from flake8_tensorcopy.engine.loops import note_sync

        note_sync(self, node, how, value)

    def leaves_host(self, ref: Ref, node: ast.AST) -> bool:
        from flake8_tensorcopy.engine.transfers import leaves_host

        return leaves_host(self, ref, node)

    def place_of(self, ref: Ref) -> str:
        from flake8_tensorcopy.engine.transfers import place_of

        return place_of(self, ref)

    def source_written(self, write: Write) -> None:
        from flake8_tensorcopy.engine.transfers import source_written

        source_written(self, write)

    def indexed(self, node: ast.Subscript, base: Value, result: Value) -> None:
        if self.loop and self.function.features & STEPS:
            from flake8_tensorcopy.engine.loops import indexed

            indexed(self, node, base, result)
        if isinstance(node.value, ast.Call):
            from flake8_tensorcopy.engine.redundant import indexed_clone

            indexed_clone(self, node, base, result)

    def _just_made(self, place: Place) -> bool:
        return place.made_in is not None and place.made_in is self.stmt and place.made_at == self.clock

    def use_deep(self, value: Value, node: ast.AST, role: str) -> None:
        """A container is handed on: its items are read too."""
        self.use(value, node, role)
        pending = [(ref.obj, ref.arms) for ref in value.refs if ref.obj.kind not in _WHOLE]
        if not pending:
            return
        seen: set[Obj] = set()
        while pending and len(seen) < 50:
            obj, arms = pending.pop()
            if obj in seen or obj.kind in _WHOLE:
                continue
            seen.add(obj)
            if self.shares and role == "argument":
                self.unshare(obj)  # a function may put other items there
            for slot, held in self.now.fields(obj).items():
                if slot[0] == "[" and slot[-2:] != ")]":  # not one of a pass: there may be very many
                    if arms:
                        held = Value(tuple(ref.under(arms) for ref in held.refs), held.kind)
                    if self.now.flights and role != "iterate":
                        self.host_use(held, node, role)
                    self.use(held, node, role if obj.kind == "tuple" else "item")
                    pending.extend((ref.obj, ref.arms) for ref in held.refs)

    def use_iterated(self, value: Value, node: ast.AST) -> None:
        """The value is iterated over: a tensor is read, and so are the items of a container."""
        from flake8_tensorcopy.engine.generators import spend

        spend(self, value, node)
        for ref in value.refs:
            obj = ref.obj
            if obj.kind == "iter" and isinstance(obj.data, tuple):
                kind, parts = obj.data
                for part_node, part in parts:
                    if ref.arms:
                        part = Value(tuple(one.under(ref.arms) for one in part.refs), part.kind, part.const)
                    if kind in ("items", "values"):
                        self.use_deep(part, node, "iterate")
                    elif kind not in ("keys", "range"):
                        self.use_iterated(part, part_node)
            elif obj.kind == "dict":
                continue
            elif obj.kind in ("list", "tuple", "iter"):
                self.use_deep(Value((ref,)), node, "iterate")
            else:
                self.use(Value((ref,)), node, "iterate", whole=value)

    def use_logged(self, value: Value, node: ast.AST) -> None:
        """The value is printed, formatted or logged."""
        from flake8_tensorcopy.engine.host import host_scalar, moved_to_host

        self.use_shown(value, node)
        if self.loop and self.function.features & STEPS:
            self._waits_for(value, node, "print")
        for ref in value.refs:
            move = moved_to_host(self, ref)
            if move is not None and move is node:
                host_scalar(self, move, ref, "logged")

    def use_shown(self, value: Value, node: ast.AST) -> None:
        """The value is shown as it is, on a line of its own."""
        self.use(value, node, "logged")
        for ref in value.refs:
            if ref.place is not None:
                self.shown.add(ref.place)

    def item_read(self, obj: Obj) -> None:
        """An item of a container is read: an edited state_dict serves as a dict of one's own."""
        self.read_at[obj] = self.clock
        edit = self.edited.get(obj)
        if edit is not None and edit[2] is not self.stmt:
            self.loaded.add(obj)

    def module_used(self, ref: Ref, node: ast.AST, called: bool) -> None:
        from flake8_tensorcopy.engine.aliases import module_used

        module_used(self, ref, node, called)

    def narrowed_on_host(self, value: Value, node: ast.AST, used: str) -> None:
        from flake8_tensorcopy.engine.host import narrowed_on_host

        narrowed_on_host(self, value, node, used)

    def compared_on_host(self, sides: list[tuple[ast.expr, Value]]) -> None:
        from flake8_tensorcopy.engine.host import compared_on_host

        compared_on_host(self, sides)

    def expanded(self, node: ast.BinOp, sides: list[tuple[ast.expr, Value]]) -> None:
        from flake8_tensorcopy.engine.expansion import expanded

        expanded(self, node, sides)

    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each node of the function stands in, in source order."""
        if not self._parents:
            pending: list[ast.AST] = [self.function.node]
            while pending:
                outer = pending.pop()
                inside = children(outer)
                self._parents.update(dict.fromkeys(inside, outer))
                pending.extend(reversed(inside))
        return self._parents

    def mentions(self, name: str) -> list[ast.Name]:
        """Where the function reads or binds a name, in source order."""
        if not self._mentions:
            for node in self.parents():
                if isinstance(node, ast.Name):
                    self._mentions.setdefault(node.id, []).append(node)
            for found in self._mentions.values():
                found.sort(key=lambda node: (node.lineno, node.col_offset))
        return self._mentions.get(name, [])

    def gradient_read(self, ref: Ref, node: ast.AST) -> None:
        """`.grad` of a value that an update computed: it is no leaf and has none."""
        from flake8_tensorcopy.engine.moved_leaf import used_as_leaf

        if isinstance(node, ast.Attribute):
            used_as_leaf(self, ref, node, self.short(node.value), "grad")
        self._item_gradient_read(ref, node)
        self.tape.gradients.setdefault(ref.obj, node)
        candidate = self.leaf_candidates.get(ref.place) if ref.place is not None else None
        if candidate is None:
            candidate = self.item_updates.get(ref.obj.any_of or ref.obj)
        if candidate is not None and not ref.obj.leaf and (self.loop or candidate.statement is not self.stmt):
            from flake8_tensorcopy.engine.rebinding import report

            evidence = max(2, self.evidence(ref.obj, None))
            # What computes it further makes no leaf of it either: written in place here, it is none all the same.
            repaired = candidate.statement if candidate.last else None
            report(self, candidate.statement, repaired, candidate.name, "grad_read", node, evidence)

    def _item_gradient_read(self, ref: Ref, node: ast.AST) -> None:
        """The same item, met again by the next pass of the outer loop under another value of its index."""
        obj = ref.obj
        if len(self.loop) < 2:
            return
        known = self.item_candidates.get((obj, ""))
        if known is None and obj.parent is not None and obj.slot.startswith("["):
            known = self.item_candidates.get((obj.parent, obj.slot.split("]")[0]))
        if known is None:
            return
        statement, name, loop, new = known
        if loop[:-1] != self.loop[:-1] and not new.leaf:
            from flake8_tensorcopy.engine.rebinding import report

            report(self, statement, statement, name, "grad_read", node, 2)

    def is_storage(self, node: ast.expr) -> bool:
        """`x.untyped_storage()`: its address is the right one to compare."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and "storage" in node.func.attr

    def evidence_of(self, ref: Ref, statement: ast.AST | None) -> int:
        """The same for a reference: the live values of a module are tensors."""
        return 3 if ref.kind == "tensor" else self.module.evidence(ref.obj, statement)

    def cloned_and_detached(self, clone: ast.Call) -> bool:
        """`x.clone().detach()`: the order is what there is to say of it. Whether x is new memory anyway."""
        known = self.facts.get((RedundantClone, clone))
        if isinstance(known, RedundantClone):
            self.facts[(RedundantClone, clone)] = changed(known, detached=True)
            return known.form == "fresh"
        return False

    def copied_into(self, ref: Ref, source: Value) -> None:
        """`x.copy_(y)`: what was taken from x is written back."""
        if ref.place is not None and any(other.obj is ref.obj for other in source.refs):
            absorbed = self.now.absorbed
            known = absorbed.get(ref.place, frozenset()) | self.now.written(ref.obj)
            self.now.absorbed = {**absorbed, ref.place: known}
            self.written_back.add(ref.obj)

    def stored_back(self, owner: Obj, slot: str, value: Value) -> None:
        """`state["v"] = v`: what was taken from this very slot, and perhaps something else, is put into it."""
        self.written_back.update(ref.obj for ref in value.refs if ref.obj.parent is owner and ref.obj.slot == slot)

    def hand_out(self, value: Value, node: ast.AST, how: str, into: Obj | None = None) -> None:
        """The value, or what a container holds, goes to somebody else."""
        pending = [value]
        seen: set[Obj] = set()
        while pending and len(seen) < 20:
            held = pending.pop()
            for ref in held.refs:
                if ref.obj in seen or exclusive(ref.arms, self.now.arms):
                    continue
                seen.add(ref.obj)
                if ref.obj.kind in ("tuple", "list", "dict"):
                    pending.extend(self.now.fields(ref.obj).values())
                arms = ref.arms | self.now.arms
                self.handed.append(Handed(ref, node, how, into, self.loop, self.count(), arms, mixed(held, ref), node))

    def reading_arguments(self, function: Function, args: Args) -> None:
        """A function of this file reads what it is given."""
        for node, value in args.all():
            self.use_deep(value, node, "argument")

    def any_item(self, obj: Obj) -> Obj:
        """What stands for any item of a list that this function was given."""
        known = self.any_items.get(obj)
        if known is None:
            known = self.any_items[obj] = Obj("unknown", "item", parent=obj, slot="[any]")
            known.any_of = known
        return known

    def item_per_pass(self, obj: Obj, node: ast.AST) -> Value:
        """An element met while iterating: another object in each pass of the loop."""
        return self.field(obj, f"[{id(node)}{self.loop}]")

    def note_container(self, obj: Obj, index: ast.expr) -> None:
        """Text as an index: no tensor."""
        if obj.kind == "unknown" and isinstance(index, ast.Constant) and isinstance(index.value, str):
            obj.refuted = True

    def evidence(self, obj: Obj, statement: ast.AST | None = None, depth: int = 0) -> int:
        """How surely the object is a tensor; `statement` may not speak for itself."""
        return self.module.evidence(obj, statement, depth)

    # ----- facts

    def fact(
        self, fact: Fact, strength: tuple[object, ...] = (), between: tuple[Place, Place, int, Obj] | None = None
    ) -> None:
        """Keep a fact; of several about one binding and write, the one with the strongest read."""
        mark: tuple[object, ...] = (type(fact), fact.site)
        if isinstance(fact, StaleRead):
            mark = (*mark, fact.reader, fact.bound)  # as `knows_stale` has it
        known = self.facts.get(mark)
        if known is None or strength > self.strengths.get(mark, ()):
            self.facts[mark] = fact
            self.strengths[mark] = strength
            if between is not None:
                self.between[mark] = between

    def knows_stale(self, site: ast.AST, reader: Place, strength: tuple[object, ...]) -> bool:
        """Whether a stale read of this binding after this write is known that is at least as strong."""
        mark = (StaleRead, site, reader.name, reader.node)
        return mark in self.facts and not strength > self.strengths.get(mark, ())


def _against_constant(node: ast.Compare) -> bool:
    """`x.y is None`: what stands on the right names nothing."""
    return len(node.comparators) == 1 and isinstance(node.comparators[0], ast.Constant)


def last_state(run: Run) -> State | None:
    """The state at the end of a function."""
    return run.state if run.state is not None else run.returned[-1].state if run.returned else None
