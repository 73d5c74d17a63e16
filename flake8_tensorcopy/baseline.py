"""The findings that a project has for now: a file that tells them from new ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flake8_tensorcopy import atomic
from flake8_tensorcopy.engine import Finding
from flake8_tensorcopy.report import TOOL, FileReport, evened, fingerprints, in_repository, narrowed
from flake8_tensorcopy.report.places import root
from flake8_tensorcopy.selection import UNREADABLE

VERSION = 1  # of the format, and of how fingerprints are made


class BaselineError(Exception):
    """A file that is no baseline: one clause that says why."""


@dataclass(frozen=True, slots=True, order=True)
class Known:
    """One finding: its code, the text of its line with the white space evened out, and its fingerprint."""

    code: str
    line: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings by file; the paths are those of `in_repository`."""

    files: Mapping[str, Sequence[Known]]

    def new(self, file: FileReport) -> FileReport:
        """The file without its known findings."""
        known = {one.fingerprint for one in self.files.get(in_repository(file.path), ())}
        if not known:
            return file
        return narrowed(file, lambda finding, fingerprint: fingerprint not in known)

    def updated(self, seen: Iterable[FileReport]) -> Baseline:
        """The baseline after another look at some files; of the others, those that are gone are left out.

        Of a file that cannot be read or parsed, what was known stays.
        """
        base = root()
        files = {path: known for path, known in self.files.items() if os.path.exists(base / path)}
        for file in seen:
            if not all(_lasting(finding) for finding in file.findings):
                continue
            files[in_repository(file.path)] = [
                Known(finding.code, evened(file, finding), fingerprint)
                for finding, fingerprint in zip(file.findings, fingerprints(file), strict=True)
            ]
        return Baseline({path: known for path, known in files.items() if known})

    def count(self) -> int:
        """How many findings are known."""
        return sum(len(known) for known in self.files.values())

    def write(self, file: str) -> None:
        """Writes the baseline, a line for each finding, in an order that moved code does not change.

        Raises atomic.Unwritable.
        """
        parts = [f"    {_text(path)}: [\n{_lines(self.files[path])}\n    ]" for path in sorted(self.files)]
        content = ",\n".join(parts)
        files = f"{{\n{content}\n  }}" if parts else "{}"
        atomic.write(f'{{\n  "tool": {_text(TOOL)},\n  "version": {VERSION},\n  "files": {files}\n}}\n', file)


def _lasting(finding: Finding) -> bool:
    return finding.code not in UNREADABLE


def _lines(known: Iterable[Known]) -> str:
    return ",\n".join(
        f'      {{"code": {_text(one.code)}, "line": {_text(one.line)}, "fingerprint": {_text(one.fingerprint)}}}'
        for one in sorted(known)
    )


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def read(file: str) -> Baseline:
    """The baseline in a file; raises BaselineError, and FileNotFoundError where there is no file."""
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BaselineError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{file} is no JSON: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or content.get("tool") != TOOL:
        raise BaselineError(f"{file} is no baseline of {TOOL}")
    if content.get("version") != VERSION:
        raise BaselineError(
            f"{file} is a baseline of version {content.get('version')!r}, and {TOOL} {version(TOOL)} has version "
            f"{VERSION}: delete it and write it anew with --update-baseline"
        )
    try:
        return Baseline(_files(content["files"]))
    except (AttributeError, KeyError, TypeError) as error:
        raise BaselineError(
            f"{file} is a damaged baseline: delete it and write it anew with --update-baseline"
        ) from error


def _files(content: Any) -> dict[str, list[Known]]:
    """Raises AttributeError or TypeError for what `write` does not write."""
    files = {path: [Known(**entry) for entry in entries] for path, entries in content.items()}
    for known in files.values():
        if not all(isinstance(text, str) for one in known for text in (one.code, one.line, one.fingerprint)):
            raise TypeError
    return files
