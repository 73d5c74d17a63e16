"""When the server looks at a text, with its thread held back: what is out of date is never told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from lsprotocol import types

from flake8_tensorcopy.lsp import server as module
from flake8_tensorcopy.lsp.analysis import Analysis, analyse
from flake8_tensorcopy.lsp.documents import Text
from flake8_tensorcopy.lsp.messages import Client
from flake8_tensorcopy.lsp.server import made
from flake8_tensorcopy.settings import Settings
from tests.editor import PATIENCE, driven

URI = "file:///folder/a.py"


class Held:
    """Analyses that begin when they are asked for and end when they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self.told: list[int | None] = []
        self.failing = False
        self._began, self._go = threading.Semaphore(0), threading.Semaphore(0)
        monkeypatch.setattr(module, "analyse", self._held)
        self.server = made()
        self.server.client = Client(versions=True)
        monkeypatch.setattr(
            self.server, "text_document_publish_diagnostics", lambda params: self.told.append(params.version)
        )
        self.logged: list[str] = []
        monkeypatch.setattr(self.server, "window_log_message", lambda params: self.logged.append(params.message))

    def _held(self, text: Text, *more: object) -> Analysis:
        self.texts.append(text.text)
        self._began.release()
        assert self._go.acquire(timeout=PATIENCE)
        if self.failing:
            raise ValueError("odd")
        return analyse(text, *more)  # type: ignore[arg-type]

    async def begun(self) -> None:
        assert await asyncio.to_thread(self._began.acquire, timeout=PATIENCE)

    def let_go(self) -> None:
        self._go.release()

    def open(self, text: str) -> None:
        self.server.opened(types.TextDocumentItem(URI, "python", 1, text))

    def change(self, version: int, text: str) -> None:
        document = types.VersionedTextDocumentIdentifier(version, URI)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.server.changed(types.DidChangeTextDocumentParams(document, [change]))

    async def known(self) -> str | None:
        """The text that is known, once one is."""
        found = await asyncio.wait_for(self.server.known(URI, at_once=True), PATIENCE)
        return None if found is None else found.analysis.text.text


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made = Held(monkeypatch)
    yield made
    for _ in range(9):
        made.let_go()
    made.server._worker.shutdown()


@driven
async def test_an_analysis_of_an_older_text_is_not_told(held: Held) -> None:
    held.open("one = 1\n")
    await held.begun()
    held.change(2, "two = 2\n")
    held.let_go()
    held.let_go()
    assert await held.known() == "two = 2\n"
    assert held.told == [2] and held.texts == ["one = 1\n", "two = 2\n"]
    held.server.end()


@driven
async def test_texts_that_came_and_went_meanwhile_are_not_looked_at(held: Held) -> None:
    held.open("one = 1\n")
    await held.begun()
    for version in range(2, 9):
        held.change(version, f"version = {version}\n")
        asked = asyncio.create_task(held.server.known(URI, at_once=True))  # none of them waits for a pause
        await asyncio.sleep(0.01)
    held.let_go()
    held.let_go()
    assert (await asyncio.wait_for(asked, PATIENCE)) is not None
    assert held.told == [8] and held.texts == ["one = 1\n", "version = 8\n"]
    held.server.end()


@driven
async def test_texts_without_a_pause_are_not_looked_at(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 3600)
    held.open("one = 1\n")
    held.let_go()
    assert await held.known() == "one = 1\n"
    for version in range(2, 9):
        held.change(version, f"version = {version}\n")
        await asyncio.sleep(0.01)
    held.let_go()
    assert await held.known() == "version = 8\n"
    assert held.told == [1, 8] and held.texts == ["one = 1\n", "version = 8\n"]
    held.server.end()


@driven
async def test_a_closed_text_is_not_told_of(held: Held) -> None:
    held.open("one = 1\n")
    await held.begun()
    asked = asyncio.create_task(held.known())
    await asyncio.sleep(0.01)
    held.server.closed(URI)
    held.let_go()
    assert await asked is None
    held.open("two = 2\n")
    held.let_go()
    assert await held.known() == "two = 2\n"
    assert held.told == [1]
    held.server.end()


@driven
async def test_a_failure_is_told_in_the_log_and_ends_nothing(held: Held) -> None:
    held.failing = True
    held.open("one = 1\n")
    held.let_go()
    assert await held.known() is None
    assert held.logged == [f"tensorcopy: {URI} was not analysed: ValueError: odd"]
    held.failing = False
    held.change(2, "two = 2\n")
    held.let_go()
    assert await held.known() == "two = 2\n"
    held.server.end()


def test_a_failure_of_a_rule_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object) -> None:
        raise ValueError("odd")

    monkeypatch.delenv("TENSORCOPY_DEBUG", raising=False)
    monkeypatch.setattr("flake8_tensorcopy.files.lint", fails)
    found = analyse(Text("import torch\n"), "/folder/a.py", "/folder", Settings())
    assert [(one.code, one.message) for one in found.findings] == [("TSC000", "not analysed: ValueError: odd")]
    assert found.problem == "ValueError: odd"
