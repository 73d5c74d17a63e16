"""The program so far: its lines, what is known of its names, and the choices that are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

SIZE = 384  # bytes of choices for one program; when they are used up, the first alternative is taken
SIDE = 4  # arguments are SIDE x SIDE
NAMES = (
    "base rows part head tail flat work old saved state delta mean grid left right first last buffer weight source "
    "result window cols kept_rows prev target inner outer block row_view spare mask_in total_map field plane"
).split()

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Type:
    """What the grammar knows of a name: `kind` is tensor, array, list, dict or object; the shape is an item's."""

    kind: str
    shape: Shape
    keys: tuple[str, ...] = ()  # of a dict; attributes of an object
    length: int = 0  # of a list: at least so many items
    contiguous: bool = True
    expanded: bool = False  # torch refuses most writes
    float32: bool = True


@dataclass(frozen=True, slots=True)
class Program:
    """One generated module and what it is made of."""

    text: str
    constructs: Mapping[str, int]


@dataclass(slots=True)
class Writer:
    """The program so far, and the choices that are left."""

    data: bytes
    position: int = 0
    lines: list[str] = field(default_factory=list)
    helpers: dict[str, list[str]] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    env: dict[str, Type] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    indent: int = 1
    depth: int = 0
    loops: int = 0
    number: int = 2
    fixed: frozenset[str] = frozenset()  # names that may not be bound again here
    flags: set[str] = field(default_factory=set)
    unused: list[str] = field(default_factory=lambda: list(NAMES))
    tested: list[str] = field(default_factory=list)  # the flags that the enclosing branches test

    # ----- choices

    def below(self, count: int) -> int:
        if count <= 1 or self.position >= len(self.data):
            return 0
        byte = self.data[self.position]
        self.position += 1
        return byte * count >> 8

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent

    def value(self) -> str:
        """A number that no other write of the program uses."""
        self.number += 1
        return str(self.number) if self.number % 2 else f"{self.number}.5"

    # ----- text

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def count(self, *names: str) -> None:
        self.counts.update(names)

    # ----- names

    def names(self, kind: str = "tensor", shape: Shape | None = None, write: bool = False) -> list[str]:
        return [
            name
            for name, known in self.env.items()
            if known.kind == kind
            and (shape is None or known.shape == shape)
            and not (write and known.expanded)
            and (known.shape or shape == ())
        ]

    def recent(self, names: Sequence[str]) -> str:
        """One of the names, the latest ones more often."""
        if len(names) > 3 and self.chance(50):
            names = names[-3:]
        return str(self.pick(names))

    def places(self, write: bool = False, shape: Shape | None = None) -> list[tuple[str, Type]]:
        """What a tensor can be reached by: names, items, attributes."""
        found = [(name, self.env[name]) for name in self.names("tensor", shape, write)]
        for name, known in self.env.items():
            if known.expanded or (shape is not None and known.shape != shape):
                continue
            item = Type("tensor", known.shape, contiguous=known.contiguous)
            match known.kind:
                case "list" if known.length:
                    found.append((f"{name}[{self.below(known.length)}]", item))
                case "dict":
                    found.append((f"{name}[{self.pick(known.keys)!r}]".replace("'", '"'), item))
                case "object":
                    found.append((f"{name}.{self.pick(known.keys)}", item))
        return found

    def tensor(self, write: bool = False, shape: Shape | None = None) -> tuple[str, Type]:
        places = self.places(write, shape)
        if len(places) > 4 and self.chance(40):
            places = places[-4:]
        text, known = self.pick(places)
        if "[" in text:
            self.count("item")
        elif "." in text:
            self.count("attribute")
        return text, known

    def target(self, known: Type) -> str:
        """A name to bind: mostly a new one, at times one that is bound already to something of the type."""
        again = [name for name, held in self.env.items() if held == known and name not in self.fixed]
        if again and self.chance(22):
            self.count("rebinding")
            return self.recent(again)
        return self.new(known)

    def new(self, known: Type) -> str:
        name = self.unused.pop(self.below(len(self.unused))) if self.unused else f"t{len(self.env)}"
        return name

    def bind(self, name: str, known: Type) -> None:
        self.env.pop(name, None)  # the latest binding stands last
        self.env[name] = known

    @contextmanager
    def block(self, keep: bool = False) -> Iterator[None]:
        """A body: what it binds is forgotten afterwards, unless it surely runs."""
        before = dict(self.env)
        self.indent += 1
        self.depth += 1
        yield
        self.indent -= 1
        self.depth -= 1
        if not keep:
            self.env = {name: self.env[name] for name in before if name in self.env}

    def helper(self, key: str, lines: Sequence[str]) -> None:
        self.helpers.setdefault(key, list(lines))


def size(shape: Shape) -> int:
    total = 1
    for side in shape:
        total *= side
    return total
