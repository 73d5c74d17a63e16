"""The long run: `python -m tests.survival --minutes 10 --seed 1 [FOLDER ...]`; Python files of the folders, too."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.survival import inputs, seeds
from tests.survival.beside import compared
from tests.survival.isolated import Judge
from tests.survival.shrink import shrunk

BATCH = 40  # inputs that flake8 is run on together
BESIDE = 0.2  # of the batches
KINDS = "bytes,shapes,files,mutations,programs,odd"
SIZES = (10, 60, 95, 190, 400, 1_000, 3_000, 10_000)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.survival", description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="with Python files to be tried and mutated")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kinds", default=KINDS, help=f"which, in this order (default: {KINDS}); `seeds` takes as long as it takes"
    )
    parser.add_argument("--failures", type=Path, help="a folder to keep inputs in that failed, whole and small")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    run = Run(options.failures)
    try:
        for index, kind in enumerate(kinds):
            left = run.start + options.minutes * 60 - time.monotonic()
            random = Random(f"{options.seed} {kind}")
            if kind == "seeds":
                run.failures.update(seeds.different(inputs.FIXTURES, options.folders, random))
            else:
                run.go(_inputs(kind, options.folders, random), left / (len(kinds) - index), random)
    finally:
        run.tell()
    return 1 if run.failures else 0


def _inputs(kind: str, folders: list[str], random: Random) -> Iterator[inputs.Input]:
    match kind:
        case "bytes":
            return inputs.odd_bytes()
        case "shapes":
            return inputs.shapes(random, SIZES)
        case "files":
            return inputs.files(folders, random)
        case "mutations":
            return inputs.mutations(folders, random)
        case "programs":
            return inputs.programs(random)
        case "odd":
            return inputs.odd_programs(random)
    raise SystemExit(f"no kind of input: {kind}")


class Run:
    """What has been tried so far, and what failed."""

    def __init__(self, folder: Path | None) -> None:
        self.start = time.monotonic()
        self.failures: Counter[str] = Counter()
        self._folder = folder
        self._tried: Counter[str] = Counter()
        self._became: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._codes: set[str] = set()

    def go(self, source: Iterator[inputs.Input], seconds: float, random: Random) -> None:
        """Judges inputs until the time is up, some of them also beside flake8 without the plugin."""
        end = time.monotonic() + seconds
        passed: list[bytes] = []
        with Judge() as judge:
            for kind, name, data in source:
                started = time.monotonic()
                if started > end:
                    break
                if self._passes(judge, kind, name, data):
                    passed.append(data)
                self._seconds[kind] += time.monotonic() - started
                if len(passed) == BATCH:
                    if random.random() < BESIDE:
                        self._beside(passed, random)
                    passed = []

    def _passes(self, judge: Judge, kind: str, name: str, data: bytes) -> bool:
        verdict = judge(data)
        self._tried[kind] += 1
        self._became["too deep, and said so" if verdict.bounded else verdict.kind] += 1
        self._codes |= verdict.codes
        for complaint in sorted(set(verdict.complaints)):
            if not self.failures[complaint]:
                self._keep(complaint, kind, name, data, judge)
            self.failures[complaint] += 1
        return not verdict.complaints

    def _keep(self, complaint: str, kind: str, name: str, data: bytes, judge: Judge) -> None:
        print(f"{kind}, {name}: {complaint}", flush=True)
        if self._folder is None or len(data) > 300_000 or "no answer" in complaint:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(self.failures):03}.py"
        path.write_bytes(data)
        small = shrunk(data, lambda rest: complaint in judge(rest).complaints)
        path.with_name(f"{path.stem}_small.py").write_bytes(small)

    def _beside(self, batch: list[bytes], random: Random) -> None:
        """Runs flake8 with and without the plugin on what has passed."""
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for number, data in enumerate(batch):
                if len(data) < 100_000:
                    names.append(f"p{number}.py")
                    (Path(folder) / names[-1]).write_bytes(data)
            for complaint in compared(names, Path(folder), random.sample(names, min(2, len(names)))):
                print(f"flake8: {complaint}", flush=True)
                self.failures[complaint] += 1
                if self._folder is not None:
                    kept = self._folder / f"batch{len(self.failures)}"
                    kept.mkdir(parents=True, exist_ok=True)
                    for name in names:
                        (kept / name).write_bytes((Path(folder) / name).read_bytes())
            self._tried["beside flake8 without the plugin"] += len(names)
        self._seconds["beside flake8 without the plugin"] += time.monotonic() - started

    def tell(self) -> None:
        """Prints the figures, and each kind of failure with how often it was met."""
        print(f"\n{sum(self._tried.values())} inputs in {(time.monotonic() - self.start) / 60:.1f} minutes")
        for kind, count in sorted(self._tried.items()):
            print(f"{count:>8} {kind}: {self._seconds[kind]:.0f} s")
        print(", ".join(f"{count} {kind}" for kind, count in sorted(self._became.items())))
        print(f"{len(self._codes)} codes were reported")
        for complaint, count in self.failures.most_common():
            print(f"{count:>8} FAILED {complaint}")


if __name__ == "__main__":
    sys.exit(main())
