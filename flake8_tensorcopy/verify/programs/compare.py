"""The engine's facts on a program against what torch did, by the definition in `truth`.

Three kinds of disagreement:

- **denied alias**: the engine says of a write, or of two names at a return, that they surely share memory, and an
  execution that passes there shows that they do not;
- **false stale read**: the engine says that a read is stale, and no execution saw it, though its lines were run;
- **missed stale read**: an execution saw a stale read that the engine does not say, or says of something that it does
  not take for a tensor (evidence 0).

What the engine calls certain must hold in every execution that passes the binding, the write and the read; what it
calls uncertain (one of several alternatives) in at least one; a link that may be a copy ("maybe") is never taken for
a claim, but a stale read through it must be seen.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from flake8_tensorcopy.engine import analyse
from flake8_tensorcopy.engine.facts import StaleRead
from flake8_tensorcopy.engine.sharing import Shared, shared_names
from flake8_tensorcopy.engine.values import MAYBE
from flake8_tensorcopy.verify.programs.record import ELSEWHERE, Key, Truth

DENIED, FALSE, MISSED = "denied alias", "false stale read", "missed stale read"
RETURNED = "at a return"  # the link of a denied alias of two names
KINDS = frozenset({"StaleRead"})


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One disagreement about one program."""

    kind: str
    function: str
    write: int  # line of the write (of the return, for two names)
    reader: str
    writer: str
    bound: int  # line of the reader's binding, 0 for what came from outside
    link: str = ""
    paths: frozenset[tuple[tuple[str, ...], tuple[str, ...]]] = field(default=frozenset(), compare=False)

    @property
    def cause(self) -> tuple[str, ...]:
        """What stays the same while a program is shrunk."""
        return (self.kind, self.link)


@dataclass(frozen=True, slots=True)
class Claim:
    """A stale read as the engine states it, in the words of the truth."""

    key: Key
    writer: str
    link: str
    certain: bool
    evidence: int
    read: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """A program, compared."""

    stale: frozenset[Key]  # what torch showed
    seen: frozenset[Key]
    differences: tuple[Difference, ...]
    error: str  # of the execution with plain arguments
    unexplained: bool = False  # the observed execution and the plain one differ


def shown(name: str) -> str:
    """A slot without its key: which item of a container is a matter of the engine's own book-keeping."""
    return "[*]" if name.startswith("the item") else re.sub(r"\].+$", "]", name)


def claims(tree: ast.Module) -> list[Claim]:
    """What the engine says of the source."""
    found = []
    for region in analyse(tree, KINDS).regions:
        name = getattr(region.node, "name", "<module>")
        for fact in region.facts:
            if isinstance(fact, StaleRead):
                key = Key(name, _line(fact.site), shown(fact.reader), _line(fact.bound))
                found.append(Claim(key, shown(fact.writer), fact.link, fact.certain, fact.evidence, _line(fact.read)))
    return found


def same_name(one: str, other: str) -> bool:
    """Whether two names may be one: `kept[*]` is any item of `kept`."""
    if one == other:
        return True
    (root, _, key), (other_root, _, other_key) = one.partition("["), other.partition("[")
    if not key or not other_key:
        return False
    return root == other_root and (
        not {"*]", "..]"}.isdisjoint((key, other_key)) or not (_literal(key) and _literal(other_key))
    )


def _literal(key: str) -> bool:
    return key[:1].isdigit() or key[:1] in "'\""


def same_key(one: Key, other: Key) -> bool:
    """Whether the two name one stale read."""
    return (
        one.write == other.write
        and one.function == other.function
        and (one.bound == other.bound or ELSEWHERE in (one.bound, other.bound))
        and same_name(one.reader, other.reader)
    )


def _line(node: ast.AST | None) -> int:
    return getattr(node, "lineno", 0)


def compare(tree: ast.Module, check_plain: bool = True) -> Verdict:
    """Run a program in torch and through the engine."""
    from flake8_tensorcopy.verify.programs import runs as programs

    runs: list[Truth] = []
    error, unexplained = "", False
    for choice in programs.choices(tree):
        run, result = programs.execute(tree, choice)
        runs.append(run)
        if choice.plain:
            error = error or run.error
        if check_plain:
            unexplained = unexplained or not programs.agrees(tree, choice, run, result)
    # What torch refuses half-way proves nothing about the rest.
    if error:
        return Verdict(frozenset(), frozenset(), (), error, unexplained)
    either = frozenset(node.lineno for node in ast.walk(tree) if isinstance(node, ast.IfExp))
    return judge(claims(tree), shared_names(tree), runs, unexplained, either)


def judge(
    said: list[Claim],
    shared: list[Shared],
    runs: list[Truth],
    unexplained: bool = False,
    either: frozenset[int] = frozenset(),
) -> Verdict:
    """Hold the claims against the executions.

    `either` are lines with a conditional expression: a read there stands on one of its sides, and says nothing about
    executions that take the other one.
    """
    stale = {key for run in runs for key in run.stale}
    open_ = {key for run in runs for key in run.open}
    lines = {line for run in runs for line in run.lines}
    found: set[Difference] = set()
    seen: set[Key] = set()
    for claim in said:
        key = claim.key
        here = (key.function, key.write, key.reader, claim.writer, key.bound, claim.link)
        true = {one for one in stale if same_key(one, key)}
        if claim.evidence:
            seen |= true
        if claim.link == MAYBE:
            continue
        if not true:
            if {key.write, claim.read} <= lines and (not key.bound or key.bound in lines):
                found.add(Difference(FALSE, *here))
        elif claim.certain and claim.read not in either:
            owners = {(one.written, one.read) for run in runs for one in run.shared if one.key in true}
            if any(_denies(claim, run, owners) for run in runs):
                found.add(Difference(DENIED, *here))
    for key in stale - seen - open_:
        paths = frozenset(pair for run in runs for pair in run.stale.get(key, ()))
        found.add(Difference(MISSED, key.function, key.write, key.reader, _writer(key, runs), key.bound, "", paths))
    for pair in shared:
        if pair.function == "program" and any(_apart(pair, run) for run in runs):
            found.add(Difference(DENIED, pair.function, pair.line, pair.one, pair.other, 0, RETURNED))
    return Verdict(frozenset(stale), frozenset(seen), tuple(sorted(found)), "", unexplained)


def _apart(pair: Shared, run: Truth) -> bool:
    """An execution ended there, and the two names have no byte in common."""
    return any(
        line == pair.line
        and pair.one in names
        and pair.other in names
        and names[pair.one].isdisjoint(names[pair.other])
        for line, names in run.ends
    )


def _denies(claim: Claim, run: Truth, owners: set[tuple[str, str]]) -> bool:
    """The execution passed there, and what was written was elsewhere every time.

    "Certain" allows for a side that is another argument's memory on some path: it excludes memory of its own.
    """
    passed = [
        one
        for one in run.passed
        if same_key(one.key, claim.key) and same_name(one.writer, claim.writer) and one.line == claim.read
    ]
    if any(one in run.shared for one in passed):
        return False
    return any(
        all(one.written in ("", written) and one.read in ("", read) for written, read in owners) for one in passed
    )


def _writer(key: Key, runs: list[Truth]) -> str:
    return min((one.writer for run in runs for one in run.shared if one.key == key), default="")
