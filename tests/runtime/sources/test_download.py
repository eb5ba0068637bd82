"""Downloads from mirrors on this machine."""

from __future__ import annotations

import gzip
import hashlib
import socket
import time

import pytest
from local_mirror import Heard, serving
from power_oracle import refused

from pdual.runtime.data.context import Progress, SourceContext
from pdual.runtime.sources.download import ByHand, Published, download

CONTENT = bytes(range(256)) * 1000
SHA = hashlib.sha256(CONTENT).hexdigest()
BY_HAND = ByHand("a folder", "both files", "$PDUAL_DATA/x")


def fetched(*urls: str, sha256: str = SHA, progress: Progress | None = None, timeout: float = 5.0, **more) -> bytes:
    context = SourceContext(progress=progress or Progress())
    return download(Published("file", urls, sha256, **more), context, BY_HAND, timeout)


def nowhere() -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/file"


def test_the_first_mirror_is_enough() -> None:
    heard = Heard()
    with serving({"file": CONTENT}) as one, serving({"file": CONTENT}) as two:
        assert fetched(f"{one.url}file", f"{two.url}file", progress=heard) == CONTENT
        assert (one.asked, two.asked) == (["file"], [])
    assert heard.started == [("downloading file (KiB)", 250)]
    assert (heard.steps, heard.finished) == (250, 1)


def test_a_packed_file_is_held_to_its_content() -> None:
    sent = gzip.compress(CONTENT)
    with serving({"file": sent}) as mirror:
        assert fetched(f"{mirror.url}file", unpack=gzip.decompress) == sent


@pytest.mark.parametrize(
    ("files", "cut"),
    [
        ({}, frozenset()),
        ({"file": b"another file"}, frozenset()),
        ({"file": CONTENT}, frozenset({"file"})),
    ],
    ids=["not there", "another", "cut off"],
)
def test_the_next_mirror_is_asked(files: dict[str, bytes], cut: frozenset[str]) -> None:
    heard = Heard()
    with serving(files, cut) as one, serving({"file": CONTENT}) as two:
        assert fetched(f"{one.url}file", f"{two.url}file", progress=heard) == CONTENT
        assert two.asked == ["file"]
    assert heard.finished == len(heard.started)


def test_no_mirror_answers() -> None:
    gone = nowhere()
    with serving({"file": CONTENT}, frozenset({"file"})) as mirror:
        (item,) = refused(lambda: fetched(gone, f"{mirror.url}file", f"{mirror.url}other"))
        tried = item.fact["tried"]
        assert item.code == "PD538"
        assert f"`{gone}` (" in tried
        assert f"`{mirror.url}file` (it broke off after 128000 of 256000 bytes)" in tried
        assert f"`{mirror.url}other` (HTTP Error 404: Not Found)" in tried
    told = {name: item.fact[name] for name in ("searched", "files", "folder")}
    assert told == {"searched": "a folder", "files": "both files", "folder": "$PDUAL_DATA/x"}


def test_what_is_not_the_published_content_is_not_taken() -> None:
    with serving({"file": gzip.compress(b"other")}) as mirror:
        (item,) = refused(lambda: fetched(nowhere(), f"{mirror.url}file", nowhere(), unpack=gzip.decompress))
        assert (item.code, item.fact["file"]) == ("PD539", f"{mirror.url}file")
    assert item.fact["found"] == hashlib.sha256(b"other").hexdigest()
    assert item.fact["expected"] == SHA


@pytest.mark.parametrize("content", [b"other", gzip.compress(CONTENT)[:-9]], ids=["not packed", "cut off"])
def test_what_cannot_be_unpacked_is_not_taken(content: bytes) -> None:
    with serving({"file": content}) as mirror:
        assert refused(lambda: fetched(f"{mirror.url}file", unpack=gzip.decompress))[0].code == "PD538"


def test_a_mirror_that_says_nothing_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()
        (item,) = refused(lambda: fetched(f"http://127.0.0.1:{silent.getsockname()[1]}/file", timeout=0.2))
        assert time.monotonic() - begun < 5
    assert item.code == "PD538"
    assert "timed out" in item.fact["tried"]


@pytest.mark.parametrize("url", ["nonsense", "http://127.0.0.1:99999/file", "http://"])
def test_an_address_that_is_none(url: str) -> None:
    assert refused(lambda: fetched(url))[0].code == "PD538"
