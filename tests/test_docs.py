"""The documents say what is true: the rules' pages, the README with its commands and outputs, the changelog."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from flake8.options.manager import OptionManager

from flake8_tensorcopy.config import Options
from flake8_tensorcopy.configfiles import load
from flake8_tensorcopy.engine.model import Rule
from flake8_tensorcopy.fixes import repair
from flake8_tensorcopy.lint import lint
from flake8_tensorcopy.plugin import Plugin
from flake8_tensorcopy.registry import rules, shipped
from flake8_tensorcopy.verify import tables
from flake8_tensorcopy.verify.fixtures import load_all
from tests.conftest import ROOT, run_flake8

README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = ["What it does", "Why it is a bug", "Example", "Write instead", "Fix", "Limits", "References"]
EVERY_RULE = pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.code)


def section(heading: str) -> str:
    """The text under a heading of the README."""
    return README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def block(heading: str, language: str) -> str:
    """The first fenced block of a language under a heading of the README."""
    return section(heading).split(f"\n```{language}\n", 1)[1].split("```", 1)[0]


def page(rule: Rule) -> dict[str, str]:
    """The sections of a rule's page, which is its module's docstring."""
    before, *parts = re.split(r"^## (.+)\n", sys.modules[rule.check.__module__].__doc__ or "", flags=re.MULTILINE)
    assert before.strip() == "", f"{rule.code}: text before the first heading"
    return dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))


# Rules.


@EVERY_RULE
def test_a_page_has_all_sections(rule: Rule) -> None:
    sections = page(rule)
    assert list(sections) == SECTIONS
    assert [name for name, text in sections.items() if not text] == []


def code_of(text: str) -> str:
    """The first fenced Python block of a section."""
    return text.split("```python\n", 1)[1].split("```", 1)[0]


def codes(text: str, preview: bool) -> set[str]:
    options = Options(preview=preview)
    return {found.code for found in lint(ast.parse(text), text.splitlines(keepends=True), options)}


@EVERY_RULE
def test_a_pages_example_is_reported_and_its_remedy_is_not(rule: Rule) -> None:
    sections = page(rule)
    assert codes(code_of(sections["Example"]), rule.preview) == {rule.code}
    assert codes(code_of(sections["Write instead"]), rule.preview) == set()


@pytest.mark.parametrize("rule", [rule for rule in rules().values() if rule.fix != "none"], ids=lambda rule: rule.code)
def test_a_pages_example_is_repaired(rule: Rule) -> None:
    example, options = code_of(page(rule)["Example"]), Options(preview=rule.preview)
    made = repair(
        example.encode(),
        lambda tree, lines: lint(tree, lines, options),
        lambda found, tree, lines: found,
        unsafe=True,
    )
    assert {finding.code for finding in made.fixed} == {rule.code}
    assert (made.left, made.refused) == ((), ())


@EVERY_RULE
def test_a_rule_has_fixtures_with_and_without_the_bug(rule: Rule) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (shipped("fixtures") / rule.code).glob("*.py")]
    functions = [name for text in texts for name in re.findall(r"^def (bad|good)_", text, re.MULTILINE)]
    assert {"bad", "good"} <= set(functions)


def test_every_folder_of_fixtures_belongs_to_a_rule() -> None:
    folders = {path.name for path in shipped("fixtures").iterdir() if path.name != "__pycache__"}
    assert folders == {"tables", *rules()}


@EVERY_RULE
def test_codes_and_names_are_in_shape(rule: Rule) -> None:
    assert re.fullmatch(r"TSC[1-6]\d\d", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert rule.kinds and rule.summary and "\n" not in rule.summary and not rule.summary.endswith(".")
    assert len({other.name for other in rules().values()}) == len(rules())


def test_the_table_lists_every_rule() -> None:
    rows = [line for line in section("Rules").splitlines() if line.startswith("| TSC")]
    assert rows == [
        f"| {rule.code} | {rule.name} | {rule.summary} | {'preview' if rule.preview else 'on'} | {rule.fix} |"
        for rule in rules().values()
    ]


def test_the_changelog_names_every_rule() -> None:
    listed = re.findall(r"^- (TSC\d{3}) (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == [(rule.code, rule.name) for rule in rules().values()]
    assert f"## {_version()}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _version() -> str:
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return found[1]


# The README.


def test_the_first_example_is_what_the_command_says_and_repairs(tmp_path: Path) -> None:
    code, shown, diff = (README.split(f"```{kind}\n", 1)[1].split("```", 1)[0] for kind in ("python", "text", "diff"))
    name, *arguments = shlex.split(README.split("```sh\n", 1)[1].split("```", 1)[0])
    assert name == "tensorcopy"
    (tmp_path / arguments[-1]).write_text(code)

    def command(*arguments: str) -> str:
        line = [sys.executable, "-m", "flake8_tensorcopy.cli", *arguments, "--isolated"]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    assert command(*arguments) == shown
    assert "`tensorcopy fix fit.py`" in README
    assert command("fix", "--diff", arguments[-1]) == diff


def test_the_readme_lists_the_commands_and_settings_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    from flake8_tensorcopy import cli

    with pytest.raises(SystemExit):
        cli.main(["--help"])
    commands = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert re.findall(r"^\| `tensorcopy (\w+)", section("Use it"), re.MULTILINE) == commands
    rows = [line.split("|")[1] for line in section("Options").splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([a-z][a-z-]+)`", row)} == set(cli.SETTINGS)


def test_the_settings_shown_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text(block("Options", "toml"))
    monkeypatch.chdir(tmp_path)
    settings, notes = load({})
    assert (settings.options.preview, settings.extend_ignore, notes) == (True, ("TSC6",), ())


def test_the_example_output_is_what_the_command_prints() -> None:
    name, *arguments = shlex.split(block("Try it", "sh").rpartition("&&")[2])
    assert name == ".venv/bin/flake8"
    run = run_flake8(*arguments, cwd=ROOT)
    assert run.err == ""
    assert run.out == block("Try it", "text")


def test_the_examples_show_many_rules() -> None:
    shown = re.findall(r" (TSC\d{3}) ", block("Try it", "text"))
    assert len(set(shown)) >= 8
    assert "TSC000" not in shown


@pytest.mark.parametrize(
    ("heading", "language"), [("Try it", "sh"), ("Try it", "text"), ("Run the tests", "sh")], ids=str
)
def test_ci_runs_the_commands_of_the_readme(heading: str, language: str) -> None:
    """`.ci/run` takes its commands out of the README; here its own function does so."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert f"block '{heading}' {language}" in script
    assert "pip install" not in script
    function = re.search(r"^block\(\) \{\n.*?^\}\n", script, re.MULTILINE | re.DOTALL)
    assert function
    shown = subprocess.run(
        ["bash", "-euc", f"{function[0]}block '{heading}' {language}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == block(heading, language)


def test_the_readme_lists_the_options_there_are() -> None:
    manager = OptionManager(
        version="", plugin_versions="", parents=[argparse.ArgumentParser(add_help=False)], formatter_names=[]
    )
    Plugin.add_options(manager)
    known = {option.long_option_name for option in manager.options}
    assert set(re.findall(r"--tensorcopy-[a-z-]+", README)) == known
    assert set(re.findall(r"^\| `(--tensorcopy-[a-z-]+)", section("Options"), re.MULTILINE)) == known


def test_codes_in_the_documents_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(re.findall(r"TSC\d{3}", text)) <= {"TSC000", *rules()}, name


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_in_the_documents_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    mentioned = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|toml|cfg))`", text))
    named = {path for path in mentioned if "NNN" not in path}
    assert named and {path for path in named if not (ROOT / path).exists()} == set()


def test_the_tables_are_those_that_are_executed() -> None:
    executed = [tables.of(fixture).text for fixture in load_all(shipped("fixtures"), "tables")]
    shown = re.findall(r"(?:^\|.*\n)+", section("What copies, and what does not"), re.MULTILINE)
    assert [table.rstrip("\n") for table in shown] == executed


@pytest.mark.torch
def test_the_shown_verification_is_what_the_command_prints() -> None:
    name, *arguments = shlex.split(block("How findings are verified", "sh"))
    assert name == ".venv/bin/tensorcopy"
    run = subprocess.run(
        [sys.executable, "-m", "flake8_tensorcopy.cli", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == block("How findings are verified", "text")


@pytest.mark.torch
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_the_examples_run(path: Path) -> None:
    pytest.importorskip("torch")
    run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
