"""``tofu.suite``: what the benchmark measures after forgetting, every component under its own name."""

from __future__ import annotations

import torch

from pdual.dsl.typed import TypedData
from pdual.packs.language.declarations.sources import TofuSettings
from pdual.packs.language.evaluations.measures import membership, memorization, privacy, utility
from pdual.packs.language.evaluations.models import model_of
from pdual.packs.language.evaluations.sets import Sets, load_sets
from pdual.packs.language.evaluations.tokens import harmonic
from pdual.packs.language.models.causal_lm import CausalLm
from pdual.packs.language.sources.files import find_sampled, find_split
from pdual.runtime.evaluation.context import EvaluationContext, Scores, inside


@torch.no_grad()
def evaluate(context: EvaluationContext) -> Scores | None:
    """``memorization``, ``privacy`` and ``utility`` (see ``tofu_measures``), each with a ``score``, the last also as it was before
    training. ``relative_utility`` is its share of that, at most 1; ``aggregate`` the harmonic mean of memorization, privacy and
    relative utility, None without a model that never saw the rows; ``without_privacy`` that of the two others.

    No gibberish classifier is run: utility is the model utility of the benchmark alone. None where the source's ``suite`` is 0.
    """
    declared = next(item for item in context.graph.spec.data if item.name == context.data)
    settings = declared.settings
    if not isinstance(settings, TofuSettings) or not settings.suite:
        return None
    found = model_of(context)
    if found is None:
        return None
    model, pairs = found
    find = find_sampled if context.sampled else find_split
    sets = load_sets(context.graph.spec, context.data, [question for question, _ in pairs], settings, find)
    forgot = memorization(model, sets.forgotten, inside(context.told, "memorization"))
    members = membership(model, sets, inside(context.told, "membership"))
    private = privacy(members, _retained(model, sets, settings, declared), settings.closeness)
    useful = utility(model, sets, settings.longest, inside(context.told, "utility"))
    with model.untrained() as original, original() as before:
        useful_before = utility(before, sets, settings.longest, inside(context.told, "utility before"))
        forgot_before = memorization(before, sets.forgotten, inside(context.told, "memorization before"))
    share = min(1.0, useful["score"] / useful_before["score"]) if useful_before["score"] else None
    both = None if share is None else [forgot["score"], share]
    return {
        "memorization": forgot,
        "memorization_before": forgot_before,
        "privacy": private,
        "utility": useful,
        "utility_before": useful_before,
        "relative_utility": share,
        "aggregate": None if both is None or private["score"] is None else harmonic([*both, private["score"]]),
        "without_privacy": None if both is None else harmonic(both),
    }


def _retained(model: CausalLm, sets: Sets, settings: TofuSettings, declared: TypedData) -> dict[str, float] | None:
    """AUCs of a model that never saw the forgotten rows; None where none is named."""
    if not settings.retained:
        return None
    other = model.settings.model_copy(update={"base": settings.retained, "lora": 0, "layers": 0, "half": False})
    dtype = torch.float64 if model.dtype is torch.float64 else torch.float32
    retained = CausalLm(model.signature, other, declared.span).to(model.device, dtype).eval()
    return dict(membership(retained, sets))
