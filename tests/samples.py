"""A few lines of torch code with and without something to report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DETACH = "import torch\n\n\ndef snapshot(x: torch.Tensor) -> torch.Tensor:\n    return x.clone().detach()\n"
ALIAS = "import torch\n\n\ndef moved(a: torch.Tensor) -> torch.Tensor:\n    old = a\n    a += 1\n    return a - old\n"
FINE = DETACH.replace("x.clone().detach()", "x.detach().clone()")


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def notebook(*sources: str | list[str], **metadata: Any) -> dict[str, Any]:
    """A notebook of code cells; one whose source begins with `#md` is of Markdown."""
    cells: list[dict[str, Any]] = []
    for source in sources:
        if "".join(source).startswith("#md"):
            cells.append({"cell_type": "markdown", "metadata": {}, "source": source})
        else:
            code: dict[str, Any] = {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": source,
            }
            cells.append(code)
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def dumped(content: dict[str, Any], **format: Any) -> bytes:
    """The file of a notebook, as Jupyter writes it unless told otherwise."""
    return (json.dumps(content, **{"indent": 1, "ensure_ascii": False} | format) + "\n").encode()
