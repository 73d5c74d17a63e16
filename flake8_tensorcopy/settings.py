"""What can be set about a run of the command, checked once and frozen."""

from __future__ import annotations

from dataclasses import dataclass, field

from flake8_tensorcopy.config import Options


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set about a run of `tensorcopy check` or `tensorcopy fix`.

    Codes, patterns and their names are flake8's.  Patterns with a slash are absolute.  `select` and `ignore` are None
    where they are not set at all; `jobs` is a number of processes, or 0 for as many as pay; `baseline` is a file, or
    empty for none.
    """

    options: Options = field(default_factory=Options)
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    filename: tuple[str, ...] = ("*.py", "*.ipynb")
    disable_noqa: bool = False
    unsafe_fixes: bool = False
    statistics: bool = False
    output_format: str = ""
    jobs: int = 0
    baseline: str = ""
