"""The base of all facts, and how their messages word what they share."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


def verb_of(op: str, how: str, inner: ast.AST | None) -> str:
    """How a message calls a write."""
    match how:
        case "call":
            return f"in-place `{op}` in the called function (line {getattr(inner, 'lineno', '?')})"
        case "subscript":
            return "item assignment"
        case "module":
            return f"`{op}(..)`"
        case "out":
            return f"`{op}(out=..)`"
        case "function" if not op.endswith("_"):
            return f"`{op}(inplace=True)`"
    return f"in-place `{op}`"


def cause_of(node: ast.AST | None, region: Region) -> str:
    """A piece of code with its line, as messages append it."""
    return "" if node is None else f" (`{region.code(node)}` on line {region.line(node)})"


def when_of(op: str) -> str:
    """Under which condition a conversion returns its argument."""
    if op in ("cpu", "cuda", "to", "type", "type_as"):
        return "same device and dtype"
    if op in ("contiguous", "reshape", "flatten", "ravel", "rearrange"):
        return "contiguous input"
    if op.startswith("Dropout") or op in ("dropout", "AlphaDropout", "FeatureAlphaDropout"):
        return "in eval mode"
    if op == "Identity":
        return "wherever it stands"
    return "same dtype"


class Copy(NamedTuple):
    """A place where a copy would part two names: one expression, or the arms of a conditional one."""

    nodes: tuple[ast.expr, ...]
    array: bool  # what is copied is a NumPy array
    op: str  # the operation that the expression is, `=` for a plain binding
    maybe: bool  # it copies or not, by device, dtype, layout or mode


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False)
class Record:
    """A class with the annotations of its fields, which are given by keyword, as a frozen dataclass has them.

    It is none since making eighty of those takes longer than everything else that is imported to lint a file.
    """

    field_names: ClassVar[tuple[str, ...]] = ()  # in their order, those of the base first
    _required: ClassVar[frozenset[str]] = frozenset()
    _known: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        own = tuple(cls.__annotations__)
        cls.field_names = (*cls.field_names, *own)
        cls._known = cls._known.union(own)
        cls._required = cls._required.union(name for name in own if name not in cls.__dict__)

    def __init__(self, **values: Any) -> None:
        if not self._required <= values.keys() <= self._known:
            missing, unknown = self._required - values.keys(), values.keys() - self._known
            raise TypeError(f"{type(self).__name__}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        self.__dict__.update(values)  # what is not given is on the class

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.field_names)})"


class Fact(Record):
    """Common to all kinds: the node where the fact is reported, which decides its place in the file."""

    site: ast.AST


AnyFact = TypeVar("AnyFact", bound=Fact)


def changed(fact: AnyFact, **changes: Any) -> AnyFact:
    """The fact with other values for some of its fields."""
    return type(fact)(**fact.__dict__ | changes)
