"""The values that pass between the engine, the rules and the reporters: frozen, slotted, picklable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.region import Region


class Span(NamedTuple):
    """A stretch of source text: lines from 1, columns from 0 in code points, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Step(NamedTuple):
    """One stop on the way from a tensor to the place where it goes wrong."""

    span: Span
    text: str


class Edit(NamedTuple):
    """A stretch of source and the text that replaces it, lines ended by a line feed; an empty span is an insertion."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair: what it does, in the imperative, and the edits that do it, which belong together.

    `safe`: under torch the fixed program gives the intended value and the same gradients, and only the flagged value
    or cost changes.  A repair that is not safe also changes a device, a dtype, memory, or what other names hold.
    """

    title: str
    edits: tuple[Edit, ...]
    safe: bool


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One report: where, what, the chain that leads there, and the repair where there is one.

    `preview` marks a finding that is only shown with the preview switch, whatever the rule's own status is.
    """

    span: Span
    code: str
    message: str
    path: tuple[Step, ...] = ()
    preview: bool = False
    fix: Fix | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a module of `rules/` offers: its identity, the kinds of fact it asks for, and its decision.

    `kinds` are names of fact classes of `engine.facts`; `check` gets the facts of those kinds found in one region, in
    source order, and that region as LibCST.  `check` never walks a tree: what it needs is on the facts.
    """

    code: str
    name: str
    summary: str
    kinds: tuple[str, ...]
    check: Callable[[list[Any], Region], Iterable[Finding]]
    fix: Literal["none", "safe", "unsafe"] = "none"
    preview: bool = False
