"""The tables of a comparison that are about multipliers: how well they rank those of a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, TypeAlias

from pdual.comparing import Comparison, Ended

if TYPE_CHECKING:
    from pdual.runtime.storage.records import Ranking, Recovery

Number: TypeAlias = "float | None"

#: Stands for a number that there is not.
NONE = "-"

#: The scores of a ranking, pooled over rows and constraints, and of each row, averaged; and how tables call them.
SCORES = ("auc", "ndcg", "spearman", "precision", "spearman_top")
HEADS = ("AUC", "NDCG", "Spearman", "precision", "Spearman of the top")
ROW_SCORES, ROW_HEADS = ("auc", "ndcg", "precision"), ("AUC", "NDCG", "precision")

#: One score pooled, by row, and netted where there is such.
Rankings: TypeAlias = "tuple[Ranking, Ranking, Ranking | None] | None"


def multipliers(comparison: Comparison, split: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Against the data's own solver on the split, and against an independent pointwise run on rows no network was fitted on."""
    against = {
        "multipliers against the solver's, {rows} {split} rows, {constraints} inequalities, {active:.2%} active": [
            (item, scores[split])
            for item in comparison.ended
            for scores in item.metrics.recovery.values()
            if split in scores
        ],
        "multipliers against an independent pointwise run, {rows} train rows that no network was fitted on, "
        "{constraints} inequalities, {active:.2%} active": [
            (item, scores) for item in comparison.ended for scores in item.recovery.values()
        ],
    }
    for title, pairs in against.items():
        if pairs:
            first = pairs[0][1]
            words = {"rows": first.rows, "split": split, "constraints": first.constraints}
            yield title.format(active=first.active_rate, **words), _recoveries(comparison, pairs)


def _recoveries(comparison: Comparison, pairs: Sequence[tuple[Ended, Recovery]]) -> list[list[str]]:
    every = [recovery for _, recovery in pairs]
    parts = list(dict.fromkeys(name for scores in every for name in scores.correlation))
    netted = any(getattr(scores.netted, name) != getattr(scores, name) for scores in every for name in SCORES)

    def line(name: str, scores: Sequence[Recovery], read: Callable[[Recovery], Rankings], own: bool) -> list[str]:
        rankings = [ranking for item in scores if (ranking := read(item)) is not None]
        cells = [_score([getattr(x[0], name) for x in rankings]) for name in SCORES]
        cells += [_score([getattr(x[1], name) for x in rankings]) for name in ROW_SCORES]
        if netted:
            nets = [x[2] for x in rankings if x[2] is not None]
            cells += [_score([getattr(x, name) for x in nets]) for name in SCORES[:3]] if nets else ["", "", ""]
        cells.append(_score([x.spearman_median for x in scores]) if own else "")
        cells += [_score([x.correlation[part] for x in scores]) if own else "" for part in parts]
        return [name, *cells]

    head = ["", *HEADS, *(f"{head} by row" for head in ROW_HEADS)]
    head += [f"{head} netted" for head in HEADS[:3]] if netted else []
    rows = [[*head, "Spearman by constraint, median", *(f"correlation of {name}" for name in parts)]]
    for dual in comparison.duals:
        scores = [recovery for item, recovery in pairs if item.trial.dual == dual]
        if scores:
            rows.append(line(dual, scores, lambda x: (x, x.per_row, x.netted), True))
            if any(x.stepped is not None and x.stepped != x.margin for x in scores):
                rows.append(line(f"{dual} + rho g", scores, lambda x: _both(x.stepped, x.stepped_per_row), False))
    rows.append(line("margin g", every, lambda x: (x.margin, x.margin_per_row, None), False))
    rows.append(line("constant", every, lambda x: _both(x.constant, x.constant_per_row, x.constant_netted), False))
    return rows


def _both(pooled: Ranking | None, by_row: Ranking | None, netted: Ranking | None = None) -> Rankings:
    return None if pooled is None or by_row is None else (pooled, by_row, netted)


def _score(values: Sequence[Number]) -> str:
    return spread(values, ".3f")


def spread(values: Sequence[Number], digits: str) -> str:
    """One number, or mean ± standard deviation; ``-`` where there is none."""
    kept = [value for value in values if value is not None]
    if not kept:
        return NONE
    mean = f"{fmean(kept):{digits}}"
    return mean if len(kept) == 1 else f"{mean} ± {pstdev(kept):.2g}"
