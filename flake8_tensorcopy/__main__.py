"""The command `tensorcopy`, also as `python -m flake8_tensorcopy`."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command with the arguments of the process; returns the exit status, also while it is imported."""
    try:
        from flake8_tensorcopy import cli
    except KeyboardInterrupt:
        print("tensorcopy: interrupted", file=sys.stderr)
        return 130
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
