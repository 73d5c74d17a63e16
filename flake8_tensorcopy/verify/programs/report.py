"""Random programs against the engine: how many, what they are made of, and where the two disagree."""

from __future__ import annotations

import ast
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flake8_tensorcopy.verify.programs.compare import Difference, Verdict, compare
from flake8_tensorcopy.verify.programs.golden import golden
from flake8_tensorcopy.verify.programs.grammar import programs
from flake8_tensorcopy.verify.programs.limits import LIMITS, known
from flake8_tensorcopy.verify.programs.shrink import shrink
from flake8_tensorcopy.verify.programs.writer import Program

CHUNK = 250  # programs that one process draws from one seed
MOST = 10  # disagreements that are shrunk and shown
OBSERVATION = "unlike plain Python"  # the observed execution returned something else: the truth is not to be trusted

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One disagreement, as small as it gets."""

    kind: str
    reader: str
    writer: str
    program: int  # number of the program that showed it
    golden: str  # the shrunk program, with the marks of a golden test


@dataclass(frozen=True, slots=True)
class ProgramsReport:
    """What a run has found.  Depends on the count, the seed, torch and the engine only."""

    torch: str
    seed: int
    programs: int
    with_stale_read: int
    stale_reads: int
    seen: int
    refused: int  # programs in which torch raised an error: they are not compared
    constructs: Mapping[str, int]  # programs that hold each
    limits: Mapping[str, int]  # programs that differ by each known limit
    limited: int  # programs that differ by known limits only
    differing: int  # programs that disagree
    disagreements: tuple[Disagreement, ...]  # at most MOST of different kinds

    def as_json(self) -> dict[str, Any]:
        """The report for a machine, the same for the same run."""
        return {**asdict(self), "disagreements": [asdict(one) for one in self.disagreements]}

    def lines(self) -> list[str]:
        """The report for a reader."""
        count = max(self.programs, 1)
        found = [
            f"{self.programs} programs under torch {self.torch}, seed {self.seed}",
            f"{self.with_stale_read} ({100 * self.with_stale_read / count:.1f} %) hold a stale read; "
            f"{self.seen} of {self.stale_reads} stale reads seen; {self.refused} programs refused by torch",
            "",
            "construct                       programs",
            *(f"{name:<30} {number:>9}" for name, number in sorted(self.constructs.items())),
            "",
            f"known limits: {self.limited} programs ({100 * self.limited / count:.2f} %)",
            *(f"{name:<30} {number:>9}" for name, number in sorted(self.limits.items())),
            "",
            f"disagreements: {self.differing} programs" if self.differing else "no disagreement",
        ]
        for one in self.disagreements:
            found += ["", f"{one.kind} (program {one.program}): {one.reader} and {one.writer}", "", one.golden.rstrip()]
        return found


@dataclass(slots=True)
class _Tally:
    """What one chunk of programs adds."""

    programs: int
    with_stale_read: int
    stale_reads: int
    seen: int
    refused: int
    constructs: Counter[str]
    limits: Counter[str]
    limited: int
    differing: list[tuple[int, str, tuple[Difference, ...]]]  # number of the program, its text, what is not a limit

    def add(self, other: _Tally) -> None:
        self.programs += other.programs
        self.with_stale_read += other.with_stale_read
        self.stale_reads += other.stale_reads
        self.seen += other.seen
        self.refused += other.refused
        self.constructs.update(other.constructs)
        self.limits.update(other.limits)
        self.limited += other.limited
        self.differing += other.differing


def _empty() -> _Tally:
    return _Tally(0, 0, 0, 0, 0, Counter(), Counter(), 0, [])


def check(count: int, *, seed: int = 0, jobs: int = 0, progress: Progress | None = None) -> ProgramsReport:
    """Hold the engine against torch on `count` random programs.

    `jobs` is the number of processes, 0 for one a processor; with 1 all is done in this process.  `progress` is told
    how many programs are done, of how many.  Raises ValueError for a count below 1.
    """
    import torch

    if count < 1:
        raise ValueError("the number of programs has to be 1 or more")
    total = _empty()
    for part in _parts(count, seed, jobs or os.cpu_count() or 1):
        total.add(part)
        if progress is not None:
            progress(total.programs, count)
    return ProgramsReport(
        torch=torch.__version__,
        seed=seed,
        programs=total.programs,
        with_stale_read=total.with_stale_read,
        stale_reads=total.stale_reads,
        seen=total.seen,
        refused=total.refused,
        constructs=dict(sorted(total.constructs.items())),
        limits={limit.name: total.limits[limit.name] for limit in LIMITS},
        limited=total.limited,
        differing=len(total.differing),
        disagreements=_shrunk(total.differing),
    )


def _parts(count: int, seed: int, jobs: int) -> Iterator[_Tally]:
    chunks = [(seed, start, min(CHUNK, count - start)) for start in range(0, count, CHUNK)]
    if jobs == 1 or len(chunks) == 1:
        yield from map(_chunk, chunks)
        return
    import multiprocessing

    # Fresh processes: torch has threads, which a fork would not have.
    with multiprocessing.get_context("spawn").Pool(min(jobs, len(chunks)), _deaf) as pool:
        yield from pool.imap(_chunk, chunks)


def _deaf() -> None:
    """An interrupt is the parent's to answer; it ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _chunk(chunk: tuple[int, int, int]) -> _Tally:
    """The programs of one seed."""
    import torch

    seed, start, count = chunk
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors have a few elements
    try:
        total = _empty()
        for number, program in enumerate(drawn(count, seed, start), start):
            _one(total, number, program)
        return total
    finally:
        torch.set_num_threads(threads)


def drawn(count: int, seed: int, start: int) -> list[Program]:
    """Programs from the strategy: the same ones for the same numbers, whatever else Hypothesis has seen."""
    import hypothesis

    found: list[Program] = []

    @hypothesis.seed(seed * 1_000_003 + start)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(programs())
    def collect(program: Program) -> None:
        found.append(program)

    collect()
    return found[:count]


def _one(total: _Tally, number: int, program: Program) -> None:
    tree = ast.parse(program.text)
    verdict = compare(tree)
    total.programs += 1
    total.constructs.update(program.constructs.keys())
    total.with_stale_read += bool(verdict.stale)
    total.stale_reads += len(verdict.stale)
    total.seen += len(verdict.seen & verdict.stale)
    total.refused += bool(verdict.error)
    left, limits = sorted_out(tree, verdict)
    total.limits.update(limits)
    if left:
        total.differing.append((number, program.text, left))
    elif limits:
        total.limited += 1


def sorted_out(tree: ast.Module, verdict: Verdict) -> tuple[tuple[Difference, ...], set[str]]:
    """The differences that no known limit explains, and the names of the limits that explain the others."""
    left: list[Difference] = []
    limits: set[str] = set()
    for difference in verdict.differences:
        limit = known(difference, tree, difference.paths)
        if limit is None:
            left.append(difference)
        else:
            limits.add(limit.name)
    if verdict.unexplained:
        left.append(Difference(OBSERVATION, "program", 0, "", "", 0))
    return tuple(left), limits


def differences_of(text: str) -> tuple[Difference, ...]:
    """What is left of the differences of a program; none if it cannot be run."""
    try:
        tree = ast.parse(text)
        verdict = compare(tree)
    except Exception:
        return ()
    return sorted_out(tree, verdict)[0] if not verdict.error else ()


def _shrunk(differing: list[tuple[int, str, tuple[Difference, ...]]]) -> tuple[Disagreement, ...]:
    """Each kind of disagreement once, as small as it gets."""
    found: dict[str, Disagreement] = {}
    for number, text, differences in differing:
        for cause in sorted({one.cause for one in differences}):
            if len(found) >= MOST:
                return tuple(found.values())

            def keeps(candidate: str, cause: tuple[str, ...] = cause) -> bool:
                return any(one.cause == cause for one in differences_of(candidate))

            small = shrink(text, keeps)
            left = tuple(one for one in differences_of(small) or differences if one.cause == cause)
            shape = _shape(small)
            if shape not in found:
                first = left[0]
                found[shape] = Disagreement(first.kind, first.reader, first.writer, number, golden(small, left))
    return tuple(found.values())


def _shape(text: str) -> str:
    """The program without its names and numbers: what two disagreements of one cause have in common."""
    tree = ast.parse(text)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name):
                node.id = names.setdefault(name, f"n{len(names)}")
            case ast.arg(arg=name):
                node.arg = names.setdefault(name, f"n{len(names)}")
            case ast.Constant(value=int() | float()):
                node.value = 1
    return ast.unparse(tree)
