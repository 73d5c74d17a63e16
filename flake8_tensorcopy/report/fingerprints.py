"""By what a finding is known again after the file around it has changed."""

from __future__ import annotations

import hashlib
from collections import Counter

from flake8_tensorcopy.report.model import FileReport
from flake8_tensorcopy.report.places import in_repository


def fingerprints(file: FileReport) -> list[str]:
    """A fingerprint for each finding of a file, in their order: 64 hexadecimal digits.

    It is made of the code, the path in the repository, the text of the line with its white space evened out, and the
    ordinal among those of which all that is equal; never of a line's number, so that it outlives changes above it.
    """
    path = in_repository(file.path)
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for finding in file.findings:
        text = " ".join(file.text(finding.span.line).split())
        ordinal = seen[finding.code, text]
        seen[finding.code, text] += 1
        parts = (finding.code, path, text, str(ordinal))
        found.append(hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest())
    return found
