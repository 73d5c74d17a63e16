"""The code of a notebook's cell as Python: what IPython adds to the language is replaced, line by line.

Lines and columns of what is left stay what they are.  Magics and commands of the shell become comments, or `pass` where
they are indented; what they assign becomes the result of an unknown call; what a magic is only to time stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Cell magics whose body is Python that shares its names with the other cells.
_RUN = frozenset("capture debug memit mprun prun time timeit".split())
_REPEATED = frozenset({"memit", "prun", "timeit"})  # what a statement of their bodies gives is not wanted
# Magics that stand for themselves, without `%`, where that cannot be Python.
_AUTOMAGIC = re.compile(
    r"(?:cat|cd|conda|cp|env|ll|ls|mamba|man|matplotlib|mkdir|mv|pip|pwd|reset|rm|rmdir|run|uv|who|whos)(?=\s|$)"
)
_TARGET = r"\*?[^\W\d][\w.]*(?:\[[^\]\n]*\])?[ \t]*"
_ASSIGNED = re.compile(rf"[ \t]*{_TARGET}(?:,[ \t]*(?:{_TARGET})?)*=[ \t]*(?P<sign>[!%])(?P<magic>\w*)[ \t]*")
_HELP = re.compile(r"%{0,2}[^\W\d][\w.*\[\]]*[ \t]*\?{1,2}[ \t]*$|\?{1,2}[ \t]*%{0,2}[\w.*]+[ \t]*$")
# The magics that time a statement, with their options: at least as long as the `pass;` that is put there.
_TIMED = re.compile(
    r"%(?:time|timeit(?:[ \t]+-(?:[nrp][ \t]*\d+|[tcqov]+))*|prun(?:[ \t]+-(?:[lsTD][ \t]*\S+|[rq]+))*|memit)"
    r"[ \t]+(?=\S)"
)
_NEXT = re.compile(r"#[^\n]*|'''|\"\"\"|['\"]|[(\[{]|[)\]}]|\\\n|\n")


@dataclass(frozen=True, slots=True)
class Plain:
    """A cell as Python: its lines, each with its newline; those, from 1, of which what they give is not missed."""

    lines: tuple[str, ...]
    timed: frozenset[int] = frozenset()
    repeated: bool = False  # all of them


def plain(text: str) -> Iterator[Plain]:
    """What a cell may stand for as Python, the likeliest first; nothing where its language is another one.

    `text` has line feeds as newlines, also at its end.  One of what is given has to parse.
    """
    lines = re.findall(r"[^\n]*\n", text)
    repeated = False
    for number, line in enumerate(lines):
        if line.startswith("%%"):
            name = re.match(r"%%(\w*)", line)
            if name is None or name[1] not in _RUN:
                return
            repeated = repeated or name[1] in _REPEATED
            lines[number] = "#\n"
        elif line.strip() and not line.startswith("#"):
            break
    text = "".join(lines)
    yield Plain(tuple(lines), repeated=repeated)
    yield _Replaced(text, timed=True).plain(repeated)
    yield _Replaced(text, timed=False, automagic=True).plain(repeated)


class _Replaced:
    """One walk over the text of a cell, from one logical line to the next."""

    def __init__(self, text: str, *, timed: bool, automagic: bool = False) -> None:
        self._text = text
        self._parts: list[str] = []
        self._timed: set[int] = set()
        self._times = timed
        self._automagic = automagic
        at = 0
        while at < len(text):
            at = self._magic(at) or self._logical(at)

    def plain(self, repeated: bool) -> Plain:
        return Plain(tuple(re.findall(r"[^\n]*\n", "".join(self._parts))), frozenset(self._timed), repeated)

    def _logical(self, at: int) -> int:
        """Takes the logical line that begins at an index as it is; returns where the next one begins."""
        start, depth = at, 0
        while at < len(self._text):
            match = _NEXT.search(self._text, at)
            if match is None:
                at = len(self._text)
                break
            at, token = match.end(), match[0]
            if token in "([{":
                depth += 1
            elif token in ")]}":
                depth -= 1
            elif token[0] in "'\"":
                at = self._string(at, token)
            elif token == "\n" and depth <= 0:
                break
        self._parts.append(self._text[start:at])
        return at

    def _string(self, at: int, quote: str) -> int:
        """Where a string ends whose quote ends at an index; at the end of the line if it is not closed there."""
        inner = re.compile(rf"\\.|{quote}" + ("" if len(quote) == 3 else r"|(?=\n)"), re.DOTALL)
        while (match := inner.search(self._text, at)) is not None:
            at = match.end()
            if match[0][:1] != "\\":
                return at
        return len(self._text)

    def _magic(self, at: int) -> int | None:
        """Replaces what is no Python from an index on; returns where the next line begins, None if it is Python."""
        end = self._text.index("\n", at) + 1
        line = self._text[at:end]
        code = line.lstrip(" \t")
        indent = line[: len(line) - len(code)]
        if self._times and (timing := _TIMED.match(code)):
            # Of the same width: what is timed stays in its columns.
            self._timed.add("".join(self._parts).count("\n") + 1)
            self._parts.append(f"{indent}pass;{' ' * (timing.end() - 5)}")
            return self._logical(at + len(indent) + timing.end())
        if assigned := _ASSIGNED.match(line):
            if assigned["sign"] == "%" and assigned["magic"] == "time":  # it gives what it times
                head = line[: assigned.start("sign")]
                self._parts.append(head + " " * (assigned.end() - len(head)))
                return self._logical(at + assigned.end())
            return self._replaced(at, f"{line[: assigned.start('sign')]}get_ipython()\n")
        escaped = code[:1] in ("%", "!", "?", ",", ";", "/") or _HELP.match(code.rstrip("\n"))
        if escaped or (self._automagic and self._is_automagic(code)):
            return self._replaced(at, f"{indent}pass\n" if indent else "#\n")
        return None

    def _replaced(self, at: int, text: str) -> int:
        """Puts one line for the magic at an index; the lines to which backslashes continue it become comments."""
        end = self._text.index("\n", at) + 1
        self._parts.append(text)
        while self._text[at : end - 1].endswith("\\") and end < len(self._text):
            at, end = end, self._text.index("\n", end) + 1
            self._parts.append("#\n")
        return end

    def _is_automagic(self, code: str) -> bool:
        match = _AUTOMAGIC.match(code)
        return match is not None and code[match.end() :].lstrip()[:1] not in ("=", "(", ".", "[", ",", ":")
