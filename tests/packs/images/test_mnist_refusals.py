"""What ``mnist()`` refuses, with small arrays for the published ones; test_mnist has what it accepts."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import golden
import numpy as np
import pytest
from local_mirror import serving
from power_oracle import refused
from small_mnist import FILES, PACKED, TEXT, Places, arrays, bare, idx

from pdual.dsl.printer import render
from pdual.dsl.spans import Source
from pdual.packs.images import mnist_files
from pdual.packs.images.declarations import MnistSettings
from pdual.packs.images.mnist import build


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return bare(tmp_path, monkeypatch)


def told(action: Any, name: str, *hidden: tuple[str, str]) -> str:
    """The code of a refusal whose text is that of its golden file, with what differs from run to run named."""
    (item,) = refused(action)
    printed = render(item, Source("mnist.pdual", TEXT)) + "\n"
    for text, stand_in in hidden:
        printed = printed.replace(text, stand_in)
    golden.hold(Path(__file__).parent / "refusals" / name, printed)
    return item.code


def test_nothing_here_and_no_mirror(places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, context, _ = places
    with serving({}) as mirror:
        monkeypatch.setattr(mnist_files, "MIRRORS", (f"{mirror.url}a/", f"{mirror.url}b/"))
        hidden = ((mirror.url, "http://mirror/"), (str(tmp_path), ""))
        assert told(lambda: build(MnistSettings(), context), "mnist_nowhere", *hidden) == "PD538"
        monkeypatch.delenv("PDUAL_DATA")
        assert told(lambda: build(MnistSettings(), context), "mnist_no_folder", *hidden) == "PD538"
    assert not (tmp_path / "cache").exists()


def test_a_mirror_with_another_content(places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, context, _ = places
    other = {**PACKED, f"{FILES[1]}.gz": gzip.compress(b"other")}
    with serving(other) as mirror:
        monkeypatch.setattr(mnist_files, "MIRRORS", (mirror.url,))
        assert told(lambda: build(MnistSettings(), context), "mnist_mirror", (mirror.url, "http://mirror/")) == "PD539"
    # What is right is kept, so that nobody waits for it again; nothing is of the file that is not.
    assert [file.name for file in (tmp_path / "cache" / "mnist").iterdir()] == [f"{FILES[0]}.gz"]


def changed(key: str, value: Any) -> dict[str, Any]:
    return {name: item for name, item in {**arrays(), key: value}.items() if item is not None}


ARCHIVES = {
    "another pixel": (changed("test_images", arrays()["test_images"] ^ 1), "PD539", "mnist_content"),
    "fewer rows": (changed("train_images", arrays()["train_images"][:5]), "PD540", "mnist_rows"),
    "numbers": (changed("test_labels", arrays()["test_labels"].astype(np.int64)), "PD540", "mnist_type"),
    "flat images": (changed("test_images", arrays()["test_images"].reshape(3, 784)), "PD540", "mnist_flat"),
    "an array too few": (changed("test_labels", None), "PD540", "mnist_array"),
    "objects": (changed("test_labels", np.array([{}, {}, {}])), "PD533", "mnist_objects"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_that_is_refused(name: str, places: Places, tmp_path: Path) -> None:
    own, context, _ = places
    content, code, file = ARCHIVES[name]
    np.savez(own / "mnist.npz", **content)
    assert told(lambda: build(MnistSettings(), context), file, (str(tmp_path), "")) == code


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 and no more"])
def test_an_archive_that_is_none(content: bytes, places: Places) -> None:
    own, context, _ = places
    (own / "mnist.npz").write_bytes(content)
    (item,) = refused(lambda: build(MnistSettings(), context))
    assert (item.code, item.fact["file"]) == ("PD533", str(own / "mnist.npz"))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"no packed file", "PD533"),
        (PACKED[f"{FILES[3]}.gz"][:-12], "PD533"),
        (gzip.compress(b"no IDX file"), "PD533"),
        (PACKED[f"{FILES[2]}.gz"], "PD540"),
        (gzip.compress(idx(arrays()["test_labels"][::-1])), "PD539"),
    ],
    ids=["not packed", "cut off", "not IDX", "another part", "another order"],
)
def test_an_idx_file_that_is_refused(content: bytes, code: str, places: Places) -> None:
    own, context, _ = places
    for name, sound in PACKED.items():
        (own / name).write_bytes(content if name == f"{FILES[3]}.gz" else sound)
    (item,) = refused(lambda: build(MnistSettings(), context))
    assert (item.code, item.fact["file"]) == (code, str(own / f"{FILES[3]}.gz"))


def test_a_packed_file_is_unpacked_no_further_than_it_may_be(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mnist_files, "_MOST", 100_000)
    own, context, _ = places
    for name in PACKED:
        (own / name).write_bytes(gzip.compress(bytes(100_001)))
    (item,) = refused(lambda: build(MnistSettings(), context))
    assert (item.code, item.fact["reason"]) == ("PD533", "it unpacks to more than 100,000 bytes")
