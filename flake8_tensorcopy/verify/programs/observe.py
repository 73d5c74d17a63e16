"""Bindings, reads and writes of one execution: what is noted while a program runs."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from flake8_tensorcopy.verify.programs.memory import is_data, mark, region_of, storage_of
from flake8_tensorcopy.verify.programs.record import ELSEWHERE, Key, Pass, Steps, Truth

LIMIT = 4000  # operations of one execution


class Binding:
    """One name or slot, bound once."""

    __slots__ = ("absorbed", "covered", "frame", "line", "name", "owner", "path", "region", "source", "time", "value")

    def __init__(
        self,
        name: str,
        line: int,
        time: int,
        value: Any,
        source: Binding | None,
        frame: Frame | None = None,
        owner: Any = None,
        path: Steps = (),
    ) -> None:
        self.path = path
        self.frame = frame  # the function that bound it
        self.name = name
        self.line = line
        self.time = time
        self.value = value
        self.source = source  # the binding that the value was taken from
        self.owner = owner  # for a slot: the container or object
        self.region = region_of(value)
        self.absorbed = 0  # when `copy_` wrote back what was taken from the same storage
        self.covered = 0  # when it wrote all over it


class Val(NamedTuple):
    """A value and the binding whose memory it is; `made` are the lines of the writes whose result it is."""

    value: Any
    origin: Binding | None = None
    made: frozenset[int] = frozenset()
    path: Steps = ()  # how the value was cut out of the memory that it shares


class Event(NamedTuple):
    time: int
    line: int
    via: Binding
    region: frozenset[int]
    path: Steps
    taken: bool  # an activation in place whose result is bound


class Local(NamedTuple):
    node: ast.FunctionDef


class LocalClass(NamedTuple):
    node: ast.ClassDef
    methods: dict[str, ast.FunctionDef]


class Instance:
    """An object of a class of the program."""

    def __init__(self, cls: LocalClass) -> None:
        self.cls = cls


class Bound(NamedTuple):
    method: Local
    receiver: Val


class Return(Exception):
    def __init__(self, value: Val) -> None:
        self.value = value


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Unsupported(Exception):
    """A construct that no program has."""


METADATA = frozenset("shape dtype device ndim size dim stride is_contiguous numel".split())


class Frame:
    """One activation of a function of the program."""

    __slots__ = ("entangled", "function", "line", "log", "memory", "names", "outer", "roots", "start")

    def __init__(self, function: str, start: int, outer: Frame | None) -> None:
        self.function = function
        self.names: dict[str, Binding] = {}
        self.log: list[Event] = []
        self.start = start
        self.outer = outer
        self.line = 0
        self.roots: dict[int, str] = {}  # how this function calls a container
        self.entangled = False
        self.memory: dict[str, set[int]] = {}  # of its arguments, and of their items

    def owner_of(self, region: frozenset[int]) -> str:
        return next((name for name, memory in self.memory.items() if region and region <= memory), "")


class Observation:
    """One run of a program, and what is seen of it; how statements run is the subclass's."""

    def __init__(self, tree: ast.Module) -> None:
        self.truth = Truth()
        self.clock = 1
        self.globals: dict[str, Any] = {}
        self.slots: dict[int, dict[Any, Binding]] = {}
        self.kept: list[Any] = []  # containers, so that no address is used twice
        self.frame = Frame("<module>", 0, None)
        for node in tree.body:
            match node:
                case ast.Import() | ast.ImportFrom():
                    exec(compile(ast.Module([node], []), "program", "exec"), self.globals)
                case ast.FunctionDef():
                    self.globals[node.name] = Local(node)
                case ast.ClassDef():
                    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
                    self.globals[node.name] = LocalClass(node, methods)

    def block(self, statements: list[ast.stmt]) -> None:
        """Run statements of the program; raises `Return`, `Break` or `Continue` where they do that."""
        raise NotImplementedError

    def tick(self) -> int:
        self.clock += 1
        if self.clock > LIMIT:
            raise Unsupported("the program does not end")
        return self.clock

    # ----- bindings, reads and writes

    def slot(self, holder: Any, key: Any, value: Val, line: int) -> Binding:
        """Fill a slot of a container or object."""
        made = Binding(
            key if isinstance(key, str) and not isinstance(holder, dict) else repr(key),
            line,
            self.tick(),
            value.value,
            value.origin,
            self.frame,
            holder,
            value.path,
        )
        if id(holder) not in self.slots:
            self.slots[id(holder)] = {}
            self.kept.append(holder)
        self.slots[id(holder)][key] = made
        return made

    def adopt(self, holder: Any, origin: Binding | None, line: int, path: Steps = ()) -> None:
        """Give the items of a container that an operation returned slots of their own."""
        if id(holder) in self.slots:
            return
        self.slots[id(holder)] = {}
        self.kept.append(holder)
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, item in pairs:
            shares = origin is not None and not origin.region.isdisjoint(region_of(item))
            made = self.slot(holder, key, Val(item, origin if shares else None, path=path if shares else ()), line)
            if isinstance(item, list | tuple | dict):
                self.adopt(item, None, line)
                made.region = frozenset()

    def bind(self, name: str, value: Val, met: bool = False) -> None:
        """Bind a name: the value is read, if iteration has not read it before (`met`)."""
        if not met:
            self.read(value, deep=False)
        held = value.value
        if isinstance(held, list | tuple | dict | Instance | types.SimpleNamespace):
            if isinstance(held, list | tuple | dict):
                self.adopt(held, value.origin, self.frame.line, value.path)
            self.frame.roots.setdefault(id(held), name)
        self.frame.names[name] = Binding(
            name, self.frame.line, self.tick(), held, value.origin, self.frame, path=value.path
        )

    def called(self, binding: Binding, frame: Frame) -> str:
        """How a function calls a binding."""
        if binding.owner is None:
            return binding.name
        root = frame.roots.get(id(binding.owner), "")
        if isinstance(binding.owner, Instance | types.SimpleNamespace):
            return f"{root}.{binding.name}"
        return f"{root}[{binding.name}]"

    def read(self, value: Val, deep: bool = True, iterated: bool = False) -> None:
        """The data of a value is consumed."""
        if value.origin is not None:
            region = region_of(value.value) if is_data(value.value) else value.origin.region
            path = value.path if is_data(value.value) else value.origin.path
            self._read(value.origin, value.made, region, path, iterated)
        if deep and isinstance(value.value, list | tuple | dict):
            for held in list(self.slots.get(id(value.value), {}).values()):
                self._read(held, frozenset(), held.region, held.path, iterated, unnamed=held.frame is not self.frame)
                if held.owner is not None and isinstance(held.value, list | tuple | dict):
                    self.read(Val(held.value))

    def _read(
        self,
        binding: Binding,
        made: frozenset[int],
        region: frozenset[int],
        path: Steps,
        iterated: bool = False,
        unnamed: bool = False,
    ) -> None:
        frame = self.frame
        self.tick()
        for event in frame.log:
            if event.time <= binding.time or event.time <= binding.absorbed or event.line in made:
                continue
            own = event.via is binding
            if own and not event.taken:
                continue
            reader, writer = self.called(binding, frame), self.called(event.via, frame)
            if not own and reader == writer:
                continue
            line = binding.line if binding.frame is frame else 0 if binding.time < frame.start else ELSEWHERE
            key = Key(frame.function, event.line, reader, line)
            passed = Pass(key, writer, frame.line, frame.owner_of(event.region), frame.owner_of(region))
            self.truth.passed.add(passed)
            if not event.region.isdisjoint(region):
                self.truth.shared.add(passed)
                self.truth.stale.setdefault(key, set()).add((path, event.path))
                same_holder = binding.owner is not None and binding.owner is event.via.owner
                if (
                    frame.entangled
                    or unnamed
                    or (own and iterated)
                    or event.time <= binding.covered
                    or (same_holder and isinstance(binding.owner, list))
                ):
                    self.truth.open.add(key)

    def wrote(self, origin: Binding | None, region: frozenset[int], path: Steps, taken: bool = False) -> None:
        """An operation wrote these addresses, reached from a binding; each caller sees its own call do it."""
        time = self.tick()
        frame: Frame | None = self.frame
        while frame is not None and origin is not None:
            frame.log.append(Event(time, frame.line, origin, region, path, taken))
            while origin is not None and origin.time >= frame.start:
                origin = origin.source
            frame, taken = frame.outer, False

    # ----- operations

    def operate(
        self, function: Callable[..., Any], args: list[Val], keywords: dict[str, Val], method: bool = False
    ) -> Val:
        """Run one operation of torch, and see which operand it wrote and whose memory it returned."""
        named = list(keywords.values())
        operands = [*args, *named]
        watched = [(one, mark(one.value)) for one in operands if is_data(one.value)]
        name = getattr(function, "__name__", "")
        result = function(*[one.value for one in args], **{key: one.value for key, one in keywords.items()})
        changed = [one for one, before in watched if mark(one.value) != before]
        if changed:
            out = keywords.get("out")
            target = out if out is not None and any(one is out for one in changed) else changed[0]
            for one in operands:
                if one is not target:
                    self.read(one)
            taken = not method and out is None and not self.discarded
            if name == "copy_" and target.origin is not None:
                source = args[1].value if len(args) > 1 else None
                if is_data(source) and storage_of(source) == storage_of(target.value):
                    target.origin.absorbed = self.clock
                elif target.origin.region <= region_of(target.value):
                    target.origin.covered = self.clock
            self.wrote(target.origin, region_of(target.value), target.path, taken)
            if is_data(result) and not region_of(result).isdisjoint(region_of(target.value)):
                return Val(result, target.origin, target.made | {self.frame.line}, target.path)
            return Val(result)
        # `zeros_like(x)` asks for the shape, dtype and device of x, and reads nothing of it.
        return self.derived(result, operands[1:] if name.endswith("_like") else operands, name)

    discarded = False

    def derived(self, result: Any, operands: list[Val], name: str) -> Val:
        parts = [result] if is_data(result) else list(result) if isinstance(result, list | tuple) else []
        memory: frozenset[int] = frozenset().union(*[region_of(part) for part in parts])
        origin: Val | None = None
        for one in operands:
            if is_data(one.value) and not memory.isdisjoint(region_of(one.value)):
                origin = origin or one
            else:
                self.read(one)
        if origin is None:
            return Val(result)
        return Val(result, origin.origin, origin.made, (*origin.path, name) if name else origin.path)

    def call_local(self, function: Local, args: list[Val], keywords: dict[str, Val]) -> Val:
        """A function of the program: a frame of its own."""
        for one in [*args, *keywords.values()]:
            self.read(one)
        outer = self.frame
        frame = Frame(function.node.name, self.tick(), outer)
        spec = [argument.arg for argument in function.node.args.args]
        given = {**dict(zip(spec, args, strict=False)), **keywords}
        for name in spec:
            one = given[name]
            frame.names[name] = made = Binding(name, 0, self.tick(), one.value, one.origin, frame, path=one.path)
            reached = self.reach(made)
            frame.entangled = frame.entangled or any(not reached.isdisjoint(m) for m in frame.memory.values())
            self.reachable(frame, name, made)
            if isinstance(one.value, list | tuple | dict | Instance | types.SimpleNamespace):
                frame.roots[id(one.value)] = name
        self.frame = frame
        discarded, self.discarded = self.discarded, False
        try:
            self.block(function.node.body)
            result = Val(None)
        except Return as done:
            result = done.value
        finally:
            self.frame, self.discarded = outer, discarded
        origin = result.origin
        while origin is not None and origin.time >= frame.start:
            origin = origin.source
        return Val(result.value, origin, frozenset({outer.line}) if origin is not None else frozenset(), result.path)

    def reachable(self, frame: Frame, name: str, binding: Binding) -> None:
        """Note whose memory an argument (or an item of it) is."""
        frame.memory[name] = set(binding.region)
        for key, held in self.slots.get(id(binding.value), {}).items():
            frame.memory[f"{name}[{key}]"] = set(held.region)

    def reach(self, binding: Binding) -> set[int]:
        found = set(binding.region)
        for held in self.slots.get(id(binding.value), {}).values():
            found |= held.region
        return found
