"""What the screens share about one function, each part made when it is first asked for."""

from __future__ import annotations

from flake8_tensorcopy.engine.source import Function, Survey


class Sketch:
    """A function, looked at without running it.

    `function.found` has its nodes by type, those of functions inside it too, in no order.
    """

    def __init__(self, survey: Survey, function: Function, features: int) -> None:
        self.survey = survey
        self.function = function
        self.features = features  # with those that `__init__` adds
