"""``mnist()``: the published rows against their published counts; its places with small stand-ins."""

from __future__ import annotations

import gzip
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from local_mirror import serving
from small_mnist import FILES, PACKED, Places, arrays, bare

from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.finding import shipped_specs
from pdual.packs.images import mnist_files
from pdual.packs.images.declarations import MNIST_ROWS, MnistSettings
from pdual.packs.images.mnist import build
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.problem.options import RunOptions
from pdual.runtime.runs.execute import execute

# --- the published rows ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> ColumnTable:
    root = os.environ.get("PDUAL_DATA")
    if not root or not (Path(root) / "mnist" / "mnist.npz").is_file():
        pytest.skip("the published images are in $PDUAL_DATA/mnist/mnist.npz, which is not set or not there")
    return build(MnistSettings(), SourceContext())


def test_the_published_labels_are_counted(published: ColumnTable) -> None:
    """Counts and first labels as the data's publishers state them."""
    labels = {name: published.batch(ids).values["label"] for name, ids in published.splits.items()}
    counts = {name: torch.bincount(found, minlength=10).tolist() for name, found in labels.items()}
    assert counts == {
        "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    }
    first = {name: found[:5].tolist() for name, found in labels.items()}
    assert first == {"train": [5, 0, 4, 1, 9], "test": [7, 2, 1, 0, 4]}
    assert {name: len(ids) for name, ids in published.splits.items()} == dict(MNIST_ROWS)


def test_the_published_images_have_their_known_mean_and_deviation(published: ColumnTable) -> None:
    """0.1307 and 0.3081 over all of train: what everybody standardises MNIST by."""
    table = published.to(torch.device("cpu"), torch.float32)
    total, squares = 0.0, 0.0
    for ids in table.splits["train"].split(4000):
        images = table.batch(ids).values["image"]
        assert isinstance(images, torch.Tensor)
        assert (images.shape, images.dtype) == ((len(ids), 1, 28, 28), torch.float32)
        assert (images.min().item(), images.max().item()) == (0.0, 1.0)
        total += images.sum(dtype=torch.float64).item()
        squares += images.square().sum(dtype=torch.float64).item()
    mean = total / (60_000 * 784)
    assert round(mean, 4) == 0.1307
    assert round((squares / (60_000 * 784) - mean**2) ** 0.5, 4) == 0.3081


def test_the_shipped_spec_runs_on_the_first_rows(published: ColumnTable, tmp_path: Path) -> None:
    text = re.sub(r"outer +=", "outer = 2 #", Path(shipped_specs()["mnist"]).read_text())
    spec, found = read(Source("mnist.pdual", text))
    assert spec is not None, found
    graph, _ = lower(spec, {})
    options = RunOptions(out=tmp_path / "run", limit=70, device="cpu")
    done = execute(graph, text, options, SourceContext())
    assert done.metrics.status == "finished"
    assert set(done.metrics.splits) == {"train", "test"}


# --- stand-ins ------------------------------------------------------------------------------------------------


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return bare(tmp_path, monkeypatch)


def check(table: ColumnTable) -> None:
    """The table holds the small arrays, train before test."""
    given = arrays()
    image = np.concatenate([given["train_images"], given["test_images"]])[:, None]
    assert table.columns["image"].dtype == torch.uint8
    assert np.array_equal(table.columns["image"].numpy(), image)
    assert table.columns["label"].dtype == torch.int64
    assert table.columns["label"].tolist() == [*given["train_labels"], *given["test_labels"]]
    assert {name: ids.tolist() for name, ids in table.splits.items()} == {"train": [*range(6)], "test": [6, 7, 8]}
    read = table.batch(torch.tensor([8, 0])).values["image"]
    assert torch.equal(read, torch.from_numpy(image[[8, 0]] / 255.0))  # type: ignore[arg-type]


def test_from_an_archive(places: Places) -> None:
    own, context, heard = places
    np.savez_compressed(own / "mnist.npz", **arrays())
    check(build(MnistSettings(), context))
    assert heard.started == []
    assert not (own.parent.parent / "cache").exists()


@pytest.mark.parametrize("packed", ["none", "all", "some"])
def test_from_idx_files(places: Places, packed: str) -> None:
    own, context, heard = places
    for place, (name, content) in enumerate(PACKED.items()):
        if packed == "all" or (packed == "some" and place % 2):
            (own / name).write_bytes(content)
        else:
            (own / name.removesuffix(".gz")).write_bytes(gzip.decompress(content))
    check(build(MnistSettings(), context))
    assert heard.started == []


def test_a_limit_bounds_each_split(places: Places) -> None:
    own, context, _ = places
    np.savez(own / "mnist.npz", **arrays())
    table = build(MnistSettings(limit=4), context)
    assert {name: ids.tolist() for name, ids in table.splits.items()} == {"train": [0, 1, 2, 3], "test": [6, 7, 8]}
    assert len(table) == 7
    assert table.fingerprint != build(MnistSettings(), context).fingerprint


def test_the_second_mirror_the_cache_and_a_damaged_cache(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    _, context, heard = places
    cache = context.cache
    assert cache is not None
    with serving({}) as empty, serving(PACKED) as full:
        monkeypatch.setattr(mnist_files, "MIRRORS", (empty.url, full.url))
        check(build(MnistSettings(), context))
        assert full.asked == list(PACKED)
        assert {file.name: file.read_bytes() for file in (cache / "mnist").iterdir()} == PACKED
        check(build(MnistSettings(), context))
        assert full.asked == list(PACKED)
        damaged = cache / "mnist" / f"{FILES[2]}.gz"
        damaged.write_bytes(PACKED[damaged.name][:-20])
        check(build(MnistSettings(), context))
        assert full.asked == [*PACKED, damaged.name]
        assert heard.notes == [f"warning: {damaged} is damaged, it is downloaded again"]
        assert damaged.read_bytes() == PACKED[damaged.name]


def test_three_of_four_files_are_none(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    own, context, _ = places
    for name in FILES[:3]:
        (own / f"{name}.gz").write_bytes(PACKED[f"{name}.gz"])
    with serving(PACKED) as mirror:
        monkeypatch.setattr(mnist_files, "MIRRORS", (mirror.url,))
        check(build(MnistSettings(), context))
        assert mirror.asked == list(PACKED)


def test_a_cache_that_cannot_be_written_is_no_hindrance(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    own, context, heard = places
    (own.parent / "file").write_text("in the way")
    with serving(PACKED) as mirror:
        monkeypatch.setattr(mnist_files, "MIRRORS", (mirror.url,))
        check(build(MnistSettings(), replace(context, cache=own.parent / "file")))
    assert len(heard.notes) == 4
    assert all("nothing can be kept" in note for note in heard.notes)
