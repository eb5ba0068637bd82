"""``language.scores`` and ``language.kl``: a language model against itself as it was before it was trained."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pdual.compiler.kernels import reduce_segments
from pdual.packs.language.evaluations.models import model_of, reference_of
from pdual.packs.language.evaluations.tokens import BATCH
from pdual.packs.language.models.causal_lm import CausalLm
from pdual.packs.language.models.frozen import FrozenLm
from pdual.packs.language.models.language_model import Pair
from pdual.runtime.data.tables import Ragged
from pdual.runtime.evaluation.context import EvaluationContext, Scores
from pdual.runtime.evaluation.metrics import summary


@torch.no_grad()
def scores(context: EvaluationContext) -> Scores | None:
    """Of a row, mean log-probability a token now less what it was: ``score``, with its smallest (``min``) and 5th percentile
    (``p05``) beside what every metric has; ``nats_per_token`` now and ``before``, means over rows of minus the mean
    log-probability. None where no one language model is asked about these rows.
    """
    found = model_of(context)
    if found is None:
        return None
    model, pairs = found
    reference = reference_of(context.problem.models, model)
    reference.recall(pairs)
    now, then = (
        torch.cat([_means(item, model, chunk) for chunk in _chunks(pairs)]).double() for item in (model, reference)
    )
    change = (now - then).cpu()
    return {
        "rows": len(pairs),
        "score": {
            **summary(change).model_dump(),
            "min": float(change.min()),
            "p05": float(torch.quantile(change, 0.05)),
        },
        "nats_per_token": -float(now.mean()),
        "nats_per_token_before": -float(then.mean()),
    }


@torch.no_grad()
def divergence(context: EvaluationContext) -> Scores | None:
    """KL(before || now) over the whole vocabulary at every token of the answers: ``per_token``, the mean over all tokens;
    ``per_row``, the mean over rows of their means. None where no one language model is asked about these rows.
    """
    found = model_of(context)
    if found is None:
        return None
    model, pairs = found
    values: list[Tensor] = []
    with model.untrained() as original:
        for chunk in _chunks(pairs):
            batch = model.reader.batch(chunk, model.device)
            with original() as before:
                then = before.logits(batch)[1].log_softmax(1)
            now = model.logits(batch)[1].log_softmax(1)
            kl = (then.exp() * (then - now)).sum(1).clamp(min=0).double().cpu()
            values.extend(torch.tensor_split(kl, batch.offsets[1:-1].cpu()))
    return {
        "rows": len(values),
        "tokens": sum(len(row) for row in values),
        "per_token": float(torch.cat(values).mean()),
        "per_row": float(torch.stack([row.mean() for row in values]).mean()),
    }


def _means(model: CausalLm | FrozenLm, of: CausalLm, pairs: Sequence[Pair]) -> Tensor:
    """Mean log-probability of each row's tokens: [rows]."""
    found = model({of.prompt: [prompt for prompt, _ in pairs], of.answer: [answer for _, answer in pairs]})
    values = found.outputs[of.logprob]
    assert isinstance(values, Ragged)
    return reduce_segments(values.values, values.offsets, "mean").cpu()


def _chunks(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    return [pairs[start : start + BATCH] for start in range(0, len(pairs), BATCH)]
