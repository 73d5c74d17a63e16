"""Files with findings for the tests of reports: what the linter finds, or what a test places itself."""

from __future__ import annotations

import ast
import io
from functools import cache
from textwrap import dedent

from flake8_tensorcopy import explain, registry
from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine import Finding, Fix, Span, Step
from flake8_tensorcopy.lint import lint, not_analysed
from flake8_tensorcopy.report import FileReport, render

ALIAS = """\
    import torch


    def augment(images: torch.Tensor) -> torch.Tensor:
        original = images
        images += torch.randn_like(images)
        return images - original
"""
CHAIN = """\
    import torch


    def f(x: torch.Tensor) -> torch.Tensor:
        return x.clone().detach()
"""


def linted(source: str, path: str = "a.py") -> FileReport:
    """A file of which the linter found something."""
    text = dedent(source)
    lines = io.StringIO(text).readlines()
    findings = lint(ast.parse(text), lines, Options(preview=True))
    assert findings
    return FileReport(path, lines, findings)


def placed(source: str, *findings: Finding, path: str = "a.py") -> FileReport:
    """A file with findings that a test made up."""
    return FileReport(path, io.StringIO(source).readlines(), findings)


def found(
    span: tuple[int, int, int, int],
    *steps: tuple[tuple[int, int, int, int], str],
    code: str = "TSC101",
    message: str = "it changes",
    fix: Fix | None = None,
) -> Finding:
    """A finding at a span, with steps of a span and a text."""
    path = tuple(Step(Span(*place), text) for place, text in steps)
    return Finding(Span(*span), code, message, path, fix=fix)


# One of each kind that has no rule.
UNREAD = FileReport("gone.py", [], [found((1, 0, 1, 0), code="E902", message="FileNotFoundError: no such file")])
UNPARSED = placed("def f(:\n", found((1, 6, 1, 7), code="E999", message="SyntaxError: invalid syntax"), path="b.py")
UNANALYSED = placed("import torch\n", not_analysed("RecursionError: too deep"), path="c.py")


def shown(format: str, *files: FileReport, color: bool = False, width: int | None = None) -> str:
    """The files in a format, with the rules that there are."""
    return render(format, files, registry.rules(), explain.page, color=color, width=width)


@cache
def every_fixture() -> tuple[FileReport, ...]:
    """The fixtures with all that is found in them."""
    files = []
    for path in sorted(registry.shipped("fixtures").glob("TSC*/*.py")):
        text = path.read_text(encoding="utf-8")
        lines = io.StringIO(text).readlines()
        if findings := lint(ast.parse(text), lines, Options(preview=True)):
            files.append(FileReport(f"fixtures/{path.parent.name}/{path.name}", lines, findings))
    return tuple(files)
