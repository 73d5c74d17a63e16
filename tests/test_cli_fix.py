"""`tensorcopy fix` as a user runs it: what is written, what is left, and what no mishap may do to a file."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flake8_tensorcopy import atomic
from flake8_tensorcopy.engine import Edit, Finding, Fix, Span
from flake8_tensorcopy.files import Task
from flake8_tensorcopy.settings import Settings
from tests.conftest import ROOT, Ran, Run, run_tensorcopy
from tests.samples import ALIAS, DETACH, FINE, write

FIXED_ALIAS = ALIAS.replace("old = a", "old = a.clone()")
BOTH = DETACH + ALIAS.partition("\n")[2]
FIXED_BOTH = FINE + ALIAS.partition("\n")[2]


def read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode() for path in folder.iterdir()}


def test_safe_repairs_are_written_and_what_is_left_is_reported(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=BOTH, b=DETACH, c=FINE)
    ran = check("fix", "--output-format=concise")
    assert (ran.places, ran.err, ran.exit) == ([("a.py", 10, 5, "TSC101")], "", 1)
    assert read(tmp_path) == {"a.py": FIXED_BOTH, "b.py": FINE, "c.py": FINE}
    assert check("fix", "--output-format=concise") == ran


def test_unsafe_repairs_are_made_when_asked_for(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=BOTH)
    assert check("fix", "--unsafe-fixes") == Ran(b"", "", 0)
    assert read(tmp_path) == {"a.py": FINE + FIXED_ALIAS.partition("\n")[2]}


def test_only_what_is_chosen_and_not_silenced_is_repaired(check: Run, tmp_path: Path) -> None:
    silenced = DETACH.replace("detach()\n", "detach()  # noqa: TSC601\n")
    write(tmp_path, a=BOTH, b=silenced, c=DETACH, d=f"# flake8: noqa\n{DETACH}")
    before = read(tmp_path)
    arguments = ("fix", "--unsafe-fixes", "--select=TSC101,TSC6", "--per-file-ignores=[ac].py:TSC6")
    assert check(*arguments).exit == 0
    after = read(tmp_path)
    assert after.pop("a.py") == DETACH + FIXED_ALIAS.partition("\n")[2]
    assert after == {name: text for name, text in before.items() if name != "a.py"}
    assert check("fix", "--disable-noqa") == Ran(b"", "", 0)
    assert "x.detach().clone()" in read(tmp_path)["b.py"] and "x.detach().clone()" in read(tmp_path)["d.py"]


@pytest.mark.parametrize("command", ["fix", "check"])
def test_a_diff_stands_alone_and_nothing_is_written(check: Run, tmp_path: Path, command: str) -> None:
    write(tmp_path, a=BOTH, b=DETACH.rstrip("\n"), broken="(\n", c=FINE)
    before = read(tmp_path)
    ran = check(command, "--diff", "a.py", "b.py", "c.py", "none.py", "broken.py")
    assert ran.out.decode() == (
        "--- a.py\n+++ a.py\n@@ -2,7 +2,7 @@\n \n \n def snapshot(x: torch.Tensor) -> torch.Tensor:\n"
        "-    return x.clone().detach()\n+    return x.detach().clone()\n \n \n"
        " def moved(a: torch.Tensor) -> torch.Tensor:\n"
        "--- b.py\n+++ b.py\n@@ -2,4 +2,4 @@\n \n \n def snapshot(x: torch.Tensor) -> torch.Tensor:\n"
        "-    return x.clone().detach()\n\\ No newline at end of file\n"
        "+    return x.detach().clone()\n\\ No newline at end of file\n"
    )
    assert [line.split()[1] for line in ran.err.splitlines()] == ["E999", "E902"]
    assert (read(tmp_path), ran.exit) == (before, 1)
    assert check(command, "--diff", "c.py") == Ran(b"", "", 0)
    assert check(command, "--diff", "broken.py").exit == 1
    assert check(command, "--diff", "--exit-zero", "a.py").exit == 0


@pytest.mark.skipif(os.name == "nt", reason="there is no `patch`")
def test_a_diff_can_be_applied(check: Run, tmp_path: Path) -> None:
    texts = {"a": BOTH, "b": DETACH.rstrip("\n"), "c": DETACH.replace("\n", "\r\n"), "d": f"é = 1\n{DETACH}"}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_bytes(text.encode())
    diff = check("fix", "--diff").out
    subprocess.run(["patch", "-p0", "--binary", "-s"], input=diff, cwd=tmp_path, check=True)
    patched = read(tmp_path)
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_bytes(text.encode())
    check("fix")
    assert read(tmp_path) == patched


ODD = {
    "crlf": DETACH.replace("\n", "\r\n").encode(),
    "cr": DETACH.replace("\n", "\r").encode(),
    "bom": b"\xef\xbb\xbf" + DETACH.encode(),
    "latin": b"# coding: latin-1\n" + DETACH.replace("return ", "print('\xe9'); return ").encode("latin-1"),
    "form feed": b"\x0c" + DETACH.replace("\n\n\n", "\n\x0c\n\n").encode(),
    "no newline": DETACH.rstrip("\n").encode(),
    "astral": DETACH.replace("return ", "print('\U0001d499'); return ").encode(),
    "nothing to repair": FINE.replace("\n", "\r\n").encode(),
    "no torch": b"\xef\xbb\xbfx = 1\r\r\n\x0c",
    "nothing": b"",
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_standard_input_goes_to_standard_output_byte_for_byte(check: Run, name: str) -> None:
    data = ODD[name]
    wanted = data.replace(b"x.clone().detach()", b"x.detach().clone()")
    assert check("fix", "-", stdin=data) == Ran(wanted, "", 0)


@pytest.mark.parametrize("name", ODD)
def test_files_keep_their_bytes_but_for_the_repair(check: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.py").write_bytes(ODD[name])
    assert check("fix") == Ran(b"", "", 0)
    assert (tmp_path / "a.py").read_bytes() == ODD[name].replace(b"x.clone().detach()", b"x.detach().clone()")


def test_beside_repaired_standard_input_all_else_goes_to_standard_error(check: Run, tmp_path: Path) -> None:
    arguments = ("fix", "--output-format=concise", "--stdin-filename=a.py", "--statistics", "-")
    ran = run_tensorcopy(*arguments, cwd=tmp_path, stdin=BOTH.encode())
    assert (ran.out.decode(), ran.exit) == (FIXED_BOTH, 1)
    first, second = ran.err.splitlines()
    assert first.startswith("a.py:10:5: TSC101 ") and second.startswith("1     TSC101 ")
    broken = check(*arguments, stdin=b"import torch\r\n(")
    assert (broken.out, broken.exit) == (b"import torch\r\n(", 1) and "E999" in broken.err
    left_out = check(*arguments, "--extend-exclude=a.py", stdin=BOTH.encode())
    assert left_out == Ran(BOTH.encode(), "", 0)
    diff = check("fix", "--diff", "-", stdin=DETACH.encode())
    assert diff.lines[:2] == ["--- stdin", "+++ stdin"] and diff.exit == 1


def test_what_cannot_be_decoded_is_left_alone_and_said_so(check: Run, tmp_path: Path) -> None:
    data = DETACH.encode() + b"# \xff\n"
    (tmp_path / "a.py").write_bytes(data)
    ran = check("fix", "--output-format=concise")
    assert (ran.places, ran.exit) == ([("a.py", 5, 12, "TSC601")], 1)
    assert ran.err.startswith("a.py: not repaired: it cannot be decoded: ") and ran.err.count("\n") == 1
    assert (tmp_path / "a.py").read_bytes() == data


def test_a_repair_that_is_taken_back_is_told(check: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bad(tree: object, lines: object, options: object) -> list[Finding]:
        fix = Fix("Break it", (Edit(Span(1, 0, 1, 1), "("),), True)
        return [Finding(Span(1, 0, 1, 1), "TSC601", "bad", fix=fix)]

    monkeypatch.setattr("flake8_tensorcopy.files.lint", bad)
    write(tmp_path, a="x = 1\n")
    ran = check("fix", "--output-format=concise")
    assert (ran.out, ran.exit) == (b"a.py:1:1: TSC601 bad\n", 1)
    assert ran.err.startswith("a.py:1: TSC601 is not repaired: the result would not do: ") and ran.err.count("\n") == 1
    assert read(tmp_path) == {"a.py": "x = 1\n"}


# Writing.


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_modes_and_links_stay(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH)
    (tmp_path / "a.py").chmod(0o751)
    (tmp_path / "b.py").symlink_to("a.py")
    (tmp_path / "c.py").symlink_to(tmp_path / "b.py")
    assert check("fix", "-j3") == Ran(b"", "", 0)
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == 0o751
    assert (tmp_path / "b.py").is_symlink() and (tmp_path / "c.py").is_symlink()
    assert read(tmp_path) == dict.fromkeys(("a.py", "b.py", "c.py"), FINE)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_read_only_file_is_left_alone_and_said_so(check: Run, tmp_path: Path, jobs: str) -> None:
    write(tmp_path, a=DETACH, b=DETACH)
    (tmp_path / "a.py").chmod(0o444)
    ran = check("fix", "-j", jobs, "--output-format=concise")
    assert (ran.places, ran.exit) == ([("a.py", 5, 12, "TSC601")], 1)
    assert ran.err == "a.py: not repaired: it is read-only\n"
    assert read(tmp_path) == {"a.py": DETACH, "b.py": FINE}


@pytest.mark.skipif(not hasattr(os, "link"), reason="there are no hard links here")
def test_a_file_with_another_hard_link_is_left_alone_and_said_so(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH)
    os.link(tmp_path / "a.py", tmp_path / "kept.txt")
    ran = check("fix", "a.py")
    assert ran.err == "a.py: not repaired: it has another hard link, which would keep the old text\n"
    assert (ran.exit, read(tmp_path)) == (1, {"a.py": DETACH, "kept.txt": DETACH})


@pytest.mark.parametrize("name", ["a.py", "b.py", "c.ipynb", "d.pyi"])
def test_a_report_never_takes_the_place_of_a_source(check: Run, tmp_path: Path, name: str) -> None:
    write(tmp_path, a=DETACH)
    ran = check("fix", "--output-file", name, "a.py")
    assert (ran.exit, ran.err) == (2, f"tensorcopy fix: --output-file: {name!r} is the name of a source file\n")
    assert read(tmp_path) == {"a.py": DETACH}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_in_a_folder_is_no_file(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH)
    os.mkfifo(tmp_path / "pipe.py")
    assert [code for *_, code in check().places] == ["TSC601"]


def test_a_file_that_changes_meanwhile_is_left_alone_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a=DETACH)
    file = tmp_path / "a.py"
    fsync = os.fsync

    def sync(number: int) -> None:
        fsync(number)
        file.write_text("# mine\n")

    monkeypatch.setattr(os, "fsync", sync)
    outcome = Task(Settings(), "fix")(str(file))
    assert outcome.notes == (f"{file}: not repaired: it has changed since it was read",)
    assert (outcome.fixed, read(tmp_path)) == (0, {"a.py": "# mine\n"})


@pytest.mark.parametrize("name", ["write", "flush", "fsync", "chmod", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(tmp_path, a=DETACH)

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    if name in ("write", "flush"):
        import tempfile

        make = tempfile.NamedTemporaryFile

        def failing(*arguments: object, **settings: object) -> object:
            made = make(*arguments, **settings)  # type: ignore[call-overload]
            setattr(made, name, full)
            return made

        monkeypatch.setattr(tempfile, "NamedTemporaryFile", failing)
    else:
        monkeypatch.setattr(os, name, full)
    with pytest.raises(atomic.Unwritable, match="No space left on device"):
        atomic.rewrite(str(tmp_path / "a.py"), DETACH.encode(), FINE.encode())
    assert read(tmp_path) == {"a.py": DETACH}


@pytest.mark.skipif(os.name == "nt", reason="kills a group of processes")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_at_any_time_each_file_is_the_old_or_the_new_one(tmp_path: Path, jobs: str) -> None:
    names = [f"f{number:03}" for number in range(120)]
    write(tmp_path, **dict.fromkeys(names, DETACH))
    process = subprocess.Popen(
        [sys.executable, "-m", "flake8_tensorcopy.cli", "fix", "-j", jobs],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while (tmp_path / "f003.py").read_text() != FINE and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left = read(tmp_path)
    assert {left[f"{name}.py"] for name in names} == {DETACH, FINE}
    assert not [name for name in left if name.endswith(".py") and name[:-3] not in names]
    assert run_tensorcopy("fix", cwd=tmp_path) == Ran(b"", "", 0)
    assert {read(tmp_path)[f"{name}.py"] for name in names} == {FINE}


def test_any_number_of_processes_gives_the_same(check: Run, tmp_path: Path) -> None:
    texts = {f"f{number}": text for number, text in enumerate([BOTH, DETACH, ALIAS, FINE, "(\n", BOTH, DETACH])}
    results = []
    for jobs in ("1", "2", "5", "auto"):
        write(tmp_path, **texts)
        checked = check("check", "-j", jobs, "--output-format=concise")
        diff = check("fix", "-j", jobs, "--diff")
        fixed = check("fix", "-j", jobs, "--output-format=concise")
        results.append((checked, diff, fixed, read(tmp_path)))
    assert results.count(results[0]) == len(results)
    assert len(results[0][0].places) == 8 and len(results[0][2].places) == 4
