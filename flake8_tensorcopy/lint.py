"""From a parsed file to findings: the one place where the engine and the rules meet."""

from __future__ import annotations

import ast
import gc
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flake8_tensorcopy import registry
from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine import Analysis, analyse
from flake8_tensorcopy.engine.model import Finding, Span
from flake8_tensorcopy.engine.notebook import Cells, percent_cells
from flake8_tensorcopy.registry import Entry

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.analysis import RegionFacts
    from flake8_tensorcopy.engine.region import Region


def lint(
    tree: ast.Module, lines: Sequence[str], options: Options, cells: Cells | None = None, *, repairs: bool = True
) -> list[Finding]:
    """What the enabled rules find: sorted by place and code, at most one finding for each place and code.

    `tree` is the stdlib tree of the text whose lines, newlines kept, are `lines`; `cells` are those of a notebook.
    Without `repairs` no finding has one, which saves the time to make them; nor has one in a part of the file that
    LibCST cannot take.  Parts that are too deep for the engine give one TSC000 together; what was found in the other
    parts stands.
    """
    if not any("torch" in line for line in lines):
        return []
    with _no_collection():
        return _lint(tree, lines, options, cells, repairs)


@contextmanager
def _no_collection() -> Iterator[None]:
    """The cyclic garbage of one file waits until the file is done.

    An analysis makes many objects and keeps most of them to its end: each collection on the way would go through all
    of them, and the tree, for next to nothing, which takes a fifth of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _lint(
    tree: ast.Module, lines: Sequence[str], options: Options, cells: Cells | None, repairs: bool
) -> list[Finding]:
    asking = [entry for entry in registry.index().values() if options.preview or not entry.preview]
    kinds = frozenset(kind for entry in asking for kind in entry.kinds)
    analysis = analyse(tree, kinds, options.train_calls, cells or percent_cells(tree, lines))
    found = list(_decide(analysis, tree, lines, asking, repairs)) if analysis.regions else []
    if analysis.problem is not None:
        found.append(not_analysed(analysis.problem))
    first: dict[tuple[Span, str], Finding] = {}
    for finding in sorted(found):
        if options.preview or not finding.preview:
            first.setdefault((finding.span, finding.code), finding)
    return list(first.values())


def _decide(
    analysis: Analysis, tree: ast.Module, lines: Sequence[str], asking: Collection[Entry], repairs: bool
) -> Iterator[Finding]:
    """What the rules make of the facts, without repairs where the code is beyond LibCST; a TSC000 for each part that is
    beyond the rules too."""
    from flake8_tensorcopy.engine.region import Region

    beyond: tuple[type[Exception], ...] = ()
    if repairs:  # only they are decided on LibCST, whose import costs more than linting most files
        from libcst import ParserSyntaxError

        from flake8_tensorcopy.engine.nesting import TooDeep

        beyond = (TooDeep, ParserSyntaxError, RecursionError)
    region = Region(lines, analysis.units, tree, repairs=repairs)
    for part in analysis.regions:
        try:
            try:
                found = list(_of_part(part, asking, region))
            except beyond:
                found = list(_of_part(part, asking, Region(lines, analysis.units, tree, repairs=False)))
        except RecursionError as error:
            found = [not_analysed(describe(error))]
        yield from found


def _of_part(part: RegionFacts, asking: Collection[Entry], region: Region) -> Iterator[Finding]:
    for entry in asking:
        if facts := [fact for fact in part.facts if type(fact).__name__ in entry.kinds]:
            yield from registry.rule(entry.code).check(facts, region)


def not_analysed(reason: str) -> Finding:
    """The TSC000 of a file that was not analysed, or only in part."""
    return Finding(Span(1, 0, 1, 0), "TSC000", f"not analysed: {reason}")


def describe(error: Exception) -> str:
    """An exception as one short line: editors and flake8's own output have no room for more."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 120 else f"{text[:117]}..."
