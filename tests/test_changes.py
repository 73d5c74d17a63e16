"""Findings on lines that changed, told by git."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy.changes import WHOLE, Change, Changes, _patches
from flake8_tensorcopy.engine import Finding, Span, Step
from flake8_tensorcopy.report import FORMATS
from tests.conftest import Ran, Run
from tests.repositories import HAS_GIT, Repository, settings
from tests.samples import ALIAS, DETACH, FINE

pytestmark = HAS_GIT
TWO = DETACH + ALIAS.partition("\n")[2]  # findings on the lines 5 and 10; the chain of the second from 9 to 11


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository in the test's own folder, as git and the command see it."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in settings(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return Repository(tmp_path)


def places(ran: Ran) -> list[tuple[str, int]]:
    assert ran.err == "" and ran.exit == (1 if ran.out else 0)
    return [(file, line) for file, line, *_ in ran.places]


# Which findings a change concerns.


def test_lines_and_what_was_taken_away_between_them() -> None:
    step = Step(Span(3, 0, 4, 9), "here")
    finding = Finding(Span(8, 4, 9, 2), "TSC101", "it changes", (step,))
    for line, concerned in (
        (2, False),
        (3, True),
        (4, True),
        (5, False),
        (7, False),
        (8, True),
        (9, True),
        (10, False),
    ):
        assert Change([range(line, line + 1)]).concerns(finding) is concerned, line
    for gap, concerned in ((2, False), (3, True), (7, True), (8, True), (9, False)):
        assert Change(gaps=[gap]).concerns(finding) is concerned, gap
    assert Change([range(1, 3), range(5, 20)]).concerns(finding)
    assert WHOLE.concerns(finding) and not Change().concerns(finding)


@pytest.mark.parametrize("code", ["TSC000", "E902", "E999"])
def test_what_is_said_of_a_whole_file_concerns_every_change(code: str) -> None:
    assert Change([range(90, 91)]).concerns(Finding(Span(1, 0, 1, 0), code, "it is so"))


# Which lines have changed.


def test_committed_staged_and_other_changes_count(check: Run, repo: Repository) -> None:
    base = repo.commit(**{"a.py": TWO})
    assert check("--diff-base", base) == Ran(b"", "", 0)
    assert [place[1] for place in check().places] == [5, 10]
    changed = TWO.replace("a += 1", "a += 2")
    repo.write(**{"a.py": changed})
    assert places(check("--diff-base", base)) == [("a.py", 10)]
    repo.git("add", "a.py")
    assert places(check("--diff-base", base)) == [("a.py", 10)]
    repo.commit()
    assert places(check("--diff-base", base)) == [("a.py", 10)]
    assert check("--diff-base", "HEAD") == Ran(b"", "", 0)
    repo.write(**{"a.py": "# first\n" + changed})
    assert places(check("--diff-base", base)) == [("a.py", 11)]


def test_a_step_of_the_chain_counts_and_a_line_that_was_taken_away(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": ALIAS.replace("    old = a\n", "    old = a\n    old = old.clone()\n")})
    assert check() == Ran(b"", "", 0)
    repo.write(**{"a.py": ALIAS})
    assert places(check("--diff-base", "HEAD")) == [("a.py", 6)]
    repo.commit()
    repo.write(**{"a.py": ALIAS.replace("return a - old", "return old - a")})
    assert places(check("--diff-base", "HEAD")) == [("a.py", 6)]
    repo.write(**{"a.py": ALIAS + "# last\n"})
    assert places(check("--diff-base", "HEAD")) == []


def test_what_others_changed_since_is_no_change(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": FINE})
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit(**{"b.py": DETACH})
    repo.git("checkout", "-q", "main")
    repo.commit(**{"a.py": DETACH, "c.py": DETACH})
    repo.git("checkout", "-q", "topic")
    assert places(check("--diff-base", "main")) == [("b.py", 5)]


def test_new_renamed_deleted_and_ignored_files(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": TWO, "b.py": DETACH, "c.py": DETACH, ".gitignore": "build/\n"})
    repo.git("mv", "a.py", "moved.py")
    (repo.folder / "b.py").unlink()
    repo.git("rm", "-q", "c.py")
    repo.write(**{"new.py": DETACH, "lib/new.py": DETACH, "build/new.py": DETACH})
    assert places(check("--diff-base", "HEAD")) == [("lib/new.py", 5), ("new.py", 5)]
    assert check("--diff-base", "HEAD", "b.py", "c.py", "moved.py", "build/new.py") == Ran(b"", "", 0)
    ran = check("--diff-base", "HEAD", "none.py")
    assert [place[0::3] for place in ran.places] == [("none.py", "E902")]
    repo.write(**{"moved.py": TWO.replace("def snapshot", "# new\ndef snapshot").replace("a += 1", "a += 3")})
    assert places(check("--diff-base", "HEAD", "moved.py")) == [("moved.py", 11)]
    repo.write(**{"new.py": ALIAS})
    repo.git("add", "-N", "new.py")
    assert places(check("--diff-base", "HEAD", "new.py")) == [("new.py", 6)]


NAMES = ["with space.py", 'quo"ted.py', "tab\there.py", "back\\slash.py", "über/ß.py", "'.py", "-dash.py", "a b\n.py"]


def test_names_of_every_kind(check: Run, repo: Repository) -> None:
    texts = {name: f"{TWO}{name!a}\n" * 3 for name in NAMES}  # git knows renamed files by what is in them alone
    repo.commit(**texts)
    for name, text in texts.items():
        repo.write(**{name: text.replace("a += 1", "a += 2", 1)})
    changes = Changes("HEAD")
    assert [changes.of(name) for name in NAMES] == [Change([range(10, 11)])] * len(NAMES)
    for name in NAMES:
        repo.git("mv", "--", name, f"{name}.moved.py")
    changes = Changes("HEAD")
    assert [changes.of(f"{name}.moved.py") for name in NAMES] == [Change([range(10, 11)])] * len(NAMES)
    assert [changes.of(name) for name in NAMES] == [None] * len(NAMES)
    assert [
        found["location"]["row"] for found in json.loads(check("check", "--diff-base=HEAD", "--output-format=json").out)
    ] == [10] * len(NAMES)


def test_a_name_that_is_not_utf_8(check: Run, repo: Repository) -> None:
    name = os.fsdecode(b"\xff.py")
    try:
        repo.commit(**{name: TWO})
    except (OSError, UnicodeError):
        pytest.skip("the file system has no such names")
    repo.write(**{name: TWO.replace("a += 1", "a += 2")})
    assert Changes("HEAD").of(name) == Change([range(10, 11)])


def test_modes_links_and_kinds_of_files(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": TWO, "b.py": DETACH, "empty.py": "", "lib/c.py": DETACH})
    (repo.folder / "link.py").symlink_to("a.py")
    (repo.folder / "folder").symlink_to("lib")
    repo.commit()
    (repo.folder / "b.py").chmod(0o755)
    (repo.folder / "empty.py").unlink()
    repo.write(**{"none.py": ""})
    repo.git("add", "none.py")
    assert check("--diff-base", "HEAD") == Ran(b"", "", 0)
    repo.write(**{"a.py": TWO.replace("a += 1", "a += 2"), "lib/c.py": DETACH.replace("x", "y")})
    assert places(check("--diff-base", "HEAD")) == [("a.py", 10), ("lib/c.py", 5), ("link.py", 10)]
    assert places(check("--diff-base", "HEAD", "folder/c.py")) == [("folder/c.py", 5)]
    (repo.folder / "link.py").unlink()
    repo.write(**{"link.py": DETACH})
    assert places(check("--diff-base", "HEAD", "link.py")) == [("link.py", 5)]


def test_a_file_that_cannot_be_read_has_changed(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(**{"a.py": TWO})
    repo.write(**{"a.py": TWO + "# last\n"})

    def failing(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", failing)
    assert Changes("HEAD").of("a.py") == WHOLE  # and the linter says why


def test_lines_that_look_like_a_patch(repo: Repository) -> None:
    text = "x = '''\n-- a/b.py\n++ b/b.py\n@@ -1 +1 @@\ndiff --git a/b b/b\n\\ No newline\n'''\n"
    repo.commit(**{"a.py": text, "b.py": "b = 1\n", "c.py": "1\n2"})
    repo.write(**{"a.py": text.replace("b.py", "c.py") + "y = 1\n", "b.py": "b = 2", "c.py": "1\n3"})
    changes = Changes("HEAD")
    found = [changes.of(name) for name in ("a.py", "b.py", "c.py")]
    assert found == [Change([range(2, 4), range(8, 9)]), Change([range(1, 2)]), Change([range(2, 3)])]


@pytest.mark.parametrize("setting", ["core.autocrlf=true", "core.autocrlf=false"])
def test_how_lines_end_is_no_change(check: Run, repo: Repository, setting: str) -> None:
    repo.git("config", *setting.split("="))
    repo.commit(**{"a.py": TWO})
    repo.write(**{"a.py": TWO.replace("\n", "\r\n")})
    assert check("--diff-base", "HEAD") == Ran(b"", "", 0)
    repo.write(**{"a.py": TWO.replace("a += 1", "a += 2").replace("\n", "\r\n")})
    assert places(check("--diff-base", "HEAD")) == [("a.py", 10)]
    stdin = (repo.folder / "a.py").read_bytes()
    assert places(check("--diff-base", "HEAD", "-", "--stdin-filename=a.py", stdin=stdin)) == [("a.py", 10)]


def test_lines_that_git_does_not_count(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": TWO.replace("\n", "\r")})
    repo.write(**{"a.py": TWO.replace("\n", "\r") + "# last\r"})
    assert places(check("--diff-base", "HEAD")) == [("a.py", 5), ("a.py", 10)]


def test_what_git_holds_for_binary(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": TWO, ".gitattributes": "*.py binary\n"})
    repo.write(**{"a.py": TWO.replace("a += 1", "a += 2")})
    assert places(check("--diff-base", "HEAD")) == [("a.py", 10)]


def test_no_setting_of_git_changes_what_is_found(check: Run, repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo.folder / "gitconfig").write_text(
        "[diff]\n\tnoprefix = true\n\tmnemonicPrefix = true\n\tinterHunkContext = 9\n\trelative = true\n"
        "\trenames = false\n"
        "\texternal = false\n\tcontext = 5\n[color]\n\tui = always\n[core]\n\tpager = false\n\tquotePath = false\n"
    )
    repo.commit(**{"lib/ä.py": TWO, "b.py": DETACH})
    repo.git("mv", "b.py", "c.py")
    repo.write(**{"lib/ä.py": TWO.replace("import torch", "import torch as torch").replace("a += 1", "a += 2")})
    assert places(check("--diff-base", "HEAD")) == [("lib/ä.py", 10)]
    monkeypatch.chdir(repo.folder / "lib")
    assert places(check("--diff-base", "HEAD", "..")) == [("ä.py", 10)]


def test_another_folder_of_the_repository(check: Run, repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(**{"a.py": TWO, "lib/b.py": TWO})
    repo.write(
        **{"a.py": TWO.replace("a += 1", "a += 2"), "lib/b.py": "#\n" + TWO, "lib/new.py": DETACH, "new.py": DETACH}
    )
    monkeypatch.chdir(repo.folder / "lib")
    assert places(check("--diff-base", "HEAD")) == [("new.py", 5)]
    assert places(check("--diff-base", "HEAD", "..")) == [("../a.py", 10), ("../new.py", 5), ("new.py", 5)]
    (repo.folder / "link").symlink_to("lib")
    monkeypatch.chdir(repo.folder / "link")
    assert places(check("--diff-base", "HEAD")) == [("new.py", 5)]


def test_a_file_that_has_conflicts_is_told(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": FINE})
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit(**{"a.py": FINE + "x = 1\n"})
    repo.git("checkout", "-q", "main")
    repo.commit(**{"a.py": FINE + "x = 2\n"})
    with pytest.raises(AssertionError, match="CONFLICT"):
        repo.git("merge", "topic")
    assert [place[3] for place in check("--diff-base", "topic").places] == ["E999"]


def test_submodules_and_files_that_lie_elsewhere(
    check: Run, repo: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inner = Repository(tmp_path_factory.mktemp("inner"))
    inner.commit(**{"a.py": TWO})
    repo.git("submodule", "add", "-q", str(inner.folder), "sub")
    base = repo.commit(**{"b.py": DETACH})
    assert check("--diff-base", base) == Ran(b"", "", 0)
    repo.write(**{"sub/a.py": TWO.replace("a += 1", "a += 2"), "sub/new.py": DETACH})
    assert places(check("--diff-base", base)) == [("sub/a.py", 10), ("sub/new.py", 5)]
    assert places(check("--diff-base", base, "sub/new.py", "b.py")) == [("sub/new.py", 5)]
    inside = Repository(repo.folder / "sub")
    inside.commit()
    repo.commit()
    assert places(check("--diff-base", base)) == [("sub/a.py", 10), ("sub/new.py", 5)]
    assert check("--diff-base", "HEAD") == Ran(b"", "", 0)
    other = Repository(repo.folder / "other")
    other.commit(**{"a.py": DETACH})
    outside = tmp_path_factory.mktemp("outside") / "a.py"
    outside.write_text(DETACH)
    assert places(check("--diff-base", "HEAD")) == [("other/a.py", 5)]
    assert places(check("--diff-base", "HEAD", str(outside))) == [(str(outside), 5)]


def test_a_submodule_whose_commit_is_not_there(
    check: Run, repo: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inner = Repository(tmp_path_factory.mktemp("inner"))
    inner.commit(**{"a.py": TWO})
    repo.git("submodule", "add", "-q", str(inner.folder), "sub")
    repo.commit()
    repo.git("update-index", "--cacheinfo", f"160000,{'1' * 40},sub")
    repo.git("commit", "-q", "-m", "a commit that nobody has")
    ran = check("--diff-base", "HEAD")
    assert ran == Ran(b"", f"tensorcopy check: --diff-base: the submodule 'sub' has no commit '{'1' * 40}'\n", 2)


# Standard input.


def test_standard_input_is_compared_with_the_file_of_its_name(check: Run, repo: Repository) -> None:
    repo.commit(**{"lib/a b.py": TWO})
    changed = TWO.replace("a += 1", "a += 2").encode()

    def found(name: str, stdin: bytes) -> list[tuple[str, int]]:
        return places(check("--diff-base=HEAD", "-", f"--stdin-filename={name}", stdin=stdin))

    assert found("lib/a b.py", TWO.encode()) == []
    assert found("lib/a b.py", changed) == [("lib/a b.py", 10)]
    assert found("lib/other.py", changed) == [("lib/other.py", 5), ("lib/other.py", 10)]
    assert found("lib", changed) == [("lib", 5), ("lib", 10)]
    assert places(check("--diff-base=HEAD", "-", stdin=changed)) == [("stdin", 5), ("stdin", 10)]
    repo.git("mv", "lib/a b.py", "lib/c.py")
    assert found("lib/c.py", changed) == [("lib/c.py", 10)]
    repo.write(**{"lib/c.py": ""})
    assert found("lib/c.py", changed) == [("lib/c.py", 5), ("lib/c.py", 10)]


def test_standard_input_is_as_git_writes_files(check: Run, repo: Repository) -> None:
    for way, change in (("clean", "s/shown/stored/"), ("smudge", "s/stored/shown/")):
        repo.git("config", f"filter.swap.{way}", f"sed -e {change}")
    text = DETACH.replace("x", "shown")
    repo.commit(**{".gitattributes": "*.py filter=swap\n", "a.py": text})
    assert "stored" in repo.git("show", "HEAD:a.py")
    assert places(check("--diff-base=HEAD", "-", "--stdin-filename=a.py", stdin=text.encode())) == []
    assert places(check("--diff-base=HEAD")) == []


# What cannot be told.


def test_no_git_and_no_repository(
    check: Run, repo: Repository, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(**{"a.py": DETACH})
    start = "tensorcopy check: --diff-base: "
    for revision in ("none", "", "-x", "HEAD~9", "HEAD..HEAD", "0" * 40, "HEAD:a.py", "two words"):
        ran = check(f"--diff-base={revision}")
        assert ran == Ran(b"", f"{start}this repository has no commit {revision!r}\n", 2)
    assert check("--diff-base=\0").exit == 2
    with monkeypatch.context() as without:
        without.setenv("PATH", str(repo.folder / "none"))
        assert check("--diff-base=HEAD") == Ran(b"", f"{start}git cannot be run: No such file or directory\n", 2)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo.folder.parent))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    ran = check("--diff-base=HEAD", str(repo.folder))
    assert (ran.out, ran.exit, ran.err.count("\n")) == (b"", 2, 1)
    assert ran.err.startswith(f"{start}git says: not a git repository")


def test_commits_that_a_shallow_clone_lacks(
    check: Run, repo: Repository, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repo.commit(**{"a.py": DETACH})
    repo.git("branch", "topic")
    repo.commit(**{"b.py": DETACH})
    repo.commit(**{"c.py": DETACH})
    start, end = (
        "tensorcopy check: --diff-base: ",
        "; it is a shallow clone, and `git fetch --unshallow` gets the rest\n",
    )
    folder = tmp_path_factory.mktemp("clones")
    repo.git("clone", "-q", "--depth=1", "--no-single-branch", f"file://{repo.folder}", str(folder / "shallow"))
    monkeypatch.chdir(folder / "shallow")
    assert check("--diff-base", "HEAD~1") == Ran(b"", f"{start}this repository has no commit 'HEAD~1'{end}", 2)
    ran = check("--diff-base", "origin/topic")
    assert ran == Ran(b"", f"{start}'origin/topic' and HEAD have no commit in common{end}", 2)
    (folder / "shallow" / "c.py").write_text(ALIAS)
    assert places(check("--diff-base", "HEAD")) == [("c.py", 6)]
    repo.git("clone", "-q", f"file://{repo.folder}", str(folder / "whole"))
    monkeypatch.chdir(folder / "whole")
    assert places(check("--diff-base", first)) == [("b.py", 5), ("c.py", 5)]


def test_a_repository_without_a_commit_and_one_without_files(check: Run, repo: Repository) -> None:
    assert check("--diff-base=HEAD").err == "tensorcopy check: --diff-base: this repository has no commit 'HEAD'\n"
    repo.git("config", "core.bare", "true")
    ran = check("--diff-base=HEAD")
    assert ran == Ran(b"", "tensorcopy check: --diff-base: git says: this operation must be run in a work tree\n", 2)


# With the rest of the command.


def test_in_a_hook_of_git(
    check: Run, repo: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inner = Repository(tmp_path_factory.mktemp("inner"))
    inner.commit(**{"b.py": TWO})
    repo.git("submodule", "add", "-q", str(inner.folder), "sub")
    repo.commit(**{"a.py": TWO})
    repo.write(**{"a.py": TWO.replace("a += 1", "a += 2"), "sub/b.py": TWO.replace("a += 1", "a += 3")})
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    monkeypatch.setenv("GIT_PREFIX", "")
    assert places(check("--diff-base", "HEAD")) == [("a.py", 10), ("sub/b.py", 10)]
    stdin = DETACH.encode()
    assert places(check("--diff-base=HEAD", "-", "--stdin-filename=a.py", stdin=stdin)) == []


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_and_exit_status(check: Run, repo: Repository, format: str) -> None:
    repo.commit(**{"a.py": TWO})
    found = json.loads(check("check", "--output-format=json").out)
    messages = {one["code"]: one["message"].partition(":")[0].encode() for one in found}  # SARIF has links behind
    repo.write(**{"a.py": TWO.replace("a += 1", "a += 2")})
    ran = check("check", "--diff-base=HEAD", "--output-format", format)
    assert (ran.err, ran.exit) == ("", 1)
    assert messages["TSC101"] in ran.out and messages["TSC601"] not in ran.out
    assert check("check", "--diff-base=HEAD", "--output-format", format, "--exit-zero").exit == 0
    nothing = check("check", "--diff-base=HEAD", "--output-format", format, "--select=TSC6")
    assert nothing == check("check", "--output-format", format, "--select=TSC2") and nothing.exit == 0


def test_options_that_contradict_each_other(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": DETACH})
    sentence = "tensorcopy check: --diff shows the repairs of whole files, and goes not with --diff-base\n"
    assert check("--diff-base=HEAD", "--diff") == Ran(b"", sentence, 2)
    assert check("fix", "--diff-base=HEAD").err.startswith("tensorcopy fix: '--diff-base' is no option")


def test_git_changes_nothing(check: Run, repo: Repository) -> None:
    repo.commit(**{"a.py": TWO, "b.py": TWO})
    repo.write(**{"a.py": TWO.replace("a += 1", "a += 2")})
    os.utime(repo.folder / "b.py", (1, 1))  # what git notes in its index, if it may
    before = {path: path.read_bytes() for path in (repo.folder / ".git").rglob("*") if path.is_file()}
    check("--diff-base=HEAD")
    check("--diff-base=HEAD", "-", "--stdin-filename=a.py", stdin=DETACH.encode())
    assert {path: path.read_bytes() for path in (repo.folder / ".git").rglob("*") if path.is_file()} == before


def test_files_that_have_not_changed_are_not_analysed(
    check: Run, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(**{"a.py": DETACH, "b.py": DETACH})
    repo.write(**{"b.py": ALIAS})
    seen = []

    def watched(tree: Any, lines: Any, options: Any) -> list[Finding]:
        seen.append(len(lines))
        return []

    monkeypatch.setattr("flake8_tensorcopy.files.lint", watched)
    assert check("-j1", "--diff-base=HEAD") == Ran(b"", "", 0)
    assert seen == [ALIAS.count("\n")]


def test_random_edits_are_told_as_they_are(repo: Repository) -> None:
    """The lines that git calls unchanged are the lines before, in their order; the others are those told."""
    chooser = random.Random(0)
    names = [f"{number}.py" for number in range(60)]
    before = {name: [f"{chooser.randrange(6)}" for _ in range(chooser.randrange(12))] for name in names}
    repo.commit(**{name: "\n".join(lines) for name, lines in before.items()})
    after = {}
    for name, lines in before.items():
        kept = [line for line in lines if chooser.random() < 0.8]
        for _ in range(chooser.randrange(3)):
            kept.insert(chooser.randrange(len(kept) + 1), f"new {chooser.randrange(3)}")
        after[name] = kept
        repo.write(**{name: "\n".join(kept)})
    changes = Changes("HEAD")
    for name in names:
        change = changes.of(name) or Change()
        told = {line for part in change.lines for line in part}
        rest = iter(before[name])
        assert all(line in rest for number, line in enumerate(after[name], 1) if number not in told), name
        added = {number for number, line in enumerate(after[name], 1) if line.startswith("new")}
        assert added <= told <= set(range(1, len(after[name]) + 1)), name


def test_a_patch_without_files() -> None:
    assert list(_patches(b"")) == []
