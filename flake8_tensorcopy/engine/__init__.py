"""The engine: runs functions abstractly on flake8's own ast and says what happens to each storage."""

from flake8_tensorcopy.engine.analysis import Analysis, RegionFacts, analyse
from flake8_tensorcopy.engine.model import Edit, Finding, Fix, Rule, Span, Step
from flake8_tensorcopy.engine.notebook import Cells

__all__ = ["Analysis", "Cells", "Edit", "Finding", "Fix", "RegionFacts", "Rule", "Span", "Step", "analyse"]
