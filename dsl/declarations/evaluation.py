"""What is measured and is not a mean over rows: registered, brought along by a source."""

from __future__ import annotations

from pdual.dsl.record import record


@record(frozen=True, slots=True)
class EvaluationDeclaration:
    """A registered evaluation.

    ``sources`` names the data sources that bring it along (empty: every one). ``builder`` is ``"module:function"``, called as
    ``evaluate(context: EvaluationContext) -> Mapping[str, JSON value] | None`` for every split of such a data set at the end of a run
    (``pdual.runtime.evaluation.context``); None where it has nothing to say. Train rows only ``on_train``, or where there are no others.
    """

    name: str
    summary: str
    sources: tuple[str, ...]
    builder: str
    on_train: bool = False
