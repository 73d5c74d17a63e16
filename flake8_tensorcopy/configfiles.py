"""Where the settings of a run come from: for each, the command line, then [tool.tensorcopy], then [flake8]."""

from __future__ import annotations

import configparser
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flake8 import defaults, utils
from flake8.exceptions import ExecutionError
from flake8.main.options import register_default_options
from flake8.options.config import load_config, parse_config
from flake8.options.manager import OptionManager

from flake8_tensorcopy import registry
from flake8_tensorcopy.config import Options, names
from flake8_tensorcopy.report import FORMATS
from flake8_tensorcopy.selection import PREFIX, UNREADABLE, Selection, shown
from flake8_tensorcopy.settings import Settings

TABLE = "[tool.tensorcopy]"


class ConfigError(ValueError):
    """A setting that makes no sense: one sentence that says where and why."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value comes from: how its setting is called there, and the folder that its paths start from."""

    name: str
    folder: str


def load(
    given: Mapping[str, Any], *, config: str | None = None, isolated: bool = False, called: str = "--{}"
) -> tuple[Settings, tuple[str, ...]]:
    """The settings of a run, and what the user should be told about them, a sentence for each.

    `given` are those of the command line, by their names in [tool.tensorcopy]; None for one that is not there.  With
    `config`, a TOML file or one that flake8 could read, no other file is looked for; with `isolated` none at all.
    `called` makes of those names the ones that the user knows.

    Raises ConfigError.
    """
    try:
        here = os.getcwd()
    except OSError as error:
        raise ConfigError(f"the current folder cannot be used: {error.strerror}") from error
    flake8, project = {}, {}
    if config is not None and config.endswith(".toml"):
        table = _table(Path(config))
        if table is None:
            raise ConfigError(f"{config} has no {TABLE}")
        project = _read(table, Path(config))
    elif not isolated:
        flake8 = _of_flake8(config)
        if config is None:
            project = _of_project()
    line = {
        key: _KINDS[key](value, _Place(called.format(key), here)) for key, value in given.items() if value is not None
    }
    values = {"exclude": defaults.EXCLUDE, "output-format": FORMATS[0]} | flake8 | project | line
    options = Options(values.pop("preview", False), values.pop("train-calls", frozenset()))
    settings = Settings(options, **{key.replace("-", "_"): value for key, value in values.items()})
    return settings, tuple(_notes(settings, {"flake8": flake8, "project": project, "line": line}))


def _notes(settings: Settings, sources: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    selectors = dict.fromkeys((*(settings.select or ()), *settings.extend_select))
    if settings.select is None and not selectors:
        return
    selection, rules = Selection(settings), registry.rules().values()
    own = any("select" in sources[name] for name in ("line", "project"))
    if not own and settings.select is not None and not any(selection.by_default(rule.code) for rule in rules):
        yield "`select` in [flake8] leaves out every TSC rule, so that none is reported"
    idle = [] if settings.options.preview else [code for code in selectors if _only_preview(code)]
    if idle:
        yield f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect without --preview"


def _only_preview(selector: str) -> bool:
    """Whether a selector means preview rules and no others."""
    meant = [rule for rule in registry.rules().values() if rule.code.startswith(selector)]
    return bool(meant) and all(rule.preview for rule in meant)


# The files.


def _of_project() -> dict[str, Any]:
    """What the nearest pyproject.toml that has the table says, from the current folder upwards."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and (table := _table(file)) is not None:
            return _read(table, file)
    return {}


def _table(file: Path) -> dict[str, Any] | None:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{file} is no TOML: {' '.join(str(error).split())}") from error
    tools = content.get("tool", {})
    table = tools.get("tensorcopy") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{file}: `tool.tensorcopy` must be a table")
    return table


def _read(table: Mapping[str, Any], file: Path) -> dict[str, Any]:
    found = {}
    for key, value in table.items():
        if key not in _KINDS:
            raise ConfigError(f"{file}: {TABLE} has no setting {key!r}{registry.near_match(key, _KINDS)}")
        found[key] = _KINDS[key](value, _Place(f"{file}: `{key}`", str(file.parent.absolute())))
    return found


def _of_flake8(config: str | None) -> dict[str, Any]:
    """What [flake8] says, read by flake8 itself, which also finds the file where none is given."""
    manager = OptionManager(version="", plugin_versions="", parents=[], formatter_names=[])
    register_default_options(manager)
    manager.add_option("--tensorcopy-preview", action="store_true", parse_from_config=True)
    manager.add_option("--tensorcopy-train-calls", comma_separated_list=True, parse_from_config=True)
    file, folder = _file_of_flake8(config)
    try:
        values = parse_config(manager, file, folder)
        found: dict[str, Any] = {
            key: tuple(values[key.replace("-", "_")])
            for key in ("select", "ignore", "extend-select", "extend-ignore", "exclude", "extend-exclude", "filename")
            if key.replace("-", "_") in values
        }
        found |= {
            key: values[key.replace("-", "_")]
            for key in ("disable-noqa", "statistics")
            if key.replace("-", "_") in values
        }
        if "per_file_ignores" in values:
            found["per-file-ignores"] = _mapping(values["per_file_ignores"], os.getcwd())
        if "jobs" in values:
            found["jobs"] = _jobs(values["jobs"], _Place("[flake8] `jobs`", ""))
        if "tensorcopy_preview" in values:
            found["preview"] = values["tensorcopy_preview"]
        if "tensorcopy_train_calls" in values:
            place = _Place("[flake8] `tensorcopy-train-calls`", "")
            found["train-calls"] = _train_calls(values["tensorcopy_train_calls"], place)
    except ConfigError:
        raise
    except (configparser.Error, ExecutionError, ValueError) as error:
        raise ConfigError(f"[flake8] in {config or folder}: {' '.join(str(error).split())}") from error
    return found


def _file_of_flake8(config: str | None) -> tuple[configparser.RawConfigParser, str]:
    """What flake8 reads, and the folder that its paths start from."""
    try:
        if config is not None and os.path.exists(config):  # flake8 says of one that it may not read that there is none
            open(config, "rb").close()
        found: tuple[configparser.RawConfigParser, str] = load_config(config, [])
        return found
    except OSError as error:
        raise ConfigError(f"{config} cannot be read: {error.strerror}") from error
    except (configparser.Error, ExecutionError, ValueError) as error:
        raise ConfigError(" ".join(str(error).split())) from error


# The kinds of values, from the command line (as text) or from TOML.


def _flag(value: Any, place: _Place) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{place.name} must be true or false, not {value!r}")
    return value


def _texts(value: Any, place: _Place) -> list[str]:
    """A list of texts, or one in which commas or white space part them, as flake8 has it."""
    if isinstance(value, str):
        return list(utils.parse_comma_separated_list(value))
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return value
    raise ConfigError(f"{place.name} must be a list of strings, not {value!r}")


def _codes(value: Any, place: _Place) -> tuple[str, ...]:
    codes = _texts(value, place)
    known = [*registry.rules(), f"{PREFIX}000", *UNREADABLE] if codes else []
    for code in codes:
        if not code or not any(one.startswith(code) for one in known):
            named = [rule.code for rule in registry.rules().values() if rule.name == code]
            hint = f"; the code of that rule is {named[0]!r}" if named else registry.near_match(code, known)
            raise ConfigError(f"{place.name}: {code!r} matches no rule{hint}")
    return tuple(codes)


def _patterns(value: Any, place: _Place) -> tuple[str, ...]:
    return tuple(utils.normalize_paths(_texts(value, place), place.folder))


def _files(value: Any, place: _Place) -> tuple[str, ...]:
    return tuple(_texts(value, place))


def _per_file(value: Any, place: _Place) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A table of patterns and codes, or flake8's way to write one."""
    if isinstance(value, dict):
        return tuple(
            (utils.normalize_path(pattern, place.folder), _codes(codes, _Place(f"{place.name} of {pattern!r}", "")))
            for pattern, codes in value.items()
        )
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        value = "\n".join(value)
    if not isinstance(value, str):
        raise ConfigError(f"{place.name} must be a table of patterns and codes, not {value!r}")
    try:
        found = _mapping(value, place.folder)
    except ExecutionError as error:
        raise ConfigError(f"{place.name} must be like `tests/*:TSC1,TSC2`, not {value!r}") from error
    return tuple((pattern, _codes(list(codes), place)) for pattern, codes in found)


def _mapping(value: str, folder: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = utils.parse_files_to_codes_mapping(value)
    return tuple((utils.normalize_path(pattern, folder), tuple(codes)) for pattern, codes in found)


def _train_calls(value: Any, place: _Place) -> frozenset[str]:
    try:
        return names(_texts(value, place), place.name)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _format(value: Any, place: _Place) -> str:
    if not isinstance(value, str) or value not in FORMATS:
        hint = registry.near_match(value, FORMATS) if isinstance(value, str) else ""
        raise ConfigError(f"{place.name} must be one of {', '.join(FORMATS)}, not {value!r}{hint}")
    return value


def _jobs(value: Any, place: _Place) -> int:
    text = str(value)
    if text == "auto":
        return 0
    if isinstance(value, bool) or not text.isdecimal():
        raise ConfigError(f"{place.name} must be a number of processes or 'auto', not {value!r}")
    return int(text)


def _path(value: Any, place: _Place) -> str:
    """A file, from the folder of the file that names it on."""
    if not isinstance(value, str):
        raise ConfigError(f"{place.name} must be the name of a file, not {value!r}")
    return shown(os.path.normpath(os.path.join(place.folder, value))) if value else ""


_KINDS: dict[str, Callable[[Any, _Place], Any]] = {
    "baseline": _path,
    "disable-noqa": _flag,
    "exclude": _patterns,
    "extend-exclude": _patterns,
    "extend-ignore": _codes,
    "extend-select": _codes,
    "filename": _files,
    "force-exclude": _flag,
    "ignore": _codes,
    "jobs": _jobs,
    "output-format": _format,
    "per-file-ignores": _per_file,
    "preview": _flag,
    "select": _codes,
    "statistics": _flag,
    "train-calls": _train_calls,
    "unsafe-fixes": _flag,
}
