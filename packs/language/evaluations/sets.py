"""The sets that the measures of TOFU are taken on: what goes with the rows that are forgotten, and with those that are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pdual.dsl.diagnostics import Refusal
from pdual.dsl.typed import TypedSpec
from pdual.packs.language.declarations.sources import TofuSettings
from pdual.packs.language.sources.files import Finder, find_split
from pdual.packs.language.sources.records import Record, read_records
from pdual.packs.language.sources.tofu import kept_records
from pdual.runtime.data.context import SourceContext

#: Splits whose records have an answer in other words and wrong answers.
PERTURBED = ("forget10_perturbed", "retain_perturbed")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its answer, the same in other words (where there is none: the answer), and wrong answers."""

    question: str
    answer: str
    paraphrase: str
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sets:
    """``forgotten`` and ``kept`` rows that have wrong answers, ``others`` by name (real authors, facts), and ``unseen`` rows."""

    forgotten: Sequence[Question]
    kept: Sequence[Question]
    others: Mapping[str, Sequence[Question]]
    unseen: Sequence[tuple[str, str]]


def load_sets(
    spec: TypedSpec, data: str, questions: Sequence[str], settings: TofuSettings, find: Finder = find_split
) -> Sets:
    """The sets for the rows of ``data``, at most ``settings.suite`` rows each, the first ones.

    Kept rows are those of the spec's other data set from ``tofu``, whether or not they were drawn; where it has none, those of
    ``retain_perturbed``. ``find`` gives splits by their names. Raises what it raises.
    """
    known = {item.question: item for split in PERTURBED for item in _questions(split, find)}
    limit = settings.suite
    other = next((item for item in spec.data if item.name != data and isinstance(item.settings, TofuSettings)), None)
    kept = [known[question] for question in _of_split(other.settings, find) if question in known] if other else []  # type: ignore[arg-type]
    share = re.fullmatch(r"forget(\d\d)", settings.split)
    unseen = read_records(find(f"holdout{share[1] if share else '10'}", SourceContext()), SourceContext().span)
    return Sets(
        forgotten=[known[question] for question in questions if question in known][:limit],
        kept=(kept or list(_questions("retain_perturbed", find)))[:limit],
        others={name: list(_questions(f"{name}_perturbed", find))[:limit] for name in ("real_authors", "world_facts")},
        unseen=[(str(record["question"]), str(record["answer"])) for _, record in unseen][:limit],
    )


def _of_split(settings: TofuSettings, find: Finder) -> Iterator[str]:
    """The questions of a split; none where it is a file of the user's own, which has no wrong answers either."""
    context = SourceContext()
    try:
        records = kept_records(find(settings.split, context), settings, context, find)
    except Refusal:
        return
    yield from (str(record["question"]) for _, record in records)


def _questions(split: str, find: Finder) -> Iterator[Question]:
    context = SourceContext()
    for _, record in read_records(find(split, context), context.span):
        yield _question(record)


def _question(record: Record) -> Question:
    wrong = record["perturbed_answer"]
    return Question(
        str(record["question"]),
        str(record["answer"]),
        str(record.get("paraphrased_answer", record["answer"])),
        tuple(wrong) if isinstance(wrong, list) else (str(wrong),),
    )
