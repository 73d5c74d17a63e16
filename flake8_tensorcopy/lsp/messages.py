"""Findings in the words of the protocol, as far as a client understands them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lsprotocol import types

from flake8_tensorcopy.engine import Edit, Finding
from flake8_tensorcopy.lsp.documents import UTF16, Text, Units, units
from flake8_tensorcopy.report.model import level

SOURCE = "tensorcopy"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
# What they report does nothing at all, so that an editor may fade it.
_WITHOUT_EFFECT = ("TSC201", "TSC202", "TSC203", "TSC204")


@dataclass(frozen=True, slots=True)
class Client:
    """What a client understands.

    Of diagnostics: `related`, places that belong to one; `tags`; `versions` of the text that they were made for.  Of
    edits: `versioned`, that they are for a version.  Of code actions: `resolves`, that an edit may be asked for later.
    """

    units: Units = UTF16
    related: bool = True
    tags: bool = True
    versions: bool = False
    versioned: bool = False
    resolves: bool = False
    markdown: bool = True
    watches: bool = False

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities, encoding: str | None) -> Client:
        """A client that says nothing of diagnostics gets everything: what it does not know, it passes over."""
        document = capabilities.text_document or types.TextDocumentClientCapabilities()
        workspace = capabilities.workspace or types.WorkspaceClientCapabilities()
        shown, hover, action = document.publish_diagnostics, document.hover, document.code_action
        edit, watched = workspace.workspace_edit, workspace.did_change_watched_files
        resolved = action.resolve_support.properties if action and action.resolve_support else ()
        tags = shown.tag_support.value_set if shown and shown.tag_support else ()
        formats = hover.content_format if hover else None
        return cls(
            units=units(encoding),
            related=shown is None or bool(shown.related_information),
            tags=shown is None or types.DiagnosticTag.Unnecessary in tags,
            versions=bool(shown and shown.version_support),
            versioned=bool(edit and edit.document_changes),
            resolves="edit" in resolved,
            markdown=formats is None or types.MarkupKind.Markdown in formats,
            watches=bool(watched and watched.dynamic_registration),
        )


def diagnostic(finding: Finding, uri: str, text: Text, client: Client) -> types.Diagnostic:
    """A finding, and the way to it as places that belong to it."""
    steps = [
        types.DiagnosticRelatedInformation(types.Location(uri, text.range(step.span, client.units)), step.text)
        for step in finding.path
    ]
    fades = client.tags and finding.code in _WITHOUT_EFFECT
    return types.Diagnostic(
        text.range(finding.span, client.units),
        finding.message,
        severity=_SEVERITIES[level(finding.code)],
        code=finding.code,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if fades else None,
        related_information=steps if client.related and steps else None,
    )


def workspace_edit(
    uri: str, version: int | None, edits: Sequence[types.TextEdit], client: Client
) -> types.WorkspaceEdit:
    """Edits of one document, and of no other version than the one that they were made for."""
    if not client.versioned:
        return types.WorkspaceEdit(changes={uri: edits})
    document = types.OptionalVersionedTextDocumentIdentifier(uri, version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, edits)])


def text_edits(edits: Iterable[Edit], text: Text, client: Client) -> list[types.TextEdit]:
    """Edits whose newlines are those of the text."""
    return [types.TextEdit(text.range(edit.span, client.units), edit.text) for edit in edits]


def with_newlines(edits: Iterable[Edit], text: Text) -> list[Edit]:
    """Edits that a rule made, with the newlines of the text."""
    return [Edit(edit.span, edit.text.replace("\n", text.newline(edit.span.line))) for edit in edits]
