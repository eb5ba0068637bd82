"""What a language model answers where its rows are quoted: before it was trained, and now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from pdual.runtime.drawings.drawing import RowsToDraw

#: Tokens of an answer, at most.
LONGEST = 100


@torch.no_grad()
def answered(rows: RowsToDraw, places: Sequence[int]) -> Mapping[str, list[str]]:
    """By column, for some rows: the greedy answer of the only language model that the spec asks about these rows, as it was
    before training and as it is. Empty where there is none.
    """
    language = any(
        item.architecture is not None and item.architecture.architecture == "causal_lm"
        for item in rows.graph.spec.models
    )
    if rows.models is None or not language:  # no spec without one waits for what loads it
        return {}
    from pdual.packs.language.evaluations.models import asked_of
    from pdual.packs.language.models.causal_lm import CausalLm

    ids = rows.ids[torch.tensor(places, dtype=torch.long, device=rows.ids.device)]
    found = asked_of(rows.graph, rows.models, rows.data.name, rows.table, ids)
    if found is None:
        return {}
    model, pairs = found
    prompts = [prompt for prompt, _ in pairs]

    def said(model: CausalLm) -> list[str]:
        longest = max(len(model.reader.prompt(prompt)) for prompt in prompts)
        left = LONGEST if model.context is None else max(1, min(LONGEST, model.context - longest))
        return [text.strip() for text in model.generate(prompts, left)]

    with model.untrained() as original, original() as before:
        then = said(before)
    return {"answered before": then, "answers now": said(model)}
