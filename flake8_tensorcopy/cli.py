"""The command `tensorcopy`."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from flake8_tensorcopy import registry
from flake8_tensorcopy.config import DEBUG
from flake8_tensorcopy.engine.model import Rule
from flake8_tensorcopy.terminal import COLORS

INTERRUPTED, BROKEN_PIPE = 130, 141  # as a shell tells of a process that SIGINT or SIGPIPE ended


class _Parser(argparse.ArgumentParser):
    """Refuses what it does not understand with one sentence."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")

    @property
    def names(self) -> list[str]:
        """The long options."""
        return [name for name in self._option_string_actions if name.startswith("--")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with the arguments of the process, or with those given; returns the exit status."""
    try:
        _settle_streams()
        options = _parsed(list(sys.argv[1:] if arguments is None else arguments))
        status: int = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("tensorcopy: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # as of `| head`
        _drop_output()
        return BROKEN_PIPE
    except OSError as error:
        if error.filename is not None:
            return _failed(error)
        print(f"tensorcopy: {error.strerror}", file=sys.stderr)  # a full disk behind standard output, mostly
        _drop_output()
        return 2
    except Exception as error:
        return _failed(error)
    return status


def _failed(error: Exception) -> int:
    """A failure of the command itself."""
    if os.environ.get(DEBUG):
        raise error
    text = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"tensorcopy: internal error: {text} (with {DEBUG}=1 it is raised)", file=sys.stderr)
    return 2


def _settle_streams() -> None:
    """What the encoding of a stream lacks is written as an escape, and a stream that is closed leads nowhere.

    Without the latter, a file that is opened later would take its place.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Python flushes standard output when it ends, and must not fail there again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parsed(arguments: list[str]) -> argparse.Namespace:
    """The options of a command; what is not understood ends the process with one sentence and the status 2."""
    parser, commands = _parser()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in commands:
        parser.error(f"{arguments[0]!r} is no command{registry.near_match(arguments[0], commands)}")
    options, rest = parser.parse_known_args(arguments)
    command = commands[options.command]
    for text in rest:
        if text.startswith("-") and text != "-":
            name = text.partition("=")[0]
            command.error(f"{name!r} is no option{registry.near_match(name, command.names)}")
    if rest and "several" not in options:
        command.error(f"{rest[0]!r} is one argument too many")
    if rest:  # argparse takes a list of arguments only from one place between the options
        getattr(options, options.several).extend(rest)
    return options


def _parser() -> tuple[_Parser, dict[str, _Parser]]:
    """The parser, and those of the commands by their names."""
    parser = _Parser(
        prog="tensorcopy", description="Tensor copies that are not copies: find them, repair them, and prove it."
    )
    parser.add_argument("--version", action="version", version=f"tensorcopy {version('flake8-tensorcopy')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    _add_check(commands.add_parser("check", help="report what the rules find", description=_check.__doc__))
    _add_fix(commands.add_parser("fix", help="repair what the rules find", description=_fix.__doc__))
    _add_explain(commands.add_parser("explain", help="print the page of a rule", description=_explain.__doc__))
    _add_rules(commands.add_parser("rules", help="list the rules", description=_rules.__doc__))
    _add_server(commands.add_parser("server", help="run a language server, for editors", description=_server.__doc__))
    _add_verify(commands.add_parser("verify", help="run every claim in torch", description=_verify.__doc__))
    return parser, dict(commands.choices)


def _add_check(parser: argparse.ArgumentParser) -> None:
    findings = _add_settings(parser)
    findings.add_argument("--update-baseline", action="store_true", help="write what is found now to the baseline")
    findings.add_argument(
        "--diff-base", metavar="REVISION", help="report what concerns lines that changed since HEAD left this commit"
    )
    parser.add_argument("--diff", action="store_true", help="show what `tensorcopy fix` would change, change nothing")
    parser.set_defaults(run=_check, several="paths")


def _add_fix(parser: argparse.ArgumentParser) -> None:
    _add_settings(parser)
    parser.add_argument("--diff", action="store_true", help="show what would be changed, change nothing")
    parser.set_defaults(run=_fix, several="paths", update_baseline=False, diff_base=None)


def _add_settings(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """What `check` and `fix` have in common; returns the group of options for findings that are not new."""
    from flake8_tensorcopy.report import FORMATS

    add, flag = parser.add_argument, argparse.BooleanOptionalAction
    add("paths", nargs="*", metavar="PATH", help="files and folders, `-` is standard input (default: .)")
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--select", metavar="CODES", help="look for these codes, or beginnings of codes, only (as TSC1,TSC301)"
    )
    rules.add_argument("--ignore", metavar="CODES", help="do not report these")
    rules.add_argument("--extend-select", metavar="CODES", help="report these, too")
    rules.add_argument("--extend-ignore", metavar="CODES", help="do not report these, either")
    rules.add_argument(
        "--per-file-ignores", metavar="PATTERN:CODES", help="ignore codes in some files (as tests/*:TSC1,TSC5)"
    )
    rules.add_argument("--preview", action=flag, help="also report what the preview rules find")
    rules.add_argument(
        "--train-calls",
        metavar="NAMES",
        help="functions that train the module they are called on or given (as fit_one,fit_two)",
    )
    rules.add_argument("--disable-noqa", action=flag, help="report what `# noqa` comments silence, too")
    files = parser.add_argument_group("files")
    files.add_argument("--exclude", metavar="PATTERNS", help="files and folders to leave out")
    files.add_argument("--extend-exclude", metavar="PATTERNS", help="files and folders to leave out besides those")
    files.add_argument("--force-exclude", action=flag, help="leave out named files below such a folder, too")
    files.add_argument(
        "--filename", metavar="PATTERNS", help="which files of a folder to look at (default: *.py, *.ipynb)"
    )
    files.add_argument(
        "--stdin-filename", default="stdin", metavar="NAME", help="what standard input is called (default: stdin)"
    )
    known = parser.add_argument_group("findings that are not new")
    known.add_argument("--baseline", metavar="FILE", help="do not report the findings in this file; '' for no file")
    configuration = parser.add_argument_group("configuration").add_mutually_exclusive_group()
    configuration.add_argument("--config", metavar="FILE", help="read this pyproject.toml or setup.cfg and no other")
    configuration.add_argument("--isolated", action="store_true", help="read no configuration")
    output = parser.add_argument_group("repairs and output")
    output.add_argument("--unsafe-fixes", action=flag, help="also make repairs that change more than what is reported")
    output.add_argument("--output-format", metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: {FORMATS[0]})")
    output.add_argument("--output-file", metavar="FILE", help="where to write the report instead of standard output")
    output.add_argument("--statistics", action=flag, help="count the findings of each code")
    output.add_argument("--color", choices=COLORS, default="auto", help="(default: auto)")
    output.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    output.add_argument("-j", "--jobs", metavar="N", help="how many processes, or auto (the default)")
    return known


# Settings of [tool.tensorcopy] that are options, too, under the same name.
SETTINGS = (
    "select", "ignore", "extend-select", "extend-ignore", "per-file-ignores", "preview", "train-calls", "disable-noqa",
    "exclude", "extend-exclude", "force-exclude", "filename", "unsafe-fixes", "output-format", "statistics", "jobs",
    "baseline",
)  # fmt: skip


def _check(options: argparse.Namespace) -> int:
    """Reports what the rules find.

    Exit status: 0 if nothing, 1 if something or if a file cannot be read or parsed, 2 if nothing can be done.
    """
    from flake8_tensorcopy import commands

    return commands.run(options, {name: getattr(options, name.replace("-", "_")) for name in SETTINGS})


def _fix(options: argparse.Namespace) -> int:
    """Repairs what the rules find, and reports what is left. Standard input is repaired to standard output.

    Exit status: 0 if nothing is left, 1 if something is or if a file cannot be read or parsed, 2 if nothing can be
    done; with --diff 1 if something would be changed.
    """
    return _check(options)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("rule", nargs="?", metavar="CODE|NAME", help="such as TSC101 or alias-then-inplace")
    what.add_argument("--all", action="store_true", help="the pages of all rules")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="(default: text)")
    parser.set_defaults(run=_explain)


def _explain(options: argparse.Namespace) -> int:
    """Prints the page of a rule: what it reports, why, what to write instead, and the evidence."""
    from flake8_tensorcopy import explain

    rules = list(registry.rules().values())
    if not options.all:
        names = {name: rule for rule in rules for name in (rule.code, rule.name)}
        wanted = names.get(options.rule) or names.get(options.rule.upper()) or names.get(options.rule.lower())
        if wanted is None:
            hint = registry.near_match(options.rule, names)
            print(f"tensorcopy explain: {options.rule!r} is no rule{hint}", file=sys.stderr)
            return 2
        rules = [wanted]
    if options.output_format == "json":
        pages = [_described(rule) | {"page": explain.page(rule)} for rule in rules]
        sys.stdout.write(json.dumps(pages if options.all else pages[0], indent=2) + "\n")
        return 0
    text = "\n".join(explain.page(rule) for rule in rules)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        sys.stdout.write(text)
    return 0


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="(default: text)")
    parser.set_defaults(run=_rules)


def _rules(options: argparse.Namespace) -> int:
    """Lists the rules: code, name, on by default or with --preview, whether its repairs are safe, and a summary."""
    rules = [_described(rule) for rule in registry.rules().values()]
    if options.output_format == "json":
        sys.stdout.write(json.dumps(rules, indent=2) + "\n")
        return 0
    rows = [
        (rule["code"], rule["name"], "preview" if rule["preview"] else "on", f"fix: {rule['fix']}", rule["summary"])
        for rule in rules
    ]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _described(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "preview": rule.preview,
        "fix": rule.fix,
    }


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="talk over standard input and output, as it always does")
    parser.set_defaults(run=_server)


def _server(options: argparse.Namespace) -> int:
    """Serves an editor by the language server protocol, over standard input and output.

    Exit status: 0 if the editor asked for a shutdown, 1 if it left without, 2 if nothing can be done.
    """
    try:
        from flake8_tensorcopy.lsp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("lsprotocol", "pygls"):
            raise
        missing = "it needs pygls 2 or newer, which `pip install 'flake8-tensorcopy[lsp]'` installs"
        print(f"tensorcopy server: {missing}", file=sys.stderr)
        return 2
    return serve()


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="*",
        metavar="CODE|FIXTURE",
        help="rules by code, beginning of a code or name; fixtures as TSC101/batches or as files (default: all)",
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda", "sim", "all"),
        default="all",
        help="cuda: the accelerator that torch names; sim: a simulated one; all: each that there is (the default)",
    )
    parser.add_argument("--ops", action="store_true", help="hold the table of operations against execution, too")
    parser.add_argument(
        "--programs", type=_count, default=0, metavar="N", help="hold the engine against N random programs, too"
    )
    parser.add_argument("--seed", type=_seed, default=0, metavar="S", help="of torch and of the programs (default: 0)")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="(default: text)")
    parser.add_argument("--output-file", metavar="FILE", help="where to write the report instead of standard output")
    parser.set_defaults(run=_verify, several="what")


def _verify(options: argparse.Namespace) -> int:
    """Runs the fixtures of every rule in torch and measures what they claim.

    Exit status: 0 if all claims are confirmed, 1 if one is refuted or cannot be measured, 2 if nothing can be run.
    """
    from flake8_tensorcopy.verify.command import verify

    return verify(options)


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}") from None
    if not -(2**63) <= seed < 2**64:
        raise argparse.ArgumentTypeError(f"torch takes no seed of more than 64 bits, as {text} is")
    return seed


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of programs")
    return int(text)


if __name__ == "__main__":
    raise SystemExit(main())
