"""The plugin inside flake8: selection, configuration, workers, columns, options, and what happens when it fails."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import libcst
import pytest
from flake8.exceptions import ExecutionError
from flake8.main.cli import main
from libcst import metadata

import flake8_tensorcopy.engine.region
from flake8_tensorcopy import lint as lint_module
from flake8_tensorcopy import registry
from flake8_tensorcopy.config import DEBUG, Options, names
from flake8_tensorcopy.engine import Analysis, Cells, RegionFacts
from flake8_tensorcopy.engine.facts import Fact
from flake8_tensorcopy.engine.model import Finding, Rule, Span
from flake8_tensorcopy.lint import lint
from flake8_tensorcopy.plugin import Plugin
from tests.conftest import Flake8

Run = Callable[..., Flake8]

DETACH = """\
import torch


def snapshot(x: torch.Tensor) -> torch.Tensor:
    return x.clone().detach()
"""
STEP = """\
import torch


def step(model: torch.nn.Module, lr: float) -> None:
    with torch.no_grad():
        for p in model.parameters():
            p = p - lr * p.grad
"""
ALIAS = """\
import torch


def moved(a: torch.Tensor) -> torch.Tensor:
    old = a
    a += 1
    return a - old
"""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


NAMED = """\
import torch


def f(a: torch.Tensor, c: bool) -> torch.Tensor:
    b = (a.view(-1))
    b += 1
    return torch.stack([a, b])
"""


# What flake8 shows, and what turns it off and on.


def test_findings_of_three_rules(flake8: Run, tmp_path: Path) -> None:
    write(tmp_path, alias=ALIAS, detach=DETACH, step=STEP)
    run = flake8("--isolated", "--select=TSC", "alias.py", "detach.py", "step.py")
    assert run.places == [
        ("alias.py", 6, 5, "TSC101"),
        ("detach.py", 5, 12, "TSC601"),
        ("step.py", 7, 13, "TSC205"),
    ]
    assert (run.exit, run.err) == (1, "")


def test_on_by_default_next_to_the_other_checkers(flake8: Run, tmp_path: Path) -> None:
    write(tmp_path, detach="import os\n" + DETACH)
    assert flake8("--isolated").codes == ["F401", "TSC601"]


def test_a_clean_file_is_silent_and_exits_0(flake8: Run, tmp_path: Path) -> None:
    write(tmp_path, clean=DETACH.replace("x.clone().detach()", "x.detach().clone()"))
    assert flake8("--isolated") == Flake8("", "", 0)


def test_the_version_line_names_the_plugin(flake8: Run) -> None:
    assert "flake8-tensorcopy: 0.1.0" in flake8("--version").out


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        (("--select=TSC",), ["TSC205", "TSC601"]),
        (("--select=TSC2",), ["TSC205"]),
        (("--select=TSC601,F",), ["TSC601"]),
        (("--select=E",), []),
        (("--ignore=TSC",), []),
        (("--ignore=TSC6",), ["TSC205"]),
        (("--extend-ignore=TSC205",), ["TSC601"]),
        (("--select=E", "--extend-select=TSC205"), ["TSC205"]),
        (("--per-file-ignores=step.py:TSC205",), ["TSC601"]),
        (("--per-file-ignores=*.py:TSC",), []),
        (("--exit-zero",), ["TSC205", "TSC601"]),
    ],
)
def test_selection(flake8: Run, tmp_path: Path, options: tuple[str, ...], codes: list[str]) -> None:
    write(tmp_path, step=STEP, zdetach=DETACH)
    run = flake8("--isolated", *options)
    assert sorted(run.codes) == codes
    assert run.exit == (1 if codes and "--exit-zero" not in options else 0)


@pytest.mark.parametrize("file", ["setup.cfg", "tox.ini", ".flake8"])
def test_configuration_files(flake8: Run, tmp_path: Path, file: str) -> None:
    write(tmp_path, step=STEP, zdetach=DETACH)
    (tmp_path / file).write_text("[flake8]\nselect = TSC\nextend-ignore = TSC601\n")
    assert flake8().codes == ["TSC205"]


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# noqa: TSC601", []),
        ("# noqa: TSC6", []),
        ("# noqa", []),
        ("# noqa: E501,TSC601", []),
        ("# noqa: TSC101", ["TSC601"]),
        ("# keep", ["TSC601"]),
    ],
)
def test_noqa(flake8: Run, tmp_path: Path, comment: str, codes: list[str]) -> None:
    write(tmp_path, detach=DETACH.replace("detach()\n", f"detach()  {comment}\n"))
    assert flake8("--isolated").codes == codes
    assert flake8("--isolated", "--disable-noqa").codes == ["TSC601"]


def test_a_file_can_opt_out(flake8: Run, tmp_path: Path) -> None:
    write(tmp_path, detach=f"# flake8: noqa\n{DETACH}", step=f"# flake8: noqa: TSC205\n{STEP}")
    assert flake8("--isolated").codes == []


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_workers_agree(flake8: Run, tmp_path: Path, jobs: str) -> None:
    write(tmp_path, **{f"detach{n}": DETACH for n in range(4)}, **{f"step{n}": STEP for n in range(4)})
    expected = [(f"detach{n}.py", 5, 12, "TSC601") for n in range(4)]
    expected += [(f"step{n}.py", 7, 13, "TSC205") for n in range(4)]
    assert flake8("--isolated", jobs).places == expected


@pytest.mark.parametrize("name", ["stdin", "not/there.py"])
def test_stdin(flake8: Run, name: str) -> None:
    run = flake8("--isolated", "--select=TSC", f"--stdin-display-name={name}", "-", stdin=DETACH.encode())
    assert run.places == [(name, 5, 12, "TSC601")]


def test_stdin_display_name_obeys_per_file_ignores(flake8: Run) -> None:
    options = ("--isolated", "--stdin-display-name=legacy/old.py", "--per-file-ignores=legacy/*:TSC", "-")
    assert flake8(*options, stdin=DETACH.encode()).codes == []


def test_a_syntax_error_hides_no_other_file(flake8: Run, tmp_path: Path) -> None:
    write(tmp_path, broken="import torch\n\ndef f(:\n    pass\n", detach=DETACH)
    run = flake8("--isolated", "--select=E9,TSC")
    assert [(file, code) for file, _, _, code in run.places] == [("broken.py", "E999"), ("detach.py", "TSC601")]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("    return x.clone().detach()", 12),
        ("\treturn x.clone().detach()", 9),
        ('    s = "äöü🔥"; return x.clone().detach()', 24),
        ("    é, ñ = 1, 2; return x.clone().detach()", 25),
        ("    return (  # \N{SNOWMAN}\n        x.clone().detach())", 9),
        ("    return [1, x.clone().detach()]", 16),
    ],
)
def test_columns_count_characters(flake8: Run, tmp_path: Path, line: str, column: int) -> None:
    write(tmp_path, detach=DETACH.replace("    return x.clone().detach()", line))
    (place,) = flake8("--isolated", "--select=TSC").places
    assert place == ("detach.py", 5 + line.count("\n"), column, "TSC601")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "crlf", "cr", "form feed", "latin-1"])
def test_encodings_and_newlines_move_nothing(flake8: Run, tmp_path: Path, encoding: str) -> None:
    data = DETACH.encode()
    match encoding:
        case "utf-8-sig":
            data = b"\xef\xbb\xbf" + data
        case "crlf":
            data = data.replace(b"\n", b"\r\n")
        case "cr":
            data = data.replace(b"\n", b"\r")
        case "form feed":
            data = data.replace(b"\n\n\n", b"\n\x0c\n\n")
        case "latin-1":
            data = b"# -*- coding: latin-1 -*-\n" + data.replace(b"import torch", b"import torch  # \xe9")
    (tmp_path / "detach.py").write_bytes(data)
    line = 6 if encoding == "latin-1" else 5
    assert flake8("--isolated", "--select=TSC").places == [("detach.py", line, 12, "TSC601")]


# Options.


TRAINED = """\
import torch


def search(model: torch.nn.Module, rounds: int) -> None:
    best = model.state_dict()
    for _ in range(rounds):
        burnish(model)
    model.load_state_dict(best)
"""


def test_train_calls_name_what_trains(flake8: Run, tmp_path: Path) -> None:
    write(tmp_path, search=TRAINED)
    assert flake8("--isolated", "--select=TSC").codes == []
    named = flake8("--isolated", "--select=TSC", "--tensorcopy-train-calls=polish,burnish")
    assert named.places == [("search.py", 5, 12, "TSC112")]
    (tmp_path / "tox.ini").write_text("[flake8]\nselect = TSC\ntensorcopy-train-calls =\n    polish,\n    burnish\n")
    assert flake8().codes == ["TSC112"]


@pytest.mark.parametrize("value", ["fit-one", "model.fit", "1st", "fit;polish"])
def test_train_calls_must_be_names(flake8: Run, tmp_path: Path, value: str) -> None:
    write(tmp_path, detach=DETACH)
    run = flake8("--isolated", f"--tensorcopy-train-calls={value}")
    assert run.exit == 1
    assert run.out.splitlines()[1:] == [
        f"--tensorcopy-train-calls: {value!r} is not a plain name of a function or method"
    ]
    assert "Traceback" not in run.out + run.err


def test_train_calls_in_a_configuration_file_are_checked(flake8: Run, tmp_path: Path) -> None:
    write(tmp_path, detach=DETACH)
    (tmp_path / "setup.cfg").write_text("[flake8]\ntensorcopy-train-calls = model.fit\n")
    run = flake8()
    assert run.exit == 1
    assert "'model.fit' is not a plain name" in run.out


@pytest.mark.parametrize("value", ["fit,polish", " fit polish,", "fit\npolish", ["fit", "polish"], ("fit,polish",)])
def test_names_accepts_every_way_of_writing_a_list(value: str | list[str]) -> None:
    assert names(value, "--x") == {"fit", "polish"}


def test_no_names_is_the_empty_set() -> None:
    assert names("", "--x") == names([], "--x") == frozenset()


# Preview, with a registry of the test's own: today no rule is preview as a whole.


class Word(Fact):
    """A fact of the stub engine: a function, told by its name."""

    name: str

    @property
    def span(self) -> Span:
        return Span(self.site.lineno, 0, self.site.lineno, 3)  # type: ignore[attr-defined]


class Silence(Fact):
    """A fact of the stub engine that no rule asks for."""


def stub_rule(code: str, **changes: Any) -> Rule:
    def check(facts: list[Any], region: object) -> Iterator[Finding]:
        for fact in facts:
            yield Finding(fact.span, code, f"`{fact.name}`")

    return replace(Rule(code, "stub", "a stub", ("Word",), check), **changes)


def stub_rules(monkeypatch: pytest.MonkeyPatch, *rules: Rule) -> None:
    by_code = {rule.code: rule for rule in rules}
    monkeypatch.setattr(registry, "rules", lambda: by_code)
    monkeypatch.setattr(registry, "rule", by_code.__getitem__)
    monkeypatch.setattr(registry, "index", lambda: by_code)
    monkeypatch.setattr(registry, "preview_codes", lambda: [rule.code for rule in rules if rule.preview])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Puts in an engine that gives a Word for each function; the list gets what it and Region were asked for.

    Functions called `silent` hold no Word, functions called `deep..` are beyond the engine.
    """
    asked: list[Any] = []

    def analyse(tree: ast.Module, kinds: frozenset[str], train_calls: frozenset[str], cells: Cells) -> Analysis:
        asked.append((kinds, train_calls))
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        deep = [node.name for node in functions if node.name.startswith("deep")]
        words = [Word(site=node, name=node.name) for node in functions if node.name not in ("silent", *deep)]
        regions = [RegionFacts(word.site, [Silence(site=word.site), word]) for word in words]
        regions += [RegionFacts(node, [Silence(site=node)]) for node in functions if node.name == "silent"]
        return Analysis(regions, [(1, 2)], f"`{deep[0]}` is too deep" if deep else None)

    class Region:
        def __init__(self, lines: list[str], units: list[tuple[int, int]], tree: ast.Module, *, repairs: bool) -> None:
            asked.append((lines, units))

    monkeypatch.setattr(lint_module, "analyse", analyse)
    monkeypatch.setattr(flake8_tensorcopy.engine.region, "Region", Region)
    return asked


DEFAULT = Options()


def stub_lint(text: str, options: Options = DEFAULT) -> list[Finding]:
    return lint(ast.parse(text), text.splitlines(keepends=True), options)


TWO = "import torch\ndef one(): pass\ndef two():\n    pass\n"


def test_lint_asks_for_the_kinds_of_all_rules_and_sorts(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    stub_rules(monkeypatch, stub_rule("TSC901"), stub_rule("TSC902", kinds=("Word", "Other")), stub_rule("TSC900"))
    found = [(f.span.line, f.code) for f in stub_lint(TWO)]
    assert found == [(n, code) for n in (2, 3) for code in ("TSC900", "TSC901", "TSC902")]
    assert asked == [({"Word", "Other"}, set()), (TWO.splitlines(keepends=True), [(1, 2)])]


def test_lint_leaves_text_without_torch_alone(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    stub_rules(monkeypatch, stub_rule("TSC901"))
    assert stub_lint(TWO.replace("torch", "numpy")) == []
    assert asked == []


def test_lint_makes_no_region_without_facts(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    stub_rules(monkeypatch, stub_rule("TSC901"))
    assert stub_lint("import torch\n") == []
    assert asked == [({"Word"}, set())]


def test_lint_tells_the_engine_what_trains(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    stub_rules(monkeypatch, stub_rule("TSC901"))
    stub_lint("import torch\n", Options(train_calls=frozenset({"polish"})))
    assert asked == [({"Word"}, {"polish"})]


def test_lint_gives_a_rule_only_its_own_kinds(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    given: list[Any] = []

    def check(facts: list[Any], region: object) -> list[Finding]:
        given.extend(facts)
        return []

    stub_rules(monkeypatch, stub_rule("TSC901", check=check))
    stub_lint("import torch\ndef one(): pass\ndef silent(): pass\n")
    assert [type(fact) for fact in given] == [Word]


def test_lint_reports_once_for_each_place_and_code(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    def check(facts: list[Any], region: object) -> Iterator[Finding]:
        for text in ("second", "first", "first"):
            yield Finding(facts[0].span, "TSC901", text)

    stub_rules(monkeypatch, stub_rule("TSC901", check=check), stub_rule("TSC902"))
    assert [(f.code, f.message) for f in stub_lint("import torch\ndef one(): pass\n")] == [
        ("TSC901", "first"),
        ("TSC902", "`one`"),
    ]


def test_lint_keeps_preview_findings_of_stable_rules_back(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    def check(facts: list[Any], region: object) -> Iterator[Finding]:
        yield Finding(facts[0].span, "TSC901", "unsure", preview=True)

    stub_rules(monkeypatch, stub_rule("TSC901", check=check))
    assert stub_lint("import torch\ndef one(): pass\n") == []
    assert [f.message for f in stub_lint("import torch\ndef one(): pass\n", Options(preview=True))] == ["unsure"]


def test_a_part_beyond_the_engine_gives_one_line_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, asked: list[Any]
) -> None:
    stub_rules(monkeypatch, stub_rule("TSC901"))
    text = "import torch\ndef deep(): pass\ndef one(): pass\n"
    assert [(f.span, f.code, f.message) for f in stub_lint(text)] == [
        (Span(1, 0, 1, 0), "TSC000", "not analysed: `deep` is too deep"),
        (Span(3, 0, 3, 3), "TSC901", "`one`"),
    ]


@pytest.mark.parametrize("beyond", [{"one"}, {"one", "three"}])
def test_parts_beyond_libcst_give_one_line_and_hide_no_other(
    monkeypatch: pytest.MonkeyPatch, asked: list[Any], beyond: set[str]
) -> None:
    def check(facts: list[Any], region: object) -> Iterator[Finding]:
        if facts[0].name in beyond:
            raise RecursionError("maximum recursion depth exceeded")
        yield Finding(facts[0].span, "TSC901", f"`{facts[0].name}`")

    stub_rules(monkeypatch, stub_rule("TSC901", check=check))
    found = stub_lint(TWO + "def three(): pass\n")
    assert [(f.span.line, f.code, f.message) for f in found if f.message != "`three`"] == [
        (1, "TSC000", "not analysed: RecursionError: maximum recursion depth exceeded"),
        (3, "TSC901", "`two`"),
    ]


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ((), ["TSC901"]),
        (("--tensorcopy-preview",), ["TSC901", "TSC902"]),
        (("--select=TSC",), ["TSC901"]),
        (("--extend-select=TSC902",), ["TSC901"]),
        (("--ignore=E501",), ["TSC901"]),
        (("--ignore=E501", "--tensorcopy-preview"), ["TSC901", "TSC902"]),
        (("--tensorcopy-preview", "--extend-ignore=TSC902"), ["TSC901"]),
        (("--tensorcopy-preview", "--select=TSC902"), ["TSC902"]),
    ],
)
def test_preview_rules_are_off_until_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    asked: list[Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    codes: list[str],
) -> None:
    stub_rules(monkeypatch, stub_rule("TSC901"), stub_rule("TSC902", preview=True))
    monkeypatch.setattr(Plugin, "options", Options())
    write(tmp_path, one="import torch  # noqa: F401\n\n\ndef one():\n    pass\n")
    main(["--isolated", "-j1", *options, str(tmp_path / "one.py")])
    assert [line.split()[1] for line in capfd.readouterr().out.splitlines()] == codes


def test_preview_rules_are_not_run_when_off(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    stub_rules(monkeypatch, stub_rule("TSC902", preview=True, kinds=("Costly",)))
    stub_lint(TWO)
    stub_lint(TWO, Options(preview=True))
    assert [first for first, _ in asked if isinstance(first, frozenset)] == [frozenset(), {"Costly"}]


def test_what_is_imported_is_left_out_of_later_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second file on, once in a process: the first one may be the only one."""
    frozen: list[int] = []
    monkeypatch.setattr(Plugin, "analysed", 0)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(Plugin.analysed))
    for text in ("import torch\n", "x = 1\n", "import torch\n", "import torch\n"):
        list(Plugin(ast.parse(text), [text], "a.py").run())
    assert frozen == [1]


def test_preview_codes_are_ignored_by_default_in_flake8s_own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    stub_rules(monkeypatch, stub_rule("TSC901"), stub_rule("TSC902", preview=True))
    ignored: list[str] = []

    class Manager:
        def add_option(self, *names: str, **settings: Any) -> None:
            assert names[0].startswith("--tensorcopy-")
            assert settings["parse_from_config"]

        def extend_default_ignore(self, codes: list[str]) -> None:
            ignored.extend(codes)

    Plugin.add_options(Manager())
    assert ignored == ["TSC902"]


def test_the_index_says_of_the_rules_what_they_say_themselves() -> None:
    """After a change of a rule's kinds or status, `python -m flake8_tensorcopy.verify.ruleindex` writes it anew."""
    assert (registry.HERE / "rules.tsv").read_text(encoding="utf-8") == registry.indexed(registry.rules().values())
    assert [(one.code, one.kinds, one.preview) for one in registry.index().values()] == [
        (rule.code, rule.kinds, rule.preview) for rule in registry.rules().values()
    ]
    assert all(registry.rule(code) is rule for code, rule in registry.rules().items())


def test_a_status_in_the_index_decides_what_is_off_by_default() -> None:
    stub = stub_rule("TSC901"), stub_rule("TSC902", preview=True, kinds=("Word", "Silence"))
    assert registry.indexed(stub) == "TSC901\tWord\ton\nTSC902\tWord Silence\tpreview\n"


def test_there_is_no_rule_without_a_file() -> None:
    with pytest.raises(ImportError, match="TSC999: 0 rules"):
        registry.rule("TSC999")


def test_preview_from_a_configuration_file(flake8: Run, tmp_path: Path) -> None:
    write(tmp_path, detach=DETACH)
    for value, expected in (("true", "True"), ("false", "False")):
        (tmp_path / "setup.cfg").write_text(f"[flake8]\ntensorcopy-preview = {value}\n")
        shown = subprocess.run(
            [
                sys.executable,
                "-c",
                "from flake8.options.parse_args import parse_args; parse_args([]);"
                "from flake8_tensorcopy.plugin import Plugin; print(Plugin.options.preview)",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert shown.stdout.strip() == expected


# Failures.


def fail(error: BaseException) -> Callable[..., Any]:
    def lint(*_: object, **__: object) -> list[Finding]:
        raise error

    return lint


def run_plugin(text: str) -> list[tuple[int, int, str]]:
    plugin = Plugin(ast.parse(text), text.splitlines(keepends=True), "some.py")
    return [(line, column, message) for line, column, message, _ in plugin.run()]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("boom"), "RuntimeError: boom"),
        (RecursionError("maximum recursion depth exceeded"), "RecursionError: maximum recursion depth exceeded"),
        (SyntaxError("bad", ("x.py", 3, 1, "x")), "SyntaxError: bad (x.py, line 3)"),
        (MemoryError(), "MemoryError:"),
        (ValueError("two\nlines\tof text"), "ValueError: two lines of text"),
        (KeyError("k"), "KeyError: 'k'"),
        (AssertionError("long " * 100), None),
    ],
)
def test_a_failure_becomes_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str | None) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    monkeypatch.setattr(lint_module, "lint", fail(error))
    ((line, column, message),) = run_plugin(DETACH)
    assert (line, column) == (1, 0)
    assert message.startswith("TSC000 not analysed: ")
    assert len(message) <= 160 and "\n" not in message
    assert reason is None or message == f"TSC000 not analysed: {reason}"


def test_a_parser_error_of_libcst_stays_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    with pytest.raises(libcst.ParserSyntaxError) as caught:
        libcst.parse_module("def (")
    monkeypatch.setattr(lint_module, "lint", fail(caught.value))
    ((_, _, message),) = run_plugin(DETACH)
    assert message.startswith("TSC000 not analysed: ParserSyntaxError: ") and "\n" not in message


def test_the_debug_variable_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEBUG, "1")
    monkeypatch.setattr(lint_module, "lint", fail(RuntimeError("boom")))
    with pytest.raises(RuntimeError, match="boom") as caught:
        run_plugin(DETACH)
    assert caught.value.__notes__ == ["while linting some.py"]


def test_an_interrupt_is_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint_module, "lint", fail(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run_plugin(DETACH)


def test_a_failure_in_flake8_hides_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    monkeypatch.setattr(lint_module, "lint", fail(SyntaxError("inside")))
    write(tmp_path, detach="import os\n" + DETACH)
    assert main(["--isolated", "-j1", str(tmp_path / "detach.py")]) == 1
    codes = [line.split()[1] for line in capfd.readouterr().out.splitlines()]
    assert sorted(codes) == ["F401", "TSC000"]


def test_bad_options_are_flake8s_own_kind_of_error() -> None:
    with pytest.raises(ExecutionError, match="plain name"):
        Plugin.parse_options(Namespace(tensorcopy_preview=False, tensorcopy_train_calls=["a-b"]))


# What is imported when.


def modules_after(code: str, tmp_path: Path) -> set[str]:
    """The modules that a fresh interpreter holds after `code`."""
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(shown.stdout.splitlines()[-1].split())


FLAKE8 = "from flake8.main.cli import main\nmain(['--isolated', '-j1', {file!r}])"


def test_a_file_without_torch_imports_nothing_heavy(tmp_path: Path) -> None:
    write(tmp_path, plain="x = 1\n")
    loaded = modules_after(FLAKE8.format(file="plain.py"), tmp_path)
    assert "flake8_tensorcopy.plugin" in loaded
    assert loaded & {"libcst", "numpy", "torch"} == set()
    assert {
        name for name in loaded if name.startswith(("flake8_tensorcopy.engine", "flake8_tensorcopy._rules"))
    } == set()


RULES = "flake8_tensorcopy._rules."


def test_a_torch_file_without_findings_needs_no_rule(tmp_path: Path) -> None:
    write(tmp_path, plain="import torch\n\nx = torch.zeros(3)\n")
    loaded = modules_after(FLAKE8.format(file="plain.py"), tmp_path)
    assert loaded & {"libcst", "numpy", "torch"} == set()
    assert {name for name in loaded if name.startswith((RULES, "flake8_tensorcopy.engine.edits"))} == set()


def test_findings_need_their_rules_and_neither_torch_nor_libcst(tmp_path: Path) -> None:
    write(tmp_path, detach=DETACH, named=NAMED)
    loaded = modules_after("from flake8.main.cli import main\nmain(['--isolated', '-j1'])", tmp_path)
    assert {name.split(".")[0] for name in loaded} & {"fractions", "libcst", "numpy", "torch"} == set()
    assert {name for name in loaded if name.startswith(RULES)} >= {f"{RULES}tsc601_clone_then_detach"}
    assert len([name for name in loaded if name.startswith(RULES)]) < 8


BLOCKED = """\
import sys
for name in ("numpy", "torch", "torchgen"):
    sys.modules[name] = None
from flake8.main.cli import main
raise SystemExit(main(["--isolated", "--select=TSC", "-j1", "detach.py"]))
"""


def test_lints_where_torch_cannot_be_imported(tmp_path: Path) -> None:
    write(tmp_path, detach=DETACH)
    run = subprocess.run([sys.executable, "-c", BLOCKED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.stdout.startswith("detach.py:5:12: TSC601 ")
    assert (run.returncode, run.stderr) == (1, "")


def test_only_positions_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, *_: object, **__: object) -> None:
        raise AssertionError(f"{type(self).__name__} is not for the lint path")

    for provider in (
        metadata.ExpressionContextProvider,
        metadata.ParentNodeProvider,
        metadata.QualifiedNameProvider,
        metadata.ScopeProvider,
        metadata.WhitespaceInclusivePositionProvider,
    ):
        monkeypatch.setattr(provider, "__init__", refuse)
    for text in (ALIAS, DETACH, STEP):
        assert len(lint(ast.parse(text), text.splitlines(keepends=True), Options())) == 1
