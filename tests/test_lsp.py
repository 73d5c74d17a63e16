"""The language server, as an editor drives it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from lsprotocol import types

from flake8_tensorcopy.explain import page
from flake8_tensorcopy.lsp.analysis import LIMIT
from flake8_tensorcopy.registry import rules
from tests.conftest import run_tensorcopy
from tests.editor import CAPABILITIES, driven, editor

ALIAS = """\
import torch


def moved(a: torch.Tensor) -> torch.Tensor:
    face = "😀"; old = a
    face = "😀"; a += 1
    return a - old
"""
DETACH = "import torch\n\n\ndef snapshot(x: torch.Tensor) -> torch.Tensor:\n    return x.clone().detach()\n"
DISCARDED = "import torch\n\n\ndef f(x: torch.Tensor) -> torch.Tensor:\n    x.clamp(0)\n    return x\n"
FIX_ALL = "source.fixAll.tensorcopy"


def encoded(*encodings: str) -> types.ClientCapabilities:
    general = types.GeneralClientCapabilities(position_encodings=list(encodings))
    return attrs.evolve(CAPABILITIES, general=general)


def fixed(text: str, folder: Path, *options: str) -> str:
    """What `tensorcopy fix` makes of a text."""
    ran = run_tensorcopy("fix", "-", *options, cwd=folder, stdin=text.encode())
    return ran.out.decode()


def titles(actions: Sequence[types.CodeAction]) -> list[str]:
    return [action.title for action in actions]


# Places.


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@driven
async def test_places_are_in_the_units_of_the_client(encoding: str, tmp_path: Path) -> None:
    async with editor(tmp_path, capabilities=encoded("utf-7", encoding, "utf-16")) as one:
        assert one.encoding == encoding
        uri = one.open("a.py", ALIAS)
        (found,) = await one.diagnostics(uri)
        assert one.source(uri, found.range) == "a += 1"
        steps = found.related_information or ()
        assert [one.source(uri, step.location.range) for step in steps] == ["a", "a += 1", "old"]
        # A change behind such letters, and what then stands behind it.
        one.replace(uri, "a += 1", "'😀😀'; a.add_(1)  # 😀")
        (found,) = await one.diagnostics(uri)
        assert one.source(uri, found.range) == "a.add_(1)"
        repair = await one.action(uri, "Bind a clone (TSC101, unsafe)")
        assert one.applied(uri, repair) == one.texts[uri].replace("old = a\n", "old = a.clone()\n")
        silence = await one.action(uri, "Silence with # noqa: TSC101")
        assert one.applied(uri, silence) == one.texts[uri].replace("# 😀", "# 😀  # noqa: TSC101")


@driven
async def test_a_client_that_names_no_encoding_counts_in_utf_16(tmp_path: Path) -> None:
    async with editor(tmp_path, capabilities=types.ClientCapabilities()) as one:
        assert one.encoding == "utf-16"
        uri = one.open("a.py", ALIAS)
        await one.until(lambda: bool(one.published))
        (found,) = one.published[0].diagnostics
        assert found.range == types.Range(types.Position(5, 17), types.Position(5, 23))
        assert one.source(uri, found.range) == "a += 1"


# What is told of a finding.


@driven
async def test_a_finding_is_told_with_the_way_to_it(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        (found,) = await one.diagnostics(one.open("a.py", ALIAS))
        assert (found.code, found.source, found.severity) == ("TSC101", "tensorcopy", types.DiagnosticSeverity.Warning)
        assert found.message.startswith("in-place `+=` on `a` also changes `old`")
        assert [(step.location.uri, step.location.range.start.line) for step in found.related_information or ()] == [
            (one.uri("a.py"), 4),
            (one.uri("a.py"), 5),
            (one.uri("a.py"), 6),
        ]
        assert (found.code_description, found.tags) == (None, None)
        (costs,) = await one.diagnostics(one.open("b.py", DETACH))
        assert (costs.code, costs.severity) == ("TSC601", types.DiagnosticSeverity.Information)
        (idle,) = await one.diagnostics(one.open("c.py", DISCARDED))
        assert (idle.code, idle.tags) == ("TSC203", (types.DiagnosticTag.Unnecessary,))


@driven
async def test_a_client_is_told_only_what_it_understands(tmp_path: Path) -> None:
    document = types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(),
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText]),
    )
    few = types.ClientCapabilities(general=CAPABILITIES.general, text_document=document)
    async with editor(tmp_path, capabilities=few) as one:
        uri, idle = one.open("a.py", ALIAS + DETACH.partition("\n")[2]), one.open("c.py", DISCARDED)
        await one.until(lambda: {told.uri for told in one.published} == {uri, idle})
        told = [found for told in one.published for found in told.diagnostics]
        assert sorted(str(found.code) for found in told) == ["TSC101", "TSC203", "TSC601"]
        assert [(found.related_information, found.tags) for found in told] == [(None, None)] * 3
        assert {told.version for told in one.published} == {None}
        assert not one.watched
        # Edits come with the actions, and for whatever version there is.
        (repair,) = [one for one in await one.actions(uri) if one.kind == FIX_ALL]
        assert repair.data is not None and repair.edit is not None and repair.edit.document_changes is None
        assert one.applied(uri, repair) == fixed(one.texts[uri], tmp_path)
        automatic = types.CodeActionTriggerKind.Automatic
        assert FIX_ALL not in [one.kind for one in await one.actions(uri, trigger=automatic)]
        found = await one.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(idle), types.Position(4, 6))
        )
        assert found is not None and isinstance(found.contents, types.MarkupContent)
        assert found.contents.kind == types.MarkupKind.PlainText


@driven
async def test_the_page_of_a_rule_is_shown_over_its_finding(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        uri = one.open("a.py", ALIAS)
        assert await one.hover(uri, "a += 1") == page(rules()["TSC101"])
        assert await one.hover(uri, "torch") is await one.hover(uri, "old = a") is None


# When a text is looked at.


@driven
async def test_one_analysis_for_each_pause_while_typing(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        uri = one.open("a.py", ALIAS)
        await one.analysed(uri, 1)
        assert one.analyses == 1
        for letter in "# old = a is the same tensor":
            one.change(uri, len(one.texts[uri]), len(one.texts[uri]), letter)
        assert await one.codes(uri) == ["TSC101"]
        await one.analysed(uri, one.versions[uri])
        assert one.analyses == 2 and [told.version for told in one.published] == [1, one.versions[uri]]
        # The last change of a message counts, too.
        whole = types.TextDocumentContentChangeWholeDocument
        one.texts[uri] = DETACH
        one.send_change(uri, whole(ALIAS), whole(""), whole(DETACH))
        assert await one.codes(uri) == ["TSC601"]
        await one.analysed(uri, one.versions[uri])
        assert one.analyses == 3


@driven
async def test_what_was_told_stands_while_a_text_cannot_be_parsed(tmp_path: Path) -> None:
    async with editor(tmp_path, options={"extendIgnore": ["E999"]}) as one:
        uri = one.open("a.py", ALIAS)
        await one.diagnostics(uri)
        one.replace(uri, "return a - old", "return a - old.")
        assert (await one.analysed(uri, 2)).startswith("not to be parsed")
        assert await one.actions(uri) == [] and await one.hover(uri, "a += 1") is None
        one.replace(uri, "old.", "old.item()")
        assert await one.codes(uri) == ["TSC101"]
        one.replace(uri, "old = a\n", "old = a.clone()\n")
        assert await one.codes(uri) == []
        one.replace(uri, "return a", "return (a")
        assert (await one.analysed(uri, 5)).startswith("not to be parsed")
        assert [(told.version, len(told.diagnostics)) for told in one.published] == [(1, 1), (3, 1), (4, 0), (5, 0)]
        assert await one.codes(one.open("broken.py", "import torch\nx = (\n")) == []


@driven
async def test_a_text_that_is_closed_has_no_findings(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        uri = one.open("a.py", ALIAS)
        await one.diagnostics(uri)
        one.replace(uri, "a += 1", "a += 2")
        one.close(uri)
        await one.until(lambda: len(one.published) == 2)
        assert one.published[1].diagnostics == ()
        assert await one.actions(uri) == [] and await one.hover(uri, "a += 2") is None
        one.published.clear()
        again = one.open("a.py", DETACH)
        assert await one.codes(again) == ["TSC601"]
        assert [text for text in one.traces if "version 2" in text] == []


@driven
async def test_what_is_no_python_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("")
    async with editor(tmp_path) as one:
        for name, language in (
            ("notes.md", "markdown"),
            ("vscode-notebook-cell:/a.ipynb#W0sZmlsZQ", "python"),
            ("a.ipynb", "json"),
        ):
            one.open(name, ALIAS, language)
        stub = one.open("a.pyi", DETACH, "pyi")
        unsaved = one.open("untitled:Untitled-1", DETACH)
        strange = [one.open(uri, DETACH) for uri in ("file://[x", "file:", "file:///%00.py", "made-up:😀")]
        for uri in (stub, unsaved, *strange):
            assert await one.codes(uri) == ["TSC601"]
            await one.analysed(uri, 1)
        assert one.analyses == 2 + len(strange)


@driven
async def test_a_huge_text_is_not_looked_at(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        uri = one.open("a.py", DETACH + "#" * LIMIT)
        (found,) = await one.diagnostics(uri)
        assert (found.code, found.range.start.line) == ("TSC000", 0)
        assert found.message == (
            "not analysed: a text of more than 1,000,000 characters, which `tensorcopy check` would take"
        )
        one.change(uri, len(DETACH), len(one.texts[uri]), "")
        assert await one.codes(uri) == ["TSC601"]


# Actions.

TWO = ALIAS + DETACH.partition("\n")[2] + DISCARDED.partition("\n")[2]
TEXTS = {
    "plain": TWO,
    "crlf": TWO.replace("\n", "\r\n"),
    "cr": TWO.replace("\n", "\r"),
    "mark": "\ufeff" + TWO,
    "no newline at the end": TWO + "\n\ndef g(x: torch.Tensor):\n    return x.clone().detach()",
    "latin-1": "# coding: latin-1\nname = 'é'\n" + TWO.replace("😀", "ü"),
    "silenced": TWO.replace("detach()", "detach()  # noqa"),
    "form feed and separators": "\f\n# \x1c\x85\u2028\n" + TWO,
}


@driven
async def test_actions_give_what_the_command_fix_gives(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        for name, text in TEXTS.items():
            encoding = "latin-1" if "latin" in name else "utf-8"
            data = text.encode(encoding)
            safe, unsafe = (
                run_tensorcopy("fix", "-", "--isolated", *options, cwd=tmp_path, stdin=data).out.decode(encoding)
                for options in ([], ["--unsafe-fixes", "--select=TSC101"])
            )
            uri = one.open("a.py", text)
            repairs = await one.actions(uri, only=["source.fixAll"])
            assert [one.applied(uri, repair) for repair in repairs] == ([] if safe == text else [safe]), name
            assert (safe == text) == (name == "silenced")
            alone = await one.action(uri, "Bind a clone (TSC101, unsafe)")
            assert one.applied(uri, alone) == unsafe != text, name
            if repairs:
                detach = await one.action(uri, "Detach first, then clone (TSC601)", "x.clone().detach()")
                assert detach.is_preferred
                assert one.applied(uri, detach) == text.replace("x.clone().detach()", "x.detach().clone()", 1), name


@driven
async def test_each_action_is_offered_where_it_is_asked_for(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        uri = one.open("a.py", TWO)
        alias = ["Bind a clone (TSC101, unsafe)", "Silence with # noqa: TSC101"]
        detach = ["Detach first, then clone (TSC601)", "Silence with # noqa: TSC601"]
        everything = "tensorcopy: Make all safe repairs"
        assert titles(await one.actions(uri, "a += 1")) == [*alias, everything]
        assert titles(await one.actions(uri, "clone", only=["quickfix"])) == detach
        assert titles(await one.actions(uri, "import", only=["quickfix"])) == []
        assert titles(await one.actions(uri, "import")) == [everything]
        for only in (["source"], ["source.fixAll"], [FIX_ALL], [""], ["refactor", "source.fixAll"]):
            assert everything in titles(await one.actions(uri, "import", only=only))
        assert await one.actions(uri, only=["refactor", "source.organizeImports", "source.fixAll.ruff", "quick"]) == []
        actions = await one.actions(uri)
        assert [action.is_preferred for action in actions if action.title in (*alias, *detach)].count(True) == 1
        assert {action.disabled for action in actions} == {None}
        (shown,) = next(action.diagnostics or () for action in actions if action.title == alias[0])
        assert shown in await one.diagnostics(uri)
        assert await one.actions(uri) == actions
        nothing = one.open("b.py", ALIAS)
        assert titles(await one.actions(nothing)) == alias


@driven
async def test_an_action_is_for_the_text_as_it_is_now(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        uri = one.open("a.py", DETACH)
        request = one.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri),
                types.Range(types.Position(0, 0), types.Position(9, 0)),
                types.CodeActionContext([], [FIX_ALL]),
            )
        )
        (action,) = await request or ()
        assert isinstance(action, types.CodeAction) and action.edit is None
        one.replace(uri, "x.clone().detach()", "x")
        stale = await one.client.code_action_resolve_async(action)
        assert stale.edit == types.WorkspaceEdit()
        # While a pause is waited for, what is asked for by hand is answered at once.
        one.replace(uri, "return x", "return x.clone().detach()")
        assert len(await one.actions(uri)) == 3
        # What is asked for by itself waits, and is void if the text then changes.
        one.replace(uri, "return x", "return  x")
        automatic = types.CodeActionTriggerKind.Automatic
        asked = asyncio.create_task(one.actions(uri, trigger=automatic))
        await asyncio.sleep(0)  # it is asked before the text changes
        one.replace(uri, "return  x", "return x")
        assert await asked == []
        assert len(await one.actions(uri, trigger=automatic)) == 3


@driven
async def test_a_silenced_finding_is_gone(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        for name, text in {
            "plain": DETACH,
            "commented": DETACH.replace("detach()", "detach()  # fast enough"),
            "another code": DETACH.replace("detach()", "detach()  # noqa: E501 for now"),
            "over lines": DETACH.replace("return x", 'return """\n""", x'),
            "crlf": DETACH.replace("\n", "\r\n"),
        }.items():
            uri = one.open(f"{name.replace(' ', '_')}.py", text)
            assert await one.codes(uri) == ["TSC601"]
            silenced = one.applied(uri, await one.action(uri, "Silence with # noqa: TSC601"))
            one.change(uri, 0, len(text), silenced)
            assert await one.codes(uri) == [], silenced
        assert "# noqa: E501, TSC601 for now" in one.texts[one.uri("another_code.py")]
    async with editor(tmp_path, options={"disableNoqa": True}) as one:
        uri = one.open("a.py", DETACH.replace("detach()", "detach()  # noqa"))
        assert titles(await one.actions(uri, only=["quickfix"])) == ["Detach first, then clone (TSC601)"]


# Settings.


@driven
async def test_each_folder_has_its_own_settings(tmp_path: Path) -> None:
    first, second, inner = tmp_path / "first", tmp_path / "second", tmp_path / "second" / "inner"
    for folder in (first, second, inner):
        folder.mkdir()
    (first / "pyproject.toml").write_text('[tool.tensorcopy]\nignore = ["TSC601"]\n')
    (second / "setup.cfg").write_text("[flake8]\nextend-exclude = build, data/*.py\nextend-ignore = TSC1\n")
    (inner / ".flake8").write_text("[flake8]\nselect = TSC1\n")
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "pyproject.toml").write_text('[tool.tensorcopy]\nselect = ["TSC2"]\n')
    async with editor(tmp_path, folders=[first, second, inner]) as one:
        assert await one.codes(one.open("first/a.py", TWO)) == ["TSC101", "TSC203"]
        assert await one.codes(one.open("second/a.py", TWO)) == ["TSC601", "TSC203"]
        assert await one.codes(one.open("second/inner/a.py", TWO)) == ["TSC101"]
        assert await one.codes(one.open("alone/a.py", TWO)) == ["TSC203"]
        assert await one.codes(one.open("untitled:Untitled-1", TWO)) == ["TSC101", "TSC203"]
        left_out = [one.open(f"second/{name}.py", TWO) for name in ("build/lib/a", "data/a")]
        for uri in left_out:
            assert await one.codes(uri) == [] and await one.actions(uri) == []
        assert await one.codes(one.open("second/database/a.py", TWO)) == ["TSC601", "TSC203"]
        # A folder that leaves the workspace leaves its files to the one around it.
        event = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(inner.as_uri(), "inner")])
        one.published.clear()
        one.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        assert await one.codes(one.uri("second/inner/a.py")) == ["TSC601", "TSC203"]


@driven
async def test_an_editor_may_know_only_of_a_root(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.tensorcopy]\nselect = ["TSC2"]\n')
    (tmp_path / "inner" / "pyproject.toml").write_text('[tool.tensorcopy]\nselect = ["TSC1"]\n')
    async with editor(tmp_path, folders=[]) as one:
        assert await one.codes(one.open("inner/a.py", TWO)) == ["TSC203"]


@driven
async def test_settings_are_read_again_when_their_file_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    async with editor(tmp_path) as one:
        uri = one.open("a.py", TWO)
        assert await one.codes(uri) == ["TSC101", "TSC601", "TSC203"]
        await one.until(lambda: bool(one.watched))
        globs = [w["globPattern"] for w in one.watched[0].registrations[0].register_options["watchers"]]
        assert globs == ["**/pyproject.toml", "**/setup.cfg", "**/tox.ini", "**/.flake8"]

        def saved(text: str) -> None:
            file.write_text(text)
            one.published.clear()
            change = types.FileEvent(file.as_uri(), types.FileChangeType.Changed)
            one.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))

        saved('[tool.tensorcopy]\nselect = ["TSC1"]\n')
        assert await one.codes(uri) == ["TSC101"]
        # What makes no sense is told once, and what there was before stands.
        for _ in range(2):
            saved('[tool.tensorcopy]\nselect = ["TSC1"]\npreviev = true\n')
            assert await one.codes(uri) == ["TSC101"]
        saved("[tool.tensorcopy\n")
        assert await one.codes(uri) == ["TSC101"]
        assert len(one.messages) == 2 and "has no setting 'previev'; did you mean 'preview'?" in one.messages[0]
        # Without being told, at the next change.
        file.write_text('[tool.tensorcopy]\nselect = ["TSC2"]\n')
        one.replace(uri, "a += 1", "a += 2")
        assert await one.codes(uri) == ["TSC203"]
        # And when it is saved in the editor itself.
        file.unlink()
        one.published.clear()
        one.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(file.as_uri())))
        assert await one.codes(uri) == ["TSC101", "TSC601", "TSC203"]


@driven
async def test_the_editors_settings_come_first(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tensorcopy]\nselect = ["TSC1"]\nignore = ["TSC2"]\n')
    options = {"settings": {"select": ["TSC6", "TSC2"], "unsafeFixes": True, "colour": "red", "preview": None}}
    async with editor(tmp_path, options=options) as one:
        uri = one.open("a.py", TWO)
        assert await one.codes(uri) == ["TSC601"]
        assert one.logged == ["tensorcopy: the editor's settings: there is none called 'colour'"]

        def configure(sent: object) -> None:
            one.published.clear()
            one.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(sent))

        configure({"tensorcopy": {"select": ["TSC1"], "unsafe_fixes": True}})
        assert await one.codes(uri) == ["TSC101"]
        (repair,) = await one.actions(uri, only=["source.fixAll"])
        assert repair.title == "tensorcopy: Make all repairs"
        assert one.applied(uri, repair) == fixed(TWO, tmp_path, "--unsafe-fixes", "--select=TSC1")
        assert (await one.action(uri, "Bind a clone (TSC101, unsafe)")).is_preferred
        others: tuple[object, ...] = (None, {}, {"other": 1}, 7, [])
        for sent in others:  # not for this server
            configure(sent)
            assert await one.codes(uri) == ["TSC101"]
        configure({"tensorcopy": {"select": ["TSX"]}})
        assert await one.codes(uri) == ["TSC101"]
        (message,) = one.messages
        assert message.startswith("tensorcopy: the editor's setting `select`: 'TSX' matches no rule")
        configure({"tensorcopy": None})
        assert await one.codes(uri) == ["TSC101"]


@driven
async def test_editor_settings_that_make_no_sense_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tensorcopy]\nselect = ["TSC1"]\n')
    for options in ({"preview": "yes"}, ["preview"], "preview"):
        async with editor(tmp_path, options=options) as one:
            assert await one.codes(one.open("a.py", TWO)) == ["TSC101"]
            assert len(one.messages) + len(one.logged) == 1


@driven
async def test_preview_rules_are_shown_on_demand(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef f(n: int):\n    return torch.zeros(n).cuda()\n"
    expected = {preview: run_tensorcopy(
        "check", "-", "--output-format=concise", *(["--preview"] if preview else []), cwd=tmp_path, stdin=text.encode()
    ).out.decode() for preview in (False, True)}  # fmt: skip
    assert expected[False] == "" and "TSC505" in expected[True]
    for preview in (False, True):
        async with editor(tmp_path, options={"preview": preview}) as one:
            assert await one.codes(one.open("a.py", text)) == (["TSC505"] if preview else [])


# The way of the protocol.


@driven
async def test_requests_can_be_cancelled(tmp_path: Path) -> None:
    async with editor(tmp_path) as one:
        uri = one.open("a.py", TWO)
        await one.diagnostics(uri)
        one.replace(uri, "a += 1", "a += 2")
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(5, 17))
        asked = one.client.protocol.send_request(types.TEXT_DOCUMENT_HOVER, params, msg_id="mine")
        one.client.cancel_request(types.CancelParams("mine"))
        with pytest.raises(Exception, match="is canceled"):
            await asyncio.wrap_future(asked)
        one.client.cancel_request(types.CancelParams("never asked"))
        assert await one.codes(uri) == ["TSC101", "TSC601", "TSC203"]
