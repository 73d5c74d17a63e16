"""What an editor offers to do about findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

from lsprotocol import types

from flake8_tensorcopy.engine import Edit, Finding
from flake8_tensorcopy.lsp import analysis as work
from flake8_tensorcopy.lsp.analysis import Analysis
from flake8_tensorcopy.lsp.documents import Document
from flake8_tensorcopy.lsp.messages import Client, diagnostic, text_edits, with_newlines, workspace_edit

QUICK_FIX = types.CodeActionKind.QuickFix.value
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.tensorcopy"
KINDS = (QUICK_FIX, FIX_ALL)


class Actions:
    """The code actions of one version of a document; what was made once, for the same finding, is made once only."""

    def __init__(self, document: Document, analysis: Analysis, client: Client) -> None:
        self.document = document
        self.analysis = analysis
        self._client = client
        self._text = document.text
        self._made: dict[Finding, list[types.CodeAction]] = {}

    def within(self, place: types.Range) -> list[Finding]:
        """The findings that a range holds or touches."""
        return [
            finding for finding in self.analysis.findings
            if _touch(self._text.range(finding.span, self._client.units), place)
        ]  # fmt: skip

    def quick_fixes(self, finding: Finding) -> list[types.CodeAction]:
        """The repair of a finding, if it holds, and the comment that silences it."""
        if finding not in self._made:
            self._made[finding] = list(self._quick_fixes(finding))
        return self._made[finding]

    def _quick_fixes(self, finding: Finding) -> Iterator[types.CodeAction]:
        fix = finding.fix
        if fix is not None and work.repaired(self.analysis, finding) is not None:
            title = f"{fix.title} ({finding.code})" if fix.safe else f"{fix.title} ({finding.code}, unsafe)"
            preferred = fix.safe or self.analysis.settings.unsafe_fixes
            edits = with_newlines(fix.edits, self._text)
            yield self._action(title, edits, finding, preferred=preferred or None)
        comment = work.silence(self.analysis, finding)
        if comment is not None:
            yield self._action(f"Silence with # noqa: {finding.code}", [comment], finding)

    def fix_all(self) -> types.CodeAction | None:
        """The action that repairs whatever `tensorcopy fix` does, its edit left out; None where there is nothing."""
        settings = self.analysis.settings
        if not any(finding.fix and (finding.fix.safe or settings.unsafe_fixes) for finding in self.analysis.findings):
            return None
        title = "Make all repairs" if settings.unsafe_fixes else "Make all safe repairs"
        data = {"uri": self.document.uri, "version": self.document.version}
        return types.CodeAction(f"tensorcopy: {title}", kind=FIX_ALL, data=data)

    def all_fixed(self) -> types.WorkspaceEdit | None:
        """The edit of `fix_all`; None where none of the repairs holds."""
        after = work.repaired(self.analysis)
        return None if after is None else self._edit(work.edits(self._text, after))

    def _action(
        self, title: str, edits: Sequence[Edit], finding: Finding, preferred: bool | None = None
    ) -> types.CodeAction:
        shown = diagnostic(finding, self.document.uri, self._text, self._client)
        return types.CodeAction(
            title, kind=QUICK_FIX, diagnostics=[shown], is_preferred=preferred, edit=self._edit(edits)
        )

    def _edit(self, edits: Sequence[Edit]) -> types.WorkspaceEdit:
        changes = text_edits(edits, self._text, self._client)
        return workspace_edit(self.document.uri, self.document.version, changes, self._client)


def wanted(kind: str, context: types.CodeActionContext) -> bool:
    """Whether a client asks for actions of a kind: for all, for it, or for one above it."""
    if context.only is None:
        return True
    asked = [str(getattr(one, "value", one)) for one in context.only]
    return any(not one or kind == one or kind.startswith(f"{one}.") for one in asked)


def _touch(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def merged(actions: Sequence[types.CodeAction]) -> list[types.CodeAction]:
    """The actions, those that do the same once, for all of their findings; preferred ones first."""
    found: list[types.CodeAction] = []
    for action in actions:
        for same in found:
            if same.title == action.title and same.edit == action.edit:
                same.diagnostics = [*(same.diagnostics or ()), *(action.diagnostics or ())]
                break
        else:
            found.append(copy(action))
    return sorted(found, key=lambda action: not action.is_preferred)
