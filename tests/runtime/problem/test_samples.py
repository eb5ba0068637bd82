"""The samples that ship with pdual: rows of the published data, which are never taken for the whole."""

from __future__ import annotations

import gzip
import os
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pdual.dsl.declarations.registry import sources
from pdual.dsl.extensions import named
from pdual.dsl.pipeline import read
from pdual.finding import find
from pdual.packs.images import mnist
from pdual.packs.images.declarations import MnistSettings
from pdual.packs.language.declarations.sources import TOFU_SAMPLED, TofuSettings
from pdual.packs.language.sources import files as tofu_files
from pdual.packs.language.sources import tofu
from pdual.packs.workflows.declarations.sources import FloraSettings
from pdual.packs.workflows.sources import flora
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.samples import missing_of

ROOT = os.environ.get("PDUAL_DATA")
PACKS = Path(__file__).parents[3] / "packs"
published = pytest.mark.skipif(ROOT is None, reason="PDUAL_DATA names no folder with published data")


@published
def test_images_are_those_of_mnist(tmp_path: Path) -> None:
    settings, context = MnistSettings(), SourceContext(cache=tmp_path)
    part, whole = mnist.build_sample(settings, context), mnist.build(settings, context)
    for split, count in {"train": 1000, "test": 500}.items():
        ids = part.splits[split]
        rows = torch.tensor([int(part.address(int(row))) for row in ids])
        assert len(set(rows.tolist())) == count
        assert set(rows.tolist()) <= set(whole.splits[split].tolist())
        mine, theirs = part.batch(ids).values, whole.batch(rows).values
        assert torch.equal(mine["image"], theirs["image"])  # type: ignore[arg-type]
        assert torch.equal(mine["label"], theirs["label"])  # type: ignore[arg-type]
        assert torch.bincount(mine["label"]).tolist() == [count // 10] * 10  # type: ignore[arg-type]
    assert part.fingerprint != whole.fingerprint


@published
def test_pairs_are_those_of_pipelines(tmp_path: Path) -> None:
    settings, context = FloraSettings(domain="Pipelines"), SourceContext(cache=tmp_path)
    part, whole = flora.build_sample(settings, context), flora.build(settings, context)
    for split, ids in part.splits.items():
        known = {(int(whole.workflow[row]), int(whole.task[row])): int(row) for row in whole.splits[split]}
        rows = torch.tensor([known[int(part.workflow[row]), int(part.task[row])] for row in ids])
        assert torch.equal(part.solved[ids], whole.solved[rows])
        assert torch.equal(part.batch(ids).values["question"], whole.batch(rows).values["question"])  # type: ignore[arg-type]
    assert {split: len(ids) for split, ids in part.splits.items()} == {"train": 1000, "val": 250, "test": 250}
    assert part.fingerprint != whole.fingerprint


@published
@pytest.mark.parametrize("split", TOFU_SAMPLED)
def test_texts_are_those_of_tofu(split: str, tmp_path: Path) -> None:
    settings, context = TofuSettings(split=split), SourceContext(cache=tmp_path)
    if split == "idontknow":
        assert ROOT is not None
        own = (Path(ROOT) / "tofu" / "idontknow.jsonl").read_text(encoding="utf-8").split()
        part = tofu_files.find_sampled(split, context).content.decode().split()
        assert part == own
        return
    part, whole = tofu.build_sample(settings, context), tofu.build(settings, context)
    mine, theirs = (set(zip(item.texts["question"], item.texts["answer"], strict=True)) for item in (part, whole))
    assert mine <= theirs
    assert part.fingerprint != whole.fingerprint


def test_what_is_kept_and_what_is_forgotten_share_no_row(tmp_path: Path) -> None:
    context = SourceContext(cache=tmp_path)
    kept = tofu.build_sample(TofuSettings(split="retain90", rows=256), context)
    forgotten = tofu.build_sample(TofuSettings(split="forget10"), context)
    assert (len(kept), len(forgotten)) == (128, 40)
    assert not set(kept.texts["question"]) & set(forgotten.texts["question"])
    left = tofu.build_sample(TofuSettings(split="full", without="forget01"), context)
    assert list(left.texts["question"]) == list(kept.texts["question"])
    assert len(tofu.build_sample(TofuSettings(split="full"), context)) == 168
    assert len(tofu.build_sample(TofuSettings(split="retain90", rows=5), context).splits["train"]) == 5


def test_a_sample_covers_what_it_has_rows_for() -> None:
    covers = sources()["tofu"].sample.covers  # type: ignore[union-attr]
    assert covers(TofuSettings(split="forget10"))
    assert covers(TofuSettings(split="full", without="forget05"))
    assert not covers(TofuSettings(split="forget10", without="forget01"))  # no row of it would be left
    assert not covers(TofuSettings(split="real_authors"))
    assert not covers(TofuSettings(split="mine"))
    covers = sources()["flora"].sample.covers  # type: ignore[union-attr]
    assert covers(FloraSettings(domain="Math-AF"))
    assert not covers(FloraSettings(domain="mine"))
    assert not covers(FloraSettings(domain="Math-AF", encoder="another/encoder"))


def test_declared_samples_can_be_loaded_and_say_they_are_samples(tmp_path: Path) -> None:
    settings = {
        "mnist": MnistSettings(),
        "flora": FloraSettings(domain="Coding-GD"),
        "tofu": TofuSettings(split="retain90"),
    }
    declared = {name: item.sample for name, item in sources().items() if item.sample is not None}
    assert set(declared) == set(settings)
    for name, sample in declared.items():
        context = SourceContext(cache=tmp_path, folder=tmp_path)
        assert named(sample.builder)(settings[name], context).fingerprint.startswith("sample/")
        assert sample.whole(settings[name])
        assert not sample.whole(settings[name]).endswith(".")


def test_each_has_its_licence_and_is_small() -> None:
    for folder in PACKS.glob("*/samples/*"):
        assert (folder / "LICENSE.txt").is_file(), folder
        assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 400_000


@published
def test_they_can_be_made_again(tmp_path: Path) -> None:
    script = Path(__file__).parents[3] / "benchmarks" / "samples.py"
    arguments, sys.argv = sys.argv, [str(script), "--into", str(tmp_path)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv = arguments
    made = {file.relative_to(tmp_path) for file in tmp_path.rglob("*") if file.is_file()}
    shipped = {file.relative_to(PACKS) for file in PACKS.glob("*/samples/**/*") if file.is_file()}
    assert made == {file for file in shipped if file.name != "LICENSE.txt"}
    for file in made:
        if file.suffix == ".gz":
            assert gzip.decompress((tmp_path / file).read_bytes()) == gzip.decompress((PACKS / file).read_bytes())


def test_a_third_partys_source_may_have_a_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = replace(sources()["digits"], sample=sources()["mnist"].sample)
    monkeypatch.delenv("PDUAL_DATA", raising=False)
    monkeypatch.setitem(sources()._loaded, "digits", mine)  # type: ignore[attr-defined]
    spec, _ = read(find("digits").source, {})
    assert spec is not None
    (data,) = spec.data
    assert missing_of(data, SourceContext(cache=tmp_path)) is mine.sample
    assert missing_of(data, SourceContext(cache=tmp_path, files={data.name: tmp_path})) is None
