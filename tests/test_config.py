"""Where settings come from, which one wins, and how a wrong one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.configfiles import ConfigError, load
from flake8_tensorcopy.registry import rules
from flake8_tensorcopy.selection import Selection, discover, shown
from flake8_tensorcopy.settings import Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the current one, below another."""
    here = tmp_path / "project" / "sub"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    return here


def project(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.tensorcopy]\n{text}\n", encoding="utf-8")


def flake8(folder: Path, text: str, name: str = "setup.cfg") -> None:
    (folder / name).write_text(f"[flake8]\n{text}\n", encoding="utf-8")


def settings(**given: Any) -> Settings:
    found, notes = load({key.replace("_", "-"): value for key, value in given.items()})
    assert notes == ()
    return found


def test_nothing_is_set_by_default() -> None:
    found = settings()
    assert (found.options, found.select, found.ignore, found.jobs) == (Options(), None, None, 0)
    assert found.filename == ("*.py", "*.ipynb") and ".git" in found.exclude and "__pycache__" in found.exclude


def test_the_command_line_wins_over_the_project_and_that_over_flake8(folder: Path) -> None:
    flake8(folder, "select = TSC1,E\nextend-ignore = TSC2,W\ntensorcopy-preview = true\nstatistics = true")
    project(folder, 'extend-ignore = ["TSC3"]\npreview = false\njobs = 3')
    found = settings(jobs="2")
    assert (found.select, found.extend_ignore, found.options.preview) == (("TSC1", "E"), ("TSC3",), False)
    assert (found.statistics, found.jobs) == (True, 2)
    assert settings(preview=True, extend_ignore="TSC4 TSC5").extend_ignore == ("TSC4", "TSC5")


@pytest.mark.parametrize("name", ["setup.cfg", "tox.ini", ".flake8"])
def test_every_key_of_flake8_that_concerns_files_and_codes_is_taken(folder: Path, name: str) -> None:
    flake8(
        folder.parent,
        "select = TSC\nignore = E203\nextend-select = F\nextend-ignore = TSC601\nper-file-ignores = tests/*:TSC1,E501\n"
        "exclude = a,./b\nextend-exclude = c/d\nfilename = *.py,*.pyi\ndisable-noqa = yes\njobs = auto\n"
        "tensorcopy-preview = on\ntensorcopy-train-calls = fit_all, learn\nmax-line-length = 99\nsome-plugin = x",
        name,
    )
    assert settings() == Settings(
        Options(True, frozenset({"fit_all", "learn"})),
        select=("TSC",),
        ignore=("E203",),
        extend_select=("F",),
        extend_ignore=("TSC601",),
        per_file_ignores=((str(folder / "tests/*"), ("TSC1", "E501")),),
        exclude=("a", str(folder.parent / "b")),
        extend_exclude=(str(folder.parent / "c/d"),),
        filename=("*.py", "*.pyi"),
        disable_noqa=True,
        output_format=settings().output_format,
    )


def test_every_key_of_the_project_is_taken_and_paths_start_there(folder: Path) -> None:
    project(
        folder.parent,
        'select = "TSC1, TSC2"\nignore = ["TSC101"]\nextend-select = ["TSC601"]\nextend-ignore = []\n'
        'exclude = ["a b", "./c"]\nextend-exclude = "d,e/f"\nforce-exclude = true\nfilename = ["*.pyi"]\n'
        'disable-noqa = true\npreview = true\ntrain-calls = ["fit_all"]\nunsafe-fixes = true\nstatistics = true\n'
        'jobs = "auto"\noutput-format = "concise"\nper-file-ignores = { "tests/*" = ["TSC1"], "x y.py" = "TSC2,TSC3" }',
    )
    assert settings() == Settings(
        Options(True, frozenset({"fit_all"})),
        select=("TSC1", "TSC2"),
        ignore=("TSC101",),
        extend_select=("TSC601",),
        per_file_ignores=((str(folder.parent / "tests/*"), ("TSC1",)), ("x y.py", ("TSC2", "TSC3"))),
        exclude=("a b", str(folder.parent / "c")),
        extend_exclude=("d", str(folder.parent / "e/f")),
        force_exclude=True,
        filename=("*.pyi",),
        disable_noqa=True,
        unsafe_fixes=True,
        statistics=True,
        output_format="concise",
    )


@pytest.mark.parametrize("value", ['"a.py:TSC1 b.py:TSC2"', '["a.py:TSC1", "b.py:TSC2"]'])
def test_ignores_for_some_files_may_be_written_as_in_flake8(folder: Path, value: str) -> None:
    project(folder, f"per-file-ignores = {value}")
    assert settings().per_file_ignores == (("a.py", ("TSC1",)), ("b.py", ("TSC2",)))


def test_the_nearest_table_counts(folder: Path) -> None:
    project(folder.parent, "preview = true\nstatistics = true")
    (folder / "pyproject.toml").write_text("[tool.other]\n")
    assert settings().options.preview
    project(folder, "jobs = 2")
    assert not settings().options.preview and not settings().statistics


def test_a_file_that_is_named_is_the_only_one(folder: Path) -> None:
    flake8(folder, "extend-ignore = TSC1")
    project(folder, "preview = true")
    flake8(folder.parent, "extend-ignore = TSC2", "other.cfg")
    (folder / "other.toml").write_text("[tool.tensorcopy]\njobs = 7\n")
    named, _ = load({}, config="../other.cfg")
    assert (named.extend_ignore, named.options.preview) == (("TSC2",), False)
    named, _ = load({}, config="other.toml")
    assert (named.extend_ignore, named.options.preview, named.jobs) == ((), False, 7)
    assert load({}, isolated=True) == load({}, config=None, isolated=True)
    assert load({}, isolated=True)[0].extend_ignore == ()


WRONG = {
    "unknown": ("extend-ingore = 1", "[tool.tensorcopy] has no setting 'extend-ingore'; did you mean 'extend-ignore'?"),
    "no flag": ('preview = "yes"', "`preview` must be true or false, not 'yes'"),
    "no list": ("select = 1", "`select` must be a list of strings, not 1"),
    "a list of others": ("exclude = [1]", "`exclude` must be a list of strings, not [1]"),
    "unknown code": ('select = ["TSC1O1"]', "`select`: 'TSC1O1' matches no rule; did you mean 'TSC101'?"),
    "lower case": ('ignore = ["tsc101"]', "`ignore`: 'tsc101' matches no rule; did you mean 'TSC101'?"),
    "a name": ('select = ["clone-then-detach"]', "matches no rule; the code of that rule is 'TSC601'"),
    "foreign code": ('ignore = ["W605"]', "`ignore`: 'W605' matches no rule"),
    "empty code": ('ignore = [""]', "`ignore`: '' matches no rule"),
    "no format": ('output-format = "jsno"', "`output-format` must be one of "),
    "no jobs": ("jobs = -1", "`jobs` must be a number of processes or 'auto', not -1"),
    "true jobs": ("jobs = true", "`jobs` must be a number of processes or 'auto', not True"),
    "no table of files": ("per-file-ignores = 1", "`per-file-ignores` must be a table of patterns and codes, not 1"),
    "no codes of files": ('per-file-ignores = { "a" = ["X1"] }', "`per-file-ignores` of 'a': 'X1' matches no rule"),
    "no name": ('train-calls = ["a-b"]', "'a-b' is not a plain name of a function or method"),
    "no TOML": ("= 1", "pyproject.toml is no TOML: "),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG.values())
def test_what_makes_no_sense_is_refused_with_one_sentence(folder: Path, text: str, message: str) -> None:
    project(folder, text)
    with pytest.raises(ConfigError) as caught:
        load({})
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"select": "TSC9"}, "--select: 'TSC9' matches no rule"),
        ({"jobs": "two"}, "--jobs must be a number of processes or 'auto', not 'two'"),
        ({"per-file-ignores": "a:b:c"}, "--per-file-ignores must be like `tests/*:TSC1,TSC2`, not 'a:b:c'"),
        ({"output-format": "texd"}, "--output-format must be one of "),
    ],
)
def test_so_it_is_on_the_command_line(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(given)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobs = x", "[flake8] `jobs` must be a number"),
        ("disable-noqa = x", "[flake8] in {}: Not a boolean: x"),
        ("max-line-length = x", "[flake8] in {}: invalid literal for int() with base 10: 'x'"),
        ("tensorcopy-train-calls = a-b", "[flake8] `tensorcopy-train-calls`: 'a-b' is not a plain name"),
        ("per-file-ignores = a:b:c", "[flake8] in {}: Expected `per-file-ignores` to be a mapping"),
        ("ignore = not-a-code", "[flake8] in {}: Error code 'not-a-code' supplied to 'ignore' option"),
    ],
)
def test_what_flake8_would_refuse_is_refused(folder: Path, text: str, message: str) -> None:
    flake8(folder, text)
    with pytest.raises(ConfigError) as caught:
        load({})
    assert str(caught.value).startswith(message.format(folder)) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["none.cfg", "none.toml"])
def test_a_file_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load({}, config=name)


@pytest.mark.parametrize("name", ["folder.cfg", "folder.toml"])
def test_a_file_that_cannot_be_read_is_not_said_to_be_missing(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    with pytest.raises(ConfigError, match=f"{name} cannot be read: Is a directory"):
        load({}, config=name)


def test_a_file_without_the_table_is_refused(folder: Path) -> None:
    (folder / "some.toml").write_text("[tool.other]\n")
    with pytest.raises(ConfigError, match=r"some.toml has no \[tool.tensorcopy\]"):
        load({}, config="some.toml")


def test_a_selection_that_leaves_out_every_rule_is_told(folder: Path) -> None:
    flake8(folder, "select = E,F,W")
    assert load({})[1] == ("`select` in [flake8] leaves out every TSC rule, so that none is reported",)
    assert load({"select": "TSC1"})[1] == load({"extend-select": "TSC1"})[1] == ()


def test_a_preview_code_without_preview_is_told() -> None:
    preview = [code for code, rule in rules().items() if rule.preview]
    stable = [code for code, rule in rules().items() if not rule.preview]
    assert load({"select": f"{preview[0]},{stable[0]},TSC"})[1] == (f"{preview[0]} has no effect without --preview",)
    both = ",".join(preview[:2])
    assert load({"extend-select": both})[1] == (f"{preview[0]}, {preview[1]} have no effect without --preview",)
    assert load({"select": preview[0], "preview": True})[1] == ()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, "TSC101 TSC102 TSC601"),
        ({"select": "TSC1"}, "TSC101 TSC102"),
        ({"select": "TSC1", "ignore": "TSC101"}, "TSC102"),
        ({"select": "TSC101", "ignore": "TSC1"}, "TSC101"),
        ({"ignore": "TSC1", "extend-select": "TSC101"}, "TSC101 TSC601"),
        ({"extend-ignore": "TSC6"}, "TSC101 TSC102"),
        ({"select": "TSC6", "extend-select": "TSC102"}, "TSC102 TSC601"),
        ({"select": "TSC1", "ignore": "TSC1"}, ""),
        ({"per-file-ignores": "some.py:TSC1"}, "TSC601"),
        ({"per-file-ignores": "*.py:TSC1 some.py:TSC6"}, "TSC101 TSC102"),
        ({"per-file-ignores": "lib/*:TSC1"}, "TSC601"),
        ({"per-file-ignores": "other.py:TSC1"}, "TSC101 TSC102 TSC601"),
        ({"select": ""}, ""),
    ],
)
def test_the_longest_prefix_wins(given: dict[str, str], wanted: str) -> None:
    selection = Selection(load(given)[0])
    codes = ("TSC101", "TSC102", "TSC601")
    assert " ".join(code for code in codes if selection.wants(code, "lib/some.py")) == wanted


def test_that_a_file_cannot_be_read_is_told_unless_it_is_ignored_by_name() -> None:
    for given in ({}, {"select": "TSC1"}, {"extend-ignore": "TSC"}):
        assert Selection(load(given)[0]).wants("E999", "some.py")
    assert not Selection(load({"extend-ignore": "E9"})[0]).wants("E999", "some.py")
    assert not Selection(load({"per-file-ignores": "some.py:E999"})[0]).wants("E999", "some.py")


# Files.


@pytest.fixture
def tree(folder: Path) -> Path:
    for name in ("b.py", "a.py", "c.txt", "d.pyi", "sub/x.py", "build/y.py", "build/deep/z.py", ".git/g.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    return folder


def found(*paths: str, **given: Any) -> list[str]:
    return [shown(path) for path in discover(paths, settings(**given), "stdin")]


def test_folders_give_their_python_files_in_order(tree: Path) -> None:
    everything = ["a.py", "b.py", "build/deep/z.py", "build/y.py", "sub/x.py"]
    assert found() == found(".") == found(str(tree)) == found("sub", "./build", "b.py", "a.py", "a.py") == everything
    assert found("sub", str(tree / "sub/x.py"), "../sub/sub") == ["sub/x.py"]
    assert found(".", filename="*.pyi") == ["d.pyi"]


def test_what_is_named_is_taken_unless_it_is_excluded_itself(tree: Path) -> None:
    assert found("c.txt", "d.pyi", ".git/g.py", "none.py") == [".git/g.py", "c.txt", "d.pyi", "none.py"]
    assert found(".", extend_exclude="build,b.py") == ["a.py", "sub/x.py"]
    assert found("b.py", "build/y.py", extend_exclude="build,b.py") == ["build/y.py"]
    assert found(".", exclude="sub") == [".git/g.py", "a.py", "b.py", "build/deep/z.py", "build/y.py"]


def test_by_force_also_what_is_named_below_an_excluded_folder_is_left_out(tree: Path) -> None:
    assert found("b.py", "build/y.py", "build/deep/z.py", extend_exclude="build", force_exclude=True) == ["b.py"]
    assert found(str(tree / "build/y.py"), extend_exclude="./build", force_exclude=True) == []


def test_the_name_of_standard_input_may_be_excluded() -> None:
    assert discover(["-"], settings(extend_exclude="stdin"), "stdin") == ["-"]
    assert discover(["-"], settings(extend_exclude="build"), "build") == []
    assert discover(["-"], settings(extend_exclude="build", force_exclude=True), "build/a.py") == []
