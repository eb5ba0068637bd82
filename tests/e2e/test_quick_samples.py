"""Samples: quick runs on a machine that has no data and reaches no network, and what is said of them wherever their numbers stand."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from unittest.mock import patch

import pytest
from running import hold, say

from pdual.runtime.problem import prepared

#: As little as shows that a run works.
SHORT = ("-q",)
OVERRIDES = {"mnist": ("--limit", "12"), "flora": ("--set", "width=4"), "tofu": ("--limit", "12")}
NOT_WHOLE = "a sample, not the whole: `"

PIPELINES = Path(__file__).parents[2] / "packs/workflows/samples/flora/Pipelines"


@pytest.fixture(autouse=True)
def _fresh_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data, an empty cache, and whoever reaches for a network fails."""
    monkeypatch.delenv("PDUAL_DATA", raising=False)
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(prepared, "QUICK_OUTER", 2)
    monkeypatch.setattr(prepared, "QUICK_STEPS", 4)


@pytest.fixture
def _small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from pdual.packs.language.models import sample as language_sample

    monkeypatch.setattr(language_sample, "STEPS", 3)
    monkeypatch.setattr(language_sample, "WORDS", 300)


def quick(capsys: pytest.CaptureFixture[str], spec: str, *more: str, out: str = "run") -> tuple[list[str], str]:
    """The lines on stdout, and stderr, of a run that ended well."""
    said = say(capsys, "run", spec, "--quick", *SHORT, *OVERRIDES[spec], "--out", out, *more)
    assert said.code == 0, said.err
    return said.out.splitlines(), said.err


@pytest.mark.parametrize("dual", ["learned", "pointwise"])
@pytest.mark.parametrize("spec", OVERRIDES)
@pytest.mark.usefixtures("_small_model")
def test_a_quick_run_needs_nothing_and_says_so(
    spec: str, dual: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if spec == "tofu":
        pytest.importorskip("transformers", reason="transformers is not installed: pip install 'pdual[causal]'")
    lines, told = quick(capsys, spec, "--dual", dual)
    assert lines[0].startswith(NOT_WHOLE)
    assert told.startswith("warning[PD580]: `")
    assert ("warning[PD670]: `lm` is a stand-in" in told) == (spec == "tofu")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert metrics["samples"] == record["samples"]
    assert {name for name in record["data"] if record["data"][name].startswith("sample/")} == set(record["data"])
    expected = {"mnist": {"digits"}, "flora": {"pairs"}, "tofu": {"retain", "forget", "lm"}}[spec]
    assert set(metrics["samples"]) == expected
    for item in metrics["samples"].values():
        assert item["words"] in " ".join(lines)
        assert item["whole"] in " ".join(lines)
    if dual != "learned":
        return
    assert say(capsys, "report", "run").code == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert page.count('<div class="sample" role="note">') == 1
    assert "not the whole: `" in page


def test_json_has_the_notice_too(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "run", "mnist", "--quick", *SHORT, *OVERRIDES["mnist"], "--json", "--out", "run")
    assert [item["code"] for item in said.json["diagnostics"]] == ["PD580"]
    assert said.json["verdict"]["samples"][0].startswith(NOT_WHOLE)
    assert set(said.json["metrics"]["samples"]) == {"digits"}


@pytest.mark.usefixtures("_small_model")
def test_the_small_model_is_made_once_and_is_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'pdual[causal]'")
    models = tmp_path / "cache" / "models"
    quick(capsys, "tofu")
    (kept,) = [place for place in models.iterdir() if place.is_dir()]
    weights, before = (kept / "model.safetensors").read_bytes(), (kept / "model.safetensors").stat().st_mtime_ns
    quick(capsys, "tofu", "--threads", "2", out="again")
    assert (kept / "model.safetensors").stat().st_mtime_ns == before
    for place in kept.iterdir():
        place.unlink()
    kept.rmdir()
    quick(capsys, "tofu", "--threads", "2", "--seed", "3", out="third")
    assert (kept / "model.safetensors").read_bytes() == weights
    assert not list(models.glob("*.tmp"))
    assert not [place for place in kept.iterdir() if place.suffix in (".bin", ".pt", ".pkl", ".py")]


@pytest.mark.usefixtures("_small_model")
def test_a_folder_that_is_named_and_not_there_is_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'pdual[causal]'")
    said = say(capsys, "run", "tofu", "--quick", *SHORT, *OVERRIDES["tofu"], "--set", "base=./mine", "--out", "run")
    assert said.code == 4
    assert "error[PD644]" in said.err


@pytest.mark.usefixtures("_small_model")
def test_the_measures_of_a_sample_are_taken_on_the_sample(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("rouge_score", reason="rouge-score is not installed: pip install 'pdual[causal]'")
    quick(capsys, "tofu", "--set", "suite=2")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    suite = metrics["splits"]["train"]["evaluations"]["tofu.suite"]
    assert suite["memorization"]["rows"] == 2


@pytest.mark.parametrize("spec", OVERRIDES)
def test_a_run_of_the_whole_names_the_sample(spec: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with patch("pdual.runtime.sources.download.urlopen", side_effect=OSError("no network")):
        said = say(capsys, "run", spec, "-q", "--out", "run")
    assert said.code == 3
    hold(f"missing_{spec}.txt", said.err.replace(str(tmp_path), ""))


@pytest.mark.parametrize("spec", OVERRIDES)
def test_check_and_explain_need_no_rows(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "check", spec).code == 0
    assert say(capsys, "explain", spec).code == 0


def test_a_sample_run_goes_on_with_the_sample_when_data_have_come(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(capsys, "flora")
    own = tmp_path / "data" / "flora" / "Coding-GD"
    own.mkdir(parents=True)
    (own / "train.jsonl").write_text("not read\n", encoding="utf-8")
    monkeypatch.setenv("PDUAL_DATA", str(tmp_path / "data"))
    lines, _ = quick(capsys, "flora", "--resume")
    assert lines[0].startswith(NOT_WHOLE)
    assert say(capsys, "report", "run").code == 0
    # A fresh one reads what has come, and says what is the matter with it.
    said = say(capsys, "run", "flora", "--quick", *SHORT, "--out", "fresh")
    assert (said.code, "PD543" in said.err) == (3, True)


def test_a_run_of_the_whole_never_goes_on_with_a_sample(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "flora").mkdir(parents=True)
    (tmp_path / "data" / "flora" / "Coding-GD").symlink_to(PIPELINES)
    monkeypatch.setenv("PDUAL_DATA", str(tmp_path / "data"))
    lines, told = quick(capsys, "flora")
    assert not lines[0].startswith(NOT_WHOLE)
    assert "PD580" not in told
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert record["samples"] == {}
    assert not record["data"]["pairs"].startswith("sample/")
    monkeypatch.delenv("PDUAL_DATA")
    said = say(capsys, "run", "flora", "--quick", *SHORT, *OVERRIDES["flora"], "--out", "run", "--resume")
    assert (said.code, "PD541" in said.err) == (3, True)


def test_a_file_that_the_command_line_names_is_no_reason_for_a_sample(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    said = say(capsys, "run", "flora", "--quick", *SHORT, "--data", "pairs=mine", "--out", "run")
    assert (said.code, "PD542" in said.err) == (3, True)


def test_a_name_that_nobody_publishes_is_no_reason_for_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "run", "flora", "--quick", *SHORT, "--set", "domain=Coding-DG", "--out", "run")
    assert (said.code, "did you mean" in said.err, "--quick" in said.err) == (3, True, False)


def test_compare_says_it_first(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--quick", *SHORT, "--duals", "none", "--set", "width=4", "--out", "all")
    said = say(capsys, "compare", "flora", *arguments)
    assert said.code == 0, said.err
    assert said.out.startswith(NOT_WHOLE)
