"""`tensorcopy check` as a user runs it: what is shown where, and how it ends."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy import cli
from flake8_tensorcopy.commands import _fixable
from flake8_tensorcopy.config import DEBUG
from flake8_tensorcopy.engine import Finding, Fix, Span
from flake8_tensorcopy.lint import lint
from flake8_tensorcopy.registry import rules
from flake8_tensorcopy.settings import Settings
from flake8_tensorcopy.terminal import colored
from tests.conftest import ROOT, Ran, Run, run_tensorcopy
from tests.samples import ALIAS, DETACH, FINE, write


def test_a_clean_file_is_silent(check: Run, tmp_path: Path) -> None:
    write(tmp_path, fine=FINE)
    assert check("fine.py") == check() == Ran(b"", "", 0)


def test_findings_are_told_in_the_order_of_files_and_lines(check: Run, tmp_path: Path) -> None:
    write(tmp_path, b=ALIAS, a=DETACH + ALIAS.partition("\n")[2])
    ran = check("b.py", "a.py")
    assert ran.places == [("a.py", 5, 12, "TSC601"), ("a.py", 10, 5, "TSC101"), ("b.py", 6, 5, "TSC101")]
    assert (ran.err, ran.exit) == ("", 1)
    assert check(str(tmp_path)) == check(".") == check() == ran
    assert check("--exit-zero").exit == 0


def test_what_cannot_be_read_or_parsed_is_told_beside_the_rest(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH, broken="import torch\nx = (\n")
    ran = check("none.py", "broken.py", "a.py")
    assert [place[0::3] for place in ran.places] == [
        ("a.py", "TSC601"),
        ("broken.py", "E999"),
        ("none.py", "E902"),
    ]
    assert "E902 FileNotFoundError: [Errno 2] No such file or directory: 'none.py'" in ran.lines[-1]
    assert check("broken.py").exit == check("none.py").exit == 1
    assert check("broken.py", "--select=TSC1").exit == 1
    assert check("none.py", "broken.py", "--extend-ignore=E9") == Ran(b"", "", 0)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("path", [".", "./lib", "lib/closed"])
def test_a_folder_that_cannot_be_listed_is_told_beside_the_rest(
    check: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, jobs: str
) -> None:
    """A folder that is passed over in silence looks clean; one that is left out needs no look."""
    closed = tmp_path / "lib" / "closed"
    closed.mkdir(parents=True)
    write(tmp_path / "lib", a=DETACH)
    scandir = os.scandir

    def refusing(of: Any) -> Any:
        if os.path.abspath(of) == str(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), of)
        return scandir(of)

    monkeypatch.setattr(os, "scandir", refusing)
    ran = check(path, "-j", jobs)
    assert ran.places[-1] == ("lib/closed", 1, 1, "E902")
    assert "E902 PermissionError: [Errno 13] Permission denied: " in ran.lines[-1]
    assert (ran.exit, len(ran.places)) == (1, 1 if path == "lib/closed" else 2)
    assert check("--extend-exclude=closed", path).codes == (["TSC601"] if path != "lib/closed" else [])


def test_the_current_folder_may_be_gone(check: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=DETACH)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for arguments in ((), (str(tmp_path / "a.py"),), ("--isolated",)):
        told = "tensorcopy check: the current folder cannot be used: No such file or directory\n"
        assert check(*arguments) == Ran(b"", told, 2)


def test_too_deep_a_file_is_not_analysed(check: Run, tmp_path: Path) -> None:
    write(tmp_path, deep="import torch\nx = " + "-" * 20_000 + "1\n")
    (line,) = check("deep.py").lines
    assert line.startswith("deep.py:1:1: TSC000 not analysed: ")


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (("--select=TSC1",), ["TSC101"]),
        (("--ignore=TSC1",), ["TSC601"]),
        (("--select", "TSC", "--extend-ignore", "TSC601"), ["TSC101"]),
        (("--select=TSC6", "--extend-select=TSC101"), ["TSC101", "TSC601"]),
        (("--per-file-ignores=alias.py:TSC",), ["TSC601"]),
        (("--extend-exclude=alias.py",), ["TSC601"]),
        (("--filename=al*.py,./al*.py",), ["TSC101"]),
    ],
)
def test_codes_and_files_are_chosen(check: Run, tmp_path: Path, arguments: tuple[str, ...], codes: list[str]) -> None:
    write(tmp_path, alias=ALIAS, detach=DETACH)
    assert [place[3] for place in check(*arguments, ".").places] == codes


def test_paths_may_stand_between_the_options(check: Run, tmp_path: Path) -> None:
    write(tmp_path, alias=ALIAS, detach=DETACH)
    assert len(check("alias.py", "--select", "TSC", "detach.py", "--no-preview").places) == 2


def test_preview_and_calls_that_train(check: Run, tmp_path: Path) -> None:
    preview = ROOT / "fixtures" / "TSC208"
    (code,) = {place[3] for place in check("--preview", "--select=TSC208", str(preview)).places}
    assert code == "TSC208"
    ran = check("--select=TSC208", str(preview))
    assert (ran.out, ran.err, ran.exit) == (b"", "tensorcopy check: TSC208 has no effect without --preview\n", 0)
    write(
        tmp_path,
        trained="import torch\n\n\ndef run(model: torch.nn.Module, data: object) -> dict[str, torch.Tensor]:\n"
        "    best = model.state_dict()\n    polish(model, data)\n    model.load_state_dict(best)\n    return best\n",
    )
    assert check("trained.py").exit == 0
    assert [place[3] for place in check("trained.py", "--train-calls=polish").places] == ["TSC112"]


def test_settings_of_files_are_used(check: Run, tmp_path: Path) -> None:
    write(tmp_path, alias=ALIAS, detach=DETACH)
    (tmp_path / "setup.cfg").write_text("[flake8]\nselect = TSC1,E\n")
    assert [place[3] for place in check(".").places] == ["TSC101"]
    (tmp_path / "pyproject.toml").write_text('[tool.tensorcopy]\nselect = ["TSC6"]\n')
    assert [place[3] for place in check(".").places] == ["TSC601"]
    assert [place[3] for place in check(".", "--config=setup.cfg").places] == ["TSC101"]
    assert [place[3] for place in check(".", "--isolated").places] == ["TSC101", "TSC601"]
    (tmp_path / "pyproject.toml").write_text("[tool.tensorcopy]\nselct = 1\n")
    ran = check(".")
    assert (ran.out, ran.exit) == (b"", 2)
    assert ran.err.startswith("tensorcopy check: ") and ran.err.endswith("no setting 'selct'; did you mean 'select'?\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chek", "a.py"), "tensorcopy: 'chek' is no command; did you mean 'check'?"),
        (("check", "--selekt=TSC"), "tensorcopy check: '--selekt' is no option; did you mean '--select'?"),
        (("check", "--sel", "TSC"), "tensorcopy check: '--sel' is no option; did you mean '--select'?"),
        (("fix", "--unsafe"), "tensorcopy fix: '--unsafe' is no option; did you mean '--unsafe-fixes'?"),
        (("check", "--select=TSC9"), "tensorcopy check: --select: 'TSC9' matches no rule"),
        (("check", "-j", "x"), "tensorcopy check: --jobs must be a number of processes or 'auto', not 'x'"),
        (("check", "--output-format=x"), "tensorcopy check: --output-format must be one of "),
        (("check", "--color=x"), "tensorcopy check: argument --color: invalid choice: 'x'"),
        (("check", "--select"), "tensorcopy check: argument --select: expected one argument"),
        (("check", "--isolated", "--config=x"), "tensorcopy check: argument --config: not allowed with"),
        (("check", "--config=x"), "tensorcopy check: The specified config file does not exist: x"),
        (("check", "--output-file=none/x"), "tensorcopy check: cannot write 'none/x': there is no folder"),
        (("fix", "-", "a.py"), "tensorcopy fix: `-` gives the repaired text on standard output"),
        (("rules", "TSC1"), "tensorcopy rules: 'TSC1' is one argument too many"),
        (("explain",), "tensorcopy explain: one of the arguments CODE|NAME --all is required"),
        (("explain", "TSC1O1"), "tensorcopy explain: 'TSC1O1' is no rule; did you mean 'TSC101'?"),
        ((), "tensorcopy: the following arguments are required: COMMAND"),
    ],
)
def test_what_is_not_understood_gets_one_sentence_and_2(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = cli.main(arguments)
    except SystemExit as left:
        status = int(str(left.code))
    out, err = capfd.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith(message) and err.count("\n") == 1


def test_standard_input_has_a_name(check: Run, tmp_path: Path) -> None:
    ran = run_tensorcopy("check", "--output-format=concise", "-", cwd=tmp_path, stdin=ALIAS.encode())
    assert ran.places == [("stdin", 6, 5, "TSC101")]
    write(tmp_path, other=DETACH)
    ran = check("-", "other.py", "--stdin-filename=lib/a.py", stdin=ALIAS.encode())
    assert (ran.places, ran.exit, ran.err) == ([("lib/a.py", 6, 5, "TSC101"), ("other.py", 5, 12, "TSC601")], 1, "")
    for option in ("--per-file-ignores=lib/*:TSC1", "--extend-exclude=a.py"):
        assert check("-", "--stdin-filename=lib/a.py", option, stdin=ALIAS.encode()) == Ran(b"", "", 0)


def test_a_failure_inside_is_told_of_its_file_only(check: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=DETACH, b=ALIAS)

    def failing(tree: Any, lines: Any, options: Any) -> list[Finding]:
        if "    old = a\n" in lines:
            raise RuntimeError("boom")
        return lint(tree, lines, options)

    monkeypatch.setattr("flake8_tensorcopy.files.lint", failing)
    for jobs in ("1", "2"):
        ran = check("-j", jobs, "a.py", "b.py")
        assert (ran.lines[1], ran.exit) == ("b.py:1:1: TSC000 not analysed: RuntimeError: boom", 1)
        assert ran.places[0] == ("a.py", 5, 12, "TSC601")
    monkeypatch.setenv(DEBUG, "1")
    with pytest.raises(RuntimeError, match="boom") as caught:
        check("-j2", "a.py", "b.py")
    assert caught.value.__notes__ == ["while linting b.py"]


def test_a_process_that_dies_costs_its_file_only(check: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=DETACH, b=ALIAS, c=DETACH)

    def dying(tree: Any, lines: Any, options: Any) -> list[Finding]:
        if "    old = a\n" in lines:
            os.kill(os.getpid(), signal.SIGKILL)
        return lint(tree, lines, options)

    monkeypatch.setattr("flake8_tensorcopy.files.lint", dying)
    ran = check("-j2", "a.py", "b.py", "c.py")
    assert [place[0::3] for place in ran.places] == [("a.py", "TSC601"), ("b.py", "TSC000"), ("c.py", "TSC601")]
    assert ran.lines[1] == "b.py:1:1: TSC000 not analysed: its process was ended by SIGKILL"


def test_a_failure_of_the_command_itself_ends_with_2(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(options: object, given: object) -> int:
        raise KeyError("boom")

    monkeypatch.setattr("flake8_tensorcopy.commands.run", failing)
    ran = check("some.py")
    assert (ran.exit, ran.out) == (2, b"")
    assert ran.err == f"tensorcopy: internal error: KeyError: 'boom' (with {DEBUG}=1 it is raised)\n"
    monkeypatch.setenv(DEBUG, "1")
    with pytest.raises(KeyError):
        check("some.py")


WAITING = """\
import sys, time
from flake8_tensorcopy import cli

class Waiting:
    def read(self):
        print("waiting", flush=True)
        time.sleep(60)

class Stdin:
    buffer = Waiting()

sys.stdin = Stdin()
sys.exit(cli.main(["check", "-"]))
"""


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"tensorcopy: interrupted\n"
    assert process.returncode == 130


IMPORTING = """\
import os, signal, sys

at, sys.argv[1:] = sys.argv[1], ["check"]

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == at:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from flake8_tensorcopy.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["flake8_tensorcopy.cli", "flake8_tensorcopy.report", "flake8_tensorcopy.commands"])
def test_an_interrupt_on_the_way_to_the_command_is_told_the_same(module: str, tmp_path: Path) -> None:
    """While the command is imported, its options are read, and it begins."""
    command = [sys.executable, "-c", IMPORTING, module]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr, ran.stdout) == (130, "tensorcopy: interrupted\n", "")


def test_the_package_runs_as_the_command_does(tmp_path: Path) -> None:
    write(tmp_path, a=DETACH)
    command = [sys.executable, "-m", "flake8_tensorcopy", "check", "--output-format=concise"]
    ran = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, run_tensorcopy(*command[3:], cwd=tmp_path).out)


# What is shown.


def test_counts_of_each_code_follow_the_report(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH, b=DETACH, c=ALIAS, d="(\n")
    counts = ["2     TSC601 " + rules()["TSC601"].summary, "1     E999 cannot be parsed"]
    counts.append("1     TSC101 " + rules()["TSC101"].summary)
    assert check("--statistics", ".").lines[-3:] == counts
    assert check("--statistics", "--select=TSC601", "c.py") == Ran(b"", "", 0)


def test_the_report_goes_to_a_file_in_one_step(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH)
    shown = check("a.py")
    ran = check("a.py", "--output-file=report.txt")
    assert (ran, (tmp_path / "report.txt").read_bytes()) == (Ran(b"", "", 1), shown.out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "report.txt"]


def at_a_terminal(*arguments: str, cwd: Path, stream: str, env: dict[str, str] | None = None) -> bytes:
    """What the command writes to its standard output or error, when that is a terminal of 200 columns."""
    pty = pytest.importorskip("pty")
    termios = pytest.importorskip("termios")
    mine, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 200))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    process = subprocess.Popen(
        [sys.executable, "-m", "flake8_tensorcopy.cli", *arguments],
        cwd=cwd,
        env=kept | {"PYTHONPATH": str(ROOT), "TERM": "xterm"} | (env or {}),
        **streams,
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(mine, 4096):
            shown += part
    except OSError:  # so Linux tells that the other end is closed
        pass
    os.close(mine)
    process.wait(timeout=60)
    return shown.replace(b"\r\n", b"\n")


def test_a_summary_is_for_terminals(tmp_path: Path) -> None:
    write(tmp_path, a=DETACH, b=DETACH + ALIAS.partition("\n")[2])
    shown = at_a_terminal("check", "--isolated", cwd=tmp_path, stream="stderr")
    assert shown.endswith(b"3 findings in 2 files; [*] 2 fixable with `tensorcopy fix` (1 more with --unsafe-fixes)\n")
    shown = at_a_terminal("check", "--isolated", "--select=TSC1", cwd=tmp_path, stream="stderr")
    assert shown.endswith(b"1 finding in 1 file; 1 fixable with `tensorcopy fix --unsafe-fixes`\n")
    shown = at_a_terminal("fix", "--isolated", cwd=tmp_path, stream="stderr")
    assert shown.endswith(
        b"2 findings repaired in 2 files\n1 finding in 1 file; 1 fixable with `tensorcopy fix --unsafe-fixes`\n"
    )
    assert at_a_terminal("check", "--isolated", "a.py", cwd=tmp_path, stream="stderr") == b""


def test_reports_for_machines_tell_where_a_comment_belongs(check: Run, tmp_path: Path) -> None:
    write(tmp_path, a=DETACH.replace("x.clone().", "x.clone() \\\n        ."))
    (found,) = json.loads(check("check", "a.py", "--output-format=json").out)
    assert (found["code"], found["location"]["row"], found["noqa_row"]) == ("TSC601", 5, 6)
    counted = check("check", "a.py", "--output-format=json", "--statistics")
    assert json.loads(counted.out) == [found] and counted.err.startswith("1     TSC601 ")
    for format in ("json", "sarif", "gitlab"):
        assert json.loads(check("check", "--output-format", format, "--select=TSC1").out) is not None


def test_colours_are_for_terminals(tmp_path: Path) -> None:
    write(tmp_path, a=DETACH)
    assert b"\x1b[" in at_a_terminal("check", "--isolated", cwd=tmp_path, stream="stdout")
    assert b"\x1b[" not in at_a_terminal("check", "--isolated", cwd=tmp_path, stream="stdout", env={"NO_COLOR": "1"})
    assert b"\x1b[" not in run_tensorcopy("check", "--isolated", cwd=tmp_path).out
    assert b"\x1b[" in at_a_terminal("explain", "TSC601", cwd=tmp_path, stream="stdout")


@pytest.mark.parametrize(
    ("arguments", "env", "coloured"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"NO_COLOR": ""}, True),
        ((), {"TERM": "dumb"}, False),
        (("--color=always",), {"NO_COLOR": "1"}, True),
        (("--color=never",), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], env: dict[str, str], coloured: bool
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    wanted = arguments[0].partition("=")[2] if arguments else "auto"
    assert colored(wanted, Terminal()) is coloured  # type: ignore[arg-type]


def test_no_colours_elsewhere_unless_they_are_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with open(tmp_path / "x", "w") as file:
        assert not colored("auto", file)
        assert colored("always", file)
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert colored("auto", file)
        monkeypatch.setenv("NO_COLOR", "1")
        assert not colored("auto", file)


def test_summary_counts_unsafe_repairs_as_wanted() -> None:
    def finding(safe: bool | None) -> Finding:
        return Finding(Span(1, 0, 1, 0), "TSC101", "m", fix=None if safe is None else Fix("Do", (), safe))

    findings = [finding(True), finding(False), finding(None)]
    assert _fixable(findings, Settings(unsafe_fixes=True)) == "; [*] 2 fixable with `tensorcopy fix`"
    assert _fixable([finding(None)], Settings()) == ""


# Start.


ASK = """\
import sys
from flake8_tensorcopy import cli
try:
    cli.main(sys.argv[1:])
except SystemExit:
    pass
print("imported:", *sorted({"libcst", "rich", "torch", "numpy"} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("check", "--help"), ("check", "plain.py"), ("fix", "plain.py"), ("check", "quiet.py"), ("rules",)],
)
def test_nothing_costly_is_imported_in_vain(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write(tmp_path, plain="import os\nx = os.sep\n", quiet="import torch\nx = torch.ones(2)\n")
    done = subprocess.run(
        [sys.executable, "-c", ASK, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "imported:"


# The other commands.


def test_explain_prints_pages_and_json(check: Run) -> None:
    one = check("explain", "TSC601")
    assert (one.lines[0], one.exit) == ("# clone-then-detach (TSC601)", 0)
    described = json.loads(check("explain", "clone-then-detach", "--output-format=json").out)
    assert described == {
        "code": "TSC601",
        "name": "clone-then-detach",
        "summary": rules()["TSC601"].summary,
        "preview": False,
        "fix": "safe",
        "page": one.out.decode(),
    }
    everything = check("explain", "--all").out.decode()
    assert all(f"# {rule.name} ({rule.code})\n" in everything for rule in rules().values())
    pages = json.loads(check("explain", "--all", "--output-format=json").out)
    assert [page["code"] for page in pages] == list(rules()) and described in pages


def test_rules_are_listed_in_columns_and_as_json(check: Run) -> None:
    lines = check("rules").lines
    assert [line.split()[:2] for line in lines] == [[rule.code, rule.name] for rule in rules().values()]
    for rule, line in zip(rules().values(), lines, strict=True):
        assert line.split()[2:5] == ["preview" if rule.preview else "on", "fix:", rule.fix]
        assert line.endswith(f"  {rule.summary}")
    assert len({line.index(rule.summary) for rule, line in zip(rules().values(), lines, strict=True)}) == 1
    found = json.loads(check("rules", "--output-format=json").out)
    assert [rule["code"] for rule in found] == list(rules())
    assert set(found[0]) == {"code", "name", "summary", "preview", "fix"}
