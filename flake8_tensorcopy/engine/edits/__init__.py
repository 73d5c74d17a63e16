"""The edits that repairs are made of: small splices into the source, decided on LibCST nodes.

Every method of `Editor` gives the edits of one change, or None where the code has not the form that the change needs; a
repair of which one part is None does not exist.  Edits touch as little as they can, so that comments, line breaks and
quotes stay what they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from flake8_tensorcopy.engine.edits.containers import Containers
from flake8_tensorcopy.engine.edits.copies import Copies
from flake8_tensorcopy.engine.edits.places import Edits, Maybe, Site, end_of, start_of
from flake8_tensorcopy.engine.edits.statements import Statements
from flake8_tensorcopy.engine.model import Edit, Fix, Span

__all__ = ["Editor", "Edits", "Maybe", "Site"]


class Editor(Copies, Containers, Statements):
    """Makes edits of one file.  A site is a node of the ast or of LibCST."""

    def fix(self, title: str, *parts: Edits | None, safe: bool) -> Fix | None:
        """The repair that makes all of these changes; None if one of them cannot be made, or if two overlap."""
        edits = tuple(sorted(_merged(self.join(*parts) or ())))
        apart = all(end_of(one.span) <= start_of(other.span) for one, other in pairwise(edits))
        return Fix(title, edits, safe) if edits and apart else None


def _merged(edits: Edits) -> Iterator[Edit]:
    """Each edit once, and insertions at one place as one: whole lines first, then the rest as given."""
    at: dict[Span, list[str]] = {}
    for edit in dict.fromkeys(edits):
        at.setdefault(edit.span, []).append(edit.text)
    for span, texts in at.items():
        if (span.line, span.column) == (span.end_line, span.end_column):
            yield Edit(span, "".join(sorted(texts, key=lambda text: "\n" not in text)))
        else:
            yield from (Edit(span, text) for text in texts)
