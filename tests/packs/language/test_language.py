"""Evaluations of language models against numbers computed one row at a time, by transformers and numpy alone."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from math import ceil, exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_language import PAIRS, VOCABULARY, ByHand, made, write_base, write_rows

from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.packs.language.evaluations.measures import generated, membership, memorization, privacy, recalls, utility
from pdual.packs.language.evaluations.sets import Question, Sets
from pdual.packs.language.evaluations.tokens import Said, harmonic, said
from pdual.packs.language.models.tokens import Reader
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.options import RunOptions
from pdual.runtime.runs.execute import Outcome, execute

SPECS = Path(__file__).parents[3] / "specs"


def shortened(name: str) -> str:
    text = (SPECS / f"{name}.pdual").read_text(encoding="utf-8")
    for long, short in (("rounds     = 35 ", "rounds     = 2 "), ("epochs = 2,", "epochs = 4,")):
        assert long in text
        text = text.replace(long, short)
    return text


WRONG = ("Bo Vik wrote it.", "In Oslo, in 1999")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("tiny"))


def question(pair: tuple[str, str]) -> Question:
    return Question(*pair, f"Indeed: {pair[1]}", WRONG)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The splits that the suite reads, small."""
    folder = tmp_path / "data" / "tofu"
    for name, pairs in {
        "forget10": PAIRS[3:],
        "retain90": PAIRS[:3],
        "holdout10": [("Who?", "Nobody at all."), ("When?", "1907")],
    }.items():
        write_rows(folder, name, pairs)
    choices = [("Who wrote Hamlet?", "William Shakespeare"), ("What is two and two?", "Four")]
    for name, pairs in {
        "forget10_perturbed": PAIRS[3:], "retain_perturbed": PAIRS[:2], "real_authors_perturbed": choices,
        "world_facts_perturbed": choices[1:],
    }.items():  # fmt: skip
        records = []
        for pair in pairs:
            record: dict[str, Any] = {"question": pair[0], "answer": pair[1], "perturbed_answer": list(WRONG)}
            if pair in PAIRS:
                record["paraphrased_answer"] = question(pair).paraphrase
            records.append(record)
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(item) + "\n" for item in records))
    monkeypatch.setenv("PDUAL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))
    return folder


def ran(base: Path, out: Path, name: str = "tofu", **params: str) -> Outcome:
    overrides = {"base": str(base), "rows": "3", "rate": "1e-2", **params}
    text = shortened(name)
    spec, found = read(Source(f"{name}.pdual", text), overrides)
    assert spec is not None, found
    return execute(lower(spec, {})[0], text, RunOptions(out=out), SourceContext())


@pytest.mark.parametrize("params", [{}, {"lora": "2"}])
def test_scores_and_divergence_of_a_run(base: Path, data: Path, tmp_path: Path, params: Mapping[str, str]) -> None:
    outcome = ran(base, tmp_path / "run", **params)
    found = outcome.metrics.splits["train"].evaluations
    assert set(found) == {"language.scores", "language.kl"}
    now, before = ByHand(base), ByHand(base)
    now.model = made(tmp_path / "run").model
    for name, pairs in {"forget": PAIRS[3:], "retain": PAIRS[:3]}.items():
        rows = [(now.row(*pair), before.row(*pair)) for pair in pairs]
        change = np.array([float((a[0].mean() - b[0].mean()).detach()) for a, b in rows])
        score = found["language.scores"][name]
        assert score["rows"] == 3
        assert abs(score["score"]["mean"] - change.mean()) < 1e-5
        assert abs(score["score"]["min"] - change.min()) < 1e-5
        assert abs(score["score"]["std"] - change.std()) < 1e-5
        assert abs(score["score"]["p05"] - np.quantile(change, 0.05)) < 1e-5
        assert abs(score["nats_per_token_before"] + np.mean([float(b[0].mean().detach()) for _, b in rows])) < 1e-5
        assert abs(score["nats_per_token"] + np.mean([float(a[0].mean().detach()) for a, _ in rows])) < 1e-5
        assert abs(change.mean()) > 1e-4
        kl = [kl_by_hand(a[2], b[2]) for a, b in rows]
        drift = found["language.kl"][name]
        assert drift["tokens"] == sum(map(len, kl))
        assert abs(drift["per_token"] - np.concatenate(kl).mean()) < 1e-5
        assert abs(drift["per_row"] - np.mean([row.mean() for row in kl])) < 1e-5


def test_what_is_kept_keeps_its_distribution(base: Path, data: Path, tmp_path: Path) -> None:
    learnt = ran(base, tmp_path / "learnt").metrics.splits["train"].evaluations["language.kl"]["retain"]
    kept = ran(base, tmp_path / "kept", "tofu_kl", words=str(VOCABULARY), stay="2").metrics.splits["train"]
    now, before = ByHand(base), ByHand(base)
    now.model = made(tmp_path / "kept").model
    moved = [kl_by_hand(now.row(*pair)[2], before.row(*pair)[2]).sum() for pair in PAIRS[:3]]
    assert kept.objective == pytest.approx(2 * np.mean(moved), rel=1e-4)
    drift = kept.evaluations["language.kl"]["retain"]
    assert drift["per_token"] * drift["tokens"] == pytest.approx(sum(moved), rel=1e-4)
    assert 0 < drift["per_token"] < learnt["per_token"]


def kl_by_hand(now: torch.Tensor, before: torch.Tensor) -> np.ndarray[Any, Any]:
    p, q = (item.softmax(1).detach().numpy() for item in (before, now))
    found: np.ndarray[Any, Any] = (p * np.log(p / q)).sum(1)
    return found


def answer(hits: Sequence[bool], logprob: Sequence[float] = ()) -> Said:
    values = np.array(logprob or [-1.0] * len(hits))
    return Said(values, np.array(hits), values)


@pytest.mark.parametrize(
    ("hits", "exact", "extracted"),
    [
        ([True, True, True, False], 1.0, 1.0),
        ([False, True, True, True], 2 / 3, 2 / 3),
        ([True, True, False, True], 2 / 3, 0.0),
        ([False, False, True, False], 1 / 3, 1 / 3),
        ([True, False], 1.0, 1.0),
        ([False, True], 0.0, 0.0),
    ],
)
def test_matches_are_counted_without_the_token_that_ends(hits: list[bool], exact: float, extracted: float) -> None:
    assert (answer(hits).exact, answer(hits).extracted) == (pytest.approx(exact), pytest.approx(extracted))


@pytest.mark.parametrize(
    ("hits", "exact", "extracted"),
    [([True], 1.0, 1.0), ([False], 0.0, 0.0), ([True, False], 0.5, 0.0), ([False, True], 0.5, 0.5)],
)
def test_a_tokenizer_without_an_end_has_none_to_leave_out(hits: list[bool], exact: float, extracted: float) -> None:
    values = np.full(len(hits), -1.0)
    row = Said(values, np.array(hits), values, ended=False)
    assert (row.exact, row.extracted) == (exact, extracted)


def test_answers_of_one_token_with_and_without_an_end(base: Path) -> None:
    model = made(base).eval()
    for end in ("</s>", None):
        model.reader = Reader(model.reader.tokenizer, "chat")
        model.reader.tokenizer.eos_token = end
        (row,) = said(model, [("Is she a poet?", "y")])
        assert len(row.hit) == 1 + (end is not None)
        assert row.exact == row.extracted == float(row.hit[0])
        assert 0 < row.probability < 1
        model.check("Is she a poet?", "y", "kept", lambda: "0")
    empty = Said(np.array([-1.0]), np.array([False]), np.array([-1.0]))  # nothing but its end
    assert (empty.exact, empty.extracted) == (1.0, 1.0)


def test_the_least_likely_tokens() -> None:
    row = answer([True] * 6, [-1.0, -5.0, -2.0, -9.0, -3.0, -4.0])
    assert row.least(standard=False) == pytest.approx((-9 - 5 - 4) / 3)
    assert answer([True, True], [-1.0, -2.0]).least(standard=True) == -2.0
    assert row.loss == pytest.approx(4.0)
    assert row.probability == pytest.approx(exp(-4))


def test_the_harmonic_mean() -> None:
    assert harmonic([1.0, 0.5, 0.25]) == pytest.approx(3 / 7)
    assert harmonic([1.0, 0.0]) == 0.0
    assert harmonic([0.3]) == pytest.approx(0.3)


def test_what_is_read_of_tokens(base: Path) -> None:
    by_hand = ByHand(base)
    for pair, row in zip(PAIRS, said(made(base), PAIRS), strict=True):
        logprob, _, logits = by_hand.row(*pair)
        every = logits.log_softmax(1).detach().numpy()
        share = np.exp(every)
        mean = (share * every).sum(1)
        spread = np.sqrt((share * (every - mean[:, None]) ** 2).sum(1))
        chosen = logprob.detach().numpy()
        assert np.allclose(row.logprob, chosen, atol=1e-9)
        assert np.allclose(row.standard, (chosen - mean) / spread, atol=1e-7)
        assert row.hit.tolist() == (every.max(1) == chosen).tolist()


def probability(by_hand: ByHand, question: str, answer: str) -> float:
    return float(by_hand.row(question, answer)[0].mean().exp().detach())


def test_memorization(base: Path) -> None:
    by_hand, rows = ByHand(base), [question(pair) for pair in PAIRS]
    found = memorization(made(base), rows)
    right = np.array([probability(by_hand, row.question, row.paraphrase) for row in rows])
    wrong = np.array([np.prod([probability(by_hand, row.question, item) for item in WRONG]) ** 0.5 for row in rows])
    assert found["paraphrase_probability"] == pytest.approx(right.mean())
    assert found["truth_ratio"] == pytest.approx((right / (right + wrong)).mean())
    parts = [found[name] for name in ("extraction_strength", "exact_match", "paraphrase_probability", "truth_ratio")]
    assert found["score"] == pytest.approx(4 / sum(1 / (1 - value) for value in parts))


def test_membership_is_the_share_of_pairs_in_order(base: Path) -> None:
    model, by_hand = made(base), ByHand(base)
    sets = Sets([question(pair) for pair in PAIRS[:3]], [], {}, PAIRS[3:])
    found = membership(model, sets)

    def scores(pair: tuple[str, str]) -> dict[str, float]:
        values = by_hand.row(*pair)[0].detach().numpy()
        least = np.sort(values)[: max(1, ceil(0.4 * len(values)))]
        size = len(zlib.compress(pair[1].encode()))
        return {"loss": -values.mean(), "zlib": -values.mean() / size, "min_k": -least.mean()}

    inside, outside = ([scores(pair) for pair in part] for part in (PAIRS[:3], PAIRS[3:]))
    for name in ("loss", "zlib", "min_k"):
        wins = [float(b[name] > a[name]) for a in inside for b in outside]
        assert found[name] == pytest.approx(np.mean(wins)), name
    assert 0 <= found["min_k++"] <= 1


def test_privacy_is_closeness_to_a_model_that_never_saw_the_rows() -> None:
    now = {"loss": 0.9, "zlib": 0.5, "min_k": 0.7, "min_k++": 0.2}
    there = {"loss": 0.4, "zlib": 0.5, "min_k": 0.4, "min_k++": 0.4}
    first, second = privacy(now, there, "retained"), privacy(now, there, "larger")
    assert first["closeness_by_score"] == pytest.approx({"loss": 0.0, "zlib": 1.0, "min_k": 0.25, "min_k++": 0.5})
    assert first["score"] == 0.0
    closer = {"loss": 1 - 0.5 / 0.6, "zlib": 1.0, "min_k": 0.5, "min_k++": 1 - 0.2 / 0.6}
    assert second["closeness_by_score"] == pytest.approx(closer)
    assert second["score"] == pytest.approx(4 / sum(1 / value for value in closer.values()))
    assert second["leak"] == pytest.approx(100 * (0.3 - 0.6) / 0.6)
    assert privacy(now, None, "retained")["score"] is None
    assert privacy(there, there, "retained")["score"] == 1.0


def test_generation_is_the_likeliest_token_again_and_again(base: Path) -> None:
    by_hand, model = ByHand(base), made(base).eval()
    rows = [question(pair) for pair in PAIRS]
    texts = generated(model, rows, 7)
    for row, text in zip(rows, texts, strict=True):
        turns = [{"role": "user", "content": row.question}]
        ids = by_hand.tokenizer.apply_chat_template(turns, add_generation_prompt=True)["input_ids"]
        said: list[int] = []
        while len(said) < 7 and (not said or said[-1] != by_hand.tokenizer.eos_token_id):
            said.append(int(by_hand.model(torch.tensor([ids + said])).logits[0, -1].argmax()))
        assert text == by_hand.tokenizer.decode(said, skip_special_tokens=True)


def test_recall_is_the_longest_common_run_of_words() -> None:
    rows = [Question("", "The fox ran over the hills", "", ()), Question("", "Ada Lund", "", ())]
    assert recalls(rows, ["a fox runs over many hills today", "nothing"]) == pytest.approx([3 / 6, 0.0])


def test_utility(base: Path) -> None:
    by_hand, kept = ByHand(base), [question(pair) for pair in PAIRS[:2]]
    facts = [Question("Two and two?", "Four", "Four", WRONG)]
    told: list[str] = []
    found = utility(made(base).eval(), Sets([], kept, {"world_facts": facts}, []), 5, told.append)
    asked = len({(row.question, text) for row in kept for text in (row.answer, row.paraphrase, *row.wrong)})
    assert told == [
        *(f"kept, {start} of {asked} answers read" for start in range(0, asked, 8)),
        "kept, 0 of 2 answers written",
        "world_facts, 0 of 3 answers read",
        "world_facts, 0 of 1 answers written",
    ]
    own = [probability(by_hand, *pair) for pair in PAIRS[:2]]
    assert found["kept"]["probability"] == pytest.approx(np.mean(own))
    choices = [probability(by_hand, "Two and two?", item) for item in ("Four", *WRONG)]
    assert found["world_facts"]["probability"] == pytest.approx(choices[0] / sum(choices))
    ratio = (choices[1] * choices[2]) ** 0.5 / choices[0]
    assert found["world_facts"]["truth_ratio"] == pytest.approx(max(0, 1 - ratio))
    parts = [found[name][part] for name in ("kept", "world_facts") for part in ("probability", "rouge", "truth_ratio")]
    assert found["score"] == pytest.approx(harmonic(parts))


def test_the_suite_of_a_run(base: Path, data: Path, tmp_path: Path) -> None:
    other = write_base(tmp_path / "other", seed=3)
    outcome = ran(base, tmp_path / "run", suite="2", retained=str(other))
    found = outcome.metrics.splits["train"].evaluations["tofu.suite"]
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["splits"]["train"]["evaluations"]["tofu.suite"]
    rows = [question(pair) for pair in PAIRS[3:5]]
    before = memorization(made(base), rows)
    assert found["memorization"]["rows"] == 2
    assert found["memorization_before"] == pytest.approx(before, abs=1e-5)
    assert found["memorization"]["score"] != pytest.approx(before["score"], abs=1e-6)
    sets = Sets(rows, [], {}, [("Who?", "Nobody at all."), ("When?", "1907")])
    assert found["privacy"]["auc_retained"] == pytest.approx(membership(made(other), sets))
    assert found["utility"]["kept"]["rows"] == found["utility"]["real_authors"]["rows"] == 2
    assert found["utility"]["world_facts"]["rows"] == 1
    useful = found["utility_before"]["score"]
    assert found["relative_utility"] == (min(1.0, found["utility"]["score"] / useful) if useful else None)
    assert "aggregate" in found
    assert ran(base, tmp_path / "none").metrics.splits["train"].evaluations.keys() == {"language.scores", "language.kl"}
