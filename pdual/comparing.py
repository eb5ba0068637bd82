"""The same problem with several duals and seeds: runs that can be gone on with, and what they came to side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pdual.compiler.graph import Graph
from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Source
from pdual.recovering import saw, unseen
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.options import RunOptions
from pdual.understanding import ALL, understand

if TYPE_CHECKING:
    from torch import Tensor

    from pdual.runtime.runs.execute import Outcome
    from pdual.runtime.storage.records import Metrics, Recovery

#: The split that is compared.
SPLIT = "test"

#: The kind of a trial that holds multipliers as the spec says.
AS_WRITTEN = "spec"

#: The kind whose runs others are read against.
REFERENCE = "pointwise"


@dataclass(frozen=True)
class Trial:
    """One run: how its multipliers are held, its seed, where it lies."""

    dual: str
    seed: int
    folder: Path


@dataclass(frozen=True)
class Ended:
    """A trial's numbers, and its multipliers against those of an independent pointwise run: by data set, on the train rows that
    no network was fitted on (method.md: I_test); nothing where there are none, or the trial has no multipliers of its own there.
    """

    trial: Trial
    metrics: Metrics
    recovery: Mapping[str, Recovery]


@dataclass(frozen=True)
class Comparison:
    """All trials of a spec, dual after dual in the order asked for; ``families`` are the constraints that are ranked, None for all."""

    problem: str
    duals: tuple[str, ...]
    ended: tuple[Ended, ...]
    families: tuple[str, ...] | None = None

    def of(self, dual: str) -> tuple[Ended, ...]:
        """The trials of one dual."""
        return tuple(item for item in self.ended if item.trial.dual == dual)


def compare(
    source: Source,
    context: SourceContext,
    options: RunOptions,
    duals: Sequence[str],
    seeds: int,
    out: Path,
    families: Sequence[str] | None = None,
    stop: Callable[[], bool] = lambda: False,
    began: Callable[[Trial], None] = lambda trial: None,
) -> Comparison:
    """Run every dual with every seed under ``out``, each in a folder of its own; what is there already is gone on with.

    Raises a Refusal as a run does.
    """
    graphs = {dual: _graph(source, context, options, dual) for dual in dict.fromkeys((*duals, REFERENCE))}
    _check_families(graphs[duals[0]], families)
    trials = [Trial(dual, seed, out / f"{dual}-{seed}") for dual in duals for seed in range(seeds)]
    performed: dict[Trial, Outcome] = {}
    for trial in trials:
        began(trial)
        performed[trial] = _performed(graphs[trial.dual], source, context, options, trial, stop)
    references: dict[int, Mapping[str, Tensor]] = {}
    ended = []
    for trial in trials:
        recovery: Mapping[str, Recovery] = {}
        if _generalises(performed[trial]) and not stop():
            seed = (trial.seed + 1) % max(2, seeds)
            if seed not in references:
                reference = Trial(REFERENCE, seed, out / f"{REFERENCE}-{seed}")
                if reference not in performed:
                    began(reference)
                    performed[reference] = _performed(graphs[REFERENCE], source, context, options, reference, stop)
                references[seed] = saw(performed[reference].run)
            against = unseen(performed[trial].run, references[seed], families)
            recovery = {name: item.scores for name, item in against.items()}
        ended.append(Ended(trial, performed[trial].metrics, recovery))
    return Comparison(
        performed[trials[0]].run.problem.name, tuple(duals), tuple(ended), tuple(families) if families else None
    )


def _graph(source: Source, context: SourceContext, options: RunOptions, dual: str) -> Graph:
    understood = understand(source, options.overrides, _kinds(dual), options.minimize, context)
    understood.refuse()
    assert understood.graph is not None
    return understood.graph


def _kinds(dual: str) -> dict[str, str]:
    return {} if dual == AS_WRITTEN else {ALL: dual}


def _check_families(graph: Graph, families: Sequence[str] | None) -> None:
    known = list(dict.fromkeys(part.layout.family for data in graph.data for part in data.parts))
    for name in families or ():
        if name not in known:
            expected = "names of constraints: " + ", ".join(f"`{item}`" for item in known)
            raise refuse("PD704", option="--over", expected=expected, found=name)


def _performed(
    graph: Graph,
    source: Source,
    context: SourceContext,
    options: RunOptions,
    trial: Trial,
    stop: Callable[[], bool],
) -> Outcome:
    from pdual.runtime.runs.execute import execute

    own = replace(
        options,
        dual=_kinds(trial.dual),
        seed=trial.seed,
        out=trial.folder,
        resume=(trial.folder / "run.json").is_file(),
    )
    return execute(graph, source.text, own, context, progress=context.progress, stop=stop)


def _generalises(outcome: Outcome) -> bool:
    held = [training_set.multipliers for training_set in outcome.run.training_sets if training_set.multipliers.active]
    return bool(held) and all(multipliers.generalises and multipliers.parameters for multipliers in held)
