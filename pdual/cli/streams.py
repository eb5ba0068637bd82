"""Standard output and error as they come: of an ASCII terminal, closed, full, or a pipe whose reader has gone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

#: As a shell tells of a process whose reader had gone: 128 + SIGPIPE.
READER_GONE = 141


@contextmanager
def prepared() -> Iterator[None]:
    """Streams that are there and take every character: what an encoding lacks is written as its number, and what cannot be said on standard error is not
    said.
    """
    before = sys.stdout, sys.stderr
    _occupy()
    sys.stdout = Noted(_of(sys.stdout))
    sys.stderr = Lenient(_of(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _occupy() -> None:
    """A closed stream's number would be that of the next file that is opened, which whoever prints then writes into."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _of(stream: TextIO | None) -> TextIO:
    if stream is None or stream.closed:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        with suppress(io.UnsupportedOperation):
            stream.reconfigure(errors="backslashreplace")
    return stream


class Noted:
    """A stream that knows which error was its own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.failed: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, and remember what failed."""
        with self._noting():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, and remember what failed."""
        with self._noting():
            self._stream.flush()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failed = error
            raise


class Lenient(Noted):
    """A stream on which nothing that is said fails: a run goes on when whoever watches it has gone."""

    @contextmanager
    def _noting(self) -> Iterator[None]:
        with suppress(OSError, ValueError):
            yield


def of_output(error: OSError) -> bool:
    """Whether it came from writing to standard output."""
    return isinstance(error, BrokenPipeError) or getattr(sys.stdout, "failed", None) is error


def give_up() -> None:
    """Nothing more is written to standard output, nor tried to when the process ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
