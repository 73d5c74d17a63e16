"""`python -m flake8_tensorcopy.verify.optable [--check]`."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.verify.optable.build import build

TABLE: Final = Path(ops.__file__).with_name("ops.tsv")


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the table, or with `--check` compares and returns 1 with a diff if it differs."""
    parser = argparse.ArgumentParser(prog="python -m flake8_tensorcopy.verify.optable", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    options = parser.parse_args(argv)
    text = build()
    if not options.check:
        TABLE.write_text(text, encoding="utf-8")
        return 0
    old = TABLE.read_text(encoding="utf-8")
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), str(TABLE), "torch", n=0))
    return int(old != text)


if __name__ == "__main__":
    raise SystemExit(main())
