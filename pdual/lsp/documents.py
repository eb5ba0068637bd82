"""The open documents: the newest text of each, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pygls.uris import to_fs_path

from pdual.dsl.spans import Source
from pdual.lsp.analysis import Analysis


class Documents:
    """Analyses by address. What a text means is found out when somebody asks, once a version."""

    def __init__(self) -> None:
        self._open: dict[str, Analysis] = {}

    def __contains__(self, uri: object) -> bool:
        return uri in self._open

    def change(self, uri: str, text: str, units: Callable[[str], int]) -> Analysis:
        """A document has this text now."""
        path = to_fs_path(uri)
        folder = Path(path).parent if path is not None and uri.startswith("file:") else Path.cwd()
        self._open[uri] = Analysis(Source(path or uri, text), folder, units, self._open.get(uri))
        return self._open[uri]

    def close(self, uri: str) -> None:
        """A document was closed."""
        self._open.pop(uri, None)

    def get(self, uri: str) -> Analysis | None:
        """What is known of a document; None where it is not open."""
        return self._open.get(uri)
