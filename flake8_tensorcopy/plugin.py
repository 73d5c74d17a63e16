"""The flake8 plugin: options in, tuples out."""

from __future__ import annotations

import argparse
import ast
import gc
import os
from collections.abc import Iterator, Sequence
from typing import ClassVar

from flake8.exceptions import ExecutionError
from flake8.options.manager import OptionManager

from flake8_tensorcopy import registry
from flake8_tensorcopy.config import DEBUG, Options, names


class Plugin:
    """What flake8 makes for each file that it could parse.

    No failure leaves it, since that would end flake8's run and lose every result of every checker: a file that cannot
    be analysed gets one TSC000 instead.  With the environment variable TENSORCOPY_DEBUG set, the failure is raised.
    """

    options: ClassVar[Options] = Options()
    analysed: ClassVar[int] = 0  # files, in this process

    def __init__(self, tree: ast.Module, lines: Sequence[str], filename: str) -> None:
        self.tree = tree
        self.lines = lines
        self.filename = filename

    @staticmethod
    def add_options(manager: OptionManager) -> None:
        """Adds the options, and takes preview rules out of the codes that are on by default."""
        manager.add_option(
            "--tensorcopy-preview",
            action="store_true",
            default=False,
            parse_from_config=True,
            help="Also report what the preview rules find.",
        )
        manager.add_option(
            "--tensorcopy-train-calls",
            default="",
            metavar="NAMES",
            parse_from_config=True,
            comma_separated_list=True,
            help="Functions and methods that train the module they are called on or given, e.g. fit_one_epoch.",
        )
        manager.extend_default_ignore(registry.preview_codes())

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Checks and keeps the options; raises flake8's ExecutionError for a value that makes no sense."""
        try:
            train_calls = names(options.tensorcopy_train_calls, "--tensorcopy-train-calls")
        except ValueError as error:
            raise ExecutionError(str(error)) from error
        cls.options = Options(preview=bool(options.tensorcopy_preview), train_calls=train_calls)
        if cls.options.preview:
            hidden = set(registry.preview_codes())
            options.extended_default_ignore = [c for c in options.extended_default_ignore if c not in hidden]

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """The findings as flake8 takes them: line from 1, column from 0 in code points, text, checker."""
        if not any("torch" in line for line in self.lines):
            return
        # Importing the engine and the rules costs more than linting most files: only where there may be something.
        from flake8_tensorcopy.lint import describe, lint, not_analysed

        if Plugin.analysed == 1:
            # What the first file imported lives as long as flake8: no later collection needs to go through it, which
            # would cost flake8's other checkers a little each time.
            gc.freeze()
        Plugin.analysed += 1
        try:
            findings = lint(self.tree, self.lines, self.options, repairs=False)
        except Exception as error:
            if os.environ.get(DEBUG):
                error.add_note(f"while linting {self.filename}")
                raise
            findings = [not_analysed(describe(error))]
        for finding in findings:
            yield finding.span.line, finding.span.column, f"{finding.code} {finding.message}", Plugin
