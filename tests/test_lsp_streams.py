"""The language server as a process: what comes over its streams, whatever goes into it, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, run_tensorcopy

DETACH = "import torch\n\n\ndef snapshot(x: torch.Tensor) -> torch.Tensor:\n    return x.clone().detach()\n"


def framed(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def request(number: int | str, method: str, params: Any = None) -> bytes:
    return framed({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notice(method: str, params: Any = None) -> bytes:
    return framed({"jsonrpc": "2.0", "method": method, "params": params})


def opened(uri: str, text: str, **more: Any) -> bytes:
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text} | more
    return notice("textDocument/didOpen", {"textDocument": document})


LAST = {"textDocument": {"uri": "file:///last.py"}}
START = request(1, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}) + notice("initialized", {})
END = request(99, "shutdown") + notice("exit")


def messages(out: bytes) -> Iterator[dict[str, Any]]:
    """What a server wrote: nothing but messages."""
    while out:
        head, _, rest = out.partition(b"\r\n\r\n")
        name, _, length = head.split(b"\r\n")[0].partition(b": ")
        assert name == b"Content-Length", out
        yield json.loads(rest[: int(length)])
        out = rest[int(length) :]


def run(*sent: bytes, env: Mapping[str, str] | None = None) -> tuple[list[dict[str, Any]], int, str]:
    """What the server answers to all of this, its exit status, and what it wrote to standard error."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENSORCOPY_")}
    done = subprocess.run(
        [sys.executable, "-m", "flake8_tensorcopy.cli", "server"],
        input=b"".join(sent),
        env=kept | {"PYTHONPATH": str(ROOT)} | dict(env or {}),
        capture_output=True,
        timeout=120,
        check=False,
    )
    return list(messages(done.stdout)), done.returncode, done.stderr.decode()


def answers(said: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    return {one["id"]: one for one in said if "id" in one and "method" not in one}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ([START, END], 0),
        ([START, request(2, "shutdown"), notice("exit")], 0),
        ([START, notice("exit")], 1),
        ([START, request(2, "shutdown")], 0),
        ([START], 1),
        ([], 1),
        ([END], 0),
        ([START, END, request(100, "textDocument/hover", {})], 0),
    ],
)
def test_the_exit_status_is_the_protocols(sent: list[bytes], status: int) -> None:
    assert run(*sent)[1] == status


GARBAGE = {
    "no message": b"hello\r\n\r\n\x00\xff\n",
    "no JSON": framed(b"{nothing"),
    "no UTF-8": framed(b'{"jsonrpc": "2.0", "method": "\xff"}'),
    "no object": framed(b"[1, 2]") + framed(b"7") + framed(b"null"),
    "nested too deep": framed(b"[" * 100_000),
    "another protocol": framed({"jsonrpc": "1.0", "id": 5, "method": "initialize"}),
    "an unknown notice": notice("window/nothing", {"a": 1}),
    "an answer to nothing": framed({"jsonrpc": "2.0", "id": 77, "result": None}),
    "an error to nothing": framed({"jsonrpc": "2.0", "id": 77, "error": {"code": 1, "message": "no"}}),
    "a notice without parameters": notice("textDocument/didOpen") + notice("textDocument/didChange", {}),
    "a change of what is not open": notice(
        "textDocument/didChange",
        {"textDocument": {"uri": "file:///none.py", "version": 2}, "contentChanges": [{"text": "x"}]},
    ),
    "a close of what is not open": notice("textDocument/didClose", {"textDocument": {"uri": "file:///none.py"}}),
    "half a letter": opened("file:///half.py", "import torch\nx = '\ud83d'\n"),
    "a null byte": opened("file:///null.py", "import torch\nx = '\0'\n"),
    "an unknown encoding": opened("file:///coded.py", "# coding: klingon\n" + DETACH),
    "deeply nested": opened("file:///deep.py", "import torch\nx = " + "(" * 5000 + ")" * 5000 + "\n"),
    "odd addresses": b"".join(
        opened(uri, DETACH) for uri in ("", "a b", "file://[", "file:///%", "file:///\0", "//", "?")
    ),
    "no place": notice(
        "textDocument/didChange",
        {
            "textDocument": {"uri": "file:///last.py", "version": 2},
            "contentChanges": [
                {"range": {"start": {"line": -1, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "x"}
            ],
        },
    ),
}


@pytest.fixture(scope="module")
def survived() -> tuple[list[dict[str, Any]], int, str]:
    return run(
        START,
        *GARBAGE.values(),
        opened("file:///last.py", DETACH),
        request(2, "textDocument/nothing", {}),
        request(3, "textDocument/hover", {"textDocument": 7}),
        request("four", "textDocument/hover", LAST | {"position": {"line": 4, "character": 12}}),
        request(5, "textDocument/codeAction", None),
        request(6, "workspace/executeCommand", {"command": "format the disk"}),
        request(7, "codeAction/resolve", {"title": "odd", "data": {"uri": 3}}),
        request(8, "textDocument/hover", LAST | {"position": {"line": 4000, "character": 12}}),
        END,
    )


def test_garbage_ends_nothing(survived: tuple[list[dict[str, Any]], int, str]) -> None:
    said, status, _ = survived
    assert status == 0
    assert answers(said)[99].get("error") is None


def test_every_request_is_answered(survived: tuple[list[dict[str, Any]], int, str]) -> None:
    replies = answers(survived[0])
    assert replies[2]["error"]["code"] == -32601  # no such method
    assert [replies[number]["error"]["code"] for number in (3, 5, 6)] == [-32602] * 3  # no such parameters
    assert replies[7]["result"]["edit"] == {}
    # These were under way when the server was shut down.
    assert {"four", 8} <= set(replies)


def test_garbage_is_told_in_the_log_alone(survived: tuple[list[dict[str, Any]], int, str]) -> None:
    methods = {one["method"] for one in survived[0] if "method" in one}
    assert "window/logMessage" in methods and "window/showMessage" not in methods
    assert "Traceback" not in json.dumps(survived[0])


def test_requests_before_the_beginning_are_survived() -> None:
    hover = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}}
    said, status, _ = run(request(5, "textDocument/hover", hover), START, END)
    assert status == 0 and {1, 5, 99} <= set(answers(said))


def test_without_pygls_it_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('blocked', name='pygls')\n")
    env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    ran = run_tensorcopy("server", cwd=tmp_path, env=env)
    assert (ran.out, ran.exit) == (b"", 2)
    assert (
        ran.err
        == "tensorcopy server: it needs pygls 2 or newer, which `pip install 'flake8-tensorcopy[lsp]'` installs\n"
    )
    (tmp_path / "a.py").write_text(DETACH)
    assert run_tensorcopy("check", "a.py", "--output-format=concise", cwd=tmp_path, env=env).exit == 1
