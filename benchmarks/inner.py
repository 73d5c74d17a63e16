"""Run inside an environment: the CPU seconds that one function takes over many files.

`python inner.py ast|libcst|lint|preview NAMES`: the files are the lines of NAMES.  Reading them, their ast (but for
"ast") and imports are not counted; a small file is done beforehand, so that what is loaded on demand is there.
"""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable
from pathlib import Path

SMALL = "import torch\n\n\ndef f(x):\n    y = x\n    x.add_(1)\n    return y + x\n"


def function(what: str) -> Callable[[str, ast.Module, list[str]], object]:
    if what == "ast":
        return lambda text, tree, lines: ast.parse(text)
    if what == "libcst":
        import libcst

        return lambda text, tree, lines: libcst.parse_module(text)
    from flake8_tensorcopy.config import Options
    from flake8_tensorcopy.plugin import Plugin

    Plugin.options = Options(preview=what == "preview")
    return lambda text, tree, lines: list(Plugin(tree, lines, "some.py").run())


def main(what: str, names: str) -> None:
    sys.setrecursionlimit(10_000)
    do = function(what)
    texts = [SMALL]
    for name in Path(names).read_text(encoding="utf-8").splitlines():
        texts.append(Path(name).read_text(encoding="utf-8"))
    seconds = 0.0
    for number, text in enumerate(texts):
        tree = ast.parse(text)
        lines = [f"{line}\n" for line in text.split("\n")]
        start = time.process_time()
        do(text, tree, lines)
        if number:
            seconds += time.process_time() - start
    print(seconds)


main(*sys.argv[1:])
