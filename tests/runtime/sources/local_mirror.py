"""A mirror on this machine: what the tests of downloads talk to, since they must not need the internet."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pdual.runtime.data.context import Progress


@dataclass
class Mirror:
    """Its address, what it offers by path, and what it was asked for; what is ``cut`` breaks off half way."""

    files: Mapping[str, bytes]
    cut: frozenset[str]
    url: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def serving(files: Mapping[str, bytes], cut: frozenset[str] = frozenset()) -> Iterator[Mirror]:
    """A mirror that answers until the block ends."""
    mirror = Mirror(files, cut)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.removeprefix("/")
            mirror.asked.append(name)
            content = mirror.files.get(name)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if name in mirror.cut else content)

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    mirror.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield mirror
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Heard(Progress):
    """What was reported."""

    def __init__(self) -> None:
        self.started: list[tuple[str, int]] = []
        self.steps = 0
        self.finished = 0
        self.notes: list[str] = []

    def start(self, title: str, total: int) -> None:
        self.started.append((title, total))

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.steps += steps
        self.notes += [note] if note else []

    def finish(self, note: str = "") -> None:
        self.finished += 1
