"""Evaluations of language models: against themselves before training, and the measures of TOFU."""

from __future__ import annotations

from pdual.dsl.declarations.evaluation import EvaluationDeclaration

_HERE = "pdual.packs.language.evaluations"

LANGUAGE_SCORES = EvaluationDeclaration(
    name="language.scores",
    summary="how much less likely answers became, in nats a token",
    sources=(),
    builder=f"{_HERE}.drift:scores",
    on_train=True,
)

LANGUAGE_KL = EvaluationDeclaration(
    name="language.kl",
    summary="how far the distribution of every token of the answers moved",
    sources=(),
    builder=f"{_HERE}.drift:divergence",
    on_train=True,
)

TOFU_SUITE = EvaluationDeclaration(
    name="tofu.suite",
    summary="memorization, privacy and utility after forgetting, and their harmonic mean",
    sources=("tofu",),
    builder=f"{_HERE}.suite:evaluate",
    on_train=True,
)
