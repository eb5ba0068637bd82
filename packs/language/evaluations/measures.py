"""Memorization, privacy and utility of a language model, each from named components between 0 and 1."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pdual.packs.language.evaluations.sets import Question, Sets
from pdual.packs.language.evaluations.tokens import Reals, Said, harmonic, said
from pdual.packs.language.models.causal_lm import CausalLm
from pdual.runtime.evaluation.context import Scores, Teller, inside, silent

#: Prompts that are generated from at once.
GENERATED = 32


@dataclass(frozen=True, slots=True)
class Heard:
    """What a model says of a question's answer, of the same in other words, and of each wrong one."""

    answer: Said
    paraphrase: Said
    wrong: Sequence[Said]


def heard(model: CausalLm, rows: Sequence[Question], told: Teller) -> list[Heard]:
    """Of every question; a text that answers it twice is put to the model once."""
    pairs = [(row.question, text) for row in rows for text in (row.answer, row.paraphrase, *row.wrong)]
    distinct = list(dict.fromkeys(pairs))
    known = dict(zip(distinct, said(model, distinct, told), strict=True))
    return [
        Heard(
            known[row.question, row.answer],
            known[row.question, row.paraphrase],
            [known[row.question, text] for text in row.wrong],
        )
        for row in rows
    ]


def memorization(model: CausalLm, rows: Sequence[Question], told: Teller = silent) -> Scores:
    """How much of the answers is still there; ``score`` is the harmonic mean of 1 less each of

    ``extraction_strength`` and ``exact_match`` (``Said.extracted``, ``Said.exact``), ``paraphrase_probability`` (of the answer
    in other words, length normalised), ``truth_ratio`` (c / (c + w): c that probability, w that of wrong answers); means over rows.
    """
    found = heard(model, rows, told)
    right, wrong = _right_and_wrong(found)
    parts = {
        "extraction_strength": _mean([item.answer.extracted for item in found]),
        "exact_match": _mean([item.answer.exact for item in found]),
        "paraphrase_probability": float(right.mean()),
        "truth_ratio": float((right / (right + wrong)).mean()),
    }
    return {"rows": len(rows), **parts, "score": harmonic([1 - value for value in parts.values()])}


def membership(model: CausalLm, sets: Sets, told: Teller = silent) -> Mapping[str, float]:
    """AUC of telling forgotten rows (members) from unseen ones by four scores that are lower for members: ``loss``; ``zlib``, the
    loss over the bytes that zlib makes of the answer; ``min_k`` and ``min_k++``, minus the mean over the 40 % least likely tokens
    of log-probabilities, and of standardised ones. 0.5: nothing can be told.
    """
    from sklearn.metrics import roc_auc_score

    members = [(row.question, row.answer) for row in sets.forgotten]
    pairs = [*members, *sets.unseen]
    labels = [0] * len(members) + [1] * len(sets.unseen)
    rows = said(model, pairs, told)
    packed = [len(zlib.compress(answer.encode("utf-8"))) for _, answer in pairs]
    values = {
        "loss": [row.loss for row in rows],
        "zlib": [row.loss / size for row, size in zip(rows, packed, strict=True)],
        "min_k": [-row.least(standard=False) for row in rows],
        "min_k++": [-row.least(standard=True) for row in rows],
    }
    return {name: float(roc_auc_score(labels, item)) for name, item in values.items()}


def privacy(
    now: Mapping[str, float], retained: Mapping[str, float] | None, closeness: Literal["retained", "larger"]
) -> Scores:
    """AUCs ``now`` and of a model that never saw the rows (``retained``); ``score`` is the harmonic mean of how close each pair
    is, s = 1 - |now - retained| / d, at least 0: d = retained, or the larger of it and 1 - it. ``leak``: the relative difference
    of 1 - AUC by min-k, in percent. Without such a model there is no score.
    """
    if retained is None:
        return {"auc": dict(now), "score": None}
    close = {}
    for name, value in now.items():
        wanted = retained[name]
        width = wanted if closeness == "retained" else max(wanted, 1 - wanted)
        close[name] = 1.0 if value == wanted else max(0.0, 1 - abs(value - wanted) / width) if width else 0.0
    left = 1 - retained["min_k"]
    leak = 100 * (1 - now["min_k"] - left) / left if left else None
    return {
        "auc": dict(now), "auc_retained": dict(retained), "closeness": closeness, "closeness_by_score": close,
        "leak": leak, "score": harmonic(list(close.values())),
    }  # fmt: skip


def utility(model: CausalLm, sets: Sets, longest: int, told: Teller = silent) -> Scores:
    """Of kept rows, real authors and facts: ``probability`` of the answer (length normalised; of the two others, over that of all
    choices), ``rouge`` (recall of ROUGE-L of what is generated), ``truth_ratio`` (mean of max(0, 1 - w / c)). ``score`` is the
    harmonic mean of the nine.
    """
    found: dict[str, Mapping[str, float]] = {}
    for name, rows in {"kept": sets.kept, **sets.others}.items():
        answers = heard(model, rows, inside(told, name))
        right, wrong = _right_and_wrong(answers)
        likely = np.array([item.answer.probability for item in answers])
        if name != "kept":
            likely = likely / (likely + np.array([sum(item.probability for item in row.wrong) for row in answers]))
        found[name] = {
            "rows": float(len(rows)),
            "probability": float(likely.mean()),
            "rouge": _mean(recalls(rows, generated(model, rows, longest, inside(told, name)))),
            "truth_ratio": float(np.maximum(0, 1 - wrong / right).mean()),
        }
    parts = [value for item in found.values() for name, value in item.items() if name != "rows"]
    return {**found, "score": harmonic(parts)}


def generated(model: CausalLm, rows: Sequence[Question], longest: int, told: Teller = silent) -> list[str]:
    """What the model answers; how many answers there are is told."""
    texts: list[str] = []
    for start in range(0, len(rows), GENERATED):
        told(f"{start} of {len(rows)} answers written")
        texts += model.generate([row.question for row in rows[start : start + GENERATED]], longest)
    return texts


def recalls(rows: Sequence[Question], texts: Sequence[str]) -> list[float]:
    """Recall of ROUGE-L, stemmed, of each text against the answer."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    return [float(scorer.score(row.answer, text)["rougeL"].recall) for row, text in zip(rows, texts, strict=True)]


def _right_and_wrong(rows: Sequence[Heard]) -> tuple[Reals, Reals]:
    """Length-normalised probability of the answer in other words, and the geometric mean of those of the wrong ones: [rows]."""
    wrong = [np.exp(-_mean([item.loss for item in row.wrong])) for row in rows]
    return np.array([row.paraphrase.probability for row in rows]), np.array(wrong)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
