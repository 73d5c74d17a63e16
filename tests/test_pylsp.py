"""The plugin in python-lsp-server, which runs flake8 for many editors."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, run_flake8
from tests.editor import PATIENCE, driven
from tests.test_lsp_streams import notice, opened, request

BOTH = """\
import torch


def moved(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    old = a
    a += 1
    return a - old + x.clone().detach()
"""


async def heard(out: asyncio.StreamReader) -> dict[str, Any]:
    """The next message."""
    head = await out.readuntil(b"\r\n\r\n")
    fields = dict(line.split(b": ", 1) for line in head.splitlines() if line)
    message: dict[str, Any] = json.loads(await out.readexactly(int(fields[b"Content-Length"])))
    return message


@driven
async def test_findings_reach_the_editor(tmp_path: Path) -> None:
    flake8 = Path(sys.executable).with_name("flake8.exe" if os.name == "nt" else "flake8")
    plugins = {name: {"enabled": False} for name in ("pycodestyle", "pyflakes", "mccabe")}
    settings = {"pylsp": {"plugins": plugins | {"flake8": {"enabled": True, "executable": str(flake8)}}}}
    uri = (tmp_path / "a.py").as_uri()
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pylsp",
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    try:
        for message in (
            request(1, "initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}),
            notice("initialized", {}),
            notice("workspace/didChangeConfiguration", {"settings": settings}),
            opened(uri, BOTH),
        ):
            server.stdin.write(message)
        shown: list[dict[str, Any]] = []
        async with asyncio.timeout(PATIENCE):
            while not shown:
                said = await heard(server.stdout)
                if said.get("method") == "textDocument/publishDiagnostics" and said["params"]["uri"] == uri:
                    shown = said["params"]["diagnostics"]
        server.stdin.write(request(2, "shutdown") + notice("exit"))
        await asyncio.wait_for(server.wait(), PATIENCE)
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()
    printed = run_flake8("--isolated", "-", cwd=tmp_path, stdin=BOTH.encode())
    starts = [found["range"]["start"] for found in shown]
    assert [(start["line"] + 1, start["character"] + 1) for start in starts] == [place[1:3] for place in printed.places]
    assert [found["code"] for found in shown] == printed.codes == ["TSC101", "TSC601"]
    assert {found["source"] for found in shown} == {"flake8"}
    assert shown[0]["message"].endswith(
        "in-place `+=` on `a` also changes `old`: `old = a` on line 5 is the same tensor, and `old` is read on line 7"
    )
