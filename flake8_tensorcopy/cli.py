"""The command `tensorcopy`."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from flake8_tensorcopy import registry
from flake8_tensorcopy.engine.model import Rule

INTERRUPTED, BROKEN_PIPE = 130, 141  # as a shell tells of a process that SIGINT or SIGPIPE ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with the arguments of the process, or with those given; returns the exit status."""
    _settle_streams()
    options = _parser().parse_args(arguments)
    try:
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
            raise
        print(f"tensorcopy: {error.strerror}", file=sys.stderr)  # a full disk behind standard output, mostly
        _drop_output()
        return 2
    return status


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tensorcopy", description="Tensor copies that are not copies: what the rules say, and the proof of it."
    )
    parser.add_argument("--version", action="version", version=f"tensorcopy {version('flake8-tensorcopy')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_explain(commands.add_parser("explain", help="print the page of a rule", description=_explain.__doc__))
    _add_verify(commands.add_parser("verify", help="run every claim in torch", description=_verify.__doc__))
    return parser


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="CODE|NAME", help="such as TSC101 or alias-then-inplace")
    parser.set_defaults(run=_explain)


def _explain(options: argparse.Namespace) -> int:
    """Prints the page of a rule: what it reports, why, what to write instead, and the evidence."""
    from flake8_tensorcopy import explain

    names: dict[str, Rule] = {}
    for rule in registry.rules().values():
        names |= {rule.code: rule, rule.name: rule}
    wanted = names.get(options.rule) or names.get(options.rule.upper()) or names.get(options.rule.lower())
    if wanted is None:
        hint = registry.near_match(options.rule, names)
        print(f"tensorcopy explain: {options.rule!r} is no rule{hint}", file=sys.stderr)
        return 2
    sys.stdout.write(explain.page(wanted))
    return 0


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
    parser.set_defaults(run=_verify)


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
