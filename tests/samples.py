"""A few lines of torch code with and without something to report."""

from __future__ import annotations

from pathlib import Path

DETACH = "import torch\n\n\ndef snapshot(x: torch.Tensor) -> torch.Tensor:\n    return x.clone().detach()\n"
ALIAS = "import torch\n\n\ndef moved(a: torch.Tensor) -> torch.Tensor:\n    old = a\n    a += 1\n    return a - old\n"
FINE = DETACH.replace("x.clone().detach()", "x.detach().clone()")


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
