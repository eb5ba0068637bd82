"""The protocol's side of the language server: every request becomes one call of the module that answers it."""

from __future__ import annotations

import asyncio
import logging

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from pdual import __version__
from pdual.dsl.formatting.layout import ChangedError, formatted
from pdual.lsp.actions import KINDS, actions
from pdual.lsp.analysis import Analysis
from pdual.lsp.completion import completions
from pdual.lsp.diagnostics import diagnostics
from pdual.lsp.documents import Documents
from pdual.lsp.hints import hints
from pdual.lsp.hover import hover
from pdual.lsp.outline import outline
from pdual.lsp.renaming import ClashError, renamed
from pdual.lsp.symbols import Occurrence

#: Seconds without a key before a text is checked: a check takes about as long.
PAUSE = 0.15


def server() -> LanguageServer:
    """A server with every feature."""
    found = LanguageServer("pdual", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    # A name that cannot be given is an answer; pygls would write a traceback of it.
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_no_answer)
    documents = Documents()
    _keep(found, documents)
    _answer_about_names(found, documents)
    _answer_about_texts(found, documents)
    return found


def _is_no_answer(record: logging.LogRecord) -> bool:
    # A message of the wrong shape is answered too, see ``incoming``.
    if str(record.msg).startswith("Unable to deserialize message"):
        return False
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcInvalidParams))


def _keep(ls: LanguageServer, documents: Documents) -> None:
    """Follow the texts, and publish what is wrong with them when the typing pauses."""
    waiting: dict[str, asyncio.TimerHandle] = {}

    def publish(uri: str) -> None:
        waiting.pop(uri, None)
        analysis = documents.get(uri)
        if analysis is not None:
            document = ls.workspace.text_documents.get(uri)
            version = document.version if document is not None else None
            found = diagnostics(analysis, uri)
            ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def changed(uri: str, pause: float) -> None:
        text = ls.workspace.get_text_document(uri).source
        documents.change(uri, text, ls.workspace.position_codec.client_num_units)
        if uri in waiting:
            waiting.pop(uri).cancel()
        waiting[uri] = asyncio.get_running_loop().call_later(pause, publish, uri)

    @ls.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def _opened(params: types.DidOpenTextDocumentParams) -> None:
        changed(params.text_document.uri, 0)

    @ls.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def _changed(params: types.DidChangeTextDocumentParams) -> None:
        changed(params.text_document.uri, PAUSE)

    @ls.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def _saved(params: types.DidSaveTextDocumentParams) -> None:
        # Files that the spec reads may be others by now.
        changed(params.text_document.uri, 0)

    @ls.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def _closed(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        documents.close(uri)
        if uri in waiting:
            waiting.pop(uri).cancel()
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def _answer_about_names(ls: LanguageServer, documents: Documents) -> None:
    def named(document: types.TextDocumentIdentifier, place: types.Position) -> tuple[Analysis, Occurrence] | None:
        analysis = documents.get(document.uri)
        found = analysis.index.at(analysis.positions.offset(place)) if analysis is not None else None
        return None if analysis is None or found is None else (analysis, found)

    @ls.feature(types.TEXT_DOCUMENT_HOVER)
    def _hover(params: types.HoverParams) -> types.Hover | None:
        analysis = documents.get(params.text_document.uri)
        return None if analysis is None else hover(analysis, params.position)

    @ls.feature(types.TEXT_DOCUMENT_DEFINITION)
    def _definition(params: types.DefinitionParams) -> types.Location | None:
        at = named(params.text_document, params.position)
        return (
            None if at is None else types.Location(params.text_document.uri, at[0].positions.range(at[1].symbol.span))
        )

    @ls.feature(types.TEXT_DOCUMENT_REFERENCES)
    def _references(params: types.ReferenceParams) -> list[types.Location]:
        at = named(params.text_document, params.position)
        if at is None:
            return []
        spans = sorted({item.span for item in at[0].index.of(at[1].symbol)})
        return [types.Location(params.text_document.uri, at[0].positions.range(span)) for span in spans]

    @ls.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def _prepare(params: types.PrepareRenameParams) -> types.Range | None:
        at = named(params.text_document, params.position)
        return None if at is None else at[0].positions.range(at[1].span)

    @ls.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def _rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        at = named(params.text_document, params.position)
        if at is None:
            return None
        try:
            spans = renamed(*at, params.new_name)
        except ClashError as clash:
            raise JsonRpcInvalidParams(str(clash)) from clash
        edits = [types.TextEdit(at[0].positions.range(span), params.new_name) for span in spans]
        return types.WorkspaceEdit({params.text_document.uri: edits})


def _answer_about_texts(ls: LanguageServer, documents: Documents) -> None:
    @ls.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[".", "=", "(", "[", ":"]))
    def _completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        analysis = documents.get(params.text_document.uri)
        return [] if analysis is None else completions(analysis, params.position)

    @ls.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=list(KINDS)))
    def _actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        analysis = documents.get(params.text_document.uri)
        uri, only = params.text_document.uri, params.context.only
        return [] if analysis is None else actions(analysis, uri, params.range, only)

    @ls.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def _symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        analysis = documents.get(params.text_document.uri)
        return [] if analysis is None else outline(analysis)

    @ls.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def _hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        analysis = documents.get(params.text_document.uri)
        return [] if analysis is None else hints(analysis, params.range)

    @ls.feature(types.TEXT_DOCUMENT_FORMATTING)
    def _format(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        analysis = documents.get(params.text_document.uri)
        if analysis is None:
            return None
        try:
            text, _ = formatted(analysis.source)
        except ChangedError:
            return None
        same = text is None or text == analysis.source.text
        return None if same or text is None else [types.TextEdit(analysis.positions.whole, text)]
