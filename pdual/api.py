"""pdual from Python: ``load`` a spec, ``solve`` it, ask the run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdual.arguments import checked_load, checked_options
from pdual.compiler.graph import Graph
from pdual.dsl import typed
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.spans import Source
from pdual.errors import told, warn
from pdual.finding import find
from pdual.nesting import nesting
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.options import RunOptions
from pdual.understanding import Understood, check_data, understand

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pdual.runtime.data.tables import Ragged
    from pdual.runtime.runs.execute import Outcome
    from pdual.runtime.storage.records import Metrics


def load(
    spec: str | Path,
    params: Mapping[str, float | int | str] | None = None,
    data: Mapping[str, Any] | None = None,
    models: Mapping[str, nn.Module] | None = None,
    dual: str | Mapping[str, str] | None = None,
    minimize: bool = True,
) -> Problem:
    """Read a spec: a file, or the name of a shipped one.

    ``params`` are values of parameters, ``data`` the rows of data sets (files, arrays by column, data frames, torch or Hugging
    Face data sets; see ``pdual.binding.bound``), ``models`` the modules of models that the spec leaves open: any ``nn.Module``
    that takes its arguments by position. ``dual`` is a kind for all multipliers, or kinds by family; ``minimize`` false drops the objective.
    Raises ProblemError; what is odd is a ProblemWarning.
    """
    source: Source | None = None
    try:
        duals, overrides = checked_load(spec, params, data, models, dual, minimize)
        with nesting():
            found = find(os.fspath(spec))
            source = found.source
            context = SourceContext(folder=found.folder, files=dict.fromkeys(data or {}, Path()))
            understood = understand(source, overrides, duals, minimize, context)
        understood.refuse()
        assert understood.spec is not None
        files = _files(data or {}, understood.spec, SourceContext(folder=found.folder))
        check_data(files, understood.spec)
        _check_modules(models or {}, understood.spec)
    except Refusal as refusal:
        raise told(refusal, source) from refusal.__cause__
    warn(understood.diagnostics, source)
    options = RunOptions(overrides=overrides, dual=duals, minimize=minimize, data=files)
    return Problem(understood, found.folder, options, dict(models or {}))


def _files(data: Mapping[str, Any], spec: typed.TypedSpec, context: SourceContext) -> dict[str, Path]:
    """Every data set that is given as a file; rows from Python are written to the cache."""
    if not data:
        return {}
    from pdual.binding import bound
    from pdual.runtime.data.cache import cache_root

    known = {item.name: item for item in spec.data}
    check_data(dict.fromkeys(data, Path()), spec)
    sets = {item.name: item.labels for item in spec.sets if item.labels is not None}
    return {name: bound(rows, known[name], cache_root(context) / "bound", sets) for name, rows in data.items()}


def _check_modules(models: Mapping[str, nn.Module], spec: typed.TypedSpec) -> None:
    """Refuse modules of models that are not there (PD710), or without a layer that the spec names (PD691)."""
    if not models:
        return
    from pdual.runtime.models.adapted import check_layer

    known = {model.name: model for model in spec.models}
    for name, module in models.items():
        if name not in known:
            raise refuse("PD710", name=name, names=", ".join(f"`{item}`" for item in known), near=nearest(name, known))
        check_layer(module, known[name])


@dataclass(frozen=True)
class Problem:
    """A spec that was understood, with what it is run with."""

    understood: Understood
    folder: Path
    options: RunOptions
    models: Mapping[str, nn.Module]

    @property
    def graph(self) -> Graph:
        """The lowered spec."""
        assert self.understood.graph is not None
        return self.understood.graph

    def solve(self, **options: Any) -> Run:
        """Run it. ``options`` are those of ``pdual run``: ``out``, ``seed``, ``quick``, ``limit``, ``budget`` (seconds), ``device``,
        ``precision``, ``threads``, ``compile``, ``resume``, ``initial``.

        A run trains copies of the modules that were given and hands their weights back at its end. Whatever is set in torch (gradients, types,
        devices, threads, random state) is put aside meanwhile and put back; solves in several threads take turns.

        Raises ArgumentError for an option that is not there or cannot be, ProblemError for wrong data and runs that fail; rows that no
        prediction satisfies are a ProblemWarning.
        """
        from dataclasses import replace

        source = self.understood.source
        try:
            outcome = self._solved(replace(self.options, **checked_options(options)))
        except Refusal as refusal:
            raise told(refusal, source) from refusal.__cause__
        return Run(outcome)

    def _solved(self, options: RunOptions) -> Outcome:
        from pdual.runtime.models.owned import hand_back, own_modules, trained_before
        from pdual.runtime.runs.execute import default_workers, execute
        from pdual.runtime.system.setting import solving

        source, spec = self.understood.source, self.graph.spec
        context = SourceContext(folder=self.folder, workers=default_workers())
        with nesting(), solving():
            warn(trained_before(self.models, spec), source)
            own = own_modules(self.models, spec, self.graph.sizes)
            shown = partial(warn, source=source)
            outcome = execute(self.graph, source.text, options, context, given=own, warn=shown)
            hand_back(own, self.models)
        return outcome

    def explain(self) -> str:
        """What ``pdual explain`` prints."""
        from pdual.explaining.collect import explanation
        from pdual.explaining.render import render

        return "\n".join(line.text for line in render(explanation(self.graph.spec, self.graph)))

    def __repr__(self) -> str:
        counts = [
            f"{data.layout.columns} multipliers a {'group' if data.grouping else 'row'} of {data.data}"
            for data in self.graph.data
        ]
        averages = self.graph.averages.layout.columns
        counts += [f"{averages} of averages"] if averages else []
        return f"<Problem {self.graph.spec.name}: {', '.join(counts) or 'no constraints'}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.explain())}</pre>"


@dataclass(frozen=True)
class Run:
    """A run that ended."""

    outcome: Outcome

    @property
    def metrics(self) -> Metrics:
        """What ``metrics.json`` holds."""
        return self.outcome.metrics

    @property
    def folder(self) -> Path:
        """Where the run was left."""
        return self.outcome.folder.path

    @property
    def feasible(self) -> bool:
        """Whether every train row meets every constraint."""
        return self.outcome.verdict.feasible

    def predict(self, model: str, rows: Mapping[str, Any]) -> Mapping[str, Tensor | Ragged]:
        """The outputs of a trained model for new rows.

        ``rows`` maps the arguments of its signature to tensors, arrays or lists [rows, *axes], complex ones as they are, members of
        sets as labels or positions, or texts; outputs come back as tensors, the only unnamed output as ``""``, ragged (``values``,
        ``offsets``) where lengths differ from row to row. Raises UnknownNameError (a KeyError) for a model or an argument that
        is not there, ArgumentError for values that do not suit. A model
        without inputs, asked with ``{}``, says one row; one that holds a value of every train row (``free``) says none.
        """
        from pdual.asking import predicted

        try:
            return predicted(self.outcome, model, rows)
        except Refusal as refusal:
            raise told(refusal, None) from refusal.__cause__

    def multipliers(self, rows: str | Mapping[str, Any] = "train", data: str | None = None) -> Mapping[str, Tensor]:
        """Multipliers by part (``voltage.upper``): [rows, entries], scaled.

        ``rows`` names a split, whose multipliers are not a number where rows have none (a constraint on an average has one
        for all of them, [1, 1]); or maps fields to tensors, arrays or lists
        [rows, *axes] of new rows (``load.re`` and ``load.im``, or complex; members of sets as labels or positions; what the spec
        standardises as a file would hold it) or to their texts, of the data set ``data`` where there are several. Fields that multipliers
        do not depend on may be left out. Raises UnknownNameError (a KeyError) for a split, a data set or a field
        that is not there, ProblemError where new rows have no multipliers.
        """
        from pdual.asking import multipliers_of_rows, multipliers_of_split

        try:
            if isinstance(rows, str):
                return multipliers_of_split(self.outcome, rows, data)
            return multipliers_of_rows(self.outcome, rows, data)
        except Refusal as refusal:
            raise told(refusal, None) from refusal.__cause__

    def __repr__(self) -> str:
        return f"<Run of {self.metrics.problem}: {self.metrics.status}, in {self.folder}>"

    def _repr_html_(self) -> str:
        from pdual.cli.results import lines

        return f"<pre>{escape(chr(10).join(lines(self.outcome)))}</pre>"
