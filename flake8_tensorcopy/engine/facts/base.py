"""The base of all facts, and how their messages word what they share."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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
        return "always"
    return "same dtype"


class Copy(NamedTuple):
    """A place where a copy would part two names: one expression, or the arms of a conditional one."""

    nodes: tuple[ast.expr, ...]
    array: bool  # what is copied is a NumPy array
    op: str  # the operation that the expression is, `=` for a plain binding
    maybe: bool  # it copies or not, by device, dtype, layout or mode


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fact:
    """Common to all kinds: the node where the fact is reported, which decides its place in the file."""

    site: ast.AST
