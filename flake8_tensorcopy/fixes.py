"""Repairs a file: splices the edits of findings into its bytes, again and again, until nothing is left to repair.

A repair stands only if the file still parses, keeps every comment, and the linter then finds what was found before
less what was repaired: each repair is tried, and taken back where it does not hold.
"""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from flake8_tensorcopy.engine import Edit, Finding

ROUNDS = 100  # of a loop that ends by itself: each round repairs something for good
_NEWLINE = re.compile(r"\r\n|\r|\n")


class Unfixable(ValueError):
    """Nothing in the file is repaired: one clause that says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file as bytes and as text: what stands in the bytes where flake8 sees a line and a column.

    `lines` are those that flake8 hands to plugins: decoded, without a byte order mark, newlines as line feeds.
    """

    data: bytes
    encoding: str
    mark: bytes  # the byte order mark
    text: str  # without the mark, newlines as they are
    starts: tuple[int, ...]  # of the lines in `text`
    lines: list[str] = field(repr=False)

    @classmethod
    def read(cls, data: bytes) -> Source:
        """Decodes a file as Python does.

        Raises Unfixable where that fails, or would not give the same bytes back.
        """
        try:
            name, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
            encoding = "utf-8" if name == "utf-8-sig" else name
            text = data[len(mark) :].decode(encoding)
        except (SyntaxError, UnicodeError, LookupError) as error:
            raise Unfixable(f"it cannot be decoded: {' '.join(str(error).split())}") from error
        if text.encode(encoding) != data[len(mark) :]:
            raise Unfixable(f"its {encoding} bytes are not those that Python writes for the same text")
        starts = (0, *(match.end() for match in _NEWLINE.finditer(text)))
        return cls(data, encoding, mark, text, starts, io.StringIO(_NEWLINE.sub("\n", text)).readlines())

    def tree(self) -> ast.Module:
        """The parsed text; raises Unfixable where Python cannot parse it."""
        try:
            return ast.parse("".join(self.lines))
        except (SyntaxError, ValueError) as error:
            raise Unfixable(f"it cannot be parsed: {' '.join(str(error).split())}") from error
        except (MemoryError, RecursionError) as error:
            raise Unfixable("it is nested too deeply to be parsed") from error

    def spliced(self, edits: Iterable[Edit]) -> Source:
        """The file with the edits made; raises Unfixable where they overlap or its encoding lacks a letter of them."""
        parts: list[str] = []
        at = 0
        for edit in sorted(edits):
            start, end = self._at(edit.span.line, edit.span.column), self._at(edit.span.end_line, edit.span.end_column)
            if start < at:
                raise Unfixable("edits of it overlap")
            parts += [self.text[at:start], edit.text.replace("\n", self._newline(edit.span.line))]
            at = end
        text = "".join([*parts, self.text[at:]])
        try:
            data = self.mark + text.encode(self.encoding)
        except UnicodeError as error:
            raise Unfixable(f"its encoding {self.encoding} cannot hold the result") from error
        made = Source.read(data)
        if made.text != text:
            raise Unfixable("its encoding would be another one")  # the comment that names it has moved
        return made

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column if line <= len(self.starts) else len(self.text)

    def _newline(self, line: int) -> str:
        """The newline of a line, or of the one before for the last one."""
        for start in self.starts[min(line, len(self.starts) - 1) :: -1]:
            if start:
                end = self.text[max(start - 2, 0) : start]
                return end if end == "\r\n" else end[-1]
        return "\n"

    def line_of(self, index: int) -> int:
        """The line, from 1, on which an index of the text stands."""
        return bisect_right(self.starts, index)


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of a file.

    `fixed` are the findings whose repairs were made, in the order of making; `left` what the linter finds in the
    result and the caller had chosen; `refused` why a repair that was tried was taken back, a sentence for each.
    """

    source: Source
    fixed: tuple[Finding, ...]
    left: tuple[Finding, ...]
    refused: tuple[tuple[Finding, str], ...]


Find = Callable[[ast.Module, Sequence[str]], Sequence[Finding]]
Choose = Callable[[Sequence[Finding], ast.Module, Sequence[str]], Sequence[Finding]]


def repair(data: bytes, find: Find, choose: Choose, *, unsafe: bool = False) -> Repaired:
    """Repairs what `choose` takes of the findings of `find`, the safe repairs or with `unsafe` all of them.

    `find` gives every finding there is, whether the user wants to see it or not: none may come in by a repair.  Raises
    Unfixable for a file that cannot be decoded or parsed.
    """
    state = _State(Source.read(data), find)
    fixed: list[Finding] = []
    refused: dict[tuple[str, str, tuple[Edit, ...]], tuple[Finding, str]] = {}
    for _ in range(ROUNDS):
        chosen = choose(state.findings, state.tree, state.source.lines)
        wanted = [
            finding
            for finding in chosen
            if finding.fix and (unsafe or finding.fix.safe) and _mark(state.source, finding) not in refused
        ]
        batch = _apart(wanted)
        if not batch:
            break
        made = state.after(batch)
        while isinstance(made, str) and len(batch) > 1:  # one of them does not hold: look for it
            batch = batch[: len(batch) // 2]
            made = state.after(batch)
        if isinstance(made, str):
            refused[_mark(state.source, batch[0])] = (batch[0], made)
        else:
            state = made
            fixed += batch
    left = tuple(choose(state.findings, state.tree, state.source.lines))
    return Repaired(state.source, tuple(fixed), left, tuple(refused.values()))


class _State:
    """A file and what is found in it."""

    def __init__(self, source: Source, find: Find) -> None:
        self.source = source
        self.tree = source.tree()
        self._find = find
        self.findings = find(self.tree, source.lines)

    def after(self, batch: Sequence[Finding]) -> _State | str:
        """The file once all these repairs are made, or why they do not hold."""
        edits = {edit for finding in batch if finding.fix for edit in finding.fix.edits}
        try:
            made = _State(self.source.spliced(edits), self._find)
        except Unfixable as error:
            return f"the result would not do: {error}"
        if _comments(made.source) != _comments(self.source):
            return "a comment would be lost"
        before, after = (Counter(finding.code for finding in state.findings) for state in (self, made))
        repaired = Counter(finding.code for finding in batch)
        for code in sorted(before | after):
            if after[code] > before[code] - repaired[code]:
                return f"{code} would be reported " + ("again" if repaired[code] else "in its place")
        return made


def _mark(source: Source, finding: Finding) -> tuple[str, str, tuple[Edit, ...]]:
    """By what a repair that was refused is known again, wherever it has moved to."""
    fix = finding.fix
    edits = fix.edits if fix else ()
    text = source.lines[finding.span.line - 1] if finding.span.line <= len(source.lines) else ""
    return finding.code, text, tuple(Edit(edit.span.__class__(0, edit.span.column, 0, 0), edit.text) for edit in edits)


def _apart(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, from the first on, whose repairs do not touch those of another; equal edits are made once."""
    taken: set[Edit] = set()
    batch: list[Finding] = []
    for finding in findings:
        edits = set(finding.fix.edits) if finding.fix else set()
        if not any(_touch(one, other) for one in edits - taken for other in taken):
            batch.append(finding)
            taken |= edits
    return batch


def _touch(one: Edit, other: Edit) -> bool:
    """The places of two edits overlap or meet: which comes first would decide the result."""
    first, second = sorted((one.span, other.span))
    return (second.line, second.column) <= (first.end_line, first.end_column)


def _comments(source: Source) -> Counter[str]:
    try:
        return Counter(
            token.string
            for token in tokenize.generate_tokens(io.StringIO("".join(source.lines)).readline)
            if token.type == tokenize.COMMENT
        )
    except (tokenize.TokenError, SyntaxError) as error:
        raise Unfixable("it cannot be read as tokens") from error
