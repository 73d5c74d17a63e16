"""An editor as far as a language server sees one: pygls's client over stdio, with texts and positions of its own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.conftest import ROOT

PATIENCE = 60.0  # seconds for an answer
UNITS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode()),
    "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "utf-32": len,
}
# What VS Code says of itself, as far as the server asks.
CAPABILITIES = types.ClientCapabilities(
    general=types.GeneralClientCapabilities(position_encodings=["utf-16"]),
    text_document=types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
            related_information=True,
            tag_support=types.ClientDiagnosticsTagOptions([types.DiagnosticTag.Unnecessary]),
            version_support=True,
        ),
        code_action=types.CodeActionClientCapabilities(
            resolve_support=types.ClientCodeActionResolveOptions(["edit"]), is_preferred_support=True
        ),
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
    ),
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
    ),
)

Parameters = ParamSpec("Parameters")


def driven(test: Callable[Parameters, Coroutine[Any, Any, None]]) -> Callable[Parameters, None]:
    """A test that is a coroutine."""

    @wraps(test)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 4 * PATIENCE))

    return run


def index(text: str, position: types.Position, encoding: str) -> int:
    """The index of a position, counted letter by letter."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
    at, units = starts[position.line], 0
    while units < position.character:
        units += UNITS[encoding](text[at])
        at += 1
    assert units == position.character, "a position within a letter"
    return at


def position(text: str, at: int, encoding: str) -> types.Position:
    """The position of an index."""
    ends = [match.end() for match in re.finditer(r"\r\n|\r|\n", text) if match.end() <= at]
    return types.Position(len(ends), UNITS[encoding](text[ends[-1] if ends else 0 : at]))


class Editor:
    """What one window holds: the server's process, the texts of documents, and what the server has said."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.encoding = "utf-16"
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: list[types.PublishDiagnosticsParams] = []
        self.traces: list[str] = []
        self.logged: list[str] = []
        self.messages: list[str] = []
        self.watched: list[Any] = []
        self._news = asyncio.Event()
        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._hears(self.published, params))
        client.feature(types.LOG_TRACE)(lambda params: self._hears(self.traces, params.message))
        client.feature(types.WINDOW_LOG_MESSAGE)(lambda params: self._hears(self.logged, params.message))
        client.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self._hears(self.messages, params.message))
        client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: self._hears(self.watched, params))

    def _hears(self, where: list[Any], what: Any) -> None:
        where.append(what)
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until the server has said enough."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    # Documents, by their names in the folder or by their addresses.

    def open(self, name: str, text: str, language: str = "python") -> str:
        uri = name if ":" in name else self.uri(name)
        self.texts[uri], self.versions[uri] = text, 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, language, 1, text))
        )
        return uri

    def replace(self, uri: str, old: str, new: str) -> None:
        """Types over the first `old`."""
        at = self.texts[uri].index(old)
        self.change(uri, at, at + len(old), new)

    def change(self, uri: str, start: int, end: int, new: str) -> None:
        text = self.texts[uri]
        place = types.Range(position(text, start, self.encoding), position(text, end, self.encoding))
        self.texts[uri] = text[:start] + new + text[end:]
        self.send_change(uri, types.TextDocumentContentChangePartial(place, new))

    def send_change(self, uri: str, *changes: types.TextDocumentContentChangeEvent) -> None:
        self.versions[uri] = self.versions.get(uri, 0) + 1
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, changes))

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    # What the server says.

    async def diagnostics(self, uri: str, version: int | None = None) -> Sequence[types.Diagnostic]:
        """Those of the newest version, or of the one named."""
        wanted = self.versions[uri] if version is None else version

        def found() -> list[types.PublishDiagnosticsParams]:
            return [one for one in self.published if one.uri == uri and one.version == wanted]

        await self.until(lambda: bool(found()))
        return found()[-1].diagnostics

    async def codes(self, uri: str) -> list[str]:
        return [str(one.code) for one in await self.diagnostics(uri)]

    async def analysed(self, uri: str, version: int) -> str:
        """What the trace says of the analysis of a version."""
        start = f"analysed version {version} of {uri}: "
        await self.until(lambda: any(text.startswith(start) for text in self.traces))
        return next(text.removeprefix(start) for text in self.traces if text.startswith(start))

    @property
    def analyses(self) -> int:
        return sum(text.startswith("analysed ") for text in self.traces)

    def source(self, uri: str, place: types.Range) -> str:
        """The text of a range."""
        start, end = (index(self.texts[uri], one, self.encoding) for one in (place.start, place.end))
        return self.texts[uri][start:end]

    async def actions(
        self,
        uri: str,
        at: str | None = None,
        only: Sequence[str] | None = None,
        trigger: types.CodeActionTriggerKind | None = None,
    ) -> list[types.CodeAction]:
        """The actions on the first line that has a text, or on the whole document, with their edits."""
        text = self.texts[uri]
        start, end = (0, len(text)) if at is None else (text.index(at), text.index(at) + len(at))
        place = types.Range(position(text, start, self.encoding), position(text, end, self.encoding))
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(types.TextDocumentIdentifier(uri), place, types.CodeActionContext([], only, trigger))
        )
        actions = [one for one in found or () if isinstance(one, types.CodeAction)]
        return [
            await self.client.code_action_resolve_async(one) if one.edit is None and one.data is not None else one
            for one in actions
        ]

    async def action(self, uri: str, title: str, at: str | None = None) -> types.CodeAction:
        (found,) = [one for one in await self.actions(uri, at) if one.title == title]
        return found

    def applied(self, uri: str, action: types.CodeAction) -> str:
        """What an action makes of a document, whose text here stays as it is."""
        assert action.edit is not None
        edits: list[types.TextEdit] = []
        if action.edit.document_changes is not None:
            for change in action.edit.document_changes:
                assert isinstance(change, types.TextDocumentEdit)
                assert (change.text_document.uri, change.text_document.version) == (uri, self.versions[uri])
                edits += [edit for edit in change.edits if isinstance(edit, types.TextEdit)]
        else:
            edits += (action.edit.changes or {})[uri]
        text = self.texts[uri]
        places = [
            (index(text, edit.range.start, self.encoding), index(text, edit.range.end, self.encoding), edit.new_text)
            for edit in edits
        ]
        rest = len(text)
        for start, end, new in sorted(places, reverse=True):
            assert end <= rest, "edits overlap"
            text, rest = text[:start] + new + text[end:], start
        return text

    async def hover(self, uri: str, at: str) -> str | None:
        """The text of what is shown where a text begins."""
        place = position(self.texts[uri], self.texts[uri].index(at), self.encoding)
        found = await self.client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), place))
        if found is None:
            return None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value


@asynccontextmanager
async def editor(
    folder: Path,
    *,
    capabilities: types.ClientCapabilities = CAPABILITIES,
    options: Any = None,
    folders: Sequence[Path] | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Editor]:
    """An editor with a folder open, or several, whose server is shut down at the end and has then ended well.

    Without any of `folders` it is one that knows only of a root.
    """
    client = LanguageClient("editor", "1")
    one = Editor(client, folder)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENSORCOPY_")}
    command = (sys.executable, "-m", "flake8_tensorcopy.cli", "server", "--stdio")
    await client.start_io(*command, cwd=str(ROOT), env=kept | {"PYTHONPATH": str(ROOT)} | dict(env or {}))
    try:
        result = await asyncio.wait_for(
            client.initialize_async(
                types.InitializeParams(
                    capabilities=capabilities,
                    process_id=os.getpid(),
                    initialization_options=options,
                    trace=types.TraceValue.Messages,
                    workspace_folders=[types.WorkspaceFolder(path.as_uri(), path.name) for path in folders or [folder]],
                )
            ),
            PATIENCE,
        )
        encoding = result.capabilities.position_encoding
        one.encoding = getattr(encoding, "value", encoding) or "utf-16"
        client.initialized(types.InitializedParams())
        yield one
        await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
        client.exit(None)
        assert client._server is not None
        assert await asyncio.wait_for(client._server.wait(), PATIENCE) == 0
    finally:
        if client._server is not None and client._server.returncode is None:
            client._server.kill()
        await client.stop()  # type: ignore[no-untyped-call]
