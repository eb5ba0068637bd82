"""A raw client that sends what no client should: each request is answered, and the server goes on."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest
from client import SERVER

TEXT = 'problem p "a"\ndata d { x: real }\nover r in d { minimize r.x }\n'


class Raw:
    """Bytes in, messages out."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30)),
        )
        self.uri = (folder / "p.pdual").as_uri()
        self._read: Queue[dict[str, Any] | None] = Queue()
        Thread(target=self._listen, daemon=True).start()

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """A sound request, and its answer."""
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params or None})
        return self.answer(number)

    def answer(self, number: object) -> dict[str, Any]:
        """The answer to a request; what the server tells besides is passed over."""
        while True:
            message = self._read.get(timeout=20)
            assert message is not None, "the server ended"
            if "id" in message and "method" not in message and message["id"] == number:
                return message

    def start(self) -> None:
        assert "result" in self.ask(1, "initialize", processId=None, rootUri=None, capabilities={})
        self.say({"jsonrpc": "2.0", "method": "initialized", "params": {}})
        document = {"uri": self.uri, "languageId": "pdual", "version": 1, "text": TEXT}
        self.say({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}})

    def end(self) -> int:
        self.ask(10_000, "shutdown")
        assert "error" in self.ask(10_001, "textDocument/hover", **self.place(0, 0))
        self.say({"jsonrpc": "2.0", "method": "exit"})
        return self.process.wait(60)

    def place(self, line: object, character: object) -> dict[str, Any]:
        return {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": character}}

    def _listen(self) -> None:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            length = int(line.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            self._read.put(json.loads(self.process.stdout.read(length)))
        self._read.put(None)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Raw]:
    found = Raw(tmp_path)
    yield found
    found.process.kill()
    found.process.communicate()


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    """One server for all that it has to survive; it ends well after that."""
    found = Raw(tmp_path_factory.mktemp("lsp"))
    found.start()
    yield found
    assert found.end() == 0
    found.process.communicate()


METHODS = (
    *("hover", "definition", "references", "rename", "prepareRename", "completion", "codeAction", "documentSymbol"),
    *("inlayHint", "formatting", "didOpen", "didChange", "didSave", "didClose", "noSuchThing"),
)
WRONG: tuple[Any, ...] = (
    None, {}, [], [1], 1, -1.5, "a", True, {"textDocument": None}, {"textDocument": {"uri": 1}}, {"textDocument": {"uri": "x"}, "position": {}},
    {"textDocument": {"uri": "file:///x"}, "position": {"line": -1, "character": 0}}, {"textDocument": {"uri": {}}, "position": []}, {"jsonrpc": "2.0"},
)  # fmt: skip


def test_parameters_of_any_shape(raw: Raw) -> None:
    number = 100
    for method in METHODS:
        for params in WRONG:
            number += 1
            raw.say({"jsonrpc": "2.0", "id": number, "method": f"textDocument/{method}", "params": params})
            answer = raw.answer(number)
            assert "error" in answer or answer.get("result") in (None, [])
            assert "error" in answer or not method.startswith(("did", "no"))
            raw.say({"jsonrpc": "2.0", "method": f"textDocument/{method}", "params": params})
    assert raw.ask(9_000, "textDocument/hover", **raw.place(0, 9))["result"] is not None


@pytest.mark.parametrize(
    "place",
    [(-1, 0), (0, -1), (2**31, 0), (0, 2**40), (1.5, 0), ("0", 0), (None, 0), (10**400, 1), (2**31 - 1, 2**31 - 1)],
)
def test_places_that_are_none(raw: Raw, place: tuple[object, object]) -> None:
    for number, method in enumerate(("hover", "definition", "completion", "prepareRename"), 50):
        answer = raw.ask(number, f"textDocument/{method}", **raw.place(*place))
        assert "error" in answer or "result" in answer
        assert "error" in answer or isinstance(place[0], float | str) or place[0] == 2**31 - 1


def test_before_initialize_and_twice(fresh: Raw) -> None:
    assert fresh.ask(5, "textDocument/hover", **fresh.place(0, 0))["error"]["code"] == -32002
    fresh.say({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}})
    fresh.start()
    assert fresh.ask(6, "initialize", processId=None, rootUri=None, capabilities={})["error"]["code"] == -32600
    assert fresh.end() == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"Content-Length: 3\r\n\r\n{]}", -32700),
        (b"Content-Length: 4\r\n\r\n\xff\xfe{}", -32700),
        (b"Content-Length: 2\r\n\r\n[]", -32600),
        (b"Content-Length: 4\r\n\r\nnull", -32600),
        (b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000, -32700),
        (b"Content-Length: 99999999999999\r\n\r\n{}", -32600),
        (b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n{}", -32600),
        (b"Content-Length: -5\r\n\r\n", -32600),
        (b"Content-Length: x\r\n\r\n", -32600),
        (b'Content-Length: 10\r\n\r\n{"id": 1, \r\n', -32700),
    ],
    ids=range(10),
)
def test_heads_and_bodies_that_are_none(raw: Raw, data: bytes, code: int) -> None:
    raw.send(data)
    assert raw.answer(None)["error"]["code"] == code
    assert raw.ask(9_000, "textDocument/hover", **raw.place(0, 9))["result"] is not None


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"hello\r\n\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"\x00" * 200_000 + b"\n",
        b'{"jsonrpc": "2.0"}\r\n',
    ],
    ids=range(6),
)
def test_what_is_no_message_is_passed_over(raw: Raw, data: bytes) -> None:
    raw.send(data)
    assert raw.ask(9_000, "textDocument/hover", **raw.place(0, 9))["result"] is not None


@pytest.mark.parametrize(
    "message",
    [
        {"id": 7}, {"id": 7, "method": "shutdown"}, {"jsonrpc": "1.0", "id": 7, "method": "shutdown"}, {"jsonrpc": "2.0", "id": 7, "method": 5},
        {"jsonrpc": "2.0", "id": 7, "method": None, "params": {}}, {"jsonrpc": "2.0", "id": 7, "method": "no/such", "params": {}},
    ],
    ids=range(6),
)  # fmt: skip
def test_requests_that_are_none(raw: Raw, message: dict[str, Any]) -> None:
    raw.say(message)
    assert "error" in raw.answer(7)
    for number in (1.5, None, True, [], {}):
        raw.say({**message, "id": number})
        assert "error" in raw.answer(None)
    raw.say({"jsonrpc": "2.0", "id": 99, "result": {}})
    raw.say({"jsonrpc": "2.0", "id": [], "error": 5})
