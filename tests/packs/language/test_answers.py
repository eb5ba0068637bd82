"""A report of a run that trained a language model shows its answers, before and now, beside rows, their answers and multipliers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small_language import PAIRS, write_base, write_rows
from transformers import AutoModelForCausalLM, AutoTokenizer

import pdual
from pdual.reporting.collect import collect
from pdual.reporting.facts import Sketch
from pdual.reporting.page import page
from pdual.restoring import restored

SPEC = """problem tiny "t"
param base = "BASE"
data kept = tofu("retain") { question: text, answer: text }
data gone = tofu("forget") { question: text, answer: text }
model lm(prompt: text, answer: text) -> { logprob: real[token] } = causal_lm(base)
over x in kept {
  minimize -sum[k in token](lm(x.question, x.answer).logprob[k])
}
over x in gone {
  let now = lm(x.question, x.answer)
  subject to forgotten: mean[k in token](now.logprob[k]) <= -8
  dual forgotten = pointwise(cap = 10)
}
solve { outer = 3, descent = adam(lr = 3e-2, batch = 2, epochs = 2) }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a run, and of its base."""
    folder = tmp_path_factory.mktemp("answers")
    base = write_base(folder / "base")
    rows = {"kept": write_rows(folder, "retain", PAIRS[:3]), "gone": write_rows(folder, "forget", PAIRS)}
    (folder / "tiny.pdual").write_text(SPEC)
    pdual.load(folder / "tiny.pdual", params={"base": str(base)}, data=rows).solve(out=folder / "run")
    return folder / "run", base


def by_hand(model: AutoModelForCausalLM, base: Path, prompt: str, longest: int) -> str:
    """Token by token, the likeliest each time."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    ids = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True)["input_ids"]
    said: list[int] = []
    for _ in range(longest):
        with torch.no_grad():
            token = int(model(torch.tensor([ids + said])).logits[0, -1].argmax())
        if token == tokenizer.eos_token_id:
            break
        said.append(token)
    return tokenizer.decode(said, skip_special_tokens=True).strip()


def cut(text: str) -> str:
    return text if len(text) <= 400 else text[:399] + "…"


def test_answers_before_and_now(run: tuple[Path, Path]) -> None:
    folder, base = run
    facts = collect(folder)
    kept, largest, smallest = facts.sketches
    assert [sketch.title for sketch in facts.sketches] == [
        "Rows without multipliers",
        "Rows with the largest multipliers",
        "Rows with the smallest multipliers",
    ]
    then = AutoModelForCausalLM.from_pretrained(base)
    now = AutoModelForCausalLM.from_pretrained(base)
    trained = restored(folder).run.problem.models["lm"].model
    now.load_state_dict(trained.state_dict())
    priced = {}
    differ = False
    for sketch in (kept, largest, smallest):
        for _, price, texts in sketch.rows:
            assert (texts["question"], texts["answer"]) in PAIRS
            limit = min(100, _left(sketch, base))
            before, answers = (cut(by_hand(model, base, texts["question"], limit)) for model in (then, now))
            assert (texts["answered before"], texts["answers now"]) == (before, answers)
            differ |= before != answers
            priced.setdefault(sketch.title, []).append(price)
            assert sketch is not kept or price is None
    assert differ, "training changed what is said"
    assert priced[largest.title] == sorted(priced[largest.title], reverse=True)
    assert priced[smallest.title] == sorted(priced[smallest.title])
    assert priced[largest.title][0] > 0
    written = page([facts])
    assert "answered before" in written
    assert "the first train rows of kept; the greedy answers are of at most 100 tokens" in written


def _left(sketch: Sketch, base: Path) -> int:
    """Tokens that the model has places for behind the longest of the prompts that are put to it together."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    questions = [texts["question"] for _, _, texts in sketch.rows]
    if sketch.title != "Rows without multipliers":
        questions = [question for question, _ in PAIRS]
    chats = [[{"role": "user", "content": question}] for question in questions]
    return 160 - max(
        len(tokenizer.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]) for chat in chats
    )
