"""Findings that a project has for now, and how they are told from new ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy.baseline import Baseline, BaselineError, Known, read
from flake8_tensorcopy.report import fingerprints
from tests.conftest import Ran, Run
from tests.reports import UNPARSED, UNREAD, every_fixture, found, linted, placed
from tests.repositories import HAS_GIT, Repository
from tests.samples import ALIAS, DETACH, write
from tests.test_cli_check import at_a_terminal

FILE = "known.json"
BOTH = DETACH + ALIAS.partition("\n")[2]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def update(check: Run, *arguments: str) -> str:
    """Writes the baseline; returns what was said."""
    ran = check("--baseline", FILE, "--update-baseline", *arguments)
    assert (ran.out, ran.exit) == (b"", 0)
    return ran.err


def entries() -> dict[str, list[dict[str, str]]]:
    files: dict[str, list[dict[str, str]]] = json.loads(Path(FILE).read_text(encoding="utf-8"))["files"]
    return files


def new(check: Run, *arguments: str) -> list[tuple[str, int, str]]:
    """The findings that are not known."""
    ran = check("--baseline", FILE, *arguments)
    assert ran.exit == (1 if ran.out else 0)
    return [(file, line, code) for file, line, _, code in ran.places]


def test_what_is_known_is_silent_and_what_is_new_fails(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=BOTH, b=DETACH)
    assert update(check) == "3 known findings in known.json\n"
    assert check("--baseline", FILE) == Ran(b"", "", 0)
    write(tmp_path, c=DETACH)
    assert new(check) == [("c.py", 5, "TSC601")]
    assert len(check().places) == len(check("--baseline=").places) == 4
    assert check("--baseline", FILE, "--exit-zero").exit == 0


def test_moved_lines_stay_known_and_edited_ones_are_new(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=BOTH)
    update(check)
    write(tmp_path, a="# one\n\n" + BOTH.replace("    return x.clone", "    if x:\n        return x.clone"))
    assert new(check) == []
    write(tmp_path, a=BOTH.replace("a += 1", "a += 2"))
    assert new(check) == [("a.py", 10, "TSC101")]
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert new(check) == [("b.py", 5, "TSC601"), ("b.py", 10, "TSC101")]


def test_of_equal_findings_so_many_are_known_as_there_were(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH + DETACH)
    update(check)
    assert len(entries()["a.py"]) == 2
    write(tmp_path, a=DETACH * 3)
    assert new(check) == [("a.py", 15, "TSC601")]
    write(tmp_path, a=DETACH)
    assert new(check) == []


def test_what_is_gone_is_left_out_and_what_was_not_looked_at_stays(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=BOTH, b=DETACH, c=DETACH)
    update(check)
    write(tmp_path, a=DETACH, b=BOTH)
    (tmp_path / "c.py").unlink()
    assert update(check, "a.py") == "2 known findings in known.json\n"
    assert {path: [one["code"] for one in known] for path, known in entries().items()} == {
        "a.py": ["TSC601"],
        "b.py": ["TSC601"],
    }
    assert new(check) == [("b.py", 10, "TSC101")]
    assert update(check) == "3 known findings in known.json\n"
    write(tmp_path, a="", b="")
    assert update(check) == "0 known findings in known.json\n"
    assert entries() == {} and new(check) == []


def test_the_file_is_the_same_for_the_same_findings(check: Run, tmp_path: Path) -> None:
    two = DETACH.replace("snapshot", "other").replace("x", "y")
    write(tmp_path, b=BOTH + two, a=DETACH)
    update(check)
    content = Path(FILE).read_bytes()
    assert content.decode() == (
        '{\n  "tool": "flake8-tensorcopy",\n  "version": 1,\n  "files": {\n'
        f'    "a.py": [\n{_line("a", "TSC601", "return x.clone().detach()", DETACH)}\n    ],\n'
        f'    "b.py": [\n{_line("b", "TSC101", "a += 1", ALIAS)},\n'
        f"{_line('b', 'TSC601', 'return x.clone().detach()', DETACH)},\n"
        f"{_line('b', 'TSC601', 'return y.clone().detach()', two)}\n    ]\n  }}\n}}\n"
    )
    update(check, "b.py", "a.py")
    assert Path(FILE).read_bytes() == content
    write(tmp_path, b="# moved\n" + two + BOTH)
    update(check, "-j2")
    assert Path(FILE).read_bytes() == content
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]


def _line(name: str, code: str, line: str, source: str) -> str:
    (fingerprint,) = fingerprints(linted(source, f"{name}.py"))
    return f'      {{"code": "{code}", "line": "{line}", "fingerprint": "{fingerprint}"}}'


def test_every_finding_can_be_known() -> None:
    files = every_fixture()
    odd = placed("s = '\"\\\\😀\udc80\t'\n", found((1, 4, 1, 6)), path='ä"\\\udcff\n.py')
    baseline = Baseline({}).updated([*files, odd])
    baseline.write(FILE)
    again = read(FILE)
    assert {path: sorted(known) for path, known in baseline.files.items()} == again.files
    assert again.count() == sum(len(file.findings) for file in files) + 1
    assert [file.path for file in [*files, odd] if again.new(file).findings] == []


def test_that_a_file_cannot_be_read_is_never_known(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH, b="(\n")
    ran = check("--baseline", FILE, "--update-baseline")
    assert ([place[3] for place in ran.places], ran.exit) == (["E999"], 1)
    assert list(entries()) == ["a.py"]
    assert new(check, ".", "none.py") == [("b.py", 1, "E999"), ("none.py", 1, "E902")]
    assert Baseline({}).updated([UNREAD, UNPARSED]) == Baseline({})
    known = entries()
    write(tmp_path, a="(\n")
    assert check("--baseline", FILE, "--update-baseline").exit == 1
    assert entries() == known


def test_a_report_keeps_the_fingerprints_of_all_findings(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH)
    update(check)
    write(tmp_path, a=DETACH + DETACH)
    whole, rest = (
        json.loads(check("check", "--output-format=gitlab", *arguments).out) for arguments in ((), ("--baseline", FILE))
    )
    assert whole[1:] == rest and whole[0]["fingerprint"] != whole[1]["fingerprint"]


# With other options.


def test_counts_and_the_summary_come_after_it(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=BOTH)
    update(check)
    assert check("--baseline", FILE, "--statistics") == Ran(b"", "", 0)
    write(tmp_path, b=DETACH)
    assert check("--baseline", FILE, "--statistics").lines[-1].startswith("1     TSC601 ")
    shown = at_a_terminal("check", "--isolated", "--baseline", FILE, cwd=tmp_path, stream="stderr")
    assert shown.endswith(b"1 finding in 1 file; [*] 1 fixable with `tensorcopy fix`\n2 known findings not shown\n")
    (tmp_path / "b.py").unlink()
    arguments = ("check", "--isolated", "--baseline", FILE)
    assert at_a_terminal(*arguments, cwd=tmp_path, stream="stderr").endswith(b"2 known findings not shown\n")
    shown = at_a_terminal(*arguments, "--update-baseline", cwd=tmp_path, stream="stderr")
    assert shown.endswith(b"2 known findings in known.json\n")


def test_fix_repairs_what_is_known_and_tells_what_is_new(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=BOTH)
    update(check)
    assert b"+    return x.detach().clone()" in check("fix", "--diff", "--baseline", FILE).out
    assert check("fix", "--baseline", FILE) == Ran(b"", "", 0)
    assert new(check, "--baseline=") == [("a.py", 10, "TSC101")]
    write(tmp_path, b=ALIAS)
    ran = check("fix", "--output-format=concise", "--baseline", FILE)
    assert [place[0::3] for place in ran.places] == [("b.py", "TSC101")]


def test_standard_input_has_known_findings(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH)
    update(check)
    arguments = ("--baseline", FILE, "-", "--stdin-filename=a.py")
    assert check(*arguments, stdin=b"\n" + DETACH.encode()) == Ran(b"", "", 0)
    assert [place[3] for place in check(*arguments, stdin=BOTH.encode()).places] == ["TSC101"]


def test_a_setting_is_a_file_beside_its_own(check: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.tensorcopy]\nbaseline = "known.json"\n')
    write(tmp_path / "lib", a=DETACH)
    sentence = "tensorcopy {}: there is no file 'known.json': `tensorcopy check --update-baseline` writes it\n"
    assert check() == Ran(b"", sentence.format("check"), 2)
    assert check("fix") == Ran(b"", sentence.format("fix"), 2)
    monkeypatch.chdir(tmp_path / "lib")
    assert check("--update-baseline", "--select=TSC2").exit == 0
    assert check("--update-baseline").err == f"1 known finding in {tmp_path / FILE}\n"
    assert check() == Ran(b"", "", 0)
    monkeypatch.chdir(tmp_path)
    assert list(entries()) == ["lib/a.py"]
    assert check() == Ran(b"", "", 0)
    assert len(check("--isolated").places) == len(check("--baseline=").places) == 1
    (tmp_path / "pyproject.toml").write_text("[tool.tensorcopy]\nbaseline = 1\n")
    assert check().err.endswith("pyproject.toml: `baseline` must be the name of a file, not 1\n")


@HAS_GIT
def test_with_changes_both_must_let_it_through(check: Run, tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.commit(**{"a.py": BOTH, "b.py": DETACH})
    update(check, "a.py")
    write(tmp_path, a=BOTH.replace("a += 1", "a += 2"), c=DETACH)
    assert new(check) == [("a.py", 10, "TSC101"), ("b.py", 5, "TSC601"), ("c.py", 5, "TSC601")]
    assert new(check, "--diff-base=HEAD") == [("a.py", 10, "TSC101"), ("c.py", 5, "TSC601")]
    update(check, "c.py")
    assert new(check, "--diff-base=HEAD") == [("a.py", 10, "TSC101")]


# What makes no sense.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--baseline=none.json",), "there is no file 'none.json': `tensorcopy check --update-baseline` writes it"),
        (("--update-baseline",), "--update-baseline needs a file: --baseline FILE, or `baseline` in [tool.tensorcopy]"),
        (("--update-baseline", "--baseline=x/y"), "cannot write 'x/y': there is no folder"),
        (("--update-baseline", "--diff"), "--update-baseline needs all findings, and goes not with --diff"),
        (("--update-baseline", "--diff-base=HEAD"), "--update-baseline needs all findings, and goes not with --diff-b"),
        (("--baseline=.git",), ".git cannot be read: Is a directory"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(check: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / ".git").mkdir()
    ran = check(*arguments)
    assert (ran.out, ran.exit, ran.err.count("\n")) == (b"", 2, 1)
    assert ran.err.startswith(f"tensorcopy check: {message}")


GOOD: dict[str, Any] = {"tool": "flake8-tensorcopy", "version": 1, "files": {}}
ENTRY = {"code": "TSC101", "line": "x", "fingerprint": "0"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "known.json is no JSON: Expecting value"),
        ("<<<<<<< ours\n{}", "known.json is no JSON: Expecting value"),
        ("[" * 100_000, "known.json is no JSON: "),
        (b"\xff\xfe", "known.json is no JSON: 'utf-8' codec can't decode"),
        ("[]", "known.json is no baseline of flake8-tensorcopy"),
        ({"name": "other"}, "known.json is no baseline of flake8-tensorcopy"),
        (GOOD | {"tool": "mypy"}, "known.json is no baseline of flake8-tensorcopy"),
        (GOOD | {"version": 2}, "known.json is a baseline of version 2, and flake8-tensorcopy "),
        ({"tool": GOOD["tool"]}, "known.json is a baseline of version None, "),
        ({"tool": GOOD["tool"], "version": 1}, "known.json is a damaged baseline: "),
        (GOOD | {"files": []}, "known.json is a damaged baseline: "),
        (GOOD | {"files": {"a.py": None}}, "known.json is a damaged baseline: "),
        (GOOD | {"files": {"a.py": ["x"]}}, "known.json is a damaged baseline: "),
        (GOOD | {"files": {"a.py": [{"code": "TSC101"}]}}, "known.json is a damaged baseline: "),
        (GOOD | {"files": {"a.py": [ENTRY | {"line": 1}]}}, "known.json is a damaged baseline: "),
        (GOOD | {"files": {"a.py": [ENTRY | {"more": "x"}]}}, "known.json is a damaged baseline: "),
    ],
)
def test_a_file_that_is_no_baseline(check: Run, tmp_path: Path, content: Any, message: str) -> None:
    write(tmp_path, a=DETACH)
    data = content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else None
    data = json.dumps(content).encode() if data is None else data
    (tmp_path / FILE).write_bytes(data)
    for more in ((), ("--update-baseline",)):
        ran = check("--baseline", FILE, *more)
        assert (ran.out, ran.exit, ran.err.count("\n")) == (b"", 2, 1)
        assert ran.err.startswith(f"tensorcopy check: {message}")
    assert (tmp_path / FILE).read_bytes() == data


def test_a_baseline_by_hand_is_read() -> None:
    Path(FILE).write_text(json.dumps(GOOD | {"files": {"a.py": [ENTRY]}}))
    assert read(FILE) == Baseline({"a.py": [Known("TSC101", "x", "0")]})
    with pytest.raises(FileNotFoundError):
        read("none.json")
    with pytest.raises(BaselineError):
        read(".")


def test_a_failed_write_leaves_the_old_file(check: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=DETACH)
    update(check)
    before = Path(FILE).read_bytes()
    write(tmp_path, a=BOTH)

    def failing(*names: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flake8_tensorcopy.atomic.os.replace", failing)
    ran = check("--baseline", FILE, "--update-baseline")
    assert (ran.out, ran.exit) == (b"", 2) and ran.err.startswith("tensorcopy check: cannot write 'known.json': ")
    assert Path(FILE).read_bytes() == before and len(list(tmp_path.iterdir())) == 2
