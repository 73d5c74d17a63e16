"""Finds the rules and the fixtures, in a checkout or in an installed wheel."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.model import Rule

HERE = Path(__file__).parent


def shipped(name: str) -> Path:
    """The folder `name` ("rules" or "fixtures"): inside the package once installed, beside it in a checkout."""
    packaged = HERE / f"_{name}"
    return packaged if packaged.is_dir() else HERE.parent / name


@cache
def _loaded(path: Path) -> Rule:
    from flake8_tensorcopy.engine.model import Rule

    name = f"{__package__}._rules.{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look their own module up
    spec.loader.exec_module(module)
    rule = module.RULE
    if not isinstance(rule, Rule) or not path.stem.startswith(f"{rule.code.lower()}_"):
        raise ImportError(f"{path}: RULE must be a Rule whose code begins the file's name")
    return rule


def near_match(text: str, names: Iterable[str]) -> str:
    """The end of a sentence that refuses `text`: "; did you mean 'x'?", or nothing if no name is like it."""
    import difflib  # only a refusal needs it

    known = list(names)
    most = len(known) or 1  # codes are alike: which is meant is decided below
    near = difflib.get_close_matches(text, known, most) or difflib.get_close_matches(text.upper(), known, most)

    def likeness(name: str) -> tuple[float, int]:
        """An O may be a zero; of names that are equally near, the one with more letters in their places is meant."""
        one, other = (string.upper().replace("O", "0") for string in (text, name))
        return difflib.SequenceMatcher(None, one, other).ratio(), sum(a == b for a, b in zip(one, other, strict=False))

    return f"; did you mean {max(near, key=likeness)!r}?" if near else ""


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the codes.

    Raises ImportError where a rule file and its RULE do not fit together or a code is used twice.
    """
    folder = shipped("rules")
    paths = sorted(folder.glob("tsc*.py"))
    by_code = {path.stem[:6].upper(): path for path in paths}
    if len(by_code) < len(paths):
        raise ImportError(f"{folder}: a code is used by two rules")
    return {code: _loaded(path) for code, path in by_code.items()}


@cache
def rule(code: str) -> Rule:
    """One rule, loaded if it is not yet.  Raises ImportError as `rules` does, also if there is none of that code."""
    paths = list(shipped("rules").glob(f"{code.lower()}_*.py"))
    if len(paths) != 1:
        raise ImportError(f"{code}: {len(paths)} rules have this code")
    return _loaded(paths[0])


class Entry(NamedTuple):
    """What is known of a rule without loading it."""

    code: str
    kinds: tuple[str, ...]
    preview: bool


@cache
def index() -> dict[str, Entry]:
    """The rules by their codes, in the order of the codes, as `rules.tsv` lists them: no rule is loaded for it.

    flake8 asks for the codes at every start, also for code without torch, and of a rule most files need the kinds only.
    """
    lines = (HERE / "rules.tsv").read_text(encoding="utf-8").splitlines()
    entries = (line.split("\t") for line in lines)
    return {code: Entry(code, tuple(kinds.split()), preview == "preview") for code, kinds, preview in entries}


def indexed(rules: Iterable[Rule]) -> str:
    """The text of `rules.tsv` for these rules."""
    return "".join(f"{one.code}\t{' '.join(one.kinds)}\t{'preview' if one.preview else 'on'}\n" for one in rules)


@cache
def preview_codes() -> list[str]:
    """The codes of the rules that are off by default as a whole, in their order."""
    return [entry.code for entry in index().values() if entry.preview]
