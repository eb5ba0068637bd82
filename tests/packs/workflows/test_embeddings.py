"""Embeddings from a file, from the cache, from an encoder; and what each of them may not hold."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import golden
import numpy as np
import pytest
from power_oracle import refused
from small_flora import TEXT, WIDTH, Places, bare, unit, vector

from pdual.dsl.printer import render
from pdual.dsl.spans import Source
from pdual.packs.workflows.sources import embeddings
from pdual.packs.workflows.sources.embeddings import embed, name_of
from pdual.packs.workflows.sources.sentences import load_encoder

TEXTS = ["one", "two", "", "drei ß \ud800"]  # JSON may hold half of a surrogate pair
HUB = "hub/encoder"


def vector_of(text: str) -> Any:
    return unit(text.encode("utf-8", "replace").decode())


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    found = bare(tmp_path, monkeypatch)

    def load(name: str, *_: Any) -> Any:
        found.encoding.loaded.append(name)

        def encode(texts: Sequence[str]) -> Any:
            found.encoding.asked.append(list(texts))
            return np.stack([3 * vector_of(text) for text in texts])

        return encode

    monkeypatch.setattr(embeddings.sentences, "load_encoder", load)
    return found


def store(file: Path, texts: Sequence[str], dtype: Any = np.float16, width: int = WIDTH) -> Path:
    rows = np.stack([vector_of(text) for text in texts]).astype(dtype)[:, :width]
    np.savez(file, sha1=np.array([name_of(text) for text in texts]), embedding=rows)
    return file


def expected() -> Any:
    return np.stack([vector_of(text) for text in TEXTS])


def test_from_the_encoder_once_and_then_from_the_cache(places: Places) -> None:
    first = embed(TEXTS, HUB, None, places.context)
    assert first.dtype == np.float32
    assert np.allclose(first, expected(), atol=1e-6)
    assert places.heard.started == [("embedding texts", 4)]
    assert (places.heard.steps, places.heard.finished) == (4, 1)
    assert np.array_equal(embed(TEXTS[::-1], HUB, None, places.context), first[::-1])
    assert places.encoding.loaded == [HUB]
    embed([*TEXTS, "five"], HUB, None, places.context)
    embed(TEXTS, "hub/another", None, places.context)
    assert places.encoding.asked == [TEXTS, ["five"], TEXTS]


def test_an_interruption_keeps_the_chunks_before_it(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "CHUNK", 2)
    whole = embeddings.sentences.load_encoder

    def load(*arguments: Any) -> Any:
        encode = whole(*arguments)

        def stopping(texts: Sequence[str]) -> Any:
            if places.encoding.asked:
                raise KeyboardInterrupt
            return encode(texts)

        return stopping

    monkeypatch.setattr(embeddings.sentences, "load_encoder", load)
    with pytest.raises(KeyboardInterrupt):
        embed(TEXTS, HUB, None, places.context)
    assert places.heard.finished == 1
    monkeypatch.setattr(embeddings.sentences, "load_encoder", whole)
    assert np.allclose(embed(TEXTS, HUB, None, places.context), expected(), atol=1e-6)
    assert places.encoding.asked == [TEXTS[:2], TEXTS[2:]]


def test_a_file_comes_first_and_the_encoder_has_the_rest(places: Places, tmp_path: Path) -> None:
    given = store(tmp_path / "embeddings.npz", TEXTS)
    found = embed(TEXTS, HUB, given, places.context)
    assert places.encoding.loaded == []
    assert np.allclose(found, expected(), atol=1e-3)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    store(given, TEXTS[:1])
    embed(TEXTS, HUB, given, places.context)
    assert places.encoding.asked == [TEXTS[1:]]


def test_a_damaged_cache_and_one_that_cannot_be_written(places: Places, tmp_path: Path) -> None:
    embed(TEXTS, HUB, None, places.context)
    (file,) = (tmp_path / "cache" / "embeddings").rglob("*.npz")
    file.write_bytes(file.read_bytes()[:-40])
    assert np.allclose(embed(TEXTS, HUB, None, places.context), expected(), atol=1e-6)
    assert places.heard.notes == [f"warning: {file} is damaged, its texts are embedded again"]
    (tmp_path / "file").write_text("in the way")
    embed(TEXTS, HUB, None, replace(places.context, cache=tmp_path / "file"))
    assert "nothing can be kept" in places.heard.notes[-1]


def test_a_model_on_disk_that_changes_is_another_one(places: Places, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    for content in ("a", "bc"):
        (tmp_path / "model" / "weights").write_text(content)
        embed(["one"], str(tmp_path / "model"), None, places.context)
    assert len(places.encoding.asked) == 2


ROW = {"sha1": np.array([name_of("one")]), "embedding": np.ones((1, 3), np.float16)}
FILES: dict[str, tuple[dict[str, Any], str]] = {
    "no sha1": ({"sha1": None}, "PD540"),
    "no embedding": ({"embedding": None}, "PD540"),
    "numbers as sha1": ({"sha1": np.array([1])}, "PD540"),
    "a row too many": ({"embedding": np.ones((2, 3))}, "PD540"),
    "no width": ({"embedding": np.ones((1, 0))}, "PD540"),
    "flat": ({"embedding": np.ones(3)}, "PD540"),
    "bytes": ({"embedding": np.ones((1, 3), np.uint8)}, "PD540"),
    "not a number": ({"embedding": np.array([[1.0, np.nan]])}, "PD540"),
    "infinite": ({"embedding": np.array([[1.0, np.inf]])}, "PD540"),
    "nothing but 0": ({"embedding": np.zeros((1, 3))}, "PD540"),
    "objects": ({"sha1": np.array([{}])}, "PD533"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_refused(name: str, places: Places, tmp_path: Path) -> None:
    change, code = FILES[name]
    given = tmp_path / "embeddings.npz"
    np.savez(given, **{key: value for key, value in {**ROW, **change}.items() if value is not None})
    (item,) = refused(lambda: embed(["one"], HUB, given, places.context))
    assert (item.code, item.fact["file"]) == (code, str(given))
    np.savez(given, **ROW)  # type: ignore[arg-type]
    embed(["one"], HUB, given, places.context)


def test_a_file_of_another_width_than_the_encoder(places: Places, tmp_path: Path) -> None:
    given = store(tmp_path / "embeddings.npz", TEXTS[:2], width=4)
    (item,) = refused(lambda: embed(TEXTS, HUB, given, places.context))
    assert (item.code, item.fact["file"]) == ("PD540", str(given))
    assert f"of {WIDTH} numbers" in item.fact["expected"]


@pytest.mark.parametrize("rows", [np.ones(3), np.ones((1, 3)), np.full((2, 3), np.nan), np.zeros((2, 3))])
def test_an_encoder_that_gives_something_else(rows: Any, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings.sentences, "load_encoder", lambda *_: lambda texts: rows)
    (item,) = refused(lambda: embed(TEXTS[:2], HUB, None, places.context))
    assert item.code == "PD546"
    assert places.heard.finished == 1


# --- sentence-transformers, a stand-in for which is put where the package would be -------------------------------


class Model:
    """What ``load_encoder`` asks of a model."""

    max_seq_length = 256

    def __init__(self, name: str, local_files_only: bool) -> None:
        assert not local_files_only
        if name != HUB:
            raise OSError(f"no model {name}\nmore lines")
        Model.last = self

    last: Model

    def __getitem__(self, place: int) -> Any:
        return SimpleNamespace(auto_model=SimpleNamespace(config=SimpleNamespace(max_position_embeddings=300)))

    def encode(self, texts: list[str], **settings: Any) -> Any:
        assert settings["normalize_embeddings"]
        return np.stack([vector(text) for text in texts])


def told(action: Any, name: str) -> str:
    (item,) = refused(action)
    golden.hold(Path(__file__).parent / "refusals" / name, render(item, Source("flora.pdual", TEXT)) + "\n")
    return item.code


def test_a_model_of_the_package(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr(embeddings.sentences, "unreachable", lambda name: None)
    span = places.context.span
    encode = load_encoder(HUB, 3, None, span)
    assert np.array_equal(encode(("one", "two")), [vector("one"), vector("two")])
    assert Model.last.max_seq_length == 300
    for folder, name in ((Path("/data/flora/Coding-GD"), "encoder_hub"), (None, "encoder_hub_alone")):
        assert told(lambda folder=folder: load_encoder("hub/other", 3, folder, span), name) == "PD546"


def test_the_package_is_not_installed(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    span = places.context.span
    for folder, name in ((Path("/data/flora/Coding-GD"), "encoder_package"), (None, "encoder_package_alone")):
        assert told(lambda folder=folder: load_encoder(HUB, 3, folder, span), name) == "PD545"
