"""`python -m benchmarks [FOLDER ...]`: the linter's cost beside its peers', as ratios, and how it grows."""

from __future__ import annotations

import argparse
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks import environments, report
from benchmarks.measure import Cost, cost_of, in_turns, seconds_of
from benchmarks.shapes import SHAPES

INNER = Path(__file__).with_name("inner.py")
FLAKE8 = ("-m", "flake8", "--isolated", "--exit-zero", "--jobs=1")
SMALL_TORCH = "import torch\n\n\ndef double(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n"
SMALL_OTHER = "import os\n\n\ndef here() -> str:\n    return os.getcwd()\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="torch code (default: torch/nn and torch/optim)")
    parser.add_argument("--other", type=Path, help="code without torch (default: the standard library)")
    parser.add_argument("--lines", type=int, default=20_000, help="lines of each kind of code, about (default: 20000)")
    parser.add_argument("--turns", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="measure another checkout of this plugin too")
    parser.add_argument("--only", choices=("files", "growth"), help="a part of the measurements")
    parser.add_argument("--quick", action="store_true", help="without the slow peers, TorchFix and torch-preflight")
    parser.add_argument("--plot", type=Path, default=environments.CACHE / "growth.svg", help="where the plot goes")
    return parser.parse_args()


def chosen(folders: Sequence[Path], torch: bool, limit: int) -> list[tuple[Path, int]]:
    """Files, with or without "torch" in them, spread evenly over the folders, of about `limit` lines together."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            if {"site-packages", "test", "tests"}.isdisjoint(path.relative_to(folder).parts):
                try:
                    text = path.read_text(encoding="utf-8")
                    compile(text, str(path), "exec", dont_inherit=True)
                except (SyntaxError, ValueError):
                    continue
                if ("torch" in text) == torch:
                    found.append((path, text.count("\n")))
    every = max(1.0, sum(lines for _, lines in found) / limit)
    return [found[int(n * every)] for n in range(int(len(found) / every))]


def installed_torch() -> list[Path]:
    """The folders of torch that are measured on by default, in whichever Python runs this; torch is not imported."""
    torch = Path(sysconfig.get_path("purelib"), "torch")
    if not torch.is_dir():
        sys.exit("torch is not installed here: name a folder of torch code")
    return [torch / "nn", torch / "optim"]


class Bench:
    """The environments, and what is measured in them."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.turns: int = options.turns
        self.scratch = scratch
        slow = {"TorchFix", "torch-preflight", "plugin, LibCST < 1.6"} if options.quick else set()
        self.programs: dict[str, Path] = {}
        for name in environments.REQUIREMENTS:
            if name == "plugin before":
                if options.before is not None:
                    self.programs[name] = environments.environment(name, options.before.resolve())
            elif name not in slow:
                self.programs[name] = environments.environment(name)

    def flake8(self, name: str, files: Sequence[Path]) -> Callable[[], Cost]:
        return self.command(name, [*FLAKE8, *map(str, files)])

    def command(self, name: str, rest: Sequence[str], program: str = "python") -> Callable[[], Cost]:
        return partial(cost_of, [str(self.programs[name] / program), *rest], self.scratch)

    def inner(self, name: str, what: str, files: Sequence[Path]) -> Callable[[], Cost]:
        """A part of the work alone, without a start and without flake8."""
        names = self.scratch / f"{len(list(self.scratch.iterdir()))}.txt"
        names.write_text("\n".join(map(str, files)), encoding="utf-8")
        return partial(seconds_of, [str(self.programs[name] / "python"), str(INNER), what, str(names)], self.scratch)

    def linters(self) -> Iterator[str]:
        """The environments that hold flake8."""
        return (name for name in self.programs if name not in ("torch-preflight", "ruff"))

    def start(self) -> dict[str, Cost]:
        """One small file with torch and one without."""
        measures: dict[str, Callable[[], Cost]] = {}
        for text, kind in ((SMALL_TORCH, "torch"), (SMALL_OTHER, "other")):
            path = self.scratch / f"small_{kind}.py"
            path.write_text(text, encoding="utf-8")
            measures |= {f"{name}: {kind}": self.flake8(name, [path]) for name in self.linters()}
        for measure in measures.values():
            measure()  # byte code is written the first time
        return in_turns(measures, self.turns)

    def on_torch(self, files: Sequence[Path]) -> dict[str, Cost]:
        measures = {name: self.flake8(name, files) for name in self.linters()}
        texts = [str(path) for path in files]
        if "torch-preflight" in self.programs:
            measures["torch-preflight"] = self.command("torch-preflight", ["check", "-j1", *texts], "torch-preflight")
        measures["ruff"] = self.command("ruff", ["check", "--isolated", "--no-cache", *texts], "ruff")
        measures["ast.parse"] = self.inner("plugin", "ast", files)
        for plugin in (name for name in self.programs if name.startswith("plugin")):
            measures[f"{plugin}: libcst.parse_module"] = self.inner(plugin, "libcst", files)
            measures[f"{plugin}: analysis"] = self.inner(plugin, "lint", files)
            measures[f"{plugin}: analysis, preview"] = self.inner(plugin, "preview", files)
        return in_turns(measures, self.turns)

    def on_other(self, files: Sequence[Path]) -> dict[str, Cost]:
        names = [name for name in self.linters() if name != "TorchFix"]
        return in_turns({name: self.flake8(name, files) for name in names}, self.turns)

    def growth(self, name: str) -> Iterator[tuple[str, list[tuple[int, float]]]]:
        """For each shape of code: lines, and the CPU seconds of their analysis with all rules."""
        for shape, (text_of, sizes) in SHAPES.items():
            points = []
            for size in sizes:
                path = self.scratch / "shape.py"
                path.write_text(text_of(size), encoding="utf-8")
                points.append((text_of(size).count("\n"), self.seconds(name, [path])))
            yield shape, points
        points = []
        text_of, (size, *_) = SHAPES["the same code, repeated"]
        for count in (1, 10, 100):
            paths = [self.scratch / f"file_{n}.py" for n in range(count)]
            for path in paths:
                path.write_text(text_of(size), encoding="utf-8")
            points.append((text_of(size).count("\n") * count, self.seconds(name, paths)))
        yield "the same code, in many files", points

    def seconds(self, name: str, files: Sequence[Path]) -> float:
        """The median of three; what takes long is measured once."""
        measure = self.inner(name, "preview", files)
        first = measure().seconds
        return first if first > 2 else median([first, measure().seconds, measure().seconds])


def main() -> None:
    options = arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, Path(folder))
        for name, programs in bench.programs.items():
            print(f"{name}: {environments.versions(programs)}")
        if options.only != "growth":
            # In a process of its own: a program's peak memory is never below that of the process that starts it.
            with ProcessPoolExecutor(1) as pool:
                folders = options.folders or installed_torch()
                torch = pool.submit(chosen, folders, True, options.lines).result()
                folders = [options.other or Path(sysconfig.get_path("stdlib"))]
                other = pool.submit(chosen, folders, False, options.lines).result()
            print(
                report.files(
                    bench.start(),
                    torch,
                    bench.on_torch([path for path, _ in torch]),
                    other,
                    bench.on_other([path for path, _ in other]),
                )
            )
        if options.only != "files":
            for name in (name for name in bench.programs if name in ("plugin", "plugin before")):
                curves = dict(bench.growth(name))
                print(report.growth(name, curves))
                if name == "plugin":
                    options.plot.write_text(report.plot(curves), encoding="utf-8")
                    print(f"plot: {options.plot}")


if __name__ == "__main__":
    main()
