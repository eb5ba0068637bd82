"""A client of the language server: the real process, JSON-RPC over its standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import Any

SERVER = "import sys\nfrom pdual.cli.start import main\nsys.argv = ['pdual', 'lsp']\nmain()\n"
#: Seconds until an answer has to be there.
PATIENCE = 60


class RefusedError(Exception):
    """The server answered a request with an error."""


class Client:
    """One server and its open documents; leaving the context ends it, and asserts that it ended well."""

    def __init__(self, folder: Path, script: str = SERVER) -> None:
        self.folder = folder
        self._number = 0
        self._versions: dict[str, int] = {}
        self._read: Queue[dict[str, Any] | None] = Queue()
        self.published: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        Thread(target=self._listen, daemon=True).start()
        self.capabilities = self.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities={})[
            "capabilities"
        ]
        self.tell("initialized")

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
            self._process.communicate()
            return
        self.ask("shutdown")
        self.tell("exit")
        assert self._process.stdin is not None
        self._process.stdin.close()
        self.code = self._process.wait(PATIENCE)
        assert self._process.stderr is not None
        self.said = self._process.stderr.read().decode()
        self._process.stderr.close()
        assert self._process.stdout is not None
        self._process.stdout.close()

    # --- the protocol --------------------------------------------------------------------------------------

    def ask(self, method: str, **params: Any) -> Any:
        """A request; its result. Raises RefusedError."""
        self._number += 1
        self._write({"id": self._number, "method": method, "params": params or None})
        while True:
            message = self._next()
            if message.get("id") == self._number and "method" not in message:
                if "error" in message:
                    raise RefusedError(message["error"]["message"])
                return message.get("result")

    def tell(self, method: str, **params: Any) -> None:
        """A notification."""
        self._write({"method": method, "params": params})

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _next(self) -> dict[str, Any]:
        try:
            message = self._read.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError("the server does not answer") from None
        assert message is not None, "the server has gone"
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published.append(message["params"])
        return message

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline().strip()) or not length:
                if not line:
                    self._read.put(None)
                    return
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self._read.put(json.loads(stream.read(length)))

    # --- documents -----------------------------------------------------------------------------------------

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def write(self, name: str, text: str) -> None:
        """Open a document, or give it another text."""
        uri = self.uri(name)
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        if version == 1:
            document = {"uri": uri, "languageId": "pdual", "version": version, "text": text}
            self.tell("textDocument/didOpen", textDocument=document)
        else:
            self.tell(
                "textDocument/didChange", textDocument={"uri": uri, "version": version}, contentChanges=[{"text": text}]
            )

    def diagnostics(self, name: str) -> list[dict[str, Any]]:
        """What is wrong with the newest version of a document."""
        uri = self.uri(name)
        while True:
            for item in self.published:
                if item["uri"] == uri and item.get("version") == self._versions[uri]:
                    return list(item["diagnostics"])
            self._next()

    def about(self, name: str, feature: str, **params: Any) -> Any:
        """A request about a document."""
        return self.ask(f"textDocument/{feature}", textDocument={"uri": self.uri(name)}, **params)
