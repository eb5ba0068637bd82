"""A run over a language model asked about texts that it never saw: multipliers, violations, log-probabilities."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from running import say
from small_language import PAIRS, VOCABULARY, ByHand, made, write_base, write_rows

import pdual

SPEC = """problem small "Forget some answers"
param base = "BASE"
set word = 0..{last}
data rows = tofu("forget10") {{ question: text, answer: text }}
model lm(prompt: text, answer: text) -> {{ logprob: real[token], logprobs: real[token, word] }} = causal_lm(base)
model before = frozen(lm)
model q(x: real[_]) -> real = mlp(hidden = [8])
over x in rows {{
  let now  = lm(x.question, x.answer)
  let then = before(x.question, x.answer)
  minimize sum[k in token](sum[w in word](exp(then.logprobs[k, w]) * (then.logprobs[k, w] - now.logprobs[k, w])))
  subject to forgotten: mean[k in token](now.logprob[k]) - mean[k in token](then.logprob[k]) <= -0.25
  dual forgotten = 10 * sigmoid(q(mean[k in token](features(then)[k])))
}}
solve {{ outer = 3, rho = 5.0, descent = adam(lr = 1e-2, batch = 2, epochs = 2), ascent = adam(lr = 1e-2, batch = 4, epochs = 4) }}
"""
NEW = [("Who sings?", "Nobody sings here."), ("Where is she?", "In Oslo")]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts")


@pytest.fixture(scope="module")
def run(here: Path) -> pdual.Run:
    base = write_base(here / "base")
    (here / "small.pdual").write_text(SPEC.format(last=VOCABULARY - 1))
    seen = write_rows(here, "seen", PAIRS[:4])
    return pdual.load(here / "small.pdual", {"base": str(base)}, {"rows": seen}).solve(out=here / "run")


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def log_probabilities(run: pdual.Run, pair: tuple[str, str]) -> np.ndarray[Any, Any]:
    """By the trained weights, by hand."""
    by_hand = ByHand(Path(run.folder).parent / "base")
    by_hand.model = made(str(run.folder)).model
    return by_hand.row(*pair)[0].detach().numpy()


def test_multipliers_of_rows_that_it_saw_are_those_of_its_split(run: pdual.Run) -> None:
    texts = {"question": [pair[0] for pair in PAIRS[:4]], "answer": [pair[1] for pair in PAIRS[:4]]}
    found = run.multipliers(texts)["forgotten"]
    assert found.shape == (4, 1)
    assert float(found.max()) > 0
    assert torch.allclose(found, run.multipliers("train")["forgotten"], atol=1e-4)


def test_scores_of_new_rows_name_their_violations(
    run: pdual.Run, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_rows(here, "new", NEW)
    lines = {line["row"]: line for line in records(say(capsys, "score", str(run.folder), "--data", str(file)).out)}
    multipliers = run.multipliers({"question": [pair[0] for pair in NEW], "answer": [pair[1] for pair in NEW]})
    for place, pair in enumerate(NEW):
        then = ByHand(here / "base").row(*pair)[0].detach().numpy()
        missed = max(0.0, log_probabilities(run, pair).mean() - then.mean() + 0.25)
        line = lines[str(place)]
        assert float(line["violation"]) == pytest.approx(missed, abs=1e-4)
        assert float(line["multiplier"]) == pytest.approx(float(multipliers["forgotten"][place, 0]), rel=1e-5)
        assert line["entry"] == f"forgotten[{place}]"


def test_predictions_have_a_list_for_every_row(run: pdual.Run, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_rows(here, "new", NEW)
    (first, second) = say(capsys, "predict", str(run.folder), "--data", str(file), "--json").json["rows"]
    # What is said of every word is not written.
    assert set(first) == {"row", "lm.logprob", "before.logprob"}
    for line, pair in zip((first, second), NEW, strict=True):
        assert np.allclose(line["lm.logprob"], log_probabilities(run, pair), atol=1e-4)
        assert np.allclose(line["before.logprob"], ByHand(here / "base").row(*pair)[0].detach().numpy(), atol=1e-4)
    printed = records(say(capsys, "predict", str(run.folder), "--data", str(file)).out)
    assert json.loads(printed[1]["lm.logprob"]) == second["lm.logprob"]
    said = say(capsys, "predict", str(run.folder), "--data", str(file), "--out", str(here / "new.npz"))
    assert said.code == 0
    arrays = np.load(here / "new.npz")
    start, middle, end = arrays["lm.logprob.offsets"]
    assert (start, end) == (0, len(arrays["lm.logprob"]))
    assert arrays["lm.logprob"][middle:].tolist() == pytest.approx(second["lm.logprob"])
    asked = run.predict("lm", {"prompt": [pair[0] for pair in NEW], "answer": [pair[1] for pair in NEW]})
    assert asked["logprob"].values[:middle].tolist() == pytest.approx(first["lm.logprob"], abs=1e-4)
    assert asked["logprobs"].values.shape == (end, VOCABULARY)


@pytest.mark.parametrize(
    ("pair", "code"), [(("Who?", ""), "PD647"), (("Who?", "fox " * 300), "PD648")], ids=["empty", "too long"]
)
def test_texts_that_are_refused_in_a_spec_are_refused_here(
    run: pdual.Run, here: Path, capsys: pytest.CaptureFixture[str], pair: tuple[str, str], code: str
) -> None:
    file = write_rows(here, "bad", [NEW[0], pair])
    for command in ("score", "predict"):
        said = say(capsys, command, str(run.folder), "--data", str(file))
        assert said.code == 4
        assert f"error[{code}]" in said.err
        assert "rows[1]" in said.err
    with pytest.raises(pdual.ProblemError) as error:
        run.multipliers({"question": [NEW[0][0], pair[0]], "answer": [NEW[0][1], pair[1]]})
    assert code in str(error.value)


def test_a_text_cannot_be_left_out(run: pdual.Run, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError, match="answer"):
        run.multipliers({"question": ["Who?"]})
    (here / "half.jsonl").write_text('{"question": "Who?"}\n')
    assert "error[PD534]" in say(capsys, "predict", str(run.folder), "--data", str(here / "half.jsonl")).err
