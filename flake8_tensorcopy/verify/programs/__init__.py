"""Random torch programs that hold the engine against torch.

`grammar` draws them, `runs` runs them (`truth` says what a stale read is), `compare` holds the engine's facts against
what torch did, `limits` lists what is known to differ, `shrink` and `golden` make a golden test of a disagreement, and
`report` does it all.
"""

from flake8_tensorcopy.verify.programs.report import Disagreement, ProgramsReport, check

__all__ = ["Disagreement", "ProgramsReport", "check"]
