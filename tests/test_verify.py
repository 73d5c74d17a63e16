"""`tensorcopy verify`: broken fixtures are told from sound ones, and one of them never stops the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy import cli
from flake8_tensorcopy.registry import rules
from flake8_tensorcopy.verify import report, runner
from flake8_tensorcopy.verify.command import Unusable, choose
from flake8_tensorcopy.verify.fixtures import Fixture, load
from flake8_tensorcopy.verify.runner import LONGEST, Limits, Result, Torch
from tests.conftest import ROOT

CPU = Torch("2.13.0", "", {"cpu": None, "sim": None, "cuda": "torch finds no accelerator on this machine"})


def write(folder: Path, name: str, claim: str, *parts: str) -> Fixture:
    path = folder / "TSC103" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    body = "\n".join(map(textwrap.dedent, parts))
    refusal = "RAISES = 'allocate'\n" if claim == "raises" else ""
    path.write_text(f"import torch\n\nCLAIM = {claim!r}\n{refusal}\n{body}", encoding="utf-8")
    return load(path)


SOUND = """
    def bad_detach():
        weight = torch.zeros(3)
        before = weight.detach()
        weight.add_(1)
        return before, torch.zeros(3)

    def good_detach():
        weight = torch.zeros(3)
        before = weight.detach().clone()
        weight.add_(1)
        return before, torch.zeros(3)
    """
SOUND_AFTER = """
    def good_after():
        return torch.zeros(3), torch.zeros(3)
    """

# Each fixture is wrong in its own way: its claim, the verdict on its first function, and what the report says of it.
BROKEN = {
    "the bug makes no difference": (
        "values",
        """
        def bad_detach():
            weight = torch.zeros(3)
            before = weight.detach().clone()
            weight.add_(1)
            return before, torch.zeros(3)
        """,
        "refuted",
        "0 of 3 elements wrong",
    ),
    "the remedy is none": (
        "values",
        """
        def good_detach():
            weight = torch.zeros(3)
            before = weight.detach()
            weight.add_(1)
            return before, torch.zeros(3)
        """,
        "refuted",
        "3 of 3 elements wrong",
    ),
    "it never ends": (
        "values",
        """
        def bad_loop():
            while True:
                pass
        """,
        "failed",
        "timed out after 6 s",
    ),
    "it crashes Python": (
        "values",
        """
        import ctypes

        def bad_pointer():
            return ctypes.string_at(0)
        """,
        "failed",
        "the process ended: killed by SIGSEGV",
    ),
    "it aborts Python": (
        "raises",
        """
        import os

        def bad_abort():
            os.abort()
        """,
        "failed",
        "the process ended: killed by SIGABRT",
    ),
    "it eats memory as torch does": (
        "raises",
        """
        def bad_memory():
            kept = []
            for _ in range(100):
                kept.append(torch.ones(1 << 28))
        """,
        "failed",
        "out of memory: it wants more than 512 MiB",
    ),
    "it eats memory as Python does": (
        "values",
        """
        def bad_memory():
            return bytearray(1 << 40), b""
        """,
        "failed",
        "out of memory: it wants more than 512 MiB",
    ),
    "it leaves": (
        "values",
        """
        def bad_exit():
            raise SystemExit("done")
        """,
        "failed",
        "SystemExit: done",
    ),
    "it leaves at once": (
        "values",
        """
        import os

        def bad_exit():
            os._exit(0)
        """,
        "failed",
        "the process ended: exit status 0",
    ),
    "it is no program": (
        "values",
        """
        def bad_name():
            return undefined
        """,
        "failed",
        "bad_name raised NameError: name 'undefined' is not defined",
    ),
    "it returns something else": (
        "storage",
        """
        def bad_pair():
            return torch.zeros(3), torch.zeros(3)
        """,
        "failed",
        "bad_pair must return 3 things for the claim 'storage'",
    ),
    "it talks to the terminal, at length": (
        "values",
        """
        def bad_escape():
            raise ValueError("\\x1b[31m" + "\\udcff" * 5000)
        """,
        "failed",
        "bad_escape raised ValueError: \\x1b[31m\\udcff\\udcff",
    ),
    "it interrupts": (
        "values",
        """
        def bad_interrupt():
            raise KeyboardInterrupt
        """,
        "failed",
        "KeyboardInterrupt",
    ),
    "it answers for the one before": (
        "values",
        """
        import os

        def bad_fork():
            os.fork()
            return torch.zeros(3), torch.zeros(3)
        """,
        "refuted",
        "0 of 3 elements wrong",
    ),
}


def measured(fixtures: Sequence[Fixture], devices: Sequence[str] = ("cpu",), **more: Any) -> list[Result]:
    return runner.run(fixtures, devices, torch=CPU, **more)


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="signals and the bound on memory are those of Linux")
def test_every_broken_fixture_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    sound = write(tmp_path, "sound", "values", SOUND)
    broken = [
        write(tmp_path, name.replace(" ", "_"), claim, body, SOUND_AFTER if claim == "values" else "")
        for name, (claim, body, *_) in BROKEN.items()
    ]
    told: list[tuple[int, int]] = []
    results = measured(
        [*broken, sound], limits=Limits(6, 512 << 20), progress=lambda done, total: told.append((done, total))
    )
    by_fixture: dict[str, list[Result]] = {}
    for result in results:
        by_fixture.setdefault(result.fixture, []).append(result)
    assert list(by_fixture) == [fixture.label for fixture in (*broken, sound)]
    for fixture, (name, (_, _, verdict, text)) in zip(broken, BROKEN.items(), strict=True):
        first, *others = by_fixture[fixture.label]
        assert (first.verdict, text in first.text, len(first.text) < 2 * LONGEST) == (verdict, True, True), (
            f"{name}: {first.verdict}: {first.text[:200]}"
        )
        assert [other.verdict for other in others] == ["confirmed"] * (len(fixture.functions) - 1), name
    assert [result.verdict for result in by_fixture[sound.label]] == ["confirmed", "confirmed"]
    assert by_fixture[sound.label][0].text.startswith("3 of 3 elements wrong")
    assert sorted(told)[-1] == (len(results), len(results))


def gone(process: int) -> bool:
    """Has a process ended? One that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for(event: Callable[[], object]) -> None:
    for _ in range(600):
        if event():
            return
        time.sleep(0.1)
    pytest.fail("it did not happen within a minute")


HANGS = """
    import subprocess
    import time

    def bad_hang():
        child = subprocess.Popen(["sleep", "600"])
        with open({file!r}, "w") as file:
            print(child.pid, file=file, flush=True)
        {then}
    """


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize("then", ["return torch.zeros(3), torch.ones(3)", "time.sleep(600)"])
def test_what_a_function_has_started_ends_with_it(then: str, tmp_path: Path) -> None:
    file = tmp_path / "process"
    fixture = write(tmp_path, "hang", "values", HANGS.format(file=str(file), then=then))
    measured([fixture], limits=Limits(seconds=6))
    wait_for(lambda: gone(int(file.read_text())))


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    ("number", "status", "message"),
    [(signal.SIGINT, 130, "tensorcopy: interrupted\n"), (signal.SIGTERM, 143, "")],
)
def test_a_run_that_is_stopped_leaves_nothing_behind(number: int, status: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "process"
    fixture = write(tmp_path, "hang", "values", HANGS.format(file=str(file), then="time.sleep(600)"))
    command = [sys.executable, "-m", "flake8_tensorcopy.cli", "verify", str(fixture.path), "--output-file", "report"]
    run = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: file.exists() and file.read_text().endswith("\n"))
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (status, message)
    wait_for(lambda: gone(int(file.read_text())))
    assert not (tmp_path / "report").exists()


@pytest.mark.torch
def test_the_seed_reaches_the_program(tmp_path: Path) -> None:
    body = """
        import random

        import numpy as np

        def good_drawn():
            return (torch.rand(3), random.random(), np.random.rand()), (torch.zeros(3), 0.0, 0.0)
        """
    fixture = write(tmp_path, "drawn", "values", body)
    first, again, other = (measured([fixture], seed=seed)[0].text for seed in (1, 1, 2))
    assert first == again != other


def test_what_a_device_cannot_do_is_skipped_with_its_reason(tmp_path: Path) -> None:
    host = write(tmp_path, "host", "values", SOUND, 'DEVICES = "host: an array lies there"\n')
    moves = write(tmp_path, "moves", "transfers", "def bad_move(): ...\ndef good_move(): ...\n")
    results = measured([host], ["cuda"]) + measured([moves], ["cpu"])
    assert [(result.verdict, result.text) for result in results] == [
        ("skipped", "torch finds no accelerator on this machine"),
        ("skipped", "torch finds no accelerator on this machine"),
        ("skipped", "there is no device to copy to or from"),
        ("skipped", "there is no device to copy to or from"),
    ]
    assert {result.text for result in measured([host], ["sim"])} == {"an array lies there"}
    there = write(tmp_path, "there", "values", SOUND, 'DEVICES = "accelerator: nothing moves"\n')
    assert {result.text for result in measured([there], ["cpu"])} == {"nothing moves"}
    race = write(tmp_path, "race", "values", SOUND, 'DEVICES = "simulated: it is a race"\n')
    assert {result.text for result in measured([race], ["cpu"])} == {"it is a race"}


# The report.


def result(function: str, verdict: runner.VerdictName, claim: str, device: str = "cpu", **figures: int) -> Result:
    bad = function.startswith("bad")
    return Result("TSC103/x", "TSC103", claim, function, bad, device, verdict, f"text of {function}", figures)


def built(tmp_path: Path, *results: Result, devices: Sequence[str] = ("cpu",)) -> dict[str, Any]:
    fixture = write(tmp_path, "x", "values", SOUND)
    return report.build([fixture], [], results, rules(), CPU, 0, devices)


def test_the_worst_verdict_is_that_of_the_claim(tmp_path: Path) -> None:
    def verdict(*verdicts: runner.VerdictName) -> str:
        found = [result(f"good_{place}", name, "raises", refused=0) for place, name in enumerate(verdicts)]
        text: str = built(tmp_path, *found)["rules"]["TSC103"]["claims"][0]["verdict"]
        return text

    assert verdict("confirmed", "confirmed") == "confirmed"
    assert verdict("confirmed", "refuted", "failed") == "refuted"
    assert verdict("failed", "confirmed", "skipped") == "failed"
    assert verdict("skipped", "confirmed") == "confirmed"
    assert verdict("skipped", "skipped") == "skipped"


def test_figures_add_up_and_costs_only_over_pairs(tmp_path: Path) -> None:
    values = [
        result("bad_a", "confirmed", "values", wrong=3, elements=3),
        result("bad_b", "confirmed", "values", wrong=1, elements=2),
        result("good_c", "confirmed", "values", wrong=0, elements=7),
        result("good_d", "failed", "values"),
    ]
    costs = [
        result("bad_a", "confirmed", "transfers", "sim", copies=1, bytes=4_000_000, waits=1, idle=0),
        result("good_a", "confirmed", "transfers", "sim", copies=1, bytes=4, waits=1, idle=0),
        result("good_alone", "confirmed", "transfers", "sim", copies=9, bytes=99, waits=9, idle=0),
    ]
    found = built(tmp_path, *values, *costs, devices=("cpu", "sim"))["rules"]["TSC103"]["claims"]
    assert found[0]["bad"] == {"functions": 2, "figures": {"wrong": 4, "elements": 5}}
    assert found[0]["good"] == {"functions": 1, "figures": {"wrong": 0, "elements": 7}}
    assert found[1]["good"]["figures"]["bytes"] == 4
    assert found[1]["evidence"] == (
        "torch 2.13.0, simulated accelerator, transfers: confirmed; "
        "1 function with the bug: 1 copy of 4,000,000 bytes, 1 wait, 0 host tensors only to be read; "
        "2 functions without the bug: 1 copy of 4 bytes, 1 wait, 0 host tensors only to be read."
    )


def test_what_was_repaired_is_a_side_of_its_own(tmp_path: Path) -> None:
    before = [result("bad_a", "confirmed", "values", wrong=3, elements=3)]
    after = [replace(result("bad_a", verdict, "values", wrong=0, elements=3), bad=False, fixed=True)
             for verdict in ("confirmed", "refuted")]  # fmt: skip
    good = [result("good_a", "confirmed", "values", wrong=0, elements=3)]
    (claim,) = built(tmp_path, *before, *good, after[0])["rules"]["TSC103"]["claims"]
    assert claim["evidence"].endswith("; 1 function after the fix: 0 of 3 elements wrong.")
    assert [claim[side]["functions"] for side in ("bad", "good", "fixed")] == [1, 1, 1]
    found = built(tmp_path, *before, *good, after[1])
    assert report.refuted(found)
    assert found["rules"]["TSC103"]["claims"][0]["functions"][-1] == {
        "fixture": "TSC103/x",
        "function": "bad_a",
        "repaired": True,
        "verdict": "refuted",
        "figures": {"wrong": 0, "elements": 3},
        "reason": "text of bad_a",
    }


def test_the_reason_is_told_where_something_is_not_confirmed(tmp_path: Path) -> None:
    found = built(tmp_path, result("bad_a", "refuted", "values", wrong=0, elements=1))
    (claim,) = found["rules"]["TSC103"]["claims"]
    assert claim["functions"][0]["reason"] == "text of bad_a"
    assert claim["evidence"] == "torch 2.13.0, CPU, values: refuted: text of bad_a."
    assert report.refuted(found)
    assert not report.refuted(built(tmp_path, result("bad_a", "confirmed", "values", wrong=1, elements=1)))
    assert report.refuted({"rules": {}, "tables": {}, "ops": {"disagreements": ["one"]}})


# Choosing.


def labels(*what: str) -> list[str]:
    return [fixture.label for fixture in choose(what)]


def test_fixtures_are_chosen_by_code_name_label_and_path() -> None:
    assert labels("TSC501") == labels("transfer-for-scalar") == ["TSC501/logging_loss", "TSC501/whole_tensors"]
    assert labels("TSC501/whole_tensors", "TSC501/whole_tensors") == ["TSC501/whole_tensors"]
    assert {label[:4] for label in labels("TSC2")} == {"TSC2"}
    assert labels("tables/copies") == ["tables/copies"]
    assert set(labels()) == {*labels("TSC"), *labels("tables")}


def test_a_fixture_of_ones_own_is_chosen_by_its_path(tmp_path: Path) -> None:
    fixture = write(tmp_path, "sound", "values", SOUND)
    assert choose([str(fixture.path)]) == [fixture]


@pytest.mark.parametrize(
    ("argument", "hint"),
    [("TSC999", ""), ("TSC5O1", "'TSC501'"), ("tsc101", "'TSC101'"), ("alias-then-inplcae", "'alias-then-inplace'")],
)
def test_what_names_nothing_is_refused(argument: str, hint: str) -> None:
    with pytest.raises(Unusable, match=f"'{argument}' is no rule.*{hint}"):
        choose([argument])


# The command.


def tensorcopy(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flake8_tensorcopy.cli", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | (env or {}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.torch
def test_a_confirmed_rule_exits_with_0_and_shows_its_figures(tmp_path: Path) -> None:
    run = tensorcopy("verify", "TSC601", "tables", "--device", "cpu", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    (row,) = [line.split() for line in run.stdout.splitlines() if line.startswith("TSC601")]
    with_bug = sum(len(fixture.bad) for fixture in choose(["TSC601"]))
    assert row[:6] == ["TSC601", "clone-then-detach", "graph", "cpu", "confirmed", str(with_bug)]
    assert run.stdout.count(f"{with_bug} functions: ") == 2  # repaired, too
    assert "7 rows" in run.stdout and "2 rows" in run.stdout
    assert run.stdout.endswith("1 rule, 2 tables, 3 claims: 3 confirmed, 0 refuted, 0 failed, 0 skipped.\n")


@pytest.mark.torch
def test_a_refuted_claim_exits_with_1_and_is_shown_in_full(tmp_path: Path) -> None:
    fixture = write(tmp_path, "wrong", "values", BROKEN["the remedy is none"][1])
    run = tensorcopy("verify", str(fixture.path), "--device", "cpu", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (1, "")
    assert (
        "refuted TSC103/wrong good_detach on cpu: 3 of 3 elements wrong: torch gives tensor([1., 1., 1.])" in run.stdout
    )


@pytest.mark.torch
def test_json_is_stable_and_goes_to_a_file(tmp_path: Path) -> None:
    fixture = write(tmp_path, "sound", "values", SOUND)
    command = ("verify", str(fixture.path), "--device", "all", "--output-format", "json")
    shown = tensorcopy(*command, cwd=tmp_path)
    written = tensorcopy(*command, "--output-file", "report.json", cwd=tmp_path)
    assert (shown.returncode, written.returncode, written.stdout) == (0, 0, "")
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == shown.stdout
    found = json.loads(shown.stdout)
    assert found["rules"]["TSC103"]["fixtures"] == {"TSC103/sound": fixture.digest}
    assert [(claim["device"], claim["verdict"]) for claim in found["rules"]["TSC103"]["claims"]][:2] == [
        ("cpu", "confirmed"),
        ("sim", "confirmed"),
    ]
    assert found["rules"]["TSC103"]["claims"][0]["functions"] == [
        {
            "fixture": "TSC103/sound",
            "function": "bad_detach",
            "verdict": "confirmed",
            "figures": {"wrong": 3, "elements": 3},
        },
        {
            "fixture": "TSC103/sound",
            "function": "good_detach",
            "verdict": "confirmed",
            "figures": {"wrong": 0, "elements": 3},
        },
        {
            "fixture": "TSC103/sound",
            "function": "bad_detach",
            "repaired": True,
            "verdict": "confirmed",
            "figures": {"wrong": 0, "elements": 3},
        },
    ]


@pytest.mark.torch
def test_an_accelerator_that_is_not_there_is_not_verified(tmp_path: Path) -> None:
    import torch

    if torch.accelerator.is_available():
        pytest.skip("there is one")
    run = tensorcopy("verify", "TSC601", "--device", "cuda", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (2, "")
    assert "not verified on CUDA: torch finds no accelerator on this machine." in run.stdout
    both = tensorcopy("verify", "TSC601", cwd=tmp_path)
    assert both.returncode == 0 and "not verified on CUDA" in both.stdout


def blocked(folder: Path, name: str, reason: str, error: type[Exception] = ModuleNotFoundError) -> dict[str, str]:
    """An environment in which importing a module raises an error."""
    (folder / f"{name}.py").write_text(f"raise {error.__name__}({reason!r})\n")
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def test_without_torch_one_line_names_the_extra(tmp_path: Path) -> None:
    run = tensorcopy("verify", "TSC601", cwd=tmp_path, env=blocked(tmp_path, "torch", "No module named 'torch'"))
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        "tensorcopy verify: torch cannot be imported (ModuleNotFoundError: No module named 'torch'): "
        "python -m pip install 'flake8-tensorcopy[verify]'\n"
    )


def test_a_torch_that_does_not_load_is_as_good_as_none(tmp_path: Path) -> None:
    run = tensorcopy("verify", "TSC601", cwd=tmp_path, env=blocked(tmp_path, "torch", "libc10.so: no", OSError))
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("tensorcopy verify: torch cannot be imported (OSError: libc10.so: no): ")
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["TSC999"], "'TSC999' is no rule, fixture or file of one"),
        (["--output-file", "none/report.txt"], "cannot write 'none/report.txt': there is no folder"),
        (["--output-file", "."], "cannot write '.': it is a folder"),
        (["--programs", "0"], "argument --programs: '0' is no number of programs"),
        (["--programs", "many"], "argument --programs: 'many' is no number of programs"),
        (["--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["--seed", str(2**64)], "argument --seed: torch takes no seed of more than 64 bits"),
        (["cli.py"], "CLAIM must be given once"),
        (["x" * 300], "is no rule, fixture or file of one"),
        (["--output-file", "x" * 300], "File name too long"),
    ],
)
def test_bad_arguments_get_one_sentence_and_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "cli.py").write_text("")
    monkeypatch.chdir(tmp_path)
    try:
        status = cli.main(["verify", *arguments])
    except SystemExit as left:
        status = int(str(left.code))
    out, err = capfd.readouterr()
    assert (status, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["cli.py"]


@pytest.mark.torch
def test_a_report_goes_through_links_and_into_devices(tmp_path: Path) -> None:
    fixture = write(tmp_path, "sound", "values", SOUND)
    command = ("verify", str(fixture.path), "--device", "cpu", "--output-file")
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to("real")
    os.mkfifo(pipe)
    assert tensorcopy(*command, "link", cwd=tmp_path).returncode == 0
    assert link.is_symlink() and real.stat().st_mode & 0o777 == 0o640
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_text)
        assert tensorcopy(*command, "pipe", cwd=tmp_path).returncode == 0
    assert pipe.is_fifo() and read.result() == real.read_text() != "old"


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no device that is full")
def test_output_that_cannot_be_written_is_one_sentence_or_none() -> None:
    command = [sys.executable, "-m", "flake8_tensorcopy.cli", "explain", "TSC101"]
    with open("/dev/full", "w") as full:
        run = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (run.returncode, run.stderr) == (2, "tensorcopy: No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as broken:
        run = subprocess.run(command, cwd=ROOT, stdout=broken, stderr=subprocess.PIPE, text=True, check=False)
    assert (run.returncode, run.stderr) == (141, "")
    run = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_the_command_imports_no_torch_by_itself(tmp_path: Path) -> None:
    code = (
        "import sys; from flake8_tensorcopy import cli; from flake8_tensorcopy.verify import command, report, runner; "
        "assert 'torch' not in sys.modules and 'rich' not in sys.modules and 'libcst' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
