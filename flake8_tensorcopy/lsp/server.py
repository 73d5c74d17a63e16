"""The server: what the client says, when a text is looked at, and what is told."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from flake8_tensorcopy import explain, registry
from flake8_tensorcopy.lint import describe
from flake8_tensorcopy.lsp import settings
from flake8_tensorcopy.lsp.actions import FIX_ALL, KINDS, QUICK_FIX, Actions, merged, wanted
from flake8_tensorcopy.lsp.analysis import Analysis, analyse
from flake8_tensorcopy.lsp.documents import Document, Text, is_python, path_of
from flake8_tensorcopy.lsp.messages import Client, diagnostic

PAUSE = 0.2  # seconds without a change, after which a text that is being typed is looked at
STACK = 64 << 20  # bytes: threads get less than a process elsewhere than on Linux, and LibCST needs it

Result = TypeVar("Result")


class Protocol(LanguageServerProtocol):
    """pygls's, which leaves the documents to this server and a request that makes no sense not unanswered."""

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        _server(self).opened(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        _server(self).changed(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        _server(self).closed(params.text_document.uri)

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


def _server(protocol: Protocol) -> Server:
    assert isinstance(protocol._server, Server)
    return protocol._server


@dataclass(eq=False, slots=True)
class Open:
    """An open document, and what is known of it."""

    document: Document
    actions: Actions | None = None  # of this very document, as soon as it has been looked at
    task: asyncio.Task[None] | None = None  # which makes the analysis
    waiting: bool = False  # for a pause
    shown: Sequence[types.Diagnostic] = ()


class Server(LanguageServer):
    """Looks at each version of a document at most once, in one thread beside the one that talks to the client."""

    def __init__(self) -> None:
        super().__init__(
            "tensorcopy", version("flake8-tensorcopy"), protocol_cls=Protocol, converter_factory=default_converter
        )
        self.client = Client()
        self.is_shut_down = False
        self._given: dict[str, Any] = {}
        self._folders = settings.Folders()
        self._open: dict[str, Open] = {}
        self._told: set[str] = set()
        self._worker = ThreadPoolExecutor(1, "analysis")

    # The life of the server.

    def began(self, params: types.InitializeParams) -> None:
        """The client says what it is and wants."""
        encoding = self.workspace.position_encoding
        self.client = Client.of(params.capabilities, getattr(encoding, "value", encoding))
        self.protocol.trace = params.trace or types.TraceValue.Off
        self._given, notes = settings.sent(params.initialization_options)
        for note in notes:
            self.log(types.MessageType.Warning, note)
        self.set_folders()
        self._worker.submit(_warm_up)

    def ready(self) -> None:
        """The client can be asked: to tell of the files that settings come from."""
        if self.client.watches:
            watchers = [types.FileSystemWatcher(f"**/{name}") for name in settings.FILES]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            self.client_register_capability(types.RegistrationParams([types.Registration("settings", method, options)]))

    def end(self) -> None:
        """Nothing is looked at or told any more."""
        self.is_shut_down = True
        for uri in list(self._open):
            self._forget(uri)
        self._worker.shutdown(wait=False, cancel_futures=True)

    def set_folders(self) -> None:
        """The folders of the workspace are others."""
        uris = [folder.uri for folder in self.workspace.folders.values()]
        if not uris and self.workspace.root_uri:
            uris = [self.workspace.root_uri]
        self._folders.set([path for uri in uris if (path := path_of(uri.rstrip("/"))) is not None])
        self.refresh()

    def configured(self, sent: Any) -> None:
        """The editor's settings are others; not all that editors send here is for this server."""
        if isinstance(sent, dict) and "tensorcopy" in sent:
            self._given, notes = settings.sent(sent["tensorcopy"])
            for note in notes:
                self.log(types.MessageType.Warning, note)
        self.refresh()

    # Documents.

    def opened(self, item: types.TextDocumentItem) -> None:
        self._forget(item.uri)
        if is_python(item):
            self._open[item.uri] = Open(Document.opened(item))
            self._schedule(self._open[item.uri])

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        one = self._open.get(params.text_document.uri)
        if one is not None:
            one.document = one.document.changed(params.text_document.version, params.content_changes, self.client.units)
            self._schedule(one, PAUSE)

    def closed(self, uri: str) -> None:
        one = self._forget(uri)
        if one is not None and one.shown:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def refresh(self) -> None:
        """Looks at all documents again: something else than their text has changed."""
        for one in self._open.values():
            self._schedule(one)

    def _forget(self, uri: str) -> Open | None:
        one = self._open.pop(uri, None)
        if one is not None and one.task is not None:
            one.task.cancel()
        return one

    # Analyses.

    def _schedule(self, one: Open, pause: float = 0.0) -> None:
        """Looks at a document after a pause, unless it changes before; what was known of it, or begun, is void."""
        if one.task is not None:
            one.task.cancel()
        one.actions, one.waiting = None, pause > 0
        one.task = asyncio.create_task(self._look(one, pause))

    async def _look(self, one: Open, pause: float) -> None:
        await asyncio.sleep(pause)
        one.waiting = False
        document, given = one.document, self._given
        started = time.perf_counter()
        # Cancelled, it does not begin any more; one that has begun ends for nothing.
        try:
            analysis, notes = await self._in_worker(partial(self._analyse, document, given))
        except Exception as error:
            self.log(types.MessageType.Error, f"{document.uri} was not analysed: {describe(error)}")
            return
        one.actions = Actions(document, analysis, self.client)
        for note in notes:
            self._tell(note)
        if analysis.problem is not None:
            self.log(types.MessageType.Error, f"{analysis.name} was not analysed: {analysis.problem}")
        milliseconds = (time.perf_counter() - started) * 1000
        found = "not to be parsed" if analysis.broken else f"{len(analysis.findings)} findings"
        self._publish(one, analysis)
        self._trace(f"analysed version {document.version} of {document.uri}: {found}, {milliseconds:.0f} ms")

    def _analyse(self, document: Document, given: dict[str, Any]) -> tuple[Analysis, tuple[str, ...]]:
        folder = self._folders.of(document.path)
        made, notes = folder.settings(given)
        return analyse(document.text, document.path, folder.path, made), notes

    def _publish(self, one: Open, analysis: Analysis) -> None:
        """Tells the client what was found.

        While a text cannot be parsed, what was told before stands: editors move it along with the text, and to take it
        away for a moment would only make it flicker.
        """
        if analysis.broken and one.shown:
            return
        document = one.document
        one.shown = [diagnostic(finding, document.uri, document.text, self.client) for finding in analysis.findings]
        number = document.version if self.client.versions else None
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, one.shown, number))

    async def known(self, uri: str, *, at_once: bool) -> Actions | None:
        """What can be done about the findings of a document, once they are known.

        None if it is not open or changes meanwhile.  `at_once`: it does not wait for a pause.
        """
        one = self._open.get(uri)
        if one is None:
            return None
        document = one.document
        if one.waiting and at_once:
            self._schedule(one)
        while one.task is not None and not one.task.done():
            await asyncio.wait([one.task])
        return one.actions if one.document is document and self._open.get(uri) is one else None

    async def _in_worker(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    # What the client asks for.

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        context = params.context
        by_itself = context.trigger_kind == types.CodeActionTriggerKind.Automatic
        actions = await self.known(params.text_document.uri, at_once=not by_itself)
        if actions is None:
            return []
        found: list[types.CodeAction] = []
        if wanted(QUICK_FIX, context):
            for finding in actions.within(params.range):
                found += await self._in_worker(partial(actions.quick_fixes, finding))
        found = merged(found)
        if wanted(FIX_ALL, context) and (action := actions.fix_all()) is not None:
            if self.client.resolves:
                found.append(action)
            elif context.only is not None or not by_itself:
                action.edit = await self._in_worker(actions.all_fixed)
                found += [action] if action.edit is not None else []
        return found

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """An action with its edit, which is empty if the document is another one by now."""
        data = action.data if isinstance(action.data, dict) else {}
        actions = await self.known(str(data.get("uri")), at_once=True)
        if action.kind == FIX_ALL and actions is not None and actions.document.version == data.get("version"):
            action.edit = await self._in_worker(actions.all_fixed)
        if action.edit is None:
            action.edit = types.WorkspaceEdit()
        return action

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """The pages of the rules whose findings are at a position."""
        actions = await self.known(params.text_document.uri, at_once=False)
        if actions is None:
            return None
        found = actions.within(types.Range(params.position, params.position))
        rules = [rule for code, rule in registry.rules().items() if any(finding.code == code for finding in found)]
        if not rules:
            return None
        kind = types.MarkupKind.Markdown if self.client.markdown else types.MarkupKind.PlainText
        text = "\n---\n\n".join(explain.page(rule) for rule in rules)
        place = actions.document.text.range(found[0].span, self.client.units)
        return types.Hover(types.MarkupContent(kind, text), place if len(found) == 1 else None)

    # What is told beside that.

    def log(self, kind: types.MessageType, text: str) -> None:
        """A line in the log that an editor keeps of its servers."""
        self.window_log_message(types.LogMessageParams(kind, f"tensorcopy: {text}"))

    def _tell(self, text: str) -> None:
        """Something wrong with the settings: shown to the user, once."""
        if text not in self._told:
            self._told.add(text)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"tensorcopy: {text}"))

    def _trace(self, text: str) -> None:
        if self.protocol.trace != types.TraceValue.Off:
            self.log_trace(types.LogTraceParams(text))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """What goes wrong while a message is handled is for the log, not for a window in front of the user."""
        self.log(types.MessageType.Error, describe(error))


def _warm_up() -> None:
    """Imports what an analysis needs, while nobody waits for it."""
    folder = os.getcwd()
    made, _ = settings.Folder(folder).settings({})
    text = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.clone().detach()\n"
    analyse(Text(text), None, folder, made)


def made() -> Server:
    """A server that knows what to do with each message."""
    server = Server()

    @server.feature(types.INITIALIZE)
    def initialize(ls: Server, params: types.InitializeParams) -> None:
        ls.began(params)

    @server.feature(types.INITIALIZED)
    def initialized(ls: Server, params: types.InitializedParams) -> None:
        ls.ready()

    @server.feature(types.SHUTDOWN)
    def shutdown(ls: Server, params: None) -> None:
        ls.end()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
        if os.path.basename(path_of(params.text_document.uri) or "") in settings.FILES:
            ls.refresh()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
        ls.refresh()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(ls: Server, params: types.DidChangeConfigurationParams) -> None:
        ls.configured(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
        ls.set_folders()

    options = types.CodeActionOptions(code_action_kinds=KINDS, resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_action(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
        return await ls.actions(params)

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def code_action_resolve(ls: Server, params: types.CodeAction) -> types.CodeAction:
        return await ls.resolved(params)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
        return await ls.hover(params)

    return server


def serve() -> int:
    """Talks to a client over standard input and output until it leaves; returns the exit status.

    That is 0 if the client asked for a shutdown before, as the protocol wants it, and 1 if not.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is to be saved, and a thread may be reading
    # What else is printed must not get between the messages.
    sys.stdout.flush()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.stack_size(STACK)
    server = made()
    server.start_io(stdout=out)
    return 0 if server.is_shut_down else 1
