"""What a client sends, before pygls sees it: whole messages of the right shape go on, every other request is answered with an error.

pygls drops a message that it cannot read and leaves its request without an answer, and asks for as much memory as a head claims.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from threading import Lock
from typing import Any, BinaryIO

#: Bytes of one message; specs end long before (PD032).
LONGEST = 64 * 1024 * 1024
_LINE = 64 * 1024
#: What a refused message left behind may stand on the line before it.
_HEADER = re.compile(rb"(?i)content-length\s*:\s*(\S+)\s*\Z")

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, NOT_INITIALIZED = -32700, -32600, -32602, -32002
_INITIALIZE, _SHUTDOWN, _EXIT = "initialize", "shutdown", "exit"


class Outgoing:
    """The client's side of the channel; one message at a time, from whatever thread."""

    def __init__(self, channel: BinaryIO) -> None:
        self._channel = channel
        self._lock = Lock()

    def write(self, data: bytes) -> int:
        """A whole message."""
        with self._lock:
            written = self._channel.write(data)
            self._channel.flush()
            return written

    def flush(self) -> None:
        """Every message has gone out already."""

    def close(self) -> None:
        """No message follows."""
        self._channel.close()

    def refuse(self, number: object, code: int, message: str) -> None:
        """Answer a request with an error; ``number`` is None where the request does not say which one it is."""
        error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
        body = json.dumps(error).encode("ascii")
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


class Incoming:
    """A stream of messages that pygls can read, made of whatever a client sends.

    ``read`` is how pygls will read a body; it raises where the parameters are not those of the method.
    """

    def __init__(self, stream: BinaryIO, out: Outgoing, read: Callable[[bytes], object]) -> None:
        self._stream = stream
        self._out = out
        self._read = read
        self._ready = BytesIO()
        self._initialized = self._ended = False

    def readline(self) -> bytes:
        """The next line of a message that is known to be sound; nothing at the end."""
        while True:
            line = self._ready.readline()
            if line:
                return line
            message = self._next()
            if message is None:
                return b""
            self._ready = BytesIO(b"Content-Length: %d\r\n\r\n%b" % (len(message), message))

    def read(self, size: int) -> bytes:
        """So many bytes of that message."""
        return self._ready.read(size)

    def close(self) -> None:
        """No more is read."""
        self._stream.close()

    def _next(self) -> bytes | None:
        """The body of the next message that is to be handled; None at the end."""
        while True:
            length = self._length()
            if length is None:
                return None
            body = self._stream.read(length)
            if len(body) < length:
                return None
            if self._is_sound(body):
                return body

    def _length(self) -> int | None:
        """The length in the head of the next message; lines that belong to no head are passed over. None at the end."""
        found: int | None = None
        while True:
            line = self._stream.readline(_LINE)
            if not line:
                return None
            if not line.strip():
                if found:
                    return found
                continue
            match = _HEADER.search(line)
            if match is None:
                continue
            written = match.group(1)
            if not written.isdigit() or len(written) > 20 or int(written) > LONGEST:
                self._out.refuse(None, INVALID_REQUEST, f"a message has at most {LONGEST:,} bytes")
                found = None
            else:
                found = int(written)

    def _is_sound(self, body: bytes) -> bool:
        """Whether a message goes on; a request that does not is answered."""
        try:
            message = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            self._out.refuse(None, PARSE_ERROR, f"a message is JSON in UTF-8: {type(error).__name__}")
            return False
        if not isinstance(message, dict):
            self._out.refuse(None, INVALID_REQUEST, "a message is an object")
            return False
        if "method" not in message and ("result" in message or "error" in message):
            return isinstance(message.get("id"), str | int)
        is_request = "id" in message
        number = message.get("id")
        is_number = isinstance(number, str | int) and not isinstance(number, bool)
        wrong = self._wrong(message, body)
        if wrong is not None and is_request:
            self._out.refuse(number if is_number else None, *wrong)
        if wrong is None:
            self._initialized = self._initialized or message["method"] == _INITIALIZE
            self._ended = self._ended or message["method"] == _SHUTDOWN
        return wrong is None

    def _wrong(self, message: Mapping[str, Any], body: bytes) -> tuple[int, str] | None:
        """What is wrong with a message, as code and words."""
        method, number = message.get("method"), message.get("id", 0)
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            return INVALID_REQUEST, "a message has `jsonrpc` and a `method`"
        if isinstance(number, bool) or not isinstance(number, str | int):
            return INVALID_REQUEST, "an `id` is a text or a whole number"
        if method != _EXIT and (self._ended or self._initialized == (method == _INITIALIZE)):
            if not self._initialized:
                return NOT_INITIALIZED, "`initialize` comes first"
            return INVALID_REQUEST, "the server was shut down" if self._ended else "`initialize` comes once"
        try:
            read = self._read(body)
        except Exception as error:  # whatever the converter stumbles over
            return INVALID_PARAMS, f"the parameters of `{method}` have another shape: {type(error).__name__}"
        if "id" in message and not hasattr(read, "id"):
            return INVALID_REQUEST, f"`{method}` is a notification, which has no `id`"
        return None
